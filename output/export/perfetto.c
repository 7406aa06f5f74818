/* SPDX-License-Identifier: MIT */
/*
 * perfetto.c - the trace of Perfetto: track events in protobuf, a track for each task below one for its process
 *
 * Each task is a packet sequence of its own: its track is the sequence's default and function names are interned in it,
 * so a begin or an end is one packet of about 14 bytes. Timestamps are ns since the first event. The end of a call that
 * was left without return has the annotation `left`, the end of a call that had not returned at the end of the
 * recording `open`. Lost records are instant events with their number and mark the packet (previous_packet_dropped).
 * Events and marks are instant events of their track. Events with a type are also in a bundle of ftrace events of their
 * CPU, as generic events with the kernel's fields. Memory: a bit for each pair of task and function.
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

/* Fields of perfetto's messages that this file writes. */
enum { TRACE_PACKET = 1 };
enum { PACKET_FTRACE = 1, PACKET_TIMESTAMP = 8, PACKET_SEQUENCE = 10, PACKET_TRACK_EVENT = 11, PACKET_INTERNED = 12,
	PACKET_SEQUENCE_FLAGS = 13,
       PACKET_DROPPED = 42, PACKET_DEFAULTS = 59, PACKET_TRACK = 60 };
enum { SEQUENCE_CLEARED = 1, SEQUENCE_NEEDS_STATE = 2 };
enum { DEFAULTS_TRACK_EVENT = 11, DEFAULTS_TRACK = 11 };
enum { TRACK_UUID = 1, TRACK_NAME = 2, TRACK_PROCESS = 3, TRACK_THREAD = 4, TRACK_PARENT = 5 };
enum { PROCESS_PID = 1, PROCESS_NAME = 6, THREAD_PID = 1, THREAD_TID = 2, THREAD_NAME = 5 };
enum { EVENT_ANNOTATION = 4, EVENT_TYPE = 9, EVENT_NAME_ID = 10, EVENT_TRACK = 11, EVENT_CATEGORY = 22,
	EVENT_NAME = 23 };
enum { TYPE_BEGIN = 1, TYPE_END = 2, TYPE_INSTANT = 3 };
enum { ANNOTATION_BOOL = 2, ANNOTATION_UINT = 3, ANNOTATION_INT = 4, ANNOTATION_STRING = 6, ANNOTATION_NAME = 10 };
enum { BUNDLE_CPU = 1, BUNDLE_EVENT = 2, FTRACE_TIMESTAMP = 1, FTRACE_PID = 2, FTRACE_GENERIC = 327 };
enum { GENERIC_NAME = 1, GENERIC_FIELD = 2, FIELD_NAME = 1, FIELD_STRING = 3, FIELD_INT = 4, FIELD_UINT = 5 };
enum { INTERNED_EVENT_NAMES = 2, NAME_ID = 1, NAME_TEXT = 2 };

#define PROCESS_UUID	(1ull << 40)
#define TASK_UUID	(2ull << 40)
#define LOST_UUID	(3ull << 40)
#define LOST_SEQUENCE	1u		/* tasks have the numbers from 2 */
#define SHORT_PACKET	64u		/* more than a begin or an end takes */

struct lane {
	uint8_t *known;		/* bits, by function: its name was interned */
	uint32_t nknown;	/* bytes */
	uint8_t is_described;
};

struct perfetto {
	struct emit_buf buf;
	struct lane *lane;	/* by task index */
	uint32_t nlanes;
	int has_lost_track;
	struct pb packet, part, inner, bundle;
	struct utf8_text text;
};

/* ---- Packets that are not the hot ones ---- */

static int put_packet(struct perfetto *p)
{
	char head[2 + PB_VARINT_MAX], *end, *to;
	int error = p->packet.error ? p->packet.error : p->part.error ? p->part.error : p->inner.error;

	if (error)
		return error;
	head[0] = TRACE_PACKET << 3 | 2;
	end = pb_put_varint(head + 1, p->packet.n);
	to = emit_buf_room(&p->buf, (size_t)(end - head) + p->packet.n);
	if (!to)
		return p->buf.error;
	memcpy(to, head, (size_t)(end - head));
	memcpy(to + (end - head), p->packet.data, p->packet.n);
	emit_buf_end(&p->buf, to + (end - head) + p->packet.n);
	p->packet.n = 0;
	return 0;
}

static uint64_t uuid_of(const struct uft_task *t)
{
	return TASK_UUID + t->index;
}

