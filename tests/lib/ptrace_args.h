/* SPDX-License-Identifier: MIT */
/* ptrace_args.h - the arguments behind the request of ptrace(2), for functions that stand in its place in a test */
#ifndef UFT_TESTS_PTRACE_ARGS_H
#define UFT_TESTS_PTRACE_ARGS_H

#include <stdarg.h>
#include <sys/types.h>

struct ptrace_args { pid_t pid; void *addr, *data; };

static inline struct ptrace_args ptrace_args(va_list ap)
{
	struct ptrace_args a;

	a.pid = va_arg(ap, pid_t);
	a.addr = va_arg(ap, void *);
	a.data = va_arg(ap, void *);
	return a;
}

#endif
