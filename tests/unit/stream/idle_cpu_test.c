/* SPDX-License-Identifier: MIT */
/* idle_cpu_test.c - what a text like /proc/stat says of the CPUs that are asked about */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "stream/file/idle_cpu.h"

static int is_in(const void *arg, unsigned cpu)
{
	return cpu < 64 && *(const uint64_t *)arg >> cpu & 1;
}

static int64_t ticks(const char *stat, uint64_t set)
{
	return idle_cpu_ticks(stat, is_in, &set);
}

static void test_ticks(void **state)
{
	static const char stat[] = "cpu  9 9 9 90 9 9 9 9 9 9\n"
				   "cpu0 1 2 3 40 5 6 7 8 0 0\n"
				   "cpu2 1 2 3 1000 50 6 7 8 0 0\n"
				   "cpu11 0 0 0 7 0 0 0 0 0 0\n"
				   "intr 1 2 3\nctxt 8\n";

	(void)state;
	assert_int_equal(ticks(stat, 1), 45);
	assert_int_equal(ticks(stat, 1 | 4), 1095);
	assert_int_equal(ticks(stat, ~0ull), 1102);
	assert_int_equal(ticks(stat, 1 << 11), 7);
	assert_int_equal(ticks(stat, 2), -1);		/* it is not running */
}

static void test_strange(void **state)
{
	(void)state;
	assert_int_equal(ticks("", ~0ull), -1);
	assert_int_equal(ticks("cpu", ~0ull), -1);
	assert_int_equal(ticks("intr 1\ncpu0 1 2 3 4 5\n", ~0ull), -1);
	assert_int_equal(ticks("cpu0", ~0ull), 0);
	assert_int_equal(ticks("cpu0 1 2 3 4 5 6", ~0ull), 9);	/* cut off */
	assert_int_equal(ticks("cpu0 1 2", ~0ull), 0);
	assert_int_equal(ticks("cpu0 1 2 x 4 5\n", ~0ull), 0);
}

/* Nothing is known in the first window, and within one no question changes the answer. */
static void test_window(void **state)
{
	struct idle_cpu c = { 0 };
	int first = idle_cpu_is_there(&c, 1000), is_known = c.looked_ns == 1000;

	(void)state;
	assert_true(is_known);
	assert_int_equal(idle_cpu_is_there(&c, 2000), first);
	assert_int_equal(c.looked_ns, 1000);
	idle_cpu_is_there(&c, 1000 + 100000000);
	assert_int_equal(c.looked_ns, 1000 + 100000000);
	/* No idle time can have passed in ten seconds that no clock saw. */
	assert_int_equal(idle_cpu_is_there(&c, 1000 + 1000000000000000), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ticks), cmocka_unit_test(test_strange), cmocka_unit_test(test_window),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
