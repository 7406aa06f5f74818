/* SPDX-License-Identifier: MIT */
/*
 * pack_test.c - packed ring data is what it was, whatever that is; what is no packed data is refused; packed
 * files read as others
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "stream/file/pack_file.h"
#include "stream/wire/pack.h"
#include "stream/wire/uft_file.h"
#include "stream/wire/wire.h"
#include "tests/unit/stream/check.h"

#define WORDS		(UFT_BLOCK_MAX / 8)

static uint64_t seed = 1;

static uint32_t pick(uint32_t n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(seed >> 33) % n;
}

struct block { struct pack *p; uint64_t *word; size_t n; uint8_t *packed; size_t size; };

static void begin(struct block *b)
{
	*b = (struct block){ .p = pack_new(), .word = malloc(UFT_BLOCK_MAX),
		.packed = malloc(2 * UFT_BLOCK_MAX + PACK_SLACK) };
	assert_true(b->p && b->word && b->packed);
}

static void end(struct block *b)
{
	pack_free(b->p);
	free(b->word);
	free(b->packed);
}

static void put(struct block *b, unsigned kind, uint32_t value, uint32_t clock)
{
	assert_true(b->n < WORDS);
	b->word[b->n++] = UFT_REC_WORD(kind, value, clock);
}

/* Packs and unpacks. Bytes a word. */
static double round_trip(struct block *b)
{
	uint8_t *again = malloc(8 * b->n + 1);
	const uint8_t *to;

	b->size = pack_encode(b->p, (const uint8_t *)b->word, 8 * b->n, SIZE_MAX, &to);
	assert_true(b->size && again && b->size <= 2 * UFT_BLOCK_MAX);
	memcpy(b->packed, to, b->size);
	memset(b->packed + b->size, 0xa5, PACK_SLACK);
	assert_int_equal(pack_decode(b->p, b->packed, b->size, again, 8 * b->n), 0);
	assert_memory_equal(again, b->word, 8 * b->n);
	free(again);
	return (double)b->size / (double)b->n;
}

/* Nested calls of @ids functions from depth @below on, in steps of the clock below @step. */
static void put_calls(struct block *b, size_t n, uint32_t ids, uint32_t step, uint32_t below)
{
	uint32_t *open = malloc((n + below) * sizeof(*open)), depth = 0, clock = pick(UINT32_MAX);

	while (depth < below)
		open[depth++] = pick(ids);
	while (n--) {
		clock += pick(step);
		if (depth && pick(2)) {
			put(b, UFT_REC_EXIT, open[--depth], clock);
		} else {
			open[depth] = pick(ids);
			put(b, UFT_REC_ENTRY, open[depth++], clock);
		}
	}
	free(open);
}

