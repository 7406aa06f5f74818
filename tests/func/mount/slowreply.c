/* SPDX-License-Identifier: MIT */
/*
 * slowreply.c - preloaded by uft mount: who answers a read of one byte stays a while in writev() when the answer is out
 *
 * When another thread comes with the next answer meanwhile, there will be the file $OVERLAP.
 */
#include <fcntl.h>
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
