/* SPDX-License-Identifier: MIT */
/*
 * report_counters.c - list the counters of a recording: events with a counter_value, by their track_name
 *
 * Trace processors know counters by these field names, and uft/marker.h writes them. Other events have numbers as well
 * (plot_fields.c), but only the user knows which of them are counters.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stream/select/event_field.h"
#include "view/recording_internal.h"

#define COUNTERS_MAX 64u /* more are left out */
#define TRACK_MAX 200u	 /* bytes of a name; longer ones are left out */

struct counters {
	size_t n;
	struct counter {
		const struct uft_event_type *type;
		uint64_t count;
		size_t len;
		char track[TRACK_MAX];
	} at[COUNTERS_MAX];
};

static const struct uft_event_field *number_of(const struct uft_event_type *type)
{
	const struct uft_event_field *f = uft_event_field(type, PLOT_VALUE, strlen(PLOT_VALUE));

	return f && plot_is_field(f) && plot_track_field(type) ? f : NULL;
}

static int has_counters(const struct uft_event_table *events)
{
	uint32_t n = uft_event_table_count(events);

	for (uint32_t i = 0; i < n; i++) {
		const struct uft_event_type *type = uft_event_table_at(events, i);

		if (type && number_of(type))
			return 1;
	}
	return 0;
}

static void add(struct counters *c, const struct uft_event *ev)
{
	struct uft_field_value track = uft_event_value(ev, plot_track_field(ev->type));
	struct counter *new = &c->at[c->n];

	for (size_t i = 0; i < c->n; i++) {
		struct counter *old = &c->at[i];

		if (old->len == track.len && !strcmp(old->type->name, ev->type->name) &&
		    !memcmp(old->track, track.bytes, track.len)) {
			old->count++;
			return;
		}
	}
	if (c->n == COUNTERS_MAX || track.len >= TRACK_MAX)
		return;
	*new = (struct counter){.type = ev->type, .count = 1, .len = track.len};
	memcpy(new->track, track.bytes, track.len);
	c->n++;
}

static void add_stream(struct counters *c, struct uft_stream *st)
{
	struct uft_event ev[BATCH];
	size_t n;

	if (!has_counters(uft_stream_events(st)))
		return;
	while ((n = uft_stream_batch(st, ev, BATCH)) != 0)
		for (size_t i = 0; i < n; i++)
			if (ev[i].kind == UFT_EV_DATA && UFT_EVENT_IS_NAMED(ev[i].data) && ev[i].type &&
			    number_of(ev[i].type))
				add(c, &ev[i]);
}

/*
 * A type's name is valid only while its stream is open, so the counters of each are written before the next one opens.
 */
static void put_counters(struct json *j, const struct counters *c)
{
	for (size_t i = 0; i < c->n; i++) {
		char field[300];

		snprintf(field, sizeof(field), "%s." PLOT_VALUE, c->at[i].type->name);
		json_comma(j);
		json_raw(j, "{");
		json_key_str(j, "field", field);
		json_key_str(j, "track", c->at[i].track);
		json_key_u(j, "count", c->at[i].count);
		json_raw(j, "}");
	}
}

int report_counters(struct report *r)
{
	struct report_sources from = {.p = r};
	struct counters *c = calloc(1, sizeof(*c));
	int ret = c ? 0 : -ENOMEM;

	json_raw(&r->answer, "{\"state\":\"done\"");
	json_key(&r->answer, "counters");
	json_raw(&r->answer, "[");
	while (!ret && (ret = report_next(&from)) > 0) {
		c->n = 0;
		add_stream(c, from.st);
		put_counters(&r->answer, c);
		ret = 0;
	}
	report_end(&from);
	free(c);
	json_raw(&r->answer, "]}");
	return ret ? ret : r->answer.err;
}
