/* SPDX-License-Identifier: MIT */
/*
 * graph.c - the call tree as the kernel's function_graph tracer prints it
 *
 * An entry directly followed, on its CPU, by its own exit of the same task is a leaf and takes one line,
 * `name();`. So an entry's line cannot be written before the CPU's next event is known, while other CPUs
 * go on printing below it. The kernel looks ahead in that CPU's buffer; a stream cannot. Here the
 * undecided entry remembers its place in the output buffer (`open_at`) and its line is inserted there
 * later: usually at the very end, since the CPU's next event is next; else the text behind it moves up by one line.
 *
 *	entry: place remembered --- next event of the CPU is its exit ---> `name();` with duration
 *	            |
 *	            +-- anything else, end, or GRAPH_HOLD bytes wait ---> `name() {`
 *
 * Invariants
 *   1. text->open lists the CPUs with an undecided entry by rising place; ties are in order of time
 *   2. nothing at or behind the first open place is written out
 *   3. the text held back is at most GRAPH_HOLD plus one line per CPU
 *
 * Where it differs from the kernel
 *   - a call that ran longer than GRAPH_HOLD bytes of other CPUs' lines takes two lines although it is a leaf
 *   - an orphan exit has no duration (the kernel's exit record carries the entry's time, ours does not): the
 *     column is blank
 *   - a call left by longjmp, an exception or a stack switch ends in `}` and a comment `left: name`, with the time it
 *     had run; the kernel has no such line. The brace keeps the tree balanced for editors and scripts
 *   - calls deeper than GRAPH_INDENT_MAX are not indented further (the kernel stops recording at 50)
 */
#include "output/kernel_flags.h"
#include "output/text.h"

#define GRAPH_HOLD		(32u << 20)
#define GRAPH_INDENT_MAX	256u

/* The flags' names, above the column that they have in each line. */
static void latency_columns(struct uft_printer *t)
{
	static const char *const row[] = {
		"  _-----=> irqs-off        \n", " / _----=> need-resched    \n", "| / _---=> hardirq/softirq \n",
		"|| / _--=> preempt-depth   \n", "||| /                      \n",
	};
	int width = (t->flags & (UFT_TEXT_ABSTIME | TEXT_REL_TIME) ? 16 : 0) + (t->flags & UFT_TEXT_CPU ? 4 : 0) +
		    (t->flags & UFT_TEXT_PROC ? 17 : 0);

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		char line[96];

		snprintf(line, sizeof(line), "#%*s%s", width, "", row[i]);
		emit_buf_puts(&t->buf, line);
	}
}

void graph_header(struct uft_printer *t)
{
	static const struct { uint32_t flag; const char *first, *second; } part[] = {
		{ UFT_TEXT_ABSTIME, "     TIME       ", "      |         " },
		{ TEXT_REL_TIME, "   REL TIME     ", "      |         " },
		{ UFT_TEXT_CPU, " CPU", " |  " },
		{ UFT_TEXT_PROC, "  TASK/PID       ", "   |    |        " },
		{ UFT_TEXT_LATENCY, "||||   ", "||||   " },
		{ UFT_TEXT_DURATION, "  DURATION   ", "   |   |      " },
	};
	const size_t n = sizeof(part) / sizeof(part[0]);

	if (t->flags & UFT_TEXT_LATENCY)
		latency_columns(t);
	emit_buf_puts(&t->buf, "#");
	for (size_t i = 0; i < n; i++)
		emit_buf_puts(&t->buf, t->flags & part[i].flag ? part[i].first : "");
	emit_buf_puts(&t->buf, "               FUNCTION CALLS\n#");
	for (size_t i = 0; i < n; i++)
		emit_buf_puts(&t->buf, t->flags & part[i].flag ? part[i].second : "");
	emit_buf_puts(&t->buf, "               |   |   |   |\n");
}

/* The longest line without its name: column, duration, indentation, colours. */
#define LINE_ROOM	(224u + 2 * GRAPH_INDENT_MAX)

/* ---- Columns ---- */

static const struct mark {
	uint64_t above_ns;
	char sign;
	char colour[8];
} marks[] = {
	{ 1000000000, '$', "\033[1;31m" },
	{ 100000000, '@', "\033[31m" },
	{ 10000000, '*', "\033[35m" },
	{ 1000000, '#', "\033[33m" },
	{ 100000, '!', "\033[36m" },
	{ 10000, '+', "\033[32m" },
	{ 0, ' ', "" },
};

