/* SPDX-License-Identifier: MIT */
/*
 * early.c - the first arming of many sites, while no thread can run in them
 *
 * patch.c makes an item for every change, so that a fork child can finish it, and writes items in an order that running
 * threads survive. Before a program's first instruction there is no fork and no other thread, but there are many sites:
 * this file looks at each site, writes it and notes it at once. It decides nothing itself: it calls the same functions
 * (site_learn(), site_next(), tramp_missing(), tramp_build()). What is not a first step of CLASS_PLAIN or of CLASS_ISLE
 * is left to the general way, which also refuses where it must. A site that was looked at and left is as the general
 * way expects it.
 *
 * Unprepared functions take this way as well when the session has stopped all tasks, because the time of a stop is
 * dear. Work that can be done beside running tasks is done before (early_copy()), and the rest is done in a loop of its
 * own (code_link()).
 *
 * Facts about one site hold for all sites like it: of the same kind, with the same bytes, and at no end of a line or
 * page. A mould (struct mould) keeps these facts, and a loop that does little more than read and write applies them.
 * Measured for 100,000 sites: 5 ms less.
 *
 * Memory is the rest of the cost: pages of the site table and of stubs are made by one call per block, not by one fault
 * each.
 */
#include "runtime/base/mem.h"
#include "runtime/patch/bytes/short.h"

#define EARLY_MIN	256u
#define EARLY_BLOCK	16384u	/* sites; 512 KiB of table, which the cache still holds when the text is written */
#define EARLY_GAP	(8 * PLAT_PAGE)	/* as RUN_GAP in batch.c */
#define EARLY_AHEAD	8u	/* sites whose text is prefetched */
#define EARLY_STEPS	8	/* as MAX_ROUNDS in patch.c */

/* A SITE_SHORT site that was just armed: the pattern for sites like it. */
struct mould {
	uint32_t request;		/* kind_len, state, action; status 0 */
	uint8_t len;			/* 0: there is no mould */
	uint8_t is_stub;		/* the site has a stub, at the entry */
	uint64_t bytes, mask;		/* bytes as found, and which of them tell the kind */
	uint64_t record;		/* the eight bytes from kind_len on */
	struct shape code;
};

struct early {
	struct patch_object *o;
	struct mould mould;
	unsigned flags;
	struct quiet *quiet;
	struct plat_window text, stubs, isle;	/* stubs, isle: .hi 0: not open */
	uintptr_t hi;				/* end of the run */
	uint32_t changed;
	uint8_t is_order;			/* an order by bits: requests that are left keep PATCH_LEFT */
	struct patch_left left;
};

static int is_code(const struct uft_patch *p)
{
	return (p->kind_len & 0xf) == UFT_SITE_CODE;
}

/* Counts the first requests of @p whose pages make one run in one mapping; *hi is the end of the run. */
static uint32_t early_run_length(const struct uft_patch *p, uint32_t n, uintptr_t *hi)
{
	uintptr_t end = p->addr;
	uint32_t i;

	for (i = 0; i < n && i < EARLY_BLOCK; i++) {
		unsigned len = p[i].kind_len >> 4;

		if (p[i].addr < p->addr || p[i].addr > end + EARLY_GAP || p[i].addr + len > batch_segment.hi)
			break;
		if (p[i].addr + len > end)
			end = p[i].addr + len;
	}
	*hi = end;
	return i;
}

/* Populates the records and, for graph stubs, the stubs that a run needs. Stub indices rise with addresses. */
static void early_prepare(struct early *e, const struct uft_patch *p, uint32_t n)
{
	uint32_t lo = p[0].stub, hi = p[n - 1].stub;

	e->stubs.hi = 0;
	if (hi >= e->o->nstubs || lo > hi || hi - lo > 2 * n)
		return;
	if (hi >= e->o->nwarm)
		plat_populate((uintptr_t)&e->o->site[lo], (uintptr_t)&e->o->site[hi + 1]);
	if (p->state != UFT_GRAPH)
		return;
	if (plat_text_open(&e->stubs, stub_at(e->o, lo), stub_at(e->o, hi + 1), PLAT_READ | PLAT_EXEC, 0)) {
		e->stubs.hi = 0;
		return;
	}
	if (e->stubs.is_direct && hi - lo == n - 1 && hi >= e->o->nwarm_stubs)
		plat_populate(stub_at(e->o, lo), stub_at(e->o, hi + 1));
}

