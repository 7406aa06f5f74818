// SPDX-License-Identifier: MIT
/*
 * no_ptrace.c - where tasks are not stopped by ptrace (ptrace/no_ptrace.c): no runtime hooks system calls
 * there (ARCH_HAS_HOOKS), and none asks.
 */
#include "control/proc/seccomp.h"

#include <errno.h>
#include <stdio.h>

int seccomp_judge(const struct sock_filter *code, unsigned n, uint32_t *denied, char *names, size_t size)
{
	(void)code;
	(void)n;
	*denied = 0;
	snprintf(names, size, "system calls");
	return -EPERM;
}

int seccomp_permits_children(const struct sock_filter *code, unsigned n)
{
	(void)code;
	(void)n;
	return 1;
}
