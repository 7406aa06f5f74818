/* SPDX-License-Identifier: MIT */
/* limits_test.c - a task that cannot be made: the limit that may be the reason is named, and no remedy that does nothing */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/resource.h>

#include "control/internal.h"

/* The cgroup's file, as /proc has the group: @line begins its line. */
static int is_named(const char *why, const char *line, const char *below)
{
	char text[4096], path[4096], expected[8192];
	FILE *f = fopen("/proc/self/cgroup", "r");
	int is = -1;

	assert_non_null(f);
	while (is < 0 && fgets(text, sizeof(text), f)) {
		const char *group = strstr(text, line);

		if (!group || sscanf(group + strlen(line), "%4095s", path) != 1)
			continue;
		snprintf(expected, sizeof(expected), "(%s%s/pids.max)", below, strcmp(path, "/") ? path : "");
		is = strlen(expected) > 190 || strstr(why, expected);
	}
	fclose(f);
	return is;
}

static void test_unlimited(void **state)
{
	char why[400];
	int is;

	(void)state;
	assert_null(limits_explain_tasks(getpid(), UINT64_MAX, why, sizeof(why)));
	assert_non_null(strstr(why, "pids.max"));
	assert_non_null(strstr(why, "kernel.threads-max"));
	assert_null(strstr(why, "RLIMIT_NPROC"));
	assert_null(strstr(why, "18446744073709551615"));
	is = is_named(why, ":pids:", "/sys/fs/cgroup/pids");
	if (is < 0)
		is = is_named(why, "0::", "/sys/fs/cgroup");
	assert_int_not_equal(is, 0);
}

static void test_limited(void **state)
{
	char why[400], remedy[80];
	struct rlimit lim;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NPROC, &lim), 0);
	lim.rlim_cur = 7;
	assert_int_equal(setrlimit(RLIMIT_NPROC, &lim), 0);
	assert_int_equal(limits_explain(getpid(), -EUSERS, 0, why, sizeof(why)), 1);
	snprintf(remedy, sizeof(remedy), ": prlimit --pid=%d --nproc=unlimited lifts it", (int)getpid());
	assert_non_null(strstr(why, "as many threads as it may, 7 (RLIMIT_NPROC)"));
	assert_non_null(strstr(why, "pids.max"));
	assert_non_null(strstr(why, remedy));
}

static void test_other(void **state)
{
	char why[400] = "";

	(void)state;
	assert_int_equal(limits_explain(getpid(), -EAGAIN, 0, why, sizeof(why)), 0);
	assert_string_equal(why, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unlimited), cmocka_unit_test(test_limited), cmocka_unit_test(test_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
