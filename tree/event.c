/* SPDX-License-Identifier: MIT */
/*
 * event.c - set_event, available_events, events/: which events are recorded, and which of them a filter lets through
 *
 * The events are those of symbol/event_type.c. One that is on is on for its instance: the session asks for what any of them wants
 * (share.c), each buffer shows its own. One that functions switch (trigger_event.c) is recorded all the time: in set_event it counts as on, its
 * own file says which it is, and that it may change: `0*`, `1*`. events/ftrace/ describes the records of the tracers and cannot be switched, as in the kernel.
 * A filter that is refused takes the one before it out, and its file shows it with the mistake, until another is written.
 */
#include "stream/event_filter.h"
#include "tree/rows.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ALL_EVENTS	((1u << UFT_NEVENT_TYPES) - 1)

int show_nothing(const struct place *at, struct tree_text *out)
{
	(void)at, (void)out;
	return 0;
}

/* ---- On and off ------------------------------------------------------------------------------ */

static void show_names(uint32_t events, struct tree_text *out)
{
	for (uint32_t i = 0; i < UFT_NEVENT_TYPES; i++)
		if (events >> i & 1)
			text_printf(out, "%s:%s\n", uft_event_types[i].system, uft_event_types[i].name);
}

int show_available_events(const struct place *at, struct tree_text *out)
{
	(void)at;
	show_names(ALL_EVENTS, out);
	return 0;
}

int show_set_event(const struct place *at, struct tree_text *out)
{
	show_names(at->in->set.events | trigger_events(at->in), out);
	return 0;
}

/* Which are on by now: what functions did before comes first. */
static uint32_t events_on(struct instance *in)
{
	if (trigger_events(in))
		tree_pull(in->t);
	return trigger_events_on(in);
}

static int set_events(struct uft_handle *h, struct instance *in, uint32_t events)
{
	uint32_t on = trigger_events_on(in);
	struct settings set = in->set;
	struct uft_error err = { "" };
	int ret;

	if (events == on)
		return 0;
	set.events = events;
	ret = tree_apply(in, &set, &err);
	if (!ret)
		trigger_said(in, events ^ on, events);
	if (ret && ret != -EBUSY && h && h->t->opts.warning && err.text[0])
		h->t->opts.warning(h->t->opts.arg, err.text);	/* the kernel does not tell of tasks here: with the remedy */
	return ret;
}

int truncate_set_event(const struct place *at)
{
	events_on(at->in);
	return set_events(NULL, at->in, 0);
}

/* Words, each with `!` in front if it is to be off. */
ssize_t store_set_event(struct uft_handle *h, const char *p, size_t n)
{
	uint32_t events = events_on(h->at.in);
	int ret;

	for (size_t at = 0, len; at < n; at += len) {
		uint32_t bits;
		int is_not;

		len = isspace((unsigned char)p[at]) != 0;
		if (len)
			continue;
		while (at + len < n && !isspace((unsigned char)p[at + len]))
			len++;
		is_not = p[at] == '!';
		bits = uft_event_types_named(p + at + is_not, len - (size_t)is_not);
		if (!bits) {
			h->wrong = "Event not found";
			h->wrong_at = at;
			return -EINVAL;
		}
		events = is_not ? events & ~bits : events | bits;
	}
	ret = set_events(h, h->at.in, events);
	return ret ? ret : (ssize_t)n;
}

/* Which of them a file is about: one, those of its system, all. */
static uint32_t events_of(const struct place *at)
{
	const char *path = at->row->pub.path + strlen("events/"), *slash = strchr(path, '/');

	if (at->row->pub.scope & UFT_SCOPE_EVENT)
		return 1u << at->index;
	return slash ? uft_event_types_named(path, (size_t)(slash - path)) : ALL_EVENTS;
}

/* `X`: some are. */
int show_events_enable(const struct place *at, struct tree_text *out)
{
	uint32_t all = events_of(at), on = (at->in->set.events | trigger_events(at->in)) & all;

	text_printf(out, "%s\n", !on ? "0" : on == all ? "1" : "X");
	return 0;
}

ssize_t store_events_enable(struct uft_handle *h, const char *p, size_t n)
{
	uint32_t all = events_of(&h->at), events = events_on(h->at.in);
	uint64_t on;
	int ret = text_number(p, n, 10, &on);

	if (!ret && on > 1)
		ret = -EINVAL;
	if (!ret)
		ret = set_events(h, h->at.in, on ? events | all : events & ~all);
	return ret ? ret : (ssize_t)n;
}

int show_event_enable(const struct place *at, struct tree_text *out)
{
	uint32_t bit = events_of(at);

	text_printf(out, "%d%s\n", (events_on(at->in) & bit) != 0, trigger_events(at->in) & bit ? "*" : "");
	return 0;
}

