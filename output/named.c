/* SPDX-License-Identifier: MIT */
/*
 * named.c - events that have a name (symbol/event_type.h): as the kernel's text, and as its records
 *
 * The text is what the type's print says, a field for each `%`; with the option fields each one with its own name. A text of the
 * program's writes nothing but itself to a terminal.
 */
#include "output/named.h"
#include "stream/event_field.h"
#include "symbol/clean.h"

#include <inttypes.h>
#include <stdio.h>

static char *put_clean(char *p, const char *text, size_t n)
{
	memcpy(p, text, n);
	uft_clean(p, n, 0);
	return p + n;
}

static char *put_value(char *p, const struct uft_event *ev, const struct uft_event_field *f)
{
	struct uft_field_value v = uft_event_value(ev, f);

	return v.text ? put_clean(p, v.text, v.len) : p + sprintf(p, "%" PRId64, v.number);
}

static char *put_fields(char *p, const struct uft_event *ev, const struct uft_event_type *type)
{
	for (const struct uft_event_field *f = type->field; f->name; f++) {
		struct uft_field_value v = uft_event_value(ev, f);

		p += sprintf(p, "%s%s=", f == type->field ? "" : " ", f->name);
		p = v.text ? put_clean(p, v.text, v.len) : p + sprintf(p, "0x%x (%" PRId64 ")", (uint32_t)v.number, v.number);
	}
	return p;
}

char *named_text(char *p, const struct uft_event *ev, int has_field_names)
{
	const struct uft_event_type *type = uft_event_type(ev->data);
	const struct uft_event_field *f;

	if (!type)
		return p;
	p += sprintf(p, "%s: ", type->name);
	if (has_field_names)
		return put_fields(p, ev, type);
	f = type->field;
	for (const char *c = type->print; *c; c++)
		if (*c == '%' && f->name) {
			p = put_value(p, ev, f++);
			c++;		/* which of them stands there the field knows */
		} else {
			*p++ = *c;
		}
	return p;
}

uint32_t named_record(char rec[NAMED_RECORD_MAX], const struct uft_event *ev)
{
	const struct uft_event_type *type = uft_event_type(ev->data);
	uint32_t n = type->bytes;
	uint16_t id = (uint16_t)type->kernel_id;

	memset(rec, 0, n);
	memcpy(rec, &id, sizeof(id));
	memcpy(rec + 4, &ev->task->tid, 4);
	for (const struct uft_event_field *f = type->field; f->name; f++) {
		struct uft_field_value v = uft_event_value(ev, f);
		uint32_t len = v.len < NAMED_TEXT_MAX - 1 ? (uint32_t)v.len : NAMED_TEXT_MAX - 1, where = (len + 1) << 16 | n;

		if (!v.text) {
			memcpy(rec + f->offset, &v.number, f->size);
		} else if (f->from == UFT_FIELD_TEXT) {
			memcpy(rec + f->offset, &where, sizeof(where));
			memcpy(rec + n, v.text, len);
			rec[n + len] = '\0';
			n += len + 1;
		} else {
			memcpy(rec + f->offset, v.text, v.len);
		}
	}
	while (n & 3)
		rec[n++] = '\0';
	return n;
}
