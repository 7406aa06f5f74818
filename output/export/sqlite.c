/* SPDX-License-Identifier: MIT */
/*
 * sqlite.c - a database of SQLite: a row for each call
 *
 *	meta(key, value)		calls, open, without_entry, lost, host, command, uft's version of this schema
 *	task(id, pid, tid, ppid, name, program)
 *	function(id, name, linked, object, file, line)	file and line: with --lines
 *	call(id, parent, task, function, level, begin_ns, end_ns, self_ns, how)
 *	event(task, call, ns, cpu, system, name, text, fields)	call: the innermost one, NULL none; fields: JSON
 *	loss(task, ns, records)		task NULL: not known
 *	calls, events, profile		views: calls and events with names; functions with their sums
 *
 * Calls are numbered from 1 in the order in which they begin, parent is 0 for an outermost one, and their rows stand in
 * the order in which they end: appended, which is what makes it fast. There is no index; a user who needs one makes it
 * by `CREATE INDEX` in seconds. The library is loaded for this format only. The database has no journal while it is
 * written, because an incomplete one is removed.
 */
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "output/export/export.h"
#include "output/export/nest.h"
#include "output/export/places.h"
#include "output/export/sink.h"
#include "output/export/utf8.h"
#include "symbol/array.h"

static const char schema[] =
	"PRAGMA page_size=65536; PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE; PRAGMA cache_size=-32768;"
	"CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;"
	"CREATE TABLE task(id INTEGER PRIMARY KEY, pid INTEGER, tid INTEGER, ppid INTEGER, name TEXT, program TEXT);"
	"CREATE TABLE function(id INTEGER PRIMARY KEY, name TEXT, linked TEXT, object TEXT, file TEXT, line INTEGER);"
	"CREATE TABLE call(id INTEGER, parent INTEGER, task INTEGER, function INTEGER, level INTEGER, begin_ns INTEGER, end_ns INTEGER,"
	" self_ns INTEGER, how TEXT);"
	"CREATE TABLE event(task INTEGER, call INTEGER, ns INTEGER, cpu INTEGER, system TEXT, name TEXT, text TEXT, fields TEXT);"
	"CREATE TABLE loss(task INTEGER, ns INTEGER, records INTEGER);"
	"CREATE VIEW calls AS SELECT call.id, call.parent, task.pid, task.tid, task.name AS task, function.name AS function, function.object,"
	" call.level, call.begin_ns, call.end_ns - call.begin_ns AS duration_ns, call.self_ns, call.how"
	" FROM call JOIN task ON task.id = call.task JOIN function ON function.id = call.function;"
	"CREATE VIEW events AS SELECT event.call, task.pid, task.tid, task.name AS task, event.ns, event.cpu, event.system, event.name, event.text,"
	" event.fields FROM event JOIN task ON task.id = event.task;"
	"CREATE VIEW profile AS SELECT function.name AS function, function.object, count(*) AS calls, sum(self_ns) AS self_ns,"
	" max(end_ns - begin_ns) AS max_ns FROM call JOIN function ON function.id = call.function GROUP BY call.function;"
	"BEGIN;";

/* Several calls a statement: the cost of a statement is more than that of a row. */
#define CALL	"(?,?,?,?,?,?,?,?,?)"
#define CALL_COLUMNS	9
#define NCALLS	8u
enum { ROW_CALL, ROW_CALLS, ROW_TASK, ROW_FUNCTION, ROW_PLACE, ROW_EVENT, ROW_LOSS, ROW_META, NROWS };
static const char *const insert[NROWS] = {
	[ROW_CALL] = "INSERT INTO call VALUES" CALL,
	[ROW_CALLS] = "INSERT INTO call VALUES" CALL "," CALL "," CALL "," CALL "," CALL "," CALL "," CALL "," CALL,
	[ROW_TASK] = "INSERT INTO task VALUES(?,?,?,?,?,?)",
	[ROW_FUNCTION] = "INSERT INTO function VALUES(?,?,?,?,NULL,NULL)",
	[ROW_PLACE] = "UPDATE function SET file=?, line=? WHERE id=?",
	[ROW_EVENT] = "INSERT INTO event VALUES(?,?,?,?,?,?,?,?)",
	[ROW_LOSS] = "INSERT INTO loss VALUES(?,?,?)",
	[ROW_META] = "INSERT INTO meta VALUES(?,?)",
};

