// SPDX-License-Identifier: MIT
/*
 * unfollowed.c - children that cannot be followed when they execute a program, and an end of which the session has something to say
 *
 * Usage: unfollowed CHILDREN. Each child forbids itself to read the clock, by a system call that no hook is at, and executes this
 * program without arguments. The last word is a SIGSYS.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) int work(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n + 1;
}

static void forbid_the_clock(void)
{
#ifdef __x86_64__
	long ret = SYS_prctl;

	__asm__ volatile("syscall" : "+a"(ret) : "D"(PR_SET_TSC), "S"(PR_TSC_SIGSEGV) : "rcx", "r11", "memory");
#endif
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 0, status;

	for (int i = 0; i < n; i++) {
		if (!fork()) {
			work(i);
			forbid_the_clock();
			execl("/proc/self/exe", argv[0], NULL);
			_exit(2);
		}
		if (wait(&status) < 0 || (status && status != SIGSEGV && status != (SIGSEGV | 0x80)))
			return 2;
	}
	return n ? raise(SIGSYS) : 0;
}
