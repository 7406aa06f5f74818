/* SPDX-License-Identifier: MIT */
/* unwind.h - internal to symbol/: function starts from the unwind tables */
#ifndef UFT_SYMBOL_UNWIND_H
#define UFT_SYMBOL_UNWIND_H

#include "symbol/elf_view.h"
#include "symbol/object.h"

struct uw_range { uint64_t addr, size, fde /* vaddr of the entry */; };

struct uw_list {
	struct uw_range *range;	/* by address, each address once; for bound_free() */
	size_t n;
	int from_hdr;		/* 1: .eh_frame_hdr, 0: walked .eh_frame */
};

/*
 * Lists the functions of the unwind tables: .eh_frame_hdr's search table, else all of .eh_frame. Fills sizes only with
 * @want_sizes (each needs a read of the entry itself); 0: unknown. 0, also when there is no table (n = 0), or -ENOMEM.
 * Damaged entries are left out.
 */
int uw_functions(struct elf_view *v, int want_sizes, struct uw_list *out);

/* Lists only the starts, as uw_functions() does: a third of the memory, which matters with 100,000 functions. */
struct uw_starts {
	uint64_t *addr;		/* rising, each once; for bound_free() */
	size_t n;
	int from_hdr;
};
int uw_starts(struct elf_view *v, struct uw_starts *out);

/*
 * Reads what entry @r->fde has besides its range: fills all of *u, whose pointers are into the file. 0: not readable,
 * or the entry of another function. @cie is a cache, zero at first.
 */
struct uw_cie {
	uint64_t vaddr;
	uint8_t enc, lsda_enc;
	int has_data /* entries have augmentation data */, is_signal, valid;
	uint64_t code_align;
	int64_t data_align;
	struct uft_cfa start;		/* rule behind its own instructions */
	int has_no_parent;
};
int uw_details(struct elf_view *v, const struct uw_range *r, struct uw_cie *cie, struct uft_unwind *u);

/*
 * Lists the functions that land in exception handlers, that is those that use gcc's __builtin_eh_return. Only they
 * save, besides the call-saved registers, the two that carry values to a handler, and the unwind table tells it. In
 * libgcc these are _Unwind_RaiseException, _Resume, _Resume_or_Rethrow and _ForcedUnwind. Returns how many were found,
 * at most @max.
 */
size_t uw_landers(struct elf_view *v, struct uw_range *out, size_t max);

#endif
