/* SPDX-License-Identifier: MIT */
/*
 * reclaim.c - a full buffer drops records that only other buffers show, before it overwrites its own
 *
 * Buffers that follow a leader get the same records, and hide those of other instances when they are read (choices.c).
 * Hidden records take room nevertheless: a busy function of one instance would overwrite the rare function of another.
 * So when a buffer is full, its chunks are copied without the records that the choice of that moment hides: functions
 * and their stacks, the session's own events, and graph calls that begin and end in the chunk without a shown record
 * inside. Other records that open or close a call stay, since depths depend on them. "Inside" is decided within the
 * chunk: if a thread leaves the CPU during a dropped call and comes back before it ends, the calls that it makes on
 * another CPU meanwhile are shown one level too high.
 *
 * Each chunk is searched once; a search of all chunks comes after records of a quarter of the limit. Rests of several
 * chunks are joined where they fit into one: the pieces of the copy in front are still there, so that no record is
 * judged again. The last chunk of a ring still grows and stays (that of an ended process until it is the oldest), and
 * so do chunks that the consumer has begun.
 *
 * No target's ring is drained during a search, and a burst brings millions of records. So the session checks once what
 * the records of a ring have in common: the choice, whether it wants the task, whether it wants the function (struct
 * judging).
 */
#include <stdlib.h>
#include <string.h>

#include "stream/live/live_internal.h"

#define RECORDS		(UFT_PAGE / 8)

/* A record: its place, its task, and whether it is dropped. */
struct piece {
	const uint8_t *at;
	uint64_t word, clock;
	uint32_t pid, tid;
	uint32_t to;			/* its place in the copy */
	uint8_t words, is_call;
	uint8_t is_gone, is_gone_alone;	/* is_gone if it were in a chunk of its own */
};

struct pieces {
	struct piece v[2 * RECORDS];
	size_t n;
	int goes, has_gone_events;	/* of the last added chunk, by itself */
	const struct lv_chunk *of;	/* whose rest these pieces are; NULL: of none */
	uint8_t copy[];			/* a sub-buffer */
};

#define MEMO	256u			/* functions; a power of two */

/* The search of one ring. */
struct judging {
	struct uft_live *l;
	const struct lv_ring *r;
	const struct sel_choice *c;	/* for clocks from `from` on, before `to` */
	uint64_t from, to;
	uint32_t pid, tid;		/* does the choice want the task? */
	int wants_task;
	struct { uint32_t id; int8_t is_hidden; } func[MEMO];	/* by this choice; -1: not checked yet */
};

/* ---- Hidden records -------------------------------------------------------------------------- */

static void judge_by(struct judging *j, uint64_t clock)
{
	const struct uft_live *l = j->l;
	size_t i = sel_choice_of(l->choice, l->nchoice, clock);

	j->c = &l->choice[i];
	j->from = i ? l->choice[i].from : 0;
	j->to = i + 1 < l->nchoice ? l->choice[i + 1].from : UINT64_MAX;
	j->wants_task = -1;
	for (i = 0; i < MEMO; i++)
		j->func[i].is_hidden = -1;
}

static int wants_task(struct judging *j, const struct piece *p)
{
	if (j->wants_task < 0 || j->pid != p->pid || j->tid != p->tid) {
		j->pid = p->pid;
		j->tid = p->tid;
		j->wants_task = call_view_wants_task(j->c->view, p->pid, p->tid);
	}
	return j->wants_task;
}

/* Keeps a function that the image does not know yet (lv_sync_images()): it is judged when it is read. */
static int is_hidden_func(struct judging *j, const struct piece *p, uint32_t id)
{
	struct dec_image *image = &j->l->base->image[j->r->image];
	const struct uft_sym *sym;
	uint32_t at = id % MEMO;

	if (!wants_task(j, p))
		return 1;
	if (j->func[at].is_hidden < 0 || j->func[at].id != id) { /* GUARD(memo_of_func, j->func[at].is_hidden < 0) */
		sym = dec_sym(j->l->base, image, id);
		j->func[at].id = id;
		j->func[at].is_hidden =
			sym->of && !call_view_wants_func(&j->l->base->sel, j->c->view, image->img, sym);
	}
	return j->func[at].is_hidden;
}

/* May the record be shown as a single one (uft_live_show_one())? Then it stays. */
static int may_be_single(const struct uft_live *l, const struct piece *p)
{
	size_t i = sel_single_from(l->single_at, l->nsingle_at, p->clock);

	return l->tap || (i < l->nsingle_at && l->single_at[i] == p->clock);
}

