/* SPDX-License-Identifier: MIT */
/*
 * noxstate.c - runs a program for which PTRACE_GETREGSET has no NT_X86_XSTATE
 *
 *	noxstate PROGRAM [ARGUMENTS]
 *
 * User-mode Linux 6.1 gives its processes' extended state a fixed buffer, and stops at the first one on machines that have more of
 * it (AMX). Without that register set it uses PTRACE_GETFPREGS.
 */
#include <elf.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOAD(field)	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define ELSE(value, n)	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, n)

int main(int argc, char **argv)
{
	struct sock_filter code[] = {
		LOAD(nr), ELSE(SYS_ptrace, 5),
		LOAD(args[0]), ELSE(PTRACE_GETREGSET, 3),
		LOAD(args[2]), ELSE(NT_X86_XSTATE, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENODEV),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { sizeof(code) / sizeof(*code), code };

	if (argc < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)) {
		perror("noxstate");
		return 126;
	}
	execvp(argv[1], argv + 1);
	perror(argv[1]);
	return 127;
}
