/* SPDX-License-Identifier: MIT */
/*
 * otlp.c - traces of OpenTelemetry: a span for each call, as one TracesData message of opentelemetry-proto (trace/v1)
 *
 * The body for a collector's /v1/traces, application/x-protobuf. An outermost call and all calls in it are a trace.
 * Spans of a task are collected and written as ResourceSpans of its process: the protobuf encoding allows to write
 * repeated fields one after the other. Times are ns since the epoch: the wall clock when the recording began, plus the
 * exact time since the first event. A call that was left without return has the attribute uft.left, a call that had not
 * returned at the end uft.open; lost records are a span of no duration with uft.lost. An event or mark is an event of
 * the span of the innermost open call. If no call is open, or the call has SPAN_EVENTS already, it is a span of no
 * duration with uft.event. Memory: LANE_BYTES for each task, and the events of its open calls.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "output/export/export.h"
#include "output/export/nest.h"
#include "output/export/protobuf.h"
#include "output/export/sink.h"
#include "output/export/utf8.h"
#include "symbol/array.h"

enum { TRACES_RESOURCE_SPANS = 1 };
enum { RESOURCE_SPANS_RESOURCE = 1, RESOURCE_SPANS_SCOPE_SPANS = 2, RESOURCE_ATTRIBUTE = 1 };
enum { SCOPE_SPANS_SCOPE = 1, SCOPE_SPANS_SPAN = 2, SCOPE_NAME = 1 };
enum { SPAN_TRACE_ID = 1, SPAN_ID = 2, SPAN_PARENT_ID = 4, SPAN_NAME = 5, SPAN_KIND = 6, SPAN_BEGIN = 7, SPAN_END = 8,
	SPAN_ATTRIBUTE = 9,
       SPAN_EVENT = 11 };
enum { EVENT_TIME = 1, EVENT_NAME = 2, EVENT_ATTRIBUTE = 3 };
enum { KIND_INTERNAL = 1, KEY = 1, VALUE = 2, VALUE_STRING = 1, VALUE_BOOL = 2, VALUE_INT = 3 };

#define LANE_BYTES	8192u
#define SPAN_EVENTS	128u		/* of a span, as collectors have it; further ones are spans of their own */

struct lane {
	const struct uft_task *task;
	struct pb spans;
	uint64_t root;		/* the outermost call that is open */
	/* by level: events of the calls that are open */
	struct pending { struct pb events; uint32_t n; } *pending;
	uint32_t npending;
};

struct otlp {
	FILE *out;
	struct lane *lane;	/* by task index */
	uint32_t nlanes;
	uint64_t epoch_ns, recording;	/* recording: in front of the trace ids */
	uint64_t nlost;
	struct pb span, part, value, message;
	struct utf8_text text;
};

/* An attribute of @to: the text, or, if that is NULL, the number as a @kind. */
static void add_attribute(struct otlp *o, struct pb *to, uint32_t field, const char *key, const char *text,
			  uint32_t kind, uint64_t v)
{
	o->part.n = o->value.n = 0;
	pb_bytes(&o->part, KEY, key, strlen(key));
	if (text)
		pb_text(&o->value, VALUE_STRING, text, &o->text);
	else
		pb_uint(&o->value, kind, v);
	pb_message(&o->part, VALUE, &o->value);
	pb_message(to, field, &o->part);
}

static void add_id(struct pb *to, uint32_t field, uint64_t id)
{
	uint8_t bytes[8];

	for (unsigned i = 0; i < 8; i++)
		bytes[i] = (uint8_t)(id >> (56 - 8 * i));
	pb_bytes(to, field, bytes, sizeof(bytes));
}

static void add_trace_id(struct otlp *o, uint64_t root)
{
	uint8_t bytes[16];

	for (unsigned i = 0; i < 8; i++) {
		bytes[i] = (uint8_t)(o->recording >> (56 - 8 * i));
		bytes[8 + i] = (uint8_t)(root >> (56 - 8 * i));
	}
	pb_bytes(&o->span, SPAN_TRACE_ID, bytes, sizeof(bytes));
}

/* ---- Lanes ---- */

static int put(struct otlp *o, const struct pb *message)
{
	char head[1 + PB_VARINT_MAX], *end;
	size_t n;

	head[0] = TRACES_RESOURCE_SPANS << 3 | 2;
	end = pb_put_varint(head + 1, message->n);
	n = (size_t)(end - head);
	errno = 0;
	if (fwrite(head, 1, n, o->out) != n || fwrite(message->data, 1, message->n, o->out) != message->n)
		return errno ? -errno : -EIO;
	return 0;
}

