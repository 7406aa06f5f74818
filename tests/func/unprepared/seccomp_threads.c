/* SPDX-License-Identifier: MIT */
/*
 * seccomp_threads.c - threads that begin under a seccomp filter which kills for what no thread of its own calls; with an argument a
 * child, where the filter kills for kcmp only
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

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

static int child(void)
{
	int status = -1;
	pid_t pid = fork();

	if (!pid) {
		thread(NULL);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	puts(status ? "killed" : "done");
	return 0;
}

int main(int argc, char **argv)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		KILL(SYS_gettid), KILL(SYS_getpid), KILL(SYS_kcmp), KILL(SYS_process_vm_readv),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	}, kcmp_only[] = {
		f[0], KILL(SYS_kcmp), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog p = { sizeof(f) / sizeof(f[0]), f };
	struct sock_fprog q = { sizeof(kcmp_only) / sizeof(f[0]), kcmp_only };
	pthread_t t[20];

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, argc > 1 ? &q : &p))
		return 77;
	if (argc > 1)
		return child();
	for (int i = 0; i < 20; i++) {
		pthread_create(&t[i], NULL, thread, NULL);
		pthread_join(t[i], NULL);
	}
	puts("done");
	return 0;
}
