/* SPDX-License-Identifier: MIT */
/*
 * text.c - the kernel's `trace` file: headers, contexts, the lines of the function tracer
 *
 * It prints any stream as the text of /sys/kernel/tracing/trace, byte for byte, for the scripts and people that know
 * it. graph.c draws the call tree. The printer keeps no more history than the kernel's own printer keeps per CPU.
 *
 * Objects: struct uft_printer on the caller's stack owns the output buffer, the name tables and one struct
 * text_cpu per CPU. One thread, one pass. Memory is bounded by functions + tasks + CPUs + GRAPH_HOLD.
 *
 * Speed: a line is a few memcpy of text prepared per task, CPU, second and function, and the digits of the
 * microseconds. No printf, no locale, no per-line write.
 *
 * Invariants
 *   1. bytes equal the kernel's for the same events         tests/golden/text
 *   2. lines appear in the order of the events' time; a leaf stands at the time of its entry
 *   3. every event gives a line, except an exit merged into its entry's
 *
 * Where it differs from the kernel, and why
 *   - the flag column is `.....`: no interrupts, no preemption count; a record carries no signal state. Events of a
 *     kernel (trace.dat) have its flags
 *   - a loss is shown where it happened, in either mode, because the stream has its place
 *   - entries-in-buffer counts the records of the recording, entries-written adds the lost ones; for a live buffer that
 *     keeps the oldest records it does not, as in the kernel
 *   - records that a live buffer overwrote unread are reported in front of the next line of their cpu, as in the
 *     kernel: uft_text_lost()
 *   - control characters in names become `?` (emit.h)
 *   - graph: see graph.c
 *
 * Failure: the first error of the output ends the report and is returned. The stream counts unreadable data as damage
 * (uft_output_stat() shows it).
 */
#include <stdlib.h>

#include "output/output.h"
#include "output/text_rows.h"

/* Prints ` (repeats: 2, last_ts:     8.185373)` behind the line of the call, when another event comes: @ev. */
static void put_repeats(struct uft_printer *t, struct text_cpu *c, const struct uft_event *ev)
{
	struct uft_event line = c->call;
	char last[48], *end = text_time(t, last, c->call.ts_ns);

	line.ts_ns = ev->ts_ns;
	line.task = ev->task;
	text_function(t, &line);
	if (t->buf.error || !t->buf.len || !emit_buf_room(&t->buf, 80))
		return;
	t->buf.len--;		/* the line's end */
	t->buf.len += (size_t)sprintf(t->buf.text + t->buf.len, " (repeats: %u, last_ts:%.*s)\n", c->repeats,
				      (int)(end - last) - 2, last);
	t->printed++;
}

#define MAX_REPEATS	65535u		/* the kernel's */

static int has_repeats(uint32_t tracer, uint32_t flags)
{
	return flags & UFT_TEXT_NO_REPEATS && !(flags & TEXT_FORM) && uft_tracer(tracer)->takes & UFT_TAKES_FUNC_STACK;
}

/* 1: the event repeats the last call. */
static int is_repeat(struct uft_printer *t, const struct uft_event *ev)
{
	struct text_cpu *c = text_cpu_get(t, ev->cpu);

	if (!c || !has_repeats(t->tracer, t->flags))
		return 0;
	if (c->call.sym == ev->sym && c->call.parent_addr == ev->parent_addr && c->call.sym &&
	    c->repeats < MAX_REPEATS) {
		c->repeats++;
		c->call.ts_ns = ev->ts_ns;
		c->call.task = ev->task;
		return 1;
	}
	if (c->repeats)
		put_repeats(t, c, ev);
	c->call = *ev;
	c->repeats = 0;
	return 0;
}

/* Prints repeats that no other event followed. Later events are not compared with them. */
static void put_last_repeats(struct uft_printer *t)
{
	for (size_t i = 0; i < t->ncpus; i++) {
		struct uft_event last = t->cpu[i].call;

		if (t->cpu[i].repeats)
			put_repeats(t, &t->cpu[i], &last);
		t->cpu[i].repeats = 0;
		t->cpu[i].call = (struct uft_event){ 0 };
	}
}

static void put_lost(struct uft_printer *t, const struct uft_event *ev)
{
	char *p = emit_buf_room(&t->buf, 64);

	if (!p)
		return;
	memcpy(p, "CPU:", 4);
	p = digits_plain(p + 4, ev->cpu);
	memcpy(p, " [LOST ", 7);
	p += 7;
	if (ev->lost) {
		p = digits_plain(p, ev->lost);
		*p++ = ' ';
	}
	memcpy(p, "EVENTS]\n", 8);
	emit_buf_end(&t->buf, p + 8);
}

