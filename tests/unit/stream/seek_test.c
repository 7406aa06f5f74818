/* SPDX-License-Identifier: MIT */
/*
 * seek_test.c - any range that is read by an index is what is read from the start; indices that do not fit are
 * refused
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stream/decode/seek.h"
#include "stream/wire/wire.h"
#include "tests/unit/stream/check.h"

struct digest { uint64_t sum, events; };

static void digest_event(struct digest *d, const struct uft_event *ev)
{
	const char *name = ev->sym ? ev->sym->name : "-";
	uint64_t v[] = { ev->ts_ns, ev->kind, ev->flags, ev->depth, ev->duration_ns, ev->self_ns, ev->task->tid,
		ev->task->index, ev->cpu, ev->lost,
			 ev->flags & UFT_EVF_LATENCY ? ev->latency : 0 };

	d->sum = d->sum * 31 + wire_sum(v, sizeof(v)) + wire_sum(name, strlen(name));
	d->events++;
}

static struct digest read_range(const char *path, const struct uft_select *sel, const struct uft_index *ix)
{
	struct digest d = { 0, 0 };
	struct uft_error err = { "" };
	struct uft_stream *st;
	struct uft_event ev[100];
	size_t n;

	if (uft_stream_open(path, sel, &st, &err))
		fail_msg("open: %s", err.text);
	if (ix)
		assert_int_equal(uft_stream_seek_selection(st, ix), 0);
	while ((n = uft_stream_batch(st, ev, 100)))
		for (size_t i = 0; i < n; i++)
			digest_event(&d, &ev[i]);
	uft_stream_close(st);
	return d;
}

/* An index with a point every @every events, batches of @batch: ends of batches fall on all kinds of records. */
static struct uft_index *index_of(const char *path, uint64_t every, size_t batch)
{
	struct uft_event ev[512];
	struct uft_error err = { "" };
	struct uft_stream *st;
	struct uft_index *ix;
	size_t n;

	if (uft_stream_open(path, &(struct uft_select){ .no_parents = 1 }, &st, &err))
		fail_msg("open: %s", err.text);
	ix = uft_index_new(st, every);
	assert_non_null(ix);
	while ((n = uft_stream_batch(st, ev, batch)))
		assert_int_equal(uft_index_add(ix, st, ev, n), 0);
	assert_int_equal(uft_index_finish(ix, st), 0);
	uft_stream_close(st);
	return ix;
}

static void same_range(const char *path, const struct uft_index *ix, uint64_t from, uint64_t to, int is_stamp)
{
	static const uint32_t tid = 1001;
	static const char *pattern = "*1*";
	struct uft_select sel[] = {
		{ .from_ns = from, .to_ns = to, .is_from_stamp = is_stamp, .is_to_stamp = is_stamp },
		{ .from_ns = from, .to_ns = to, .tids = &tid, .ntids = 1, .no_parents = 1 },
		{ .from_ns = from, .to_ns = to, .funcs = &pattern, .nfuncs = 1 },
	};

	for (size_t i = 0; i < sizeof(sel) / sizeof(sel[0]); i++) {
		struct digest straight = read_range(path, &sel[i], NULL), sought = read_range(path, &sel[i], ix);

		assert_int_equal(straight.events, sought.events);
		assert_int_equal(straight.sum, sought.sum);
	}
}

static void check_ranges(const char *path, uint64_t first_ns, uint64_t duration, uint64_t every, size_t batch)
{
	struct uft_index *ix = index_of(path, every, batch);

	assert_true(uft_index_points(ix) > 4);
	for (uint64_t i = 1; i < 8; i++)
		same_range(path, ix, duration * i / 8, duration * i / 8 + duration / 50, 0);
	same_range(path, ix, 1, 0, 0);
	same_range(path, ix, first_ns + duration / 3, first_ns + duration / 2, 1);
	same_range(path, ix, 2 * duration, 0, 0);
	same_range(path, ix, 0, duration / 4, 0);
	uft_index_close(ix);
}

