/* SPDX-License-Identifier: MIT */
/* share.h - the part of the CPUs that a kernel session has. Context: control. */
#ifndef UFT_CONTROL_SHARE_H
#define UFT_CONTROL_SHARE_H

#include <sys/types.h>

/* What was raised: for who gives it back. */
struct share_notes {
	struct { pid_t pid; int nice; } group[2];
	int n;
};

/* 0, or -1 where the kernel does not group so, or this is not permitted. */
int share_set(pid_t pid, int nice);

/* The groups of @pid and of this process get what their tasks' priority asks for; until share_give_back(). */
void share_raise(pid_t pid);
void share_give_back(void);
/* For the guard: of who was killed in between. */
void share_give_back_noted(const struct share_notes *s);

#endif
