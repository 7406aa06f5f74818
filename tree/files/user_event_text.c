/* SPDX-License-Identifier: MIT */
/*
 * user_event_text.c - descriptions of user_events: their grammar, the `format` file, and which two are the same
 *
 * The grammar is the kernel's, with its edges: one blank separates type, name and size; blanks are free only behind a
 * `;`; a type of two words is `unsigned`, `struct`, __data_loc or __rel_loc with the next word; `long` is none, because
 * its size differs; an array has at most 1024 elements, by a number of at most 6 characters, and what follows its `]`
 * is ignored; a struct, and only a struct, has a size. Not as in the kernel, a field has a name, and a record has at
 * most UFT_EVENT_PAYLOAD_MAX bytes.
 */
#include "tree/files/user_event_text.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/event_type.h"
#include "tree/core/tree_internal.h"

#define MAX_ARRAY	1024u
#define ARRAY_TEXT	8u		/* room of the kernel for the text behind `[`, the 0 byte included */

static size_t starts(const char *text, const char *with)
{
	size_t n = strlen(with);

	return strncmp(text, with, n) ? 0 : n;
}

/* The kernel's kstrtouint(): a `+` and a newline are allowed. 0, -EINVAL. */
static int number(const char *text, int base, uint32_t *out)
{
	const char *digits = text + (*text == '+');
	unsigned long long n;
	char *end;

	if (!isxdigit((unsigned char)*digits))
		return -EINVAL;
	errno = 0;
	n = strtoull(digits, &end, base);
	if (errno || n > UINT32_MAX || (*end && strcmp(end, "\n")))
		return -EINVAL;
	*out = (uint32_t)n;
	return 0;
}

static int array_bytes(const char *type)
{
	const char *begin = strchr(type, '[');
	char text[ARRAY_TEXT], *end;
	uint32_t n;

	if (!begin || strlen(begin + 1) >= sizeof(text))
		return -EINVAL;
	strcpy(text, begin + 1);
	end = strchr(text, ']');
	if (!end)
		return -EINVAL;
	*end = '\0';
	return number(text, 0, &n) || n > MAX_ARRAY ? -EINVAL : (int)n;
}

/* Bytes and printf conversion of a type. -EINVAL: it has no size of its own. */
static int type_bytes(const char *type, const char **conversion)
{
	static const struct { const char *name; int bytes; const char *conversion; } known[] = {
		{ "s64", 8, "%lld" }, { "u64", 8, "%llu" }, { "s32", 4, "%d" }, { "u32", 4, "%u" }, { "int", 4, "%d" },
		{ "unsigned int", 4, "%u" },
		{ "s16", 2, "%d" }, { "u16", 2, "%u" }, { "short", 2, "%d" }, { "unsigned short", 2, "%u" },
		{ "s8", 1, "%d" }, { "u8", 1, "%u" },
		{ "char", 1, "%d" }, { "unsigned char", 1, "%u" },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(type, known[i].name)) {
			*conversion = known[i].conversion;
			return known[i].bytes;
		}
	*conversion = strstr(type, "char[") ? "%s" : "%llu";
	if (starts(type, "char[") || starts(type, "unsigned char["))
		return array_bytes(type);
	return starts(type, "__data_loc ") || starts(type, "__rel_loc ") ? 4 : -EINVAL;
}

struct parts { struct tree_text fields, list, head, args; uint32_t bytes; };

static void put_field(struct parts *d, const char *type, const char *name, int bytes, const char *conversion)
{
	const char *bracket = starts(type, "__data_loc") ? NULL : strchr(type, '[');
	int nbase = bracket ? (int)(bracket - type) : (int)strlen(type), is_struct = starts(type, "struct ") != 0;
	const char *get = !strstr(type, "char") ? NULL : starts(type, "__data_loc ") ? "__get_str" :
		starts(type, "__rel_loc ") ? "__get_rel_str" : NULL;
	char dims[16] = "";

	if (bracket)
		snprintf(dims, sizeof(dims), starts(type, "__rel_loc ") ? "[]" : "[%d]", bytes);
	text_printf(&d->list, "\tfield:%.*s %s%s;\toffset:%u;\tsize:%d;\tsigned:%d;\n", nbase, type, name, dims,
		    UFT_EVENT_COMMON + d->bytes, bytes, type[0] != 'u');
	text_printf(&d->fields, is_struct ? "%s%s %s %d" : "%s%s %s", d->fields.n ? "; " : "", type, name, bytes);
	text_printf(&d->head, "%s%s=%s", d->head.n ? " " : "", name, conversion);
	text_printf(&d->args, get ? ", %s(%s)" : ", %s%s", get ? get : "REC->", name);
	d->bytes += (uint32_t)bytes;
}

