/* SPDX-License-Identifier: MIT */
/*
 * hist_table.c - histograms as JSON or CSV
 *
 * The tables come as words (hist/hist.h) from a recording, this command's own session or another process's session.
 * Words of a session are not trusted: the reading ends where they are cut off.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/hist_table.h"
#include "hist/hist.h"
#include "output/report/table.h"
#include "symbol/array.h"
#include "symbol/text_file.h"

static int result_of(FILE *out)
{
	errno = 0;
	return fflush(out) || ferror(out) ? errno ? -errno : -EIO : 0;
}

/* ---- Words ----------------------------------------------------------------------------------- */

struct words { const char *p, *end; int is_cut; };

static const char *next_word(struct words *w)
{
	const char *word = w->p, *nul = memchr(word, '\0', (size_t)(w->end - word));

	w->is_cut |= !nul;
	w->p = nul ? nul + 1 : w->end;
	return nul ? word : "";
}

static uint64_t next_number(struct words *w)
{
	const char *word = next_word(w);

	return *word ? strtoull(word + 1, NULL, 10) : 0;
}

/* A histogram in front of its entries. */
struct head {
	const char *event, *definition, *state, *name[UFT_HIST_COLUMNS];
	uint64_t lost, hits, dropped, ncolumns, nrows;
};

static void next_head(struct words *w, struct head *h)
{
	h->event = next_word(w);
	h->definition = next_word(w);
	h->state = next_word(w);
	h->lost = next_number(w);
	h->hits = next_number(w);
	h->dropped = next_number(w);
	h->ncolumns = next_number(w);
	w->is_cut |= h->ncolumns > UFT_HIST_COLUMNS;
	for (uint64_t i = 0; i < h->ncolumns && !w->is_cut; i++)
		h->name[i] = next_word(w);
	h->nrows = next_number(w);
}

/* Names of a stack behind @cell. */
static uint64_t names_of(const char *cell)
{
	return *cell == UFT_HIST_STACK ? strtoull(cell + 1, NULL, 10) : 0;
}

