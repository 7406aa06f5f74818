/* SPDX-License-Identifier: MIT */
/*
 * reset.c - uft reset: a session as it was when it began, but for options and sizes
 *
 * As trace-cmd reset: tracer, functions, events with their filters and triggers, tasks, the clock; then events that a
 * user has defined. A histogram can only be removed after the histograms that refer to it, so triggers are removed in
 * rounds, until a round removes none.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/client.h"
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "symbol/array.h"

struct reset_opts { const char *session, *instance; uint64_t buffer; int all, remove; };

#define F(field) offsetof(struct reset_opts, field)
static const struct cmd_option reset_options[] = {
	CMD_SESSION(F(session)),
	CMD_INSTANCE(F(instance)),
	{ "all", 'a', NULL, "reset the top and all instances", cmd_flag, F(all), NULL },
	{ "delete", 'd', NULL, "remove the instance of -B, or with -a all instances, instead of resetting them",
		cmd_flag, F(remove), NULL },
	{ "buffer-size", 'b', "KB", "also set the size of each CPU's ring buffer", cmd_kb, F(buffer), NULL },
	{ 0 }
};
#undef F

static const struct cmd_syntax reset_syntax = {
	"reset", "[OPTIONS]", "Reset all tracing settings of a session, and clear its buffers.", reset_options, 0
};

static int put(const struct reset_opts *o, const char *instance, const char *file, const char *text,
	       struct uft_error *err)
{
	char path[CLIENT_PATH];

	return client_write(o->session, client_path(instance, file, path), text, strlen(text), 0, err);
}

/* ---- Triggers -------------------------------------------------------------------------------- */

/* Makes the text that removes the trigger of @line: a histogram without its state, others without their count. */
static void make_removal(char *line, char *to, size_t room)
{
	char *end = strncmp(line, "hist:", 5) ? strstr(line, ":unlimited") : strrchr(line, '[');

	if (!end)
		end = strstr(line, ":count=");
	if (end)
		*end = '\0';
	snprintf(to, room, "!%s", line);
}

/* Removes the triggers of @events. Returns how many it removed; -EIO: a file cannot be read. *left: how many stayed. */
static int take_out(const struct reset_opts *o, const char *instance, char *events, int *left, struct uft_error *err)
{
	int n = 0;

	*left = 0;
	for (char *event = events, *next; *event; event = next) {
		size_t len = strcspn(event, "\n");
		const char *colon = memchr(event, ':', len);
		char file[CLIENT_PATH], path[CLIENT_PATH], removal[2048], *text, *line, *rest = NULL;

		next = event + len + (event[len] == '\n');
		if (!colon || snprintf(file, sizeof(file), "events/%.*s/%.*s/trigger", (int)(colon - event), event,
				       (int)(event + len - colon - 1), colon + 1) >= (int)sizeof(file))
			continue;
		text = client_read_text(o->session, client_path(instance, file, path), err);
		if (!text)
			return -EIO;
		for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
			if (*line == '#')
				continue;
			make_removal(line, removal, sizeof(removal));
			if (put(o, instance, file, removal, err))
				++*left;
			else
				n++;
		}
		free(text);
	}
	return n;
}

static int reset_triggers(const struct reset_opts *o, const char *instance, struct uft_error *err)
{
	char *events = client_read_text(o->session, "available_events", err);
	int left = 0, n = events ? 0 : -EIO;

	if (events)
		do
			n = take_out(o, instance, events, &left, err);
		while (n > 0 && left);
	free(events);
	return n < 0 ? n : left ? -EBUSY : 0;
}

/* ---- The rest -------------------------------------------------------------------------------- */

static int reset_filters(const struct reset_opts *o, const char *instance, struct uft_error *err)
{
	char *events = client_read_text(o->session, "available_events", err), *rest = NULL;
	char done[128] = "";
	int ret = events ? 0 : -EIO;

	for (char *event = events ? strtok_r(events, "\n", &rest) : NULL; event && !ret;
	     event = strtok_r(NULL, "\n", &rest)) {
		char file[CLIENT_PATH];

		event[strcspn(event, ":")] = '\0';
		if (strncmp(done, event, sizeof(done)) == 0 || strlen(event) >= sizeof(done))
			continue;
		strcpy(done, event);
		snprintf(file, sizeof(file), "events/%s/filter", event);
		ret = put(o, instance, file, "0", err);
	}
	free(events);
	return ret;
}

