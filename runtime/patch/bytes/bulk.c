/* SPDX-License-Identifier: MIT */
/*
 * bulk.c - change many known sites at once
 *
 * patch.c reads and writes 100 bytes per site besides the code: an item for each, in passes. Most sites are one
 * instruction of five to eight bytes in a page (SITE_SHORT), were learned before, and need no new code out of line. For
 * these sites the record in the table has all facts, and is the journal, too. Each is compared, written and noted at
 * once:
 *
 *	1. the run is noted (struct patch_run), its window is opened
 *	2. for each site: its bytes are compared with its form. The new form is noted, then ST8 (batch.c), or the
 *	   stand-in of JS
 *	3. [JS: a sync, the tail; a sync, the head; a sync]
 *	4. a sync, the window is closed, the run is over
 *
 * Step 3 is done by blocks, which the cache still holds, and the blocks share syncs: block k gets its stand-ins, block
 * k-1 its tails, block k-2 its heads, and then one sync follows for all. So there is always a sync between two steps of
 * a block.
 *
 * This file decides nothing: unusual sites are left to the general way (PATCH_LEFT), also sites with foreign bytes,
 * which the general way refuses and counts.
 *
 * Forks. Opening and closing a window waits for a fork (platform.h), so a child knows the run that it was born in. The
 * child may have any part of that run, also the record of a site without its bytes or the reverse: all of it is sound
 * code. The child decides by the bytes (bulk_after_fork()): it notes the form that it finds, and stand-ins become what
 * the record says. It does not do what its parent had not begun, because the sites are noted nowhere. The session knows
 * that children of a program that was switched may have the old state or the new one, and orders the state again
 * (control/session/requests.c, adopt()). Only when all sites are restored (PATCH_ALL_BACK), perhaps because there is no
 * session any more, the child does the same.
 */
#include "runtime/patch/bytes/short.h"

#define BULK_MIN	64u	/* sites that pay for opening a window */
#define BULK_ENDS	16
#define BULK_BLOCK	4096u	/* sites between two syncs: with their code half of a second level cache */
/*
 * Sites whose records are prefetched. Their code is not: the CPU foresees it by itself, and beside running threads a
 * prefetch of code, however far ahead, could double the cost.
 */
#define BULK_AHEAD	64u

/*
 * Written by the patching task. In private memory, so that a fork child has its own; in one page, so that the child
 * sees its stores in their order.
 */
static struct patch_run run __attribute__((aligned(64)));
_Static_assert(sizeof(run) <= 64, "one page");

/* ---- one site ------------------------------------------------------------------------------------ */

/* Facts about a record and a request, kept for all that look alike. */
struct way {
	uint64_t record;	/* the eight bytes from kind_len on; 0 matches none */
	uint32_t request;	/* kind_len, state, action; status 0 */
	uint8_t to, len;
	uint8_t is_there;	/* the site is in this form already */
	struct shape old, new;
};

/* Fills *@w for one site and request. 0: this file cannot change such a site. */
static int find_way(struct way *w, const struct patch_object *o, const struct patch_site *s, const struct uft_patch *p)
{
	static const uint8_t forms[] = {
		[UFT_IDLE] = FORM_NOP,
		[UFT_ORIGINAL] = FORM_ORIGINAL,
		[UFT_FUNCTION] = FORM_FUNCTION,
		[UFT_GRAPH] = FORM_GRAPH,
	};
	unsigned to = forms[p->state & 3];

	w->record = 0;
	if (!(s->bits & SITE_SHORT) || s->kind_len != p->kind_len || s->action != p->action ||
	    p->state > UFT_GRAPH || (to == FORM_GRAPH && !(s->bits & SITE_HAS_STUB)) ||
	    (to == FORM_ORIGINAL && (s->kind_len & 0xf) == UFT_SITE_NOPS))
		return 0;
	w->to = (uint8_t)to;
	w->len = s->kind_len >> 4;
	w->old = shape_of(o, s, s->form);
	w->new = shape_of(o, s, to);
	w->is_there = s->form == to;
	w->request = request_of(p) & 0xffffff;
	w->record = record_of(s);
	return 1;
}

/* A site whose first two bytes are a stand-in now. */
struct standing {
	uint64_t at;	/* the site's address, and in the bits from 56 on its length */
	uint64_t code;	/* the bytes that it gets */
};

/* ---- a run --------------------------------------------------------------------------------------- */