static int is_hidden_stack(struct judging *j, const struct piece *p)
{
	uint64_t func;

	if (may_be_single(j->l, p))
		return 0;
	memcpy(&func, p->at + 8, 8);
	if (func & UFT_STACK_TRACEPOINT)
		return (j->c->flags & UFT_LIVE_NO_EVENT_STACKS) != 0;
	return !(func & UFT_STACK_ADDRESS) && is_hidden_func(j, p, (uint32_t)func & UFT_REC_VALUE_MAX);
}

static int has_graph(struct judging *j, const struct piece *p)
{
	return !(j->c->flags & (UFT_LIVE_NO_GRAPH | UFT_LIVE_NO_CALLS)) && wants_task(j, p);
}

/* Sets is_gone; or is_call: the record is dropped if its call lies within the chunk. */
static void judge(struct judging *j, struct piece *p)
{
	uint32_t value = UFT_REC_VALUE(p->word), event = UFT_EVENT_ID(value);

	if (p->clock < j->from || p->clock >= j->to) /* GUARD(judge_by_clock, !j->to) */
		judge_by(j, p->clock);
	if (j->c->from > p->clock)
		return;
	switch (UFT_REC_KIND(p->word)) {
	case UFT_REC_FUNC:
		p->is_gone = j->c->flags & (UFT_LIVE_NO_FUNCS | UFT_LIVE_NO_CALLS) || is_hidden_func(j, p, value);
		break;
	case UFT_REC_CALL:
		p->is_gone = !has_graph(j, p) || is_hidden_func(j, p, value);
		break;
	case UFT_REC_ENTRY:
	case UFT_REC_EXIT:
		p->is_call = !has_graph(j, p) || is_hidden_func(j, p, value);
		break;
	case UFT_REC_UNWIND:
		p->is_gone = !value;	/* a blank */
		break;
	case UFT_REC_EVENT:
		if (event == UFT_EVENT_STACK)
			p->is_gone = (uint8_t)is_hidden_stack(j, p);
		else if (UFT_EVENT_IS_NAMED(event))
			p->is_gone = !event_view_show(j->c, event);
		else if (UFT_EVENT_IS_OWN(event))
			p->is_gone = (j->c->flags & sel_hidden_by(event)) != 0;
		else
			p->is_gone = event < UFT_EVENT_OWN && !has_graph(j, p);
		break;
	}
	p->is_gone_alone = p->is_gone;
}

/*
 * Returns the task's innermost call that begins before @i and stays so far. Returns @i if there is none, or if a later
 * record changes depths otherwise.
 */
static size_t open_call(const struct pieces *s, size_t i)
{
	for (size_t k = i; k--;) {
		const struct piece *p = &s->v[k];
		unsigned kind = UFT_REC_KIND(p->word);

		if (p->is_gone || p->tid != s->v[i].tid || p->pid != s->v[i].pid)
			continue;
		if (kind == UFT_REC_ENTRY)
			return p->is_call && UFT_REC_VALUE(p->word) == UFT_REC_VALUE(s->v[i].word) ? k : i;
		if (kind == UFT_REC_EXIT || kind == UFT_REC_EXIT_LEFT || kind == UFT_REC_UNWIND)
			return i;
	}
	return i;
}

/* Is it a record of the call, such as arguments, if no other call remains in between? */
static int is_of_call(const struct piece *p, const struct piece *entry)
{
	return UFT_REC_KIND(p->word) == UFT_REC_EVENT && UFT_EVENT_ID(UFT_REC_VALUE(p->word)) < UFT_EVENT_OWN &&
	       p->tid == entry->tid && p->pid == entry->pid;
}

/* Drops hidden calls that end at @from or later. */
static void take_out_calls(struct pieces *s, size_t from)
{
	for (size_t i = from; i < s->n; i++) {
		size_t k = s->v[i].is_call && UFT_REC_KIND(s->v[i].word) == UFT_REC_EXIT ? open_call(s, i) : i;

		if (k == i)
			continue;
		s->v[i].is_gone = s->v[k].is_gone = 1;
		for (size_t e = k + 1; e < i; e++)
			s->v[e].is_gone |= is_of_call(&s->v[e], &s->v[k]);
	}
}

static int is_event(const struct piece *p)
{
	return UFT_REC_KIND(p->word) == UFT_REC_EVENT && UFT_EVENT_IS_NAMED(UFT_EVENT_ID(UFT_REC_VALUE(p->word)));
}

static int is_event_stack(const struct piece *p)
{
	uint32_t value = UFT_REC_VALUE(p->word);
	uint64_t first;

	if (UFT_REC_KIND(p->word) != UFT_REC_EVENT || UFT_EVENT_ID(value) != UFT_EVENT_STACK || p->words < 2)
		return 0;
	memcpy(&first, p->at + 8, 8);
	return (first & UFT_STACK_ADDRESS) && (first & UFT_STACK_TRACEPOINT);
}

