/* SPDX-License-Identifier: MIT */
/* target.h - one traced process: its state, the channel to its agent. Context: control, the session's thread. */
#ifndef UFT_CONTROL_TARGET_H
#define UFT_CONTROL_TARGET_H

#include "control/arena/channel.h"
#include "control/plan/plan.h"
#include "control/state/state.h"

struct uft_hello;
struct remote;
struct cost_meter;
struct stopped_batch;

/* ---- target.c: a process with the runtime in it --------------------------------------------- */

struct target_obj {
	uint16_t *state;		/* by stub index, what was last sent; WANT_NOT: never touched */
	uint32_t nstate;
	uint64_t code_base;		/* as the runtime says: where code for plain functions goes */
	uint8_t *named;			/* by stub index: perf_map.c wrote it */
	uint32_t nnamed;
	uint8_t is_mapped, is_sent, is_hooked;
	uint8_t has_events_on;		/* some of its tracepoints are, or may be, on */
	uint8_t has_rules;		/* and some have rules */
	uint32_t events_sent;		/* tracepoints.c: generation of the spec that was sent for them */
	uint8_t has_rows;		/* the target has the unwind rows of the object */
	uint8_t is_fresh;		/* no task has run in it, nor can before the session answers */
	/* of a fork child: a relative has it mapped; the loader's list will confirm that */
	uint8_t is_assumed;
};

struct task_name {
	pid_t tid;
	char comm[16];
};

#define TARGET_SPARES	2	/* most families sent that its agent has not taken */
struct target {
	struct target *next;
	uint32_t slice;
	/* pid 0: the process had ended before the session looked; then only the slice tells its number */
	pid_t pid, ppid;
	/* start time by proc_start_ticks(); of a process that ended at once: uft's own */
	uint64_t start;
	/* its number in its own pid namespace */
	pid_t own_pid;
	int pidfd, agent_fd;
	/* spares.c: socket of the agent; 0: not looked for yet, -1: none; sent[]: 1 + numbers of the families sent */
	int spare_sock;
	uint32_t sent[TARGET_SPARES];
	/* when the agent was found to have ended before its process; 0: not so, or the user was warned */
	uint64_t agentless_ns;
	struct space *space;
	struct target_obj *obj;
	uint32_t nobj;
	uint32_t spec_sent;
	int has_thread_agent;		/* the agent is a thread of the process: no descriptor of its own */
	int is_held_back;		/* objects are added but not armed yet (attach.c) */
	int is_stuck;			/* the agent does not answer: no more commands */
	uint32_t stuck_seq;		/* number of the command that it did not answer */
	int is_over;			/* the process ended or replaced its image */
	int is_watched;			/* watchdog.c traces all of its tasks */
	uint64_t next_watch_ns;		/* time of the next try, if not */
	int waits_for_traps;		/* int3.c: some functions are armed once the watchdog has all tasks */
	int looked_at_sigtrap;		/* 1: int3s may be written; -1: the program uses SIGTRAP itself */
	int is_put_back;		/* target_restore_code() was called: never armed again */
	int has_agent;
	int has_params_ahead;		/* arm_params.c: posted, and not waited for */
	uint64_t armed;
	struct remote *remote;		/* stopped by ptrace, see exec_inject.c */
	/* 1 + the request by which a thread waits in r_brk for the session's answer; 0: none */
	uint32_t waiting;
	struct task_name *task;
	uint32_t ntask, task_alloc;
	int jit_fd;			/* jit_names.c; 0 or less: none */
	uint64_t jit_lines;		/* read from it so far */
	int is_map_begun, is_map_left;	/* perf_map.c */
	struct cost_meter *meter;		/* cost.c; NULL: not measured so far */
	/* arm_stopped.c: changes gathered for the next stop; NULL: none is open */
	struct stopped_batch *hold;
	int is_unasked;			/* warned that scheduling policies or CPU times are not read (arm_params.c) */
	/* warned that a seccomp filter may end it for the call that reads stacks (arm_params.c) */
	int is_unsafe_said;
};
/*
 * Functions of upper folders that are called at points of a target's life; the session has a list of these. NULL:
 * none.
 */
