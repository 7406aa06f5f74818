/* SPDX-License-Identifier: MIT */
/* lines.h - the lines of kmemtrace and blk; see lines.c */
#ifndef UFT_OUTPUT_LINES_H
#define UFT_OUTPUT_LINES_H

#include "output/text.h"

extern const char lines_heap_columns[];
/* @call: what calls_feed() said of @ev. */
void lines_event(struct uft_printer *t, const struct uft_event *ev, const struct call *call);
/* A stack, after calls_feed(): printed behind the line of its call, at once or with that. */
void lines_stack(struct uft_printer *t, const struct uft_event *ev);

#endif