/* One pass over a block's requests. */
struct pass {
	struct patch_run run;
	struct way way;
	struct standing *standing;	/* the next free place */
	uint32_t changed, left;
};

/* Changes one site, whose stub index is checked already. 0: left to the general way. */
static __attribute__((noinline)) int begin_site(struct pass *d, struct patch_site *s, const struct uft_patch *p)
{
	struct way *w = &d->way;
	uint64_t now, old, new;

	if (((record_of(s) != w->record || request_of(p) != w->request) && !find_way(w, d->run.o, s, p)) ||
	    s->addr != p->addr || s->addr - d->run.w.lo > d->run.w.hi - 8 - d->run.w.lo)
		return 0;
	if (w->is_there)
		return 1;
	old = shape_code(&w->old, s, p->stub);
	new = shape_code(&w->new, s, p->stub);
	__builtin_memcpy(&now, (const void *)s->addr, 8);
	if ((now ^ old) & code_mask(w->len))	/* GUARD(bulk_changed) */
		return 0;
	s->form = w->to;
	if (old == new)
		return 1;
	d->changed++;
	if (!change_at_once(s->addr, w->len, old ^ new, (int)uft_rt.st8_ok)) {
		arch_text_store2((void *)s->addr, stand_in(w->len));
		*d->standing++ = (struct standing){ s->addr | (uint64_t)w->len << 56, new };
	}
	return 1;
}

/*
 * The same for sites of five bytes that are like the last one, as long as they come in a row: facts that do not change
 * stay in registers, and the memory is nearly all of the cost. Returns how many it has changed. The last three
 * arguments are constants.
 */
static inline __attribute__((always_inline)) uint32_t begin_alike(struct pass *d, const struct uft_patch *p, uint32_t n,
								  int from_branch, int to_branch, int st8_ok)
{
	const uint64_t record = d->way.record, from_bits = d->way.old.bits, to_bits = d->way.new.bits;
	const uint64_t from_keep = d->way.old.keep, to_keep = d->way.new.keep, lo = d->run.w.lo,
		       span = d->run.w.hi - 8 - lo;
	const uint32_t request = d->way.request, from_step = d->way.old.step, to_step = d->way.new.step, stub = p->stub;
	uint32_t from = (uint32_t)d->way.old.to + stub * from_step, to = (uint32_t)d->way.new.to + stub * to_step, i;
	struct patch_site *s = &d->run.o->site[stub];
	struct standing *standing = d->standing;
	uint8_t form = d->way.to;

	for (i = 0; i < n; i++, s++, p++, from += from_step, to += to_step) {
		uint64_t at = s->addr, orig, now, old = from_bits, new = to_bits;

		if (p->stub != stub + i || record_of(s) != record || request_of(p) != request || at != p->addr ||
		    at - lo > span)
			break;
		__builtin_prefetch(s + BULK_AHEAD, 1);
		__builtin_memcpy(&orig, s->orig, 8);
		old |= from_branch ? (uint64_t)(from - (uint32_t)at) << 8 : orig & from_keep;
		new |= to_branch ? (uint64_t)(to - (uint32_t)at) << 8 : orig & to_keep;
		__builtin_memcpy(&now, (const void *)at, 8);
		if ((now ^ old) << 24)	/* GUARD(bulk_kind) */
			break;
		s->form = form;
		if (!change_at_once(at, 5, old ^ new, st8_ok)) {
			arch_text_store2((void *)at, stand_in(5));
			*standing++ = (struct standing){ at | 5ull << 56, new };
		}
	}
	d->standing = standing;
	d->changed += i;
	return i;
}

typedef uint32_t alike_fn(struct pass *d, const struct uft_patch *p, uint32_t n);
#define ALIKE(name, ...)									\
static __attribute__((noinline)) uint32_t name(struct pass *d, const struct uft_patch *p, uint32_t n)	\
{												\
	return begin_alike(d, p, n, __VA_ARGS__);						\
}
ALIKE(on_st8, 0, 1, 1)
ALIKE(off_st8, 1, 0, 1)
ALIKE(over_st8, 1, 1, 1)
ALIKE(on_js, 0, 1, 0)
ALIKE(off_js, 1, 0, 0)
ALIKE(over_js, 1, 1, 0)

/*
 * Changes the requests of @n that are like the last one; returns their number. 0: the next request must be looked at by
 * itself.
 */
