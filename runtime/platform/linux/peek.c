/* SPDX-License-Identifier: MIT */
/* peek.c - read memory that may not be mapped: the kernel reads it */
#include "runtime/base/sys.h"
#include "runtime/platform/platform.h"
#include "uft/abi.h"

/*
 * If the kernel may not be asked, this copies readable memory itself; it stays readable unless a thread unmaps it
 * meanwhile.
 */
static long copy_readable(const struct plat_range *from, uint32_t n, char *to)
{
	long done = 0;

	for (uint32_t i = 0; i < n; i++) {
		const uint64_t last = from[i].at + from[i].bytes - 1;

		for (uint64_t at = from[i].at; at <= last; at = PLAT_PAGE_DOWN(at) + PLAT_PAGE)
			if (!plat_is_readable((const void *)(at & ~7ull)))
				return done ? done : -EFAULT;
		arch_copy(to + done, (const void *)from[i].at, from[i].bytes);
		done += (long)from[i].bytes;
	}
	return done;
}

long plat_peek_ranges(const struct plat_range *from, uint32_t n, void *to)
{
	struct plat_range local = { (uint64_t)to, 0 };	/* both structs are struct iovec */

	if (plat_is_denied(UFT_DENIED_PEEK))
		return copy_readable(from, n, to);
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

long plat_poke_ranges(const struct plat_range *to, uint32_t n, const uint64_t *words)
{
	const struct plat_range local = { (uint64_t)words, 8 * (uint64_t)n };
	long ret = -ENOSYS;
	uint32_t i;

	if (!n)
		return 0;
	if (!plat_is_denied(UFT_DENIED_PEEK))
		ret = sys_call6(__NR_process_vm_writev, sys_getpid(), &local, 1, to, n, 0);
	if (ret != -ENOSYS && ret != -EPERM)
		return ret;
	for (i = 0; i < n && plat_is_readable((const void *)to[i].at); i++)
		uft_store((uint64_t *)to[i].at, words[i]);
	return i ? 8 * (long)i : -EFAULT;
}

int plat_poke(uint64_t addr, uint64_t word)
{
	const struct plat_range to = { addr, 8 };

	return plat_poke_ranges(&to, 1, &word) == 8 ? 0 : -EFAULT;
}

/*
 * Does without process_vm_readv(), which no program needs: rt_sigprocmask() reads the mask before it refuses the
 * operation.
 */
int plat_is_readable(const void *addr)
{
	/* GUARD(readable_by_mask, !plat_peek(addr, &(uint64_t){ 0 }, 8)) */
	return sys_sigprocmask(-1, addr, NULL) == -EINVAL;
}
