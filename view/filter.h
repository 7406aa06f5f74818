/* SPDX-License-Identifier: MIT */
/*
 * filter.h - the filter of a view: the kernel's event filters over calls
 *
 * Fields of any event: func (of marks and events with a name: their text), duration (ns, at most 4294967295; 0 of an
 * entry), depth, and what all events have: common_pid, CPU, COMM. Grammar: symbol/event_filter.c.
 */
#ifndef UFT_VIEW_FILTER_H
#define UFT_VIEW_FILTER_H

#include "stream/stream.h"
#include "symbol/event_filter.h"

struct view_filter;
/* *out is NULL for an empty text: everything. Errors as uft_event_filter_make(). */
int view_filter_make(const char *text, struct view_filter **out, struct uft_filter_error *err);
int view_filter_match(const struct view_filter *f, const struct uft_event *ev);
void view_filter_free(struct view_filter *f);

#endif
