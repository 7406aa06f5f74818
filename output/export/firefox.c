/* SPDX-License-Identifier: MIT */
/*
 * firefox.c - a processed profile of the Firefox profiler (JSON), which its later versions upgrade
 *
 * A sample is a stretch of time in which the stack of calls of a task stays the same; its weight is the length of the
 * stretch (weightType tracing-ms). So the sum of a function's weights is its own time to the nanosecond. The viewer
 * draws a sample up to the next one; where no call is open there is a sample without stack and weight. Times are ms
 * since the first event, with six decimals. Calls that are open at the end of the recording and lost records are
 * markers. A thread has its own tables of functions and stacks. The columns of its samples are lanes of an unnamed file
 * (spool.h) until the end.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "output/digits.h"
#include "output/export/export.h"
#include "output/export/nest.h"
#include "output/export/places.h"
#include "output/export/sink.h"
#include "output/report/table.h"
#include "output/spool.h"
#include "symbol/array.h"
#include "symbol/hash_index.h"
#include "symbol/keyed_hash.h"

#define VERSION		46		/* preprocessedProfileVersion */
#define COLUMN_BUFFER	4096u
#define NUMBER_ROOM	40u
#define MAX_STACKS	(1u << 20)	/* of all tasks */
#define NONE		UINT32_MAX

enum { COLUMN_STACK, COLUMN_TIME, COLUMN_WEIGHT, COLUMN_MARK_NAME, COLUMN_MARK_TIME, COLUMN_MARK_DATA, NCOLUMNS };
#define NSAMPLE_COLUMNS	COLUMN_MARK_NAME		/* the others are of markers */
static const char *const column_name[NCOLUMNS] = { "stack", "time", "weight", "name", "startTime", "data" };

struct column { struct spool_lane spool; char text[COLUMN_BUFFER]; uint32_t used; };
/* prefix: another one of the thread, NONE: an outermost call; last: of those behind it the one last met, or NONE */
struct stack { uint32_t prefix, func, last; };

struct thread {
	const struct uft_task *task;
	struct column *column;
	uint64_t nsamples, since_ns;
	struct stack *stack;
	struct hash_index by_call;	/* of stacks, by prefix and function */
	const struct uft_sym **func;
	uint32_t *func_of;		/* by symbol index: of func, + 1 */
	const char **name;		/* of markers; the first strings */
	uint64_t nmarkers;
	uint32_t nstacks, cap_stacks, nfuncs, cap_funcs, cap_func_of, nnames, cap_names;
	uint32_t now;			/* the stack since since_ns; NONE: no call is open */
};

struct firefox {
	struct spool spool;
	struct thread *thread;		/* by task index */
	uint32_t nthreads, nstacks;
	struct places places;
	FILE *text;		/* to data: of a marker */
	char *data;
	size_t nbytes;
	uint64_t max_string;
	struct uft_error *err;
};

/* ---- Stacks ---- */

static int find_stack(struct firefox *f, struct thread *t, uint32_t prefix, uint32_t func, uint32_t *found)
{
	const uint64_t hash = hash_words(prefix, func);

	/* A function often calls the same one again: then no hash is needed. */
	if (prefix != NONE && t->stack[prefix].last != NONE && t->stack[t->stack[prefix].last].func == func) {
		*found = t->stack[prefix].last;
		return 0;
	}
	*found = HASH_FIND(i, &t->by_call, hash, t->stack[i].prefix == prefix && t->stack[i].func == func);
	if (*found != HASH_NONE) {
		if (prefix != NONE)
			t->stack[prefix].last = *found;
		return 0;
	}
	if (f->nstacks++ >= MAX_STACKS)
		return uft_fail(f->err, -E2BIG,
				"the recording has more than %u different call paths, more than a profile of Firefox can show: "
				"export a part (--range A~B), or use -f perfetto", MAX_STACKS);
	if (array_reach(t->stack, t->cap_stacks, t->nstacks) || hash_index_add(&t->by_call, hash, t->nstacks))
		return -ENOMEM;
	*found = t->nstacks;
	if (prefix != NONE)
		t->stack[prefix].last = *found;
	t->stack[t->nstacks++] = (struct stack){ prefix, func, NONE };
	return 0;
}

