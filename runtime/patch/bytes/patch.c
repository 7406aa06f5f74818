/* SPDX-License-Identifier: MIT */
/*
 * patch.c - sites of a running program, from state to state
 *
 * It is the contract of runtime.h: the session sends lists of addresses with the state wanted of each, and this file
 * makes code of them. Finding sites, choosing functions and naming them is the session's task.
 *
 * Objects and owners. A struct patch_object per loaded ELF file (trampolines.c): its region of thunks and stubs, and a
 * table of struct patch_site by stub index, zero until a site is first learned. A struct patch_item per change of a
 * batch (batch.c). The agent owns all of it (or init, before there is an agent). No other thread reads it; a fork child
 * gets a copy. Other threads share the code itself, and one data word per object: the cell of the graph thunk.
 *
 * Life of a site:
 *
 *	(zero) --site_learn()--> ORIGINAL <--> NOP <--> FUNCTION, GRAPH          (site.c has the ways)
 *	                             '---- patch_disarm(), or UFT_ORIGINAL ----'
 *
 * Invariants, and who holds them:
 *   1. A byte is written only if it was what the site's form says: every step reads and compares first. A site with
 *      other bytes is left alone and counted (tests/unit/patch: unexpected bytes).
 *   2. Whatever a site leads to is complete and synced before it leads there (batch.c, step 3).
 *   3. At any instant every site is sound code, wherever threads rest (site.c; tests/stress/patch).
 *   4. A page without a wanted site is not written, nor are stubs of sites that were never graph-traced.
 *   5. A fork child finds 1 to 4 true for its own copy (batch.c, "Forks").
 *
 * Failure: each site has a status; a batch never stops for one. Refused sites are counted in UFT_CNT_SITE_REFUSED,
 * sites that only have to wait until no thread runs are counted in UFT_CNT_SITE_LIVE.
 *
 * The first arming of many sites while no thread runs takes a shorter way to the same end (early.c), and so does
 * every later change of many sites (bulk.c). Orders with one state and a bit per site need no list
 * (bulk_bitmap.c).
 *
 * Names. A function's prefix tells its part, and its file:
 *
 *	site_, code_	the bytes of prepared sites, of unprepared functions (site.c, unprepared.c)
 *	tramp_, thunk_	code out of line that sites lead to, as ftrace's trampolines: thunks, stubs, aux code, islands
 *			(trampolines.c)
 *	batch_		a journal of changes that are written together, as text_poke_bp_batch() does (batch.c)
 *	bulk_		later changes of many sites, with the table of sites as the journal (bulk.c, bulk_bitmap.c)
 *	early_		the first arming, before threads can run in the sites, as text_poke_early() (early.c,
 *			early_bitmap.c); both take a list, or an order with a bit per site: early_bits(), bulk_bits()
 *
 * Different from the kernel: no int3 and no stop_machine. A trap handler of a user process belongs to the program
 * (SIGTRAP may be blocked, ignored or handled by it), so changes use words, stand-ins and islands only.
 */
#include "runtime/base/mem.h"
#include "runtime/patch/calls.h"
#include "runtime/patch/bytes/bytes.h"

#define CHUNK		(1u << 15)	/* sites per batch: 1 MiB of items, and few enough syncs */
#define MAX_ROUNDS	8		/* the longest way of a site has 5 steps */
#define FORM_MISSING	0x80		/* in an item's form during planning: it needs code out of line */

struct plan {
	struct patch_object *o;
	struct uft_patch *p;
	uint32_t n;
	struct patch_item *item;
	uint32_t nitems;
	uint32_t nmissing;	/* items that need code out of line */
	uint32_t nlost;		/* items dropped because that code could not be made */
	uint32_t nflags;	/* sites whose stub has other flags */
	uint32_t npending;	/* sites that will not have their state after this round */
	uint32_t nswitched;	/* sites that changed without a write to text */
	unsigned flags;		/* enum uft_cmd_flags */
	struct quiet quiet;
};

int patch_init(void)
{
	return plat_sync_init();
}

static void refuse(struct uft_patch *p, int status)
{
	p->status = (uint8_t)status;
	trace_count(status == UFT_ST_LIVE ? UFT_CNT_SITE_LIVE : status == UFT_ST_REACH ? UFT_CNT_SITE_REACH :
		    UFT_CNT_SITE_REFUSED, 1);
}

