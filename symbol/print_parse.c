/* SPDX-License-Identifier: MIT */
/* print_parse.c - compiles a print format: a parser of C's strings and expressions by recursive descent */
#include "symbol/array.h"
#include "symbol/print_nodes.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NODES	4096u
#define MAX_DEPTH	64
#define FORMAT_ENDS	64u	/* quotes tried as the last of a format */

static const struct { const char *name; enum print_helper helper; } helpers[] = {
	{ "__get_str", H_STR }, { "__get_rel_str", H_STR }, { "__get_dynamic_array", H_DYN },
	{ "__get_rel_dynamic_array", H_DYN }, { "__get_dynamic_array_len", H_DYN_LEN },
	{ "__get_rel_dynamic_array_len", H_DYN_LEN }, { "__print_symbolic", H_SYMBOLIC },
	{ "__print_symbolic_u64", H_SYMBOLIC }, { "__print_symbolic_64", H_SYMBOLIC },
	{ "__print_flags", H_FLAGS }, { "__print_flags_u64", H_FLAGS }, { "__print_flags_64", H_FLAGS },
	{ "__print_hex", H_HEX }, { "__print_hex_str", H_HEX_STR }, { "__print_array", H_ARRAY },
	{ "__print_dynamic_array", H_DYN_ARRAY }, { "__get_bitmask", H_BITMASK },
	{ "__get_rel_bitmask", H_BITMASK }, { "__get_cpumask", H_BITMASK }, { "__get_rel_cpumask", H_BITMASK },
	{ "__get_sockaddr", H_SOCKADDR }, { "__get_rel_sockaddr", H_SOCKADDR },
	{ "__print_hex_dump", H_HEX_DUMP }, { "__get_stacktrace", H_STACK }, { "__get_rel_stacktrace", H_STACK },
};

struct parser {
	struct uft_print *out;
	const struct uft_event_type *type;
	const char *p;
	int depth, is_bad, no_memory;
};

static uint32_t bad(struct parser *s)
{
	s->is_bad = 1;
	return 0;
}

static uint32_t no_memory(struct parser *s)
{
	s->no_memory = 1;
	return bad(s);
}

