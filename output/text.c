/* SPDX-License-Identifier: MIT */
/*
 * text.c - the kernel's `trace` file: headers, contexts, the lines of the function tracer
 *
 * What it is: the text that scripts and people know from /sys/kernel/tracing/trace, byte for byte, of any
 * stream. graph.c, the other half, draws the call tree. It is a printer: it keeps no history beyond what
 * the kernel's own printer keeps per CPU.
 *
 * Objects: struct text on the caller's stack owns the output buffer, the name tables and one struct
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
 *   - the flag column is `.....`: no interrupts, no preemption count; a record carries no signal state
 *   - a loss is shown where it happened in either mode, since the stream knows the place
 *   - entries-in-buffer is what the recording holds, entries-written adds what was lost
 *   - control characters in names become `?` (emit.h)
 *   - graph: see graph.c
 *
 * Failure: the first error of the output ends the report and is returned. What the stream could not read it
 * counts as damage (uft_output_stat() shows it).
 */
#include <stdlib.h>

#include "output/output.h"
#include "output/text.h"

static const char function_header[] =
	"#                                _-----=> irqs-off/BH-disabled\n"
	"#                               / _----=> need-resched\n"
	"#                              | / _---=> hardirq/softirq\n"
	"#                              || / _--=> preempt-depth\n"
	"#                              ||| / _-=> migrate-disable\n"
	"#                              |||| /     delay\n"
	"#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION\n"
	"#              | |         |   |||||     |         |\n";

static const char *tracer_name(uint32_t tracer)
{
	switch (tracer) {
	case UFT_TRACER_FUNCTION:
		return "function";
	case UFT_TRACER_GRAPH:
		return "function_graph";
	default:
		return "nop";
	}
}

static void put_header(struct text *t, const struct uft_info *info)
{
	char line[160];

	snprintf(line, sizeof(line), "# tracer: %s\n#\n", tracer_name(info->tracer));
	emit_buf_puts(&t->buf, line);
	if (info->tracer == UFT_TRACER_GRAPH) {
		emit_buf_puts(&t->buf, graph_header);
		return;
	}
	snprintf(line, sizeof(line), "# entries-in-buffer/entries-written: %llu/%llu   #P:%u\n#\n",
		 (unsigned long long)info->events, (unsigned long long)(info->events + info->lost), info->ncpus);
	emit_buf_puts(&t->buf, line);
	emit_buf_puts(&t->buf, function_header);
}

static void init_cpu(struct text *t, struct text_cpu *c, uint32_t cpu)
{
	char *p = c->context;

	*p++ = '[';
	p = digits_fixed(p, cpu, cpu < 1000 ? 3 : digits_count(cpu));
	memcpy(p, "] .....", 7);
	c->context_len = (uint8_t)(p + 7 - c->context);
	c->column[0] = ' ';
	p = digits_right(c->column + 1, cpu, t->cpu_width);
	*p++ = ')';
	*p++ = ' ';
	c->column_len = (uint8_t)(p - c->column);
}

struct text_cpu *text_cpu_grow(struct text *t, uint32_t cpu)
{
	size_t n = (size_t)cpu + 1;
	struct text_cpu *list;
	uint32_t *open;

	if (cpu >= TEXT_MAX_CPUS) {
		t->buf.error = t->buf.error ? t->buf.error : -EBADMSG;
		return NULL;
	}
	list = realloc(t->cpu, n * sizeof(*list));
	if (list)
		t->cpu = list;
	open = realloc(t->open, n * sizeof(*open));
	if (open)
		t->open = open;
	if (!list || !open) {
		t->buf.error = t->buf.error ? t->buf.error : -ENOMEM;
		return NULL;
	}
	memset(list + t->ncpus, 0, (n - t->ncpus) * sizeof(*list));
	for (size_t i = t->ncpus; i < n; i++)
		init_cpu(t, &list[i], (uint32_t)i);
	t->ncpus = n;
	return &list[cpu];
}

/* ` %5lu.%06lu: `, rounded to the microsecond as the kernel does. */
static char *put_time(struct text *t, char *p, uint64_t ts_ns)
{
	uint64_t us = (ts_ns + 500) / 1000, second = us / 1000000;

	if (second != t->second) {
		char *q = t->second_text;

		*q++ = ' ';
		q = digits_right(q, second, 5);
		*q++ = '.';
		t->second = second;
		t->second_len = (unsigned)(q - t->second_text);
	}
	memcpy(p, t->second_text, sizeof(t->second_text));
	p = digits_fixed(p + t->second_len, us - second * 1000000, 6);
	*p++ = ':';
	*p++ = ' ';
	return p;
}

