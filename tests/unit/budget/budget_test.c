/* SPDX-License-Identifier: MIT */
/* budget_test.c - which functions have to go: decisions about made-up loads */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "control/arm/budget.h"

#define EVENT_NS 10.0

static struct budget_fn function(uint32_t site, uint32_t size, double calls)
{
	return (struct budget_fn){
		.site = site, .size = size, .calls = calls, .events = 2 * calls, .cost_ns = 2 * calls * EVENT_NS
	};
}

/* 100 ms on one CPU */
static struct budget_load load_of(const struct budget_fn *fn, size_t n)
{
	struct budget_load l = { .wall_ns = 100e6, .cpu_ns = 100e6 };

	for (size_t i = 0; i < n; i++) {
		l.events += fn[i].events;
		l.cost_ns += fn[i].cost_ns;
	}
	return l;
}

static int is_dropped(const struct budget_fn *fn, size_t n, uint32_t site)
{
	for (size_t i = 0; i < n; i++)
		if (fn[i].site == site)
			return fn[i].is_dropped;
	fail_msg("function %u is gone", site);
	return 0;
}

static size_t choose(struct budget_fn *fn, size_t n, double share, double rate, int *fits)
{
	struct budget_load load = load_of(fn, n);
	struct budget_limit limit = { share, rate };

	return budget_choose(fn, n, &load, &limit, fits);
}

static void nothing_too_much(void **state)
{
	struct budget_fn fn[] = { function(0, 16, 100000), function(1, 2000, 1000) };	/* 2.02 ms of 97.98 */
	int fits;

	(void)state;
	assert_int_equal(choose(fn, 2, 0.0207, 0, &fits), 0);
	assert_true(fits);
	assert_int_equal(choose(fn, 2, 0, 0, &fits), 0);
	assert_true(fits);
	assert_int_equal(choose(fn, 2, 0.0205, 0, &fits), 1);
	assert_true(is_dropped(fn, 2, 0));
}

static void hot_and_small_first(void **state)
{
	/* 1 is hotter than 2, but 30 times as large */
	struct budget_fn fn[] = { function(0, 5000, 50), function(1, 600, 1200000), function(2, 20, 1000000) };
	int fits;

	(void)state;
	assert_int_equal(choose(fn, 3, 0.5, 0, &fits), 1);
	assert_true(fits && is_dropped(fn, 3, 2));
}

static void until_it_fits(void **state)
{
	struct budget_fn fn[] = { function(0, 20, 500000), function(1, 20, 400000), function(2, 20, 300000),
		function(3, 900, 100) };
	int fits;

	(void)state;
	/* 24 ms of cost beside 76 of its own; 5 % are 3.8 */
	assert_int_equal(choose(fn, 4, 0.05, 0, &fits), 3);
	assert_true(fits && !is_dropped(fn, 4, 3));
}

static void little_gain_stays(void **state)
{
	struct budget_fn fn[101];
	int fits;

	(void)state;
	for (uint32_t i = 0; i < 100; i++)
		fn[i] = function(i, 1, 100);		/* 2 us each: small, but no help */
	fn[100] = function(100, 4000, 1000000);
	assert_int_equal(choose(fn, 101, 0.05, 0, &fits), 1);
	assert_true(fits && is_dropped(fn, 101, 100));
	/* Unless nothing else is left. */
	for (uint32_t i = 0; i < 100; i++)
		fn[i] = function(i, 1, 100);
	assert_int_equal(choose(fn, 100, 0.000001, 0, &fits), 100);
}

static void rate_is_kept(void **state)
{
	struct budget_fn fn[] = { function(0, 20, 100000), function(1, 20, 50000), function(2, 20, 1000) };
	int fits;

	(void)state;
	/* 302,000 events in 0.1 s */
	assert_int_equal(choose(fn, 3, 0, 3.1e6, &fits), 0);
	assert_int_equal(choose(fn, 3, 0, 1.5e6, &fits), 1);
	assert_true(fits && is_dropped(fn, 3, 0));
}

static void what_cannot_be_dropped(void **state)
{
	struct budget_fn fn[] = { function(0, 20, 1000) };
	/* roots cost most */
	struct budget_load load = { .wall_ns = 100e6, .cpu_ns = 100e6, .cost_ns = 50e6, .events = 5e6 };
	struct budget_limit limit = { .share = 0.05 };
	int fits;

	(void)state;
	assert_int_equal(budget_choose(fn, 1, &load, &limit, &fits), 1);
	assert_false(fits);
}

/* The cost is an estimate and may come out above the CPU time; too little CPU time says nothing. */
static void odd_loads(void **state)
{
	struct budget_fn fn[] = { function(0, 20, 20000000) };	/* 400 ms */
	struct budget_load idle = { .wall_ns = 100e6, .cpu_ns = 1e6, .cost_ns = 1e6, .events = 1e5 };
	struct budget_limit limit = { .share = 0.05 };
	int fits;

	(void)state;
	assert_int_equal(choose(fn, 1, 0.05, 0, &fits), 1);
	assert_true(fits);
	fn[0] = function(0, 20, 50000);
	assert_int_equal(budget_choose(fn, 1, &idle, &limit, &fits), 0);
	assert_true(fits);
	assert_int_equal(budget_choose(fn, 0, &idle, &limit, &fits), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_too_much), cmocka_unit_test(hot_and_small_first),
		cmocka_unit_test(until_it_fits),
		cmocka_unit_test(little_gain_stays), cmocka_unit_test(rate_is_kept), cmocka_unit_test(what_cannot_be_dropped),
		cmocka_unit_test(odd_loads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