static void test_calls(void **state)
{
	static const struct { uint32_t ids, step, below; double most; } cases[] = {
		{ 1, 2, 0, 1.8 }, { 100, 200, 40, 1.9 }, { 230, 200, 0, 2.1 }, { 250, 1000, 600, 3.1 },
		{ 4000, 9000, 0, 4.5 }, { 20000, UINT32_MAX, 30, 9 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct block b;

		begin(&b);
		put_calls(&b, 8192, cases[i].ids, cases[i].step, cases[i].below);
		if (round_trip(&b) > cases[i].most)
			fail_msg("case %zu: %.2f bytes a record", i, round_trip(&b));
		end(&b);
	}
}

/* Events of the function tracer, of @pairs functions and callers. */
static void put_funcs(struct block *b, size_t n, uint32_t pairs, uint32_t step)
{
	uint32_t clock = pick(UINT32_MAX);

	while (n--) {
		uint32_t pair = pick(pairs);

		put(b, UFT_REC_FUNC, pair / 2 * 5, clock += pick(step));
		b->word[b->n++] = 0x7f0000000000ull + pair * 0x123u;
	}
}

static void test_funcs(void **state)
{
	static const struct { uint32_t pairs, step; double most; } cases[] = {
		{ 1, 2, 1.1 }, { 100, 200, 1.2 }, { 200, 1000, 1.8 }, { 3000, 200, 3.2 }, { 20000, UINT32_MAX, 9 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct block b;

		begin(&b);
		put(&b, UFT_REC_PAD, 0, 0);
		put_funcs(&b, 4096, cases[i].pairs, cases[i].step);
		if (round_trip(&b) > cases[i].most)
			fail_msg("case %zu: %.2f bytes a word", i, round_trip(&b));
		put_calls(&b, 100, 10, 10, 0);			/* literal here */
		put_funcs(&b, 10, 2, 3);
		put(&b, UFT_REC_FUNC, 1, 1);			/* cut */
		round_trip(&b);
		end(&b);
	}
}

/* Deeper than the stack of the code, down again, and below where it began. */
static void test_deep(void **state)
{
	struct block b;

	(void)state;
	for (uint32_t depth = 3000; depth < 13000; depth += 1000) {
		begin(&b);
		for (uint32_t i = 0; i < depth; i++)
			put(&b, UFT_REC_ENTRY, i % 300, i);
		for (uint32_t i = depth; i-- > 0;)
			put(&b, UFT_REC_EXIT, i % 300, 2 * depth - i);
		for (uint32_t i = 0; i < 1000; i++)
			put(&b, UFT_REC_EXIT, i % 7, 3 * depth + i);
		put_calls(&b, 3000, 20, 100, 0);
		round_trip(&b);
		end(&b);
	}
}

/* Calls of threads that take turns, exits out of order, unwinds, records of all other kinds, clocks that go back. */
static void test_mixture(void **state)
{
	struct block b;

	(void)state;
	for (int round = 0; round < 200; round++) {
		begin(&b);
		while (b.n < 4000) {
			switch (pick(9)) {
			case 8: put_funcs(&b, pick(50), 40, 300); break;
			case 0: put(&b, UFT_REC_CONTEXT, 0, pick(1000)); b.word[b.n++] = 1ull << 40 |
				pick(100); b.word[b.n++] = pick(5); break;
			case 1: put(&b, UFT_REC_UNWIND, pick(9), pick(1000)); break;
			case 2: put(&b, UFT_REC_EXIT, pick(40), pick(1000)); break;
			case 3: put(&b, pick(16), pick(UFT_REC_VALUE_MAX), pick(UINT32_MAX)); break;
			case 4: b.word[b.n++] = (uint64_t)pick(UINT32_MAX) << 33 ^ pick(UINT32_MAX); break;
			default: put_calls(&b, pick(100), 40, 300, pick(6));
			}
		}
		round_trip(&b);
		end(&b);
	}
}

static void test_sizes(void **state)
{
	const uint8_t *to;
	struct block b;

	(void)state;
	begin(&b);
	assert_int_equal(pack_encode(b.p, (const uint8_t *)b.word, 0, 100, &to), 0);
	for (uint32_t n = 1; n < 200; n++) {
		b.n = 0;
		put_calls(&b, n, 10, 100, 1);
		round_trip(&b);
	}
	assert_int_equal(pack_encode(b.p, (const uint8_t *)b.word, 8 * b.n - 1, SIZE_MAX, &to), 0);
	assert_int_equal(pack_encode(b.p, (const uint8_t *)b.word, 8 * b.n, b.size, &to), 0);
	b.n = 0;
	put_calls(&b, WORDS, 100000, UINT32_MAX, 0);
	round_trip(&b);
	b.n = 0;
	while (b.n < WORDS)
		put(&b, UFT_REC_ENTRY, (uint32_t)b.n, (uint32_t)b.n * 0x12345);
	round_trip(&b);
	end(&b);
}

/* Hostile bytes: any cut is refused, any change is, or says something else; nothing is touched beyond the buffers. */
static void damage(struct block *block)
{
	struct block b = *block;
	uint8_t *to, *copy;

	round_trip(&b);
	to = malloc(8 * b.n);
	for (size_t n = 0; n < b.size; n++) {
		copy = malloc(n + PACK_SLACK);
		memcpy(copy, b.packed, n);
		memset(copy + n, 0xff, PACK_SLACK);
		assert_int_equal(pack_decode(b.p, copy, n, to, 8 * b.n), -EBADMSG);
		free(copy);
	}
	copy = malloc(b.size + PACK_SLACK);
	for (int i = 0; i < 20000; i++) {
		memcpy(copy, b.packed, b.size + PACK_SLACK);
		for (uint32_t k = 1 + pick(3); k; k--)
			copy[pick(pick(2) ? 60 : (uint32_t)b.size)] = (uint8_t)pick(256);
		pack_decode(b.p, copy, b.size, to, 8 * b.n);
	}
	assert_int_equal(pack_decode(b.p, b.packed, b.size, to, 8 * b.n - 8), -EBADMSG);
	free(copy);
	free(to);
}

static void test_damaged(void **state)
{
	struct block b;

	(void)state;
	begin(&b);
	put_calls(&b, 500, 300, 9000, 20);
	put(&b, UFT_REC_UNWIND, 3, 5);
	put_calls(&b, 100, 3, 10, 20);
	damage(&b);
	b.n = 0;
	put_funcs(&b, 500, 300, 9000);
	put(&b, UFT_REC_UNWIND, 3, 5);
	put_funcs(&b, 100, 3, 10);
	damage(&b);
	end(&b);
}

/* A code that the dictionary lacks is refused, though an earlier block's dictionary had it. */
static void test_unknown_code(void **state)
{
	struct block b;
	uint8_t *to;

	(void)state;
	begin(&b);
	to = malloc(8 * WORDS);
	for (int is_func = 0; is_func < 2; is_func++)
		for (uint32_t ids = 300; ids >= 250; ids -= 50) {
			b.n = 0;
			for (uint32_t i = 0; i < ids; i++) {
				put(&b, is_func ? UFT_REC_FUNC : UFT_REC_ENTRY, i, 0);
				if (is_func)
					put(&b, UFT_REC_PAD, 0, i);
			}
			round_trip(&b);
			b.packed[b.size - 1]++;		/* the last code's second byte */
			assert_int_equal(pack_decode(b.p, b.packed, b.size, to, 8 * b.n), -EBADMSG);
		}
	free(to);
	end(&b);
}

/* ---- Files ---------------------------------------------------------------------------------- */

struct files { char from[64], to[64]; };

static void make_files(struct files *f, int compress, uint32_t tracer)
{
	struct synth_load load = { .ncalls = 60000, .tracer = tracer, .compress = compress, .seed = 5, .nthreads = 3 };
	struct synth_expect expect;

	snprintf(f->from, sizeof(f->from), "/tmp/uft-pack-XXXXXX");
	snprintf(f->to, sizeof(f->to), "/tmp/uft-pack-XXXXXX");
	close(mkstemp(f->from));
	close(mkstemp(f->to));
	assert_int_equal(synth_file(f->from, &load, &expect), 0);
	free(expect.func_calls);
}

static void remove_files(struct files *f)
{
	unlink(f->from);
	unlink(f->to);
}

static int pack_files(const char *from, const char *to, struct uft_pack *pack, struct uft_error *err)
{
	FILE *out = fopen(to, "w");
	int ret;

	assert_non_null(out);
	ret = uft_pack_file(from, out, pack, err);
	assert_int_equal(fclose(out), 0);
	return ret;
}

static uint64_t size_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return (uint64_t)st.st_size;
}

/* Changes byte @at of a file. */
static void spoil(const char *path, uint64_t at)
{
	int fd = open(path, O_RDWR);
	uint8_t b;

	assert_int_equal(pread(fd, &b, 1, (off_t)at), 1);
	b ^= 0x55;
	assert_int_equal(pwrite(fd, &b, 1, (off_t)at), 1);
	close(fd);
}

/* The @n-th block of ring data of a file: where its payload begins. */
static uint64_t find_ring(const char *path, unsigned n, struct uft_file_block *head)
{
	uint64_t at = sizeof(struct uft_file_header);
	int fd = open(path, O_RDONLY);

	while (pread(fd, head, sizeof(*head), (off_t)at) == sizeof(*head)) {
		assert_true(head->magic == UFT_BLOCK_MAGIC);
		at += sizeof(*head);
		if (head->type == UFT_BLOCK_RING && !n--) {
			close(fd);
			return at;
		}
		at += (head->stored + 7u) & ~7u;
	}
	fail_msg("no such block");
	return 0;
}

static void test_file(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		struct uft_pack pack = { .is_in_place = 1 }, twice = { 0 };
		struct uft_file_header head;
		struct uft_error err = { "" };
		struct files f;
		int compress = i & 1, fd;
		char *a, *b;

		make_files(&f, compress, i & 2 ? UFT_TRACER_FUNCTION : UFT_TRACER_GRAPH);
		if (pack_files(f.from, f.to, &pack, &err))
			fail_msg("%s", err.text);
		assert_true(pack.bytes == size_of(f.from) && pack.packed == size_of(f.to) && pack.damaged == 0);
		if (!compress)
			/* pairs of FUNC are random here */
			assert_true(pack.packed * (i & 2 ? 4 : 5) < pack.bytes * 2);
		a = check_text(f.from, NULL);
		b = check_text(f.to, NULL);
		assert_string_equal(a, b);
		free(b);
		fd = open(f.to, O_RDONLY);
		assert_int_equal(read(fd, &head, sizeof(head)), sizeof(head));
		close(fd);
		assert_int_equal(head.version, UFT_FILE_PACKED);	/* who knows no such blocks says so */
		spoil(f.to, 8);						/* and reads the copy of the header */
		b = check_text(f.to, NULL);
		assert_string_equal(a, b);
		spoil(f.to, 8);
		free(a);
		free(b);
		assert_int_equal(pack_files(f.to, f.from, &twice, &err), 0);
		assert_true(twice.packed == pack.packed);
		remove_files(&f);
	}
}

