/* SPDX-License-Identifier: MIT */
/*
 * events.c - the text of the tracers that are made of events
 *
 * The text of a latency tracer is one stretch, a header and lines, and is printed at the end of the stream (latency.c
 * finds the stretch). With display-graph the lines are the graph of the calls in the stretch; its begin and its end are
 * shown as calls that took no time, as the kernel records them. kmemtrace and blk print lines as calls come (lines.c).
 * Without a header (trace_pipe) a latency tracer prints its input: each call as the function tracer would.
 */
#include <stdlib.h>

#include "output/lines.h"
#include "output/text.h"

int events_open(struct uft_printer *t, uint64_t floor_ns, uint64_t thresh_ns, uint64_t from_ns)
{
	t->events = calloc(1, sizeof(*t->events));
	if (!t->events)
		return -ENOMEM;
	t->events->calls.tracer = t->tracer;
	t->events->floor_ns = floor_ns;
	t->events->thresh_ns = thresh_ns;
	t->events->from_ns = from_ns;
	t->events->has_returns = (t->flags & UFT_TEXT_DISPLAY_GRAPH) != 0;
	return 0;
}

int events_wait(const struct uft_printer *t)
{
	return uft_tracer_is_latency(t->tracer) && !(t->flags & UFT_TEXT_NO_HEADER);
}

/* The tracer was switched under a trace_pipe. */
static void follow(struct uft_printer *t)
{
	if (t->events->calls.tracer == t->tracer)
		return;
	latency_free(t->events);
	*t->events = (struct latency){ .calls.tracer = t->tracer };
}

void events_event(struct uft_printer *t, const struct uft_event *ev)
{
	const struct call *call;
	struct uft_event func;

	follow(t);
	if (events_wait(t)) {
		latency_feed(t->events, ev);
		t->buf.error = t->buf.error ? t->buf.error : t->events->error;
		return;
	}
	call = calls_feed(&t->events->calls, ev);
	if (ev->kind == UFT_EV_DATA && ev->data == UFT_EVENT_STACK) {
		lines_stack(t, ev);
	} else if (call && !uft_tracer_is_latency(t->tracer)) {
		lines_event(t, ev, call);
	} else if (call && ev->kind == UFT_EV_ENTRY) {
		func = *ev;
		func.kind = UFT_EV_FUNC;
		func.parent = call->parent;
		func.parent_addr = 0;
		text_function(t, &func);
		t->printed++;
	}
}

/* `       0:120:R   + [000]     215: 94:R sleep`: the waker and the woken thread; `==>`: the woken thread runs. */
static void put_switch(struct uft_printer *t, const struct stretch *w, const struct stretch_line *from, const char *how,
		       const struct uft_event *ev)
{
	const struct stretch_line *to = &w->line[1];
	const struct emit_task *task = emit_task(&t->names, to->task);
	char *p = emit_buf_room(&t->buf, TEXT_CONTEXT_ROOM + 160), name[17], prio[2][12];

	if (!p || !task) {
		t->buf.error = t->buf.error ? t->buf.error : -ENOMEM;
		return;
	}
	snprintf(prio[0], sizeof(prio[0]), from->has_state ? "%3u" : "  ?", from->priority);
	snprintf(prio[1], sizeof(prio[1]), to->has_state ? "%3u" : "  ?", to->priority);
	p = text_context(t, p, ev);
	if (!p)
		return;
	p += sprintf(p, "%7u:%s:R %s [%03u] %7u:%s:R %.16s\n", from->task->tid, prio[0], how, to->cpu, to->task->tid,
		     prio[1], form_name(to->task, name));
	emit_buf_end(&t->buf, p);
}

static int is_shown(const struct uft_printer *t, uint32_t cpu)
{
	for (size_t i = 0; i < t->nonly_cpus; i++)
		if (t->only_cpus[i] == cpu)
			return 1;
	return !t->only_cpus;
}

static int is_graph(const struct uft_printer *t)
{
	return t->flags & UFT_TEXT_DISPLAY_GRAPH && uft_tracer_kind(t->tracer) == UFT_KIND_SECTION;
}

