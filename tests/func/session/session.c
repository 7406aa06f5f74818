// SPDX-License-Identifier: MIT
/*
 * session.c - sessions against real processes: exact counts, children of every kind, ends of every kind
 *
 * Usage: session TARGET STATIC_TARGET LIBRARY PLAIN_TARGET BEFORE_TARGET [CASE...]. Exit 0 all well, 1 a case failed.
 */
#include "tests/func/session/cases.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *target, *static_target, *library, *plain_target, *before_target;
int failures;
const char *case_name;

struct run *new_run(uint32_t tracer)
{
	struct run *r = calloc(1, sizeof(*r));

	r->op.tracer = tracer;
	return r;
}

void check_clean(const struct run *r)
{
	CHECK(r->launch_result == 0, "%d %s", r->launch_result, r->err.text);
	CHECK(r->undecoded == 0, "%lu words", r->undecoded);
	CHECK(r->bad_context == 0, "%lu headers or contexts with another pid or place", r->bad_context);
	CHECK(r->unpaired == 0, "%u slices", r->unpaired);
	CHECK(r->slices_begun == r->slices_ended, "%u begun, %u ended", r->slices_begun, r->slices_ended);
	for (int i = 0; i < UFT_NCOUNTERS; i++)
		CHECK(i == UFT_CNT_PATCHED || r->stats.counters[i] == 0, "counter %d: %llu", i,
		      (unsigned long long)r->stats.counters[i]);
}

void check_counts(const struct run *r, const char *name, unsigned long want)
{
	const struct count *c = count_of(r, name);

	if (r->op.tracer == UFT_TRACER_FUNCTION) {
		CHECK(c->func == want, "%s: %lu instead of %lu", name, c->func, want);
	} else {
		CHECK(c->entry == want, "%s: %lu entries instead of %lu", name, c->entry, want);
		CHECK(c->exit == want, "%s: %lu exits instead of %lu", name, c->exit, want);
	}
}

static int is_wanted(const char *name, int n, char **names)
{
	for (int i = 0; i < n; i++)
		if (!strcmp(names[i], name))
			return 1;
	return n <= 0;
}

static void run_case(const struct session_case *c)
{
	int before = failures;

	case_name = c->name;
	c->run();
	printf("%s %s\n", failures == before ? "ok" : "FAILED", c->name);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	const struct session_case *all[] = { programs_cases, selection_cases, starts_cases, agents_cases, ends_cases };

	if (argc < 6)
		return 2;
	target = argv[1];
	static_target = argv[2];
	library = argv[3];
	plain_target = argv[4];
	before_target = argv[5];
	/* Where standard input is closed a pipe would come to be it, and be closed where a program is executed. */
	for (int fd = 0; fd >= 0 && fd < STDERR_FILENO;)
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		for (const struct session_case *c = all[i]; c->name; c++)
			if (is_wanted(c->name, argc - 6, argv + 6))
				run_case(c);
	return failures != 0;
}
