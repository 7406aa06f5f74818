/* SPDX-License-Identifier: MIT */
/*
 * event_filter.c - the kernel's event filters over the fields of an event that has a name
 *
 *	or	and { `||` and }
 *	and	not { `&&` not }
 *	not	`!` not | `(` or `)` | FIELD OP VALUE
 *
 * Numbers compare by == != < <= > >= and & (has one of these bits), or with CPUS{0-3,5}; texts, in quotes, by
 * == != and ~ (a glob). Beside its own fields every event has those that are common to all, CPU and COMM.
 * Grammar, errors, their errno and the place of the caret are those of a kernel 6.12, which was asked: behind
 * a field or in front of a value it stands one further to the right than it could.
 *
 * A filter is a list of nodes that refer to earlier ones; it does not change and is for any thread.
 */
#include "stream/select/event_filter.h"
#include "stream/select/event_field.h"
#include "symbol/names.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH	100	/* of parentheses and ! */
#define CPU_WORDS	64	/* CPUS{} names CPUs below 4096 */
#define NUMBER_BYTES	24u	/* the kernel's: a number, and a text, is shorter */
#define TEXT_BYTES	256u

enum op { OP_EQ, OP_NE, OP_GLOB, OP_LE, OP_LT, OP_GE, OP_GT, OP_BITS, NOPS };	/* longer ones before those that they begin with */
static const char *const op_text[NOPS] = { "==", "!=", "~", "<=", "<", ">=", ">", "&" };

enum node_kind { NODE_AND, NODE_OR, NODE_NOT, NODE_NUMBER, NODE_TEXT, NODE_CPUS };
enum special { OF_FIELD, OF_TID, OF_TYPE, OF_ZERO, OF_CPU, OF_COMM };

struct node {
	enum node_kind kind;
	uint32_t a, b;			/* AND, OR, NOT: of nodes */
	enum special of;
	const struct uft_event_field *field;
	enum op op;
	int64_t number;
	int is_unsigned;
	char *text;
	uint64_t *cpus;
};

struct uft_event_filter {
	const struct uft_event_type *type;
	struct node *v;
	uint32_t n, cap;
};

struct parser {
	struct uft_event_filter *f;
	const char *text, *p;
	int depth;
	struct uft_filter_error *err;
};

static int fail(struct parser *s, int ret, const char *what, size_t at)
{
	*s->err = (struct uft_filter_error){ what, at < strlen(s->text) ? at : strlen(s->text) };
	return ret;
}

