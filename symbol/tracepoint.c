/* SPDX-License-Identifier: MIT */
/*
 * tracepoint.c - the events that an object declares in its ELF sections
 *
 * uft/tracepoint.h describes the sections: records with a magic number and a length, one behind the other, with zeroes
 * between them. All numbers in them are offsets within the file's own image, or distances, so that no relocation is
 * needed. For each event the class is found by system and name, names of enumerators in its print format become
 * numbers, and the text of its `format` file is made, which is all that the rest of uft needs.
 *
 * Files are hostile: every record is checked against its section, every address against the loaded segments. A damaged
 * record is refused by name and the rest goes on. Work is linear in the sections, except for sorting, and for the texts
 * that events share; memory has the file's bound (parse_bound.h).
 */
#include "symbol/tracepoint.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/elf_view.h"
#include "symbol/object_internal.h"
#include "symbol/sorted.h"
#include "symbol/text_file.h"
#include "uft/tracepoint.h"

#define MAX_RECORDS	60000u	/* of a section */
#define MAX_NAME	100u	/* of a system or an event */
#define FORMAT_MAX_BYTES	(4u << 20)	/* with the largest expansion; the kernel's longest are some 30 KB */

/* A record's texts. An event has no print format here, an enumerator has a value. */
struct text {
	const char *system, *name, *print;
	const uint8_t *fields, *end;	/* of a class */
	uint32_t nprint;
	int64_t value;
};

struct list { struct text *v; size_t n, cap; };

struct search {
	struct elf_view *view;
	struct uft_object *obj;
	struct list classes, prints, enums;
	struct uft_found_events *out;
};

static void refuse(struct search *s, const char *what, const char *section)
{
	if (!s->out->nrefused++)
		uft_fail(&s->out->refused, -EINVAL, "%s: a tracepoint in section %s is not used: %s", s->obj->path,
			 section, what);
}

/* ---- Records --------------------------------------------------------------------------------- */

/* Returns the record at *@p or behind zeroes; NULL: no more. *@bytes: its length; *@p is moved behind it. */
static const uint8_t *next_record(struct search *s, const char *section, const uint8_t **p, const uint8_t *end,
				  size_t least, uint32_t *bytes)
{
	while (end - *p >= 16) {
		const uint8_t *at = *p;

		if (!elf_get64(at)) {
			*p += 8;
			continue;
		}
		*bytes = elf_get32(at + 8);
		if (elf_get64(at) != UFT_TRACEPOINT_MAGIC || *bytes < least || *bytes > (size_t)(end - at)) {
			refuse(s, "its length or its magic number is wrong, and what follows it is not read", section);
			return NULL;
		}
		*p += (*bytes + 7) & ~7ull;
		if (*p > end)
			*p = end;
		return at;
	}
	return NULL;
}

/* Takes @n bytes that are one text with its 0 byte. */
static const char *take_text(const uint8_t **p, const uint8_t *end, uint32_t n)
{
	const char *text = (const char *)*p;

	if (!n || n > (size_t)(end - *p) || strnlen(text, n) != n - 1)
		return NULL;
	*p += n;
	return text;
}

/* Returns the bytes of the name at @text, at most one more than a name may have; 0: no name. */
static size_t name_length(const char *text)
{
	size_t n = 0;

	if (!isalpha((unsigned char)*text) && *text != '_')
		return 0;
	while (n <= MAX_NAME && (isalnum((unsigned char)text[n]) || text[n] == '_'))
		n++;
	return n;
}

static int is_name(const char *text)
{
	size_t n = name_length(text);

	return n && !text[n] && n <= MAX_NAME;
}

/* Returns the bytes of sizeof(NAME) at @text; 0: none. */
static size_t sizeof_length(const char *text)
{
	size_t n = !strncmp(text, "sizeof(", 7) ? name_length(text + 7) : 0;

	return n && text[7 + n] == ')' ? n + 8 : 0;
}

static int is_number_name(const char *text)
{
	size_t n = sizeof_length(text);

	return is_name(text) || (n && !text[n] && n <= MAX_NAME);
}

