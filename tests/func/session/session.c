// SPDX-License-Identifier: MIT
/*
 * session.c - sessions against real processes: exact counts, children of every kind, ends of every kind
 *
 * Usage: session TARGET STATIC_TARGET LIBRARY [CASE...]. Exit 0 all well, 1 a case failed.
 */
#include "control/functions.h"
#include "control/arm/arm.h"
#include "control/plan/unprepared.h"
#include "control/relocate/entry.h"
#include "tests/func/session/harness.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define GOOD	(42 << 8)
#define SKIP	77

static const char *target, *static_target, *library, *plain_target, *before_target;
static int failures;
static const char *case_name;

#define CHECK(cond, ...)								\
	do {										\
		if (!(cond)) {								\
			failures++;							\
			printf("FAIL %s: %s:%d: %s: ", case_name, __FILE__, __LINE__, #cond); \
			printf(__VA_ARGS__);						\
			printf("\n");							\
		}									\
	} while (0)

static struct run *new_run(uint32_t tracer)
{
	struct run *r = calloc(1, sizeof(*r));

	r->op.tracer = tracer;
	return r;
}

/* What every run must show, whatever it did. */
static void check_clean(const struct run *r)
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

static void check_counts(const struct run *r, const char *name, unsigned long want)
{
	const struct count *c = count_of(r, name);

	if (r->op.tracer == UFT_TRACER_FUNCTION) {
		CHECK(c->func == want, "%s: %lu instead of %lu", name, c->func, want);
	} else {
		CHECK(c->entry == want, "%s: %lu entries instead of %lu", name, c->entry, want);
		CHECK(c->exit == want, "%s: %lu exits instead of %lu", name, c->exit, want);
	}
}

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
		CHECK(r->status == status, "tracer %u: status %x instead of %x; %s", tracer, r->status, status, r->warning);
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

/* ---- What is selected ---- */

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
	CHECK(r->launch_result == -ENOENT && strstr(r->err.text, "compiled for tracing"), "%d '%s'", r->launch_result, r->err.text);
	free(r);
}

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

/* ---- What cannot be started ---- */

static void expect_refusal(const char *path, int code, const char *word)
{
	char *argv[] = { (char *)path, NULL };
	struct run *r = new_run(UFT_TRACER_FUNCTION);

	r->opts.no_children = 1;
	run_session(r, argv);
	CHECK(r->launch_result == code, "%s: %d instead of %d (%s)", path, r->launch_result, code, r->err.text);
	CHECK(strstr(r->err.text, word), "%s: '%s' does not say '%s'", path, r->err.text, word);
	free(r);
}

static void write_file(const char *path, const void *data, size_t n, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0700);

	CHECK(fd >= 0 && write(fd, data, n) == (ssize_t)n && fchmod(fd, mode) == 0, "%s", path);
	close(fd);
}

static void test_refusals(void)
{
	static const char elf32[64] = "\177ELF\1\1\1\0\0\0\0\0\0\0\0\0\2\0\3";
	char dir[] = "/tmp/uft-refuse-XXXXXX", path[64];

	CHECK(mkdtemp(dir), "mkdtemp");
	expect_refusal("/nonexistent/program", -ENOENT, "No such file");
	expect_refusal("no-such-program-anywhere", -ENOENT, "PATH");
	expect_refusal("/etc/passwd", -EACCES, "not executable");
	expect_refusal("/tmp", -EISDIR, "directory");
	snprintf(path, sizeof(path), "%s/32bit", dir);
	write_file(path, elf32, sizeof(elf32), 0700);
	expect_refusal(path, -EPFNOSUPPORT, "architecture");
	write_file(path, "hello\n", 6, 0700);
	expect_refusal(path, -ENOEXEC, "neither an ELF");
	write_file(path, "#!/no/such/interpreter\n", 23, 0700);
	expect_refusal(path, -ENOENT, "interpreter");
	if (!getuid()) {
		char copy[5000];

		snprintf(copy, sizeof(copy), "cp %s %s && chown 12345 %s && chmod 4755 %s", target, path, path, path);
		CHECK(system(copy) == 0, "%s", copy);
		expect_refusal(path, -EPERM, "setuid");
	}
	unlink(path);
	rmdir(dir);
}

