/* SPDX-License-Identifier: MIT */
/*
 * parquet.c - tables of Apache Parquet, compressed with zstd: a row for each call, or for each event
 *
 * A file has one table, so calls and events are two formats. Rows of calls are in the order in which calls end. Calls
 * are numbered (id, parent) from 1 in the order in which they begin; parent is 0 for an outermost call. ROWS rows are a
 * row group: one page for each column, numbers PLAIN, names by a dictionary of the group. The indices of a dictionary
 * have 8, 16 or 32 bits, so that the bit packing of the format is a plain array. The file's key-value metadata counts
 * what has no row. Memory: one group, and 400 bytes for each group that was written.
 *
 * The file: `PAR1`, groups, FileMetaData, its length, `PAR1`. It has the required fields of the format's thrift
 * definition, and no others.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "output/export/export.h"
#include "output/export/nest.h"
#include "output/export/sink.h"
#include "output/export/thrift.h"
#include "output/export/utf8.h"
#include "symbol/array.h"
#include "symbol/hash_index.h"
#include "symbol/keyed_hash.h"

#define ROWS		(128u << 10)
#define LEVEL		1		/* of zstd */

enum { TYPE_INT32 = 1, TYPE_INT64 = 2, TYPE_BYTES = 6 };
enum { ENCODING_PLAIN = 0, ENCODING_RLE = 3, ENCODING_DICTIONARY = 8 };
enum { PAGE_DATA = 0, PAGE_DICTIONARY = 2, CODEC_ZSTD = 6, REQUIRED = 0, CONVERTED_UTF8 = 0 };

struct column { const char *name; uint8_t type; };
#define MAX_COLUMNS	12

enum call_column { COLUMN_ID, COLUMN_PARENT, COLUMN_PID, COLUMN_TID, COLUMN_TASK, COLUMN_FUNCTION, COLUMN_OBJECT,
	COLUMN_LEVEL, COLUMN_BEGIN,
	      COLUMN_DURATION, COLUMN_SELF, COLUMN_HOW, CALL_COLUMNS };
static const struct column call_columns[CALL_COLUMNS] = {
	[COLUMN_ID] = { "id", TYPE_INT64 }, [COLUMN_PARENT] = { "parent", TYPE_INT64 },
	[COLUMN_PID] = { "pid", TYPE_INT32 },
	[COLUMN_TID] = { "tid", TYPE_INT32 }, [COLUMN_TASK] = { "task", TYPE_BYTES },
	[COLUMN_FUNCTION] = { "function", TYPE_BYTES },
	[COLUMN_OBJECT] = { "object", TYPE_BYTES }, [COLUMN_LEVEL] = { "level", TYPE_INT32 },
	[COLUMN_BEGIN] = { "begin_ns", TYPE_INT64 },
	[COLUMN_DURATION] = { "duration_ns", TYPE_INT64 }, [COLUMN_SELF] = { "self_ns", TYPE_INT64 },
	[COLUMN_HOW] = { "how", TYPE_BYTES },
};

/* Events, marks and losses, in the order of time; `records` is the number of lost records of a loss. */
enum event_column { EVENT_CALL, EVENT_PID, EVENT_TID, EVENT_TASK, EVENT_CPU, EVENT_TIME, EVENT_SYSTEM, EVENT_NAME,
	EVENT_TEXT, EVENT_FIELDS_JSON,
		    EVENT_RECORDS, EVENT_COLUMNS };
static const struct column event_columns[EVENT_COLUMNS] = {
	[EVENT_CALL] = { "call", TYPE_INT64 }, [EVENT_PID] = { "pid", TYPE_INT32 }, [EVENT_TID] = { "tid", TYPE_INT32 },
	[EVENT_TASK] = { "task", TYPE_BYTES }, [EVENT_CPU] = { "cpu", TYPE_INT32 }, [EVENT_TIME] = { "ns", TYPE_INT64 },
	[EVENT_SYSTEM] = { "system", TYPE_BYTES }, [EVENT_NAME] = { "name", TYPE_BYTES },
	[EVENT_TEXT] = { "text", TYPE_BYTES },
	[EVENT_FIELDS_JSON] = { "fields", TYPE_BYTES }, [EVENT_RECORDS] = { "records", TYPE_INT64 },
};
#define GROUP_TEXT	(16u << 20)	/* of one column, then a group ends */