static void put_graph_line(struct uft_printer *t, const struct stretch *w, uint32_t i)
{
	const struct stretch_line *l = &w->line[i];
	int is_end = !i || i + 1 == w->n;
	struct uft_event ev = {
		.kind = is_end ? UFT_EV_ENTRY : l->kind, .ts_ns = l->ts_ns, .task = l->task, .sym = l->sym,
		.cpu = l->cpu, .depth = l->level,
		.duration_ns = is_end ? 0 : l->duration_ns,
	};

	graph_event(t, &ev);
	if (!is_end)
		return;
	ev.kind = UFT_EV_EXIT;
	graph_event(t, &ev);
}

static void put_lines(struct uft_printer *t, const struct stretch *w)
{
	int is_wakeup = uft_tracer_kind(t->tracer) == UFT_KIND_WAKEUP;

	t->start_ns = w->start_ns;
	for (uint32_t i = 0; i < w->n && !t->buf.error; i++) {
		const struct stretch_line *l = &w->line[i];
		struct uft_event ev = {
			.kind = UFT_EV_FUNC, .ts_ns = l->ts_ns, .task = l->task, .sym = l->sym, .parent = l->parent,
			.cpu = l->cpu,
		};
		char flags[6] = ".....";

		if (!is_shown(t, l->cpu))
			continue;
		flags[0] = l->is_masked ? 'd' : '.';
		flags[3] = l->depth ? (char)(l->depth < 10 ? '0' + l->depth : l->depth < 16 ? 'a' +
					     l->depth - 10 : 'f') : '.';
		t->task_flags = flags;
		t->next_ns = i + 1 < w->n ? l[1].ts_ns : l->ts_ns;
		if (is_graph(t))
			put_graph_line(t, w, i);
		else if (is_wakeup)
			put_switch(t, w, l, i ? "==>" : "  +", &ev);
		else
			text_function(t, &ev);
		t->printed++;
		t->task_flags = NULL;
	}
}

/* Behind the last line of the stretch, as in the kernel. */
static void put_end(struct uft_printer *t, const struct stretch *w)
{
	struct uft_event ev = { .kind = UFT_EV_DATA, .data = UFT_EVENT_STACK, .ts_ns = w->end_ns, .task = w->task,
		.cpu = w->cpu, .stack = w->stack };

	if (!w->stack || !is_shown(t, w->cpu))
		return;
	t->next_ns = w->end_ns;
	stack_put(t, &ev);
}

void events_end(struct uft_printer *t)
{
	uint32_t flags = t->flags;

	t->annotate = 0;
	t->flags |= UFT_TEXT_LATENCY;		/* these have no other format, as in the kernel */
	if (is_graph(t))			/* nor this other columns */
		t->flags = (t->flags & (UFT_TEXT_LATENCY | UFT_TEXT_DISPLAY_GRAPH | UFT_TEXT_CONTEXT | UFT_TEXT_TAIL)) |
			TEXT_REL_TIME | UFT_TEXT_CPU |
			   UFT_TEXT_PROC | UFT_TEXT_DURATION | UFT_TEXT_OVERHEAD;
	text_header(t, uft_stream_info(t->src.st));
	put_lines(t, &t->events->worst);
	if (is_graph(t))
		graph_flush(t, 1);
	put_end(t, &t->events->worst);
	t->flags = flags;
}

void events_close(struct uft_printer *t)
{
	if (t->events)
		latency_free(t->events);
	free(t->events);
	t->events = NULL;
}

int uft_latency_longest(struct uft_stream *st, const struct uft_text_opts *opts, uint64_t *ns)
{
	struct latency l = { .calls.tracer = opts->tracer, .floor_ns = opts->floor_ns, .from_ns = opts->from_ns };
	struct uft_event ev[64];
	size_t n;

	*ns = 0;
	while ((uft_tracer_is_latency(opts->tracer) || uft_tracer(opts->tracer)->takes & UFT_TAKES_GAP) &&
	       (n = uft_stream_batch(st, ev, 64)))
		for (size_t i = 0; i < n; i++) {
			uint64_t one = ev[i].ts_ns >= opts->from_ns ? own_latency_ns(&ev[i]) : 0;

			*ns = one > *ns && one > opts->floor_ns ? one : *ns;
			if (uft_tracer_is_latency(opts->tracer))
				latency_feed(&l, &ev[i]);
		}
	if (uft_tracer_is_latency(opts->tracer))
		*ns = l.worst.end_ns - l.worst.start_ns;
	latency_free(&l);
	return l.error;
}
