/* SPDX-License-Identifier: MIT */
/*
 * text.c - a histogram's definition and table as text, byte for byte as the kernel's
 *
 * The table is read while others update it: each number was there at some moment, and the totals are read first, so
 * that hits never count events that the entries lack.
 */
#include "hist/hist_internal.h"
#include "hist/syscalls.h"
#include "symbol/clean.h"

#include <errno.h>

#define BAR	20u

/* ---- The definition -------------------------------------------------------------------------- */

static void put_field(const struct hist_field *f, const struct uft_hist_sink *to)
{
	const char *modifier = f->flags & (F_VAR_REF | F_EXPR | F_STACK) ? NULL : field_modifier(f);

	if (f->var)
		hist_printf(to, "%s=", f->var);
	if (f->flags & F_CPU)
		hist_printf(to, "common_cpu");
	else if (f->flags & F_CONST)
		hist_printf(to, "%llu", (unsigned long long)f->constant);
	else
		hist_printf(to, "%s%s", f->flags & (F_VAR_REF | F_ALIAS) ? "$" : "", field_name(f));
	if (f->flags & F_STACK && f->flags & F_KEY && f->field)
		modifier = "stacktrace";
	if (modifier)
		hist_printf(to, ".%s", modifier);
	if (f->buckets)
		hist_printf(to, "=%llu", (unsigned long long)f->buckets);
}

static void put_values(const struct uft_hist *h, const struct uft_hist_sink *to)
{
	const char *comma = "";

	hist_printf(to, ":vals=");
	for (uint32_t i = 0; i < h->nvals; i++) {
		if (h->field[i]->flags & F_VAR || (!i && h->attrs.no_hitcount))
			continue;
		hist_printf(to, "%s", comma);
		put_field(h->field[i], to);
		comma = ",";
	}
	comma = ":";
	for (uint32_t i = 0; i < h->nvals; i++)
		if (h->field[i]->flags & F_VAR) {
			hist_printf(to, "%s", comma);
			put_field(h->field[i], to);
			comma = ",";
		}
}

void uft_hist_put_definition(const struct uft_hist *h, const char *filter, const struct uft_hist_sink *to)
{
	hist_printf(to, "hist:%s%skeys=", h->attrs.name ? h->attrs.name : "", h->attrs.name ? ":" : "");
	for (uint32_t i = h->nvals; i < h->nvals + h->nkeys; i++) {
		hist_printf(to, "%s", i > h->nvals ? "," : "");
		put_field(h->field[i], to);
	}
	put_values(h, to);
	hist_printf(to, ":sort=");
	for (uint32_t i = 0; i < h->nsort; i++) {
		hist_printf(to, "%s", i ? "," : "");
		put_field(h->field[h->sort[i].field], to);
		hist_printf(to, "%s", h->sort[i].is_descending ? ".descending" : "");
	}
	hist_printf(to, ":size=%u", 1u << h->attrs.bits);
	if (h->has_timestamps)
		hist_printf(to, ":clock=%s", h->attrs.clock);
	if (h->attrs.no_hitcount)
		hist_printf(to, ":nohitcount");
	text_actions(h, to);
	if (filter)
		hist_printf(to, " if %s", filter);
}

/* ---- The table ------------------------------------------------------------------------------- */

struct stats { uint64_t max, total; };

/* Returns the next of the names of an element's addresses. */
static const char *next_name(const char **label)
{
	const char *name = *label ? *label : "";

	*label = *label ? *label + strlen(*label) + 1 : NULL;
	return name;
}

/* Prints a stack. As in a kernel, no line ends behind the name of a field. */
static void put_stack(const struct hist_field *f, const uint64_t *key, const char **label,
		      const struct uft_hist_sink *to)
{
	if (f->field)
		hist_printf(to, "%s.stacktrace", field_name(f));
	else
		hist_printf(to, "common_stacktrace:\n");
	for (uint32_t i = 0; i < STACK_DEPTH; i++) {
		const char *name = next_name(label);

		if (key[i])
			hist_printf(to, "         %s\n", name);
	}
}