/* Describes the process again for each of its tasks: the last name is the name that it has, as after an exec. */
static int describe(struct perfetto *p, const struct uft_task *t)
{
	int ret;

	p->part.n = p->inner.n = 0;
	pb_uint(&p->part, TRACK_UUID, PROCESS_UUID + t->pid);
	pb_uint(&p->inner, PROCESS_PID, t->pid);
	pb_text(&p->inner, PROCESS_NAME, t->program, &p->text);
	pb_message(&p->part, TRACK_PROCESS, &p->inner);
	pb_message(&p->packet, PACKET_TRACK, &p->part);
	pb_uint(&p->packet, PACKET_SEQUENCE, LOST_SEQUENCE);
	ret = put_packet(p);
	if (ret)
		return ret;
	p->part.n = p->inner.n = 0;
	pb_uint(&p->part, TRACK_UUID, uuid_of(t));
	pb_uint(&p->part, TRACK_PARENT, PROCESS_UUID + t->pid);
	pb_uint(&p->inner, THREAD_PID, t->pid);
	pb_uint(&p->inner, THREAD_TID, t->tid);
	pb_text(&p->inner, THREAD_NAME, t->comm && *t->comm ? t->comm : "?", &p->text);
	pb_message(&p->part, TRACK_THREAD, &p->inner);
	pb_message(&p->packet, PACKET_TRACK, &p->part);
	pb_uint(&p->packet, PACKET_SEQUENCE, LOST_SEQUENCE + 1 + t->index);
	pb_uint(&p->packet, PACKET_SEQUENCE_FLAGS, SEQUENCE_CLEARED | SEQUENCE_NEEDS_STATE);
	p->part.n = p->inner.n = 0;
	pb_uint(&p->inner, DEFAULTS_TRACK, uuid_of(t));
	pb_message(&p->part, DEFAULTS_TRACK_EVENT, &p->inner);
	pb_message(&p->packet, PACKET_DEFAULTS, &p->part);
	return put_packet(p);
}

static int intern(struct perfetto *p, const struct uft_task *t, const struct uft_sym *sym)
{
	p->part.n = p->inner.n = 0;
	pb_uint(&p->inner, NAME_ID, (uint64_t)sym->index + 1);
	pb_text(&p->inner, NAME_TEXT, sym->name, &p->text);
	pb_message(&p->part, INTERNED_EVENT_NAMES, &p->inner);
	pb_uint(&p->packet, PACKET_SEQUENCE, LOST_SEQUENCE + 1 + t->index);
	pb_uint(&p->packet, PACKET_SEQUENCE_FLAGS, SEQUENCE_NEEDS_STATE);
	pb_message(&p->packet, PACKET_INTERNED, &p->part);
	return put_packet(p);
}

static int meet_task(struct perfetto *p, const struct uft_task *t)
{
	if (array_reach(p->lane, p->nlanes, t->index) < 0)
		return -ENOMEM;
	if (p->lane[t->index].is_described)
		return 0;
	p->lane[t->index].is_described = 1;
	return describe(p, t);
}

static int meet(struct perfetto *p, const struct uft_task *t, const struct uft_sym *sym)
{
	int ret = meet_task(p, t);
	struct lane *l;

	if (ret)
		return ret;
	l = &p->lane[t->index];
	if (array_reach(l->known, l->nknown, sym->index / 8) < 0)
		return -ENOMEM;
	if (l->known[sym->index / 8] & 1u << sym->index % 8)
		return 0;
	l->known[sym->index / 8] |= (uint8_t)(1u << sym->index % 8);
	return intern(p, t, sym);
}

static inline int is_known(const struct perfetto *p, const struct uft_task *t, const struct uft_sym *sym)
{
	const struct lane *l = t->index < p->nlanes ? &p->lane[t->index] : NULL;

	return l && sym->index / 8 < l->nknown && l->known[sym->index / 8] & 1u << sym->index % 8;
}

/* ---- Calls ---- */

/* The lengths in front of packet and event are one byte each, as neither reaches 128. */
static inline char *begin_packet(char *at, const struct uft_task *t, uint64_t ns)
{
	*at++ = TRACE_PACKET << 3 | 2;
	at++;
	*at++ = PACKET_TIMESTAMP << 3;
	at = pb_put_varint(at, ns);
	*at++ = PACKET_SEQUENCE << 3;
	at = pb_put_varint(at, (uint64_t)t->index + 1 + LOST_SEQUENCE);
	*at++ = PACKET_SEQUENCE_FLAGS << 3;
	*at++ = SEQUENCE_NEEDS_STATE;
	*at++ = PACKET_TRACK_EVENT << 3 | 2;
	at++;
	*at++ = EVENT_TYPE << 3;
	return at;
}

