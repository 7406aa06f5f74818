/* SPDX-License-Identifier: MIT */
/*
 * pagecopy.c - what it costs to write once into each of N pages of a file, mapped privately: each is copied
 *
 *	pagecopy FILE N		milliseconds, median of 9: by a fault each, by one call
 *
 * The least that arming a site in each of N pages of text can take.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "median.h"

#define ROUNDS		9
#define PAGE		4096ul
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

static double copy(int fd, size_t bytes, int at_once)
{
	double v[ROUNDS];

	for (int r = 0; r < ROUNDS; r++) {
		volatile char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);

		if (p == MAP_FAILED) {
			perror("pagecopy");
			exit(1);
		}
		v[r] = clock_seconds(CLOCK_MONOTONIC);
		if (at_once && madvise((void *)p, bytes, MADV_POPULATE_WRITE))
			perror("pagecopy");
		for (size_t i = 0; i < bytes; i += PAGE)
			p[i] = 1;
		v[r] = (clock_seconds(CLOCK_MONOTONIC) - v[r]) * 1e3;
		munmap((void *)p, bytes);
	}
	return median(v, ROUNDS);
}

int main(int argc, char **argv)
{
	int fd = argc == 3 ? open(argv[1], O_RDONLY) : -1;
	size_t bytes = argc == 3 ? (size_t)atol(argv[2]) * PAGE : 0;

	if (fd < 0 || !bytes) {
		fprintf(stderr, "usage: pagecopy FILE N\n");
		return 2;
	}
	printf("%.2f %.2f\n", copy(fd, bytes, 0), copy(fd, bytes, 1));
	return 0;
}