/*
 * The different names of a group, in PLAIN encoding, looked up by text. An index that was met before finds its name by
 * number.
 */
struct dict {
	struct pb plain;
	uint32_t n;
	uint32_t *at, nat;		/* of a name's text in plain */
	struct hash_index by_name;
	struct seen { uint32_t group, id; } *seen;	/* by index; group: number + 1 */
	uint32_t nseen;
};

struct chunk { uint64_t offset, dictionary, raw, packed; };	/* dictionary: its offset, 0 none */
struct group { struct chunk chunk[MAX_COLUMNS]; uint32_t nrows; };

struct parquet {
	const char *table;
	const struct column *column;
	int ncolumns;
	FILE *out;
	uint64_t written;
	uint32_t nrows, ngroups, cap_groups;
	uint64_t total;
	struct group *group;
	uint64_t *wide[MAX_COLUMNS];	/* of this group: INT64 */
	uint32_t *narrow[MAX_COLUMNS];	/* the others: INT32, or numbers of names */
	struct dict dict[MAX_COLUMNS];
	struct pb head, raw;
	char *packed;
	size_t cap_packed;
	ZSTD_CCtx *zstd;
	struct utf8_text text;
	FILE *json;			/* to json_text: fields of an event */
	char *json_text;
	size_t json_bytes;
};

/* ---- Dictionaries ---- */

static int is_name(const struct dict *d, uint32_t id, const char *s, uint32_t n)
{
	const char *at = d->plain.data + d->at[id];
	uint32_t len;

	memcpy(&len, at, sizeof(len));
	return len == n && !memcmp(at + sizeof(len), s, n);
}

static int add_name(struct dict *d, const char *s, uint32_t n, uint64_t hash)
{
	char *p = pb_room(&d->plain, sizeof(n) + n);

	if (!p || array_reach(d->at, d->nat, d->n) || hash_index_add(&d->by_name, hash, d->n))
		return -ENOMEM;
	memcpy(p, &n, sizeof(n));
	memcpy(p + sizeof(n), s, n);
	d->at[d->n++] = (uint32_t)d->plain.n;
	d->plain.n += sizeof(n) + n;
	return 0;
}

static int find_name(struct parquet *p, struct dict *d, const char *name, uint32_t *id)
{
	const char *s = utf8_clean(&p->text, name);
	uint64_t hash;
	uint32_t n;

	if (!s)
		return -ENOMEM;
	n = (uint32_t)strlen(s);
	hash = hash_bytes(s, n);
	*id = HASH_FIND(i, &d->by_name, hash, is_name(d, i, s, n));
	if (*id != HASH_NONE)
		return 0;
	*id = d->n;
	return add_name(d, s, n, hash);
}

/* The id of @name, the name of the object that has @index. */
static inline int name_of(struct parquet *p, int column, uint32_t index, const char *name, uint32_t *id)
{
	struct dict *d = &p->dict[column];

	if (index < d->nseen && d->seen[index].group == p->ngroups + 1) {
		*id = d->seen[index].id;
		return 0;
	}
	if (array_reach(d->seen, d->nseen, index) < 0 ||
	    find_name(p, d, name ? name : "", id) < 0)
		return -ENOMEM;
	d->seen[index] = (struct seen){ p->ngroups + 1, *id };
	return 0;
}

/* ---- Pages ---- */

static int put(struct parquet *p, const void *data, size_t n)
{
	errno = 0;
	if (fwrite(data, 1, n, p->out) != n)
		return errno ? -errno : -EIO;
	p->written += n;
	return 0;
}

