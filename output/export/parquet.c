/* SPDX-License-Identifier: MIT */
/*
 * parquet.c - a table of Apache Parquet: a row for each call, compressed with zstd
 *
 * Rows stand in the order in which calls end; numbers (id, parent) are those of the order in which they
 * begin, from 1, parent 0 for an outermost one. ROWS of them are a row group: one page for each column,
 * numbers PLAIN, names by a dictionary of the group. The indices of a dictionary have 8, 16 or 32 bits, so
 * that the bit packing of the format is a plain array. What has no row, lost records and returns without
 * entry, is counted in the file's key-value metadata. Memory: one group, and 400 bytes for each group that
 * was written.
 *
 * The file: `PAR1`, groups, FileMetaData, its length, `PAR1`. All required fields of the format's thrift
 * definition are there, and none else.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "output/dense.h"
#include "output/export/export.h"
#include "output/export/nest.h"
#include "output/export/sink.h"
#include "output/export/thrift.h"
#include "output/export/utf8.h"

#define ROWS		(128u << 10)
#define LEVEL		1		/* of zstd */

enum { TYPE_INT32 = 1, TYPE_INT64 = 2, TYPE_BYTES = 6 };
enum { ENCODING_PLAIN = 0, ENCODING_RLE = 3, ENCODING_DICTIONARY = 8 };
enum { PAGE_DATA = 0, PAGE_DICTIONARY = 2, CODEC_ZSTD = 6, REQUIRED = 0, CONVERTED_UTF8 = 0 };

enum column { COLUMN_ID, COLUMN_PARENT, COLUMN_PID, COLUMN_TID, COLUMN_TASK, COLUMN_FUNCTION, COLUMN_OBJECT, COLUMN_LEVEL, COLUMN_BEGIN,
	      COLUMN_DURATION, COLUMN_SELF, COLUMN_HOW, NCOLUMNS };
static const struct { const char *name; uint8_t type; } columns[NCOLUMNS] = {
	[COLUMN_ID] = { "id", TYPE_INT64 }, [COLUMN_PARENT] = { "parent", TYPE_INT64 }, [COLUMN_PID] = { "pid", TYPE_INT32 },
	[COLUMN_TID] = { "tid", TYPE_INT32 }, [COLUMN_TASK] = { "task", TYPE_BYTES }, [COLUMN_FUNCTION] = { "function", TYPE_BYTES },
	[COLUMN_OBJECT] = { "object", TYPE_BYTES }, [COLUMN_LEVEL] = { "level", TYPE_INT32 }, [COLUMN_BEGIN] = { "begin_ns", TYPE_INT64 },
	[COLUMN_DURATION] = { "duration_ns", TYPE_INT64 }, [COLUMN_SELF] = { "self_ns", TYPE_INT64 }, [COLUMN_HOW] = { "how", TYPE_BYTES },
};

/*
 * The different names of a group, in PLAIN encoding, found by their text; an index that was met already finds
 * its name by number.
 */
struct dict {
	struct pb plain;
	uint32_t n;
	struct name { uint32_t at, hash; } *name;	/* at: of its text in plain */
	uint32_t *slot;			/* by hash: number + 1 */
	uint32_t nname, nslots;
	struct seen { uint32_t group, id; } *seen;	/* by index; group: number + 1 */
	uint32_t nseen;
};

struct chunk { uint64_t offset, dictionary, raw, packed; };	/* dictionary: its offset, 0 none */
struct group { struct chunk chunk[NCOLUMNS]; uint32_t nrows; };

struct parquet {
	FILE *out;
	uint64_t written;
	uint32_t nrows, ngroups, cap_groups;
	uint64_t total;
	struct group *group;
	uint64_t *wide[NCOLUMNS];	/* of this group: INT64 */
	uint32_t *narrow[NCOLUMNS];	/* the others: INT32, or numbers of names */
	struct dict dict[NCOLUMNS];
	struct pb head, raw;
	char *packed;
	size_t cap_packed;
	ZSTD_CCtx *zstd;
	struct utf8_text text;
};

/* ---- Dictionaries ---- */

static uint32_t hash_of(const char *s)
{
	uint32_t h = 2166136261u;

	while (*s)
		h = (h ^ (unsigned char)*s++) * 16777619u;
	return h;
}

