/* SPDX-License-Identifier: MIT */
/*
 * dat.c - trace.dat files of all forms, damaged, read as recordings
 *
 * usage: dat [seconds] [seed]
 *
 * Passed: no crash, no sanitizer's report, no endless loop (SIGALRM), time in order; and each file as it was made has all events.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "output/output.h"
#include "stream/dat/time_shift.h"
#include "tests/lib/synth.h"

#define NCALLS		300u
#define MAX_RSS_KB	(900u << 10)	/* the sanitizer's shadow and quarantine included */

struct input { uint8_t *p; size_t n; };

#define CORPUS	10

static uint64_t seed;

static uint64_t rnd(uint64_t below)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return below ? (seed >> 20) % below : 0;
}

static void die(const char *what, const char *why)
{
	fprintf(stderr, "dat: %s: %s\n", what, why);
	exit(1);
}

static struct input slurp(const char *path)
{
	struct input in = { NULL, 0 };
	FILE *f = fopen(path, "rb");

	if (!f || fseek(f, 0, SEEK_END))
		die(path, "cannot be read");
	in.n = (size_t)ftell(f);
	in.p = malloc(in.n);
	rewind(f);
	if (!in.p || fread(in.p, 1, in.n, f) != in.n)
		die(path, "cannot be read");
	fclose(f);
	return in;
}

/* Events of a file; 0 also if it is refused. */
static uint64_t read_all(const char *path)
{
	static struct uft_event ev[256];
	struct uft_error err = { "" };
	struct uft_stream *st;
	uint64_t events = 0, last = 0;
	size_t n;

	if (uft_stream_open(path, NULL, &st, &err)) {
		if (!err.text[0])
			die(path, "refused without a sentence");
		return 0;
	}
	while ((n = uft_stream_batch(st, ev, 256)))
		for (size_t i = 0; i < n; i++) {
			if (ev[i].ts_ns < last || !ev[i].task || !ev[i].task->comm)
				die(path, "time runs backwards, or an event has no task");
			last = ev[i].ts_ns;
			events++;
		}
	uft_stream_close(st);
	return events;
}

static void mutate(struct input *in)
{
	static const uint64_t words[] = { 0, 1, 0x7f, 0xffffffff, 1ull << 31, 1ull << 63, UINT64_MAX };
	size_t at = rnd(in->n - 8), n = rnd(200);
	uint64_t word = words[rnd(7)];

	at = rnd(3) ? at : rnd(in->n < 600 ? in->n - 8 : 600); /* the head is small, and decides most */
	at = rnd(4) || in->n < 600 ? at : in->n - 8 - rnd(500); /* and so are the last options */
	n = n > in->n - at ? in->n - at : n;
	switch (rnd(6)) {
	case 0: in->p[at] ^= (uint8_t)(1u << rnd(8)); break;
	case 1: in->n = at > 100 ? at : in->n; break;
	case 2: memset(in->p + at, rnd(2) ? 0xff : 0, n); break;
	case 3: memcpy(in->p + at, &word, 1 + rnd(8)); break;
	case 4: memmove(in->p + at, in->p + rnd(in->n - n), n); break;
	case 5: in->p[at] = (uint8_t)rnd(256); break;
	}
}

static void write_file(const char *path, const struct input *in)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, in->p, in->n) != (ssize_t)in->n)
		die(path, "cannot be written");
	close(fd);
}

static void put(struct input *in, uint64_t value, size_t bytes)
{
	memcpy(in->p + in->n, &value, bytes);
	in->n += bytes;
}

/* Where the last option of a file of version 7 says that there are no more. */
static size_t end_of_options(const struct input *in)
{
	size_t at = strlen((const char *)in->p + 10) + 10 + 1 + 6;	/* behind magic, version, byte order, word, page */
	uint64_t options;
	uint32_t n;

	at += strlen((const char *)in->p + at) + 1;
	at += strlen((const char *)in->p + at) + 1;
	memcpy(&options, in->p + at, 8);
	for (at = options + 16; at + 14 <= in->n && (in->p[at] || in->p[at + 1]); at += 6 + n)
		memcpy(&n, in->p + at + 2, 4);
	if (at + 14 > in->n)
		die("trace.dat", "its options have no end");
	return at + 6;
}

#define SHIFT	1024u		/* bytes that are enough for the option, and for what is about it */
#define ENDS	8u
static const uint64_t ends[ENDS] = { 0, 1, INT64_MAX, 1ull << 63, UINT64_MAX, 1ull << 61, 7ull << 61, 63 };

/* The option (stream/dat/time_shift.h), its numbers at their bounds, or about true ones. */
static void put_time_shift(struct input *in, int is_extreme)
{
	put(in, 7, 8);			/* the other session */
	put(in, 1, 4);			/* interpolate */
	put(in, 4, 4);
	for (int cpu = 0; cpu < 4; cpu++) {
		put(in, 3, 4);
		for (int i = 0; i < 9; i++)
			put(in, is_extreme ? ends[rnd(ENDS)] : i < 3 ? 1000000u * (unsigned)i : i < 6 ? 500u + rnd(9) : 1, 8);
	}
	for (int i = 0; i < 12; i++)
		put(in, is_extreme ? rnd(64) : 0, 8);
}

