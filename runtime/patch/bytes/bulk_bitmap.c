/* SPDX-License-Identifier: MIT */
/*
 * bulk_bitmap.c - change known sites that are named by a bit each
 *
 * The cost of bulk.c beside running threads is memory: 16 bytes of request and 32 of record per site. A tracer
 * that is switched wants one state for all sites that its filter names, and most of these sites look alike. So an order
 * here is one state and a bit per site, and the sites are known by blocks of 64 (struct patch_block): which sites are
 * members, the one record that all members share, and four bytes of address for each. Nothing else of a member is read
 * or written, except its code:
 *
 *	1. blocks that the last order asked for other sites are taken apart; the run is noted (bulk.c), its
 *	   window is opened
 *	2. these blocks are learned again, from the records
 *	3. the members' bytes are compared and written: ST8 (batch.c), or the stand-in of JS
 *	4. the new form is noted in the block, the bits of the sites that are done are cleared
 *	5. [JS: a sync, the tail; a sync, the head; a sync], in parts that share their syncs as bulk.c does
 *	6. a sync, the window is closed, the run is over
 *
 * This file changes no other sites. Sites that are no members keep their bits. A member with foreign bytes is a member
 * no more and keeps its bit, too. The session sends these sites as requests, and refusals are counted there.
 *
 * Invariant: the form in a member's record is out of date, the form in its block holds. Code that reads records takes
 * the block apart first (bulk_yield(), bulk_yield_all(); tests/unit/patch: orders by bits and lists in turn).
 *
 * Forks. A child has each page of blocks and records as it was at some moment of the fork, and two pages are not of the
 * same moment. A page may be copied between any two stores to it. So:
 *	- A block is taken apart in two halves, records and then members, with plat_order_forks() between them, and
 *	  never inside a run. Whichever part of it a child has, either the block or the records tell each site's form.
 *	- A block can be older than the call of plat_order_forks() before its page changed: it still has members whose
 *	  records are about to change. So a child that finds a batch or a run open takes its blocks apart before it
 *	  finishes that (patch_after_fork()).
 *	- Inside a run a block only becomes known, never unknown: its members are stored last, when everything else
 *	  about them is complete. The block then says the same as their records.
 *	- Form and code of members change inside a run, and only inside its window. There a child decides by the bytes
 *	  (bulk_after_fork()). A stand-in becomes what the order said.
 * The CPU keeps the order of stores, so only the compiler has to be held to it (order_stores()). tests/unit/patch tries
 * each store: a child is born behind it.
 */
#include "runtime/patch/bytes/short.h"

#define BITMAP_LEN	5u
#define BITMAP_MIN	64u	/* sites that pay for opening a window */
#define BITMAP_YIELD	128u	/* blocks that are taken apart with one call of plat_order_forks() */
/*
 * blocks between two syncs, because each sync waits for all CPUs: half a megabyte of code, which the cache still holds
 */
#define BITMAP_PART	256u

/* The form of a block's members, and the form that they get. */
struct kin {
	uint64_t record, orig;	/* of the block */
	uint8_t form;
	uint8_t is_ours;	/* they can get this form here */
	struct shape old, new;
};

struct bitmap {
	struct patch_object *o;
	uint64_t *word;		/* the order: sites that are left */
	uint32_t nwords;
	uint8_t to, flags;
	struct patch_run run;
	struct kin kin;
	uint32_t changed;
};

static inline uint32_t *offsets(const struct patch_object *o)
{
	return (uint32_t *)(o->block + PATCH_NBLOCKS(o));
}

static size_t table_bytes(const struct patch_object *o)
{
	return PATCH_NBLOCKS(o) * (sizeof(struct patch_block) + PATCH_BLOCK * sizeof(uint32_t));
}

static inline unsigned form_of(uint64_t record)
{
	return record >> 8 * (offsetof(struct patch_site, form) - 8) & 0xff;
}

static inline uint64_t record_in(uint64_t record, unsigned form)
{
	return record ^ (uint64_t)(form_of(record) ^ form) << 8 * (offsetof(struct patch_site, form) - 8);
}

static unsigned count_bits(uint64_t x)
{
	x -= x >> 1 & 0x5555555555555555;
	x = (x & 0x3333333333333333) + (x >> 2 & 0x3333333333333333);
	x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0f;
	return (unsigned)(x * 0x0101010101010101 >> 56);
}

