// SPDX-License-Identifier: MIT
/* no_libc.c - a program without a libc: nobody sets its thread pointer. It says each change of it that it sees. */
#include <sys/syscall.h>

#define ARCH_GET_FS 0x1003

static long call3(long nr, long a, long b, long c)
{
	long ret;

	__asm__ volatile("syscall" : "=a"(ret) : "a"(nr), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
	return ret;
}

__attribute__((noinline)) int has_pointer(void)
{
	unsigned long fs = 0;

	call3(SYS_arch_prctl, ARCH_GET_FS, (long)&fs, 0);
	return fs != 0;
}

__attribute__((noreturn)) void _start(void)
{
	static const long nap[2] = { 0, 1000000 };
	int before = -1;

	for (;;) {
		int is = has_pointer();

		if (is != before)
			call3(SYS_write, 1, (long)(is ? "set\n" : "none\n"), is ? 4 : 5);
		before = is;
		call3(SYS_nanosleep, (long)nap, 0, 0);
	}
}
