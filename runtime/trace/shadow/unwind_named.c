/* SPDX-License-Identifier: MIT */
/*
 * unwind_named.c - restore return addresses for unwind.c and hook them again, where a slot is a name only
 * (ARCH_SLOT_IN_MEMORY is 0)
 *
 * A function gets its return address in a register and saves it somewhere in its frame before it calls. So the first
 * hook in the frame, which ends at the slot, is looked for:
 *
 *	by frame records	arm64: x29 leads from one to the next, and the return address is its second word. Exact
 *	by its value		all words between the slot and the next call's are read. A program does not compute with
 *				the address of a stub, so a word with that value is the return address, or was one in an
 *				earlier call. All such words are restored, and the highest is noted: registers are saved
 *				before a frame has locals
 *
 * A signed return address is looked for in the form that the function made of the hook: the signature depends on the
 * stack pointer at the entry, which is the slot. So the runtime can make it, also for the true address
 * (arch_return_form()).
 *
 * The noted place (uft_entry.place: words below the slot, and which form) is hooked again, if it still has the true
 * address. If it is the wrong word, the frame returns unseen and is reported as left: nothing worse.
 *
 * A call that has jumped into the unwinder has its return address still in the register: it is replaced there, and its
 * return is not seen.
 */
#include "runtime/trace/shadow/shadow.h"

#define FRAME_LOOK	(256u << 10)	/* how far below its slot a search goes if nothing else bounds the frame */
#define OWN_STACK	8192u		/* of the runtime's own frames, below the unwinder */
#define FORM_BITS	2		/* bits of `place` for the form */
#define ADDRESS_MASK	((1ull << 48) - 1)	/* the bits of an address that a signature leaves unchanged */

/*
 * The page that was last found readable. It belongs to a stack of the program, which stays while the program unwinds.
 */
struct look {
	uint64_t page;
};

static int look_at(struct look *l, uint64_t at, uint64_t *word)
{
	if (at & 7)
		return -EFAULT;
	if (PLAT_PAGE_DOWN(at) != l->page) {
		if (!plat_is_readable((const void *)at))
			return -EFAULT;
		l->page = PLAT_PAGE_DOWN(at);
	}
	*word = *(const volatile uint64_t *)at;
	return 0;
}

/*
 * Tells which form of @ret, in the frame of @slot, @word is; -1: none. One of 128 signatures (15 bits on a kernel's
 * arm64: one of 32768) equals the unsigned form, or the other key's. Then the function's code tells, because the true
 * address has another signature.
 */
static int form_of(uint64_t word, uint64_t ret, uint64_t slot)
{
	int found = -1, n = 0;

	if ((word ^ ret) & ADDRESS_MASK)	/* making signatures takes time */
		return -1;
	for (unsigned form = ARCH_RETURN_FORMS; form-- > 0;)
		if (word == arch_return_form(ret, slot, form)) {
			found = (int)form;
			n++;
		}
	if (n > 1 && word == arch_return_form(ret, slot, arch_return_signs(ret)))
		found = (int)arch_return_signs(ret);
	return found;
}

/* ---- a frame -------------------------------------------------------------------------------------- */

/* A walk outwards along one stack. */
struct outwards {
	struct look look;
	uint64_t record;	/* the next frame record; 0: there are no more */
	uint64_t low;		/* frames below this are done */
};

/* The place of its return address by frame records; 0: no record has it. */
static uint64_t find_record(struct outwards *o, const struct fg_entry *e, uint64_t low)
{
	uint64_t found = 0;

	while (ARCH_HAS_RECORDS && !found && o->record && o->record < e->slot) {
		uint64_t at = o->record, next, value;

		if (look_at(&o->look, at, &next) || look_at(&o->look, at + 8, &value)) {
			o->record = 0;
			break;
		}
		if (at >= low && form_of(value, e->ret, e->slot) >= 0)
			found = at + 8;
		o->record = next > at ? next : 0;
	}
	return found;
}

/*
 * Writes @to in place of @e's address everywhere from @low to the slot. Returns the highest place, and its form, or 0.
 */
static uint64_t replace_all(struct look *l, const struct fg_entry *e, uint64_t low, uint64_t to, int *highest)
{
	uint64_t found = 0, word;

	for (uint64_t at = (low + 7) & ~7ull; at < e->slot; at += 8) {
		int form;

		if (look_at(l, at, &word)) {
			at |= UFT_PAGE - 8;	/* the next page may be mapped */
			continue;
		}
		form = form_of(word, e->ret, e->slot);
		if (form < 0)
			continue;
		*(uint64_t *)at = arch_return_form(to, e->slot, (unsigned)form);
		found = at;
		*highest = form;
	}
	return found;
}

/*
 * Restores the frame of the innermost call at a slot, @e; @to: where it returns to in the end. Returns what to note, or
 * 0.
 */
