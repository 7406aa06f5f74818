/* SPDX-License-Identifier: MIT */
/*
 * arm_stopped.h - change code that cannot change beside running threads, while all are stopped. Context: control.
 */
#ifndef UFT_CONTROL_ARM_STOPPED_H
#define UFT_CONTROL_ARM_STOPPED_H

#include "control/arm/arm.h"

/*
 * Begins a batch: until arm_stopped_commit(), patches and hooks that need a stop are gathered. Without a batch, each
 * list has a stop of its own. 0; -EBUSY: a batch is open; -ENOMEM.
 */
int arm_stopped_begin(struct uft_session *s, struct target *t);
/* Stops all tasks, makes the changes, and passes the results to site_note_patched() and command_note_hooked(). */
int arm_stopped_commit(struct target *t);
void arm_stopped_drop(struct target *t);	/* forgets the batch, without a change */

/* Adds the patches that the agent answered with UFT_ST_LIVE. @told: the patches as they were sent. */
int arm_stopped_patches(struct uft_session *s, struct target *t, uint32_t object, const struct uft_patch *told,
		 const uint32_t *index, const struct uft_patch *answer, uint32_t n);
/* Adds the hooks whose result is -EBUSY. */
int arm_stopped_hooks(struct uft_session *s, struct target *t, uint32_t object, const struct uft_hook *answer,
		      uint32_t n);

#endif
