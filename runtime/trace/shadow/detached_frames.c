/* SPDX-License-Identifier: MIT */
/*
 * detached_frames.c - the set-aside table: hooked frames that no thread's shadow stack holds in order any more
 *
 * A frame that was left (graph.c) is either dead (longjmp, exception) or will be returned to (coroutine), and nothing
 * tells which. So its entry waits here, found by its slot, until it returns, until a newer frame at the same slot
 * proves it dead, or until a sweep finds that the slot does not have the hook any more.
 *
 * Open addressing, linear probing, tombstones; entries never move, so a fork in the middle of a change by another
 * thread leaves the child a table that is right at every instant: an entry's slot is stored last and cleared
 * first. All functions run under the lock with signals blocked (thread.c).
 *
 * The table does not grow. If it is full of living frames, the next one is unhooked for good: the true return address
 * is written back to its stack (for a tail call: the address to which the last of its callers returns). It is counted
 * (UFT_CNT_SHADOW_FULL), and its return is not seen. A full table is not swept for each new entry: a sweep asks the
 * kernel for every slot, which takes tens of milliseconds.
 */
#include "runtime/trace/shadow/shadow.h"

#define ASIDE_BITS	18
#define ASIDE_SIZE	(1u << ASIDE_BITS)
#define ASIDE_USED_MAX	(ASIDE_SIZE / 4 * 3)
#define ASIDE_TOMBSTONE	1u
#define GROUP		64u	/* entries in a page */
#define SWEEP_PUTS	4096u	/* from one sweep to the next, at least */

static struct {
	struct fg_entry *table;	/* untouched pages cost nothing */
	uint32_t used;		/* entries that are not empty: living ones and tombstones */
	uint32_t living;	/* never less than the number of living entries */
	uint32_t puts;		/* left until the next sweep */
	uint8_t touched[ASIDE_SIZE / GROUP];	/* groups of entries that were ever used */
} aside;

int aside_init(void)
{
	aside.table = plat_map_sparse(ASIDE_SIZE * sizeof(struct fg_entry));
	if (!aside.table)
		return -ENOMEM;
	return 0;
}

uint64_t aside_reserve(uint64_t *bytes)
{
	*bytes = ASIDE_SIZE * sizeof(struct fg_entry);
	return (uint64_t)aside.table;
}

/* Neighbouring slots share pages: 64 slots in a row of one KiB of stack. */
static uint32_t aside_home(uint64_t slot)
{
	uint32_t page = (uint32_t)((slot >> 9) * 0x9e3779b97f4a7c15ull >> (64 - (ASIDE_BITS - 6)));

	return page << 6 | (uint32_t)(slot >> 3 & 63);
}

void aside_remove(struct fg_entry *e)
{
	uint32_t i = (uint32_t)(e - aside.table);

	uft_store_release(&e->slot, ASIDE_TOMBSTONE);
	aside.living--;
	/* No search has to go on at a tombstone before an empty entry. */
	while (!aside.table[(i + 1) % ASIDE_SIZE].slot && aside.table[i].slot == ASIDE_TOMBSTONE) {
		uft_store(&aside.table[i].slot, 0);
		aside.used--;
		i = (i + ASIDE_SIZE - 1) % ASIDE_SIZE;
	}
}

struct fg_entry *aside_find(uint64_t slot, uint64_t ret, struct fg_age before)
{
	struct fg_entry *newest = NULL;
	struct fg_age its_age = { 0, 0 };	/* age of the newest */

	for (uint32_t n = 0, i = aside_home(slot); n < ASIDE_SIZE; n++, i = (i + 1) % ASIDE_SIZE) {
		struct fg_entry *e = &aside.table[i];
		struct fg_age age = aside_age(e);

		if (!e->slot)
			break;
		if (e->slot != slot || (ret && e->ret != ret) || !fg_is_older(age, before))
			continue;
		if (!newest || fg_is_older(its_age, age) /* GUARD(aside_newest, fg_is_older(age, its_age)) */) {
			newest = e;
			its_age = age;
		}
	}
	return newest;
}

struct fg_entry *aside_next(struct fg_entry *after)
{
	uint32_t i = after ? (uint32_t)(after - aside.table) + 1 : 0;

	while (aside.living && i < ASIDE_SIZE) {
		if (!aside.touched[i / GROUP])
			i = (i / GROUP + 1) * GROUP;
		else if (aside.table[i].slot > ASIDE_TOMBSTONE)
			return &aside.table[i];
		else
			i++;
	}
	return NULL;
}

/*
 * Does @now, the content of the slot of @e, lead there by tail calls that replaced each other? Only those in the table
 * are known.
 */
static int aside_is_awaited(const struct fg_entry *e, uint64_t now)
{
	const struct fg_entry *x = now ? aside_find(e->slot, now, FG_AGE_ANY) : NULL;	/* 0 would match any */

	while (x && x != e)
		x = aside_find(e->slot, x->parent, aside_age(x));
	return !!x;
}

/* Marks entries that cannot return: the slot is unmapped or has another content. -errno: that cannot be known. */
static int aside_doom(void)
{
	for (struct fg_entry *e = NULL; (e = aside_next(e));) {
		uint64_t now = 0;
		int ret = plat_peek((const void *)e->slot, &now, 8);

		if (ret == -ENOSYS || ret == -EPERM)
			return ret;
		/* The parent: restored, or about to return. */
		if (ret || (now != e->ret && now != e->parent && !aside_is_awaited(e, now) /* GUARD(aside_awaited) */))
			e->flags |= FG_DOOMED;
		else
			e->flags &= ~(uint32_t)FG_DOOMED;
	}
	return 0;
}