/* ---- records and blocks ---------------------------------------------------------------------------- */

/* Writes the form that the block has for these members back into their records. */
static void write_back(const struct patch_object *o, uint32_t k, uint64_t which)
{
	for (; which; which &= which - 1)
		o->site[k * PATCH_BLOCK + (uint32_t)__builtin_ctzll(which)].form = (uint8_t)form_of(o->block[k].record);
}

/* Keeps the compiler from moving stores: a fork child must see them in this order; see the top. */
static inline void order_stores(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static void forget(const struct patch_object *o, uint32_t k)
{
	o->block[k].member = o->block[k].asked = 0;
}

/*
 * Takes blocks apart: writes records back, orders forks, then forgets the members. Memory that others may write is read
 * once.
 */
struct yielding {
	const struct patch_object *o;
	uint32_t n, block[BITMAP_YIELD];
};

static void end_yield(struct yielding *y)
{
	if (y->n)
		plat_order_forks(); /* GUARD(end_yield_plat_order_forks) */
	while (y->n)
		forget(y->o, y->block[--y->n]);
}

static void yield_block(struct yielding *y, uint32_t k)
{
	const struct patch_block *b = &y->o->block[k];

	if (!(b->asked | b->member))
		return;
	write_back(y->o, k, b->member); /* GUARD(yield_block_write_back) */
	y->block[y->n++] = k;
	if (y->n == BITMAP_YIELD)
		end_yield(y);
}

void bulk_yield(const struct patch_object *o, const struct uft_patch *p, uint32_t n)
{
	struct yielding y;
	uint32_t i, k, last = ~0u;

	y.o = o;
	y.n = 0;
	for (i = 0; o->block && i < n; i++) {
		k = uft_load(&p[i].stub) / PATCH_BLOCK;
		if (k != last && k < PATCH_NBLOCKS(o))
			yield_block(&y, k);
		last = k;
	}
	end_yield(&y);
}

void bulk_yield_all(const struct patch_object *o)
{
	struct yielding y;
	uint32_t k;

	y.o = o;
	y.n = 0;
	for (k = 0; o->block && k < PATCH_NBLOCKS(o); k++)
		yield_block(&y, k);
	end_yield(&y);
}

void bulk_forget(struct patch_object *o)
{
	struct patch_block *block = o->block;

	o->block = NULL;		/* before the unmapping: a fork child finds no block, or all of them */
	order_stores();
	if (block)
		plat_unmap(block, table_bytes(o));
}

static int is_nop(unsigned kind_len)
{
	return (kind_len & 0xf) == UFT_SITE_NOP || (kind_len & 0xf) == UFT_SITE_MCOUNT_NOP;
}

/* A call as found cannot be a member, because its bytes differ from site to site. */
static int can_be_member(const struct patch_object *o, const struct patch_site *s)
{
	unsigned f = s->form;

	return s->addr && s->bits & SITE_SHORT && s->kind_len >> 4 == BITMAP_LEN &&
	       !((s->addr - o->text_start) >> 32) &&
	       (f == FORM_NOP || f == FORM_FUNCTION || f == FORM_GRAPH || (f == FORM_ORIGINAL && is_nop(s->kind_len)));
}

static uint64_t orig_of(const struct patch_site *s)
{
	uint64_t orig;

	__builtin_memcpy(&orig, s->orig, 8);
	return is_nop(s->kind_len) ? orig & code_mask(BITMAP_LEN) : 0;
}

/* Step 1: takes apart the blocks that the last order asked for other sites. */
static void yield_others(const struct bitmap *w)
{
	struct yielding y;
	uint32_t k;

	y.o = w->o;
	y.n = 0;
	for (k = 0; k < w->nwords; k++)
		if (w->word[k] &&
		    w->word[k] != w->o->block[k].asked /* GUARD(bulk_bits_asked, !w->o->block[k].asked) */)
			yield_block(&y, k);
	end_yield(&y);
}

/* Step 2: learns a block that has no members: sites in the window that are like the first one. */
static void learn_block(const struct bitmap *w, uint32_t k, uint64_t want)
{
	const struct patch_object *o = w->o;
	struct patch_block *b = &o->block[k];
	uint64_t left, member = 0;
	uint32_t at;

	for (left = want; left; left &= left - 1) {
		uint32_t i = k * PATCH_BLOCK + (uint32_t)__builtin_ctzll(left);
		const struct patch_site *s = &o->site[i];

		if (i >= o->nstubs || !can_be_member(o, s) || s->addr < w->run.w.lo || s->addr > w->run.w.hi - 8)
			continue;
		at = (uint32_t)(s->addr - o->text_start);
		if (!member) {
			b->record = record_of(s);
			b->orig = orig_of(s);
			b->lo = b->hi = at;
		} else if (record_of(s) != b->record || orig_of(s) != b->orig) {
			continue;
		}
		offsets(o)[i] = at;
		b->lo = at < b->lo ? at : b->lo;
		b->hi = at > b->hi ? at : b->hi;
		member |= left & -left;
	}
	b->asked = want;
	order_stores();
	b->member = member;
}

/* All sites of a block have the same shape, if a shape is needed. */
static struct shape shape_in(const struct bitmap *w, const struct patch_site *s, unsigned form)
{
	struct shape c = shape_of(w->o, s, form);
	uint64_t orig;

	__builtin_memcpy(&orig, s->orig, 8);
	c.bits |= orig & c.keep;
	return c;
}

static void find_kin(struct bitmap *w, const struct patch_block *b)
{
	struct patch_site s = { .addr = 0 };
	struct kin *kin = &w->kin;

	if (kin->record == b->record && kin->orig == b->orig)
		return;
	kin->record = b->record;
	kin->orig = b->orig;
	kin->form = (uint8_t)form_of(b->record);
	__builtin_memcpy(&s.kind_len, &b->record, 8);
	__builtin_memcpy(s.orig, &b->orig, 8);
	kin->old = shape_in(w, &s, kin->form);
	kin->new = shape_in(w, &s, w->to);
	kin->is_ours = s.action == w->flags /* GUARD(bulk_bits_action) */ &&
		(w->to != FORM_GRAPH || s.bits & SITE_HAS_STUB) /* GUARD(bulk_bits_stub) */ &&
		       (w->to != FORM_ORIGINAL || is_nop(s.kind_len)) &&
		       (w->to == kin->form || kin->old.is_branch || kin->new.is_branch);
}

/* ---- code -------------------------------------------------------------------------------------------- */

/*
 * Changes a site that does not lie in one aligned word, or that this CPU cannot change by one store. 0: a jump stands
 * in for it.
 */
static __attribute__((noinline)) int change_slowly(uint64_t at, uint64_t change, int st8_ok)
{
	if (change_at_once(at, BITMAP_LEN, change, st8_ok))
		return 1;
	arch_text_store2((void *)at, stand_in(BITMAP_LEN));
	return 0;
}

/*
 * Compares and writes the members @go of block @k. Returns the members with foreign bytes. The last three arguments are
 * constants. The number of instructions matters here: the bare loop has four.
 */
static inline __attribute__((always_inline)) uint64_t begin_members(const struct bitmap *w, uint32_t k, uint64_t go,
								    uint64_t *stands, int from_branch, int to_branch,
								    int st8_ok)
{
	const uint32_t *offset = offsets(w->o) + k * PATCH_BLOCK, from_step = w->kin.old.step,
		       to_step = w->kin.new.step;
	const uint64_t from_bits = w->kin.old.bits, both = from_bits ^ w->kin.new.bits, text = w->o->text_start;
	const uint32_t from = (uint32_t)w->kin.old.to + k * PATCH_BLOCK * from_step;
	const uint32_t to = (uint32_t)w->kin.new.to + k * PATCH_BLOCK * to_step;
	uint64_t foreign = 0, standing = 0;

	for (; go; go &= go - 1) {
		uint32_t i = (uint32_t)__builtin_ctzll(go);
		uint64_t at = text + offset[i], now, old = from_bits, change = both;

		__builtin_memcpy(&now, (const void *)at, 8);
		if (from_branch) {
			uint64_t leads = (uint64_t)(from + i * from_step - (uint32_t)at) << 8;

			old |= leads;
			change ^= leads;
		}
		if (to_branch)
			change ^= (uint64_t)(to + i * to_step - (uint32_t)at) << 8;
		if (__builtin_expect((now ^ old) << 24 != 0, 0))	/* GUARD(bulk_bitmap_kind) */
			foreign |= go & -go;
		else if (st8_ok && !(at & 7))
			arch_text_store8((void *)at, now ^ change);
		/* the opcode changes, and the bytes behind it */
		else if (!st8_ok && from_branch != to_branch) {
			arch_text_store2((void *)at, stand_in(BITMAP_LEN));
			standing |= go & -go;
		} else if (!change_slowly(at, change, st8_ok))
			standing |= go & -go;
	}
	*stands = standing;
	return foreign;
}

typedef uint64_t begin_fn(const struct bitmap *w, uint32_t k, uint64_t go, uint64_t *stands);
#define BEGIN(name, ...)									\
static __attribute__((noinline)) uint64_t name(const struct bitmap *w, uint32_t k, uint64_t go, \
					       uint64_t *stands) \
{												\
	return begin_members(w, k, go, stands, __VA_ARGS__);					\
}
BEGIN(on_st8, 0, 1, 1)
BEGIN(off_st8, 1, 0, 1)
BEGIN(over_st8, 1, 1, 1)
BEGIN(on_js, 0, 1, 0)
BEGIN(off_js, 1, 0, 0)
BEGIN(over_js, 1, 1, 0)

/* Steps 2 to 4. Returns the sites that have a stand-in. */
static uint64_t begin_block(struct bitmap *w, uint32_t k)
{
	static begin_fn *const fn[2][2][2] = {
		{ { NULL, NULL }, { on_js, on_st8 } }, { { off_js, off_st8 }, { over_js, over_st8 } }
	};
	struct patch_block *b = &w->o->block[k];
	uint64_t want = w->word[k], go, foreign, stands = 0;

	if (!b->asked)
		learn_block(w, k, want);
	go = b->asked == want ? b->member : 0;		/* the session may have written the order meanwhile */
	if (!go)
		return 0;
	find_kin(w, b);
	if (!w->kin.is_ours || w->o->text_start + b->lo < w->run.w.lo || w->o->text_start + b->hi > w->run.w.hi - 8)
		return 0;
	if (w->kin.form == w->to) {
		w->word[k] = want & ~go;
		return 0;
	}
	foreign = fn[w->kin.old.is_branch][w->kin.new.is_branch][!!uft_rt.st8_ok](w, k, go, &stands);
	if (foreign) {
		write_back(w->o, k, foreign);
		b->member = go &= ~foreign;
		order_stores();		/* the block's record will not hold for these sites */
	}
	b->record = record_in(b->record, w->to);
	w->word[k] = want & ~go;
	w->changed += count_bits(go);
	return stands;
}

static void begin_part(struct bitmap *w, uint32_t k, uint32_t n, uint64_t *stands, int *any)
{
	uint32_t i;

	*any = 0;
	for (i = 0; i < n; i++) {
		stands[i] = w->word[k + i] ? begin_block(w, k + i) : 0;
		*any |= stands[i] != 0;
	}
}

/*
 * Step 5: the tails of sites that have a stand-in, or their heads. The tail is one store of four bytes: the second byte
 * of the stand-in once more, unchanged, and three bytes that no thread executes.
 */
static inline __attribute__((always_inline)) void end_block(struct bitmap *w, uint32_t k, uint64_t stands,
							    int is_head)
{
	const uint32_t *offset = offsets(w->o) + k * PATCH_BLOCK;
	const struct shape *c = &w->kin.new;
	uint32_t to;

	find_kin(w, &w->o->block[k]);
	to = (uint32_t)c->to + k * PATCH_BLOCK * c->step;
	for (; stands; stands &= stands - 1) {
		uint32_t i = (uint32_t)__builtin_ctzll(stands);
		uint64_t at = w->o->text_start + offset[i], code = c->bits;

		code |= c->is_branch ? (uint64_t)(to + i * c->step - (uint32_t)at) << 8 : 0;
		if (is_head)
			arch_text_store2((void *)at, (uint16_t)code);
		else
			arch_text_store4((void *)(at + 1), (uint32_t)(code >> 16) << 8 | stand_in(BITMAP_LEN) >> 8);
	}
}

static void end_part(struct bitmap *w, uint32_t k, const uint64_t *stands, int is_head)
{
	uint32_t i;

	for (i = 0; i < BITMAP_PART && k + i < w->nwords; i++) {
		if (stands[i] && is_head)
			end_block(w, k + i, stands[i], 1);
		else if (stands[i])
			end_block(w, k + i, stands[i], 0);
	}
}

/* Steps 2 to 6, without the window. */
static void write_bitmap(struct bitmap *w)
{
	uint64_t stands[3][BITMAP_PART];
	uint32_t parts = (w->nwords + BITMAP_PART - 1) / BITMAP_PART, k;
	int any[3] = { 0, 0, 0 };

	for (k = 0; k < parts + 2; k++) {
		unsigned now = k % 3, before = (k + 2) % 3, last = (k + 1) % 3;
		uint32_t at = k * BITMAP_PART;

		any[now] = 0;
		if (k < parts)
			begin_part(w, at, w->nwords - at < BITMAP_PART ? w->nwords - at : BITMAP_PART, stands[now],
				   &any[now]);
		if (any[before])
			end_part(w, at - BITMAP_PART, stands[before], 0);
		if (any[last])
			end_part(w, at - 2 * BITMAP_PART, stands[last], 1);
		if (any[now] || any[before] || any[last] || k == parts + 1)
			plat_sync_cores();
	}
}

/* ---- orders -------------------------------------------------------------------------------------------- */

/* The first site of the order that may be a member or, with @step -1, the last one. NULL: there is none. */
static const struct patch_site *find_end(const struct bitmap *w, int step)
{
	uint32_t n, i = step > 0 ? 0 : w->nwords * PATCH_BLOCK - 1;

	for (n = 0; n < w->nwords * PATCH_BLOCK; n++, i += (uint32_t)step)
		if (i < w->o->nstubs && w->word[i / PATCH_BLOCK] >> i % PATCH_BLOCK & 1 &&
		    can_be_member(w->o, &w->o->site[i]))
			return &w->o->site[i];
	return NULL;
}

/* Do the sites pay for a window, and does one window cover all of them? */
static int find_run(struct bitmap *w)
{
	const struct patch_site *first, *last;
	uint32_t k, n = 0;

	for (k = 0; k < w->nwords; k++)
		n += count_bits(w->word[k]);
	if (n < BITMAP_MIN || uft_rt.no_mprotect)
		return -EAGAIN;
	first = find_end(w, 1);
	last = first ? find_end(w, -1) : NULL;
	if (!last || first->addr > last->addr || (last->addr - first->addr) / PLAT_PAGE > n ||
	    !batch_is_mapped(first->addr, 1) || last->addr + 8 > batch_segment.hi)
		return -EAGAIN;
	w->run = (struct patch_run){ .o = w->o, .lo = 0, .hi = w->o->nstubs - 1, .is_bitmap = 1, .to = w->to,
				     .w = { first->addr, PLAT_PAGE_UP(last->addr + 8), batch_segment.prot, 0 } };
	return 0;
}

static int make_table(struct patch_object *o)
{
	if (!o->block)
		o->block = plat_map(table_bytes(o));
	return o->block ? 0 : -ENOMEM;
}

long bulk_bits(struct patch_object *o, const struct uft_site_order *order, uint64_t *word, uint32_t n)
{
	static const uint8_t forms[] = {
		[UFT_IDLE] = FORM_NOP,
		[UFT_ORIGINAL] = FORM_ORIGINAL,
		[UFT_FUNCTION] = FORM_FUNCTION,
		[UFT_GRAPH] = FORM_GRAPH,
	};
	struct bitmap w = { .o = o, .word = word, .flags = order->action };
	uint32_t nwords = n / PATCH_BLOCK + (n % PATCH_BLOCK != 0);

	if (order->state > UFT_GRAPH)
		return -EINVAL;
	w.to = forms[order->state];
	w.nwords = nwords < PATCH_NBLOCKS(o) ? nwords : PATCH_NBLOCKS(o);
	batch_begin();
	if (find_run(&w) || make_table(o))
		return 0;
	yield_others(&w); /* GUARD(bulk_bits_yield_others) */
	if (run_open(&w.run))
		return 0;
	write_bitmap(&w);
	run_close();
	trace_count(UFT_CNT_PATCHED, w.changed);
	return w.changed;
}
