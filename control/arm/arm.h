/* SPDX-License-Identifier: MIT */
/* arm.h - bringing what a target has to what the session wants. Context: control, the session's thread. */
#ifndef UFT_CONTROL_ARM_H
#define UFT_CONTROL_ARM_H

#include "control/target/target.h"

/* ---- libraries.c ----------------------------------------------------------------------------------- */

/* Compares the loader's list with the target's objects: adds what is new, drops what is gone. 1 something
 * changed, 0 nothing, -errno. */
int space_walk(struct uft_session *s, struct target *t, uint64_t rdebug);

/* ---- jit_names.c: names of code that a process makes ------------------------------------------- */

void jitmap_look(struct uft_session *s, struct target *t);	/* while it lives: is there a list by now? */
void jitmap_read(struct uft_session *s, struct target *t);	/* tracing ends: its names into the image */

/* ---- perf_map.c: names of our code, for perf --------------------------------------------------- */

void perfmap_write(struct uft_session *s, struct target *t);	/* what is new */

/* ---- arm_params.c, arm_object.c, arm_sites.c, arm.c ------------------------------------------------- */

void stuck_poll(struct uft_session *s);				/* those that did are brought up to the spec */
int command_params(struct uft_session *s, struct target *t);
int command_hooks(struct uft_session *s, struct target *t, uint32_t object);
int command_gone(struct uft_session *s, struct target *t, uint32_t object);
int command_object(struct uft_session *s, struct target *t, uint32_t object);
/* A start: its agent makes memory for the sites of its first object, while they are still looked for. The next command must wait. */
void command_foretell(struct uft_session *s, uint32_t slice, const struct space *sp, const struct uft_object *obj, uint64_t bias);
/* Sends patches of stubs index[] and records what became of them. @n: no more than the command area holds. */
int command_patch_list(struct uft_session *s, struct target *t, uint32_t object, const struct uft_patch *p,
		       const uint32_t *index, uint32_t n);
/* arm_bitmap.c: switches at once what a bit can tell; the rest has to be listed. 0; -ESRCH, -ETIMEDOUT. */
int command_sweep(struct uft_session *s, struct target *t, uint32_t object);
void command_note_hooked(struct uft_session *s, struct target *t, uint32_t object, const struct uft_hook *h, uint32_t n);
/* arm_first.c: the first arming of what is alike, at an exec; the rest has to be listed. 0, or -errno as of command_object(). */
int command_arm(struct uft_session *s, struct target *t, uint32_t object);
size_t command_arm_bytes(size_t nsite);		/* of the command area */
uint32_t command_patch_flags(const struct uft_session *s, const struct target *t, uint32_t object);	/* enum uft_cmd_flags of a list now */
/* Brings every site of the object to what is wanted. @force: also those believed to be so already. */
int command_patch(struct uft_session *s, struct target *t, uint32_t object, int force);
int target_arm(struct uft_session *s, struct target *t, int force);	/* params, hooks and sites of all objects */

/* ---- arm_rows.c ------------------------------------------------------------------------------------- */

/* Whose calls have a stack behind them: ids in this target. */
void stacks_put_ids(struct uft_session *s, struct target *t, struct uft_tracer_params *p);
/* The target gets an object's rows if stacks are wanted and it does not have them yet. 0, -ESRCH, -ETIMEDOUT: others are
 * said by a warning; then stacks end there. */
int stacks_send(struct uft_session *s, struct target *t, uint32_t object);

/* ---- arm_params.c: libc's rseq area ------------------------------------------------------------------ */

int inject_rseq(struct uft_session *s, struct target *t);	/* at once */

/* ---- thread_makers.c --------------------------------------------------------------------------------- */

void preload_note_makers(struct uft_session *s, struct target *t);

#endif