static inline void end_packet(char *start, char *event, char *end)
{
	start[1] = (char)(end - start - 2);
	event[-2] = (char)(end - event + 1);	/* @event: behind the type's tag */
}

static int begin(void *ctx, const struct uft_task *task, const struct nest_call *call)
{
	struct perfetto *p = ctx;
	char *start, *event, *at;
	int ret = is_known(p, task, call->sym) ? 0 : meet(p, task, call->sym);

	if (ret)
		return ret;
	if (p->buf.len > EMIT_FLUSH)
		emit_buf_flush(&p->buf, p->buf.len);
	start = emit_buf_room(&p->buf, SHORT_PACKET);
	if (!start)
		return p->buf.error;
	at = event = begin_packet(start, task, call->begin_ns);
	*at++ = TYPE_BEGIN;
	*at++ = EVENT_NAME_ID << 3;
	at = pb_put_varint(at, (uint64_t)call->sym->index + 1);
	end_packet(start, event, at);
	emit_buf_end(&p->buf, at);
	return p->buf.error;
}

static int end(void *ctx, const struct uft_task *task, const struct nest_call *call, uint64_t ns, enum nest_end how)
{
	static const char *const text[] = { [NEST_LEFT] = "left", [NEST_OPEN] = "open" };
	struct perfetto *p = ctx;
	char *start = emit_buf_room(&p->buf, SHORT_PACKET), *event, *at;

	(void)call;
	if (!start)
		return p->buf.error;
	at = event = begin_packet(start, task, ns);
	*at++ = TYPE_END;
	if (how != NEST_RETURNED) {
		*at++ = EVENT_ANNOTATION << 3 | 2;
		*at++ = 8;
		*at++ = ANNOTATION_NAME << 3 | 2;
		*at++ = 4;
		memcpy(at, text[how], 4);
		at += 4;
		*at++ = ANNOTATION_BOOL << 3;
		*at++ = 1;
	}
	end_packet(start, event, at);
	emit_buf_end(&p->buf, at);
	return p->buf.error;
}

static int describe_lost(struct perfetto *p)
{
	p->has_lost_track = 1;
	p->part.n = 0;
	pb_uint(&p->part, TRACK_UUID, LOST_UUID);
	pb_text(&p->part, TRACK_NAME, "lost records", &p->text);
	pb_message(&p->packet, PACKET_TRACK, &p->part);
	pb_uint(&p->packet, PACKET_SEQUENCE, LOST_SEQUENCE);
	return put_packet(p);
}

static int lost(void *ctx, const struct uft_task *task, uint64_t ns, uint64_t records)
{
	struct perfetto *p = ctx;
	char name[48];
	int ret = task ? meet_task(p, task) : p->has_lost_track ? 0 : describe_lost(p);

	if (ret)
		return ret;
	snprintf(name, sizeof(name), "%" PRIu64 " record%s lost", records, records == 1 ? "" : "s");
	p->part.n = p->inner.n = 0;
	pb_uint(&p->part, EVENT_TYPE, TYPE_INSTANT);
	pb_uint(&p->part, EVENT_TRACK, task ? uuid_of(task) : LOST_UUID);
	pb_text(&p->part, EVENT_NAME, name, &p->text);
	pb_text(&p->inner, ANNOTATION_NAME, "lost", &p->text);
	pb_uint(&p->inner, ANNOTATION_UINT, records);
	pb_message(&p->part, EVENT_ANNOTATION, &p->inner);
	pb_uint(&p->packet, PACKET_TIMESTAMP, ns);
	pb_uint(&p->packet, PACKET_SEQUENCE, task ? LOST_SEQUENCE + 1 + task->index : LOST_SEQUENCE);
	pb_message(&p->packet, PACKET_TRACK_EVENT, &p->part);
	pb_uint(&p->packet, PACKET_DROPPED, 1);
	return put_packet(p);
}

/* ---- Events ---- */

