/* SPDX-License-Identifier: MIT */
/*
 * event_hist.c - histograms that targets count: where their maps lie, and how the counts come from there
 *
 * A histogram of numbers and short texts, of an event of which nothing else is wanted, needs no records: each target
 * counts the event in a map of its slice (program/hist_row.h) by a rule (UFT_RULE_HIST). What the map has no room for
 * is written, and a record that comes is counted by the session as ever: an event is in a map or a record, never in
 * both.
 *
 * A thread may be in a list of rules that was replaced, at any time. So a map is never cleared, nor its place given to
 * another histogram: counts only grow. The session keeps what it has seen of each element, and adds the difference to
 * the histogram's own table: when a file is read, before the triggers of the instance change, and before a slice is
 * given away. A target that cannot be left keeps its slice until the session is over (target_keep()), and no file is
 * read behind that. What comes while the histogram is paused is seen and not added. Once all places are used,
 * histograms take records.
 *
 * A target can write anything into its maps. Geometry and place are the session's own; a key may be any. A count that
 * falls, or has risen beyond what time allows, is a lie: it is not added, and counted as a lost record.
 *
 * All is the owner's.
 */
#include "tree/triggers/event_trigger.h"

#include "output/dense.h"
#include "program/hist_row.h"
#include "symbol/shared.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

struct tree_hists {
	uint8_t *live;		/* by slice */
	uint64_t used;		/* of the region, from its begin on, for good */
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* NULL: no memory. */
static struct tree_hists *hists_of(struct uft_tree *t)
{
	struct tree_hists *h = t->hists ? t->hists : calloc(1, sizeof(*h));

	if (h && !h->live && !(h->live = calloc(uft_session_arena(t->session)->nslices, 1))) {
		free(h);
		return NULL;
	}
	t->hists = h;
	return h;
}

static uint32_t counts_of(const struct event_trigger *v)
{
	return 1u + v->row.nsums;
}

void event_hist_place(struct instance *in, struct event_trigger *v)
{
	const struct uft_arena *a = uft_session_arena(in->t->session);
	struct tree_hists *h = hists_of(in->t);

	v->has_row = h && uft_hist_row(v->hist, &v->row);
	if (!v->has_row)
		return;
	v->row.offset = h->used;
	v->has_row = uft_hist_row_is_good(&v->row, a->hist_bytes);
	v->since = now_ns();
	if (v->has_row)
		h->used += (uft_hist_map_bytes(v->row.bits, v->row.key_words + counts_of(v)) + UFT_PAGE - 1) & ~(uint64_t)(UFT_PAGE - 1);
}

/* The clock of an event decides what an enable_hist or disable_hist does not see. */
static int is_switched_by_events(const struct triggers *g, uint32_t event)
{
	for (uint32_t i = 0; i < g->nof; i++)
		for (const struct event_trigger *v = g->of[i]; v; v = v->next)
			if ((v->action == EVT_ENABLE_HIST || v->action == EVT_DISABLE_HIST) && v->target == event)
				return 1;
	return 0;
}

int event_hist_is_counted(const struct instance *in, const struct settings *set, const struct event_trigger *v)
{
	return v->has_row && !v->is_paused && !v->is_withdrawn && !set->pids[PIDS_EVENT_ONLY].n && !set->pids[PIDS_EVENT_NOT].n &&
	       !is_switched_by_events(in->triggers, v->event);
}

/*
 * What an element has more than @seen, into @more. 1: there is something; 0: nothing, or a lie. @most: what there was
 * time for since it was nothing, not since the last look: a target that lies at each one would gain by our looking.
 */
static int take_more(struct event_trigger *v, const uint64_t *element, uint64_t *seen, uint64_t most, uint64_t *more)
{
	uint64_t hits = uft_hist_read(element);

	if (hits == seen[0])
		return 0;
	if (hits < seen[0] || hits > most) {
		seen[0] = hits;
		v->lost++;
		return 0;
	}
	more[0] = hits - seen[0];
	seen[0] = hits;
	for (uint32_t i = 1; i < counts_of(v); i++) {
		uint64_t sum = uft_hist_read(&element[i]);

		more[i] = sum - seen[i];
		seen[i] = sum;
	}
	return 1;
}

/*
 * Of a live slice. @most: events that it can have had since its map was empty. Of a map without elements only the first
 * page is read (which makes it).
 */
static void collect_slice(const struct uft_arena *a, struct event_trigger *v, uint32_t slice, uint64_t most)
{
	char *region = (char *)(uintptr_t)a + a->slice_offset + slice * a->slice_bytes + a->hist_offset;
	const struct uft_hist_map map = uft_hist_row_map(&v->row, region);
	uint64_t more[1 + UFT_HIST_ROW_SUMS], key[UFT_HIST_KEY_WORDS], *e;

	if (!__atomic_load_n(&map.memory->used, __ATOMIC_RELAXED) || dense_reserve(&v->seen, &v->nseen, slice, sizeof(*v->seen)))
		return;
	if (!v->seen[slice])
		v->seen[slice] = calloc((size_t)counts_of(v) << map.bits, sizeof(**v->seen));
	for (uint32_t at = 0; v->seen[slice] && (e = uft_hist_map_next(&map, &at)); ) {
		if (!take_more(v, e + map.key_words, v->seen[slice] + (size_t)counts_of(v) * uft_hist_map_index(&map, e), most, more))
			continue;
		for (uint32_t i = 0; i < map.key_words; i++)
			key[i] = uft_hist_read(&e[i]);
		if (!v->is_paused)
			uft_hist_add_counted(v->hist, &v->row, key, more);
	}
}

/* Of one slice, or of all that are live. */
static void collect(struct instance *in, uint32_t from, uint32_t to)
{
	const struct uft_arena *a = uft_session_arena(in->t->session);
	const struct tree_hists *h = in->t->hists;
	const struct triggers *g = in->triggers;
	uint64_t now = now_ns();

	for (uint32_t k = 0; g && h && k < g->nof; k++)
		for (struct event_trigger *v = g->of[k]; v; v = v->next)
			for (uint32_t i = from; v->has_row && i < to; i++)
				if (h->live[i])
					collect_slice(a, v, i, (now - v->since) * a->ncpus);
}

void event_hist_collect(struct instance *in)
{
	if (in->t->hists)
		collect(in, 0, uft_session_arena(in->t->session)->nslices);
}

void event_hist_free(struct event_trigger *v)
{
	for (uint32_t i = 0; i < v->nseen; i++)
		free(v->seen[i]);
	free(v->seen);
}

void event_hists_begin(struct uft_tree *t, uint32_t slice, const struct uft_image *img)
{
	(void)img;
	if (slice < uft_session_arena(t->session)->nslices && hists_of(t))	/* those behind are the session's own */
		t->hists->live[slice] = 1;
}

/* Whoever has the slice next begins with empty maps. */
void event_hists_end(struct uft_tree *t, uint32_t slice)
{
	if (!t->hists || slice >= uft_session_arena(t->session)->nslices || !t->hists->live[slice])
		return;
	for (struct instance *in = t->instances; in; in = in->next) {
		collect(in, slice, slice + 1);
		for (uint32_t k = 0; in->triggers && k < in->triggers->nof; k++)
			for (struct event_trigger *v = in->triggers->of[k]; v; v = v->next)
				if (slice < v->nseen) {
					free(v->seen[slice]);
					v->seen[slice] = NULL;
				}
	}
	t->hists->live[slice] = 0;
}

void event_hists_free(struct uft_tree *t)
{
	if (t->hists)
		free(t->hists->live);
	free(t->hists);
	t->hists = NULL;
}
