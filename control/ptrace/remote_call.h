/* SPDX-License-Identifier: MIT */
/*
 * remote_call.h - make system calls in a task of another process that ptrace has stopped
 *
 * A call is made at a `syscall` instruction of the target, or at one from remote_guard(), between two system call
 * stops, so no signal is needed. The caller saves and restores registers and signal mask. Context: control.
 */
#ifndef UFT_CONTROL_REMOTE_CALL_H
#define UFT_CONTROL_REMOTE_CALL_H

#include "control/proc/proc.h"
#include "control/arena/arena.h"

#include <sys/user.h>

#define REMOTE_SYSCALL_STOP	(SIGTRAP | 0x80)
#define REMOTE_RSEQ_REACH	(32 << 10)	/* bytes around a thread pointer that the blob's stand-in area has */

#define REMOTE_RESUME		2	/* offset of the code that restores the thread from remote.guard */

#define REMOTE_PARK_BYTES	11
#ifndef PR_GET_MDWE
#define PR_GET_MDWE	66
#endif
#define REMOTE_STACK_GAP	256		/* more than the red zone */

struct remote {
	pid_t tid;
	int mem;
	struct user_regs_struct regs;	/* the program's */
	uint64_t sigmask, insn;
	int pending_signal;		/* SIGSTOP that arrived meanwhile; 0: none */
	int trap_ignored;
	uint64_t base;			/* of the blob; 0: not mapped */
	uint64_t *base_note;		/* if not NULL: gets ->base as soon as the blob is mapped */
	uint64_t guard;			/* address of the code of escape_code.c; 0: none */
	size_t guard_bytes;
	int is_late;			/* late_call.c: it is not to be touched any more */
};

/*
 * Resumes the task by @request until it stops with signal @wanted and without an event. Returns 0; -ESRCH: the task is
 * gone; -EFAULT: it stopped for another signal; -ETIMEDOUT: no such stop in time: it stopped elsewhere, or is
 * ->is_late.
 */
int remote_run_to(struct remote *r, int request, int wanted);
int remote_write(struct remote *r, uint64_t addr, const void *buf, size_t len);
/* Address of a `syscall` instruction in the vdso or the loader; 0: none. */
uint64_t remote_find_syscall(struct remote *r, const struct auxv *av);
/* Returns the result of the call, a value or -errno; or -ESRCH and -EFAULT as remote_run_to(). */
int64_t remote_syscall(struct remote *r, long nr, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e);
/*
 * Maps the blob's segments at r->base, with @extra bytes of address space behind them. Returns 0 or -errno; -ENODEV:
 * the thread must not execute rdtsc.
 */
int remote_map_blob(struct remote *r, const struct blob *b, uint64_t extra);
/*
 * The same in an image that has not run yet, in three stops instead of two for each call: code where the blob's text
 * will be makes all calls but the first, and ends at a breakpoint. *no_gain is set if the task may not make memory
 * executable (PR_SET_MDWE). After a failure nothing is mapped, but for -ENODEV.
 */
int remote_map_blob_fresh(struct remote *r, const struct blob *b, int *no_gain);
int remote_write_blob(struct remote *r, const struct blob *b, struct uft_boot *boot, uint64_t extra);
/*
 * Unmaps the blob of a failed start, with @extra bytes behind it. @has_run: before that the memory on the first page of
 * the runtime's list, which a start never fills, but for that of a thread pointer; no agent may run then. Takes a
 * bounded time: the target may have written the list. Returns the result of the blob's munmap().
 */
#define UNMAP_MS	5000	/* to unmap everything: the target decides how many mappings there are */
int remote_unmap_blob(struct remote *r, const struct blob *b, uint64_t extra, int has_run);
/*
 * From now on the thread restores itself to ->regs and ->sigmask if we are killed (escape_code.c); sets ->insn. Called
 * before the mask is changed. remote_unguard() is called after the registers are restored.
 */
void remote_guard(struct remote *r, const struct auxv *av);
void remote_unguard(struct remote *r);
void remote_wipe_guard(struct remote *r);	/* takes out the bytes of remote_guard() alone */
/* Changes registers as the kernel does when it resumes a task. */
void remote_as_resumed(struct user_regs_struct *regs);
/* ->regs and ->sigmask in the form of the journal. */
struct uft_way_back remote_way_back(const struct remote *r);
/* Brings the task from a system call stop to a stop after which the kernel restarts an interrupted system call. */
void remote_to_restart_stop(struct remote *r);
/*
 * Writes code that makes a system call, after which the task sleeps for ever with its argument registers unchanged.
 * Returns its address, also in ->guard, and in *note before the write; 0: no room.
 */
uint64_t remote_park(struct remote *r, const struct auxv *av, uint64_t *note);
/* From now on a task that returns from the call of remote_park() exits. */
void remote_park_ends(struct remote *r);
/* Makes room for one late_call_add(), before a thread makes its first call. 0; -ENOMEM: it must make none */
int late_call_reserve(void);
/* The thread has not stopped: when it does it is given its registers and is let go. */
void late_call_add(const struct remote *r);
void remote_close(struct remote *r);
uint32_t remote_cpu_vendor_ok(void);

#endif
