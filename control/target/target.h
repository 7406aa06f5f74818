/* SPDX-License-Identifier: MIT */
/* target.h - one traced process: its state, the channel to its agent. Context: control, the session's thread. */
#ifndef UFT_CONTROL_TARGET_H
#define UFT_CONTROL_TARGET_H

#include "control/arena/channel.h"
#include "control/plan/plan.h"
#include "control/state/state.h"

struct uft_hello;
struct remote;
struct meter;
struct hold;

/* ---- target.c: a process with the runtime in it --------------------------------------------- */

struct target_obj {
	uint8_t *state;			/* by stub index, what was last sent; WANT_NOT: never touched */
	uint32_t nstate;
	uint64_t code_base;		/* as the runtime says: where code for plain functions goes */
	uint8_t *named;			/* by stub index: perf_map.c wrote it */
	uint32_t nnamed;
	uint8_t is_mapped, is_sent, is_hooked;
	uint8_t has_rows;		/* it knows how to walk stacks through it */
	uint8_t is_fresh;		/* nobody has run in it, nor can until we answer */
	uint8_t is_assumed;		/* fork child: a relative has it; to be confirmed by the loader's list */
};

struct task_name {
	pid_t tid;
	char comm[16];
};

struct target {
	struct target *next;
	uint32_t slice;
	pid_t pid, ppid;
	uint64_t start;			/* when it began, as peek_start() tells it; of what ended at once: when uft did */
	pid_t own_pid;			/* as the process itself knows it: another one in a pid namespace of its own */
	int pidfd, agent_fd;
	uint64_t agentless_ns;		/* when its agent was seen to have ended, and the process was not; 0 else, or warned of */
	struct space *space;
	struct target_obj *obj;
	uint32_t nobj;
	uint32_t spec_sent;
	int is_preloaded;		/* its agent is a thread of it: no ptrace, and nothing is ever unmapped (preload.c) */
	int is_held_back;		/* objects are only made known, not armed yet (attach.c) */
	int is_stuck;			/* the agent does not answer: no more commands */
	uint32_t stuck_seq;		/* the number of the one that it did not answer */
	int is_over;			/* the process ended or replaced its image */
	int is_watched;			/* watchdog.c has all of its tasks */
	uint64_t next_watch_ns;		/* when it is tried again, if not */
	int waits_for_traps;		/* int3.c: functions are to be armed when it has */
	int looked_at_sigtrap;		/* 1: int3s may be written; -1: SIGTRAP is its own */
	int has_faulted;		/* fault.c put everything back */
	int has_agent;
	uint64_t armed;
	struct remote *remote;		/* stopped by ptrace, see exec_inject.c */
	uint32_t waiting;		/* request + 1 by which a thread of it stands in r_brk until it is answered; 0 none */
	struct task_name *task;
	uint32_t ntask, task_alloc;
	int jit_fd;			/* jit_names.c; 0 or less: none */
	uint64_t jit_lines;		/* read from it so far */
	int is_map_begun, is_map_left;	/* perf_map.c */
	struct meter *meter;		/* cost.c; NULL: not looked at so far */
	struct hold *hold;		/* arm_stopped.c: what is gathered for one; NULL: none is open */
	int is_unasked;			/* seccomp_risk.c: said that its policies are not known */
	int is_unsafe_said;		/* seccomp_risk.c: said that stacks may cost its life */
};
/* What upper folders do at the turns of a target's life; the session has a list of them. NULL: nothing. */
struct target_listener {
	void (*announced)(struct uft_session *s, struct target *t);	/* its events may be recorded from now on */
	void (*ends)(struct uft_session *s, struct target *t);		/* it is about to be taken from the list: its slice is there still */
	void (*freed)(struct target *t);
};
struct target *target_create(struct uft_session *s, uint32_t slice, pid_t pid, pid_t ppid, struct space *space);
struct target *target_by_slice(struct uft_session *s, uint32_t slice);
struct target *target_by_pid(struct uft_session *s, pid_t pid);
void target_announce(struct uft_session *s, struct target *t);
void target_open_agent(struct uft_session *s, struct target *t);
void target_take_agent(struct uft_session *s, struct target *t, int pidfd);	/* by its pidfd, ours from now on */
pid_t target_agent_pid(const struct target *t);	/* its number here, whatever its namespace; 0: it has none */
/* The process is gone, or runs another image: waits for its agent, sums up, frees the slice. */
void target_end(struct uft_session *s, struct target *t);
void target_keep(struct uft_session *s, struct target *t);	/* the session ends, and it could not be left: its slice stays as it is */
int target_fd_ready(int fd, int timeout_ms);	/* the process of a pidfd has ended; -1: it has */
int target_is_running(const struct target *t);	/* 0: the process is over */
int target_agent_ended(const struct target *t);
void target_scan_tasks(struct uft_session *s, struct target *t);
int target_grow(struct target *t, uint32_t nobj);
/* int3.c: entries that only an int3 fits. */
struct int3_ops {
	int (*may_arm)(struct uft_session *s, struct target *t);
	/* Before an int3 can be written at @site, whose function has its code at @code and begins with @orig. 0 or -errno. */
	int (*note)(struct uft_session *s, uint64_t site, uint64_t code, uint8_t orig);
};

