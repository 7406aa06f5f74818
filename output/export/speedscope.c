/* SPDX-License-Identifier: MIT */
/*
 * speedscope.c - the file format of speedscope: an evented profile for each task
 *
 * Opens ("O") and closes ("C") are strictly nested (nest.h); "at" is whole ns since the first event. The events of a
 * task must be together, so each task has a lane of an unnamed file (spool.h) until the end. A frame is a function. The
 * format has no place for calls that were left or open, for events and for lost records: "exporter" counts them.
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

#define LANE_BUFFER	8192u
#define EVENT_ROOM	96u

struct lane {
	const struct uft_task *task;
	struct spool_lane spool;
	char *text;
	uint32_t used;
	uint64_t nevents;
};

struct speedscope {
	struct spool spool;
	struct lane *lane;		/* by task index */
	uint32_t nlanes;
	const struct uft_sym **sym;	/* by index: functions that were met */
	uint32_t nsyms;
	struct places places;
	uint64_t max_string;
	struct uft_error *err;
};

static int flush(struct speedscope *s, struct lane *l)
{
	int ret;

	if (s->spool.end + l->used > s->max_string)
		return export_string_too_long(s->max_string, s->err);
	ret = l->used ? spool_add(&s->spool, &l->spool, l->text, l->used) : 0;

	l->used = 0;
	return ret;
}

static struct lane *lane_of(struct speedscope *s, const struct uft_task *task)
{
	if (array_reach(s->lane, s->nlanes, task->index))
		return NULL;
	s->lane[task->index].task = task;
	if (!s->lane[task->index].text)
		s->lane[task->index].text = malloc(LANE_BUFFER);
	return s->lane[task->index].text ? &s->lane[task->index] : NULL;
}

static int know(struct speedscope *s, const struct uft_sym *sym)
{
	if (array_reach(s->sym, s->nsyms, sym->index))
		return -ENOMEM;
	s->sym[sym->index] = sym;
	return 0;
}

static int put_event(struct speedscope *s, const struct uft_task *task, char type, const struct uft_sym *sym,
		     uint64_t ns)
{
	struct lane *l = lane_of(s, task);
	char *at;
	int ret = !l || (!(sym->index < s->nsyms && s->sym[sym->index]) && know(s, sym) < 0) ? -ENOMEM :
		LANE_BUFFER - l->used < EVENT_ROOM ? flush(s, l) : 0;

	if (ret)
		return ret;
	at = l->text + l->used;
	at = l->nevents++ ? EMIT_PUT(at, ",\n{\"type\":\"") : EMIT_PUT(at, "\n{\"type\":\"");
	*at++ = type;
	at = digits_plain(EMIT_PUT(at, "\",\"frame\":"), sym->index);
	at = digits_plain(EMIT_PUT(at, ",\"at\":"), ns);
	*at++ = '}';
	l->used = (uint32_t)(at - l->text);
	return 0;
}

static int begin(void *ctx, const struct uft_task *task, const struct nest_call *call)
{
	return put_event(ctx, task, 'O', call->sym, call->begin_ns);
}

static int end(void *ctx, const struct uft_task *task, const struct nest_call *call, uint64_t ns, enum nest_end how)
{
	(void)how;
	return put_event(ctx, task, 'C', call->sym, ns);
}

static int put_profiles(struct speedscope *s, FILE *out, uint64_t end_ns)
{
	int ret = 0, is_first = 1;

	fputs("\"profiles\":[", out);
	for (uint32_t i = 0; i < s->nlanes && !ret; i++) {
		struct lane *l = &s->lane[i];
		char name[64];

		if (!l->nevents)
			continue;
		snprintf(name, sizeof(name), "%.32s-%u", l->task->comm && *l->task->comm ? l->task->comm : "?",
			 l->task->tid);
		fprintf(out, "%s{\"type\":\"evented\",\"name\":", is_first ? "\n" : ",\n");
		table_put_json(out, name);
		fprintf(out, ",\"unit\":\"nanoseconds\",\"startValue\":0,\"endValue\":%" PRIu64 ",\"events\":[",
			end_ns);
		is_first = 0;
		ret = flush(s, l);
		if (!ret && fflush(out))
			ret = -errno;
		if (!ret)
			ret = spool_copy(&s->spool, &l->spool, fileno(out));
		fputs("]}", out);
	}
	fputs("\n],\n", out);
	return ret;
}

/* Writes where @sym is defined, or at least in which object. */
static void put_place(const struct speedscope *s, FILE *out, const struct uft_sym *sym)
{
	struct uft_source at = places_of(&s->places, sym);
	const char *file = at.file ? at.file : sym ? sym->object : NULL;

	if (!file || !*file)
		return;
	fputs(",\"file\":", out);
	table_put_json(out, file);
	if (at.line)
		fprintf(out, ",\"line\":%" PRIu32, at.line);
}

static int find_places(struct speedscope *s, const struct uft_export_opts *o)
{
	int ret = 0;

	for (uint32_t i = 0; i < s->nsyms && !ret; i++)
		ret = s->sym[i] ? places_want(&s->places, s->sym[i]) : 0;
	return ret ? ret : places_find(&s->places, o, s->err);
}

/* Frames are found by their index: a function that was not met has a name, too. */
static void put_frames(const struct speedscope *s, FILE *out)
{
	uint32_t n = s->nsyms;

	while (n && !s->sym[n - 1])
		n--;
	fputs("\"shared\":{\"frames\":[", out);
	for (uint32_t i = 0; i < n; i++) {
		fputs(i ? ",\n{\"name\":" : "\n{\"name\":", out);
		table_put_json(out, s->sym[i] ? s->sym[i]->name : "?");
		put_place(s, out, s->sym[i]);
		putc('}', out);
	}
	fputs("\n]}}\n", out);
}

static void release(struct speedscope *s)
{
	for (uint32_t i = 0; i < s->nlanes; i++) {
		spool_lane_free(&s->lane[i].spool);
		free(s->lane[i].text);
	}
	free(s->lane);
	free(s->sym);
	places_free(&s->places);
	spool_close(&s->spool);
}

int uft_export_speedscope(struct uft_stream *st, const char *path, const struct uft_export_opts *o,
			  struct uft_error *err)
{
	static const struct nest_ops ops = { begin, end, NULL, NULL };
	struct speedscope s = { .max_string = export_string_max(o), .err = err };
	struct export_sink sink;
	struct nest_result r;
	int ret = export_sink_open(&sink, path, err);

	if (ret)
		return ret;
	ret = spool_open(&s.spool, path);
	if (ret)
		return export_sink_close(&sink, ret, err);
	ret = nest_run(st, &ops, &s, &r);
	if (!ret && o && o->has_lines)
		ret = find_places(&s, o);
	fputs("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n\"exporter\":\"uft: ", sink.out);
	fprintf(sink.out,
		"%" PRIu64 " call%s, %" PRIu64 " open at the end, %" PRIu64 " return%s without entry, %" PRIu64 " record%s lost, %" PRIu64
		" event%s not shown\",\n\"activeProfileIndex\":0,\n", r.calls, r.calls == 1 ? "" : "s", r.open,
			r.without_entry, r.without_entry == 1 ? "" : "s",
		r.lost, r.lost == 1 ? "" : "s", r.events, r.events == 1 ? "" : "s");
	if (!ret)
		ret = put_profiles(&s, sink.out, r.end_ns);
	put_frames(&s, sink.out);
	if (!ret)
		ret = export_sink_check_string(&sink, s.max_string, err);
	release(&s);
	return export_sink_finish(&sink, st, ret, err);
}
