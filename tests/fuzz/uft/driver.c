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

#include "stream/wire/uft_file.h"
#include "uft/abi.h"
#include "tests/fuzz/uft/corpus.h"

#define MAX_RSS_KB	(900u << 10)	/* the sanitizer's shadow and quarantine included */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static uint64_t seed;

static uint64_t rnd(uint64_t below)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return below ? (seed >> 20) % below : 0;
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
	struct uft_file_block *head = corpus_block(in, rnd(60));

	if (!head)
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
	corpus_seal(head);
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 3;
	struct input corpus[CORPUS], work;
	struct timespec start, now;
	struct rusage ru;
	uint64_t inputs = 0;
	size_t most = 0;

	seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	corpus_make(corpus);
	for (int i = 0; i < CORPUS; i++)
		most = corpus[i].n > most ? corpus[i].n : most;
	work.p = malloc(most);
	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		const struct input *from = &corpus[rnd(CORPUS)];

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
	for (int i = 0; i < CORPUS; i++)
		free(corpus[i].p);
	free(work.p);
	return ru.ru_maxrss > (long)MAX_RSS_KB;
}
