/* SPDX-License-Identifier: MIT */
/*
 * print_format.c - the kernel's print formats: `"pid=%d %s", REC->pid, __print_symbolic(REC->state, { 0, "R" },
 * { 1, "S" })`
 *
 * A format is a C string and expressions of C over the fields of the record. It is compiled once into nodes,
 * each of which refers to earlier ones, and evaluated for each event. Formats come from objects and
 * recordings that others made: depth and number of nodes are bounded, each access is checked against the
 * payload, division by zero gives 0, and what is not understood makes no program: then the event is printed
 * as a list of its fields.
 *
 * Helpers: __get_str, __get_rel_str, __get_dynamic_array, __get_dynamic_array_len (and their _rel_ forms),
 * __print_symbolic (also _u64 and _64), __print_flags, __print_hex, __print_hex_str, __print_array,
 * __print_dynamic_array, __get_bitmask, __get_cpumask, __get_sockaddr. Texts are those of a kernel 6.12.
 */
#include "symbol/print_format.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NODES	4096u
#define MAX_DEPTH	64
#define MAX_ARGS	256u
#define TEMP_BYTES	8192u		/* texts of helpers in one event */

enum node_kind {
	N_NUMBER, N_STRING, N_FIELD, N_NEG, N_NOT, N_INVERT, N_DEREF, N_BINARY, N_COND, N_CAST, N_INDEX, N_CALL, N_PAIR, N_COMMON,
};

enum helper {
	H_STR, H_DYN, H_DYN_LEN, H_SYMBOLIC, H_FLAGS, H_HEX, H_HEX_STR, H_ARRAY, H_DYN_ARRAY, H_BITMASK, H_SOCKADDR, NHELPERS
};
static const struct { const char *name; enum helper helper; } helpers[] = {
	{ "__get_str", H_STR }, { "__get_rel_str", H_STR }, { "__get_dynamic_array", H_DYN }, { "__get_rel_dynamic_array", H_DYN },
	{ "__get_dynamic_array_len", H_DYN_LEN }, { "__get_rel_dynamic_array_len", H_DYN_LEN },
	{ "__print_symbolic", H_SYMBOLIC }, { "__print_symbolic_u64", H_SYMBOLIC }, { "__print_symbolic_64", H_SYMBOLIC },
	{ "__print_flags", H_FLAGS }, { "__print_flags_u64", H_FLAGS }, { "__print_flags_64", H_FLAGS },
	{ "__print_hex", H_HEX }, { "__print_hex_str", H_HEX_STR }, { "__print_array", H_ARRAY }, { "__print_dynamic_array", H_DYN_ARRAY },
	{ "__get_bitmask", H_BITMASK }, { "__get_rel_bitmask", H_BITMASK }, { "__get_cpumask", H_BITMASK }, { "__get_rel_cpumask", H_BITMASK },
	{ "__get_sockaddr", H_SOCKADDR }, { "__get_rel_sockaddr", H_SOCKADDR },
};

struct node {
	uint8_t kind, helper, op, size, is_signed, is_pointer;
	uint32_t a, b, c;		/* nodes; CALL: first argument; PAIR, and arguments: b is the next, 0 none */
	int64_t number;
	const struct uft_event_field *field;
	char *text; size_t len;
};

struct uft_print {
	struct node *v;			/* v[0] is none */
	uint32_t n, cap;
	char *format; size_t nformat;
	uint32_t arg[MAX_ARGS], nargs;
};

/* ---- Compiling ------------------------------------------------------------------------------- */

struct parser { struct uft_print *out; const struct uft_event_type *type; const char *p; int depth, is_bad; };

static uint32_t bad(struct parser *s)
{
	s->is_bad = 1;
	return 0;
}

static uint32_t add(struct parser *s, const struct node *n)
{
	struct uft_print *o = s->out;

	if (s->is_bad)
		return 0;
	if (o->n == o->cap) {
		uint32_t cap = o->cap ? 2 * o->cap : 16;
		struct node *grown = o->n < MAX_NODES ? realloc(o->v, cap * sizeof(*grown)) : NULL;

		if (!grown)
			return bad(s);
		o->v = grown;
		o->cap = cap;
	}
	o->v[o->n] = *n;
	return o->n++;
}

static void skip(struct parser *s)
{
	while (isspace((unsigned char)*s->p))
		s->p++;
}