static int flush(struct otlp *o, struct lane *l)
{
	const struct uft_task *t = l->task;
	struct pb *m = &o->message;

	if (!l->spans.n)
		return l->spans.error;
	o->span.n = 0;		/* of the resource, now */
	if (t) {
		add_attribute(o, &o->span, RESOURCE_ATTRIBUTE, "service.name", t->program, 0, 0);
		add_attribute(o, &o->span, RESOURCE_ATTRIBUTE, "process.pid", NULL, VALUE_INT, t->pid);
		add_attribute(o, &o->span, RESOURCE_ATTRIBUTE, "thread.id", NULL, VALUE_INT, t->tid);
		add_attribute(o, &o->span, RESOURCE_ATTRIBUTE, "thread.name", t->comm && *t->comm ? t->comm : "?", 0,
			      0);
	}
	m->n = 0;
	pb_message(m, RESOURCE_SPANS_RESOURCE, &o->span);
	o->part.n = 0;
	pb_text(&o->part, SCOPE_NAME, "uft", &o->text);
	o->span.n = 0;
	pb_message(&o->span, SCOPE_SPANS_SCOPE, &o->part);
	pb_varint(m, RESOURCE_SPANS_SCOPE_SPANS << 3 | 2);
	pb_varint(m, o->span.n + l->spans.n);
	for (int i = 0; i < 2; i++) {
		const struct pb *from = i ? &l->spans : &o->span;
		char *p = pb_room(m, from->n);

		if (p)
			memcpy(p, from->data, from->n);
		m->n += p ? from->n : 0;
	}
	l->spans.n = 0;
	return m->error ? m->error : o->span.error ? o->span.error : o->part.error ? o->part.error : o->value.error ?
		o->value.error : put(o, m);
}

static struct lane *lane_of(struct otlp *o, const struct uft_task *task)
{
	if (array_reach(o->lane, o->nlanes, task->index) < 0)
		return NULL;
	o->lane[task->index].task = task;
	return &o->lane[task->index];
}

static int add_span(struct otlp *o, struct lane *l)
{
	pb_message(&l->spans, SCOPE_SPANS_SPAN, &o->span);
	return l->spans.n >= LANE_BYTES ? flush(o, l) : l->spans.error;
}

/* ---- Spans ---- */

static void begin_span(struct otlp *o, uint64_t root, uint64_t id, const char *name, uint64_t begin_ns, uint64_t end_ns)
{
	o->span.n = 0;
	add_trace_id(o, root);
	add_id(&o->span, SPAN_ID, id);
	pb_text(&o->span, SPAN_NAME, name, &o->text);
	pb_uint(&o->span, SPAN_KIND, KIND_INTERNAL);
	pb_fixed64(&o->span, SPAN_BEGIN, o->epoch_ns + begin_ns);
	pb_fixed64(&o->span, SPAN_END, o->epoch_ns + end_ns);
}

static int begin(void *ctx, const struct uft_task *task, const struct nest_call *call)
{
	struct lane *l;

	if (call->level)
		return 0;
	l = lane_of(ctx, task);
	if (!l)
		return -ENOMEM;
	l->root = call->id;
	return 0;
}

/* Adds the events of the call that ends to its span. */
static void add_pending(struct otlp *o, struct lane *l, uint32_t level)
{
	struct pending *p = level < l->npending ? &l->pending[level] : NULL;
	char *at;

	if (!p || !p->n)
		return;
	at = p->events.error ? NULL : pb_room(&o->span, p->events.n);
	if (at)
		memcpy(at, p->events.data, p->events.n);
	o->span.n += at ? p->events.n : 0;
	o->span.error = o->span.error ? o->span.error : p->events.error;
	p->events.n = p->n = 0;
}

static int end(void *ctx, const struct uft_task *task, const struct nest_call *call, uint64_t ns, enum nest_end how)
{
	struct otlp *o = ctx;
	struct lane *l = lane_of(o, task);

	if (!l)
		return -ENOMEM;
	begin_span(o, l->root, call->id, call->sym->name, call->begin_ns, ns);
	if (call->parent)
		add_id(&o->span, SPAN_PARENT_ID, call->parent);
	if (how != NEST_RETURNED)
		add_attribute(o, &o->span, SPAN_ATTRIBUTE, how == NEST_OPEN ? "uft.open" : "uft.left", NULL, VALUE_BOOL,
			      1);
	add_pending(o, l, call->level);
	return add_span(o, l);
}

