/* SPDX-License-Identifier: MIT */
/* file_test.c - .uft files that were cut, damaged, left unfinished, or written from hostile memory */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "stream/file/reader.h"
#include "stream/wire/clock.h"
#include "stream/wire/uft_file.h"
#include "stream/wire/wire.h"
#include "tests/unit/stream/check.h"

/* ---- Bytes of a file ------------------------------------------------------------------------ */

struct bytes { uint8_t *p; size_t n; };

static struct bytes slurp(const char *path)
{
	struct bytes b = { NULL, 0 };
	struct stat st;
	int fd = open(path, O_RDONLY);

	assert_true(fd >= 0 && !fstat(fd, &st));
	b.n = (size_t)st.st_size;
	b.p = malloc(b.n + 1);
	assert_true(read(fd, b.p, b.n) == (ssize_t)b.n);
	close(fd);
	return b;
}

static void spill(const char *path, const uint8_t *p, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0 && write(fd, p, n) == (ssize_t)n);
	close(fd);
}

/* A file whose ring data goes in many small blocks, so that cuts fall everywhere. Two rings, 2000 records. */
static void write_small_blocks(struct check *c)
{
	struct synth_opts o = { .ring_bytes = 16384, .sub_bytes = 4096 };

	check_start(c, &o, UFT_TRACER_FUNCTION);
	for (int i = 0; i < 2000; i++) {
		c->at.ring = i & 1;
		c->at.tid = 100 + (i & 1);
		c->at.clock += 100;
		assert_true(synth_func(c->s, c->at, synth_text_id(c->img, i % 64), synth_lib_addr(c->img, 1)));
		if (i % 250 == 0)
			assert_true(uft_writer_poll(c->w) >= 0);
	}
	check_finish(c);
}

/* The events of a cut file are a prefix of each ring's: whole records, in order, nothing made up. */
static uint64_t count_prefix(const char *path)
{
	uint64_t n = 0, next[2] = { 0, 1 };
	struct uft_stream *st;
	struct uft_event ev;

	assert_int_equal(uft_stream_open(path, &(struct uft_select){ .no_parents = 1 }, &st, NULL), 0);
	while (uft_stream_next(st, &ev) == 1) {
		char name[32], addr[32], id[32];

		assert_int_equal(ev.kind, UFT_EV_FUNC);
		assert_true(ev.cpu < 2 && ev.task->tid == 100 + ev.cpu);
		assert_true(ev.ts_ns == T0 + 100 * (next[ev.cpu] + 1));
		/* a name; without FUNCS the address; without OBJECT the id */
		snprintf(name, sizeof(name), "func_%u", (unsigned)(next[ev.cpu] % 64));
		snprintf(addr, sizeof(addr), "prog+0x%x", (unsigned)(0x1000 + next[ev.cpu] % 64 * 32));
		snprintf(id, sizeof(id), "id:%u", (unsigned)(1 + (next[ev.cpu] % 64 * 32 + 5) / 4));
		if (strcmp(ev.sym->name, name) && strcmp(ev.sym->name, addr) && strcmp(ev.sym->name, id))
			fail_msg("%s is neither %s nor %s nor %s", ev.sym->name, name, addr, id);
		next[ev.cpu] += 2;
		n++;
	}
	assert_true(uft_stream_info(st)->events == n);
	uft_stream_close(st);
	return n;
}

/* A file that claims a terabyte costs what was written of it: time, and memory for what its metadata unpacks to. */
static void test_hole(void **state)
{
	struct rd_file *f;
	struct check c;
	struct stat st;
	int fd;

	(void)state;
	write_small_blocks(&c);
	fd = open(c.path, O_RDWR);
	if (ftruncate(fd, 1ll << 40) || lseek(fd, 1 << 30, SEEK_DATA) >= 0 || errno != ENXIO) {
		puts("SKIPPED: this file system has no holes");
	} else {
		assert_int_equal(count_prefix(c.path), 2000);
		assert_int_equal(rd_open(c.path, NULL, &f, NULL), 0);
		assert_int_equal(fstat(fd, &st), 0);
		assert_true(f->budget <= (16u << 20) + 16 * 64 * 512 * (uint64_t)st.st_blocks);
		rd_close(f);
	}
	close(fd);
	check_end(&c);
}

