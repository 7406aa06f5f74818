// SPDX-License-Identifier: MIT
/*
 * function_only.c - functions that the graph tracer would disturb, and exception handlers in entries
 *
 * The graph tracer puts a return address of its own on the stack. A function that only returns does not notice; one
 * that reads the address (dlsym and others that need their caller), keeps it for later (setjmp, getcontext) or takes
 * it off the stack (vfork) does. The unwind table says where the address lies at every instruction, so they
 * are found by what they do: an operand that is exactly that stack slot. Names are only a help where a
 * function does it through another, and for runtimes whose collectors do it for all that their made code
 * calls.
 */
#include "control/relocate/internal.h"
#include "control/relocate/plan.h"

#include <string.h>

#include <Zydis/Zydis.h>

#include "runtime/arch/x86_64/encode.h"
#include "symbol/object_internal.h"

#define REG_RBP		6
#define REG_RSP		7
#define SIB_RSP		0x24	/* base rsp, no index */
#define OP_RET_POP	0xc2
#define REACH_BEHIND	129u	/* how far before and behind its target a short jump may stand */
#define REACH_AHEAD	127u
#define MAX_TAIL	32u	/* a function that is no longer and ends with a jump is what it jumps to */
#define MAX_WRAPPER	64u	/* bytes of a function that wraps setjmp() */
#define OP_JMP_INDIRECT	0xff
#define MODRM_JMP_AT	0x20	/* /4, a register's memory, no displacement */
#define MAX_DEPTH	2u
#define MAX_DECODE	1024u	/* bytes; behind these what looks like a use is taken for one */

/* ---- Operands that are the slot of the return address ---------------------------------------------- */

struct slot { const struct scan_text *t; struct entries_priv *pr; };

/*
 * Is the modrm byte at @p of an instruction that moves 64 bits and whose base register is one of the first eight?
 * push, or REX.W without REX.B, or a vector move, which compilers use to store two words at once. Decoding from
 * @start tells: a short branch over 0x24 bytes looks the same.
 */
static int looks_wide(const uint8_t *p, const uint8_t *start)
{
	static const uint8_t ops[] = { 0x8b, 0x89, 0x3b, 0x39, 0x87, 0x03, 0x2b, 0x33, 0x01, 0x29, 0x31, 0x83, 0xc7,
		0x8d };

	if (p - start < 2)
		return 0;
	if (p[-1] == 0xff)
		return (p[-2] & 0xf1) != 0x41;
	if (p[-2] == 0x0f)
		return p - start < 3 || (p[-3] & 0xf1) != 0x41;
	return (p[-2] & 0xf9) == 0x48 && memchr(ops, p[-1], sizeof(ops));
}

static int is_wide(const uint8_t *p, const uint8_t *start)
{
	size_t at = (size_t)(p - start);

	return looks_wide(p, start) &&
	       (at > MAX_DECODE || (!plan_is_boundary(start, at + 2, at) && !plan_is_boundary(start, at + 2, at + 1)));
}

/* Decoded from the start of the stretch, where does the instruction begin that has the byte at @p? NULL: unknown. */
static const uint8_t *insn_with(struct entries_priv *pr, const uint8_t *p, const uint8_t *start, const uint8_t *end,
				ZydisDecodedInstruction *in)
{
	ZydisDecoder d;

	if (!look_again(pr, (size_t)(p - start)))
		return NULL;
	ZydisDecoderInit(&d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	for (;; start += in->length) {
		if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&d, NULL, start, (size_t)(end - start), in)))
			return NULL;
		if (p < start + in->length)
			return start;
	}
}

/* Is @p really the modrm byte of an instruction? */
static int is_modrm(struct entries_priv *pr, const uint8_t *p, const uint8_t *start, const uint8_t *end)
{
	ZydisDecodedInstruction in;
	const uint8_t *first = insn_with(pr, p, start, end, &in);

	return !first || (in.attributes & ZYDIS_ATTRIB_HAS_MODRM && p == first + in.raw.modrm.offset);
}

/* An operand with base rsp and displacement @slot in [p, end). */
static int uses_rsp_slot(struct entries_priv *pr, const uint8_t *p, const uint8_t *end, int64_t slot)
{
	const uint8_t *start = p;

	for (; (p = memchr(p, SIB_RSP, (size_t)(end - p))); p++) {
		uint8_t modrm = p > start ? p[-1] & 0xc7 : 0xff;

		if (((modrm == 0x44 && end - p > 1 && (int8_t)p[1] == slot) ||
		     (modrm == 0x84 && end - p > 4 && (int32_t)uft_get32(p + 1) == slot) || (modrm == 0x04 && !slot)) &&
		    is_wide(p - 1, start) && is_modrm(pr, p - 1, start, end))
			return 1;
	}
	return 0;
}

/* 8(%rbp) */
static int uses_rbp_slot(struct entries_priv *pr, const uint8_t *p, const uint8_t *end)
{
	const uint8_t *start = p;

	for (; (p = memchr(p, 8, (size_t)(end - p))); p++)
		if (p > start && (p[-1] & 0xc7) == 0x45 && is_wide(p - 1, start) && is_modrm(pr, p - 1, start, end))
			return 1;
	return 0;
}

static int check_stretch(void *arg, const struct uft_cfa *cfa)
{
	struct entries_priv *pr = ((struct slot *)arg)->pr;
	const struct scan_text *t = ((struct slot *)arg)->t;
	uint64_t end = t->addr + t->n;
	const uint8_t *p, *stop;

	if (cfa->addr < t->addr || cfa->addr >= end)
		return 0;
	p = t->p + (cfa->addr - t->addr);
	stop = t->p + ((cfa->end < end ? cfa->end : end) - t->addr);
	if (cfa->reg == REG_RSP)
		return uses_rsp_slot(pr, p, stop, cfa->offset - 8);
	return cfa->reg == REG_RBP && cfa->offset == 16 && uses_rbp_slot(pr, p, stop);
}