/* One page of @n values: @raw, compressed, behind its header. */
static int put_page(struct parquet *p, struct chunk *c, int type, uint32_t nvalues, int encoding, const void *raw,
		    size_t n)
{
	size_t most = ZSTD_compressBound(n), packed;
	uint8_t last = 0, inner = 0;
	int ret;

	if (p->cap_packed < most) {
		free(p->packed);
		p->packed = malloc(most);
		p->cap_packed = p->packed ? most : 0;
		if (!p->packed)
			return -ENOMEM;
	}
	packed = ZSTD_compressCCtx(p->zstd, p->packed, p->cap_packed, raw, n, LEVEL);
	if (ZSTD_isError(packed))
		return -ENOMEM;
	p->head.n = 0;
	thrift_int(&p->head, &last, 1, THRIFT_I32, (uint64_t)type);
	thrift_int(&p->head, &last, 2, THRIFT_I32, n);
	thrift_int(&p->head, &last, 3, THRIFT_I32, packed);
	thrift_field(&p->head, &last, type == PAGE_DATA ? 5 : 7, THRIFT_STRUCT);
	thrift_int(&p->head, &inner, 1, THRIFT_I32, nvalues);
	thrift_int(&p->head, &inner, 2, THRIFT_I32, (uint64_t)encoding);
	if (type == PAGE_DATA) {	/* of levels, which required columns have none of */
		thrift_int(&p->head, &inner, 3, THRIFT_I32, ENCODING_RLE);
		thrift_int(&p->head, &inner, 4, THRIFT_I32, ENCODING_RLE);
	}
	thrift_stop(&p->head);
	thrift_stop(&p->head);
	if (p->head.error)
		return p->head.error;
	c->raw += p->head.n + n;
	c->packed += p->head.n + packed;
	ret = put(p, p->head.data, p->head.n);
	return ret ? ret : put(p, p->packed, packed);
}

/* The width of an index, then one bit-packed run of all of them, a multiple of 8. */
static int put_indices(struct parquet *p, struct chunk *c, const uint32_t *id, uint32_t ndict)
{
	unsigned bytes = ndict <= 0x100 ? 1 : ndict <= 0x10000 ? 2 : 4;
	uint32_t n = (p->nrows + 7) / 8 * 8;
	char *to;

	p->raw.n = 0;
	thrift_byte(&p->raw, (uint8_t)(8 * bytes));
	pb_varint(&p->raw, (uint64_t)n / 8 << 1 | 1);
	to = pb_room(&p->raw, (size_t)n * bytes);
	if (!to)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->nrows; i++)
		memcpy(to + (size_t)i * bytes, &id[i], bytes);
	memset(to + (size_t)p->nrows * bytes, 0, (size_t)(n - p->nrows) * bytes);
	p->raw.n += (size_t)n * bytes;
	return put_page(p, c, PAGE_DATA, p->nrows, ENCODING_DICTIONARY, p->raw.data, p->raw.n);
}

static int put_column(struct parquet *p, int i, struct chunk *c)
{
	struct dict *d = &p->dict[i];
	int ret;

	c->offset = p->written;
	if (p->column[i].type == TYPE_INT64)
		return put_page(p, c, PAGE_DATA, p->nrows, ENCODING_PLAIN, p->wide[i], p->nrows * sizeof(uint64_t));
	if (p->column[i].type == TYPE_INT32)
		return put_page(p, c, PAGE_DATA, p->nrows, ENCODING_PLAIN, p->narrow[i], p->nrows * sizeof(uint32_t));
	c->dictionary = p->written;
	ret = put_page(p, c, PAGE_DICTIONARY, d->n, ENCODING_PLAIN, d->plain.data, d->plain.n);
	c->offset = p->written;
	if (!ret)
		ret = put_indices(p, c, p->narrow[i], d->n);
	d->plain.n = 0;
	d->n = 0;
	hash_index_clear(&d->by_name);
	return ret;
}

