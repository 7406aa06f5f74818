/* SPDX-License-Identifier: MIT */
/* start.h - bringing the runtime into a process. Context: control, the session's thread. */
#ifndef UFT_CONTROL_START_H
#define UFT_CONTROL_START_H

#include "control/target/target.h"

struct guard_notes;
struct procinfo;

/* ---- attachable.c ---------------------------------------------------------------------------------- */

/*
 * Fills *out, whose pidfd the caller has opened, and checks that the process can be attached to. 0, or -errno and
 * the reason in @err.
 */
int procinfo_read(const struct uft_session *s, pid_t pid, struct procinfo *out, struct uft_error *err);
/*
 * 0; -EBUSY and the reason in @err: the process has the memory of another live session. One that has a higher number
 * than ours gets @ms to leave.
 */
int attachable_check_others(const struct procinfo *p, unsigned ms, struct uft_error *err);

/* ---- exec_inject.c --------------------------------------------------------------------------------- */

/*
 * Puts the runtime into the image of @tid, which is in its PTRACE_EVENT_EXEC stop, makes the process a target with
 * slice and agent, and arms it. The task stays stopped, and target->remote is set. On an error the image is
 * unchanged, and the task stays stopped. @limit: the limit of address space that the replaced program had set; NULL:
 * none.
 */
int inject_exec(struct uft_session *s, pid_t tid, pid_t ppid, const struct uft_limits *limit, struct target **out,
		struct uft_error *err);
/*
 * Restores registers and signal mask and resumes the task: detached, or traced until libc has set up rseq
 * (exec_trace.c).
 */
int inject_release(struct uft_session *s, struct target *t);

/* Explains errno after a failed arena_claim() in @err. Returns -errno. */
int start_no_slice(const struct uft_session *s, struct uft_error *err);

/* ---- attach.c ---------------------------------------------------------------------------------- */

/*
 * Makes a running process a target and arms it. The guard must be ready. 0, or -errno and the reason in @err; -EBUSY:
 * another one traces it, and if it is a target by then, it has to be detached from.
 */
int attach_process(struct uft_session *s, pid_t pid, struct uft_error *err);

/* ---- attach_finish.c --------------------------------------------------------------------------- */

/*
 * Finishes or undoes the attach of a session that was killed. For the guard. 0: the agent serves; -ECHILD: the
 * process is restored, or has ended.
 */
int attach_finish(const struct guard_notes *n);

/* ---- launch.c -------------------------------------------------------------------------------------- */

/* Finds @name as execvp() does. 0, or -errno and the reason in @err. */
int launch_find_program(const char *name, char *path, size_t size, struct uft_error *err);
/*
 * Checks that the spec selects a function. Called when all objects of the start are known. 0, or -errno and the reason
 * in @err.
 */
int launch_check_start(struct uft_session *s, struct target *t, struct uft_error *err);
void launch_adopt(struct uft_session *s, pid_t pid);		/* makes the process the session's program */
void launch_end_child(struct uft_session *s, pid_t pid);	/* kills it and waits for it */
/*
 * Forks and executes; the program runs not one instruction before inject_release(). 0, or -errno and the reason in
 * @err.
 */
int launch_begin(struct uft_session *s, char *const argv[], struct uft_error *err);
/*
 * Waits until the program is in its exec stop, after launch_begin() if that was not called. 0, or -errno and the
 * reason in @err.
 */
int launch_exec(struct uft_session *s, char *const argv[], pid_t *pid, struct uft_error *err);
void launch_forget(struct uft_session *s);	/* kills a program of launch_begin() that launch_exec() did not take */

/* ---- preload.c -------------------------------------------------------------------------------- */

/*
 * Starts the program with the runtime in LD_PRELOAD. *pid and @path: its process and file. Its runtime says hello
 * next (preload_hello()). 0, or -errno and the reason in @err.
 */
int preload_begin(struct uft_session *s, char *const argv[], char path[PATH_MAX], pid_t *pid, struct uft_error *err);
void preload_leave(struct uft_session *s, struct target *t);	/* disarms; the library stays mapped */
void preload_take_agent(struct uft_session *s, struct target *t);	/* its agent is a thread of the process */
/* libuft.so for @machine, as preload_machine() names it. 0, or -errno and the reason in @err. */
int preload_find_library(const char *machine, char *path, size_t size, struct uft_error *err);
const char *preload_machine(uint16_t machine);
/*
 * Writes the variables for programs that targets execute onto the board, once. @how: the sign in UFT_ARENA, as
 * runtime/agent/preload.c has it. 0, or -errno and the reason in @err.
 */
int preload_put_texts(struct uft_session *s, const char *library, char how, struct uft_error *err);
/* Checks that a program can find @library and the session's files by its environment. 0, or -errno and the reason. */
int preload_check_places(const struct uft_session *s, const char *library, struct uft_error *err);
/* Answers a hello, request @index: the process becomes a target and is armed. 0 or -errno. */
int preload_hello(struct uft_session *s, uint32_t index, const struct uft_request *r);

/* ---- preload_offer.c --------------------------------------------------------------------------- */

/*
 * Task @tid of process @tgid, which has another tracer, is about to execute @path. 0: the program's loader can load the
 * runtime; the board has the texts for its environment, and a hello may come. -ENOEXEC: the exec will fail; another
 * -errno: the loader cannot, and the reason in @err.
 */
int preload_offer(struct uft_session *s, pid_t tid, pid_t tgid, const char *path, struct uft_error *err);
int preload_is_offered(const struct uft_session *s, pid_t pid);
void preload_withdraw(struct uft_session *s, pid_t pid);	/* after a failed exec or the hello */

/* ---- exec_trace.c: tasks that are traced by ptrace for a moment ------------------------------------ */

int exec_task_seize(struct uft_session *s, pid_t tid, pid_t tgid, pid_t from);	/* before its exec; 0 or -errno */
/* Resumes a stopped tracee, with @sig, and keeps it traced until libc has set up rseq. -errno: it still stands */
int exec_task_watch_rseq(struct uft_session *s, pid_t tid, uint32_t slice, int sig);
/* Detaches from a task whose exec failed */
void exec_task_release(struct uft_session *s, pid_t tid);
/* Handles stops; returns the number of tasks that are still traced */
int exec_task_poll(struct uft_session *s);
void exec_task_release_all(struct uft_session *s);
void exec_task_release_process(struct uft_session *s, pid_t tgid);

#endif