static int take(struct parser *s, const char *word)
{
	size_t n = strlen(word);

	skip(s);
	if (strncmp(s->p, word, n) || (isalnum((unsigned char)word[n - 1]) && (isalnum((unsigned char)s->p[n]) || s->p[n] == '_')))
		return 0;
	s->p += n;
	return 1;
}

static size_t word_length(const char *p)
{
	size_t n = 0;

	while (isalnum((unsigned char)p[n]) || p[n] == '_')
		n++;
	return n;
}

static char escape(struct parser *s)
{
	static const char from[] = "ntr0abfv\\\"'?", to[] = "\n\t\r\0\a\b\f\v\\\"'?";
	const char *at = *s->p ? strchr(from, *s->p) : NULL;
	int v = 0, i;

	if (*s->p == 'x') {
		s->p++;
		for (i = 0; i < 2 && isxdigit((unsigned char)*s->p); i++, s->p++)
			v = 16 * v + (isdigit((unsigned char)*s->p) ? *s->p - '0' : (*s->p | 32) - 'a' + 10);
		return (char)v;
	}
	if (*s->p >= '0' && *s->p <= '7') {
		for (i = 0; i < 3 && *s->p >= '0' && *s->p <= '7'; i++, s->p++)
			v = 8 * v + (*s->p - '0');
		return (char)v;
	}
	if (!at) {
		bad(s);
		return 0;
	}
	s->p++;
	return to[at - from];
}

/* "..." "..." as one text; malloc'd. */
static char *string(struct parser *s, size_t *len)
{
	size_t room = strlen(s->p) + 1, n = 0;
	char *text = malloc(room);

	while (text && !s->is_bad && take(s, "\"")) {
		while (*s->p && *s->p != '"' && !s->is_bad) {
			char c = *s->p++;

			text[n++] = c == '\\' ? escape(s) : c;
		}
		if (*s->p != '"')
			bad(s);
		else
			s->p++;
	}
	if (!text || s->is_bad) {
		free(text);
		bad(s);
		return NULL;
	}
	text[n] = '\0';
	*len = n;
	return text;
}

static uint32_t expression(struct parser *s);
static uint32_t unary(struct parser *s);

/* A type in parentheses, with its size; 0: it is none. */
static int type_name(struct parser *s, struct node *cast)
{
	static const struct { const char *word; uint8_t size, is_signed; } known[] = {
		{ "char", 1, 1 }, { "short", 2, 1 }, { "int", 4, 1 }, { "long", 8, 1 }, { "u8", 1, 0 }, { "u16", 2, 0 }, { "u32", 4, 0 },
		{ "u64", 8, 0 }, { "s8", 1, 1 }, { "s16", 2, 1 }, { "s32", 4, 1 }, { "s64", 8, 1 }, { "__u8", 1, 0 }, { "__u16", 2, 0 },
		{ "__u32", 4, 0 }, { "__u64", 8, 0 }, { "__s8", 1, 1 }, { "__s16", 2, 1 }, { "__s32", 4, 1 }, { "__s64", 8, 1 },
		{ "uint8_t", 1, 0 }, { "uint16_t", 2, 0 }, { "uint32_t", 4, 0 }, { "uint64_t", 8, 0 }, { "int8_t", 1, 1 }, { "int16_t", 2, 1 },
		{ "int32_t", 4, 1 }, { "int64_t", 8, 1 }, { "size_t", 8, 0 }, { "ssize_t", 8, 1 }, { "uintptr_t", 8, 0 }, { "pid_t", 4, 1 },
		{ "bool", 1, 0 }, { "_Bool", 1, 0 }, { "void", 8, 0 }, { "off_t", 8, 1 }, { "loff_t", 8, 1 }, { "dev_t", 4, 0 }, { "gfp_t", 4, 0 },
		{ "sector_t", 8, 0 }, { "ino_t", 8, 0 }, { "umode_t", 2, 0 }, { "ktime_t", 8, 1 }, { "uid_t", 4, 0 }, { "gid_t", 4, 0 },
	};
	const char *p = s->p;
	int is_type = 0, is_unsigned = -1, has_size = 0;

	*cast = (struct node){ .kind = N_CAST, .size = 4, .is_signed = 1 };
	for (;;) {
		size_t n, i;

		while (isspace((unsigned char)*p))
			p++;
		n = word_length(p);
		if (!n)
			break;
		if ((n == 5 && !strncmp(p, "const", 5)) || (n == 8 && !strncmp(p, "volatile", 8)) || (n == 7 && !strncmp(p, "__force", 7)) ||
		    (n == 6 && !strncmp(p, "__user", 6))) {
			p += n;
			continue;
		}
		if (n == 8 && !strncmp(p, "unsigned", 8)) {
			is_unsigned = 1;
			is_type = 1;
			p += n;
			continue;
		}
		if (n == 6 && !strncmp(p, "signed", 6)) {
			is_unsigned = 0;
			is_type = 1;
			p += n;
			continue;
		}
		for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
			if (strlen(known[i].word) == n && !strncmp(p, known[i].word, n))
				break;
		if (i == sizeof(known) / sizeof(known[0]))
			return 0;
		if (!has_size || cast->size == 4) {
			cast->size = known[i].size;
			cast->is_signed = known[i].is_signed;
		}
		has_size = is_type = 1;
		p += n;
	}
	if (!is_type)
		return 0;
	if (is_unsigned >= 0)
		cast->is_signed = !is_unsigned;
	for (; *p == '*' || isspace((unsigned char)*p); p++)
		cast->is_pointer |= *p == '*';
	if (*p != ')')
		return 0;
	s->p = p + 1;
	return 1;
}