/* ---- planning -------------------------------------------------------------------------------------- */

/* Finds the record of a site, and learns the site if it is new; NULL: refused. */
static struct patch_site *plan_find(struct plan *pl, struct uft_patch *p)
{
	unsigned len = p->kind_len >> 4;
	struct patch_site *s;
	int status;

	if (p->stub >= pl->o->nstubs || p->state > UFT_GRAPH) {
		refuse(p, UFT_ST_KIND);
		return NULL;
	}
	s = &pl->o->site[p->stub];
	if (s->addr == p->addr && s->kind_len == p->kind_len) {
		pl->nflags += s->action != p->action;
		return s;
	}
	if (s->addr) {		/* two sites with one stub, or a site that changed its kind */
		refuse(p, UFT_ST_KIND);
		return NULL;
	}
	/* GUARD(plan_in_text) */
	if (p->addr < pl->o->text_start || p->addr > pl->o->text_end || len > pl->o->text_end - p->addr)
		status = UFT_ST_BYTES;
	else if (!batch_is_mapped(p->addr, len))
		status = UFT_ST_WRITE;
	else
		status = site_learn(pl->o, s, p, &pl->quiet);
	if (status) {
		refuse(p, status);
		return NULL;
	}
	return s;
}

/* Where the step from the present form to @next changes bytes, and which. */
static uintptr_t plan_codes(const struct plan *pl, const struct patch_site *s, uint32_t stub, unsigned next,
			    struct code *old, struct code *new, unsigned *len)
{
	if (s->class == CLASS_PREPAD && s->form < FORM_FUNCTION && next < FORM_FUNCTION) {
		site_pre_code(pl->o, s, stub, s->form, old);
		site_pre_code(pl->o, s, stub, next, new);
		*len = SITE_PRE_LEN;
		return s->addr - 5;
	}
	if (s->class == CLASS_SWITCH && s->form != FORM_ORIGINAL && next != FORM_ORIGINAL) {
		*old = (struct code){ tramp_switch_target(pl->o, s, stub, s->form), 0 };
		*new = (struct code){ tramp_switch_target(pl->o, s, stub, next), 0 };
		*len = 8;
		return aux_at(pl->o, stub) + AUX_SWITCH_CELL;
	}
	site_codes(pl->o, s, stub, next, old, new);
	*len = s->kind_len >> 4;
	return s->addr;
}

static unsigned plan_rule(const struct patch_site *s, uintptr_t at)
{
	if (s->class == CLASS_SWITCH)
		return ITEM_ANY_CPU;		/* a word of data */
	/* A displacement before the entry, of a jump whose first byte stays: it has no stand-in. */
	if (UFT_SITE_IS_OWN(s->kind_len & 0xf) || (at < s->addr && is_last_of_line(at)))
		return ITEM_AT_ONCE; /* GUARD(plan_rule_at_once) */
	return s->class == CLASS_ISLE || s->class == CLASS_ISLE_CALL ? ITEM_ANY_CPU : 0;
}

/* May this step happen only while no thread runs, whatever its bytes? */
static int needs_quiet(const struct patch_site *s, unsigned next)
{
	if (s->bits & SITE_QUIET_ENDS)
		return s->form == FORM_ORIGINAL || next == FORM_ORIGINAL;
	/* A jump before the entry was removed and is to come back: a thread may still rest in the nops there. */
	return s->class == CLASS_PREPAD && s->form == FORM_ORIGINAL && s->bits & SITE_PRE_USED;
}

/* Chooses how to write a step. While no thread runs any bytes can be written. */
static int plan_item(struct plan *pl, struct patch_item *it, const struct patch_site *s, unsigned next, uintptr_t at,
		     const struct code *old, const struct code *new, unsigned len)
{
	/* before the entry, and no thread has executed it yet */
	int is_dead = at < s->addr && !(s->bits & SITE_PRE_USED);
	int must_be_quiet = needs_quiet(s, next);

	if (!is_dead && !must_be_quiet &&
	    !batch_item(it, at, old, new, at == s->addr && len >= s->win ? s->win : len, plan_rule(s, at)))
		return 0;
	if (old->lo == new->lo && old->hi == new->hi) {
		it->proto = PROTO_NONE;
		return 0;
	}
	/* Bytes that no later change could restore are not written: the classes of such sites do not need that. */
	if (!is_dead && !must_be_quiet && s->class != CLASS_PREPAD && next != FORM_ORIGINAL)
		return -EBUSY;
	if (!is_dead && !quiet_at(&pl->quiet, at, at + len) /* GUARD(live_quiet) */)
		return -EBUSY;
	item_plain(it, at, new, len);
	return 0;
}

