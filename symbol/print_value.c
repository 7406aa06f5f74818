/* SPDX-License-Identifier: MIT */
/* print_value.c - the value of a print format's expression in one event, and the texts that its helpers make */
#include "symbol/print_nodes.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int64_t load(const uint8_t *p, size_t size, int is_signed)
{
	uint64_t v = 0;
	unsigned unused;

	size = size > 8 ? 8 : size;
	memcpy(&v, p, size);
	unused = 64 - 8 * (unsigned)size;
	return !size || !unused ? (int64_t)v : is_signed ? (int64_t)(v << unused) >> unused : (int64_t)v;
}

static struct print_value loaded(const uint8_t *p, size_t size, int is_signed)
{
	return (struct print_value){ .number = load(p, size, is_signed), .is_signed = is_signed };
}

static struct print_value of_field(const struct print_run *r, const struct uft_event_field *f)
{
	uint64_t at = f->offset - UFT_EVENT_COMMON, bytes = f->size;
	struct print_value v = { .bytes = (const uint8_t *)"", .element = f->element, .is_signed = f->is_signed };

	if (at + bytes <= r->in->bytes && f->place != UFT_FIELD_FIXED) {
		uint32_t where;

		memcpy(&where, r->in->payload + at, 4);
		bytes = where >> 16;
		at = f->place == UFT_FIELD_REL_LOC ? at + 4 + (where & 0xffff) :
		     (where & 0xffff) < UFT_EVENT_COMMON ? UINT64_MAX / 2 : (where & 0xffff) - UFT_EVENT_COMMON;
	}
	if (at + bytes > r->in->bytes)
		return f->is_array ? v : print_value_of(0);
	v.bytes = r->in->payload + at;
	v.len = bytes;
	if (f->is_array)
		return v;
	return loaded(v.bytes, bytes, f->is_signed);
}

int64_t print_number(const struct print_value *v)
{
	return v->bytes ? load(v->bytes, v->element && v->element <= v->len ? v->element : 0, v->is_signed) : v->number;
}

static struct print_value binary_value(uint8_t op, const struct print_value *x, const struct print_value *y)
{
	int64_t a = print_number(x), b = print_number(y);
	uint64_t ua = (uint64_t)a, ub = (uint64_t)b;
	int is_signed = x->is_signed && y->is_signed;
	struct print_value v = { .is_signed = is_signed };

	switch (op) {
	case OP_OROR: v.number = a || b; break;
	case OP_ANDAND: v.number = a && b; break;
	case OP_OR: v.number = a | b; break;
	case OP_XOR: v.number = a ^ b; break;
	case OP_AND: v.number = a & b; break;
	case OP_EQ: v.number = a == b; break;
	case OP_NE: v.number = a != b; break;
	case OP_LE: v.number = is_signed ? a <= b : ua <= ub; break;
	case OP_GE: v.number = is_signed ? a >= b : ua >= ub; break;
	case OP_LT: v.number = is_signed ? a < b : ua < ub; break;
	case OP_GT: v.number = is_signed ? a > b : ua > ub; break;
	case OP_SHL: v.number = (int64_t)(ua << (ub & 63)); break;
	case OP_SHR: v.number = x->is_signed ? a >> (ub & 63) : (int64_t)(ua >> (ub & 63)); break;
	case OP_ADD: v.number = (int64_t)(ua + ub); break;
	case OP_SUB: v.number = (int64_t)(ua - ub); break;
	case OP_MUL: v.number = (int64_t)(ua * ub); break;
	case OP_DIV:
		v.number = !b ? 0 : is_signed && b == -1 ? (int64_t)-ua : is_signed ? a / b : (int64_t)(ua / ub);
		break;
	case OP_MOD: v.number = !b || b == -1 ? 0 : is_signed ? a % b : (int64_t)(ua % ub); break;
	}
	return v;
}

/* ---- Texts of helpers ---- */

/*
 * A text has all the remaining room until it is complete. Texts made meanwhile, for keys of a list, have none, so that
 * they neither overlap it nor are counted with it.
 */
static struct print_text begin_text(struct print_run *r)
{
	struct print_text t = { r->temp + r->ntemp, 0, sizeof(r->temp) - r->ntemp };

	r->ntemp = sizeof(r->temp);	/* GUARD(print_text_whole, r->ntemp) */
	return t;
}

void print_put(struct print_text *t, const char *from, size_t n)
{
	n = n < t->room - t->n ? n : t->room - t->n;
	memcpy(t->p + t->n, from, n);
	t->n += n;
}

void print_pad(struct print_text *t, size_t n)
{
	n = n < t->room - t->n ? n : t->room - t->n;
	memset(t->p + t->n, ' ', n);
	t->n += n;
}

static int is_full(const struct print_text *t)
{
	return t->n == t->room;
}