static int put_group(struct parquet *p)
{
	struct group *g;
	int ret = 0;

	if (!p->nrows)
		return 0;
	if (array_reach(p->group, p->cap_groups, p->ngroups) < 0)
		return -ENOMEM;
	g = &p->group[p->ngroups];
	g->nrows = p->nrows;
	for (int i = 0; i < p->ncolumns && !ret; i++)
		ret = put_column(p, i, &g->chunk[i]);
	p->ngroups++;
	p->total += p->nrows;
	p->nrows = 0;
	return ret;
}

/* ---- Rows ---- */

static int end(void *ctx, const struct uft_task *task, const struct nest_call *call, uint64_t ns, enum nest_end how)
{
	static const char *const text[] = { [NEST_RETURNED] = "returned", [NEST_LEFT] = "left", [NEST_OPEN] = "open" };
	struct parquet *p = ctx;
	uint32_t i = p->nrows;

	if (name_of(p, COLUMN_TASK, task->index, task->comm && *task->comm ? task->comm : "?",
		    &p->narrow[COLUMN_TASK][i]) < 0 ||
	    name_of(p, COLUMN_FUNCTION, call->sym->index, call->sym->name, &p->narrow[COLUMN_FUNCTION][i]) < 0 ||
	    name_of(p, COLUMN_OBJECT, call->sym->index, call->sym->object, &p->narrow[COLUMN_OBJECT][i]) < 0 ||
	    name_of(p, COLUMN_HOW, how, text[how], &p->narrow[COLUMN_HOW][i]) < 0)
		return -ENOMEM;
	p->wide[COLUMN_ID][i] = call->id;
	p->wide[COLUMN_PARENT][i] = call->parent;
	p->wide[COLUMN_BEGIN][i] = call->begin_ns;
	p->wide[COLUMN_DURATION][i] = ns - call->begin_ns;
	p->wide[COLUMN_SELF][i] = ns - call->begin_ns - call->child_ns;
	p->narrow[COLUMN_PID][i] = task->pid;
	p->narrow[COLUMN_TID][i] = task->tid;
	p->narrow[COLUMN_LEVEL][i] = call->level;
	return ++p->nrows == ROWS ? put_group(p) : 0;
}

/* ---- Rows of events ---- */

/* @task may be NULL. */
static int put_event(struct parquet *p, const struct uft_task *task, const char *system, const char *name,
		     const char *text, const char *fields)
{
	uint32_t i = p->nrows;
	int is_full = ++p->nrows == ROWS;

	p->narrow[EVENT_PID][i] = task ? task->pid : 0;
	p->narrow[EVENT_TID][i] = task ? task->tid : 0;
	if (find_name(p, &p->dict[EVENT_TASK], task && task->comm && *task->comm ? task->comm : "?",
		      &p->narrow[EVENT_TASK][i]) < 0 ||
	    find_name(p, &p->dict[EVENT_SYSTEM], system, &p->narrow[EVENT_SYSTEM][i]) < 0 ||
	    find_name(p, &p->dict[EVENT_NAME], name, &p->narrow[EVENT_NAME][i]) < 0 ||
	    find_name(p, &p->dict[EVENT_TEXT], text, &p->narrow[EVENT_TEXT][i]) < 0 ||
	    find_name(p, &p->dict[EVENT_FIELDS_JSON], fields, &p->narrow[EVENT_FIELDS_JSON][i]) < 0)
		return -ENOMEM;
	is_full |= p->dict[EVENT_TEXT].plain.n > GROUP_TEXT || p->dict[EVENT_FIELDS_JSON].plain.n > GROUP_TEXT;
	return is_full ? put_group(p) : 0;
}

static int event(void *ctx, const struct uft_task *task, const struct nest_call *in, uint64_t ns,
		 const struct export_event *e, const struct uft_event *ev)
{
	struct parquet *p = ctx;

	rewind(p->json);
	export_event_json(p->json, e);
	putc('\0', p->json);
	if (fflush(p->json))
		return -ENOMEM;
	p->wide[EVENT_CALL][p->nrows] = in ? in->id : 0;
	p->wide[EVENT_TIME][p->nrows] = ns;
	p->wide[EVENT_RECORDS][p->nrows] = 0;
	p->narrow[EVENT_CPU][p->nrows] = ev->cpu;
	return put_event(p, task, e->system, e->name, e->text, p->json_text);
}

