/* SPDX-License-Identifier: MIT */
/*
 * syscall.h - the system call instruction of x86_64, and the thread pointer
 *
 * Context: any. Returns what the kernel returns: a value, or -errno in -4095..-1. Never touches errno.
 * Source: syscall(2), the x86-64 psABI appendix A.2: number in rax, arguments in rdi rsi rdx r10 r8 r9; rcx
 * and r11 are lost.
 */
#ifndef UFT_ARCH_SYSCALL_H
#define UFT_ARCH_SYSCALL_H

#include <stdint.h>

static inline long arch_syscall6(long nr, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long ret;

	__asm__ volatile("syscall" : "=a"(ret) : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}

/* Fewer arguments save the moves into r8-r10 on the paths where these count. */
static inline long arch_syscall3(long nr, long a, long b, long c)
{
	long ret;

	__asm__ volatile("syscall" : "=a"(ret) : "a"(nr), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
	return ret;
}

/* 0: it is not set yet; -1: not known. */
static inline uint64_t arch_get_thread_pointer(void)
{
	uint64_t fs = 0;

	return arch_syscall3(158 /* arch_prctl */, 0x1003 /* ARCH_GET_FS */, (long)&fs, 0) ? ~0ull : fs;
}

static inline long arch_set_thread_pointer(uint64_t tp)
{
	return arch_syscall3(158, 0x1002 /* ARCH_SET_FS */, (long)tp, 0);
}

/* Length of the code to which the kernel makes signal handlers return: `mov $15,%rax` (or %eax), `syscall`. */
#define ARCH_SIGRETURN_BYTES	9
static inline int arch_is_sigreturn(const uint8_t *p)
{
	static const uint8_t imm_syscall[6] = { 15, 0, 0, 0, 0x0f, 0x05 };
	unsigned at = p[0] == 0xb8 ? 1 : p[0] == 0x48 && p[1] == 0xc7 && p[2] == 0xc0 ? 3 : 0;

	for (unsigned i = 0; at && i < sizeof(imm_syscall); i++)
		if (p[at + i] != imm_syscall[i])
			return 0;
	return at != 0;
}

#endif
