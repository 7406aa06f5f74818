/* SPDX-License-Identifier: MIT */
/*
 * state.h - what all upper folders share of a session; the theory is at the top of session/session.c.
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
	size_t nspaces, nspaces_needed;	/* and at the last look of forget_spaces() */
	struct target *targets;
	const struct target_listener *listener;	/* nlistener of them, asked in their order */
	uint32_t nlistener;
	const struct tracee_keeper *keeper;	/* of tasks that are our tracees all the time; NULL: there are none */
	const struct int3_ops *int3;		/* NULL: no int3 is written */
	struct exec_task *exec_tasks;
	struct watchdog *watch;			/* NULL: no watchdog */
	struct { pid_t tid; uint64_t pc; } last_fault;	/* fault.c */
	struct unprepared *plain;			/* unprepared.c: what was listed so far, by object */
	struct sender *sender;			/* arm_sites.c: scratch; NULL: not needed so far */
	struct meter_scratch *meter_scratch;	/* cost.c: the same */
	struct int3_traps *traps;			/* int3.c; NULL: there were none */
	/* setuid_exec.c: tasks detached for such an exec */
	struct executing { pid_t tid; uint64_t until_ns; } executing[16];
	struct sources *sources;		/* sources.c: what the session itself records */
	uint32_t next_image;
	struct {			/* by slice: the last process in it, for children that outlive their parents */
		struct space *space;
		pid_t pid;
	} *last;
	/* pid_inherit.c: of processes that are on lists because their parents are */
	struct pid_inherit { pid_t pid; uint32_t lists; uint64_t start; } *kin;
	size_t nkin, cap_kin;
	uint32_t kin_number;
	sigset_t launch_mask;

	pid_t guard_between;		/* guard.c: our child, to be waited for; 0 none */
	int guard_fd, guard_sock;	/* pidfd of the guard, our end of its socket (guard.c); -1 none */
	int epoll_fd, bell_fd;
	pthread_t bell_thread;
	atomic_int bell_stop;
	int has_bell_thread;
	atomic_int is_at_bell;		/* the session's thread waits for the bell itself */
	uint64_t own_start;		/* of this process, in ticks since boot; 0: not asked for */

	uint32_t held;			/* slice of the program that waits for the end of uft_session_launch() */
	int held_result;
	struct uft_error held_error;
	struct {
		pid_t pid;		/* 0: none is on its way to its exec stop */
		int report;
		char *const *argv;
		char path[PATH_MAX];
	} coming;			/* launch.c */
	pid_t launched;			/* 0 none */
	int launched_fd;
	int launched_status;		/* -1 while it runs */
	int is_told;			/* the listener was told that it was released */
	int is_launched_left;		/* it was detached and goes on */

	/* preload_offer.c: processes whose loaders bring the runtime; pid 0: none */
	struct offer { pid_t pid; uint64_t start, at; } offered[64];
	int has_hello;			/* the preloaded program is armed */
	uint64_t guest_clock0, guest_ns0, guest_hz;	/* of an emulated clock; hz is set last, once */
	uint64_t clock0, mono0;		/* pair for the conversion of thresh_ns */
	uint32_t command_ms;		/* an agent has to answer in; COMMAND_TIMEOUT_MS but in a test */
	uint64_t next_scan_ns, next_budget_ns;
	pid_t has_silent;			/* one of them; as of next_silent_ns - SILENT_MS */
	uint64_t next_silent_ns;
	int is_dropping;
	/* families that no process has are looked for: when, and how long not again */
	uint64_t last_drop_ns, drop_pause_ns;
	struct price_purse *purse;	/* of each family: what its requests may cost (control/session/price.c) */
	atomic_uint idle_rings;		/* of the bell, since a request was served */
	uint64_t next_stale_ns;			/* time of the next search for answers that were not taken */
	/* by request slot: time of an answer that was not taken yet */
	uint64_t *done_ns;
	uint64_t counters[UFT_NCOUNTERS];	/* of slices that ended */
	uint32_t targets_total, not_followed, attached;
	uint32_t ended_unarmed;		/* attached to, and ended before they were armed; */
	pid_t ended_pid;		/* the first */
	uint64_t stop_ns_max;			/* of attaches: the longest stop */
	uint64_t stop_ns, stop_ns_sum;		/* all stops of the one under way; the largest of these */
	struct warning { char *text; uint32_t family; } *warned;	/* warn.c: what was said, and of which family */
	uint32_t nwarned, cap_warned, nunsaid;
	uint32_t subject;		/* 1 + slice of the target that the session works for; 0 none */
};
/* ---- warn.c -------------------------------------------------------------------------------- */

/* Of the session itself, or of the target that it works for just now (session_begin_of()). */
void session_warn(struct uft_session *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
#define UFT_LOST_SLICE	(UFT_NO_SLICE - 1)	/* of a process that is no target, or none any more */
/* Of the target that has the slice, or of UFT_LOST_SLICE. */
void session_warn_of(struct uft_session *s, uint32_t slice, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* What remains in it when it is left: heard whatever else was said of it. */
void session_warn_left(struct uft_session *s, uint32_t slice, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* The session works for the target that has the slice, whose warnings follow. Returns what session_end_of() takes. */
uint32_t session_begin_of(struct uft_session *s, uint32_t slice);
void session_end_of(struct uft_session *s, uint32_t before);
void session_forget_warnings(struct uft_session *s, uint32_t family);	/* its number will be another's */
void session_free_warnings(struct uft_session *s);	/* says how many were not said */

uint64_t session_clock_units(struct uft_session *s, uint64_t ns);
uint64_t session_clock(struct uft_session *s);	/* that of the programs, now */
int session_follows_children(const struct uft_session *s);

#endif
