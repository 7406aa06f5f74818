/* SPDX-License-Identifier: MIT */
/* event_filter.h - the kernel's event filters, `pid == 1 && comm ~ "a*"`, as programs. Theory: event_filter.c. */
#ifndef UFT_SYMBOL_EVENT_FILTER_H
#define UFT_SYMBOL_EVENT_FILTER_H

#include "program/program.h"
#include "symbol/event_type.h"

struct uft_filter_error {
	const char *what;	/* the kernel's text; static */
	size_t at;		/* place of its caret: at most one behind the text's end, as in the kernel */
};
#define UFT_FILTER_BYTES	4096u	/* a text is shorter */

/*
 * Makes a program for records of @type; free() it. 0, or the kernel's error: -EINVAL, -EPERM, -ENOENT, -ESRCH, with
 * *err; -E2BIG (more conditions than a program has room for), -ENOMEM.
 */
int uft_event_filter_make(const struct uft_event_type *type, const char *text, struct uft_program **out,
			  struct uft_filter_error *err);

/*
 * Tasks whose events are wanted, or none if all are; and those whose events are not. Numbers of threads or
 * processes.
 */
struct uft_event_tasks {
	const uint32_t *pids, *not_pids; size_t npids, nnot_pids;
};

/*
 * event_tasks.c: makes a program that accepts what @filter accepts (NULL: all) of the tasks, of which there are some;
 * where the task is not known, of all. free() it. 0, -E2BIG (more than a program has room for), -ENOMEM.
 */
int uft_event_tasks_make(const struct uft_event_tasks *tasks, const struct uft_program *filter,
			 struct uft_program **out);

#endif
