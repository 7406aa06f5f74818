/* SPDX-License-Identifier: MIT */
/*
 * lines.c - kmemtrace, blk, initcall: a line or two for each call
 *
 *   kmemtrace	the text of the kernel's tracer of that name (2.6.29 to 2.6.35): `+` an allocation, `-` a
 *		release; K heap, P mappings. Unknown values are a `-`: the bytes given, flags and node.
 *		CALLER is the function that the call returns to, traced or not; in a recording without that
 *		address, the nearest traced caller.
 *   blk	a request is queued (Q) when the call begins and complete (C) when it returns, as in the text of
 *		the kernel's blk tracer; a descriptor stands for the device, and the offset only where the call
 *		names one. Behind a C's error (0 none, else -1) is the time since its Q.
 *
 *   initcall	the functions that are called when an object is loaded: the text of the kernel's tracer of that
 *		name (2.6.28 to 2.6.36) and of initcall_debug. They return no value, so the result is `?`.
 *
 * A function that works by another one of the list (realloc by malloc, malloc by mmap) gives one line, that of the
 * outermost.
 */
#include "output/lines.h"
#include "output/text_rows.h"

const char lines_heap_columns[] =
	"#\n"
	"# ALLOC  TYPE  REQ   GIVEN  FLAGS           POINTER         NODE    CALLER\n"
	"# FREE   |      |     |       |              |   |            |        |\n"
	"# |\n\n";

static int is_inner(struct uft_printer *t, const struct uft_event *ev)
{
	const struct call_task *task = calls_task(&t->events->calls, ev->task);

	for (uint32_t i = 0; task && i < ev->depth && i < task->n; i++)
		if (task->call[i].role != UFT_ROLE_NONE)
			return 1;
	return 0;
}

/* ---- kmemtrace ---------------------------------------------------------------------------- */

/* @bytes: the size of an allocation; a release has none. */
static void heap_line(struct uft_printer *t, const struct call *call, char sign, uint64_t at, uint64_t bytes)
{
	const struct uft_sym *from = call->from ? call->from : call->parent;
	const struct emit_text *caller = from ? emit_func(&t->names, from) : NULL;
	char type = call->role == UFT_ROLE_MMAP || call->role == UFT_ROLE_MUNMAP ? 'P' : 'K';
	char *p = emit_buf_room(&t->buf, 160 + (caller ? caller->len : 0));

	if (!p)
		return;
	if (sign == '+')
		p += sprintf(p, "  +      %c   %4llu      -          -   0x%llx      -   ", type,
			     (unsigned long long)bytes, (unsigned long long)at);
	else
		p += sprintf(p, "  -      %c                           0x%llx          ", type, (unsigned long long)at);
	p += sprintf(p, "%s\n", caller ? caller->text : "-");
	emit_buf_end(&t->buf, p);
	t->printed++;
}

static void heap_lines(struct uft_printer *t, const struct call *call)
{
	uint64_t at = call->result, bytes = call->arg[0];

	switch (call->role) {
	case UFT_ROLE_CALLOC:
		bytes = call->arg[0] * call->arg[1];
		break;
	case UFT_ROLE_REALLOC:
		bytes = call->arg[1];
		if (call->arg[0] && (at || !bytes))
			heap_line(t, call, '-', call->arg[0], 0);
		break;
	case UFT_ROLE_MEMALIGN:
	case UFT_ROLE_MMAP:
		bytes = call->arg[1];
		at = at == ~0ull ? 0 : at;
		break;
	case UFT_ROLE_FREE:
	case UFT_ROLE_MUNMAP:
		if (call->arg[0] && (call->role == UFT_ROLE_FREE || !(uint32_t)at))
			heap_line(t, call, '-', call->arg[0], 0);
		return;
	}
	if (at)
		heap_line(t, call, '+', at, bytes);
}

void lines_heap(struct uft_printer *t, const struct uft_event *ev, const struct call *call)
{
	struct uft_event stack = { .kind = UFT_EV_DATA, .data = UFT_EVENT_STACK, .ts_ns = ev->ts_ns, .task = ev->task,
		.cpu = ev->cpu,
				   .stack = call->stack };
	uint64_t before = t->printed;

	if (ev->kind != UFT_EV_EXIT || !call->has_args || !call->has_result)
		return;
	heap_lines(t, call);
	if (call->stack && t->printed != before)
		stack_text(t, &stack);
}

