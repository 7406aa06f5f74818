/* SPDX-License-Identifier: MIT */
/* kernel_flags.h - the flags of a kernel's event as in its text: irqs-off, need-resched, hardirq, preempt-depth */
#ifndef UFT_OUTPUT_KERNEL_FLAGS_H
#define UFT_OUTPUT_KERNEL_FLAGS_H

#include "stream/stream.h"

#define KERNEL_FLAGS_TEXT	5u	/* characters */

/* Writes the flags, without a 0 behind. Returns 1; 0: @ev has none, and nothing is written. */
int kernel_flags_put(const struct uft_event *ev, char text[KERNEL_FLAGS_TEXT]);

#endif