static void test_script(void)
{
	char dir[] = "/tmp/uft-script-XXXXXX", path[64], text[9000];
	char *argv[] = { path, NULL };
	struct run *r = new_run(UFT_TRACER_FUNCTION);

	r->has_vforks = 1;
	CHECK(mkdtemp(dir), "mkdtemp");
	snprintf(path, sizeof(path), "%s/script", dir);
	snprintf(text, sizeof(text), "#!/bin/sh\n%s calls 10\nexec %s calls 20\n", target, target);
	write_file(path, text, strlen(text), 0700);
	run_session(r, argv);
	check_clean(r);
	CHECK(r->status == GOOD, "%x", r->status);
	CHECK(!strcmp(r->output, "done\ndone\n"), "'%s'", r->output);
	check_counts(r, "work_a", 30);
	free(r);
	unlink(path);
	rmdir(dir);
}

/* Killed in the middle of its work: everything up to that instant is in the rings. */
static void kill_target(struct run *r)
{
	const struct uft_arena *a = uft_session_arena(r->session);
	pid_t pid = (pid_t)((const struct uft_slice *)((const char *)a + a->slice_offset))->pid;

	if (r->ticks == 3 && pid > 0)
		kill(pid, SIGKILL);
}

static void test_killed_target(void)
{
	char *argv[] = { (char *)target, "loop", NULL };
	struct run *r = new_run(UFT_TRACER_FUNCTION);
	const struct count *a, *b, *outer;
	int pipefd[2];

	CHECK(pipe2(pipefd, O_CLOEXEC) == 0, "pipe");
	r->opts.ring_bytes = 64 << 20;		/* discard mode: full rings keep the first records */
	r->input_fd = pipefd[0];
	r->tick = kill_target;
	run_session(r, argv);
	CHECK(r->launch_result == 0, "%s", r->err.text);
	CHECK(r->status == SIGKILL, "%x", r->status);
	CHECK(r->undecoded == 0 && r->bad_context == 0, "%lu, %lu", r->undecoded, r->bad_context);
	a = count_of(r, "work_a");
	b = count_of(r, "work_b");
	outer = count_of(r, "work_outer");
	CHECK(outer->func > 1000 && r->slices_ended == 1, "%lu calls", outer->func);
	/* In order but for full rings, which stop at any of the three. */
	CHECK(outer->func - a->func <= 64 && a->func - b->func <= 64, "%lu %lu %lu", outer->func, a->func, b->func);
	close(pipefd[0]);
	close(pipefd[1]);
	free(r);
}

/* ---- While it runs ---- */

static pid_t agent_of(const struct run *r)
{
	const struct uft_arena *a = uft_session_arena(r->session);

	return (pid_t)((const struct uft_slice *)((const char *)a + a->slice_offset))->agent_tid;
}

static int uid_of(pid_t pid)
{
	char path[64], line[256];
	int uid = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "Uid: %d", &uid);
	if (f)
		fclose(f);
	return uid;
}

static void watch_uid(struct run *r)
{
	int uid = agent_of(r) ? uid_of(agent_of(r)) : -1;

	if (uid >= 0)
		*(int *)r->arg = uid;
}

static void test_setuid(void)
{
	char *argv[] = { (char *)target, "setuid", NULL };
	struct run *r = new_run(UFT_TRACER_GRAPH);
	int uid = -1;

	if (getuid()) {
		printf("skip %s: needs root\n", case_name);
		free(r);
		return;
	}
	r->tick = watch_uid;
	r->arg = &uid;
	run_session(r, argv);
	check_clean(r);
	CHECK(r->status == GOOD, "%x", r->status);
	CHECK(uid == 65534, "the agent had uid %d at last", uid);
	check_counts(r, "work_a", 10);
	free(r);
}

/* The first of two is left: its slice is the next one's, that of the second after its exec. */
static void leave_first(struct run *r)
{
	const struct uft_arena *a = uft_session_arena(r->session);
	const struct uft_slice *first = (const struct uft_slice *)((const char *)a + a->slice_offset);
	int *in = r->arg, ret;

	if (r->slices_begun != 2 || *in < 0)
		return;
	ret = uft_session_detach(r->session, (pid_t)first->pid);
	CHECK(ret == 0, "%d; %s", ret, r->warning);
	close(*in);
	*in = -1;
}