/*
 * Forgets one-byte nops that are restored, or never changed: they are learned again next time, because what was safe
 * now may not be safe then, or the reverse.
 */
static void forget_restored(struct patch_site *s)
{
	if ((s->kind_len & 0xf) == UFT_SITE_NOPS && s->form == FORM_ORIGINAL)	/* GUARD(nops_are_armed) */
		s->addr = 0;
}

/* Forgets a site that is as found: if no thread runs next time, it may get a class that can always be switched. */
static void forget_untouched(struct patch_site *s)
{
	if (s->form == FORM_ORIGINAL && !(s->bits & SITE_PRE_USED))	/* GUARD(prefix_unused) */
		s->addr = 0;
}

/* The same for an unprepared function, whose code is known or not. */
static void plan_code(struct plan *pl, struct uft_patch *p)
{
	struct patch_item *it = &pl->item[pl->nitems];
	struct patch_site *s = p->stub < pl->o->nstubs ? &pl->o->site[p->stub] : NULL;
	int ret;

	if (!s || s->addr != p->addr || s->kind_len != p->kind_len || p->state > UFT_GRAPH) {
		refuse(p, UFT_ST_KIND);
		return;
	}
	if (!batch_is_mapped(s->addr, code_extent(s))) {
		refuse(p, UFT_ST_WRITE);
		return;
	}
	pl->nflags += s->action != p->action;
	ret = code_step(pl->o, s, p->stub, p->state, &pl->quiet, it, &pl->nswitched);
	if (ret < 0)
		refuse(p, -ret);
	if (ret <= 0)
		return;
	pl->npending += !code_is_done(s, it->form, p->state);
	pl->nitems++;
}

/* Plans one step of one site: an item, or nothing to do, or refused. */
static void plan_site(struct plan *pl, uint32_t i)
{
	struct uft_patch *p = &pl->p[i];
	struct patch_site *s = plan_find(pl, p);
	struct patch_item *it = &pl->item[pl->nitems];
	struct code old, new, now;
	unsigned next, len;
	uintptr_t at;

	if (!s)
		return;
	if (!batch_is_mapped(s->addr, s->kind_len >> 4)) {
		refuse(p, UFT_ST_WRITE);
		return;
	}
	next = site_next(s, p->state);
	if (next == s->form) {
		forget_restored(s);
		return;
	}
	at = plan_codes(pl, s, p->stub, next, &old, &new, &len);
	code_load(&now, at, len);
	if (now.lo != old.lo || now.hi != old.hi) {	/* GUARD(window_changed) */
		refuse(p, UFT_ST_BYTES);
		return;
	}
	if (plan_item(pl, it, s, next, at, &old, &new, len)) {
		refuse(p, UFT_ST_LIVE);
		forget_untouched(s);
		return;
	}
	if (it->proto == PROTO_NONE) {		/* the same bytes: the nop as found is the nop wanted */
		s->form = (uint8_t)next;
		pl->npending += site_next(s, p->state) != s->form;
		return;
	}
	it->index = p->stub;
	it->form = (uint8_t)next;
	if (tramp_missing(s, next)) {
		it->form |= FORM_MISSING;
		pl->nmissing++;
	}
	pl->nitems++;
	if (s->class != CLASS_PLAIN) {
		struct patch_site after = *s;

		after.form = (uint8_t)next;
		pl->npending += site_next(&after, p->state) != next;
	}
}

static struct patch_site *item_site(const struct plan *pl, const struct patch_item *it)
{
	return &pl->o->site[it->index];
}

/* ---- code out of line -------------------------------------------------------------------------------- */

/* One window for each part of the object's memory that may be written: stubs, aux, and eight islands. */
#define NPARTS	(2 + NISLES * ISLE_WAYS)
struct parts {
	struct plat_window w[NPARTS];
	int status[NPARTS];
};

