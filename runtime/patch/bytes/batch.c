/* SPDX-License-Identifier: MIT */
/*
 * batch.c - changing code while it runs
 *
 * A batch is an array of items sorted by address. Each item names one of five protocols:
 *
 *	ST8	all bytes that change lie in one aligned 8-byte word: one store. AMD documents this; on other CPUs
 *		(uft_rt.st8_ok = 0) it is used for a single byte only, or for bytes that no CPU can misread
 *	SWAP	all bytes that change lie in one aligned 16-byte block: one locked exchange. For instructions that
 *		may not be skipped, where ST8 cannot be used. No CPU maker documents it
 *	JS	any length, the first two bytes in one cache line: a `jmp` over the rest stands in while the rest
 *		changes. The instruction is not executed meanwhile, so it must be one that may be skipped: a nop, our
 *		call
 *	TAIL	the bytes behind the first are dead while the first is `stand_in`
 *	PLAIN	no thread executes the bytes before the batch is done: all tasks are stopped (platform.h, quiet), or
 *		no code leads to them yet. No fork can happen in the first case; in the second no fork child executes
 *		them either
 *
 * Steps of a batch; a step in brackets happens only if an item needs it:
 *	1. the items are complete in memory, journal.is_active is set
 *	2. windows are opened: one for each run of neighbouring pages
 *	3. [sync: code out of line that was written before]
 *	4. [JS, TAIL: stand-ins; sync]
 *	5. ST8, SWAP, PLAIN; [JS, TAIL: the rest]; sync
 *	6. [JS, TAIL: first bytes; sync]
 *	7. windows are closed, journal.is_active is cleared
 * Step 3 shares the sync of step 4 if there is one, so a batch has at most three syncs. A sync is
 * membarrier(PRIVATE_EXPEDITED_SYNC_CORE): after it no CPU in this address space executes instructions that it fetched
 * before.
 *
 * Forks. A fork copies the address space page by page while this task goes on writing, so the text of the child may
 * have any mix of steps 3-6. Opening and closing windows wait for a fork (platform.h), so the items, and the fact that
 * they are active, are the same in all pages of the child. Every mix is sound code, so the child may run with it. The
 * child carries out the items that it inherited before it patches anything itself (batch_after_fork()). Carrying them
 * out is always right, because the parent does the same. Code out of line is written in windows of its own before step
 * 1, so a child that has an armed site also has the code that the site leads to.
 *
 * Failure: if a window cannot be opened, its items are dropped (PROTO_NONE) before any of its bytes is written.
 */
#include "runtime/base/mem.h"
#include "runtime/patch/bytes/bytes.h"

#define RUN_GAP		(8 * PLAT_PAGE)	/* untouched pages between two runs that one window may span:
					 * their protection changes, which costs less than a system call */

struct batch_window {
	struct plat_window w;
	uint32_t first, end;	/* first and one past the last item */
};

/* In private memory, so that a fork child has its own. Written by the patching task. */
static struct {
	struct patch_item *item;	/* the batch in hand */
	uint32_t n;
	batch_commit commit;
	void *arg;
	struct patch_item *room;	/* memory that batch_room() returned */
	uint32_t nroom;
	struct batch_window *window;
	uint32_t nwindows, window_room;
	uint32_t ndropped;
	int has_stand_ins;
	int is_active;
} journal;

struct batch_segment batch_segment;

void batch_begin(void)
{
	batch_segment.lo = batch_segment.hi = 0;
}

int batch_look_up(uintptr_t at, unsigned n)
{
	struct batch_segment *g = &batch_segment;

	if (at < g->lo || at >= g->hi) {
		g->prot = plat_text_segment(at, &g->lo, &g->hi);
		if (g->prot == -ENOENT) {
			batch_begin();
			return 0;
		}
	}
	return at + n <= g->hi || batch_look_up(g->hi, (unsigned)(at + n - g->hi));
}

/* How many to make room for, where @n are wanted. */
static uint32_t growth(uint32_t n)
{
	return n < 256 ? 256 : n + n / 4;
}

