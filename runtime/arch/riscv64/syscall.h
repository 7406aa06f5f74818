/* SPDX-License-Identifier: MIT */
/*
 * syscall.h - the system call instruction of riscv64, and the thread pointer
 *
 * Context: any. Returns what the kernel returns: a value, or -errno in -4095..-1. Never touches errno.
 * Source: syscall(2): number in a7, arguments in a0-a5, result in a0; everything else is kept.
 */
#ifndef UFT_ARCH_SYSCALL_H
#define UFT_ARCH_SYSCALL_H

#include <stdint.h>

static inline long arch_syscall6(long nr, long a, long b, long c, long d, long e, long f)
{
	register long a7 __asm__("a7") = nr;
	register long a0 __asm__("a0") = a;
	register long a1 __asm__("a1") = b;
	register long a2 __asm__("a2") = c;
	register long a3 __asm__("a3") = d;
	register long a4 __asm__("a4") = e;
	register long a5 __asm__("a5") = f;

	__asm__ volatile("ecall" : "+r"(a0) : "r"(a7), "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a5) : "memory");
	return a0;
}

static inline long arch_syscall3(long nr, long a, long b, long c)
{
	register long a7 __asm__("a7") = nr;
	register long a0 __asm__("a0") = a;
	register long a1 __asm__("a1") = b;
	register long a2 __asm__("a2") = c;

	__asm__ volatile("ecall" : "+r"(a0) : "r"(a7), "r"(a1), "r"(a2) : "memory");
	return a0;
}

static inline uint64_t arch_get_thread_pointer(void)
{
	uint64_t tp;

	__asm__ volatile("mv %0, tp" : "=r"(tp));
	return tp;
}

static inline long arch_set_thread_pointer(uint64_t tp)
{
	__asm__ volatile("mv tp, %0" : : "r"(tp) : "memory");
	return 0;
}

/* Length of the code to which the kernel makes signal handlers return: `li a7, 139; ecall` (the vdso's). */
#define ARCH_SIGRETURN_BYTES	8
static inline int arch_is_sigreturn(const uint8_t *p)
{
	uint32_t first = p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24;
	uint32_t second = p[4] | p[5] << 8 | p[6] << 16 | (uint32_t)p[7] << 24;

	return first == 0x08b00893u && second == 0x00000073u;
}

#endif
