/* SPDX-License-Identifier: MIT */
/*
 * site.c - the bytes of a site in each form, and the steps from one form to another
 *
 * Nothing here writes. A site is learned once (site_learn()): its bytes must be what its kind promises, and its class
 * follows from kind, length and where it lies in a cache line. From then on its bytes are a function of class and form
 * (site_code()), and site_next() names the forms on the way to a state.
 *
 * The rule behind all classes: a thread may rest at any instruction boundary for any time, and a CPU may fetch an
 * instruction that crosses a cache line in two halves. So an instruction's bytes change in one store, or behind a
 * stand-in that does not execute them, and no boundary inside the changed bytes may be one where a thread can rest.
 *
 * CLASS_PLAIN   One instruction is replaced by another of the same length: st8 or js (batch.c). One-byte nops are
 *               made one nop first, but only while no thread runs: a thread that rests between them would be lost.
 * CLASS_PREFIX  Byte 0 is the last of a line (offset 63): no two bytes from there can change at once. If it is a
 *               prefix it becomes 67 (one byte, still a nop) and stays; everything else happens at the next byte.
 * CLASS_ISLE    Byte 0 is the last of a line, or the site is one-byte nops that running threads may rest in. The
 *               displacement of the future branch is made of bytes that are harmless in the nop:
 *                   0f 1f 44 SS DD   any SS, DD is the same nop;  e8 1f 44 SS DD  calls  site + 5 + DDSS441f
 *                   90 90 90 90 XX   XX harmless, see sleds[];    e8 90 90 90 XX  calls  site + 5 + XX909090
 *               so arming is one store of the tail, a sync, and one store of one byte. No trap, no signal, no thread
 *               to be stopped. The price: the branch leads to where its bytes say, the island: address space as large
 *               as the text at a fixed distance from it, touched only where a site needs it, holding a jump to where
 *               it should have gone. Functions and graph have an island each, written once, so that a thread on
 *               its way through one is never led astray by the other's.
 * CLASS_ISLE_CALL  The same over a call found at offset 63 (mcount): the original call and ours differ in the four
 *               bytes of the displacement only, which lie in one word: one store.
 * CLASS_PREPAD  2..4 bytes at the entry, five before it: a jump before the entry, and there `jmp .-5`, whose
 *               displacement byte is stc: harmless to a thread that rests between two one-byte nops, and behind a
 *               prefix. It is written with the jump before the entry, so that arming is one byte.
 * CLASS_SWITCH A call that the program makes itself may not be skipped for a moment. If it does not lie in one block,
 *               it is changed to call a jump through a cell, and from then on the cell changes, not the code.
 *
 * "The last of a line" is offset 63 where the runtime writes itself, and offset 7 of a word where the kernel writes,
 * because the kernel promises no more than eight aligned bytes at once.
 *
 * While no thread runs (batch.c, PLAIN) any bytes can be written, but an armed site must be disarmed later, with
 * threads running. So a site that could not be disarmed then gets a class that can, at that moment (SITE_QUIET_ENDS):
 * `call *` at the last of a line becomes a prefix and a nop, an own call over two blocks becomes CLASS_SWITCH. While
 * threads run, arming such a site is refused (UFT_ST_LIVE), and so is the way back to the bytes as found: the first
 * stays a nop, the second calls what it called. A jump before the entry at the last of a line stays there for the same
 * reason, with no code leading to it.
 */
#include "runtime/base/mem.h"
#include "runtime/patch/bytes/bytes.h"
#include "runtime/patch/bytes/short.h"

static inline unsigned site_kind(const struct patch_site *s)
{
	return s->kind_len & 0xf;
}

static inline unsigned site_len(const struct patch_site *s)
{
	return s->kind_len >> 4;
}

static int is_vouched;		/* the session has stopped all tasks. Written by the agent */

void patch_vouch(int is_held)
{
	is_vouched = is_held;
}

int quiet_at(struct quiet *q, uintptr_t lo, uintptr_t hi)
{
	int i;

	if (is_vouched)
		return 1;
	if (!q->asked) {
		/* Without a slice this is a process that patches itself. */
		q->n = plat_is_quiet(uft_rt.slice ? (int)uft_rt.slice->pid : plat_pid(), q->pc,
				     (int)(sizeof(q->pc) / sizeof(q->pc[0])));
		q->asked = 1;
	}
	for (i = 0; i < q->n; i++)
		if (q->pc[i] > lo && q->pc[i] < hi)
			return 0;
	return q->n >= 0;
}