static void test_ranges(void **state)
{
	char path[] = "/tmp/uft-seek-XXXXXX";

	(void)state;
	close(mkstemp(path));
	for (int kind = 0; kind < 3; kind++) {
		struct synth_load load = {
			.ncalls = 20000, .tracer = kind == 2 ? UFT_TRACER_FUNCTION : UFT_TRACER_GRAPH, .seed = 7 + kind,
			.run = kind ? 200 : 3,
			.compress = kind, .opts = { .ncpus = 3, .ring_bytes = 16384, .sub_bytes = 4096 },
		};
		struct synth_expect expect = { 0 };

		assert_int_equal(synth_file(path, &load, &expect), 0);
		check_ranges(path, expect.first_ns, expect.last_ns - expect.first_ns, 1000, 37);
		check_ranges(path, expect.first_ns, expect.last_ns - expect.first_ns, 500, 512);
		free(expect.func_calls);
	}
	unlink(path);
}

/* How many events have flags of a kernel. */
static uint32_t with_flags(const char *path)
{
	struct uft_stream *st;
	struct uft_event ev;
	uint32_t n = 0;

	assert_int_equal(uft_stream_open(path, NULL, &st, NULL), 0);
	while (uft_stream_next(st, &ev) == 1)
		n += ev.flags & UFT_EVF_LATENCY ? 1 : 0;
	uft_stream_close(st);
	return n;
}

/* From now on the recording is one of a kernel. */
static void of_kernel(const char *path)
{
	int fd = open(path, O_RDWR);
	struct uft_file_header h;

	assert_int_equal(pread(fd, &h, sizeof(h), 0), sizeof(h));
	h.flags |= UFT_FILE_LATENCY;
	h.head_sum = wire_sum(&h, offsetof(struct uft_file_header, head_sum));
	assert_int_equal(pwrite(fd, &h, sizeof(h), 0), sizeof(h));
	close(fd);
}

/* Every batch ends in a point: among losses, calls that are left, those that return after all, and whole calls. */
static void test_each_event(void **state)
{
	struct check c;
	struct uft_index *ix;
	struct uft_error err = { "" };
	struct uft_stream *st;
	struct uft_event ev;

	(void)state;
	check_start(&c, NULL, UFT_TRACER_GRAPH);
	for (uint32_t round = 0; round < 3; round++) {
		uint64_t entry;

		synth_put(c.s, c.at, UFT_REC_FLAGS, 0x104 + round, NULL, 0);
		enter(&c, 1, 1);
		enter(&c, 1, 2);
		entry = c.at.clock;
		enter(&c, 1, 3);
		c.at.clock += 2;
		synth_unwind(c.s, c.at, 2);
		enter(&c, 1, 4);
		c.at.clock += 5;
		synth_exit_left(c.s, c.at, synth_stub_id(c.img, 2), entry);
		c.at.ring ^= 1;
		synth_put(c.s, c.at, UFT_REC_FLAGS, round, NULL, 0);
		enter(&c, 1, 5);
		synth_put(c.s, c.at, UFT_REC_FLAGS, 0xffff, NULL, 0);
		enter(&c, 1, 6);
		enter(&c, 1, 7);
		leave(&c, 3, 5);		/* two are left */
		leave(&c, 3, 9);		/* an orphan */
		c.at.clock += 40;
		synth_call(c.s, c.at, synth_stub_id(c.img, 8), 20);
		c.at.clock += 1;
		synth_call(c.s, c.at, synth_stub_id(c.img, 9), 35);
		synth_ring(c.s, 0, c.at.ring)->lost += 7;
		c.at.tid ^= 1;
		c.at.clock += 1;
		synth_put(c.s, c.at, UFT_REC_LOST, 0, (uint64_t[]){ 7 }, 1);
		leave(&c, 3, 4);
	}
	check_finish(&c);
	assert_int_equal(with_flags(c.path), 0);
	of_kernel(c.path);
	assert_true(with_flags(c.path) > 20);
	ix = index_of(c.path, 1, 1);
	assert_true(uft_index_points(ix) > 40);
	for (size_t i = 0; i < uft_index_points(ix); i++) {
		struct digest straight = { 0, 0 }, sought = { 0, 0 };
		uint64_t skip = uft_index_point_event(ix, i);

		assert_int_equal(uft_stream_open(c.path, NULL, &st, &err), 0);
		uft_stream_info(st);		/* tasks are numbered alike */
		while (uft_stream_next(st, &ev) == 1)
			if (!skip || !skip--)
				digest_event(&straight, &ev);
		/* the same stream again: a point is reached from anywhere */
		assert_int_equal(uft_stream_seek(st, ix, i), 0);
		while (uft_stream_next(st, &ev) == 1)
			digest_event(&sought, &ev);
		assert_int_equal(straight.events, sought.events);
		assert_int_equal(straight.sum, sought.sum);
		uft_stream_close(st);
	}
	uft_index_close(ix);
	check_end(&c);
}