static uint32_t add(struct parser *s, const struct print_node *n)
{
	struct uft_print *o = s->out;

	if (s->is_bad)
		return 0;
	if (o->n >= MAX_NODES)
		return bad(s);
	if (array_reserve(o->v, o->cap, o->n + 1))
		return no_memory(s);
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
	if (strncmp(s->p, word, n) ||
	    (isalnum((unsigned char)word[n - 1]) && (isalnum((unsigned char)s->p[n]) || s->p[n] == '_')))
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

/* Do the @n bytes at @p equal @word? */
static int is_word(const char *p, size_t n, const char *word)
{
	return strlen(word) == n && !memcmp(p, word, n);
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

/* Returns the most bytes up to the quote that ends a string. */
static size_t quoted_bytes(const char *p)
{
	size_t n = 0;

	while (p[n] && p[n] != '"')
		n += p[n] == '\\' && p[n + 1] ? 2 : 1;
	return n;
}

/* Reads "..." "..." as one text; malloc'd to its length. */
static char *string(struct parser *s, size_t *len)
{
	size_t n = 0;
	char *text = malloc(1);

	if (!text)
		no_memory(s);
	while (text && !s->is_bad && take(s, "\"")) {
		if (array_resize(text, n + quoted_bytes(s->p) + 1)) {
			no_memory(s);
			break;
		}
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

/* Returns the size of a type in parentheses; 0: no type. */
static int type_name(struct parser *s, struct print_node *cast)
{
	static const struct { const char *word; uint8_t size, is_signed; } known[] = {
		{ "char", 1, 1 }, { "short", 2, 1 }, { "int", 4, 1 }, { "long", 8, 1 }, { "u8", 1, 0 },
		{ "u16", 2, 0 }, { "u32", 4, 0 }, { "u64", 8, 0 }, { "s8", 1, 1 }, { "s16", 2, 1 },
		{ "s32", 4, 1 }, { "s64", 8, 1 }, { "__u8", 1, 0 }, { "__u16", 2, 0 }, { "__u32", 4, 0 },
		{ "__u64", 8, 0 }, { "__s8", 1, 1 }, { "__s16", 2, 1 }, { "__s32", 4, 1 }, { "__s64", 8, 1 },
		{ "uint8_t", 1, 0 }, { "uint16_t", 2, 0 }, { "uint32_t", 4, 0 }, { "uint64_t", 8, 0 },
		{ "int8_t", 1, 1 }, { "int16_t", 2, 1 }, { "int32_t", 4, 1 }, { "int64_t", 8, 1 },
		{ "size_t", 8, 0 }, { "ssize_t", 8, 1 }, { "uintptr_t", 8, 0 }, { "pid_t", 4, 1 },
		{ "bool", 1, 0 }, { "_Bool", 1, 0 }, { "void", 8, 0 }, { "off_t", 8, 1 }, { "loff_t", 8, 1 },
		{ "dev_t", 4, 0 }, { "gfp_t", 4, 0 }, { "sector_t", 8, 0 }, { "ino_t", 8, 0 },
		{ "umode_t", 2, 0 }, { "ktime_t", 8, 1 }, { "uid_t", 4, 0 }, { "gid_t", 4, 0 },
	};
	const char *p = s->p;
	int is_type = 0, is_unsigned = -1, has_size = 0;

	*cast = (struct print_node){ .kind = N_CAST, .size = 4, .is_signed = 1 };
	for (;;) {
		size_t n, i;

		while (isspace((unsigned char)*p))
			p++;
		n = word_length(p);
		if (!n)
			break;
		if (is_word(p, n, "const") || is_word(p, n, "volatile") || is_word(p, n, "__force") ||
		    is_word(p, n, "__user")) {
			p += n;
			continue;
		}
		if (is_word(p, n, "unsigned")) {
			is_unsigned = 1;
			is_type = 1;
			p += n;
			continue;
		}
		if (is_word(p, n, "signed")) {
			is_unsigned = 0;
			is_type = 1;
			p += n;
			continue;
		}
		for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
			if (is_word(p, n, known[i].word))
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
	struct print_node f = { .kind = N_FIELD };
	static const struct { const char *name; uint8_t op; } common[] = {
		{ "common_type", 't' }, { "common_flags", '0' }, { "common_preempt_count", '0' }, { "common_pid", 'p' },
	};

	f.field = uft_event_field(s->type, p, n);
	if (f.field)
		return add(s, &f);
	for (size_t i = 0; i < sizeof(common) / sizeof(common[0]); i++)
		if (is_word(p, n, common[i].name))
			return add(s, &(struct print_node){ .kind = N_COMMON, .op = common[i].op });
	return bad(s);
}

/* Parses { value, "text" }, { ... }. Returns the first of the pairs. */
static uint32_t pairs(struct parser *s)
{
	uint32_t first = 0, last = 0;

	while (take(s, ",")) {
		struct print_node pair = { .kind = N_PAIR };
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

/*
 * Parses "prefix", how, row, group, bytes, count, is_text: n->text is the prefix, n->a the bytes, n->b a list of the
 * rest.
 */
static void hex_dump(struct parser *s, struct print_node *n)
{
	uint32_t last = 0;

	skip(s);
	n->text = string(s, &n->len);
	for (int i = 0; i < 6 && !s->is_bad; i++) {
		struct print_node argument = { .kind = N_PAIR };
		uint32_t at;

		if (!take(s, ",")) {
			bad(s);
			return;
		}
		argument.a = expression(s);
		if (i == 3)
			n->a = argument.a;
		at = add(s, &argument);
		if (last)
			s->out->v[last].b = at;
		else
			n->b = at;
		last = at;
	}
}

static uint32_t call(struct parser *s, enum print_helper helper)
{
	struct print_node n = { .kind = N_CALL, .helper = (uint8_t)helper };
	size_t len;
	uint32_t at;

	if (!take(s, "("))
		return bad(s);
	switch (helper) {
	case H_STR: case H_DYN: case H_DYN_LEN: case H_BITMASK: case H_SOCKADDR: case H_DYN_ARRAY: case H_STACK:
		skip(s);
		len = word_length(s->p);
		n.a = field_of(s, s->p, len);
		s->p += len;
		s->out->has_stack |= helper == H_STACK;
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
	case H_HEX_DUMP:
		hex_dump(s, &n);
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
	struct print_node n = { .kind = N_NUMBER, .size = 8, .is_signed = 1 };
	char *end;

	n.number = (int64_t)strtoull(s->p, &end, 0);
	s->p = end;
	while (*s->p && strchr("uUlL", *s->p))
		s->p++;
	return add(s, &n);
}

static uint32_t primary(struct parser *s)
{
	struct print_node n = { .kind = N_STRING };
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
		n = (struct print_node){ .kind = N_NUMBER, .size = 8, .is_signed = 1 };
		s->p++;
		if (*s->p)
			n.number = *s->p == '\\' ? (s->p++, escape(s)) : *s->p++;
		return *s->p && *s->p++ == '\'' ? add(s, &n) : bad(s);
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
		return add(s, &(struct print_node){ .kind = N_NUMBER, .size = 8, .number = n.is_pointer ? 8 : n.size });
	}
	len = word_length(s->p);
	for (size_t i = 0; len && i < sizeof(helpers) / sizeof(helpers[0]); i++)
		if (is_word(s->p, len, helpers[i].name)) {
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
		at = add(s, &(struct print_node){ .kind = N_INDEX, .a = at, .b = index });
	}
	return at;
}

static uint32_t unary(struct parser *s)
{
	static const struct { char c; enum print_node_kind kind; } ops[] = {
		{ '-', N_NEG }, { '!', N_NOT }, { '~', N_INVERT }, { '*', N_DEREF },
	};
	uint32_t at = 0;

	if (s->is_bad || ++s->depth > MAX_DEPTH)
		return bad(s);
	skip(s);
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]) && !at && !s->is_bad; i++)
		if (*s->p == ops[i].c) {
			s->p++;
			at = add(s, &(struct print_node){ .kind = (uint8_t)ops[i].kind, .a = unary(s) });
		}
	if (!at && !s->is_bad) {
		if (*s->p == '&' || *s->p == '+') {	/* a field's address means its bytes */
			s->p++;
			at = unary(s);
		} else {
			at = postfix(s);
		}
	}
	s->depth--;
	return at;
}

static const struct { const char *text; uint8_t level, op; } binary[] = {
	{ "||", 1, OP_OROR }, { "&&", 2, OP_ANDAND }, { "==", 6, OP_EQ }, { "!=", 6, OP_NE },
	{ "<<", 8, OP_SHL }, { ">>", 8, OP_SHR }, { "<=", 7, OP_LE }, { ">=", 7, OP_GE }, { "<", 7, OP_LT },
	{ ">", 7, OP_GT }, { "|", 3, OP_OR }, { "^", 4, OP_XOR }, { "&", 5, OP_AND }, { "+", 9, OP_ADD },
	{ "-", 9, OP_SUB }, { "*", 10, OP_MUL }, { "/", 10, OP_DIV }, { "%", 10, OP_MOD },
};

static uint32_t operation(struct parser *s, unsigned least)
{
	uint32_t at = unary(s), right;

	while (!s->is_bad) {
		size_t i;

		skip(s);
		for (i = 0; i < sizeof(binary) / sizeof(binary[0]); i++)
			if (!strncmp(s->p, binary[i].text, strlen(binary[i].text)))
				break;
		if (i == sizeof(binary) / sizeof(binary[0]) || binary[i].level < least)
			break;
		s->p += strlen(binary[i].text);
		right = operation(s, binary[i].level + 1u);
		at = add(s, &(struct print_node){ .kind = N_BINARY, .op = binary[i].op, .a = at, .b = right });
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
		at = add(s, &(struct print_node){ .kind = N_COND, .a = at, .b = yes, .c = no });
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

/*
 * A kernel prints synthetic events by code of its own, with blanks between the fields where the print format has ", ".
 * Names of fields have no comma.
 */
static void drop_commas(struct uft_print *p)
{
	char *to = p->format;

	for (const char *c = p->format, *end = c + p->nformat; c < end; c++)
		if (*c != ',')
			*to++ = *c;
	p->nformat = (size_t)(to - p->format);
}

/* Shrinks the nodes to those in use. */
static void fit(struct uft_print *p)
{
	if (!array_resize(p->v, p->n))
		p->cap = p->n;
}

size_t uft_print_bytes(const struct uft_print *p)
{
	size_t n = sizeof(*p) + p->cap * sizeof(*p->v) + p->nformat + 1;

	for (uint32_t i = 0; i < p->n; i++)
		n += p->v[i].text ? p->v[i].len + 1 : 0;
	return n;
}

/* Returns the format's text up to @end, with the quotes in it. NULL: no memory. */
static char *quotes_and_all(struct parser *s, const char *end, size_t *len)
{
	char *text = strndup(s->p + 1, *len = (size_t)(end - s->p - 1));

	s->p = end + 1;
	return text ? text : (no_memory(s), NULL);
}

/*
 * As uft_print_compile(). @end: the quote that ends a format that holds quotes itself; NULL: the format is a C string.
 */
static int compile(const struct uft_event_type *type, const char *end, struct uft_print **out)
{
	struct parser s = { .out = calloc(1, sizeof(*s.out)), .type = type, .p = type->print };

	*out = NULL;
	if (!s.out)
		return -ENOMEM;
	add(&s, &(struct print_node){ .kind = N_NUMBER });
	skip(&s);
	if (*s.p != '"')
		bad(&s);
	if (!s.is_bad)
		s.out->format = end ? quotes_and_all(&s, end, &s.out->nformat) : string(&s, &s.out->nformat);
	if (s.out->format && !strcmp(type->system, "synthetic"))
		drop_commas(s.out);
	while (!s.is_bad && take(&s, ",")) {
		if (s.out->nargs == PRINT_MAX_ARGS)
			bad(&s);
		else
			s.out->arg[s.out->nargs++] = expression(&s);
	}
	skip(&s);
	if (s.is_bad || *s.p) {
		uft_print_free(s.out);
		return s.no_memory ? -ENOMEM : 0;
	}
	fit(s.out);
	*out = s.out;
	return 0;
}

/* Does an argument follow the quote at @p, or the end? */
static int may_end_format(const char *p)
{
	p++;
	return p[strspn(p, " \t\n")] == ',' || !p[strspn(p, " \t\n")];
}

/*
 * TP_printk("name=\"%s\"", ...) reads `"name="%s"", REC->...` here as in a kernel's format, because the compiler has
 * removed the backslashes. The format then ends at the first quote behind which there are only arguments.
 */
int uft_print_compile(const struct uft_event_type *type, struct uft_print **out)
{
	const char *from = strchr(type->print, '"'), *end = from ? from + 1 : NULL;
	int ret = compile(type, NULL, out);

	for (unsigned tries = 0; !ret && !*out && end && tries < FORMAT_ENDS && (end = strchr(end, '"')); end++) {
		if (may_end_format(end)) {
			ret = compile(type, end, out);
			tries++;
		}
	}
	return ret;
}
