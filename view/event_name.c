/* SPDX-License-Identifier: MIT */
/* event_name.c - see event_name.h */
#include <stdio.h>
#include <string.h>

#include "output/export/event.h"
#include "view/event_name.h"

/* The name of an event that belongs to a call. */
static const char *name_of_data(const struct uft_event *ev, char buf[VIEW_NAME_ROOM])
{
	const unsigned long long w[] = {ev->word[0], ev->word[1], ev->word[2], ev->word[3]};

	switch (ev->data) {
	case UFT_EVENT_CALL:
		snprintf(buf, VIEW_NAME_ROOM, "arguments: 0x%llx, 0x%llx, 0x%llx, 0x%llx", w[0], w[1], w[2], w[3]);
		return buf;
	case UFT_EVENT_RETURN:
		snprintf(buf, VIEW_NAME_ROOM, "result: 0x%llx", w[0]);
		return buf;
	case UFT_EVENT_PARENT:
		snprintf(buf, VIEW_NAME_ROOM, "caller: %s", ev->parent && ev->parent->name ? ev->parent->name : "?");
		return buf;
	case UFT_EVENT_CPU:
		snprintf(buf, VIEW_NAME_ROOM, "had a CPU for %llu ns", w[0]);
		return buf;
	case UFT_EVENT_HANDLER:
		snprintf(buf, VIEW_NAME_ROOM, "handler of signal %llu", w[0]);
		return buf;
	case UFT_EVENT_OVERRUN:
		snprintf(buf, VIEW_NAME_ROOM, "calls not followed, nested too deep: %llu", w[0]);
		return buf;
	case UFT_EVENT_STACK:
		return "stack";
	default:
		snprintf(buf, VIEW_NAME_ROOM, "data %u", ev->data);
		return buf;
	}
}

const char *view_event_name(const struct uft_event *ev, char buf[VIEW_NAME_ROOM])
{
	static __thread struct export_event e;

	if (ev->kind == UFT_EV_LOST)
		return "lost";
	if (ev->kind == UFT_EV_MARK) {
		snprintf(buf, VIEW_NAME_ROOM, "mark: %.*s", (int)strcspn(ev->text ? ev->text : "", "\n"),
			 ev->text ? ev->text : "");
		return buf;
	}
	if (ev->kind != UFT_EV_DATA)
		return ev->sym && ev->sym->name ? ev->sym->name : "?";
	if (!export_is_event(ev))
		return name_of_data(ev, buf);
	export_event_make(&e, ev);
	snprintf(buf, VIEW_NAME_ROOM, "%s: %s", e.name, e.text);
	return buf;
}
