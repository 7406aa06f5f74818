/* SPDX-License-Identifier: MIT */
/* lines.h - the lines of kmemtrace, blk and initcall; see lines.c */
#ifndef UFT_OUTPUT_LINES_H
#define UFT_OUTPUT_LINES_H

#include "output/text.h"

extern const char lines_heap_columns[];
/* The `call` of each tracer's row (text_rows.c). */
void lines_heap(struct uft_printer *t, const struct uft_event *ev, const struct call *call);
void lines_io(struct uft_printer *t, const struct uft_event *ev, const struct call *call);
void lines_initcall(struct uft_printer *t, const struct uft_event *ev, const struct call *call);
/* @call: the call that calls_feed() returned for @ev. */
void lines_event(struct uft_printer *t, const struct uft_event *ev, const struct call *call);
/* Prints a stack behind the line of its call, at once or together with it; call it after calls_feed(). */
void lines_stack(struct uft_printer *t, const struct uft_event *ev);

#endif
