/* SPDX-License-Identifier: MIT */
/* sched_events.h - what events of the kernel's scheduler say of tasks. Context: control. */
#ifndef UFT_VIEW_SCHED_EVENTS_H
#define UFT_VIEW_SCHED_EVENTS_H

#include "stream/stream.h"

enum sched_kind { SCHED_NONE, SCHED_SWITCH, SCHED_WAKEUP };

struct sched_change {
	uint32_t pid;	     /* who gets the CPU, or wakes up; 0: the idle task */
	uint32_t prev;	     /* SWITCH: who leaves the CPU */
	int is_preempted, has_ended; /* SWITCH: it would go on; it never will */
	char comm[17];	     /* of pid */
};

/* What a type of events is; fields that sched_read() needs are there. */
enum sched_kind sched_kind_of(const struct uft_event_type *type);
/* Of an event whose type is not SCHED_NONE. */
void sched_read(const struct uft_event *ev, enum sched_kind kind, struct sched_change *out);

#endif