static unsigned part_of(const struct patch_site *s, unsigned bit)
{
	switch (bit) {
	case SITE_HAS_STUB:
		return 0;
	case SITE_HAS_AUX:
	case SITE_HAS_OWN_GRAPH:
	case SITE_HAS_SWITCH:
		return 1;
	default:
		return 2 + s->isle * ISLE_WAYS + (bit == SITE_HAS_ISLE_F ? ISLE_F : ISLE_G);
	}
}

/* The request of an item. Items have the order of requests: *from is where to begin, and moves on. */
static struct uft_patch *item_patch(const struct plan *pl, const struct patch_item *it, uint32_t *from)
{
	while (pl->p[*from].stub != it->index)
		++*from;
	return &pl->p[*from];
}

/* Makes each piece of code that items lack; a failure drops the item. */
static void each_missing(struct plan *pl, struct parts *ps,
			 int (*fn)(struct parts *ps, unsigned part, const struct tramp_code *c))
{
	struct tramp_code c;
	uint32_t i, from = 0;

	for (i = 0; i < pl->nitems; i++) {
		struct patch_item *it = &pl->item[i];
		struct patch_site *s;
		unsigned missing, bit;
		int ret = 0;

		if (it->proto == PROTO_NONE || !(it->form & FORM_MISSING))
			continue;
		s = item_site(pl, it);
		missing = tramp_missing(s, it->form & ~FORM_MISSING);
		for (bit = 1; bit <= SITE_HAS_ALL && !ret; bit <<= 1) {
			if (!(missing & bit))
				continue;
			ret = tramp_build(pl->o, s, it->index, bit, s->action, &c);
			if (!ret)
				ret = fn(ps, part_of(s, bit), &c);
		}
		if (ret) {
			it->proto = PROTO_NONE;
			pl->nlost++;
			refuse(item_patch(pl, it, &from), ret == -ERANGE ? UFT_ST_REACH : UFT_ST_MEMORY);
		}
	}
}

static int part_extend(struct parts *ps, unsigned part, const struct tramp_code *c)
{
	struct plat_window *w = &ps->w[part];

	if (!w->hi || c->at < w->lo)
		w->lo = c->at;
	if (c->at + c->n > w->hi)
		w->hi = c->at + c->n;
	return 0;
}

static int part_write(struct parts *ps, unsigned part, const struct tramp_code *c)
{
	return ps->status[part] ? ps->status[part] : batch_write_tramp(c, &ps->w[part]);
}

static void write_tramps(struct plan *pl)
{
	struct parts ps;
	unsigned k;
	uint32_t i;

	memset(&ps, 0, sizeof(ps));
	each_missing(pl, &ps, part_extend);
	for (k = 0; k < NPARTS; k++)
		if (ps.w[k].hi)
			ps.status[k] = plat_text_open(&ps.w[k], ps.w[k].lo, ps.w[k].hi, PLAT_READ | PLAT_EXEC,
						      (int)uft_rt.no_mprotect);
	each_missing(pl, &ps, part_write);
	for (k = 0; k < NPARTS; k++)
		if (ps.w[k].hi && !ps.status[k])
			plat_text_close(&ps.w[k]);
	/* Only now: a fork child that finds a bit noted has the code, too (batch.c). */
	for (i = 0; i < pl->nitems; i++) {
		struct patch_item *it = &pl->item[i];

		if (!(it->form & FORM_MISSING))
			continue;
		it->form &= (uint8_t)~FORM_MISSING;
		if (it->proto != PROTO_NONE)
			item_site(pl, it)->bits |= (uint16_t)tramp_missing(item_site(pl, it), it->form);
	}
}

