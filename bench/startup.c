/* SPDX-License-Identifier: MIT */
/*
 * startup.c - how long it takes until a program runs its own code
 *
 *	startup ROUNDS CMD1 -- CMD2 [-- CMD3 ...]
 *
 * Each command must write something to its output as the first thing in main() (or at its end, if it does
 * nothing else). Runs the commands in turn, ROUNDS times each after a warm-up, and prints for each `wall_ms
 * best_ms cpu_ms`: from before the fork until the first byte is there, median and best, and the median CPU
 * time that the started process has used by then (for `uft record`: the session's; the program's and its
 * agent's is not in it).
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "commands.h"
#include "median.h"

struct sample { double wall, cpu; };

static struct sample run(char **argv)
{
	struct sample s;
	clockid_t cpu;
	char buf[256];
	int p[2], st;
	double t0;
	pid_t pid;

	if (pipe(p)) {
		perror("startup");
		exit(1);
	}
	t0 = clock_seconds(CLOCK_MONOTONIC);
	pid = fork();
	if (!pid) {
		int null = open("/dev/null", O_RDWR);

		dup2(null, 0);
		dup2(p[1], 1);
		close(p[0]);
		close(p[1]);
		execvp(argv[0], argv);
		perror(argv[0]);
		_exit(127);
	}
	close(p[1]);
	if (read(p[0], buf, sizeof(buf)) <= 0) {
		fprintf(stderr, "startup: %s wrote nothing\n", argv[0]);
		exit(1);
	}
	s.wall = (clock_seconds(CLOCK_MONOTONIC) - t0) * 1e3;
	s.cpu = clock_getcpuclockid(pid, &cpu) ? 0 : clock_seconds(cpu) * 1e3;
	while (read(p[0], buf, sizeof(buf)) > 0)
		;
	close(p[0]);
	waitpid(pid, &st, 0);
	if (!WIFEXITED(st) || WEXITSTATUS(st)) {
		fprintf(stderr, "startup: %s failed\n", argv[0]);
		exit(1);
	}
	return s;
}

int main(int argc, char **argv)
{
	int at = 1, n, rounds;
	char **cmd[MAX_CMDS];

	if (argc < 3 || (rounds = atoi(argv[at++])) < 1) {
		fprintf(stderr, "usage: startup ROUNDS CMD1 -- CMD2 ...\n");
		return 2;
	}
	n = split_commands(argc, argv, at, cmd);
	double *wall = calloc((size_t)(n * rounds), sizeof(*wall)), *cpu = calloc((size_t)(n * rounds), sizeof(*cpu));

	for (int r = -1; r < rounds; r++)
		for (int i = 0; i < n; i++) {
			struct sample s = run(cmd[i]);

			if (r >= 0) {
				wall[i * rounds + r] = s.wall;
				cpu[i * rounds + r] = s.cpu;
			}
		}
	for (int i = 0; i < n; i++, wall += rounds, cpu += rounds) {
		double middle = median(wall, (size_t)rounds);

		printf("%.2f %.2f %.2f\n", middle, wall[0], median(cpu, (size_t)rounds));
	}
	return 0;
}
