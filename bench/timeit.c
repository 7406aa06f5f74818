/* SPDX-License-Identifier: MIT */
/*
 * timeit.c - medians of alternating runs of several commands
 *
 *	timeit [-w] ROUNDS CMD1 -- CMD2 [-- CMD3 ...]
 *
 * Runs the commands in turn, ROUNDS times each after one warm-up, output discarded, and prints for each
 * `seconds ratio-to-the-first`: medians of the user CPU time of the command and its children, with -w of wall time.
 * Alternating makes slow phases of a shared machine hit all of them alike.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "commands.h"
#include "median.h"

static double run(char **argv, int wall)
{
	struct timespec a, b;
	struct rusage u;
	int st;

	clock_gettime(CLOCK_MONOTONIC, &a);
	pid_t p = fork();

	if (!p) {
		int null = open("/dev/null", O_RDWR);

		dup2(null, 0);
		dup2(null, 1);
		execvp(argv[0], argv);
		perror(argv[0]);
		_exit(127);
	}
	wait4(p, &st, 0, &u);
	clock_gettime(CLOCK_MONOTONIC, &b);
	if (!WIFEXITED(st) || WEXITSTATUS(st)) {
		fprintf(stderr, "timeit: %s failed\n", argv[0]);
		exit(1);
	}
	if (wall)
		return (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9;
	return (double)u.ru_utime.tv_sec + (double)u.ru_utime.tv_usec / 1e6;
}

int main(int argc, char **argv)
{
	int wall = argc > 1 && !strcmp(argv[1], "-w"), at = 1 + wall, n, rounds;
	char **cmd[MAX_CMDS];

	if (argc - at < 2 || (rounds = atoi(argv[at++])) < 1) {
		fprintf(stderr, "usage: timeit [-w] ROUNDS CMD1 -- CMD2 ...\n");
		return 2;
	}
	n = split_commands(argc, argv, at, cmd);
	double *t = calloc((size_t)(n * rounds), sizeof(*t));

	for (int r = -1; r < rounds; r++)
		for (int i = 0; i < n; i++) {
			double s = run(cmd[i], wall);

			if (r >= 0)
				t[i * rounds + r] = s;
		}
	for (int i = 0; i < n; i++)
		median(t + i * rounds, (size_t)rounds);
	for (int i = 0; i < n; i++)
		printf("%.4f %.4f\n", t[i * rounds + rounds / 2], t[i * rounds + rounds / 2] / t[rounds / 2]);
	return 0;
}
