/* SPDX-License-Identifier: MIT */
/*
 * filter.c - threads that begin under a seccomp filter which kills for what no thread of its own calls
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define KILL(nr) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)

__attribute__((noinline)) void work(void)
{
	__asm__ volatile("" : : : "memory");
}

static void *thread(void *arg)
{
	for (int i = 0; i < 100; i++)
		work();
	return arg;
}

int main(void)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		KILL(SYS_gettid), KILL(SYS_getpid), KILL(SYS_kcmp), KILL(SYS_process_vm_readv),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog p = { sizeof(f) / sizeof(f[0]), f };
	pthread_t t[20];

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p))
		return 77;
	for (int i = 0; i < 20; i++) {
		pthread_create(&t[i], NULL, thread, NULL);
		pthread_join(t[i], NULL);
	}
	puts("done");
	return 0;
}
