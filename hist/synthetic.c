/* SPDX-License-Identifier: MIT */
/*
 * synthetic.c - `NAME TYPE FIELD[; TYPE FIELD]..`: a definition becomes an event type of the table
 *
 * Types are the kernel's: numbers of C by its names, char[N] (a text with its end), char[] (one of any length, which
 * the record has behind its fixed part), long[] (a stack). In the record each field begins at a multiple of 8, and a
 * char[N] takes the room of the longest text. The text of `format` is made of the definition, so files, filters,
 * histograms and exports treat the type as any other.
 */
#include "hist/hist_internal.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>

static const struct { const char *type, *print; uint8_t size, is_signed; } number_type[] = {
	{ "s64", "%lld", 8, 1 }, { "u64", "%llu", 8, 0 }, { "s32", "%d", 4, 1 }, { "u32", "%u", 4, 0 },
	{ "s16", "%d", 2, 1 }, { "u16", "%u", 2, 0 },
	{ "s8", "%d", 1, 1 }, { "u8", "%u", 1, 0 }, { "char", "%d", 1, 1 }, { "unsigned char", "%u", 1, 0 },
	{ "int", "%d", 4, 1 },
	{ "unsigned int", "%u", 4, 0 }, { "long", "%ld", 8, 1 }, { "unsigned long", "%lu", 8, 0 },
	{ "bool", "%d", 1, 1 }, { "pid_t", "%d", 4, 1 },
	{ "gfp_t", "%x", 4, 0 },
};

static int find_number(const char *type)
{
	for (size_t i = 0; i < sizeof(number_type) / sizeof(number_type[0]); i++)
		if (!strcmp(type, number_type[i].type))
			return (int)i;
	return -1;
}

/* ---- The text -------------------------------------------------------------------------------- */

struct parser { const char *command; struct uft_synth_error *err; const struct uft_synth_list *list; };

static int fail(const struct parser *s, const char *what, const char *str)
{
	const char *found = *str ? strstr(s->command, str) : NULL;

	*s->err = (struct uft_synth_error){ what, found ? (size_t)(found - s->command) : 0 };
	return -EINVAL;
}

static int is_identifier(const char *text, size_t n)
{
	if (!n || isdigit((unsigned char)*text))
		return 0;
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)text[i]) && text[i] != '_')
			return 0;
	return 1;
}

/*
 * Returns the N of a text's type, "char[N]", a number of C; 0: any length; -1: no text. As in a kernel, the words
 * before `char[` do not matter, and nothing may follow the first `]`.
 */
static long text_length(const char *type)
{
	const char *from = strstr(type, "char[") + strlen("char["), *to = strchr(type, ']');
	char digits[4] = "", *end;
	unsigned long n;

	if (!to || to < from || to[1] || (size_t)(to - from) >= sizeof(digits))
		return -1;
	memcpy(digits, from, (size_t)(to - from));
	if (!digits[0])
		return 0;
	n = isdigit((unsigned char)digits[0]) ? strtoul(digits, &end, 0) : UFT_SYNTH_TEXT + 1;
	return n > UFT_SYNTH_TEXT || *end ? -1 : (long)n;
}

/*
 * Sets the kind by the whole type, "unsigned long[]". 0; -EINVAL: no such type; -ERANGE: a text cannot have that
 * length.
 */
static int set_kind(struct uft_synth_field *f)
{
	int i = find_number(f->type);
	long length = 0;

	if (i >= 0) {
		f->size = number_type[i].size;
		f->is_signed = number_type[i].is_signed;
		return 0;
	}
	f->is_string = strstr(f->type, "char[") != NULL;
	f->is_stack = !f->is_string && strstr(f->type, "long[");
	if (!f->is_string && !f->is_stack)
		return -EINVAL;
	if (f->is_string)
		length = text_length(f->type);
	if (length < 0)
		return -ERANGE;
	f->is_dynamic = !length;
	f->size = f->is_dynamic ? 8 : (uint32_t)length;
	f->is_signed = f->is_dynamic || f->type[0] != 'u';
	return 0;
}