/* Writes the flags of stubs that exist already. Flags are data; they come before anything else changes. */
static void update_flags(struct plan *pl)
{
	struct plat_window w = { 0, 0, 0, 0 };
	uintptr_t lo = ~0ul, hi = 0;
	int pass, is_open = 0;
	uint32_t i;

	for (pass = 0; pass < 2; pass++) {
		for (i = 0; i < pl->n; i++) {
			struct uft_patch *p = &pl->p[i];
			struct patch_site *s = p->stub < pl->o->nstubs ? &pl->o->site[p->stub] : NULL;
			uint8_t flags = p->action;
			uintptr_t at;

			if (!s || s->action == flags || s->addr != p->addr)
				continue;
			at = stub_at(pl->o, p->stub) + UFT_STUB_BYTES - 1;
			if (!(s->bits & SITE_HAS_STUB)) {
				s->action = flags;
			} else if (!pass) {
				lo = at < lo ? at : lo;
				hi = at + 1 > hi ? at + 1 : hi;
			} else if (is_open) {
				s->action = flags;
				if (w.is_direct)
					arch_text_store1((void *)at, flags);
				else
					plat_text_poke(at, &flags, 1);
			}
		}
		if (!hi)
			return;
		if (!pass)
			is_open = !plat_text_open(&w, lo, hi, PLAT_READ | PLAT_EXEC, (int)uft_rt.no_mprotect);
	}
	if (is_open)
		plat_text_close(&w);
}

/* ---- carrying out ------------------------------------------------------------------------------------ */

/* Uses the runtime's own memory only, because a fork child calls it, too, and has no right to the session's list. */
static void commit_sites(void *arg, const struct patch_item *it, uint32_t n)
{
	struct patch_object *o = arg;
	uint32_t i;

	for (i = 0; i < n; i++) {
		struct patch_site *s = &o->site[it[i].index];

		if (it[i].proto == PROTO_NONE)
			continue;
		s->form = it[i].form;
		if (s->class == CLASS_PREPAD && s->form >= FORM_FUNCTION)
			s->bits |= SITE_PRE_USED;
		forget_restored(s);
	}
}

/* Sets the statuses of requests that were planned but could not be written. */
static void note_dropped(struct plan *pl, int is_news)
{
	uint32_t i, from = 0;

	for (i = 0; i < pl->nitems; i++) {
		struct patch_site *s = item_site(pl, &pl->item[i]);
		struct uft_patch *p;

		if (pl->item[i].proto != PROTO_NONE)
			continue;
		p = item_patch(pl, &pl->item[i], &from);
		if (p->status != UFT_ST_OK)
			continue;
		if (is_news && s->class == CLASS_CODE) {
			pl->npending++;		/* is planned again, now that it is known how it must be written */
		} else if (is_news && s->form == FORM_ORIGINAL) {
			s->addr = 0;		/* is learned again, for the same reason */
			pl->npending++;
		} else {
			refuse(p, UFT_ST_WRITE);
		}
	}
}

/* Returns the number of sites changed. */
static uint32_t run_round(struct plan *pl)
{
	uint32_t dropped, forbidden = uft_rt.no_mprotect;

	if (pl->nmissing)
		write_tramps(pl);
	dropped = batch_write(pl->item, pl->nitems, pl->nmissing != 0, commit_sites, pl->o);
	if (dropped)
		note_dropped(pl, !forbidden && uft_rt.no_mprotect);
	return pl->nitems - dropped - pl->nlost;
}

uint32_t patch_chunk(struct patch_object *o, struct uft_patch *p, uint32_t n, unsigned flags)
{
	struct plan pl = { .o = o, .p = p, .n = n, .flags = flags, .quiet.asked = (flags & UFT_PATCH_FRESH) != 0 };
	uint32_t i, changed = 0;
	int round;

	pl.item = batch_room(n);
	if (!pl.item) {
		for (i = 0; i < n; i++)
			refuse(&p[i], UFT_ST_MEMORY);
		return 0;
	}
	for (round = 0; round < MAX_ROUNDS; round++) {
		uint32_t written;

		pl.nitems = pl.nmissing = pl.nlost = pl.npending = pl.nflags = 0;
		for (i = 0; i < n; i++) {
			if (!round)
				p[i].status = UFT_ST_OK;
			if (p[i].status != UFT_ST_OK)
				continue;
			if ((p[i].kind_len & 0xf) == UFT_SITE_CODE)
				plan_code(&pl, &p[i]);
			else
				plan_site(&pl, i);
		}
		if (pl.nflags)
			update_flags(&pl);
		written = (pl.nitems ? run_round(&pl) : 0) + pl.nswitched;
		pl.nswitched = 0;
		changed = round ? changed : written;
		if (!pl.npending)
			break;
	}
	return changed;
}

uint32_t left_flush(struct patch_object *o, struct patch_left *l, unsigned flags)
{
	uint32_t i, changed = l->n ? patch_chunk(o, l->p, l->n, flags) : 0;

	for (i = 0; i < l->n; i++)
		l->from[i]->status = l->p[i].status; /* GUARD(left_flush_from) */
	l->n = 0;
	return changed;
}

