/* SPDX-License-Identifier: MIT */
/* functions.h - the functions of a session's targets, by name. Context: control, the session's thread. */
#ifndef UFT_CONTROL_FUNCTIONS_H
#define UFT_CONTROL_FUNCTIONS_H

#include "control/session.h"

struct uft_function {
	const char *name;	/* as in the file */
	const char *object;	/* base name of its file */
	int is_program;		/* of a program, not of a library */
	int is_armed;		/* its site is armed in a target */
	int is_touched;		/* or was, in a live process */
	uint64_t addr;		/* in the file */
};

/*
 * Calls @fn for each function that can be traced in any present or past image, once for each object,
 * until it does not return 0; returns that, or -errno. Plain functions (unprepared.md) are those of programs,
 * of objects that the spec names, and of those that glob @object (or NULL) matches.
 */
int uft_session_functions(struct uft_session *s, const char *object, int (*fn)(void *arg, const struct uft_function *f),
			  void *arg);
/* Returns 1 if an object has that name (a glob). */
int uft_session_has_object(struct uft_session *s, const char *object);
/* Detaches from process @pid. -ESRCH: not a target; -EBUSY: it is starting; -EAGAIN: something of uft remains in it. */
int uft_session_detach(struct uft_session *s, pid_t pid);

/*
 * Calls @fn for each process that is in pids, or in not_pids, because a process there made it: struct
 * uft_ops.is_forking.
 */
void uft_session_kin(struct uft_session *s, int is_not, void (*fn)(void *arg, pid_t pid), void *arg);

#endif