/* Prints a text that the event's program chose, @width columns wide: control bytes are '?'. */
static void put_clean(const char *name, const char *text, int width, const struct uft_hist_sink *to)
{
	char copy[MAX_KEY_BYTES + TEXT_BYTES];
	size_t n = strnlen(text, sizeof(copy) - 1);

	memcpy(copy, text, n);
	copy[n] = '\0';
	uft_clean(copy, n, 0);
	hist_printf(to, "%s: %-*s", name, width, copy);
}

static void put_execname(const char *name, const char *comm, unsigned long long pid, const struct uft_hist_sink *to)
{
	put_clean(name, comm, 16, to);
	hist_printf(to, "[%10llu]", pid);
}

static void put_syscall(const char *name, uint64_t nr, const struct uft_hist_sink *to)
{
	const char *call = nr < UFT_HIST_SYSCALLS ? uft_hist_syscall[nr] : NULL;

	hist_printf(to, "%s: %s%-*s[%3llu]", name, call ? "sys_" : "", call ? 26 : 30, call ? call : "unknown_syscall",
		    (unsigned long long)nr);
}

static void put_key_part(const struct uft_hist *h, const struct hist_field *f, const uint64_t *element,
			 const char **label, const struct uft_hist_sink *to)
{
	unsigned long long v = element[f->word];
	const char *name = field_name(f);

	if (f->flags & F_HEX)
		hist_printf(to, "%s: %llx", name, v);
	else if (f->flags & F_SYM)
		hist_printf(to, "%s: [%llx] %-45s", name, v, next_name(label));
	else if (f->flags & F_SYM_OFFSET)
		hist_printf(to, "%s: [%llx] %-55s", name, v, next_name(label));
	else if (f->flags & F_EXECNAME)
		put_execname(name, (const char *)(element + h->comm_word), v, to);
	else if (f->flags & F_SYSCALL)
		put_syscall(name, v, to);
	else if (f->flags & F_STACK)
		put_stack(f, element + f->word, label, to);
	else if (f->flags & F_LOG2)
		hist_printf(to, "%s: ~ 2^%-2llu", name, v);
	else if (f->flags & F_BUCKET)
		hist_printf(to, "%s: ~ %llu-%llu", name, v, v + f->buckets - 1);
	else if (f->flags & F_STRING)
		put_clean(name, (const char *)(element + f->word), 50, to);
	else
		hist_printf(to, "%s: %10llu", name, v);
}

static void put_key(const struct uft_hist *h, const uint64_t *element, const struct uft_hist_sink *to)
{
	const char *label = h->table->label ? h->table->label[uft_hist_map_index(&h->table->map, element)] : NULL;
	int has_lines = 0;

	hist_printf(to, "{ ");
	for (uint32_t i = h->nvals; i < h->nvals + h->nkeys; i++) {
		hist_printf(to, "%s", i > h->nvals ? ", " : "");
		put_key_part(h, h->field[i], element, &label, to);
		has_lines |= (h->field[i]->flags & F_STACK) != 0;
	}
	hist_printf(to, "%s}", has_lines ? "" : " ");
}

/* In hundredths of a percent. */
static uint64_t share(uint64_t v, uint64_t of)
{
	return of ? (uint64_t)((unsigned __int128)v * 10000 / of) : 0;
}

static void put_value(const struct hist_field *f, const char *name, const struct stats *s, const uint64_t *element,
		      const struct uft_hist_sink *to)
{
	uint64_t v = uft_hist_read(&element[f->word]);

	if (f->flags & F_PERCENT && !s->total) {
		hist_printf(to, " %s (%%):[ERROR]", name);
	} else if (f->flags & F_PERCENT) {
		hist_printf(to, " %s (%%): %3llu.%02llu", name, (unsigned long long)share(v, s->total) / 100,
			    (unsigned long long)share(v, s->total) % 100);
	} else if (f->flags & F_GRAPH) {
		/* the value may have grown since the maximum of all was taken */
		uint64_t n = v < s->max ? share(v, s->max) * BAR / 10000 : s->max ? BAR : 0;

		hist_printf(to, " %s: %.*s%*s", name, (int)n, "####################", (int)(BAR - n), "");
	} else {
		hist_printf(to, f->flags & F_HEX ? " %s: %10llx" : " %s: %10llu", name, (unsigned long long)v);
	}
}

