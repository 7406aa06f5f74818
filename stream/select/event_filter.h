/* SPDX-License-Identifier: MIT */
/* event_filter.h - the kernel's event filters: `pid == 1 && comm ~ "a*"`. Theory: event_filter.c. */
#ifndef UFT_STREAM_EVENT_FILTER_H
#define UFT_STREAM_EVENT_FILTER_H

#include "stream/stream.h"
#include "symbol/event_type.h"

struct uft_event_filter;
struct uft_filter_error {
	const char *what;	/* the kernel's text; static */
	size_t at;		/* where its caret stands */
};
#define UFT_FILTER_BYTES	4096u	/* a text is shorter */

/* Of events of @type. 0, or what the kernel returns: -EINVAL, -EPERM, -ENOENT, -ESRCH, with *err; -E2BIG, -ENOMEM. */
int uft_event_filter_make(const struct uft_event_type *type, const char *text, struct uft_event_filter **out, struct uft_filter_error *err);
int uft_event_filter_match(const struct uft_event_filter *f, const struct uft_event *ev);
void uft_event_filter_free(struct uft_event_filter *f);

#endif