/* `TYPE NAME`, and of a struct its SIZE, in @field, which is changed. */
static int parse_field(struct parts *d, char *field)
{
	static const char *const two[] = { "unsigned ", "struct ", "__data_loc unsigned ", "__data_loc ",
		"__rel_loc unsigned ", "__rel_loc " };
	char *type = field + strspn(field, " \t\n\v\f\r"), *rest, *name, *size;
	const char *conversion = "%llu";
	uint32_t given;
	size_t head = 0;
	int bytes;

	if (!*type)
		return 0;
	for (size_t i = 0; i < sizeof(two) / sizeof(two[0]) && !head; i++)
		head = starts(type, two[i]);
	rest = strchr(type + head, ' ');
	if (!rest)
		return -EINVAL;
	*rest++ = '\0';
	name = strsep(&rest, " ");
	size = strsep(&rest, " ");
	if (!*name || rest || (size && (!starts(type, "struct ") || number(size, 10, &given))))
		return -EINVAL;
	bytes = !size ? type_bytes(type, &conversion) : given > UFT_EVENT_PAYLOAD_MAX ? -EINVAL : (int)given;
	if (bytes <= 0 || d->bytes + (uint32_t)bytes > UFT_EVENT_PAYLOAD_MAX)
		return -EINVAL;
	put_field(d, type, name, bytes, conversion);
	return 0;
}

int user_event_parse(const char *args, struct user_event_text *out)
{
	struct parts d = { 0 };
	char *copy = strdup(args ? args : ""), *rest = copy, *print = NULL;
	int ret = copy ? 0 : -ENOMEM;

	for (char *field; !ret && (field = strsep(&rest, ";"));)
		ret = parse_field(&d, field);
	text_put(&d.fields, "", 1);
	text_put(&d.list, "", 1);
	text_put(&d.head, "", 1);
	text_put(&d.args, "", 1);
	if (!ret && (d.fields.error || d.list.error || d.head.error || d.args.error ||
		     asprintf(&print, "\"%s\"%s", d.head.p, d.args.p) < 0))
		ret = -ENOMEM;
	free(d.head.p);
	free(d.args.p);
	free(copy);
	*out = (struct user_event_text){ d.fields.p, d.list.p, print, d.bytes };
	if (ret)
		user_event_text_free(out);
	return ret;
}

void user_event_text_free(struct user_event_text *t)
{
	free(t->fields);
	free(t->list);
	free(t->print);
	*t = (struct user_event_text){ 0 };
}

char *user_event_format(const struct user_event_text *t, const char *name)
{
	char *text;

	if (asprintf(&text,
		     "name: %s\nID: 0\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		     "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
		     "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
		     "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n%s\nprint fmt: %s\n",
		     name, t->list, t->print) < 0)
		return NULL;
	return text;
}

int user_event_split(char *text, char **args)
{
	size_t end = strcspn(text, " ");

	text[strcspn(text, "\n")] = '\0';
	*args = text[end] ? text + end + 1 : NULL;
	text[end] = '\0';
	return !*text || strchr(text, ':') ? -EINVAL : 0;
}

int user_event_is_same(const char *fields, const char *args)
{
	size_t n = args ? strlen(args) : 0, m = 0, nfields = strlen(fields);
	char *words = malloc(2 * n + 1);
	int ret;

	if (!words)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		int is_blank = isspace((unsigned char)args[i]);

		if (!is_blank || (m && words[m - 1] != ' '))
			words[m++] = is_blank ? ' ' : args[i];
		if (args[i] == ';')
			words[m++] = ' ';
	}
	m -= m && words[m - 1] == ' ';
	m -= m == nfields + 1 && nfields && words[m - 1] == ';';
	ret = m == nfields && !memcmp(words, fields, m);
	free(words);
	return ret;
}