/* ---- Short functions that end in another ----------------------------------------------------------- */

static const struct entry *tail(const struct entries *e, const struct scan_text *t, const struct entry *f)
{
	size_t at = f->func - t->addr;
	const uint8_t *p;

	if (f->size < 2 || f->size > MAX_TAIL || at + f->size > t->n)
		return NULL;
	p = t->p + at + f->size;
	if (f->size >= 5 && p[-5] == UFT_OP_JMP)
		return entries_find(e, uft_insn_branch_target(p - 5, 5, f->func + f->size - 5));
	if (p[-2] == UFT_OP_JMP_SHORT)
		return entries_find(e, f->func + f->size + (uint64_t)(int8_t)p[-1]);
	return NULL;
}

/* pop at the entry takes the return address off. */
static int pops(const struct scan_text *t, const struct entry *f)
{
	const uint8_t *p = t->p + (f->addr - t->addr);
	size_t left = t->n - (f->addr - t->addr);

	return left >= 2 && ((p[0] & 0xf8) == 0x58 || (p[0] == 0x41 && (p[1] & 0xf8) == 0x58));
}

/* Could a short jump or conditional one of a neighbour lead to the start of @f? Taken for one without decoding. */
static int is_jumped_to(const struct scan_text *t, const struct entry *f)
{
	size_t func = f->func - t->addr, site = f->addr - t->addr, at = func > REACH_BEHIND ? func - REACH_BEHIND : 0;

	for (; at + 1 < t->n && at < site + REACH_AHEAD; at++) {
		size_t to = at + 2 + (size_t)(int8_t)t->p[at + 1];

		if ((to == func || to == site) && (t->p[at] == UFT_OP_JMP_SHORT || (t->p[at] & 0xf0) == 0x70) &&
		    (at < func || at - func >= f->size))
			return 1;
	}
	return 0;
}

/*
 * Code that a runtime makes has no unwind data, so its collector reads the return addresses of calls into the runtime
 * and looks them up. Which functions such code calls cannot be seen: any whose address is somewhere.
 */
static int is_called_by_made_code(const struct entries *e, const struct scan_text *t, const struct entry *f)
{
	return e->priv->scan->is_runtime && (scan_bit(t->pointed, f->func - t->addr) ||
					     scan_bit(t->pointed, f->addr - t->addr) || is_jumped_to(t, f));
}

/* lea CFA(%rsp), %rdi: what is the stack pointer of the caller behind this call is handed to another function. */
static int hands_on(void *arg, const struct uft_cfa *cfa)
{
	static const uint8_t lea[] = { 0x48, 0x8d, 0x7c, SIB_RSP };
	const struct scan_text *t = ((struct slot *)arg)->t;
	const uint8_t *p, *stop;

	if (cfa->reg != REG_RSP || cfa->offset > 127 || cfa->addr < t->addr || cfa->end > t->addr + t->n)
		return 0;
	p = t->p + (cfa->addr - t->addr);
	for (stop = t->p + (cfa->end - t->addr); stop - p > (long)sizeof(lea); p++)
		if (!memcmp(p, lea, sizeof(lea)) && p[sizeof(lea)] == cfa->offset)
			return 1;
	return 0;
}

/*
 * And then it jumps to where a pointer says: a wrapper of setjmp(), which keeps the return address
 * (ThreadSanitizer has such).
 */
static int wraps_setjmp(struct entries_priv *pr, const struct scan_text *t, const struct entry *f, size_t i)
{
	struct slot slot = { t, pr };
	size_t at = f->func - t->addr;
	const uint8_t *end = t->p + at + f->size;

	return f->size >= 8 && f->size <= MAX_WRAPPER && at + f->size <= t->n && pr->of[i] != ~0u &&
		end[-2] == OP_JMP_INDIRECT &&
	       (end[-1] & 0xf8) == MODRM_JMP_AT && uft_unwind_each(&pr->unwind[pr->of[i]], hands_on, &slot);
}

/* Ends with `ret $n`: the graph tracer looks for the slot in the wrong place then. */
static int returns_popping(struct entries_priv *pr, const struct scan_text *t, const struct entry *f)
{
	size_t at = f->func - t->addr;
	const uint8_t *start = t->p + at, *end = start + f->size, *first;
	ZydisDecodedInstruction in;

	if (f->size < 3 || f->size > t->n - at || end[-3] != OP_RET_POP || !end[-2] || end[-2] & 7 || end[-1])
		return 0;
	first = insn_with(pr, end - 3, start, end, &in);
	return !first || first == end - 3;
}

int plain_is(struct uft_object *obj, const struct entries *e, const struct scan_text *t, size_t i, unsigned depth)
{
	const struct entry *f = &e->entry[i], *next;
	struct slot slot = { t, e->priv };

	if (e->priv->scan->has_frame_table)
		return 1;
	for (size_t k = 0; k < e->priv->scan->nspecial; k++)
		if (e->priv->scan->special[k] == f->func)
			return 1;
	if (wraps_setjmp(e->priv, t, f, i) || pops(t, f) || is_called_by_made_code(e, t, f) ||
	    returns_popping(e->priv, t, f))
		return 1;
	if (e->priv->of[i] != ~0u && uft_unwind_each(&e->priv->unwind[e->priv->of[i]], check_stretch, &slot))
		return 1;
	next = depth < MAX_DEPTH ? tail(e, t, f) : NULL;
	return next && next != f && scan_text(e->priv->scan, next->func) == t &&
	       plain_is(obj, e, t, (size_t)(next - e->entry), depth + 1);
}
