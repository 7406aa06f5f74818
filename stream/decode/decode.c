/* SPDX-License-Identifier: MIT */
/*
 * decode.c - records become events
 *
 * dec_run() decodes one ring; merge.c decides which ring and how far, so that tasks see their records in the order of
 * time even when they moved between CPUs. Each task has a stack of its open calls: ENTRY pushes, EXIT pops, UNWIND pops
 * without a return. Records that the stack cannot explain are shown as such, never guessed:
 *
 *   EXIT of a call that is not on the stack      an orphan: a fork child returning through its parent's frames,
 *                                                or the entry was overwritten or not recorded
 *   EXIT of a call further down                  the exits above it are missing (lost, or recording was
 *                                                off): those calls are reported as left, then this one returns
 *   EXIT_LEFT                                    carries its entry clock; the frame was popped by an UNWIND
 *
 * Each record's time is converted once. Durations are differences of converted times, so printed times add up. self =
 * duration - durations of the calls that ended inside, never negative.
 *
 * Hostile input. Work per record is bounded (dec_exit_search()), stacks by DEC_FRAMES over all tasks. Time within a
 * ring never runs backwards, and every record either consumes bytes or empties a stack.
 */
#include <stdlib.h>
#include <string.h>

#include "stream/decode/decode.h"
#include "symbol/array.h"

#define DEC_SEARCH_FREE	64u		/* frames that are always searched; decoded records pay for more */
#define DEC_SEARCH_MAX	(64u << 20)

void dec_context(struct uft_stream *st, struct dec_ring *r, uint64_t clock, uint32_t pid, uint32_t tid)
{
	r->hi = clock & ~0xffffffffull;
	if (clock > r->key)
		r->key = clock;
	if (!r->task || r->task->pub.own_tid != tid || r->task->pub.own_pid != pid)
		r->task = dec_task_get(st, r->slice_number, r->image, r->slice, pid, tid);
}

/* ---- The stack ------------------------------------------------------------------------------ */

static inline void dec_push(struct uft_stream *st, struct dec_task *t, uint32_t id, const struct uft_sym *sym,
			    uint64_t ns)
{
	struct dec_frame *f;

	if (__builtin_expect(t->over || (t->depth == t->cap && dec_task_grow(st, t)), 0)) {
		t->over++;
		st->has_over = 1;
		return;
	}
	f = &t->stack[t->depth++];
	f->entry_ns = ns;
	f->child_ns = 0;
	f->sym = sym;
	f->id = id;
}

/* Pops the top frame into the event, and adds its duration to its caller's callees. */
static inline void dec_pop(struct dec_task *t, struct uft_event *e, uint64_t ns)
{
	struct dec_frame *f = &t->stack[--t->depth];
	uint64_t duration = ns > f->entry_ns ? ns - f->entry_ns : 0;	/* or damage */

	e->sym = f->sym;
	e->depth = t->depth;
	e->duration_ns = duration;
	e->self_ns = duration > f->child_ns ? duration - f->child_ns : 0;
	if (t->depth)
		f[-1].child_ns += duration;
}

/*
 * Returns how many frames lie above the innermost call of @id; UINT32_MAX: not found. Decoded records pay for the
 * search, so that a file of exits that match nothing in a deep stack takes linear time. One long search after a gap,
 * the case that matters, is always paid for, because a record pushed each frame.
 */
static uint32_t dec_exit_search(struct uft_stream *st, const struct dec_task *t, uint32_t id)
{
	uint64_t most = DEC_SEARCH_FREE + st->search_budget;
	uint32_t n = t->depth < most ? t->depth : (uint32_t)most;

	for (uint32_t i = 0; i < n; i++) {
		if (t->stack[t->depth - 1 - i].id == id) {
			st->search_budget -= i < st->search_budget ? i : st->search_budget;
			return i;
		}
	}
	st->search_budget -= n < st->search_budget ? n : st->search_budget;
	return UINT32_MAX;
}

static struct dec_aside *dec_aside_slot(struct uft_stream *st, uint32_t slice, uint32_t id, uint64_t entry_ns)
{
	uint64_t h = (entry_ns ^ (uint64_t)id << 32 ^ slice) * 0x9e3779b97f4a7c15ull;

