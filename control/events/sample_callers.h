/* SPDX-License-Identifier: MIT */
/* sample_callers.h - the callers in a sample; see sample_callers.c. Context: control, the session's thread. */
#ifndef UFT_CONTROL_SAMPLE_CALLERS_H
#define UFT_CONTROL_SAMPLE_CALLERS_H

#include "control/target/target.h"
#include "control/events/perf.h"

#define WALK_VFORK	0x100u		/* of a perf_record's call: it keeps its return address in a register */

/*
 * Return addresses from the inside out, @max at most; of a frame that a signal interrupted, the address
 * behind its own. How many.
 */
uint32_t walk_callers(struct space *space, const struct perf_record *r, uint64_t *callers, uint32_t max);

#endif