static int lost(void *ctx, const struct uft_task *task, uint64_t ns, uint64_t records)
{
	struct parquet *p = ctx;

	p->wide[EVENT_CALL][p->nrows] = 0;
	p->wide[EVENT_TIME][p->nrows] = ns;
	p->wide[EVENT_RECORDS][p->nrows] = records;
	p->narrow[EVENT_CPU][p->nrows] = 0;
	return put_event(p, task, "uft", "lost", "records lost", "{}");
}

/* ---- The footer ---- */

static void add_schema(const struct parquet *p, struct pb *b, uint8_t *last)
{
	uint8_t inner = 0;

	thrift_list(b, last, 2, THRIFT_STRUCT, (uint32_t)p->ncolumns + 1);
	thrift_text(b, &inner, 4, p->table);
	thrift_int(b, &inner, 5, THRIFT_I32, (uint64_t)p->ncolumns);
	thrift_stop(b);
	for (int i = 0; i < p->ncolumns; i++) {
		inner = 0;
		thrift_int(b, &inner, 1, THRIFT_I32, p->column[i].type);
		thrift_int(b, &inner, 3, THRIFT_I32, REQUIRED);
		thrift_text(b, &inner, 4, p->column[i].name);
		if (p->column[i].type == TYPE_BYTES)
			thrift_int(b, &inner, 6, THRIFT_I32, CONVERTED_UTF8);
		thrift_stop(b);
	}
}

static void add_chunk(struct pb *b, const struct column *column, const struct chunk *c, uint32_t nrows)
{
	int is_name = column->type == TYPE_BYTES;
	uint8_t outer = 0, last = 0;

	thrift_int(b, &outer, 2, THRIFT_I64, is_name ? c->dictionary : c->offset);
	thrift_field(b, &outer, 3, THRIFT_STRUCT);
	thrift_int(b, &last, 1, THRIFT_I32, column->type);
	thrift_list(b, &last, 2, THRIFT_I32, is_name ? 2 : 1);
	thrift_value(b, ENCODING_PLAIN);
	if (is_name)
		thrift_value(b, ENCODING_DICTIONARY);
	thrift_list(b, &last, 3, THRIFT_BINARY, 1);
	pb_counted(b, column->name, strlen(column->name));
	thrift_int(b, &last, 4, THRIFT_I32, CODEC_ZSTD);
	thrift_int(b, &last, 5, THRIFT_I64, nrows);
	thrift_int(b, &last, 6, THRIFT_I64, c->raw);
	thrift_int(b, &last, 7, THRIFT_I64, c->packed);
	thrift_int(b, &last, 9, THRIFT_I64, c->offset);
	if (is_name)
		thrift_int(b, &last, 11, THRIFT_I64, c->dictionary);
	thrift_stop(b);
	thrift_stop(b);
}

static void add_group(const struct parquet *p, struct pb *b, const struct group *g)
{
	uint64_t raw = 0;
	uint8_t last = 0;

	thrift_list(b, &last, 1, THRIFT_STRUCT, (uint32_t)p->ncolumns);
	for (int i = 0; i < p->ncolumns; i++) {
		add_chunk(b, &p->column[i], &g->chunk[i], g->nrows);
		raw += g->chunk[i].raw;
	}
	thrift_int(b, &last, 2, THRIFT_I64, raw);
	thrift_int(b, &last, 3, THRIFT_I64, g->nrows);
	thrift_stop(b);
}

static void add_number(struct pb *b, const char *key, uint64_t v)
{
	uint8_t last = 0;
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, v);
	thrift_text(b, &last, 1, key);
	thrift_text(b, &last, 2, text);
	thrift_stop(b);
}