static int add(struct parser *s, const struct node *n, uint32_t *out)
{
	struct uft_event_filter *f = s->f;

	if (f->n == f->cap) {
		uint32_t cap = f->cap ? 2 * f->cap : 8;
		struct node *grown = realloc(f->v, cap * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		f->v = grown;
		f->cap = cap;
	}
	f->v[f->n] = *n;
	*out = f->n++;
	return 0;
}

static void skip(struct parser *s)
{
	while (isspace((unsigned char)*s->p))
		s->p++;
}

/* ---- One predicate --------------------------------------------------------------------------- */

static int is_name(const char *p, size_t n, const char *name)
{
	return strlen(name) == n && !memcmp(p, name, n);
}

/* 1: found. Its own fields come first, as `comm` may be one of them. */
static int find_field(const struct uft_event_type *type, const char *p, size_t n, struct node *out)
{
	static const struct { const char *name; enum special of; } common[] = {
		{ "common_pid", OF_TID }, { "common_type", OF_TYPE }, { "common_flags", OF_ZERO }, { "common_preempt_count", OF_ZERO },
		{ "CPU", OF_CPU }, { "cpu", OF_CPU }, { "COMM", OF_COMM }, { "comm", OF_COMM },
	};

	out->field = uft_event_field(type, p, n);
	if (out->field) {
		out->of = OF_FIELD;
		return 1;
	}
	for (size_t i = 0; i < sizeof(common) / sizeof(common[0]); i++)
		if (is_name(p, n, common[i].name)) {
			out->of = common[i].of;
			return 1;
		}
	return 0;
}

static int is_text(const struct node *n)
{
	return n->of == OF_COMM || (n->of == OF_FIELD && n->field->is_string);
}

static enum op take_op(struct parser *s)
{
	enum op op = OP_EQ;

	while (op < NOPS && strncmp(s->p, op_text[op], strlen(op_text[op])))
		op++;
	s->p += op < NOPS ? strlen(op_text[op]) : 0;
	return op;
}

static int take_text(struct parser *s, struct node *n, size_t at)
{
	const char *end = strchr(s->p + 1, *s->p);

	if (n->op != OP_EQ && n->op != OP_NE && n->op != OP_GLOB)
		return fail(s, -EINVAL, "Illegal operation for field type", at);
	if (!is_text(n))
		return fail(s, -EINVAL, "Expecting numeric field", at);
	if (!end)
		return fail(s, -EINVAL, "Missing matching quote", at);
	if ((size_t)(end - s->p - 1) >= TEXT_BYTES)
		return fail(s, -EINVAL, "Operand too long", (size_t)(end - s->text) + 1);
	n->kind = NODE_TEXT;
	n->text = strndup(s->p + 1, (size_t)(end - s->p - 1));
	s->p = end + 1;
	return n->text ? 0 : -ENOMEM;
}

static uint32_t size_of(const struct node *n)
{
	return n->of == OF_FIELD ? n->field->size : n->of == OF_ZERO ? 1 : n->of == OF_TYPE ? 2 : 4;
}

/*
 * A number as what it is compared with holds it: the kernel cuts it to the field's size. 0: it is none, or
 * too large to be one.
 */
static int read_number(const char *text, struct node *n)
{
	int is_signed = n->of == OF_TID || n->of == OF_CPU || (n->of == OF_FIELD && n->field->is_signed);
	char *end;

	errno = 0;
	n->number = is_signed ? strtoll(text, &end, 0) : (int64_t)strtoull(text, &end, 0);
	if (errno || *end || end == text + (*text == '-') || (*text == '-' && !is_signed))
		return 0;
	n->number = uft_field_number((const uint8_t *)&n->number, size_of(n), is_signed);
	n->is_unsigned = !is_signed;
	return 1;
}

static int take_number(struct parser *s, struct node *n, size_t at)
{
	char text[NUMBER_BYTES];
	size_t len = *s->p == '-';

	if (is_text(n))
		return fail(s, -EINVAL, "Expecting string field", at);
	if (n->op == OP_GLOB)
		return fail(s, -EINVAL, "Illegal operation for field type", at);
	while (isalnum((unsigned char)s->p[len]))
		len++;
	if (len >= sizeof(text))
		return fail(s, -EINVAL, "Operand too long", at + len);
	memcpy(text, s->p, len);
	text[len] = '\0';
	n->kind = NODE_NUMBER;
	if (!read_number(text, n))
		return fail(s, -EINVAL, "Illegal integer value", at);
	s->p += len;
	return 0;
}

/* 0: no list of CPUs. */
static int read_cpus(const char *p, const char *end, uint64_t *cpus)
{
	while (p < end) {
		char *next;
		unsigned long from, to;

		if (!isdigit((unsigned char)*p))
			return 0;
		from = to = strtoul(p, &next, 10);
		if (*next == '-' && isdigit((unsigned char)next[1]))
			to = strtoul(next + 1, &next, 10);
		if (from > to || to >= 64 * CPU_WORDS || (next < end && *next != ','))
			return 0;
		for (; from <= to; from++)
			cpus[from / 64] |= 1ull << from % 64;
		p = next + (next < end);
	}
	return 1;
}

static int take_cpus(struct parser *s, struct node *n, size_t at)
{
	const char *from = s->p + strlen("CPUS{"), *end = strchr(from, '}');

	if (is_text(n) || (n->op != OP_EQ && n->op != OP_NE && n->op != OP_BITS))
		return fail(s, -EINVAL, "Illegal operation for field type", at);
	if (!end)
		return fail(s, -EINVAL, "Missing closing brace", at);
	n->kind = NODE_CPUS;
	n->cpus = calloc(CPU_WORDS, sizeof(*n->cpus));
	if (!n->cpus)
		return -ENOMEM;
	if (!read_cpus(from, end, n->cpus))
		return fail(s, -EINVAL, "Invalid cpulist", at);
	s->p = end + 1;
	return 0;
}

static int predicate(struct parser *s, uint32_t *out)
{
	struct node n = { .kind = NODE_NUMBER };
	size_t at = (size_t)(s->p - s->text) + 1, len = 0;
	int ret;

	while (isalnum((unsigned char)s->p[len]) || s->p[len] == '_')
		len++;
	if (!find_field(s->f->type, s->p, len, &n))
		return fail(s, -EINVAL, "Field not found", at + len);
	s->p += len;
	if (is_text(&n) && !strncmp(s->p, ".ustring", 8))	/* where the text is does not matter to who has it */
		s->p += 8;
	skip(s);
	n.op = take_op(s);
	at = (size_t)(s->p - s->text) + 1;
	if (n.op == NOPS)
		return fail(s, -EINVAL, "Invalid operator", at);
	skip(s);
	at = (size_t)(s->p - s->text) + 1;
	if (*s->p == '"' || *s->p == '\'')
		ret = take_text(s, &n, at);
	else if (isdigit((unsigned char)*s->p) || *s->p == '-')
		ret = take_number(s, &n, at);
	else if (!strncmp(s->p, "CPUS{", 5))
		ret = take_cpus(s, &n, at);
	else
		ret = fail(s, -EINVAL, "Invalid value (did you forget quotes)?", at);
	if (!ret)
		ret = add(s, &n, out);
	if (ret) {
		free(n.text);
		free(n.cpus);
	}
	return ret;
}

/* ---- How they are joined --------------------------------------------------------------------- */

static int parse_or(struct parser *s, uint32_t *out);

static int parse_not(struct parser *s, uint32_t *out)
{
	struct node n = { .kind = NODE_NOT };
	int ret;

	skip(s);
	if (!*s->p)
		return fail(s, -EINVAL, "Meaningless filter expression", (size_t)(s->p - s->text));
	if (*s->p == ')' || *s->p == '&' || *s->p == '|')
		return fail(s, *s->p == ')' ? -EINVAL : -EPERM, "Error", 0);
	if (*s->p != '!' && *s->p != '(')
		return predicate(s, out);
	if (++s->depth > MAX_DEPTH)
		return fail(s, -E2BIG, "Too many '('", (size_t)(s->p - s->text));
	if (*s->p++ == '!') {
		ret = parse_not(s, &n.a);
		ret = ret ? ret : add(s, &n, out);
	} else {
		ret = parse_or(s, out);
		skip(s);
		if (!ret && *s->p != ')')
			ret = fail(s, -EPERM, "Too many terms in predicate expression", (size_t)(s->p - s->text));
		s->p += !ret;
	}
	s->depth--;
	return ret;
}

/* @next on both sides of @op, as often as there is one. */
static int parse_joined(struct parser *s, const char *op, enum node_kind kind, int (*next)(struct parser *s, uint32_t *out), uint32_t *out)
{
	struct node n = { .kind = kind };
	int ret = next(s, out);

	for (skip(s); !ret && !strncmp(s->p, op, 2); skip(s)) {
		n.a = *out;
		s->p += 2;
		ret = next(s, &n.b);
		if (!ret)
			ret = add(s, &n, out);
	}
	return ret;
}

static int parse_and(struct parser *s, uint32_t *out)
{
	return parse_joined(s, "&&", NODE_AND, parse_not, out);
}

static int parse_or(struct parser *s, uint32_t *out)
{
	return parse_joined(s, "||", NODE_OR, parse_and, out);
}

/* Parentheses and quotes of the whole, before anything else: as in the kernel their errors come first. */
static int check_pairs(struct parser *s)
{
	const char *quote = NULL;
	int open = 0;

	for (const char *p = s->text; *p; p++) {
		if (quote) {
			quote = *p == *quote ? NULL : quote;
		} else if (*p == '"' || *p == '\'') {
			quote = p;
		} else if (*p == '(') {
			open++;
		} else if (*p == ')' && !open--) {
			return fail(s, -EPERM, "Too few '('", (size_t)(p - s->text));
		}
	}
	if (quote)
		return fail(s, -ESRCH, "Missing matching quote", (size_t)(quote - s->text));
	return open ? fail(s, -ENOENT, "Too many '('", 0) : 0;
}

int uft_event_filter_make(const struct uft_event_type *type, const char *text, struct uft_event_filter **out, struct uft_filter_error *err)
{
	struct uft_event_filter *f = calloc(1, sizeof(*f));
	struct parser s = { .f = f, .text = text, .p = text, .err = err };
	uint32_t last;
	int ret = f ? 0 : -ENOMEM;

	*out = NULL;
	*err = (struct uft_filter_error){ "Error", 0 };
	if (!ret)
		f->type = type;
	if (!ret && strlen(text) >= UFT_FILTER_BYTES)
		ret = -E2BIG;
	if (!ret)
		ret = check_pairs(&s);
	if (!ret)
		ret = parse_or(&s, &last);	/* the last node is the whole */
	if (!ret && *s.p)
		ret = fail(&s, -EPERM, "Too many terms in predicate expression", (size_t)(s.p - text));
	if (ret) {
		uft_event_filter_free(f);
		return ret;
	}
	*out = f;
	return 0;
}

void uft_event_filter_free(struct uft_event_filter *f)
{
	for (uint32_t i = 0; f && i < f->n; i++) {
		free(f->v[i].text);
		free(f->v[i].cpus);
	}
	if (f)
		free(f->v);
	free(f);
}

/* ---- Trying an event ------------------------------------------------------------------------- */

static struct uft_field_value value_of(const struct uft_event_filter *f, const struct node *n, const struct uft_event *ev)
{
	struct uft_field_value v = { NULL, 0, 0 };
	const char *comm = ev->task->comm ? ev->task->comm : "";

	if (n->of == OF_FIELD)
		return uft_event_value(ev, n->field);
	if (n->of == OF_COMM) {
		v.bytes = (const uint8_t *)comm;
		v.len = strlen(comm);
	}
	v.number = n->of == OF_TID ? ev->task->tid : n->of == OF_TYPE ? f->type->kernel_id : n->of == OF_CPU ? ev->cpu : 0;
	return v;
}

static int match_text(const struct node *n, const struct uft_field_value *v)
{
	char text[UFT_EVENT_PAYLOAD_MAX + 1];
	size_t len = v->len < sizeof(text) ? v->len : sizeof(text) - 1;

	memcpy(text, v->bytes, len);
	text[len] = '\0';
	if (n->op == OP_GLOB)
		return uft_glob_match(n->text, text);
	return !strcmp(n->text, text) == (n->op == OP_EQ);
}

static int match_cpus(const struct node *n, int64_t cpu)
{
	int is_in = cpu >= 0 && cpu < 64 * CPU_WORDS && n->cpus[cpu / 64] >> cpu % 64 & 1, others = 0;

	for (int i = 0; i < CPU_WORDS; i++)
		others |= (n->cpus[i] & ~(is_in && i == cpu / 64 ? 1ull << cpu % 64 : 0)) != 0;
	return n->op == OP_BITS ? is_in : (is_in && !others) == (n->op == OP_EQ);	/* one CPU equals a list of that one */
}

static int match_number(const struct node *n, int64_t v)
{
	uint64_t u = (uint64_t)v, number = (uint64_t)n->number;

	switch (n->op) {
	case OP_EQ: return v == n->number;
	case OP_NE: return v != n->number;
	case OP_LE: return n->is_unsigned ? u <= number : v <= n->number;
	case OP_LT: return n->is_unsigned ? u < number : v < n->number;
	case OP_GE: return n->is_unsigned ? u >= number : v >= n->number;
	case OP_GT: return n->is_unsigned ? u > number : v > n->number;
	default: return (v & n->number) != 0;
	}
}

static int match(const struct uft_event_filter *f, uint32_t i, const struct uft_event *ev)
{
	const struct node *n = &f->v[i];
	struct uft_field_value v;

	switch (n->kind) {
	case NODE_AND: return match(f, n->a, ev) && match(f, n->b, ev);
	case NODE_OR: return match(f, n->a, ev) || match(f, n->b, ev);
	case NODE_NOT: return !match(f, n->a, ev);
	default: break;
	}
	v = value_of(f, n, ev);
	if (n->kind == NODE_TEXT)
		return match_text(n, &v);
	return n->kind == NODE_CPUS ? match_cpus(n, v.number) : match_number(n, v.number);
}

int uft_event_filter_match(const struct uft_event_filter *f, const struct uft_event *ev)
{
	return match(f, f->n - 1, ev);
}
