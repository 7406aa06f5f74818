/* SPDX-License-Identifier: MIT */
/*
 * event.c - set_event, available_events, events/enable: the places where events are chosen
 *
 * There are no events to choose yet: events/ftrace/ describes records, and cannot be enabled, as in the kernel. So the lists
 * are empty, every name is one that nothing matches, and what switches all of them off or on has nothing to do. Tools ask
 * for that before they begin.
 */
#include "tree/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int show_nothing(const struct place *at, struct tree_text *out)
{
	(void)at, (void)out;
	return 0;
}

ssize_t store_set_event(struct uft_handle *h, const char *p, size_t n)
{
	size_t len = n;

	(void)h;
	text_strip(&p, &len);
	return len ? -EINVAL : (ssize_t)n;
}

/* The one that its format says. */
int show_event_id(const struct place *at, struct tree_text *out)
{
	struct tree_text format = { 0 };
	const char *id;

	show_format(at, &format);
	text_put(&format, "", 1);
	id = format.error ? NULL : strstr(format.p, "\nID: ");
	if (id)
		text_printf(out, "%d\n", atoi(id + 5));
	free(format.p);
	return id ? 0 : -ENOMEM;
}

/* `?`: there is none that could be on or off. */
int show_events_enable(const struct place *at, struct tree_text *out)
{
	(void)at;
	text_printf(out, "?\n");
	return 0;
}

ssize_t store_events_enable(struct uft_handle *h, const char *p, size_t n)
{
	uint64_t on;
	int ret = text_number(p, n, 10, &on);

	(void)h;
	return ret ? ret : on > 1 ? -EINVAL : (ssize_t)n;
}