/* ---- first touch --------------------------------------------------------------------------------- */

/*
 * The last byte of a sled's displacement. First instructions that only change flags; then prefixes, which a resting
 * thread would execute as part of the next instruction, where they have no effect; then a nop, whose island would be
 * 1.7 GiB below.
 */
static const uint8_t sleds[] = { UFT_OP_CLC, UFT_OP_STC, UFT_OP_CMC, UFT_OP_CLD, 0x26, 0x2e, 0x36, 0x3e, 0x90 };

int32_t site_sled_displacement(unsigned i)
{
	return i < sizeof(sleds) ? (int32_t)(0x909090u | (uint32_t)sleds[i] << 24) : 0;
}

/* Checks the bytes that the kind promises; returns the value for ->win, or 0. */
static unsigned expected_win(const struct patch_site *s)
{
	unsigned len = site_len(s);
	size_t first = 0, call;

	switch (site_kind(s)) {
	case UFT_SITE_NOP:
	case UFT_SITE_MCOUNT_NOP:
		return uft_insn_nops_length(s->orig, len, &first) == len && first >= 5 ? (unsigned)first : 0;
	case UFT_SITE_NOPS:
		return len >= 5 && uft_insn_is_nop1(s->orig, len) ? 5 : 0;
	case UFT_SITE_FENTRY_CALL:
	case UFT_SITE_MCOUNT_CALL:
	case UFT_SITE_OWN_CALL:
	case UFT_SITE_OWN_FRAMED:
		call = uft_insn_is_call(s->orig);
		if (!call)
			call = uft_insn_is_call_indirect(s->orig);
		return call && call == len ? len : 0;
	case UFT_SITE_PREPAD:
		return len >= 2 && len < 5 && uft_insn_nops_length(s->orig, len, NULL) == len ? 2 : 0;
	}
	return 0;
}

/* PREPAD: do whole nops, at least five bytes of them, end where the site begins? */
static int learn_pre(struct patch_object *o, struct patch_site *s)
{
	unsigned m;

	for (m = 5; m <= 64 && s->addr - m >= o->text_start; m++)
		if (uft_insn_nops_length((const uint8_t *)s->addr - m, m, NULL) == m)
			break;
	if (m > 64 || s->addr - m < o->text_start)
		return UFT_ST_BYTES;
	memcpy(s->orig + 8, (const uint8_t *)s->addr - 5, 5);
	s->class = CLASS_PREPAD;
	return UFT_ST_OK;
}

/*
 * A site whose bytes as found cannot be changed while threads run: while no thread runs, they become bytes that can be
 * changed, and stay so until no thread runs again.
 */
static int learn_quiet_ends(struct patch_site *s, unsigned class, struct quiet *q)
{
	if (!quiet_at(q, s->addr, s->addr + site_len(s)))
		return UFT_ST_LIVE;
	s->class = (uint8_t)class;
	s->bits |= SITE_QUIET_ENDS; /* GUARD(learn_quiet_ends_bits) */
	return UFT_ST_OK;
}

/* A call that may not be skipped, over two blocks. While threads run some of its changes may still be possible. */
static int learn_own(struct patch_site *s, struct quiet *q)
{
	unsigned last = site_len(s) - 1;

	if (item_fits(s->addr, 0, last, 8) && uft_rt.st8_ok)
		return UFT_ST_OK;
	if (item_fits(s->addr, 0, last, 16) && !uft_rt.no_mprotect)
		return UFT_ST_OK;
	learn_quiet_ends(s, CLASS_SWITCH, q);
	return UFT_ST_OK;
}

/* Chooses the islands for the nop at ->orig, whose first byte is 0f. */
static int learn_isle_nop(struct patch_site *s)
{
	s->class = CLASS_ISLE;
	if (s->orig[2] == 0x44)
		s->isle = ISLE_NOP5;
	else if (s->orig[2] == 0x80)
		s->isle = ISLE_NOP7;
	else if (s->orig[2] == 0x84)
		s->isle = ISLE_NOP8;
	else
		return UFT_ST_KIND;
	return UFT_ST_OK;
}