static void skip_rows(struct words *w, const struct head *h)
{
	for (uint64_t i = 0; i < h->nrows && !w->is_cut; i++)
		for (uint64_t k = 0; k < h->ncolumns && !w->is_cut; k++)
			for (uint64_t n = names_of(next_word(w)); n && !w->is_cut; n--)
				next_word(w);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_value(FILE *out, struct words *w)
{
	const char *cell = next_word(w);
	uint64_t n = names_of(cell);

	switch (*cell) {
	case UFT_HIST_UNSIGNED:
	case UFT_HIST_SIGNED:
		fputs(cell + 1, out);
		break;
	case UFT_HIST_TEXT:
		table_put_json(out, cell + 1);
		break;
	case UFT_HIST_STACK:
		putc('[', out);
		for (uint64_t i = 0; i < n && !w->is_cut; i++) {
			fputs(i ? "," : "", out);
			table_put_json(out, next_word(w));
		}
		putc(']', out);
		break;
	default:
		fputs("null", out);
	}
}

static void put_json(FILE *out, struct words *w)
{
	struct head h;

	next_head(w, &h);
	fputs("{\"event\":", out);
	table_put_json(out, h.event);
	fputs(",\"trigger\":", out);
	table_put_json(out, h.definition);
	fprintf(out, ",\"paused\":%s,\"rows\":[", strcmp(h.state, "paused") ? "false" : "true");
	for (uint64_t i = 0; i < h.nrows && !w->is_cut; i++) {
		fputs(i ? ",\n{" : "\n{", out);
		for (uint64_t k = 0; k < h.ncolumns && !w->is_cut; k++) {
			fputs(k ? "," : "", out);
			table_put_json(out, h.name[k]);
			putc(':', out);
			put_value(out, w);
		}
		putc('}', out);
	}
	fprintf(out, "\n],\"hits\":%" PRIu64 ",\"dropped\":%" PRIu64 ",\"lost\":%" PRIu64 "}", h.hits, h.dropped,
		h.lost);
}

static void put_all_json(FILE *out, struct words *w)
{
	const char *comma = "\n";

	fputs("{\"report\":\"hist\",\"version\":1,\"histograms\":[", out);
	for (; w->p < w->end && !w->is_cut; comma = ",\n") {
		fputs(comma, out);
		put_json(out, w);
	}
	fputs("\n]}\n", out);
}

/* ---- CSV ------------------------------------------------------------------------------------- */

/* All columns, and where those of the histogram that is written are among them. */
struct csv {
	FILE *out;
	const char *command;
	const char **name;
	size_t n, at[UFT_HIST_COLUMNS];
	const char **cell;
	int error;
};

/* Of the columns of @h. */
static int find_columns(struct csv *t, const struct head *h)
{
	for (uint64_t i = 0; i < h->ncolumns; i++) {
		size_t k = 0;

		while (k < t->n && strcmp(t->name[k], h->name[i]))
			k++;
		t->at[i] = k;
		if (k == t->n) {
			if (array_resize(t->name, t->n + 1))
				return -ENOMEM;
			t->name[t->n++] = h->name[i];
		}
	}
	return 0;
}

static int find_all_columns(struct csv *t, struct words w)
{
	struct head h;
	int ret = 0;

	while (!ret && w.p < w.end && !w.is_cut) {
		next_head(&w, &h);
		ret = w.is_cut ? -EPROTO : find_columns(t, &h);
		skip_rows(&w, &h);
	}
	return ret || !w.is_cut ? ret : -EPROTO;
}

/* Names with `;` between, in which it is `:`. */
static int put_stack(FILE *out, const char *cell)
{
	uint64_t n = names_of(cell);
	const char *name = cell + strlen(cell) + 1;
	size_t size;
	char *text = NULL;
	FILE *f = open_memstream(&text, &size);
	int ret;

	for (uint64_t i = 0; f && i < n; i++, name++) {
		fputs(i ? ";" : "", f);
		for (; *name; name++)
			putc(*name == ';' ? ':' : *name, f);
	}
	ret = f ? text_file_close(f, &text) : -ENOMEM;
	if (!ret)
		table_put_csv(out, text);
	free(text);
	return ret;
}

static void row_csv(struct csv *t, size_t number, const char *event)
{
	fprintf(t->out, "%zu,", number);
	table_put_csv(t->out, event);
	for (size_t i = 0; i < t->n; i++) {
		const char *cell = t->cell[i] ? t->cell[i] : "";

		putc(',', t->out);
		if (*cell == UFT_HIST_TEXT)
			table_put_csv(t->out, cell + 1);
		else if (*cell == UFT_HIST_STACK)
			t->error = put_stack(t->out, cell) ? -ENOMEM : t->error;
		else if (*cell == UFT_HIST_UNSIGNED || *cell == UFT_HIST_SIGNED)
			fputs(cell + 1, t->out);
	}
	putc('\n', t->out);
}

/* All of them were counted, so nothing is cut off. */
static void put_csv(struct csv *t, struct words *w, size_t number)
{
	struct head h;

	next_head(w, &h);
	find_columns(t, &h);
	for (uint64_t i = 0; i < h.nrows; i++) {
		memset(t->cell, 0, t->n * sizeof(*t->cell));
		for (uint64_t k = 0; k < h.ncolumns; k++) {
			const char *cell = next_word(w);

			t->cell[t->at[k]] = cell;
			for (uint64_t n = names_of(cell); n; n--)
				next_word(w);
		}
		row_csv(t, number, h.event);
	}
	if (h.dropped)
		fprintf(stderr,
			"uft %s: %s: the table dropped %" PRIu64 " event%s that found no room (give it more: -n)\n",
			t->command, h.event, h.dropped, h.dropped == 1 ? "" : "s");
	if (h.lost)
		fprintf(stderr,
			"uft %s: %s: %" PRIu64
			" record%s of any kind %s lost as they were recorded, the table may lack as many\n",
			t->command, h.event, h.lost, h.lost == 1 ? "" : "s", h.lost == 1 ? "was" : "were");
}

static int put_all_csv(const char *command, FILE *out, struct words *w)
{
	struct csv t = { .out = out, .command = command };
	int ret = find_all_columns(&t, *w);

	t.cell = ret ? NULL : calloc(t.n + 1, sizeof(*t.cell));
	ret = ret || t.cell ? ret : -ENOMEM;
	if (!ret) {
		fputs("histogram,event", out);
		for (size_t i = 0; i < t.n; i++) {
			putc(',', out);
			table_put_csv(out, t.name[i]);
		}
		putc('\n', out);
	}
	for (size_t i = 1; w->p < w->end && !ret; i++)
		put_csv(&t, w, i);
	free(t.cell);
	free(t.name);
	return ret ? ret : t.error;
}

int cmd_hist_put(const char *command, FILE *out, enum uft_form form, const char *words, size_t n)
{
	struct words w = { words, words + n, 0 };
	int ret = 0;

	if (form == UFT_FORM_JSON)
		put_all_json(out, &w);
	else
		ret = put_all_csv(command, out, &w);
	return ret ? ret : w.is_cut ? -EPROTO : result_of(out);
}
