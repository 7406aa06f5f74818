/* SPDX-License-Identifier: MIT */
/* event.c - an event that is no call, in a form that all formats can write; see event.h */
#include <inttypes.h>
#include <string.h>

#include "output/export/event.h"
#include "output/export/utf8.h"
#include "output/named.h"
#include "output/report/table.h"
#include "output/text.h"
#include "stream/select/event_field.h"
#include "symbol/clean.h"
#include "symbol/print_format.h"

/* ---- Fields ---- */

static void add(struct export_event *e, struct export_field f)
{
	if (e->nfields < EVENT_FIELDS)
		e->field[e->nfields++] = f;
}

static void add_number(struct export_event *e, const char *name, uint64_t v)
{
	add(e, (struct export_field){ .name = name, .number = v });
}

/* @text up to its 0 byte, or @n. */
static void add_text(struct export_event *e, const char *name, const void *text, size_t n)
{
	size_t room = EVENT_TEXTS - e->used - 1, len = strnlen(text, n < room ? n : room);
	char *at = e->texts + e->used;

	if (len < n)
		len = utf8_whole(text, len);
	memcpy(at, text, len);
	at[len] = '\0';
	e->used += (uint32_t)len + (e->used + len + 1 < EVENT_TEXTS);
	add(e, (struct export_field){ .name = name, .text = at });
}

/* Elements in hexadecimal, as many as fit. */
static void add_array(struct export_event *e, const struct uft_event_field *f, const struct uft_field_value *v)
{
	uint32_t size = f->element ? f->element : 1;
	char text[1024];
	size_t n = 0;

	for (size_t i = 0; (i + 1) * size <= v->len && n + 24 < sizeof(text); i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s0x%" PRIx64, i ? "," : "",
				      (uint64_t)uft_field_number(v->bytes + i * size, size, 0));
	add_text(e, f->name, text, n);
}

/* ---- Kinds ---- */

static void make_named(struct export_event *e, const struct uft_event *ev)
{
	char *end = named_text(e->line, ev, 0);
	size_t head = strlen(ev->type->name) + 2;

	uft_clean(e->line, (size_t)(end - e->line), ev->type->text && uft_print_has_lines(ev->type->text) ? '\n' : 0);
	*end = '\0';
	e->system = ev->type->system;
	e->name = ev->type->name;
	e->text = (size_t)(end - e->line) > head ? e->line + head : "";
	for (uint32_t i = 0; i < ev->type->nfields; i++) {
		const struct uft_event_field *f = &ev->type->field[i];
		struct uft_field_value v = uft_event_value(ev, f);

		if (f->is_string)
			add_text(e, f->name, v.bytes ? v.bytes : (const uint8_t *)"", v.len);
		else if (f->is_array)
			add_array(e, f, &v);
		else
			add(e, (struct export_field){
				       .name = f->name, .number = (uint64_t)v.number, .is_signed = f->is_signed });
	}
}

static void make_mark(struct export_event *e, const struct uft_event *ev)
{
	char raw[FORM_RAW_MAX];
	size_t n = ev->text_bytes;
	const char *text = ev->text;

	e->system = "ftrace";
	e->name = "print";
	if (ev->flags & UFT_EVF_RAW) {
		e->name = "raw_data";
		n = form_raw_data(ev, raw);
		text = raw + 2;		/* behind `# ` */
		n -= n > 2 ? 2 : n;
	}
	while (n && text[n - 1] == '\n')
		n--;
	if (n > EVENT_LINE - 1)
		n = utf8_whole(text, EVENT_LINE - 1);
	memcpy(e->line, text, n);
	e->line[n] = '\0';
	e->text = e->line;
	add_text(e, "buf", e->line, n);
}

static void make_switch(struct export_event *e, const struct uft_event *ev)
{
	uint64_t how = ev->word[0];
	const char *state = how & UFT_SWITCH_IN ? "runs" : how & UFT_SWITCH_PREEMPTED ? "is preempted" :
		how & UFT_SWITCH_ENDED ? "has ended" : "waits";

	e->name = "switch";
	add_text(e, "state", state, strlen(state));
	add_number(e, "cpu", ev->cpu);
	if (how & UFT_SWITCH_PRIO)
		add_number(e, "prio", how >> 32);
}

