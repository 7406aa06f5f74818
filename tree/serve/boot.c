/* SPDX-License-Identifier: MIT */
/*
 * boot.c - settings before the first program starts, in one text in the form of the kernel's command line
 *
 *	ftrace=function_graph ftrace_filter=parse_*:mod:prog,main:mod:prog trace_buf_size=4M
 *	trace_options=funcgraph-proc trace_event=sched:*,shop:order trace_trigger="order.traceoff if id == 3"
 *
 * Each word is a write into a file, with the file's meaning and errors; commas separate the lines of a list. The writes
 * are made in the table's order, not in the text's: the tracer after the settings that it depends on, then its options,
 * triggers before events are on. Quotes keep blanks in a value, as in the kernel's command line.
 *
 * The events of a program become known when it is mapped. uft_tree_expect() makes the events of a file known before it
 * is started. An event of an unknown system is switched on as soon as a program declares it; a trigger needs a known
 * event.
 */
#include "symbol/tracepoint.h"
#include "tree/core/tree_internal.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* @err: the reason why the file refuses the text. */
int uft_tree_put(struct uft_tree *t, const char *file, const char *text, size_t n, struct uft_error *err)
{
	struct uft_handle *h;
	uft_node node;
	int ret = uft_tree_walk(t, file, &node);

	if (!ret)
		ret = uft_tree_open(t, node, O_WRONLY | O_APPEND, 0, &h);
	while (!ret && n) {
		ssize_t done = uft_tree_write(h, text, n);

		if (done <= 0) {
			const char *why = h->wrong ? h->wrong : h->at.row->takes;

			uft_fail(err, 0, "%s%s%s", strerror((int)-done), why ? ": " : "", why ? why : "");
			uft_tree_release(h);
			return done ? (int)done : -EIO;
		}
		text += done;
		n -= (size_t)done;
	}
	return ret ? ret : uft_tree_release(h);
}

/* ---- Events of a program that is to come ----------------------------------------------------- */

struct expected { struct uft_tree *t; struct uft_object *obj; };

static int expect_job(void *arg)
{
	struct expected *x = arg;
	const struct uft_event_type **type;
	struct uft_found_events found;
	int ret = uft_object_events(x->obj, &found);

	if (ret)
		return ret;
	type = calloc(found.nevents + 1, sizeof(*type));
	ret = type ? uft_found_events_add(tree_types(x->t), x->obj, &found, type, tree_warn, x->t) : -ENOMEM;
	if (!ret && found.nevents)
		each_part(x->t, types_found, x->t, type, found.nevents);
	free(type);
	uft_found_events_free(&found);
	return ret;
}

int uft_tree_expect(struct uft_tree *t, const char *path, struct uft_error *err)
{
	struct expected x = { t, NULL };
	int ret = uft_object_open(path, &x.obj, err);

	if (ret)
		return ret;
	ret = tree_call(t, expect_job, &x);
	uft_object_put(x.obj);
	return ret ? uft_fail(err, ret, "%s", strerror(-ret)) : 0;
}

const struct uft_event_table *uft_tree_event_types(const struct uft_tree *t)
{
	return tree_types(t);
}

/* ---- Values ---------------------------------------------------------------------------------- */

/* Bytes, with the kernel's K, M and G, as KiB. */
static int put_size(struct uft_tree *t, const char *file, const char *value, struct uft_error *err)
{
	static const char units[] = "KMG";
	char *end, text[24];
	uint64_t n = strtoull(value, &end, 0);
	const char *unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
	unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;

	if (end == value || !isdigit((unsigned char)*value) || (*end && (!unit || end[1])) ||
	    n > UINT64_MAX >> (shift + 1))
		return uft_fail(err, -EINVAL, "not a number of bytes, or one with K, M or G");
	snprintf(text, sizeof(text), "%llu", (unsigned long long)(((n << shift) + 1023) / 1024));
	return uft_tree_put(t, file, text, strlen(text), err);
}

