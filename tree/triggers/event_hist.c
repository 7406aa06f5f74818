/* SPDX-License-Identifier: MIT */
/*
 * event_hist.c - histograms that targets count: the places of their maps, and how the session collects the counts
 *
 * A histogram of numbers and short texts needs no records if nothing else uses its event: each target counts the event
 * in a map of its slice (program/hist_row.h) by a rule (UFT_RULE_HIST). If the map has no room for a key, the target
 * writes a record, which the session counts: an event is in a map or a record, never in both.
 *
 * At any time a thread may still run an old list of rules. So a map is never cleared, nor its place given to another
 * histogram: counts only grow. The session keeps the count it has seen of each element, and adds the difference to the
 * histogram's own table: when a file is read, before the triggers of the instance change, before a slice is given to
 * another process, and in each round before the first record is counted. The last is because records are of events
 * after those in the full map, and a full table keeps the first keys. A target from which the session cannot detach
 * keeps its slice until the session ends (target_keep()); no file is read after that. Counts that come while the
 * histogram is paused are seen and not added. Once all places are used, histograms count records.
 *
 * A target can write anything into its maps. The session knows geometry and place by itself; a key may be any. A count
 * that falls, or rises faster than possible in the time, is false: it is not added, and counted as a lost record.
 *
 * The session copies a map by read(), and does not access its mapping of the map. A target allocates the memory of a
 * map before the first event, and an access of a missing page would allocate it. On a full file system that fails: the
 * session would get a page of zeros of its own (symbol/guard_map.h), and never see later counts of the target.
 *
 * All data here belongs to the owner.
 */
#include "symbol/array.h"
#include "symbol/now.h"
#include "tree/triggers/event_trigger.h"

#include "program/hist_row.h"

#include <stdlib.h>
#include <string.h>

struct tree_hists {
	uint8_t *live;		/* by slice */
	uint64_t used;		/* bytes used from the begin of the region; never freed */
	void *copy;		/* room for the largest map that a row can have */
};

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

	v->has_row = h && v->event != UFT_EVENT_PRINT && uft_hist_row(v->hist, &v->row);
	if (!v->has_row)
		return;
	v->row.offset = h->used;
	v->has_row = uft_hist_row_is_good(&v->row, a->hist_bytes);
	v->since = now_ns();
	if (v->has_row)
		h->used += (uft_hist_map_bytes(v->row.bits, v->row.key_words + counts_of(v)) + UFT_PAGE - 1) &
			   ~(uint64_t)(UFT_PAGE - 1);
}

/* Do events pause or resume a histogram (enable_hist, disable_hist)? Then the clock of each event decides. */
static int is_switched_by_events(const struct triggers *g, uint32_t event)
{
	return event_trigger_has(g, EVT_ENABLE_HIST, EVT_DISABLE_HIST, event);
}

int event_hist_is_counted(const struct instance *in, const struct settings *set, const struct event_trigger *v)
{
	return v->has_row && !v->is_paused && !v->is_withdrawn && !event_fork_is_asked(set) &&
	       !event_fork_counts(set) && !is_switched_by_events(in->triggers, v->event);
}

/*
 * Puts the increase of an element since @seen into @more. Returns 1; 0: no increase, or a false count. @most: events
 * possible since the element was 0, not since the last look, or a target could add a false count at each look.
 */
static int take_more(struct event_trigger *v, const uint64_t *element, uint64_t *seen, uint64_t most, uint64_t *more)
{
	uint64_t hits = uft_hist_read(element);

	if (hits == seen[0])
		return 0;
	/* GUARD(hist_hits_checked) */
	if (hits < seen[0] || hits > most /* GUARD(hist_hits_since, hits - seen[0] > most) */) {
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

/* Copies the map as it is now. NULL: the map has no elements, or there is no memory for a copy. */
static void *copy_map(struct tree_hists *h, const struct event_trigger *v, const struct uft_slice_file *f,
		      uint64_t region)
{
	const uint64_t at = region + v->row.offset;
	struct uft_hist_memory head;

	uft_slice_read(f, at, &head, sizeof(head));
	if (!head.used ||
	    (!h->copy &&
	     !(h->copy = malloc(uft_hist_map_bytes(UFT_HIST_ROW_BITS, UFT_HIST_KEY_WORDS + 1 + UFT_HIST_ROW_SUMS)))))
		return NULL;
	uft_slice_read(f, at, h->copy, uft_hist_map_bytes(v->row.bits, v->row.key_words + counts_of(v)));
	return h->copy;
}

/*
 * Collects the map of a live slice, whose region of maps is at @region of the file. @most: events possible since the
 * map was empty.
 */
static void collect_map(struct tree_hists *h, struct event_trigger *v, uint32_t slice, const struct uft_slice_file *f,
			uint64_t region, uint64_t most)
{
	void *copy = copy_map(h, v, f, region);
	struct uft_hist_row row = v->row;
	struct uft_hist_map map;
	uint64_t more[1 + UFT_HIST_ROW_SUMS], *e;

	row.offset = 0;
	map = uft_hist_row_map(&row, copy);
	if (!copy || array_reach(v->seen, v->nseen, slice))
		return;
	if (!v->seen[slice])
		v->seen[slice] = calloc((size_t)counts_of(v) << map.bits, sizeof(**v->seen));
	for (uint32_t at = 0; v->seen[slice] && (e = uft_hist_map_next(&map, &at)); )
		if (take_more(v, e + map.key_words, v->seen[slice] + (size_t)counts_of(v) * uft_hist_map_index(&map, e),
			      most, more) &&
		    !v->is_paused)
			uft_hist_add_counted(v->hist, &v->row, e, more);
}

static int has_maps(const struct triggers *g)
{
	for (uint32_t k = 0; g && k < g->nof; k++)
		for (const struct event_trigger *v = g->of[k]; v; v = v->next)
			if (v->has_row)
				return 1;
	return 0;
}

/* Collects all maps of one slice. */
static void collect_slice(struct instance *in, uint32_t slice, uint64_t now)
{
	const struct uft_arena *a = uft_session_arena(in->t->session);
	const struct triggers *g = in->triggers;
	struct uft_slice_file f;

	if (!in->t->hists->live[slice] || !has_maps(g) || uft_slice_open(in->t->session, slice, &f))
		return;
	for (uint32_t k = 0; k < g->nof; k++)
		for (struct event_trigger *v = g->of[k]; v; v = v->next)
			if (v->has_row)
				collect_map(in->t->hists, v, slice, &f, a->hist_offset, (now - v->since) * a->ncpus);
	uft_slice_close(&f);
}

void event_hist_collect(struct instance *in)
{
	uint64_t now = now_ns();

	for (uint32_t i = 0; in->t->hists && i < uft_session_arena(in->t->session)->nslices; i++)
		collect_slice(in, i, now);
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
	if (slice < uft_session_arena(t->session)->nslices && hists_of(t))	/* later slices are the session's own */
		t->hists->live[slice] = 1;
}

/* The next process in the slice begins with empty maps. */
void event_hists_end(struct uft_tree *t, uint32_t slice)
{
	if (!t->hists || slice >= uft_session_arena(t->session)->nslices || !t->hists->live[slice])
		return;
	for (struct instance *in = t->instances; in; in = in->next) {
		collect_slice(in, slice, now_ns()); /* GUARD(hist_collects_slice) */
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
	if (t->hists) {
		free(t->hists->live);
		free(t->hists->copy);
	}
	free(t->hists);
	t->hists = NULL;
}
