/* SPDX-License-Identifier: MIT */
/*
 * short.h - code of at most eight bytes as a number: byte i is bits 8i
 */
#ifndef UFT_PATCH_SHORT_H
#define UFT_PATCH_SHORT_H

#include "runtime/patch/bytes/bytes.h"

static inline uint64_t short_branch(uint8_t op, uintptr_t pc, uintptr_t target)
{
	return op | (uint64_t)(uint32_t)(target - (pc + 5)) << 8;
}

/* The prefixes that make a call one of @n bytes, 5..8. */
static inline uint64_t short_prefixes(unsigned n)
{
	static const uint32_t prefix[] = { 0, 0x67, 0x2e67, 0x2e2e67 };

	return prefix[n - 5];
}

/* uft_insn_call_padded() as a number. */
static inline uint64_t short_call(unsigned n, uintptr_t pc, uintptr_t target)
{
	return short_prefixes(n) | short_branch(UFT_OP_CALL, pc + n - 5, target) << 8 * (n - 5);
}

/* One nop of @n bytes, 5..8. */
static inline uint64_t short_nop(unsigned n)
{
	static const uint64_t nop[] = {
		0x0000441f0f, 0x0000441f0f67 /* addr32: so a padded call differs from the second byte on only */,
		0x00000000801f0f, 0x0000000000841f0f,
	};

	return nop[n - 5];
}

/* The bytes that all sites of one kind and length have in a form, except for their addresses. */
struct shape {
	uint64_t bits;		/* the same for all */
	uint64_t keep;		/* as found */
	uintptr_t to;		/* target of stub 0's branch, less the length up to the branch's end */
	uint32_t step;		/* from one stub's target to the next's */
	uint8_t is_branch, shift;
};

static inline struct shape branch_shape(uint8_t op, unsigned skip, uintptr_t to, uint32_t step)
{
	return (struct shape){ .bits = (uint64_t)op << 8 * skip, .to = to - skip - 5, .step = step, .is_branch = 1,
			       .shift = (uint8_t)(8 * (skip + 1)) };
}

/* The shape of a SITE_SHORT site: the bytes of site_code(), as a number. */
static inline struct shape shape_of(const struct patch_object *o, const struct patch_site *s, unsigned form)
{
	unsigned kind = s->kind_len & 0xf, len = s->kind_len >> 4;
	int is_nop = kind == UFT_SITE_NOP || kind == UFT_SITE_MCOUNT_NOP;
	struct shape c = { .keep = code_mask(len) };

	if (form == FORM_FUNCTION || (form == FORM_GRAPH && s->bits & SITE_FRAME)) {
		c = form == FORM_GRAPH ? branch_shape(UFT_OP_CALL, len - 5, o->stub_base, UFT_STUB_BYTES) :
		    branch_shape(UFT_OP_CALL, len - 5, o->thunk[s->bits & SITE_FRAME ? THUNK_MFUNC : THUNK_FUNC], 0);
		c.bits |= short_prefixes(len);
		return c;
	}
	if (form == FORM_GRAPH)
		c = branch_shape(UFT_OP_JMP, 0, o->stub_base, UFT_STUB_BYTES);
	if (form == FORM_GRAPH && is_nop)
		c.keep = code_mask(len) & ~code_mask(5);
	else if (form == FORM_GRAPH)
		c.bits |= short_nop(len) & ~code_mask(5);
	else if (form == FORM_NOP && !is_nop)
		c = (struct shape){ .bits = short_nop(len) };
	return c;
}

static inline uint64_t shape_code(const struct shape *c, const struct patch_site *s, uint32_t stub)
{
	uint64_t code = c->bits, orig;

	if (c->is_branch)
		code |= (uint64_t)(uint32_t)(c->to + stub * c->step - s->addr) << c->shift;
	if (c->keep) {
		__builtin_memcpy(&orig, s->orig, 8);
		code |= orig & c->keep;
	}
	return code;
}

_Static_assert(offsetof(struct patch_site, kind_len) == 8 && offsetof(struct patch_site, orig) == 16, "the record");
/* The eight bytes of a record from kind_len on: all of it except the address and the bytes as found. */
static inline uint64_t record_of(const struct patch_site *s)
{
	uint64_t record;

	__builtin_memcpy(&record, &s->kind_len, 8);
	return record;
}

_Static_assert(offsetof(struct uft_patch, stub) == 8 && offsetof(struct uft_patch, status) == 15, "the request");
/* kind_len, state, action and status of a request as one number. */
static inline uint32_t request_of(const struct uft_patch *p)
{
	uint32_t request;

	__builtin_memcpy(&request, &p->kind_len, 4);
	return request;
}

/* ---- writing --------------------------------------------------------------------------------------- */

/* A jump over the other bytes. */
static inline uint16_t stand_in(unsigned len)
{
	return (uint16_t)(UFT_OP_JMP_SHORT | (len - 2) << 8);
}

/* Makes the change by one store, if one is enough. @change: old ^ new, of @len bytes. 1: done. */
static inline __attribute__((always_inline)) int change_at_once(uintptr_t at, unsigned len, uint64_t change, int st8_ok)
{
	unsigned lo = 0, in = (unsigned)at & 7, hi;

	if (!st8_ok && change & 0xff && change > 0xff)
		return 0;
	if (!st8_ok || in + len > 8) {
		lo = item_first(change);
		hi = item_last(change);
		if (!item_fits(at, lo, hi, 8) || (!st8_ok && lo != hi))
			return 0;
		in = (unsigned)(at + lo) & 7;
	}
	at = (at + lo) & ~7ul;
	arch_text_store8((void *)at, *(const uint64_t *)at ^ change >> 8 * lo << 8 * in);
	return 1;
}

/* Writes the bytes behind a stand-in. */
static inline void put_tail(uint8_t *at, unsigned len, uint64_t code)
{
	arch_text_store2(at + 2, (uint16_t)(code >> 16));
	if (len >= 6)
		arch_text_store2(at + 4, (uint16_t)(code >> 32));
	if (len == 8)
		arch_text_store2(at + 6, (uint16_t)(code >> 48));
	else if (len & 1)
		arch_text_store1(at + len - 1, (uint8_t)(code >> 8 * (len - 1)));
}

#endif