/* One write for each part between commas. */
static int put_parts(struct uft_tree *t, const char *file, const char *value, struct uft_error *err)
{
	int ret = *value ? 0 : uft_fail(err, -EINVAL, "a value is missing");

	while (!ret && *value) {
		size_t n = strcspn(value, ",");
		char part[512];

		if (n + 2 > sizeof(part))
			return uft_fail(err, -E2BIG, "a part between commas is longer than 510 bytes");
		snprintf(part, sizeof(part), "%.*s\n", (int)n, value);
		ret = uft_tree_put(t, file, part, n + 1, err);
		value += n + (value[n] == ',');
	}
	return ret;
}

/* Does the word match a known event? @of_system: a known system is enough. */
static int is_known(const struct uft_tree *t, const char *word, int of_system)
{
	const struct uft_event_table *types = tree_types(t);
	size_t n = of_system ? strcspn(word, ":") : strlen(word);

	for (uint32_t i = 0; i < uft_event_table_count(types); i++) {
		const struct uft_event_type *type = uft_event_table_at(types, i);

		if (type &&
		    (of_system ? strlen(type->system) == n && !memcmp(type->system, word, n) :
		     uft_event_matches(word, n, type)))
			return 1;
	}
	return 0;
}

int uft_tree_put_event(struct uft_tree *t, const char *word, struct uft_error *err)
{
	int is_later = *word != '!' && strchr(word, ':') && !strstr(word, ":mod:") && !is_known(t, word, 1);
	char text[512];

	if ((size_t)snprintf(text, sizeof(text), "%s%s\n", word, is_later ? ":mod:*" : "") >= sizeof(text))
		return uft_fail(err, -E2BIG, "a part between commas is longer than 500 bytes");
	return uft_tree_put(t, "set_event", text, strlen(text), err);
}

/* Calls @put for each word between commas, which it may change. */
static int put_words(struct uft_tree *t, const char *value, struct uft_error *err,
		     int (*put)(struct uft_tree *t, char *word, struct uft_error *err))
{
	char *copy = strdup(value), *rest = NULL;
	int ret = copy ? *value ? 0 : uft_fail(err, -EINVAL, "a value is missing") : -ENOMEM;

	for (char *word = copy ? strtok_r(copy, ",", &rest) : NULL; word && !ret; word = strtok_r(NULL, ",", &rest))
		ret = put(t, word, err);
	free(copy);
	return ret;
}

static int put_event(struct uft_tree *t, char *word, struct uft_error *err)
{
	return uft_tree_put_event(t, word, err);
}

static int put_events(struct uft_tree *t, const char *file, const char *value, struct uft_error *err)
{
	(void)file;
	return put_words(t, value, err, put_event);
}

int uft_tree_put_of_events(struct uft_tree *t, const char *word, const char *file, const char *text,
			   struct uft_error *err)
{
	int ret = 0, refused = 0, taken = 0;

	for (uint32_t i = 0; i < uft_event_table_count(tree_types(t)) && !ret; i++) {
		const struct uft_event_type *type = uft_event_table_at(tree_types(t), i);
		char path[2 * UFT_TREE_NAME + 32];

		if (!type || !uft_event_matches(word, strlen(word), type))
			continue;
		snprintf(path, sizeof(path), "events/%s/%s/%s", type->system, type->name, file);
		ret = uft_tree_put(t, path, text, strlen(text), err);
		taken += !ret;
		if (ret == -EINVAL && strcmp(file, "trigger")) {	/* as the filter of a system does */
			refused = ret;
			ret = 0;
		}
	}
	if (ret || taken)
		return ret;
	return refused ? refused : uft_fail(err, -EINVAL, "no event '%s' is known yet", word);
}

/* EVENT.TRIGGER */
static int put_trigger(struct uft_tree *t, char *word, struct uft_error *err)
{
	char *trigger = strchr(word, '.');

	if (!trigger)
		return uft_fail(err, -EINVAL, "'%s' is not EVENT.TRIGGER", word);
	*trigger++ = '\0';
	return uft_tree_put_of_events(t, word, "trigger", trigger, err);
}