/* Copies the text pages that have sites, each row of neighbouring pages by one call. Other pages stay shared. */
static void early_copy_text(const struct uft_patch *p, uint32_t n)
{
	uintptr_t lo = PLAT_PAGE_DOWN(p->addr), hi = lo;
	uint32_t i;

	for (i = 0; i < n; i++) {
		if (p[i].addr >= hi + PLAT_PAGE) {
			plat_populate(lo, hi);
			lo = hi = PLAT_PAGE_DOWN(p[i].addr);
		}
		if (p[i].addr + (p[i].kind_len >> 4) > hi)
			hi = PLAT_PAGE_UP(p[i].addr + (p[i].kind_len >> 4));
	}
	plat_populate(lo, hi);
}

/*
 * The window over a run's islands, opened for the first site that needs one. Islands lie as far from each other as
 * their sites, so one window is enough if all islands are of one kind.
 */
static struct plat_window *early_isle(struct early *e, const struct patch_site *s, uintptr_t at)
{
	if (!e->isle.hi && plat_text_open(&e->isle, at, at + (e->hi - s->addr) + UFT_LEN_JMP, PLAT_READ | PLAT_EXEC, 0))
		e->isle.hi = 0;
	return &e->isle;
}

static int early_tramp(struct early *e, const struct patch_site *s, uint32_t index, unsigned bit)
{
	struct plat_window *w = &e->stubs;
	struct tramp_code code;

	if (tramp_build(e->o, s, index, bit, s->action, &code))
		return -EAGAIN;
	if (bit != SITE_HAS_STUB)
		w = early_isle(e, s, code.at);
	if (!w->hi || w->is_direct <= 0 || code.at < w->lo || code.at + code.n > w->hi)
		return -EAGAIN;
	return batch_write_tramp(&code, w);
}

/* Makes the out-of-line code that @form needs: none, a stub, an island. 0: it is there. */
static int early_missing(struct early *e, struct patch_site *s, uint32_t index, unsigned form)
{
	unsigned missing = tramp_missing(s, form), bit;

	if (missing & ~(SITE_HAS_STUB | SITE_HAS_ISLE_F | SITE_HAS_ISLE_G))
		return -EAGAIN;
	for (bit = SITE_HAS_STUB; missing; missing &= ~bit, bit <<= 1)
		if (missing & bit && early_tramp(e, s, index, bit))
			return -EAGAIN;
	s->bits |= (uint16_t)tramp_missing(s, form);
	return 0;
}

/* The last form on the way to @state. No thread runs, so the forms between are not needed. */
static unsigned early_form(const struct patch_site *s, unsigned state)
{
	struct patch_site end = *s;
	unsigned next;

	for (int step = 0; step < EARLY_STEPS && (next = site_next(&end, state)) != end.form; step++)
		end.form = (uint8_t)next;
	return end.form;
}

static inline void early_write(uintptr_t at, const struct code *c, unsigned len)
{
	uint64_t word;

	if (len > 8 || (at & (PLAT_PAGE - 1)) > PLAT_PAGE - 8) {
		memcpy((void *)at, c, len);
		return;
	}
	__builtin_memcpy(&word, (const void *)at, 8);
	word = (word & ~code_mask(len)) | c->lo;
	__builtin_memcpy((void *)at, &word, 8);
}

/*
 * Makes a mould of a site. A call is recognised by its opcode, wherever it leads; nops are recognised by all of their
 * bytes.
 */
static void early_cast(struct early *e, const struct patch_site *s, const struct uft_patch *p)
{
	unsigned kind = s->kind_len & 0xf, len = s->kind_len >> 4;
	int is_call = kind == UFT_SITE_FENTRY_CALL || kind == UFT_SITE_MCOUNT_CALL;
	struct mould *m = &e->mould;

	m->len = 0;
	/*
	 * No mould for mcount's sites, because site_learn() looks at the bytes before each. A stub must be one of an
	 * entry.
	 */
	if (!(s->bits & SITE_SHORT) || s->bits & SITE_FRAME || (s->form == FORM_GRAPH && !(s->bits & SITE_HAS_STUB)))
		return;
	m->is_stub = s->form == FORM_GRAPH;
	m->request = request_of(p) & 0xffffff;
	m->mask = code_mask(is_call ? len - 4 : len);
	__builtin_memcpy(&m->bytes, s->orig, 8);
	m->bytes &= m->mask;
	__builtin_memcpy(&m->record, &s->kind_len, 8);
	m->code = shape_of(e->o, s, s->form);
	m->len = (uint8_t)len;
}

