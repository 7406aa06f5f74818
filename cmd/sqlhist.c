/* SPDX-License-Identifier: MIT */
/*
 * sqlhist.c - uft sqlhist: histograms and synthetic events by SQL
 *
 *	uft sqlhist 'SELECT ...'			prints the commands for the session's files
 *	uft sqlhist -e 'SELECT ...'			executes them in the session
 *	uft sqlhist -e 'SELECT ...' -- PROGRAM		runs PROGRAM in a session of its own with them, and prints what came
 *
 * libtracefs makes commands of the query (sql.c). It knows the events by their formats: those of the session, or those
 * that PROGRAM's file declares.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "cmd/client.h"
#include "cmd/cmd.h"
#include "cmd/hist_table.h"
#include "cmd/own_session.h"
#include "cmd/program.h"
#include "cmd/sql.h"
#include "symbol/array.h"
#include "symbol/text_file.h"
#include "symbol/tracer.h"

struct sqlhist_opts {
	const char *name, *file, *max, *change, *save, *keys, *session, *instance, *emulator;
	int execute, trace, snapshot, json, csv;
};

#define F(field) offsetof(struct sqlhist_opts, field)
static const struct cmd_option sqlhist_options[] = {
	{ "name", 'n', "NAME", "name of the synthetic event that the query makes (default Anonymous)", cmd_string,
		F(name), NULL },
	{ "execute", 'e', NULL, "execute the commands instead of printing them", cmd_flag, F(execute), NULL },
	{ "file", 'f', "FILE", "read the query from FILE (-: standard input)", cmd_string, F(file), NULL },
	{ "max", 'm', "FIELD", "act when this field of the query has a new maximum", cmd_string, F(max), NULL },
	{ "change", 'c', "FIELD", "act when this field of the query changes", cmd_string, F(change), NULL },
	{ "trace", 't', NULL, "as the action, record the synthetic event (the default)", cmd_flag, F(trace), NULL },
	{ "snapshot", 's', NULL, "as the action, take a snapshot", cmd_flag, F(snapshot), NULL },
	{ "save", 0, "FIELDS", "as the action, save these fields of the second event: common_pid,pieces", cmd_string,
		F(save), NULL },
	{ "keys", 'k', "KEYS",
		"print a histogram of the synthetic event by these keys instead of its text: 'lat.buckets=100'",
		cmd_string, F(keys), NULL },
	{ "json", 0, NULL, "print the histogram of a program's events as JSON", cmd_flag, F(json), NULL },
	{ "csv", 0, NULL, "print the histogram of a program's events as CSV", cmd_flag, F(csv), NULL },
	CMD_EMULATOR(F(emulator)),
	CMD_SESSION(F(session)),
	CMD_INSTANCE(F(instance)),
	{ 0 }
};
#undef F

static const struct cmd_syntax sqlhist_syntax = {
	"sqlhist", "[OPTIONS] SQL [-- PROGRAM [ARG...]]",
	"Print the commands that make the histogram, or the synthetic event, of a query in libtracefs' SQL: 'SELECT start.id, "
	"(end.TIMESTAMP_USECS - start.TIMESTAMP_USECS) AS lat FROM begin AS start JOIN done AS end ON start.id = end.id'.",
	sqlhist_options, 0
};

struct work {
	const struct sqlhist_opts *o;
	char **emulator_words;
	struct own_session own;		/* its tree is NULL: the files are another process's */
	struct sql_format *format;
	size_t n;
	/* file with the result of a query of one event; malloc'd, NULL: a synthetic event */
	char *hist;
};

/* ---- Formats --------------------------------------------------------------------------------- */

static int add_format(struct work *w, const char *system, const char *text)
{
	if (array_resize(w->format, w->n + 1))
		return -ENOMEM;
	w->format[w->n++] = (struct sql_format){ system, text };
	return 0;
}

static int formats_of_own(struct work *w)
{
	const struct uft_event_table *types = uft_tree_event_types(w->own.tree);
	int ret = 0;

	for (uint32_t i = 0; i < uft_event_table_count(types) && !ret; i++) {
		const struct uft_event_type *type = uft_event_table_at(types, i);

		ret = type ? add_format(w, type->system, type->format) : 0;
	}
	return ret;
}

/* Texts stay for the life of the process. */
static int formats_of_session(struct work *w, struct uft_error *err)
{
	char *events = client_read_text(w->o->session, "available_events", err);
	int ret = events ? 0 : -EIO;

	for (char *line = events ? strtok(events, "\n") : NULL; line && !ret; line = strtok(NULL, "\n")) {
		char *colon = strchr(line, ':'), path[CLIENT_PATH], *format;

		if (!colon)
			continue;
		*colon = '\0';
		if ((size_t)snprintf(path, sizeof(path), "events/%s/%s/format", line, colon + 1) >= sizeof(path))
			continue;
		format = client_read_text(w->o->session, path, err);
		ret = format ? add_format(w, line, format) : -EIO;
	}
	return ret;
}

