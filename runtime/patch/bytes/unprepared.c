/* SPDX-License-Identifier: MIT */
/*
 * unprepared.c - entries of unprepared functions: CLASS_CODE
 *
 * The session decodes and plans (control/relocate/); this file checks the session's bytes, copies them and links them.
 * Per site, in the aux slot of its stub index (trampolines.c) and in a table of cells, which is data:
 *
 *	+0 code the moved instructions, then a jump behind them: final bytes, which this file does not decode
 *	+CODE_ADDR	addr	of the site: data, for unwinders (frames.c)
 *	+CODE_SLOT	slot	jmp *cell(%rip)
 *	+CODE_FUNC	func	call 1f
 *			X:	jmp code
 *			1:	push %rax; mov $(X >> 2) - id,%eax; jmp *func(%rip)	id: the stub id
 *	+CODE_MAP	map	which byte of code is which of the site, for unwinders
 *	stub		call enter; call code; jmp exit
 *	cell		code (idle), func or stub
 *
 * The site itself becomes `jmp slot`, or a two-byte jump to a pad that becomes `jmp slot`. From then on only the cell
 * changes. Forms, in terms of enum form:
 *
 *	ORIGINAL --> NOP_F (the pad is written, no code leads there) --> NOP (linked)
 *
 * Sites of five bytes skip NOP_F. Being armed is no form: only the cell says it.
 *
 * A site of one byte is linked by an int3. The session, which holds every task of the program by ptrace, sends a task
 * that takes the trap to the slot. One byte changes by one store, at any time: a thread executes the old instruction or
 * the trap (and no thread rests inside of the byte that changes). It is unlinked when it is not armed, because a trap
 * costs time even if it leads nowhere. If the byte is restored already, that is no error: the session removes the traps
 * before it lets go of a process.
 *
 * A site of one to four bytes whose jump ends in the program's own bytes is punned (punned_jump.c): its place leads to
 * the slot. Only its first instruction moves, so one store links it at any time, too.
 *
 * When text may change (doc/design/unprepared.md). A thread may rest between moved instructions, so linking needs no
 * thread there: UFT_PATCH_FRESH, no thread runs, or the session has stopped the tasks (UFT_CMD_HELD). Else UFT_ST_LIVE.
 * Unlinking needs none of that where one store is enough, because no thread rests inside a jump. Two cases wait until
 * all tasks are stopped: a jump over two blocks of 16 bytes, which has no stand-in (a fork child born meanwhile would
 * execute the stand-in until its first event), and a pad, in which a thread may rest on its way. Until then these sites
 * stay linked, and their cells lead to the moved code.
 *
 * Code written for a site stays and does not change: the session may send it again. Context: control; everything is in
 * the site's record or in memory of the runtime, so that a fork child has it.
 */
#include "runtime/base/mem.h"
#include "runtime/patch/bytes/bytes.h"

#define PAD_LEN		UFT_LEN_JMP
#define TRAP_LEN	1u
#define LINK_AHEAD	8u	/* sites whose text is prefetched */
/* offsets in struct patch_site.orig: the pad's bytes, and the distance from the site's jump to the pad */
#define ORIG_PAD	8
#define ORIG_REL	13
#define ORIG_PUN	8	/* SITE_PUN: the jump's first bytes, and the whole jump's length */
#define ORIG_PUN_LEN	12

_Static_assert(AUX_BYTES == UFT_CODE_STRIDE && CODE_ADDR == UFT_CODE_ADDR && CODE_SLOT == UFT_CODE_SLOT &&
	       CODE_X == UFT_CODE_CALLED && CODE_MAP >= CODE_THUNK + 12 &&
	       CODE_MAP + sizeof(struct code_map) <= AUX_BYTES, "the session computes addresses of code");

static uint64_t *code_cell(const struct patch_object *o, uint32_t stub)
{
	return (uint64_t *)o->cell_base + stub;
}

static unsigned site_len(const struct patch_site *s)
{
	return s->kind_len >> 4;
}

static int is_pun(const struct patch_site *s)
{
	return (s->bits & SITE_PUN) != 0;
}

static int is_trap(const struct patch_site *s)
{
	return site_len(s) == TRAP_LEN && !is_pun(s);
}

unsigned code_extent(const struct patch_site *s)
{
	return is_pun(s) && s->orig[ORIG_PUN_LEN] > s->win ? s->orig[ORIG_PUN_LEN] : s->win;
}