	if (!st->aside)
		st->aside = calloc(DEC_ASIDE, sizeof(*st->aside));
	if (!st->aside)
		dec_no_memory(st);
	return st->aside ? &st->aside[h >> 52 & (DEC_ASIDE - 1)] : NULL;
}

/* Makes one LEFT event of the UNWIND (or gap) under way. */
static void dec_left(struct uft_stream *st, struct dec_ring *r, struct uft_event *e)
{
	struct dec_task *t = r->task;
	struct dec_frame f = t->stack[t->depth - 1];

	r->left--;
	e->kind = UFT_EV_LEFT;
	dec_pop(t, e, r->left_ns);
	if (r->left_aside) {
		struct dec_aside *a = dec_aside_slot(st, t->slice, f.id, f.entry_ns);

		if (a)
			*a = (struct dec_aside){ f.entry_ns, f.child_ns, f.id, t->slice };
	}
}

/* Returns from a call that an UNWIND had set aside. */
static void dec_exit_left(struct uft_stream *st, struct dec_task *t, struct uft_event *e, uint32_t id, uint64_t clock)
{
	uint64_t entry_ns = uft_clock_ns(&st->clock, clock), child_ns = 0, inside;
	struct dec_aside *a = dec_aside_slot(st, t->slice, id, entry_ns);

	if (a && a->entry_ns == entry_ns && a->id == id && a->slice == t->slice) {
		child_ns = a->child_ns;
		a->entry_ns = 0;
	}
	e->kind = UFT_EV_EXIT;
	e->sym = dec_sym(st, t->image, id);
	e->depth = t->depth;
	e->duration_ns = e->ts_ns > entry_ns ? e->ts_ns - entry_ns : 0;
	e->self_ns = e->duration_ns > child_ns ? e->duration_ns - child_ns : 0;
	if (t->depth) {
		/* of the call that resumed it, count only the time inside that call */
		inside = e->ts_ns - t->stack[t->depth - 1].entry_ns;
		t->stack[t->depth - 1].child_ns += inside < e->duration_ns ? inside : e->duration_ns;
	}
}

/*
 * Decodes a CALL record, which stands for a whole call that began at @start (ns). Calls that started later and ended
 * before it are its callees.
 */
static void dec_call(struct uft_stream *st, struct dec_task *t, struct uft_event *e, uint64_t start)
{
	uint64_t child = 0;

	e->duration_ns = e->ts_ns > start ? e->ts_ns - start : 0;
	while (t->ndone && t->done[t->ndone - 1].start_ns >= start)
		child += t->done[--t->ndone].duration_ns;
	e->self_ns = e->duration_ns > child ? e->duration_ns - child : 0;
	if (t->ndone == t->cap_done) {
		uint32_t cap = t->cap_done ? 2 * t->cap_done : 128;

		if (cap > 1024) {	/* the oldest calls will hardly find a caller any more */
			memmove(t->done, t->done + 512, 512 * sizeof(*t->done));
			t->ndone = 512;
		} else if (array_resize(t->done, cap)) {
			dec_no_memory(st);
			return;
		} else {
			t->cap_done = cap;
		}
	}
	t->done[t->ndone++] = (struct dec_done){ start, e->duration_ns };
}

/* ---- Losses --------------------------------------------------------------------------------- */

/*
 * Adds @more losses. A header tells how many records were lost in all; a LOST record behind it tells of the same ones.
 */
static uint64_t dec_lose(const struct uft_stream *st, struct dec_ring *r, uint64_t more)
{
	more = dec_lost_more(st, r->lost, more);
	r->lost += more;
	r->lost_due += more;
	return more;
}

static void dec_lost_header(const struct uft_stream *st, struct dec_ring *r, uint64_t lost)
{
	r->lost_in_header = lost > r->lost ? dec_lose(st, r, lost - r->lost) : 0;
}

static void dec_lost_record(const struct uft_stream *st, struct dec_ring *r, uint64_t lost)
{
	uint64_t known = lost < r->lost_in_header ? lost : r->lost_in_header;

	r->lost_in_header -= known;
	dec_lose(st, r, lost - known);
}

/* ---- The loop ------------------------------------------------------------------------------- */

