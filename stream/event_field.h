/* SPDX-License-Identifier: MIT */
/* event_field.h - the fields of an event that has a name (symbol/event_type.h), of its record */
#ifndef UFT_STREAM_EVENT_FIELD_H
#define UFT_STREAM_EVENT_FIELD_H

#include <string.h>

#include "stream/stream.h"
#include "symbol/event_type.h"

struct uft_field_value {
	const char *text;	/* NULL: it is a number */
	size_t len;		/* of text */
	int64_t number;
};

static inline struct uft_field_value uft_event_value(const struct uft_event *ev, const struct uft_event_field *f)
{
	struct uft_field_value v = { NULL, 0, 0 };

	switch (f->from) {
	case UFT_FIELD_TID:
		v.number = (int32_t)ev->task->tid;
		break;
	case UFT_FIELD_WORD:
		v.number = f->is_signed ? (int32_t)ev->word[f->word] : (int64_t)(uint32_t)ev->word[f->word];
		break;
	case UFT_FIELD_COMM:
		v.text = (const char *)&ev->word[f->word];
		v.len = strnlen(v.text, 8 * UFT_COMM_WORDS - 1);
		break;
	case UFT_FIELD_TEXT:
		v.text = ev->text;
		v.len = ev->text_bytes;
		break;
	}
	return v;
}

#endif
