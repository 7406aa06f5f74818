// SPDX-License-Identifier: MIT
/*
 * names.c - children each of which says that it has made a lot of code
 *
 * Usage: names CHILDREN MEGABYTES. A child calls work(), writes /tmp/perf-PID.map, and lives until all have done so. The names of
 * the files are printed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) int work(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n + 1;
}

static int write_names(unsigned long bytes)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	puts(path);
	fflush(stdout);
	unlink(path);		/* of a process that had this number before */
	f = fopen(path, "wx");
	for (unsigned long n = 0, i = 0; f && n < bytes; i++)
		n += (unsigned long)fprintf(f, "%lx 10 a_function_that_was_made_just_in_time_%lu\n",
					    0x10000000 + i * 16, i);
	return !f || fclose(f);
}

int main(int argc, char **argv)
{
	int n = argc > 2 ? atoi(argv[1]) : 0, told[2], over[2], status;
	char c = 0;

	if (pipe(told) || pipe(over))
		return 2;
	for (int i = 0; i < n; i++)
		if (!fork()) {
			close(over[1]);
			work(i);
			c = (char)write_names(strtoul(argv[2], NULL, 10) << 20);
			if (write(told[1], &c, 1) != 1)
				return 2;
			return read(over[0], &c, 1) != 0;
		}
	for (int i = 0; i < n; i++)
		if (read(told[0], &c, 1) != 1 || c)
			return 2;
	close(over[1]);
	for (int i = 0; i < n; i++)
		if (wait(&status) < 0 || status)
			return 2;
	return 0;
}
