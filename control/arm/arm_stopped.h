/* SPDX-License-Identifier: MIT */
/*
 * arm_stopped.h - what the agent could not change beside running threads, changed while they stand. Context:
 * control.
 */
#ifndef UFT_CONTROL_ARM_STOPPED_H
#define UFT_CONTROL_ARM_STOPPED_H

#include "control/arm/arm.h"

/*
 * From here to arm_stopped_commit() what has to wait until all stand is gathered. Without these two each list has a
 * hold of its own.
 */
int arm_stopped_begin(struct uft_session *s, struct target *t);
/* the hold: site_note_patched(), command_note_hooked() hear what became of it */
int arm_stopped_commit(struct target *t);
void arm_stopped_drop(struct target *t);	/* what was gathered stays as it is */

/* The patches that the agent answered UFT_ST_LIVE to; @told is what it was told. */
int arm_stopped_patches(struct uft_session *s, struct target *t, uint32_t object, const struct uft_patch *told,
		 const uint32_t *index, const struct uft_patch *answer, uint32_t n);
/* The hooks whose result is -EBUSY. */
int arm_stopped_hooks(struct uft_session *s, struct target *t, uint32_t object, const struct uft_hook *answer,
		      uint32_t n);

#endif
