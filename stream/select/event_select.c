/* SPDX-License-Identifier: MIT */
/*
 * event_select.c - events by name that a reader asks for: `EVENT[,EVENT...]:FILTER`
 *
 * As in trace-cmd report -F: EVENT is a word as of set_event with a slash or a colon between system and name, FILTER
 * has the kernel's grammar or is empty. An event passes if any selection that names its type lets it pass. A filter
 * that fits none of the types that its words name is refused, with the reason for the last type.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stream/select/event_record.h"
#include "stream/select/select.h"
#include "symbol/array.h"
#include "symbol/event_filter.h"

struct sel_events {
	uint32_t ntypes;
	/* by index in the table */
	struct sel_type { struct uft_program **program; uint32_t n; int is_all; } type[];
};

static int is_name_byte(char c)
{
	return isalnum((unsigned char)c) || strchr("_*?, ", c);
}

const char *uft_select_event_filter(const char *text)
{
	const char *colon = strchr(text, ':'), *second = colon ? colon + 1 : NULL;

	if (!colon || colon == text || *second == ':' || !strncmp(colon, ":mod:", 5))
		return NULL;
	if (memchr(text, '/', (size_t)(colon - text)))
		return second;
	while (*second && is_name_byte(*second))	/* SYSTEM:EVENT:FILTER? */
		second++;
	return *second == ':' && second > colon + 1 ? second + 1 : colon + 1;
}

/* Does the word, one of those before the filter, mean @type? */
static int names_type(const char *word, size_t n, const struct uft_event_type *type)
{
	char copy[256], *slash;

	while (n && (*word == ' ' || *word == '\t'))
		word++, n--;
	while (n && (word[n - 1] == ' ' || word[n - 1] == '\t'))
		n--;
	if (!n || n >= sizeof(copy))
		return 0;
	memcpy(copy, word, n);
	copy[n] = '\0';
	slash = strchr(copy, '/');
	if (slash)
		*slash = ':';
	return uft_event_matches(copy, n, type);
}

static int names(const char *text, const char *filter, const struct uft_event_type *type)
{
	const char *end = filter - 1;

	for (const char *word = text; word < end;) {
		const char *comma = memchr(word, ',', (size_t)(end - word));
		const char *to = comma ? comma : end;

		if (names_type(word, (size_t)(to - word), type))
			return 1;
		word = to + 1;
	}
	return 0;
}

static int add_program(struct sel_type *t, struct uft_program *program)
{
	if (array_resize(t->program, t->n + 1)) {
		free(program);
		return -ENOMEM;
	}
	t->program[t->n++] = program;
	return 0;
}

static int add_text(struct sel_events *e, const struct uft_event_table *types, const char *text, struct uft_error *err)
{
	const char *filter = uft_select_event_filter(text), *body;
	struct uft_filter_error why = { "", 0 };
	int is_named = 0, is_taken = 0;

	if (!filter)
		return uft_fail(err, -EINVAL, "'%s' is not EVENT:FILTER, like sched_process_exit:prio > 100", text);
	body = filter + strspn(filter, " \t");
	for (uint32_t i = 0; i < e->ntypes; i++) {
		const struct uft_event_type *type = uft_event_table_at(types, i);
		struct uft_program *program;
		int ret;

		if (!type || !names(text, filter, type))
			continue;
		is_named = 1;
		if (!*body || !strcmp(body, "1")) {
			e->type[i].is_all = is_taken = 1;
			continue;
		}
		ret = uft_event_filter_make(type, body, &program, &why);
		ret = ret == -ENOMEM ? ret : ret ? 0 : add_program(&e->type[i], program);
		if (ret)
			return uft_fail(err, ret, "out of memory");
		is_taken |= e->type[i].n != 0;
	}
	if (!is_named)
		return uft_fail(err, -EINVAL, "the recording has no event that '%.*s' names (uft stat lists them)",
				(int)(filter - 1 - text), text);
	return is_taken ? 0 : uft_fail(err, -EINVAL, "%s\n    %s\n    %*s^", why.what, body, (int)why.at, "");
}

int sel_events(struct selection *s, const struct uft_event_table *types, const char *const *text, size_t n,
	       struct uft_error *err)
{
	uint32_t ntypes = uft_event_table_count(types);
	int ret = 0;

	if (!n)
		return 0;
	s->events = calloc(1, sizeof(*s->events) + ntypes * sizeof(s->events->type[0]));
	if (!s->events)
		return uft_fail(err, -ENOMEM, "out of memory");
	s->events->ntypes = ntypes;
	for (size_t i = 0; i < n && !ret; i++)
		ret = add_text(s->events, types, text[i], err);
	return ret;
}

int sel_wants_event(const struct selection *s, const struct uft_event *ev)
{
	const struct sel_type *t =
		ev->type && ev->type->index < s->events->ntypes ? &s->events->type[ev->type->index] : NULL;

	for (uint32_t i = 0; t && i < t->n; i++)
		if (uft_event_accepts(t->program[i], ev))
			return 1;
	return t && t->is_all;
}

void sel_events_free(struct selection *s)
{
	for (uint32_t i = 0; s->events && i < s->events->ntypes; i++) {
		for (uint32_t k = 0; k < s->events->type[i].n; k++)
			free(s->events->type[i].program[k]);
		free(s->events->type[i].program);
	}
	free(s->events);
}