/*
 * Unmarks entries to which a tail call on an array returns, because no slot has their hook. Of several at a slot the
 * first is enough: the others return to it.
 */
static void aside_spare(const struct uft_thread *th)
{
	const struct fg_entry *top = uft_load_acquire(&th->top);

	for (const struct fg_entry *e = th->base; e < top; e++) {
		const uint64_t slot = uft_load(&e->slot);
		struct fg_age age = { e->clock, (uint64_t)(e - th->base) };
		struct fg_entry *x;

		if (slot <= FG_SLOT_MIN || (e > th->base && e[-1].slot == slot))
			continue;
		for (x = aside_find(slot, e->parent, age); x; x = aside_find(slot, x->parent, aside_age(x)))
			x->flags &= ~(uint32_t)FG_DOOMED;
	}
}

/*
 * Removes entries that cannot return. Other threads run meanwhile: a tail call that is entered after its caller was
 * marked is on an array before its hook is in the slot; a tail call that returns has written its caller's hook there
 * again.
 */
static void aside_sweep(void)
{
	if (!ARCH_SLOT_IN_MEMORY || aside_doom())
		return;
	for (const struct uft_thread *th = thread_first(); th; th = th->next)
		aside_spare(th); /* GUARD(aside_sweep_aside_spare) */
	for (struct fg_entry *e = NULL; (e = aside_next(e));)
		if (e->flags & FG_DOOMED && !fg_is_hooked(e, e + 1))
			aside_remove(e);
}

/* The first entry behind @e, on the array that it is on, with another slot. */
static const struct fg_entry *aside_run_end(const struct fg_entry *e)
{
	const struct fg_entry *end = e + 1;

	for (const struct uft_thread *th = thread_first(); th; th = th->next)
		while (fg_is_on_array(th, e) && end < th->top && end->slot == e->slot)
			end++;
	return end;
}

/*
 * There is no room for @e: unhooks it, and the tail calls that replaced it and lie behind it, in the table or on other
 * arrays.
 */
static void aside_unhook(const struct fg_entry *e)
{
	const struct fg_entry *last, *x;
	uint64_t now;

	trace_count(UFT_CNT_SHADOW_FULL, 1);
	if (!ARCH_SLOT_IN_MEMORY || plat_peek((const void *)e->slot, &now, 8) || !now)
		return;
	last = aside_run_end(e) - 1;
	for (x = fg_find(e->slot, now, FG_AGE_ANY, last); x &&
	     x != e; x = fg_find(e->slot, x->parent, fg_age(x), last) /* GUARD(full_chain, NULL) */)
		;
	if (x)
		uft_cas((uint64_t *)e->slot, now,
			fg_true_parent(e->slot, now, last) /* GUARD(full_true_parent, e->parent) */);
}

static void aside_store(struct fg_entry *to, const struct fg_entry *e, struct fg_age age)
{
	if (!to->slot)
		aside.used++;
	aside.living++;
	aside.touched[(to - aside.table) / GROUP] = 1;
	to->parent = e->parent;
	to->ret = e->ret;
	to->clock = age.clock;
	to->place = (uint32_t)age.place;
	to->receipt = e->receipt;
	to->flags = e->flags;
	to->child = e->child;
	uft_store_release(&to->slot, e->slot);	/* complete: a fork may copy the table here */
}

/* If @e is a tail call: the age of the call that it returns to; else older than all. */
static struct fg_age aside_caller_age(const struct fg_entry *e, struct fg_age age)
{
	const struct fg_entry *caller = fg_find(e->slot, e->parent, age, e /* GUARD(caller_search, NULL) */);

	return caller ? fg_age(caller) : (struct fg_age){ 0, 0 };
}

void aside_put(const struct fg_entry *e)
{
	struct fg_entry *free = NULL;
	struct fg_age age = fg_age(e), caller = { 0, 0 };
	int is_asked = 0;

	if (aside.puts)
		aside.puts--;
	if (aside.used >= ASIDE_USED_MAX && !aside.puts) {
		aside_sweep();
		aside.puts = SWEEP_PUTS; /* GUARD(aside_put_puts) */
	}
	for (uint32_t n = 0, i = aside_home(e->slot); n < ASIDE_SIZE; n++, i = (i + 1) % ASIDE_SIZE) {
		struct fg_entry *x = &aside.table[i];

		if (!x->slot) {
			if (!free && aside.used < ASIDE_USED_MAX)
				free = x;
			break;
		}
		if (x->slot == ASIDE_TOMBSTONE) {
			if (!free)
				free = x;
			continue;
		}
	/*
	 * An older frame at this slot is dead, unless this one returns to it. Frames older than a tail call's caller
	 * are judged when that caller is put aside, so that a chain is not followed for each entry.
	 */
		if (x->slot != e->slot || fg_is_older(age, aside_age(x)))
			continue;
		if (!is_asked++)
			caller = aside_caller_age(e, age);
		if (fg_is_older(caller, aside_age(x))) { /* GUARD(aside_put_fg_is_older, 1) */
			uft_store_release(&x->slot, ASIDE_TOMBSTONE);
			aside.living--;
			if (!free)
				free = x;
		}
	}
	if (free)
		aside_store(free, e, age);
	else
		aside_unhook(e);
}