/* The ids of losses are counted down from the largest, so they differ from the ids of calls. */
static int lost(void *ctx, const struct uft_task *task, uint64_t ns, uint64_t records)
{
	struct otlp *o = ctx;
	struct lane of_none = { 0 }, *l = task ? lane_of(o, task) : &of_none;
	uint64_t id = UINT64_MAX - o->nlost++;
	char name[48];
	int ret;

	if (!l)
		return -ENOMEM;
	snprintf(name, sizeof(name), "%" PRIu64 " record%s lost", records, records == 1 ? "" : "s");
	begin_span(o, id, id, name, ns, ns);
	add_attribute(o, &o->span, SPAN_ATTRIBUTE, "uft.lost", NULL, VALUE_INT, records);
	ret = add_span(o, l);
	if (!task) {
		ret = ret ? ret : flush(o, l);
		pb_free(&of_none.spans);
	}
	return ret;
}

static void add_fields(struct otlp *o, struct pb *to, uint32_t field, const struct export_event *e)
{
	add_attribute(o, to, field, "uft.system", e->system, 0, 0);
	for (uint32_t i = 0; i < e->nfields; i++)
		add_attribute(o, to, field, e->field[i].name, e->field[i].text, VALUE_INT, e->field[i].number);
}

/* Writes a span of no duration. */
static int put_alone(struct otlp *o, struct lane *l, const struct nest_call *in, uint64_t ns,
		     const struct export_event *e, const char *name)
{
	uint64_t id = UINT64_MAX - o->nlost++;

	begin_span(o, in ? l->root : id, id, name, ns, ns);
	if (in)
		add_id(&o->span, SPAN_PARENT_ID, in->id);
	add_attribute(o, &o->span, SPAN_ATTRIBUTE, "uft.event", e->name, 0, 0);
	add_fields(o, &o->span, SPAN_ATTRIBUTE, e);
	return add_span(o, l);
}

/* A mark's name is its text, because all marks are of one kind. */
static int event(void *ctx, const struct uft_task *task, const struct nest_call *in, uint64_t ns,
		 const struct export_event *e, const struct uft_event *ev)
{
	struct otlp *o = ctx;
	struct lane *l = lane_of(o, task);
	const char *name = ev->kind == UFT_EV_MARK ? e->text : e->name;
	struct pending *p;

	if (!l || (in && array_reach(l->pending, l->npending, in->level) < 0))
		return -ENOMEM;
	p = in ? &l->pending[in->level] : NULL;
	if (!p || p->n == SPAN_EVENTS)
		return put_alone(o, l, in, ns, e, name);
	p->n++;
	o->message.n = 0;
	pb_fixed64(&o->message, EVENT_TIME, o->epoch_ns + ns);
	pb_text(&o->message, EVENT_NAME, name, &o->text);
	add_fields(o, &o->message, EVENT_ATTRIBUTE, e);
	pb_message(&p->events, SPAN_EVENT, &o->message);
	return p->events.error;
}

static void release(struct otlp *o)
{
	for (uint32_t i = 0; i < o->nlanes; i++) {
		for (uint32_t k = 0; k < o->lane[i].npending; k++)
			pb_free(&o->lane[i].pending[k].events);
		free(o->lane[i].pending);
		pb_free(&o->lane[i].spans);
	}
	free(o->lane);
	pb_free(&o->span);
	pb_free(&o->part);
	pb_free(&o->value);
	pb_free(&o->message);
	utf8_free(&o->text);
}

int uft_export_otlp(struct uft_stream *st, const char *path, const struct uft_export_opts *opts, struct uft_error *err)
{
	static const struct nest_ops ops = { begin, end, lost, event };
	const struct uft_info *info = uft_stream_info(st);
	struct otlp o = { .epoch_ns = info->realtime_ns,
		.recording = info->first_ns * 0x9e3779b97f4a7c15ull ^ info->realtime_ns };
	struct export_sink sink;
	struct nest_result r;
	int ret = export_sink_open(&sink, path, err);

	(void)opts;
	if (ret)
		return ret;
	o.out = sink.out;
	o.recording += !o.recording;		/* a trace id of zeroes is none */
	ret = nest_run(st, &ops, &o, &r);
	for (uint32_t i = 0; i < o.nlanes && !ret; i++)
		ret = flush(&o, &o.lane[i]);
	release(&o);
	return export_sink_finish(&sink, st, ret, err);
}
