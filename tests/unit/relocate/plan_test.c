// SPDX-License-Identifier: MIT
/*
 * plan_test.c LIBRARY - each hazard of entries.S gets the form or the reason it must, and runs the same when rewritten
 *
 * The library is loaded, all of its functions are rewritten as a session would have it done, and what is called
 * returns what it did before; each call went through the function's slot.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rewrite.h"

#define LONG	0x10	/* forms */
#define SHORT	0x20
#define PLAIN	0x40
#define PUN	0x100	/* and the bytes that change << 12 */
#define RUN	0x80

static const struct { const char *name; unsigned want; int nmoved; } cases[] = {
	{ "frame", LONG | RUN, 8 },
	{ "load", LONG | RUN, 7 },
	{ "jcc_first", LONG | RUN, 5 },
	{ "calls", LONG | RUN, 9 },
	{ "calls_first", LONG | RUN, 5 },
	{ "return_address", LONG | PLAIN, 5 },
	{ "tail", LONG | RUN, 5 },
	{ "tail_short", SHORT | RUN, 2 },
	{ "tiny", LONG | RUN, 5 },
	{ "one", LONG, 5 },
	{ "runs_on", LONG | RUN, 5 },
	{ "second_half", LONG | RUN, 5 },
	{ "loop_inside", SHORT | RUN, 3 },
	{ "entered_far", SHORT | RUN, 2 },
	{ "enters_far", LONG | RUN, 7 },
	{ "entered_byte", PUN | 1 << 12 | RUN, 1 },
	{ "pun_2", PUN | 2 << 12 | RUN, 2 },
	{ "pun_3", PUN | 3 << 12 | RUN, 3 },
	{ "pun_4", PUN | 4 << 12 | RUN, 4 },
	{ "pun_prefix", PUN | 1 << 12 | RUN, 6 },
	{ "pun_inside", ENTRY_BRANCH, 0 },
	{ "loop_start", ENTRY_BRANCH, 0 },
	{ "loop_start_far", ENTRY_BRANCH, 0 },
	{ "loop_endbr", ENTRY_BRANCH, 0 },
	{ "loop_cold", ENTRY_BRANCH, 0 },
	{ "recursion", LONG | RUN, 7 },
	{ "table", SHORT | RUN, 3 },
	{ "table_user", LONG | RUN, 7 },
	{ "pointed", SHORT | RUN, 3 },
	{ "lands", SHORT | RUN, 3 },
	{ "two_names", SHORT | RUN, 3 },
	{ "packed_1", LONG | RUN, 6 },
	{ "packed", ENTRY_SHORT, 0 },
	{ "packed_2", LONG | RUN, 6 },
	{ "call_reg", SHORT, 2 },
	{ "traps", ENTRY_INSN, 0 },
	{ "makes_call", SHORT, 2 },
	{ "data", ENTRY_DATA, 0 },
	{ "cut", ENTRY_DATA, 0 },
	{ "reads_framed", LONG | PLAIN | RUN, 8 },
	{ "reads_later", LONG | PLAIN | RUN, 9 },
	{ "pops", LONG | PLAIN | RUN, 5 },
	{ "becomes_pops", LONG | PLAIN | RUN, 7 },
	{ "returns_popping", LONG | PLAIN, 5 },
	{ "reads_argument", LONG | RUN, 7 },
	{ "reads_nothing", LONG | RUN, 14 },
	{ "takes_carry", ENTRY_FLAGS, 0 },
	{ "takes_carry_imm", ENTRY_FLAGS, 0 },
	{ "sets_carry", LONG | RUN, 7 },
	{ "hooked", ENTRY_OURS, 0 },
	{ "no_unwind", ENTRY_NO_UNWIND, 0 },
	{ "outermost", ENTRY_NOT_FUNCTION, 0 },
	{ "copied", ENTRY_SECTION, 0 },
	{ "grouped", LONG | RUN, 8 },
};
#define NCASES	(sizeof(cases) / sizeof(cases[0]))

/*
 * No jump fits any of these; an int3 does where all that leads to the function is a call of it, and its first
 * instruction can move.
 */
static const struct { const char *name; int can_trap, nmoved; } traps[] = {
	{ "pun_inside", 1, 1 },
	{ "packed", 1, 2 },
	{ "loop_start", 0, 0 },
	{ "loop_endbr", 0, 0 },
	{ "traps", 0, 0 },
	{ "data", 0, 0 },
	{ "takes_carry", 0, 0 },
	{ "hooked", 0, 0 },
};

static int failed;

static void fail(const char *name, const char *what, long got, long want)
{
	printf("FAIL %s: %s is %ld instead of %ld\n", name, what, got, want);
	failed = 1;
}

static long call(void *fn, long a, long b)
{
	return ((long (*)(long, long))fn)(a, b);
}

static const long args[] = { 0, 1, 2, 5, -3, 77, 123456789012345 };
#define NARGS	(sizeof(args) / sizeof(args[0]))

static void results(void *fn, long *out)
{
	for (size_t i = 0; i < NARGS; i++)
		for (size_t k = 0; k < NARGS; k++)
			out[i * NARGS + k] = call(fn, args[i], args[k]);
}

