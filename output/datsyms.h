/* SPDX-License-Identifier: MIT */
/*
 * datsyms.h - one address space for all functions of a stream
 *
 * trace.dat was made for one kernel: an address means one function in the whole file. A recording has many
 * address spaces, so every function written is given an address here, and kallsyms says what it means.
 * The first image keeps its own addresses. An image that overlaps an earlier one (two programs at 0x401000) moves
 * as a whole by a multiple of 2^48 (its slot), which no user address reaches: what is below stays recognisable. Only
 * the latest slots are tried, and trees tell what is covered in a slot, so images of M objects cost M log M steps.
 * Context: control, one thread.
 */
#ifndef UFT_OUTPUT_DATSYMS_H
#define UFT_OUTPUT_DATSYMS_H

#include "stream/stream.h"
#include "symbol/hash_index.h"

struct dat_entry {
	uint64_t addr;
	const struct uft_sym *sym;
};

struct dat_syms {
	uint32_t first_slot;		/* addresses of others that are shown beside ours are not ours */
	struct uft_stream *st;
	uint64_t *addr;			/* by uft_sym.index; 0: none given yet */
	size_t naddr;
	struct dat_entry *entry;	/* all that were given */
	uint32_t nentry, cap;
	struct hash_index by_addr;	/* of entry */
	uint32_t nslots;		/* used so far, from first_slot on */
	void *images, *ranges;		/* tsearch(3): those placed so far, and what they cover in their slots */
};

void dat_syms_init(struct dat_syms *syms);
void dat_syms_free(struct dat_syms *syms);
/* Gives @sym, seen in @img, an address. 0: no memory. */
uint64_t dat_syms_add(struct dat_syms *syms, const struct uft_image *img, const struct uft_sym *sym);

/* The address of @sym; 0 for NULL or without memory. */
static inline uint64_t dat_syms_addr(struct dat_syms *syms, const struct uft_image *img, const struct uft_sym *sym)
{
	if (!sym)
		return 0;
	if (sym->index < syms->naddr && syms->addr[sym->index])
		return syms->addr[sym->index];
	return dat_syms_add(syms, img, sym);
}

/* /proc/kallsyms of what was given, by address. malloc'd; NULL without memory. */
char *dat_syms_text(struct dat_syms *syms, size_t *len);

#endif
