/* SPDX-License-Identifier: MIT */
/*
 * syscall.h - the system call instruction of arm64, and the thread pointer
 *
 * Context: any. Returns what the kernel returns: a value, or -errno in -4095..-1. Never touches errno.
 * Source: syscall(2): number in x8, arguments in x0-x5, result in x0; everything else is kept.
 */
#ifndef UFT_ARCH_SYSCALL_H
#define UFT_ARCH_SYSCALL_H

#include <stdint.h>

static inline long arch_syscall6(long nr, long a, long b, long c, long d, long e, long f)
{
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory", "cc");
	return x0;
}

static inline long arch_syscall3(long nr, long a, long b, long c)
{
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;

	__asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory", "cc");
	return x0;
}

static inline uint64_t arch_get_thread_pointer(void)
{
	uint64_t tp;

	__asm__ volatile("mrs %0, tpidr_el0" : "=r"(tp));
	return tp;
}

static inline long arch_set_thread_pointer(uint64_t tp)
{
	__asm__ volatile("msr tpidr_el0, %0" : : "r"(tp) : "memory");
	return 0;
}

/*
 * Length of the code to which the kernel makes signal handlers return: `mov x8, #139; svc #0` (the vdso's, and libc's).
 */
#define ARCH_SIGRETURN_BYTES	8
static inline int arch_is_sigreturn(const uint8_t *p)
{
	uint32_t first = p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24;
	uint32_t second = p[4] | p[5] << 8 | p[6] << 16 | (uint32_t)p[7] << 24;

	return first == 0xd2801168u && second == 0xd4000001u;
}

#endif
