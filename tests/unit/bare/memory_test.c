// SPDX-License-Identifier: MIT
/*
 * memory_test.c - memory out of what a holder gave: in reach, at a place, back again, never what somebody left there,
 * and to who interrupts
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "runtime/platform/bare/bare.h"

#define CHECK(x) do { if (!(x)) { fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x); exit(1); } } while (0)
#define PAGES	601u

static uint8_t memory[(PAGES + 1) * PLAT_PAGE];
static uint8_t *base;

static int is_clear(const uint8_t *at, size_t n)
{
	while (n && !at[n - 1])
		n--;
	return !n;
}

/* All of it in one piece: what was taken has come back and merged. */
static void is_whole(void)
{
	void *all = plat_map(PAGES * PLAT_PAGE);

	CHECK(all == base && is_clear(all, PAGES * PLAT_PAGE));
	CHECK(!plat_map(1));
	plat_unmap(all, PAGES * PLAT_PAGE);
}

/* Pieces of all sizes that come back in another order, dirty. */
static void test_back(void)
{
	uint8_t *piece[64];
	unsigned i, n = 0;

	while (n < 64 && (piece[n] = plat_map((n % 5 + 1) * PLAT_PAGE - n % 2))) {
		CHECK(!((uintptr_t)piece[n] % PLAT_PAGE) && is_clear(piece[n], (n % 5 + 1) * PLAT_PAGE));
		for (i = 0; i < n; i++)
			CHECK(piece[i] + (i % 5 + 1) * PLAT_PAGE <= piece[n] ||
			      piece[n] + (n % 5 + 1) * PLAT_PAGE <= piece[i]);
		memset(piece[n], 0xa5, (n % 5 + 1) * PLAT_PAGE);
		n++;
	}
	CHECK(n == 64);
	for (i = 0; i < n; i++)
		plat_unmap(piece[i * 37 % 64], (i * 37 % 64 % 5 + 1) * PLAT_PAGE);
	is_whole();
}

static void test_at(void)
{
	uintptr_t at = (uintptr_t)base + 10 * PLAT_PAGE;

	CHECK(!plat_map_at(at, 2 * PLAT_PAGE, PLAT_READ | PLAT_EXEC));
	CHECK(plat_map_at(at, 1, PLAT_READ) == -EEXIST && plat_map_at(at + PLAT_PAGE, 1, PLAT_READ) == -EEXIST);
	CHECK(plat_map_at(at - PLAT_PAGE, 2 * PLAT_PAGE, PLAT_READ) == -EEXIST);
	CHECK(plat_map_at((uintptr_t)base + PAGES * PLAT_PAGE, 1, PLAT_READ) == -EEXIST);
	plat_unmap((void *)at, 2 * PLAT_PAGE);
	is_whole();
}

/* By displacements of 32 bits both ways, whatever is nearer. */
static void test_near(void)
{
	const uintptr_t lo = (uintptr_t)base, far = 3ul << 30;
	uintptr_t at;

	CHECK(!plat_map_near(lo - PLAT_PAGE, lo, 100, PLAT_READ | PLAT_EXEC, &at) && at == lo);
	plat_unmap((void *)at, 100);
	CHECK(plat_map_near(lo + far, lo + far + 100, 100, PLAT_READ, &at) == -ENOMEM);
	CHECK(lo < far || plat_map_near(lo - far, lo - far + 100, 100, PLAT_READ, &at) == -ENOMEM);
	/* Only the last pages are in reach. */
	CHECK(!plat_map_near(lo + 0x7ff00000ul, lo + 0x7ff00000ul + 100 * PLAT_PAGE, PLAT_PAGE, PLAT_READ, &at));
	CHECK(at == lo + 100 * PLAT_PAGE);
	plat_unmap((void *)at, PLAT_PAGE);
	CHECK(plat_map_near(lo, lo, 100, PLAT_READ, &at) == -ENOMEM);
	is_whole();
}

/* The last 2 GiB of all addresses, where kernels are: this is all that it can have, and nothing of it is touched. */
static void test_high(void)
{
	const uintptr_t text = 0xffffffff80200000ul, free = 0xffffffff90000000ul;
	uintptr_t at;

	CHECK(plat_map_near(text, text + (16 << 20), 100, PLAT_READ, &at) == -ENOMEM);
	CHECK(!bare_give(free, PLAT_PAGE));
	CHECK(!plat_map_near(text, text + (16 << 20), 100, PLAT_READ, &at) && at == free);
	is_whole();
}

