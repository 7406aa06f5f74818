/* SPDX-License-Identifier: MIT */
/*
 * event_filter.c - the kernel's event filters become programs (program/program.h)
 *
 *	or	and { `||` and }
 *	and	not { `&&` not }
 *	not	`!` not | `(` or `)` | FIELD OP VALUE
 *
 * Numbers compare by == != < <= > >= and & (has one of these bits), or with CPUS{0-3,5}; masks of CPUs compare in the
 * same ways. Texts, in quotes, compare by == != and ~ (a glob). FIELD.function compares, by == and !=, with a
 * function's name or with an address in it. Besides its own fields every event has the common ones, CPU and COMM.
 * Grammar, errors, their errno and the place of the caret are those of a kernel 6.12, as measured: behind a field or in
 * front of a value the caret stands one too far to the right. In one point uft differs from a kernel: the functions are
 * known when an event comes, not when the filter is written, so any name is accepted.
 *
 * The text becomes nodes that refer to earlier ones. Steps are made from the last node to the first, so that each step
 * knows its successors: of `a && b` first those of b, then those of a, whose way for yes is b's first step. `!` swaps
 * the ways. A condition that is the same for every record of the type (common_type) makes no step.
 */
#include "symbol/array.h"
#include "symbol/event_filter.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_DEPTH	1000	/* of parentheses and !, because parsing recurses; a kernel takes as many as fit */
#define CPU_WORDS	64	/* CPUS{} names CPUs below 4096 */
#define CPU_BREAKS	", \t\n"
#define NUMBER_BYTES	24u	/* the kernel's bound: numbers and texts are shorter */
#define TEXT_BYTES	256u
#define CONSTANT_BYTES	(UFT_PROGRAM_BYTES - sizeof(struct uft_program) - UFT_PROGRAM_STEPS * sizeof(struct uft_step))

/* an operator stands before its own prefixes */
enum op { OP_EQ, OP_NE, OP_GLOB, OP_LE, OP_LT, OP_GE, OP_GT, OP_BITS, NOPS };
static const char *const op_text[NOPS] = { "==", "!=", "~", "<=", "<", ">=", ">", "&" };

enum node_kind { NODE_AND, NODE_OR, NODE_NOT, NODE_NUMBER, NODE_TEXT, NODE_CPUS, NODE_FUNCTION };
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

struct nodes { struct node *v; uint32_t n, cap; };

struct parser {
	const struct uft_event_type *type;
	struct nodes nodes;
	const char *text, *p;
	int depth;
	struct uft_filter_error *err;
};

static int fail(struct parser *s, int ret, const char *what, size_t at)
{
	*s->err = (struct uft_filter_error){ what, at <= strlen(s->text) ? at : strlen(s->text) + 1 };
	return ret;
}