static uintptr_t site_pad(const struct patch_site *s)
{
	return site_len(s) == UFT_LEN_JMP_SHORT && !is_pun(s) ? s->addr + UFT_LEN_JMP_SHORT +
		(uintptr_t)(intptr_t)(int8_t)s->orig[ORIG_REL]
						: 0;
}

/* ---- code from the session ---------------------------------------------------------------------- */

/* Do [a, a + n) and [b, b + m) share a byte? */
static int overlap(uintptr_t a, unsigned n, uintptr_t b, unsigned m)
{
	return a < b + m && b < a + n;
}

static int in_text(const struct patch_object *o, uintptr_t at, unsigned n)
{
	return at >= o->text_start && at <= o->text_end && n <= o->text_end - at;
}

/* Bytes at the site that change. */
static unsigned code_len(const struct uft_code *c)
{
	return c->pun ? c->pun : c->is_trap ? TRAP_LEN : c->pad ? UFT_LEN_JMP_SHORT : UFT_LEN_JMP;
}

static int is_sound_pun(const struct patch_object *o, const struct uft_code *c)
{
	return c->pun <= UFT_PUN_MAX && c->known >= UFT_LEN_JMP && c->known <= UFT_PUN_KNOWN && !c->pad &&
		!c->is_trap &&
	       in_text(o, c->addr, c->known);
}

/* Bytes at the site that no other site may change. */
static unsigned code_claim(const struct uft_code *c)
{
	return c->pun && c->known > c->nmoved ? c->known : c->nmoved;
}

/* Checks the numbers of @c only. @prev: the element before, or NULL. */
static int is_sound(const struct patch_object *o, const struct uft_code *c, const struct uft_code *prev)
{
	int64_t rel = (int64_t)(c->pad - (c->addr + UFT_LEN_JMP_SHORT));

	if (c->stub >= o->nstubs || c->nmoved > sizeof(c->orig) || !c->ncode || c->ncode > UFT_CODE_MAX ||
	    c->nmoved < code_len(c) || (c->is_trap && c->pad) || !in_text(o, c->addr, c->nmoved) ||
	    (c->pun && !is_sound_pun(o, c)))
		return 0;
	if (c->pad && (rel < INT8_MIN || rel > INT8_MAX || !in_text(o, c->pad, PAD_LEN) ||
		       overlap(c->pad, PAD_LEN, c->addr, c->nmoved)))
		return 0;
	if (!prev)
		return 1;
	return prev->addr + code_claim(prev) <= c->addr /* GUARD(code_claims) */ && prev->stub != c->stub &&
	       !(c->pad && overlap(c->pad, PAD_LEN, prev->addr, prev->nmoved)) &&
	       !(prev->pad && overlap(prev->pad, PAD_LEN, c->addr, c->nmoved)) &&
	       !(prev->pad && c->pad && overlap(prev->pad, PAD_LEN, c->pad, PAD_LEN));
}

static uint8_t check(const struct patch_object *o, const struct uft_code *c, const struct uft_code *prev)
{
	const struct patch_site *s;

	if (!is_sound(o, c, prev))
		return UFT_ST_KIND;
	if (!batch_is_mapped(c->addr, code_claim(c)) || (c->pad && !batch_is_mapped(c->pad, PAD_LEN)))
		return UFT_ST_WRITE;
	s = &o->site[c->stub];
	if (s->addr) {		/* known: the same code again is welcome */
		if (s->addr != c->addr || s->class != CLASS_CODE || site_pad(s) != c->pad ||
		    site_len(s) != code_len(c) || is_pun(s) != !!c->pun || s->win != c->nmoved ||
		    memcmp((const void *)aux_at(o, c->stub), c->code, c->ncode))
			return UFT_ST_KIND;
		return UFT_ST_OK;
	}
	if (memcmp((const void *)c->addr, c->orig, code_claim(c)) ||
	    (c->pad && memcmp((const void *)c->pad, c->pad_orig, PAD_LEN)))
		return UFT_ST_BYTES;
	return UFT_ST_OK;
}

