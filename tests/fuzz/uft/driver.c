/* SPDX-License-Identifier: MIT */
/*
 * driver.c - deterministic mutations of real recordings, for the normal test run
 *
 * usage: driver [seconds] [seed]
 *
 * Two kinds: blind ones (bit flips, cuts, overwritten words, removed and doubled stretches), most of which a checksum
 * catches, and sealed ones, where blocks are changed inside and the checksums made right again, so that the
 * parsers behind them are reached. Prints how many inputs were read. A run that takes too long is killed by
 * SIGALRM; one that takes too much memory fails the limit on the address space (without sanitizers) or the one on
 * the resident size that is checked at the end.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#include "stream/wire/uft_file.h"
#include "stream/wire/wire.h"
#include "tests/lib/synth.h"

#define MAX_RSS_KB	(900u << 10)	/* the sanitizer's shadow and quarantine included */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

struct input { uint8_t *p; size_t n; };

static uint64_t seed;

static uint64_t rnd(uint64_t below)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return below ? (seed >> 20) % below : 0;
}

static void die(const char *what)
{
	fprintf(stderr, "driver: %s\n", what);
	exit(1);
}

static struct input slurp(const char *path)
{
	struct input in = { NULL, 0 };
	FILE *f = fopen(path, "rb");

	if (!f || fseek(f, 0, SEEK_END))
		die("cannot read the corpus");
	in.n = (size_t)ftell(f);
	in.p = malloc(in.n);
	rewind(f);
	if (fread(in.p, 1, in.n, f) != in.n)
		die("cannot read the corpus");
	fclose(f);
	return in;
}

static void seal(struct uft_file_block *head)
{
	head->payload_sum = wire_sum(head + 1, head->stored);
	head->head_sum = wire_sum(head, offsetof(struct uft_file_block, head_sum));
}

/* Unpacks every block, so that mutations reach what is inside. */
static struct input unpack(struct input in)
{
	struct input out = { malloc(in.n * 8 + (4u << 20)), sizeof(struct uft_file_header) };
	size_t at = sizeof(struct uft_file_header);

	memcpy(out.p, in.p, at);
	while (at + sizeof(struct uft_file_block) <= in.n) {
		struct uft_file_block *from = (void *)(in.p + at), *to = (void *)(out.p + out.n);

		*to = *from;
		if (from->flags & UFT_BLOCK_ZSTD)
			ZSTD_decompress(to + 1, to->raw, from + 1, from->stored);
		else
			memcpy(to + 1, from + 1, from->raw);
		to->flags = 0;
		to->stored = to->raw;
		seal(to);
		at += sizeof(*from) + ((from->stored + 7u) & ~7u);
		out.n += sizeof(*to) + ((to->stored + 7u) & ~7u);
	}
	free(in.p);
	return out;
}

/* A recording with a bit of everything that is not in synth_file(). */
static void write_oddities(const char *path, uint32_t tracer)
{
	struct synth_opts o = { .ring_bytes = 16384, .sub_bytes = 4096 };
	struct synth *s = synth_new(&o);
	struct uft_image *img = synth_image(1, 40);
	struct uft_writer *w = synth_writer(s, path, tracer, 0);
	struct synth_at at = { 0, 0, 1000, 1001, 0xffff0000u };

	if (!w)
		die("no writer");
	synth_begin(s, 0, 1000, 1);
	uft_writer_slice(w, 0, 1000, img);
	uft_writer_task(w, 1000, 1001, 1, 1, "odd");
	for (uint32_t i = 0; i < 1500; i++) {
		at.clock += 50 + i % 7;
		at.ring = i / 60 % 4;
		at.tid = 1001 + i / 90 % 3;
		switch (i % 9) {
		case 4: synth_unwind(s, at, i % 3); break;
		case 5: synth_exit_left(s, at, synth_stub_id(img, i % 40), at.clock - 900); break;
		case 6: synth_call(s, at, synth_stub_id(img, i % 40), 300); break;
		case 7: synth_func(s, at, synth_text_id(img, i % 40), synth_lib_addr(img, i % 16)); break;
		case 0: case 1: case 2: synth_entry(s, at, synth_stub_id(img, i % 40)); break;
		default: synth_exit(s, at, synth_stub_id(img, (i - 2) % 40)); break;
		}
		if (i % 700 == 0)
			uft_writer_poll(w);
	}
	*synth_profile(s, 0, 1, synth_stub_id(img, 3)) = (struct uft_profile){ .hits = 3, .total = 9, .max = 4 };
	uft_writer_slice_end(w, 0);
	uft_writer_finish(w, NULL, NULL);
	uft_image_free(img);
	synth_free(s);
}