/* ---- The library ---- */

#define LIBRARY(f)	__typeof__(&sqlite3_##f) f
struct sqlite {
	void *so;
	LIBRARY(open_v2);
	LIBRARY(close);
	LIBRARY(exec);
	LIBRARY(prepare_v2);
	LIBRARY(bind_int64);
	LIBRARY(bind_text);
	LIBRARY(bind_null);
	LIBRARY(step);
	LIBRARY(reset);
	LIBRARY(finalize);
	LIBRARY(errmsg);
	LIBRARY(system_errno);
	LIBRARY(extended_errcode);
	sqlite3 *db;
	sqlite3_stmt *row[NROWS];
	uint8_t *has_task;		/* by index */
	const struct uft_sym **sym;	/* by index: functions that have their row */
	struct places places;
	uint32_t ntasks, nsyms;
	struct utf8_text text;
	FILE *json;			/* to json_text */
	char *json_text;
	size_t json_bytes;
	struct uft_error *err;
	struct row {
		uint64_t id, parent, task, function, level, begin_ns, end_ns, self_ns;
		enum nest_end how;
	} call[NCALLS];
	uint32_t ncalls;		/* that wait for their statement */
};

static int load(struct sqlite *q)
{
#define FUNCTION(f)	{ "sqlite3_" #f, &q->f }
	const struct { const char *name; void *at; } function[] = {
		FUNCTION(open_v2), FUNCTION(close), FUNCTION(exec), FUNCTION(prepare_v2), FUNCTION(bind_int64),
		FUNCTION(bind_text),
		FUNCTION(bind_null), FUNCTION(step), FUNCTION(reset), FUNCTION(finalize), FUNCTION(errmsg),
		FUNCTION(system_errno),
		FUNCTION(extended_errcode),
	};

	q->so = dlopen("libsqlite3.so.0", RTLD_NOW | RTLD_LOCAL);
	if (!q->so)
		return uft_fail(
			q->err, -ENOPKG,
			"cannot load libsqlite3.so.0, which this format needs: install it (Debian: libsqlite3-0)");
	for (size_t i = 0; i < sizeof(function) / sizeof(function[0]); i++) {
		void *f = dlsym(q->so, function[i].name);

		if (!f)
			return uft_fail(q->err, -ENOPKG,
					"the libsqlite3.so.0 that is installed is too old: it has no %s",
					function[i].name);
		memcpy(function[i].at, &f, sizeof(f));
	}
	return 0;
}

/* Makes a message of the library's last error, and returns a negative errno. */
static int fail(struct sqlite *q, const char *path)
{
	int code = q->extended_errcode(q->db) & 0xff, error = q->system_errno(q->db);

	error = code == SQLITE_NOMEM ? ENOMEM : code == SQLITE_FULL ? ENOSPC : error ? error : EIO;
	return uft_fail(q->err, -error, "cannot write %.200s: %s", path,
			error == EIO || error == ENOMEM ? q->errmsg(q->db) : strerror(error));
}

/* ---- Rows ---- */

static void bind(struct sqlite *q, sqlite3_stmt *s, int i, uint64_t v)
{
	q->bind_int64(s, i, (sqlite3_int64)v);
}

static int bind_name(struct sqlite *q, sqlite3_stmt *s, int i, const char *name)
{
	const char *clean = utf8_clean(&q->text, name ? name : "");

	if (!clean)
		return -ENOMEM;
	return q->bind_text(s, i, clean, -1, SQLITE_TRANSIENT) == SQLITE_OK ? 0 : -ENOMEM;
}

/* 0 or -EIO: fail() gives the reason. */
static int put(struct sqlite *q, sqlite3_stmt *s)
{
	int done = q->step(s);

	q->reset(s);
	return done == SQLITE_DONE ? 0 : -EIO;
}

static int add_task(struct sqlite *q, const struct uft_task *t)
{
	sqlite3_stmt *s = q->row[ROW_TASK];

	if (array_reach(q->has_task, q->ntasks, t->index) < 0)
		return -ENOMEM;
	if (q->has_task[t->index])
		return 0;
	q->has_task[t->index] = 1;
	bind(q, s, 1, t->index);
	bind(q, s, 2, t->pid);
	bind(q, s, 3, t->tid);
	bind(q, s, 4, t->ppid);
	if (bind_name(q, s, 5, t->comm && *t->comm ? t->comm : "?") < 0 ||
	    bind_name(q, s, 6, t->image ? t->image->exe : NULL) < 0)
		return -ENOMEM;
	return put(q, s);
}