static __attribute__((format(printf, 2, 3))) void put_format(struct print_text *t, const char *format, ...)
{
	char part[64];
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(part, sizeof(part), format, ap);
	va_end(ap);
	if (n > 0)
		print_put(t, part, (size_t)n < sizeof(part) ? (size_t)n : sizeof(part) - 1);
}

static struct print_value end_text(struct print_run *r, const struct print_text *t)
{
	r->ntemp = (size_t)(t->p - r->temp) + t->n;
	return (struct print_value){ .bytes = (const uint8_t *)t->p, .len = t->n, .element = 1 };
}

static void put_symbolic(struct print_run *r, struct print_text *t, const struct print_node *n, uint64_t value)
{
	for (uint32_t i = n->c; i; i = r->p->v[i].b) {
		struct print_value key = print_eval(r, r->p->v[i].a);

		if ((uint64_t)print_number(&key) == value) {
			print_put(t, r->p->v[i].text, r->p->v[i].len);
			return;
		}
	}
	put_format(t, "0x%" PRIx64, value);
}

static void put_flags(struct print_run *r, struct print_text *t, const struct print_node *n, uint64_t value)
{
	int is_first = 1;

	for (uint32_t i = n->c; i && value; i = r->p->v[i].b) {
		struct print_value key = print_eval(r, r->p->v[i].a);
		uint64_t mask = (uint64_t)print_number(&key);

		if ((value & mask) != mask)
			continue;
		value &= ~mask;
		if (!is_first)
			print_put(t, n->text, n->len);
		print_put(t, r->p->v[i].text, r->p->v[i].len);
		is_first = 0;
	}
	if (value) {
		if (!is_first)
			print_put(t, n->text, n->len);
		put_format(t, "0x%" PRIx64, value);
	}
}

static void put_array(struct print_text *t, const struct print_value *bytes, uint64_t count, uint64_t size)
{
	print_put(t, "{", 1);
	for (uint64_t i = 0;
	     (size == 1 || size == 2 || size == 4 || size == 8) && i < count && (i + 1) * size <= bytes->len &&
	     !is_full(t); i++)
		put_format(t, "%s0x%" PRIx64, i ? "," : "", (uint64_t)load(bytes->bytes + i * size, size, 0));
	print_put(t, "}", 1);
}

/* As for %*pb: words of 32 bits, the highest first. */
static void put_bitmask(struct print_text *t, const struct print_value *bytes)
{
	for (size_t i = bytes->len / 4; i-- && !is_full(t);)
		put_format(t, "%08x%s", (uint32_t)load(bytes->bytes + 4 * i, 4, 0), i ? "," : "");
}

/* Lines of @row bytes as the kernel's seq_buf_hex_dump() writes them: a prefix, the offset, words, and text. */
static void put_hex_dump(struct print_run *r, struct print_text *t, const struct print_node *n,
			 const struct print_value *bytes)
{
	const struct print_node *v = r->p->v;
	int64_t number[6];		/* how, row, group, bytes, count, is_text */
	uint32_t at = n->b, used;

	for (int i = 0; i < 6; i++, at = v[at].b) {
		struct print_value one = i == 3 ? print_value_of(0) : print_eval(r, v[at].a);

		number[i] = print_number(&one);
	}
	uint64_t row = number[1] == 32 ? 32 : 16, len = number[4] < 0 ? 0 : (uint64_t)number[4] < bytes->len ?
		(uint64_t)number[4] : bytes->len;
	uint64_t group = number[2] == 2 || number[2] == 4 || number[2] == 8 ? (uint64_t)number[2] : 1;

	for (uint64_t from = 0; from < len && !is_full(t); from += row) {
		uint64_t here = len - from < row ? len - from : row, size = here % group ? 1 : group;

		print_put(t, n->text, n->len);
		if (number[0])
			put_format(t, number[0] == 1 ? "%016" PRIx64 ": " : "%.8" PRIx64 ": ", from);
		used = 0;
		for (uint64_t i = 0; i < here; i += size, used += 2 * (uint32_t)size + 1)
			put_format(t, "%s%0*" PRIx64, i ? " " : "", 2 * (int)size,
				   (uint64_t)load(bytes->bytes + from + i, size, 0));
		for (used -= used ? 1 : 0; number[5] && used < 2 * row + row / size + 1; used++)
			print_put(t, " ", 1);
		for (uint64_t i = 0; number[5] && i < here; i++) {
			char c = (char)bytes->bytes[from + i];

			print_put(t, c >= ' ' && c < 0x7f ? &c : ".", 1);
		}
		print_put(t, "\n", 1);
	}
}