/* ---- pid_inherit.c: the pid lists of processes that listed ones made --------------------------------- */

/* A process, or what it executes, is there; @from: its parent, or the last that is known of those that it is of. */
void kin_note(struct uft_session *s, pid_t pid, pid_t from);
void kin_begin(const struct spec *old, struct spec *sp);	/* @sp is in force from now on, behind @old or NULL */
uint32_t kin_lists(const struct uft_session *s, pid_t pid);	/* enum uft_pid_lists, beside those that name it */

/* ---- command.c, unresponsive.c, site_state.c: commands to the agent ------------------------------------ */

#define COMMAND_TIMEOUT_MS	10000
int command_post(struct uft_session *s, struct target *t);	/* the command stands in the area: start it */
int command_wait(struct uft_session *s, struct target *t);	/* its result */
int command_is_stuck(const struct uft_session *s, const struct target *t);	/* did not answer, and does not do it now */
/* unresponsive.c */
void stuck_begin(struct uft_session *s, struct target *t);	/* it did not answer what was just sent */
int stuck_ends(struct uft_session *s, struct target *t);	/* 1: it did by now; to be armed with force */
struct uft_cmd *command_begin(struct uft_session *s, struct target *t, uint32_t op, uint32_t n, uint32_t object);
int command_run_on(struct uft_session *s, struct target *t, uint32_t op, uint32_t object);
int command_run(struct uft_session *s, struct target *t, uint32_t op);
/* seccomp_risk.c. @why: what was found, NULL if nothing is known. */
int sandbox_is_possible(const struct target *t, const char **why);
/* What a site has to become: what is wanted and its state now tell. WANT_NOT: nothing to do. */
static inline uint8_t command_next_state(uint8_t want, uint8_t now, int force)
{
	if (want == WANT_NOT) {
		if (now == WANT_NOT)
			return WANT_NOT;	/* never touched: its page stays clean */
		want = UFT_IDLE;
	}
	return want == now && !force ? WANT_NOT : want;
}
uint8_t command_stub_flags(uint8_t state);	/* enum uft_site_flags for a state with WANT_ROOT */
/* What a site of the target is now. */
void command_note_state(struct target *t, uint32_t object, uint32_t index, uint8_t state);
/* The same for @n in a row that it was not told of. */
void command_note_states(struct target *t, uint32_t object, uint32_t index, uint32_t n, uint8_t state);
/* arm_stopped.c: what became of those that had to wait. Only statuses are taken from what an agent answered. */
void command_note_patched(struct target *t, uint32_t object, const struct uft_patch *told, const uint32_t *index, uint32_t n,
			  const struct uft_patch *answer);

/* ---- rseq_area.c ----------------------------------------------------------------------------------- */

/* Tells the runtime where libc's rseq area is, read from the process; it knows with the next command. 1: new. */
int inject_note_rseq(struct target *t);

/* ---- Tasks that are traced by ptrace for a moment: start/exec_trace.c ---------------------------------- */

enum ptask_kind {
	PTASK_EXEC,			/* seized before its exec */
	PTASK_RSEQ,			/* stops at its system calls until libc has written __rseq_offset */
};

struct ptask {
	struct ptask *next;
	enum ptask_kind kind;
	pid_t tid, tgid;
	pid_t from;			/* EXEC: the process itself, or the last target that it was forked from */
	uint32_t slice;			/* RSEQ: of the target */
	uint32_t ncalls;		/* RSEQ: stops so far */
};

/* ---- target_lookup.c, target.c --------------------------------------------------------------------- */

/* For whoever has just claimed it: an agent that left switched its slice off. */
void session_set_slice(struct uft_session *s, uint32_t index);

/* The process that calls itself @own, is no target yet, and to whose runtime slice @slice belongs; 0 none. */
pid_t peek_process(struct uft_session *s, uint32_t slice, pid_t own);
int peek_has_arena(const struct uft_session *s, pid_t pid);	/* is our arena mapped there? */

#endif