static void blind(struct input *in)
{
	size_t at = rnd(in->n), n = rnd(200);

	if (n > in->n - at)
		n = in->n - at;
	switch (rnd(5)) {
	case 0: in->p[at] ^= (uint8_t)(1u << rnd(8)); break;
	case 1: in->n = at; break;
	case 2: memset(in->p + at, rnd(2) ? 0xff : 0, n); break;
	case 3: memmove(in->p + at, in->p + at + n, in->n - at - n); in->n -= n; break;
	case 4: memmove(in->p + at, in->p + rnd(in->n - n), n); break;
	}
}

/* Changes one block and makes its sums right. */
static void sealed(struct input *in)
{
	static const uint64_t words[] = { 0, 1, 0x7f, 0xffffffff, 1ull << 31, 1ull << 63, UINT64_MAX,
		0x8080808080808080ull };
	size_t at = sizeof(struct uft_file_header);
	struct uft_file_block *head = (void *)(in->p + at);
	uint64_t skip = rnd(60);

	while (skip-- && at + sizeof(*head) + head->stored + 8 + sizeof(*head) < in->n) {
		at += sizeof(*head) + ((head->stored + 7u) & ~7u);
		head = (void *)(in->p + at);
	}
	if (head->magic != UFT_BLOCK_MAGIC || at + sizeof(*head) + head->stored > in->n)
		return;
	for (uint64_t n = 1 + rnd(4); n-- && head->stored >= 8;) {
		uint8_t *p = (uint8_t *)(head + 1) + rnd(head->stored - 7);
		uint64_t word = words[rnd(8)];

		switch (rnd(4)) {
		case 0: *p ^= (uint8_t)(1u << rnd(8)); break;
		case 1: memcpy(p, &word, 1 + rnd(8)); break;
		case 2: *p = (uint8_t)rnd(256); break;
		case 3:		/* any record at all */
			word = UFT_REC_WORD(rnd(16), rnd(300), rnd(1000) << 20);
			memcpy((void *)((uintptr_t)p & ~7ull), &word, 8);
			break;
		}
	}
	switch (rnd(12)) {
	case 0: head->position = words[rnd(8)] & ~7ull; break;
	case 1: head->slice = (uint32_t)rnd(3); break;
	case 2: head->ring = (uint32_t)words[rnd(8)]; break;
	case 3: head->clock = words[rnd(8)]; break;
	case 4: head->type = (uint16_t)rnd(34); break;
	case 5: head->raw = (uint32_t)words[rnd(8)]; break;
	case 6: head->flags = (uint16_t)rnd(4); break;
	}
	seal(head);
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 3;
	char path[] = "/tmp/uft-fuzz-XXXXXX";
	struct input corpus[5], work;
	struct timespec start, now;
	struct synth_load load = {
		.ncalls = 600, .nfuncs = 50, .tracer = UFT_TRACER_GRAPH,
		.opts = { .ring_bytes = 16384, .sub_bytes = 4096 },
	};
	struct synth_expect expect;
	struct rusage ru;
	uint64_t inputs = 0;
	size_t most = 0;

	seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	close(mkstemp(path));
	for (int i = 0; i < 5; i++) {
		if (i < 2) {
			load.tracer = i ? UFT_TRACER_FUNCTION : UFT_TRACER_GRAPH;
			if (synth_file(path, &load, &expect))
				die("cannot write the corpus");
			free(expect.func_calls);
		} else {
			write_oddities(path, i == 2 ? UFT_TRACER_PROFILE : UFT_TRACER_FUNCTION);
		}
		corpus[i] = slurp(path);
		if (i != 4)
			corpus[i] = unpack(corpus[i]);
		if (corpus[i].n > most)
			most = corpus[i].n;
	}
	unlink(path);
	work.p = malloc(most);
	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		const struct input *from = &corpus[rnd(5)];

		memcpy(work.p, from->p, from->n);
		work.n = from->n;
		for (uint64_t n = 1 + rnd(3); n-- && work.n > 200;)
			(rnd(4) ? sealed : blind)(&work);
		alarm(100);
		LLVMFuzzerTestOneInput(work.p, work.n);
		inputs++;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((double)(now.tv_sec - start.tv_sec) + (double)(now.tv_nsec - start.tv_nsec) * 1e-9 < seconds ||
		 inputs < 20);
	alarm(0);
	getrusage(RUSAGE_SELF, &ru);
	printf("%llu inputs, %ld MiB at most\n", (unsigned long long)inputs, ru.ru_maxrss >> 10);
	for (int i = 0; i < 5; i++)
		free(corpus[i].p);
	free(work.p);
	return ru.ru_maxrss > (long)MAX_RSS_KB;
}
