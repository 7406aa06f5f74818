/* SPDX-License-Identifier: MIT */
/*
 * report_plot.c - values over time: the number and durations of calls of a function, or a field of an event
 *
 * The range is cut into parts of equal length; each has a count, and the least, the mean and the greatest value. A call
 * belongs to the part in which it ends.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stream/select/event_field.h"
#include "view/recording_internal.h"

#define PARTS_MAX 4096u

struct part_sum {
	uint64_t count;
	int64_t low, high;
	double sum;
};

struct plot {
	const char *func, *field; /* one of them; func "": all calls */
	size_t nevent, nfield;	  /* bytes of the event's name in field, before the dot; of the field's behind it */
	const char *track;	  /* of events that count several things: which of them; NULL: all */
	const struct view_filter *filter;
	struct view_range range;
	uint64_t width; /* of a part, ns */
	struct part_sum *part;
	size_t n;
};

static int is_track(const struct plot *p, const struct uft_event *ev)
{
	const struct uft_event_field *f = p->track ? plot_track_field(ev->type) : NULL;
	struct uft_field_value v;

	if (!f)
		return !p->track;
	v = uft_event_value(ev, f);
	return v.len == strlen(p->track) && !memcmp(v.bytes, p->track, v.len);
}

/* 1: *v is the value of @ev to plot; 0: the event is another one; -1: it has no value, and is counted. */
static int value_of(const struct plot *p, const struct uft_event *ev, int64_t *v)
{
	if (p->field) {
		const struct uft_event_field *f;

		if (ev->kind != UFT_EV_DATA || !UFT_EVENT_IS_NAMED(ev->data) || !ev->type ||
		    strlen(ev->type->name) != p->nevent || memcmp(ev->type->name, p->field, p->nevent) != 0)
			return 0;
		f = uft_event_field(ev->type, p->field + p->nevent + 1, p->nfield);
		if (!f || !plot_is_field(f) || !is_track(p, ev))
			return 0;
		*v = uft_event_value(ev, f).number;
		return 1;
	}
	if (ev->kind != UFT_EV_EXIT && ev->kind != UFT_EV_LEFT && ev->kind != UFT_EV_FUNC)
		return 0;
	if (*p->func && (!ev->sym || !ev->sym->name || strcmp(ev->sym->name, p->func) != 0))
		return 0;
	*v = (int64_t)ev->duration_ns;
	return ev->kind == UFT_EV_FUNC || ev->flags & UFT_EVF_ORPHAN ? -1 : 1;
}

static void add(struct plot *p, uint64_t t, int has_value, int64_t v)
{
	uint64_t at = t > p->range.from ? (t - p->range.from) / p->width : 0;
	struct part_sum *s = &p->part[at < p->n ? at : p->n - 1];

	s->count++;
	if (has_value < 0)
		return;
	s->low = s->count == 1 || v < s->low ? v : s->low;
	s->high = s->count == 1 || v > s->high ? v : s->high;
	s->sum += (double)v;
}

static void put_series(struct json *j, const char *key, const struct plot *p, int which)
{
	char text[64];

	json_key(j, key);
	json_raw(j, "[");
	for (size_t i = 0; i < p->n; i++) {
		const struct part_sum *s = &p->part[i];

		json_comma(j);
		if (!s->count) {
			json_raw(j, which ? "null" : "0");
			continue;
		}
		if (which == 2)
			snprintf(text, sizeof(text), "%.3f", s->sum / (double)s->count);
		else
			snprintf(text, sizeof(text), "%lld",
				 which == 0 ? (long long)s->count : (long long)(which == 1 ? s->low : s->high));
		json_raw(j, text);
	}
	json_raw(j, "]");
}

static void put_plot(struct json *j, const struct plot *p)
{
	json_raw(j, "{\"state\":\"done\"");
	json_key_u(j, "from", p->range.from);
	json_key_u(j, "width", p->width);
	put_series(j, "count", p, 0);
	put_series(j, "low", p, 1);
	put_series(j, "mean", p, 2);
	put_series(j, "high", p, 3);
	json_raw(j, "}");
}

static void add_stream(struct plot *p, const struct report_sources *from)
{
	struct uft_event ev[BATCH];
	size_t n;

	while ((n = uft_stream_batch(from->st, ev, BATCH)) != 0)
		for (size_t i = 0; i < n; i++) {
			uint64_t t = ev[i].ts_ns > from->origin_ns ? ev[i].ts_ns - from->origin_ns : 0;
			int64_t v = 0;
			int has_value = value_of(p, &ev[i], &v);

			if (has_value && view_filter_match(p->filter, &ev[i]))
				add(p, t + from->offset, has_value, v);
		}
}

int report_plot(struct report *r)
{
	struct report_sources from = {.p = r};
	struct plot p = {.filter = r->filter, .range = r->q.range, .n = r->q.width < PARTS_MAX ? r->q.width :
		PARTS_MAX};
	uint64_t length = p.range.to - p.range.from;
	int ret = 0;

	p.n = p.n > length ? length : p.n ? p.n : 1;
	p.width = (length + p.n - 1) / p.n;
	if (r->q.text[0] == 'e') {
		p.field = r->q.text + 1;
		p.nevent = strcspn(p.field, ".");
		ret = p.field[p.nevent] ? 0 : -EINVAL;
		p.nfield = ret ? 0 : strcspn(p.field + p.nevent + 1, "\n");
		p.track = ret || !p.field[p.nevent + 1 + p.nfield] ? NULL : p.field + p.nevent + 2 + p.nfield;
	} else {
		p.func = r->q.text + 1;
	}
	p.part = calloc(p.n, sizeof(*p.part));
	if (!ret && !p.part)
		ret = -ENOMEM;
	while (!ret && (ret = report_next(&from)) > 0) {
		add_stream(&p, &from);
		ret = 0;
	}
	report_end(&from);
	if (!ret)
		put_plot(&r->answer, &p);
	free(p.part);
	return ret ? ret : r->answer.err;
}