static int add_text(struct search *s, struct list *l, const struct text *t)
{
	size_t cap = l->cap ? 2 * l->cap : 16;
	struct text *grown =
		l->n < l->cap ? l->v : bound_grow(s->view->bound, "tracepoints", l->v, cap, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	l->cap = l->n < l->cap ? l->cap : cap;
	l->v = grown;
	grown[l->n++] = *t;
	return 0;
}

static int compare_texts(const void *a, const void *b)
{
	const struct text *x = a, *y = b;
	int ret = strcmp(x->name, y->name);

	return ret ? ret : strcmp(x->system, y->system);
}

static const struct text *find_text(const struct list *l, const char *system, const char *name)
{
	struct text key = { .system = system, .name = name };

	return l->n ? bsearch(&key, l->v, l->n, sizeof(*l->v), compare_texts) : NULL;
}

/*
 * @size: of the fixed part, @at: offset in it of the lengths of system, name and, except for an enumerator, print
 * format.
 */
static int read_texts(struct search *s, const char *section, size_t size, size_t at, int has_print, struct list *out)
{
	size_t i = elf_section(s->view, section, 0), len;
	const uint8_t *p = i ? elf_section_data(s->view, i, &len) : NULL, *end = p ? p + len : NULL, *record;
	uint32_t bytes;
	int ret = 0;

	while (p && !ret && (record = next_record(s, section, &p, end, size, &bytes))) {
		const uint8_t *text = record + size;
		struct text t = { .end = record + bytes };

		t.system = take_text(&text, t.end, elf_get32(record + at));
		t.name = t.system ? take_text(&text, t.end, elf_get32(record + at + 4)) : NULL;
		t.print = t.name && has_print ? take_text(&text, t.end, elf_get32(record + at + 8)) : NULL;
		t.nprint = t.print ? elf_get32(record + at + 8) : 0;
		t.fields = text;
		if (!has_print && t.name)
			t.value = (int64_t)elf_get64(record + offsetof(struct uft_event_enum, value));
		if (!t.name || (has_print && !t.print) || !is_name(t.system) ||
		    !(has_print ? is_name(t.name) : is_number_name(t.name)) || out->n == MAX_RECORDS)
			refuse(s, "a name in it is damaged", section);
		else
			ret = add_text(s, out, &t);
	}
	if (out->n)
		qsort(out->v, out->n, sizeof(*out->v), compare_texts);
	return ret;
}

/* ---- The text of a format file --------------------------------------------------------------- */

/*
 * Replaces names of enumerators and known sizes by numbers outside of texts; in texts control bytes are written as in
 * C.
 */
static void put_print(const struct search *s, FILE *f, const char *system, const char *print)
{
	int is_quoted = 0;

	for (const char *p = print; *p;) {
		size_t n = 0;
		char name[MAX_NAME + 1];
		const struct text *e = NULL;

		if (*p == '"')
			is_quoted = !is_quoted;
		for (int i = 0; i < 2 && !is_quoted && !e; i++) {
			n = i ? name_length(p) : sizeof_length(p);
			n = n < MAX_NAME ? n : MAX_NAME;
			memcpy(name, p, n);
			name[n] = '\0';
			e = n ? find_text(&s->enums, system, name) : NULL;
		}
		if (e)
			fprintf(f, "%lld", (long long)e->value);
		else if (n)
			fputs(name, f);
		else if (*p == '\n')
			fputs("\\n", f);
		else if (*p == '\t')
			fputs("\\t", f);
		else if (is_quoted && *p == '\\' && p[1])
			fprintf(f, "\\%c", *++p);
		else
			fputc((unsigned char)*p < ' ' ? ' ' : *p, f);
		p += n ? n : 1;
	}
}

/* Most bytes of a number in place of a name, and of a field's words in place of its structure. */
#define PRINT_GROWS	20u
#define FIELD_GROWS	8u
#define NAME_STEPS	16u	/* for looking up a name, for each byte of a print format */

/* 0: a field is damaged. */
static int put_fields(FILE *f, const struct text *class)
{
	const uint8_t *p = class->fields;

	while (class->end - p >= (long)sizeof(struct uft_class_field)) {
		struct uft_class_field field;
		const char *type, *name, *length, *loc, *brackets;

		memcpy(&field, p, sizeof(field));
		p += sizeof(field);
		type = take_text(&p, class->end, field.type_bytes);
		name = type ? take_text(&p, class->end, field.name_bytes) : NULL;
		length = name ? take_text(&p, class->end, field.length_bytes) : NULL;
		if (!length || !is_name(name) || strpbrk(type, ";\n\t") || strpbrk(length, ";\n\t[]") ||
		    field.kind > UFT_CLASS_REL_LOC)
			return 0;
		loc = field.kind == UFT_CLASS_DATA_LOC ? "__data_loc " : field.kind == UFT_CLASS_REL_LOC ?
			"__rel_loc " : "";
		brackets = field.kind && strcmp(type, "cpumask_t") ? "[]" : "";	/* as the kernel writes them */
		fprintf(f, "\tfield:%s%s%s %s%s%s%s;\toffset:%u;\tsize:%u;\tsigned:%d;\n", loc, type, brackets, name,
			*length ? "[" : "", length,
			*length ? "]" : "", field.offset, field.size, field.is_signed != 0);
	}
	return p == class->end;
}

/* Free it by bound_free(); NULL: a field is damaged, or no memory. */
static char *make_format(struct search *s, const char *system, const char *name, const struct text *class,
			 const char *print)
{
	char *text = NULL, *copy = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);
	int is_good;

	if (!f)
		return NULL;
	fprintf(f, "name: %s\nID: 0\nformat:\n"
		"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
		"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
		"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n", name);
	is_good = put_fields(f, class);
	fputs("\nprint fmt: ", f);
	put_print(s, f, system, print);
	fputc('\n', f);
	is_good &= !ferror(f);
	if (!text_file_close(f, &text) && is_good)
		copy = bound_alloc(s->view->bound, "tracepoints", n + 1, 1);
	if (copy)
		memcpy(copy, text, n + 1);
	free(text);
	return copy;
}

