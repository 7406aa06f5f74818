/* SPDX-License-Identifier: MIT */
/* arm_sites.h - difference between present and wanted states of an object's sites. Context: control. */
#ifndef UFT_CONTROL_ARM_SITES_H
#define UFT_CONTROL_ARM_SITES_H

#include "control/arm/arm.h"

struct site_diff {
	struct uft_session *s;
	struct target *t;
	uint32_t object;
	uint32_t n, nsite;	/* stubs; those below nsite are prepared sites, the others unprepared functions */
	int force;		/* also send sites that should be in their wanted state already */
	uint16_t *next;		/* by stub: the state to send; WANT_NOT: none, or it is done */
};

static inline const struct uft_mapped *diff_mapped(const struct site_diff *d)
{
	return &d->t->space->img->obj[d->object];
}

static inline const uint16_t *diff_state(const struct site_diff *d)
{
	return d->t->obj[d->object].state;
}

/*
 * arm_bits.c: sends many sites with the same next state as a bit each, and removes those that are done from the
 * difference. 0, -ESRCH, -ETIMEDOUT.
 */
int bits_send(struct site_diff *d);

/* arm_unprepared.c: the patch that brings an unprepared function to its next state. */
struct uft_patch unprepared_site(const struct site_diff *d, uint32_t stub);
int unprepared_may_arm(const struct site_diff *d, uint32_t stub);	/* 0: its int3 may not be written yet */
/*
 * Sends code for those sites of a list for which the target has none, and removes sites that remain without code from
 * the list. 0, -ESRCH, -ETIMEDOUT, -ENOMEM.
 */
int unprepared_send_code(const struct site_diff *d, struct uft_patch *p, uint32_t *index, uint32_t *n);
uint32_t unprepared_list_max(const struct uft_session *s);	/* number of sites whose code fits into one command */

#endif
