/* SPDX-License-Identifier: MIT */
/*
 * own_session.c - a session of one command, for the program that it starts or processes that run
 *
 * Triggers, histograms, synthetic events and live text are files of the tracing directory. A command that needs them
 * has a private tracing directory (tree/). It writes its options into the files as trace-cmd does, all before the
 * program starts, and reads the files.
 *
 * A program's events are read from its file before it starts, so they can have filters and triggers from the first
 * record on. Events of libraries are switched on when the library is mapped. Events of running processes are known
 * after the attach.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/own_session.h"
#include "symbol/names.h"
#include "symbol/text_file.h"
#include "symbol/tracer.h"

int own_session_open(struct own_session *s, const char *command, const struct record_opts *o, uint64_t buffer_kb,
		     struct uft_error *err)
{
	struct uft_tree_opts opts = {
		.buffer_kb = buffer_kb, .no_children = o->no_children, .watchdog = o->watchdog, .int3 = o->int3,
		.preload = o->preload, .emulator = (const char *const *)o->emulator_words,
		.warning = cmd_warn, .dump = cmd_dump,
		.arg = (void *)command,
	};

	*s = (struct own_session){ NULL, 0 };
	return uft_tree_create(&opts, &s->tree, err);
}

void own_session_close(struct own_session *s)
{
	uft_tree_destroy(s->tree);
	s->tree = NULL;
}

/* ---- Files ----------------------------------------------------------------------------------- */

int own_session_read(struct own_session *s, const char *file, int flags,
		     int (*sink)(void *arg, const char *p, size_t n), void *arg)
{
	static char buf[65536];
	struct uft_handle *h;
	uint64_t at = 0;
	uft_node node;
	ssize_t n = 1;
	int ret = uft_tree_walk(s->tree, file, &node);

	ret = ret ? ret : uft_tree_open(s->tree, node, O_RDONLY, 0, &h);
	if (ret)
		return ret;
	while (!ret && n > 0) {
		n = uft_tree_read(h, buf, sizeof(buf), at, flags);
		if (n > 0)
			ret = sink(arg, buf, (size_t)n);
		at += n > 0 ? (uint64_t)n : 0;
	}
	uft_tree_release(h);
	return ret ? ret : n < 0 && n != -EAGAIN ? (int)n : 0;
}

int own_session_read_cells(struct own_session *s, const char *file, int (*sink)(void *arg, const char *p, size_t n),
			   void *arg)
{
	uft_node node;
	char *words;
	size_t n;
	int ret = uft_tree_walk(s->tree, file, &node);

	ret = ret ? ret : uft_tree_hist_cells(s->tree, node, &words, &n);
	if (ret)
		return ret;
	ret = n ? sink(arg, words, n) : 0;
	free(words);
	return ret;
}

struct log { char text[8192]; size_t n; };

/* Keeps only the end of the text: entries are short. */
static int keep_end(void *arg, const char *p, size_t n)
{
	struct log *log = arg;
	size_t room = sizeof(log->text) - 1, from = n > room ? n - room : 0;

	n -= from;
	if (log->n + n > room) {
		size_t gone = log->n + n - room;

		memmove(log->text, log->text + gone, log->n - gone);
		log->n -= gone;
	}
	memcpy(log->text + log->n, p + from, n);
	log->n += n;
	log->text[log->n] = '\0';
	return 0;
}

/* Parses the last mistake of error_log: `...: error: WHAT`, `  Command: TEXT`, and a caret. 0: there is none. */
static int last_mistake(struct own_session *s, struct log *log, const char **what, const char **text, size_t *at)
{
	char *error = NULL, *command, *caret;

	log->n = 0;
	if (own_session_read(s, "error_log", 0, keep_end, log) || !log->n)
		return 0;
	for (char *p = log->text; (p = strstr(p, ": error: ")); p++)
		error = p;
	command = error ? strstr(error, "\n  Command: ") : NULL;
	caret = command ? strchr(command + 1, '\n') : NULL;
	if (!caret || strlen(caret) < 12)
		return 0;
	*what = error + strlen(": error: ");
	*text = command + strlen("\n  Command: ");
	*at = strcspn(caret + 1, "^") - strlen("  Command: ");
	*command = *caret = '\0';
	return 1;
}

int own_session_put(struct own_session *s, const char *file, const char *text, struct uft_error *err)
{
	struct uft_error why = { "" };
	const char *what, *command;
	struct log log;
	size_t at;
	int ret = uft_tree_put(s->tree, file, text, strlen(text), &why);

	if (ret && ret != -ENOMEM && last_mistake(s, &log, &what, &command, &at))
		return uft_fail(err, ret, "%s: %s\n    %s\n    %*s^", file, what, command, (int)at, "");
	return ret ? uft_fail(err, ret, "%s: '%.*s': %s", file, (int)strcspn(text, "\n"), text, why.text[0] ? why.text :
			      strerror(-ret)) : 0;
}

/* @program: the object of patterns without one, as no function is known yet; NULL: no patterns. */
static int put_list(struct own_session *s, const char *file, const struct cmd_list *list, const char *program,
		    struct uft_error *err)
{
	int ret = 0;

