/* SPDX-License-Identifier: MIT */
/*
 * event_trigger_word.c - `[!]COMMAND[:ARGUMENTS][:COUNT][ if FILTER]`, as it is written into a trigger file
 *
 * graph:stop is a command of its own, with a name of two words. The argument of a plain command is a count, which
 * begins with a digit; other text is the filter, which begins with `if`. Histograms have blanks in their text: there
 * the filter begins at an `if` between blanks.
 */
#include "tree/triggers/event_trigger.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *const event_trigger_word[EVT_NACTIONS] = {
	"traceoff",	"traceon",	 "stacktrace",	"snapshot",	"graph", "graph:stop",
	"enable_event", "disable_event", "enable_hist", "disable_hist", "hist",
};

static char *skip(char *p)
{
	while (isspace((unsigned char)*p))
		p++;
	return p;
}

/* Reads the second word of a command's name, if it has two, and moves *text behind it. */
static enum event_action take_name(enum event_action action, char **text)
{
	const size_t n = strlen("stop");
	char *p = *text;

	if (action != EVT_GRAPH || !p || strncmp(p, "stop", n) ||
	    (p[n] && p[n] != ':' && !isspace((unsigned char)p[n])))
		return action;
	p = p[n] ? skip(p + n + 1) : NULL;
	*text = p && *p ? p : NULL;
	return EVT_GRAPH_STOP;
}

static int find_action(const char *word)
{
	for (int i = 0; i < EVT_NACTIONS; i++)
		if (!strcmp(word, event_trigger_word[i]))
			return i;
	return -1;
}

int event_trigger_set_filter(struct event_trigger *v, const struct uft_event_type *type, const char *text,
			     struct event_command *c)
{
	struct uft_filter_error err = { "Error", 0 };
	int ret = strlen(text) >= UFT_FILTER_BYTES ? -EINVAL : uft_event_filter_make(type, text, &v->program, &err);

	if (ret && ret != -ENOMEM) {
		c->filter_wrong = err.what;
		c->filter_at = err.at;
		free(c->filter);
		c->filter = strdup(text);
	}
	v->filter = ret ? NULL : strdup(text);
	return ret ? ret : v->filter ? 0 : -ENOMEM;
}

/* `if FILTER`. */
static int take_filter(struct event_trigger *v, const struct uft_event_type *type, char *text, struct event_command *c)
{
	char *word = strsep(&text, " \t");

	if (strcmp(word, "if") || !text)
		return -EINVAL;
	return event_trigger_set_filter(v, type, text, c);
}

static int take_count(struct event_trigger *v, const char *text)
{
	if (!*text)
		return 0;
	v->has_count = 1;
	return text_number(text, strlen(text), 0, &v->left);
}

/* SYSTEM:EVENT[:COUNT]; a removal ignores the count. */
static int take_target(const struct uft_event_table *types, struct event_trigger *v, char *text, int is_not)
{
	char *system = strsep(&text, ":"), *event = text ? strsep(&text, ":") : NULL;
	const struct uft_event_type *type =
		event ? uft_event_table_find(types, system, strlen(system), event, strlen(event)) : NULL;

	if (!type)
		return -EINVAL;
	v->target = type->index;
	if (!text || is_not)
		return 0;
	return *text && *text != ':' ? take_count(v, strsep(&text, ":")) : -EINVAL;
}

static int take_plain(struct instance *in, struct event_trigger *v, const struct uft_event_type *type, char *text,
		      struct event_command *c)
{
	int has_target = v->action >= EVT_ENABLE, ret = 0;
	char *filter = text, *argument = NULL;

	if (!text)
		return has_target ? -EINVAL : 0;
	if (has_target || isdigit((unsigned char)*text)) {
		argument = strsep(&filter, " \t");
		filter = filter ? skip(filter) : NULL;
	}
	if (argument && has_target)
		ret = take_target(tree_types(in->t), v, argument, c->is_not);
	else if (argument && !c->is_not)
		ret = take_count(v, strsep(&argument, ":"));
	if (c->is_not)		/* whatever its count and filter */
		return ret;
	return !ret && filter && *filter ? take_filter(v, type, filter, c) : ret;
}

static void strip_end(char *p)
{
	size_t n = strlen(p);

	while (n && isspace((unsigned char)p[n - 1]))
		p[--n] = '\0';
}

static int take_hist(struct instance *in, struct event_trigger *v, const struct uft_event_type *type, char *text,
		     struct event_command *c)
{
	char *filter = text ? uft_hist_find_filter(text) : NULL;
	struct uft_hist_set *hists = event_trigger_hists(in);
	int ret;

	if (!text || filter == text || (filter && (!filter[2] || !filter[3])))
		return -EINVAL;
	if (!hists)
		return -ENOMEM;
	free(c->command);
	if (asprintf(&c->command, "hist:%s", text) < 0) {
		c->command = NULL;
		return -ENOMEM;
	}
	if (filter)
		filter[-1] = '\0';
	strip_end(text);
	ret = uft_hist_make(hists, type, text, c->is_not, &v->hist, &c->errors);
	return !ret && filter ? take_filter(v, type, filter, c) : ret;
}

static int refuse(struct event_command *c, const char *what)
{
	c->errors.v[0].what = what;
	c->errors.v[0].at = 0;
	c->errors.n = 1;
	return -EOPNOTSUPP;
}

/* Checks that the command is possible for the event. */
static int check(const struct event_trigger *v, const struct uft_event_type *type, struct event_command *c)
{
	int is_graph = v->action == EVT_GRAPH || v->action == EVT_GRAPH_STOP;

	if (!type->object && event_trigger_needs_stack(v)) {
		if (!(type->tasks & UFT_TASKS_STACKS))
			return refuse(c, type->tasks & UFT_TASKS_EXEC ?
				      "An exec has no stack: the program that made it is gone" :
				      "Only events of tracepoints and of sched have stacks");
		if (uft_session_check_stacks(&(struct uft_error){ "" }))
			return refuse(c,
				      "Events of sched have stacks where the kernel's tracepoints may be read: root");
	}
	if (!type->object && is_graph)
		return refuse(c, "Only events of tracepoints switch the graph");
	if (is_graph && v->program && v->program->facts & (UFT_FACT_COMM | UFT_FACT_FUNCTION))
		return refuse(c, "The graph is switched where names of threads and functions are not known");
	return 0;
}

int event_trigger_parse(struct instance *in, struct event_command *c, struct event_trigger **out)
{
	const struct uft_event_type *type = uft_event_table_at(tree_types(in->t), c->event);
	char *copy = strdup(c->text), *rest = copy, *word;
	struct event_trigger *v = calloc(1, sizeof(*v));
	int ret = copy && v ? 0 : -ENOMEM, action = -1;

	if (!ret) {
		word = strsep(&rest, ": \t");
		c->is_not = *word == '!';
		action = find_action(word + c->is_not);
		rest = rest ? skip(rest) : NULL;
		rest = rest && *rest ? rest : NULL;
	}
	ret = ret ? ret : type ? 0 : -ENODEV;
	if (!ret && action < 0)
		ret = -EINVAL;
	if (!ret) {
		v->event = c->event;
		v->action = take_name((enum event_action)action, &rest);
		ret = v->action == EVT_HIST ? take_hist(in, v, type, rest, c) : take_plain(in, v, type, rest, c);
	}
	free(copy);
	ret = ret || c->is_not ? ret : check(v, type, c);
	if (ret)
		event_trigger_free(v);
	else
		*out = v;
	return ret;
}