static uint32_t field_of(struct parser *s, const char *p, size_t n)
{
	struct node f = { .kind = N_FIELD };
	static const struct { const char *name; uint8_t op; } common[] = { { "common_type", 't' }, { "common_flags", '0' },
		{ "common_preempt_count", '0' }, { "common_pid", 'p' } };

	f.field = uft_event_field(s->type, p, n);
	if (f.field)
		return add(s, &f);
	for (size_t i = 0; i < sizeof(common) / sizeof(common[0]); i++)
		if (strlen(common[i].name) == n && !strncmp(p, common[i].name, n))
			return add(s, &(struct node){ .kind = N_COMMON, .op = common[i].op });
	return bad(s);
}

/* { value, "text" }, { ... }: the first of the pairs. */
static uint32_t pairs(struct parser *s)
{
	uint32_t first = 0, last = 0;

	while (take(s, ",")) {
		struct node pair = { .kind = N_PAIR };
		uint32_t at;

		if (!take(s, "{"))
			return bad(s);
		pair.a = expression(s);
		if (!take(s, ","))
			return bad(s);
		skip(s);
		pair.text = string(s, &pair.len);
		take(s, ",");
		if (!take(s, "}") || s->is_bad) {
			free(pair.text);
			return bad(s);
		}
		at = add(s, &pair);
		if (!at) {
			free(pair.text);
			return 0;
		}
		if (last)
			s->out->v[last].b = at;
		else
			first = at;
		last = at;
	}
	return first;
}

static uint32_t call(struct parser *s, enum helper helper)
{
	struct node n = { .kind = N_CALL, .helper = (uint8_t)helper };
	size_t len;
	uint32_t at;

	if (!take(s, "("))
		return bad(s);
	switch (helper) {
	case H_STR: case H_DYN: case H_DYN_LEN: case H_BITMASK: case H_SOCKADDR: case H_DYN_ARRAY:
		skip(s);
		len = word_length(s->p);
		n.a = field_of(s, s->p, len);
		s->p += len;
		if (helper == H_DYN_ARRAY) {
			if (!take(s, ","))
				return bad(s);
			n.b = expression(s);
		}
		break;
	case H_SYMBOLIC:
		n.a = expression(s);
		n.c = pairs(s);
		break;
	case H_FLAGS:
		n.a = expression(s);
		if (!take(s, ","))
			return bad(s);
		skip(s);
		n.text = string(s, &n.len);
		n.c = pairs(s);
		break;
	default:
		n.a = expression(s);
		if (!take(s, ","))
			return bad(s);
		n.b = expression(s);
		if (helper == H_ARRAY) {
			if (!take(s, ","))
				return bad(s);
			n.c = expression(s);
		}
		break;
	}
	if (!take(s, ")") || s->is_bad) {
		free(n.text);
		return bad(s);
	}
	at = add(s, &n);
	if (!at)
		free(n.text);
	return at;
}

static uint32_t number(struct parser *s)
{
	struct node n = { .kind = N_NUMBER, .size = 8, .is_signed = 1 };
	char *end;

	n.number = (int64_t)strtoull(s->p, &end, 0);
	s->p = end;
	while (*s->p && strchr("uUlL", *s->p))
		s->p++;
	return add(s, &n);
}