/* The text of a mark, without its newline: in @raw, if the mark is a number with data. */
static const char *mark_text(const struct uft_event *ev, char raw[FORM_RAW_MAX], size_t *n)
{
	*n = ev->text_bytes;
	if (ev->flags & UFT_EVF_RAW) {
		*n = form_raw_data(ev, raw);
		return raw;
	}
	*n -= *n && ev->text[*n - 1] == '\n';
	return ev->text;
}

/* 1: the text is printed alone: with printk-msg-only, whatever the form of other events. */
static int is_bare(const struct uft_printer *t, const struct uft_event *ev)
{
	return t->flags & UFT_TEXT_MSG_ONLY && ev->kind == UFT_EV_MARK && !(ev->flags & UFT_EVF_RAW);
}

/* Prints a mark; in a graph as a comment. */
static void put_mark(struct uft_printer *t, const struct uft_event *ev)
{
	const char *name = is_bare(t, ev) || ev->flags & UFT_EVF_RAW ? "" : "tracing_mark_write: ", *text;
	const struct text_row *row = t->row;
	struct text_cpu *c = text_cpu_get(t, ev->cpu);
	const struct emit_task *task = emit_task(&t->names, ev->task);
	char raw[FORM_RAW_MAX], *p;
	size_t n;

	text = mark_text(ev, raw, &n);
	if (t->flags & UFT_TEXT_FIELDS && !(ev->flags & UFT_EVF_RAW) && !is_bare(t, ev) && !row->is_tree)
		name = "print: buf=";
	if (row->mark) {
		row->mark(t, ev, text, n);
		return;
	}
	p = c && task ? emit_buf_room(&t->buf, 200 + n) : NULL;
	if (!p) {
		t->buf.error = t->buf.error ? t->buf.error : -ENOMEM;
		return;
	}
	if (!c->has_started && t->annotate)
		text_put_start(t, c, ev->cpu);
	if (!is_bare(t, ev))
		p = text_put_context(t, p, c, task, ev);
	memcpy(p, name, strlen(name));
	p += strlen(name);
	memcpy(p, text, n);
	p[n] = '\n';
	emit_buf_end(&t->buf, p + n + 1);
}

/* Prints an event of the session, or one that has a name. */
static void put_data(struct uft_printer *t, const struct uft_event *ev)
{
	if (UFT_EVENT_IS_NAMED(ev->data) && t->flags & TEXT_FORM && !t->row->is_tree)
		form_numbers(t, ev);
	else
		own_event(t, ev);
}

/* Prints a FUNC or a MARK in a raw form, if the flags ask for one. */
static void put_form(struct uft_printer *t, const struct uft_event *ev)
{
	int has_form = t->flags & TEXT_FORM && !t->row->is_tree && !is_bare(t, ev);

	if (has_form)
		form_numbers(t, ev);
	else if (ev->kind == UFT_EV_FUNC)
		text_function(t, ev);
	else
		put_mark(t, ev);
}

/* Printers by kind. */
static const struct { void (*put)(struct uft_printer *t, const struct uft_event *ev); int is_call; } printers[] = {
	[UFT_EV_ENTRY] = { graph_event, 1 },
	[UFT_EV_EXIT] = { graph_event, 1 },
	[UFT_EV_LEFT] = { graph_event, 1 },
	[UFT_EV_FUNC] = { put_form, 0 },
	[UFT_EV_MARK] = { put_form, 0 },
	[UFT_EV_DATA] = { put_data, 0 },
	[UFT_EV_LOST] = { put_lost, 0 },
};

/* In a graph an event that is no call ends the wait for the CPU's open entry. */
static void close_entry(struct uft_printer *t, const struct uft_event *ev)
{
	struct text_cpu *c = t->nopen ? text_cpu_get(t, ev->cpu) : NULL;

	if (c && c->is_open)
		graph_close_entry(t, c);
}

static void print_event(struct uft_printer *t, const struct uft_event *ev);

static void print_lost(struct uft_printer *t, struct text_cpu *c, uint32_t cpu)
{
	struct uft_event lost = { .kind = UFT_EV_LOST, .cpu = cpu, .lost = c->lost };

	c->lost = 0;
	print_event(t, &lost);
}

