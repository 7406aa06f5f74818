/* SPDX-License-Identifier: MIT */
/*
 * field.c - values that a histogram takes from an event: a field, or the time, the CPU, a stack, a constant, a sum of
 * others
 *
 * Beside its own fields each event has the common ones and the kernel's generic ones: cpu, CPU, stacktrace. A value is
 * a number of 64 bits (sign-extended), or the place of a text or stack. Payloads come from targets: a field beyond the
 * payload reads as 0 or "".
 */
#include "hist/hist_internal.h"

#include <errno.h>
#include <stdio.h>

static const struct uft_event_field common[] = {
	{ .name = "common_type", .type = "unsigned short", .brackets = "", .offset = 0, .size = 2, .element = 2 },
	{ .name = "common_flags", .type = "unsigned char", .brackets = "", .offset = 2, .size = 1, .element = 1 },
	{ .name = "common_preempt_count", .type = "unsigned char", .brackets = "", .offset = 3, .size = 1,
		.element = 1 },
	{ .name = "common_pid", .type = "int", .brackets = "", .offset = 4, .size = 4, .element = 4, .is_signed = 1 },
	/* Fields without bytes: parse_field() knows them by name. */
	{ .name = "CPU", .type = "int", .brackets = "" }, { .name = "cpu", .type = "int", .brackets = "" },
	{ .name = "STACKTRACE", .type = "char *", .brackets = "" },
	{ .name = "stacktrace", .type = "char *", .brackets = "" },
};

const struct uft_event_field *field_find(const struct uft_event_type *type, const char *name)
{
	const struct uft_event_field *f = uft_event_field(type, name, strlen(name));

	for (size_t i = 0; !f && i < sizeof(common) / sizeof(common[0]); i++)
		f = strcmp(common[i].name, name) ? NULL : &common[i];
	return f;
}

int field_is_stack(const struct uft_event_field *f)
{
	return f->place == UFT_FIELD_DATA_LOC && f->element == 8 && strstr(f->type, "long[]") != NULL;
}

/* ---- Making ---------------------------------------------------------------------------------- */

struct hist_field *field_new(uint32_t flags, const char *var)
{
	struct hist_field *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->flags = flags;
	f->var = var ? strdup(var) : NULL;
	if (!var || f->var)
		return f;
	free(f);
	return NULL;
}

void field_free(struct hist_field *f)
{
	if (!f)
		return;
	field_free(f->operand[0]);
	field_free(f->operand[1]);
	free(f->name);
	free(f->var);
	free(f->type);
	free(f->system);
	free(f->event);
	free(f);
}

static int set_type(struct hist_field *f, const char *type, uint32_t size, int is_signed)
{
	f->type = strdup(type);
	f->size = size;
	f->is_signed = is_signed;
	return f->type ? 0 : -ENOMEM;
}

/* Sets the type of the event's own field: "char[16]", as the kernel names the type of an array. */
static int set_field_type(struct hist_field *f)
{
	const struct uft_event_field *e = f->field;

	if (asprintf(&f->type, "%s%s", e->type, e->place == UFT_FIELD_FIXED ? e->brackets : "") < 0) {
		f->type = NULL;
		return -ENOMEM;
	}
	f->is_signed = e->is_signed;
	f->size = e->size;
	if (!e->is_string)
		return e->size == 1 || e->size == 2 || e->size == 4 || e->size == 8 ? 0 : -EINVAL;
	f->flags |= F_STRING;
	f->is_signed = 0;
	if (e->place != UFT_FIELD_FIXED)
		f->size = TEXT_BYTES;
	return f->size <= TEXT_BYTES ? 0 : -EINVAL;
}

/* Sets the type of a value that is no field of the event. */
static int set_special(struct hist_field *f)
{
	if (f->flags & F_HITCOUNT)
		return set_type(f, "u64", 8, 0);
	if (f->flags & F_STACK)
		return set_type(f, "unsigned long[]", STACK_BYTES, 0);
	if (f->flags & F_TIMESTAMP)
		return set_type(f, "u64", 8, 0);
	return set_type(f, "unsigned int", 4, 0);
}

int field_make(const struct uft_event_field *field, uint32_t flags, const char *var, struct hist_field **out)
{
	struct hist_field *f = field_new(flags, var);
	int ret = 0;

	*out = NULL;
	if (!f)
		return -ENOMEM;
	f->field = field;
	if (flags & (F_LOG2 | F_BUCKET) && !(flags & (F_HITCOUNT | F_STACK))) {
		ret = field_make(field, flags & ~(uint32_t)(F_LOG2 | F_BUCKET), NULL, &f->operand[0]);
		ret = ret ? ret : set_type(f, f->operand[0]->type, f->operand[0]->size, 0);
		f->flags |= ret ? 0 : f->operand[0]->flags & F_STRING;
	} else if (flags & (F_HITCOUNT | F_STACK | F_TIMESTAMP | F_CPU)) {
		ret = set_special(f);
	} else {
		ret = field ? set_field_type(f) : -EINVAL;
	}
	if (ret)
		field_free(f);
	else
		*out = f;
	return ret;
}

/* ---- Names ----------------------------------------------------------------------------------- */

