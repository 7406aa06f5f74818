// SPDX-License-Identifier: MIT
/*
 * trapped.c - a program that starts itself under a seccomp filter which makes one question of prctl() a signal
 *
 *	trapped QUESTION	number of the question, 0: no filter
 *
 * Ends with 77 where there are no filters.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

__attribute__((noinline, noclone)) static void work(void)
{
	__asm__ volatile("" ::: "memory");
}

static int forbid(unsigned question)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, question, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog p = { sizeof(f) / sizeof(f[0]), f };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p);
}

int main(int argc, char **argv)
{
	int question = argc > 1 ? atoi(argv[1]) : 0;

	if (question) {
		if (forbid((unsigned)question))
			return 77;
		execl("/proc/self/exe", argv[0], NULL);
		return 1;
	}
	for (int i = 0; i < 5; i++)
		work();
	puts("done");
	return 0;
}
