// SPDX-License-Identifier: MIT
/*
 * riscv64.c - decide which entries can be rewritten, riscv64
 *
 * A j takes four bytes: one instruction or two, so nothing may lead between them. Most C code here has no
 * unwind entries; what a symbol with a size names is taken for a function as well (entry.c). Compilers put no
 * data into text, so code is read from each function's start on.
 *
 * Jump tables are not read: code with an indirect jump must begin with what makes its frame, which no loop
 * repeats (as on arm64).
 */
#include "control/relocate/internal.h"
#include "control/relocate/riscv64_insn.h"
#include "control/relocate/riscv64_move.h"

#include <errno.h>
#include <string.h>

#include "runtime/arch/riscv64/encode.h"
#include "symbol/object_internal.h"

#define SITE_BYTES	4u
#define MAX_TAIL	16u	/* bytes: a function that is no longer and ends with a jump is what it jumps to */
#define MAX_DEPTH	2u
#define LI_A7_CLONE	0x0dc00893u	/* li a7, 220 */

/* ---- Instructions of a function --------------------------------------------------------------- */

struct body { const uint8_t *p; size_t n; uint64_t addr; };

static struct body body_of(const struct scan_text *t, const struct entry *f)
{
	size_t at = f->addr - t->addr;

	return (struct body){ t->p + at, f->size < t->n - at ? f->size : t->n - at, f->addr };
}

/* addi sp, sp, -n */
static int makes_frame(uint32_t w, unsigned len)
{
	return len == 4 ? (w & 0x800fffffu) == 0x80010113u : (w & 0xff83u) == 0x7101u || (w & 0xff83u) == 0x1101u;
}

struct traits { int jumps, returns_by_t0, calls, has_clone; };

static struct traits traits_of(const struct body *b)
{
	struct traits r = { 0 };
	unsigned len;

	for (size_t i = 0; i + 2 <= b->n; i += len) {
		uint32_t w = insn_at(b->p + i, b->n - i, &len), jump = register_jump(w, len);

		r.calls |= is_call(w, len);
		r.has_clone |= len == 4 && w == LI_A7_CLONE;
		if (!jump || rd_of(jump) || rs1_of(jump) == RV_RA)
			continue;
		r.returns_by_t0 |= rs1_of(jump) == RV_T0;
		r.jumps = 1;
	}
	return r;
}

/* ra goes elsewhere than into the frame: moved, stored, computed with. */
static int reads_ra(uint32_t w, unsigned len)
{
	unsigned rs2 = w >> 20 & 31;

	if (len == 2)
		return (w & 0xe07fu) == 0x8006u && rd_of(w);		/* c.mv, c.add */
	switch (w & 0x7fu) {
	case 0x23: return rs2 == RV_RA && rs1_of(w) != RV_SP;
	case 0x13: case 0x1b: return rs1_of(w) == RV_RA;
	case 0x33: case 0x3b: return rs1_of(w) == RV_RA || rs2 == RV_RA;
	default: return 0;
	}
}

static int saves_ra(uint32_t w, unsigned len)
{
	return len == 2 ? (w & 0xe07fu) == 0xe006u : (w & 0x707fu) == 0x3023u && (w >> 20 & 31) == RV_RA &&
	rs1_of(w) == RV_SP;
}

static int writes_ra(uint32_t w, unsigned len)
{
	unsigned op = w & 0x7fu;

	if (is_call(w, len))
		return 1;
	if (len == 2)
		return (w & 0xef83u) == 0x6082u || (w & 0xef83u) == 0x4081u;	/* c.ldsp ra, c.li ra */
	return rd_of(w) == RV_RA && op != 0x23 && op != 0x63;
}

/* ld x, -8(s0): the return address from below the frame pointer */
static int loads_record(uint32_t w, unsigned len)
{
	return len == 4 && (w & 0xfffff07fu) == 0xff843003u && rd_of(w) != RV_RA;
}

/*
 * Does it look at the address that it will return to? The value is followed from the start to where it ends
 * on every way.
 */
static int looks_at_return(const struct body *b)
{
	uint64_t end = b->addr, to;
	unsigned nsaved = 0, len;
	int is_over = 0;

	for (size_t i = 0; i + 2 <= b->n; i += len) {
		uint32_t w = insn_at(b->p + i, b->n - i, &len);

		if (loads_record(w, len))
			return 1;
		if (is_over || !w)
			continue;
		if (reads_ra(w, len))
			return 1;
		nsaved += (unsigned)saves_ra(w, len);
		if (nsaved > 1)
			return 1;
		if (riscv64_jump(b->p + i, b->n - i, b->addr + i, &to) && to - b->addr < b->n && to > end)
			end = to;
		if (!writes_ra(w, len))
			continue;
		if (end <= b->addr + i)
			is_over = 1;				/* nobody has it any more */
		else
			len = (unsigned)(end - b->addr - i);	/* a branch led there while it was whole */
	}
	return 0;
}

