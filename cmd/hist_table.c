/* SPDX-License-Identifier: MIT */
/* hist_table.c - histograms as JSON or CSV; the columns are made in hist/cells.c */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/hist_table.h"
#include "output/report/table.h"

static int result_of(FILE *out)
{
	errno = 0;
	return fflush(out) || ferror(out) ? errno ? -errno : -EIO : 0;
}

static void put(void *arg, const char *p, size_t n)
{
	fwrite(p, 1, n, arg);
}

/* malloc'd; NULL: no memory. */
static char *definition_of(const struct hist_shown *s)
{
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);
	const struct uft_hist_sink to = { f, put };

	if (!f)
		return NULL;
	uft_hist_put_definition(s->hist, s->filter, &to);
	if (!fclose(f))
		return text;
	free(text);
	return NULL;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

struct json { FILE *out; const struct uft_hist_columns *columns; uint64_t nrows; };

static void put_value(FILE *out, const struct uft_hist_cell *c)
{
	const char *name = c->text;

	switch (c->kind) {
	case UFT_HIST_UNKNOWN:
		fputs("null", out);
		break;
	case UFT_HIST_UNSIGNED:
		fprintf(out, "%" PRIu64, c->number);
		break;
	case UFT_HIST_SIGNED:
		fprintf(out, "%" PRId64, (int64_t)c->number);
		break;
	case UFT_HIST_TEXT:
		table_put_json(out, c->text);
		break;
	case UFT_HIST_STACK:
		putc('[', out);
		for (uint64_t i = 0; i < c->number; i++, name += strlen(name) + 1) {
			fputs(i ? "," : "", out);
			table_put_json(out, name);
		}
		putc(']', out);
		break;
	}
}

static void row_json(void *arg, const struct uft_hist_cell *cell, uint32_t n)
{
	struct json *j = arg;

	fputs(j->nrows++ ? ",\n{" : "\n{", j->out);
	for (uint32_t i = 0; i < n; i++) {
		fputs(i ? "," : "", j->out);
		table_put_json(j->out, j->columns->name[i]);
		putc(':', j->out);
		put_value(j->out, &cell[i]);
	}
	putc('}', j->out);
}

static int put_json(FILE *out, const struct hist_shown *s, struct uft_hist_columns *columns)
{
	const struct uft_event_type *type = uft_hist_type(s->hist);
	struct json j = { out, columns, 0 };
	struct uft_hist_totals totals;
	char name[512], *definition = definition_of(s);
	int ret;

	if (!definition)
		return -ENOMEM;
	snprintf(name, sizeof(name), "%s:%s", type->system, type->name);
	uft_hist_columns(s->hist, columns);
	fputs("{\"event\":", out);
	table_put_json(out, name);
	fputs(",\"trigger\":", out);
	table_put_json(out, definition);
	free(definition);
	fprintf(out, ",\"paused\":%s,\"rows\":[", s->is_paused ? "true" : "false");
	ret = uft_hist_each_entry(s->hist, row_json, &j, &totals);
	if (!ret)
		fprintf(out, "\n],\"hits\":%" PRIu64 ",\"dropped\":%" PRIu64 ",\"lost\":%" PRIu64 "}", totals.hits, totals.dropped, s->lost);
	return ret;
}

static int put_all_json(FILE *out, const struct hist_shown *shown, size_t n)
{
	struct uft_hist_columns *columns = malloc(sizeof(*columns));
	int ret = columns ? 0 : -ENOMEM;

	fputs("{\"report\":\"hist\",\"version\":1,\"histograms\":[", out);
	for (size_t i = 0; i < n && !ret; i++) {
		fputs(i ? ",\n" : "\n", out);
		ret = put_json(out, &shown[i], columns);
	}
	fputs("\n]}\n", out);
	free(columns);
	return ret;
}

/* ---- CSV ------------------------------------------------------------------------------------- */

/* All columns, and where those of the histogram that is written are among them. */
struct csv {
	FILE *out;
	char (*name)[UFT_HIST_COLUMN_NAME];
	uint32_t n, at[UFT_HIST_COLUMNS];
	const struct uft_hist_cell **cell;
	size_t number;			/* of the histogram, from 1 */
	const char *event;
};

