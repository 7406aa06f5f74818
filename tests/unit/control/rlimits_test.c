/* SPDX-License-Identifier: MIT */
/*
 * rlimits_test.c - a task that cannot be made: the limit that may be the reason is named, and no remedy that
 * does nothing
 */
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
#include <sys/wait.h>

#include "control/proc/proc.h"

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
	assert_null(rlimits_explain_tasks(getpid(), UINT64_MAX, why, sizeof(why)));
	assert_non_null(strstr(why, "pids.max"));
	assert_non_null(strstr(why, "kernel.threads-max"));
	assert_null(strstr(why, "RLIMIT_NPROC"));
	assert_null(strstr(why, "18446744073709551615"));
	is = is_named(why, ":pids:", "/sys/fs/cgroup/pids");
	if (is < 0)
		is = is_named(why, "0::", "/sys/fs/cgroup");
	assert_int_not_equal(is, 0);
}

/* A bit each: what rlimits_explain() says of this process when it may have no task; IS_REFUSED: the kernel refuses it a fork. */
enum { IS_NAMED = 1, HAS_REMEDY = 2, HAS_GROUP = 4, IS_REFUSED = 8 };

static int ask_limited(void)
{
	struct rlimit none = { 0, RLIM_INFINITY };
	char why[400], remedy[80];
	pid_t child;
	int said = 0;

	getrlimit(RLIMIT_NPROC, &none);
	none.rlim_cur = 0;
	if (setrlimit(RLIMIT_NPROC, &none) || rlimits_explain(getpid(), -EUSERS, 0, why, sizeof(why)) != 1)
		return -1;
	snprintf(remedy, sizeof(remedy), ": prlimit --pid=%d --nproc=unlimited lifts it", (int)getpid());
	said |= strstr(why, "as many threads as it may, 0 (RLIMIT_NPROC)") ? IS_NAMED : 0;
	said |= strstr(why, remedy) ? HAS_REMEDY : 0;
	said |= strstr(why, "pids.max") ? HAS_GROUP : 0;
	child = fork();
	if (!child)
		_exit(0);
	said |= child < 0 && errno == EAGAIN ? IS_REFUSED : 0;
	if (child > 0)
		waitpid(child, NULL, 0);
	return said;
}

/* In a process that becomes user @uid first, unless that is -1. */
static int said_as(int uid)
{
	pid_t pid = fork();
	int status = -1;

	if (!pid)
		_exit(uid >= 0 && setresuid((uid_t)uid, (uid_t)uid, (uid_t)uid) ? 99 : ask_limited());
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_limited(void **state)
{
	(void)state;
	assert_int_equal(said_as(getuid() ? -1 : 65534), IS_NAMED | HAS_REMEDY | HAS_GROUP | IS_REFUSED);
}

/* It is named if, and only if, the kernel goes by it: not for root. */
static void test_limited_root(void **state)
{
	int said;

	(void)state;
	if (getuid())
		skip();
	said = said_as(-1);
	assert_true(said == HAS_GROUP || said == (IS_NAMED | HAS_REMEDY | HAS_GROUP | IS_REFUSED));
}

static void test_other(void **state)
{
	char why[400] = "";

	(void)state;
	assert_int_equal(rlimits_explain(getpid(), -EAGAIN, 0, why, sizeof(why)), 0);
	assert_string_equal(why, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unlimited), cmocka_unit_test(test_limited),
		cmocka_unit_test(test_limited_root),
		cmocka_unit_test(test_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