static int is_name(const struct dict *d, uint32_t id, const char *s, uint32_t n)
{
	const char *at = d->plain.data + d->name[id].at;
	uint32_t len;

	memcpy(&len, at, sizeof(len));
	return len == n && !memcmp(at + sizeof(len), s, n);
}

static int grow_slots(struct dict *d)
{
	uint32_t want = d->nslots ? 2 * d->nslots : 256, *slot = calloc(want, sizeof(*slot));

	if (!slot)
		return -ENOMEM;
	for (uint32_t i = 0; i < d->n; i++) {
		uint32_t at = d->name[i].hash & (want - 1);

		while (slot[at])
			at = (at + 1) & (want - 1);
		slot[at] = i + 1;
	}
	free(d->slot);
	d->slot = slot;
	d->nslots = want;
	return 0;
}

static int add_name(struct dict *d, const char *s, uint32_t n, uint32_t hash)
{
	char *p = pb_room(&d->plain, sizeof(n) + n);

	if (!p || dense_reserve(&d->name, &d->nname, d->n, sizeof(*d->name)) < 0)
		return -ENOMEM;
	memcpy(p, &n, sizeof(n));
	memcpy(p + sizeof(n), s, n);
	d->name[d->n++] = (struct name){ (uint32_t)d->plain.n, hash };
	d->plain.n += sizeof(n) + n;
	return 0;
}

static int find_name(struct parquet *p, struct dict *d, const char *name, uint32_t *id)
{
	const char *s = utf8_clean(&p->text, name);
	uint32_t at, n, hash;

	if (!s || (2 * d->n >= d->nslots && grow_slots(d) < 0))
		return -ENOMEM;
	n = (uint32_t)strlen(s);
	hash = hash_of(s);
	for (at = hash & (d->nslots - 1); d->slot[at]; at = (at + 1) & (d->nslots - 1))
		if (is_name(d, d->slot[at] - 1, s, n)) {
			*id = d->slot[at] - 1;
			return 0;
		}
	*id = d->n;
	d->slot[at] = d->n + 1;
	return add_name(d, s, n, hash);
}

