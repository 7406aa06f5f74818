/* SPDX-License-Identifier: MIT */
/* named.h - events that have a name, as text and as records of the kernel's form. Theory: named.c. */
#ifndef UFT_OUTPUT_NAMED_H
#define UFT_OUTPUT_NAMED_H

#include "stream/stream.h"

#define NAMED_ROOM		4096u	/* of a line: what is longer is cut */
#define NAMED_RECORD_MAX	(UFT_EVENT_COMMON + UFT_EVENT_PAYLOAD_MAX)

/*
 * `sched_process_exit: comm=...` at @p, NAMED_ROOM at most; nothing of an event that has no type. Returns its end.
 * Lines in the text of the event stay lines, as in the kernel's; no other control byte gets through.
 */
char *named_text(char *p, const struct uft_event *ev, int has_field_names);
/* UFT_EVENT_IS_NAMED(). Bytes, a multiple of 4. */
uint32_t named_record(char rec[NAMED_RECORD_MAX], const struct uft_event *ev);

#endif