	for (size_t i = 0; i < list->n && !ret; i++) {
		int is_plain = program && !strstr(list->item[i], ":mod:");
		char line[1024];

		snprintf(line, sizeof(line), "%s%s%s\n", list->item[i], is_plain ? ":mod:" : "",
			 is_plain ? uft_base_name(program) : "");
		ret = own_session_put(s, file, line, err);
	}
	return ret;
}

static int put_number(struct own_session *s, const char *file, uint64_t n, struct uft_error *err)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu\n", (unsigned long long)n);
	return n ? own_session_put(s, file, text, err) : 0;
}

/* ---- Events ---------------------------------------------------------------------------------- */

int own_session_put_of_events(struct own_session *s, const char *word, const char *option, const char *file,
			      const char *text, struct uft_error *err)
{
	struct uft_error why = { "" };
	const char *what, *command, *colon = option ? ": " : "";
	struct log log;
	size_t at;
	int ret = uft_tree_put_of_events(s->tree, word, file, text, &why);

	option = option ? option : "";
	if (ret && ret != -ENOMEM && last_mistake(s, &log, &what, &command, &at))
		return uft_fail(err, ret, "%s%s%s: %s\n    %s\n    %*s^", option, colon, word, what, command, (int)at,
				"");
	return ret ? uft_fail(err, ret, "%s%s%s: '%s': %s", option, colon, word, text, why.text[0] ? why.text :
			      strerror(-ret)) : 0;
}

/* Writes filters and triggers first: an event must have them when it is switched on. */
static int put_events(struct own_session *s, const struct record_opts *o, struct uft_error *err)
{
	struct uft_error why = { "" };
	int ret = 0;

	for (size_t i = 0; i < o->event.n && !ret; i++)
		ret = o->event.v[i].filter ? own_session_put_of_events(s, o->event.v[i].word, "--event-filter",
			"filter", o->event.v[i].filter, err) : 0;
	for (size_t i = 0; i < o->event.n; i++)
		for (size_t k = 0; k < o->event.v[i].triggers.n && !ret; k++)
			ret = own_session_put_of_events(s, o->event.v[i].word, "--trigger", "trigger",
							o->event.v[i].triggers.item[k], err);
	for (size_t i = 0; i < o->event.n && !ret; i++) {
		ret = uft_tree_put_event(s->tree, o->trace_events[i], &why);
		if (ret)
			uft_fail(err, ret, "--event: '%s': %s", o->trace_events[i],
				 why.text[0] ? why.text : strerror(-ret));
	}
	return ret;
}

int own_session_set(struct own_session *s, const struct record_opts *o, const char *path, struct uft_error *err)
{
	int ret = 0;

	if (path)
		uft_tree_expect(s->tree, path, NULL);		/* a script declares none */
	ret = put_list(s, "set_ftrace_filter", &o->filter, path, err);
	ret = ret ? ret : put_list(s, "set_ftrace_notrace", &o->notrace, path, err);
	ret = ret ? ret : put_list(s, "set_graph_function", &o->roots, path, err);
	ret = ret ? ret : put_number(s, "max_graph_depth", o->max_depth, err);
	ret = ret ? ret : put_number(s, "tracing_thresh", o->thresh_ns / 1000, err);
	ret = ret ? ret : own_session_put(s, "current_tracer", uft_tracer_name((uint32_t)o->tracer), err);
	ret = ret ? ret : put_list(s, "trace_options", &o->options, NULL, err);
	if (!ret && o->func_stack)
		ret = own_session_put(s, "trace_options", "func_stack_trace", err);
	if (!ret && o->stack)
		ret = own_session_put(s, "trace_options", "stacktrace", err);
	return ret ? ret : put_events(s, o, err);
}

int own_session_attach(struct own_session *s, const struct cmd_targets *targets, struct uft_error *err)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	int ret;

	for (size_t i = 0; f && i < targets->n; i++)
		fprintf(f, "%d\n", targets->item[i].pid);
	ret = f ? text_file_close(f, &text) : -ENOMEM;
	ret = ret ? ret : own_session_put(s, "options/function-fork", "1", err);
	ret = ret ? ret : uft_tree_put(s->tree, "set_ftrace_pid", text, size, err);
	free(text);
	return ret;
}

int own_session_start(struct own_session *s, char *const argv[], struct uft_error *err)
{
	return uft_tree_launch(s->tree, argv, &s->pid, err);
}

const char *own_session_lacks(const struct record_opts *o, int is_attached)
{
	const struct { int is_given; const char *option; } lacks[] = {
		{ o->budget_ppm != 0, "--budget" }, { o->max_rate != 0, "--max-rate" },
		{ o->min_size != 0, "--min-size" }, { o->keep.n != 0, "--keep-slow" },
		{ o->sample_ns != 0, "--sample-period" }, { o->watch.n != 0, "--watch" },
		{ o->has_switches, "--sched-switch" }, { o->clock != RECORD_MONO, "--clock" },
		{ o->perf_map, "--perf-map" },
		{ o->compress != 0, "--compress" },
		{ o->max_bytes != 0, "--max-size" }, { o->duration_ns != 0, "--duration" }, { o->no_wait, "--no-wait" },
		{ o->pids.n && !is_attached, "--pid" }, { o->names.n && !is_attached, "--name" },
		{ o->cgroups.n && !is_attached, "--cgroup" },
	};

	for (size_t i = 0; i < sizeof(lacks) / sizeof(lacks[0]); i++)
		if (lacks[i].is_given)
			return lacks[i].option;
	return NULL;
}
