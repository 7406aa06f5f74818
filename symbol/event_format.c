/* SPDX-License-Identifier: MIT */
/*
 * event_format.c - the text of a `format` file becomes an event type
 *
 *	name: NAME
 *	ID: NUMBER
 *	format:
 *		field:DECLARATION;	offset:N;	size:N;	signed:N;
 *		...
 * 
 *	print fmt: "..." , arguments
 *
 * Four common fields come first. The texts come from hostile objects and recordings. So each number is bounded, a field
 * lies within the largest payload, and a text of another form is refused as a whole.
 */
#include "symbol/event_type.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FIELDS	256u
#define MAX_TEXT	(64u << 10)

struct cursor {
	const char *p;
	char *out;			/* where names are copied to */
};

static int take(struct cursor *c, const char *word)
{
	size_t n = strlen(word);

	if (strncmp(c->p, word, n))
		return 0;
	c->p += n;
	return 1;
}

static int take_number(struct cursor *c, uint32_t *out)
{
	char *end;
	unsigned long v;

	if (!isdigit((unsigned char)*c->p))
		return 0;
	v = strtoul(c->p, &end, 10);
	if (end - c->p > 9)
		return 0;
	c->p = end;
	*out = (uint32_t)v;
	return 1;
}

static const char *copy(struct cursor *c, const char *from, size_t n)
{
	char *to = c->out;

	memcpy(to, from, n);
	to[n] = '\0';
	c->out += n + 1;
	return to;
}

static int is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static int is_name(const char *p, size_t n)
{
	if (!n || n > 127 || isdigit((unsigned char)*p))
		return 0;
	while (n && is_word(*p))
		p++, n--;
	return !n;
}

/* `char comm[16]`, `__data_loc char[] filename`, `unsigned long addr`. */
static int split_declaration(struct cursor *c, const char *p, size_t n, struct uft_event_field *f)
{
	const char *end = p + n, *bracket = end, *name, *type_end;

	if (n && end[-1] == ']') {
		while (bracket > p && *bracket != '[')
			bracket--;
	}
	name = bracket;
	while (name > p && is_word(name[-1]))
		name--;
	type_end = name;
	while (type_end > p && type_end[-1] == ' ')
		type_end--;
	if (type_end == p || !is_name(name, (size_t)(bracket - name)))
		return 0;
	f->name = copy(c, name, (size_t)(bracket - name));
	f->type = copy(c, p, (size_t)(type_end - p));
	f->brackets = copy(c, bracket, (size_t)(end - bracket));
	return 1;
}

/* Returns the bytes of an element of a dynamic array, by its type's name. */
static uint32_t element_of(const char *type)
{
	static const struct { const char *word; uint32_t bytes; } known[] = {
		{ "char", 1 }, { "u8", 1 }, { "s8", 1 }, { "uint8_t", 1 }, { "int8_t", 1 }, { "bool", 1 },
		{ "short", 2 }, { "u16", 2 },
		{ "s16", 2 }, { "uint16_t", 2 }, { "int16_t", 2 }, { "long", 8 }, { "u64", 8 }, { "s64", 8 },
		{ "uint64_t", 8 },
		{ "int64_t", 8 }, { "size_t", 8 }, { "cpumask_t", 8 },
	};
	const char *space = strrchr(type, ' '), *word = space ? space + 1 : type, *end = strchr(word, '[');
	size_t n = end ? (size_t)(end - word) : strlen(word);

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strlen(known[i].word) == n && !memcmp(word, known[i].word, n))
			return known[i].bytes;
	return 4;
}

static int is_char(const char *type)
{
	const char *word = strrchr(type, ' ');

	word = word ? word + 1 : type;
	return !strcmp(word, "char") || !strcmp(word, "char[]");
}

