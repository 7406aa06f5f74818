/* SPDX-License-Identifier: MIT */
/* hold.h - what the agent could not change beside running threads, changed while they stand. Context: control. */
#ifndef UFT_CONTROL_HOLD_H
#define UFT_CONTROL_HOLD_H

#include "control/internal.h"

/* @answer stands in the command area, as the agent left it; @told is what it was told. Brings answer[].status up to date. */
int hold_patches(struct uft_session *s, struct target *t, uint32_t object, const struct uft_patch *told,
		 struct uft_patch *answer, uint32_t n);
/* The same for hooks, whose result is -EBUSY. */
int hold_hooks(struct uft_session *s, struct target *t, uint32_t object, struct uft_hook *answer, uint32_t n);

#endif
