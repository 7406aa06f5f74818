/* SPDX-License-Identifier: MIT */
/*
 * watchdog.h - the watchdog: watchdog.c sees every signal of every target, fault.c judges those of faults.
 * Context: control.
 */
#ifndef UFT_CONTROL_WATCHDOG_H
#define UFT_CONTROL_WATCHDOG_H

#include "control/target/target.h"

int watchdog_begin(struct uft_session *s);
void watchdog_end(struct uft_session *s);
/* In each round: before sleeping seizes what is not ours yet (seize.c), behind it handles what has stopped. */
void watchdog_targets(struct uft_session *s);
void watchdog_serve(struct uft_session *s);
int watchdog_has(const struct uft_session *s, pid_t tid);
/* exec_trace.c has it, or a task that executes a program in its place */
int watchdog_is_exec_task(const struct uft_session *s, pid_t tid);
/* All processes that have a task of the watchdog's, or are targets; malloc()ed, NULL if there is no memory. */
pid_t *watchdog_processes(const struct uft_session *s, size_t *n);
/* Another part of this session has the task now: exec_trace.c. */
void watchdog_forget(struct uft_session *s, pid_t tid);
/* A task of the process was let go and is to be watched again. */
void watchdog_again(struct uft_session *s, pid_t pid);
/*
 * Lets all tasks go, for somebody who needs them; those of targets that remain are had again in the next
 * round. Where there are int3s those of @pid only, unless it is 0: the others' would have nobody who serves
 * them. They are taken out before.
 */
void watchdog_release(struct uft_session *s, pid_t pid);
/* Is it a tracee of the watchdog's, or one that such a one has just made? */
int watchdog_may_keep(struct uft_session *s, pid_t tid);
int watchdog_seize(struct uft_session *s, pid_t tid);	/* 0 or -errno */
/* A running tracee of this session's is the watchdog's again. 0 or -errno. */
int watchdog_take_back(struct uft_session *s, pid_t tid);
/*
 * A task that is about to execute what gains rights, and asks about it, is no tracee of ours: else it would
 * not gain them.
 */
void watchdog_let_execute(struct uft_session *s, pid_t tid, pid_t tgid);
/* It waits for us to take note that it has not, and is the watchdog's again if it was. */
void watchdog_exec_failed(struct uft_session *s, pid_t tid);
int watchdog_is_executing(const struct uft_session *s, pid_t tid);

/* @tid stands in @event: who it has made is a tracee as well. */
void watchdog_note_child(struct uft_session *s, pid_t tid, int event);

/* @tid stands before the delivery of @sig. Returns the signal that it is to get, 0 none. */
int fault_look(struct uft_session *s, pid_t tid, int sig);

#endif
