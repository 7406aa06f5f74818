/* SPDX-License-Identifier: MIT */
/*
 * unwind_slots.c - restore return addresses for unwind.c and hook them again, where a slot is the address of the return
 * address (ARCH_SLOT_IN_MEMORY)
 */
#include "runtime/trace/shadow/shadow.h"

#define OWN_STACK	8192u		/* of the runtime's own frames, below the unwinder */
#define BATCH		32

/* Reads the slots of up to BATCH entries from @e on; returns how many could be read. */
static uint32_t unwind_peek(const struct fg_entry *e, uint32_t n, uint64_t *values)
{
	struct plat_range slot[BATCH];
	long got;

	for (uint32_t i = 0; i < n; i++)
		slot[i] = (struct plat_range){ e[i].slot, 8 };
	got = plat_peek_ranges(slot, n, values);
	return got < 0 ? 0 : (uint32_t)got / 8;
}

/* The words to write for entries of one batch, from the top down: of tail calls in one slot the last word stays. */
struct restore {
	struct fg_entry *e[BATCH];
	struct plat_range slot[BATCH];
	uint64_t word[BATCH];
	uint32_t n;
};

/*
 * The content of the slot of @e after the words before it are written. @value: the present content; NULL: it is to be
 * read.
 */
static int restore_now(const struct restore *r, const struct fg_entry *e, const uint64_t *value, uint64_t *now)
{
	if (r->n && r->e[r->n - 1]->slot == e->slot) {
		*now = r->word[r->n - 1];
		return 0;
	}
	if (!value)
		return plat_peek((const void *)e->slot, now, 8);
	*now = *value;
	return 0;
}

/*
 * Writes through the kernel, because another thread may unmap the stack of a slot at any moment. Returns how many words
 * were written.
 */
static uint32_t restore_write(const struct restore *r)
{
	uint32_t done = plat_poke_ranges(r->slot, r->n, r->word) == 8 * (long)r->n ? r->n : 0, restored = done;

	for (uint32_t i = 0; i < r->n; i++) {
		if (!done && plat_poke(r->e[i]->slot, r->word[i]))
			continue;
		restored += !done;
		arch_local_or32(&r->e[i]->flags, FG_RESTORED);
	}
	return restored;
}

/* From the top down, so that a tail call's slot gets its caller's hook and then that caller's parent. */
uint32_t unwind_restore_array(struct uft_thread *th, uint64_t sp, uint64_t *frame)
{
	struct fg_entry *e = th->top;
	uint64_t values[BATCH], now;
	uint32_t restored = 0;

	(void)frame;
	while (e > th->base) {
		uint32_t n = e - th->base < BATCH ? (uint32_t)(e - th->base) : BATCH, readable;
		struct restore r;

		e -= n;
		r.n = 0;
		readable = unwind_peek(e, n, values);
		for (uint32_t i = n; i-- > 0;) {
			if (e[i].slot == FG_NO_SLOT || sp - e[i].slot - 1 < OWN_STACK)
				continue;
			if (restore_now(&r, &e[i], readable == n ? &values[i] : NULL, &now) ||
			    now != e[i].ret /* GUARD(unwind_restored, 1) */)
				continue;
			r.e[r.n] = &e[i];
			r.slot[r.n] = (struct plat_range){ e[i].slot, 8 };
			r.word[r.n++] = e[i].parent;
		}
		restored += restore_write(&r);
	}
	return restored;
}

void unwind_restore_aside(uint64_t sp, uint64_t reach)
{
	for (struct fg_entry *e = NULL; (e = aside_next(e));) {
		uint64_t now;

		if (e->slot - sp >= reach || plat_peek((const void *)e->slot, &now, 8) || now != e->ret ||
		    plat_poke(e->slot, fg_true_parent(e->slot, now, e) /* GUARD(unwind_true_parent, e->parent) */))
			continue;
		arch_local_or32(&e->flags, FG_RESTORED);
	}
}

int unwind_rehook_entry(struct fg_entry *e, const struct fg_entry *keep)
{
	uint64_t now = 0;

	if (plat_peek((const void *)e->slot, &now, 8))
		return 0;
	/*
	 * A tail call's entry: it was being entered, or returning, when the walk began, and only its caller's was
	 * restored.
	 */
	if (fg_is_its_hook(e, keep, now))
		return 1;
	return now == e->parent && !plat_poke(e->slot, e->ret) /* GUARD(unwind_rehooks) */;
}