/* A site whose first byte is the last of its cache line. */
static int learn_last_of_line(struct patch_site *s, struct quiet *q)
{
	if (s->orig[0] == 0x0f)
		return learn_isle_nop(s);
	if (s->orig[0] == UFT_OP_CALL) {
		s->class = CLASS_ISLE_CALL;
		s->isle = ISLE_NOP5;
		return UFT_ST_OK;
	}
	if (s->orig[0] == 0xff)
		return learn_quiet_ends(s, CLASS_PREFIX, q);
	/* A prefix and then room for a branch: 66, 67, 2e ... before a nop, 67 before a call. */
	if (s->win < 6)
		return UFT_ST_KIND;
	s->class = CLASS_PREFIX;
	return UFT_ST_OK;
}

static int learn_sled(struct patch_site *s)
{
	s->class = CLASS_ISLE;
	s->isle = ISLE_SLED;
	s->bits |= SITE_SLED;
	return UFT_ST_OK;
}

/* Makes the site's islands. A displacement of 1 means that the address space had no room. */
static int learn_isles(struct patch_object *o, struct patch_site *s)
{
	if (tramp_isle(o, s->isle, ISLE_F) == 1 || tramp_isle(o, s->isle, ISLE_G) == 1)
		return UFT_ST_REACH;
	return UFT_ST_OK;
}

/* Length of an instruction that may come between mov %rsp,%rbp and a call of mcount; 0: another instruction. */
static unsigned prologue_insn(const uint8_t *p)
{
	if ((p[0] & 0xf8) == 0x50)						/* push %reg */
		return 1;
	if (p[0] == 0x41 && (p[1] & 0xf8) == 0x50)				/* push %r8-%r15 */
		return 2;
	if (p[0] == 0x48 && p[1] == 0x89 && p[2] >= 0xc0)			/* mov %reg,%reg */
		return 3;
	if (p[0] == 0x48 && p[1] == 0x83 && (p[2] == 0xec || p[2] == 0xe4))	/* sub, and $imm8,%rsp */
		return 4;
	if (p[0] == 0x48 && p[1] == 0x81 && p[2] == 0xec)			/* sub $imm32,%rsp */
		return 7;
	return 0;
}

/*
 * Does the set-up of a frame pointer, mov %rsp,%rbp, lead to the site? Only instructions that are executed one after
 * the other count: between the set-up of the function before and the site there is a return, a jump or a call.
 */
static int follows_prologue(const struct patch_object *o, const struct patch_site *s)
{
	unsigned back, at, n;

	for (back = 3; back <= 24 && s->addr - back >= o->text_start; back++) {
		const uint8_t *p = (const uint8_t *)s->addr - back;

		if (p[0] != 0x48 || p[1] != 0x89 || p[2] != 0xe5)
			continue;
		for (at = 3 /* GUARD(prologue_walk, back) */; at < back && (n = prologue_insn(p + at)); at += n)
			;
		if (at == back)
			return 1;
	}
	return 0;
}

static int learn(struct patch_object *o, struct patch_site *s, struct quiet *q)
{
	unsigned kind = site_kind(s), len = site_len(s);
	struct code c;
	int ret;

	code_load(&c, s->addr, len);
	__builtin_memcpy(s->orig, &c, 16);
	s->win = (uint8_t)expected_win(s);
	if (!s->win)
		return UFT_ST_BYTES;
	if (kind == UFT_SITE_MCOUNT_CALL || kind == UFT_SITE_MCOUNT_NOP ||
	    kind == UFT_SITE_OWN_FRAMED)
		s->bits |= SITE_FRAME;
	/* Taking a call of mcount for one of __fentry__ would put the parent's address into a local variable. */
	if (kind == UFT_SITE_OWN_CALL && !(s->bits & SITE_FRAME) &&
	    follows_prologue(o, s) /* GUARD(site_prologue, 0) */)
		return UFT_ST_KIND;
	/* After a prologue our call must come back to the site's end, so it must be that long. */
	if (kind == UFT_SITE_MCOUNT_NOP && (s->win != len || len > 8))
		return UFT_ST_KIND;
	if (kind == UFT_SITE_PREPAD)
		return learn_pre(o, s);
	if (UFT_SITE_IS_OWN(kind))
		return learn_own(s, q);
	if (kind == UFT_SITE_NOPS) {
		if (is_last_of_line(s->addr) || !quiet_at(q, s->addr, s->addr + len) /* GUARD(nops_quiet) */) {
			learn_sled(s);
			return learn_isles(o, s);
		}
		if (len <= 8)
			s->win = (uint8_t)len;
		return UFT_ST_OK;
	}
	if (!is_last_of_line(s->addr))
		return UFT_ST_OK;
	ret = learn_last_of_line(s, q);
	/* An island makes a call return to the fifth byte. */
	if (!ret && s->class == CLASS_ISLE && s->bits & SITE_FRAME && len != 5)
		return UFT_ST_KIND;
	if (!ret && (s->class == CLASS_ISLE || s->class == CLASS_ISLE_CALL))
		ret = learn_isles(o, s);
	return ret;
}