static int add(struct parser *s, const struct node *n, uint32_t *out)
{
	struct nodes *f = &s->nodes;

	if (array_reserve(f->v, f->cap, f->n + 1))
		return -ENOMEM;
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

/* 1: found. The type's own fields come first, as `comm` may be one of them. */
static int find_field(const struct uft_event_type *type, const char *p, size_t n, struct node *out)
{
	static const struct { const char *name; enum special of; } common[] = {
		{ "common_pid", OF_TID }, { "common_type", OF_TYPE }, { "common_flags", OF_ZERO },
		{ "common_preempt_count", OF_ZERO },
		{ "CPU", OF_CPU }, { "cpu", OF_CPU }, { "common_cpu", OF_CPU }, { "COMM", OF_COMM },
		{ "comm", OF_COMM },
		{ "stacktrace", OF_ZERO },
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

static int64_t cut(int64_t number, uint32_t size, int is_signed)
{
	unsigned unused = size && size < 8 ? 64 - 8 * size : 0;
	uint64_t v = (uint64_t)number << unused;

	return is_signed ? (int64_t)v >> unused : (int64_t)(v >> unused);
}

/* Reads a number as the field would hold it: the kernel cuts it to the field's size. 0: no number, or too large. */
static int read_number(const char *text, struct node *n)
{
	int is_signed = n->of == OF_TID || n->of == OF_CPU || (n->of == OF_FIELD && n->field->is_signed);
	char *end;

	errno = 0;
	n->number = is_signed ? strtoll(text, &end, 0) : (int64_t)strtoull(text, &end, 0);
	if (errno || *end || end == text + (*text == '-') || (*text == '-' && !is_signed))
		return 0;
	n->number = cut(n->number, size_of(n), is_signed);
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

static int take_cpu(const char **p, unsigned long last, unsigned long *out)
{
	char *next = (char *)*p + 1;

	*out = **p == 'N' ? last : isdigit((unsigned char)**p) ? strtoul(*p, &next, 10) : ~0ul;
	*p = next;
	return *out != ~0ul;
}

/*
 * Reads a kernel's list of CPUs: CPUs and ranges, `0-3,5`, `0-15:2/4` (the first two of each four), `all`, and N for
 * the machine's last CPU, separated by commas and blanks. 0: no list.
 */
static int read_cpus(const char *p, const char *end, uint64_t *cpus)
{
	long configured = sysconf(_SC_NPROCESSORS_CONF);
	unsigned long last = configured > 0 && configured <= 64 * CPU_WORDS ? (unsigned long)configured - 1 : 0;

	for (p += strspn(p, CPU_BREAKS); p < end; p += strspn(p, CPU_BREAKS)) {
		unsigned long from = 0, to = last, used = 1, of = 1;
		int is_range = !strncasecmp(p, "all", 3);

		if (is_range) {
			p += 3;
		} else {
			if (!take_cpu(&p, last, &from))
				return 0;
			to = from;
			is_range = *p == '-';
			if (is_range && (p++, !take_cpu(&p, last, &to)))
				return 0;
		}
		if (is_range && *p == ':' &&
		    (p++, !take_cpu(&p, last, &used) || *p++ != '/' || !take_cpu(&p, last, &of)))
			return 0;
		if (from > to || to >= 64 * CPU_WORDS || !of || used > of || !strchr(CPU_BREAKS "}", *p))
			return 0;
		for (unsigned long cpu = from; cpu <= to; cpu++)
			if ((cpu - from) % of < used)
				cpus[cpu / 64] |= 1ull << cpu % 64;
	}
	return 1;
}

static int is_mask(const struct node *n)
{
	return n->of == OF_FIELD && strstr(n->field->type, "cpumask_t");
}

static int take_cpus(struct parser *s, struct node *n, size_t at)
{
	const char *from = s->p + strlen("CPUS{"), *end;

	if (is_text(n) || (n->op != OP_EQ && n->op != OP_NE && n->op != OP_BITS))
		return fail(s, -EINVAL, "Illegal operation for field type", at);
	if (from[-1] != '{')
		return fail(s, -EINVAL, "Missing '{'", at + strlen("CPUS{"));
	end = strchr(from, '}');
	if (!end)
		return fail(s, -EINVAL, "Missing '}'", strlen(s->text) + 1);
	n->kind = NODE_CPUS;
	n->cpus = calloc(CPU_WORDS, sizeof(*n->cpus));
	if (!n->cpus)
		return -ENOMEM;
	if (from == end || !read_cpus(from, end, n->cpus))
		return fail(s, -EINVAL, "Invalid cpulist", (size_t)(end - s->text) + 1);
	s->p = end + 1;
	return 0;
}

/* Takes a name, or an address in any function. */
static int take_function(struct parser *s, struct node *n, size_t at)
{
	size_t len = 0;
	char *end;

	if (is_text(n) || size_of(n) != sizeof(uint64_t))
		return fail(s, -EINVAL, "Illegal operation for field type", at);
	if (n->op != OP_EQ && n->op != OP_NE)
		return fail(s, -EINVAL, "Invalid operator", at);
	if (isdigit((unsigned char)*s->p)) {
		while (isalnum((unsigned char)s->p[len]))
			len++;
		errno = 0;
		if (len < NUMBER_BYTES)
			strtoull(s->p, &end, 0);
		if (len >= NUMBER_BYTES || errno || end != s->p + len)
			return fail(s, -EINVAL, "Invalid value (did you forget quotes)?", at + len);
	} else {
		while (s->p[len] && !isspace((unsigned char)s->p[len]) && !strchr("()&|", s->p[len]))
			len++;
		if (!len || *s->p == '"' || *s->p == '\'')
			return fail(s, -EINVAL, "Function not found", at + len);
	}
	n->kind = NODE_FUNCTION;
	n->text = strndup(s->p, len);
	s->p += len;
	return n->text ? 0 : -ENOMEM;
}

static int predicate(struct parser *s, uint32_t *out)
{
	struct node n = { .kind = NODE_NUMBER };
	size_t at = (size_t)(s->p - s->text) + 1, len = 0;
	int ret, is_function = 0;

	while (isalnum((unsigned char)s->p[len]) || s->p[len] == '_')
		len++;
	if (!find_field(s->type, s->p, len, &n))
		return fail(s, -EINVAL, "Field not found", at + len);
	s->p += len;
	if (!strncmp(s->p, ".ustring", 8)) {		/* a text in user memory is compared as any other */
		s->p += 8;
	} else if (!strncmp(s->p, ".function", 9)) {
		s->p += 9;
		is_function = 1;
	}
	skip(s);
	n.op = take_op(s);
	at = (size_t)(s->p - s->text) + 1;
	if (n.op == NOPS)
		return fail(s, -EINVAL, "Invalid operator", at);
	skip(s);
	at = (size_t)(s->p - s->text) + 1;
	if (is_function)
		ret = take_function(s, &n, at);
	else if (*s->p == '"' || *s->p == '\'')
		ret = take_text(s, &n, at);
	else if (isdigit((unsigned char)*s->p) || *s->p == '-')
		ret = take_number(s, &n, at);
	else if (!strncmp(s->p, "CPUS", 4))
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
		return fail(s, -EINVAL, s->nodes.n ? "Meaningless filter expression" : "No filter found",
			    (size_t)(s->p - s->text));
	if (*s->p == ')')
		return fail(s, -EINVAL, "Error", 0);
	if (*s->p != '!' && *s->p != '(')	/* a field's name */
		return isalnum((unsigned char)*s->p) || *s->p == '_' ? predicate(s, out) : fail(s, -EPERM, "Error", 0);
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

/* Parses @next on both sides of each @op. */
static int parse_joined(struct parser *s, const char *op, enum node_kind kind,
			int (*next)(struct parser *s, uint32_t *out), uint32_t *out)
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

/* Checks parentheses and quotes of the whole text first, because their errors come first in the kernel, too. */
static int check_pairs(struct parser *s)
{
	const char *quote = NULL, *p;
	int open = 0, level = 0;

	for (p = s->text; *p; p++) {
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
	if (!open)
		return 0;
	while (p-- > s->text && level >= 0) {		/* the last one without a partner */
		if (quote)
			quote = *p == *quote ? NULL : quote;
		else if (*p == '"' || *p == '\'')
			quote = p;
		else
			level += *p == ')' ? 1 : *p == '(' ? -1 : 0;
	}
	return fail(s, -ENOENT, "Too many '('", (size_t)(p + 1 - s->text));
}

/* ---- Steps ----------------------------------------------------------------------------------- */

/* Steps are made from the last one to the first; until all are made they count from the end. */
struct maker {
	const struct parser *s;
	struct uft_step step[UFT_PROGRAM_STEPS];	/* the first steps at the end */
	uint8_t constant[CONSTANT_BYTES];
	uint32_t nsteps, nconstant, facts;
	int is_full;
};

static int put_constant(struct maker *m, const void *bytes, size_t n, uint32_t *at)
{
	if (n + 1 > sizeof(m->constant) - m->nconstant)
		return 0;
	*at = m->nconstant;
	memcpy(m->constant + m->nconstant, bytes, n);
	m->constant[m->nconstant + n] = '\0';
	m->nconstant += (uint32_t)n + 1;
	return 1;
}

/* Returns the enum uft_load of a number; UFT_NLOADS: no load has that size, and the kernel's answer is always no. */
static unsigned load_of_number(const struct node *n)
{
	static const uint8_t load_of[9] = {
		UFT_NLOADS, UFT_LOAD_U8, UFT_LOAD_U16, UFT_NLOADS,   UFT_LOAD_U32,
		UFT_NLOADS, UFT_NLOADS,	 UFT_NLOADS,   UFT_LOAD_U64,
	};
	unsigned load = n->of != OF_FIELD || n->field->size > 8 ? UFT_NLOADS : load_of[n->field->size];

	if (n->of == OF_TID || n->of == OF_CPU)
		return n->of == OF_TID ? UFT_LOAD_TID : UFT_LOAD_CPU;
	return load < UFT_NLOADS && n->field->is_signed ? load + UFT_LOAD_S8 - UFT_LOAD_U8 : load;
}

static unsigned load_of_bytes(const struct node *n)
{
	if (n->of == OF_COMM)
		return UFT_LOAD_COMM;
	return n->field->place == UFT_FIELD_FIXED ? UFT_LOAD_BYTES : n->field->place == UFT_FIELD_DATA_LOC ?
		UFT_LOAD_DATA_LOC : UFT_LOAD_REL_LOC;
}

static uint32_t field_bytes(const struct node *n)
{
	return n->of == OF_FIELD && n->field->place == UFT_FIELD_FIXED ? n->field->size : 0;
}

/* Returns the operation for a number. Where only the opposite has one, sets *@is_not. */
static enum uft_step_op step_op(const struct node *n, int *is_not)
{
	*is_not = n->op == OP_NE || n->op == OP_GE || n->op == OP_GT;
	switch (n->op) {
	case OP_LT: case OP_GE: return n->is_unsigned ? UFT_STEP_ULT : UFT_STEP_LT;
	case OP_LE: case OP_GT: return n->is_unsigned ? UFT_STEP_ULE : UFT_STEP_LE;
	case OP_BITS: return UFT_STEP_BITS;
	default: return UFT_STEP_EQ;
	}
}

/* Returns the answer about common_type, or about a field that is 0 in all records. */
static int answer_of(const struct maker *m, const struct node *n)
{
	uint64_t room[(sizeof(struct uft_program) + sizeof(struct uft_step)) / sizeof(uint64_t)],
		number = n->of == OF_TYPE ? m->s->type->kernel_id : 0;
	struct uft_program *p = (struct uft_program *)room;
	struct uft_record r = { .payload = (const uint8_t *)&number, .bytes = sizeof(number) };
	int is_not;

	p->nsteps = 1;
	p->step[0] = (struct uft_step){
		.op = (uint8_t)step_op(n, &is_not), .load = UFT_LOAD_U64, .yes = UFT_STEP_ACCEPT, .no = UFT_STEP_REJECT,
		.value = (uint64_t)n->number,
	};
	return uft_program_run(p, &r) != is_not;
}

/* Counts the CPUs in the list; *last: the last one. */
static uint32_t count_cpus(const uint64_t *cpus, uint32_t *last)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < 64 * CPU_WORDS; i++)
		if (cpus[i / 64] >> i % 64 & 1) {
			n++;
			*last = i;
		}
	return n;
}

/* A number equals the list of that one number, and no other list. */
static int make_cpus(struct maker *m, const struct node *n, struct uft_step *s, int *answer)
{
	uint32_t last = 0, count = count_cpus(n->cpus, &last), at = 0, bytes = last / 8 + 1;

	*answer = -1;
	if (is_mask(n)) {
		s->load = (uint8_t)load_of_bytes(n);
		s->op = n->op == OP_BITS ? UFT_STEP_MASK_MEETS : UFT_STEP_MASK;
	} else {
		s->load = (uint8_t)load_of_number(n);
		s->op = UFT_STEP_IN_CPUS;
		if (n->op != OP_BITS && count != 1)
			*answer = n->op == OP_NE;
		else if (s->load == UFT_NLOADS)
			*answer = n->of == OF_ZERO && n->cpus[0] & 1 ? n->op != OP_NE : n->op == OP_NE;
	}
	if (*answer < 0 && !put_constant(m, n->cpus, bytes, &at))
		return 0;
	s->value = UFT_STEP_VALUE(at, bytes, is_mask(n) ? field_bytes(n) : 0);
	return 1;
}

/*
 * Makes a step without its ways. *answer: -1, or the answer for all records: then there is no step. *is_not: as
 * step_op(). 0: there is no room.
 */
static int make_step(struct maker *m, const struct node *n, struct uft_step *s, int *is_not, int *answer)
{
	uint32_t at = 0;

	*answer = -1;
	*is_not = n->op == OP_NE;
	if (n->kind == NODE_NUMBER) {
		s->op = (uint8_t)step_op(n, is_not);
		s->load = (uint8_t)load_of_number(n);
		s->value = (uint64_t)n->number;
		if (n->of == OF_TYPE || n->of == OF_ZERO)
			*answer = answer_of(m, n);
		else if (s->load == UFT_NLOADS)
			*answer = 0;
	} else if (n->kind == NODE_CPUS) {
		if (!make_cpus(m, n, s, answer))
			return 0;
	} else {
		if (!put_constant(m, n->text, strlen(n->text), &at))
			return 0;
		s->op = n->kind == NODE_FUNCTION ? UFT_STEP_IN_FUNCTION : n->op == OP_GLOB ? UFT_STEP_GLOB :
			UFT_STEP_TEXT;
		s->load = (uint8_t)(n->kind == NODE_FUNCTION ? load_of_number(n) : load_of_bytes(n));
		s->value = UFT_STEP_VALUE(at, strlen(n->text), n->kind == NODE_TEXT ? field_bytes(n) : 0);
	}
	s->at = n->of == OF_FIELD ? (uint16_t)(n->field->offset - UFT_EVENT_COMMON) : 0;
	return 1;
}

/*
 * Makes the steps of node @i. @yes, @no: where they lead; @is_turned: an odd number of `!` is around the node, so `no`
 * is the way to "accept". Returns the node's first step, or where it leads if it needs no step.
 */
static uint16_t make_steps(struct maker *m, uint32_t i, uint16_t yes, uint16_t no, int is_turned)
{
	const struct node *n = &m->s->nodes.v[i];
	struct uft_step s = { 0 };
	int is_not, answer;

	switch (n->kind) {
	case NODE_AND: return make_steps(m, n->a, make_steps(m, n->b, yes, no, is_turned), no, is_turned);
	case NODE_OR: return make_steps(m, n->a, yes, make_steps(m, n->b, yes, no, is_turned), is_turned);
	case NODE_NOT: return make_steps(m, n->a, no, yes, !is_turned);
	default: break;
	}
	if (m->nsteps == UFT_PROGRAM_STEPS || !make_step(m, n, &s, &is_not, &answer)) {
		m->is_full = 1;
		return no;
	}
	if (answer >= 0)
		return answer ? yes : no;
	s.yes = is_not ? no : yes;
	s.no = is_not ? yes : no;
	m->facts |= uft_load_facts(s.load) | (s.op == UFT_STEP_IN_FUNCTION ? UFT_FACT_FUNCTION : 0);
	s.load |= is_turned != is_not ? UFT_STEP_MAYBE_NO : 0;
	m->step[UFT_PROGRAM_STEPS - ++m->nsteps] = s;
	return (uint16_t)(m->nsteps - 1);
}

static uint16_t way(const struct maker *m, uint16_t to)
{
	return to >= UFT_STEP_ACCEPT ? to : (uint16_t)(m->nsteps - 1 - to);
}

static struct uft_program *make_program(struct maker *m)
{
	uint16_t first = make_steps(m, m->s->nodes.n - 1, UFT_STEP_ACCEPT, UFT_STEP_REJECT, 0);
	size_t bytes;
	struct uft_program *p;

	if (first >= UFT_STEP_ACCEPT) {		/* the same for all records: one step that always leads there */
		m->nsteps = 1;
		m->step[UFT_PROGRAM_STEPS - 1] = (struct uft_step){ .op = UFT_STEP_EQ, .load = UFT_LOAD_U8,
			.yes = first, .no = first };
	}
	bytes = (sizeof(*p) + m->nsteps * sizeof(p->step[0]) + m->nconstant + 7) & ~(size_t)7;
	p = m->is_full ? NULL : calloc(1, bytes);
	if (!p)
		return NULL;
	p->bytes = (uint32_t)bytes;
	p->nsteps = (uint16_t)m->nsteps;
	p->facts = (uint16_t)m->facts;
	memcpy(p->step, m->step + UFT_PROGRAM_STEPS - m->nsteps, m->nsteps * sizeof(p->step[0]));
	for (uint32_t i = 0; i < m->nsteps; i++) {
		p->step[i].yes = way(m, p->step[i].yes);
		p->step[i].no = way(m, p->step[i].no);
	}
	memcpy(&p->step[m->nsteps], m->constant, m->nconstant);
	return p;
}

static int compile(struct parser *s, struct uft_program **out)
{
	struct maker *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	m->s = s;
	*out = make_program(m);
	if (m->is_full)
		fail(s, -E2BIG, "Error", 0);
	free(m);
	return *out ? 0 : -E2BIG;
}

int uft_event_filter_make(const struct uft_event_type *type, const char *text, struct uft_program **out,
			  struct uft_filter_error *err)
{
	struct parser s = { .type = type, .text = text, .p = text, .err = err };
	uint32_t last;
	int ret = strlen(text) >= UFT_FILTER_BYTES ? -EINVAL : 0;

	*out = NULL;
	*err = (struct uft_filter_error){ "Error", 0 };
	if (!ret && !text[strspn(text, " \t\n")])
		return -EINVAL;
	ret = ret ? ret : check_pairs(&s);
	ret = ret ? ret : parse_or(&s, &last);	/* the last node is the whole filter */
	if (!ret && *s.p)
		ret = fail(&s, -EPERM, "Too many terms in predicate expression", (size_t)(s.p - text));
	ret = ret ? ret : compile(&s, out);
	for (uint32_t i = 0; i < s.nodes.n; i++) {
		free(s.nodes.v[i].text);
		free(s.nodes.v[i].cpus);
	}
	free(s.nodes.v);
	return ret;
}