static int put_triggers(struct uft_tree *t, const char *file, const char *value, struct uft_error *err)
{
	(void)file;
	return put_words(t, value, err, put_trigger);
}

/* ---- The text -------------------------------------------------------------------------------- */

/* @alone: what the key means without a value; NULL: it has one. */
static const struct {
	const char *key, *file;
	int (*put)(struct uft_tree *t, const char *file, const char *value, struct uft_error *err);
	const char *alone;
} words[] = {
	{ "trace_buf_size", "buffer_size_kb", put_size, NULL },
	{ "trace_clock", "trace_clock", put_parts, NULL },
	{ "ftrace_filter", "set_ftrace_filter", put_parts, NULL },
	{ "ftrace_notrace", "set_ftrace_notrace", put_parts, NULL },
	{ "ftrace_graph_filter", "set_graph_function", put_parts, NULL },
	{ "ftrace_graph_notrace", "set_graph_notrace", put_parts, NULL },
	{ "ftrace_graph_max_depth", "max_graph_depth", put_parts, NULL },
	{ "tracing_thresh", "tracing_thresh", put_parts, NULL },
	{ "ftrace", "current_tracer", put_parts, NULL },
	{ "trace_options", "trace_options", put_parts, NULL },
	{ "trace_trigger", "trigger", put_triggers, NULL },
	{ "trace_event", "set_event", put_events, NULL },
	{ "ftrace_dump_on_oops", "ftrace_dump_on_oops", put_parts, "1" },
};
#define NWORDS	(sizeof(words) / sizeof(words[0]))

static int find_key(const char *word)
{
	size_t n = strcspn(word, "=");

	for (size_t k = 0; k < NWORDS; k++)
		if ((word[n] || words[k].alone) && strlen(words[k].key) == n && !memcmp(word, words[k].key, n))
			return (int)k;
	return -1;
}

static int unknown_word(const char *word, struct uft_error *err)
{
	char known[300] = "";
	size_t n = 0;

	for (size_t k = 0; k < NWORDS && n < sizeof(known); k++)
		n += (size_t)snprintf(known + n, sizeof(known) - n, "%s%s", k ? ", " : "", words[k].key);
	return uft_fail(err, -EINVAL, "UFT_TRACE: '%s' is not KEY=VALUE with one of the keys %s", word, known);
}

/* The next word of *rest, as the kernel's next_arg(): blanks between quotes are part of it, quotes are not. */
static char *next_word(char **rest)
{
	char *p = *rest + strspn(*rest, " \t\n"), *word = p, *to = p;
	int is_quoted = 0;

	for (; *p && (is_quoted || !strchr(" \t\n", *p)); p++)
		if (*p == '"')
			is_quoted = !is_quoted;
		else
			*to++ = *p;
	*rest = *p ? p + 1 : p;
	*to = '\0';
	return p == word ? NULL : word;
}

int uft_tree_boot(struct uft_tree *t, const char *line, struct uft_error *err)
{
	char *copy = strdup(line), *rest = copy;
	const char *value[NWORDS] = { NULL };
	struct uft_error why = { "" };
	int ret = copy ? 0 : uft_fail(err, -ENOMEM, "out of memory");

	for (char *w = copy ? next_word(&rest) : NULL; w && !ret; w = next_word(&rest)) {
		int k = find_key(w);

		if (k < 0)
			ret = unknown_word(w, err);
		else
			value[k] = strchr(w, '=') ? strchr(w, '=') + 1 : words[k].alone;
	}
	for (size_t k = 0; k < NWORDS && !ret; k++) {
		if (!value[k])
			continue;
		ret = words[k].put(t, words[k].file, value[k], &why);
		if (ret)
			uft_fail(err, ret, "UFT_TRACE: %s=%s: %s", words[k].key, value[k],
				 why.text[0] ? why.text : strerror(-ret));
	}
	free(copy);
	return ret;
}
