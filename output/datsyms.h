/* SPDX-License-Identifier: MIT */
/*
 * datsyms.h - one address space for all functions of a stream
 *
 * trace.dat was made for one kernel: an address means one function in the whole file. A recording has many address
 * spaces, so each function that is written gets an address here, and kallsyms names it. The first image keeps its own
 * addresses. An image that overlaps an earlier one (two programs at 0x401000) moves as a whole by a multiple of 2^48
 * (its slot). No user address reaches 2^48, so the bits below still show the original address. Only the latest slots
 * are tried, and trees hold the covered ranges of the slots, so images of M objects cost M log M steps. Context:
 * control, one thread.
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
	void *images, *ranges;		/* tsearch(3): placed images, and the ranges that they cover in their slots */
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

/* /proc/kallsyms of all functions that have an address here, by address. malloc'd; NULL: no memory. */
char *dat_syms_text(struct dat_syms *syms, size_t *len);

#endif