/*
 * A fork child may be born between any two stores here, and uses what it finds. So memory is unmapped only when the
 * journal does not name it any more, and its size is noted only when the journal names it.
 */
struct patch_item *batch_room(uint32_t n)
{
	uint32_t old = journal.nroom, want = growth(n);

	if (n <= old)
		return journal.room;
	journal.nroom = 0;	/* GUARD(batch_room_is_forgotten) */
	plat_order_forks();
	if (journal.room)
		plat_unmap(journal.room, old * sizeof(*journal.room));
	journal.room = plat_map(want * sizeof(*journal.room));
	if (!journal.room)
		return NULL;
	plat_order_forks();
	journal.nroom = want;
	return journal.room;
}

/* ---- choosing ------------------------------------------------------------------------------------ */

static void item_swap(struct patch_item *it, uintptr_t at, uint64_t bytes, unsigned lo, unsigned hi)
{
	uintptr_t block = (at + lo) & ~15ul, from = at + lo > block + 8 ? block + 8 : at + lo;
	unsigned shift = 8 * (unsigned)(at + lo - from);

	it->proto = PROTO_SWAP;
	it->at = from;
	it->code.hi = code_mask(hi - lo + 1) << shift;
	it->code.lo = bytes >> 8 * lo << shift & it->code.hi;
}

int batch_item(struct patch_item *it, uintptr_t at, const struct code *old, const struct code *new, unsigned win,
	       unsigned rule)
{
	uint64_t x = old->lo ^ new->lo;

	if (old->hi == new->hi) {
		unsigned lo, hi;

		if (!x) {
			it->proto = PROTO_NONE;
			return 0;
		}
		lo = item_first(x);
		hi = item_last(x);
		if (item_fits(at, lo, hi, 8) && (uft_rt.st8_ok || lo == hi || rule & ITEM_ANY_CPU)) {
			item_st8(it, at, new->lo, lo, hi);
			return 0;
		}
		if (rule & ITEM_AT_ONCE && !uft_rt.no_mprotect && item_fits(at, lo, hi, 16)) {
			item_swap(it, at, new->lo, lo, hi);
			return 0;
		}
	}
	if (rule & ITEM_AT_ONCE)
		return -EOPNOTSUPP;
	it->at = at;
	it->code = *new;
	it->len = (uint8_t)win;
	if (is_last_of_line(at)) {
		/* The first byte is a prefix that stays: begin behind it. */
		if (x & 0xff || win < 3)
			return -EOPNOTSUPP;
		it->at = at + 1;
		it->code.lo = new->lo >> 8 | new->hi << 56;
		it->code.hi = new->hi >> 8;
		it->len = (uint8_t)(win - 1);
	}
	it->proto = PROTO_JS;
	return 0;
}

/* ---- windows ------------------------------------------------------------------------------------- */

static uintptr_t item_end(const struct patch_item *it)
{
	return it->at + (it->proto == PROTO_ST8 || it->proto == PROTO_SWAP ? 8 : it->len);
}

/* As batch_room(), but what is there is kept. */
static int window_grow(void)
{
	uint32_t room = journal.window_room, want = growth(journal.nwindows + 1);
	struct batch_window *old = journal.window, *m = plat_map(want * sizeof(*m));

	if (!m)
		return 0;
	if (old)
		memcpy(m, old, room * sizeof(*m));
	journal.window = m;
	plat_order_forks();
	journal.window_room = want;
	if (old)
		plat_unmap(old, room * sizeof(*m));
	return 1;
}

static struct batch_window *window_new(void)
{
	if (journal.nwindows == journal.window_room && !window_grow())
		return NULL;
	return &journal.window[journal.nwindows++];
}

static void drop(struct patch_item *it)
{
	if (it->proto != PROTO_NONE) {
		it->proto = PROTO_NONE;
		journal.ndropped++;
	}
}

/* Does the item lie in window @w, or close enough behind it? Both in the mapping that was looked up last. */
static inline int belongs(const struct batch_window *w, uintptr_t at, uintptr_t end)
{
	return at >= w->w.lo && at <= w->w.hi + RUN_GAP && end <= batch_segment.hi && w->w.lo >= batch_segment.lo;
}