static const struct mark *mark_of(uint64_t ns)
{
	const struct mark *m = marks;

	if (ns <= 10000)
		return &marks[sizeof(marks) / sizeof(marks[0]) - 1];
	while (ns <= m->above_ns)
		m++;
	return m;
}

static char *put_colour(char *p, const char *code)
{
	size_t n = strlen(code);

	memcpy(p, code, n);
	return p + n;
}

/* Microseconds, with as many of three decimals as fit in seven digits; padded to eight columns. */
static char *put_microseconds(char *p, uint64_t ns)
{
	uint64_t us = ns / 1000;
	unsigned n = digits_count(us), decimals = n < 5 ? 3 : n < 7 ? 7 - n : 0, width = n;
	char rest[3];

	p = digits_fixed(p, us, n);
	if (decimals) {
		*p++ = '.';
		digits_fixed(rest, ns - us * 1000, 3);
		memcpy(p, rest, 3);
		p += decimals;
		width += decimals + 1;
	}
	memcpy(p, " us ", 4);
	p += 4;
	return width < 8 ? digits_spaces(p, 8 - width) : p;
}

/* 1: durations have a column. Without a context the kernel has no columns at all. */
static int has_duration(const struct uft_printer *t)
{
	return t->flags & UFT_TEXT_DURATION && t->flags & UFT_TEXT_CONTEXT;
}

static char *put_duration(const struct uft_printer *t, char *p, uint64_t ns)
{
	const struct mark *m =
		t->flags & UFT_TEXT_OVERHEAD ? mark_of(ns) : &marks[sizeof(marks) / sizeof(marks[0]) - 1];

	if (!has_duration(t))
		return p;
	if (t->colour)
		p = put_colour(p, m->colour);
	*p++ = m->sign;
	*p++ = ' ';
	if (t->colour)
		p = put_colour(p, m->sign == ' ' ? "\033[2m" : "\033[0m\033[2m");
	p = put_microseconds(p, ns);
	if (t->colour)
		p = put_colour(p, "\033[0m");
	memcpy(p, "|  ", 3);
	return p + 3;
}

static char *put_no_duration(const struct uft_printer *t, char *p)
{
	if (!has_duration(t))
		return p;
	memcpy(p, "              |  ", 17);
	return p + 17;
}

static char *put_cpu(char *p, const struct text_cpu *c)
{
	memcpy(p, c->column, sizeof(c->column));
	return p + c->column_len;
}

/* The flags of a latency tracer's line, or of a kernel's event; NULL: not known. */
static const char *flags_of(const struct uft_printer *t, const struct uft_event *ev, char text[KERNEL_FLAGS_TEXT])
{
	return t->task_flags ? t->task_flags : kernel_flags_put(ev, text) ? text : NULL;
}

/* Writes the columns in front of the duration. @flags: of the latency format; NULL: not known. */
static char *put_column(struct uft_printer *t, char *p, const struct text_cpu *c, const struct uft_task *task,
			uint64_t ts_ns, const struct call *call, const char *flags)
{
	if (!(t->flags & UFT_TEXT_CONTEXT))
		return p;
	/* text_seconds() without the leading blank and the colon, as in the kernel, with any clock */
	if (t->flags & UFT_TEXT_ABSTIME) {
		char time[48], *end = text_seconds(t, time, ts_ns);

		memcpy(p, time + 1, (size_t)(end - time) - 3);
		p += end - time - 3;
		memcpy(p, " |  ", 4);
		p += 4;
	}
	if (t->flags & TEXT_REL_TIME)
		p += sprintf(p, "%9llu us |  ",
			     (unsigned long long)(ts_ns > t->start_ns ? (ts_ns - t->start_ns) / 1000 : 0));
	if (t->flags & UFT_TEXT_CPU)
		p = put_cpu(p, c);
	if (t->flags & UFT_TEXT_PROC) {
		const struct emit_task *who = emit_task(&t->names, task);

		if (who) {
			memcpy(p, who->proc, who->proc_len);
			p += who->proc_len;
		}
		memcpy(p, " | ", 3);
		p += 3;
	}
	if (t->flags & UFT_TEXT_LATENCY) {
		memcpy(p, call && call->in_handler ? " ..h.. | " : " ..... | ", 9);
		if (flags)
			memcpy(p + 1, flags, KERNEL_FLAGS_TEXT);
		p += 9;
	}
	return p;
}