static int add_function(struct sqlite *q, const struct uft_sym *sym)
{
	sqlite3_stmt *s = q->row[ROW_FUNCTION];

	if (array_reach(q->sym, q->nsyms, sym->index) < 0)
		return -ENOMEM;
	if (q->sym[sym->index])
		return 0;
	q->sym[sym->index] = sym;
	bind(q, s, 1, sym->index);
	if (bind_name(q, s, 2, sym->name) < 0 || bind_name(q, s, 3, sym->raw ? sym->raw : sym->name) < 0 ||
	    bind_name(q, s, 4, sym->object) < 0)
		return -ENOMEM;
	return put(q, s);
}

/* Calls @from and up to @n, as the parameters of one statement. */
static int put_calls(struct sqlite *q, sqlite3_stmt *s, uint32_t from, uint32_t n)
{
	static const char *const text[] = { [NEST_RETURNED] = "returned", [NEST_LEFT] = "left", [NEST_OPEN] = "open" };

	for (uint32_t k = 0; k < n; k++) {
		const struct row *r = &q->call[from + k];
		int at = (int)(k * CALL_COLUMNS);

		bind(q, s, at + 1, r->id);
		bind(q, s, at + 2, r->parent);
		bind(q, s, at + 3, r->task);
		bind(q, s, at + 4, r->function);
		bind(q, s, at + 5, r->level);
		bind(q, s, at + 6, r->begin_ns);
		bind(q, s, at + 7, r->end_ns);
		bind(q, s, at + 8, r->self_ns);
		q->bind_text(s, at + 9, text[r->how], -1, SQLITE_STATIC);
	}
	return put(q, s);
}

static int end(void *ctx, const struct uft_task *task, const struct nest_call *call, uint64_t ns, enum nest_end how)
{
	struct sqlite *q = ctx;
	int ret = task->index < q->ntasks && q->has_task[task->index] ? 0 : add_task(q, task);

	if (!ret && !(call->sym->index < q->nsyms && q->sym[call->sym->index]))
		ret = add_function(q, call->sym);
	if (ret)
		return ret;
	q->call[q->ncalls++] = (struct row){ call->id, call->parent, task->index, call->sym->index, call->level,
		call->begin_ns, ns,
					     ns - call->begin_ns - call->child_ns, how };
	if (q->ncalls < NCALLS)
		return 0;
	q->ncalls = 0;
	return put_calls(q, q->row[ROW_CALLS], 0, NCALLS);
}

static int put_rest(struct sqlite *q)
{
	int ret = 0;

	for (uint32_t i = 0; i < q->ncalls && !ret; i++)
		ret = put_calls(q, q->row[ROW_CALL], i, 1);
	q->ncalls = 0;
	return ret;
}

static int lost(void *ctx, const struct uft_task *task, uint64_t ns, uint64_t records)
{
	struct sqlite *q = ctx;
	sqlite3_stmt *s = q->row[ROW_LOSS];
	int ret = task ? add_task(q, task) : 0;

	if (ret)
		return ret;
	if (task)
		bind(q, s, 1, task->index);
	else
		q->bind_null(s, 1);
	bind(q, s, 2, ns);
	bind(q, s, 3, records);
	return put(q, s);
}

static int event(void *ctx, const struct uft_task *task, const struct nest_call *in, uint64_t ns,
		 const struct export_event *e, const struct uft_event *ev)
{
	struct sqlite *q = ctx;
	sqlite3_stmt *s = q->row[ROW_EVENT];
	int ret = add_task(q, task);

	if (ret)
		return ret;
	rewind(q->json);
	export_event_json(q->json, e);
	putc('\0', q->json);
	if (fflush(q->json))
		return -ENOMEM;
	bind(q, s, 1, task->index);
	if (in)
		bind(q, s, 2, in->id);
	else
		q->bind_null(s, 2);
	bind(q, s, 3, ns);
	bind(q, s, 4, ev->cpu);
	if (bind_name(q, s, 5, e->system) < 0 || bind_name(q, s, 6, e->name) < 0 || bind_name(q, s, 7, e->text) < 0 ||
	    bind_name(q, s, 8, q->json_text) < 0)
		return -ENOMEM;
	return put(q, s);
}