static int take_field(struct cursor *c, struct uft_event_field *f)
{
	const char *begin, *semicolon;
	uint32_t is_signed;
	const char *bracket;

	if (!take(c, "field:"))
		return 0;
	begin = c->p;
	semicolon = strchr(begin, ';');
	if (!semicolon || semicolon - begin > 255 || memchr(begin, '\n', (size_t)(semicolon - begin)) ||
	    !split_declaration(c, begin, (size_t)(semicolon - begin), f))
		return 0;
	c->p = semicolon + 1;
	if (!take(c, "\toffset:") || !take_number(c, &f->offset) || !take(c, ";\tsize:") || !take_number(c, &f->size) ||
	    !take(c, ";\tsigned:") || !take_number(c, &is_signed) || !take(c, ";\n"))
		return 0;
	if (f->offset > UFT_EVENT_COMMON + UFT_EVENT_PAYLOAD_MAX ||
	    f->size > UFT_EVENT_COMMON + UFT_EVENT_PAYLOAD_MAX - f->offset)
		return 0;
	f->is_signed = is_signed != 0;
	f->place = !strncmp(f->type, "__data_loc ", 11) ? UFT_FIELD_DATA_LOC : !strncmp(f->type, "__rel_loc ", 10) ?
		UFT_FIELD_REL_LOC : UFT_FIELD_FIXED;
	f->is_array = f->place != UFT_FIELD_FIXED || f->brackets[0];
	f->is_string = f->is_array && is_char(f->type);
	f->element = f->size;
	bracket = f->brackets[0] && isdigit((unsigned char)f->brackets[1]) ? f->brackets + 1 : NULL;
	if (f->place != UFT_FIELD_FIXED) {
		if (f->size != 4 && f->size != 8)	/* 8: the kernel's synthetic events */
			return 0;
		f->element = element_of(f->type);
	} else if (bracket && strtoul(bracket, NULL, 10)) {
		f->element = (uint32_t)(f->size / strtoul(bracket, NULL, 10));	/* 0: more elements than bytes */
	} else if (f->is_array) {
		f->element = element_of(f->type);
	}
	return 1;
}

static int take_head(struct cursor *c, struct uft_event_type *t)
{
	const char *newline = take(c, "name: ") ? strchr(c->p, '\n') : NULL;

	if (!newline || !is_name(c->p, (size_t)(newline - c->p)))
		return 0;
	t->name = copy(c, c->p, (size_t)(newline - c->p));
	c->p = newline + 1;
	return take(c, "ID: ") && take_number(c, &t->kernel_id) && t->kernel_id < 65536 && take(c, "\nformat:\n");
}

static int take_fields(struct cursor *c, struct uft_event_type *t)
{
	uint32_t ncommon = 0;

	while (take(c, "\t")) {
		struct uft_event_field *f = &t->field[t->nfields];

		if (t->nfields == MAX_FIELDS || !take_field(c, f))
			return 0;
		if (ncommon < 4) {
			if (strncmp(f->name, "common_", 7) || f->offset + f->size > UFT_EVENT_COMMON)
				return 0;
			ncommon++;
			if (ncommon == 4 && !take(c, "\n"))
				return 0;
			continue;
		}
		if (f->offset < UFT_EVENT_COMMON)
			return 0;
		t->bytes = f->offset + f->size > t->bytes ? f->offset + f->size : t->bytes;
		t->nfields++;
	}
	return ncommon == 4 && take(c, "\nprint fmt: ");
}

/*
 * Names, types and brackets are parts of the text, each with an end of its own: they take at most the text's bytes and
 * 4 more a field.
 */
int uft_event_format_parse(const char *system, const char *format, struct uft_event_type **out, struct uft_error *err)
{
	size_t n = strlen(format), nsystem = strlen(system), nfields = 4;
	struct cursor c = { .p = format };
	struct uft_event_type *t;
	size_t nprint;

	*out = NULL;
	if (n > MAX_TEXT || !is_name(system, nsystem))
		return uft_fail(err, -EINVAL, "event %.64s: the format has no system or is longer than 64 KB", system);
	for (const char *p = format; (p = strstr(p, "field:")); p++)
		nfields++;
	if (nfields > MAX_FIELDS + 8)
		return uft_fail(err, -EINVAL, "an event of %s has more than %u fields", system, MAX_FIELDS);
	t = calloc(1, sizeof(*t) + (nfields + 1) * sizeof(struct uft_event_field) + 3 * n + 4 * nfields + nsystem + 64);
	if (!t)
		return -ENOMEM;
	t->field = (struct uft_event_field *)(t + 1);
	c.out = (char *)(t->field + nfields + 1);
	t->owner = UFT_OWNER_OURS;
	t->system = copy(&c, system, nsystem);
	t->bytes = UFT_EVENT_COMMON;
	if (!take_head(&c, t) || !take_fields(&c, t)) {
		int line = 1;

		for (const char *p = format; p < c.p; p++)
			line += *p == '\n';
		uft_fail(err, -EINVAL, "event %s:%.64s: the format is damaged in line %d", system,
			 t->name ? t->name : "?", line);
		free(t);
		return -EINVAL;
	}
	t->declared_bytes = (uint32_t)strlen(t->name);
	nprint = strcspn(c.p, "\n");
	t->print = copy(&c, c.p, nprint);
	*out = t;
	return 0;
}
