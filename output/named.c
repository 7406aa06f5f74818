/* SPDX-License-Identifier: MIT */
/*
 * named.c - events that have a type (symbol/event_type.h): as text, and as records of the kernel's form
 *
 * The type's print format makes the text of the payload. With the option fields, of a user_event, and if the format is
 * not understood, the text is a list of the fields as the kernel prints it. Control bytes in a program's text do not
 * reach a terminal.
 */
#include "output/named.h"
#include "stream/select/event_field.h"
#include "symbol/clean.h"
#include "symbol/image.h"
#include "symbol/print_format.h"

#include <inttypes.h>
#include <stdio.h>

struct line { char *p, *end; };

static void put(struct line *l, const void *from, size_t n)
{
	n = n < (size_t)(l->end - l->p) ? n : (size_t)(l->end - l->p);
	memcpy(l->p, from, n);
	l->p += n;
}

static void put_text(struct line *l, const char *text)
{
	put(l, text, strlen(text));
}

/* A kernel shows a dynamic array by bytes, and <INVALID-SIZE> for another one, whose elements are shown here. */
static void put_array(struct line *l, const struct uft_event_field *f, const struct uft_field_value *v)
{
	char text[32];
	uint32_t size = f->element ? f->element : 1;

	for (size_t i = 0; f->place != UFT_FIELD_FIXED && i < v->len; i++) {
		snprintf(text, sizeof(text), "%s%02x", i ? "," : "", v->bytes[i]);
		put_text(l, text);
	}
	if (f->place != UFT_FIELD_FIXED)
		return;
	put_text(l, "{");
	for (size_t i = 0; (i + 1) * size <= v->len; i++) {
		snprintf(text, sizeof(text), "%s0x%" PRIx64, i ? "," : "",
			 (uint64_t)uft_field_number(v->bytes + i * size, size, 0));
		put_text(l, text);
	}
	put_text(l, "}");
}

/*
 * A number as the kernel's option fields shows it: of one byte its character, if it can be printed, and of one or two
 * bytes without a sign; of four and eight bytes with one, whatever its type.
 */
static void put_number(struct line *l, uint32_t size, int64_t number)
{
	uint64_t shown = size < 8 ? (uint64_t)number & ((1ull << 8 * size) - 1) : (uint64_t)number;
	char text[64];

	if (size == 1 && shown >= ' ' && shown <= '~')
		snprintf(text, sizeof(text), "'%c'(%d)", (int)shown, (int)shown);
	else if (size == 1)
		snprintf(text, sizeof(text), "(%d)", (int)shown);
	else
		snprintf(text, sizeof(text), "0x%" PRIx64 " (%" PRId64 ")", shown,
			 size == 2 ? (int64_t)shown : size == 4 ? (int32_t)shown : (int64_t)shown);
	put_text(l, text);
}

static void put_fields(struct line *l, const struct uft_event *ev)
{
	if (!ev->type->nfields)
		put_text(l, "No fields found");
	for (uint32_t i = 0; i < ev->type->nfields; i++) {
		const struct uft_event_field *f = &ev->type->field[i];
		struct uft_field_value v = uft_event_value(ev, f);

		put_text(l, " ");
		put_text(l, f->name);
		put_text(l, "=");
		if (f->is_string)
			put(l, v.bytes, v.len);
		else if (f->is_array)
			put_array(l, f, &v);
		else if (f->size == 1 || f->size == 2 || f->size == 4 || f->size == 8)
			put_number(l, f->size, v.number);
		else
			put_text(l, "<INVALID-SIZE>");
	}
}

/* As uft_print_input.name: finds a function of the event's task; in a trace.dat one of its kallsyms. */
static size_t name_at(void *arg, uint64_t addr, int has_offset, char *to, size_t room)
{
	const struct uft_event *ev = arg;
	const struct uft_image *img = ev->task->image;
	uint32_t at = img ? uft_image_at(img, addr, ev->clock) : UINT32_MAX;
	const struct uft_mapped *m = at != UINT32_MAX ? &img->obj[at] : NULL;
	const struct uft_func *f = m ? uft_object_func(m->obj, addr - m->bias) : NULL;
	int n;

	if (!f || !f->name)
		return 0;
	n = has_offset ? snprintf(to, room, "%s+0x%" PRIx64 "/0x%" PRIx64, f->name, addr - m->bias - f->addr, f->size) :
			 snprintf(to, room, "%s", f->name);
	return n < 0 ? 0 : (size_t)n < room ? (size_t)n : room - 1;
}

/* A kernel's trace shows user_events by their fields in any case; only trace-cmd uses the format. */
static int is_by_fields(const struct uft_event_type *type, int has_field_names)
{
	return has_field_names || !type->text || !strcmp(type->system, "user_events") ||
	       !strcmp(type->system, "user_events_multi");
}

char *named_text(char *p, const struct uft_event *ev, int has_field_names)
{
	struct line l = { p, p + NAMED_ROOM - 1 };
	int is_list = UFT_EVENT_IS_NAMED(ev->data) && is_by_fields(ev->type, has_field_names);
	struct uft_print_input in = { .payload = ev->payload, .bytes = ev->payload_bytes, .tid = ev->task->tid,
		.name = name_at, .arg = (void *)ev };

	if (!UFT_EVENT_IS_NAMED(ev->data))
		return p;
	in.kernel_id = ev->type->kernel_id;
	put_text(&l, ev->type->name);
	put_text(&l, is_list ? ":" : ": ");
	if (is_list)
		put_fields(&l, ev);
	else
		l.p += uft_print_event(ev->type->text, &in, l.p, (size_t)(l.end - l.p));
	uft_clean(p, (size_t)(l.p - p), '\n');
	return l.p;
}

uint32_t named_record(char rec[NAMED_RECORD_MAX], const struct uft_event *ev)
{
	uint32_t n = (uint32_t)(ev->payload_bytes < UFT_EVENT_PAYLOAD_MAX ? ev->payload_bytes : UFT_EVENT_PAYLOAD_MAX);
	uint16_t id = (uint16_t)ev->type->kernel_id;

	memset(rec, 0, UFT_EVENT_COMMON);
	memcpy(rec, &id, sizeof(id));
	/* common_flags, common_preempt_count */
	memcpy(rec + 2, ev->flags & UFT_EVF_LATENCY ? &ev->latency : &(uint16_t){0}, 2);
	memcpy(rec + 4, &ev->task->tid, 4);
	memcpy(rec + UFT_EVENT_COMMON, ev->payload, n);
	return UFT_EVENT_COMMON + n;
}
