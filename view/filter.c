/* SPDX-License-Identifier: MIT */
/* filter.c - see filter.h */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output/named.h"
#include "symbol/event_type.h"
#include "view/filter.h"

struct view_filter {
	struct uft_event_filter *f;
};

/* Its fields are words of the copy of an event that view_filter_match() makes. */
static const struct uft_event_type call_type = {
	.system = "uft",
	.name = "call",
	.field =
		{
			{.name = "func", .type = "__data_loc char[]", .from = UFT_FIELD_TEXT, .word = 2, .size = 4},
			{.name = "duration", .type = "unsigned int", .from = UFT_FIELD_WORD, .word = 0, .size = 4},
			{.name = "depth", .type = "unsigned int", .from = UFT_FIELD_WORD, .word = 1, .size = 4},
			{.name = NULL},
		},
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
	uft_event_filter_free(f->f);
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
	struct uft_event call = *ev;
	const char *name;
	uint64_t duration = 0;

	if (!f)
		return 1;
	name = view_event_name(ev, buf);
	if (ev->kind == UFT_EV_EXIT || ev->kind == UFT_EV_LEFT)
		duration = ev->duration_ns < UINT32_MAX ? ev->duration_ns : UINT32_MAX;
	call.word[0] = duration;
	call.word[1] = ev->depth;
	call.text = name;
	call.text_bytes = strlen(name);
	return uft_event_filter_match(f->f, &call);
}