static int find_func(struct thread *t, const struct uft_sym *sym, uint32_t *func)
{
	if (array_reach(t->func_of, t->cap_func_of, sym->index) < 0)
		return -ENOMEM;
	if (!t->func_of[sym->index]) {
		if (array_reach(t->func, t->cap_funcs, t->nfuncs) < 0)
			return -ENOMEM;
		t->func[t->nfuncs++] = sym;
		t->func_of[sym->index] = t->nfuncs;
	}
	*func = t->func_of[sym->index] - 1;
	return 0;
}

/* ---- Samples ---- */

static int flush(struct firefox *f, struct column *c)
{
	int ret;

	if (f->spool.end + c->used > f->max_string)
		return export_string_too_long(f->max_string, f->err);
	ret = c->used ? spool_add(&f->spool, &c->spool, c->text, c->used) : 0;
	c->used = 0;
	return ret;
}

/* Room for a number of @column behind its comma, NULL: *ret says why not. */
static inline char *begin_number(struct firefox *f, struct thread *t, int column, int *ret)
{
	struct column *c = &t->column[column];
	char *at;

	if (COLUMN_BUFFER - c->used < NUMBER_ROOM && (*ret = flush(f, c)) != 0)
		return NULL;
	at = c->text + c->used;
	if (t->nsamples)
		*at++ = ',';
	return at;
}

static inline void end_number(struct thread *t, int column, const char *end)
{
	t->column[column].used = (uint32_t)(end - t->column[column].text);
}

static int put_index(struct firefox *f, struct thread *t, int column, uint64_t v)
{
	int ret = 0;
	char *at = begin_number(f, t, column, &ret);

	if (at)
		end_number(t, column, digits_plain(at, v));
	return ret;
}

/* @ns in ms, with all its digits. */
static int put_ms(struct firefox *f, struct thread *t, int column, uint64_t ns)
{
	int ret = 0;
	char *at = begin_number(f, t, column, &ret);

	if (!at)
		return ret;
	at = digits_plain(at, ns / 1000000);
	*at++ = '.';
	end_number(t, column, digits_fixed(at, ns % 1000000, 6));
	return 0;
}

static struct thread *thread_of(struct firefox *f, const struct uft_task *task)
{
	struct thread *t;

	if (array_reach(f->thread, f->nthreads, task->index) < 0)
		return NULL;
	t = &f->thread[task->index];
	if (!t->column) {
		t->column = calloc(NCOLUMNS, sizeof(*t->column));
		t->task = task;
		t->now = NONE;
	}
	return t->column ? t : NULL;
}

static int put_null(struct firefox *f, struct thread *t, int column)
{
	int ret = 0;
	char *at = begin_number(f, t, column, &ret);

	if (at)
		end_number(t, column, EMIT_PUT(at, "null"));
	return ret;
}

/* Adds a sample of the stack so far for the time up to @ns; none before the first call of a thread. */
static int put_sample(struct firefox *f, struct thread *t, uint64_t ns)
{
	uint64_t weight = t->now == NONE ? 0 : ns - t->since_ns;
	int ret;

	if (t->now == NONE ? ns == t->since_ns || !t->nsamples : !weight)
		return 0;
	ret = t->now == NONE ? put_null(f, t, COLUMN_STACK) : put_index(f, t, COLUMN_STACK, t->now);
	ret = ret ? ret : put_ms(f, t, COLUMN_TIME, t->since_ns);
	ret = ret ? ret : put_ms(f, t, COLUMN_WEIGHT, weight);
	t->nsamples++;
	return ret;
}

