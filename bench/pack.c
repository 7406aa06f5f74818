/* SPDX-License-Identifier: MIT */
/*
 * pack.c - how small and how fast packed ring data is, of real recordings
 *
 * usage: pack RECORDING...
 *
 * For each: bytes a call (graph call or function event) in the ring and packed, and million calls a second of CPU time
 * that are packed and unpacked, in memory (the best of three rounds).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/median.h"
#include "stream/file/reader.h"
#include "stream/wire/pack.h"
#include "uft/abi.h"

#define ROUNDS	3
#define BYTES_MAX	(64u << 20)	/* of a recording: what fits into memory beside it */

struct sums { uint64_t raw, packed, calls; double pack_s, unpack_s; };

static uint64_t count_entries(const uint8_t *p, size_t n)
{
	uint64_t count = 0, w;

	for (size_t i = 0; i + 8 <= n; i += 8) {
		memcpy(&w, p + i, 8);
		count += UFT_REC_KIND(w) == UFT_REC_ENTRY || UFT_REC_KIND(w) == UFT_REC_FUNC;
	}
	return count;
}

/* The ring data of a recording, block after block, and the same packed. */
struct blocks {
	uint8_t *raw, *packed, *again;
	struct block { size_t raw, packed; } *block;
	size_t n;
};

/* Packs, or unpacks, all blocks. CPU seconds; negative: a block is not what it was. */
static double pack_all(struct pack *p, struct blocks *b, uint64_t *bytes)
{
	const uint8_t *raw = b->raw, *packed;
	uint8_t *to = b->packed;
	double t = clock_seconds(CLOCK_THREAD_CPUTIME_ID);

	for (size_t i = 0; i < b->n; raw += b->block[i++].raw) {
		b->block[i].packed = pack_encode(p, raw, b->block[i].raw, SIZE_MAX, &packed);
		memcpy(to, packed, b->block[i].packed);
		to += b->block[i].packed;
	}
	*bytes = (uint64_t)(to - b->packed);
	return clock_seconds(CLOCK_THREAD_CPUTIME_ID) - t;
}

static double unpack_all(struct pack *p, struct blocks *b)
{
	const uint8_t *packed = b->packed;
	uint8_t *to = b->again;
	double t = clock_seconds(CLOCK_THREAD_CPUTIME_ID);

	for (size_t i = 0; i < b->n; to += b->block[i].raw, packed += b->block[i++].packed)
		if (pack_decode(p, packed, b->block[i].packed, to, b->block[i].raw))
			return -1;
	t = clock_seconds(CLOCK_THREAD_CPUTIME_ID) - t;
	return memcmp(b->again, b->raw, (size_t)(to - b->again)) ? -1 : t;
}

/* All blocks in turn, in each round: one block again and again would be known to the branch predictor. */
static int measure(struct pack *p, struct blocks *b, struct sums *s)
{
	s->pack_s = s->unpack_s = 1e9;
	for (int i = 0; i < ROUNDS; i++) {
		double t = pack_all(p, b, &s->packed);

		s->pack_s = t < s->pack_s ? t : s->pack_s;
		t = unpack_all(p, b);
		if (t < 0)
			return 1;
		s->unpack_s = t < s->unpack_s ? t : s->unpack_s;
	}
	return 0;
}

static int load(struct rd_file *f, struct blocks *b, struct sums *s)
{
	*b = (struct blocks){ malloc(BYTES_MAX), malloc(2 * BYTES_MAX), malloc(BYTES_MAX),
		calloc(f->nblock, sizeof(*b->block)), 0 };
	if (!b->raw || !b->packed || !b->again || !b->block)
		return 1;
	for (size_t i = 0; i < f->nblock && s->raw + UFT_BLOCK_MAX <= BYTES_MAX; i++) {
		if (rd_load(f, &f->block[i], b->raw + s->raw))
			return 1;
		s->calls += count_entries(b->raw + s->raw, f->block[i].raw);
		s->raw += f->block[i].raw;
		b->block[b->n++].raw = f->block[i].raw;
	}
	return 0;
}

static int measure_file(const char *path)
{
	struct pack *p = pack_new();
	struct uft_error err = { "" };
	struct blocks b = { 0 };
	struct sums s = { 0 };
	struct rd_file *f;
	int bad;

	if (!p || rd_open(path, NULL, &f, &err)) {
		fprintf(stderr, "pack: %s\n", err.text);
		return 1;
	}
	bad = load(f, &b, &s) || measure(p, &b, &s);
	if (bad)
		fprintf(stderr, "pack: %s: a block is not what it was\n", path);
	else
		printf("%-24s %9" PRIu64 " calls  %6.2f -> %5.2f bytes a call  packing %4.0f, unpacking %4.0f M calls/s\n",
		       path, s.calls, (double)s.raw / (double)s.calls, (double)s.packed / (double)s.calls,
		       (double)s.calls / s.pack_s / 1e6,
		       (double)s.calls / s.unpack_s / 1e6);
	free(b.raw);
	free(b.packed);
	free(b.again);
	free(b.block);
	rd_close(f);
	pack_free(p);
	return bad;
}

int main(int argc, char **argv)
{
	int bad = 0;

	for (int i = 1; i < argc; i++)
		bad |= measure_file(argv[i]);
	return bad;
}