static uint32_t begin_many(struct pass *d, const struct uft_patch *p, uint32_t n)
{
	static alike_fn *const fn[2][2][2] = {
		{ { NULL, NULL }, { on_js, on_st8 } }, { { off_js, off_st8 }, { over_js, over_st8 } }
	};
	const struct way *w = &d->way;
	uint32_t most = d->run.hi - p->stub;
	alike_fn *f = w->is_there || w->len != 5 ? NULL : fn[w->old.is_branch][w->new.is_branch][!!uft_rt.st8_ok];

	if (!f || p->stub < d->run.lo || p->stub > d->run.hi)
		return 0;
	return f(d, p, n > most ? most + 1 : n);
}

/* Step 2 for a block. */
static void begin_block(struct pass *d, struct uft_patch *p, uint32_t n)
{
	uint32_t i = 0, stub;
	int is_left;

	for (;;) {
		i += begin_many(d, p + i, n - i);
		if (i == n)
			return;
		stub = p[i].stub;
		is_left = stub < d->run.lo || stub > d->run.hi || !begin_site(d, &d->run.o->site[stub], &p[i]);
		d->left += (uint32_t)is_left;
		p[i++].status = is_left ? PATCH_LEFT : UFT_ST_OK;
		if (i == n)
			return;
	}
}

/* Step 3: writes the bytes behind the stand-ins. */
static void put_tails(const struct standing *t, const struct standing *end)
{
	for (; t < end; t++) {
		if (t->at >> 56 == 5)
			put_tail((uint8_t *)(t->at & ~0ul >> 8), 5, t->code);
		else
			put_tail((uint8_t *)(t->at & ~0ul >> 8), t->at >> 56, t->code);
	}
}

/* Step 3: writes the bytes of the stand-ins themselves. */
static void put_heads(const struct standing *t, const struct standing *end)
{
	for (; t < end; t++)
		arch_text_store2((void *)(t->at & ~0ul >> 8), (uint16_t)t->code);
}

/* Steps 2 to 4, without the window. @room: memory for three blocks. */
static void write_run(struct pass *d, struct uft_patch *p, uint32_t n, struct standing *room)
{
	struct standing *at[3] = { room, room + BULK_BLOCK, room + 2 * BULK_BLOCK },
		*end[3] = { at[0], at[1], at[2] };
	uint32_t blocks = (n + BULK_BLOCK - 1) / BULK_BLOCK, k;

	for (k = 0; k < blocks + 2; k++) {
		unsigned now = k % 3, before = (k + 2) % 3, last = (k + 1) % 3;

		d->standing = at[now];
		if (k < blocks)
			begin_block(d, p + k * BULK_BLOCK, k + 1 < blocks ? BULK_BLOCK : n - k * BULK_BLOCK);
		end[now] = d->standing;
		put_tails(at[before], end[before]); /* GUARD(write_run_put_tails) */
		put_heads(at[last], end[last]);
		if (end[now] > at[now] || end[before] > at[before] || end[last] > at[last] || k == blocks + 1)
			plat_sync_cores();
	}
}

static int is_ours(const struct patch_object *o, const struct uft_patch *p)
{
	return p->stub < o->nstubs && o->site[p->stub].addr == p->addr && o->site[p->stub].bits & SITE_SHORT;
}

/* Do the sites pay for a window, and does one window cover all of them? A few at both ends may be left out. */
static int bulk_is_it(struct patch_object *o, const struct uft_patch *p, uint32_t n, unsigned flags,
		       struct patch_run *r)
{
	const struct uft_patch *last = p + n - 1;
	int i;

	if (n < BULK_MIN || uft_rt.no_mprotect)
		return 0;
	for (i = 0; i < BULK_ENDS && !is_ours(o, p); i++)
		p++;
	for (i = 0; i < BULK_ENDS && !is_ours(o, last); i++)
		last--;
	if (!is_ours(o, p) || !is_ours(o, last) || p->stub > last->stub || p->addr > last->addr ||
	    (last->addr - p->addr) / PLAT_PAGE > n || !batch_is_mapped(p->addr, 1) || last->addr + 8 > batch_segment.hi)
		return 0;
	*r = (struct patch_run){ .o = o, .lo = p->stub, .hi = last->stub, .is_all_back = !!(flags & PATCH_ALL_BACK),
			   .w = { p->addr, PLAT_PAGE_UP(last->addr + 8), batch_segment.prot, 0 } };
	return 1;
}