/* Events share the texts of their class, so a small file can have many long ones. 0 or -EFBIG. */
static int may_make_format(struct search *s, const struct text *class, const struct text *print)
{
	const uint64_t most =
		PRINT_GROWS * (uint64_t)print->nprint + FIELD_GROWS * (uint64_t)(class->end - class->fields);

	if (most > FORMAT_MAX_BYTES || bound_steps(s->view->bound, "tracepoints", NAME_STEPS * most / PRINT_GROWS))
		return -EFBIG;
	return 0;
}

static char *copy_name(struct search *s, const char *name)
{
	const size_t n = strlen(name) + 1;
	char *copy = bound_alloc(s->view->bound, "tracepoints", n, 1);

	return copy ? memcpy(copy, name, n) : NULL;
}

/* ---- Events and sites ------------------------------------------------------------------------ */

static int add_event(struct search *s, uint64_t addr, const uint8_t *record)
{
	struct uft_found_events *out = s->out;
	const char *part[3], *p = (const char *)record + offsetof(struct uft_tracepoint, text),
			     *end = (const char *)record + sizeof(struct uft_tracepoint);
	const struct text *class, *print;
	struct uft_found_event *grown, e = { .addr = addr };

	for (int i = 0; i < 3; i++) {
		size_t n = strnlen(p, (size_t)(end - p));

		part[i] = p;
		if (p + n >= end || !is_name(p)) {
			refuse(s, "its name is damaged or too long", "__uft_events");
			return 0;
		}
		p += n + 1;
	}
	class = find_text(&s->classes, part[0], part[2]);
	print = find_text(&s->prints, part[0], part[1]);
	if (!class || !strcmp(part[0], "ftrace")) {
		refuse(s, class ? "the system ftrace is not for programs" : "its class is not described",
		       "__uft_events");
		return 0;
	}
	if (out->nevents == MAX_RECORDS) {
		refuse(s, "there are too many", "__uft_events");
		return 0;
	}
	if (may_make_format(s, class, print ? print : class)) {
		refuse(s, "its text is too long, or those of all events are", "__uft_events");
		return 0;
	}
	e.format = make_format(s, part[0], part[1], class, print ? print->print : class->print);
	if (!e.format) {
		refuse(s, "a field of its class is damaged, or there is no room for its text", "__uft_classes");
		return 0;
	}
	e.system = copy_name(s, part[0]);
	e.name = copy_name(s, part[1]);
	grown = out->nevents & (out->nevents - 1) ? out->event :
		bound_grow(s->view->bound, "tracepoints", out->event, out->nevents ? 2 * out->nevents : 1,
			   sizeof(*grown));
	if (!e.system || !e.name || !grown) {
		bound_free(e.system);
		bound_free(e.name);
		bound_free(e.format);
		return -ENOMEM;
	}
	out->event = grown;
	grown[out->nevents++] = e;
	return 0;
}