struct target_listener {
	/* the target has its slice, and may write to it */
	void (*announced)(struct uft_session *s, struct target *t);
	/* before the target leaves the session's list; its slice is still valid */
	void (*ends)(struct uft_session *s, struct target *t);
	void (*freed)(struct target *t);
};
struct target *target_create(struct uft_session *s, uint32_t slice, pid_t pid, pid_t ppid, struct space *space);
/*
 * The same in two steps: target_reserve() does all that can fail, before a process is changed. NULL: no memory or
 * pidfd, and errno tells which.
 */
struct target *target_reserve(struct uft_session *s, pid_t pid, struct space *space);
void target_add(struct uft_session *s, struct target *t, uint32_t slice, pid_t ppid);
void target_drop(const struct uft_session *s, struct target *t);	/* in place of target_add(); NULL is nothing */
struct target *target_by_slice(struct uft_session *s, uint32_t slice);
struct target *target_by_pid(struct uft_session *s, pid_t pid);
/* The slice of the task's process; UFT_LOST_SLICE: it is no target. */
uint32_t target_slice_of(struct uft_session *s, pid_t tid);
void target_announce(struct uft_session *s, struct target *t);
void target_open_agent(struct uft_session *s, struct target *t);
/* the target owns @pidfd from now on */
void target_take_agent(struct uft_session *s, struct target *t, int pidfd);
pid_t target_agent_pid(const struct target *t);	/* the agent's number in our pid namespace; 0: there is no agent */
/* The process has ended, or runs another image: waits for its agent, adds up its counters, frees the slice. */
void target_end(struct uft_session *s, struct target *t);
/* of its slice; enum uft_counter */
uint64_t target_counter(const struct uft_session *s, const struct target *t, int counter);
/* For a target that could not be detached: the slice stays valid. */
void target_keep(struct uft_session *s, struct target *t);
/* spares.c: the Unix socket @its_fd that the task of the pidfd @agent_fd has made: a descriptor, or -errno */
int target_take_socket(int agent_fd, int its_fd);
void target_close_socket(int sock);	/* does not wait, whatever the target has sent to the socket */
/* a message of @bytes with descriptors; 0 or -errno, it does not wait. */
int target_send_fds(int sock, const int *fd, size_t n, const void *data, size_t bytes);
void spares_send(struct uft_session *s);	/* to the agents that ask for families */
int spares_has_sent(const struct uft_session *s, uint32_t family);	/* 1: sent, and not taken so far */
/* 1: the process of the pidfd has ended, or there is no pidfd (-1) */
int target_fd_ready(int fd, unsigned timeout_ms);
int target_is_running(const struct target *t);	/* 0: the process has ended */
int target_agent_ended(const struct target *t);
int target_takes_commands(const struct target *t);	/* 0: nothing may be written to its command area */
void target_scan_tasks(struct uft_session *s, struct target *t);
int target_grow(struct target *t, uint32_t nobj);
/* int3.c: entries that only an int3 fits. */
struct int3_ops {
	int (*may_arm)(struct uft_session *s, struct target *t);
	/*
	 * Before an int3 can be written at the site of @c, which is copied; its code stands at @at, says the
	 * target of @slice. 0 or -errno.
	 */
	int (*note)(struct uft_session *s, uint32_t slice, const struct uft_code *c, uint64_t at);
	/* A target has unmapped this range. */
	void (*gone)(struct uft_session *s, uint64_t from, uint64_t to);
};

/* ---- pid_inherit.c: the pid lists of processes that listed ones made --------------------------------- */

/* A process has begun, or has executed a program; @from: its parent, or the nearest known ancestor. */
void pid_inherit_fork(struct uft_session *s, pid_t pid, pid_t from);
/* @sp replaces @old (or NULL) */
void pid_inherit_begin(const struct spec *old, struct spec *sp);
/* enum uft_pid_lists that the process is on because its ancestors are */
uint32_t pid_inherit_lists(const struct uft_session *s, pid_t pid);

/* ---- command.c, unresponsive.c, site_state.c: commands to the agent ------------------------------------ */