static int put_number(struct sqlite *q, const char *key, uint64_t v)
{
	bind(q, q->row[ROW_META], 2, v);
	return bind_name(q, q->row[ROW_META], 1, key) < 0 ? -ENOMEM : put(q, q->row[ROW_META]);
}

static int put_word(struct sqlite *q, const char *key, const char *v)
{
	return bind_name(q, q->row[ROW_META], 1, key) < 0 || bind_name(q, q->row[ROW_META], 2, v) < 0 ? -ENOMEM :
		put(q, q->row[ROW_META]);
}

static int put_meta(struct sqlite *q, const struct nest_result *r, const struct uft_info *info)
{
	int ret = put_number(q, "schema", 2);

	ret = ret ? ret : put_number(q, "calls", r->calls);
	ret = ret ? ret : put_number(q, "open", r->open);
	ret = ret ? ret : put_number(q, "without_entry", r->without_entry);
	ret = ret ? ret : put_number(q, "lost", r->lost);
	ret = ret ? ret : put_number(q, "events", r->events);
	ret = ret ? ret : put_number(q, "end_ns", r->end_ns);
	ret = ret ? ret : put_word(q, "host", info->hostname);
	return ret ? ret : put_word(q, "command", info->cmdline);
}

static int put_places(struct sqlite *q, const struct uft_export_opts *o)
{
	sqlite3_stmt *s = q->row[ROW_PLACE];
	int ret = 0;

	for (uint32_t i = 0; i < q->nsyms && !ret; i++)
		ret = q->sym[i] ? places_want(&q->places, q->sym[i]) : 0;
	ret = ret ? ret : places_find(&q->places, o, q->err);
	for (uint32_t i = 0; i < q->nsyms && !ret; i++) {
		struct uft_source at = places_of(&q->places, q->sym[i]);

		if (!at.file)
			continue;
		bind(q, s, 2, at.line);
		bind(q, s, 3, i);
		ret = bind_name(q, s, 1, at.file) < 0 ? -ENOMEM : put(q, s);
	}
	return ret;
}

static int fill(struct sqlite *q, struct uft_stream *st, const char *file, const struct uft_export_opts *o)
{
	static const struct nest_ops ops = { NULL, end, lost, event };
	struct nest_result r;
	int ret = 0;

	q->json = open_memstream(&q->json_text, &q->json_bytes);
	if (!q->json)
		return -ENOMEM;
	if (q->open_v2(file, &q->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL) !=
		    SQLITE_OK ||
	    q->exec(q->db, schema, NULL, NULL, NULL) != SQLITE_OK)
		return -EIO;
	for (int i = 0; i < NROWS; i++)
		if (q->prepare_v2(q->db, insert[i], -1, &q->row[i], NULL) != SQLITE_OK)
			return -EIO;
	ret = nest_run(st, &ops, q, &r);
	if (!ret)
		ret = put_rest(q);
	if (!ret && o && o->has_lines)
		ret = put_places(q, o);
	if (!ret)
		ret = put_meta(q, &r, uft_stream_info(st));
	if (!ret && q->exec(q->db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
		ret = -EIO;
	return ret;
}

static void release(struct sqlite *q)
{
	for (int i = 0; q->so && q->finalize && i < NROWS; i++)
		q->finalize(q->row[i]);
	if (q->db)
		q->close(q->db);
	if (q->so)
		dlclose(q->so);
	free(q->has_task);
	free(q->sym);
	places_free(&q->places);
	if (q->json)
		fclose(q->json);
	free(q->json_text);
	utf8_free(&q->text);
}

int uft_export_sqlite(struct uft_stream *st, const char *path, const struct uft_export_opts *o, struct uft_error *err)
{
	struct sqlite q = { .err = err };
	struct export_sink sink;
	int ret = load(&q);

	if (!ret)
		ret = export_sink_reserve(&sink, path, err);
	if (ret) {
		release(&q);
		return ret;
	}
	ret = sink.part ? fill(&q, st, sink.part, o)
			: uft_fail(err, -ESPIPE,
				   "cannot write %.200s: a database is a file that is read and written, not a pipe",
				   path);
	if (ret == -EIO)		/* without memory for its handle the library has no message either */
		ret = q.db ? fail(&q, path) : -ENOMEM;
	release(&q);
	return export_sink_finish(&sink, st, ret, err);
}
