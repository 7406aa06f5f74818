/* SPDX-License-Identifier: MIT */
/* sample_callers.h - the callers in a sample; see sample_callers.c. Context: control, the session's thread. */
#ifndef UFT_CONTROL_SAMPLE_CALLERS_H
#define UFT_CONTROL_SAMPLE_CALLERS_H

#include "control/target/target.h"
#include "control/events/perf.h"

#define WALK_VFORK	0x100u		/* in a perf_record's call: it keeps its return address in a register */

/*
 * Return addresses from the inside out, @max at most; for a frame that a signal interrupted, the interrupted address
 * plus one. Returns their number.
 */
uint32_t walk_callers(struct space *space, const struct perf_record *r, uint64_t *callers, uint32_t max);

#endif