static int begin(void *ctx, const struct uft_task *task, const struct nest_call *call)
{
	struct firefox *f = ctx;
	struct thread *t = thread_of(f, task);
	uint32_t func;
	int ret = t ? put_sample(f, t, call->begin_ns) : -ENOMEM;

	if (!ret)
		ret = find_func(t, call->sym, &func);
	if (ret)
		return ret;
	t->since_ns = call->begin_ns;
	return find_stack(f, t, call->level ? t->now : NONE, func, &t->now);
}

/* ---- Markers ---- */

static int put_bytes(struct firefox *f, struct column *c, const char *data, size_t n)
{
	int ret = 0;

	while (n && !ret) {
		size_t part = n < COLUMN_BUFFER - c->used ? n : COLUMN_BUFFER - c->used;

		memcpy(c->text + c->used, data, part);
		c->used += (uint32_t)part;
		data += part;
		n -= part;
		if (c->used == COLUMN_BUFFER)
			ret = flush(f, c);
	}
	return ret;
}

/* The string of a marker's name, which stays. */
static int find_name(struct thread *t, const char *name, uint32_t *found)
{
	for (uint32_t i = 0; i < t->nnames; i++)
		if (!strcmp(t->name[i], name)) {
			*found = i;
			return 0;
		}
	if (array_reach(t->name, t->cap_names, t->nnames) < 0)
		return -ENOMEM;
	t->name[t->nnames] = name;
	*found = t->nnames++;
	return 0;
}

/* Adds a marker whose data are in f->text. */
static int put_marker(struct firefox *f, struct thread *t, const char *name, uint64_t ns)
{
	const char *comma = t->nmarkers ? "," : "";
	char number[NUMBER_ROOM];
	uint32_t string;
	long n = ftell(f->text);
	int ret = fflush(f->text) || n < 0 ? -ENOMEM : find_name(t, name, &string);

	if (ret)
		return ret;
	ret = put_bytes(f, &t->column[COLUMN_MARK_DATA], f->data, (size_t)n);
	snprintf(number, sizeof(number), "%s%" PRIu32, comma, string);
	ret = ret ? ret : put_bytes(f, &t->column[COLUMN_MARK_NAME], number, strlen(number));
	snprintf(number, sizeof(number), "%s%" PRIu64 ".%06u", comma, ns / 1000000, (unsigned)(ns % 1000000));
	ret = ret ? ret : put_bytes(f, &t->column[COLUMN_MARK_TIME], number, strlen(number));
	t->nmarkers++;
	return ret;
}

static FILE *begin_marker(struct firefox *f, const struct thread *t)
{
	rewind(f->text);
	if (t->nmarkers)
		putc(',', f->text);
	return f->text;
}

static int end(void *ctx, const struct uft_task *task, const struct nest_call *call, uint64_t ns, enum nest_end how)
{
	struct firefox *f = ctx;
	struct thread *t = thread_of(f, task);
	int ret = t ? put_sample(f, t, ns) : -ENOMEM;

	if (ret)
		return ret;
	t->since_ns = ns;
	t->now = t->stack[t->now].prefix;
	if (how != NEST_OPEN)
		return 0;
	fputs("{\"type\":\"uft_open\",\"function\":", begin_marker(f, t));
	table_put_json(f->text, call->sym->name);
	putc('}', f->text);
	return put_marker(f, t, "open call", call->begin_ns);
}

static int lost(void *ctx, const struct uft_task *task, uint64_t ns, uint64_t records)
{
	struct firefox *f = ctx;
	struct thread *t = task ? thread_of(f, task) : NULL;

	if (!t)
		return task ? -ENOMEM : 0;
	fprintf(begin_marker(f, t), "{\"type\":\"uft_lost\",\"records\":%" PRIu64 "}", records);
	return put_marker(f, t, "lost", ns);
}