static char *put_name(char *p, const struct emit_text *name)
{
	memcpy(p, name->text, name->len);
	return p + name->len;
}

static void put_buffer_start(struct text *t, struct text_cpu *c, uint32_t cpu)
{
	char line[64];

	c->has_started = 1;
	if (!t->printed)
		return;
	snprintf(line, sizeof(line), "##### CPU %u buffer started ####\n", cpu);
	emit_buf_puts(&t->buf, line);
}

static void put_function(struct text *t, const struct uft_event *ev)
{
	struct text_cpu *c = text_cpu_get(t, ev->cpu);
	const struct emit_task *task = emit_task(&t->names, ev->task);
	const struct emit_text *func = emit_func(&t->names, ev->sym), *parent = emit_func(&t->names, ev->parent);
	struct emit_text name, caller;
	char *p;

	if (!c || !task || !func || !parent) {
		t->buf.error = t->buf.error ? t->buf.error : -ENOMEM;
		return;
	}
	name = *emit_func(&t->names, ev->sym);	/* the parent may have moved the table */
	caller = *parent;
	if (!c->has_started && t->annotate)
		put_buffer_start(t, c, ev->cpu);
	p = emit_buf_room(&t->buf, 160 + (size_t)name.len + caller.len);
	if (!p)
		return;
	memcpy(p, task->context, sizeof(task->context));
	p += task->context_len;
	memcpy(p, c->context, sizeof(c->context));
	p += c->context_len;
	p = put_name(put_time(t, p, ev->ts_ns), &name);
	if (ev->parent) {
		memcpy(p, " <-", 3);
		p = put_name(p + 3, &caller);
	}
	*p++ = '\n';
	emit_buf_end(&t->buf, p);
}

static void put_lost(struct text *t, const struct uft_event *ev)
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

/* FUNC and LOST; in a graph they end the wait for the CPU's open entry. */
static void flat_event(struct text *t, const struct uft_event *ev)
{
	if (t->nopen) {
		struct text_cpu *c = text_cpu_get(t, ev->cpu);

		if (c && c->is_open)
			graph_close_entry(t, c);
	}
	if (ev->kind == UFT_EV_FUNC)
		put_function(t, ev);
	else if (ev->kind == UFT_EV_LOST)
		put_lost(t, ev);
}

static void print_events(struct text *t)
{
	const struct uft_event *ev;

	while (!t->buf.error && (ev = emit_source_next(&t->src))) {
		switch (ev->kind) {
		case UFT_EV_ENTRY:
		case UFT_EV_EXIT:
		case UFT_EV_LEFT:
			graph_event(t, ev);
			break;
		default:
			flat_event(t, ev);
		}
		t->printed += ev->kind != UFT_EV_LOST;
		if (t->buf.len >= EMIT_FLUSH)
			graph_flush(t, 0);
	}
}

static int text_init(struct text *t, struct uft_stream *st, FILE *out, int colour)
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
	if (emit_buf_init(&t->buf, out) < 0)
		return -ENOMEM;
	put_header(t, info);
	return 0;
}

/**
 * uft_output_text - print a stream as the kernel prints its trace file
 * @st:     the stream, at its start
 * @out:    where to; not closed
 * @colour: 1: durations dim, their marks coloured; nothing else changes
 *
 * Returns 0 or the first negative errno of @out or of allocation. Context: control.
 */
int uft_output_text(struct uft_stream *st, FILE *out, int colour)
{
	struct text *t = malloc(sizeof(*t));
	int ret;

	if (!t)
		return -ENOMEM;
	ret = text_init(t, st, out, colour);
	if (!ret) {
		print_events(t);
		graph_flush(t, 1);
		if (!t->buf.error && fflush(out))
			t->buf.error = errno ? -errno : -EIO;
		ret = t->buf.error;
	}
	emit_buf_free(&t->buf);
	emit_names_free(&t->names);
	free(t->cpu);
	free(t->open);
	free(t);
	return ret;
}