static uint64_t events_of(const char *path, uint64_t *damaged)
{
	struct uft_stream *st;
	struct uft_event ev;
	uint64_t n = 0;

	assert_int_equal(uft_stream_open(path, NULL, &st, NULL), 0);
	while (uft_stream_next(st, &ev) == 1)
		n += ev.kind == UFT_EV_ENTRY || ev.kind == UFT_EV_EXIT || ev.kind == UFT_EV_FUNC;
	*damaged = uft_stream_info(st)->damaged_bytes;
	uft_stream_close(st);
	return n;
}

/* A damaged block costs what the same block costs that is not packed. */
static void damage_file(uint32_t tracer)
{
	struct uft_pack pack = { 0 }, in_place = { .is_in_place = 1 }, rest = { 0 };
	struct uft_error err = { "" };
	struct uft_file_block head, before;
	uint64_t all, n, bad, bad_before, at;
	struct files f;

	make_files(&f, 0, tracer);
	assert_int_equal(pack_files(f.from, f.to, &pack, &err), 0);
	all = events_of(f.to, &bad);
	assert_int_equal(bad, 0);
	at = find_ring(f.to, 3, &head);
	assert_true(head.flags & UFT_BLOCK_PACKED);
	spoil(f.to, at + head.stored / 2);
	at = find_ring(f.from, 3, &before);
	assert_true(!(before.flags & UFT_BLOCK_PACKED) && before.position == head.position && before.raw == head.raw);
	spoil(f.from, at + before.stored / 2);
	n = events_of(f.to, &bad);
	assert_true(n < all);
	assert_int_equal(events_of(f.from, &bad_before), n);
	assert_int_equal(bad_before - bad, before.stored - head.stored);

	/* Such a recording keeps its place; the rest of it can be had. */
	assert_int_equal(pack_files(f.to, f.from, &in_place, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "damaged bytes"));
	assert_int_equal(pack_files(f.to, f.from, &rest, &err), 0);
	assert_int_equal(rest.damaged, sizeof(head) + head.stored);
	assert_int_equal(events_of(f.from, &bad), n);
	remove_files(&f);
}