static int event(void *ctx, const struct uft_task *task, const struct nest_call *in, uint64_t ns,
		 const struct export_event *e, const struct uft_event *ev)
{
	struct firefox *f = ctx;
	struct thread *t = thread_of(f, task);

	(void)in;
	if (!t)
		return -ENOMEM;
	fputs("{\"type\":\"uft_event\",\"system\":", begin_marker(f, t));
	table_put_json(f->text, e->system);
	fputs(",\"text\":", f->text);
	table_put_json(f->text, e->text);
	putc('}', f->text);
	return put_marker(f, t, ev->kind == UFT_EV_MARK ? "mark" : e->name, ns);
}

/* ---- The file ---- */

/* `"NAME":[V,V,...]`: the same value @n times. */
static void put_same(FILE *out, const char *name, const char *value, uint64_t n)
{
	fprintf(out, ",\"%s\":[", name);
	for (uint64_t i = 0; i < n; i++)
		fprintf(out, "%s%s", i ? "," : "", value);
	putc(']', out);
}

static void put_count_up(FILE *out, const char *name, uint32_t first, uint32_t n)
{
	fprintf(out, ",\"%s\":[", name);
	for (uint32_t i = 0; i < n; i++)
		fprintf(out, "%s%" PRIu32, i ? "," : "", first + i);
	putc(']', out);
}

/* Columns that have the same value in each row. */
struct constant { const char *name, *value; };
static const struct constant func_constant[] = { { "isJS", "false" }, { "relevantForJS", "false" },
	{ "resource", "-1" }, { NULL, NULL } };
static const struct constant frame_constant[] = {
	{ "address", "-1" }, { "inlineDepth", "0" }, { "category", "0" }, { "subcategory", "0" },
	{ "nativeSymbol", "null" }, { "innerWindowID", "null" },
	{ "implementation", "null" }, { "line", "null" }, { "column", "null" }, { NULL, NULL }
};

static void put_constants(FILE *out, const struct constant *c, uint64_t n)
{
	for (; c->name; c++)
		put_same(out, c->name, c->value, n);
}

/* Files are the strings behind those of markers and functions: one for each function whose file is known. */
static void put_places(const struct firefox *f, const struct thread *t, FILE *out)
{
	uint32_t file = t->nnames + t->nfuncs;

	fputs(",\"fileName\":[", out);
	for (uint32_t i = 0; i < t->nfuncs; i++)
		if (places_of(&f->places, t->func[i]).file)
			fprintf(out, "%s%" PRIu32, i ? "," : "", file++);
		else
			fputs(i ? ",null" : "null", out);
	fputs("],\"lineNumber\":[", out);
	for (uint32_t i = 0; i < t->nfuncs; i++) {
		uint32_t line = places_of(&f->places, t->func[i]).line;

		if (line)
			fprintf(out, "%s%" PRIu32, i ? "," : "", line);
		else
			fputs(i ? ",null" : "null", out);
	}
	putc(']', out);
}

static int find_places(struct firefox *f, const struct uft_export_opts *o)
{
	int ret = 0;

	for (uint32_t i = 0; i < f->nthreads; i++)
		for (uint32_t k = 0; k < f->thread[i].nfuncs && !ret; k++)
			ret = places_want(&f->places, f->thread[i].func[k]);
	return ret ? ret : places_find(&f->places, o, f->err);
}