/* Makes a field of the first of the words @v: [unsigned] TYPE NAME. Returns how many it took; -EINVAL, -ENOMEM. */
static int make_field(const struct parser *s, char **v, int n, struct uft_synth_field *f)
{
	int is_unsigned = !strcmp(v[0], "unsigned"), ret;
	const char *type, *name, *bracket;

	if (n < 2 + is_unsigned)
		return fail(s, is_unsigned ? "Incomplete type" : "Invalid field", v[0]);
	type = v[is_unsigned];
	name = v[is_unsigned + 1];
	bracket = strchr(name, '[');
	if (!is_identifier(name, bracket ? (size_t)(bracket - name) : strlen(name)))
		return fail(s, "Illegal name", name);
	f->name = strndup(name, bracket ? (size_t)(bracket - name) : strlen(name));
	if (!f->name || asprintf(&f->type, "%s%s%s", is_unsigned ? "unsigned " : "", type, bracket ? bracket : "") < 0)
		return -ENOMEM;
	ret = set_kind(f);
	if (ret == -ERANGE && bracket)
		return fail(s, "Invalid array specification", name);
	return ret ? fail(s, "Invalid type", type) : 2 + is_unsigned;
}

/* Parses the text between two semicolons. A kernel still takes the old form without them, `u64 a int b`. */
static int add_fields(const struct parser *s, struct uft_synth *e, char *text)
{
	char *v[3 * (UFT_SYNTH_FIELDS + 1)], *word;
	int n = 0, ret;

	while (n < (int)(sizeof(v) / sizeof(*v)) && (word = strsep(&text, " \t\n")))
		if (*word)
			v[n++] = word;
	for (int at = 0; at < n; at += ret) {
		if (e->nfields == UFT_SYNTH_FIELDS)
			return fail(s, "Too many fields", "");
		ret = make_field(s, v + at, n - at, &e->field[e->nfields]);
		e->nfields++;
		if (ret < 0)
			return ret;
	}
	return 0;
}

/* 1: the words in front of the first semicolon are at least a name and a whole field. */
static int has_field(const char *text)
{
	const char *end = text + strcspn(text, ";");
	int words = 0;

	while ((text += strspn(text, " \t\n")) < end) {
		text += strcspn(text, " \t\n;");
		words++;
	}
	return words >= 3;
}

static int parse(const struct parser *s, struct uft_synth *e, char *text)
{
	char *name;
	int ret = 0;

	text += strspn(text, " \t\n");
	if (!has_field(text))
		return fail(s, "Command must be of the form: <name> field[;field] ...", "");
	name = strsep(&text, " \t\n");
	if (!is_identifier(name, strlen(name)))
		return fail(s, "Illegal name", name);
	if (uft_synth_find(s->list, name, strlen(name)))
		return fail(s, "Event already exists", name), -EEXIST;
	e->name = strdup(name);
	e->field = calloc(UFT_SYNTH_FIELDS + 1, sizeof(*e->field));
	if (!e->name || !e->field)
		return -ENOMEM;
	while (text && !ret)
		ret = add_fields(s, e, strsep(&text, ";"));
	for (uint32_t i = 0; i < e->nfields && !ret; i++) {
		e->field[i].offset = e->bytes;
		e->bytes += e->field[i].is_string && !e->field[i].is_dynamic ? UFT_SYNTH_TEXT : 8;
	}
	return !ret && e->bytes > UFT_EVENT_PAYLOAD_MAX ? fail(s, "Too many fields", "") : ret;
}

int uft_synth_parse(const struct uft_synth_list *list, const char *text, const char *command, struct uft_synth **out,
		    struct uft_synth_error *err)
{
	struct uft_synth *e = calloc(1, sizeof(*e));
	struct parser s = { command, err, list };
	char *copy = strdup(text);
	int ret = e && copy ? parse(&s, e, copy) : -ENOMEM;

	free(copy);
	*out = ret ? NULL : e;
	if (ret)
		uft_synth_free(e);
	return ret;
}

void uft_synth_free(struct uft_synth *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; s->field && i < s->nfields; i++) {
		free(s->field[i].type);
		free(s->field[i].name);
	}
	free(s->field);
	free(s->name);
	free(s);
}

/* ---- The type -------------------------------------------------------------------------------- */

struct text { char *p; size_t n, cap; };

static void put(void *arg, const char *p, size_t n)
{
	struct text *t = arg;

	if (t->n + n + 1 > t->cap)
		return;
	memcpy(t->p + t->n, p, n);
	t->n += n;
	t->p[t->n] = '\0';
}