#define COMMAND_TIMEOUT_MS	5000
/* starts the command in the command area; 0 or -ESRCH */
int command_post(struct uft_session *s, struct target *t);
/*
 * Waits for the answer to that: its result; -ESRCH: the agent has ended; -ETIMEDOUT: the target is stuck from now
 * on.
 */
int command_wait(struct uft_session *s, struct target *t);
int command_send(struct uft_session *s, struct target *t);	/* both */
/* 1: a stuck agent has still not answered */
int command_is_unanswered(struct uft_session *s, const struct target *t);
/* unresponsive.c */
void unresponsive_begin(struct uft_session *s, struct target *t);	/* the agent did not answer the last command */
/* 1: it has answered by now; target_arm() with force comes next */
int unresponsive_ends(struct uft_session *s, struct target *t);
/*
 * Makes memory for a command's payload of @bytes. Returns how many of them may be written, at least CMD_ROOM: where the
 * file system is full, longer lists are sent in parts. A page without memory would kill the target that reads it.
 */
size_t command_room(struct uft_session *s, const struct target *t, size_t bytes);
struct uft_cmd uft_shared *command_begin(struct uft_session *s, struct target *t, uint32_t op, uint32_t n,
					 uint32_t object);
int command_run_on(struct uft_session *s, struct target *t, uint32_t op, uint32_t object);
int command_run(struct uft_session *s, struct target *t, uint32_t op);
/*
 * Restores all sites, hooks and return addresses for good, while the process runs. Returns the number of places that
 * cannot change now, or -errno: there is no agent.
 */
int target_restore_code(struct uft_session *s, struct target *t);
/*
 * seccomp_risk.c: may the process have or make a seccomp filter? @why: what points to it, NULL if nothing is
 * known.
 */
int seccomp_risk_is_possible(const struct target *t, const char **why);
/* The state that a site has to be brought to, by the wanted one and the one it has. WANT_NOT: none. */
static inline uint16_t site_next_state(uint16_t want, uint16_t now, int force)
{
	if (want == WANT_NOT) {
		if (now == WANT_NOT)
			return WANT_NOT;	/* never touched: its page stays clean */
		want = UFT_IDLE;
	}
	return want == now && !force ? WANT_NOT : want;
}
/* Notes the state that a site has now. */
void site_note_state(struct target *t, uint32_t object, uint32_t index, uint16_t state);
/* The same for @n sites in a row whose state was not known. */
void site_note_states(struct target *t, uint32_t object, uint32_t index, uint32_t n, uint16_t state);
/* Notes the states of the sites index[] by the agent's answer, of which only the statuses are used. */
void site_note_patched(struct target *t, uint32_t object, const struct uft_patch *told, const uint32_t *index,
		       uint32_t n,
			  const struct uft_patch *answer);

/* ---- rseq_area.c ----------------------------------------------------------------------------------- */

/*
 * Reads from the process where libc's rseq area is, and writes that into the boot block, which the agent reads
 * with the next command. 1: it is new; 0: known, or there is none; -errno.
 */
int rseq_area_note(struct target *t);

/* ---- Tasks that are traced by ptrace for a moment: start/exec_trace.c ---------------------------------- */

enum exec_task_kind {
	PTASK_EXEC,			/* seized before its exec */
	PTASK_RSEQ,			/* stops at its system calls until libc has written __rseq_offset */
};

struct exec_task {
	struct exec_task *next;
	enum exec_task_kind kind;
	pid_t tid, tgid;
	pid_t from;			/* EXEC: the process itself, or the last target that it was forked from */
	int has_limit;			/* EXEC: RLIMIT_AS, as the program set it, */
	struct uft_limits limit;
	uint32_t slice;			/* RSEQ: of the target */
	uint32_t ncalls;		/* RSEQ: stops so far */
};

/* ---- target_lookup.c, target.c --------------------------------------------------------------------- */

/* Switches recording in a slice on or off, as the session is. For each slice that was just claimed. */
void session_set_slice(struct uft_session *s, uint32_t index);

/* The process with the number @own in its namespace that is no target yet and has slice @slice; 0: none. */
pid_t target_find_process(struct uft_session *s, uint32_t slice, pid_t own);
int process_maps_arena(const struct uft_session *s, pid_t pid);	/* has the process mapped the session's arena? */

#endif
