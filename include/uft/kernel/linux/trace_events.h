/* SPDX-License-Identifier: MIT */
/* linux/trace_events.h - for event headers of the kernel, compiled into a program; see uft/trace_event.h */
#include <linux/tracepoint.h>