static void test_kill_at_any_byte(void **state)
{
	uint64_t last = 0, blocks_end = sizeof(struct uft_file_header);
	struct bytes b;
	struct check c;

	(void)state;
	write_small_blocks(&c);
	b = slurp(c.path);
	assert_true(count_prefix(c.path) == 2000);
	for (size_t n = 64; n <= b.n; n += n % 640 ? 64 : 59) {
		const struct uft_file_block *head;
		struct uft_info info;
		uint64_t seen;

		spill(c.path, b.p, n);
		seen = count_prefix(c.path);
		assert_true(seen >= last);	/* never less than a shorter file */
		last = seen;
		info = check_info(c.path);
		/* walk to the last complete block: only what follows it is damaged */
		for (;;) {
			head = (const void *)(b.p + blocks_end);
			if (blocks_end + sizeof(*head) > n)
				break;
			if (blocks_end + sizeof(*head) + head->stored > n)
				break;
			blocks_end += sizeof(*head) + ((head->stored + 7) & ~7u);
		}
		if (n >= blocks_end)
			assert_true(info.damaged_bytes == n - blocks_end);
		assert_int_equal(info.complete, n == b.n);
	}
	spill(c.path, b.p, b.n);
	assert_true(count_prefix(c.path) == 2000);
	free(b.p);
	check_end(&c);
}

static void test_damage(void **state)
{
	struct uft_info info;
	struct bytes b;
	struct check c;
	size_t at = sizeof(struct uft_file_header), second = 0;
	uint64_t payload;
	int ring_blocks = 0;

	(void)state;
	write_small_blocks(&c);
	b = slurp(c.path);
	while (at < b.n) {			/* the second RING block */
		const struct uft_file_block *head = (const void *)(b.p + at);

		if (head->type == UFT_BLOCK_RING && ++ring_blocks == 2)
			second = at;
		at += sizeof(*head) + ((head->stored + 7) & ~7u);
	}
	assert_true(second && ring_blocks > 4);
	payload = ((struct uft_file_block *)(b.p + second))->stored;

	b.p[second + 100] ^= 4;			/* its payload: this block is gone, the others are not */
	spill(c.path, b.p, b.n);
	info = check_info(c.path);
	assert_true(info.damaged_bytes >= payload && info.damaged_bytes < payload + 64 + 8192);
	assert_true(info.events > 1000 && info.events < 2000 && info.complete);
	b.p[second + 100] ^= 4;

	b.p[second + 20] ^= 1;			/* its head: found again at the next block */
	spill(c.path, b.p, b.n);
	info = check_info(c.path);
	assert_true(info.damaged_bytes >= payload && info.damaged_bytes < payload + 64 + 8192);
	assert_true(info.events > 1000 && info.events < 2000 && info.complete);
	b.p[second + 20] ^= 1;

	b.p[12] ^= 1;				/* the file's header: a copy follows */
	spill(c.path, b.p, b.n);
	info = check_info(c.path);
	assert_int_equal(info.events, 2000);
	assert_int_equal(info.damaged_bytes, 64);
	free(b.p);
	check_end(&c);
}

static void test_not_a_recording(void **state)
{
	struct uft_error err;
	struct uft_stream *st;
	struct check c;

	(void)state;
	check_start(&c, NULL, UFT_TRACER_GRAPH);
	check_finish(&c);
	assert_int_equal(uft_stream_open("/nonexistent/file", NULL, &st, &err), -ENOENT);
	assert_non_null(strstr(err.text, "/nonexistent/file"));
	assert_int_equal(uft_stream_open("/dev/zero", NULL, &st, &err), -EINVAL);
	assert_int_equal(uft_stream_open("/", NULL, &st, &err), -EINVAL);
	spill(c.path, (const uint8_t *)"", 0);
	assert_int_equal(uft_stream_open(c.path, NULL, &st, &err), -EINVAL);
	spill(c.path, (const uint8_t *)"tracing and so on, much longer than a header of 64 bytes, is not one", 68);
	assert_int_equal(uft_stream_open(c.path, NULL, &st, &err), -EINVAL);
	assert_non_null(strstr(err.text, "is not a .uft recording"));
	assert_null(st);
	check_end(&c);
}

