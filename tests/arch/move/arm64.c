/* SPDX-License-Identifier: MIT */
/* arm64.c - arm64_move() against the assembler's words: arm64 DIR, where the sections of arm64.S are, raw */
#include <errno.h>
#include <string.h>

#include "control/relocate/arm64_move.h"
#include "tests/arch/move/sections.h"

#define FAR		0x14000000ull
#define BLOCK_WORDS	8
#define CANARY		0xeeeeeeeeu

/* Words of the copy, or a negative errno. What lies behind them must be as it was. */
static int run(struct arm64_move *m, uint64_t from, uint64_t to, uint32_t word)
{
	int ret;

	memset(m, 0xee, sizeof(*m));
	m->from = from;
	m->to = to;
	m->word = word;
	ret = arm64_move(m);
	for (unsigned i = m->nout; i < ARM64_MOVE_MAX; i++)
		if (m->out[i] != CANARY)
			fail("written behind the end", 0, i, m->out[i], CANARY);
	return ret ? ret : (int)m->nout;
}

static void check_cases(const char *name, const struct section *from, const struct section *to, uint64_t base)
{
	struct arm64_move m;

	for (size_t i = 0; i < to->n; i += BLOCK_WORDS) {
		const uint32_t *want = &to->word[i + 1];
		uint32_t at = to->word[i];
		int n = run(&m, FROM + at, base + 4 * (i + 1), from->word[at / 4]);

		for (int k = 0; k < n || want[k]; k++)
			if (k >= n || m.out[k] != want[k])
				fail(name, i / BLOCK_WORDS, (unsigned)k, k < n ? m.out[k] : (uint32_t)n, want[k]);
	}
}

static void check_refused(const char *name, const struct section *s, int want)
{
	struct arm64_move m;

	for (size_t i = 0; i < s->n; i++)
		if (run(&m, FROM, FROM + 0x1000, s->word[i]) != want)
			fail(name, i, 0, s->word[i], 0);
}

static void check_reach(void)
{
	static const struct { uint32_t word; uint64_t away; int want; } cases[] = {
		{ 0x14000000, 1ull << 27, 1 }, { 0x14000000, (1ull << 27) + 4, -ERANGE },	/* b . */
		{ 0xd503201f, 1ull << 27, 2 }, { 0xd503201f, 1ull << 28, -ERANGE },		/* nop: the way back */
		/* adrp x0, .; adr x0, . */
		{ 0x90000000, 1ull << 32, -ERANGE }, { 0x10000000, 1ull << 33, -ERANGE },
		{ 0x18000000, 1ull << 33, -ERANGE }, { 0x94000000, 1ull << 28, -ERANGE },	/* ldr w0, .; bl . */
	};
	struct arm64_move m;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t from = 0x200000000000ull;
		int got = run(&m, from, from + cases[i].away, cases[i].word);

		if (got != cases[i].want)
			fail("reach", i, 0, (uint32_t)got, (uint32_t)cases[i].want);
	}
}

int main(int argc, char **argv)
{
	static struct section from, near, far, bound, none;

	if (argc < 2)
		return 2;
	load(argv[1], "from", &from);
	load(argv[1], "near", &near);
	load(argv[1], "far", &far);
	load(argv[1], "bound", &bound);
	load(argv[1], "none", &none);
	check_cases("near", &from, &near, NEAR);
	check_cases("far", &from, &far, FAR);
	check_refused("bound to its place", &bound, -ENOTSUP);
	check_refused("no instruction", &none, -EINVAL);
	check_reach();
	return failures != 0;
}
