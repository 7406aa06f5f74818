/* SPDX-License-Identifier: MIT */
/*
 * list.c - uft list: list the running sessions, or the tracers, options, clocks and events of one
 *
 * Text is the content of the session's files, as trace-cmd list prints it. JSON and CSV are one table with the columns
 * kind, name and value; the value of a session is its tracer, of an option 0 or 1, of a clock 1 for the one in use.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/client.h"
#include "cmd/cmd.h"
#include "cmd/list_events.h"
#include "cmd/options.h"

struct list_opts {
	const char *session, *instance;
	int tracers, functions, clocks, options, events, formats, full, json, csv;
};

#define FIELD(name)	offsetof(struct list_opts, name)
static const struct cmd_option list_options[] = {
	CMD_SESSION(FIELD(session)),
	CMD_INSTANCE(FIELD(instance)),
	{ "tracers", 't', NULL, "list the tracers", cmd_flag, FIELD(tracers), NULL },
	{ "options", 'o', NULL, "list the options and their values", cmd_flag, FIELD(options), NULL },
	{ "functions", 'f', NULL, "list the functions that can be traced", cmd_flag, FIELD(functions), NULL },
	{ "clocks", 'C', NULL, "list the clocks", cmd_flag, FIELD(clocks), NULL },
	{ "events", 'e', NULL,
		"list the events of uft record -e: of the programs or PIDs given, of the session, or those of all programs",
	  cmd_flag, FIELD(events), NULL },
	{ "formats", 'F', NULL, "with -e: list the fields of each event, too", cmd_flag, FIELD(formats), NULL },
	{ "full", 0, NULL, "with -e -F: list their print formats, too", cmd_flag, FIELD(full), NULL },
	{ "json", 0, NULL, "print the list as JSON", cmd_flag, FIELD(json), NULL },
	{ "csv", 0, NULL, "print the list as CSV", cmd_flag, FIELD(csv), NULL },
	{ 0 }
};
#undef FIELD

static const struct cmd_syntax list_syntax = {
	"list", "[OPTIONS] [-e PROGRAM|PID...]",
	"List the running sessions by the PID of their server, or what one of them offers.", list_options, 0
};

static const struct table_column columns[] = {
	{ NULL, "kind", TABLE_NAME, 0 }, { NULL, "name", TABLE_NAME, 0 }, { NULL, "value", TABLE_NAME, 0 },
};

void cmd_list_row(struct table *t, const char *kind, const char *name, const char *value)
{
	table_row(t,
		  (struct table_cell[]){ CELL_NAME(kind), CELL_NAME(name), { .is_known = value != NULL, .s = value } },
		  0);
}

/* ---- Files of a session ---------------------------------------------------------------------- */

/* One word of available_tracers, trace_clock; one line of trace_options, available_filter_functions. */
static void tracer_row(struct table *t, char *word)
{
	cmd_list_row(t, "tracer", word, NULL);
}

static void option_row(struct table *t, char *line)
{
	int is_off = !strncmp(line, "no", 2);

	cmd_list_row(t, "option", line + 2 * is_off, is_off ? "0" : "1");
}

static void function_row(struct table *t, char *line)
{
	cmd_list_row(t, "function", line, NULL);
}

static void clock_row(struct table *t, char *word)
{
	int is_used = *word == '[';

	word[strcspn(word, "]")] = '\0';
	cmd_list_row(t, "clock", word + is_used, is_used ? "1" : "0");
}

static const struct list_file {
	size_t wanted;			/* in struct list_opts */
	const char *file, *between;	/* what is between two entries of it */
	void (*row)(struct table *t, char *entry);
} list_files[] = {
	{ offsetof(struct list_opts, tracers), "available_tracers", " \n", tracer_row },
	{ offsetof(struct list_opts, options), "trace_options", "\n", option_row },
	{ offsetof(struct list_opts, functions), "available_filter_functions", "\n", function_row },
	{ offsetof(struct list_opts, clocks), "trace_clock", " \n", clock_row },
};

static int list_one(const struct list_opts *o, const struct list_file *l, struct table *t, struct uft_error *err)
{
	char buf[CLIENT_PATH], *text, *rest = NULL;
	const char *path = client_path(o->instance, l->file, buf);

	if (!t)
		return client_read(o->session, path, 0, client_print, NULL, err);
	text = client_read_text(o->session, path, err);
	if (!text)
		return -EIO;
	for (char *entry = strtok_r(text, l->between, &rest); entry; entry = strtok_r(NULL, l->between, &rest))
		l->row(t, entry);
	free(text);
	return 0;
}

/* ---- Sessions -------------------------------------------------------------------------------- */

static void list_session(void *arg, int pid, const char *socket)
{
	struct uft_error err = { "" };
	struct table *t = arg;
	char *tracer = client_read_text(socket, "current_tracer", &err), name[16];

	if (tracer)
		tracer[strcspn(tracer, "\n")] = '\0';
	snprintf(name, sizeof(name), "%d", pid);
	if (t)
		cmd_list_row(t, "session", name, tracer);
	else
		printf("%s %s\n", name, tracer ? tracer : "-");
	free(tracer);
}

/* ---- The command ----------------------------------------------------------------------------- */

static int list_all(const struct list_opts *o, struct table *t, char *const *file, int n, struct uft_error *err)
{
	int ret = 0, is_any = o->events;

	if (o->events)
		ret = cmd_list_events(o->session,
				      (o->formats || o->full ? LIST_EVENT_FORMAT : 0) | (o->full ? LIST_EVENT_FULL : 0),
				      t, file, n, err);
	for (size_t i = 0; i < sizeof(list_files) / sizeof(list_files[0]) && !ret; i++)
		if (*(const int *)((const char *)o + list_files[i].wanted)) {
			is_any = 1;
			ret = list_one(o, &list_files[i], t, err);
		}
	return ret || is_any ? ret : client_sessions(list_session, t, err);
}

int cmd_list(int argc, char **argv)
{
	struct table table = { .out = stdout, .column = columns, .ncolumns = sizeof(columns) / sizeof(columns[0]) };
	struct list_opts o = { 0 };
	struct uft_error err = { "" };
	int ret, status = cmd_parse(&list_syntax, &argc, argv, &o), is_table;

	if (status >= 0)
		return status;
	is_table = o.json || o.csv;
	if (argc > 1 && !o.events)
		return cmd_usage(&list_syntax, "unexpected operand '%s': only -e takes patterns", argv[1]);
	if ((o.formats || o.full) && !o.events)
		return cmd_usage(&list_syntax, "%s is for the events: with -e", o.formats ? "-F" : "--full");
	if (o.json && o.csv)
		return cmd_usage(&list_syntax, "--json and --csv exclude each other");
	if (is_table && (o.formats || o.full) && (o.tracers || o.options || o.functions || o.clocks))
		return cmd_usage(
			&list_syntax,
			"with --json and --csv, -F and --full make a table of their own: -e alone beside them");
	if (is_table && (o.formats || o.full)) {
		table.column = list_format_columns;
		table.ncolumns = list_format_ncolumns;
	}
	if (is_table) {
		table.form = o.json ? UFT_FORM_JSON : UFT_FORM_CSV;
		table_begin(&table, o.formats || o.full ? "formats" : "list");
	}
	ret = list_all(&o, is_table ? &table : NULL, argv + 1, argc - 1, &err);
	if (is_table)
		table_end(&table);
	if (fflush(stdout) && !ret)
		ret = uft_fail(&err, -errno, "standard output: %s", strerror(errno));
	return ret && ret != -EPIPE ? cmd_fail("list", "%s", err.text) : 0;
}
