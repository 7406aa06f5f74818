/* SPDX-License-Identifier: MIT */
/* sched_events.h - task states in events of the kernel's scheduler and of KVM. Context: control. */
#ifndef UFT_OUTPUT_SCHED_EVENTS_H
#define UFT_OUTPUT_SCHED_EVENTS_H

#include "stream/stream.h"

/* ENTER, LEAVE: the event's task begins to run its guest, and runs itself again. */
enum sched_kind { SCHED_NONE, SCHED_SWITCH, SCHED_WAKEUP, SCHED_GUEST_ENTER, SCHED_GUEST_LEAVE };

struct sched_change {
	uint32_t pid;	     /* the task that gets the CPU, or wakes up; 0: the idle task */
	uint32_t prev;	     /* SWITCH: the task that leaves the CPU */
	int is_preempted, has_ended; /* SWITCH: it would go on; it never will */
	char comm[17];	     /* of pid */
};

/* The kind of a type of events; the fields that sched_read() needs exist then. */
enum sched_kind sched_kind_of(const struct uft_event_type *type);
/* Reads an event whose type is SCHED_WAKEUP or SCHED_SWITCH. */
void sched_read(const struct uft_event *ev, enum sched_kind kind, struct sched_change *out);

#endif
