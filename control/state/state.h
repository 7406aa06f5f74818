/* SPDX-License-Identifier: MIT */
/*
 * state.h - the state of a session, shared by all upper folders; the theory is at the top of session/session.c.
 * Context: control, the session's thread.
 */
#ifndef UFT_CONTROL_STATE_H
#define UFT_CONTROL_STATE_H

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "control/arena/arena.h"
#include "control/session.h"

struct spec;
struct space;
struct target;
struct exec_task;
struct unprepared;
struct sender;
struct price_purse;
struct meter_scratch;
struct target_listener;
struct tracee_keeper;
struct int3_ops;

struct uft_session {
	struct uft_session_opts opts;
	struct uft_session_events ev;
	struct arena arena;
	struct uft_event_table *types;
	struct spec *spec;
	uint32_t generation;
	int is_paused;			/* uft_session_record() */
	struct space *spaces;		/* newest first */
	size_t nspaces, nspaces_needed;	/* nspaces_needed: their number after the last forget_spaces() */
	struct target *targets;
	const struct target_listener *listener;	/* nlistener of them, called in their order */
	uint32_t nlistener;
	const struct tracee_keeper *keeper;	/* of tasks that always are our tracees; NULL: there are none */
	const struct int3_ops *int3;		/* NULL: no int3 is written */
	struct exec_task *exec_tasks;
	struct watchdog *watch;			/* NULL: no watchdog */
	struct { pid_t tid; uint64_t pc; } last_fault;	/* fault.c */
	struct unprepared *plain;			/* unprepared.c: lists of functions, by object */
	struct sender *sender;			/* arm_sites.c: scratch; NULL: not needed so far */
	struct meter_scratch *meter_scratch;	/* cost.c: the same */
	struct int3_traps *traps;			/* int3.c; NULL: no int3 was ever written */
	/* setuid_exec.c: tasks detached for such an exec */
	struct executing { pid_t tid; uint64_t until_ns; } executing[16];
	struct sources *sources;		/* sources.c: events that the session itself records */
	uint32_t next_image;
	struct {			/* by slice: its last process, for children that outlive their parents */
		struct space *space;
		pid_t pid;
		pid_t unfollowed;	/* a child that has it, and was told to be no target; 0: none */
	} *last;
	/* pid_inherit.c: processes that are on lists because their ancestors are */
	struct pid_inherit { pid_t pid; uint32_t lists; uint64_t start; } *kin;
	size_t nkin, cap_kin;
	uint32_t kin_number;
	sigset_t launch_mask;

	pid_t guard_between;		/* guard.c: our child, which forks the guard and must be reaped; 0: none */
	int guard_fd, guard_sock;	/* pidfd of the guard, our end of its socket (guard.c); -1: none */
	int epoll_fd, bell_fd;
	pthread_t bell_thread;
	atomic_int bell_stop;
	int has_bell_thread;
	atomic_int is_at_bell;		/* the session's thread waits for the bell itself */
	uint64_t own_start;		/* of this process, in ticks since boot; 0: not read yet */

	uint32_t held;			/* slice of the program that waits for the end of uft_session_launch() */
	int held_result;
	struct uft_error held_error;
	struct {
		pid_t pid;		/* a child that has not reached its exec stop; 0: none */
		int report;
		char *const *argv;
		char path[PATH_MAX];
	} coming;			/* launch.c */
	pid_t launched;			/* the launched program; 0: none */
	int launched_fd;
	int launched_status;		/* -1 while the program runs */
	int is_told;			/* the listener knows that the program was released */
	int is_launched_left;		/* the session has detached from the program, which runs on */

	/* preload_offer.c: processes whose loaders may load the runtime; pid 0: none */
	struct offer { pid_t pid; uint64_t start, at; } offered[64];
	int has_hello;			/* the preloaded program is armed */
	uint64_t guest_clock0, guest_ns0, guest_hz;	/* of an emulated clock; guest_hz is set last, once */
	uint64_t clock0, mono0;		/* the two clocks at the session's start, to convert thresh_ns */
	uint32_t command_ms;		/* for an agent's answer; COMMAND_TIMEOUT_MS except in a test */
	uint64_t next_scan_ns, next_budget_ns;
	pid_t has_silent;			/* a silent process, as of next_silent_ns - SILENT_MS; 0: none */
	uint64_t next_silent_ns;
	int is_dropping;
	/* search for families without a process: time of the last one, and least distance to the next */
	uint64_t last_drop_ns, drop_pause_ns;
	struct price_purse *purse;	/* by family: time left for its requests (control/session/price.c) */
	atomic_uint idle_rings;		/* rings of the bell since a request was served */
	uint64_t next_stale_ns;			/* time of the next search for answers that were not taken */
	/* by request slot: time of an answer that was not taken yet */
	uint64_t *done_ns;
	uint64_t counters[UFT_NCOUNTERS];	/* of slices that ended */
	uint32_t targets_total, not_followed, attached;
	uint32_t ended_unarmed;		/* processes that ended after the attach and before they were armed */
	pid_t ended_pid;		/* the first of them */
	uint64_t stop_ns_max;			/* of attaches: the longest stop */
	uint64_t stop_ns, stop_ns_sum;		/* sum of the stops of the present attach; the largest of these sums */
	struct warning { char *text; uint32_t family; } *warned;	/* warn.c: warnings given, and their families */
	uint32_t nwarned, cap_warned, nunsaid;
	uint32_t subject;		/* 1 + slice of the target that the session works for; 0: none */
};
/* ---- warn.c -------------------------------------------------------------------------------- */

/* Warns the user. The subject is the target of session_begin_of(), or without one the session itself. */
void session_warn(struct uft_session *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
#define UFT_LOST_SLICE	(UFT_NO_SLICE - 1)	/* stands for processes that are no targets, or no longer */
/* Warns the user of the target that has the slice, or of UFT_LOST_SLICE. */
void session_warn_of(struct uft_session *s, uint32_t slice, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Warns of what remains in a target after the detach. Earlier warnings of the target do not use up this one's room. */
void session_warn_left(struct uft_session *s, uint32_t slice, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Makes the target that has the slice the subject of session_warn(). Returns the argument for session_end_of(). */
uint32_t session_begin_of(struct uft_session *s, uint32_t slice);
void session_end_of(struct uft_session *s, uint32_t before);
void session_forget_warnings(struct uft_session *s, uint32_t family);	/* before the family's number is used again */
void session_free_warnings(struct uft_session *s);	/* first warns of the number of warnings that were not shown */

uint64_t session_clock_units(struct uft_session *s, uint64_t ns);	/* @ns in units of the targets' clock */
uint64_t session_clock(struct uft_session *s);	/* the targets' clock, now */
int session_follows_children(const struct uft_session *s);

#endif
