/* SPDX-License-Identifier: MIT */
/* functions.h - the functions of a session's targets, by name. Context: control, the session's thread. */
#ifndef UFT_CONTROL_FUNCTIONS_H
#define UFT_CONTROL_FUNCTIONS_H

#include "control/session.h"

struct uft_function {
	const char *name;	/* as in the file */
	const char *object;	/* base name of its file */
	int is_program;		/* of a program, not of a library */
	int is_armed;		/* somebody calls into us there now */
	int is_touched;		/* or did, in a process that lives */
	uint64_t addr;		/* in the file */
};

/*
 * Calls @fn for each function that can be traced in any image that there is or was, once for each object,
 * until it does not return 0; returns that, or -errno. Plain functions (unprepared.md) are those of programs,
 * of objects that the spec names, and of those that glob @object (or NULL) matches.
 */
int uft_session_functions(struct uft_session *s, const char *object, int (*fn)(void *arg, const struct uft_function *f),
			  void *arg);
/* Is there an object of that name (a glob)? */
int uft_session_has_object(struct uft_session *s, const char *object);
/* Leaves process @pid as it was found: -ESRCH not ours, -EBUSY it starts, -EAGAIN something remains. */
int uft_session_detach(struct uft_session *s, pid_t pid);

/*
 * Calls @fn for each process that is in pids, or in not_pids, because a process there made it: struct
 * uft_ops.is_forking.
 */
void uft_session_kin(struct uft_session *s, int is_not, void (*fn)(void *arg, pid_t pid), void *arg);

#endif