static void print_event(struct uft_printer *t, const struct uft_event *ev)
{
	const struct text_row *row = t->row;

	if (ev->cpu < t->ncpus && t->cpu[ev->cpu].lost)
		print_lost(t, &t->cpu[ev->cpu], ev->cpu);
	if (ev->kind == UFT_EV_FUNC && is_repeat(t, ev))
		return;
	if (ev->kind == UFT_EV_DATA && ev->data == UFT_EVENT_STACK && !events_wait(t) &&
	    (!row->call || ev->flags & UFT_EVF_TRACEPOINT)) {
		stack_text(t, ev);
		return;
	}
	if (row->take && ((ev->kind != UFT_EV_MARK && ev->kind != UFT_EV_LOST) || events_wait(t))) {
		row->take(t, ev);
		return;
	}
	if (ev->kind == UFT_EV_DATA && !UFT_EVENT_IS_OWN(ev->data)) {
		if (row->data)
			row->data(t, ev);
		return;
	}
	if (ev->kind >= sizeof(printers) / sizeof(printers[0]) || !printers[ev->kind].put)
		return;
	if (!printers[ev->kind].is_call)
		close_entry(t, ev);
	printers[ev->kind].put(t, ev);
	t->printed += ev->kind != UFT_EV_LOST;
	if (t->buf.len >= EMIT_FLUSH)
		graph_flush(t, 0);
}

static void set_tracer(struct uft_printer *t, uint32_t tracer)
{
	t->tracer = tracer;
	t->row = text_row(tracer);
}

/* Sets the flags. Without times there are no durations. */
static void set_flags(struct uft_printer *t, uint32_t flags, struct uft_stream *st)
{
	enum uft_stamp stamp = st ? uft_stream_stamp(st) : UFT_STAMP_NS;

	t->flags = flags & ~(uint32_t)(stamp == UFT_STAMP_COUNT ? UFT_TEXT_DURATION : 0);
	t->is_plain = stamp != UFT_STAMP_NS;
}

static int text_init(struct uft_printer *t, struct uft_stream *st, FILE *out, int colour,
		     const struct uft_text_opts *opts)
{
	const struct uft_info *info = uft_stream_info(st);

	memset(t, 0, sizeof(*t));
	emit_source_init(&t->src, st);
	emit_names_init(&t->names);
	t->colour = colour;
	t->second = ~0ull;
	t->cpu_width = digits_count(info && info->ncpus ? info->ncpus - 1 : 0);
	if (!info)
		return -ENOMEM;
	t->annotate = info->lost != 0;
	set_tracer(t, info->tracer);
	set_flags(t, opts->flags, st);
	t->only_cpus = opts->only_cpus;
	t->nonly_cpus = opts->nonly_cpus;
	if (emit_buf_init(&t->buf, out) < 0 || events_open(t, 0, 0, 0) < 0)
		return -ENOMEM;
	if (!events_wait(t) && !(t->flags & UFT_TEXT_NO_HEADER))
		text_header(t, info);
	return 0;
}

int uft_text_open(struct uft_stream *st, const struct uft_text_opts *opts, struct uft_printer **out)
{
	struct uft_printer *t = calloc(1, sizeof(*t));

	*out = NULL;
	if (!t || emit_buf_init(&t->buf, NULL) < 0) {
		free(t);
		return -ENOMEM;
	}
	t->src.st = st;
	emit_names_init(&t->names);
	t->second = ~0ull;
	t->cpu_width = digits_count(opts->ncpus ? opts->ncpus - 1 : 0);
	set_tracer(t, opts->tracer);
	set_flags(t, opts->flags, st);
	t->start_ns = opts->start_ns;
	t->only_cpus = opts->only_cpus;
	t->nonly_cpus = opts->nonly_cpus;
	t->buf.sink = opts->sink;
	t->buf.ctx = opts->ctx;
	if (events_open(t, opts->floor_ns, opts->thresh_ns, opts->from_ns) < 0) {
		uft_text_close(t);
		return -ENOMEM;
	}
	if (!(opts->flags & UFT_TEXT_NO_HEADER)) {
		const struct uft_info *info = uft_stream_info(st);

		t->annotate = info->lost != 0 && opts->flags & UFT_TEXT_ANNOTATE;
		if (!events_wait(t))
			text_header(t, opts->whole ? opts->whole : info);
	}
	*out = t;
	return t->buf.error;
}

void uft_text_lost(struct uft_printer *t, uint32_t cpu, uint64_t n)
{
	struct text_cpu *c = text_cpu_get(t, cpu);

	if (c)
		c->lost += n;
}