static uint32_t primary(struct parser *s)
{
	struct node n = { .kind = N_STRING };
	size_t len;
	uint32_t at;

	skip(s);
	if (isdigit((unsigned char)*s->p))
		return number(s);
	if (*s->p == '"') {
		n.text = string(s, &n.len);
		at = n.text ? add(s, &n) : 0;
		if (!at)
			free(n.text);
		return at;
	}
	if (*s->p == '\'') {
		n = (struct node){ .kind = N_NUMBER, .size = 8, .is_signed = 1 };
		s->p++;
		n.number = *s->p == '\\' ? (s->p++, escape(s)) : *s->p++;
		return *s->p++ == '\'' ? add(s, &n) : bad(s);
	}
	if (take(s, "(")) {
		if (type_name(s, &n)) {
			n.a = unary(s);
			return add(s, &n);
		}
		at = expression(s);
		return take(s, ")") ? at : bad(s);
	}
	if (take(s, "REC->")) {
		len = word_length(s->p);
		at = field_of(s, s->p, len);
		s->p += len;
		return at;
	}
	if (take(s, "sizeof")) {
		if (!take(s, "(") || !type_name(s, &n))
			return bad(s);
		return add(s, &(struct node){ .kind = N_NUMBER, .size = 8, .number = n.is_pointer ? 8 : n.size });
	}
	len = word_length(s->p);
	for (size_t i = 0; len && i < sizeof(helpers) / sizeof(helpers[0]); i++)
		if (strlen(helpers[i].name) == len && !strncmp(helpers[i].name, s->p, len)) {
			s->p += len;
			return call(s, helpers[i].helper);
		}
	return bad(s);
}

static uint32_t postfix(struct parser *s)
{
	uint32_t at = primary(s);

	while (!s->is_bad && take(s, "[")) {
		uint32_t index = expression(s);

		if (!take(s, "]"))
			return bad(s);
		at = add(s, &(struct node){ .kind = N_INDEX, .a = at, .b = index });
	}
	return at;
}

static uint32_t unary(struct parser *s)
{
	static const struct { char c; enum node_kind kind; } ops[] = { { '-', N_NEG }, { '!', N_NOT }, { '~', N_INVERT }, { '*', N_DEREF } };
	uint32_t at = 0;

	if (s->is_bad || ++s->depth > MAX_DEPTH)
		return bad(s);
	skip(s);
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]) && !at && !s->is_bad; i++)
		if (*s->p == ops[i].c) {
			s->p++;
			at = add(s, &(struct node){ .kind = (uint8_t)ops[i].kind, .a = unary(s) });
		}
	if (!at && !s->is_bad) {
		if (*s->p == '&' || *s->p == '+') {	/* the address of a field is its bytes */
			s->p++;
			at = unary(s);
		} else {
			at = postfix(s);
		}
	}
	s->depth--;
	return at;
}

enum { OP_OROR = 1, OP_ANDAND, OP_OR, OP_XOR, OP_AND, OP_EQ, OP_NE, OP_LE, OP_GE, OP_LT, OP_GT, OP_SHL, OP_SHR, OP_ADD, OP_SUB, OP_MUL, OP_DIV, OP_MOD };
static const struct { const char *text; uint8_t level, op; } binary[] = {
	{ "||", 1, OP_OROR }, { "&&", 2, OP_ANDAND }, { "==", 6, OP_EQ }, { "!=", 6, OP_NE }, { "<<", 8, OP_SHL }, { ">>", 8, OP_SHR },
	{ "<=", 7, OP_LE }, { ">=", 7, OP_GE }, { "<", 7, OP_LT }, { ">", 7, OP_GT }, { "|", 3, OP_OR }, { "^", 4, OP_XOR },
	{ "&", 5, OP_AND }, { "+", 9, OP_ADD }, { "-", 9, OP_SUB }, { "*", 10, OP_MUL }, { "/", 10, OP_DIV }, { "%", 10, OP_MOD },
};

