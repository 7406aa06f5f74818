/* SPDX-License-Identifier: MIT */
/*
 * report_details.c - details of one call or event, and the source line of a function
 *
 * A question names a call by its thread, its depth, and its begin, which is the begin of the range. The recording may
 * lack the entry (uft record --thresh), so the call is identified by its end: the first exit at that depth. The range
 * ends at the known end of the call; a call that does not end in the range is open.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output/export/event.h"
#include "symbol/names.h"
#include "symbol/source.h"
#include "view/event_name.h"
#include "view/recording_internal.h"

#define TEXTS_MAX 32u /* lines that belong to a call */

struct details {
	const struct report *p;
	struct uft_event begin, end; /* of the call, or of the event */
	int has_begin, has_end;
	uint64_t direct, below; /* calls that it makes; and all below it */
	struct json texts;	/* what belongs to the call, as in the list */
	uint32_t ntexts;
	struct json stack; /* from the inside out, of an event or a call with one */
	struct json fields;
};

static int is_call_wanted(const struct details *d)
{
	return d->p->q.depth != DETAILS_OF_EVENT;
}

static void put_stack(struct json *j, const struct uft_event *ev)
{
	json_raw(j, "[");
	for (uint32_t i = 0; i < ev->stack->n; i++) {
		const struct uft_sym *sym = ev->stack->frame[i].sym;

		json_comma(j);
		json_str(j, sym && sym->name ? sym->name : "?");
	}
	json_raw(j, "]");
}

static void take_data(struct details *d, const struct uft_event *ev)
{
	char buf[VIEW_NAME_ROOM];

	if (ev->data == UFT_EVENT_STACK) {
		if (!d->stack.n && ev->stack)
			put_stack(&d->stack, ev);
		return;
	}
	if (d->ntexts++ >= TEXTS_MAX)
		return;
	json_comma(&d->texts);
	json_str(&d->texts, view_event_name(ev, buf));
}

/* Takes an event of the call. 1: the details are complete. */
static int take_of_call(struct details *d, const struct uft_event *ev, uint64_t t)
{
	uint32_t depth = d->p->q.depth;

	switch (ev->kind) {
	case UFT_EV_ENTRY:
		if (ev->depth == depth && !d->has_begin && t == d->p->q.range.from) {
			d->begin = *ev;
			d->has_begin = 1;
			return d->p->q.kind == REPORT_SOURCE;
		}
		if (!d->has_begin || ev->depth <= depth)
			return 0;
		d->below++;
		d->direct += ev->depth == depth + 1;
		return 0;
	case UFT_EV_EXIT:
	case UFT_EV_LEFT:
		if (ev->depth > depth && ev->flags & UFT_EVF_CALL) {
			d->below++;
			d->direct += ev->depth == depth + 1;
		}
		if (ev->depth != depth || (d->has_begin ? ev->sym != d->begin.sym : t < ev->duration_ns ||
					   t - ev->duration_ns != d->p->q.range.from))
			return 0;
		d->end = *ev;
		return d->has_end = 1;
	case UFT_EV_DATA:
		if (!UFT_EVENT_IS_OWN(ev->data) && ev->depth == depth && (!d->has_begin || ev->sym == d->begin.sym))
			take_data(d, ev);
		return 0;
	default:
		return 0;
	}
}

static void put_fields(struct json *j, const struct export_event *e)
{
	json_raw(j, "{");
	for (uint32_t i = 0; i < e->nfields; i++) {
		const struct export_field *f = &e->field[i];
		int64_t v = (int64_t)f->number;
		uint64_t size = f->is_signed && v < 0 ? -(uint64_t)v : f->number;

		if (f->text) {
			json_key_str(j, f->name, f->text);
			continue;
		}
		json_key(j, f->name);	/* as text: a script's numbers are exact up to 2^53 */
		json_raw(j, "\"");
		json_numbers(j, &size, 1, f->is_signed && v < 0);
		json_raw(j, "\"");
	}
	json_raw(j, "}");
}

/* Takes an event. 1: the details are complete. A stack comes behind its event. */
static int take_of_event(struct details *d, const struct uft_event *ev, uint64_t t)
{
	static __thread struct export_event e;
	char buf[VIEW_NAME_ROOM];

	if (t != d->p->q.range.from)
		return t > d->p->q.range.from;
	if (d->has_begin) {
		if (ev->kind != UFT_EV_DATA || ev->data != UFT_EVENT_STACK)
			return 1;
		take_data(d, ev);
		return 1;
	}
	if ((ev->kind != UFT_EV_FUNC && !export_is_event(ev)) || strcmp(view_event_name(ev, buf), d->p->q.text))
		return 0;
	d->begin = *ev;
	d->has_begin = 1;
	if (ev->kind == UFT_EV_FUNC)
		return d->p->q.kind == REPORT_SOURCE;
	export_event_make(&e, ev);
	put_fields(&d->fields, &e);
	return 0;
}

