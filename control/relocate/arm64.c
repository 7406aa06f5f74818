// SPDX-License-Identifier: MIT
/*
 * arm64.c - decide which entries can be rewritten, arm64
 *
 * One word becomes a branch, so nothing can lead between what moves, and no thread can rest there: what short
 * forms, pads and searches of near branches are for on x86-64 (entry.c) is not needed. What leads to the word
 * itself is a call, but for a loop of the function, or of one of its parts, to its start.
 *
 * The site is the function's first word, or the one behind a landing pad: bti, or paciasp, which signs the
 * return address and which indirect calls may land on. Code that is entered behind a signature begins by
 * taking it off (runtime/patch/words/unprepared.c).
 *
 * Jump tables hold distances from an adr. Where a loop with a switch has its head is not looked for in them:
 * code with both an adr of its own and an indirect branch must begin with what makes its frame, which no loop
 * repeats.
 */
#include "control/relocate/arm64_move.h"
#include "control/relocate/internal.h"

#include <errno.h>
#include <string.h>

#include "runtime/arch/arm64/encode.h"
#include "symbol/object_internal.h"

#define FLAGS_LOOK	16u	/* words; compilers test flags that they have set just before */
#define MAX_TAIL	32u	/* bytes: a function that is no longer and ends with a branch is what it branches to */
#define MAX_DEPTH	2u
#define XPACLRI		0xd50320ffu
#define NR_CLONE	220u
#define LR		30u
#define FP		29u
#define SP		31u

static uint32_t word_at(const uint8_t *p)
{
	return elf_get32(p);
}

/* ---- Instructions of a function --------------------------------------------------------------- */

struct body { const uint8_t *p; size_t n; uint64_t addr; };	/* whole words from the site to the function's end */

static struct body body_of(const struct scan_text *t, const struct entry *f)
{
	size_t at = f->addr - t->addr, n = f->func + f->size - f->addr;

	if (n > t->n - at)
		n = t->n - at;
	return (struct body){ t->p + at, n & ~(size_t)3, f->addr };
}

static int reads_flags(uint32_t w)
{
	return (w & 0xff000000u) == 0x54000000u ||					/* b.cond */
	       (w & 0x1fe00000u) == 0x1a800000u || (w & 0x1fe00000u) == 0x1a400000u ||	/* csel, ccmp */
	       (w & 0x1fe0fc00u) == 0x1a000000u ||					/* adc, sbc */
	       (w & 0xff200c00u) == 0x1e200c00u || (w & 0xff200c00u) == 0x1e200400u ||	/* fcsel, fccmp */
	       (w & 0xffffffe0u) == 0xd53b4200u;					/* mrs x, nzcv */
}

static int sets_flags(uint32_t w)
{
	return (w & 0x3f000000u) == 0x31000000u || (w & 0x3f000000u) == 0x2b000000u ||	/* adds, subs */
	       (w & 0x7f800000u) == 0x72000000u || (w & 0x7f000000u) == 0x6a000000u ||	/* ands, bics */
	       (w & 0xff20fc07u) == 0x1e202000u || (w & 0xffffffe0u) == 0xd51b4200u ||	/* fcmp, msr nzcv, x */
	       (w & 0x9e000000u) == 0x04000000u;					/* SVE: most compare */
}

static int is_branch(uint32_t w)
{
	return (w & 0x1c000000u) == 0x14000000u && (w & 0xff000000u) != 0xd5000000u;
}

/*
 * stp or str of x0 - x17 with sp going down: compilers save none of them so, and assembly with rules of its
 * own does it first.
 */
static int pushes_scratch(uint32_t w)
{
	int is_pair = (w & 0xffc003e0u) == 0xa98003e0u, is_one = (w & 0xffe00fe0u) == 0xf8000fe0u;

	return (is_pair || is_one) && (w & 31) < 18;
}

/* Behind nops: what glibc has where there would be landing pads. */
static struct body behind_nops(struct body b)
{
	for (; b.n > 4 && word_at(b.p) == A64_NOP; b.n -= 4) {
		b.p += 4;
		b.addr += 4;
	}
	return b;
}

/*
 * What no compiler makes of a function: it takes flags, or keeps registers that it might spend (resolvers of
 * the loader).
 */
static int is_by_own_rules(const struct body *b)
{
	if (pushes_scratch(word_at(b->p)))
		return 1;
	for (size_t i = 0; i < b->n && i < 4 * FLAGS_LOOK; i += 4) {
		uint32_t w = word_at(b->p + i);

		if (reads_flags(w))
			return 1;
		if (sets_flags(w) || is_branch(w))
			return 0;
	}
	return 0;
}

