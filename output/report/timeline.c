/* SPDX-License-Identifier: MIT */
/*
 * timeline.c - calls per second over the time of a recording
 *
 * The recording is cut into BINS slots or fewer, 1, 2 or 5 times a power of ten long. A slot counts the calls that
 * began in it (or ended, if they were recorded without entries), the tasks that made them, and the lost records.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "output/emit.h"
#include "output/report/table.h"
#include "symbol/array.h"

#define BINS	50u
#define BAR	36u

struct bin { uint64_t calls, lost; uint32_t tasks; };

struct timeline {
	struct bin *bin;
	size_t nbins;
	uint64_t first_ns, width_ns, last_ns;
	uint32_t *seen;			/* by task: the last slot that counted it, + 1 */
	uint32_t nseen;
	int has_events;
};

/* 1, 2 or 5 times a power of ten, not less than @ns. */
static uint64_t round_width(uint64_t ns)
{
	static const uint64_t step[] = { 1, 2, 5 };

	for (uint64_t power = 1; power < UINT64_MAX / 100; power *= 10)
		for (size_t i = 0; i < 3; i++)
			if (step[i] * power >= ns)
				return step[i] * power;
	return ns;
}

static struct bin *bin_at(struct timeline *t, uint64_t ns, size_t *at)
{
	*at = ns > t->first_ns ? (size_t)((ns - t->first_ns) / t->width_ns) : 0;
	if (*at >= t->nbins)
		*at = t->nbins - 1;
	return &t->bin[*at];
}

static int count_task(struct timeline *t, struct bin *bin, size_t at, const struct uft_task *task)
{
	if (array_reach(t->seen, t->nseen, task->index))
		return -ENOMEM;
	bin->tasks += t->seen[task->index] != at + 1;
	t->seen[task->index] = (uint32_t)at + 1;
	return 0;
}

static int add_event(struct timeline *t, const struct uft_event *ev)
{
	struct bin *bin;
	size_t at;

	bin = bin_at(t, ev->ts_ns, &at);
	t->last_ns = ev->ts_ns > t->last_ns ? ev->ts_ns : t->last_ns;
	t->has_events = 1;
	if (ev->kind == UFT_EV_LOST) {
		bin->lost += ev->lost;
		return 0;
	}
	if (ev->kind != UFT_EV_ENTRY && ev->kind != UFT_EV_FUNC &&
	    !(ev->kind == UFT_EV_EXIT && ev->flags & UFT_EVF_CALL))
		return 0;
	bin->calls++;
	return count_task(t, bin, at, ev->task);
}

static int print_bins(const struct timeline *t, FILE *out, const struct uft_report_opts *o)
{
	static const struct table_column columns[] = {
		{ "from", "from_ns", TABLE_TIME, 8 }, { "calls", "calls", TABLE_COUNT, 12 },
		{ "calls/s", "calls_per_s", TABLE_COUNT, 14 },
		{ "tasks", "tasks", TABLE_COUNT, 7 }, { "lost", "lost", TABLE_COUNT, 10 }, { "", "", TABLE_NAME, 0 },
	};
	struct table table = {
		.out = out, .form = o->form, .column = columns, .ncolumns = o->form == UFT_FORM_TEXT ? 6 : 5
	};
	size_t n = t->has_events ? (size_t)((t->last_ns > t->first_ns ? t->last_ns - t->first_ns : 0) / t->width_ns) +
		1 : 0;
	uint64_t most = 1;

	n = n < t->nbins ? n : t->nbins;
	for (size_t i = 0; i < n; i++)
		most = t->bin[i].calls > most ? t->bin[i].calls : most;
	table_begin(&table, "timeline");
	for (size_t i = 0; i < n && !ferror(out); i++) {
		const struct bin *b = &t->bin[i];
		char bar[BAR + 1];
		size_t len = (size_t)((double)b->calls / (double)most * BAR + 0.5);

		memset(bar, '*', len);
		bar[len] = 0;
		table_row(&table, (struct table_cell[]){ CELL_TIME(i * t->width_ns, 1), CELL_COUNT(b->calls),
			CELL_COUNT((uint64_t)((double)b->calls * 1e9 / (double)t->width_ns)), CELL_COUNT(b->tasks),
			CELL_COUNT(b->lost), CELL_NAME(bar) }, 0);
	}
	return table_end(&table);
}

int uft_output_timeline(struct uft_stream *st, FILE *out, const struct uft_report_opts *o)
{
	const struct uft_info *info = uft_stream_info(st);
	struct timeline t = { .first_ns = info->first_ns, .width_ns = round_width(info->duration_ns / BINS + 1) };
	struct emit_source *src = malloc(sizeof(*src));
	const struct uft_event *ev;
	int ret = -ENOMEM;

	t.nbins = (size_t)(info->duration_ns / t.width_ns) + 1;
	t.bin = calloc(t.nbins, sizeof(*t.bin));
	if (src && t.bin) {
		emit_source_init(src, st);
		ret = 0;
	}
	while (!ret && (ev = emit_source_next(src)))
		ret = add_event(&t, ev);
	if (!ret)
		ret = print_bins(&t, out, o);
	free(t.bin);
	free(t.seen);
	free(src);
	return ret;
}