static uint32_t operation(struct parser *s, unsigned least)
{
	uint32_t at = unary(s);

	while (!s->is_bad) {
		size_t i;

		skip(s);
		for (i = 0; i < sizeof(binary) / sizeof(binary[0]); i++)
			if (!strncmp(s->p, binary[i].text, strlen(binary[i].text)))
				break;
		if (i == sizeof(binary) / sizeof(binary[0]) || binary[i].level < least)
			break;
		s->p += strlen(binary[i].text);
		at = add(s, &(struct node){ .kind = N_BINARY, .op = binary[i].op, .a = at, .b = operation(s, binary[i].level + 1u) });
	}
	return at;
}

static uint32_t expression(struct parser *s)
{
	uint32_t at, yes, no;

	if (s->is_bad || ++s->depth > MAX_DEPTH)
		return bad(s);
	at = operation(s, 1);
	if (!s->is_bad && take(s, "?")) {
		yes = expression(s);
		if (!take(s, ":"))
			return bad(s);
		no = expression(s);
		at = add(s, &(struct node){ .kind = N_COND, .a = at, .b = yes, .c = no });
	}
	s->depth--;
	return at;
}

void uft_print_free(struct uft_print *p)
{
	for (uint32_t i = 0; p && i < p->n; i++)
		free(p->v[i].text);
	if (p) {
		free(p->v);
		free(p->format);
	}
	free(p);
}

struct uft_print *uft_print_compile(const struct uft_event_type *type)
{
	struct parser s = { .out = calloc(1, sizeof(*s.out)), .type = type, .p = type->print };

	if (!s.out)
		return NULL;
	add(&s, &(struct node){ .kind = N_NUMBER });
	skip(&s);
	if (*s.p != '"')
		bad(&s);
	s.out->format = s.is_bad ? NULL : string(&s, &s.out->nformat);
	while (!s.is_bad && take(&s, ",")) {
		if (s.out->nargs == MAX_ARGS)
			bad(&s);
		else
			s.out->arg[s.out->nargs++] = expression(&s);
	}
	skip(&s);
	if (s.is_bad || *s.p) {
		uft_print_free(s.out);
		return NULL;
	}
	return s.out;
}

/* ---- Printing -------------------------------------------------------------------------------- */

struct value {
	int64_t number;
	const uint8_t *bytes;		/* NULL: it is a number */
	size_t len;
	uint32_t element;
	int is_signed;
};

struct run {
	const struct uft_print *p;
	const struct uft_print_input *in;
	char temp[TEMP_BYTES];
	size_t ntemp;
};

static struct value of_number(int64_t n)
{
	return (struct value){ .number = n, .is_signed = 1 };
}

static int64_t load(const uint8_t *p, size_t size, int is_signed)
{
	uint64_t v = 0;
	unsigned unused;

	size = size > 8 ? 8 : size;
	memcpy(&v, p, size);
	unused = 64 - 8 * (unsigned)size;
	return !size || !unused ? (int64_t)v : is_signed ? (int64_t)(v << unused) >> unused : (int64_t)v;
}

static struct value of_field(const struct run *r, const struct uft_event_field *f)
{
	uint64_t at = f->offset - UFT_EVENT_COMMON, bytes = f->size;
	struct value v = { .bytes = (const uint8_t *)"", .element = f->element, .is_signed = f->is_signed };

	if (at + bytes <= r->in->bytes && f->place != UFT_FIELD_FIXED) {
		uint32_t where;

		memcpy(&where, r->in->payload + at, 4);
		bytes = where >> 16;
		at = f->place == UFT_FIELD_REL_LOC ? at + 4 + (where & 0xffff) :
		     (where & 0xffff) < UFT_EVENT_COMMON ? UINT64_MAX / 2 : (where & 0xffff) - UFT_EVENT_COMMON;
	}
	if (at + bytes > r->in->bytes)
		return f->is_array ? v : of_number(0);
	v.bytes = r->in->payload + at;
	v.len = bytes;
	if (f->is_array)
		return v;
	return (struct value){ .number = load(v.bytes, bytes, f->is_signed), .is_signed = f->is_signed };
}

static int64_t number_of(const struct value *v)
{
	return v->bytes ? load(v->bytes, v->element && v->element <= v->len ? v->element : 0, v->is_signed) : v->number;
}

static struct value binary_value(uint8_t op, const struct value *x, const struct value *y)
{
	int64_t a = number_of(x), b = number_of(y);
	uint64_t ua = (uint64_t)a, ub = (uint64_t)b;
	int is_signed = x->is_signed && y->is_signed;
	struct value v = { .is_signed = is_signed };

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
	case OP_DIV: v.number = !b ? 0 : is_signed && b == -1 ? (int64_t)-ua : is_signed ? a / b : (int64_t)(ua / ub); break;
	case OP_MOD: v.number = !b || b == -1 ? 0 : is_signed ? a % b : (int64_t)(ua % ub); break;
	}
	return v;
}