/* @name: of what has @index. */
static inline int name_of(struct parquet *p, enum column column, uint32_t index, const char *name, uint32_t *id)
{
	struct dict *d = &p->dict[column];

	if (index < d->nseen && d->seen[index].group == p->ngroups + 1) {
		*id = d->seen[index].id;
		return 0;
	}
	if (dense_reserve(&d->seen, &d->nseen, index, sizeof(*d->seen)) < 0 || find_name(p, d, name ? name : "", id) < 0)
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
static int put_page(struct parquet *p, struct chunk *c, int type, uint32_t nvalues, int encoding, const void *raw, size_t n)
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

static int put_column(struct parquet *p, enum column i, struct chunk *c)
{
	struct dict *d = &p->dict[i];
	int ret;

	c->offset = p->written;
	if (columns[i].type == TYPE_INT64)
		return put_page(p, c, PAGE_DATA, p->nrows, ENCODING_PLAIN, p->wide[i], p->nrows * sizeof(uint64_t));
	if (columns[i].type == TYPE_INT32)
		return put_page(p, c, PAGE_DATA, p->nrows, ENCODING_PLAIN, p->narrow[i], p->nrows * sizeof(uint32_t));
	c->dictionary = p->written;
	ret = put_page(p, c, PAGE_DICTIONARY, d->n, ENCODING_PLAIN, d->plain.data, d->plain.n);
	c->offset = p->written;
	if (!ret)
		ret = put_indices(p, c, p->narrow[i], d->n);
	d->plain.n = 0;
	d->n = 0;
	if (d->nslots)
		memset(d->slot, 0, d->nslots * sizeof(*d->slot));
	return ret;
}

static int put_group(struct parquet *p)
{
	struct group *g;
	int ret = 0;

	if (!p->nrows)
		return 0;
	if (dense_reserve(&p->group, &p->cap_groups, p->ngroups, sizeof(*p->group)) < 0)
		return -ENOMEM;
	g = &p->group[p->ngroups];
	g->nrows = p->nrows;
	for (int i = 0; i < NCOLUMNS && !ret; i++)
		ret = put_column(p, (enum column)i, &g->chunk[i]);
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

	if (name_of(p, COLUMN_TASK, task->index, task->comm && *task->comm ? task->comm : "?", &p->narrow[COLUMN_TASK][i]) < 0 ||
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

/* ---- The footer ---- */

static void add_schema(struct pb *b, uint8_t *last)
{
	uint8_t inner = 0;

	thrift_list(b, last, 2, THRIFT_STRUCT, NCOLUMNS + 1);
	thrift_text(b, &inner, 4, "calls");
	thrift_int(b, &inner, 5, THRIFT_I32, NCOLUMNS);
	thrift_stop(b);
	for (int i = 0; i < NCOLUMNS; i++) {
		inner = 0;
		thrift_int(b, &inner, 1, THRIFT_I32, columns[i].type);
		thrift_int(b, &inner, 3, THRIFT_I32, REQUIRED);
		thrift_text(b, &inner, 4, columns[i].name);
		if (columns[i].type == TYPE_BYTES)
			thrift_int(b, &inner, 6, THRIFT_I32, CONVERTED_UTF8);
		thrift_stop(b);
	}
}

static void add_chunk(struct pb *b, int column, const struct chunk *c, uint32_t nrows)
{
	int is_name = columns[column].type == TYPE_BYTES;
	uint8_t outer = 0, last = 0;

	thrift_int(b, &outer, 2, THRIFT_I64, is_name ? c->dictionary : c->offset);
	thrift_field(b, &outer, 3, THRIFT_STRUCT);
	thrift_int(b, &last, 1, THRIFT_I32, columns[column].type);
	thrift_list(b, &last, 2, THRIFT_I32, is_name ? 2 : 1);
	thrift_value(b, ENCODING_PLAIN);
	if (is_name)
		thrift_value(b, ENCODING_DICTIONARY);
	thrift_list(b, &last, 3, THRIFT_BINARY, 1);
	thrift_bytes(b, columns[column].name, strlen(columns[column].name));
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

static void add_group(struct pb *b, const struct group *g)
{
	uint64_t raw = 0;
	uint8_t last = 0;

	thrift_list(b, &last, 1, THRIFT_STRUCT, NCOLUMNS);
	for (int i = 0; i < NCOLUMNS; i++) {
		add_chunk(b, i, &g->chunk[i], g->nrows);
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
	add_schema(&p->raw, &last);
	thrift_int(&p->raw, &last, 3, THRIFT_I64, p->total);
	thrift_list(&p->raw, &last, 4, THRIFT_STRUCT, p->ngroups);
	for (uint32_t i = 0; i < p->ngroups; i++)
		add_group(&p->raw, &p->group[i]);
	thrift_list(&p->raw, &last, 5, THRIFT_STRUCT, 4);
	add_number(&p->raw, "calls", r->calls);
	add_number(&p->raw, "open", r->open);
	add_number(&p->raw, "without_entry", r->without_entry);
	add_number(&p->raw, "lost", r->lost);
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
	if (!p->zstd)
		return -ENOMEM;
	for (int i = 0; i < NCOLUMNS; i++) {
		int is_wide = columns[i].type == TYPE_INT64;

		p->wide[i] = is_wide ? malloc(ROWS * sizeof(uint64_t)) : NULL;
		p->narrow[i] = is_wide ? NULL : malloc(ROWS * sizeof(uint32_t));
		if (!p->wide[i] && !p->narrow[i])
			return -ENOMEM;
	}
	return put(p, "PAR1", 4);
}

static void release(struct parquet *p)
{
	for (int i = 0; i < NCOLUMNS; i++) {
		free(p->wide[i]);
		free(p->narrow[i]);
		pb_free(&p->dict[i].plain);
		free(p->dict[i].name);
		free(p->dict[i].slot);
		free(p->dict[i].seen);
	}
	free(p->group);
	pb_free(&p->head);
	pb_free(&p->raw);
	free(p->packed);
	ZSTD_freeCCtx(p->zstd);
	utf8_free(&p->text);
}

int uft_export_parquet(struct uft_stream *st, const char *path, const struct uft_export_opts *o, struct uft_error *err)
{
	static const struct nest_ops ops = { NULL, end, NULL };
	struct parquet p = { 0 };
	struct export_sink sink;
	struct nest_result r;
	int ret = export_sink_open(&sink, path, err);

	(void)o;
	if (ret)
		return ret;
	p.out = sink.out;
	ret = prepare(&p);
	if (!ret)
		ret = nest_run(st, &ops, &p, &r);
	if (!ret)
		ret = put_group(&p);
	if (!ret)
		ret = put_footer(&p, &r);
	release(&p);
	return export_sink_close(&sink, ret, err);
}