static void test_version(void **state)
{
	struct uft_file_header *h;
	struct uft_error err;
	struct uft_stream *st;
	struct bytes b;
	struct check c;

	(void)state;
	check_start(&c, NULL, UFT_TRACER_GRAPH);
	check_finish(&c);
	b = slurp(c.path);
	h = (void *)b.p;
	h->version = UFT_FILE_PACKED + 1;
	h->head_sum = wire_sum(h, offsetof(struct uft_file_header, head_sum));
	spill(c.path, b.p, b.n);
	assert_int_equal(uft_stream_open(c.path, NULL, &st, &err), -EPROTONOSUPPORT);
	free(b.p);
	check_end(&c);
}

static void test_compressed(void **state)
{
	struct synth_load load = { .ncalls = 50000, .tracer = UFT_TRACER_GRAPH, .compress = 3 };
	struct synth_expect e;
	struct uft_info info;
	char path[] = "/tmp/uft-stream-XXXXXX";

	(void)state;
	close(mkstemp(path));
	assert_int_equal(synth_file(path, &load, &e), 0);
	info = check_info(path);
	assert_true(info.calls == e.calls && info.events == e.events && info.complete && !info.lost);
	assert_true(info.bytes < e.bytes * 3 / 4);
	assert_true(info.duration_ns == e.last_ns - e.first_ns);
	unlink(path);
	free(e.func_calls);
}

/* A sub-buffer larger than a block, polled at odd moments: records go on in the next block. */
static void test_large_sub_buffers(void **state)
{
	struct synth_opts o = { .ring_bytes = 1 << 20, .sub_bytes = 256 << 10 };
	struct check c;
	uint64_t n = 0;
	int64_t got;

	(void)state;
	check_start(&c, &o, UFT_TRACER_FUNCTION);
	for (int round = 0; round < 8; round++) {
		for (int i = 0; i < 20000; i++, n++) {
			c.at.clock += 10;
			assert_true(synth_func(c.s, c.at, synth_text_id(c.img, i % 64), 0));
		}
		got = uft_writer_poll(c.w);
		assert_true(got > 0);
	}
	check_finish(&c);
	assert_true(check_info(c.path).events == n);
	assert_true(check_info(c.path).damaged_bytes == 0);
	check_end(&c);
}

static void test_slice_reuse(void **state)
{
	struct synth_opts o = { .ring_bytes = 16384, .sub_bytes = 4096 };
	struct check c;

	(void)state;
	check_start(&c, &o, UFT_TRACER_GRAPH);
	for (int round = 0; round < 5; round++) {
		if (round) {
			assert_int_equal(synth_slice(c.s, 0)->state, UFT_SLICE_FREE);
			assert_int_equal(synth_ring(c.s, 0, 0)->commit, 0);
			assert_int_equal(synth_slice(c.s, 0)->counter[0], 0);
			assert_int_equal(synth_slice(c.s, 0)->ring_flags, UFT_RING_ON);
			synth_begin(c.s, 0, 100 + round, 100);
			assert_int_equal(uft_writer_slice(c.w, 0, 100 + (uint32_t)round, c.img), 0);
		}
		synth_slice(c.s, 0)->counter[0] = 3;
		c.at.pid = c.at.tid = 100 + round;
		enter(&c, 10, 1);
		leave(&c, 10, 1);
		assert_int_equal(uft_writer_slice(c.w, 0, 100, c.img), -EINVAL);
		assert_int_equal(uft_writer_slice_end(c.w, 0), 0);
		assert_int_equal(uft_writer_slice_end(c.w, 0), -EINVAL);
	}
	check_finish(&c);
	assert_int_equal(check_info(c.path).events, 10);
	assert_int_equal(check_info(c.path).ntasks, 5);
	assert_int_equal(check_info(c.path).counters[0], 15);
	check_end(&c);
}

/*
 * Memory that is locked cannot become a hole, as where the file system makes none: the next process gets
 * another slice.
 */