void uft_text_set(struct uft_printer *t, struct uft_stream *st, uint32_t tracer, uint32_t flags)
{
	flags |= t->flags & UFT_TEXT_NO_HEADER;
	t->src.st = st;
	if (has_repeats(t->tracer, t->flags) && !has_repeats(tracer, flags))
		put_last_repeats(t);
	set_tracer(t, tracer);
	set_flags(t, flags, st);
}

/* @next: the event behind it; NULL: none, or none yet. */
static void print_late(struct uft_printer *t, const struct uft_event *ev, const struct uft_event *next)
{
	t->start_ns = t->start_ns ? t->start_ns : ev->ts_ns;
	t->next_ns = next ? next->ts_ns : ev->ts_ns;
	print_event(t, ev);
}

/*
 * Prints lines that show the time to the next one. Without a header (trace_pipe) no event may be held back, because
 * events are consumed.
 */
static void print_with_next(struct uft_printer *t, size_t n)
{
	const struct uft_event *ev = t->src.ev;

	if (t->has_held && n)
		print_late(t, &t->held, &ev[0]);
	for (size_t i = 0; i + 1 < n; i++)
		print_late(t, &ev[i], &ev[i + 1]);
	t->has_held = n && !(t->flags & UFT_TEXT_NO_HEADER);
	if (t->has_held)
		t->held = ev[n - 1];
	else if (n)
		print_late(t, &ev[n - 1], NULL);
}

int uft_text_run(struct uft_printer *t, size_t max)
{
	struct uft_stream *st = t->src.st;
	size_t n = uft_stream_batch(st, t->src.ev, max < EMIT_BATCH ? max : EMIT_BATCH);

	if (t->flags & UFT_TEXT_LATENCY && n && !events_wait(t))
		print_with_next(t, n);
	else
		for (size_t i = 0; i < n && !t->buf.error; i++)
			print_event(t, &t->src.ev[i]);
	return t->buf.error ? t->buf.error : n != 0;
}

/* Prints the losses behind the whole text. */
static void put_missed(struct uft_printer *t)
{
	uint64_t missed = t->flags & UFT_TEXT_NO_HEADER ? 0 : uft_stream_missed_stacks(t->src.st);
	char line[128];

	if (!missed)
		return;
	snprintf(line, sizeof(line), "# stacks: %llu are without callers: there were more than %u different ones\n",
		 (unsigned long long)missed, UFT_STREAM_STACKS);
	emit_buf_puts(&t->buf, line);
}

int uft_text_collect(struct uft_printer *t, int end)
{
	if (end && events_wait(t))
		events_end(t);
	if (end && t->has_held) {
		print_late(t, &t->held, NULL);
		t->has_held = 0;
	}
	if (end && !(t->flags & UFT_TEXT_NO_HEADER))	/* of what is consumed more may come */
		put_last_repeats(t);
	if (end)
		put_missed(t);
	if (end || !t->nopen)
		graph_flush(t, 1);
	return t->buf.error;
}

void uft_text_close(struct uft_printer *t)
{
	if (!t)
		return;
	events_close(t);
	emit_buf_free(&t->buf);
	emit_names_free(&t->names);
	free(t->cpu);
	free(t->open);
	free(t);
}

/* Prints all events of a file. */
static void print_events(struct uft_printer *t)
{
	const struct uft_event *ev;

	if (t->flags & UFT_TEXT_LATENCY)
		while (uft_text_run(t, EMIT_BATCH) > 0)
			;
	while (!t->buf.error && (ev = emit_source_next(&t->src)))
		print_event(t, ev);
}

/**
 * uft_output_text - print a stream as the kernel prints its trace file
 * @st:     the stream, at its start
 * @out:    where to; not closed
 * @colour: 1: durations dim, their marks coloured; nothing else changes
 * @opts:   flags and only_cpus
 *
 * Returns 0 or the first negative errno of @out or of allocation. Context: control.
 */
int uft_output_text(struct uft_stream *st, FILE *out, int colour, const struct uft_text_opts *opts)
{
	struct uft_printer *t = malloc(sizeof(*t));
	int ret;

	if (!t)
		return -ENOMEM;
	ret = text_init(t, st, out, colour, opts);
	if (!ret) {
		print_events(t);
		uft_text_collect(t, 1);
		if (!t->buf.error && fflush(out))
			t->buf.error = errno ? -errno : -EIO;
		ret = t->buf.error;
	}
	uft_text_close(t);
	return ret;
}