static void build_aux(const struct patch_object *o, const struct uft_code *c, uint8_t *b)
{
	const struct code_map map = { { c->map[0], c->map[1], c->map[2], c->map[3] }, c->back, c->pushed };
	uintptr_t at = aux_at(o, c->stub);
	size_t n = CODE_THUNK;

	memset(b, UFT_OP_INT3, AUX_BYTES);
	memcpy(b, c->code, c->ncode);
	memcpy(b + CODE_ADDR, &c->addr, 8);
	memcpy(b + CODE_MAP, &map, sizeof(map));
	uft_insn_jmp_indirect(b + CODE_SLOT, at + CODE_SLOT, (uint64_t)code_cell(o, c->stub));
	uft_insn_call(b + CODE_FUNC, at + CODE_FUNC, at + CODE_THUNK);
	uft_insn_jmp(b + CODE_X, at + CODE_X, at);
	n += uft_insn_push_rax(b + n);
	n += uft_insn_mov_eax(b + n,
			      UFT_THUNK_K((uint32_t)((at + CODE_X) >> 2) - (o->first_stub_id + c->stub), UFT_REC_FUNC));
	uft_insn_jmp_indirect(b + n, at + n, (uint64_t)thunk_cell(o, THUNK_FUNC));
}

static void build_stub(const struct patch_object *o, const struct uft_code *c, uint8_t *b)
{
	uintptr_t at = stub_at(o, c->stub);
	size_t n = uft_insn_call(b, at, o->thunk[THUNK_ENTER]);

	n += uft_insn_call(b + n, at + n, aux_at(o, c->stub));
	n += uft_insn_jmp(b + n, at + n, o->thunk[THUNK_EXIT]);
	b[n] = 0;
}

static int put(const struct plat_window *w, uintptr_t at, const void *bytes, size_t n)
{
	if (!w->is_direct)
		return plat_text_poke(at, bytes, n);
	memcpy((void *)at, bytes, n);
	return 0;
}

static int is_new(const struct patch_object *o, const struct uft_code *c)
{
	return c->status == UFT_ST_OK && !o->site[c->stub].addr;
}

static void write_out_of_line(struct patch_object *o, struct uft_code *c, uint32_t n, const struct plat_window *aux,
			      const struct plat_window *stubs)
{
	uint8_t b[AUX_BYTES];
	uint32_t i;

	for (i = 0; i < n; i++) {
		if (!is_new(o, &c[i]))
			continue;
		uft_store(code_cell(o, c[i].stub), (uint64_t)aux_at(o, c[i].stub));
		build_aux(o, &c[i], b);
		if (put(aux, aux_at(o, c[i].stub), b, AUX_BYTES))
			c[i].status = UFT_ST_MEMORY;
	}
	for (i = 0; i < n; i++) {
		if (!is_new(o, &c[i]))
			continue;
		build_stub(o, &c[i], b);
		if (put(stubs, stub_at(o, c[i].stub), b, UFT_STUB_BYTES))
			c[i].status = UFT_ST_MEMORY;
	}
}

/* Counts a refused place once: the session sends a list again with each change, with refused places in it. */
static void refuse_pun(const struct patch_object *o, struct uft_code *c, int ret)
{
	struct patch_site *s = &o->site[c->stub];

	c->status = ret == -ERANGE ? UFT_ST_REACH : UFT_ST_MEMORY;
	if (!(s->bits & SITE_NO_PLACE))
		trace_count(ret == -ERANGE ? UFT_CNT_SITE_TAKEN : UFT_CNT_SITE_REFUSED, 1);
	s->bits |= SITE_NO_PLACE;
}

/* Makes the jumps of sites with a punned jump, and stores jump and length in the request. */
static void make_puns(const struct patch_object *o, struct uft_code *c, uint32_t n)
{
	struct pun_search search = { 0 };
	struct pun_jump jump;
	int ret;

	for (uint32_t i = 0; i < n; i++) {
		if (!c[i].pun || !is_new(o, &c[i]))
			continue;
		ret = pun_make(o, &c[i], aux_at(o, c[i].stub) + CODE_SLOT, &search, &jump);
		if (ret) {
			refuse_pun(o, &c[i], ret);
			continue;
		}
		memcpy(c[i].pad_orig, jump.bytes, sizeof(c[i].pad_orig));
		c[i].known = jump.n;
	}
}

/*
 * Fills the site's record. The windows are closed, so a fork child that finds a record has its code. The address comes
 * last.
 */