/* Arms the requests of @p that are like the mould, as long as they come in a row; returns their number. */
static uint32_t early_alike(struct early *e, struct uft_patch *p, uint32_t n)
{
	const struct patch_object *o = e->o;
	const struct mould m = e->mould;
	const uint64_t lo = e->text.lo > o->text_start ? e->text.lo : o->text_start;
	const uint64_t hi = e->text.hi < o->text_end ? e->text.hi : o->text_end, change = code_mask(m.len);
	uint32_t i;

	if (!m.len || hi - lo < 8)
		return 0;
	for (i = 0; i < n; i++, p++) {
		struct patch_site *s = &o->site[p->stub];
		uint64_t at = p->addr, now;

		if ((request_of(p) & 0xffffff) != m.request || p->stub >= o->nstubs || at < lo || at > hi - 8 ||
		    (at & (PLAT_PAGE - 1)) > PLAT_PAGE - 8 || s->addr || !quiet_at(e->quiet, at, at + m.len))
			break;
		if (is_last_of_line(at))	/* GUARD(early_last_of_line) */
			break;
		__builtin_memcpy(&now, (const void *)at, 8);
		if ((now ^ m.bytes) & m.mask)	/* GUARD(early_bytes) */
			break;
		if (m.is_stub) {
			if (!e->stubs.hi || e->stubs.is_direct <= 0 || stub_at(o, p->stub) < e->stubs.lo ||
			    stub_at(o, p->stub + 1) > e->stubs.hi)
				break;
			tramp_entry_stub(o, p->stub, at + m.len, p->action);
		}
		s->addr = at;
		__builtin_memcpy(&s->kind_len, &m.record, 8);
		__builtin_memcpy(s->orig, (uint64_t [2]){ now & change, 0 }, 16);
		now = (now & ~change) | shape_code(&m.code, s, p->stub);
		__builtin_memcpy((void *)at, &now, 8);
		p->status = UFT_ST_OK;
	}
	e->changed += i;
	return i;
}

/* Arms one site. 1: it is in the wanted state. 0: the general way has to do it. */
static int early_site(struct early *e, const struct uft_patch *p)
{
	unsigned len = p->kind_len >> 4, next;
	struct patch_object *o = e->o;
	struct patch_site *s;
	struct code new;

	if (p->stub >= o->nstubs || p->addr < o->text_start || p->addr > o->text_end || len > o->text_end - p->addr)
		return 0;
	s = &o->site[p->stub];
	if (s->addr || (p->state != UFT_FUNCTION && p->state != UFT_GRAPH) ||
	    !quiet_at(e->quiet, p->addr, p->addr + len) || site_learn(o, s, p, e->quiet))
		return 0;
	if (s->class != CLASS_PLAIN && s->class != CLASS_ISLE)	/* GUARD(early_class) */
		return 0;
	next = early_form(s, p->state);
	if (UFT_SITE_IS_OWN(p->kind_len & 0xf) || next == s->form || early_missing(e, s, p->stub, next))
		return 0;
	/* These bytes are right: site_learn() has just compared them with the site's kind. */
	site_code(o, s, p->stub, next, &new);
	early_write(p->addr, &new, len);
	s->form = (uint8_t)next;
	if (s->class == CLASS_PLAIN)
		early_cast(e, s, p);
	return 1;
}

/* The same for an unprepared function that is known. It takes two steps where there is a pad. */
static int early_code(struct early *e, const struct uft_patch *p)
{
	struct patch_site *s = p->stub < e->o->nstubs ? &e->o->site[p->stub] : NULL;
	const struct plat_window *w = &e->text;
	struct patch_item it;
	uint32_t switched = 0;

	if (!s || s->addr != p->addr || s->kind_len != p->kind_len ||
	    (p->state != UFT_FUNCTION && p->state != UFT_GRAPH) || s->action != p->action)
		return 0;
	for (int step = 0; step < 2; step++) {
		int ret = code_step(e->o, s, p->stub, p->state, e->quiet, &it, &switched);

		if (!ret && switched)
			return 1;
		if (ret != 1 || it.proto != PROTO_PLAIN || it.at < w->lo || it.at + it.len > w->hi)
			return 0;
		early_write(it.at, &it.code, it.len);
		s->form = it.form;
		if (code_is_done(s, it.form, p->state))
			return 1;
	}
	return 0;
}

/* Arms sites in a row that need no look of their own; returns their number. */
static uint32_t early_row(struct early *e, struct uft_patch *p, uint32_t n)
{
	uint32_t done;

	if (!is_code(p))
		return early_alike(e, p, n);
	if (!quiet_at(e->quiet, 0, ~0ul))
		return 0;
	done = code_link(e->o, p, n, &e->text);
	e->changed += done;
	return done;
}

