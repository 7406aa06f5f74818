/* SPDX-License-Identifier: MIT */
/*
 * marker.h - text, slices and counters of a program, as events of the system uft
 *
 *	trace_printk("%d left", n);	trace_puts("here");
 *	uft_begin("parse");		uft_end();		a slice of the calling thread, as deep as they nest
 *	uft_counter("queue", n);
 *
 * While off, each is one nop, and no text is formatted. One file of a program or library defines UFT_CREATE_MARKERS
 * before it
 * includes this. Nothing is linked; see tracepoint.h. The fields of slices and counters have the names by which
 * Perfetto makes tracks of events.
 */
#pragma GCC system_header	/* macros as the kernel's: no -pedantic */
#ifndef UFT_MARKER_H
#define UFT_MARKER_H

#include <stdarg.h>
#include <stdio.h>

#ifdef UFT_CREATE_MARKERS
#define CREATE_TRACE_POINTS
#endif
#include <uft/marker_events.h>
#ifdef UFT_CREATE_MARKERS
#undef CREATE_TRACE_POINTS
#endif

#define UFT_PRINTK_BYTES	1024	/* of a text with its 0; a longer text is cut */

static __UFT_NOTRACE __attribute__((unused, format(printf, 1, 2), cold, noinline)) void __uft_printk(const char *fmt,
												     ...)
{
	char text[UFT_PRINTK_BYTES];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n > 0 && n < (int)sizeof(text) && text[n - 1] == '\n')	/* each event is a line of its own */
		text[n - 1] = '\0';
	trace_marker_print(text);
}

#define trace_printk(...)		do { if (trace_marker_print_enabled()) __uft_printk(__VA_ARGS__); } while (0)
#define trace_puts(text)		UFT_TRACE(marker_print, (text))
#define uft_begin(name)			UFT_TRACE(marker_begin, (name))
#define uft_end()			UFT_TRACE(marker_end, 0)
#define uft_counter(name, value)	UFT_TRACE(marker_counter, (name), (value))

#endif
