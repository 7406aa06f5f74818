/* SPDX-License-Identifier: MIT */
/*
 * chrome.c - the JSON of chrome://tracing, which Perfetto's viewer, speedscope and others read
 *
 * A call is a begin ("B") and an end ("E") of its thread, strictly nested (nest.h), so that viewers need not guess
 * which call is in which. "ts" is microseconds since the first event with exactly three decimals: whole nanoseconds,
 * small enough to be exact in any reader. An end has args.left if the call was left without return, args.open if it had
 * not returned at the end. Events, marks and lost records are instant events; all sums are in otherData.
 *
 * chrome://tracing and speedscope read a file as one string, whose length V8 bounds. Perfetto's viewer reads it in
 * pieces, but keeps the contents in the memory of a page (2 GB, 4 at most); its tool for the command line has the
 * machine's memory. So a longer file is written, with a warning.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "output/digits.h"
#include "output/export/export.h"
#include "output/export/nest.h"
#include "output/export/sink.h"
#include "output/report/table.h"
#include "symbol/array.h"
#include "symbol/text_file.h"

struct text { char *text; size_t n; };

struct chrome {
	FILE *out;			/* for rare text: behind put_rare() */
	struct emit_buf buf;
	struct text *task, *name;	/* by index: `"pid":1,"tid":2,"ts":`, and a function's name in quotes */
	uint32_t ntasks, nnames;
	uint64_t nevents;
};

/* Writes the collected bytes out first. */
static FILE *put_rare(struct chrome *c)
{
	emit_buf_flush(&c->buf, c->buf.len);
	return c->out;
}

static void put_start(struct chrome *c, char ph, uint32_t pid, uint32_t tid)
{
	fprintf(put_rare(c), "%s{\"ph\":\"%c\",\"pid\":%u,\"tid\":%u", c->nevents++ ? ",\n" : "\n", ph, pid, tid);
}

static void put_time(FILE *out, uint64_t ns)
{
	fprintf(out, ",\"ts\":%" PRIu64 ".%03u", ns / 1000, (unsigned)(ns % 1000));
}

static int describe(struct chrome *c, const struct uft_task *t)
{
	int n;

	if (array_reach(c->task, c->ntasks, t->index) < 0)
		return -ENOMEM;
	if (c->task[t->index].text)
		return 0;
	n = asprintf(&c->task[t->index].text, "\"pid\":%u,\"tid\":%u,\"ts\":", t->pid, t->tid);
	if (n < 0) {
		c->task[t->index].text = NULL;
		return -ENOMEM;
	}
	c->task[t->index].n = (size_t)n;
	put_start(c, 'M', t->pid, t->tid);
	fputs(",\"name\":\"process_name\",\"args\":{\"name\":", c->out);
	table_put_json(c->out, t->program);
	fputs("}}", c->out);
	put_start(c, 'M', t->pid, t->tid);
	fputs(",\"name\":\"thread_name\",\"args\":{\"name\":", c->out);
	table_put_json(c->out, t->comm && *t->comm ? t->comm : "?");
	fputs("}}", c->out);
	return 0;
}

static int add_name(struct chrome *c, const struct uft_sym *sym)
{
	struct text *name;
	FILE *f;

	if (array_reach(c->name, c->nnames, sym->index) < 0)
		return -ENOMEM;
	name = &c->name[sym->index];
	f = open_memstream(&name->text, &name->n);
	if (!f)
		return -ENOMEM;
	table_put_json(f, sym->name);
	return text_file_close(f, &name->text);
}

/* `{"ph":"B","pid":1,"tid":2,"ts":3.456`; @more: bytes that will follow. NULL: no memory. */
static inline char *put_head(struct chrome *c, char ph, const struct text *task, uint64_t ns, size_t more)
{
	char *at;

	if (c->buf.len > EMIT_FLUSH)
		emit_buf_flush(&c->buf, c->buf.len);
	at = emit_buf_room(&c->buf, 32 + task->n + 2 * DIGITS_MAX + more);
	if (!at)
		return NULL;
	at = c->nevents++ ? EMIT_PUT(at, ",\n{\"ph\":\"") : EMIT_PUT(at, "\n{\"ph\":\"");
	*at++ = ph;
	at = emit_put(EMIT_PUT(at, "\","), task->text, task->n);
	at = digits_plain(at, ns / 1000);
	*at++ = '.';
	return digits_fixed(at, ns % 1000, 3);
}