static char *put_indent(char *p, uint32_t depth)
{
	return digits_spaces(p, 2 * (depth < GRAPH_INDENT_MAX ? depth : GRAPH_INDENT_MAX));
}

static char *put_text(char *p, const char *text, size_t n)
{
	memcpy(p, text, n);
	return p + n;
}

/* ---- Lines ---- */

/* The kernel is about to call a signal handler, or the handler has returned to it. */
static char *put_mark(struct uft_printer *t, char *p, const struct text_cpu *c, const struct uft_task *task,
		      uint64_t ts_ns, const struct call *call, const char *arrow)
{
	int has_column = has_duration(t);

	p = put_column(t, p, c, task, ts_ns, call, NULL);
	return p + sprintf(p, "%s%s%s\n", has_column ? "  " : "", arrow, has_column ? " |" : "");
}

/* The call of the open entry, for arguments and results; NULL: there is none. */
static struct call *call_of_open(struct uft_printer *t, const struct text_cpu *c, const struct uft_event *leaf)
{
	struct call_task *task = t->has_data ? calls_task(&t->events->calls, c->open_task) : NULL;
	struct call *call = task && leaf ? &t->events->calls.ended : task && c->open_depth < task->cap ?
		&task->call[c->open_depth] : NULL;

	return call && call->sym == c->open_sym && call->start_ns == c->open_ns ? call : NULL;
}

static char *put_overruns(struct uft_printer *t, char *p, const struct uft_task *task)
{
	struct call_task *of = t->has_data ? calls_task(&t->events->calls, task) : NULL;

	return p + sprintf(p, " (Overruns: %llu)\n", (unsigned long long)(of ? of->overruns : 0));
}

static const char rule[] = " ------------------------------------------\n";

static void put_task_switch(struct uft_printer *t, struct text_cpu *c, const struct uft_task *to)
{
	const struct emit_task *task = emit_task(&t->names, c->last);
	char *p = emit_buf_room(&t->buf, 256);

	if (!p || !task) {
		t->buf.error = t->buf.error ? t->buf.error : -ENOMEM;
		return;
	}
	p = put_text(p, rule, sizeof(rule) - 1);
	p = put_cpu(p, c);
	p = put_text(p, task->proc, task->proc_len);
	p = put_text(p, " => ", 4);
	task = emit_task(&t->names, to);
	if (!task) {
		t->buf.error = -ENOMEM;
		return;
	}
	p = put_text(p, task->proc, task->proc_len);
	*p++ = '\n';
	p = put_text(p, rule, sizeof(rule) - 1);
	*p++ = '\n';
	emit_buf_end(&t->buf, p);
}

static void check_task(struct uft_printer *t, struct text_cpu *c, const struct uft_event *ev)
{
	uint32_t tid = ev->task->tid;

	if (c->has_task && c->last_tid == tid)
		return;
	if (c->has_task)	/* also without a context, because nothing else names the task, as in the kernel */
		put_task_switch(t, c, ev->task);
	c->has_task = 1;
	c->last_tid = tid;
	c->last = ev->task;
}

