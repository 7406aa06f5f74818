/* SPDX-License-Identifier: MIT */
/* unwind_slots.c - what unwind.c restores and hooks again, where a slot is the address of the return address (ARCH_SLOT_IN_MEMORY) */
#include "runtime/trace/trace.h"

#define UNWIND_REACH	(16u << 20)	/* set-aside entries so far above the unwinder may be on its stack */
#define OWN_STACK	8192u		/* below the unwinder: our own frames */
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

static int unwind_restore_entry(struct fg_entry *e)
{
	uint64_t *slot = (uint64_t *)e->slot;

	if (*slot != e->ret)
		return 0;
	*slot = e->parent;
	arch_local_or32(&e->flags, FG_RESTORED);
	return 1;
}

/* Top down, so that a tail call's slot gets its caller's hook and then that one's parent. */
uint32_t unwind_restore_array(struct uft_thread *th, uint64_t sp, uint64_t *frame)
{
	struct fg_entry *e = th->top;
	uint64_t values[BATCH];
	uint32_t restored = 0;

	(void)frame;
	while (e > th->base) {
		uint32_t n = e - th->base < BATCH ? (uint32_t)(e - th->base) : BATCH, readable;

		e -= n;
		readable = unwind_peek(e, n, values);
		for (uint32_t i = n; i-- > 0;) {
			if (e[i].slot == FG_NO_SLOT || sp - e[i].slot - 1 < OWN_STACK)
				continue;
			if (readable == n || !plat_peek((const void *)e[i].slot, values, 8))
				restored += (uint32_t)unwind_restore_entry(&e[i]);
		}
	}
	return restored;
}

void unwind_restore_aside(uint64_t sp)
{
	for (struct fg_entry *e = NULL; (e = aside_next(e));) {
		uint64_t now;

		if (e->slot - sp >= UNWIND_REACH || plat_peek((const void *)e->slot, &now, 8) || now != e->ret)
			continue;
		*(uint64_t *)e->slot = fg_true_parent(e->slot, now, e);
		arch_local_or32(&e->flags, FG_RESTORED);
	}
}

int unwind_rehook_entry(struct fg_entry *e, const struct fg_entry *keep)
{
	uint64_t now = 0;

	if (plat_peek((const void *)e->slot, &now, 8))
		return 0;
	/* A tail call's: it was being entered, or on its way out, when the walk began, and only its caller's was restored. */
	if (fg_is_its_hook(e, keep, now))
		return 1;
	if (now != e->parent)
		return 0;
	*(uint64_t *)e->slot = e->ret;
	return 1;
}