/* ---- blk ---------------------------------------------------------------------------------- */

static char *put_request(char *p, const struct call *call, char action, int64_t bytes)
{
	int is_read = call->role == UFT_ROLE_READ || call->role == UFT_ROLE_PREAD || call->role == UFT_ROLE_READV;
	int is_at = call->role == UFT_ROLE_PREAD || call->role == UFT_ROLE_PWRITE;

	p += sprintf(p, " fd,%-3d %2c %3c ", (int)call->arg[0], action, call->role == UFT_ROLE_SYNC ? 'F' : is_read ?
		     'R' : 'W');
	if (is_at)
		p += sprintf(p, "%llu ", (unsigned long long)call->arg[3]);
	if (bytes >= 0 && call->role != UFT_ROLE_SYNC)
		p += sprintf(p, "+ %lld ", (long long)bytes);
	return p;
}

void lines_io(struct uft_printer *t, const struct uft_event *ev, const struct call *call)
{
	int is_queued = ev->kind == UFT_EV_DATA && ev->data == UFT_EVENT_CALL,
	    is_done = ev->kind == UFT_EV_EXIT && call->has_result;
	int is_vector = call->role == UFT_ROLE_READV || call->role == UFT_ROLE_WRITEV;
	int64_t result = call->role == UFT_ROLE_SYNC ? (int32_t)call->result : (int64_t)call->result;
	uint64_t ns = ev->ts_ns - call->start_ns;
	char *p, name[17];

	if (!call->has_args || (!is_queued && !is_done))
		return;
	p = emit_buf_room(&t->buf, TEXT_CONTEXT_ROOM + 160);
	p = p ? text_context(t, p, ev) : NULL;
	if (!p)
		return;
	if (is_queued) {
		p = put_request(p, call, 'Q', is_vector ? -1 : (int64_t)call->arg[2]);
		p += sprintf(p, "[%s]\n", form_name(ev->task, name));
	} else {
		p = put_request(p, call, 'C', result < 0 ? 0 : result);
		p += sprintf(p, "[%d] %llu.%03llu us\n", result < 0 ? -1 : 0, (unsigned long long)(ns / 1000),
			     (unsigned long long)(ns % 1000));
	}
	emit_buf_end(&t->buf, p);
	t->printed++;
}

/* ---- initcall ------------------------------------------------------------------------------ */

void lines_initcall(struct uft_printer *t, const struct uft_event *ev, const struct call *call)
{
	const struct emit_text *func = emit_func(&t->names, ev->sym);
	const char *how = ev->kind == UFT_EV_LEFT ? "was left" : "returned ?";
	char *p = func ? emit_buf_room(&t->buf, 160 + func->len) : NULL;

	(void)call;
	if (!p || (ev->kind != UFT_EV_ENTRY && ev->kind != UFT_EV_EXIT && ev->kind != UFT_EV_LEFT))
		return;
	if (t->flags & UFT_TEXT_CONTEXT)
		p += sprintf(p, "[%5llu.%09llu] ", (unsigned long long)(ev->ts_ns / 1000000000),
			     (unsigned long long)(ev->ts_ns % 1000000000));
	p += sprintf(p, "%s%s+0x0/0x%llx ", ev->kind == UFT_EV_ENTRY ? "calling  " : "initcall ", func->text,
		     (unsigned long long)(ev->sym ? ev->sym->size : 0));
	if (ev->kind == UFT_EV_ENTRY)
		p += sprintf(p, "@ %u\n", ev->task->tid);
	else
		p += sprintf(p, "%s after %llu usecs\n", how, (unsigned long long)(ev->duration_ns / 1000));
	emit_buf_end(&t->buf, p);
	t->printed++;
}

void lines_stack(struct uft_printer *t, const struct uft_event *ev)
{
	if (!t->row->has_late_lines && !is_inner(t, ev))
		stack_text(t, ev);
}

void lines_event(struct uft_printer *t, const struct uft_event *ev, const struct call *call)
{
	const struct text_row *row = t->row;

	if (row->is_every_call || (call->role != UFT_ROLE_NONE && !is_inner(t, ev)))
		row->call(t, ev, call);
}
