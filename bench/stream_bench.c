/* SPDX-License-Identifier: MIT */
/*
 * stream_bench.c - how fast recordings are written and read; no target needed
 *
 * usage: stream_bench [directory] [million calls]
 *
 *   writer   a ring filled at memory speed is drained to a file: bytes and function events (16 bytes) a second of
 *            the consumer's own CPU time; the producer is not counted
 *   read     a file of random graph calls: records decoded a second, merged from two rings whose events
 *            alternate (the worst case of the merge) and in runs of 200
 *   info     the scan behind `uft stat`
 *   index    the time of making an index beside the file, its size, and the time of reading the last ms with it,
 *            opening included
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bench/median.h"
#include "stream/decode/seek.h"
#include "stream/stream.h"
#include "tests/lib/synth.h"

/* Fills the ring up to what the reader left free, whole sub-buffers at a time, as cheaply as possible. */
static void refill(struct synth *s)
{
	const struct uft_arena *a = synth_arena(s);
	struct uft_ring *r = synth_ring(s, 0, 0);
	uint8_t *data = (uint8_t *)r + UFT_PAGE;

	while (r->commit + a->sub_bytes - r->read <= a->ring_bytes) {
		struct uft_sub_header *h = (void *)(data + (r->commit & (a->ring_bytes - 1)));

		h->position = r->commit;
		h->clock = 5000000000u + r->commit;
		h->pid = h->tid = 100;
		__atomic_store_n(&r->commit, r->commit + a->sub_bytes, __ATOMIC_RELEASE);
	}
}

static int bench_writer(const char *path, int compress)
{
	struct synth_opts o = { .ring_bytes = 8 << 20, .sub_bytes = 64 << 10 };
	struct synth *s = synth_new(&o);
	struct uft_image *img = synth_image(1, 1000);
	struct uft_writer *w = synth_writer(s, path, UFT_TRACER_FUNCTION, compress);
	uint64_t bytes = 0, goal = compress ? 256ull << 20 : 2ull << 30;
	double busy = 0;

	if (!w)
		return 1;
	synth_begin(s, 0, 100, 1);
	uft_writer_slice(w, 0, 100, img);
	for (uint32_t i = 0; synth_ring(s, 0, 0)->commit < o.ring_bytes; i++)	/* real records, once */
		if (!synth_func(s, (struct synth_at){ 0, 0, 100, 100, 5000000000u + 20 * i },
				synth_text_id(img, i * 7919 % 1000), synth_lib_addr(img, i % 16)))
			break;
	while (bytes < goal) {
		double start;
		int64_t got;

		refill(s);
		start = clock_seconds(CLOCK_THREAD_CPUTIME_ID);
		got = uft_writer_poll(w);
		busy += clock_seconds(CLOCK_THREAD_CPUTIME_ID) - start;
		if (got < 0)
			return 1;
		bytes = synth_ring(s, 0, 0)->read;
	}
	uft_writer_finish(w, NULL, NULL);
	printf("writer%s: %.0f MB/s, %.1f M function events/s\n", compress ? " zstd" : "", (double)bytes / busy / 1e6,
	       (double)bytes / 16 / busy / 1e6);
	uft_image_free(img);
	synth_free(s);
	return 0;
}