static int read_events(struct search *s)
{
	size_t i = elf_section(s->view, "__uft_events", 0), len;
	const uint8_t *data = i ? elf_section_data(s->view, i, &len) : NULL, *p = data, *record;
	uint32_t bytes;
	int ret = 0;

	while (p && !ret &&
	       (record = next_record(s, "__uft_events", &p, data + len, sizeof(struct uft_tracepoint), &bytes)))
		ret = add_event(s, s->view->sh[i].sh_addr + (uint64_t)(record - data), record);
	return ret;
}

static int is_code(const struct uft_object *obj, uint64_t addr, uint64_t bytes)
{
	for (size_t i = 0; i < obj->ntext; i++)
		if (addr >= obj->text[i].addr && addr < obj->text[i].end && bytes <= obj->text[i].end - addr)
			return 1;
	return 0;
}

static int read_sites(struct search *s)
{
	size_t i = elf_section(s->view, "__uft_sites", 0), len = 0;
	const uint8_t *data = i ? elf_section_data(s->view, i, &len) : NULL;
	uint64_t base = i ? s->view->sh[i].sh_addr : 0;
	size_t n = data ? len / sizeof(struct uft_tracepoint_site) : 0;

	if (!n)
		return 0;
	s->out->site = bound_zalloc(s->view->bound, "calls of tracepoints", n, sizeof(*s->out->site));
	if (!s->out->site)
		return -ENOMEM;
	for (size_t k = 0; k < n; k++) {
		uint64_t at = base + k * sizeof(struct uft_tracepoint_site);
		const uint8_t *p = data + k * sizeof(struct uft_tracepoint_site);
		uint64_t event = at + 8 + (uint64_t)(int64_t)(int32_t)elf_get32(p + 8);
		struct uft_found_site site = { .addr = at + (uint64_t)(int64_t)(int32_t)elf_get32(p), .on = at + 4 +
			(uint64_t)(int64_t)(int32_t)elf_get32(p + 4) };
		size_t nth = SORTED_FIRST(e, s->out->nevents, s->out->event[e].addr >= event);
		int is_event = nth < s->out->nevents && s->out->event[nth].addr == event;

		if (!elf_get32(p) && !elf_get32(p + 4))
			continue;	/* of code that the linker has dropped */
		if (!is_event || !is_code(s->obj, site.addr, s->obj->machine == EM_X86_64 ? 5 : 4) ||
		    !is_code(s->obj, site.on, 1)) {
			refuse(s, "a call of it is not in code, or of no event", "__uft_sites");
			continue;
		}
		site.event = (uint32_t)nth;
		s->out->site[s->out->nsites++] = site;
	}
	SORT_BY(s->out->site, s->out->nsites, addr);
	return 0;
}

int uft_object_events(struct uft_object *obj, struct uft_found_events *out)
{
	struct search s = { .view = &object_priv(obj)->view, .obj = obj, .out = out };
	int ret;

	*out = (struct uft_found_events){ 0 };
	if (!elf_section(s.view, "__uft_events", 0))
		return 0;
	ret = read_texts(&s, "__uft_classes", sizeof(struct uft_event_class),
			 offsetof(struct uft_event_class, system_bytes), 1, &s.classes);
	ret = ret ? ret : read_texts(&s, "__uft_prints", sizeof(struct uft_event_print),
				     offsetof(struct uft_event_print, system_bytes), 1, &s.prints);
	ret = ret ? ret : read_texts(&s, "__uft_enums", sizeof(struct uft_event_enum),
				     offsetof(struct uft_event_enum, system_bytes), 0, &s.enums);
	ret = ret ? ret : read_events(&s);
	ret = ret ? ret : read_sites(&s);
	bound_free(s.classes.v);
	bound_free(s.prints.v);
	bound_free(s.enums.v);
	if (!ret)
		return 0;
	uft_found_events_free(out);
	return bound_error(s.view->bound, obj->path, "tracepoints", NULL);
}

void uft_found_events_free(struct uft_found_events *f)
{
	for (uint32_t i = 0; i < f->nevents; i++) {
		bound_free(f->event[i].system);
		bound_free(f->event[i].name);
		bound_free(f->event[i].format);
	}
	bound_free(f->event);
	bound_free(f->site);
	*f = (struct uft_found_events){ 0 };
}
