/* SPDX-License-Identifier: MIT */
/*
 * trace_pipe_raw.c HOW FILE - takes pages out of FILE in some way, writes them to standard output, and says on standard error how many there
 * were and how often it had to wait for them:
 *
 *	whole		by splices of what a pipe holds, each taken out of the pipe
 *	part		the same, but a part of it only, so that the next splice has less room; what the kernel has cached is dropped
 *	mixed		two splices in turn with a read of a page, of some, of a part
 *	some		four splices, and no more
 *	on		as whole, and waits for more, until it is killed
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define PAGE	4096
#define ROOM	(16 * PAGE)

static int fail(const char *what)
{
	perror(what);
	return 1;
}

/* @n bytes of the pipe. */
static void pass_on(int pipe, size_t n)
{
	static char buf[ROOM];

	while (n) {
		ssize_t got = read(pipe, buf, n < sizeof(buf) ? n : sizeof(buf));

		if (got <= 0 || fwrite(buf, 1, (size_t)got, stdout) != (size_t)got)
			exit(fail("pipe"));
		n -= (size_t)got;
	}
}

static ssize_t read_on(int fd, size_t n)
{
	static char buf[ROOM];
	ssize_t got = read(fd, buf, n);

	if (got > 0)
		fwrite(buf, 1, (size_t)got, stdout);
	return got;
}

/* The rest of a page that was begun: splices are of whole ones. */
static ssize_t read_mixed(int fd, int round)
{
	if (round % 3 == 0)
		return read_on(fd, PAGE);
	if (round % 3 == 1)
		return read_on(fd, 5 * PAGE);
	return read_on(fd, 100) == 100 ? read_on(fd, PAGE - 100) : -1;
}

int main(int argc, char **argv)
{
	int fd = argc == 3 ? open(argv[2], O_RDONLY | O_NONBLOCK) : -1, pipes[2];
	int is_part = argc == 3 && !strcmp(argv[1], "part"), is_mixed = argc == 3 && !strcmp(argv[1], "mixed"),
		most = 1 << 30,
	    is_on = argc == 3 && !strcmp(argv[1], "on");
	struct rusage use, before;
	size_t held = 0, total = 0;
	ssize_t n = 1;

	if (fd < 0 || pipe(pipes) < 0)
		return fail("pages HOW FILE");
	if (!strcmp(argv[1], "some"))
		most = 4;
	getrusage(RUSAGE_SELF, &before);
	for (int round = 0; (round < most || is_on) && n > 0; round++) {
		if (is_mixed && round % 3 == 2) {
			n = read_mixed(fd, round / 3);
			total += n > 0 ? 1 : 0;
			continue;
		}
		n = splice(fd, NULL, pipes[1], NULL, ROOM, SPLICE_F_NONBLOCK);
		if (n < 0 && is_on && errno == EAGAIN) {
			fflush(stdout);
			usleep(1000);
			n = 1;
			continue;
		}
		if (n < 0)
			break;
		total += (size_t)n / PAGE;
		held += (size_t)n;
		if (is_part)
			posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
		pass_on(pipes[0], is_part ? (held + 1) / PAGE / 2 * PAGE : held);
		held -= is_part ? (held + 1) / PAGE / 2 * PAGE : held;
	}
	if (n < 0 && errno != EAGAIN)
		return fail(argv[2]);
	pass_on(pipes[0], held);
	getrusage(RUSAGE_SELF, &use);
	fprintf(stderr, "%zu %ld\n", total, use.ru_nvcsw - before.ru_nvcsw);
	return fflush(stdout) ? fail("write") : 0;
}