/* Where it goes on if it is short and ends with a jump: jr by way of auipc as well. */
static const struct entry *tail(const struct entries *e, const struct body *b, const struct entry *f)
{
	uint64_t value[32] = { 0 }, to = 0;
	unsigned len;

	for (size_t i = 0; f->size <= MAX_TAIL && i + 2 <= b->n; i += len) {
		uint32_t w = insn_at(b->p + i, b->n - i, &len), jump = register_jump(w, len);

		if (len == 4 && (w & 0x7fu) == 0x17u)
			value[rd_of(w)] = b->addr + i + (uint64_t)(int64_t)(int32_t)(w & 0xfffff000u);
		if (jump && !rd_of(jump) && value[rs1_of(jump)])
			to = value[rs1_of(jump)] + (uint64_t)((int64_t)(int32_t)jump >> 20);
		else if (!riscv64_jump(b->p + i, b->n - i, b->addr + i, &to))
			to = 0;
	}
	return to ? entries_find(e, to) : NULL;
}

static int is_plain(const struct entries *e, const struct scan_text *t, const struct entry *f, unsigned depth)
{
	struct body b = body_of(t, f);
	struct traits r = traits_of(&b);
	const struct entry *next;

	if (e->priv->scan->has_frame_table || (depth && !look_again(e->priv, b.n)))
		return 1;
	for (size_t k = 0; k < e->priv->scan->nspecial; k++)
		if (e->priv->scan->special[k] == f->func)
			return 1;
	if (scan_is_called_by_made_code(e->priv->scan, t, f->func, f->addr) || looks_at_return(&b) ||
	    (r.has_clone && !r.calls))
		return 1;
	next = depth < MAX_DEPTH ? tail(e, &b, f) : NULL;
	return next && next != f && scan_text(e->priv->scan, next->func) == t && is_plain(e, t, next, depth + 1);
}

/* ---- One entry -------------------------------------------------------------------------------- */

int riscv64_plan(struct uft_object *obj, struct entries *e, const struct scan_text *t, size_t i)
{
	struct entry *f = &e->entry[i];
	const struct uft_unwind *u = e->priv->of[i] == ~0u ? NULL : &e->priv->unwind[e->priv->of[i]];
	size_t at = f->func - t->addr, avail;
	struct body b = body_of(t, f);
	struct riscv64_move m;
	struct traits r;
	unsigned len;
	uint32_t first;
	int ret;

	/* segments overlap: it is here and there */
	if (object_code(obj, f->func, &avail) != t->p + at || f->func & 1)
		return ENTRY_DATA;
	if (!scan_bit(t->called, at) && (scan_bit(t->part, at) || f->func & (FUNCTION_ALIGN - 1)))
		return ENTRY_NOT_FUNCTION;
	if (b.n < SITE_BYTES)
		return ENTRY_SHORT;
	if (entries_is_ours(e->priv, f->addr, SITE_BYTES))
		return ENTRY_OURS;
	r = traits_of(&b);
	first = insn_at(b.p, b.n, &len);
	if (r.returns_by_t0)
		return ENTRY_FLAGS;
	if (scan_bit(t->looped, at) || scan_any(t, t->target, f->addr + 1, SITE_BYTES - 1) ||
	    (u && lands_in(obj, e->priv, u, f->addr, SITE_BYTES)) || (r.jumps && !makes_frame(first, len)))
		return ENTRY_BRANCH;
	m = (struct riscv64_move){ .from = f->addr, .to = f->addr, .code = b.p, .avail = b.n };
	ret = riscv64_move(&m);
	if (ret)
		return ret == -ENOTSUP ? ENTRY_INSN : ENTRY_DATA;
	if (m.nread < SITE_BYTES)
		return ENTRY_SHORT;
	f->nmoved = (uint8_t)m.nread;
	f->is_plain = (uint8_t)is_plain(e, t, f, 0);
	return ENTRY_OK;
}

/* ---- Its code --------------------------------------------------------------------------------- */

int riscv64_code(struct uft_object *obj, const struct entry *e, uint64_t bias, uint64_t at, struct uft_code *out)
{
	struct riscv64_move m = { .from = e->addr + bias, .to = at };
	uint32_t stub = out->stub;
	int ret;

	m.code = object_code(obj, e->addr, &m.avail);
	if (!m.code || !e->nmoved)
		return -EINVAL;
	ret = riscv64_move(&m);
	if (ret)
		return ret;
	*out = (struct uft_code){ .addr = e->addr + bias, .stub = stub, .nmoved = e->nmoved, .ncode = (uint8_t)m.ncode,
				  .is_plain = e->is_plain };
	memcpy(out->orig, m.code, e->nmoved);
	memcpy(out->code, m.out, m.ncode);
	return 0;
}