/* Step 2, first half: finds the runs. An unsorted array only makes more of them. 0: no memory. */
static int find_windows(void)
{
	struct batch_window *w = NULL;
	uint32_t i;

	journal.nwindows = 0;
	journal.has_stand_ins = 0;
	for (i = 0; i < journal.n; i++) {
		struct patch_item *it = &journal.item[i];
		uintptr_t end = item_end(it);

		if (it->proto == PROTO_NONE)
			continue;
		if (!batch_is_mapped(it->at, 1)) {
			drop(it);
			continue;
		}
		journal.has_stand_ins |= it->proto == PROTO_JS || it->proto == PROTO_TAIL;
		if (!w || !belongs(w, it->at, end)) {
			w = window_new();
			if (!w)
				return 0;
			w->w = (struct plat_window){ PLAT_PAGE_DOWN(it->at), 0, batch_segment.prot, 0 };
			w->first = i;
		}
		if (end > w->w.hi)
			w->w.hi = PLAT_PAGE_UP(end);
		w->end = i + 1;
	}
	return 1;
}

static void drop_items(const struct batch_window *w)
{
	uint32_t i;

	for (i = w->first; i < w->end; i++)
		drop(&journal.item[i]);
}

/*
 * Drops items that were planned for stores of the runtime, but that the kernel has to write now: stand-ins and
 * exchanges that lie over two words.
 */
static void drop_split_items(const struct batch_window *w)
{
	uint32_t i;

	for (i = w->first; i < w->end; i++) {
		struct patch_item *it = &journal.item[i];
		unsigned at = it->at & (PATCH_WORD - 1);
		uint64_t mask = it->code.hi;

		if ((it->proto == PROTO_JS && at == PATCH_WORD - 1) ||
		    (it->proto == PROTO_SWAP && at && mask & code_mask(8 - at) && mask & ~code_mask(8 - at)))
			drop(it);
	}
}

static void open_windows(void)
{
	uint32_t i;

	for (i = 0; i < journal.nwindows; i++) {
		struct batch_window *w = &journal.window[i];

		if (plat_text_open(&w->w, w->w.lo, w->w.hi, w->w.prot, (int)uft_rt.no_mprotect)) {
			w->w.is_direct = -1;
			drop_items(w);
		} else if (!w->w.is_direct) {
			uft_rt.no_mprotect = 1;		/* later changes are planned for the kernel's writes */
			drop_split_items(w);
		}
	}
}

static void close_windows(void)
{
	uint32_t i;

	for (i = 0; i < journal.nwindows; i++)
		if (journal.window[i].w.is_direct >= 0)
			plat_text_close(&journal.window[i].w);
}

/* ---- writing ------------------------------------------------------------------------------------- */

static void put(const struct batch_window *w, uintptr_t at, const void *bytes, unsigned n)
{
	const uint8_t *from = bytes;
	uint16_t two;

	if (!w->w.is_direct) {
		plat_text_poke(at, bytes, n);
		return;
	}
	for (; n >= 2; n -= 2, from += 2, at += 2) {
		__builtin_memcpy(&two, from, 2);
		arch_text_store2((void *)at, two);
	}
	if (n)
		arch_text_store1((void *)at, *from);
}

/* The bytes behind the first @head ones, which no thread executes now. */
static inline void put_rest(const struct batch_window *w, const struct patch_item *it, unsigned head)
{
	put(w, it->at + head, (const uint8_t *)&it->code + head, it->len - head);
}

static inline void do_st8(const struct batch_window *w, const struct patch_item *it)
{
	uint64_t v = (*(const uint64_t *)it->at & ~it->code.hi) | it->code.lo;

	if (w->w.is_direct)
		arch_text_store8((void *)it->at, v);
	else
		plat_text_poke(it->at, &v, 8);
}

static void do_swap(const struct batch_window *w, const struct patch_item *it)
{
	uint64_t old, v;

	do {
		__builtin_memcpy(&old, (const void *)it->at, 8);
		v = (old & ~it->code.hi) | it->code.lo;
		if (!w->w.is_direct) {
			plat_text_poke(it->at, &v, 8);
			return;
		}
	} while (!arch_text_swap8((void *)it->at, old, v));
}