/* Can bulk.c change it? */
static int is_short(const struct patch_site *s)
{
	unsigned len = site_len(s);

	return s->class == CLASS_PLAIN && s->win == len && len <= 8 && !UFT_SITE_IS_OWN(site_kind(s)) &&
	       (s->addr & (PLAT_PAGE - 1)) <= PLAT_PAGE - 8 && !is_last_of_line(s->addr);
}

int site_learn(struct patch_object *o, struct patch_site *s, const struct uft_patch *p, struct quiet *q)
{
	struct patch_site fresh = { .addr = p->addr, .kind_len = p->kind_len, .action = p->action };
	int status = learn(o, &fresh, q);

	if (status)
		return status;
	fresh.bits |= is_short(&fresh) ? SITE_SHORT : 0;
	/*
	 * The address last: a fork child that is born here must find all of the record or none. Field by field, because
	 * one larger load of fields that were stored one by one would stall.
	 */
	s->kind_len = fresh.kind_len;
	s->action = fresh.action;
	s->bits = fresh.bits;
	s->class = fresh.class;
	s->form = fresh.form;
	s->win = fresh.win;
	s->isle = fresh.isle;
	__builtin_memcpy(s->orig, fresh.orig, sizeof(s->orig));
	uft_store_release(&s->addr, p->addr);
	return UFT_ST_OK;
}

/* ---- from form to form ----------------------------------------------------------------------------- */

static unsigned next_isle(const struct patch_site *s, unsigned want)
{
	/*
	 * The next form on the way: rows are the present form, columns the wanted one. Over a nop FORM_ORIGINAL does
	 * not occur: it is FORM_NOP. Over a call it is one store away from FORM_FUNCTION.
	 */
	static const uint8_t towards[6][6] = {
		[FORM_ORIGINAL]	= { [FORM_NOP] = FORM_FUNCTION, [FORM_FUNCTION] = FORM_FUNCTION,
			[FORM_GRAPH] = FORM_FUNCTION },
		[FORM_NOP]	= { [FORM_ORIGINAL] = FORM_NOP_F, [FORM_FUNCTION] = FORM_NOP_F,
			[FORM_GRAPH] = FORM_NOP_G },
		[FORM_NOP_F]	= { [FORM_ORIGINAL] = FORM_FUNCTION, [FORM_NOP] = FORM_NOP,
				    [FORM_FUNCTION] = FORM_FUNCTION, [FORM_GRAPH] = FORM_NOP_G },
		[FORM_NOP_G]	= { [FORM_ORIGINAL] = FORM_NOP_F, [FORM_NOP] = FORM_NOP,
				    [FORM_FUNCTION] = FORM_NOP_F, [FORM_GRAPH] = FORM_GRAPH },
		[FORM_FUNCTION]	= { [FORM_ORIGINAL] = FORM_ORIGINAL, [FORM_NOP] = FORM_NOP_F,
			[FORM_GRAPH] = FORM_NOP_F },
		[FORM_GRAPH]	= { [FORM_ORIGINAL] = FORM_NOP_G, [FORM_NOP] = FORM_NOP_G,
			[FORM_FUNCTION] = FORM_NOP_G },
	};

	return s->form == want ? want : towards[s->form][want];
}

