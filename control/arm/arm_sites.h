/* SPDX-License-Identifier: MIT */
/* arm_sites.h - the difference between the sites of an object and what is wanted of them. Context: control. */
#ifndef UFT_CONTROL_ARM_SITES_H
#define UFT_CONTROL_ARM_SITES_H

#include "control/arm/arm.h"

struct site_diff {
	struct uft_session *s;
	struct target *t;
	uint32_t object;
	uint32_t n, nsite;	/* stubs; those below nsite are prepared sites, the others unprepared functions */
	int force;		/* also sites that are noted to be as wanted */
	uint16_t *next;		/* by stub: the state that it has to be brought to; WANT_NOT: none, or it was */
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
 * arm_bits.c: sends many sites that get one state as a bit each, and takes those that are done out of the
 * difference. 0, -ESRCH, -ETIMEDOUT.
 */
int bits_send(struct site_diff *d);

/* arm_unprepared.c: the wanted state of an unprepared function; what cannot be armed yet: WANT_NOT. */
struct uft_patch unprepared_site(const struct site_diff *d, uint32_t stub);
int unprepared_may_arm(const struct site_diff *d, uint32_t stub);
/*
 * Sends the code of those sites of a list that the target has none for, and takes out of the list what has none in
 * the end. 0, -ESRCH, -ETIMEDOUT.
 */
int unprepared_send_code(const struct site_diff *d, struct uft_patch *p, uint32_t *index, uint32_t *n);
uint32_t unprepared_list_max(const struct uft_session *s);	/* sites whose code fits into one command */

#endif
