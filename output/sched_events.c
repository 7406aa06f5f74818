/* SPDX-License-Identifier: MIT */
/* sched_events.c - see sched_events.h */
#include <stdio.h>
#include <string.h>

#include "stream/select/event_field.h"
#include "output/sched_events.h"

/* Bits of prev_state with states that the kernel reports. A higher bit marks preempted tasks; 0: the task goes on. */
#define STATES_TOLD 0xffu
#define STATES_DEAD 0x30u

static int has_field(const struct uft_event_type *type, const char *name)
{
	const struct uft_event_field *f = uft_event_field(type, name, strlen(name));

	return f && !f->is_array && f->place == UFT_FIELD_FIXED;
}

enum sched_kind sched_kind_of(const struct uft_event_type *type)
{
	if (!strcmp(type->system, "kvm"))
		return !strcmp(type->name, "kvm_entry")	 ? SCHED_GUEST_ENTER
		       : !strcmp(type->name, "kvm_exit") ? SCHED_GUEST_LEAVE
							 : SCHED_NONE;
	if (strcmp(type->system, "sched"))
		return SCHED_NONE;
	if (!strcmp(type->name, "sched_switch") && has_field(type, "prev_pid") && has_field(type, "next_pid") &&
	    has_field(type, "prev_state"))
		return SCHED_SWITCH;
	if ((!strcmp(type->name, "sched_wakeup") || !strcmp(type->name, "sched_wakeup_new")) && has_field(type, "pid"))
		return SCHED_WAKEUP;
	return SCHED_NONE;
}

static int64_t number_of(const struct uft_event *ev, const char *name)
{
	return uft_event_value(ev, uft_event_field(ev->type, name, strlen(name))).number;
}

void sched_read(const struct uft_event *ev, enum sched_kind kind, struct sched_change *out)
{
	const char *comm = kind == SCHED_SWITCH ? "next_comm" : "comm";
	const struct uft_event_field *f = uft_event_field(ev->type, comm, strlen(comm));
	uint64_t state = 0;

	*out = (struct sched_change){.pid = (uint32_t)number_of(ev, kind == SCHED_SWITCH ? "next_pid" : "pid")};
	if (f && f->is_string) {
		struct uft_field_value v = uft_event_value(ev, f);

		snprintf(out->comm, sizeof(out->comm), "%.*s", (int)(v.len < 16 ? v.len : 16), (const char *)v.bytes);
	}
	if (kind != SCHED_SWITCH)
		return;
	out->prev = (uint32_t)number_of(ev, "prev_pid");
	state = (uint64_t)number_of(ev, "prev_state");
	out->is_preempted = !(state & STATES_TOLD);
	out->has_ended = (state & STATES_DEAD) != 0;
}
