/* SPDX-License-Identifier: MIT */
/*
 * synthetic_events.c - synthetic_events and dynamic_events: event types that a user defines
 *
 * synthetic_events takes `NAME TYPE FIELD[; TYPE FIELD]..`, and `!NAME`; dynamic_events the same as
 * `s:[synthetic/]NAME ...` and `-:[synthetic/]NAME`, and user_events (user_events.c): `u:NAME[ FIELDS]` and
 * `-:[user_events/]NAME[ FIELDS]`. A type joins the session's table, so its files exist at once, in
 * each instance. A type in use cannot be removed: a histogram makes its events, it has a trigger, or it is on. Opening
 * either file with > removes all types. As in the kernel it removes none if a histogram makes events of one, else the
 * types before the first in use.
 */
#include "tree/files/rows.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int put_all(const struct place *at, const char *before, struct tree_text *out)
{
	for (const struct uft_synth *s = at->t->synths.first; s; s = s->next) {
		text_printf(out, "%s%s\t", before, s->name);
		for (uint32_t i = 0; i < s->nfields; i++)
			text_printf(out, "%s%s %s", i ? "; " : "", s->field[i].type, s->field[i].name);
		text_printf(out, "\n");
	}
	return 0;
}

int show_synthetic_events(const struct place *at, struct tree_text *out)
{
	return put_all(at, "", out);
}

int show_dynamic_events(const struct place *at, struct tree_text *out)
{
	put_all(at, "s:synthetic/", out);
	user_events_show(at->t, out);
	return 0;
}

/* ---- Removing -------------------------------------------------------------------------------- */

static int is_used(const struct uft_tree *t, const struct uft_synth *s)
{
	uint32_t event = s->type->index;

	for (const struct instance *in = t->instances; in; in = in->next)
		if (uft_event_set_has(&in->set.events, event) || trigger_switches(in, event) ||
		    trigger_wants_event(in, event))
			return 1;
	return s->refs != 0;
}

/* Removes the type with its filters. */
static void take_out(struct uft_tree *t, struct uft_synth *s)
{
	event_forget(t, s->type->index);
	uft_synth_remove(&t->synths, tree_types(t), s);
}

int truncate_synthetic_events(const struct place *at)
{
	for (const struct uft_synth *s = at->t->synths.first; s; s = s->next)
		if (s->refs)
			return -EBUSY;
	while (at->t->synths.first && !is_used(at->t, at->t->synths.first))
		take_out(at->t, at->t->synths.first);
	return at->t->synths.first ? -EBUSY : 0;
}

/* As in the kernel, a user event in use keeps all types. */
int truncate_dynamic_events(const struct place *at)
{
	int ret = user_events_are_busy(at->t) ? -EBUSY : truncate_synthetic_events(at);

	if (!ret)
		user_events_remove_all(at->t);
	return ret;
}

static int remove_by_name(struct uft_tree *t, const char *name, size_t n)
{
	struct uft_synth *s = uft_synth_find(&t->synths, name, n);

	if (!s)
		return -ENOENT;
	if (is_used(t, s))
		return -EBUSY;
	take_out(t, s);
	return 0;
}

/* ---- Commands -------------------------------------------------------------------------------- */

static int refuse(struct uft_handle *h, int ret, const char *what, const char *command, size_t at)
{
	error_put(h->at.in, "synthetic_events", what, command, strlen(command), at);
	h->is_noted = 1;
	return ret;
}

/* @text: a part of @command. */
static int define(struct uft_handle *h, const char *command, const char *text)
{
	struct uft_synth_error err = { NULL, 0 };
	struct uft_synth *s;
	int ret = uft_synth_parse(&h->t->synths, text, command, &s, &err);

	if (ret && err.what)
		return refuse(h, ret, err.what, command, err.at);
	if (ret)
		return ret;
	ret = uft_synth_add(&h->t->synths, tree_types(h->t), s);
	if (ret)
		uft_synth_free(s);
	return ret;
}

