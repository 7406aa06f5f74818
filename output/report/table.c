/* SPDX-License-Identifier: MIT */
/* table.c - the table printer of all reports; table.h describes the three forms */
#include <errno.h>
#include <string.h>

#include "output/report/table.h"
#include "symbol/clean.h"

/* ---- Values ---- */

const char *table_time(char buf[TABLE_TIME_ROOM], uint64_t ns)
{
	static const struct { const char *name; double ns; } unit[] = {
		{ "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 }, { "h", 3600e9 },
	};
	size_t i = 0;
	double v;
	int decimals;

	if (ns < 1000) {
		snprintf(buf, TABLE_TIME_ROOM, "%uns", (unsigned)ns);
		return buf;
	}
	/* 999.5 would be printed as 1000; seconds go up to 9999 */
	while (i < 3 && (double)ns / unit[i].ns >= (i == 2 ? 9999.5 : 999.5))
		i++;
	v = (double)ns / unit[i].ns;
	decimals = v < 9.995 ? 2 : v < 99.95 ? 1 : 0;
	snprintf(buf, TABLE_TIME_ROOM, "%.*f%s", decimals, v, unit[i].name);
	return buf;
}

unsigned table_utf8(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	unsigned n = s[0] < 0x80 ? 1 : s[0] >= 0xc2 && s[0] <= 0xdf ? 2 : (s[0] & 0xf0) == 0xe0 ? 3 : s[0] >= 0xf0 &&
		s[0] <= 0xf4 ? 4 : 0;

	for (unsigned i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	/* neither overlong nor a surrogate nor beyond U+10FFFF */
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) || (s[0] == 0xf0 && s[1] < 0x90) ||
	    (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

/* The code point of a character of at most three bytes. */
static unsigned code_point(const unsigned char *s, unsigned n)
{
	return n == 1 ? s[0] : n == 2 ? (s[0] & 0x1fu) << 6 | (s[1] & 0x3fu) :
		(s[0] & 0xfu) << 12 | (s[1] & 0x3fu) << 6 | (s[2] & 0x3fu);
}

void table_put_json(FILE *out, const char *s)
{
	unsigned n;

	putc('"', out);
	for (; *s; s += n ? n : 1) {
		n = table_utf8(s);
		if (!n)
			fputs("\\ufffd", out);
		else if (*s == '"' || *s == '\\')
			fprintf(out, "\\%c", *s);
		else if (uft_clean_length(s, n) < n)
			fprintf(out, "\\u%04x", code_point((const unsigned char *)s, n));
		else
			fwrite(s, 1, n, out);
	}
	putc('"', out);
}

/* 1: a spreadsheet would run the text as a formula. Names of functions come from others. */
static int is_formula(const char *s)
{
	return *s && strchr("=+-@\t\r", *s) != NULL;
}

/* 0: some spreadsheets begin a cell at ; and TAB, too, unless the text is quoted. */
static int is_plain_csv(const char *s)
{
	if (!*s || *s == ' ' || is_formula(s) || s[strcspn(s, "\",\r\n")])
		return 0;
	for (unsigned n; *s && (n = table_utf8(s)); s += n)
		if ((*s == ';' || *s == '\t') && is_formula(s + 1))
			return 0;
	return !*s;
}

void table_put_csv(FILE *out, const char *s)
{
	if (is_plain_csv(s)) {
		fputs(s, out);
		return;
	}
	putc('"', out);
	if (is_formula(s))
		putc('\'', out);
	for (unsigned n; *s; s += n ? n : 1) {
		n = table_utf8(s);
		if (n)
			fwrite(s, 1, n, out);
		else
			fputs("\xef\xbf\xbd", out);
		if (*s == '"')
			putc('"', out);
	}
	putc('"', out);
}

/* ---- Text ---- */

/* Prints @s with at most @room characters, 0: any number; a cut name ends in `...`. */
static void put_name(FILE *out, const char *s, unsigned room)
{
	size_t len = 0, n;

	for (const char *p = s; *p; p += n) {
		n = table_utf8(p);
		n = n ? n : 1;
		len++;
	}
	for (unsigned at = 0; *s; s += n, at++) {
		if (room > 3 && len > room && at + 3 == room) {
			fputs("...", out);
			return;
		}
		n = table_utf8(s);
		n = n ? n : 1;
		if (uft_clean_length(s, n) < n)
			putc('?', out);
		else
			fwrite(s, 1, n, out);
	}
}

static int put_cell_text(const struct table *t, const struct table_column *c, const struct table_cell *v)
{
	char time[TABLE_TIME_ROOM + 1];

	if (!v->is_known)
		return fprintf(t->out, "%*s", c->width, "-");
	switch (c->kind) {
	case TABLE_COUNT:
		return fprintf(t->out, "%*llu", c->width, (unsigned long long)v->u);
	case TABLE_TIME:
		return fprintf(t->out, "%*s", c->width, table_time(time, v->u));
	case TABLE_CHANGE:
		time[0] = v->f < 0 ? '-' : '+';
		table_time(time + 1, (uint64_t)(v->f < 0 ? -v->f : v->f));
		return fprintf(t->out, "%*s", c->width, time);
	case TABLE_SHARE:
		return fprintf(t->out, "%*.*f", c->width, v->f < 0.99995 ? 2 : 1, 100 * v->f);
	case TABLE_NUMBER:
		return fprintf(t->out, "%*.3g", c->width, v->f);
	case TABLE_NAME:
		break;
	}
	return fprintf(t->out, "%*s", c->width, v->s);
}

static void row_text(const struct table *t, const struct table_cell *cell, unsigned indent)
{
	unsigned at = 0;

	for (size_t i = 0; i < t->ncolumns; i++) {
		const struct table_column *c = &t->column[i];
		int n;

		if (!c->head)
			continue;
		if (c->width) {
			n = put_cell_text(t, c, &cell[i]);
			at += n > 0 ? (unsigned)n : 0;
			continue;
		}
		fprintf(t->out, "%*s", (int)indent + 2, "");
		at += indent + 2;
		put_name(t->out, cell[i].is_known ? cell[i].s : "-", t->width && t->width > at +
			 8 ? t->width - at : t->width ? 8 : 0);
	}
	putc('\n', t->out);
}

static void begin_text(const struct table *t)
{
	int is_first = 1;

	for (size_t i = 0; i < t->ncolumns; i++) {
		const struct table_column *c = &t->column[i];

		if (!c->head)
			continue;
		if (is_first)
			fprintf(t->out, "#%*s", c->width - 1, c->head);
		else
			fprintf(t->out, c->width ? "%*s" : "  %*s", c->width, c->head);
		is_first = 0;
	}
	putc('\n', t->out);
}

/* ---- JSON and CSV ---- */

static void put_value(const struct table *t, const struct table_column *c, const struct table_cell *v)
{
	if (!v->is_known)
		fputs(t->form == UFT_FORM_JSON ? "null" : "", t->out);
	else if (c->kind == TABLE_COUNT || c->kind == TABLE_TIME)
		fprintf(t->out, "%llu", (unsigned long long)v->u);
	else if (c->kind == TABLE_CHANGE)
		fprintf(t->out, "%.0f", v->f);
	else if (c->kind == TABLE_SHARE || c->kind == TABLE_NUMBER)
		fprintf(t->out, "%.*g", c->kind == TABLE_SHARE ? 6 : 9, v->f);
	else if (t->form == UFT_FORM_JSON)
		table_put_json(t->out, v->s);
	else
		table_put_csv(t->out, v->s);
}

static void row_json(const struct table *t, const struct table_cell *cell)
{
	fputs(t->nrows ? ",\n{" : "\n{", t->out);
	for (size_t i = 0; i < t->ncolumns; i++) {
		fprintf(t->out, "%s\"%s\":", i ? "," : "", t->column[i].key);
		put_value(t, &t->column[i], &cell[i]);
	}
	putc('}', t->out);
}

static void row_csv(const struct table *t, const struct table_cell *cell)
{
	for (size_t i = 0; i < t->ncolumns; i++) {
		if (i)
			putc(',', t->out);
		put_value(t, &t->column[i], &cell[i]);
	}
	putc('\n', t->out);
}

/* ---- The table ---- */

void table_begin(struct table *t, const char *report)
{
	t->nrows = 0;
	if (t->form == UFT_FORM_JSON)
		fprintf(t->out, "{\"report\":\"%s\",\"version\":1,\"rows\":[", report);
	else if (t->form == UFT_FORM_TEXT)
		begin_text(t);
	for (size_t i = 0; t->form == UFT_FORM_CSV && i < t->ncolumns; i++)
		fprintf(t->out, "%s%s", t->column[i].key, i + 1 < t->ncolumns ? "," : "\n");
}

void table_row(struct table *t, const struct table_cell *cell, unsigned indent)
{
	if (t->form == UFT_FORM_JSON)
		row_json(t, cell);
	else if (t->form == UFT_FORM_CSV)
		row_csv(t, cell);
	else
		row_text(t, cell, indent);
	t->nrows++;
}

int table_end(struct table *t)
{
	if (t->form == UFT_FORM_JSON)
		fputs("\n]}\n", t->out);
	errno = 0;
	return fflush(t->out) || ferror(t->out) ? errno ? -errno : -EIO : 0;
}
