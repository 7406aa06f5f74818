/* SPDX-License-Identifier: MIT */
/* splice.c FILE... - takes what the files hold by splice(2) to /dev/null, as recorders do, and prints how many bytes */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define AT_ONCE	65536		/* what a pipe holds */

static int fail(const char *what)
{
	perror(what);
	return 1;
}

int main(int argc, char **argv)
{
	int out = open("/dev/null", O_WRONLY), pipes[2];
	long total = 0;

	if (out < 0 || pipe(pipes) < 0)
		return fail("splice");
	for (int i = 1; i < argc; i++) {
		int fd = open(argv[i], O_RDONLY | O_NONBLOCK);
		ssize_t n, m;

		while ((n = splice(fd, NULL, pipes[1], NULL, AT_ONCE, SPLICE_F_NONBLOCK)) > 0)
			for (total += n; n > 0; n -= m)
				if ((m = splice(pipes[0], NULL, out, NULL, (size_t)n, SPLICE_F_MOVE)) <= 0)
					return fail("/dev/null");
		if (n < 0 && errno != EAGAIN)
			return fail(argv[i]);
		close(fd);
	}
	printf("%ld\n", total);
	return 0;
}
