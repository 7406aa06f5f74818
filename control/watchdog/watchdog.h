/* SPDX-License-Identifier: MIT */
/*
 * watchdog.h - the watchdog: watchdog.c sees every signal of every target, fault.c judges those of faults.
 * Context: control.
 */
#ifndef UFT_CONTROL_WATCH_H
#define UFT_CONTROL_WATCH_H

#include "control/target/target.h"

int watch_begin(struct uft_session *s);
void watch_end(struct uft_session *s);
/* In each round: before sleeping seizes what is not ours yet (seize.c), behind it handles what has stopped. */
void watch_targets(struct uft_session *s);
void watch_serve(struct uft_session *s);
int watch_has(const struct uft_session *s, pid_t tid);
int watch_is_ptask(const struct uft_session *s, pid_t tid);	/* exec_trace.c has it, or a task that executes a program in its place */
/* Another part of this session has the task now: exec_trace.c. */
void watch_forget(struct uft_session *s, pid_t tid);
/* A task of the process was let go and is to be watched again. */
void watch_again(struct uft_session *s, pid_t pid);
/*
 * Lets all tasks go, for somebody who needs them; those of targets that remain are had again in the next
 * round. Where there are int3s those of @pid only, unless it is 0: the others' would have nobody who serves
 * them. They are taken out before.
 */
void watch_release(struct uft_session *s, pid_t pid);
/*
 * Is it a tracee of the watchdog's, or one that such a one has just made? For who stops it for a moment, and
 * hands the stop to watch_go_on().
 */
int watch_may_keep(struct uft_session *s, pid_t tid);
void watch_go_on(struct uft_session *s, pid_t tid, int status);
int watch_seize(struct uft_session *s, pid_t tid);	/* 0 or -errno */
/* A running tracee of this session's is the watchdog's again. 0 or -errno. */
int watch_take_back(struct uft_session *s, pid_t tid);
/*
 * A task that is about to execute what gains rights, and asks about it, is no tracee of ours: else it would
 * not gain them.
 */
void watch_let_execute(struct uft_session *s, pid_t tid, pid_t tgid);
/* It waits for us to take note that it has not, and is the watchdog's again if it was. */
void watch_has_not_executed(struct uft_session *s, pid_t tid);
int watch_is_executing(const struct uft_session *s, pid_t tid);

/* @tid stands in @event: who it has made is a tracee as well. */
void watch_note_made(struct uft_session *s, pid_t tid, int event);

/* @tid stands before the delivery of @sig. Returns the signal that it is to get, 0 none. */
int fault_look(struct uft_session *s, pid_t tid, int sig);

#endif
