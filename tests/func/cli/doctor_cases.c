/* SPDX-License-Identifier: MIT */
/*
 * doctor_cases.c - for doctor.sh: a process with something the matter
 *
 *	patient refused NR[,NR...] CMD...	runs CMD under a seccomp filter that refuses these system calls (EPERM)
 *	patient filtered|strict|undumpable|locked|traced|zombie|well
 *						gets so, prints the pid of who is so, and waits for the end of its input
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int refuse(char *list)
{
	struct sock_filter code[64] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0) };
	struct sock_fprog prog = { 1, code };

	for (char *nr = strtok(list, ","); nr && prog.len < 60; nr = strtok(NULL, ",")) {
		code[prog.len++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)atoi(nr), 0, 1);
		code[prog.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
	}
	code[prog.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog);
}

static void wait_for_end(pid_t who)
{
	char byte;

	printf("%d\n", who);
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
}

/* A child that waits, or has ended when @is_zombie. */
static pid_t child(int is_zombie)
{
	pid_t pid = fork();
	siginfo_t info;

	if (!pid && is_zombie)
		_exit(0);
	if (!pid)
		for (;;)
			pause();
	if (is_zombie)
		waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
	return pid;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	pid_t who = getpid();
	int is_child = 0;
	char none[] = "999";

	if (!strcmp(what, "refused") && argc > 3) {
		if (refuse(argv[2]))
			return 1;
		execv(argv[3], argv + 3);
		return 127;
	}
	if (!strcmp(what, "filtered") && refuse(none))
		return 1;
	if (!strcmp(what, "undumpable") && prctl(PR_SET_DUMPABLE, 0))
		return 1;
	if (!strcmp(what, "locked") &&
	    mlock(mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 8192))
		return 1;
	if (!strcmp(what, "traced") || !strcmp(what, "zombie")) {
		who = child(!strcmp(what, "zombie"));
		is_child = 1;
	}
	if (!strcmp(what, "traced") && ptrace(PTRACE_SEIZE, who, 0, PTRACE_O_EXITKILL))
		return 1;
	if (!strcmp(what, "strict")) {
		printf("%d\n", who);
		fflush(stdout);
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
		while (syscall(SYS_read, 0, none, 1) > 0)
			;
		syscall(SYS_exit, 0);
	}
	wait_for_end(who);
	if (is_child)
		kill(who, SIGKILL);
	return 0;
}