/* The file as a guest's: a second list of options, which the first one leads to. */
static struct input with_time_shift(const struct input *from)
{
	struct input in = { malloc(from->n + SHIFT), from->n };
	size_t option;
	uint64_t at = in.n;

	if (!in.p)
		die("trace.dat", "no memory");
	memcpy(in.p, from->p, from->n);
	memcpy(in.p + end_of_options(from), &at, 8);
	put(&in, 0, 8);			/* the section's id, flags and name; its size follows */
	put(&in, 0, 8);
	put(&in, 12, 2);
	put(&in, 0, 4);
	option = in.n;
	put_time_shift(&in, 0);
	at = in.n - option;
	memcpy(in.p + option - 4, &at, 4);
	put(&in, 0, 2);
	put(&in, 8, 4);
	put(&in, 0, 8);
	at = in.n - from->n - 16;
	memcpy(in.p + from->n + 8, &at, 8);
	return in;
}

/* The numbers alone, at their bounds in many mixtures, with times that no file reaches by damage. */
static void try_extremes(void)
{
	for (int i = 0; i < 5000; i++) {
		struct dat_time_shift shift = {0};
		uint8_t bytes[SHIFT];
		struct input in = { bytes, 0 };

		put_time_shift(&in, 1);
		if (!dat_time_shift_read(&shift, bytes, in.n))
			for (uint32_t cpu = 0; cpu < 5; cpu++)
				if (dat_time_shift(&shift, cpu, ends[rnd(ENDS)]) > INT64_MAX && cpu < 4)
					die("TIME_SHIFT", "a time is beyond its bound");
		dat_time_shift_free(&shift);
	}
}

/* One recording in each form, and those of version 7 as a guest's besides. */
static void make_corpus(const char *path, struct input corpus[CORPUS])
{
	static const char *const forms[] = { "trace.dat", "trace.dat-v7", "trace.dat-v6" };

	for (int i = 0; i < 6; i++) {
		struct synth_load load = { .ncalls = NCALLS, .nfuncs = 20, .tracer = i < 3 ? UFT_TRACER_GRAPH :
			UFT_TRACER_FUNCTION,
					   .opts = { .ring_bytes = 16384, .sub_bytes = 4096 } };
		const struct uft_export *x = uft_export_find(forms[i % 3]);
		struct synth_expect expect;
		struct uft_error err = { "" };
		struct uft_stream *st;
		uint64_t events;

		if (synth_file(path, &load, &expect))
			die(path, "no recording");
		free(expect.func_calls);
		events = read_all(path);
		if (!x || uft_stream_open(path, NULL, &st, &err) || x->write(st, path, NULL, &err))
			die(path, err.text);
		uft_stream_close(st);
		if (!events || read_all(path) != events)
			die(forms[i % 3], "other events than in the recording");
		corpus[i] = slurp(path);
	}
	for (int i = 0; i < 4; i++) {
		corpus[6 + i] = with_time_shift(&corpus[i / 2 * 3 + i % 2]);
		write_file(path, &corpus[6 + i]);
		if (!read_all(path))
			die("TIME_SHIFT", "the file is refused");
	}
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 3;
	char path[] = "/tmp/uft-fuzz-dat-XXXXXX";
	struct input corpus[CORPUS], work;
	struct timespec start, now;
	uint64_t inputs = 0, readable = 0;
	struct rusage ru;
	size_t most = 0;

	seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	try_extremes();
	close(mkstemp(path));
	make_corpus(path, corpus);
	for (int i = 0; i < CORPUS; i++)
		most = corpus[i].n > most ? corpus[i].n : most;
	work.p = malloc(most);
	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		const struct input *from = &corpus[rnd(CORPUS)];

		memcpy(work.p, from->p, from->n);
		work.n = from->n;
		for (uint64_t n = 1 + rnd(3); n--;)
			mutate(&work);
		write_file(path, &work);
		alarm(100);
		readable += read_all(path) != 0;
		inputs++;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((double)(now.tv_sec - start.tv_sec) + (double)(now.tv_nsec - start.tv_nsec) * 1e-9 < seconds ||
		 inputs < 20);
	alarm(0);
	getrusage(RUSAGE_SELF, &ru);
	printf("%llu inputs, %llu of them readable, %ld MiB at most\n", (unsigned long long)inputs,
	       (unsigned long long)readable, ru.ru_maxrss >> 10);
	for (int i = 0; i < CORPUS; i++)
		free(corpus[i].p);
	free(work.p);
	unlink(path);
	return ru.ru_maxrss > (long)MAX_RSS_KB;
}
