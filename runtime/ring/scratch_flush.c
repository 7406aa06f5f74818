/* SPDX-License-Identifier: MIT */
/*
 * scratch_flush.c - write records that waited in a scratch buffer (trace/shadow/keep_slow.c) into a ring
 *
 * Their clocks are in the past, and time never runs backwards in a ring. So they go into an exchange ring whose last
 * record is older than the first of them. Among such rings the one with the newest last record is taken, which leaves
 * the older ones to calls that began earlier. So calls that do not overlap in time share a ring, and as many rings are
 * needed as slow calls run at the same time. Readers need not know.
 *
 * All or nothing, because a graph without its end would mislead. The records are written up to one store of commit.
 *
 * Context: probe, with all signals blocked.
 */
#include "runtime/ring/ring.h"
#include "runtime/runtime.h"

#define CONTEXT_BYTES	24u
#define LOST_BYTES	16u

struct past {			/* the ring being written */
	struct uft_ring *ring;
	char *data;
	uint64_t at, mask, sub;
	uint64_t ctx_pos;	/* position of the context that holds; ~0: none yet */
	uint32_t hi, pid, tid;
	uint64_t clock;
};

/* Takes a free ring whose last record is not after @clock; NULL: there is none. */
static struct uft_ring *past_take(uint64_t clock, uint32_t tid)
{
	const struct uft_arena *a = uft_rt.arena;

	for (uint32_t tries = 0; tries < a->nexch; tries++) {
		struct uft_ring *best = NULL;

		for (uint32_t i = 0; i < a->nexch; i++) {
			struct uft_ring *r = ring_open(a->ncpus + i);

			if (r && !uft_load(&r->owner) && uft_load(&r->last) <= clock /* GUARD(flush_ring_age) */ &&
			    (!best || r->last > best->last))
				best = r;
		}
		if (!best)
			return NULL;
		if (!uft_cas(&best->owner, 0, tid))
			continue;
		if (best->last <= clock)
			return best;
		uft_store_release(&best->owner, 0);
	}
	return NULL;
}

/* An upper bound for the bytes of @n words and one LOST record, in sub-buffers of @sub bytes. */
static uint64_t past_bytes(uint64_t n, uint64_t sub)
{
	const uint64_t extra = sizeof(struct uft_sub_header) + LOST_BYTES + CONTEXT_BYTES;
	uint64_t bytes = (n + 2) * CONTEXT_BYTES;	/* each word may need a new clock half */

	return bytes + (bytes / (sub - 2 * extra) + 2) * 2 * extra;
}

/*
 * Where the records begin: here, or with a sub-buffer at the beginning of the area, because they are written in one
 * piece.
 */
static uint64_t past_begin(const struct past *w, uint64_t bytes)
{
	const struct uft_arena *a = uft_rt.arena;
	uint64_t next = (w->at | w->mask) + 1, all = bytes + 2 * w->sub;

	if (a->ring_usual == a->ring_bytes || (w->at & w->mask) + all <= a->ring_usual)
		return w->at;
	return w->at + all > next || ring_is_free(w->ring, next, next + all) ? next : w->at;
}

/* Do they fit without touching unread data? In overwrite mode it makes room. */
static int past_has_room(const struct past *w, uint64_t begin, uint64_t bytes)
{
	const struct uft_arena *a = uft_rt.arena;
	uint64_t end = (begin + bytes + w->sub) & -w->sub;
	int64_t over = (int64_t)(end - a->ring_bytes);

	if (bytes + 2 * w->sub > a->ring_usual)
		return 0;
	if (!(uft_load(&uft_rt.slice->ring_flags) & UFT_RING_OVERWRITE))
		return ring_is_free(w->ring, begin, end);
	if (over > (int64_t)w->ring->oldest) {
		uft_store(&w->ring->oldest, (uint64_t)over);
		/* Orders `oldest` before the data; partner: the reader's re-read of it. */
		__atomic_thread_fence(__ATOMIC_RELEASE);
	}
	return 1;
}

static uint64_t *past_at(const struct past *w, uint64_t position)
{
	return (uint64_t *)(w->data + (position & w->mask));
}

static void past_header(struct past *w, uint64_t end)
{
	uint64_t lost = uft_load(&w->ring->lost), since;
	struct uft_sub_header *h = (struct uft_sub_header *)past_at(w, end);

	if (w->at & (w->sub - 1))
		*past_at(w, w->at) = 0;		/* PAD */
	since = w->at ? lost - ((struct uft_sub_header *)past_at(w, (w->at - 1) & -w->sub))->lost : 0;
	h->position = end;
	h->lost = lost;
	h->clock = w->clock;
	h->pid = w->pid;
	h->tid = w->tid;
	w->ctx_pos = end;
	w->at = end + sizeof(*h);
	if (since) {
		past_at(w, w->at)[0] = UFT_REC_WORD(UFT_REC_LOST, 0, w->clock);
		past_at(w, w->at)[1] = since;
		w->at += LOST_BYTES;
	}
}

