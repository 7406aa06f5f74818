/* SPDX-License-Identifier: MIT */
/*
 * losses.h - the losses of a recording, their reasons, and remedies: one set of sentences for all views. Theory:
 * losses.c.
 */
#ifndef UFT_OUTPUT_LOSSES_H
#define UFT_OUTPUT_LOSSES_H

#include "stream/stream.h"

/*
 * The number of calls, by the runtime's counters (UFT_NCOUNTERS), that happened at armed functions and are neither in a
 * ring nor counted as lost by one.
 */
uint64_t losses_unrecorded(const uint64_t *counters);

/**
 * losses_each - report each kind of loss in a sentence
 * @info:       of the recording; of one that is being finished: calls, events, lost, overwritten, counters, complete 1
 * @is_rescued: its recorder was killed and the rest saved, which another line says
 *
 * Calls @say for each. Returns the number of sentences. Context: control.
 */
unsigned losses_each(const struct uft_info *info, int is_rescued, void (*say)(void *arg, const char *sentence),
		     void *arg);

#endif
