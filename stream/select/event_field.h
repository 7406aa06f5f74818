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

/* Returns the bytes of a field, or those that its location word names; NULL: not within the payload. */
static inline const uint8_t *uft_event_bytes(const struct uft_event *ev, const struct uft_event_field *f, size_t *n)
{
	uint64_t at = f->offset - UFT_EVENT_COMMON, bytes = f->size, end = ev->payload_bytes;
	uint32_t where;

	*n = 0;
	if (at + bytes > end)
		return NULL;
	if (f->place != UFT_FIELD_FIXED) {
		memcpy(&where, ev->payload + at, 4);
		bytes = where >> 16;
		where &= 0xffff;
		if (f->place == UFT_FIELD_REL_LOC)
			at += 4ull + where;
		else if (where < UFT_EVENT_COMMON)
			return NULL;
		else
			at = where - UFT_EVENT_COMMON;
		if (at + bytes > end)
			return NULL;
	}
	*n = bytes;
	return ev->payload + at;
}

static inline int64_t uft_field_number(const uint8_t *p, uint32_t size, int is_signed)
{
	uint64_t v = 0;
	unsigned unused;

	if (size > 8)
		size = 8;
	memcpy(&v, p, size);
	unused = 64 - 8 * size;
	if (!size || !unused)
		return (int64_t)v;
	return is_signed ? (int64_t)(v << unused) >> unused : (int64_t)v;
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