static void index_name(char *to, const char *path)
{
	strcat(strcpy(to, path), ".index");
}

static int try_open(const char *path)
{
	struct uft_stream *st;
	struct uft_index *ix;
	int ret;

	assert_int_equal(uft_stream_open(path, NULL, &st, NULL), 0);
	ret = uft_index_open(path, st, &ix);
	if (!ret)
		assert_int_equal(uft_stream_seek(st, ix, uft_index_points(ix) - 1), 0);
	uft_index_close(ix);
	uft_stream_close(st);
	return ret;
}

/* An index of more than any recording needs is refused by its size, and so is one that is a hole. */
static void check_large(const char *path, const char *name)
{
	static const uint8_t zero[1 << 20];
	struct uft_index *ix = index_of(path, 1000, 100);
	struct index_head h;
	int fd;

	assert_int_equal(uft_index_save(ix, path), 0);
	uft_index_close(ix);
	fd = open(name, O_RDWR);
	assert_int_equal(read(fd, &h, sizeof(h)), sizeof(h));
	h.table = sizeof(h);
	h.directory = h.table + (25 << 20);
	h.npoints = 1 << 20;
	h.sum = wire_sum(&h, offsetof(struct index_head, sum));
	assert_int_equal(pwrite(fd, &h, sizeof(h), 0), sizeof(h));
	for (size_t at = 0; at < (25 << 20) + (1 << 20) * sizeof(struct index_point); at += sizeof(zero))
		assert_int_equal(pwrite(fd, zero, sizeof(zero), (off_t)(sizeof(h) + at)), sizeof(zero));
	assert_int_equal(try_open(path), -EFBIG);
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(pwrite(fd, &h, sizeof(h), 0), sizeof(h));
	assert_int_equal(ftruncate(fd, 1 << 30), 0);
	assert_int_equal(try_open(path), -ENOENT);
	close(fd);
}

static void test_file(void **state)
{
	struct synth_load load = { .ncalls = 30000, .tracer = UFT_TRACER_GRAPH, .seed = 3 };
	struct uft_info straight, known;
	char path[] = "/tmp/uft-seek-XXXXXX", name[80];
	struct synth_expect expect = { 0 };
	struct uft_stream *st;
	struct uft_index *ix;
	struct stat before;
	int fd;

	(void)state;
	close(mkstemp(path));
	index_name(name, path);
	assert_int_equal(synth_file(path, &load, &expect), 0);
	free(expect.func_calls);
	assert_int_equal(try_open(path), -ENOENT);
	ix = index_of(path, 1000, 100);
	assert_int_equal(uft_index_save(ix, path), 0);
	assert_int_equal(stat(name, &before), 0);
	assert_int_equal(before.st_size, uft_index_bytes(ix));
	assert_int_equal(before.st_mode & 0777, 0600);
	uft_index_close(ix);
	assert_int_equal(try_open(path), 0);

	/* The facts of the recording are those that a scan finds. */
	straight = check_info(path);
	assert_int_equal(uft_stream_open(path, NULL, &st, NULL), 0);
	assert_int_equal(uft_index_open(path, st, &ix), 0);
	assert_int_equal(uft_stream_seek_selection(st, ix), 0);
	known = *uft_stream_info(st);
	assert_int_equal(known.events, straight.events);
	assert_int_equal(known.calls, straight.calls);
	assert_int_equal(known.duration_ns, straight.duration_ns);
	assert_int_equal(known.ntasks, straight.ntasks);
	assert_int_equal(known.bytes, straight.bytes);
	uft_index_close(ix);
	uft_stream_close(st);

	/* Damaged or cut off: refused. The recording changed: none of it. */
	fd = open(name, O_RDWR);
	assert_int_equal(pwrite(fd, "x", 1, before.st_size - 3), 1);
	assert_int_equal(try_open(path), -EBADMSG);
	assert_int_equal(ftruncate(fd, before.st_size - 40), 0);
	assert_int_equal(try_open(path), -EBADMSG);
	assert_int_equal(ftruncate(fd, 10), 0);
	assert_int_equal(try_open(path), -ENOENT);
	close(fd);
	check_large(path, name);
	ix = index_of(path, 1000, 100);
	assert_int_equal(uft_index_save(ix, path), 0);
	uft_index_close(ix);
	assert_int_equal(try_open(path), 0);
	/* What another user has under that name is no index to replace. */
	if (geteuid() == 0) {
		assert_int_equal(chown(name, 65534, 65534), 0);
		ix = index_of(path, 1000, 100);
		assert_int_equal(uft_index_save(ix, path), -EPERM);
		uft_index_close(ix);
		assert_int_equal(stat(name, &before), 0);
		assert_int_equal(before.st_uid, 65534);
	}
	assert_int_equal(utimensat(AT_FDCWD, path, (struct timespec[]){ { 1, 0 }, { 1, 0 } }, 0), 0);
	assert_int_equal(try_open(path), -ENOENT);
	unlink(name);
	unlink(path);
}