static void note(struct patch_object *o, const struct uft_code *c)
{
	struct patch_site *s = &o->site[c->stub];
	unsigned len = code_len(c);

	*s = (struct patch_site){ .kind_len = UFT_KIND_LEN(UFT_SITE_CODE, len), .class = CLASS_CODE, .win = c->nmoved,
				  .bits = SITE_HAS_STUB | (c->is_plain ? SITE_FUNCTION_ONLY : 0) |
					  (c->pun ? SITE_PUN : 0) };
	memcpy(s->orig, c->orig, c->pun ? UFT_PUN_KNOWN : len);
	if (c->pun) {
		memcpy(s->orig + ORIG_PUN, c->pad_orig, UFT_PUN_MAX);
		s->orig[ORIG_PUN_LEN] = c->known;
	}
	if (c->pad) {
		memcpy(s->orig + ORIG_PAD, c->pad_orig, PAD_LEN);
		s->orig[ORIG_REL] = (uint8_t)(c->pad - (c->addr + UFT_LEN_JMP_SHORT));
	}
	uft_store_release(&s->addr, c->addr);
	if (c->pad && o->npads < PATCH_PADS) {
		o->pad[o->npads] = c->stub;
		uft_store_release(&o->npads, o->npads + 1);
	}
}

static int open_near(struct plat_window *w, uintptr_t lo, uintptr_t hi)
{
	int ret = plat_text_open(w, lo, hi, PLAT_READ | PLAT_EXEC, (int)uft_rt.no_mprotect);

	if (!ret && !w->is_direct)
		uft_rt.no_mprotect = 1;
	return ret;
}

int patch_code(uint32_t object, struct uft_code *c, uint32_t n, uint64_t *done)
{
	struct patch_object *o = object_find(object);
	uint32_t i, lo = ~0u, hi = 0;
	struct plat_window aux, stubs;
	int ret;

	if (!o)
		return -ENOENT;
	batch_begin();
	for (i = 0; i < n; i++) {
		c[i].status = check(o, &c[i], i ? &c[i - 1] : NULL);
		if (c[i].status)
			trace_count(UFT_CNT_SITE_REFUSED, 1);
		if (!is_new(o, &c[i]))
			continue;
		lo = c[i].stub < lo ? c[i].stub : lo;
		hi = c[i].stub >= hi ? c[i].stub + 1 : hi;
	}
	*done = n;
	if (lo >= hi)
		return 0;
	ret = open_near(&aux, aux_at(o, lo), aux_at(o, hi));
	if (ret)
		return ret;
	ret = open_near(&stubs, stub_at(o, lo), stub_at(o, hi));
	if (!ret) {
		write_out_of_line(o, c, n, &aux, &stubs);
		plat_text_close(&stubs);
	}
	plat_text_close(&aux);
	if (!ret)
		make_puns(o, c, n);
	plat_sync_cores();
	for (i = 0; i < n && !ret; i++)
		if (is_new(o, &c[i]))
			note(o, &c[i]);
	return ret;
}

/* ---- steps ----------------------------------------------------------------------------------------- */

static uint64_t jump_to(uint8_t op, uintptr_t from, uintptr_t to)
{
	return op | (uint64_t)(uint32_t)(to - (from + UFT_LEN_JMP)) << 8;
}

static uint64_t pad_jump(const struct patch_object *o, const struct patch_site *s, uint32_t stub)
{
	return jump_to(UFT_OP_JMP, site_pad(s), aux_at(o, stub) + CODE_SLOT);
}

static uint64_t orig_at(const struct patch_site *s, unsigned at, unsigned n)
{
	uint64_t v;

	__builtin_memcpy(&v, s->orig + at, 8);
	return v & code_mask(n);
}

/* The site's bytes when it is linked. */
static uint64_t site_jump(const struct patch_object *o, const struct patch_site *s, uint32_t stub)
{
	if (is_pun(s))
		return orig_at(s, ORIG_PUN, site_len(s));
	if (is_trap(s))
		return UFT_OP_INT3;
	if (site_pad(s))
		return UFT_OP_JMP_SHORT | (uint64_t)s->orig[ORIG_REL] << 8;
	return jump_to(UFT_OP_JMP, s->addr, aux_at(o, stub) + CODE_SLOT);
}

/* Have the site, and its pad if code leads there or did, the bytes that the form says? */
static int is_as_noted(const struct patch_object *o, const struct patch_site *s, uint32_t stub)
{
	unsigned len = site_len(s);
	uint64_t orig = orig_at(s, 0, len), jump = site_jump(o, s, stub);
	struct code now;

	if (is_pun(s)) {	/* the jump ends in the bytes behind it */
		uint64_t behind = orig_at(s, 0, s->orig[ORIG_PUN_LEN]) & ~code_mask(len);

		len = s->orig[ORIG_PUN_LEN]; /* GUARD(is_as_noted_len) */
		orig |= behind;
		jump |= behind;
	}
	if (site_pad(s) && (s->form == FORM_ORIGINAL || s->form == FORM_NOP_F)) {
		code_load(&now, site_pad(s), PAD_LEN);
		if (now.lo != (s->form == FORM_ORIGINAL ? orig_at(s, ORIG_PAD, PAD_LEN) : pad_jump(o, s, stub)))
			return 0;
	}
	code_load(&now, s->addr, len);
	return now.lo == (s->form == FORM_NOP ? jump : orig);
}

