/* SPDX-License-Identifier: MIT */
/*
 * cells.c - a histogram's table as numbers and texts, for JSON and CSV
 *
 * The columns are those of the text, each with a unique name: keys, hitcount, sums, values saved by actions. A number
 * that the text shows by a name or as a range has one more column for that text. A value computed from all entries
 * (percent, graph) is shown as its sum.
 *
 * uft_hist_put_cells() writes the table as words that another process can read (hist.h).
 *
 * Invariant: one walk makes names and cells, so they agree in number and order. Failure: columns beyond
 * UFT_HIST_COLUMNS are left out; a value without a name is a cell of kind UFT_HIST_UNKNOWN. Writers of the table need
 * not stop.
 */
#include "hist/hist_internal.h"
#include "hist/syscalls.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define COLUMN_NAME	128u
struct columns { uint32_t n; char name[UFT_HIST_COLUMNS][COLUMN_NAME]; };
struct cell { enum uft_hist_kind kind; uint64_t number; const char *text; };

/* A row that is being filled: the names of all columns, or the cells of one element. */
struct filling {
	const struct uft_hist *h;
	const uint64_t *element;	/* NULL: names */
	const char *label;		/* the next name of one of its addresses */
	struct columns *columns;
	struct cell *cell;
	uint32_t n;
};

/* The next cell, of the column @name between @before and @behind. NULL: the walk makes names, or there is no room. */
static struct cell *next_cell(struct filling *to, const char *before, const char *name, const char *behind)
{
	if (to->n == UFT_HIST_COLUMNS)
		return NULL;
	if (to->element)
		return &to->cell[to->n++];
	snprintf(to->columns->name[to->n++], COLUMN_NAME, "%s%s%s", before, name, behind);
	return NULL;
}

static void put_number(struct filling *to, const char *before, const char *name, const char *behind, uint64_t v,
		       int is_signed)
{
	struct cell *c = next_cell(to, before, name, behind);

	if (c)
		*c = (struct cell){ .kind = is_signed ? UFT_HIST_SIGNED : UFT_HIST_UNSIGNED, .number = v };
}

/* @text NULL: unknown. */
static void put_text(struct filling *to, const char *before, const char *name, const char *behind, const char *text)
{
	struct cell *c = next_cell(to, before, name, behind);

	if (c)
		*c = (struct cell){ .kind = text ? UFT_HIST_TEXT : UFT_HIST_UNKNOWN, .text = text };
}

static uint64_t word(const struct filling *to, uint32_t at)
{
	return to->element ? uft_hist_read(&to->element[at]) : 0;
}

static const char *text_at(const struct filling *to, uint32_t at)
{
	return to->element ? (const char *)(to->element + at) : "";
}

static const char *next_label(struct filling *to)
{
	const char *name = to->label;

	to->label = name ? name + strlen(name) + 1 : NULL;
	return name;
}

/* Each place of the stack has a label, used or not. */
static void put_stack(struct filling *to, const struct hist_field *f)
{
	struct cell *c = next_cell(to, "", field_name(f), "");
	const char *first = to->label;
	uint32_t n = 0;

	for (uint32_t i = 0; i < STACK_DEPTH; i++) {
		next_label(to);
		n += n == i && word(to, f->word + i);
	}
	if (c)
		*c = (struct cell){ .kind = UFT_HIST_STACK, .text = first, .number = first ? n : 0 };
}

static void put_key(struct filling *to, const struct hist_field *f)
{
	const char *name = field_name(f);
	uint64_t v = word(to, f->word);

	if (f->flags & F_STACK) {
		put_stack(to, f);
	} else if (f->flags & F_LOG2) {
		put_number(to, "", name, "_log2", v, 0);
	} else if (f->flags & F_BUCKET) {
		put_number(to, "", name, "_from", v, 0);
		put_number(to, "", name, "_to", v + f->buckets - 1, 0);
	} else if (f->flags & F_STRING) {
		put_text(to, "", name, "", text_at(to, f->word));
	} else {
		put_number(to, "", name, "", v, f->is_signed && !(f->flags & F_HEX));
		if (f->flags & (F_SYM | F_SYM_OFFSET))
			put_text(to, "", name, "_name", next_label(to));
		else if (f->flags & F_EXECNAME)
			put_text(to, "", name, "_name", text_at(to, to->h->comm_word));
		else if (f->flags & F_SYSCALL)
			put_text(to, "", name, "_name", v < UFT_HIST_SYSCALLS ? uft_hist_syscall[v] : NULL);
	}
}