static void put_return(struct uft_printer *t, struct text_cpu *c, const struct uft_event *ev, const struct call *call)
{
	const struct emit_text *name = emit_func(&t->names, ev->sym);
	char *p = name ? emit_buf_room(&t->buf, 2 * LINE_ROOM + GRAPH_DATA_ROOM + name->len) : NULL;
	uint32_t id = ev->sym ? ev->sym->index + 1 : 0;
	int is_matched = 1, is_left = ev->kind == UFT_EV_LEFT;
	char flags[KERNEL_FLAGS_TEXT];

	if (!p) {
		t->buf.error = t->buf.error ? t->buf.error : -ENOMEM;
		return;
	}
	if (ev->depth < GRAPH_KERNEL_DEPTH) {
		is_matched = c->enter[ev->depth] == id;
		c->enter[ev->depth] = 0;
	}
	p = put_column(t, p, c, ev->task, ev->ts_ns, call, flags_of(t, ev, flags));
	p = ev->flags & UFT_EVF_ORPHAN ? put_no_duration(t, p) : put_duration(t, p, ev->duration_ns);
	p = put_indent(p, ev->depth);
	*p++ = '}';
	if (is_left || !is_matched || t->flags & UFT_TEXT_TAIL || (ev->flags & (UFT_EVF_ORPHAN | UFT_EVF_CALL)) ||
	    graph_has_result(t, call)) {
		p = is_left ? put_text(p, " /* left: ", 10) : put_text(p, " /* ", 4);
		p = put_text(p, name->text, name->len);
		p = put_text(graph_put_result(t, p, call), " */", 3);
	}
	*p++ = '\n';
	if (t->flags & UFT_TEXT_OVERRUN)
		p = put_overruns(t, p, ev->task);
	if (call && call->is_marked)
		p = put_mark(t, p, c, ev->task, ev->ts_ns, call, "<==========");
	emit_buf_end(&t->buf, p);
}

/* ---- Undecided entries ---- */

static void open_entry(struct uft_printer *t, struct text_cpu *c, const struct uft_event *ev)
{
	char text[KERNEL_FLAGS_TEXT];
	const char *flags;

	c->is_open = 1;
	c->open_at = t->buf.len;
	c->open_sym = ev->sym;
	c->open_depth = ev->depth;
	c->open_task = ev->task;
	c->open_ns = ev->ts_ns;
	memset(c->open_flags, 0, sizeof(c->open_flags));
	flags = flags_of(t, ev, text);
	if (flags)
		memcpy(c->open_flags, flags, KERNEL_FLAGS_TEXT);
	t->open[t->nopen++] = (uint32_t)(c - t->cpu);
}

/* Takes @c off the list; the places behind it move by the @len bytes that are inserted at its own. */
static void forget_open(struct uft_printer *t, struct text_cpu *c, size_t len)
{
	uint32_t cpu = (uint32_t)(c - t->cpu);
	size_t i = 0;

	while (t->open[i] != cpu)
		i++;
	t->nopen--;
	for (; i < t->nopen; i++) {
		t->open[i] = t->open[i + 1];
		t->cpu[t->open[i]].open_at += len;
	}
	c->is_open = 0;
}

/* Makes a line at the end of the buffer and moves it to the entry's place. */
static void decide_entry(struct uft_printer *t, struct text_cpu *c, const struct uft_event *leaf)
{
	struct call *call = call_of_open(t, c, leaf);
	const struct emit_text *name, *from = graph_caller(t, call);
	struct emit_text caller = from ? *from : (struct emit_text){ 0 };	/* the name may move the table */
	size_t room, behind = t->buf.len - c->open_at, len;
	char *start, *p, *at;

	name = emit_func(&t->names, c->open_sym);
	room = name ? LINE_ROOM + name->len : 0;
	room += call ? 2 * LINE_ROOM + GRAPH_DATA_ROOM + caller.len : 0;
	start = p = name && from ? emit_buf_room(&t->buf, 2 * room) : NULL;
	if (!p) {
		t->buf.error = t->buf.error ? t->buf.error : -ENOMEM;
		return;
	}
	if (call && call->is_handler) {
		p = put_mark(t, p, c, c->open_task, c->open_ns, call, "==========>");
		call->is_marked = !leaf;
	}
	p = put_column(t, p, c, c->open_task, c->open_ns, call, c->open_flags[0] ? c->open_flags : NULL);
	p = leaf ? put_duration(t, p, leaf->duration_ns) : put_no_duration(t, p);
	p = put_indent(p, c->open_depth);
	p = graph_put_call(t, p, name, call);
	p = leaf ? put_text(p, ";", 1) : put_text(p, " {", 2);
	p = graph_put_note(t, p, call, &caller, leaf != NULL);
	*p++ = '\n';
	if (leaf && call && call->is_handler)
		p = put_mark(t, p, c, c->open_task, leaf->ts_ns, call, "<==========");
	len = (size_t)(p - start);
	if (behind) {
		at = t->buf.text + c->open_at;
		memcpy(start + room, start, len);
		memmove(at + len, at, behind);
		memcpy(at, start + room, len);
	}
	t->buf.len += len;
	forget_open(t, c, len);
	if (c->open_depth < GRAPH_KERNEL_DEPTH)
		c->enter[c->open_depth] = leaf || !c->open_sym ? 0 : c->open_sym->index + 1;
}