/* Drops the stack of each dropped event, because a reader would take it for the stack of the event before. */
static void take_out_stacks(const struct uft_live *l, struct pieces *s, size_t from)
{
	for (size_t i = from; i < s->n; i++) {
		size_t k = i + 1;

		if (!s->v[i].is_gone || !is_event(&s->v[i]))
			continue;
		while (k < s->n && (s->v[k].tid != s->v[i].tid || s->v[k].pid != s->v[i].pid))
			k++;
		if (k < s->n && is_event_stack(&s->v[k]) && !may_be_single(l, &s->v[k]))
			s->v[k].is_gone = 1;
	}
}

/* ---- Chunks ---------------------------------------------------------------------------------- */

/*
 * Appends the chunk's records to the pieces. Leaves out dropped ones, but not events, because their stacks may be
 * dropped, too.
 */
static void split(struct judging *j, struct pieces *s, const struct lv_chunk *c)
{
	struct uft_sub_header h;
	struct piece now;

	memcpy(&h, c->data, sizeof(h));
	now = (struct piece){ .clock = h.clock, .pid = h.pid, .tid = h.tid };
	for (size_t at = sizeof(h); at + 8 <= c->len && s->n < 2 * RECORDS; at += 8u * now.words) {
		uint64_t w[3];

		memcpy(w, c->data + at, 8);
		now.at = c->data + at;
		now.word = w[0];
		now.words = (uint8_t)wr_record_words(w[0]);
		if (!now.words || at + 8u * now.words > c->len)
			return;
		if (UFT_REC_KIND(w[0]) == UFT_REC_CONTEXT) {
			memcpy(w, c->data + at, sizeof(w));
			now.clock = w[1];
			now.pid = (uint32_t)w[2];
			now.tid = (uint32_t)(w[2] >> 32);
			continue;
		}
		now.clock = (now.clock & ~0xffffffffull) | UFT_REC_CLOCK(w[0]);
		s->v[s->n] = now;
		judge(j, &s->v[s->n]);
		if (s->v[s->n].is_gone) {
			s->goes = 1;
			if (!is_event(&s->v[s->n]))
				continue;
			s->has_gone_events = 1;
		}
		s->n++;
	}
}

/*
 * Writes the remaining records to s->copy, behind the header @h, with contexts where needed. Returns bytes; 0: more
 * than @limit.
 */
static size_t put(struct pieces *s, const struct uft_sub_header *h, size_t limit)
{
	struct piece now = { .clock = h->clock, .pid = h->pid, .tid = h->tid };
	size_t n = sizeof(*h);

	memcpy(s->copy, h, sizeof(*h));
	for (size_t i = 0; i < s->n; i++) {
		struct piece *p = &s->v[i];

		if (p->is_gone)
			continue;
		if ((now.clock ^ p->clock) >> 32 || now.pid != p->pid || now.tid != p->tid) {
			uint64_t w[3] = { UFT_REC_WORD(UFT_REC_CONTEXT, 0, p->clock), p->clock, p->pid |
				(uint64_t)p->tid << 32 };

			if (n + sizeof(w) > limit)
				return 0;
			memcpy(s->copy + n, w, sizeof(w));
			n += sizeof(w);
			now = *p;
		}
		if (n + 8u * p->words > limit)
			return 0;
		p->to = (uint32_t)n;
		for (size_t k = 0; k < p->words; k++, n += 8)
			memcpy(s->copy + n, p->at + 8 * k, 8);
	}
	return n;
}

/* Keeps the remaining pieces, which now lie in @c. */
static void keep(struct pieces *s, const struct lv_chunk *c)
{
	size_t n = 0;

	for (size_t i = 0; c && i < s->n; i++)
		if (!s->v[i].is_gone) {
			s->v[n] = s->v[i];
			s->v[n++].at = c->data + s->v[i].to;
		}
	s->n = n;
	s->of = c;
}

/* Is any record of the last added chunk dropped? */
static int has_gone(const struct pieces *s, size_t from)
{
	int is_gone = s->goes;

	for (size_t i = from; i < s->n && !is_gone; i++)
		is_gone = s->v[i].is_gone;
	return is_gone;
}

static void take_out(const struct uft_live *l, struct pieces *s, size_t from)
{
	take_out_calls(s, from);
	if (s->has_gone_events)
		take_out_stacks(l, s, from);
}

