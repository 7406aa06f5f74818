/* SPDX-License-Identifier: MIT */
/*
 * filter.h - the filter of a view: the kernel's event filters over calls
 *
 * Fields of any event: func (the text of a mark or of an event with a name), duration (ns, at most 4294967295; 0 for an
 * entry), depth, and the fields of all events: common_pid, CPU, COMM. Grammar: symbol/event_filter.c.
 */
#ifndef UFT_VIEW_FILTER_H
#define UFT_VIEW_FILTER_H

#include "stream/stream.h"
#include "symbol/event_filter.h"

struct view_filter;
/* Makes a filter; *out is NULL for an empty text: no filter. Errors as uft_event_filter_make(). */
int view_filter_make(const char *text, struct view_filter **out, struct uft_filter_error *err);
int view_filter_match(const struct view_filter *f, const struct uft_event *ev);
void view_filter_free(struct view_filter *f);

#endif