static void test_slice_without_a_hole(void **state)
{
	struct synth_opts o = { .ring_bytes = 16384, .sub_bytes = 4096, .profile_ids = 64 };
	struct check c;

	(void)state;
	check_start(&c, &o, UFT_TRACER_GRAPH);
	synth_begin(c.s, 1, 300, 1);
	assert_int_equal(uft_writer_slice(c.w, 1, 300, c.img), 0);
	if (synth_lock(c.s, 0)) {
		check_finish(&c);
		check_end(&c);
		skip();
	}
	enter(&c, 10, 1);
	leave(&c, 10, 1);
	synth_profile(c.s, 0, 0, 1)->hits = 7;
	assert_int_equal(uft_writer_slice_end(c.w, 0), 0);
	assert_int_equal(synth_slice(c.s, 0)->state, UFT_SLICE_SPENT);
	assert_int_equal(synth_slice(c.s, 0)->pid, 0);
	assert_int_equal(uft_writer_slice_end(c.w, 1), 0);
	assert_int_equal(synth_slice(c.s, 1)->state, UFT_SLICE_FREE);
	check_finish(&c);
	assert_int_equal(check_info(c.path).events, 2);
	check_end(&c);
}

static void test_objects_that_appear_later(void **state)
{
	struct uft_mapped *m;
	struct check c;

	(void)state;			/* dlopen while recording */
	check_start(&c, NULL, UFT_TRACER_GRAPH);
	enter(&c, 0, 1);
	assert_true(uft_writer_poll(c.w) > 0);
	m = uft_image_add(c.img, c.img->obj[1].obj, 0x7eeeee000000ull);
	m->text_start = 0x7eeeee001000ull;
	m->text_end = m->text_start + 512;
	m->first_stub_id = 20000;
	m->nstubs = 2;
	m->stub_addr = calloc(2, 8);
	m->site_addr = calloc(2, 8);
	m->stub_addr[1] = m->text_start + 3 * 32;
	m->site_addr[1] = m->stub_addr[1] + 5;
	assert_true(uft_writer_poll(c.w) > 0);
	c.at.clock += 5;
	synth_exit(c.s, c.at, 20001);
	check_events(&c, NULL, "0 0 100 ENTRY func_1 0\n5 0 100 EXIT lib_3 1 0 0 orphan\n");
	check_end(&c);
}

/* Is main(), recorded in @obj, found by its name when the recorder was killed before it wrote names? */
static int is_main_named(struct uft_object *obj)
{
	struct synth *s = synth_new(NULL);
	char path[] = "/tmp/uft-stream-XXXXXX";
	struct uft_image *img = uft_image_alloc(1, "self");
	struct uft_stream *st;
	struct uft_event ev;
	struct uft_writer *w;
	struct uft_mapped *m;
	uint64_t vaddr;
	int is_named;

	close(mkstemp(path));
	vaddr = uft_object_symbol(obj, "main", NULL);
	assert_true(vaddr);
	m = uft_image_add(img, obj, 0x555555000000ull);
	m->first_text_id = 1;
	m->ntext_ids = (uint32_t)((m->text_end - m->text_start) / 4);
	w = synth_writer(s, path, UFT_TRACER_FUNCTION, 0);
	synth_begin(s, 0, 100, 1);
	assert_int_equal(uft_writer_slice(w, 0, 100, img), 0);
	synth_func(s, (struct synth_at){ 0, 0, 100, 100, T0 },
		   1 + (uint32_t)((vaddr + 5 + m->bias - (m->text_start & ~3ull)) >> 2), 0);
	assert_true(uft_writer_poll(w) > 0);
	assert_int_equal(uft_stream_open(path, NULL, &st, NULL), 0);	/* unfinished, as it is now */
	assert_int_equal(uft_stream_next(st, &ev), 1);
	is_named = ev.sym->name && !strcmp(ev.sym->name, "main");
	assert_int_equal(uft_stream_info(st)->complete, 0);
	uft_stream_close(st);
	uft_writer_finish(w, NULL, NULL);
	unlink(path);
	uft_image_free(img);
	synth_free(s);
	return is_named;
}

