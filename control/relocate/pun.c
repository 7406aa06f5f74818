// SPDX-License-Identifier: MIT
/*
 * pun.c - entries for a jump that ends in bytes of the program (runtime/patch/bytes/punned_jump.c says what that is)
 *
 * What can be told from a file: how many bytes may change, how many behind them stay what they are, and
 * whether any of the displacements that this leaves may lead to where nothing is. Whether something is there
 * is seen in the process.
 */
#include "control/relocate/internal.h"

#include <elf.h>

#include "symbol/object_internal.h"

#define JUMP		5u
#define LOWEST		0x10000u	/* below it no program may map memory */
#define BRK_AWAY	(32ull << 20)	/* so far behind a program its heap may begin */

/* The addresses that the object takes itself. */
static void extent(const struct uft_object *obj, uint64_t *lo, uint64_t *hi)
{
	const struct elf_view *v = &object_priv(obj)->view;

	*lo = UINT64_MAX;
	*hi = 0;
	for (size_t i = 0; i < v->nph; i++) {
		const Elf64_Phdr *ph = &v->ph[i];

		if (ph->p_type != PT_LOAD)
			continue;
		*lo = ph->p_vaddr < *lo ? ph->p_vaddr : *lo;
		*hi = ph->p_vaddr + ph->p_memsz > *hi ? ph->p_vaddr + ph->p_memsz : *hi;
	}
}

/* May a page of [at, at + size) be free, as far as the file tells? A program's heap comes behind it. */
static int may_be_free(struct uft_object *obj, int64_t at, int64_t size)
{
	int is_program = obj->type == ET_EXEC || obj->is_static || uft_object_interp(obj);
	uint64_t lo, hi;

	extent(obj, &lo, &hi);
	if (is_program)
		hi += BRK_AWAY + UFT_HEAP_ROOM;
	if (obj->type == ET_EXEC && at + size <= LOWEST)
		return 0;
	return at < (int64_t)(lo & ~(uint64_t)(UFT_PAGE - 1)) || at + size > (int64_t)hi;
}

int pun_may_lead(struct uft_object *obj, uint64_t addr, const uint8_t *bytes, unsigned change, unsigned known)
{
	for (unsigned prefixes = 0; prefixes < change && prefixes + JUMP <= known; prefixes++) {
		unsigned ours = change - 1 - prefixes, at = change;
		uint32_t rel = 0;

		for (unsigned i = ours; i < 4; i++)
			rel |= (uint32_t)bytes[at++] << 8 * i;
		if (may_be_free(obj, (int64_t)addr + prefixes + JUMP + (int32_t)rel, (int64_t)1 << 8 * ours))
			return 1;
	}
	return 0;
}

/* Nothing of it will ever change. */
static int is_left(const struct scan_text *t, const struct entry *f)
{
	return f->skip == ENTRY_NOT_FUNCTION || f->skip == ENTRY_NO_UNWIND || entry_is_part(t, f);
}

unsigned pun_known(const struct entries *e, const struct scan_text *t, size_t i)
{
	const struct entry *f = &e->entry[i];
	uint64_t most = f->addr + UFT_PUN_KNOWN, end = f->func + f->size;

	if (entries_is_ours(e->priv, f->addr, UFT_PUN_KNOWN))
		return 0;
	if (most > t->addr + t->n)
		most = t->addr + t->n;
	for (size_t k = i + 1; k < e->n && end < most; k++) {
		const struct entry *next = &e->entry[k];
		uint64_t begin = next->func - (next->before ? JUMP : 0);

		/* Padding may become a pad, but for the bytes that a jump of the function itself would take (pad.c). */
		if (begin > end && k == i + 1 && f->addr + JUMP > end)
			end = f->addr + JUMP;
		if (begin > end)
			return (unsigned)((end < most ? end : most) - f->addr);
		if (!is_left(t, next))
			return (unsigned)((begin < most ? begin : most) - f->addr);
		end = next->func + next->size;
	}
	return (unsigned)(most - f->addr);
}
