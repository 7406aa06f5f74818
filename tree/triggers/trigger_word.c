/* SPDX-License-Identifier: MIT */
/* trigger_word.c - parse and show commands in set_ftrace_filter; theory: trigger.c */
#include "tree/triggers/trigger_internal.h"

#include <errno.h>
#include <string.h>

static const char *const name[NACTIONS] = { "traceoff", "traceon", "stacktrace", "snapshot", "dump", "cpudump",
	"enable_event", "disable_event" };

static int is_word(const char *p, size_t n, const char *word)
{
	return strlen(word) == n && !memcmp(p, word, n);
}

static int find_action(const char *p, size_t n, enum action *out)
{
	for (int i = 0; i < NACTIONS; i++)
		if (is_word(p, n, name[i])) {
			*out = i;
			return 1;
		}
	return 0;
}

int trigger_refuse(struct command *c, const char *why, size_t at)
{
	c->wrong = why;
	c->wrong_at = at;
	return -EINVAL;
}

/* Finds an event by its whole name; globs are not allowed, as in the kernel. @p: the text after the system. */
static int find_event(const struct uft_event_table *types, const char *system, size_t nsystem, const char *p, size_t n,
		      uint32_t *out)
{
	const struct uft_event_type *type = types ? uft_event_table_find(types, system, nsystem, p, n) : NULL;

	*out = type ? type->index : 0;
	return type != NULL;
}

/* Parses SYSTEM:EVENT of func:enable_event:SYSTEM:EVENT:N. *@arg: the text after it, or NULL. */
static int parse_event(const struct uft_event_table *types, struct command *c, const char *word, const char **arg,
		       uint32_t *event)
{
	const char *system = *arg, *colon = system ? strchr(system, ':') : NULL;
	size_t n;

	if (!colon)
		return trigger_refuse(c, "SYSTEM:EVENT must follow", strlen(word));
	n = strcspn(colon + 1, ":");
	if (!find_event(types, system, (size_t)(colon - system), colon + 1, n, event))
		return trigger_refuse(c, "Event not found", (size_t)(system - word));
	*arg = colon[1 + n] ? colon + n + 2 : NULL;
	return 0;
}

/* Finds the first colon that is not part of a `::`. */
static const char *find_colon(const char *p)
{
	while ((p = strchr(p, ':')) && p[1] == ':')
		p += 2;
	return p;
}

/*
 * Reads the count of a command, up to a colon: what follows is ignored, as in the kernel. There an empty one is -1,
 * and refused if the command switches an event.
 */
static int parse_count(const char *text, enum action action, struct command *out)
{
	size_t n = strcspn(text, ":");

	out->count = UINT64_MAX;
	if (!n)
		return action >= ENABLE ? -EINVAL : 0;
	return text_number(text, n, 0, &out->count);
}

int trigger_parse(const struct uft_event_table *types, const char *word, struct command *out)
{
	int is_not = word[0] == '!', ret;
	const char *glob = word + is_not, *colon = find_colon(glob), *arg;
	enum action action = OFF;
	uint32_t event = 0;
	size_t n = colon ? strcspn(colon + 1, ":") : 0;

	if (!colon || !find_action(colon + 1, n, &action))
		return 0;
	arg = colon[1 + n] ? colon + n + 2 : NULL;
	*out = (struct command){ .is_not = is_not };
	if (colon == glob || (size_t)(colon - glob) >= sizeof(out->glob))
		return trigger_refuse(out, "A function must come before the command", (size_t)(glob - word));
	memcpy(out->glob, glob, (size_t)(colon - glob));
	ret = action >= ENABLE ? parse_event(types, out, word, &arg, &event) : 0;
	if (ret)
		return ret;
	out->kind = kind_of(action, event, arg != NULL);
	/* the kernel's count is always 1, and it does not read one from the word */
	if (action == DUMP || action == CPUDUMP) {
		out->kind = kind_of(action, 0, action == DUMP);
		out->count = 1;
	} else if (arg && !is_not) {
		ret = parse_count(arg, action, out);
		if (ret) {
			trigger_refuse(out, "Invalid count", (size_t)(arg - word));
			return ret;
		}
	}
	return 1;
}

int trigger_is(const char *word)
{
	struct command c;

	return trigger_parse(NULL, word, &c) != 0;	/* which event it names does not matter here */
}

void trigger_show_one(const struct uft_event_table *types, const struct trigger *v, struct tree_text *out)
{
	enum action action = action_of(v->kind);

	text_printf(out, "%s:%s:", v->func, name[action]);
	if (action >= ENABLE) {
		const struct uft_event_type *type = uft_event_table_at(types, event_of(v->kind));

		text_printf(out, "%s:%s:", type->system, type->name);
	}
	if (v->ration && !trigger_is_endless(v))
		text_printf(out, "count=%lld\n", (long long)v->ration->left);
	else
		text_printf(out, "unlimited\n");
}