long patch_change(uint32_t object, struct uft_patch *p, uint32_t n, unsigned flags, uint64_t *done)
{
	struct patch_object *o = object_find(object);
	long changed = 0;
	uint32_t at, part, some;

	if (!o)
		return -ENOENT;
	bulk_yield(o, p, n); /* GUARD(patch_change_bulk_yield) */
	if (!(flags & UFT_PATCH_STILL))
		batch_begin();
	for (at = 0; at < n; at += part) {
		part = n - at;
		if (bulk_sites(o, p + at, part, flags, &some)) {
			part = part < CHUNK ? part : CHUNK;
			some = early_sites(o, p + at, part, flags);
		}
		changed += some;
		if (flags & UFT_PATCH_TRY)
			early_copy(p + at, part);
		if (done)
			*done = at + part;
	}
	trace_count(UFT_CNT_PATCHED, (uint64_t)changed);
	return changed;
}

long patch_bits(uint32_t object, const struct uft_site_order *order, uint64_t *word, uint32_t n, unsigned flags)
{
	struct patch_object *o = object_find(object);

	if (!o)
		return -ENOENT;
	return order->form == UFT_SITES_FIRST ? early_bits(o, order, word, n, flags) : bulk_bits(o, order, word, n);
}

/* ---- restoring ------------------------------------------------------------------------------------- */

static uint32_t disarm_object(struct patch_object *o)
{
	uint32_t i, n = 0, left = 0;
	struct uft_patch *p;

	bulk_yield_all(o); /* GUARD(bulk_yields) */
	o->nstuck = 0;
	for (i = 0; i < o->nstubs; i++)
		n += o->site[i].addr && o->site[i].form != FORM_ORIGINAL;
	if (!n)
		return 0;
	p = plat_map(n * sizeof(*p));
	if (!p) {
		trace_count(UFT_CNT_SITE_REFUSED, n);
		return n;
	}
	n = 0;
	for (i = 0; i < o->nstubs; i++) {
		const struct patch_site *s = &o->site[i];

		if (s->addr && s->form != FORM_ORIGINAL)
			p[n++] = (struct uft_patch){ .addr = s->addr, .stub = i, .kind_len = s->kind_len,
						     .state = UFT_ORIGINAL, .action = s->action };
	}
	patch_change(o->object, p, n, PATCH_ALL_BACK, NULL);
	for (i = 0; i < n; i++)
		left += p[i].status == UFT_ST_LIVE;
	if (left)		/* the caller gets this number and asks again; it is no refusal of arming */
		trace_count(UFT_CNT_SITE_LIVE, -(uint64_t)left);
	stuck_note(o, p, n);
	plat_unmap(p, n * sizeof(*p));
	return left;
}

uint32_t patch_disarm_sites(void)
{
	struct patch_object *o;
	uint32_t left = 0;

	for (o = object_first(); o; o = o->next)
		if (!o->is_gone)
			left += disarm_object(o);
	return left + tracepoints_disarm();
}

uint32_t patch_disarm(void)
{
	uint32_t left = patch_disarm_sites();

	return left + patch_disarm_hooks();
}

void patch_object_gone(uint32_t object)
{
	struct patch_object *o = object_find(object);

	if (o)
		hook_forget(o->text_start, o->text_end);
	patch_object_anew(object);
}

void patch_object_anew(uint32_t object)
{
	struct patch_object *o = object_find(object);

	if (!o)
		return;
	o->is_gone = 1; /* GUARD(patch_object_anew_is_gone) */
	bulk_forget(o);
	pun_forget(o);
	plat_unmap(o->site, (size_t)o->capacity * sizeof(*o->site));
	o->site = NULL;
}

void patch_after_fork(void)
{
	/*
	 * First, because a block older than the open batch or run would afterwards give its members their form of
	 * before.
	 */
	if (batch_is_open() || bulk_is_open())	/* GUARD(fork_in_batch) */
		for (const struct patch_object *o = object_first(); o; o = o->next)
			if (!o->is_gone)
				bulk_yield_all(o); /* GUARD(bulk_yields) */
	batch_after_fork();
	bulk_after_fork();
}
