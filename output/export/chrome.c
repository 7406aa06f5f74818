/* SPDX-License-Identifier: MIT */
/*
 * chrome.c - the JSON of chrome://tracing, which Perfetto's viewer, speedscope and others read
 *
 * A call is a begin ("B") and an end ("E") of its thread, strictly nested (nest.h), so that viewers need not
 * guess which call is in which. "ts" is microseconds since the first event with exactly three decimals: whole
 * nanoseconds, small enough to be exact in any reader. An end has args.left for a call that was left without
 * return, args.open for one that had not returned at the end. Events, marks and lost records are instant events;
 * all sums are in otherData.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "output/export/export.h"
#include "output/export/nest.h"
#include "output/export/sink.h"
#include "output/report/table.h"

struct chrome {
	FILE *out;
	uint8_t *known;			/* tasks that were described, by index */
	uint32_t nknown;
	uint64_t nevents;
};

static void put_start(struct chrome *c, char ph, uint32_t pid, uint32_t tid)
{
	fprintf(c->out, "%s{\"ph\":\"%c\",\"pid\":%u,\"tid\":%u", c->nevents++ ? ",\n" : "\n", ph, pid, tid);
}

static void put_time(FILE *out, uint64_t ns)
{
	fprintf(out, ",\"ts\":%" PRIu64 ".%03u", ns / 1000, (unsigned)(ns % 1000));
}

static int describe(struct chrome *c, const struct uft_task *t)
{
	const char *exe = t->image && t->image->exe ? strrchr(t->image->exe, '/') : NULL;

	if (t->index >= c->nknown) {
		uint32_t want = 2 * (t->index + 64);
		uint8_t *grown = realloc(c->known, want);

		if (!grown)
			return -ENOMEM;
		memset(grown + c->nknown, 0, want - c->nknown);
		c->known = grown;
		c->nknown = want;
	}
	if (c->known[t->index])
		return 0;
	c->known[t->index] = 1;
	put_start(c, 'M', t->pid, t->tid);
	fputs(",\"name\":\"process_name\",\"args\":{\"name\":", c->out);
	table_put_json(c->out, exe ? exe + 1 : t->image && t->image->exe ? t->image->exe : "?");
	fputs("}}", c->out);
	put_start(c, 'M', t->pid, t->tid);
	fputs(",\"name\":\"thread_name\",\"args\":{\"name\":", c->out);
	table_put_json(c->out, t->comm && *t->comm ? t->comm : "?");
	fputs("}}", c->out);
	return 0;
}

static int begin(void *ctx, const struct uft_task *task, const struct nest_call *call)
{
	struct chrome *c = ctx;
	int ret = describe(c, task);

	if (ret)
		return ret;
	put_start(c, 'B', task->pid, task->tid);
	put_time(c->out, call->begin_ns);
	fputs(",\"name\":", c->out);
	table_put_json(c->out, call->sym->name);
	putc('}', c->out);
	return ferror(c->out) ? -EIO : 0;
}

static int end(void *ctx, const struct uft_task *task, const struct nest_call *call, uint64_t ns, enum nest_end how)
{
	struct chrome *c = ctx;

	(void)call;
	put_start(c, 'E', task->pid, task->tid);
	put_time(c->out, ns);
	fputs(how == NEST_OPEN ? ",\"args\":{\"open\":true}}" : how == NEST_LEFT ? ",\"args\":{\"left\":true}}" : "}", c->out);
	return 0;
}

static int lost(void *ctx, const struct uft_task *task, uint64_t ns, uint64_t records)
{
	struct chrome *c = ctx;

	put_start(c, 'i', task ? task->pid : 0, task ? task->tid : 0);
	put_time(c->out, ns);
	fprintf(c->out, ",\"s\":\"g\",\"name\":\"%" PRIu64 " records lost\",\"args\":{\"lost\":%" PRIu64 "}}", records, records);
	return 0;
}

/* A mark is named by its text, as its kind says nothing. */
static int event(void *ctx, const struct uft_task *task, const struct nest_call *in, uint64_t ns, const struct export_event *e, const struct uft_event *ev)
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

int uft_export_chrome(struct uft_stream *st, const char *path, const struct uft_export_opts *o, struct uft_error *err)
{
	static const struct nest_ops ops = { begin, end, lost, event };
	struct nest_result r;
	struct export_sink sink;
	struct chrome c = { 0 };
	int ret = export_sink_open(&sink, path, err);

	(void)o;
	if (ret)
		return ret;
	c.out = sink.out;
	fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", sink.out);
	ret = nest_run(st, &ops, &c, &r);
	fprintf(sink.out, "\n],\"otherData\":{\"calls\":%" PRIu64 ",\"open\":%" PRIu64 ",\"without_entry\":%" PRIu64 ",\"lost\":%" PRIu64 ",\"events\":%" PRIu64 "}}\n", r.calls, r.open,
		r.without_entry, r.lost, r.events);
	free(c.known);
	return export_sink_close(&sink, ret, err);
}
