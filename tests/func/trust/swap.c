// SPDX-License-Identifier: MIT
/*
 * swap.c - a program that gains rights, by a name that was another file when the recorder looked
 *
 * Usage: swap GAINING PLAIN NAME, swap FILE
 *
 * As user 65534 it lets the link NAME lead to one and to the other file in turn, while a child of it executes NAME, 200
 * times; or it executes FILE. All are copies of this program, which without arguments says what it is by its exit
 * status. Exit 3: the recorder has something mapped in one that has gained rights, which must not be.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

#define TRIES	200

__attribute__((noinline)) int work(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n + 1;
}

static int say_what_it_is(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[1024];
	int is_traced = 0;

	work(1);
	while (f && fgets(line, sizeof(line), f))
		is_traced |= strstr(line, "/session.") != NULL;
	if (!getauxval(AT_SECURE))
		return is_traced ? 0 : 1;
	return is_traced ? 3 : 2;
}

static void lead_to(const char *file, const char *name, const char *scratch)
{
	if (symlink(file, scratch) || rename(scratch, name))
		exit(4);
}

static pid_t swap_always(char **argv)
{
	const pid_t parent = getpid();
	char scratch[1024];
	pid_t pid = fork();

	if (pid)
		return pid;
	snprintf(scratch, sizeof(scratch), "%s.new", argv[3]);
	for (int i = 0; getppid() == parent; i++)
		lead_to(argv[1 + i % 2], argv[3], scratch);
	_exit(0);
}

int main(int argc, char **argv)
{
	int n[256] = { 0 };

	if (argc < 2 || getauxval(AT_SECURE))		/* an interpreter gets the name of its script */
		return say_what_it_is();
	if (setgid(65534) || setuid(65534))
		return 4;
	if (argc < 4) {
		work(1);
		execl(argv[1], argv[1], NULL);
		return 4;
	}
	lead_to(argv[2], argv[3], "first");
	swap_always(argv);
	for (int i = 0; i < TRIES; i++) {
		pid_t pid = fork();
		int status = 0;

		if (!pid) {
			work(i);
			execl(argv[3], argv[3], NULL);
			_exit(4);
		}
		if (waitpid(pid, &status, 0) == pid && WIFEXITED(status))
			n[WEXITSTATUS(status)]++;
	}
	printf("plain: %d traced, %d not; gaining: %d traced, %d not\n", n[0], n[1], n[3], n[2]);
	return n[3] ? 3 : n[2] ? 0 : 4;
}
