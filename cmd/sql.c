/* SPDX-License-Identifier: MIT */
/*
 * sql.c - the SQL of libtracefs: a query, into commands for the tracing files
 *
 * The library is loaded for a query only, since no other command needs it; if it is missing the command fails with a
 * message. It runs in a child, which returns the commands, or the mistake, by a pipe: some queries that the library
 * does not understand crash it (1.6.4: a CAST to _COUNTER_ before a key).
 *
 * The machine's own tracing files must not matter: the library adapts commands to the file README there, so it gets a
 * folder that does not exist on any machine. But it joins two events only if tracefs is mounted somewhere (1.6.4). If
 * not, as in most containers, the child mounts tracefs in a mount namespace of its own, if permitted.
 */
#include "cmd/sql.h"
#include "symbol/array.h"
#include "symbol/text_file.h"
#include "tree/serve/namespace.h"

#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef UFT_HAS_TRACEFS

int sql_commands(const struct sql_query *q, char **out, struct uft_error *err)
{
	(void)q;
	*out = NULL;
	return uft_fail(err, -ENOPKG,
			"this uft was built without libtracefs, which reads SQL: install it (Debian: libtracefs-dev) and build again");
}

#else

#include <tracefs.h>

#define QUERY_S		5u	/* a query takes microseconds */
#define NOWHERE		"/dev/null/tracing"	/* below a file there is none */
#define WRONG		2	/* exit status of the child: the query is wrong, and the reason was written */

static struct library {
	void *so, *event;
	typeof(tep_alloc) *alloc;
	typeof(tep_parse_event) *parse_event;
	typeof(trace_seq_init) *seq_init;
	typeof(trace_seq_terminate) *seq_terminate;
	typeof(tracefs_set_tracing_dir) *set_tracing_dir;
	typeof(tracefs_sql) *sql;
	typeof(tracefs_synth_complete) *is_complete;
	typeof(tracefs_synth_echo_cmd) *echo;
	typeof(tracefs_synth_get_start_hist) *start_hist;
	typeof(tracefs_hist_echo_cmd) *hist_echo;
} lib;

static int load(struct uft_error *err)
{
	const struct { const char *name; void *at; int is_event; } function[] = {
		{ "tep_alloc", &lib.alloc, 1 }, { "tep_parse_event", &lib.parse_event, 1 },
		{ "trace_seq_init", &lib.seq_init, 1 },
		{ "trace_seq_terminate", &lib.seq_terminate, 1 },
		{ "tracefs_set_tracing_dir", &lib.set_tracing_dir, 0 }, { "tracefs_sql", &lib.sql, 0 },
		{ "tracefs_synth_complete", &lib.is_complete, 0 }, { "tracefs_synth_echo_cmd", &lib.echo, 0 },
		{ "tracefs_synth_get_start_hist", &lib.start_hist, 0 }, { "tracefs_hist_echo_cmd", &lib.hist_echo, 0 },
	};

	lib.event = dlopen("libtraceevent.so.1", RTLD_NOW | RTLD_LOCAL);
	lib.so = lib.event ? dlopen("libtracefs.so.1", RTLD_NOW | RTLD_LOCAL) : NULL;
	if (!lib.so)
		return uft_fail(err, -ENOPKG, "cannot load %s, which reads SQL: install it (Debian: libtracefs1)",
				lib.event ? "libtracefs.so.1" : "libtraceevent.so.1");
	for (size_t i = 0; i < sizeof(function) / sizeof(function[0]); i++) {
		void *f = dlsym(function[i].is_event ? lib.event : lib.so, function[i].name);

		if (!f)
			return uft_fail(err, -ENOPKG, "the libtracefs.so.1 that is installed is too old: it has no %s",
					function[i].name);
		memcpy(function[i].at, &f, sizeof(f));
	}
	return 0;
}

/* ---- The child ------------------------------------------------------------------------------- */