/* Strings: the names of markers, functions, files. */
static void put_functions(const struct firefox *f, const struct thread *t, FILE *out)
{
	uint32_t n = t->nfuncs;
	const char *comma = "";

	fputs(",\n\"stringArray\":[", out);
	for (uint32_t i = 0; i < t->nnames + n; i++) {
		fputs(comma, out);
		table_put_json(out, i < t->nnames ? t->name[i] : t->func[i - t->nnames]->name);
		comma = ",\n";
	}
	for (uint32_t i = 0; i < n; i++) {
		struct uft_source at = places_of(&f->places, t->func[i]);

		if (!at.file)
			continue;
		fputs(comma, out);
		table_put_json(out, at.file);
		comma = ",\n";
	}
	putc(']', out);
	fprintf(out, ",\n\"funcTable\":{\"length\":%" PRIu32, n);
	put_count_up(out, "name", t->nnames, n);
	put_constants(out, func_constant, n);
	put_places(f, t, out);
	put_same(out, "columnNumber", "null", n);
	fprintf(out, "},\n\"frameTable\":{\"length\":%" PRIu32, n);
	put_count_up(out, "func", 0, n);
	put_constants(out, frame_constant, n);
	fprintf(out, "},\n\"stackTable\":{\"length\":%" PRIu32 ",\"prefix\":[", t->nstacks);
	for (uint32_t i = 0; i < t->nstacks; i++)
		if (t->stack[i].prefix == NONE)
			fputs(i ? ",null" : "null", out);
		else
			fprintf(out, "%s%" PRIu32, i ? "," : "", t->stack[i].prefix);
	fputs("],\"frame\":[", out);
	for (uint32_t i = 0; i < t->nstacks; i++)
		fprintf(out, "%s%" PRIu32, i ? "," : "", t->stack[i].func);
	putc(']', out);
	put_same(out, "category", "0", t->nstacks);
	put_same(out, "subcategory", "0", t->nstacks);
	putc('}', out);
}

/* Writes the collected values of a column: `"NAME":[...]`. */
static int put_column(struct firefox *f, struct thread *t, FILE *out, int column)
{
	int ret = flush(f, &t->column[column]);

	fprintf(out, ",\n\"%s\":[", column_name[column]);
	if (!ret && fflush(out))
		ret = -errno;
	if (!ret)
		ret = spool_copy(&f->spool, &t->column[column].spool, fileno(out));
	putc(']', out);
	return ret;
}

static int put_markers(struct firefox *f, struct thread *t, FILE *out)
{
	int ret = 0;

	fprintf(out, ",\n\"markers\":{\"length\":%" PRIu64, t->nmarkers);
	put_same(out, "category", "0", t->nmarkers);
	put_same(out, "phase", "0", t->nmarkers);
	put_same(out, "endTime", "null", t->nmarkers);
	for (int i = COLUMN_MARK_NAME; i < NCOLUMNS && !ret; i++)
		ret = put_column(f, t, out, i);
	putc('}', out);
	return ret;
}

static int put_samples(struct firefox *f, struct thread *t, FILE *out)
{
	int ret = 0;

	fprintf(out, ",\n\"samples\":{\"length\":%" PRIu64 ",\"weightType\":\"tracing-ms\"", t->nsamples);
	for (int i = 0; i < NSAMPLE_COLUMNS && !ret; i++)
		ret = put_column(f, t, out, i);
	putc('}', out);
	return ret;
}

static int put_thread(struct firefox *f, struct thread *t, FILE *out, int is_first)
{
	int ret;

	fprintf(out, "%s{\"name\":", is_first ? "\n" : ",\n");
	table_put_json(out, t->task->comm && *t->task->comm ? t->task->comm : "?");
	fputs(",\"processName\":", out);
	table_put_json(out, t->task->program);
	fprintf(out,
		",\"pid\":\"%" PRIu32 "\",\"tid\":%" PRIu32
		",\"isMainThread\":%s,\"processType\":\"default\",\"processStartupTime\":0,"
		"\"processShutdownTime\":null,\"registerTime\":0,\"unregisterTime\":null,\"pausedRanges\":[],"
		"\"nativeSymbols\":{\"length\":0,\"address\":[],\"functionSize\":[],\"libIndex\":[],\"name\":[]},"
		"\"resourceTable\":{\"length\":0,\"lib\":[],\"name\":[],\"host\":[],\"type\":[]}",
		t->task->pid, t->task->tid, t->task->pid == t->task->tid ? "true" : "false");
	put_functions(f, t, out);
	ret = put_markers(f, t, out);
	return ret ? ret : put_samples(f, t, out);
}

