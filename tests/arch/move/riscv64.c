/* SPDX-License-Identifier: MIT */
/* riscv64.c - riscv64_move() against the assembler's bytes: riscv64 DIR, where the sections of riscv64.S are, raw */
#include <errno.h>
#include <string.h>

#include "control/relocate/riscv64_move.h"
#include "tests/arch/move/sections.h"

#define FAR		0x100c0000ull
#define BLOCK_BYTES	64u
#define CANARY		0xeeu

/* Bytes of the copy, or a negative errno. What lies behind them must be as it was. */
static int run(struct riscv64_move *m, uint64_t from, uint64_t to, const uint8_t *code, size_t avail)
{
	int ret;

	memset(m, CANARY, sizeof(*m));
	m->from = from;
	m->to = to;
	m->code = code;
	m->avail = avail;
	ret = riscv64_move(m);
	for (unsigned i = m->ncode; i < RISCV64_MOVE_MAX; i++)
		if (m->out[i] != CANARY)
			fail("written behind the end", 0, i, m->out[i], CANARY);
	return ret ? ret : (int)m->ncode;
}

static uint32_t half(const uint8_t *p)
{
	return p[0] | (uint32_t)p[1] << 8;
}

static void check_cases(const char *name, const struct section *from, const struct section *to, uint64_t base)
{
	const uint8_t *given = (const uint8_t *)from->word, *block = (const uint8_t *)to->word;
	struct riscv64_move m;

	for (size_t i = 0; i < to->n * 4; i += BLOCK_BYTES, block += BLOCK_BYTES) {
		uint32_t at = to->word[i / 4];
		int n = run(&m, FROM + at, base + i + 4, given + at, from->n * 4 - at);

		for (int k = 0; k < n || half(block + 4 + k); k += 2)
			if (k >= n || half(m.out + k) != half(block + 4 + k))
				fail(name, i / BLOCK_BYTES, (unsigned)k, k < n ? half(m.out + k) : (uint32_t)n,
				     half(block + 4 + k));
	}
}

static void check_refused(const char *name, const struct section *s, int want)
{
	struct riscv64_move m;

	for (size_t i = 0; i < s->n; i += 2)
		if (run(&m, FROM, NEAR, (const uint8_t *)&s->word[i], 8) != want)
			fail(name, i / 2, 0, s->word[i], 0);
}

static void check_reach(void)
{
	static const uint8_t nop[8] = { 0x13 }, cut[4] = { 1, 0, 0x13, 0 };
	struct riscv64_move m;

	if (run(&m, FROM, FROM + 0xffff0, nop, 8) != 8 || run(&m, FROM, FROM + 0x200000, nop, 8) != -ERANGE)
		fail("reach of the way back", 0, 0, 0, 0);
	if (run(&m, FROM, NEAR, cut, 4) != -EINVAL || run(&m, FROM, NEAR, cut, 0) != -EINVAL)
		fail("cut off", 0, 0, 0, 0);
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