/* Goes to the next sub-buffer, or to the rest of this one. 0: the ring is at its end. */
static int dec_next(struct uft_stream *st, struct dec_ring *r)
{
	struct uft_sub_header h;

	switch (cur_next(&r->cur, &h)) {
	case CUR_END:
		r->is_done = 1;
		if (st->has_ends)
			end_ring(st, r);
		if (r->final_lost > r->lost)
			dec_lose(st, r, r->final_lost - r->lost);
		return 0;
	case CUR_HEADER:
		dec_context(st, r, h.clock, h.pid, h.tid);
		r->has_flags = 0;
		dec_lost_header(st, r, h.lost);
		break;
	case CUR_DATA:
		break;
	}
	st->search_budget += (uint64_t)(r->cur.lim - r->cur.p) / 8;
	if (st->search_budget > DEC_SEARCH_MAX)
		st->search_budget = DEC_SEARCH_MAX;
	return 1;
}

static inline void dec_event(struct uft_event *e, const struct dec_task *task, uint32_t cpu, uint64_t ns,
			     uint64_t clock)
{
	e->ts_ns = ns;
	e->clock = clock;
	e->duration_ns = e->self_ns = 0;
	e->task = &task->pub;
	e->sym = e->parent = NULL;
	e->lost = 0;
	e->cpu = cpu;
	e->flags = 0;
	e->depth = 0;
}

/* Returns whether the event is kept (1) or the selection drops it (0). */
static inline size_t dec_keep(struct uft_stream *st, struct uft_event *e, uint64_t clock)
{
	return __builtin_expect(!st->has_select, 1) || sel_match(&st->sel, e, clock);
}

/* Makes the events that are due before the next record: losses, left calls. Returns how many; stops at @max. */
static size_t dec_due(struct uft_stream *st, struct dec_ring *r, struct uft_event *ev, size_t max)
{
	size_t n = 0;

	if (r->lost_due && n < max) {
		if (!r->task)
			dec_context(st, r, r->key, 0, 0);
		dec_event(&ev[n], r->task, r->cpu, uft_clock_ns(&st->clock, r->key), r->key);
		ev[n].kind = UFT_EV_LOST;
		ev[n].lost = r->lost_due;
		r->lost_due = 0;
		n += dec_keep(st, &ev[n], r->key);
	}
	while ((r->left || r->ending) && n < max) {
		if (!r->left) {
			end_next_task(st, r);
			r->is_ending = 1;
			continue;
		}
		dec_event(&ev[n], r->task, r->cpu, r->left_ns, r->key);
		dec_left(st, r, &ev[n]);
		ev[n].flags = r->is_ending ? UFT_EVF_OPEN : 0;
		n += dec_keep(st, &ev[n], r->key);
	}
	r->given -= n;		/* dec_run() adds all events */
	return n;
}

/*
 * Decodes an EXIT that is not of the top frame. Returns 1: *e is the event; 0: frames above it have to be left first.
 */
static int dec_exit_odd(struct uft_stream *st, struct dec_ring *r, struct uft_event *e, uint32_t id)
{
	struct dec_task *t = r->task;
	uint32_t above;

	e->flags = UFT_EVF_ORPHAN;
	e->depth = t->depth + t->over;
	e->sym = dec_sym(st, t->image, id);
	if (t->over) {
		e->depth = t->depth + --t->over;
		return 1;
	}
	above = dec_exit_search(st, t, id);
	if (above == UINT32_MAX)
		return 1;
	r->left = above;
	r->left_aside = 0;
	r->left_ns = e->ts_ns;
	return 0;
}

static inline int dec_is_fast(uint64_t word)
{
	return UFT_REC_KIND(word) - UFT_REC_FUNC <= UFT_REC_EXIT - UFT_REC_FUNC;
}

/*
 * Decodes the record at @p if it is of a frequent kind: ENTRY, EXIT of the top frame, FUNC. Returns its bytes; 0:
 * another kind, which dec_run() decodes.
 */
static inline __attribute__((always_inline)) size_t dec_fast(struct uft_stream *st, struct dec_task *t, uint32_t cpu,
							     const uint8_t *p, const uint8_t *lim, uint64_t clock,
							     struct uft_event *e)
{
	uint64_t word = wire_word(p), ns = uft_clock_ns(&st->clock, clock);
	unsigned kind = UFT_REC_KIND(word);
	uint32_t id = UFT_REC_VALUE(word);