static int put_profile(struct firefox *f, const struct uft_info *info, FILE *out)
{
	int ret = 0, is_first = 1;

	fprintf(out,
		"{\"meta\":{\"version\":24,\"preprocessedProfileVersion\":%d,\"product\":\"uft\",\"processType\":0,\"interval\":0.001,\"startTime\":%" PRIu64
		",\"debug\":false,\"symbolicated\":true,\"usesOnlyOneStackType\":true,\"doesNotUseFrameImplementation\":true,\"sourceCodeIsNotOnSearchfox\":true,\n"
		"\"categories\":[{\"name\":\"Other\",\"color\":\"blue\",\"subcategories\":[\"Other\"]}],"
		"\"extensions\":{\"length\":0,\"baseURL\":[],\"id\":[],\"name\":[]},"
		"\"sampleUnits\":{\"time\":\"ms\",\"eventDelay\":\"ms\",\"threadCPUDelta\":\"ns\"},\n\"markerSchema\":["
		"{\"name\":\"uft_lost\",\"display\":[\"marker-chart\",\"marker-table\",\"timeline-overview\"],\"data\":[{\"key\":\"records\",\"label\":\"records lost\",\"format\":\"integer\"}]},"
		"{\"name\":\"uft_open\",\"display\":[\"marker-chart\",\"marker-table\"],\"data\":[{\"key\":\"function\",\"label\":\"not returned\",\"format\":\"string\"}]},"
		"{\"name\":\"uft_event\",\"display\":[\"marker-chart\",\"marker-table\",\"timeline-overview\"],\"tooltipLabel\":\"{marker.name}: {marker.data.text}\","
		"\"tableLabel\":\"{marker.data.text}\",\"data\":[{\"key\":\"system\",\"label\":\"system\",\"format\":\"string\"},"
		"{\"key\":\"text\",\"label\":\"text\",\"format\":\"string\",\"searchable\":true}]}]},\n"
		"\"libs\":[],\"pages\":[],\"counters\":[],\"profilerOverhead\":[],\"threads\":[",
		VERSION, info->realtime_ns / 1000000);
	for (uint32_t i = 0; i < f->nthreads && !ret; i++)
		if (f->thread[i].column)
			ret = put_sample(f, &f->thread[i], UINT64_MAX);
	for (uint32_t i = 0; i < f->nthreads && !ret; i++)
		if (f->thread[i].column && (f->thread[i].nsamples || f->thread[i].nmarkers)) {
			ret = put_thread(f, &f->thread[i], out, is_first);
			is_first = 0;
			putc('}', out);
		}
	fputs("\n]}\n", out);
	return ret;
}

static void release(struct firefox *f)
{
	for (uint32_t i = 0; i < f->nthreads; i++) {
		struct thread *t = &f->thread[i];

		for (int c = 0; t->column && c < NCOLUMNS; c++)
			spool_lane_free(&t->column[c].spool);
		free(t->column);
		free(t->stack);
		hash_index_free(&t->by_call);
		free(t->func);
		free(t->func_of);
		free(t->name);
	}
	free(f->thread);
	places_free(&f->places);
	if (f->text)
		fclose(f->text);
	free(f->data);
	spool_close(&f->spool);
}

int uft_export_firefox(struct uft_stream *st, const char *path, const struct uft_export_opts *o, struct uft_error *err)
{
	static const struct nest_ops ops = { begin, end, lost, event };
	struct firefox f = { .max_string = export_string_max(o), .err = err };
	struct export_sink sink;
	struct nest_result r;
	int ret = export_sink_open(&sink, path, err);

	if (ret)
		return ret;
	ret = spool_open(&f.spool, path);
	if (ret)
		return export_sink_close(&sink, ret, err);
	f.text = open_memstream(&f.data, &f.nbytes);
	ret = f.text ? nest_run(st, &ops, &f, &r) : -ENOMEM;
	if (!ret && o && o->has_lines)
		ret = find_places(&f, o);
	if (!ret)
		ret = put_profile(&f, uft_stream_info(st), sink.out);
	if (!ret)
		ret = export_sink_check_string(&sink, f.max_string, err);
	release(&f);
	return export_sink_finish(&sink, st, ret, err);
}
