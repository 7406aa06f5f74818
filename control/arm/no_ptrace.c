// SPDX-License-Identifier: MIT
/*
 * no_ptrace.c - architectures without stops by ptrace (ptrace/no_ptrace.c): there all targets are preloaded, and sites
 * that would need a stop stay as they are and are counted (UFT_ST_LIVE).
 */
#include "control/arm/arm_stopped.h"

/* A function has the parameters of its twin with ptrace, and needs none of most. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

int arm_stopped_begin(struct uft_session *s, struct target *t)
{
	return 0;
}

int arm_stopped_commit(struct target *t)
{
	return 0;
}

void arm_stopped_drop(struct target *t)
{
}

int arm_stopped_patches(struct uft_session *s, struct target *t, uint32_t object, const struct uft_patch *told,
		 const uint32_t *index, const struct uft_patch *answer, uint32_t n)
{
	return 0;
}

int arm_stopped_hooks(struct uft_session *s, struct target *t, uint32_t object, const struct uft_hook *answer,
		      uint32_t n)
{
	return 0;
}