/* ---- Commands -------------------------------------------------------------------------------- */

static int put(struct work *w, const char *file, const char *text, struct uft_error *err)
{
	char path[CLIENT_PATH];

	if (w->own.tree)
		return own_session_put(&w->own, file, text, err);
	/* synthetic events are all instances' */
	return client_write(w->o->session, strncmp(file, "events/", 7) ? file : client_path(w->o->instance, file, path),
			    text, strlen(text), 1, err);
}

/* `echo 'TEXT' >> FILE`, one a line; @lines is changed. */
static int execute(struct work *w, char *lines, struct uft_error *err)
{
	int ret = 0;

	for (char *line = strtok(lines, "\n"); line && !ret; line = strtok(NULL, "\n")) {
		char *file = strstr(line, SQL_ROOT), *end = file, *text = strchr(line, '\'');

		while (end && end > line && *end != '\'')
			end--;
		if (!file || !text || end <= text)
			return uft_fail(err, -EINVAL, "libtracefs made a command that is not understood: %s", line);
		*end = '\0';
		file += strlen(SQL_ROOT);
		ret = put(w, file, text + 1, err);
		if (!ret && strstr(file, "/trigger")) {		/* the last one has what was saved */
			free(w->hist);
			w->hist = strdup(file);
			if (!w->hist)
				return -ENOMEM;
			strcpy(strstr(w->hist, "/trigger"), "/hist");
		}
	}
	return ret;
}

static int is_synthetic(const char *lines)
{
	return strstr(lines, "_events\n") != NULL;
}

static const char *name_of(const struct sqlhist_opts *o)
{
	return o->name ? o->name : "Anonymous";
}

/* Switches the synthetic event on, or gives it a histogram of its own. */
static int use_synthetic(struct work *w, struct uft_error *err)
{
	char path[CLIENT_PATH], text[600];

	if (!w->o->keys) {
		snprintf(path, sizeof(path), "events/synthetic/%.200s/enable", name_of(w->o));
		return put(w, path, "1", err);
	}
	snprintf(path, sizeof(path), "events/synthetic/%.200s/trigger", name_of(w->o));
	if ((size_t)snprintf(text, sizeof(text), "hist:keys=%s", w->o->keys) >= sizeof(text))
		return uft_fail(err, -E2BIG, "--keys: too long");
	free(w->hist);
	w->hist = NULL;
	if (asprintf(&w->hist, "events/synthetic/%.200s/hist", name_of(w->o)) < 0)
		w->hist = NULL;
	return w->hist ? put(w, path, text, err) : -ENOMEM;
}

static int run_all(struct work *w, char *lines, struct uft_error *err)
{
	int is_synth = is_synthetic(lines), ret;

	if (w->o->keys && !is_synth)
		return uft_fail(err, -EINVAL, "--keys: the query is a histogram itself: what it selects are the keys");
	ret = execute(w, lines, err);
	if (ret || !is_synth)
		return ret;
	if (!w->o->keys && !w->o->trace && (w->o->save || w->o->snapshot))
		return 0;
	if (!w->o->keys) {
		free(w->hist);
		w->hist = NULL;
	}
	return use_synthetic(w, err);
}

static int print(void *arg, const char *p, size_t n)
{
	(void)arg;
	return fwrite(p, 1, n, stdout) == n ? 0 : -EIO;
}

/* The histogram, for programs. */
static int print_form(struct work *w)
{
	char *words = NULL;
	size_t n;
	FILE *f = open_memstream(&words, &n);
	int ret = f ? own_session_read_cells(&w->own, w->hist, client_keep, f) : -ENOMEM;

	if (f && text_file_close(f, &words) && !ret)
		ret = -ENOMEM;
	ret = ret ? ret : cmd_hist_put("sqlhist", stdout, w->o->json ? UFT_FORM_JSON : UFT_FORM_CSV, words, n);
	free(words);
	return ret;
}