	dec_event(e, t, cpu, ns, clock);
	if (kind == UFT_REC_ENTRY) {
		e->kind = UFT_EV_ENTRY;
		e->sym = dec_sym(st, t->image, id);
		e->depth = t->depth + t->over;
		dec_push(st, t, id, e->sym, ns);
	} else if (kind == UFT_REC_EXIT) {
		if (!t->depth || t->over || t->stack[t->depth - 1].id != id)
			return 0;
		e->kind = UFT_EV_EXIT;
		dec_pop(t, e, ns);
	} else {
		if (lim - p < 16)
			return 0;
		e->kind = UFT_EV_FUNC;
		e->sym = dec_sym(st, t->image, id);
		if (!st->no_parents)
			e->parent = dec_addr(st, t->image, wire_word(p + 8), clock);
		e->parent_addr = wire_word(p + 8);
		return 16;
	}
	return 8;
}

/*
 * The same before a part (parts.c): only opens and closes calls. name_open_calls() looks up the names of calls that are
 * still open at the end.
 */
static inline __attribute__((always_inline)) size_t dec_skip(struct uft_stream *st, struct dec_task *t,
							     const uint8_t *p, const uint8_t *lim, uint64_t clock)
{
	uint64_t word = wire_word(p), ns = uft_clock_ns(&st->clock, clock);
	uint32_t id = UFT_REC_VALUE(word);
	struct dec_frame *f;

	if (UFT_REC_KIND(word) == UFT_REC_FUNC)
		return lim - p < 16 ? 0 : 16;
	if (UFT_REC_KIND(word) == UFT_REC_ENTRY) {
		dec_push(st, t, id, NULL, ns);
		return 8;
	}
	if (!t->depth || t->over || t->stack[t->depth - 1].id != id)
		return 0;
	f = &t->stack[--t->depth];
	if (t->depth)
		f[-1].child_ns += ns > f->entry_ns ? ns - f->entry_ns : 0;
	return 8;
}

/*
 * Decodes such records of one ring, up to @limit. Returns how many events that makes. Sets *is_past only if the next
 * record is beyond the limit, the usual end when rings alternate. Without @ev the records are passed over. Everything
 * that the loop needs is in locals, because the compiler must assume that stores into events change other memory.
 */
static inline __attribute__((always_inline)) size_t dec_one(struct uft_stream *st, struct dec_ring *r, uint64_t limit,
							    struct uft_event *ev, size_t max, int *is_past)
{
	const uint8_t *p = r->cur.p, *lim = r->cur.lim;
	uint64_t hi = r->hi, key = r->key;
	struct dec_task *t = r->task;
	uint32_t cpu = r->cpu;
	size_t n = 0, bytes;

	while (n < max && (size_t)(lim - p) >= 8 && dec_is_fast(wire_word(p))) {
		uint64_t clock = hi | UFT_REC_CLOCK(wire_word(p));

		clock = clock < key ? key : clock;	/* damage: time stands still instead of running backwards */
		if (clock > limit) {
			key = clock;
			*is_past = 1;
			break;
		}
		bytes = ev ? dec_fast(st, t, cpu, p, lim, clock, ev + n) : dec_skip(st, t, p, lim, clock);
		if (!bytes)
			break;
		p += bytes;
		key = clock;
		n += ev ? dec_keep(st, ev + n, clock) : 1;
	}
	r->cur.p = (uint8_t *)p;
	r->key = key;
	return n;
}

struct dec_at {		/* where a ring is */
	const uint8_t *p, *lim;
	uint64_t hi, key;
	struct dec_task *task;
	uint32_t cpu, is_later;	/* the other ring's comes first at equal clocks */
	size_t given;
};

static inline struct dec_at dec_at(const struct dec_ring *r, int is_later)
{
	return (struct dec_at){ r->cur.p, r->cur.lim, r->hi, r->key, r->task, r->cpu, (uint32_t)is_later, 0 };
}

/* Returns the clock up to which records of @x come before those of the other ring, which is at @key. */
static inline uint64_t dec_until(const struct uft_stream *st, const struct dec_at *x, uint64_t key)
{
	uint64_t until = key - (x->is_later & (key != 0));

	return st->limit && st->limit < until ? st->limit : until;
}

static inline __attribute__((always_inline)) size_t dec_alternate(struct uft_stream *st, struct dec_at *x,
								  struct dec_at *y, struct uft_event *ev, size_t max)
{
	uint64_t limit = dec_until(st, x, y->key);
	size_t n = 0, bytes;