static unsigned next_form(const struct patch_site *s, int want_link)
{
	int has_pad = site_pad(s) != 0;

	switch (s->form) {
	case FORM_ORIGINAL:
		return !want_link ? FORM_ORIGINAL : has_pad ? FORM_NOP_F : FORM_NOP;
	case FORM_NOP_F:
		return want_link ? FORM_NOP : FORM_ORIGINAL;
	default:
		return want_link ? FORM_NOP : has_pad ? FORM_NOP_F : FORM_ORIGINAL;
	}
}

static void item_bytes(struct patch_item *it, unsigned proto, uintptr_t at, uint64_t bytes, unsigned len)
{
	const struct code c = { bytes, 0 };

	item_plain(it, at, &c, len);
	it->proto = (uint8_t)proto;
	it->stand_in = UFT_OP_INT3;
}

/* Changes a site while threads run: it is one instruction, and no thread rests inside of it. */
static int item_at_once(struct patch_item *it, const struct patch_site *s, uint64_t from, uint64_t to)
{
	unsigned len = site_len(s);
	const struct code old = { from, 0 }, new = { to, 0 };

	return batch_item(it, s->addr, &old, &new, len, ITEM_AT_ONCE) ? -UFT_ST_LIVE : 0;
}

static int item_site(struct patch_item *it, const struct patch_object *o, const struct patch_site *s, uint32_t stub,
		     struct quiet *q)
{
	unsigned len = site_len(s);
	uint64_t orig = orig_at(s, 0, len), jump = site_jump(o, s, stub), to = it->form == FORM_NOP ? jump : orig;

	if (is_trap(s)) {
		item_st8(it, s->addr, to, 0, 0);
		return 1;
	}
	if (it->form != FORM_NOP)
		return quiet_at(q, s->addr, s->addr + len) ? (item_bytes(it, PROTO_PLAIN, s->addr, to, len), 1) :
		       item_at_once(it, s, jump, orig) ? -UFT_ST_LIVE : 1;
	if (quiet_at(q, s->addr, s->addr + s->win))
		item_bytes(it, PROTO_PLAIN, s->addr, to, len);
	else	/* one instruction becomes another one, and no thread rests inside of it */
		return is_pun(s) && !item_at_once(it, s, orig, jump) ? 1 : -UFT_ST_LIVE;
	return 1;
}

/* Writes or restores a pad. A thread may rest at a pad's first byte, so a pad is restored only after its site. */
static int item_pad(struct patch_item *it, const struct patch_object *o, const struct patch_site *s, uint32_t stub,
		    struct quiet *q)
{
	uintptr_t pad = site_pad(s);

	if (it->form == FORM_NOP_F) {
		item_bytes(it, PROTO_PLAIN, pad, pad_jump(o, s, stub), PAD_LEN);
		return 1;
	}
	if (!quiet_at(q, pad - 1, pad + PAD_LEN))
		return -UFT_ST_LIVE; /* GUARD(item_pad_st_live) */
	item_bytes(it, PROTO_PLAIN, pad, orig_at(s, ORIG_PAD, PAD_LEN), PAD_LEN);
	return 1;
}

/* Sets the cell to what @state needs; 1: it has changed. */
static int set_cell(const struct patch_object *o, uint32_t stub, unsigned state)
{
	uint64_t to = aux_at(o, stub), *cell = code_cell(o, stub);

	if (state == UFT_FUNCTION)
		to += CODE_FUNC;
	else if (state == UFT_GRAPH)
		to = stub_at(o, stub);
	if (uft_load(cell) == to)
		return 0;
	uft_store_release(cell, to); /* GUARD(set_cell_uft_store_release) */
	return 1;
}

int code_step(const struct patch_object *o, struct patch_site *s, uint32_t stub, unsigned state, struct quiet *q,
	      struct patch_item *it, uint32_t *switched)
{
	int is_plain = state == UFT_GRAPH && s->bits & SITE_FUNCTION_ONLY, ret;
	int want_link = !is_plain && state != UFT_ORIGINAL && (state != UFT_IDLE || s->form != FORM_ORIGINAL);
	int is_linked, news;