/* Prints the values that save() kept, and the value that they belong to. */
static void put_saved(const struct uft_hist *h, const struct action *a, const uint64_t *element,
		      const struct uft_hist_sink *to)
{
	hist_printf(to, "\n\t%s: %10llu", a->handler == ON_MAX ? "max" : "changed",
		    (unsigned long long)element[a->track_word]);
	for (uint32_t i = 0; i < h->nsave_vars; i++) {
		const struct hist_field *v = h->save_var[i]->var;

		hist_printf(to, "  ");
		if (v->flags & F_STRING)
			put_clean(v->var, (const char *)(element + v->text_word), 32, to);
		else
			hist_printf(to, "%s: %10llu", v->var, (unsigned long long)element[v->word]);
	}
}

static void put_entry(const struct uft_hist *h, const uint64_t *element, const struct stats *stats,
		      const struct uft_hist_sink *to)
{
	put_key(h, element, to);
	if (!h->attrs.no_hitcount)
		put_value(h->field[0], "hitcount", &stats[0], element, to);
	for (uint32_t i = 1; i < h->nvals; i++) {
		if (h->field[i]->flags & (F_VAR | F_EXPR))
			continue;
		hist_printf(to, " ");
		put_value(h->field[i], field_name(h->field[i]), &stats[i], element, to);
	}
	for (uint32_t i = 0; i < h->nactions; i++)
		if (h->action[i]->handler != ON_MATCH && h->action[i]->kind != ACT_SNAPSHOT)
			put_saved(h, h->action[i], element, to);
	hist_printf(to, "\n");
}

static void put_snapshot(const struct uft_hist *h, const struct uft_hist_sink *to)
{
	for (uint32_t i = 0; i < h->nactions; i++) {
		const struct action *a = h->action[i];

		if (a->kind != ACT_SNAPSHOT || !a->has_fired)
			continue;
		hist_printf(to,
			    "\nSnapshot taken (see tracing/snapshot).  Details:\n\ttriggering value { %s(%s) }: %10llu\ttriggered by event with key: ",
			    a->handler == ON_MAX ? "onmax" : "onchange", a->var, (unsigned long long)a->fired);
		put_key(h, a->fired_element, to);
		hist_printf(to, "\n");
	}
}

int uft_hist_put_table(const struct uft_hist *h, uint64_t lost, const struct uft_hist_sink *to)
{
	struct stats stats[MAX_FIELDS] = { { 0, 0 } };
	uint64_t hits = uft_hist_read(&h->table->map.memory->hits), drops = uft_hist_read(&h->table->map.memory->drops),
		 **v;
	uint32_t n;

	v = sort_elements(h, &n);
	if (!v)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < h->nvals; k++) {
			uint64_t sum = h->field[k]->flags & F_VAR ? 0 : uft_hist_read(&v[i][h->field[k]->word]);

			stats[k].total += sum;
			stats[k].max = sum > stats[k].max ? sum : stats[k].max;
		}
	for (uint32_t i = 0; i < n; i++)
		put_entry(h, v[i], stats, to);
	put_snapshot(h, to);
	hist_printf(to, "\nTotals:\n    Hits: %llu\n    Entries: %u\n    Dropped: %llu\n", (unsigned long long)hits, n,
		    (unsigned long long)drops);
	if (lost)
		hist_printf(to, "    Lost: %llu\n", (unsigned long long)lost);
	free(v);
	return 0;
}