static int put_footer(struct parquet *p, const struct nest_result *r)
{
	uint8_t last = 0;
	uint32_t n;
	int ret;

	p->raw.n = 0;
	thrift_int(&p->raw, &last, 1, THRIFT_I32, 1);
	add_schema(p, &p->raw, &last);
	thrift_int(&p->raw, &last, 3, THRIFT_I64, p->total);
	thrift_list(&p->raw, &last, 4, THRIFT_STRUCT, p->ngroups);
	for (uint32_t i = 0; i < p->ngroups; i++)
		add_group(p, &p->raw, &p->group[i]);
	thrift_list(&p->raw, &last, 5, THRIFT_STRUCT, 5);
	add_number(&p->raw, "calls", r->calls);
	add_number(&p->raw, "open", r->open);
	add_number(&p->raw, "without_entry", r->without_entry);
	add_number(&p->raw, "lost", r->lost);
	add_number(&p->raw, "events", r->events);
	thrift_text(&p->raw, &last, 6, "uft");
	thrift_stop(&p->raw);
	if (p->raw.error)
		return p->raw.error;
	n = (uint32_t)p->raw.n;
	ret = put(p, p->raw.data, n);
	ret = ret ? ret : put(p, &n, sizeof(n));
	return ret ? ret : put(p, "PAR1", 4);
}

static int prepare(struct parquet *p)
{
	p->zstd = ZSTD_createCCtx();
	p->json = open_memstream(&p->json_text, &p->json_bytes);
	if (!p->zstd || !p->json)
		return -ENOMEM;
	for (int i = 0; i < p->ncolumns; i++) {
		int is_wide = p->column[i].type == TYPE_INT64;

		p->wide[i] = is_wide ? malloc(ROWS * sizeof(uint64_t)) : NULL;
		p->narrow[i] = is_wide ? NULL : malloc(ROWS * sizeof(uint32_t));
		if (!p->wide[i] && !p->narrow[i])
			return -ENOMEM;
	}
	return put(p, "PAR1", 4);
}

static void release(struct parquet *p)
{
	for (int i = 0; i < MAX_COLUMNS; i++) {
		free(p->wide[i]);
		free(p->narrow[i]);
		pb_free(&p->dict[i].plain);
		free(p->dict[i].at);
		hash_index_free(&p->dict[i].by_name);
		free(p->dict[i].seen);
	}
	free(p->group);
	pb_free(&p->head);
	pb_free(&p->raw);
	free(p->packed);
	ZSTD_freeCCtx(p->zstd);
	if (p->json)
		fclose(p->json);
	free(p->json_text);
	utf8_free(&p->text);
}

static int write_table(struct parquet *p, struct uft_stream *st, const char *path, const struct nest_ops *ops,
		       struct uft_error *err)
{
	struct export_sink sink;
	struct nest_result r;
	int ret = export_sink_open(&sink, path, err);

	if (ret)
		return ret;
	p->out = sink.out;
	ret = prepare(p);
	if (!ret)
		ret = nest_run(st, ops, p, &r);
	if (!ret)
		ret = put_group(p);
	if (!ret)
		ret = put_footer(p, &r);
	release(p);
	return export_sink_finish(&sink, st, ret, err);
}

int uft_export_parquet(struct uft_stream *st, const char *path, const struct uft_export_opts *o, struct uft_error *err)
{
	static const struct nest_ops ops = { NULL, end, NULL, NULL };
	struct parquet p = { .table = "calls", .column = call_columns, .ncolumns = CALL_COLUMNS };

	(void)o;
	return write_table(&p, st, path, &ops, err);
}

int uft_export_parquet_events(struct uft_stream *st, const char *path, const struct uft_export_opts *o,
			      struct uft_error *err)
{
	static const struct nest_ops ops = { NULL, NULL, lost, event };
	struct parquet p = { .table = "events", .column = event_columns, .ncolumns = EVENT_COLUMNS };

	(void)o;
	return write_table(&p, st, path, &ops, err);
}