/* In this order: the tracer first, so that the later steps cost the targets nothing. */
static const struct step {
	const char *file, *text;
	int is_top;	/* an instance has no such file */
	int (*reset)(const struct reset_opts *o, const char *instance, struct uft_error *err);	/* many files */
} steps[] = {
#define PUT(file, text)	{ file, text, 0, NULL }
#define TOP(file, text)	{ file, text, 1, NULL }
	PUT("tracing_on", "0"), TOP("function_profile_enabled", "0"), TOP("stack_tracer_enabled", "0"),
	PUT("current_tracer", "nop"),
	PUT("set_event", ""), { .reset = reset_triggers }, { .reset = reset_filters },
	PUT("set_event_pid", ""), PUT("set_event_notrace_pid", ""), PUT("set_ftrace_filter", ""),
	PUT("set_ftrace_notrace", ""),
	TOP("set_graph_function", ""), TOP("set_graph_notrace", ""), PUT("set_ftrace_pid", ""),
	PUT("set_ftrace_notrace_pid", ""),
	TOP("max_graph_depth", "0"), TOP("tracing_thresh", "0"), PUT("trace_clock", "local"), PUT("snapshot", "0"),
	PUT("trace", ""),
	PUT("tracing_on", "1"),
};

static int reset_one(const struct reset_opts *o, const char *instance, struct uft_error *err)
{
	int ret = 0;

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && !ret; i++) {
		if (steps[i].reset)
			ret = steps[i].reset(o, instance, err);
		else if (!steps[i].is_top || !instance)
			ret = put(o, instance, steps[i].file, steps[i].text, err);
	}
	if (!ret && o->buffer) {
		char size[24];

		snprintf(size, sizeof(size), "%llu", (unsigned long long)(o->buffer / 1024));
		ret = put(o, instance, "buffer_size_kb", size, err);
	}
	return ret;
}

static int remove_instance(const struct reset_opts *o, const char *name, struct uft_error *err)
{
	char path[CLIENT_PATH];

	return client_rmdir(o->session, client_path(name, "", path), err);
}

struct names { char (*v)[256]; size_t n; };

static void add_name(void *arg, uint32_t mode, const char *name, const char *doc)
{
	struct names *names = arg;

	(void)doc;
	if (S_ISDIR(mode) && !array_resize(names->v, names->n + 1))
		snprintf(names->v[names->n++], sizeof(*names->v), "%s", name);
}

static int reset_instances(const struct reset_opts *o, struct uft_error *err)
{
	struct names names = { NULL, 0 };
	int ret = client_list(o->session, "instances", add_name, &names, err);

	for (size_t i = 0; i < names.n && !ret; i++)
		ret = o->remove ? remove_instance(o, names.v[i], err) : reset_one(o, names.v[i], err);
	free(names.v);
	return ret;
}

int cmd_reset(int argc, char **argv)
{
	struct reset_opts o = { .session = NULL };
	struct uft_error err = { "" };
	int ret = 0, status = cmd_parse(&reset_syntax, &argc, argv, &o);

	if (status >= 0)
		return status;
	if (argc > 1)
		return cmd_usage(&reset_syntax, "unexpected operand '%s'", argv[1]);
	if (o.all && o.instance)
		return cmd_usage(&reset_syntax, "-a and -B exclude each other: all instances, or one");
	if (o.remove && !o.all && !o.instance)
		return cmd_usage(&reset_syntax, "-d removes instances: name one with -B, or all with -a");
	if (o.all)
		ret = reset_instances(&o, &err);
	if (!ret && o.remove && o.instance)
		ret = remove_instance(&o, o.instance, &err);
	else if (!ret)
		ret = reset_one(&o, o.instance, &err);
	if (!ret && !o.instance)		/* defined events belong to all instances */
		ret = put(&o, NULL, "synthetic_events", "", &err);
	return ret ? cmd_fail("reset", "%s", err.text[0] ? err.text : strerror(-ret)) : 0;
}
