/* SPDX-License-Identifier: MIT */
/* internal.h - what the files of relocate/ share; theory in entry.c */
#ifndef UFT_CONTROL_RELOCATE_INTERNAL_H
#define UFT_CONTROL_RELOCATE_INTERNAL_H

#include "control/relocate/entry.h"
#include "control/relocate/scan.h"

#define ENTRY_JUMP	5u	/* bytes of the long form, and of a pad */
#define ENTRY_SHORT_JUMP 2u
#define ENTRY_TRAP	1u
#define FUNCTION_ALIGN	16u	/* compilers align functions so, but not the parts that they split off */
#define GAP_LOOK	16u	/* bytes of padding looked at behind a short function */

/* The padding behind an entry. Pads are taken from its end, downwards. */
struct gap {
	uint8_t state;		/* enum gap_state */
	uint8_t low, high;	/* free bytes, from the entry's end */
};
enum gap_state { GAP_UNKNOWN, GAP_NONE, GAP_FREE };

struct entries_priv {
	struct uft_unwind *unwind;
	size_t nunwind, hint;	/* hint: of unwind_at(), the one found last */
	uint32_t *of;		/* by entry: index of its unwind entry, or ~0 */
	struct gap *gap;	/* by entry */
	struct scan *scan;	/* made when first planned */
	struct uft_range *ours;
	size_t nours;
	size_t left;		/* bytes that may be looked at again, whatever the file makes us do */
};
#define LOOK_TWICE	(1u << 20)	/* that many bytes and so many times the text: 50 times what real files need */
#define LOOK_TIMES	8u

static inline int look_again(struct entries_priv *pr, size_t bytes)
{
	if (pr->left < bytes)
		return 0;
	pr->left -= bytes;
	return 1;
}

/* Index of the last entry at or before @addr; e->n if there is none. */
size_t entries_index(const struct entries *e, uint64_t addr);

/* near.c: short branches around an entry. Bits: 1 << (offset from the site + SHORT_BEFORE). */
#define SHORT_BEFORE	4
unsigned short_branches(const struct entries *e, const struct scan_text *t, size_t i);

/* pad.c: a pad for entry @i within reach of a short jump at @site, taken; 0: none. */
uint64_t pad_take(struct entries *e, const struct scan_text *t, size_t i, uint64_t site);
/* Bytes of padding that begin at @p, of whole nops and int3. */
size_t pad_length(const uint8_t *p, size_t n);

/* pun.c: */
/* bytes from the site on, up to 8, that nothing else changes */
unsigned pun_known(const struct entries *e, const struct scan_text *t, size_t i);
/* May a jump lead anywhere of which the first @change bytes of @bytes are ours, and of which all are @known? */
int pun_may_lead(struct uft_object *obj, uint64_t addr, const uint8_t *bytes, unsigned change, unsigned known);

/* function_only.c: it is for the function tracer only. */
int plain_is(struct uft_object *obj, const struct entries *e, const struct scan_text *t, size_t i, unsigned depth);
/* landing.c: 1: an exception handler begins in [addr, addr + n). */
int lands_in(struct uft_object *obj, struct entries_priv *pr, const struct uft_unwind *u, uint64_t addr, unsigned n);

/* entry_table.c: it has unwind data of its own and is never called: a part of another function. */
int entry_is_part(const struct scan_text *t, const struct entry *f);
/* 1: a place that tracing itself needs is in [addr, addr + n). */
int entries_is_ours(const struct entries_priv *pr, uint64_t addr, unsigned n);

/* arm64.c, arm64_scan.c */
/* 1: what stands there is a direct branch that is no call */
int arm64_jump(const uint8_t *p, uint64_t at, uint64_t *to);
void arm64_scan(struct scanner *sc, const struct scan_text *t);
int arm64_plan(struct uft_object *obj, struct entries *e, const struct scan_text *t, size_t i);	/* enum entry_skip */
int arm64_code(struct uft_object *obj, const struct entry *e, uint64_t bias, uint64_t at, struct uft_code *out);

/* riscv64.c, riscv64_scan.c: the same, but for @avail, and functions are known by symbols. */
int riscv64_jump(const uint8_t *p, size_t avail, uint64_t at, uint64_t *to);
void riscv64_scan(struct scanner *sc, const struct entries *e, const struct scan_text *t);
int riscv64_plan(struct uft_object *obj, struct entries *e, const struct scan_text *t, size_t i);
int riscv64_code(struct uft_object *obj, const struct entry *e, uint64_t bias, uint64_t at, struct uft_code *out);

/* grow.c: stacks without room for a handler. */
int grow_is_go(struct uft_object *obj);		/* what only symbols know is Go */
int grow_is_split(struct uft_object *obj, const struct entries *e);

#endif
