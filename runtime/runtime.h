/* SPDX-License-Identifier: MIT */
/*
 * runtime.h - functions that the parts of the runtime offer to each other
 *
 * Context words (doc/design/README.md): probe, control, init. Everything returns 0 or a negative errno.
 * The state of the runtime is one struct uft_rt in the blob's data, copied by fork. The table of rings lies apart in
 * wipe-on-fork memory, so that a fork child finds no ring and announces itself first.
 */
#ifndef UFT_RUNTIME_H
#define UFT_RUNTIME_H

#include "uft/abi.h"

struct uft_rt {
	const struct uft_arena *arena;	/* init: mapped, read-only; never unmapped */
	struct uft_slice *slice;	/* this process's; changed only in a fork child before its first record */
	uint32_t slice_index;
	int64_t rseq_offset;		/* 0: exchange rings only */
	uint32_t st8_ok, no_mprotect;
	/* not wiped on fork; the pid tells that the memory was copied, also after vfork */
	uint32_t is_emulated;
	/* distance of struct ring_tls from a thread's pointer, with ARCH_HAS_RING_TLS */
	int64_t tls_offset;
	struct uft_mail *mail;		/* of this process's family; its slices lie behind it */
	uint32_t family;		/* enum rt_family: what a fork child finds at the family's address */
	uint64_t rdebug;		/* the loader's list, as in uft_boot */
};
enum rt_family {
	FAMILY_PRIVATE = 1,		/* no memory, or not for long (agent/spare.c) */
	/* no memory; and this process, a fork child, has not claimed the slice in its new family yet */
	FAMILY_HEIR,
	FAMILY_NONE,			/* private memory that stands in for the parent's family */
};
extern struct uft_rt uft_rt;

/* Slice @index of the family's file. */
static inline struct uft_slice *rt_slice(uint64_t index)
{
	const struct uft_arena *a = uft_rt.arena;

	return (struct uft_slice *)((char *)uft_rt.mail + (a->slice_offset - UFT_BOARD_BYTES) + index * a->slice_bytes);
}

/* ring, trace (probe side) ------------------------------------------------------------------ */
int trace_init(void);				/* init: thread table, ring table for uft_rt.slice */
void trace_rseq_changed(void);			/* control (agent): uft_rt.rseq_offset became known (libc is up); until
						 * then it is 0 and exchange rings are used */
void trace_set_params(const struct uft_tracer_params *p);	/* control (agent): publishes; handlers see it at
						 * their next event; also selects fast or slow graph enter */
enum graph_path {				/* the handlers that thunks lead to */
	GRAPH_SLOW,		/* through C */
	GRAPH_PLAIN,		/* everything is recorded */
	GRAPH_FUNC,		/* ENTRY and EXIT, and FUNC for calls that the function tracer wants */
	GRAPH_SUMS,		/* ENTRY and EXIT, and the profile counts the calls that it wants */
	GRAPH_DEPTH,		/* down to a depth */
	GRAPH_THRESH,		/* calls that took long, perhaps with a depth */
	GRAPH_PROFILE,		/* the profile only, perhaps with a depth */
	PROFILE_FUNC,		/* the profile, and FUNC for calls that the function tracer wants */
};
enum graph_path trace_graph_path(void);		/* by the parameters in force */
int trace_is_beside(void);			/* the same: handlers know calls of several tracers; ARCH_HAS_BESIDE */
int trace_counts(void);				/* the same: fast paths read no clock; only with ARCH_HAS_COUNTS */
int trace_graph_is_fast(void);			/* fast paths write ENTRY and EXIT */
/* Called by hook.S; regs = the six system call arguments. probe. */
/* 1: the caller makes the call, a fork, and then calls trace_hook_fork_post() */
int trace_hook_syscall_pre(uint32_t nr, uint64_t *regs);
int trace_hook_fork_pre(uint32_t nr, const uint64_t *regs);	/* the same for calls that are forks or none of ours */
void trace_hook_fork_post(int64_t result);
void trace_hook_syscall_post(uint32_t nr, int64_t result, uint64_t *regs);	/* an exec failed */
/*
 * Writes the true return addresses back onto this task's stack. @frame: its frame pointer and return address if slots
 * are names; else NULL
 */
void trace_hook_unwind(void *sp, uint64_t *frame);
void trace_hook_rbrk(void);
/*
 * Makes the calling fork child a target of its own: claims a slice, fills the ring table, starts an agent. 0, or
 * -errno: the child is not traced (counted in the parent's slice). probe.
 */
int trace_adopt_child(void);
/* in a fork child that still has its parent's memory: keeps what the session told of libc */
void trace_note_libc(void);
/* in a fork child that has just got its own memory: notes its parent */
void trace_note_heir(void);
/* init, preloaded: a spare family becomes this process's. 0 or -errno */
int trace_claim_spare(void);
/* the agent of a fork child: memory of its own for it, before anything else */
int trace_claim_own(void);
/* any thread, sent here by a detach: an agent for a process without one */
int trace_rejoin(void);
void trace_leave(void);				/* control: from now on no thread hooks a return address */
int trace_other_ns(void);			/* 1: the session's pids are another namespace's. any but probe */
/* control: writes true return addresses back, on every stack; how many */
uint32_t trace_unhook(void);
int trace_rows(uint32_t object, const struct uft_cmd_rows *c, uint32_t n);	/* control: of UFT_CMD_ROWS */
void trace_rows_gone(uint32_t object);		/* control */
void trace_count(enum uft_counter c, uint64_t n);	/* any context */