/*
 * Arms a run; stops when PATCH_NLEFT requests are left to the general way. Returns how many requests it has looked at.
 */
static uint32_t early_run(struct early *e, struct uft_patch *p, uint32_t n, uintptr_t hi)
{
	uint32_t i;

	e->hi = hi;
	if (plat_text_open(&e->text, p->addr, hi, batch_segment.prot, (int)uft_rt.no_mprotect))
		e->text.is_direct = -1;
	if (e->text.is_direct > 0) {
		if (!(e->flags & UFT_CMD_HELD))		/* else early_copy() has copied it */
			early_copy_text(p, n);
		if (!is_code(p))
			early_prepare(e, p, n);
	}
	for (i = 0; i < n && e->left.n < PATCH_NLEFT; i++) {
		if (e->text.is_direct > 0 && (i += early_row(e, p + i, n - i)) == n)
			break;
		if (i + EARLY_AHEAD < n)
			__builtin_prefetch((const void *)p[i + EARLY_AHEAD].addr, 1);
		if (e->text.is_direct > 0 && (is_code(p) ? early_code(e, &p[i]) : early_site(e, &p[i]))) {
			p[i].status = UFT_ST_OK;
			e->changed++;
		} else if (e->is_order) {
			p[i].status = PATCH_LEFT;
		} else {
			left_add(&e->left, &p[i]);
		}
	}
	if (e->stubs.hi)
		plat_text_close(&e->stubs);
	if (e->isle.hi)
		plat_text_close(&e->isle);
	if (e->text.is_direct >= 0)
		plat_text_close(&e->text);
	e->stubs.hi = e->isle.hi = 0;
	if (e->left.n == PATCH_NLEFT)
		e->changed += left_flush(e->o, &e->left, e->flags);
	return i;
}

static void early_begin(struct early *e, struct patch_object *o, struct quiet *q, unsigned flags)
{
	e->o = o;
	e->flags = flags;
	e->quiet = q;
	e->stubs.hi = e->isle.hi = e->changed = e->left.n = e->mould.len = e->is_order = 0;
}

/*
 * Are there enough new sites to pay for asking whether threads run? UFT_PATCH_FRESH alone is too little, because it
 * does not exclude a fork.
 */
static int early_is_it(const struct patch_object *o, const struct uft_patch *p, uint32_t n, struct quiet *q)
{
	return n >= EARLY_MIN && p->stub < o->nstubs && (is_code(p) || !o->site[p->stub].addr) && quiet_at(q, 0, 0);
}

static void early_runs(struct early *e, struct uft_patch *p, uint32_t n)
{
	uint32_t run;
	uintptr_t hi;

	for (; n; n -= run, p += run) {
		run = batch_is_mapped(p->addr, 1) ? early_run_length(p, n, &hi) : 0;
		if (run)
			run = early_run(e, p, run, hi);
		else if (e->is_order)
			p[run++].status = PATCH_LEFT;
		else
			patch_chunk(e->o, p, run = 1, e->flags);	/* not mapped: patch_chunk() refuses it */
	}
}

uint32_t early_sites(struct patch_object *o, struct uft_patch *p, uint32_t n, unsigned flags)
{
	struct quiet quiet = { .asked = (flags & UFT_PATCH_STILL) != 0 };
	struct early e;

	early_begin(&e, o, &quiet, flags);
	if (!early_is_it(o, p, n, &quiet))
		return patch_chunk(o, p, n, flags);
	early_runs(&e, p, n);
	plat_sync_cores();
	return e.changed + left_flush(o, &e.left, flags);
}

uint32_t early_new(struct patch_object *o, struct uft_patch *p, uint32_t n, struct quiet *q)
{
	struct early e;

	early_begin(&e, o, q, 0);
	e.is_order = 1;
	early_runs(&e, p, n);
	return e.changed;
}

void early_copy(const struct uft_patch *p, uint32_t n)
{
	struct plat_window w;
	struct patch_item *room;
	uint32_t run;
	uintptr_t hi;

	for (; n && p->status != UFT_ST_LIVE; n--)
		p++;
	room = n ? batch_room(n) : NULL;
	if (room)
		plat_populate((uintptr_t)room, (uintptr_t)(room + n));
	for (; n; n -= run, p += run) {
		run = batch_is_mapped(p->addr, 1) ? early_run_length(p, n, &hi) : 0;
		if (run && !plat_text_open(&w, p->addr, hi, batch_segment.prot, (int)uft_rt.no_mprotect)) {
			if (w.is_direct)
				early_copy_text(p, run);
			plat_text_close(&w);
		}
		run += !run;
	}
}
