// SPDX-License-Identifier: MIT
/*
 * preload_filter.c - executes a program behind a seccomp filter that kills for a system call which that program does not make
 *
 * Usage: preload_filter CALL PROGRAM [ARGUMENT...], CALL a number of a system call; -1: no filter
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, argc > 2 ? (unsigned)atoi(argv[1]) : 0, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	if (argc < 3)
		return 2;
	if (atoi(argv[1]) >= 0 &&
	    (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)))
		return 3;
	execv(argv[2], argv + 2);
	return 4;
}