	while (n < max && (size_t)(x->lim - x->p) >= 8 && dec_is_fast(wire_word(x->p))) {
		uint64_t clock = x->hi | UFT_REC_CLOCK(wire_word(x->p));

		clock = clock < x->key ? x->key : clock;
		if (clock > limit) {
			struct dec_at *due = y;

			x->key = clock;
			limit = dec_until(st, due, clock);
			if (due->key > limit)	/* of st->limit */
				break;
			y = x;
			x = due;
			continue;
		}
		bytes = ev ? dec_fast(st, x->task, x->cpu, x->p, x->lim, clock, ev + n) :
			dec_skip(st, x->task, x->p, x->lim, clock);
		if (!bytes)
			break;
		x->p += bytes;
		x->key = clock;
		x->given++;
		n++;
	}
	return n;
}

static void dec_set(struct dec_ring *r, const struct dec_at *at)
{
	r->cur.p = (uint8_t *)at->p;
	r->key = at->key;
	r->given += at->given;
}

/* Returns 1 if nothing is due before the next record of @r, and dec_fast() does all that its events need. */
static inline int dec_is_plain(const struct dec_ring *r)
{
	return !r->cur.is_evicted && !r->has_flags && !r->lost_due && !r->left && !r->ending;
}

size_t dec_two(struct uft_stream *st, struct dec_ring *a, struct dec_ring *b, struct uft_event *ev, size_t max)
{
	struct dec_at x = dec_at(a, a > b), y = dec_at(b, b > a);
	size_t n = 0;

	if (st->has_select || !dec_is_plain(a) || !dec_is_plain(b))
		return 0;
	if (st->is_passing)
		dec_alternate(st, &x, &y, NULL, SIZE_MAX);
	else
		n = dec_alternate(st, &x, &y, ev, max);
	dec_set(a, &x);
	dec_set(b, &y);
	return n;
}

/* The call had a CPU for @cpu_ns until @ns. Moves its start as if it had begun that late, as the kernel does. */
static void dec_slept(struct dec_frame *f, uint64_t ns, uint64_t cpu_ns)
{
	if (ns > f->entry_ns && ns - f->entry_ns > cpu_ns)
		f->entry_ns = ns - cpu_ns;
}

/* Copies a text, with a 0 behind it, for the life of the stream. NULL: no memory. */
static char *dec_text(struct uft_stream *st, const uint8_t *p, uint32_t n)
{
	char *text = malloc(n + 1u);

	if (!text || array_reserve(st->mark, st->cap_mark, st->nmark + 1)) {
		dec_no_memory(st);
		free(text);
		return NULL;
	}
	memcpy(text, p, n);
	text[n] = '\0';
	st->mark[st->nmark++] = text;
	return text;
}

