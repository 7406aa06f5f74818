/* SPDX-License-Identifier: MIT */
/* event_field.h - the value of a field of an event that has a type (symbol/event_type.h), bounded by its payload */
#ifndef UFT_STREAM_EVENT_FIELD_H
#define UFT_STREAM_EVENT_FIELD_H

#include <string.h>

#include "stream/stream.h"
#include "symbol/event_type.h"

struct uft_field_value {
	const uint8_t *bytes;	/* of an array; NULL: the value is a number */
	size_t len;		/* of bytes */
	int64_t number;
};

static inline const uint8_t *uft_event_bytes(const struct uft_event *ev, const struct uft_event_field *f, size_t *n)
{
	return uft_field_bytes(ev->payload, ev->payload_bytes, f, n);
}

/* A text ends at its 0 byte, or with its field. */
static inline struct uft_field_value uft_event_value(const struct uft_event *ev, const struct uft_event_field *f)
{
	struct uft_field_value v = { NULL, 0, 0 };
	size_t n;
	const uint8_t *p = uft_event_bytes(ev, f, &n);

	if (f->is_array) {
		v.bytes = p ? p : (const uint8_t *)"";
		v.len = p && f->is_string ? strnlen((const char *)p, n) : n;
	} else if (p) {
		v.number = uft_field_number(p, (uint32_t)n, f->is_signed);
	}
	return v;
}

#endif