static int begin(void *ctx, const struct uft_task *task, const struct nest_call *call)
{
	struct chrome *c = ctx;
	uint32_t sym = call->sym->index;
	int ret = task->index < c->ntasks && c->task[task->index].text ? 0 : describe(c, task);
	const struct text *name;
	char *at;

	if (!ret && !(sym < c->nnames && c->name[sym].text))
		ret = add_name(c, call->sym);
	if (ret)
		return ret;
	name = &c->name[sym];
	at = put_head(c, 'B', &c->task[task->index], call->begin_ns, name->n + 16);
	if (!at)
		return c->buf.error;
	at = emit_put(EMIT_PUT(at, ",\"name\":"), name->text, name->n);
	*at++ = '}';
	emit_buf_end(&c->buf, at);
	return c->buf.error;
}

static int end(void *ctx, const struct uft_task *task, const struct nest_call *call, uint64_t ns, enum nest_end how)
{
	struct chrome *c = ctx;
	char *at = put_head(c, 'E', &c->task[task->index], ns, 32);

	(void)call;
	if (!at)
		return c->buf.error;
	at = how == NEST_OPEN ? EMIT_PUT(at, ",\"args\":{\"open\":true}}") : how == NEST_LEFT ?
		EMIT_PUT(at, ",\"args\":{\"left\":true}}") : EMIT_PUT(at, "}");
	emit_buf_end(&c->buf, at);
	return c->buf.error;
}

static int lost(void *ctx, const struct uft_task *task, uint64_t ns, uint64_t records)
{
	struct chrome *c = ctx;

	put_start(c, 'i', task ? task->pid : 0, task ? task->tid : 0);
	put_time(c->out, ns);
	fprintf(c->out, ",\"s\":\"g\",\"name\":\"%" PRIu64 " record%s lost\",\"args\":{\"lost\":%" PRIu64 "}}", records,
		records == 1 ? "" : "s", records);
	return 0;
}

/* A mark's name is its text, because all marks are of one kind. */
static int event(void *ctx, const struct uft_task *task, const struct nest_call *in, uint64_t ns,
		 const struct export_event *e, const struct uft_event *ev)
{
	struct chrome *c = ctx;
	int ret = describe(c, task);

	(void)in;
	if (ret)
		return ret;
	put_start(c, 'i', task->pid, task->tid);
	put_time(c->out, ns);
	fputs(",\"s\":\"t\",\"cat\":", c->out);
	table_put_json(c->out, e->system);
	fputs(",\"name\":", c->out);
	table_put_json(c->out, ev->kind == UFT_EV_MARK ? e->text : e->name);
	fputs(",\"args\":", c->out);
	export_event_json(c->out, e);
	putc('}', c->out);
	return ferror(c->out) ? -EIO : 0;
}

static void release(struct chrome *c)
{
	for (uint32_t i = 0; i < c->ntasks; i++)
		free(c->task[i].text);
	for (uint32_t i = 0; i < c->nnames; i++)
		free(c->name[i].text);
	free(c->task);
	free(c->name);
	emit_buf_free(&c->buf);
}

int uft_export_chrome(struct uft_stream *st, const char *path, const struct uft_export_opts *o, struct uft_error *err)
{
	static const struct nest_ops ops = { begin, end, lost, event };
	struct nest_result r;
	struct export_sink sink;
	struct chrome c = { 0 };
	int ret = export_sink_open(&sink, path, err);

	if (ret)
		return ret;
	c.out = sink.out;
	fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", sink.out);
	ret = emit_buf_init(&c.buf, sink.out);
	if (!ret)
		ret = nest_run(st, &ops, &c, &r);
	if (!ret) {
		put_rare(&c);
		ret = c.buf.error;
	}
	if (!ret)
		fprintf(sink.out,
			"\n],\"otherData\":{\"calls\":%" PRIu64 ",\"open\":%" PRIu64 ",\"without_entry\":%" PRIu64 ",\"lost\":%" PRIu64 ",\"events\":%" PRIu64 "}}\n",
			r.calls, r.open,
			r.without_entry, r.lost, r.events);
	if (!ret)
		ret = export_sink_warn_string(&sink, o);
	release(&c);
	return export_sink_finish(&sink, st, ret, err);
}