/* Writes one record of one or two words, at w->clock. */
static void past_put(struct past *w, uint64_t word, uint64_t second, uint64_t bytes)
{
	uint64_t end = (w->at + w->sub - 1) & -w->sub;
	int context = w->ctx_pos == ~0ull || w->hi != (uint32_t)(w->clock >> 32);

	if (w->at + bytes + (context ? CONTEXT_BYTES : 0) > end) {
		past_header(w, end);
	} else if (context) {
		past_at(w, w->at)[0] = UFT_REC_WORD(UFT_REC_CONTEXT, 0, w->clock);
		past_at(w, w->at)[1] = w->clock;
		past_at(w, w->at)[2] = w->pid | (uint64_t)w->tid << 32;
		w->ctx_pos = w->at;
		w->at += CONTEXT_BYTES;
	}
	w->hi = (uint32_t)(w->clock >> 32);
	past_at(w, w->at)[0] = word;
	if (bytes == LOST_BYTES)
		past_at(w, w->at)[1] = second;
	w->at += bytes;
}

/* Writes a LOST record, and the number to the sub-buffer's header, so that the next header has nothing to add. */
static void past_lost(struct past *w, uint64_t lost)
{
	past_put(w, UFT_REC_WORD(UFT_REC_LOST, 0, w->clock), lost, LOST_BYTES);
	((struct uft_sub_header *)past_at(w, (w->at - 1) & -w->sub))->lost += lost;
	uft_store(&w->ring->lost, w->ring->lost + lost);
}

static void past_write(struct past *w, const uint64_t *words, uint64_t n, uint64_t lost)
{
	for (uint64_t i = 0; i < n; i++) {
		uint64_t word = words[i];

		if (!word)
			continue;	/* its handler jumped away before it was written */
		if (UFT_REC_KIND(word) == UFT_REC_CONTEXT) {
			w->clock = (uint64_t)(uint32_t)word << 32;
			continue;
		}
		w->clock = (w->clock & ~0xffffffffull) | UFT_REC_CLOCK(word);
		if (lost && i == n - 1)		/* before the end of the outermost call */
			past_lost(w, lost);
		past_put(w, word, 0, 8);
	}
}

/* Clears the notes of gaps here by a writer that then found no memory, or was killed. */
static void past_turn(struct past *w, uint64_t begin)
{
	struct uft_ring_turn *t = uft_ring_turn(w->ring, w->at, w->mask + 1);
	uint64_t end = (w->at + w->sub - 1) & -w->sub;

	if (t->gap == end)
		uft_store(&t->gap, 0ull);
	if (t->skip == end || begin != w->at)
		uft_store(&t->skip, begin != w->at ? end : 0);
	if (begin != w->at)
		past_header(w, begin);
}

int ring_write_past(const struct ring_past *p)
{
	const struct uft_arena *a = uft_rt.arena;
	struct past w = {
		.mask = a->ring_bytes - 1, .sub = a->sub_bytes, .ctx_pos = ~0ull, .pid = p->pid, .tid = p->tid
	};
	struct uft_ring *r = past_take(p->begin, p->tid);
	uint64_t bytes = past_bytes(p->n, w.sub), begin;
	int ret = RING_LOST;

	if (!r)
		return RING_NONE;
	w.ring = r;
	w.data = (char *)r + UFT_PAGE;
	w.at = r->commit;
	w.clock = p->begin;
	begin = past_begin(&w, bytes);
	if (past_has_room(&w, begin, bytes) && !ring_back(r, begin + bytes)) {
		/* no context is valid from here to the commit: a task may be killed in between */
		r->ctx_pos = ~0ull;
		past_turn(&w, begin);
		past_write(&w, p->words, p->n, p->lost);
		r->ctx_tid = p->tid;
		r->ctx_hi = w.hi;
		r->sub_end = (w.at + w.sub - 1) & -w.sub;
		r->last = w.clock;
		uft_barrier();
		uft_store_release(&r->commit, w.at);
		r->ctx_pos = w.ctx_pos;
		ret = RING_WRITTEN;
	} else {
		r->lost_pending = 1;
		uft_store(&r->lost, r->lost + p->lost + p->n);
	}
	uft_store_release(&r->owner, 0);
	return ret;
}