/* stp ., ., [sp, #-n]!; str x, [sp, #-n]!; sub sp, sp, #n: twice would be a frame too much. */
static int makes_frame(uint32_t w)
{
	return (w & 0xbfc003e0u) == 0xa98003e0u || (w & 0xffc003e0u) == 0x6d8003e0u ||
		(w & 0xfbe00fe0u) == 0xf8000fe0u ||
	       (w & 0xff8003ffu) == 0xd10003ffu;
}

/* Could a jump table lead to the site? */
static int is_in_table(const struct body *b)
{
	int has_base = 0, has_branch = 0;

	if (makes_frame(word_at(b->p)))
		return 0;
	for (size_t i = 0; i < b->n; i += 4) {
		uint32_t w = word_at(b->p + i);

		has_base |= a64_is_adr(w) && a64_adr_target(w, b->addr + i) - b->addr < b->n;
		has_branch |= (w & 0xfffffc1fu) == 0xd61f0000u;
	}
	return has_base && has_branch;
}

/* ---- Functions that the graph tracer would disturb ---------------------------------------------- */

/* It is put somewhere else than into the frame, or computed with. */
static int reads_lr(uint32_t w)
{
	unsigned rt = w & 31, rn = w >> 5 & 31, rt2 = w >> 10 & 31, rm = w >> 16 & 31;

	if (w == XPACLRI)
		return 1;
	if ((w & 0x3e400000u) == 0x28000000u)			/* stp */
		return (rt == LR || rt2 == LR) && rn != SP;
	if ((w & 0x3ec00000u) == 0x38000000u)			/* str */
		return rt == LR && rn != SP;
	return (w & 0x0e000000u) == 0x0a000000u && (rn == LR || rm == LR);	/* of registers */
}

/* Saved twice, it is kept for something. */
static int saves_lr(uint32_t w)
{
	if ((w & 0x3e400000u) == 0x28000000u)
		return ((w & 31) == LR || (w >> 10 & 31) == LR) && (w >> 5 & 31) == SP;
	return (w & 0x3ec00000u) == 0x38000000u && (w & 31) == LR && (w >> 5 & 31) == SP;
}

/* A call, or a register move, load or sum into it: from there on it is another value. */
static int writes_lr(uint32_t w)
{
	if (a64_is_bl(w) || (w & 0xfffffc1fu) == 0xd63f0000u)
		return 1;
	if ((w & 0x3e400000u) == 0x28400000u)			/* ldp */
		return (w & 31) == LR || (w >> 10 & 31) == LR;
	if ((w & 0x3e000000u) == 0x38000000u)			/* loads and stores of one */
		return (w & 31) == LR && (w >> 22 & 3);
	return ((w & 0x1c000000u) == 0x10000000u || (w & 0x0e000000u) == 0x0a000000u) && (w & 31) == LR;
}

/* ldr x, [x29, #8]: the return address from the frame record */
static int loads_record(uint32_t w)
{
	return (w & 0xffffffe0u) == (0xf9400000u | 1u << 10 | FP << 5) && (w & 31) != LR;
}

/* A call that returns twice, in the same memory: svc of clone in a leaf function. */
static int is_vfork(const struct body *b)
{
	int has_clone = 0;

	for (size_t i = 0; i < b->n; i += 4) {
		uint32_t w = word_at(b->p + i);

		if (a64_is_bl(w) || (w & 0xfffffc1fu) == 0xd63f0000u)
			return 0;
		has_clone |= (w & 0x7fffffffu) == (0x52800008u | NR_CLONE << 5);	/* mov x8, #NR */
	}
	return has_clone;
}

/*
 * Does it look at the address that it will return to? The value is followed from the start to where it ends
 * on every way.
 */
static int looks_at_return(const struct body *b)
{
	uint64_t end = b->addr, to;
	unsigned nsaved = 0;

	for (size_t i = 0; i < b->n; i += 4) {
		uint32_t w = word_at(b->p + i);

		if (loads_record(w))
			return 1;
		if (end == ~0ull)
			continue;
		if (reads_lr(w))
			return 1;
		nsaved += (unsigned)saves_lr(w);
		if (nsaved > 1)
			return 1;
		if (!a64_is_bl(w) && a64_direct_target(w, b->addr + i, &to) && to - b->addr < b->n && to > end)
			end = to;
		if (!writes_lr(w))
			continue;
		if (end <= b->addr + i)
			end = ~0ull;			/* no task uses it any more */
		else
			i = (size_t)(end - b->addr) - 4;	/* a branch led there while it was whole */
	}
	return 0;
}