static void stand_in(const struct batch_window *w, const struct patch_item *it)
{
	uint8_t jmp[2];

	if (it->proto == PROTO_JS) {
		uft_insn_jmp_short(jmp, (int8_t)(it->len - 2) /* GUARD(js_distance, (int8_t)(it->len - 1)) */);
		put(w, it->at, jmp, 2);
	} else if (it->proto == PROTO_TAIL) {
		put(w, it->at, &it->stand_in, 1);
	}
}

static void step_stand_ins(void)
{
	uint32_t i, k;

	for (k = 0; k < journal.nwindows; k++)
		for (i = journal.window[k].first; i < journal.window[k].end; i++)
			stand_in(&journal.window[k], &journal.item[i]);
}

static void step_bodies(void)
{
	uint32_t i, k;

	for (k = 0; k < journal.nwindows; k++) {
		const struct batch_window *w = &journal.window[k];

		for (i = w->first; i < w->end; i++) {
			const struct patch_item *it = &journal.item[i];

			switch (it->proto) {
			case PROTO_ST8:
				do_st8(w, it);
				break;
			case PROTO_SWAP:
				do_swap(w, it);
				break;
			case PROTO_JS:
				put_rest(w, it, 2);
				break;
			case PROTO_TAIL:
				put_rest(w, it, 1);
				break;
			case PROTO_PLAIN:
				put_rest(w, it, 0);
				break;
			}
		}
	}
}

static void step_heads(void)
{
	uint32_t i, k;

	for (k = 0; k < journal.nwindows; k++)
		for (i = journal.window[k].first; i < journal.window[k].end; i++) {
			const struct patch_item *it = &journal.item[i];

			if (it->proto == PROTO_JS || it->proto == PROTO_TAIL)
				put(&journal.window[k], it->at, &it->code, it->proto == PROTO_TAIL ? 1 : 2);
		}
}

static void write_items(int fresh)
{
	int stands = journal.has_stand_ins;

	if (stands) /* GUARD(write_items_stands) */
		step_stand_ins();
	if (stands || fresh)
		plat_sync_cores();
	step_bodies();
	plat_sync_cores();
	if (stands) {
		step_heads();
		plat_sync_cores();
	}
}

uint32_t batch_write(struct patch_item *it, uint32_t n, int fresh, batch_commit commit, void *arg)
{
	uint32_t i;

	journal.item = it;
	journal.n = n;
	journal.commit = commit;
	journal.arg = arg;
	journal.ndropped = 0;
	if (!find_windows()) {
		for (i = 0; i < n; i++)
			drop(&it[i]);
		return n;
	}
	uft_store_release(&journal.is_active, 1);
	open_windows();
	write_items(fresh);
	commit(arg, it, n);
	close_windows();
	uft_store_release(&journal.is_active, 0);
	return journal.ndropped;
}

int batch_write_tramp(const struct tramp_code *c, struct plat_window *w)
{
	if (w->is_direct)	/* reading the page first would cost a second fault */
		__atomic_fetch_or((uint8_t *)c->at, 0, __ATOMIC_RELAXED);
	if (!memcmp((const void *)c->at, c->bytes, c->n))
		return 0;
	if (!w->is_direct)
		return plat_text_poke(c->at, c->bytes, c->n);
	memcpy((void *)c->at, c->bytes, c->n);
	return 0;
}

int batch_is_open(void)
{
	return uft_load(&journal.is_active);
}

void batch_after_fork(void)
{
	plat_text_forget();
	if (!batch_is_open()) /* GUARD(batch_after_fork_batch_is_open, 1) */
		return;
	/*
	 * The parent may have been anywhere in open_windows(). The child opens its own windows again: opening is
	 * idempotent.
	 */
	open_windows();
	write_items(1);
	journal.commit(journal.arg, journal.item, journal.n);
	close_windows();
	uft_store_release(&journal.is_active, 0);
}
