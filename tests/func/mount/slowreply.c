/* SPDX-License-Identifier: MIT */
/*
 * slowreply.c - preloaded by uft mount: who answers a read of one byte stays a while in writev() when the answer is out
 *
 * When another thread comes with the next answer meanwhile, there will be the file $OVERLAP. With $SLOW_CLOSE a thread that
 * has taken a close stays a while before it goes on with it, and there will be the file of that name. With $SLOW_END a server stays a
 * while after libfuse has asked whether it is unmounted, and there will be that file.
 */
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define HEADER	16		/* bytes of struct fuse_out_header */

ssize_t writev(int fd, const struct iovec *iov, int n)
{
	static atomic_int inside, is_said;
	int is_read = n == 2 && iov[0].iov_len == HEADER && iov[1].iov_len == 1;
	ssize_t ret;

	if (is_read && atomic_fetch_add(&inside, 1) > 0 && !atomic_exchange(&is_said, 1))
		close(open(getenv("OVERLAP"), O_CREAT | O_WRONLY, 0600));
	ret = syscall(SYS_writev, fd, iov, n);
	if (is_read) {
		usleep(20000);
		atomic_fetch_sub(&inside, 1);
	}
	return ret;
}

ssize_t read(int fd, void *buf, size_t n)
{
	ssize_t ret = syscall(SYS_read, fd, buf, n);
	const struct fuse_in_header *in = buf;
	const char *said = getenv("SLOW_CLOSE");

	if (n > FUSE_MIN_READ_BUFFER && ret >= (ssize_t)sizeof(*in) && in->opcode == FUSE_RELEASE && said) {
		close(open(said, O_CREAT | O_WRONLY, 0600));
		usleep(50000);
	}
	return ret;
}

int poll(struct pollfd *p, nfds_t n, int timeout)
{
	int ret = (int)syscall(SYS_poll, p, n, timeout);
	const char *said = getenv("SLOW_END");

	if (n == 1 && !p->events && !timeout && said) {
		close(open(said, O_CREAT | O_WRONLY, 0600));
		usleep(1000000);
	}
	return ret;
}
