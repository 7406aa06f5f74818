/* SPDX-License-Identifier: MIT */
/* tracepoint.h - the events that an object declares in its ELF sections (uft/tracepoint.h). Theory: tracepoint.c. */
#ifndef UFT_SYMBOL_TRACEPOINT_H
#define UFT_SYMBOL_TRACEPOINT_H

#include "symbol/error.h"
#include "symbol/event_type.h"
#include "symbol/object.h"

struct uft_found_event {
	uint64_t addr;			/* of its struct uft_tracepoint, as in the file */
	char *system, *name, *format;
};

struct uft_found_site {
	uint64_t addr, on;		/* the nop, and its target when it is on */
	uint32_t event;			/* index in the list */
};

struct uft_found_events {
	struct uft_found_event *event; uint32_t nevents;
	struct uft_found_site *site; uint32_t nsites;	/* by address */
	uint32_t nrefused;		/* damaged descriptions; the first one: */
	struct uft_error refused;
};

/* 0, or -ENOMEM with an empty list. An object without such sections has an empty list. */
int uft_object_events(struct uft_object *obj, struct uft_found_events *out);
/*
 * Adds the types of @f, found in @obj, to the table. @type: room for one of each event, NULL where the table refuses
 * it; calls @refused for each refused one. 0, -ENOMEM.
 */
int uft_found_events_add(struct uft_event_table *t, const struct uft_object *obj, const struct uft_found_events *f,
			 const struct uft_event_type **type, void (*refused)(void *arg, const char *text), void *arg);
void uft_found_events_free(struct uft_found_events *f);

#endif