ssize_t store_event_enable(struct uft_handle *h, const char *p, size_t n)
{
	return store_events_enable(h, p, n);
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

/* ---- Filters --------------------------------------------------------------------------------- */

static void replace(char **at, char *text)
{
	free(*at);
	*at = text;
}

/* What the file of a refused one shows, as the kernel's append_filter_err(); the caret is below the place. NULL: no memory. */
static char *refused_text(const char *text, const struct uft_filter_error *err)
{
	struct tree_text out = { 0 };

	if (!strcmp(err->what, "Error"))
		text_printf(&out, "%s\nError: (0)\n", text);
	else
		text_printf(&out, "%s\n%*s^\nparse_error: %s\n", text, (int)err->at, "", err->what);
	text_put(&out, "", 1);
	if (!out.error)
		return out.p;
	free(out.p);
	return NULL;
}

/* What each of some events has from now on; malloc'd. @text: NULL: none; @refused: what its file shows instead, or NULL. */
struct filters { uint32_t events; char *text[UFT_NEVENT_TYPES], *refused[UFT_NEVENT_TYPES]; };

/* All of them or none. Takes the texts over. */
static int set_filters(struct instance *in, struct filters *f)
{
	struct settings set = in->set;
	int ret;

	for (uint32_t i = 0; i < UFT_NEVENT_TYPES; i++)
		if (f->events >> i & 1) {
			set.event_filter[i] = f->text[i];
			f->text[i] = in->set.event_filter[i];
		}
	ret = tree_apply(in, &set, NULL);
	for (uint32_t i = 0; i < UFT_NEVENT_TYPES; i++) {
		if (!(f->events >> i & 1))
			continue;
		free(ret ? set.event_filter[i] : f->text[i]);
		if (ret)
			free(f->refused[i]);
		else
			replace(&in->event_error[i], f->refused[i]);
	}
	return ret;
}

/* Is there such a filter? As uft_event_filter_make(). */
static int try_filter(uint32_t i, const char *text, struct uft_filter_error *err)
{
	struct uft_event_filter *f;
	int ret = uft_event_filter_make(&uft_event_types[i], text, &f, err);

	if (!ret)
		uft_event_filter_free(f);
	return ret;
}

/* One write, without blanks around it. malloc'd; NULL: *ret. */
static char *take_filter(const char *p, size_t n, int *ret)
{
	char *text;

	text_strip(&p, &n);
	*ret = n >= UFT_FILTER_BYTES ? -E2BIG : memchr(p, '\0', n) ? -EINVAL : 0;
	text = *ret ? NULL : strndup(p, n);
	*ret = *ret || text ? *ret : -ENOMEM;
	return text;
}

int show_event_filter(const struct place *at, struct tree_text *out)
{
	const char *refused = at->in->event_error[at->index], *text = at->in->set.event_filter[at->index];

	text_printf(out, "%s\n", refused ? refused : text ? text : "none");
	return 0;
}

ssize_t store_event_filter(struct uft_handle *h, const char *p, size_t n)
{
	struct uft_filter_error err = { "Error", 0 };
	uint32_t i = h->at.index;
	struct filters f = { .events = 1u << i };
	int ret, undone, is_out;
	char *text = take_filter(p, n, &ret);

	if (!text)
		return ret;
	is_out = !strcmp(text, "0");
	ret = is_out ? 0 : try_filter(i, text, &err);
	if (ret && ret != -ENOMEM) {
		f.refused[i] = refused_text(text, &err);
		ret = f.refused[i] ? ret : -ENOMEM;
	}
	if (is_out || ret)
		free(text);
	else
		f.text[i] = text;
	if (ret == -ENOMEM)
		return ret;
	undone = set_filters(h->at.in, &f);
	if (ret && !undone) {
		h->wrong = err.what;
		h->wrong_at = err.at;
	}
	return undone ? undone : ret ? ret : (ssize_t)n;
}

int show_system_filter(const struct place *at, struct tree_text *out)
{
	(void)at;
	text_printf(out, "### global filter ###\n# Use this to set filters for multiple events.\n"
		    "# Only events with the given fields will be affected.\n# If no events are modified, an error message will be displayed here\n");
	return 0;
}

/* What the event @i has then: @text if that is of its fields, else none, and its file says why. 0, -ENOMEM. */
static int fit_filter(struct filters *f, uint32_t i, const char *text)
{
	static const struct uft_filter_error none = { "Couldn't find or set field in one of a subsystem's events", 0 };
	struct uft_filter_error err;
	int ret = try_filter(i, text, &err);
	char **to = ret ? &f->refused[i] : &f->text[i];

	if (ret == -ENOMEM)
		return ret;
	*to = ret ? refused_text(text, &none) : strdup(text);
	return *to ? 0 : -ENOMEM;
}

/* Those that have its fields get it, the others have none then. The write is not refused, as in the kernel. */
ssize_t store_system_filter(struct uft_handle *h, const char *p, size_t n)
{
	struct filters f = { .events = events_of(&h->at) };
	int ret;
	char *text = take_filter(p, n, &ret);

	for (uint32_t i = 0; text && !ret && i < UFT_NEVENT_TYPES; i++)
		if (f.events >> i & 1 && strcmp(text, "0"))
			ret = fit_filter(&f, i, text);
	for (uint32_t i = 0; ret && i < UFT_NEVENT_TYPES; i++) {
		free(f.text[i]);
		free(f.refused[i]);
	}
	free(text);
	ret = ret ? ret : set_filters(h->at.in, &f);
	return ret ? ret : (ssize_t)n;
}

void event_free(struct instance *in)
{
	for (uint32_t i = 0; i < UFT_NEVENT_TYPES; i++) {
		free(in->set.event_filter[i]);
		free(in->event_error[i]);
	}
}