/* In a mount namespace of this process. */
static void mount_tracefs(void)
{
	if (!uft_mount_exists(NULL, NULL, "tracefs") && !unshare(CLONE_NEWNS) &&
	    !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		mount("nodev", SQL_ROOT, "tracefs", 0, NULL);
}

/* Writes the library's message of a mistake: the query up to the line, a line with a caret, and the reason. */
static int say_mistake(FILE *out, const char *said)
{
	fprintf(out, "%s", said ? said : "an event or a field of it is not known, or does not fit where it stands");
	return WRONG;
}

static int say_join(FILE *out)
{
	if (uft_mount_exists(NULL, NULL, "tracefs"))
		return say_mistake(out, NULL);
	fprintf(out, "libtracefs joins events only where tracefs is mounted: mount -t tracefs nodev " SQL_ROOT);
	return WRONG;
}

/* @lines with SQL_ROOT in place of the folder that the library got. */
static void put_lines(FILE *out, const char *lines)
{
	const char *at;

	for (; (at = strstr(lines, NOWHERE)); lines = at + strlen(NOWHERE))
		fprintf(out, "%.*s%.*s", (int)(at - lines), lines, (int)sizeof(SQL_ROOT) - 2, SQL_ROOT);
	fputs(lines, out);
}

/*
 * Adds a format without its "print fmt", which no query needs: libtraceevent 1.7.1 reads freed memory when it parses
 * some of them. A format that it cannot parse is unknown to the query.
 */
static void add_format(struct tep_handle *tep, const struct sql_format *f)
{
	const char *end = strstr(f->text, "\nprint fmt:");
	char *text;
	size_t bytes = end ? (size_t)(end - f->text) : strlen(f->text);
	int n = asprintf(&text, "%.*s\nprint fmt: \"\"\n", (int)bytes, f->text);

	if (n < 0)
		return;
	lib.parse_event(tep, text, (unsigned long)n, f->system);
	free(text);
}

static int make(const struct sql_query *q, FILE *out)
{
	struct tep_handle *tep = lib.alloc();
	struct tracefs_synth *synth;
	struct trace_seq seq;
	char *said = NULL;

	lib.seq_init(&seq);
	lib.set_tracing_dir(NOWHERE);
	mount_tracefs();
	for (size_t i = 0; tep && i < q->nformats; i++)
		add_format(tep, &q->format[i]);
	synth = tep ? lib.sql(tep, q->name, q->text, &said) : NULL;
	if (!synth)
		return say_mistake(out, said);
	if (lib.is_complete(synth)) {
		if (lib.echo(&seq, synth))
			return say_join(out);
	} else if (lib.hist_echo(&seq, NULL, lib.start_hist(synth), 0)) {
		return say_mistake(out, NULL);
	}
	lib.seq_terminate(&seq);
	put_lines(out, seq.buffer);
	return 0;
}

static void be_child(const struct sql_query *q, int fd)
{
	const struct rlimit none = { 0, 0 };
	FILE *out = fdopen(fd, "w");
	sigset_t nothing;
	int status;

	setrlimit(RLIMIT_CORE, &none);
	signal(SIGALRM, SIG_DFL);
	sigemptyset(&nothing);
	sigprocmask(SIG_SETMASK, &nothing, NULL);
	alarm(QUERY_S);
	status = out ? make(q, out) : 1;
	if (out && fclose(out))
		status = 1;
	_exit(status);
}

/* ---- Actions --------------------------------------------------------------------------------- */

/*
 * The library (1.6.4) refuses onmax() and onchange() of what a query computes, so its
 * `:onmatch(EVENT).NAME(ARGUMENTS)` is rewritten here.
 */
struct action { const char *before, *event, *arguments, *after; size_t nevent, narguments; };

static int find_action(const struct sql_query *q, const char *lines, struct action *a)
{
	char call[300];

	snprintf(call, sizeof(call), ").%.200s(", q->name);
	a->before = strstr(lines, ":onmatch(");
	a->event = a->before ? a->before + strlen(":onmatch(") : NULL;
	a->arguments = a->event ? strstr(a->event, call) : NULL;
	if (!a->arguments)
		return 0;
	a->nevent = (size_t)(a->arguments - a->event);
	a->arguments += strlen(call);
	a->after = strchr(a->arguments, ')');
	a->narguments = a->after ? (size_t)(a->after - a->arguments) : 0;
	a->after += a->after != NULL;
	return a->after != NULL;
}

/* `__NAME_NUMBER_NUMBER`, the library's variable for what is called @name; @n its length. NULL: there is none. */
static const char *find_variable(const char *lines, const char *name, size_t *n)
{
	char begin[200];

	snprintf(begin, sizeof(begin), "__%.150s_", name);
	for (const char *p = lines; (p = strstr(p, begin)); p++) {
		const char *number = p + strlen(begin);
		size_t digits = strspn(number, "0123456789"),
		       more = digits && number[digits] == '_' ? strspn(number + digits + 1, "0123456789") : 0;

		*n = (size_t)(number - p) + digits + 1 + more;
		if (more && p[*n] == '=')
			return p;
	}
	return NULL;
}

static int put_handler(const struct sql_query *q, const struct action *a, const char *lines, FILE *to,
		       struct uft_error *err)
{
	const char *name = q->max ? q->max : q->change, *var;
	size_t n;

	if (!name)
		return fprintf(to, ":onmatch(%.*s)", (int)a->nevent, a->event) < 0 ? -ENOMEM : 0;
	var = find_variable(lines, name, &n);
	if (!var)
		return uft_fail(err, -EINVAL, "%s %s: the query computes nothing of this name: '(...) AS %s'",
				q->max ? "--max" : "--change", name, name);
	return fprintf(to, ":%s($%.*s)", q->max ? "onmax" : "onchange", (int)n, var) < 0 ? -ENOMEM : 0;
}

static int put_actions(const struct sql_query *q, const struct action *a, const char *lines, FILE *to,
		       struct uft_error *err)
{
	int ret = 0;

	fwrite(lines, 1, (size_t)(a->before - lines), to);
	if (q->trace || (!q->snapshot && !q->save)) {
		ret = put_handler(q, a, lines, to, err);
		fprintf(to, ".trace(%s,%.*s)", q->name, (int)a->narguments, a->arguments);
	}
	if (!ret && q->snapshot) {
		ret = put_handler(q, a, lines, to, err);
		fprintf(to, ".snapshot()");
	}
	if (!ret && q->save) {
		ret = put_handler(q, a, lines, to, err);
		fprintf(to, ".save(%s)", q->save);
	}
	fputs(a->after, to);
	return ret;
}

static int add_actions(const struct sql_query *q, char **lines, struct uft_error *err)
{
	struct action a;
	char *text = NULL;
	size_t n = 0;
	FILE *to;
	int ret;

	if (!q->trace && !q->snapshot && !q->save && !q->max && !q->change)
		return 0;
	if (!find_action(q, *lines, &a))
		return uft_fail(err, -EINVAL, "actions are for a query that joins two events");
	to = open_memstream(&text, &n);
	if (!to)
		return -ENOMEM;
	ret = put_actions(q, &a, *lines, to, err);
	if (text_file_close(to, &text))
		ret = -ENOMEM;
	free(ret ? text : *lines);
	*lines = ret ? *lines : text;
	return ret;
}

/* ---- The parent ------------------------------------------------------------------------------ */

static char *read_all(int fd)
{
	char *text = NULL;
	size_t n = 0;
	ssize_t got = 1;

	while (got > 0) {
		if (array_resize(text, n + 4097))
			break;
		got = read(fd, text + n, 4096);
		n += got > 0 ? (size_t)got : 0;
		text[n] = '\0';
	}
	return text;
}

/*
 * Makes the error of a wrong query. Lines after the first begin with four spaces, which keeps them as lines. The
 * library names the wrong word: '' is the end of the query.
 */
static int refuse(const char *said, struct uft_error *err)
{
	static const char end[] = "ERROR: ''", ends[] = "the query ends too early: 'SELECT FIELD FROM EVENT'";
	char text[500];
	size_t n = 0;

	for (; *said && n + sizeof(ends) < sizeof(text); said++) {
		if (!strncmp(said, end, strlen(end))) {
			memcpy(text + n, ends, strlen(ends));
			n += strlen(ends);
			said += strlen(end) - 1;
			continue;
		}
		if (*said == '\n' && !said[1])
			break;
		text[n++] = *said;
		if (*said == '\n') {
			memset(text + n, ' ', 4);
			n += 4;
		}
	}
	text[n] = '\0';
	return uft_fail(err, -EINVAL, "the query is refused:\n    %s", text);
}

int sql_commands(const struct sql_query *q, char **out, struct uft_error *err)
{
	int ends[2], status = 0, ret;
	pid_t pid;

	*out = NULL;
	ret = load(err);
	if (ret)
		return ret;
	if (pipe(ends) < 0)
		return uft_fail(err, -errno, "cannot make a pipe: %s", strerror(errno));
	fflush(NULL);
	pid = fork();
	if (!pid) {
		close(ends[0]);
		be_child(q, ends[1]);
	}
	close(ends[1]);
	*out = pid < 0 ? NULL : read_all(ends[0]);
	close(ends[0]);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (*out && WIFEXITED(status) && !WEXITSTATUS(status)) {
		ret = add_actions(q, out, err);
		if (!ret)
			return 0;
	} else if (*out && WIFEXITED(status) && WEXITSTATUS(status) == WRONG)
		ret = refuse(*out, err);
	else if (pid > 0 && WIFSIGNALED(status))
		ret = uft_fail(err, -EINVAL, "libtracefs ended by signal %d (%s) at this query", WTERMSIG(status),
			       strsignal(WTERMSIG(status)));
	else
		ret = uft_fail(err, -ENOMEM, "the query could not be read");
	free(*out);
	*out = NULL;
	return ret;
}

#endif
