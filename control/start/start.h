/* SPDX-License-Identifier: MIT */
/* start.h - bringing the runtime into a process. Context: control, the session's thread. */
#ifndef UFT_CONTROL_START_H
#define UFT_CONTROL_START_H

#include "control/target/target.h"

struct guard_notes;
struct procinfo;

/* ---- attachable.c ---------------------------------------------------------------------------------- */

/* Reads @out and refuses what cannot be attached to, each with its sentence. @out->pidfd comes in. */
int procinfo_read(const struct uft_session *s, pid_t pid, struct procinfo *out, struct uft_error *err);

/* ---- exec_inject.c --------------------------------------------------------------------------------- */

/*
 * @tid stands in its PTRACE_EVENT_EXEC stop. Puts the runtime into the new image, makes the process a target with
 * slice and agent, and arms it. It stays stopped, target->remote is set. On an error the image is as it
 * was and still stopped.
 */
int inject_exec(struct uft_session *s, pid_t tid, pid_t ppid, struct target **out, struct uft_error *err);
/* Registers and signal mask back, then off it goes: detached, or watched until libc has set up rseq (exec_trace.c). */
int inject_release(struct uft_session *s, struct target *t);

/* ---- attach.c ---------------------------------------------------------------------------------- */

/* The session was killed while it attached. 0: the agent has come up; else the process is as it was, or over. */
int attach_finish(const struct guard_notes *n);
/* A running process becomes a target and is armed. The guard is ready. 0, or -errno and the sentence. */
int attach_process(struct uft_session *s, pid_t pid, struct uft_error *err);

/* ---- launch.c -------------------------------------------------------------------------------------- */

/* Where execvp() would find @name; 0, or -errno and the sentence. */
int launch_find_program(const char *name, char *path, size_t size, struct uft_error *err);
/* Does anything match, now that all objects of the start are known? */
int launch_check_start(struct uft_session *s, struct target *t, struct uft_error *err);
void launch_adopt(struct uft_session *s, pid_t pid);		/* it is the session's program from now on */
void launch_end_child(struct uft_session *s, pid_t pid);
int launch_begin(struct uft_session *s, char *const argv[], struct uft_error *err);	/* fork and exec: nothing runs behind that */
/* The program in its exec stop; it may be on its way since the session was created. */
int launch_exec(struct uft_session *s, char *const argv[], pid_t *pid, struct uft_error *err);
void launch_forget(struct uft_session *s);	/* what was begun and not launched */

/* ---- preload.c -------------------------------------------------------------------------------- */

/* The program is started, and has @path; the runtime in it is going to say hello: preload_hello(). */
int preload_begin(struct uft_session *s, char *const argv[], char path[PATH_MAX], pid_t *pid, struct uft_error *err);
void preload_leave(struct uft_session *s, struct target *t);
void preload_take_agent(struct uft_session *s, struct target *t);
int preload_hello(struct uft_session *s, uint32_t index, const struct uft_request *r);

/* ---- exec_trace.c: tasks that are traced by ptrace for a moment ------------------------------------ */

int ptask_seize(struct uft_session *s, pid_t tid, pid_t tgid, pid_t from);
void ptask_watch_rseq(struct uft_session *s, pid_t tid, uint32_t slice);
void ptask_release(struct uft_session *s, pid_t tid);	/* exec failed: let go */
int ptask_poll(struct uft_session *s);			/* handles stops; number of tasks left */
void ptask_release_all(struct uft_session *s);
void ptask_release_process(struct uft_session *s, pid_t tgid);

#endif