/* An exit status. */
static int run_program(struct work *w, char *const argv[], struct uft_error *err)
{
	int ret, status;

	if ((w->o->json || w->o->csv) && !w->hist)
		return cmd_fail("sqlhist",
				"--json and --csv are for histograms, and the query makes events: add --keys, or record them (uft record)");
	ret = own_session_start(&w->own, argv, err);
	if (ret)
		return cmd_fail("sqlhist", "%s", err->text);
	status = uft_tree_wait(w->own.tree, -1);
	if (w->o->json || w->o->csv)
		ret = print_form(w);
	else
		ret = own_session_read(&w->own, w->hist ? w->hist : "trace", 0, print, NULL);
	if (ret)
		return cmd_fail("sqlhist", "%s", strerror(-ret));
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* ---- The command line ------------------------------------------------------------------------ */

static char *read_query(const char *file)
{
	FILE *f = strcmp(file, "-") ? fopen(file, "re") : stdin;
	char *query = NULL;
	size_t room = 0;
	ssize_t n = f ? getdelim(&query, &room, '\0', f) : -1;

	if (f && f != stdin)
		fclose(f);
	if (n > 0)
		return query;
	free(query);
	return NULL;
}

static int open_own(struct work *w, char *const argv[], struct uft_error *err)
{
	struct record_opts none = { .tracer = UFT_TRACER_NOP, .emulator = w->o->emulator };
	char path[PATH_MAX];
	int status = cmd_find_program(argv[0], path, sizeof(path)), ret;

	if (status)
		return uft_fail(err, -ENOENT, "cannot find the program '%s'", argv[0]);
	if (none.emulator && !record_split_emulator(&none))
		return uft_fail(err, -EINVAL, "--emulator needs the command of an emulator, like qemu-aarch64");
	ret = own_session_open(&w->own, "sqlhist", &none, 0, err);
	ret = ret ? ret : own_session_set(&w->own, &none, path, err);
	w->emulator_words = none.emulator_words;
	return ret ? ret : formats_of_own(w);
}

static int answer(struct work *w, const char *sql, char *const program[])
{
	const struct sqlhist_opts *o = w->o;
	struct sql_query q = {
		.text = sql, .name = name_of(o), .max = o->max, .change = o->change, .save = o->save, .trace = o->trace,
		.snapshot = o->snapshot,
	};
	struct uft_error err = { "" };
	char *lines = NULL;
	int status = 0, ret = program ? open_own(w, program, &err) : formats_of_session(w, &err);

	q.format = w->format;
	q.nformats = w->n;
	ret = ret ? ret : sql_commands(&q, &lines, &err);
	if (!ret && !o->execute)
		fputs(lines, stdout);
	if (!ret && o->execute)
		ret = run_all(w, lines, &err);
	if (!ret && o->execute && program)
		status = run_program(w, program, &err);
	free(lines);
	return ret ? cmd_fail("sqlhist", "%s", err.text[0] ? err.text : strerror(-ret)) : status;
}

int cmd_sqlhist(int argc, char **argv)
{
	struct sqlhist_opts o = { .name = NULL };
	struct work w = { .o = &o };
	int at = cmd_find_dashes(argc, argv), n = at ? at : argc, status = cmd_parse(&sqlhist_syntax, &n, argv, &o);
	char *query = NULL;

	if (status >= 0)
		return status;
	if (n > 2 || (n > 1 && o.file) || (n < 2 && !o.file))
		return cmd_usage(&sqlhist_syntax, n > 2 ? "one query: put it between quotes" : o.file ?
				 "a query or a file with one, not both" : "no query given");
	if (at && at + 1 == argc)
		return cmd_usage(&sqlhist_syntax, "a program follows --");
	if (at && (o.session || o.instance))
		return cmd_usage(&sqlhist_syntax, "-S and -B choose a session: not with a program to start");
	if (o.emulator && (!o.execute || !at))
		return cmd_usage(&sqlhist_syntax, "--emulator runs a program: add -e and -- PROGRAM");
	if (o.json && o.csv)
		return cmd_usage(&sqlhist_syntax, "--json and --csv exclude each other");
	if ((o.json || o.csv) && (!o.execute || !at))
		return cmd_usage(&sqlhist_syntax,
				 "--json and --csv are for the histogram of a program: add -e and -- PROGRAM");
	if ((o.max && o.change) || (o.keys && !o.execute))
		return cmd_usage(&sqlhist_syntax,
				 o.keys ? "--keys is for what -e executes" : "-m and -c exclude each other");
	if (o.file) {
		query = read_query(o.file);
		if (!query)
			return cmd_fail("sqlhist", "%s: cannot read a query: %s", o.file,
					errno ? strerror(errno) : "it is empty");
	}
	cmd_heap_prepare();
	status = answer(&w, query ? query : argv[1], at ? argv + at + 1 : NULL);
	own_session_close(&w.own);
	free(w.emulator_words);
	free(w.hist);
	free(w.format);
	free(query);
	return status;
}