static void test_slice_of_one_left(void)
{
	char *argv[] = { (char *)target, "left", NULL };

	for (uint32_t tracer = UFT_TRACER_FUNCTION; tracer <= UFT_TRACER_GRAPH; tracer++) {
		struct run *r = new_run(tracer);
		int pipefd[2];

		CHECK(pipe2(pipefd, O_CLOEXEC) == 0, "pipe");
		r->input_fd = pipefd[0];
		r->tick = leave_first;
		r->arg = &pipefd[1];
		run_session(r, argv);
		check_clean(r);
		CHECK(r->slices_begun == 3 && pipefd[1] < 0, "%u slices", r->slices_begun);
		check_counts(r, "work_a", 5 + 5 + 5 + 30);
		check_counts(r, "work_b", 2 * (5 + 5 + 5 + 30));
		close(pipefd[0]);
		free(r);
	}
}

/* State of a process: a letter of /proc/PID/stat, 0 when it is over. */
static char state_of(pid_t pid)
{
	char path[64], text[512] = "";
	const char *at;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	if (f && !fgets(text, sizeof(text), f))
		text[0] = '\0';
	if (f)
		fclose(f);
	at = strrchr(text, ')');
	return at && at[1] ? at[2] : '\0';
}

/* Its agent stands, as all of it would if it were frozen, and a command that nobody answered is taken to have timed out. */
static void leave_stuck(struct run *r)
{
	struct target *t = r->session->targets;
	int *in = r->arg, ret, status = 0;
	pid_t agent, pid;

	if (!t || !t->has_agent || *in < 0)
		return;
	pid = t->pid;
	agent = (pid_t)arena_slice(&r->session->arena, t->slice)->agent_tid;
	CHECK(kill(agent, SIGSTOP) == 0, "agent %d", agent);
	while (state_of(agent) && state_of(agent) != 'T')
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	arena_cmd(&r->session->arena, t->slice)->op = UFT_CMD_NOP;
	CHECK(command_post(r->session, t) == 0, "post");
	t->is_stuck = 1;

	ret = uft_session_detach(r->session, pid);
	CHECK(ret == -EBUSY, "what does not answer: %d", ret);
	CHECK(r->session->targets == t && r->slices_ended == 0 && process_maps_arena(r->session, pid), "it was given up, still traced");
	kill(agent, SIGCONT);
	/* A loaded machine may let the agent wait for longer than one try takes. */
	for (int i = 0; i < 30 && ret == -EBUSY; i++)
		ret = uft_session_detach(r->session, pid);
	CHECK(ret == 0, "it answers again: %d; %s", ret, r->warning);
	CHECK(!process_maps_arena(r->session, pid), "ours is in it still");
	CHECK(r->slices_ended == 1, "%u slices ended", r->slices_ended);
	close(*in);
	*in = -1;
	CHECK(waitpid(pid, &status, 0) == pid && status == GOOD, "it ended by %#x", (unsigned)status);
}

static void test_stuck_left(void)
{
	char *argv[] = { (char *)target, "loop", NULL };
	struct run *r = new_run(UFT_TRACER_FUNCTION);
	int pipefd[2];

	CHECK(pipe2(pipefd, O_CLOEXEC) == 0, "pipe");
	r->input_fd = pipefd[0];
	r->tick = leave_stuck;
	r->arg = &pipefd[1];
	run_session(r, argv);
	CHECK(!strcmp(r->output, "original 1\n"), "'%s'; %s", r->output, r->warning);
	CHECK(pipefd[1] < 0, "nobody was left");
	close(pipefd[0]);
	free(r);
}

