/* SPDX-License-Identifier: MIT */
/*
 * driver.c - a deterministic mutation driver, for every test run and for compilers without libFuzzer
 *
 * usage: driver SECONDS SEED-FILE...: mutates each file in turn until the time is over: bytes, interesting numbers in
 * the headers and tables, copies of one place to another, truncation. The generator starts from a constant, so a
 * failure comes again; the input of the moment is in DRIVER-last when the process dies.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t state = 0x9e3779b97f4a7c15ull;

static uint64_t next(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static double now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Where a change matters: the headers, the section headers at the end, or anywhere. */
static size_t place(size_t size)
{
	switch (next() % 4) {
	case 0: return next() % (size < 1024 ? size : 1024);
	case 1: return size - 1 - next() % (size < 4096 ? size : 4096);
	default: return next() % size;
	}
}

static size_t mutate(uint8_t *p, size_t size)
{
	static const uint64_t number[] = { 0, 1, 2, 7, 8, 0x7f, 0x80, 0xff, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff,
					   0x100000000ull, ~0ull, ~0ull - 7, 1ull << 63 };
	unsigned n = 1 + next() % 8;

	while (n--) {
		size_t at = place(size), len, from;
		uint64_t v = number[next() % (sizeof(number) / sizeof(number[0]))];

		switch (next() % 6) {
		case 0: case 1:
			p[at] ^= 1u << next() % 8;
			break;
		case 2:
			p[at] = next();
			break;
		case 3:
			len = 1u << next() % 4;
			if (at + len <= size)
				memcpy(p + at, &v, len);
			break;
		case 4:
			from = place(size);
			len = 1 + next() % 64;
			if (at + len <= size && from + len <= size)
				memmove(p + at, p + from, len);
			break;
		case 5:
			if (next() % 8 == 0 && at > 0)
				size = at;
		}
	}
	return size;
}

static uint8_t *read_file(const char *path, size_t *size)
{
	FILE *f = fopen(path, "rb");
	uint8_t *p = NULL;
	long n;

	if (f && !fseek(f, 0, SEEK_END) && (n = ftell(f)) > 0 && !fseek(f, 0, SEEK_SET)) {
		p = malloc(n);
		*size = p ? fread(p, 1, n, f) : 0;
	}
	if (f)
		fclose(f);
	return p;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 3, start = now(CLOCK_MONOTONIC), worst = 0;
	unsigned long runs = 0;
	const char *base = strrchr(argv[0], '/');
	char name[256];
	int i;

	if (argc < 3)
		return 2;
	snprintf(name, sizeof(name), "%s-last", base ? base + 1 : argv[0]);	/* more than one driver may run here */
	for (i = 2; i < argc; i++) {
		double end = start + seconds * (i - 1) / (argc - 2);
		size_t size = 0, len;
		uint8_t *seed = read_file(argv[i], &size), *last;
		int fd = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

		if (!seed || !size || fd < 0 || ftruncate(fd, size))
			return fprintf(stderr, "cannot read %s\n", argv[i]), 1;
		/* A shared mapping: the kernel keeps it when we crash. */
		last = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		close(fd);
		if (last == MAP_FAILED)
			return 1;
		LLVMFuzzerTestOneInput(seed, size);
		do {
			double t = now(CLOCK_PROCESS_CPUTIME_ID);	/* others may hold the CPU for seconds */

			memcpy(last, seed, size);
			len = mutate(last, size);
			LLVMFuzzerTestOneInput(last, len);
			runs++;
			t = now(CLOCK_PROCESS_CPUTIME_ID) - t;
			worst = t > worst ? t : worst;
		} while (now(CLOCK_MONOTONIC) < end);
		munmap(last, size);
		free(seed);
	}
	unlink(name);
	printf("%lu inputs, the slowest took %.3f s\n", runs, worst);
	return worst > 2;	/* a small file that takes so long has found a loop */
}