static void make_access(struct export_event *e, const struct uft_event *ev)
{
	uint64_t how = ev->word[3];
	const char *op = how & UFT_ACCESS_READ ? how & UFT_ACCESS_WRITE ? "read and write" : "read" :
		how & UFT_ACCESS_WRITE ? "write" : "unknown";

	e->name = "access";
	add_text(e, "op", op, strlen(op));
	add_number(e, "address", ev->word[0]);
	if (how & UFT_ACCESS_VALUE)
		add_number(e, "value", ev->word[1]);
	add_number(e, "pc", ev->word[2]);
	add_number(e, "width", how >> UFT_ACCESS_WIDTH_SHIFT & 0xff);
	add_number(e, "watch", how >> UFT_ACCESS_MAP_SHIFT & 0xffff);
}

static void make_watch(struct export_event *e, const struct uft_event *ev)
{
	e->name = ev->word[3] & UFT_ACCESS_END ? "watch_end" : "watch_begin";
	add_number(e, "address", ev->word[0]);
	add_number(e, "bytes", ev->word[1]);
	add_number(e, "watch", ev->word[3] >> UFT_ACCESS_MAP_SHIFT & 0xffff);
}

static void make_hwlat(struct export_event *e, const struct uft_event *ev)
{
	e->name = "hwlat";
	add_number(e, "inner_ns", ev->word[0]);
	add_number(e, "outer_ns", ev->word[1]);
	add_number(e, "seq", (uint32_t)ev->word[3]);
	add_number(e, "count", ev->word[3] >> 32);
}

/* Adds the counts that are known. */
static void make_osnoise(struct export_event *e, const struct uft_event *ev)
{
	static const char *const name[] = { "hw", "nmi", "irq", "softirq", "thread" };
	uint64_t count[] = { (uint32_t)ev->word[3], (uint32_t)ev->word[2], ev->word[2] >> 32, ev->word[1] >> 32 };

	e->name = "osnoise";
	add_number(e, "runtime_us", ev->word[0] >> 32);
	add_number(e, "noise_us", (uint32_t)ev->word[0]);
	add_number(e, "max_us", (uint32_t)ev->word[1]);
	for (size_t i = 0; i < 4; i++)
		if (count[i] < UINT32_MAX)
			add_number(e, name[i + 1], count[i]);
}

/* Makes the line of an event that has no text: its fields. */
static void make_line(struct export_event *e)
{
	size_t n = 0;

	for (uint32_t i = 0; i < e->nfields && n < EVENT_LINE; i++) {
		const struct export_field *f = &e->field[i];

		n += (size_t)(f->text ? snprintf(e->line + n, EVENT_LINE - n, "%s%s=%s", i ? " " : "", f->name,
			f->text) :
					snprintf(e->line + n, EVENT_LINE - n, "%s%s=%" PRIu64, i ? " " : "", f->name,
						 f->number));
	}
	e->text = e->line;
}

void export_event_make(struct export_event *e, const struct uft_event *ev)
{
	e->system = "uft";
	e->name = "event";
	e->nfields = e->used = 0;
	e->line[0] = '\0';
	e->text = NULL;
	if (ev->kind == UFT_EV_MARK)
		make_mark(e, ev);
	else if (UFT_EVENT_IS_NAMED(ev->data))
		make_named(e, ev);
	else if (ev->data == UFT_EVENT_SWITCH)
		make_switch(e, ev);
	else if (ev->data == UFT_EVENT_ACCESS)
		make_access(e, ev);
	else if (ev->data == UFT_EVENT_WATCH)
		make_watch(e, ev);
	else if (ev->data == UFT_EVENT_HWLAT)
		make_hwlat(e, ev);
	else if (ev->data == UFT_EVENT_OSNOISE)
		make_osnoise(e, ev);
	if (!e->text)
		make_line(e);
}

void export_event_json(FILE *out, const struct export_event *e)
{
	putc('{', out);
	for (uint32_t i = 0; i < e->nfields; i++) {
		const struct export_field *f = &e->field[i];

		if (i)
			putc(',', out);
		table_put_json(out, f->name);
		putc(':', out);
		if (f->text)
			table_put_json(out, f->text);
		else if (f->is_signed)
			fprintf(out, "%" PRId64, (int64_t)f->number);
		else
			fprintf(out, "%" PRIu64, f->number);
	}
	putc('}', out);
}