/* The directory of an index lies anywhere in the buffer. */
typedef struct index_point loose_point __attribute__((aligned(1)));

/*
 * Points that say anything at all, with sums that are right: no crash, no endless reading, and a refused one
 * leads to the start.
 */
static void test_forged(void **state)
{
	struct synth_load load = { .ncalls = 5000, .tracer = UFT_TRACER_GRAPH, .seed = 5,
		.opts = { .ncpus = 3, .ring_bytes = 16384, .sub_bytes = 4096 } };
	char path[] = "/tmp/uft-seek-XXXXXX", name[80];
	uint64_t seed = 1, refused = 0, passed = 0;
	static uint8_t good[4 << 20], bad[4 << 20];
	struct synth_expect expect = { 0 };
	struct uft_stream *st;
	struct uft_index *ix;
	ssize_t n;
	int fd;

	(void)state;
	close(mkstemp(path));
	index_name(name, path);
	assert_int_equal(synth_file(path, &load, &expect), 0);
	free(expect.func_calls);
	ix = index_of(path, 200, 50);
	assert_int_equal(uft_index_save(ix, path), 0);
	uft_index_close(ix);
	fd = open(name, O_RDWR);
	n = read(fd, good, sizeof(good));
	assert_true(n > 1000);
	assert_int_equal(uft_stream_open(path, NULL, &st, NULL), 0);
	for (int round = 0; round < 3000; round++) {
		struct index_head *h = (void *)bad;
		loose_point *p;
		struct uft_event ev[64];
		uint64_t events = 0;
		size_t k, at;

		memcpy(bad, good, (size_t)n);
		p = (void *)(bad + h->directory);
		k = (size_t)round % h->npoints;
		for (int change = 0; change < 1 + round % 3; change++) {
			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			/* the table of tasks now and then, the point mostly, most of all where the rings stand */
			at = round % 11 == 0 ? h->table + (seed >> 33) % (h->directory - h->table)
					     : p[k].at +
						     (seed >> 33) % (round & 1 ? p[k].bytes : p[k].bytes < 60 ?
						     p[k].bytes : 60);
			bad[at] = (uint8_t)(round & 2 ? seed >> 20 : bad[at] ^ 1u << (seed >> 20 & 7));
		}
		p[k].sum = wire_sum(bad + p[k].at, p[k].bytes);
		h->body_sum = wire_sum(bad + h->table, (size_t)n - h->table);
		h->sum = wire_sum(h, offsetof(struct index_head, sum));
		assert_int_equal(pwrite(fd, bad, (size_t)n, 0), n);
		if (uft_index_open(path, st, &ix))
			continue;
		if (uft_stream_seek(st, ix, k)) {
			refused++;
			assert_int_equal(uft_stream_batch(st, ev, 1), 1);
			assert_int_equal(ev[0].ts_ns, expect.first_ns);
		} else {
			passed++;
			for (size_t got; events < 100000 && (got = uft_stream_batch(st, ev, 64)) != 0;)
				events += got;
			assert_true(events < 100000);
		}
		uft_index_close(ix);
	}
	assert_true(refused > 100 && passed > 100);
	uft_stream_close(st);
	close(fd);
	unlink(name);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ranges), cmocka_unit_test(test_each_event),
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_forged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