static void add_chunk(struct judging *j, struct pieces *s, const struct lv_chunk *c)
{
	size_t from = s->n;

	s->goes = s->has_gone_events = 0;
	split(j, s, c);
	take_out(j->l, s, from);
}

/* Judges the pieces from @from on again, as if no chunk were in front of them. */
static void let_alone(const struct uft_live *l, struct pieces *s, size_t from)
{
	memmove(s->v, s->v + from, (s->n - from) * sizeof(*s->v));
	s->n -= from;
	for (size_t i = 0; i < s->n; i++)
		s->v[i].is_gone = s->v[i].is_gone_alone; /* GUARD(alone_again, s->v[i].is_gone) */
	take_out(l, s, 0);
}

/*
 * @before: a copy in front of the chunk that may take its rest, or NULL. Returns the link to the next chunk;
 * *@into: the copy, NULL: none.
 */
static struct lv_chunk **squeeze_chunk(struct judging *j, struct pieces *s, struct lv_chunk **before,
				       struct lv_chunk **p, struct lv_chunk ***into)
{
	struct lv_chunk *c = *p, *end = c->next, *to = NULL;
	struct uft_sub_header h;
	size_t bytes = 0, from;

	if (!before || s->of != *before) {
		keep(s, NULL);
		if (before)
			add_chunk(j, s, *before);
	}
	from = s->n;
	add_chunk(j, s, c);
	c->is_squeezed = 1;
	*into = NULL;
	if (before && has_gone(s, from)) {
		memcpy(&h, (*before)->data, sizeof(h));
		bytes = put(s, &h, j->l->geo->head.sub_bytes);
	}
	if (before && !bytes) {		/* then by itself */
		before = NULL;
		let_alone(j->l, s, from);
	}
	if (!before && has_gone(s, 0)) {
		memcpy(&h, c->data, sizeof(h));
		bytes = put(s, &h, c->len - 1);
	}
	if (bytes > sizeof(h))
		to = malloc(sizeof(*to) + bytes);
	s->of = NULL;
	if (!bytes || (bytes > sizeof(h) && !to))
		return &c->next;
	if (to) {
		*to = (struct lv_chunk){ .refs = 1, .len = (uint32_t)bytes, .cap = (uint32_t)bytes,
			.position = h.position, .clock = h.clock, .is_squeezed = 2 };
		memcpy(to->data, s->copy, bytes);
	}
	keep(s, to);
	p = before ? before : p;
	lv_replace(j->l, j->r, p, end, to);
	*into = to ? p : NULL;
	return to ? &to->next : p;
}

/* Does one choice that hides nothing cover the chunk? */
static int is_all_shown(const struct uft_live *l, const struct lv_chunk *c)
{
	size_t i = sel_choice_of(l->choice, l->nchoice, c->clock);

	return i == sel_choice_of(l->choice, l->nchoice, c->next->clock) && !l->choice[i].flags && !l->choice[i].view &&
	       !l->choice[i].events;
}

static void squeeze_ring(struct uft_live *l, struct lv_ring *r, struct pieces *s, uint64_t seen)
{
	uint64_t sub = l->geo->head.sub_bytes;
	struct lv_chunk **before = NULL;
	struct judging j = { .l = l, .r = r };

	for (struct lv_chunk **p = &r->first; *p && (*p)->next;) {
		struct lv_chunk *c = *p;

		if ((c->position | c->next->position) & (sub - 1) || c->position < seen || c->is_condensed ||
		    c->is_squeezed) {
			before = c->is_squeezed == 2 && c->position >= seen ? p : NULL;
			p = &c->next;
			continue;
		}
		if (is_all_shown(l, c)) {
			c->is_squeezed = 1;
			before = NULL;
			p = &c->next;
			continue;
		}
		p = squeeze_chunk(&j, s, before, p, &before);
	}
}

int lv_reclaim(struct uft_live *l, struct lv_cpu *cpu, uint64_t limit)
{
	uint64_t bytes = cpu->bytes;
	struct pieces *s;

	if (!l->nchoice || cpu->fresh < limit / 4)
		return 0;
	s = malloc(sizeof(*s) + l->geo->head.sub_bytes);
	if (!s)
		return 0;
	s->n = 0;
	s->of = NULL;
	cpu->fresh = 0;
	for (uint32_t i = 0; i < l->nring; i++)
		if (!l->ring[i].is_ours && &l->cpu[lv_cpu_of(l, l->ring[i].ring)] == cpu)
			squeeze_ring(l, &l->ring[i], s, i < l->base->nring ? lv_seen_to(&l->base->ring[i]) : 0);
	free(s);
	return cpu->bytes < bytes;
}
