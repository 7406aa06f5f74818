// SPDX-License-Identifier: MIT
/* move_test.c - move_code() against the assembler (move_cases.S), and at the edges of reach and room */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "control/relocate/move.h"

extern const struct move_case {
	const char *name;
	const unsigned char *from, *to, *end;
	int change, status, nmoved, pad;
} move_cases[], move_cases_end[];

static int failed;

static void fail(const char *name, const char *what, long got, long want)
{
	printf("FAIL %s: %s is %ld instead of %ld\n", name, what, got, want);
	failed = 1;
}

static void dump(const char *what, const unsigned char *p, size_t n)
{
	printf("  %s:", what);
	for (size_t i = 0; i < n; i++)
		printf(" %02x", p[i]);
	putchar('\n');
}

static void run(const struct move_case *c)
{
	struct move m = { .from = (uintptr_t)c->from, .to = (uintptr_t)c->to, .code = c->from, .avail = 64,
			  .change = (unsigned)c->change };
	size_t want = (size_t)(c->end - c->to);
	int ret;

	memset(m.out, 0xa5, sizeof(m.out));
	ret = move_code(&m);
	if (ret != c->status)
		fail(c->name, "status", ret, c->status);
	if (ret || c->status)
		return;
	if (m.ncode != want || memcmp(m.out, c->to, want)) {
		fail(c->name, "length", m.ncode, (long)want);
		dump("got ", m.out, m.ncode);
		dump("want", c->to, want);
	}
	for (size_t i = m.ncode; i < sizeof(m.out); i++)
		if (m.out[i] != 0xa5)
			fail(c->name, "a byte behind the output", m.out[i], 0xa5);
	if ((int)m.nread != c->nmoved)
		fail(c->name, "bytes moved", m.nread, c->nmoved);
	if (m.at[0] || m.copy[0])
		fail(c->name, "first boundary", m.copy[0], 0);
}

/* `mov 0(%rip),%rax` from 4 GiB away; `je` out of reach of its target. */
static void run_reach(void)
{
	static const unsigned char load[] = { 0x48, 0x8b, 0x05, 0, 0, 0, 0, 0xc3 };
	const uint64_t from = 1ull << 40;
	static const int64_t delta[] = { 0x7ffffff0, -0x7ffffff0, 0x80000100ll, -0x80000100ll };

	for (unsigned i = 0; i < 4; i++) {
		struct move m = {
			.from = from, .to = from + (uint64_t)delta[i], .code = load, .avail = sizeof(load), .change = 5
		};
		int ret = move_code(&m), want = i < 2 ? 0 : -ERANGE;

		if (ret != want)
			fail("reach", "status", ret, want);
	}
}

/* Every cut of every case ends without reading behind it; the sanitizers look on. */
static void run_cut(const struct move_case *c)
{
	for (size_t n = 0; n < 5; n++) {
		unsigned char code[5];
		struct move m = { .from = 4096, .to = 8192, .code = code, .avail = n, .change = 5 };

		memcpy(code, c->from, n);
		if (!move_code(&m) && m.nread > n)
			fail(c->name, "bytes read", m.nread, (long)n);
	}
}

int main(void)
{
	for (const struct move_case *c = move_cases; c < move_cases_end; c++) {
		run(c);
		run_cut(c);
	}
	run_reach();
	printf("%td cases\n", move_cases_end - move_cases);
	return failed || move_cases_end - move_cases < 30;
}
