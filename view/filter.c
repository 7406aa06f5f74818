/* SPDX-License-Identifier: MIT */
/* filter.c - see filter.h */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "stream/select/event_record.h"
#include "symbol/event_type.h"
#include "view/event_name.h"
#include "view/filter.h"

struct view_filter {
	struct uft_program *f;
};

/* The payload that view_filter_match() makes of an event; only filters see its type. */
struct call_payload {
	uint32_t func;		/* __data_loc of name */
	uint32_t duration, depth;
	char name[2000];
};

#define FIELD(member, c_type, ...) \
	{ .name = #member, .type = c_type, .brackets = "", .offset = UFT_EVENT_COMMON + \
		offsetof(struct call_payload, member), .size = 4, __VA_ARGS__ }

static struct uft_event_field call_fields[] = {
	FIELD(func, "__data_loc char[]", .element = 1, .place = UFT_FIELD_DATA_LOC, .is_array = 1, .is_string = 1),
	FIELD(duration, "unsigned int", .element = 4),
	FIELD(depth, "unsigned int", .element = 4),
};
static const struct uft_event_type call_type = {
	.system = "uft", .name = "call", .field = call_fields, .nfields = sizeof(call_fields) / sizeof(call_fields[0]),
};

int view_filter_make(const char *text, struct view_filter **out, struct uft_filter_error *err)
{
	struct view_filter *f;
	int ret;

	*out = NULL;
	if (!text[strspn(text, " \t\n")])
		return 0;
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	ret = uft_event_filter_make(&call_type, text, &f->f, err);
	if (ret)
		free(f);
	else
		*out = f;
	return ret;
}

void view_filter_free(struct view_filter *f)
{
	if (!f)
		return;
	free(f->f);
	free(f);
}

int view_filter_match(const struct view_filter *f, const struct uft_event *ev)
{
	char buf[VIEW_NAME_ROOM];
	struct uft_event call;
	struct call_payload p;
	const char *name;
	size_t n;

	if (!f)
		return 1;
	name = view_event_name(ev, buf);
	n = strnlen(name, sizeof(p.name) - 1);
	memcpy(p.name, name, n);
	p.name[n] = '\0';
	p.func = (uint32_t)(n + 1) << 16 | (uint32_t)(UFT_EVENT_COMMON + offsetof(struct call_payload, name));
	p.depth = ev->depth;
	p.duration = 0;
	if (ev->kind == UFT_EV_EXIT || ev->kind == UFT_EV_LEFT)
		p.duration = ev->duration_ns < UINT32_MAX ? (uint32_t)ev->duration_ns : UINT32_MAX;
	call = *ev;
	call.type = &call_type;
	call.payload = (const uint8_t *)&p;
	call.payload_bytes = (uint32_t)(offsetof(struct call_payload, name) + n + 1);
	return uft_event_accepts(f->f, &call);
}