static void test_damaged_file(void **state)
{
	(void)state;
	damage_file(UFT_TRACER_GRAPH);
	damage_file(UFT_TRACER_FUNCTION);
}

/* A recorder that writes whenever the result is written. */
static ssize_t grow(void *path, const char *p, size_t n)
{
	FILE *f = fopen(path, "a");

	(void)p;
	assert_true(f && fputc(0, f) == 0 && fclose(f) == 0);
	return (ssize_t)n;
}

static int blocks_left;

static int is_enough(void)
{
	return blocks_left-- <= 0;
}

static void test_ended(void **state)
{
	struct uft_pack pack = { .is_in_place = 1, .is_ended = is_enough };
	struct uft_error err = { "" };
	struct files f;

	(void)state;
	make_files(&f, 0, UFT_TRACER_GRAPH);
	blocks_left = 2;
	assert_int_equal(pack_files(f.from, f.to, &pack, &err), -EINTR);
	assert_true(pack.packed && size_of(f.to) == pack.packed);
	blocks_left = 1 << 20;
	assert_int_equal(pack_files(f.from, f.to, &pack, &err), 0);
	remove_files(&f);
}

static void test_refused(void **state)
{
	struct uft_pack pack = { .is_in_place = 1 };
	struct uft_error err = { "" };
	struct files f;
	FILE *full;

	(void)state;
	make_files(&f, 0, UFT_TRACER_GRAPH);
	full = fopen("/dev/full", "w");
	assert_non_null(full);
	assert_int_equal(uft_pack_file(f.from, full, &pack, &err), -ENOSPC);
	fclose(full);
	full = fopencookie(f.from, "w", (cookie_io_functions_t){ .write = grow });
	assert_int_equal(uft_pack_file(f.from, full, &pack, &err), -EAGAIN);
	fclose(full);
	assert_int_equal(truncate(f.from, (off_t)size_of(f.from) / 2), 0);
	assert_int_equal(pack_files(f.from, f.to, &pack, &err), -EBUSY);
	assert_non_null(strstr(err.text, "has no end"));
	remove_files(&f);
}