/* Decodes an event of the session itself, or of the innermost call. Drops events whose call or type is unknown. */
static int dec_data(struct uft_stream *st, struct dec_ring *r, struct uft_event *e, uint32_t value)
{
	uint32_t id = UFT_EVENT_ID(value), n = UFT_EVENT_WORDS(value);
	struct dec_task *t = r->task;
	const uint8_t *p = r->cur.p + 8;

	r->cur.p += 8 + 8u * n;
	if (id == UFT_EVENT_STACK && n) {
		e->kind = UFT_EV_DATA;
		e->data = id;
		e->flags = !(wire_word(p) & UFT_STACK_ADDRESS) ? 0 : wire_word(p) & UFT_STACK_TRACEPOINT ?
			UFT_EVF_TRACEPOINT : UFT_EVF_SAMPLE;
		if (e->flags & UFT_EVF_TRACEPOINT && !sel_may_want_event_stack(&st->sel, t->is_event_kept, e->clock))
			return 0;
		e->sym = e->flags & UFT_EVF_TRACEPOINT ? NULL : dec_stack_func(st, t->image, wire_word(p), r->key);
		e->stack = dec_stack(st, t->image, p, n, r->key);
		return 1;
	}
	if (!n || !id ||
	    (!UFT_EVENT_IS_OWN(id) && (id > UFT_EVENT_OVERRUN || !t->depth || (t->over && id != UFT_EVENT_OVERRUN))))
		return 0;
	if (id == UFT_EVENT_CPU) {
		dec_slept(&t->stack[t->depth - 1], e->ts_ns, wire_word(p));
		return 0;
	}
	if (id == UFT_EVENT_SAMPLE) {
		e->kind = UFT_EV_FUNC;
		e->flags = UFT_EVF_SAMPLE;
		e->sym = dec_addr(st, t->image, wire_word(p), r->key);
		e->parent_addr = n > 1 ? wire_word(p + 8) : 0;
		e->parent = n > 1 && !st->no_parents ? dec_addr(st, t->image, e->parent_addr - 1, r->key) : NULL;
		return 1;
	}
	e->kind = UFT_EV_DATA;
	e->data = id;
	e->flags = id == UFT_EVENT_RETURN && n > 1 ? UFT_EVF_MASK : 0;
	if (id >= UFT_EVENT_OLD_FORK && id <= UFT_EVENT_OLD_EXIT)
		return dec_old_event(st, e, id, p, n);
	if (UFT_EVENT_IS_NAMED(id)) {
		e->type = uft_event_table_by_id(st->file->events, id);
		e->payload = e->type ? dec_payload(st, p, 8 * n) : NULL;
		e->payload_bytes = 8 * n;
		return e->payload && e->payload_bytes + UFT_EVENT_COMMON >= e->type->bytes;
	}
	if (!UFT_EVENT_IS_OWN(id)) {
		e->sym = t->stack[t->depth - 1].sym;
		e->depth = t->depth - 1;
	}
	for (uint32_t i = 0; i < 4; i++)
		e->word[i] = i < n ? wire_word(p + 8 * i) : 0;
	if (id == UFT_EVENT_PARENT) {
		e->parent_addr = e->word[0];
		e->parent = st->no_parents ? NULL : dec_addr(st, t->image, e->parent_addr, r->key);
	}
	return 1;
}

/* Decodes any other record, which is whole and due. Returns whether *e is an event now. */
static int dec_slow(struct uft_stream *st, struct dec_ring *r, struct uft_event *e, uint64_t word, uint64_t clock)
{
	struct dec_task *t = r->task;
	uint32_t id = UFT_REC_VALUE(word);
	uint8_t *p = r->cur.p;

	r->key = clock;
	dec_event(e, r->task, r->cpu, uft_clock_ns(&st->clock, clock), clock);
	e->kind = UFT_EV_EXIT;
	switch (UFT_REC_KIND(word)) {
	case UFT_REC_EXIT:
		if (!dec_exit_odd(st, r, e, id))
			return 0;
		r->cur.p += 8;
		return 1;
	case UFT_REC_CALL:
		e->flags = UFT_EVF_CALL;
		e->sym = dec_sym(st, t->image, id);
		dec_call(st, t, e,
			 uft_clock_ns(&st->clock, clock - (wire_word(p + 8) < clock ? wire_word(p + 8) : clock)));
		r->cur.p += 16;
		return 1;
	case UFT_REC_EXIT_LEFT:
		dec_exit_left(st, t, e, id, wire_word(p + 8));
		r->cur.p += 16;
		return 1;
	case UFT_REC_UNWIND:
		r->left_ns = e->ts_ns;
		r->left_aside = 1;
		if (t->over >= id) {
			t->over -= id;
			id = 0;
		} else {
			id -= t->over;
			t->over = 0;
		}
		r->left = id < t->depth ? id : t->depth;
		r->cur.p += 8;
		return 0;
	case UFT_REC_EVENT:
		return dec_data(st, r, e, id);
	case UFT_REC_LOST:
		dec_lost_record(st, r, wire_word(p + 8));
		r->cur.p += 16;
		return 0;
	}
	return 0;
}

/* Bytes of each kind; 0: PAD, or an unknown kind, whose length is unknown, too. */
static const uint8_t dec_bytes[16] = {
	[UFT_REC_CONTEXT] = 24, [UFT_REC_FUNC] = 16, [UFT_REC_ENTRY] = 8, [UFT_REC_EXIT] = 8, [UFT_REC_CALL] = 16,
	[UFT_REC_UNWIND] = 8, [UFT_REC_EXIT_LEFT] = 16, [UFT_REC_LOST] = 16, [UFT_REC_FLAGS] = 8,
};