/* patch (control: the agent, or init) ------------------------------------------------------- */
int patch_init(void);				/* membarrier registration */
int patch_object(struct uft_cmd_object *o);	/* thunks and stubs within reach; idempotent, grows */
/*
 * Brings n sites of an object to the wanted states in batches; writes each status. @flags: enum uft_cmd_flags. Returns
 * sites changed.
 */
long patch_change(uint32_t object, struct uft_patch *p, uint32_t n, unsigned flags, uint64_t *done);
/*
 * Changes those of @n sites that have a bit to the state of an order (UFT_SITES_KNOWN; UFT_SITES_FIRST: its places lie
 * behind the words). Bits that remain are of sites that have to be sent to patch_change(); no refusal was counted for
 * them. Returns sites changed, or -ENOENT, -EINVAL.
 */
long patch_bits(uint32_t object, const struct uft_site_order *order, uint64_t *word, uint32_t n, unsigned flags);
/*
 * Writes code out of line for sites of UFT_SITE_CODE, by address; writes each status. Sending the same again does no
 * harm.
 */
int patch_code(uint32_t object, struct uft_code *c, uint32_t n, uint64_t *done);
int patch_hooks(struct uft_hook *h, uint32_t n);
/*
 * Switches calls of tracepoints, by address; writes each status. The list of an object, or of a part of it, has the
 * same first address each time.
 */
int patch_calls(uint32_t object, struct uft_call_switch *c, uint32_t n);
void patch_calls_gone(uint32_t object);		/* the object was unmapped */
/* what tracepoints write: their events; writes each status */
int trace_events(uint32_t object, struct uft_event_switch *e, uint32_t n);
void trace_events_gone(uint32_t object);	/* the object was unmapped: nothing is written there */
/* n struct uft_event_rules in @bytes; returns how many were refused */
int trace_rules(void *rules, uint32_t n, size_t bytes);
void trace_events_off(void);		/* of all events: no thread writes any more */
/*
 * Every site as found, every hook as found, or both; stubs and trampolines stay. Return how many could not be changed
 * while threads run. Return addresses are restored between the two (trace_unhook()), because an unwinder finds no
 * others once its hooks are gone.
 */
uint32_t patch_disarm_sites(void);
uint32_t patch_disarm_hooks(void);
uint32_t patch_disarm(void);
/* how many of the sites that patch_disarm() left can never be changed */
uint32_t patch_stuck(void);
int patch_is_needed(uint64_t at, uint64_t bytes);	/* 1: a site or hook leads to this mapping of ours */
/* 1: the session has stopped all tasks, and none rests inside a site that it changes */
void patch_vouch(int is_held);
void patch_object_gone(uint32_t object);
/* the same, but its text is there still, and so are its hooks */
void patch_object_anew(uint32_t object);
void patch_describe(struct uft_debug *d);	/* init: its part for debuggers */
uint64_t frames_tables(void);			/* address of the runtime's own .eh_frame_hdr */
void patch_retarget(void);			/* thunks follow trace_graph_path(), and rseq being known */
void patch_after_fork(void);			/* probe, in the child: finish or revert the batch in flight */

/* agent ------------------------------------------------------------------------------------- */
int agent_start(void);				/* init or fork child: clones the agent task, waits until it is ready */
/* the same in a fork child, whose agent calls trace_claim_own() first */
int agent_start_child(void);
void agent_note_slice(void);			/* uft_rt.slice_index is known */
/*
 * A spare family is mapped, at @at (0: anywhere), in place of what is there, its first slice LIVE. Its
 * number; -EAGAIN: all are taken, -errno. Context: init, or the agent of a fork child.
 */
int boot_take_spare(uint64_t at);
/* the same of who detaches, by a socket (uft_boot.fd), where no file may be opened */
int boot_ask_family(uint64_t at);
/*
 * Around a fork, by the forking thread (agent/spare.c). 1: spare_fork_end() must follow, with what the call
 * returned, in both processes. Context: probe.
 */
int spare_fork_begin(void);
void spare_fork_end(int64_t result);
/* In a fork child, before anything of the family is read: its parent's is not there any more. Context: probe. */
void spare_leave_family(void);
uint64_t spare_place(void);			/* where a fork child shall map its own; 0 anywhere */
int spare_is_void(void);			/* a fork child that is not followed: it was counted at the fork */
/* a first spare family, for a process without a traced parent. Context: the agent */
void spare_begin(void);
void spare_stock(void);				/* the agent: spares for the forks to come */
/* plat_ours_fn, of spares. */
int spare_next(uintptr_t at, uintptr_t *lo, uintptr_t *hi);
/* The same as boot_take_spare(0), for a child to come: its number and where it is, HELD. Context: the agent. */
int boot_hold_spare(uint64_t *at);
void boot_keep_private(uint64_t at);		/* the family that was just mapped there */
/*
 * control: does the command that waits, if there is one (1). Where no agent is started: arena.session_pid, and
 * so on, are what the holder says
 */
int agent_poll(void);
int agent_start_thread(void);			/* the same as a thread of the process, here and in its fork children */
/* A request to the session (abi.h); any thread. 0, -ETIMEDOUT, or the session's result. probe. */
int agent_request(uint32_t kind, const uint64_t *args, uint32_t nargs, int wait);

#endif