static void take_stream(struct details *d, const struct report_sources *from)
{
	struct uft_event ev[BATCH];
	int is_done = 0;
	size_t n;

	while (!is_done && (n = uft_stream_batch(from->st, ev, BATCH)) != 0)
		for (size_t i = 0; i < n && !is_done; i++) {
			uint64_t t = ev[i].ts_ns > from->origin_ns ? ev[i].ts_ns - from->origin_ns : 0;

			if (ev[i].task->tid != d->p->q.tid)
				continue;
			is_done = is_call_wanted(d) ? take_of_call(d, &ev[i], t) : take_of_event(d, &ev[i], t);
		}
}

static void put_array(struct json *j, const char *key, const struct json *of, const char *bracket)
{
	if (!of->n)
		return;
	json_key(j, key);
	json_bytes(j, bracket, bracket[0] != 0);
	json_bytes(j, of->p, of->n);
	json_bytes(j, "]", bracket[0] != 0);
}

static void put_address(struct json *j, const char *key, uint64_t v)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%llx", (unsigned long long)v);
	json_key_str(j, key, text);
}

static void put_function(struct json *j, const struct uft_event *ev)
{
	const struct uft_sym *sym = ev->sym;

	if (!sym)
		return;
	json_key_str(j, "function", sym->name ? sym->name : "?");
	if (sym->raw && sym->name && strcmp(sym->raw, sym->name))
		json_key_str(j, "linked_as", sym->raw);
	if (sym->object && *sym->object)
		json_key_str(j, "object", sym->object);
	if (sym->vaddr)
		put_address(j, "address", sym->vaddr);
	if (sym->size)
		json_key_u(j, "bytes", sym->size);
}

static void put_call(struct json *j, const struct details *d)
{
	json_key_u(j, "direct", d->direct);
	json_key_u(j, "below", d->below);
	if (!d->has_end)
		return;
	json_key_u(j, "end_cpu", d->end.cpu);
	json_key_u(j, "duration", d->end.duration_ns);
	json_key_u(j, "self", d->end.self_ns);
	json_key_u(j, "left", d->end.kind == UFT_EV_LEFT);
}

static void put_details(struct json *j, const struct details *d)
{
	const struct uft_event *ev = d->has_begin ? &d->begin : &d->end;
	char buf[VIEW_NAME_ROOM];

	json_raw(j, "{\"state\":\"done\"");
	json_key_u(j, "found", 1);
	json_key_str(j, "name", view_event_name(ev, buf));
	put_function(j, ev);
	json_key_str(j, "comm", ev->task->comm);
	json_key_u(j, "pid", ev->task->pid);
	json_key_u(j, "tid", ev->task->tid);
	if (ev->task->program && *ev->task->program)
		json_key_str(j, "program", ev->task->program);
	if (d->has_begin) { /* else it is known of the end alone */
		json_key_u(j, "ts", ev->ts_ns);
		json_key_u(j, "cpu", ev->cpu);
	}
	if (ev->kind == UFT_EV_FUNC && ev->parent)
		json_key_str(j, "parent", ev->parent->name);
	if (is_call_wanted(d))
		put_call(j, d);
	put_array(j, "texts", &d->texts, "[");
	put_array(j, "stack", &d->stack, "");
	put_array(j, "fields", &d->fields, "");
	json_raw(j, "}");
}

static void put_why(void *arg, const struct uft_object *obj, const char *why)
{
	struct json *j = arg;

	(void)obj;
	json_free(j);
	json_raw(j, why);
}

/* Writes the source line of the function. The stream must be open, because the object belongs to it. */
static int put_source(struct json *j, const struct uft_event *ev)
{
	struct json why = {0};
	struct uft_source_func f = {.obj = ev->sym ? ev->sym->of : NULL, .vaddr = ev->sym ? ev->sym->vaddr : 0};
	struct uft_source_query q = {.func = &f, .nfuncs = 1, .note = put_why, .ctx = &why};
	struct uft_error err = {""};
	int ret = f.obj ? uft_source_find(&q, &err) : 0;

	json_raw(j, "{\"state\":\"done\"");
	json_key_u(j, "found", !ret && f.at.file);
	if (!ret && f.at.file) {
		json_key_str(j, "file", f.at.file);
		json_key_u(j, "line", f.at.line);
	} else if (why.n || err.text[0]) {
		json_key_str(j, "why", why.n ? why.p : err.text);
	}
	json_raw(j, "}");
	if (f.obj)
		uft_source_free(&q);
	json_free(&why);
	return ret == -ENOMEM ? ret : 0;
}

int report_details(struct report *p)
{
	struct report_sources from = {.p = p};
	struct details d = {.p = p};
	int ret = report_next(&from);

	if (ret > 0) {
		take_stream(&d, &from);
		ret = 0;
		if (!d.has_begin && !d.has_end)
			json_raw(&p->answer, "{\"state\":\"done\",\"found\":0}");
		else if (p->q.kind == REPORT_SOURCE)
			ret = put_source(&p->answer, d.has_begin ? &d.begin : &d.end);
		else
			put_details(&p->answer, &d);
		ret = ret ? ret : uft_stream_check_file(from.st, NULL);
	}
	report_end(&from);
	ret = ret ? ret : d.texts.err ? d.texts.err : d.stack.err ? d.stack.err : d.fields.err;
	json_free(&d.texts);
	json_free(&d.stack);
	json_free(&d.fields);
	return ret ? ret : p->answer.err;
}