unsigned site_next(const struct patch_site *s, unsigned state)
{
	static const uint8_t forms[] = {
		[UFT_IDLE] = FORM_NOP, [UFT_ORIGINAL] = FORM_ORIGINAL,
		[UFT_FUNCTION] = FORM_FUNCTION, [UFT_GRAPH] = FORM_GRAPH,
	};
	unsigned want = forms[state & 3];

	if (want == FORM_NOP && UFT_SITE_IS_OWN(site_kind(s)) && (s->class != CLASS_SWITCH || s->form == FORM_ORIGINAL))
		want = FORM_ORIGINAL;
	switch (s->class) {
	case CLASS_PLAIN:
		return want;
	case CLASS_PREFIX:
		/* Byte 0 changes alone, between the form as found and the nop. */
		if (s->orig[0] != UFT_PFX_ADDRSIZE && s->form != FORM_NOP && s->form != want &&
		    (s->form == FORM_ORIGINAL || want == FORM_ORIGINAL))
			return FORM_NOP;
		return want;
	case CLASS_SWITCH:
		return s->form == FORM_ORIGINAL || want == FORM_ORIGINAL ?
		       (s->form == want || s->form == FORM_NOP ? want : FORM_NOP) : want;
	case CLASS_ISLE_CALL:
		if (want == FORM_NOP && (s->form == FORM_NOP_F || s->form == FORM_NOP_G))
			return s->form;
		return next_isle(s, want);
	case CLASS_ISLE:
	case CLASS_PREPAD:
		if (s->form == FORM_ORIGINAL) {		/* the bytes as found are a nop */
			if (want == FORM_ORIGINAL || want == FORM_NOP)
				return FORM_ORIGINAL;
			return want == FORM_GRAPH ? FORM_NOP_G : FORM_NOP_F;
		}
		/*
		 * The nop of an armed form is as good, unless it is a sled that ends in another instruction than a nop.
		 */
		if (want == FORM_NOP && !(s->bits & SITE_SLED) && (s->form == FORM_NOP_F || s->form == FORM_NOP_G))
			return s->form;
		if ((want == FORM_ORIGINAL || want == FORM_NOP) && (s->form == FORM_NOP_F || s->form == FORM_NOP_G))
			return FORM_ORIGINAL;
		return next_isle(s, want == FORM_ORIGINAL ? FORM_NOP : want);
	}
	return s->form;
}

/* ---- bytes ----------------------------------------------------------------------------------------- */

/* Sets the first @n bytes of *c to @lo. */
static inline void overlay(struct code *c, uint64_t lo, unsigned n)
{
	c->lo = (c->lo & ~code_mask(n)) | lo;
}

static void nop_code(struct code *c, unsigned len)
{
	/* Longer than a word: one nop where the jump will be, the other bytes stay as they are. */
	c->lo = short_nop(len <= 8 ? len : 5);
	c->hi = 0;
	if (len > 8) {
		c->lo |= 0x909090ull << 40;
		c->hi = 0x9090909090909090 & code_mask(len - 8);
	}
}

static inline void idle_code(const struct patch_site *s, struct code *c)
{
	switch (site_kind(s)) {
	case UFT_SITE_FENTRY_CALL:
	case UFT_SITE_MCOUNT_CALL:
	case UFT_SITE_NOPS:
		if (!(s->bits & SITE_SLED)) {
			nop_code(c, site_len(s));
			return;
		}
		break;
	}
	code_from(c, s->orig, site_len(s));
	if (s->class == CLASS_PREFIX)
		overlay(c, UFT_PFX_ADDRSIZE, 1);
}

int site_calls_directly(const struct patch_site *s)
{
	unsigned len = site_len(s);

	if (s->class == CLASS_ISLE || s->class == CLASS_ISLE_CALL)
		return len == 5;
	if (s->class == CLASS_PREFIX)
		return len == 6 && s->win == 6;
	return len <= 8 && s->win == len /* GUARD(window_is_site) */;
}

static inline void armed_code(const struct patch_object *o, const struct patch_site *s, uint32_t index, unsigned form,
		       struct code *c)
{
	unsigned skip = s->class == CLASS_PREFIX, kind = site_kind(s), len = site_len(s);
	uintptr_t a = s->addr;