	if (is_trap(s) && s->form == FORM_NOP && *(const uint8_t *)s->addr == s->orig[0])
		s->form = FORM_ORIGINAL;	/* the session removed the trap */
	is_linked = s->form == FORM_NOP;

	if (state == UFT_IDLE && (s->form == FORM_NOP_F || is_trap(s)))
		want_link = 0;
	/* linked for the function tracer: it stays linked, and its cell leads to the moved code */
	if (is_plain)
		want_link = is_linked && !is_trap(s);
	news = set_cell(o, stub, is_plain ? UFT_IDLE : state);
	if (is_linked && want_link)
		*switched += (uint32_t)news;
	if (!want_link && s->form == FORM_ORIGINAL)
		return is_plain ? -UFT_ST_PLAIN : 0;
	it->form = (uint8_t)next_form(s, want_link);
	if (it->form == s->form)
		return is_plain ? -UFT_ST_PLAIN : 0;
	if (!is_as_noted(o, s, stub))	/* GUARD(stub_as_noted) */
		return -UFT_ST_BYTES;
	it->index = stub;
	if ((s->form == FORM_ORIGINAL && it->form == FORM_NOP_F) ||
	    (s->form == FORM_NOP_F && it->form == FORM_ORIGINAL))
		ret = item_pad(it, o, s, stub, q);
	else
		ret = item_site(it, o, s, stub, q);
	return ret;
}

/* Do eight bytes at @at lie in the window, and in one page? */
static int is_word_in(const struct plat_window *w, uintptr_t at)
{
	return at >= w->lo && at <= w->hi - 8 && (at & (PLAT_PAGE - 1)) <= PLAT_PAGE - 8;
}

uint32_t code_link(const struct patch_object *o, struct uft_patch *p, uint32_t n, const struct plat_window *w)
{
	uint32_t i;

	for (i = 0; i < n; i++, p++) {
		struct patch_site *s = &o->site[p->stub];
		uint64_t now, slot, jump, mask;
		uintptr_t pad;

		if (i + LINK_AHEAD < n)
			__builtin_prefetch((const void *)p[LINK_AHEAD].addr, 1);
		if (p->stub >= o->nstubs || s->addr != p->addr || s->kind_len != p->kind_len ||
		    s->class != CLASS_CODE ||
		    (p->state != UFT_FUNCTION && (p->state != UFT_GRAPH || s->bits & SITE_FUNCTION_ONLY)) ||
		    s->action != p->action || is_trap(s) || is_pun(s) || !is_word_in(w, s->addr))
			break;
		pad = site_pad(s);
		slot = aux_at(o, p->stub) + CODE_SLOT;
		if (s->form != (pad ? FORM_NOP_F : FORM_ORIGINAL))
			break;
		if (pad) {
			if (!is_word_in(w, pad))
				break;
			__builtin_memcpy(&now, (const void *)pad, 8);
			if ((now & code_mask(PAD_LEN)) != jump_to(UFT_OP_JMP, pad, slot)) /* GUARD(code_link_now) */
				break;
			jump = UFT_OP_JMP_SHORT | (uint64_t)s->orig[ORIG_REL] << 8;
			mask = code_mask(UFT_LEN_JMP_SHORT);
		} else {
			jump = jump_to(UFT_OP_JMP, s->addr, slot);
			mask = code_mask(UFT_LEN_JMP);
		}
		__builtin_memcpy(&now, (const void *)s->addr, 8);
		if ((now & mask) != (orig_at(s, 0, 8) & mask))	/* GUARD(plain_bytes_same) */
			break;
		set_cell(o, p->stub, p->state);
		now = (now & ~mask) | jump;
		__builtin_memcpy((void *)s->addr, &now, 8);
		s->form = FORM_NOP;
		p->status = UFT_ST_OK;
	}
	return i;
}

int code_is_pad(const struct patch_object *o, uintptr_t pc)
{
	uint32_t i, n = uft_load_acquire(&o->npads);

	for (i = 0; i < n; i++) {
		const struct patch_site *s = &o->site[o->pad[i]];

		if (site_pad(s) == pc)
			return s->form != FORM_ORIGINAL;
	}
	return 0;
}

int code_is_done(const struct patch_site *s, unsigned form, unsigned state)
{
	return is_trap(s) || form == (state == UFT_ORIGINAL ? FORM_ORIGINAL : FORM_NOP);
}