/* ---- Texts of helpers ---- */

struct text { char *p; size_t n, room; };

static struct text begin_text(struct run *r)
{
	return (struct text){ r->temp + r->ntemp, 0, sizeof(r->temp) - r->ntemp };
}

static void put(struct text *t, const char *from, size_t n)
{
	n = n < t->room - t->n ? n : t->room - t->n;
	memcpy(t->p + t->n, from, n);
	t->n += n;
}

static __attribute__((format(printf, 2, 3))) void put_format(struct text *t, const char *format, ...)
{
	char part[64];
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(part, sizeof(part), format, ap);
	va_end(ap);
	if (n > 0)
		put(t, part, (size_t)n < sizeof(part) ? (size_t)n : sizeof(part) - 1);
}

static struct value end_text(struct run *r, const struct text *t)
{
	r->ntemp += t->n;
	return (struct value){ .bytes = (const uint8_t *)t->p, .len = t->n, .element = 1 };
}

static struct value eval(struct run *r, uint32_t at);

static void put_symbolic(struct run *r, struct text *t, const struct node *n, uint64_t value)
{
	for (uint32_t i = n->c; i; i = r->p->v[i].b) {
		struct value key = eval(r, r->p->v[i].a);

		if ((uint64_t)number_of(&key) == value) {
			put(t, r->p->v[i].text, r->p->v[i].len);
			return;
		}
	}
	put_format(t, "0x%" PRIx64, value);
}

static void put_flags(struct run *r, struct text *t, const struct node *n, uint64_t value)
{
	int is_first = 1;

	for (uint32_t i = n->c; i && value; i = r->p->v[i].b) {
		struct value key = eval(r, r->p->v[i].a);
		uint64_t mask = (uint64_t)number_of(&key);

		if ((value & mask) != mask)
			continue;
		value &= ~mask;
		if (!is_first)
			put(t, n->text, n->len);
		put(t, r->p->v[i].text, r->p->v[i].len);
		is_first = 0;
	}
	if (value) {
		if (!is_first)
			put(t, n->text, n->len);
		put_format(t, "0x%" PRIx64, value);
	}
}

static void put_array(struct text *t, const struct value *bytes, uint64_t count, uint64_t size)
{
	put(t, "{", 1);
	for (uint64_t i = 0; (size == 1 || size == 2 || size == 4 || size == 8) && i < count && (i + 1) * size <= bytes->len; i++)
		put_format(t, "%s0x%" PRIx64, i ? "," : "", (uint64_t)load(bytes->bytes + i * size, size, 0));
	put(t, "}", 1);
}

/* As %*pb: words of 32 bits, the highest first. */
static void put_bitmask(struct text *t, const struct value *bytes)
{
	for (size_t i = bytes->len / 4; i--;)
		put_format(t, "%08x%s", (uint32_t)load(bytes->bytes + 4 * i, 4, 0), i ? "," : "");
}

static void put_sockaddr(struct text *t, const struct value *bytes)
{
	char text[INET6_ADDRSTRLEN];
	uint64_t family = bytes->len >= 2 ? (uint64_t)load(bytes->bytes, 2, 0) : 0;
	uint16_t port = 0;

	if (bytes->len >= 4)
		memcpy(&port, bytes->bytes + 2, 2);
	if (family == AF_INET && bytes->len >= 8 && inet_ntop(AF_INET, bytes->bytes + 4, text, sizeof(text)))
		put_format(t, "%s:%u", text, ntohs(port));
	else if (family == AF_INET6 && bytes->len >= 24 && inet_ntop(AF_INET6, bytes->bytes + 8, text, sizeof(text)))
		put_format(t, "[%s]:%u", text, ntohs(port));
}

static struct value eval_call(struct run *r, const struct node *n)
{
	struct value a = eval(r, n->a), b, c;
	struct text t;