static uint32_t restore_frame(struct outwards *o, const struct fg_entry *e, uint64_t to)
{
	uint64_t low = o->low < e->slot && e->slot - o->low < FRAME_LOOK ? o->low : e->slot - FRAME_LOOK;
	uint64_t at = find_record(o, e, o->low < e->slot ? o->low : low), word = 0;
	int form = 0;

	if (at) {
		form = look_at(&o->look, at, &word) ? 0 : form_of(word, e->ret, e->slot);
		*(uint64_t *)at = arch_return_form(to, e->slot, (unsigned)form);
	} else {
		at = replace_all(&o->look, e, low, to, &form);
	}
	o->low = e->slot;
	return at ? (uint32_t)((e->slot - at) / 8) << FORM_BITS | (uint32_t)form : 0;
}

/* ---- the arrays ------------------------------------------------------------------------------------ */

/*
 * The outermost of the calls that jumped one to the other, of which @e is the innermost: all of them return to where
 * that one does.
 */
static struct fg_entry *outermost(const struct uft_thread *th, struct fg_entry *e)
{
	while (e > th->base && e[-1].slot == e->slot && e->parent == e[-1].ret)
		e--;
	return e;
}

uint32_t unwind_restore_array(struct uft_thread *th, uint64_t sp, uint64_t *frame)
{
	struct outwards o = { .record = frame ? frame[0] : 0, .low = sp };
	uint32_t restored = 0;

	for (struct fg_entry *e = th->top; e-- > th->base;) {
		struct fg_entry *first = outermost(th, e);
		int form = frame && e->slot == sp ? form_of(frame[1], e->ret, sp) : -1;
		uint32_t place = 0;

		if (e->slot > sp && e->flags & FG_RESTORED)
			o.low = e->slot;
		if (e->slot <= FG_SLOT_MIN || sp - e->slot - 1 < OWN_STACK || (e->slot == sp && form < 0) ||
		    e->flags & FG_RESTORED)
			continue;
		if (form >= 0)
			frame[1] = arch_return_form(first->parent, sp, (unsigned)form);
		else
			place = restore_frame(&o, e, first->parent);
		if (form < 0 && !place)
			continue;
		for (struct fg_entry *x = first; x <= e; x++) {
			x->place = place;
			arch_local_or32(&x->flags, FG_RESTORED);
			restored++;
		}
		e = first;
	}
	return restored;
}

int unwind_rehook_entry(struct fg_entry *e, const struct fg_entry *keep)
{
	uint64_t at = e->slot - 8ull * (e->place >> FORM_BITS), now = 0;
	unsigned form = e->place & ((1u << FORM_BITS) - 1);
	struct look l = { 0 };

	if (at == e->slot || look_at(&l, at, &now))
		return 0;
	for (const struct fg_entry *x = e; x < keep && x->slot == e->slot; x++)
		if (now == arch_return_form(x->ret, e->slot, form))
			return 1;
	if (now != arch_return_form(e->parent, e->slot, form))
		return 0;
	*(uint64_t *)at = arch_return_form(e->ret, e->slot, form);
	return 1;
}

/* ---- the set-aside table --------------------------------------------------------------------------- */

/*
 * The call whose return address is at @at: the newest of all that put @word into a frame which may reach down to there.
 * Frames that were entered later and live lie below; older ones lie above or are dead.
 */
static struct fg_entry *aside_owner(uint64_t at, uint64_t word, int *form)
{
	struct fg_entry *newest = NULL;

	for (struct fg_entry *e = NULL; (e = aside_next(e));) {
		int its = e->slot - at - 1 < FRAME_LOOK ? form_of(word, e->ret, e->slot) : -1;

		if (its < 0 || (newest && !fg_is_older(aside_age(newest), aside_age(e))))
			continue;
		newest = e;
		*form = its;
	}
	return newest;
}

void unwind_restore_aside(uint64_t sp, uint64_t reach)
{
	uint64_t end = 0, low = ~0ull, high = 0, word;
	struct look l = { 0 };

	for (struct fg_entry *e = NULL; (e = aside_next(e));) {
		if (e->slot - sp >= reach)
			continue;
		end = e->slot > end ? e->slot : end;
		low = e->ret < low ? e->ret : low;
		high = e->ret > high ? e->ret : high;
	}
	for (uint64_t at = sp; at < end && !look_at(&l, at, &word); at += 8) {
		struct fg_entry *e;
		int form;

		if ((word & ADDRESS_MASK) - low > high - low)
			continue;
		e = aside_owner(at, word, &form);
		if (!e)
			continue;
		*(uint64_t *)at = arch_return_form(fg_true_parent(e->slot, e->ret, e), e->slot, (unsigned)form);
		arch_local_or32(&e->flags, FG_RESTORED);
	}
}