/* The next ten calls, all of them. */
static void take_turn(struct run *r, int in)
{
	char all[16];
	ssize_t before = pread(1, all, sizeof(all), 0);

	CHECK(write(in, "x", 1) == 1, "the program has gone");
	while (pread(1, all, sizeof(all), 0) == before && target_is_running(r->session->targets))
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

static int trace_only(struct run *r, const char *name)
{
	const char *const only[] = { name, NULL };
	struct uft_ops op = { .tracer = r->op.tracer, .filter = only };
	struct uft_error err = { "" };

	return trace_op(r->session, &op, &err);
}

/* As a filter of that name would, but for the command that comes before it. */
static int patch_also(struct run *r, struct target *t, const char *name)
{
	const struct uft_mapped *m = &t->space->img->obj[0];
	const struct entries *list;

	if (t->space->obj[0].plain && !unprepared_list(r->session, &t->space->obj[0], m, &list))
		entries_plan(m->obj, (struct entries *)list, NULL);
	for (uint32_t i = 0; i < m->nstubs; i++) {
		const struct uft_func *f = uft_object_func(m->obj, m->stub_addr[i] - m->bias);

		if (f && f->name && !strcmp(f->name, name))
			t->space->obj[0].want[i] = r->op.tracer == UFT_TRACER_GRAPH ? UFT_GRAPH : UFT_FUNCTION;
	}
	return command_patch(r->session, t, 0, 0);
}

struct silence {
	int in;
	int is_patch;	/* what is not answered is the list of sites, not what comes before it */
	int step, last;
};

#define SILENT_TICKS	600	/* 60 s: a loaded machine may let the agent wait */

/* Its agent stands while work_b is asked for, then work_outer; what was asked for last holds when it goes on. */
static void fall_silent(struct run *r)
{
	struct silence *sil = r->arg;
	struct target *t = r->session->targets;
	pid_t agent;
	int ret;

	if (!t || !t->has_agent || t->remote || !t->space->started || sil->in < 0 || (sil->step && t->is_stuck && r->ticks < sil->last))
		return;
	if (sil->step++) {
		CHECK(!t->is_stuck, "it does not come to itself");
		CHECK(t->armed == 1, "%llu armed", (unsigned long long)t->armed);
		take_turn(r, sil->in);
		ret = trace_only(r, "work_b");
		CHECK(ret == 0, "the next change: %d", ret);
		take_turn(r, sil->in);
		close(sil->in);
		sil->in = -1;
		return;
	}
	take_turn(r, sil->in);
	agent = (pid_t)arena_slice(&r->session->arena, t->slice)->agent_tid;
	CHECK(kill(agent, SIGSTOP) == 0, "agent %d", agent);
	while (state_of(agent) && state_of(agent) != 'T')
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	r->session->command_ms = 50;
	ret = sil->is_patch ? patch_also(r, t, "work_b") : trace_only(r, "work_b");
	CHECK(ret == -ETIMEDOUT && t->is_stuck, "what does not answer: %d", ret);
	r->session->command_ms = COMMAND_TIMEOUT_MS;
	take_turn(r, sil->in);
	ret = trace_only(r, "work_outer");
	CHECK(ret == 0 && t->is_stuck, "while it does not: %d", ret);
	take_turn(r, sil->in);
	kill(agent, SIGCONT);
	sil->last = r->ticks + SILENT_TICKS;
}

static void run_silent(const char *program, uint32_t tracer, int is_patch)
{
	static const char *const only[] = { "work_a", NULL };
	char *argv[] = { (char *)program, "turns", NULL };
	struct run *r = new_run(tracer);
	struct silence sil = { .is_patch = is_patch };
	int pipefd[2];

	CHECK(pipe2(pipefd, O_CLOEXEC) == 0, "pipe");
	r->op.filter = only;
	r->input_fd = pipefd[0];
	sil.in = pipefd[1];
	r->tick = fall_silent;
	r->arg = &sil;
	run_session(r, argv);
	check_clean(r);
	CHECK(r->status == GOOD && sil.in < 0, "it ended by %#x", (unsigned)r->status);
	CHECK(strstr(r->warning, " does not answer") && strstr(r->warning, " answers again\n"), "'%s'", r->warning);
	check_counts(r, "work_a", 30);
	check_counts(r, "work_outer", 10);
	check_counts(r, "work_b", 10);
	close(pipefd[0]);
	free(r);
}

static void test_silent_agent(void)
{
	for (uint32_t tracer = UFT_TRACER_FUNCTION; tracer <= UFT_TRACER_GRAPH; tracer++)
		for (int is_patch = 0; is_patch < 2; is_patch++) {
			run_silent(target, tracer, is_patch);
			run_silent(plain_target, tracer, is_patch);
		}
}

/* The request of a child that was left before it was served: its slice is another's by now, who has not filled it in, or just so. */
struct late {
	int in, index, step;
};

static void late_request(struct run *r)
{
	const struct uft_arena *a = uft_session_arena(r->session);
	struct late *late = r->arg;
	struct uft_session *s = r->session;
	struct uft_slice *parents, *sl;
	struct uft_request *req;

	if (!r->slices_begun || late->in < 0 || !s->targets)
		return;
	if (!late->step)
		late->index = (int)((s->arena.spare[s->arena.nspares - 1] - 1) * a->per_file);
	parents = arena_slice(&s->arena, s->targets->slice);
	sl = arena_slice(&s->arena, (uint32_t)late->index);
	req = &s->arena.mail[(uint32_t)late->index / a->per_file]->req[1];
	if (late->step && __atomic_load_n(&req->state, __ATOMIC_ACQUIRE) != UFT_REQ_FREE)
		return;		/* it is not served yet */
	CHECK(sl->state == (late->step ? UFT_SLICE_LIVE : UFT_SLICE_FREE), "step %d: the slice is in state %u", late->step, sl->state);
	if (late->step == 2) {
		sl->pid = 0;
		__atomic_store_n(&sl->state, UFT_SLICE_FREE, __ATOMIC_RELEASE);
		close(late->in);
		late->in = -1;
		return;
	}
	sl->pid = late->step ? parents->pid : 0;	/* one that looks like a child */
	__atomic_store_n(&sl->state, UFT_SLICE_LIVE, __ATOMIC_RELEASE);
	*req = (struct uft_request){ .kind = UFT_REQ_FORKED, .pid = 1, .tid = 1, .no_wait = 1, .slice = (uint32_t)late->index,
		.arg = { (uint64_t)late->index } };
	__atomic_store_n(&req->state, UFT_REQ_POSTED, __ATOMIC_RELEASE);
	late->step++;
}

static void test_late_fork(void)
{
	char *argv[] = { (char *)target, "loop", NULL };
	struct run *r = new_run(UFT_TRACER_FUNCTION);
	struct late late = { .step = 0 };
	int pipefd[2];

	CHECK(pipe2(pipefd, O_CLOEXEC) == 0, "pipe");
	late.in = pipefd[1];
	r->input_fd = pipefd[0];
	r->tick = late_request;
	r->arg = &late;
	run_session(r, argv);
	CHECK(late.step == 2 && late.in < 0, "step %d", late.step);
	CHECK(r->slices_begun == 1 && !r->unpaired, "%u slices, %u unpaired", r->slices_begun, r->unpaired);
	close(pipefd[0]);
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

static const char *const filters[][2] = { { "*", NULL }, { "work_a", NULL }, { "work_[ab]", NULL }, { "work_outer", NULL } };

/* One change of tracer and filter a tick; at the end its input is closed. */
static void switch_over(struct run *r)
{
	struct switching *sw = r->arg;
	struct uft_error err = { "" };

	for (int i = 0; i < 10; i++, sw->switches++) {
		struct uft_ops op = {
			.tracer = (uint32_t[]){ UFT_TRACER_FUNCTION, UFT_TRACER_GRAPH, UFT_TRACER_NOP, UFT_TRACER_PROFILE }
				[sw->switches % 4],
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

/* Reads one line. */
static int read_line(int fd, char *line, size_t size)
{
	size_t n = 0;

	alarm(100);
	while (n + 1 < size && read(fd, line + n, 1) == 1 && line[n] != '\n')
		n++;
	alarm(0);
	line[n] = '\0';
	return (int)n;
}

/* Another process holds the session and is killed, or destroys it: the program goes on with its own code. */
static pid_t end_session(int by_kill)
{
	char *argv[] = { (char *)target, "loop", NULL };
	int in[2], out[2], ready[2], enough[2];
	char line[64] = "";
	pid_t pid;

	CHECK(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0 && pipe2(ready, O_CLOEXEC) == 0 &&
	      pipe2(enough, O_CLOEXEC) == 0, "pipe");
	fflush(stdout);
	pid = fork();
	if (!pid) {
		struct pollfd told = { .fd = enough[0], .events = POLLIN };
		struct uft_session_opts opts = { .ring_bytes = 1 << 20, .overwrite = 1 };
		struct uft_ops op = { .tracer = UFT_TRACER_GRAPH };
		struct uft_session *s;
		struct uft_error err;
		pid_t prog;

		if (uft_session_create(&opts, NULL, &s, &err) || trace_op(s, &op, &err))
			_exit(1);
		dup2(in[0], 0);
		dup2(out[1], 1);
		if (uft_session_launch(s, argv, &prog, &err))
			_exit(2);
		if (write(ready[1], "r", 1) != 1)
			_exit(3);
		while (poll(&told, 1, 0) == 0)
			uft_session_poll(s, 50);
		uft_session_destroy(s);
		_exit(0);
	}
	close(out[1]);
	close(in[0]);
	CHECK(read(ready[0], line, 1) == 1, "the session did not start");
	CHECK(write(in[1], "?", 1) == 1 && read_line(out[0], line, sizeof(line)) && !strcmp(line, "changed"), "'%s'", line);
	if (by_kill)
		kill(pid, SIGKILL);
	else
		CHECK(write(enough[1], "e", 1) == 1, "write");
	waitpid(pid, NULL, 0);
	for (int tries = 0; tries < 1000 && strcmp(line, "original"); tries++, usleep(50000))
		CHECK(write(in[1], "?", 1) == 1 && read_line(out[0], line, sizeof(line)), "no answer");
	CHECK(!strcmp(line, "original"), "'%s'", line);
	close(in[1]);
	read_line(out[0], line, sizeof(line));
	CHECK(!strcmp(line, "original 1"), "'%s'", line);
	close(out[0]);
	close(ready[0]);
	close(ready[1]);
	close(enough[0]);
	close(enough[1]);
	return pid;
}

/* Is the file of the session of @pid there? Others may run beside us, so only this one counts. */
static int has_file(pid_t pid)
{
	const char *run = getenv("XDG_RUNTIME_DIR");
	char path[512];

	snprintf(path, sizeof(path), "%s/uft/session.%d", run ? run : "", pid);
	if (run && access(path, F_OK) == 0)
		return 1;
	snprintf(path, sizeof(path), "/dev/shm/uft-%u/session.%d", geteuid(), pid);
	return access(path, F_OK) == 0;
}

/* Nothing is stopped by the loss of its file, which the next session removes: this one's, or that of a neighbour. */
static void test_killed_session(void)
{
	struct uft_session_opts opts = { .ring_bytes = 1 << 20 };
	struct uft_session *s;
	pid_t pid = end_session(1);

	CHECK(uft_session_create(&opts, NULL, &s, NULL) == 0, "create");
	for (int tries = 0; tries < 1000 && has_file(pid); tries++, usleep(50000)) {	/* its guard may have been at work still */
		uft_session_destroy(s);
		CHECK(uft_session_create(&opts, NULL, &s, NULL) == 0, "create again");
	}
	CHECK(!has_file(pid), "the file of session %d is still there", pid);
	CHECK(has_file(getpid()), "our own file is not where it is looked for");
	uft_session_destroy(s);
	CHECK(!has_file(getpid()), "our own file is still there");
}

static void test_destroyed_session(void) { CHECK(!has_file(end_session(0)), "its file is still there"); }

/* Does a child of ours stand that runs @exe? Its exec takes a moment. */
static int has_begun(const char *exe)
{
	char path[64], children[256] = "", link[PATH_MAX];

	for (int ms = 0; ms < 60000; ms += 5, usleep(5000)) {
		FILE *f;
		char *at = children;

		snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
		f = fopen(path, "re");
		children[f ? fread(children, 1, sizeof(children) - 1, f) : 0] = '\0';
		if (f)
			fclose(f);
		for (long pid; (pid = strtol(at, &at, 10)) > 0;) {
			ssize_t n;

			snprintf(path, sizeof(path), "/proc/%ld/exe", pid);
			n = readlink(path, link, sizeof(link) - 1);
			if (n > 0 && (size_t)n == strlen(exe) && !memcmp(link, exe, strlen(exe)))
				return 1;
		}
	}
	return 0;
}

/* Says which, and how it is: 0 runs, or stands where somebody has seen it stand. */
static void check_no_child(void)
{
	char path[64], children[64] = "";
	int status = 0;
	pid_t left;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	f = fopen(path, "re");
	if (f && !fgets(children, sizeof(children), f))
		children[0] = '\0';
	if (f)
		fclose(f);
	left = waitpid(-1, &status, __WALL | WNOHANG);
	CHECK(left < 0 && errno == ECHILD, "a child is left: %d, status %#x, of %s", left, (unsigned)status, children);
}

/* A program that is named to uft_session_create() stands in its exec until it is launched, and ends there if it is not. */
static void test_begun(void)
{
	char name[] = "/tmp/uft-begun.XXXXXX", exe[PATH_MAX], *touch[] = { "touch", name, NULL }, *none[] = { "/nowhere/none", NULL };
	char *calls[] = { (char *)target, "calls", "5", NULL };
	struct uft_ops op = { .tracer = UFT_TRACER_FUNCTION };
	struct uft_session_opts opts = { .ring_bytes = 1 << 20, .program = touch };
	struct uft_session *s;
	struct uft_error err = { "" };
	pid_t pid;

	close(mkstemp(name));
	unlink(name);
	CHECK(realpath("/usr/bin/touch", exe) != NULL, "no touch");
	CHECK(uft_session_create(&opts, NULL, &s, NULL) == 0 && has_begun(exe), "it was not begun");
	uft_session_destroy(s);
	check_no_child();

	CHECK(uft_session_create(&opts, NULL, &s, NULL) == 0 && trace_op(s, &op, NULL) == 0, "create");
	CHECK(uft_session_launch(s, calls, &pid, &err) == 0, "another one: %s", err.text);
	while (uft_session_poll(s, 100) > 0)
		;
	CHECK(WIFEXITED(uft_session_status(s)), "it ended by %#x", uft_session_status(s));
	uft_session_destroy(s);
	check_no_child();
	CHECK(access(name, F_OK) < 0, "a program ran that nobody launched");

	opts.program = none;
	CHECK(uft_session_create(&opts, NULL, &s, NULL) == 0, "create");
	CHECK(uft_session_launch(s, none, &pid, &err) == -ENOENT && strstr(err.text, none[0]), "%s", err.text);
	uft_session_destroy(s);
}

/* A session of the same thread, which begins and ends while the first one's program runs. Each is served in turns. */
static void serve_first(struct run *r)
{
	uft_session_poll(r->arg, 0);
}

static void run_second(struct run *r)
{
	char *argv[] = { (char *)plain_target, "fork", NULL };
	struct run *second;

	if (r->ticks != 1)
		return;
	second = new_run(UFT_TRACER_GRAPH);
	second->arg = r->session;
	second->tick = serve_first;
	run_session(second, argv);
	check_clean(second);
	CHECK(second->status == GOOD, "%x", second->status);
	check_counts(second, "work_a", 160);
	check_counts(second, "work_b", 320);
	free(second);
}

static void test_two_sessions(void)
{
	struct run *r = new_run(UFT_TRACER_FUNCTION);
	char *argv[] = { (char *)plain_target, "exec", NULL };

	r->tick = run_second;
	run_session(r, argv);
	check_clean(r);
	CHECK(r->status == GOOD, "%x", r->status);
	CHECK(r->slices_begun == 2, "%u slices", r->slices_begun);
	check_counts(r, "work_a", 35);
	check_counts(r, "work_b", 70);
	free(r);
}

static const struct test {
	const char *name;
	void (*run)(void);
} tests[] = {
	{ "calls", test_calls }, { "static", test_static }, { "fork", test_fork }, { "static-fork", test_static_fork },
	{ "tree", test_tree }, { "vfork", test_vfork }, { "spawn", test_spawn }, { "system", test_system },
	{ "exec", test_exec }, { "exec-thread", test_exec_thread }, { "exec-failed", test_exec_failed },
	{ "outlive", test_outlive }, { "daemon", test_daemon }, { "waitany", test_waitany }, { "unshare", test_unshare },
	{ "setuid", test_setuid }, { "tsync", test_tsync }, { "closerange", test_closerange },
	{ "sysexit", test_sysexit }, { "group", test_group }, { "filter", test_filter },
	{ "linked", test_linked }, { "plugin", test_plugin }, { "filter-nothing", test_filter_nothing }, { "no-children", test_no_children }, { "refusals", test_refusals },
	{ "script", test_script }, { "killed-target", test_killed_target }, { "switching", test_switching },
	{ "short", test_short }, { "slice-of-one-left", test_slice_of_one_left },
	{ "stuck-left", test_stuck_left }, { "silent-agent", test_silent_agent }, { "late-fork", test_late_fork }, { "killed-session", test_killed_session },
	{ "destroyed-session", test_destroyed_session }, { "begun", test_begun }, { "two-sessions", test_two_sessions },
};

static int is_wanted(const char *name, int n, char **names)
{
	for (int i = 0; i < n; i++)
		if (!strcmp(names[i], name))
			return 1;
	return n <= 0;
}

int main(int argc, char **argv)
{
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
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		int before = failures;

		if (!is_wanted(tests[i].name, argc - 6, argv + 6))
			continue;
		case_name = tests[i].name;
		tests[i].run();
		printf("%s %s\n", failures == before ? "ok" : "FAILED", tests[i].name);
		fflush(stdout);
	}
	return failures != 0;
}
