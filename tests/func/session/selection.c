// SPDX-License-Identifier: MIT
/* selection.c - what is traced: filters, and changes of filter and tracer while the program runs */
#include "tests/func/session/cases.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void test_filter(void)
{
	static const char *const only[] = { "work_[ax]", NULL }, *const not[] = { "work_a", NULL };
	char *argv[] = { (char *)target, "calls", "100", NULL };
	struct run *r = new_run(UFT_TRACER_FUNCTION);

	r->op.filter = only;
	run_session(r, argv);
	check_clean(r);
	check_counts(r, "work_a", 100);
	check_counts(r, "work_b", 0);
	CHECK(r->stats.armed == 1, "%llu armed", (unsigned long long)r->stats.armed);
	free(r);

	r = new_run(UFT_TRACER_GRAPH);
	r->op.notrace = not;
	run_session(r, argv);
	check_clean(r);
	check_counts(r, "work_a", 0);
	check_counts(r, "work_b", 200);
	free(r);
}

static void test_filter_nothing(void)
{
	static const char *const wrong[] = { "work_q", NULL }, *const unprepared[] = { "main", NULL };
	char *argv[] = { (char *)target, "calls", "100", NULL };
	struct run *r = new_run(UFT_TRACER_FUNCTION);

	r->op.filter = wrong;
	run_session(r, argv);
	CHECK(r->launch_result == -ENOENT, "%d", r->launch_result);
	CHECK(strstr(r->err.text, "work_q") && strstr(r->err.text, "work_a"), "'%s'", r->err.text);
	CHECK(!*r->output, "it ran: '%s'", r->output);
	free(r);
	r = new_run(UFT_TRACER_FUNCTION);
	r->op.filter = unprepared;
	run_session(r, argv);
	CHECK(r->launch_result == -ENOENT && strstr(r->err.text, "compiled for tracing"), "%d '%s'", r->launch_result,
	      r->err.text);
	free(r);
}

static void trace_again(struct run *r)
{
	struct uft_error err = { "" };
	int ret = r->ticks == 1 ? trace_op(r->session, &r->op, &err) : 0;

	CHECK(ret == 0, "%d %s", ret, err.text);
}

/* Children of a program that was switched over are told so; here they have often ended by then. */
static void test_short(void)
{
	char *argv[] = { (char *)target, "short", NULL };

	for (uint32_t tracer = UFT_TRACER_FUNCTION; tracer <= UFT_TRACER_GRAPH; tracer++) {
		struct run *r = new_run(tracer);

		r->tick = trace_again;
		run_session(r, argv);
		check_clean(r);
		CHECK(r->slices_begun == 201, "%u slices", r->slices_begun);
		check_counts(r, "work_a", 200);
		check_counts(r, "work_b", 2 * 200);
		free(r);
	}
}

struct switching {
	int in, switches, failed;
};

static const char *const filters[][2] = {
	{ "*", NULL }, { "work_a", NULL }, { "work_[ab]", NULL }, { "work_outer", NULL },
};

static const uint32_t tracers[] = { UFT_TRACER_FUNCTION, UFT_TRACER_GRAPH, UFT_TRACER_NOP, UFT_TRACER_PROFILE };

/* One change of tracer and filter a tick; at the end its input is closed. */
static void switch_over(struct run *r)
{
	struct switching *sw = r->arg;
	struct uft_error err = { "" };

	for (int i = 0; i < 10; i++, sw->switches++) {
		struct uft_ops op = {
			.tracer = tracers[sw->switches % 4],
			.filter = sw->switches % 5 == 4 ? NULL : filters[sw->switches % 7 % 4],
		};
		int ret = trace_op(r->session, &op, &err);

		if (ret && !sw->failed++)
			printf("FAIL %s: switch %d: %d %s\n", case_name, sw->switches, ret, err.text);
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
	if (sw->switches >= 300 && sw->in >= 0) {
		close(sw->in);
		sw->in = -1;
	}
}

static void run_switching(const char *program, const char *mode)
{
	char *argv[] = { (char *)program, (char *)mode, NULL };
	struct run *r = new_run(UFT_TRACER_FUNCTION);
	struct switching sw = { 0 };
	int pipefd[2];

	r->opts.overwrite = 1;
	r->opts.ring_bytes = 1 << 20;
	CHECK(pipe2(pipefd, O_CLOEXEC) == 0, "pipe");
	sw.in = pipefd[1];
	r->tick = switch_over;
	r->arg = &sw;
	r->input_fd = pipefd[0];
	run_session(r, argv);
	close(pipefd[0]);
	CHECK(r->launch_result == 0, "%d %s", r->launch_result, r->err.text);
	CHECK(!sw.failed, "%d switches failed", sw.failed);
	CHECK(r->status == GOOD, "%x", r->status);
	CHECK(strstr(r->output, " 1\n") || !strcmp(mode, "threads"), "'%s'", r->output);
	for (int i = 0; i < UFT_NCOUNTERS; i++)
		CHECK(i == UFT_CNT_PATCHED || r->stats.counters[i] == 0, "counter %d: %llu", i,
		      (unsigned long long)r->stats.counters[i]);
	free(r);
}

static void test_switching(void)
{
	run_switching(target, "loop");
	run_switching(target, "threads");
	run_switching(static_target, "loop");
	run_switching(plain_target, "loop");
	run_switching(plain_target, "threads");
	run_switching(before_target, "loop");
	run_switching(before_target, "threads");
}

const struct session_case selection_cases[] = {
	{ "filter", test_filter }, { "filter-nothing", test_filter_nothing }, { "switching", test_switching },
	{ "short", test_short }, { NULL, NULL },
};
