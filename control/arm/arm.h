/* SPDX-License-Identifier: MIT */
/* arm.h - bring a target's code to what the session wants. Context: control, the session's thread. */
#ifndef UFT_CONTROL_ARM_H
#define UFT_CONTROL_ARM_H

#include "control/target/target.h"

/* ---- libraries.c ----------------------------------------------------------------------------------- */

/*
 * Compares the loader's list with the target's objects: adds and arms new ones, forgets those that were unmapped.
 * @rdebug: address of the list; 0: it is looked up in the program. Returns 1 if objects were mapped or unmapped, 0 if
 * none was; -EAGAIN: the loader is changing its list; another -errno.
 */
int space_walk(struct uft_session *s, struct target *t, uint64_t rdebug);

/* ---- jit_names.c: names of generated code ------------------------------------------------------- */

/* Opens the process's list of names once the process has made one */
void jitmap_look(struct uft_session *s, struct target *t);
/* Copies the names into the image, when tracing ends */
void jitmap_read(struct uft_session *s, struct target *t);

/* ---- perf_map.c: names of our code, for perf --------------------------------------------------- */

/* Appends the names of our code that is new since the last call */
void perfmap_write(struct uft_session *s, struct target *t);

/* ---- Wanted states of a site as an array index (all but WANT_NOT) ----------------------------------- */

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
/* The same before the agent starts, which begins with them: the next command_params() only waits for that. */
void command_params_ahead(struct uft_session *s, struct target *t);
/*
 * Warns once if a target will read stacks and may have a seccomp filter: the read is a system call that programs do not
 * need, so a filter may kill the process for it. The user asked for stacks, so they are not refused. Sends no command.
 */
void stacks_warn(struct uft_session *s, struct target *t);
/* Arms the hooks of an object, once, and warns of each refusal */
int command_hooks(struct uft_session *s, struct target *t, uint32_t object);
/* tracepoints.c: switches the object's tracepoints on and off, by the spec. 0, -ESRCH, -ETIMEDOUT, -ENOMEM */
int command_tracepoints(struct uft_session *s, struct target *t, uint32_t object);
int command_gone(struct uft_session *s, struct target *t, uint32_t object);	/* the object was unmapped */
int command_object(struct uft_session *s, struct target *t, uint32_t object);	/* announces an object, once */
/*
 * Lets the agent of a starting program make memory for its sites, while the session still looks for them. The caller
 * calls command_wait() before the next command.
 */
void command_foretell(struct uft_session *s, uint32_t slice, const struct space *sp,
		      const struct uft_object *obj, uint64_t bias);
void command_note_hooked(struct uft_session *s, struct target *t, uint32_t object, const struct uft_hook *h,
			 uint32_t n);
/* arm_bits.c: bytes of the command area for an order for @nsite sites in this form. */
size_t bits_bytes(enum uft_site_form form, size_t nsite);
/* Returns the enum uft_cmd_flags for sites that are sent now. */
uint32_t command_patch_flags(const struct uft_session *s, const struct target *t, uint32_t object);
/* Brings every site of the object to its wanted state. @force: also sends sites that should be in it already. */
int command_patch(struct uft_session *s, struct target *t, uint32_t object, int force);
/* Sends the parameters, and hooks, unwind rows, tracepoints and sites of all objects. @force: as above */
int target_arm(struct uft_session *s, struct target *t, int force);
void unresponsive_poll(struct uft_session *s);		/* arms targets whose agents answer again */

/* ---- arm_rows.c ------------------------------------------------------------------------------------- */

/* Fills p->stack_ids: the ids, in records of this target, of functions whose calls are recorded with a stack. */
void stacks_put_ids(struct uft_session *s, struct target *t, struct uft_tracer_params *p);
/*
 * Sends an object's unwind rows if stacks are wanted and the target does not have them. 0, -ESRCH, -ETIMEDOUT. After
 * another error, stacks end in that object, with a warning.
 */
int stacks_send(struct uft_session *s, struct target *t, uint32_t object);

/* ---- arm_params.c: libc's rseq area ------------------------------------------------------------------ */

/* Calls rseq_area_note(). If that found the area, sends a command, with which the agent reads it. */
int rseq_area_send(struct uft_session *s, struct target *t);

/* ---- thread_makers.c --------------------------------------------------------------------------------- */

/*
 * Tells a preloaded target where libc keeps a thread's number, unless its objects import functions that make tasks
 * without one.
 */
void preload_note_makers(struct uft_session *s, struct target *t);

#endif
