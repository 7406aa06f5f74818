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
/* In each round: before the sleep seizes new tasks (seize.c), after it handles tasks that have stopped. */
void watchdog_targets(struct uft_session *s);
void watchdog_serve(struct uft_session *s);
int watchdog_has(const struct uft_session *s, pid_t tid);
/* 1: exec_trace.c traces it, or the task that executes a program in its process */
int watchdog_is_exec_task(const struct uft_session *s, pid_t tid);
/* All processes that have a task of the watchdog's, or are targets; malloc()ed, NULL if there is no memory. */
pid_t *watchdog_processes(const struct uft_session *s, size_t *n);
/* Another part of this session has the task now: exec_trace.c. */
void watchdog_forget(struct uft_session *s, pid_t tid);
/* A task of the process was detached and is to be seized again. */
void watchdog_again(struct uft_session *s, pid_t pid);
/*
 * Detaches all tasks for another use of ptrace; tasks of remaining targets are seized again in the next round. Where
 * there are int3s, only those of @pid (0: all), since the others still need them served. The int3s are removed first.
 */
void watchdog_release(struct uft_session *s, pid_t pid);
/* Returns 1 if the task is a tracee of the watchdog, or was just made by one. */
int watchdog_may_keep(struct uft_session *s, pid_t tid);
int watchdog_seize(struct uft_session *s, pid_t tid);	/* 0 or -errno */
/* Gives a running tracee of this session back to the watchdog. Returns 0 or -errno. */
int watchdog_take_back(struct uft_session *s, pid_t tid);
/*
 * Detaches a task that waits for the answer to an exec that gains rights: as our tracee it would not gain them.
 */
void watchdog_let_execute(struct uft_session *s, pid_t tid, pid_t tgid);
/* The exec failed: the task waits for us, and is seized again if the watchdog had it. */
void watchdog_exec_failed(struct uft_session *s, pid_t tid);
int watchdog_is_executing(const struct uft_session *s, pid_t tid);

/* @tid is stopped in @event: the task that it has made is a tracee, too. */
void watchdog_note_child(struct uft_session *s, pid_t tid, int event);

/* @tid is stopped before the delivery of @sig. Returns the signal that it is to get; 0: none. */
int fault_look(struct uft_session *s, pid_t tid, int sig);

#endif