	if (UFT_SITE_IS_OWN(kind)) {
		if (form == FORM_GRAPH && !(s->bits & SITE_FRAME))
			overlay(c, short_branch(UFT_OP_JMP, a, stub_at(o, index)), 5);
		else
			overlay(c, short_call(len, a, form == FORM_GRAPH ? stub_at(o, index) : aux_at(o, index)), len);
	} else if (s->bits & SITE_FRAME) {
		overlay(c, short_call(len, a, form == FORM_GRAPH ? stub_at(o, index) : o->thunk[THUNK_MFUNC]), len);
	} else if (form == FORM_FUNCTION && site_calls_directly(s)) {
		overlay(c, short_call(len, a, o->thunk[THUNK_FUNC]), len);
	} else {
		uint64_t jmp =
			short_branch(UFT_OP_JMP, a + skip, form == FORM_GRAPH ? stub_at(o, index) : aux_at(o, index));

		if (skip)
			overlay(c, UFT_PFX_ADDRSIZE | jmp << 8, 6);
		else
			overlay(c, jmp, 5);
	}
}

/* Bytes 1..4 are the island's displacement, byte 0 makes a nop or a branch of it. */
static void isle_code(const struct patch_object *o, const struct patch_site *s, unsigned form, struct code *c)
{
	int graph = form == FORM_GRAPH || form == FORM_NOP_G;
	uint64_t disp = (uint32_t)o->isle[s->isle][graph ? ISLE_G : ISLE_F];
	uint8_t head = (uint8_t)c->lo;

	if (form == FORM_FUNCTION)
		/* GUARD(site_head, UFT_OP_CALL) */
		head = s->bits & SITE_FRAME || site_calls_directly(s) ? UFT_OP_CALL : UFT_OP_JMP;
	else if (form == FORM_GRAPH)
		head = s->bits & SITE_FRAME ? UFT_OP_CALL : UFT_OP_JMP;
	overlay(c, head | disp << 8, 5);
}

/* *c has the idle bytes and gets the bytes of @form. */
static inline void form_code(const struct patch_object *o, const struct patch_site *s, uint32_t index, unsigned form,
			     struct code *c)
{
	if (form == FORM_ORIGINAL) {
		code_from(c, s->orig, site_len(s));
		return;
	}
	if (form == FORM_NOP && s->class != CLASS_SWITCH)
		return;
	switch (s->class) {
	case CLASS_ISLE:
	case CLASS_ISLE_CALL:
		isle_code(o, s, form, c);
		return;
	case CLASS_PREPAD:
		if (form == FORM_FUNCTION || form == FORM_GRAPH)
			overlay(c, UFT_OP_JMP_SHORT | (uint64_t)UFT_OP_STC << 8, 2);
		else
			overlay(c, (c->lo & 0xff) | (uint64_t)UFT_OP_STC << 8, 2);
		return;
	case CLASS_SWITCH:
		overlay(c, short_call(site_len(s), s->addr, aux_at(o, index) + AUX_SWITCH), site_len(s));
		return;
	default:
		armed_code(o, s, index, form, c);
	}
}

void site_code(const struct patch_object *o, const struct patch_site *s, uint32_t index, unsigned form, struct code *c)
{
	idle_code(s, c);
	form_code(o, s, index, form, c);
}

void site_codes(const struct patch_object *o, const struct patch_site *s, uint32_t index, unsigned to,
		struct code *old, struct code *new)
{
	struct code idle;

	idle_code(s, &idle);
	*old = *new = idle;
	form_code(o, s, index, s->form, old);
	form_code(o, s, index, to, new);
}

void site_pre_code(const struct patch_object *o, const struct patch_site *s, uint32_t index, unsigned form,
		   struct code *c)
{
	uintptr_t pre = s->addr - 5;
	uint8_t second = UFT_OP_STC;

	c->hi = 0;
	if (form == FORM_NOP_F || form == FORM_FUNCTION)
		c->lo = short_branch(UFT_OP_JMP, pre, aux_at(o, index));
	else if (form == FORM_NOP_G || form == FORM_GRAPH)
		c->lo = short_branch(UFT_OP_JMP, pre, stub_at(o, index));
	else {
		__builtin_memcpy(&c->lo, s->orig + 8, 8);
		c->lo &= code_mask(5);
		second = s->orig[1];
	}
	c->lo |= (uint64_t)s->orig[0] << 40 | (uint64_t)second << 48;
}

_Static_assert((uint8_t)(-5 - UFT_LEN_JMP_SHORT) == UFT_OP_STC,
	       "the jump back is harmless when executed from its second byte");