/* More holes than the table has room for: nothing more is taken out of a middle, and what comes back merges. */
static void test_holes(void)
{
	unsigned i, n = 0;

	for (i = 1; i < PAGES; i += 2)
		n += !plat_map_at((uintptr_t)base + i * PLAT_PAGE, 1, PLAT_READ);
	CHECK(n == 255);		/* 256 pieces are free then */
	for (i = 1; i < 2 * n; i += 2)
		plat_unmap(base + i * PLAT_PAGE, 1);
	is_whole();
}

/*
 * A piece between two others that are taken, while the table is full, is lost: counted. Its holder may give it
 * again.
 */
static void test_lost(void)
{
	uintptr_t at = (uintptr_t)base + 510 * PLAT_PAGE;
	unsigned i;

	CHECK(!bare_lost_bytes());
	for (i = 1; i < 510; i += 2)
		CHECK(!plat_map_at((uintptr_t)base + i * PLAT_PAGE, 1, PLAT_READ));
	for (i = 0; i < 4; i++)
		CHECK(!plat_map_at(at + i * PLAT_PAGE, 1, PLAT_READ));
	plat_unmap((void *)(at + PLAT_PAGE), 2 * PLAT_PAGE);
	CHECK(bare_lost_bytes() == 2 * PLAT_PAGE && plat_map_at(at + PLAT_PAGE, 1, PLAT_READ) == -EEXIST);
	for (i = 1; i < 510; i += 2)
		plat_unmap(base + i * PLAT_PAGE, 1);
	plat_unmap((void *)at, 1);
	plat_unmap((void *)(at + 3 * PLAT_PAGE), 1);
	CHECK(bare_lost_bytes() == 2 * PLAT_PAGE && !bare_give(at + PLAT_PAGE, 2 * PLAT_PAGE));
	is_whole();
}

static volatile sig_atomic_t nticks;

/* What interrupts needs memory as well; it would spin for ever if who is interrupted had the lock. */
static void tick(int sig)
{
	void *m = plat_map(PLAT_PAGE);

	(void)sig;
	if (m)
		plat_unmap(m, PLAT_PAGE);
	nticks = nticks + 1;
}

static void block(uint64_t *mask)
{
	sigset_t all, old;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old);
	memcpy(mask, &old, sizeof(*mask));
}

static void restore(const uint64_t *mask)
{
	sigset_t old;

	sigemptyset(&old);
	memcpy(&old, mask, sizeof(*mask));
	sigprocmask(SIG_SETMASK, &old, NULL);
}

/* A walk through many pieces, which finds none, is most of what runs. alarm() ends who hangs. */
static void test_interrupted(void)
{
	static const struct bare_host host = { .block = block, .restore = restore };
	const struct itimerval often = { { 0, 1000 }, { 0, 1000 } }, never = { { 0, 0 }, { 0, 0 } };
	unsigned i;

	bare_init(&host);
	signal(SIGVTALRM, tick);
	for (i = 1; i < 400; i += 2)
		CHECK(!plat_map_at((uintptr_t)base + i * PLAT_PAGE, 1, PLAT_READ));
	alarm(50);
	setitimer(ITIMER_VIRTUAL, &often, NULL);
	while (nticks < 50) {
		void *m = plat_map(PLAT_PAGE);

		CHECK(m && !plat_map((PAGES + 1) * PLAT_PAGE));
		plat_unmap(m, PLAT_PAGE);
	}
	setitimer(ITIMER_VIRTUAL, &never, NULL);
	alarm(0);
	for (i = 1; i < 400; i += 2)
		plat_unmap(base + i * PLAT_PAGE, 1);
	is_whole();
}

/* Sizes that are not whole pages are refused. */
int main(void)
{
	base = (uint8_t *)PLAT_PAGE_UP(memory);
	CHECK(!plat_map(1));
	CHECK(!bare_give((uintptr_t)base + 1, PLAT_PAGE) && !plat_map(1));
	CHECK(!bare_give((uintptr_t)base, PAGES * PLAT_PAGE));
	is_whole();
	test_back();
	test_at();
	test_near();
	test_high();
	test_holes();
	test_lost();
	test_interrupted();
	return 0;
}
