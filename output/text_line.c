/* SPDX-License-Identifier: MIT */
/*
 * text_line.c - parts of a line that all tracers have: task, CPU and time, and a call of a function
 *
 * A line is a few memcpy of text prepared per task, CPU, second and function; theory in text.c.
 */

#include "output/kernel_flags.h"
#include "output/output.h"
#include "output/text_rows.h"
#include "symbol/array.h"

const char *text_tracer(uint32_t tracer)
{
	return uft_tracer(tracer)->place ? uft_tracer_name(tracer) : "nop";
}

static void init_cpu(struct uft_printer *t, struct text_cpu *c, uint32_t cpu)
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

struct text_cpu *text_cpu_grow(struct uft_printer *t, uint32_t cpu)
{
	size_t n = (size_t)cpu + 1;

	if (cpu >= TEXT_MAX_CPUS) {
		t->buf.error = t->buf.error ? t->buf.error : -EBADMSG;
		return NULL;
	}
	if (array_resize(t->cpu, n) || array_resize(t->open, n)) {
		t->buf.error = t->buf.error ? t->buf.error : -ENOMEM;
		return NULL;
	}
	memset(t->cpu + t->ncpus, 0, (n - t->ncpus) * sizeof(*t->cpu));
	for (size_t i = t->ncpus; i < n; i++)
		init_cpu(t, &t->cpu[i], (uint32_t)i);
	t->ncpus = n;
	return &t->cpu[cpu];
}

/* ` %5lu.%06lu: `, rounded to the microsecond as the kernel does. */
char *text_seconds(struct uft_printer *t, char *p, uint64_t ts_ns)
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

/* Writes a time; for a clock that does not count time ` %12llu: `. */
char *text_time(struct uft_printer *t, char *p, uint64_t ts_ns)
{
	if (!t->is_plain)
		return text_seconds(t, p, ts_ns);
	*p++ = ' ';
	p = digits_right(p, ts_ns, 12);
	*p++ = ':';
	*p++ = ' ';
	return p;
}

static char *put_name(char *p, const struct emit_text *name)
{
	memcpy(p, name->text, name->len);
	return p + name->len;
}

void text_put_start(struct uft_printer *t, struct text_cpu *c, uint32_t cpu)
{
	char line[64];

	c->has_started = 1;
	if (!t->printed)
		return;
	snprintf(line, sizeof(line), "##### CPU %u buffer started ####\n", cpu);
	emit_buf_puts(&t->buf, line);
}

/* The task, the CPU and the time. */
char *text_put_context(struct uft_printer *t, char *p, const struct text_cpu *c, const struct emit_task *task,
			 const struct uft_event *ev)
{
	if (!(t->flags & UFT_TEXT_CONTEXT))
		return p;
	if (t->flags & UFT_TEXT_LATENCY)
		return form_latency_context(t, p, ev);
	memcpy(p, task->context, sizeof(task->context));
	p += task->context_len;
	if (t->flags & UFT_TEXT_TGID) {
		*p++ = '(';
		p = digits_right(p, ev->task->pid, 7);
		memcpy(p, ") ", 2);
		p += 2;
	}
	memcpy(p, c->context, sizeof(c->context));
	p += c->context_len - (t->flags & UFT_TEXT_IRQ_INFO ? 0 : 5);
	if (t->flags & UFT_TEXT_IRQ_INFO)
		kernel_flags_put(ev, p - KERNEL_FLAGS_TEXT);
	return text_time(t, p, ev->ts_ns);
}

char *text_context(struct uft_printer *t, char *p, const struct uft_event *ev)
{
	struct text_cpu *c = text_cpu_get(t, ev->cpu);
	const struct emit_task *task = emit_task(&t->names, ev->task);

	if (!c || !task) {
		t->buf.error = t->buf.error ? t->buf.error : -ENOMEM;
		return NULL;
	}
	return text_put_context(t, p, c, task, ev);
}

/* Writes a call as the option fields shows it: the names are those of events/ftrace/function/format. */
static char *put_fields(char *p, const struct uft_event *ev, const struct emit_text *name,
			const struct emit_text *caller)
{
	memcpy(p, "function:", 9);
	p = form_field(p + 9, "ip", name, NULL, ev->sym, 0);
	return ev->parent ? form_field(p, "parent_ip", caller, ev->task->image, ev->parent, ev->parent_addr) : p;
}

void text_function(struct uft_printer *t, const struct uft_event *ev)
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
		text_put_start(t, c, ev->cpu);
	p = emit_buf_room(&t->buf, 160 + (size_t)name.len + caller.len + 2 * FORM_ADDR_ROOM);
	if (!p)
		return;
	p = text_put_context(t, p, c, task, ev);
	if (t->flags & UFT_TEXT_FIELDS && ev->sym) {
		p = put_fields(p, ev, &name, &caller);
		*p++ = '\n';
		emit_buf_end(&t->buf, p);
		return;
	}
	p = put_name(p, &name);
	p = form_addr(t, p, NULL, ev->sym,
		      ev->sym && t->flags & UFT_TEXT_SYM_ADDR ? uft_image_sym_addr(ev->task->image, ev->sym) : 0);
	if (ev->parent && t->flags & UFT_TEXT_PARENT) {
		memcpy(p, " <-", 3);
		p = put_name(p + 3, &caller);
		p = form_addr(t, p, ev->task->image, ev->parent, ev->parent_addr);
	}
	*p++ = '\n';
	emit_buf_end(&t->buf, p);
}