int run_open(struct patch_run *r)
{
	struct patch_object *o = r->o;
	int ret;

	r->o = NULL;
	run = *r;
	uft_store_release(&run.o, o);	/* last: a fork child uses all of it */
	ret = plat_text_open(&run.w, run.w.lo, run.w.hi, run.w.prot, 0);
	*r = run;
	if (!ret && run.w.is_direct)
		return 0;
	if (!ret)
		plat_text_close(&run.w);
	run.o = NULL;
	return -EAGAIN;
}

void run_close(void)
{
	plat_text_close(&run.w);
	run.o = NULL;
}

static int bulk_run(struct patch_object *o, struct uft_patch *p, uint32_t n, unsigned flags, struct pass *d)
{
	struct standing *room;

	if (!bulk_is_it(o, p, n, flags, &d->run))
		return -EAGAIN;
	room = (struct standing *)batch_room(3 * BULK_BLOCK * sizeof(*room) / sizeof(struct patch_item));
	if (!room)
		return -EAGAIN;
	if (run_open(&d->run))
		return -EAGAIN;
	write_run(d, p, n, room);
	run_close();
	return 0;
}

int bulk_sites(struct patch_object *o, struct uft_patch *p, uint32_t n, unsigned flags, uint32_t *changed)
{
	struct pass d;
	struct patch_left l;
	uint32_t i;

	d.way.record = d.way.len = 0;		/* so begin_many() takes no request */
	d.changed = d.left = 0;
	if (bulk_run(o, p, n, flags, &d))
		return -EAGAIN;
	*changed = d.changed;
	for (i = l.n = 0; i < n && d.left; i++) {
		if (p[i].status != PATCH_LEFT)
			continue;
		left_add(&l, &p[i]);
		if (!--d.left || l.n == PATCH_NLEFT)
			*changed += left_flush(o, &l, flags);
	}
	return 0;
}

static uint64_t code_of(const struct patch_object *o, const struct patch_site *s, uint32_t stub, unsigned form)
{
	struct shape c = shape_of(o, s, form);

	return shape_code(&c, s, stub);
}

/* The form that has the bytes that are there now; -EINVAL: none. */
static int form_there(const struct patch_object *o, const struct patch_site *s, uint32_t stub, uint64_t now)
{
	const uint8_t forms[] = { s->form, FORM_ORIGINAL, FORM_NOP, FORM_FUNCTION, FORM_GRAPH };
	unsigned i;

	for (i = 0; i < sizeof(forms); i++)
		if (!((now ^ code_of(o, s, stub, forms[i])) & code_mask(s->kind_len >> 4)))
			return forms[i];
	return -EINVAL;
}

/*
 * In a fork child, which has one task: notes the form that its bytes have, finishes a stand-in, or restores the site.
 */
static void settle(struct patch_object *o, struct patch_site *s, uint32_t stub)
{
	unsigned len = s->kind_len >> 4;
	uint64_t now, code;
	int form;

	__builtin_memcpy(&now, (const void *)s->addr, 8);
	if ((uint16_t)now == stand_in(len))
		form = run.is_bitmap ? run.to : s->form;
	else
		form = form_there(o, s, stub, now);
	if (form < 0)
		return;			/* foreign bytes */
	if (run.is_all_back && (s->kind_len & 0xf) != UFT_SITE_NOPS)
		form = FORM_ORIGINAL;
	s->form = (uint8_t)form;
	code = code_of(o, s, stub, s->form);
	if ((now ^ code) & code_mask(len)) {
		put_tail((uint8_t *)s->addr, len, code);
		arch_text_store2((void *)s->addr, (uint16_t)code);
	}
}

int bulk_is_open(void)
{
	return run.o != NULL;
}

void bulk_after_fork(void)
{
	uint32_t i;

	if (!run.o) /* GUARD(bulk_after_fork_run, 1) */
		return;
	if (!plat_text_open(&run.w, run.w.lo, run.w.hi, run.w.prot, 0)) {
		for (i = run.lo; i <= run.hi && run.w.is_direct; i++)
			if (run.o->site[i].bits & SITE_SHORT && run.o->site[i].addr >= run.w.lo &&
			    run.o->site[i].addr + 8 <= run.w.hi)
				settle(run.o, &run.o->site[i], i);
		plat_sync_cores();
		plat_text_close(&run.w);
	}
	run.o = NULL;
}