/* Names come from the object's file then, if it is the same: by its build-id or else by size and time. */
static void test_names_from_the_object(void **state)
{
	char exe[4096] = { 0 }, copy[] = "/tmp/uft-stream-XXXXXX";
	struct uft_object *obj, *replaced;
	int from, to;

	(void)state;
	assert_true(readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0);
	assert_int_equal(uft_object_open(exe, &obj, NULL), 0);
	assert_true(is_main_named(obj));
	obj->build_id_len = 0;		/* who opens it meanwhile gets this one */
	assert_true(is_main_named(obj));
	/* What ran was another file of that name, which is no more there. */
	from = open(exe, O_RDONLY);
	to = mkstemp(copy);
	while (sendfile(to, from, NULL, 1u << 30) > 0)
		;
	close(from);
	close(to);
	assert_int_equal(uft_object_open_as(copy, exe, &replaced, NULL), 0);
	replaced->build_id_len = 0;
	assert_false(is_main_named(replaced));
	unlink(copy);
	uft_object_put(replaced);
	uft_object_put(obj);
}

/*
 * The machine's clock: an event's time is CLOCK_MONOTONIC, finished or not. The rate is one that was measured, and time is slewed by up to
 * 500 ppm: who stands for seconds between two of these lines is wrong by as much more.
 */
static void test_real_clock(void **state)
{
	struct uft_writer_opts opts = { .tracer = UFT_TRACER_FUNCTION };
	struct synth *s = synth_new(NULL);
	struct uft_image *img = synth_image(1, 4);
	char path[] = "/tmp/uft-stream-XXXXXX";
	struct uft_clock_pair begin, now, end;
	struct uft_stream *st;
	struct uft_event ev;
	struct uft_writer *w;
	struct stat st_new;
	uint64_t near_ns;

	(void)state;
	uft_clock_sample(&begin);
	close(mkstemp(path));
	assert_int_equal(uft_writer_create(path, synth_arena(s), &opts, &w, NULL), 0);
	assert_int_equal(stat(path, &st_new), 0);	/* a start waits for it */
	assert_true(st_new.st_blocks * 512 <= 4 << 20);
	synth_begin(s, 0, 100, 1);
	assert_int_equal(uft_writer_slice(w, 0, 100, img), 0);
	uft_clock_sample(&now);
	synth_func(s, (struct synth_at){ 0, 0, 100, 100, now.clock }, synth_text_id(img, 1), 0);
	assert_true(uft_writer_poll(w) > 0);
	for (int is_finished = 0; is_finished < 2; is_finished++) {
		assert_int_equal(uft_stream_open(path, NULL, &st, NULL), 0);
		assert_int_equal(uft_stream_next(st, &ev), 1);
		uft_clock_sample(&end);
		near_ns = 50000 + (end.ns - begin.ns) / 1000;
		assert_in_range(ev.ts_ns, now.ns - near_ns, now.ns + near_ns);
		uft_stream_close(st);
		if (!is_finished) {
			usleep(200000);
			assert_int_equal(uft_writer_finish(w, NULL, NULL), 0);
		}
	}
	unlink(path);
	uft_image_free(img);
	synth_free(s);
}

/* ---- Hostile targets ------------------------------------------------------------------------ */

static void test_hostile_rings(void **state)
{
	struct check c;

	(void)state;
	check_start(&c, NULL, UFT_TRACER_GRAPH);
	enter(&c, 0, 1);
	synth_ring(c.s, 0, 1)->commit = 1ull << 40;	/* more than the ring holds */
	synth_ring(c.s, 0, 2)->commit = 13;		/* no multiple of 8 */
	synth_ring(c.s, 0, 3)->commit = 4096;		/* no sub-buffer header there */
	memset((char *)synth_ring(c.s, 0, 3) + UFT_PAGE, 0xa5, 4096);
	assert_true(uft_writer_poll(c.w) > 0);
	synth_ring(c.s, 0, 1)->commit = 0;
	synth_ring(c.s, 0, 0)->read = ~0ull;		/* we do not believe what we told them */
	leave(&c, 10, 1);
	check_events(&c, NULL, "0 0 100 ENTRY func_1 0\n10 0 100 EXIT func_1 0 10 10\n");
	assert_int_equal(check_info(c.path).damaged_bytes, 4096);
	assert_int_equal(check_info(c.path).lost, 2);	/* the two rings that were given up */
	check_end(&c);
}