static void check_case(const struct rewrite *r, size_t i, void *sym)
{
	const struct entry *f = entries_find(&r->entries, (uint64_t)(uintptr_t)sym - r->bias);
	unsigned form = 0;

	if (!f) {
		fail(cases[i].name, "entry", 0, 1);
		return;
	}
	form = f->skip ? f->skip : (f->pun ? PUN | (unsigned)f->pun << 12 : f->pad ? SHORT : LONG) |
		(f->is_plain ? PLAIN : 0);
	if (form != (cases[i].want & ~RUN))
		fail(cases[i].name, "form", form, cases[i].want & ~RUN);
	if (f->nmoved != cases[i].nmoved)
		fail(cases[i].name, "bytes moved", f->nmoved, cases[i].nmoved);
}

static void check_trap(const struct entries *list, size_t i, uint64_t func, int is_asked)
{
	const struct entry *f = entries_find(list, func);
	int want = traps[i].can_trap && is_asked;

	if (!f) {
		fail(traps[i].name, "entry", 0, 1);
		return;
	}
	if (f->can_trap != traps[i].can_trap)
		fail(traps[i].name, "can be an int3", f->can_trap, traps[i].can_trap);
	if (f->is_trap != want || (f->skip == ENTRY_OK) != want)
		fail(traps[i].name, "is an int3", f->is_trap, want);
	if (f->nmoved != (is_asked ? traps[i].nmoved : 0))
		fail(traps[i].name, "bytes moved by int3", f->nmoved, traps[i].nmoved);
}

/* The same object planned with them: functions that had another form keep it. */
static void check_traps(const struct rewrite *r, void *lib, const struct uft_range *hook)
{
	struct entries list;

	if (entries_list(r->obj, &list)) {
		fail("list", "status", 1, 0);
		return;
	}
	list.with_traps = 1;
	if (entries_ours(&list, hook, 1) || entries_plan(r->obj, &list, NULL))
		fail("plan", "status", 1, 0);
	for (size_t i = 0; i < sizeof(traps) / sizeof(traps[0]); i++) {
		uint64_t func = (uint64_t)(uintptr_t)dlsym(lib, traps[i].name) - r->bias;

		check_trap(&r->entries, i, func, 0);
		check_trap(&list, i, func, 1);
	}
	for (size_t i = 0; i < list.n; i++)
		if (!r->entries.entry[i].skip &&
		    (list.entry[i].skip || list.entry[i].is_trap || list.entry[i].pun != r->entries.entry[i].pun ||
		     list.entry[i].pad != r->entries.entry[i].pad))
			fail("a function that a jump fits", "another form", (long)i, -1);
	entries_free(&list);
}

int main(int argc, char **argv)
{
	static long before[NCASES][NARGS * NARGS], after[NARGS * NARGS];
	void *lib = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL, *sym[NCASES];
	struct uft_range hook = { 0 };
	struct rewrite r;

	if (!lib || rewrite_open(&r, lib)) {
		printf("cannot open: %s\n", dlerror());
		return 1;
	}
	for (size_t i = 0; i < NCASES; i++) {
		sym[i] = dlsym(lib, cases[i].name);
		if (!sym[i]) {
			fail(cases[i].name, "symbol", 0, 1);
			return 1;
		}
		if (!strcmp(cases[i].name, "hooked"))
			hook = (struct uft_range){ (uint64_t)(uintptr_t)sym[i] - r.bias + 3, 5 };
		if (cases[i].want & RUN)
			results(sym[i], before[i]);
	}
	if (entries_ours(&r.entries, &hook, 1) || rewrite_plan(&r) || rewrite_apply(&r)) {
		printf("cannot rewrite\n");
		return 1;
	}
	for (size_t i = 0; i < NCASES; i++) {
		uint64_t hits = rewrite_hits(&r, sym[i]);

		check_case(&r, i, sym[i]);
		if (!(cases[i].want & RUN))
			continue;
		results(sym[i], after);
		if (memcmp(before[i], after, sizeof(after)))
			fail(cases[i].name, "result", after[NARGS + 1], before[i][NARGS + 1]);
		/* Where an exact address is taken by something else there is no jump; one in 16 MiB is free. */
		if (cases[i].want & PUN && cases[i].nmoved != 4 && !rewrite_is_done(&r, sym[i])) {
			printf("%s: no place\n", cases[i].name);
			continue;
		}
		if (rewrite_hits(&r, sym[i]) < hits + NARGS * NARGS)
			fail(cases[i].name, "hits", (long)(rewrite_hits(&r, sym[i]) - hits), NARGS * NARGS);
	}
	check_traps(&r, lib, &hook);
	rewrite_undo(&r);
	for (size_t i = 0; i < NCASES; i++) {
		uint64_t hits = rewrite_hits(&r, sym[i]);

		if (!(cases[i].want & RUN))
			continue;
		results(sym[i], after);
		if (memcmp(before[i], after, sizeof(after)) || rewrite_hits(&r, sym[i]) != hits)
			fail(cases[i].name, "result, taken back,", after[NARGS + 1], before[i][NARGS + 1]);
	}
	rewrite_close(&r);
	return failed;
}