/* Returns the bytes of the record that begins with @word; 0: unknown. Targets write no markers: theirs are unknown. */
static inline size_t dec_length(const struct dec_ring *r, uint64_t word)
{
	unsigned kind = UFT_REC_KIND(word);

	if (__builtin_expect(kind == UFT_REC_MARK && r->is_ours, 0))
		return 8 + (((UFT_REC_VALUE(word) & ~UFT_MARK_RAW) + 7ull) & ~7ull);
	if (__builtin_expect(kind == UFT_REC_EVENT, 0))
		return 8 + 8u * UFT_EVENT_WORDS(UFT_REC_VALUE(word));
	return dec_bytes[kind];
}

/* Copies the text, because events outlive the bytes of their ring. */
static int dec_mark(struct uft_stream *st, struct uft_event *e, const uint8_t *p, uint32_t value)
{
	uint32_t n = value & ~UFT_MARK_RAW;
	const char *text = dec_text(st, p, n);

	if (!text)
		return 0;
	e->kind = UFT_EV_MARK;
	e->flags = value & UFT_MARK_RAW ? UFT_EVF_RAW : 0;
	e->text = text;
	e->text_bytes = n;
	return 1;
}

/* Called behind the fast loop, and only for recordings of a kernel, so that others do not pay for it. */
static inline void dec_flags(const struct dec_ring *r, struct uft_event *ev, size_t n)
{
	if (__builtin_expect(!r->has_flags, 1))
		return;
	for (size_t i = 0; i < n; i++) {
		ev[i].flags |= UFT_EVF_LATENCY;
		ev[i].latency = r->flags;
	}
}

size_t dec_run(struct uft_stream *st, struct dec_ring *r, uint64_t limit, struct uft_event *ev, size_t max)
{
	struct cursor *c = &r->cur;
	int is_past = 0;
	size_t n = 0;

	if (c->is_evicted)
		cur_reload(c);
	for (;;) {
		uint64_t word, clock;
		unsigned kind;

		if (__builtin_expect(r->lost_due || r->left || r->ending, 0)) {
			if (r->key > limit || n == max)
				break;
			n += dec_due(st, r, ev + n, max - n);
			continue;
		}
		if (__builtin_expect(st->is_passing, 0)) {
			r->given += dec_one(st, r, limit, NULL, SIZE_MAX, &is_past);
		} else {
			size_t got = dec_one(st, r, limit, ev + n, max - n, &is_past);

			dec_flags(r, ev + n, got);
			n += got;
		}
		if (n == max || is_past)
			break;
		if ((size_t)(c->lim - c->p) < 8 || (size_t)(c->lim - c->p) < dec_length(r, wire_word(c->p))) {
			if (r->is_done || (!dec_next(st, r) && !r->lost_due && !r->ending))
				break;
			continue;
		}
		word = wire_word(c->p);
		kind = UFT_REC_KIND(word);
		clock = r->hi | UFT_REC_CLOCK(word);
		clock = clock < r->key ? r->key : clock;
		if (!dec_length(r, word)) {
			cur_skip_sub(c, kind != UFT_REC_PAD);
		} else if (kind == UFT_REC_CONTEXT) {
			word = wire_word(c->p + 16);
			dec_context(st, r, wire_word(c->p + 8), (uint32_t)word, (uint32_t)(word >> 32));
			c->p += 24;
		} else if (kind == UFT_REC_FLAGS) {
			r->has_flags = (st->file->head.flags & UFT_FILE_LATENCY) != 0;
			r->flags = (uint16_t)UFT_REC_VALUE(word);
			c->p += 8;
		} else if (clock > limit) {
			r->key = clock;
			break;
		} else if (kind == UFT_REC_MARK) {
			r->key = clock;
			dec_event(ev + n, r->task, r->cpu, uft_clock_ns(&st->clock, clock), clock);
			if (dec_mark(st, ev + n, c->p + 8, UFT_REC_VALUE(word)) && dec_keep(st, ev + n, clock))
				n++;
			c->p += dec_length(r, word);
		} else if (kind > UFT_REC_ENTRY && dec_slow(st, r, ev + n, word, clock)) {
			size_t is_kept = dec_keep(st, ev + n, clock);

			dec_flags(r, ev + n, 1);
			if (ev[n].kind == UFT_EV_DATA && UFT_EVENT_IS_NAMED(ev[n].data))
				r->task->is_event_kept = (uint32_t)is_kept;
			n += is_kept;
		}
	}
	r->given += n;
	return n;
}