static int add_column(struct csv *t, const char *name, uint32_t *at)
{
	char (*grown)[UFT_HIST_COLUMN_NAME];

	for (*at = 0; *at < t->n; ++*at)
		if (!strcmp(t->name[*at], name))
			return 0;
	grown = realloc(t->name, (t->n + 1) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	t->name = grown;
	strcpy(t->name[t->n++], name);
	return 0;
}

static int find_columns(struct csv *t, const struct uft_hist *h, struct uft_hist_columns *columns)
{
	int ret = 0;

	uft_hist_columns(h, columns);
	for (uint32_t i = 0; i < columns->n && !ret; i++)
		ret = add_column(t, columns->name[i], &t->at[i]);
	return ret;
}

/* Names with `;` between, in which it is `:`. */
static void put_stack(FILE *out, const struct uft_hist_cell *c)
{
	size_t size;
	char *text = NULL;
	FILE *f = open_memstream(&text, &size);
	const char *name = c->text;

	for (uint64_t i = 0; f && i < c->number; i++, name++) {
		fputs(i ? ";" : "", f);
		for (; *name; name++)
			putc(*name == ';' ? ':' : *name, f);
	}
	if (f && !fclose(f))
		table_put_csv(out, text);
	free(text);
}

static void row_csv(void *arg, const struct uft_hist_cell *cell, uint32_t n)
{
	struct csv *t = arg;

	memset(t->cell, 0, t->n * sizeof(const struct uft_hist_cell *));
	for (uint32_t i = 0; i < n; i++)
		t->cell[t->at[i]] = &cell[i];
	fprintf(t->out, "%zu,", t->number);
	table_put_csv(t->out, t->event);
	for (uint32_t i = 0; i < t->n; i++) {
		const struct uft_hist_cell *c = t->cell[i];

		putc(',', t->out);
		if (c && c->kind == UFT_HIST_TEXT)
			table_put_csv(t->out, c->text);
		else if (c && c->kind == UFT_HIST_STACK)
			put_stack(t->out, c);
		else if (c && c->kind != UFT_HIST_UNKNOWN)
			put_value(t->out, c);
	}
	putc('\n', t->out);
}

static int put_csv(struct csv *t, const struct hist_shown *s, struct uft_hist_columns *columns)
{
	const struct uft_event_type *type = uft_hist_type(s->hist);
	struct uft_hist_totals totals;
	char name[512];
	int ret = find_columns(t, s->hist, columns);

	snprintf(name, sizeof(name), "%s:%s", type->system, type->name);
	t->event = name;
	ret = ret ? ret : uft_hist_each_entry(s->hist, row_csv, t, &totals);
	if (ret)
		return ret;
	if (totals.dropped)
		fprintf(stderr, "uft hist: %s: the table dropped %" PRIu64 " events that found no room (give it more: -n)\n", name, totals.dropped);
	if (s->lost)
		fprintf(stderr, "uft hist: %s: %" PRIu64 " records of any kind were lost as they were recorded, the table may lack as many\n", name, s->lost);
	return 0;
}

static int put_all_csv(FILE *out, const struct hist_shown *shown, size_t n)
{
	struct uft_hist_columns *columns = malloc(sizeof(*columns));
	struct csv t = { .out = out };
	int ret = columns ? 0 : -ENOMEM;

	for (size_t i = 0; i < n && !ret; i++)
		ret = find_columns(&t, shown[i].hist, columns);
	t.cell = calloc(t.n + 1, sizeof(*t.cell));
	ret = ret || t.cell ? ret : -ENOMEM;
	fputs("histogram,event", out);
	for (uint32_t i = 0; i < t.n; i++) {
		putc(',', out);
		table_put_csv(out, t.name[i]);
	}
	putc('\n', out);
	for (size_t i = 0; i < n && !ret; i++) {
		t.number = i + 1;
		ret = put_csv(&t, &shown[i], columns);
	}
	free(t.cell);
	free(t.name);
	free(columns);
	return ret;
}

int cmd_hist_put(FILE *out, enum uft_form form, const struct hist_shown *shown, size_t n)
{
	int ret = form == UFT_FORM_JSON ? put_all_json(out, shown, n) : put_all_csv(out, shown, n);

	return ret ? ret : result_of(out);
}