/* Another recorder begins whenever the result is written: it moves the recording away. */
static ssize_t replace(void *cookie, const char *p, size_t n)
{
	const struct files *f = cookie;

	(void)p;
	assert_int_equal(rename(f->from, f->to), 0);
	fclose(fopen(f->from, "w"));
	return (ssize_t)n;
}

static int pack_replaced(int is_in_place, struct uft_error *err)
{
	struct uft_pack pack = { .is_in_place = is_in_place };
	struct files f;
	FILE *out;
	int ret;

	make_files(&f, 0, UFT_TRACER_GRAPH);
	out = fopencookie(&f, "w", (cookie_io_functions_t){ .write = replace });
	assert_non_null(out);
	ret = uft_pack_file(f.from, out, &pack, err);
	fclose(out);
	remove_files(&f);
	return ret;
}

static void test_replaced(void **state)
{
	struct uft_error err = { "" };

	(void)state;
	assert_int_equal(pack_replaced(0, &err), 0);
	assert_int_equal(pack_replaced(1, &err), -EAGAIN);
	assert_non_null(strstr(err.text, "another file"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls), cmocka_unit_test(test_funcs), cmocka_unit_test(test_deep),
		cmocka_unit_test(test_mixture), cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_damaged), cmocka_unit_test(test_unknown_code),
		cmocka_unit_test(test_file), cmocka_unit_test(test_damaged_file), cmocka_unit_test(test_refused),
		cmocka_unit_test(test_ended), cmocka_unit_test(test_replaced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