static int do_synthetic(struct uft_handle *h, const char *line)
{
	const char *command = line + strspn(line, " \t");

	if (*command == '!')
		return remove_by_name(h->t, command + 1, strcspn(command + 1, " \t"));
	return define(h, command, command);
}

static int is_group(const char *name, const char *end, const char *group)
{
	return (size_t)(end - name) == strlen(group) && !memcmp(name, group, strlen(group));
}

/*
 * `-:[GROUP/]NAME`, or `!` with anything and a `:` before that. @command: up to the first blank it says what is
 * removed; the rest are the fields of a user event, without which it is another one.
 */
static int remove_dynamic(struct uft_tree *t, const char *command)
{
	size_t n = strcspn(command, " \t");
	const char *colon = memchr(command, ':', n), *name = colon + 1, *group, *args = command + n;
	int ret;

	if (!colon || (*command == '-' && colon != command + 1))
		return -EINVAL;
	n -= (size_t)(name - command);
	group = memchr(name, '/', n);
	if (!n)
		return -EINVAL;
	ret = group && !is_group(name, group, "synthetic") ? -ENOENT :
		remove_by_name(t, group ? group + 1 : name, n - (group ? (size_t)(group + 1 - name) : 0));
	if (ret != -ENOENT ||
	    (group && !is_group(name, group, "user_events") && !is_group(name, group, "user_events_multi")))
		return ret;
	return user_events_remove(t, group ? group + 1 : name, n - (group ? (size_t)(group + 1 - name) : 0), args);
}

/* Its messages are the kernel's, which tests in this order: a command of one word has no group. */
static int do_dynamic(struct uft_handle *h, const char *line)
{
	const char *command = line + strspn(line, " \t"), *text = command + 2;

	if (*line == '!' || *line == '-')
		return remove_dynamic(h->t, line);
	if (command[0] == 'u' && command[1] == ':') {
		h->is_noted = 1;	/* the kernel writes nothing to error_log */
		return user_events_create(h->t, text + strspn(text, " \t"));
	}
	if (command[0] != 's' || command[1] != ':')
		return -EINVAL;
	if (!strpbrk(command, " \t"))
		return refuse(h, -EINVAL, "Command must be of the form: <name> field[;field] ...", command, 0);
	if (strchr(text, '/') && strncmp(text, "synthetic/", 10))
		return refuse(h, -EINVAL, "Command must be of the form: s or -:[synthetic/]<name> field[;field] ...",
			      command, 0);
	text += strchr(text, '/') ? 10 : 0;
	if (!*text || isspace((unsigned char)*text))
		return refuse(h, -EINVAL, "Command must be of the form: <name> field[;field] ...", command, 0);
	return define(h, command, text);
}

#define LINE_BYTES	4095u	/* the kernel's bound: a line with its \n is not longer */

/* Runs each line, without the comment after #, until one is refused. */
static ssize_t each_line(struct uft_handle *h, const char *p, size_t n,
			 int (*one)(struct uft_handle *h, const char *line))
{
	char *copy = memchr(p, '\0', n) ? NULL : strndup(p, n), *rest = copy, *line;
	int ret = copy ? 0 : memchr(p, '\0', n) ? -EINVAL : -ENOMEM;

	while (!ret && (line = strsep(&rest, "\n"))) {
		if (strlen(line) + (rest != NULL) > LINE_BYTES) {
			h->wrong = "Line has more than 4095 bytes, as many as a kernel takes";
			ret = -EINVAL;
			break;
		}
		line[strcspn(line, "#")] = '\0';
		if (line[strspn(line, " \t")])
			ret = one(h, line);
	}
	free(copy);
	return ret ? ret : (ssize_t)n;
}

ssize_t store_synthetic_events(struct uft_handle *h, const char *p, size_t n)
{
	return each_line(h, p, n, do_synthetic);
}

ssize_t store_dynamic_events(struct uft_handle *h, const char *p, size_t n)
{
	return each_line(h, p, n, do_dynamic);
}
