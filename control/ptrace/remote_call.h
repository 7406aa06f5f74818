/* SPDX-License-Identifier: MIT */
/*
 * remote_call.h - a task of another process that we hold stopped by ptrace, and system calls made in it
 *
 * The calls are made at a `syscall` instruction that is there already, or that remote_guard() made, between
 * two system call stops: no signal is needed. The caller keeps and puts back registers and signal mask.
 * Context: control.
 */
#ifndef UFT_CONTROL_REMOTE_CALL_H
#define UFT_CONTROL_REMOTE_CALL_H

#include "control/proc/proc.h"
#include "control/arena/arena.h"

#include <sys/user.h>

#define REMOTE_SYSCALL_STOP	(SIGTRAP | 0x80)
#define REMOTE_RSEQ_REACH	(32 << 10)	/* of a thread pointer: what the blob's stand-in area offers */

#define REMOTE_RESUME		2	/* from remote.guard to the way back */

#define REMOTE_PARK_BYTES	11
#ifndef PR_GET_MDWE
#define PR_GET_MDWE	66
#endif
#define REMOTE_STACK_GAP	256		/* more than the red zone */

struct remote {
	pid_t tid;
	int mem;
	struct user_regs_struct regs;	/* of the program */
	uint64_t sigmask, insn;
	int pending_signal;		/* SIGSTOP that came meanwhile */
	int trap_ignored;
	uint64_t base;			/* of the blob; 0 not mapped */
	uint64_t *base_note;		/* where it is to be written at once, if not NULL */
	uint64_t guard;			/* escape_code.c; 0 none */
	size_t guard_bytes;
};

/*
 * Resumes by @request until a stop with signal @wanted and no event. -ESRCH: the task is gone; -EFAULT:
 * another signal.
 */
int remote_run_to(struct remote *r, int request, int wanted);
int remote_write(struct remote *r, uint64_t addr, const void *buf, size_t len);
/* Address of a `syscall` instruction, 0 if there is none. */
uint64_t remote_find_syscall(struct remote *r, const struct auxv *av);
/* Its result: a value, or -errno; -ESRCH and -EFAULT also as above. */
int64_t remote_syscall(struct remote *r, long nr, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e);
/*
 * Maps the blob's segments at r->base, with @extra bytes of address space behind them. -ENODEV: the thread
 * must not read the clock.
 */
int remote_map_blob(struct remote *r, const struct blob *b, uint64_t extra);
/*
 * The same in an image that has not run yet, in three stops instead of two for each call: the task makes all calls
 * but the first at once, by code up to a breakpoint that lies where the blob's text will be. *no_gain: its memory
 * must not become executable. Nothing is mapped if it fails, but for -ENODEV.
 */
int remote_map_blob_fresh(struct remote *r, const struct blob *b, int *no_gain);
int remote_write_blob(struct remote *r, const struct blob *b, struct uft_boot *boot, uint64_t extra);
/*
 * From now on the thread goes on by itself, with ->regs and ->sigmask, if we are killed (escape_code.c); sets
 * ->insn. Before its mask is changed, and undone after its registers are as they were.
 */
void remote_guard(struct remote *r, const struct auxv *av);
void remote_unguard(struct remote *r);
/* ->regs and ->sigmask so. */
struct uft_way_back remote_way_back(const struct remote *r);
/* From a system call stop to one of the kind in which the kernel restarts an interrupted system call. */
void remote_to_restart_stop(struct remote *r);
/*
 * A place where a system call can be made and behind which the task sleeps for good, the argument registers
 * as they were; 0: no room. In ->guard, and in *note before it is written.
 */
uint64_t remote_park(struct remote *r, const struct auxv *av, uint64_t *note);
/* From now on a task that comes behind the call there ends. */
void remote_park_ends(struct remote *r);
void remote_close(struct remote *r);
uint32_t remote_cpu_vendor_ok(void);

#endif