/* Prints the values that actions kept: the deciding value, by its handler and variable, and the variables of save(). */
static void put_kept(struct filling *to)
{
	const struct uft_hist *h = to->h;
	int has_save = 0;

	for (uint32_t i = 0; i < h->nactions; i++) {
		const struct action *a = h->action[i];

		if (a->handler == ON_MATCH || a->kind == ACT_SNAPSHOT)
			continue;
		put_number(to, a->handler == ON_MAX ? "max_" : "changed_", a->var + strspn(a->var, "$"), "",
			   word(to, a->track_word), 0);
		has_save = 1;
	}
	for (uint32_t i = 0; i < h->nsave_vars && has_save; i++) {
		const struct hist_field *v = h->save_var[i]->var;

		if (v->flags & F_STRING)
			put_text(to, "saved_", v->var, "", text_at(to, v->text_word));
		else
			put_number(to, "saved_", v->var, "", word(to, v->word), v->is_signed);
	}
}

static uint32_t fill(const struct uft_hist *h, const uint64_t *element, struct columns *columns, struct cell *cell)
{
	struct filling to = { .h = h, .element = element, .columns = columns, .cell = cell };

	to.label = element && h->table->label ? h->table->label[uft_hist_map_index(&h->table->map, element)] : NULL;
	for (uint32_t i = h->nvals; i < h->nvals + h->nkeys; i++)
		put_key(&to, h->field[i]);
	if (!h->attrs.no_hitcount)
		put_number(&to, "", "hitcount", "", word(&to, h->field[0]->word), 0);
	for (uint32_t i = 1; i < h->nvals; i++) {
		const struct hist_field *f = h->field[i];

		if (!(f->flags & (F_VAR | F_EXPR)))
			put_number(&to, "sum_", field_name(f), "", word(&to, f->word),
				   f->is_signed && !(f->flags & F_HEX));
	}
	put_kept(&to);
	return to.n;
}

static void find_columns(const struct uft_hist *h, struct columns *to)
{
	to->n = fill(h, NULL, to, NULL);
	/* Two keys of one field, or two sums: the second is `NAME_2`. */
	for (uint32_t i = 1; i < to->n; i++) {
		char base[COLUMN_NAME];
		uint32_t again = 1;

		memcpy(base, to->name[i], sizeof(base));
		for (uint32_t k = 0; k < i; k++)
			if (!strcmp(to->name[k], to->name[i])) {
				snprintf(to->name[i], COLUMN_NAME, "%.*s_%u", (int)COLUMN_NAME - 12, base, ++again);
				k = UINT32_MAX;		/* from the first again */
			}
	}
}

/* ---- Words ----------------------------------------------------------------------------------- */

static void put_word(const struct uft_hist_sink *to, const char *text)
{
	to->put(to->arg, text, strlen(text) + 1);
}

static void put_count(const struct uft_hist_sink *to, char kind, uint64_t v, int is_signed)
{
	char text[32];

	snprintf(text, sizeof(text), is_signed ? "%c%" PRId64 : "%c%" PRIu64, kind, v);
	put_word(to, text);
}

static void put_cell(const struct uft_hist_sink *to, const struct cell *c)
{
	const char *name = c->text, kind = (char)c->kind;

	switch (c->kind) {
	case UFT_HIST_UNSIGNED:
	case UFT_HIST_SIGNED:
		put_count(to, kind, c->number, c->kind == UFT_HIST_SIGNED);
		return;
	case UFT_HIST_UNKNOWN:
	case UFT_HIST_TEXT:
		to->put(to->arg, &kind, 1);
		put_word(to, name ? name : "");
		return;
	case UFT_HIST_STACK:
		put_count(to, kind, c->number, 0);
		for (uint64_t i = 0; i < c->number; i++, name += strlen(name) + 1)
			put_word(to, name);
		return;
	}
}

int uft_hist_put_cells(const struct uft_hist *h, const char *filter, int is_paused, uint64_t lost,
		       const struct uft_hist_sink *to)
{
	const struct uft_event_type *type = uft_hist_type(h);
	uint64_t hits = uft_hist_read(&h->table->map.memory->hits), drops = uft_hist_read(&h->table->map.memory->drops),
		 **v;
	struct columns *columns = malloc(sizeof(*columns));
	struct cell cell[UFT_HIST_COLUMNS];
	uint32_t n;

	v = columns ? sort_elements(h, &n) : NULL;
	if (!v) {
		free(columns);
		return -ENOMEM;
	}
	hist_printf(to, "%s:", type->system);
	put_word(to, type->name);
	uft_hist_put_definition(h, filter, to);
	put_word(to, "");
	put_word(to, is_paused ? "paused" : "active");
	put_count(to, 'n', lost, 0);
	put_count(to, 'n', hits, 0);
	put_count(to, 'n', drops, 0);
	find_columns(h, columns);
	put_count(to, 'n', columns->n, 0);
	for (uint32_t i = 0; i < columns->n; i++)
		put_word(to, columns->name[i]);
	put_count(to, 'n', n, 0);
	for (uint32_t i = 0; i < n; i++) {
		fill(h, v[i], NULL, cell);
		for (uint32_t k = 0; k < columns->n; k++)
			put_cell(to, &cell[k]);
	}
	free(v);
	free(columns);
	return 0;
}
