/* SPDX-License-Identifier: MIT */
/* seccomp.h - run the seccomp filters of a task on our system calls. Context: control. */
#ifndef UFT_CONTROL_SECCOMP_H
#define UFT_CONTROL_SECCOMP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct seccomp_data;
struct sock_filter;

/* @tid is stopped by us. 0; 1: it would be ended for the calls in @names, or "?" if its filters cannot be read. */
int seccomp_may_end_task(pid_t tid, char *names, size_t size);
/* 1: the task has no more filters than this process, which had its own before. */
int seccomp_has_ours_only(pid_t tid);
/*
 * Of a task that has just executed a program, and is stopped by us: 0, and what the runtime must not call in it (enum
 * uft_denied); -EPERM: @names are calls that tracing cannot do without. 0 also if its filters cannot be read.
 */
int seccomp_judge_fresh(pid_t tid, uint32_t *denied, char *names, size_t size);
/*
 * Of a filter that a program is about to set: 0, and what the runtime must not call any more (enum
 * uft_denied); @names: for what of that processes that it makes cannot be followed. -EPERM: @names are calls
 * that tracing cannot do without.
 */
int seccomp_judge(const struct sock_filter *code, unsigned n, uint32_t *denied, char *names, size_t size);
/* Could a program under it fork, or execute another one? */
int seccomp_permits_children(const struct sock_filter *code, unsigned n);
/* What the filter says. For tests. */
uint32_t seccomp_run(const struct sock_filter *code, unsigned n, const struct seccomp_data *data);

#endif