/* A field of a message that has fields for names, texts, signed and unsigned numbers. */
static void add_field(struct perfetto *p, struct pb *to, const struct export_field *f, const uint32_t number[4])
{
	pb_text(to, number[0], f->name, &p->text);
	if (f->text)
		pb_text(to, number[1], f->text, &p->text);
	else
		pb_uint(to, number[f->is_signed ? 2 : 3], f->number);
}

/* Writes the event as the kernel's event of that name. */
static int put_generic(struct perfetto *p, const struct uft_task *t, uint64_t ns, const struct export_event *e,
		       uint32_t cpu)
{
	static const uint32_t number[] = { FIELD_NAME, FIELD_STRING, FIELD_INT, FIELD_UINT };
	struct pb *generic = &p->part, *event = &p->inner, *bundle = &p->bundle;

	generic->n = 0;
	pb_text(generic, GENERIC_NAME, e->name, &p->text);
	for (uint32_t i = 0; i < e->nfields; i++) {
		p->inner.n = 0;
		add_field(p, &p->inner, &e->field[i], number);
		pb_message(generic, GENERIC_FIELD, &p->inner);
	}
	event->n = bundle->n = 0;
	pb_uint(event, FTRACE_TIMESTAMP, ns);
	pb_uint(event, FTRACE_PID, t->tid);
	pb_message(event, FTRACE_GENERIC, generic);
	pb_uint(bundle, BUNDLE_CPU, cpu);
	pb_message(bundle, BUNDLE_EVENT, event);
	pb_message(&p->packet, PACKET_FTRACE, bundle);
	pb_uint(&p->packet, PACKET_SEQUENCE, LOST_SEQUENCE);
	return p->bundle.error ? p->bundle.error : put_packet(p);
}

/* A mark's name is its text, because all marks are of one kind. */
static int event(void *ctx, const struct uft_task *task, const struct nest_call *in, uint64_t ns,
		 const struct export_event *e, const struct uft_event *ev)
{
	static const uint32_t number[] = { ANNOTATION_NAME, ANNOTATION_STRING, ANNOTATION_INT, ANNOTATION_UINT };
	struct perfetto *p = ctx;
	int ret = meet_task(p, task);

	(void)in;
	if (ret)
		return ret;
	p->part.n = 0;
	pb_uint(&p->part, EVENT_TYPE, TYPE_INSTANT);
	pb_text(&p->part, EVENT_CATEGORY, e->system, &p->text);
	pb_text(&p->part, EVENT_NAME, ev->kind == UFT_EV_MARK ? e->text : e->name, &p->text);
	for (uint32_t i = 0; i < e->nfields; i++) {
		p->inner.n = 0;
		add_field(p, &p->inner, &e->field[i], number);
		pb_message(&p->part, EVENT_ANNOTATION, &p->inner);
	}
	pb_uint(&p->packet, PACKET_TIMESTAMP, ns);
	pb_uint(&p->packet, PACKET_SEQUENCE, LOST_SEQUENCE + 1 + task->index);
	pb_uint(&p->packet, PACKET_SEQUENCE_FLAGS, SEQUENCE_NEEDS_STATE);
	pb_message(&p->packet, PACKET_TRACK_EVENT, &p->part);
	ret = put_packet(p);
	return ret || ev->kind == UFT_EV_MARK || !UFT_EVENT_IS_NAMED(ev->data) ? ret :
		put_generic(p, task, ns, e, ev->cpu);
}

static void release(struct perfetto *p)
{
	for (uint32_t i = 0; i < p->nlanes; i++)
		free(p->lane[i].known);
	free(p->lane);
	pb_free(&p->packet);
	pb_free(&p->part);
	pb_free(&p->inner);
	pb_free(&p->bundle);
	utf8_free(&p->text);
	emit_buf_free(&p->buf);
}

int uft_export_perfetto(struct uft_stream *st, const char *path, const struct uft_export_opts *o, struct uft_error *err)
{
	static const struct nest_ops ops = { begin, end, lost, event };
	struct perfetto p = { 0 };
	struct export_sink sink;
	struct nest_result r;
	int ret = export_sink_open(&sink, path, err);

	(void)o;
	if (ret)
		return ret;
	ret = emit_buf_init(&p.buf, sink.out);
	if (!ret)
		ret = nest_run(st, &ops, &p, &r);
	if (!ret) {
		emit_buf_flush(&p.buf, p.buf.len);
		ret = p.buf.error;
	}
	release(&p);
	return export_sink_finish(&sink, st, ret, err);
}