static void test_hostile_overwrite_rings(void **state)
{
	struct synth_opts o = { .overwrite = 1 };
	struct check c;

	(void)state;
	check_start(&c, &o, UFT_TRACER_GRAPH);
	enter(&c, 0, 1);
	synth_ring(c.s, 0, 1)->commit = 1ull << 40;
	synth_ring(c.s, 0, 2)->oldest = 1ull << 50;
	synth_ring(c.s, 0, 2)->commit = 4096;
	synth_ring(c.s, 0, 3)->oldest = 24;
	synth_ring(c.s, 0, 3)->commit = 4096;
	assert_true(uft_writer_poll(c.w) >= 0);
	check_events(&c, NULL, "0 0 100 ENTRY func_1 0\n");
	check_end(&c);
}

static void test_bad_geometry(void **state)
{
	struct synth *s = synth_new(NULL);
	struct uft_writer_opts opts = { .tracer = UFT_TRACER_GRAPH };
	struct uft_error err;
	struct uft_writer *w;

	(void)state;
	synth_arena(s)->sub_bytes = 4097;
	assert_int_equal(uft_writer_create("/tmp/uft-never", synth_arena(s), &opts, &w, &err), -EINVAL);
	assert_int_equal(access("/tmp/uft-never", F_OK), -1);
	synth_arena(s)->sub_bytes = 4096;
	assert_int_equal(uft_writer_create("/nonexistent/x", synth_arena(s), &opts, &w, &err), -ENOENT);
	assert_non_null(strstr(err.text, "/nonexistent/x"));
	synth_free(s);
}

/* ---- Full disk ------------------------------------------------------------------------------ */

/* In a mount namespace of its own, a 3 MiB disk. Exit codes tell what went wrong; 77: not possible here. */
static int nospace_child(const char *dir)
{
	struct synth_opts o = { .ring_bytes = 1 << 20, .sub_bytes = 64 << 10 };
	struct synth *s = synth_new(&o);
	struct uft_image *img = synth_image(1, 64);
	struct synth_at at = { 0, 0, 100, 100, T0 };
	uint64_t written = 0, lost = 0;
	struct uft_info info;
	struct uft_writer *w;
	char path[128];
	int64_t got = 0;

	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("tmpfs", dir, "tmpfs", 0, "size=3m"))
		return 77;
	snprintf(path, sizeof(path), "%s/a.uft", dir);
	w = synth_writer(s, path, UFT_TRACER_FUNCTION, 0);
	if (!w)
		return 2;
	synth_begin(s, 0, 100, 1);
	if (uft_writer_slice(w, 0, 100, img))
		return 3;
	for (int i = 0; i < 400000; i++) {
		at.clock += 10;
		if (synth_func(s, at, synth_text_id(img, (uint32_t)i % 64), 0))
			written++;
		else
			lost++;
		if (got >= 0 && i % 20000 == 0)
			got = uft_writer_poll(w);
	}
	if (got != -ENOSPC || !lost)
		return 4;
	if (uft_writer_poll(w) != -ENOSPC)
		return 5;
	if (uft_writer_finish(w, NULL, NULL) != -ENOSPC)
		return 6;
	info = check_info(path);
	/* everything that could be saved is there, with names; the rest is counted to the last record */
	if (!info.complete || info.damaged_bytes || info.nfuncs != 64 + 16)
		return 7;
	if (info.events < 60000 || info.events + info.lost != written + lost)
		return 8;
	return 0;
}