static const char *name_of(const struct hist_field *f, int level)
{
	if (level > 1)
		return "";
	if (f->field)
		return f->field->name;
	if (f->operand[0] && f->flags & (F_LOG2 | F_BUCKET | F_ALIAS))
		return name_of(f->operand[0], level + 1);
	if (f->flags & F_CPU)
		return "common_cpu";
	if (f->name)
		return f->name;
	return f->flags & F_TIMESTAMP ? "common_timestamp" : f->flags & F_STACK ? "common_stacktrace" :
		f->flags & F_HITCOUNT ? "hitcount" : "";
}

const char *field_name(const struct hist_field *f)
{
	return name_of(f, 0);
}

const char *field_modifier(const struct hist_field *f)
{
	static const struct { uint32_t flag; const char *text; } of[] = {
		{ F_HEX, "hex" }, { F_SYM, "sym" }, { F_SYM_OFFSET, "sym-offset" }, { F_EXECNAME, "execname" },
		{ F_SYSCALL, "syscall" },
		{ F_LOG2, "log2" }, { F_BUCKET, "buckets" }, { F_USECS, "usecs" }, { F_PERCENT, "percent" },
		{ F_GRAPH, "graph" },
		{ F_STACK, "stacktrace" },
	};

	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++)
		if (f->flags & of[i].flag)
			return of[i].text;
	return NULL;
}

/* ---- Values ---------------------------------------------------------------------------------- */

static uint64_t common_value(const struct uft_hist_record *rec, const struct uft_event_field *f)
{
	return f->offset == 4 ? (uint64_t)(int64_t)(int32_t)rec->tid : f->offset ? 0 : rec->type->kernel_id;
}

static struct hist_value event_value(const struct uft_hist_record *rec, const struct hist_field *f)
{
	struct hist_value v = { 0, NULL, 0 };
	const uint8_t *p;
	size_t n;

	if (f->field->offset < UFT_EVENT_COMMON && f->field->size) {
		v.number = common_value(rec, f->field);
		return v;
	}
	p = uft_field_bytes(rec->payload, rec->bytes, f->field, &n);
	if (f->flags & F_STRING) {
		v.p = p ? (const void *)p : "";
		v.bytes = p ? strnlen((const char *)p, n) : 0;
	} else if (p) {
		v.number = (uint64_t)uft_field_number(p, (uint32_t)n, f->field->is_signed);
	}
	return v;
}

static struct hist_value stack_field(const struct uft_hist_record *rec, const struct uft_event_field *f)
{
	struct hist_value v = { 0, NULL, 0 };

	v.p = uft_field_bytes(rec->payload, rec->bytes, f, &v.bytes);
	v.bytes = v.bytes < STACK_BYTES ? v.bytes & ~(size_t)7 : STACK_BYTES;
	return v;
}

static uint64_t compute(char op, uint64_t a, uint64_t b)
{
	switch (op) {
	case '+': return a + b;
	case '-': return a - b;
	case '*': return a * b;
	case '/': return b ? a / b : UINT64_MAX;	/* the kernel's -1 */
	default: return 0 - a;
	}
}

static struct hist_value reference_value(const struct hist_field *f, const uint64_t *refs)
{
	struct hist_value v = { refs[f->ref], NULL, 0 };

	if (f->target->flags & (F_STRING | F_STACK)) {
		v.p = (const void *)(uintptr_t)v.number;
		v.bytes = f->target->flags & F_STACK ? STACK_BYTES : strnlen(v.p, TEXT_BYTES - 1);
	}
	return v;
}

struct hist_value field_value(const struct uft_hist *h, const struct hist_field *f, const struct uft_hist_record *rec,
			      const uint64_t *refs)
{
	struct hist_value v = { 0, NULL, 0 };

	if (f->flags & F_VAR_REF)
		return reference_value(f, refs);
	if (f->flags & F_ALIAS)
		return field_value(h, f->operand[0], rec, refs);
	if (f->flags & F_CONST)
		v.number = f->constant;
	else if (f->op)
		v.number = compute(f->op, field_value(h, f->operand[0], rec, refs).number,
				   f->operand[1] ? field_value(h, f->operand[1], rec, refs).number : 0);
	else if (f->flags & F_HITCOUNT)
		v.number = 1;
	else if (f->flags & F_STACK && f->field)
		v = stack_field(rec, f->field);
	else if (f->flags & F_STACK)
		v = (struct hist_value){ 0, rec->stack, 8 * (rec->nstack < STACK_DEPTH ? rec->nstack : STACK_DEPTH) };
	else if (f->flags & F_LOG2)
		v.number = uft_hist_log2(field_value(h, f->operand[0], rec, refs).number);
	else if (f->flags & F_BUCKET)
		v.number = field_value(h, f->operand[0], rec, refs).number / f->buckets * f->buckets;
	else if (f->flags & F_TIMESTAMP)
		v.number = h->attrs.is_usecs && h->set->env.is_ns ? rec->ts / 1000 : rec->ts;
	else if (f->flags & F_CPU)
		v.number = rec->cpu;
	else
		v = event_value(rec, f);
	return v;
}
