// SPDX-License-Identifier: MIT
/* programs.c - programs and their children of every kind: exact counts */
#include "tests/func/session/cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* libc of this system registers rseq: then every record of a plain run is in the ring of a CPU. */
extern const unsigned int __rseq_size __attribute__((weak));

static void check_cpu_rings(const struct run *r)
{
	if (&__rseq_size && __rseq_size)
		CHECK(r->exchange_bytes == 0, "%lu bytes in exchange rings", r->exchange_bytes);
}

/* Runs the program in one mode with both tracers; @work calls() in all processes together. */
static void run_mode(const char *program, const char *mode, const char *arg, int status, unsigned slices,
		     unsigned long work)
{
	char *argv[] = { (char *)program, (char *)mode, (char *)arg, NULL };

	for (uint32_t tracer = UFT_TRACER_FUNCTION; tracer <= UFT_TRACER_GRAPH; tracer++) {
		struct run *r = new_run(tracer);

		r->has_vforks = !strcmp(mode, "system");
		run_session(r, argv);
		if (r->status == SKIP << 8) {
			printf("skip %s: not permitted here\n", case_name);
			free(r);
			return;
		}
		check_clean(r);
		CHECK(r->status == status, "tracer %u: status %x instead of %x; %s", tracer, r->status, status,
		      r->warning);
		CHECK(!slices || r->slices_begun == slices, "tracer %u: %u slices instead of %u; %s", tracer,
		      r->slices_begun, slices, r->warning);
		check_counts(r, "work_a", work);
		check_counts(r, "work_b", 2 * work);
		if (!strcmp(mode, "calls"))
			check_cpu_rings(r);
		free(r);
	}
}

static void test_calls(void)
{
	struct run *r = new_run(UFT_TRACER_FUNCTION);
	char *argv[] = { (char *)target, "calls", "1000", NULL };

	run_session(r, argv);
	check_clean(r);
	CHECK(!strcmp(r->output, "done\n"), "'%s'", r->output);
	CHECK(r->status == GOOD, "%x", r->status);
	CHECK(r->tasks >= 1, "no task was named");
	check_counts(r, "work_a", 1000);
	check_counts(r, "work_b", 2000);
	free(r);
	run_mode(target, "calls", "20000", GOOD, 1, 20000);
}

static void test_static(void) { run_mode(static_target, "calls", "20000", GOOD, 1, 20000); }
static void test_fork(void) { run_mode(target, "fork", NULL, GOOD, 2, 160); }
static void test_static_fork(void) { run_mode(static_target, "fork", NULL, GOOD, 2, 160); }
static void test_tree(void) { run_mode(target, "tree", "3", GOOD, 15, 150); }
static void test_vfork(void) { run_mode(target, "vfork", NULL, GOOD, 2, 40); }
static void test_spawn(void) { run_mode(target, "spawn", NULL, GOOD, 2, 40); }
static void test_system(void) { run_mode(target, "system", NULL, GOOD, 0, 47); }
static void test_exec(void) { run_mode(target, "exec", NULL, GOOD, 2, 35); }
static void test_exec_thread(void) { run_mode(target, "exec-thread", NULL, GOOD, 2, 35); }
static void test_exec_failed(void) { run_mode(target, "exec-failed", NULL, GOOD, 1, 40); }
static void test_outlive(void) { run_mode(target, "outlive", NULL, GOOD, 2, 15); }
static void test_daemon(void) { run_mode(target, "daemon", NULL, 0, 0, 15); }
static void test_waitany(void) { run_mode(target, "waitany", NULL, GOOD, 1, 10); }
static void test_unshare(void) { run_mode(target, "unshare", NULL, GOOD, 1, 10); }
static void test_tsync(void) { run_mode(target, "tsync", NULL, GOOD, 1, 10); }
static void test_closerange(void) { run_mode(target, "closerange", NULL, GOOD, 1, 10); }
static void test_sysexit(void) { run_mode(target, "sysexit", NULL, GOOD, 1, 10); }
static void test_group(void) { run_mode(target, "group", NULL, GOOD, 2, 5); }

/* ---- Libraries ---- */

static void run_library(const char *mode, unsigned slices, unsigned long work, unsigned long constructor)
{
	char *argv[] = { (char *)target, (char *)mode, (char *)library, NULL };

	for (uint32_t tracer = UFT_TRACER_FUNCTION; tracer <= UFT_TRACER_GRAPH; tracer++) {
		struct run *r = new_run(tracer);

		run_session(r, argv);
		check_clean(r);
		CHECK(r->status == GOOD, "%x", r->status);
		CHECK(r->slices_begun == slices, "%u slices", r->slices_begun);
		CHECK(!r->warnings, "%s", r->warning);
		check_counts(r, "lib_work", work);
		check_counts(r, "lib_constructor_work", constructor);
		free(r);
	}
}

static void test_linked(void) { run_library("linked", 1, 100, 3); }
/* The constructor runs when the linked copy starts, 20 times in the parent and once in the child. */
static void test_plugin(void) { run_library("plugin", 2, 22, 3 * (1 + 20 + 1)); }

static void test_no_children(void)
{
	char *argv[] = { (char *)target, "fork", NULL };
	struct run *r = new_run(UFT_TRACER_GRAPH);

	r->opts.no_children = 1;
	run_session(r, argv);
	check_clean(r);
	CHECK(r->status == GOOD, "%x", r->status);
	CHECK(r->slices_begun == 1, "%u", r->slices_begun);
	check_counts(r, "work_a", 110);
	free(r);
}

const struct session_case programs_cases[] = {
	{ "calls", test_calls }, { "static", test_static }, { "fork", test_fork },
	{ "static-fork", test_static_fork }, { "tree", test_tree }, { "vfork", test_vfork },
	{ "spawn", test_spawn }, { "system", test_system }, { "exec", test_exec },
	{ "exec-thread", test_exec_thread }, { "exec-failed", test_exec_failed }, { "outlive", test_outlive },
	{ "daemon", test_daemon }, { "waitany", test_waitany }, { "unshare", test_unshare },
	{ "tsync", test_tsync }, { "closerange", test_closerange }, { "sysexit", test_sysexit },
	{ "group", test_group }, { "linked", test_linked }, { "plugin", test_plugin },
	{ "no-children", test_no_children }, { NULL, NULL },
};