	if (n->helper == H_STR || n->helper == H_DYN)
		return a;
	if (n->helper == H_DYN_LEN)
		return of_number((int64_t)a.len);
	b = n->helper == H_HEX || n->helper == H_HEX_STR || n->helper == H_ARRAY || n->helper == H_DYN_ARRAY ? eval(r, n->b) : of_number(0);
	c = n->helper == H_ARRAY ? eval(r, n->c) : of_number(0);
	t = begin_text(r);
	switch (n->helper) {
	case H_SYMBOLIC: put_symbolic(r, &t, n, (uint64_t)number_of(&a)); break;
	case H_FLAGS: put_flags(r, &t, n, (uint64_t)number_of(&a)); break;
	case H_HEX: case H_HEX_STR:
		for (int64_t i = 0; a.bytes && i < number_of(&b) && (uint64_t)i < a.len; i++)
			put_format(&t, "%s%2.2x", i && n->helper == H_HEX ? " " : "", a.bytes[i]);
		break;
	case H_ARRAY: if (a.bytes) put_array(&t, &a, (uint64_t)number_of(&b), (uint64_t)number_of(&c)); break;
	case H_DYN_ARRAY: if (a.bytes && number_of(&b) > 0) put_array(&t, &a, a.len / (uint64_t)number_of(&b), (uint64_t)number_of(&b)); break;
	case H_BITMASK: if (a.bytes) put_bitmask(&t, &a); break;
	case H_SOCKADDR: if (a.bytes) put_sockaddr(&t, &a); break;
	}
	return end_text(r, &t);
}

static struct value element_at(const struct value *v, uint64_t i)
{
	if (!v->bytes || !v->element || i >= v->len / v->element)
		return of_number(0);
	return (struct value){ .number = load(v->bytes + i * v->element, v->element, v->is_signed), .is_signed = v->is_signed };
}

static struct value eval(struct run *r, uint32_t at)
{
	const struct node *n = &r->p->v[at];
	struct value a, b;

	switch (n->kind) {
	case N_NUMBER:
		return of_number(n->number);
	case N_STRING:
		return (struct value){ .bytes = (const uint8_t *)n->text, .len = n->len, .element = 1 };
	case N_FIELD:
		return of_field(r, n->field);
	case N_COMMON:
		return of_number(n->op == 'p' ? (int32_t)r->in->tid : n->op == 't' ? (int64_t)r->in->kernel_id : 0);
	case N_COND:
		a = eval(r, n->a);
		return eval(r, a.bytes || a.number ? n->b : n->c);
	case N_BINARY:
		a = eval(r, n->a);
		if ((n->op == OP_OROR && number_of(&a)) || (n->op == OP_ANDAND && !number_of(&a)))
			return of_number(n->op == OP_OROR);
		b = eval(r, n->b);
		return binary_value(n->op, &a, &b);
	case N_INDEX:
		a = eval(r, n->a);
		b = eval(r, n->b);
		return element_at(&a, (uint64_t)number_of(&b));
	case N_CALL:
		return eval_call(r, n);
	case N_DEREF:
		a = eval(r, n->a);
		return element_at(&a, 0);
	case N_CAST:
		a = eval(r, n->a);
		if (n->is_pointer) {
			a.element = n->size;
			a.is_signed = n->is_signed;
			return a;
		}
		a.number = number_of(&a);
		return (struct value){ .number = load((const uint8_t *)&a.number, n->size, n->is_signed), .is_signed = n->is_signed };
	default:
		a = eval(r, n->a);
		a.number = number_of(&a);
		return (struct value){ .number = n->kind == N_NEG ? (int64_t)-(uint64_t)a.number : n->kind == N_NOT ? !a.number : ~a.number, .is_signed = a.is_signed };
	}
}

/* ---- The format ---- */

struct conversion { char flags[8]; int width, precision, length; char c; };	/* length: bytes of a number; precision -1: none */

static const char *take_conversion(struct run *r, const char *p, uint32_t *arg, struct conversion *c)
{
	size_t nflags = 0;
	int *number[2] = { &c->width, &c->precision };

	*c = (struct conversion){ .precision = -1, .length = 4 };
	for (; *p && strchr("-+ #0", *p); p++)
		if (nflags < sizeof(c->flags) - 1)
			c->flags[nflags++] = *p;
	for (int i = 0; i < 2; i++) {
		if (i && *p != '.')
			break;
		p += i;
		*number[i] = 0;
		if (*p == '*') {
			struct value v = *arg < r->p->nargs ? eval(r, r->p->arg[(*arg)++]) : of_number(0);

			*number[i] = (int)number_of(&v);
			p++;
		}
		for (; isdigit((unsigned char)*p); p++)
			*number[i] = *number[i] < 100000 ? 10 * *number[i] + (*p - '0') : 100000;
	}
	for (; *p && strchr("hljztLq", *p); p++)
		c->length = *p == 'h' ? (c->length == 2 ? 1 : 2) : 8;
	c->c = *p;
	return *p ? p + 1 : p;
}

