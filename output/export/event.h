/* SPDX-License-Identifier: MIT */
/*
 * event.h - an event that is no call, in a form that all formats can write: system, name, one line, fields
 *
 * Such events are events with a type (symbol/event_type.h), marks (`print` and `raw_data` of the system ftrace, as in
 * the kernel), and events of the session itself (system uft). Texts may contain any byte but 0: each format masks the
 * bytes that it cannot hold. Context: control.
 */
#ifndef UFT_OUTPUT_EXPORT_EVENT_H
#define UFT_OUTPUT_EXPORT_EVENT_H

#include <stdio.h>

#include "stream/stream.h"

#define EVENT_FIELDS	64u
#define EVENT_LINE	4096u		/* the longest text; a longer one is cut */
#define EVENT_TEXTS	16384u		/* of all fields together */

struct export_field {
	const char *name;
	const char *text;		/* NULL: it is a number */
	uint64_t number;
	int is_signed;
};

struct export_event {
	const char *system, *name;
	const char *text;
	uint32_t nfields;
	struct export_field field[EVENT_FIELDS];
	char line[EVENT_LINE], texts[EVENT_TEXTS];
	uint32_t used;			/* of texts */
};

/* 1 if @ev is an event that stands for itself; 0: a call, or belongs to one. */
static inline int export_is_event(const struct uft_event *ev)
{
	return ev->kind == UFT_EV_MARK ||
	       (ev->kind == UFT_EV_DATA && UFT_EVENT_IS_OWN(ev->data) && ev->data != UFT_EVENT_STACK);
}

/* Fills @e for an event that export_is_event() accepts; valid as long as the stream is open. */
void export_event_make(struct export_event *e, const struct uft_event *ev);
/* The fields as a JSON object. */
void export_event_json(FILE *out, const struct export_event *e);

#endif