static int bench_read(const char *path, const char *what, const struct synth_load *load)
{
	static struct uft_event ev[512];
	struct synth_expect expect;
	double start, best = 1e9;
	struct uft_stream *st;
	uint64_t events = 0, self = 0;
	struct rusage ru;
	size_t n;

	if (synth_file(path, load, &expect))
		return 1;
	free(expect.func_calls);
	for (int round = 0; round < 3; round++) {
		start = clock_seconds(CLOCK_THREAD_CPUTIME_ID);
		if (uft_stream_open(path, NULL, &st, NULL))
			return 1;
		events = 0;
		while ((n = uft_stream_batch(st, ev, 512))) {
			events += n;
			for (size_t i = 0; i < n; i++)
				self += ev[i].self_ns;
		}
		start = clock_seconds(CLOCK_THREAD_CPUTIME_ID) - start;
		best = start < best ? start : best;
		if (round < 2)
			uft_stream_close(st);
	}
	if (events != expect.events)
		return 1;
	printf("read, %s: %.1f M records/s, %.1f M calls/s", what, (double)events / best / 1e6,
	       (double)expect.calls / best / 1e6);
	start = clock_seconds(CLOCK_THREAD_CPUTIME_ID);
	if (uft_stream_info(st)->events != events)
		return 1;
	start = clock_seconds(CLOCK_THREAD_CPUTIME_ID) - start;
	uft_stream_close(st);
	getrusage(RUSAGE_SELF, &ru);
	printf("; info: %.1f M records/s; %.2f ring bytes a call; %ld MiB resident at most (sum %llx)\n",
	       (double)events / start / 1e6, (double)expect.bytes / (double)expect.calls, ru.ru_maxrss >> 10,
	       (unsigned long long)self);
	return 0;
}

static int bench_seek(const char *path)
{
	struct uft_select last = { .no_parents = 1 };
	static struct uft_event ev[512];
	struct uft_index *ix;
	struct uft_stream *st;
	double start = clock_seconds(CLOCK_MONOTONIC), made, opened;
	uint64_t events = 0, total;
	size_t n;

	if (uft_index_make(path, &ix, NULL) || uft_index_save(ix, path))
		return 1;
	made = clock_seconds(CLOCK_MONOTONIC) - start;
	total = uft_index_events(ix);
	printf("index: %.2f s (%.1f M events/s), %zu points, %.2f MB", made, (double)total / made / 1e6,
	       uft_index_points(ix), (double)uft_index_bytes(ix) / 1e6);
	uft_index_close(ix);
	start = clock_seconds(CLOCK_MONOTONIC);
	if (uft_stream_open(path, NULL, &st, NULL))
		return 1;
	opened = clock_seconds(CLOCK_MONOTONIC) - start;
	if (uft_index_open(path, st, &ix) || uft_stream_seek_selection(st, ix))
		return 1;
	last.from_ns = uft_stream_info(st)->duration_ns - 1000000;
	uft_stream_close(st);
	uft_index_close(ix);
	start = clock_seconds(CLOCK_MONOTONIC);
	if (uft_stream_open(path, &last, &st, NULL) || uft_index_open(path, st, &ix) ||
	    uft_stream_seek_selection(st, ix))
		return 1;
	while ((n = uft_stream_batch(st, ev, 512)))
		events += n;
	printf("; the last ms, %llu events: %.1f ms, %.1f of them opening\n", (unsigned long long)events,
	       (clock_seconds(CLOCK_MONOTONIC) - start) * 1e3, opened * 1e3);
	uft_stream_close(st);
	uft_index_close(ix);
	return 0;
}

int main(int argc, char **argv)
{
	struct synth_load load = { .tracer = UFT_TRACER_GRAPH };
	char path[512];
	int ret;

	snprintf(path, sizeof(path), "%s/uft-stream-bench-%d.uft", argc > 1 ? argv[1] : "/tmp", (int)getpid());
	load.ncalls = (argc > 2 ? strtoull(argv[2], NULL, 0) : 10) * 1000000;
	ret = bench_writer(path, 0);
	if (!ret)
		ret = bench_writer(path, 1);
	if (!ret)
		ret = bench_read(path, "alternating rings", &load);
	if (!ret)
		ret = bench_seek(path);
	load.opts.ncpus = 1;
	if (!ret)
		ret = bench_read(path, "one ring", &load);
	load.tracer = UFT_TRACER_FUNCTION;
	if (!ret)
		ret = bench_read(path, "one ring, function", &load);
	unlink(path);
	strcat(path, ".index");
	unlink(path);
	if (ret)
		fprintf(stderr, "stream_bench: something is wrong with %s\n", path);
	return ret;
}