static void put_padded(struct text *t, const struct conversion *c, const char *from, size_t n)
{
	size_t pad = c->width > 0 && (size_t)c->width > n ? (size_t)c->width - n : 0;
	int is_left = strchr(c->flags, '-') != NULL;

	for (size_t i = 0; !is_left && i < pad; i++)
		put(t, " ", 1);
	put(t, from, n);
	for (size_t i = 0; is_left && i < pad; i++)
		put(t, " ", 1);
}

static void put_number(struct text *t, const struct conversion *c, int64_t v)
{
	char spec[32], part[160];
	int width = c->width > 128 ? 128 : c->width < -128 ? -128 : c->width, n, is_signed = c->c == 'd' || c->c == 'i';
	unsigned unused = 64 - 8 * (unsigned)c->length;

	v = !unused ? v : is_signed ? (int64_t)((uint64_t)v << unused) >> unused : (int64_t)((uint64_t)v << unused >> unused);
	if (c->precision >= 0) {
		snprintf(spec, sizeof(spec), "%%%s*.*ll%c", c->flags, c->c);
		n = snprintf(part, sizeof(part), spec, width, c->precision > 100 ? 100 : c->precision, (long long)v);
	} else {
		snprintf(spec, sizeof(spec), "%%%s*ll%c", c->flags, c->c);
		n = snprintf(part, sizeof(part), spec, width, (long long)v);
	}
	if (n > 0)
		put(t, part, (size_t)n < sizeof(part) ? (size_t)n : sizeof(part) - 1);
}

static void put_string(struct text *t, const struct conversion *c, const struct value *v)
{
	const char *text = v->bytes ? (const char *)v->bytes : "(null)";
	size_t n = v->bytes ? strnlen(text, v->len) : 6;

	put_padded(t, c, text, c->precision >= 0 && (size_t)c->precision < n ? (size_t)c->precision : n);
}

/* %p, and what follows it: %pS and %ps are names of code. */
static const char *put_pointer(struct run *r, struct text *t, const struct conversion *c, const char *p, const struct value *v)
{
	char name[512];
	size_t n = 0;
	char how = isalpha((unsigned char)*p) ? *p : 0;

	if (how && strchr("SsFfBx", how))
		p++;
	if (how && strchr("SsFfB", how) && r->in->name)
		n = r->in->name(r->in->arg, (uint64_t)number_of(v), how != 's' && how != 'f', name, sizeof(name));
	if (!n)
		n = (size_t)snprintf(name, sizeof(name), how && strchr("SsFfB", how) ? "0x%" PRIx64 : "%016" PRIx64, (uint64_t)number_of(v));
	put_padded(t, c, name, n);
	return p;
}

size_t uft_print_event(const struct uft_print *p, const struct uft_print_input *in, char *to, size_t room)
{
	struct run r = { .p = p, .in = in };
	struct text t = { to, 0, room };
	uint32_t arg = 0;

	for (const char *c = p->format, *end = c + p->nformat; c < end;) {
		struct conversion conv;
		struct value v;
		const char *percent = memchr(c, '%', (size_t)(end - c));

		put(&t, c, (size_t)((percent ? percent : end) - c));
		if (!percent)
			break;
		c = percent + 1;
		if (*c == '%') {
			put(&t, "%", 1);
			c++;
			continue;
		}
		c = take_conversion(&r, c, &arg, &conv);
		v = arg < p->nargs ? eval(&r, p->arg[arg++]) : of_number(0);
		switch (conv.c) {
		case 'd': case 'i': case 'u': case 'x': case 'X': case 'o':
			put_number(&t, &conv, number_of(&v));
			break;
		case 'c':
			put_padded(&t, &conv, &(char){ (char)number_of(&v) }, 1);
			break;
		case 's':
			put_string(&t, &conv, &v);
			break;
		case 'p':
			c = put_pointer(&r, &t, &conv, c, &v);
			break;
		}
		if (r.ntemp > TEMP_BYTES / 2)
			r.ntemp = 0;		/* texts of earlier arguments are printed */
	}
	return t.n;
}