/* Some go to the second instruction: _setjmp() passes by the landing pad of __sigsetjmp(). */
static const struct entry *tail(const struct entries *e, const struct body *b, const struct entry *f)
{
	const struct entry *next;
	uint64_t to;

	if (f->size > MAX_TAIL || b->n < 4 || !arm64_jump(b->p + b->n - 4, b->addr + b->n - 4, &to))
		return NULL;
	next = entries_find(e, to);
	return next ? next : entries_find(e, to - 4);
}

static int is_plain(const struct entries *e, const struct scan_text *t, const struct entry *f, unsigned depth)
{
	struct body b = body_of(t, f);
	const struct entry *next;

	if (e->priv->scan->has_frame_table || (depth && !look_again(e->priv, b.n)))
		return 1;
	for (size_t k = 0; k < e->priv->scan->nspecial; k++)
		if (e->priv->scan->special[k] == f->func)
			return 1;
	if (scan_is_called_by_made_code(e->priv->scan, t, f->func, f->addr) || looks_at_return(&b) || is_vfork(&b))
		return 1;
	next = depth < MAX_DEPTH ? tail(e, &b, f) : NULL;
	return next && next != f && scan_text(e->priv->scan, next->func) == t && next->addr - t->addr < t->n &&
	       is_plain(e, t, next, depth + 1);
}

/* ---- One entry -------------------------------------------------------------------------------- */

/* The loader's functions for thread-local variables: their callers expect all registers but two to be kept. */
static int is_tls_answer(struct uft_object *obj, const struct body *b)
{
	return b->n >= 8 && word_at(b->p) == 0xf9400400u /* ldr x0, [x0, #8] */ && word_at(b->p + 4) == 0xd65f03c0u &&
	       uft_object_symbol(obj, "__tls_get_addr", NULL);
}

int arm64_plan(struct uft_object *obj, struct entries *e, const struct scan_text *t, size_t i)
{
	struct entry *f = &e->entry[i];
	const struct uft_unwind *u = e->priv->of[i] == ~0u ? NULL : &e->priv->unwind[e->priv->of[i]];
	size_t at = f->func - t->addr, avail;
	struct arm64_move m;
	struct body b, inner;
	int ret;

	if (object_code(obj, f->func, &avail) != t->p + at)	/* segments overlap: it is here and there */
		return ENTRY_DATA;
	if (!scan_bit(t->called, at) && (scan_bit(t->part, at) || f->func & (FUNCTION_ALIGN - 1)))
		return ENTRY_NOT_FUNCTION;
	b = f->func + f->size > f->addr ? body_of(t, f) : (struct body){ 0 };
	inner = b.n < 4 ? b : behind_nops(b);
	if (f->addr & 3 || b.n < 4)
		return ENTRY_DATA;
	if (entries_is_ours(e->priv, f->addr, 4))
		return ENTRY_OURS;
	if (is_by_own_rules(&inner) || is_tls_answer(obj, &inner))
		return ENTRY_FLAGS;
	if (scan_bit(t->looped, at) || (f->addr != f->func && scan_bit(t->target, f->addr - t->addr)) ||
	    is_in_table(&b) || (u && lands_in(obj, e->priv, u, f->addr, 4)))
		return ENTRY_BRANCH;
	m = (struct arm64_move){ .from = f->addr, .to = f->addr, .word = word_at(b.p) };
	ret = arm64_move(&m);
	if (ret)
		return ret == -EINVAL ? ENTRY_DATA : ENTRY_INSN;
	f->nmoved = 4;
	f->is_plain = (uint8_t)is_plain(e, t, f, 0);
	return ENTRY_OK;
}

/* ---- Its code --------------------------------------------------------------------------------- */

int arm64_code(struct uft_object *obj, const struct entry *e, uint64_t bias, uint64_t at, struct uft_code *out)
{
	uint32_t lead = 0, stub = out->stub, word;
	struct arm64_move m = { .from = e->addr + bias, .to = at };
	size_t avail;
	const uint8_t *p = object_code(obj, e->func, &avail);
	int ret;

	if (!p || avail < e->addr - e->func + 4 || !e->nmoved)
		return -EINVAL;
	word = word_at(p + (e->addr - e->func));
	if (e->addr != e->func && !a64_is_bti(word_at(p)))
		lead = word_at(p);		/* paciasp */
	m.to += lead ? 4 : 0;
	m.word = word;
	ret = arm64_move(&m);
	if (ret)
		return ret;
	*out = (struct uft_code){ .addr = e->addr + bias, .stub = stub, .nmoved = e->nmoved, .is_plain = e->is_plain,
				  .is_signed = lead != 0, .ncode = (uint8_t)(4 * (m.nout + (lead != 0))) };
	memcpy(out->orig, &word, 4);
	memcpy(out->code, &lead, 4);
	memcpy(out->code + (lead ? 4 : 0), m.out, 4 * m.nout);
	return 0;
}
