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

/* @text: NULL takes it out. What it was is freed. */
static int set_filter(struct instance *in, uint32_t i, const char *text)
{
	struct settings set = in->set;
	char *old = set.event_filter[i];
	int ret;

	set.event_filter[i] = text ? strdup(text) : NULL;
	if (text && !set.event_filter[i])
		return -ENOMEM;
	ret = tree_apply(in, &set, NULL);
	free(ret ? set.event_filter[i] : old);
	if (!ret)
		replace(&in->event_error[i], NULL);
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
	struct instance *in = h->at.in;
	struct uft_filter_error err = { "Error", 0 };
	uint32_t i = h->at.index;
	int ret, undone = 0, is_wrong = 0;
	char *text = take_filter(p, n, &ret);

	if (!text)
		return ret;
	if (!strcmp(text, "0"))
		ret = set_filter(in, i, NULL);
	else if (!(ret = try_filter(i, text, &err)))
		ret = set_filter(in, i, text);
	else if (ret != -ENOMEM)
		is_wrong = !(undone = set_filter(in, i, NULL));
	if (is_wrong) {
		replace(&in->event_error[i], refused_text(text, &err));
		h->wrong = err.what;
		h->wrong_at = err.at;
	}
	free(text);
	return undone ? undone : ret ? ret : (ssize_t)n;
}

int show_system_filter(const struct place *at, struct tree_text *out)
{
	(void)at;
	text_printf(out, "### global filter ###\n# Use this to set filters for multiple events.\n"
		    "# Only events with the given fields will be affected.\n# If no events are modified, an error message will be displayed here\n");
	return 0;
}

/* Those that have its fields get it, the others have none then, and say why. The write is not refused, as in the kernel. */
static int set_if_fits(struct instance *in, uint32_t i, const char *text)
{
	static const struct uft_filter_error none = { "Couldn't find or set field in one of a subsystem's events", 0 };
	struct uft_filter_error err;
	int is_out = !strcmp(text, "0"), ret = is_out ? 0 : try_filter(i, text, &err), fits = !ret;

	if (ret == -ENOMEM)
		return ret;
	ret = set_filter(in, i, is_out || !fits ? NULL : text);
	if (!ret && !fits)
		replace(&in->event_error[i], refused_text(text, &none));
	return ret;
}

ssize_t store_system_filter(struct uft_handle *h, const char *p, size_t n)
{
	uint32_t all = events_of(&h->at);
	int ret;
	char *text = take_filter(p, n, &ret);

	for (uint32_t i = 0; text && !ret && i < UFT_NEVENT_TYPES; i++)
		if (all >> i & 1)
			ret = set_if_fits(h->at.in, i, text);
	free(text);
	return ret ? ret : (ssize_t)n;
}

void event_free(struct instance *in)
{
	for (uint32_t i = 0; i < UFT_NEVENT_TYPES; i++) {
		free(in->set.event_filter[i]);
		free(in->event_error[i]);
	}
}
