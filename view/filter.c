/* SPDX-License-Identifier: MIT */
/* filter.c - see filter.h */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output/named.h"
#include "stream/select/event_record.h"
#include "symbol/event_type.h"
#include "view/filter.h"

struct view_filter {
	struct uft_program *f;
};

/* What view_filter_match() makes of an event: the payload of a type that only filters see. */
struct call_payload {
	uint32_t func;		/* __data_loc of name */
	uint32_t duration, depth;
	char name[2000];
};

#define FIELD(member, c_type, ...) \
	{ .name = #member, .type = c_type, .brackets = "", .offset = UFT_EVENT_COMMON + offsetof(struct call_payload, member), .size = 4, __VA_ARGS__ }

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

const char *view_event_name(const struct uft_event *ev, char buf[VIEW_NAME_ROOM])
{
	static const char *const data[] = {
		[UFT_EVENT_STACK] = "stack",
	};
	char line[NAMED_ROOM], *end;

	switch (ev->kind) {
	case UFT_EV_LOST:
		return "lost";
	case UFT_EV_MARK:
		snprintf(buf, VIEW_NAME_ROOM, "mark: %.*s", (int)strcspn(ev->text ? ev->text : "", "\n"),
			 ev->text ? ev->text : "");
		return buf;
	case UFT_EV_DATA:
		end = named_text(line, ev, 0);
		*end = '\0';
		if (end != line)
			snprintf(buf, VIEW_NAME_ROOM, "%.*s", (int)VIEW_NAME_ROOM - 1, line);
		else if (ev->data < sizeof(data) / sizeof(data[0]) && data[ev->data])
			return data[ev->data];
		else
			snprintf(buf, VIEW_NAME_ROOM, "data %u", ev->data);
		return buf;
	default:
		return ev->sym && ev->sym->name ? ev->sym->name : "?";
	}
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
