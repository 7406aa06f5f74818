/* SPDX-License-Identifier: MIT */
/* named.h - events that have a name, as text and as records of the kernel's form. Theory: named.c. */
#ifndef UFT_OUTPUT_NAMED_H
#define UFT_OUTPUT_NAMED_H

#include "stream/stream.h"

#define NAMED_ROOM		4096u	/* of a line; a longer one is cut */
#define NAMED_RECORD_MAX	(UFT_EVENT_COMMON + UFT_EVENT_PAYLOAD_MAX)

/*
 * Writes `sched_process_exit: comm=...` at @p, NAMED_ROOM bytes at most; nothing for an event without a type. Returns
 * the end. Lines in the text of the event stay lines, as the kernel's do; other control bytes are masked.
 */
char *named_text(char *p, const struct uft_event *ev, int has_field_names);
/* Makes the record of an event for which UFT_EVENT_IS_NAMED() holds. Returns its bytes, a multiple of 4. */
uint32_t named_record(char rec[NAMED_RECORD_MAX], const struct uft_event *ev);

#endif