void graph_close_entry(struct uft_printer *t, struct text_cpu *c)
{
	decide_entry(t, c, NULL);
}

static int is_exit_of_open(const struct text_cpu *c, const struct uft_event *ev)
{
	return ev->kind == UFT_EV_EXIT && !(ev->flags & (UFT_EVF_ORPHAN | UFT_EVF_CALL)) &&
	       ev->sym == c->open_sym && ev->task->tid == c->last_tid;
}

void graph_comment(struct uft_printer *t, const struct uft_event *ev, const char *text, size_t n)
{
	struct text_cpu *c = text_cpu_get(t, ev->cpu);
	char *p, flags[KERNEL_FLAGS_TEXT];

	if (!c)
		return;
	check_task(t, c, ev);
	p = emit_buf_room(&t->buf, LINE_ROOM + n);
	if (!p)
		return;
	p = put_column(t, p, c, ev->task, ev->ts_ns, NULL, flags_of(t, ev, flags));
	p = put_no_duration(t, p);
	p = put_text(put_indent(p, c->depth > 0 ? (uint32_t)c->depth + 1 : 0), "/* ", 3);	/* as the kernel does */
	p = put_text(put_text(p, text, n), " */\n", 4);
	emit_buf_end(&t->buf, p);
}

/* The undecided entry of the call of @ev, on any CPU; NULL: there is none. */
static struct text_cpu *open_of(struct uft_printer *t, const struct uft_event *ev)
{
	for (size_t i = 0; i < t->nopen; i++) {
		struct text_cpu *c = &t->cpu[t->open[i]];

		if (c->open_task == ev->task && c->open_depth == ev->depth)
			return c;
	}
	return NULL;
}

void graph_data(struct uft_printer *t, const struct uft_event *ev)
{
	const struct text_cpu *c = open_of(t, ev);

	/* the first one: calls are followed from here on, this one included */
	if (!t->has_data && c)
		calls_feed(&t->events->calls, &(struct uft_event){
			.kind = UFT_EV_ENTRY, .ts_ns = c->open_ns, .task = ev->task, .sym = ev->sym,
			.depth = ev->depth });
	t->has_data = 1;
	calls_feed(&t->events->calls, ev);
}

void graph_event(struct uft_printer *t, const struct uft_event *ev)
{
	struct text_cpu *c = text_cpu_get(t, ev->cpu),
			*open = t->has_data && ev->kind != UFT_EV_ENTRY ? open_of(t, ev) : NULL;
	const struct call *call;

	if (open && open != c)	/* it ends on another CPU: its arguments are kept up to here only */
		decide_entry(t, open, NULL);
	call = t->has_data ? calls_feed(&t->events->calls, ev) : NULL;
	if (!c)
		return;
	if (c->is_open) {
		if (is_exit_of_open(c, ev)) {
			decide_entry(t, c, ev);
			c->depth = (int)ev->depth - 1;
			return;
		}
		decide_entry(t, c, NULL);
		if (t->buf.error)
			return;
	}
	check_task(t, c, ev);
	if (t->buf.error)
		return;
	c->depth = (int)ev->depth - (ev->kind != UFT_EV_ENTRY);
	if (ev->kind == UFT_EV_ENTRY)
		open_entry(t, c, ev);
	else
		put_return(t, c, ev, call);
}

void graph_flush(struct uft_printer *t, int end)
{
	size_t ready, held;

	while (t->nopen && !t->buf.error) {
		held = t->buf.len - t->cpu[t->open[0]].open_at;
		if (!end && held < GRAPH_HOLD)
			break;
		decide_entry(t, &t->cpu[t->open[0]], NULL);
	}
	ready = t->nopen && !t->buf.error ? t->cpu[t->open[0]].open_at : t->buf.len;
	/* The rest is moved to the front, so flush only when enough is ready to pay for the move. */
	if (!end && !t->buf.error && ready < EMIT_FLUSH / 2 + (t->buf.len - ready) / 4)
		return;
	emit_buf_flush(&t->buf, ready);
	for (size_t i = 0; i < t->nopen; i++)
		t->cpu[t->open[i]].open_at -= ready;
}