static void test_nospace(void **state)
{
	char dir[] = "/tmp/uft-nospace-XXXXXX";
	int status;
	pid_t pid;

	(void)state;
	assert_non_null(mkdtemp(dir));
	pid = fork();
	if (!pid)
		_exit(nospace_child(dir));
	assert_true(waitpid(pid, &status, 0) == pid);
	rmdir(dir);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* Tasks of another pid namespace have the recorder's numbers; what another slice calls the same has its own. */
static void test_outer(void **state)
{
	struct synth_opts o = { .sub_bytes = 4096 };
	const struct uft_task *task;
	struct uft_stream *st;
	struct uft_event ev;
	struct check c;
	int seen[3] = { 0 };

	(void)state;
	check_start(&c, &o, UFT_TRACER_FUNCTION);
	synth_begin(c.s, 1, 1, 1);
	assert_int_equal(uft_writer_slice(c.w, 1, 1, c.img), 0);
	assert_int_equal(uft_writer_outer(c.w, 1, 1, 7300), 0);
	assert_int_equal(uft_writer_outer(c.w, 1, 100, 7400), 0);
	assert_int_equal(uft_writer_outer(c.w, 1, 100, 7301), 0);	/* the number of the task that has it now */
	assert_int_equal(uft_writer_outer(c.w, 1, 100, 7301), 0);
	assert_int_equal(uft_writer_outer(c.w, 2, 5, 7500), 0);	/* nobody's slice */
	assert_int_equal(uft_writer_task(c.w, 7300, 7301, 7000, 1, "inner"), 0);
	synth_entry(c.s, (struct synth_at){ 0, 0, 100, 100, T0 }, synth_stub_id(c.img, 1));
	synth_entry(c.s, (struct synth_at){ 1, 0, 1, 1, T0 + 1 }, synth_stub_id(c.img, 1));
	synth_entry(c.s, (struct synth_at){ 1, 1, 1, 100, T0 + 2 }, synth_stub_id(c.img, 1));
	assert_int_equal(uft_writer_slice_end(c.w, 1), 0);
	check_finish(&c);
	assert_int_equal(uft_stream_open(c.path, NULL, &st, NULL), 0);
	while (uft_stream_next(st, &ev) == 1)
		;
	for (size_t n = uft_stream_tasks(st, &task); n--; task++) {
		seen[0] += task->pid == 100 && task->tid == 100 && !strcmp(task->comm, "main");
		seen[1] += task->pid == 7300 && task->tid == 7300 && task->own_pid == 1 && task->own_tid == 1;
		seen[2] += task->pid == 7300 && task->tid == 7301 && task->own_pid == 1 && task->own_tid == 100 &&
			   task->ppid == 7000 && !strcmp(task->comm, "inner");
	}
	assert_true(seen[0] == 1 && seen[1] == 1 && seen[2] == 1);
	assert_int_equal(uft_stream_has_ended(st, 7300, 0), 1);
	assert_int_equal(uft_stream_has_ended(st, 1, 0), 0);
	uft_stream_close(st);
	check_end(&c);
}

/* A slice that says that it is another process's: the file has the number that the session knows. */
static void test_false_pid(void **state)
{
	struct synth_opts o = { .sub_bytes = 4096 };
	struct uft_stream *st;
	struct check c;

	(void)state;
	check_start(&c, &o, UFT_TRACER_FUNCTION);
	synth_begin(c.s, 1, 300, 1);
	synth_slice(c.s, 1)->pid = 400;
	assert_int_equal(uft_writer_slice(c.w, 1, 300, c.img), 0);
	synth_entry(c.s, (struct synth_at){ 1, 0, 300, 300, T0 }, synth_stub_id(c.img, 1));
	assert_int_equal(uft_writer_slice_end(c.w, 1), 0);
	check_finish(&c);
	assert_int_equal(uft_stream_open(c.path, NULL, &st, NULL), 0);
	assert_int_equal(uft_stream_has_ended(st, 300, 0), 1);
	assert_int_equal(uft_stream_has_ended(st, 400, 0), 0);
	uft_stream_close(st);
	check_end(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kill_at_any_byte), cmocka_unit_test(test_damage),
		cmocka_unit_test(test_not_a_recording), cmocka_unit_test(test_version),
		cmocka_unit_test(test_compressed), cmocka_unit_test(test_large_sub_buffers),
		cmocka_unit_test(test_slice_reuse), cmocka_unit_test(test_slice_without_a_hole),
		cmocka_unit_test(test_objects_that_appear_later),
		cmocka_unit_test(test_names_from_the_object), cmocka_unit_test(test_real_clock),
		cmocka_unit_test(test_hostile_rings),
		cmocka_unit_test(test_hostile_overwrite_rings), cmocka_unit_test(test_bad_geometry),
		cmocka_unit_test(test_nospace), cmocka_unit_test(test_hole),
		cmocka_unit_test(test_outer),
		cmocka_unit_test(test_false_pid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
