/* SPDX-License-Identifier: MIT */
/*
 * text_rows.h - the parts of the text that differ by tracer
 *
 * A row for each tracer whose text differs. An unset member means: as for any tracer. text.c asks the row and names no
 * tracer.
 */
#ifndef UFT_OUTPUT_TEXT_ROWS_H
#define UFT_OUTPUT_TEXT_ROWS_H

#include "output/text.h"

struct text_row {
	const char *columns;	/* instead of the usual head; "" none */
	int has_one_form;	/* latency-format, verbose and the like change nothing */
	int is_tree;		/* lines form a tree: other events are comments, and there are no raw forms */
	/* prints every event but marks and losses */
	void (*take)(struct uft_printer *t, const struct uft_event *ev);
	/* prints an event of the innermost call; NULL: nothing is printed */
	void (*data)(struct uft_printer *t, const struct uft_event *ev);
	/* prints a line of @n bytes that is no call, without its newline; NULL: behind task, CPU and time */
	void (*line)(struct uft_printer *t, const struct uft_event *ev, const char *text, size_t n);
	/* prints a text of trace_marker, in the same way */
	void (*mark)(struct uft_printer *t, const struct uft_event *ev, const char *text, size_t n);
	/* UFT_KIND_LINES: prints the lines of a call, of every function or of functions with a role */
	void (*call)(struct uft_printer *t, const struct uft_event *ev, const struct call *call);
	int is_every_call;
	int has_late_lines;	/* a call's line comes at its end, with its stack */
};
const struct text_row *text_row(uint32_t tracer);

#endif