static void put_print(const struct uft_synth_field *f, int is_first, const struct uft_hist_sink *to)
{
	int i = find_number(f->type);

	hist_printf(to, "%s%s=%s", is_first ? "" : ", ", f->name, i >= 0 ? number_type[i].print : "%s");
}

static void put_argument(const struct uft_synth_field *f, const struct uft_hist_sink *to)
{
	hist_printf(to, f->is_stack ? ", __get_stacktrace(%s)" : f->is_dynamic ? ", __get_str(%s)" : ", REC->%s",
		    f->name);
}

static void put_declaration(const struct uft_synth_field *f, const struct uft_hist_sink *to)
{
	const char *bracket = strchr(f->type, '[');

	if (f->is_dynamic)
		hist_printf(to, "\tfield:__data_loc %s %s;", f->type, f->name);
	else if (bracket)
		hist_printf(to, "\tfield:%.*s %s[];", (int)(bracket - f->type), f->type, f->name);
	else
		hist_printf(to, "\tfield:%s %s;", f->type, f->name);
	hist_printf(to, "\toffset:%u;\tsize:%u;\tsigned:%d;\n", UFT_EVENT_COMMON + f->offset, f->size, f->is_signed);
}

static void put_format(const struct uft_synth *s, const struct uft_hist_sink *to)
{
	hist_printf(to, "name: %s\nID: 0\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		    "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
		    "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
		    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n", s->name);
	for (uint32_t i = 0; i < s->nfields; i++)
		put_declaration(&s->field[i], to);
	hist_printf(to, "\nprint fmt: \"");
	for (uint32_t i = 0; i < s->nfields; i++)
		put_print(&s->field[i], !i, to);
	hist_printf(to, "\"");
	for (uint32_t i = 0; i < s->nfields; i++)
		put_argument(&s->field[i], to);
	hist_printf(to, "\n");
}

struct uft_synth *uft_synth_find(const struct uft_synth_list *list, const char *name, size_t n)
{
	for (struct uft_synth *s = list->first; s; s = s->next)
		if (strlen(s->name) == n && !memcmp(s->name, name, n))
			return s;
	return NULL;
}

int uft_synth_add(struct uft_synth_list *list, struct uft_event_table *types, struct uft_synth *s)
{
	struct text format = { .cap = 64u << 10 };
	struct uft_hist_sink to = { &format, put };
	struct uft_synth **last = &list->first;
	struct uft_error err = { "" };
	int ret;

	format.p = malloc(format.cap);
	if (!format.p)
		return -ENOMEM;
	put_format(s, &to);
	ret = uft_event_table_add(types, UFT_OWNER_OURS, "synthetic", format.p, &s->type, &err);
	free(format.p);
	if (ret)
		return ret;
	while (*last)
		last = &(*last)->next;
	*last = s;
	return 0;
}

void uft_synth_remove(struct uft_synth_list *list, struct uft_event_table *types, struct uft_synth *s)
{
	for (struct uft_synth **p = &list->first; *p; p = &(*p)->next)
		if (*p == s) {
			*p = s->next;
			break;
		}
	uft_event_table_remove(types, s->type->index);
	uft_synth_free(s);
}

/* ---- A record -------------------------------------------------------------------------------- */

size_t uft_synth_pack(const struct uft_synth *s, const struct uft_synth_value *v, uint8_t *to, size_t room)
{
	size_t n = s->bytes;

	if (n > room)
		return 0;
	memset(to, 0, n);
	for (uint32_t i = 0; i < s->nfields; i++) {
		const struct uft_synth_field *f = &s->field[i];
		size_t bytes = v[i].p ? v[i].bytes : 0;

		if (!f->is_string && !f->is_stack) {
			memcpy(to + f->offset, &v[i].number, f->size);
		} else if (!f->is_dynamic) {
			memcpy(to + f->offset, v[i].p ? v[i].p : "", bytes < f->size ? bytes : f->size - 1);
		} else {
			uint32_t len =
				(uint32_t)(bytes < UFT_SYNTH_TEXT - 1 ? bytes : UFT_SYNTH_TEXT - 1) + f->is_string;
			uint64_t where = (uint64_t)len << 16 | (UFT_EVENT_COMMON + n);

			if (n + len > room)
				return 0;
			memcpy(to + f->offset, &where, 8);
			memcpy(to + n, v[i].p ? v[i].p : "", len - f->is_string);
			if (f->is_string)
				to[n + len - 1] = '\0';
			n += len;
		}
	}
	return n;
}
