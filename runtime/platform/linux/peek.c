/* SPDX-License-Identifier: MIT */
/* peek.c - reading what may not be there: the kernel reads for us */
#include "runtime/base/sys.h"
#include "runtime/platform/platform.h"

long plat_peek_ranges(const struct plat_range *from, uint32_t n, void *to)
{
	struct plat_range local = { (uint64_t)to, 0 };	/* both are struct iovec */

	for (uint32_t i = 0; i < n; i++)
		local.bytes += from[i].bytes;
	return sys_call6(__NR_process_vm_readv, sys_getpid(), &local, 1, from, n, 0);
}

int plat_peek(const void *addr, void *to, uint32_t bytes)
{
	const struct plat_range remote = { (uint64_t)addr, bytes };
	long n = plat_peek_ranges(&remote, 1, to);

	if (n < 0)
		return (int)n;
	return n == (long)bytes ? 0 : -EFAULT;
}

/* Without process_vm_readv(), which no program needs: rt_sigprocmask() reads the mask before it says that no such thing can be
 * done with it. */
int plat_is_readable(const void *addr)
{
	return sys_sigprocmask(-1, addr, NULL) == -EINVAL;
}
