/* SPDX-License-Identifier: MIT */
/*
 * sys.h - system calls without a libc
 *
 * One inline function per call that the runtime makes; names and argument order are the manual's. Each returns the
 * kernel's value or -errno (for addresses sys_is_error() tells which) and leaves errno alone.
 */
#ifndef UFT_SYS_H
#define UFT_SYS_H

#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/futex.h>
#include <linux/mman.h>
#include <linux/signal.h>
#include <linux/time_types.h>
#include <asm/unistd.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/arch/arch.h"

#define sys_call6(nr, a, b, c, d, e, f) \
	arch_syscall6((nr), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))
#define sys_call4(nr, a, b, c, d)	sys_call6(nr, a, b, c, d, 0, 0)
#define sys_call3(nr, a, b, c)		arch_syscall3((nr), (long)(a), (long)(b), (long)(c))

static inline int sys_is_error(long ret)
{
	return (unsigned long)ret > -4096ul;
}

/* ---- files ---- */

static inline int sys_openat(int dir, const char *path, int flags, int mode)
{
	return (int)sys_call4(__NR_openat, dir, path, flags, mode);
}

static inline int sys_open(const char *path, int flags)
{
	return sys_openat(AT_FDCWD, path, flags, 0);
}

/* @mode 0: does the file exist? Checked by the real user's rights. */
static inline int sys_access(const char *path, int mode)
{
#ifdef __NR_access
	return (int)sys_call3(__NR_access, path, mode, 0);
#else
	return (int)sys_call3(__NR_faccessat, AT_FDCWD, path, mode);
#endif
}

static inline int sys_close(int fd)
{
	return (int)sys_call3(__NR_close, fd, 0, 0);
}

static inline long sys_read(int fd, void *buf, size_t n)
{
	return sys_call3(__NR_read, fd, buf, n);
}

static inline long sys_pread(int fd, void *buf, size_t n, uint64_t at)
{
	return sys_call4(__NR_pread64, fd, buf, n, at);
}

static inline long sys_pwrite(int fd, const void *buf, size_t n, uint64_t at)
{
	return sys_call4(__NR_pwrite64, fd, buf, n, at);
}

static inline long sys_getdents64(int fd, void *buf, size_t n)
{
	return sys_call3(__NR_getdents64, fd, buf, n);
}

/* Waits up to @ms milliseconds for one of @events on the descriptor. */
static inline int sys_poll(int fd, short events, int ms)
{
	struct { int fd; short events, revents; } p = { fd, events, 0 };
#ifdef __NR_poll
	return (int)sys_call3(__NR_poll, &p, 1, ms);
#else
	struct __kernel_timespec t = { ms / 1000, ms % 1000 * 1000000l };

	return (int)sys_call6(__NR_ppoll, &p, 1, &t, 0, 8, 0);
#endif
}

/* ---- memory ---- */

/* Returns an address, or -errno as sys_is_error() tells. */
static inline long sys_mmap(uint64_t addr, size_t n, int prot, int flags, int fd, uint64_t off)
{
	return sys_call6(__NR_mmap, addr, n, prot, flags, fd, off);
}

static inline int sys_munmap(uint64_t addr, size_t n)
{
	return (int)sys_call3(__NR_munmap, addr, n, 0);
}

static inline int sys_mprotect(uint64_t addr, size_t n, int prot)
{
	return (int)sys_call3(__NR_mprotect, addr, n, prot);
}

static inline int sys_madvise(uint64_t addr, size_t n, int advice)
{
	return (int)sys_call3(__NR_madvise, addr, n, advice);
}

static inline int sys_msync(uint64_t addr, size_t n, int flags)
{
	return (int)sys_call3(__NR_msync, addr, n, flags);
}

static inline int sys_membarrier(int cmd, unsigned int flags)
{
	return (int)sys_call3(__NR_membarrier, cmd, flags, 0);
}

/* ---- tasks ---- */

static inline int sys_getpid(void)
{
	return (int)sys_call3(__NR_getpid, 0, 0, 0);
}

static inline int sys_gettid(void)
{
	return (int)sys_call3(__NR_gettid, 0, 0, 0);
}

static inline int sys_sched_getaffinity(int tid, size_t n, void *mask)
{
	return (int)sys_call3(__NR_sched_getaffinity, tid, n, mask);
}

static inline int sys_sched_setaffinity(int tid, size_t n, const void *mask)
{
	return (int)sys_call3(__NR_sched_setaffinity, tid, n, mask);
}

/* @set and @old are the kernel's 8-byte signal sets. */
static inline int sys_sigprocmask(int how, const uint64_t *set, uint64_t *old)
{
	return (int)sys_call4(__NR_rt_sigprocmask, how, set, old, 8);
}

/* ---- waiting ---- */

/* Shared (not FUTEX_PRIVATE) futexes: the arena's words are shared between processes. */
static inline int sys_futex_wait(uint32_t *word, uint32_t val, const struct __kernel_timespec *timeout)
{
	return (int)sys_call6(__NR_futex, word, FUTEX_WAIT, val, timeout, 0, 0);
}

static inline int sys_futex_wake(uint32_t *word, int n)
{
	return (int)sys_call6(__NR_futex, word, FUTEX_WAKE, n, 0, 0, 0);
}

static inline int sys_clock_gettime(int clock, struct __kernel_timespec *ts)
{
	return (int)sys_call3(__NR_clock_gettime, clock, ts, 0);
}

#endif
