/* SPDX-License-Identifier: MIT */
/* arm.h - bringing what a target has to what the session wants. Context: control, the session's thread. */
#ifndef UFT_CONTROL_ARM_H
#define UFT_CONTROL_ARM_H

#include "control/target/target.h"

/* ---- libraries.c ----------------------------------------------------------------------------------- */

/*
 * Compares the loader's list with the target's objects: adds and arms new ones, forgets those that were unmapped.
 * @rdebug: where the list is, 0 if only the program tells. 1: objects came or went; 0: none did; -EAGAIN: the
 * loader is changing its list; -errno.
 */
int space_walk(struct uft_session *s, struct target *t, uint64_t rdebug);

/* ---- jit_names.c: names of code that a process makes ------------------------------------------- */

/* Opens the process's list of names once the process has made one */
void jitmap_look(struct uft_session *s, struct target *t);
/* Copies the names into the image, when tracing ends */
void jitmap_read(struct uft_session *s, struct target *t);

/* ---- perf_map.c: names of our code, for perf --------------------------------------------------- */

/* Appends the names of code that was made since the last call */
void perfmap_write(struct uft_session *s, struct target *t);

/* ---- Wanted states of a site as an index to count by (all but WANT_NOT) ----------------------------- */

#define SITE_NWANTS	(4u * UFT_NACTIONS)
static inline unsigned site_want_index(uint16_t want)
{
	return WANT_ACTION(want) * 4u + WANT_STATE(want);
}

static inline uint16_t site_want_at(unsigned index)
{
	return WANT_OF(index % 4u, index / 4u);
}

/* ---- arm_params.c, arm_object.c, arm_sites.c, arm.c ------------------------------------------------- */

/*
 * The functions below send commands to the target's agent. 0; -ESRCH: the agent or the process has ended, or the
 * agent is stuck; -ETIMEDOUT: the agent did not answer this command.
 */
int command_params(struct uft_session *s, struct target *t);	/* the tracer's parameters */
/*
 * Stacks are read by a system call that no program needs. They were asked for by name, so this is said of a target that
 * will read some, once, and not refused. Sends nothing.
 */
void stacks_warn(struct uft_session *s, struct target *t);
/* Hooks of an object, once; each refusal is warned of */
int command_hooks(struct uft_session *s, struct target *t, uint32_t object);
/* tracepoints.c: switches the object's tracepoints as the specification says. 0, -ESRCH, -ETIMEDOUT, -ENOMEM */
int command_tracepoints(struct uft_session *s, struct target *t, uint32_t object);
int command_gone(struct uft_session *s, struct target *t, uint32_t object);	/* the object was unmapped */
int command_object(struct uft_session *s, struct target *t, uint32_t object);	/* announces an object, once */
/*
 * At a start: the agent makes memory for the sites of the program, while the session still looks for them.
 * command_wait() comes before the next command.
 */
void command_foretell(struct uft_session *s, uint32_t slice, const struct space *sp,
		      const struct uft_object *obj, uint64_t bias);
void command_note_hooked(struct uft_session *s, struct target *t, uint32_t object, const struct uft_hook *h,
			 uint32_t n);
/* arm_bits.c: what an order for @nsite sites in this form takes of the command area. */
size_t bits_bytes(enum uft_site_form form, size_t nsite);
/* The enum uft_cmd_flags that sites are sent with now. */
uint32_t command_patch_flags(const struct uft_session *s, const struct target *t, uint32_t object);
/* Brings every site of the object to the state that is wanted. @force: also sites that are noted to be in it. */
int command_patch(struct uft_session *s, struct target *t, uint32_t object, int force);
/* Parameters, hooks, unwind rows and sites of all objects */
int target_arm(struct uft_session *s, struct target *t, int force);
void unresponsive_poll(struct uft_session *s);		/* arms targets whose agents answer again */

/* ---- arm_rows.c ------------------------------------------------------------------------------------- */

/* Fills p->stack_ids: the ids of functions whose calls are followed by a stack, as this target writes them. */
void stacks_put_ids(struct uft_session *s, struct target *t, struct uft_tracer_params *p);
/*
 * Sends an object's unwind rows if stacks are wanted and the target does not have them. 0, -ESRCH, -ETIMEDOUT.
 * Another error is warned of, and stacks end in that object.
 */
int stacks_send(struct uft_session *s, struct target *t, uint32_t object);

/* ---- arm_params.c: libc's rseq area ------------------------------------------------------------------ */

/* Calls rseq_area_note(), and if that found the area sends a command, at which the agent looks. */
int rseq_area_send(struct uft_session *s, struct target *t);

/* ---- thread_makers.c --------------------------------------------------------------------------------- */

/*
 * Tells a preloaded target where libc keeps a thread's number, unless its objects import functions that make tasks
 * without one.
 */
void preload_note_makers(struct uft_session *s, struct target *t);

#endif