/* Prints a line for each caller, up to the first 0. */
static void put_stack(struct print_run *r, struct print_text *t, const struct print_value *bytes)
{
	char name[512];

	print_put(t, "STACK:\n", 7);
	for (size_t i = 0; i + 8 <= bytes->len && !is_full(t); i += 8) {
		uint64_t addr = (uint64_t)load(bytes->bytes + i, 8, 0);
		size_t n = addr && r->in->name ? r->in->name(r->in->arg, addr, 1, name, sizeof(name)) : 0;

		if (!addr)
			break;
		print_put(t, "=> ", 3);
		if (n)
			print_put(t, name, n);
		else
			put_format(t, "0x%" PRIx64, addr);
		print_put(t, "\n", 1);
	}
}

/* Is the helper's second argument an expression? */
static int has_count(unsigned helper)
{
	return helper == H_HEX || helper == H_HEX_STR || helper == H_ARRAY || helper == H_DYN_ARRAY;
}

static struct print_value eval_call(struct print_run *r, const struct print_node *n)
{
	struct print_value a = print_eval(r, n->a), b, c;
	struct print_text t;

	if (n->helper == H_STR || n->helper == H_DYN || n->helper == H_SOCKADDR)
		return a;
	if (n->helper == H_DYN_LEN)
		return print_value_of((int64_t)a.len);
	b = has_count(n->helper) ? print_eval(r, n->b) : print_value_of(0);
	c = n->helper == H_ARRAY ? print_eval(r, n->c) : print_value_of(0);
	t = begin_text(r);
	switch (n->helper) {
	case H_SYMBOLIC: put_symbolic(r, &t, n, (uint64_t)print_number(&a)); break;
	case H_FLAGS: put_flags(r, &t, n, (uint64_t)print_number(&a)); break;
	case H_HEX: case H_HEX_STR:
		for (int64_t i = 0; a.bytes && i < print_number(&b) && (uint64_t)i < a.len && !is_full(&t); i++)
			put_format(&t, "%s%2.2x", i && n->helper == H_HEX ? " " : "", a.bytes[i]);
		break;
	case H_ARRAY: if (a.bytes) put_array(&t, &a, (uint64_t)print_number(&b), (uint64_t)print_number(&c)); break;
	case H_DYN_ARRAY:
		if (a.bytes && print_number(&b) > 0)
			put_array(&t, &a, a.len / (uint64_t)print_number(&b), (uint64_t)print_number(&b));
		break;
	case H_BITMASK: if (a.bytes) put_bitmask(&t, &a); break;
	case H_STACK: if (a.bytes) put_stack(r, &t, &a); break;
	case H_HEX_DUMP: if (a.bytes) put_hex_dump(r, &t, n, &a); break;
	}
	return end_text(r, &t);
}

static struct print_value element_at(const struct print_value *v, uint64_t i)
{
	if (!v->bytes || !v->element || i >= v->len / v->element)
		return print_value_of(0);
	return loaded(v->bytes + i * v->element, v->element, v->is_signed);
}

struct print_value print_eval(struct print_run *r, uint32_t at)
{
	const struct print_node *n = &r->p->v[at];
	struct print_value a, b;

	switch (n->kind) {
	case N_NUMBER:
		return print_value_of(n->number);
	case N_STRING:
		return (struct print_value){ .bytes = (const uint8_t *)n->text, .len = n->len, .element = 1 };
	case N_FIELD:
		return of_field(r, n->field);
	case N_COMMON:
		return print_value_of(n->op == 'p' ? (int32_t)r->in->tid :
				      n->op == 't' ? (int64_t)r->in->kernel_id : 0);
	case N_COND:
		a = print_eval(r, n->a);
		return print_eval(r, a.bytes || a.number ? n->b : n->c);
	case N_BINARY:
		a = print_eval(r, n->a);
		if ((n->op == OP_OROR && print_number(&a)) || (n->op == OP_ANDAND && !print_number(&a)))
			return print_value_of(n->op == OP_OROR);
		b = print_eval(r, n->b);
		return binary_value(n->op, &a, &b);
	case N_INDEX:
		a = print_eval(r, n->a);
		b = print_eval(r, n->b);
		return element_at(&a, (uint64_t)print_number(&b));
	case N_CALL:
		return eval_call(r, n);
	case N_DEREF:
		a = print_eval(r, n->a);
		return element_at(&a, 0);
	case N_CAST:
		a = print_eval(r, n->a);
		if (n->is_pointer) {
			a.element = n->size;
			a.is_signed = n->is_signed;
			return a;
		}
		a.number = print_number(&a);
		return loaded((const uint8_t *)&a.number, n->size, n->is_signed);
	default:
		a = print_eval(r, n->a);
		a.number = print_number(&a);
		a.number = n->kind == N_NEG ? (int64_t)-(uint64_t)a.number : n->kind == N_NOT ? !a.number : ~a.number;
		return (struct print_value){ .number = a.number, .is_signed = a.is_signed };
	}
}
