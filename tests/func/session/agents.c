// SPDX-License-Identifier: MIT
/* agents.c - agents: of other users, detached, silent, late */
#include "control/arm/arm.h"
#include "control/functions.h"
#include "control/plan/unprepared.h"
#include "control/relocate/entry.h"
#include "tests/func/session/cases.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

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

/* The agent is stopped, as all of the process would be if it were frozen, and a command counts as timed out. */
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
	CHECK(r->session->targets == t && r->slices_ended == 0 && process_maps_arena(r->session, pid),
	      "it was given up, still traced");
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

	if (!t || !t->has_agent || t->remote || !t->space->started || sil->in < 0 ||
	    (sil->step && t->is_stuck && r->ticks < sil->last))
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

/* The program is over, its agent stands and has not answered: nothing more is written to where it may still read. */
static void end_unanswered(struct run *r)
{
	struct target *t = r->session->targets;
	uint32_t *seq, before;
	pid_t agent;
	int *in = r->arg, ret;

	if (!t || !t->has_agent || t->remote || !t->space->started || *in < 0)
		return;
	take_turn(r, *in);
	agent = (pid_t)arena_slice(&r->session->arena, t->slice)->agent_tid;
	CHECK(kill(agent, SIGSTOP) == 0, "agent %d", agent);
	while (state_of(agent) && state_of(agent) != 'T')
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	kill(t->pid, SIGKILL);
	while (target_is_running(t))
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	seq = &arena_slice(&r->session->arena, t->slice)->cmd_seq;
	before = *seq;
	trace_only(r, "work_b");
	ret = trace_only(r, "work_outer");
	CHECK(*seq == before + 1, "%u commands; %d", *seq - before, ret);
	kill(agent, SIGCONT);
	close(*in);
	*in = -1;
}

static void test_ended_unanswered(void)
{
	static const char *const only[] = { "work_a", NULL };
	char *argv[] = { (char *)target, "turns", NULL };
	struct run *r = new_run(UFT_TRACER_FUNCTION);
	int pipefd[2];

	CHECK(pipe2(pipefd, O_CLOEXEC) == 0, "pipe");
	r->op.filter = only;
	r->input_fd = pipefd[0];
	r->tick = end_unanswered;
	r->arg = &pipefd[1];
	run_session(r, argv);
	check_clean(r);
	CHECK(r->status == SIGKILL && pipefd[1] < 0, "it ended by %#x", (unsigned)r->status);
	CHECK(!*r->warning, "'%s'", r->warning);
	close(pipefd[0]);
	free(r);
}

/* It is stopped, mostly in the middle of a fork: its agent does what it is told all the same. */
static void stop_forking(struct run *r)
{
	static const char *const names[] = { "work_a", "work_b" };
	struct target *t = r->session->targets;
	int *in = r->arg, ret;

	if (r->ticks < 3 || *in < 0)
		return;
	while (t->next)		/* the children come and go in front of it */
		t = t->next;
	CHECK(kill(t->pid, SIGSTOP) == 0, "%d", t->pid);
	while (state_of(t->pid) != 'T' && state_of(t->pid) != 't')
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	ret = trace_only(r, names[r->ticks % 2]);
	CHECK(ret == 0, "%d", ret);
	kill(t->pid, SIGCONT);
	if (r->ticks < 23)
		return;
	close(*in);
	*in = -1;
}

static void test_stopped_in_fork(void)
{
	char *argv[] = { (char *)target, "forks", NULL };
	struct run *r = new_run(UFT_TRACER_FUNCTION);
	int pipefd[2];

	CHECK(pipe2(pipefd, O_CLOEXEC) == 0, "pipe");
	r->input_fd = pipefd[0];
	r->tick = stop_forking;
	r->arg = &pipefd[1];
	run_session(r, argv);
	CHECK(r->status == GOOD && pipefd[1] < 0, "it ended by %#x", (unsigned)r->status);
	CHECK(!strstr(r->warning, "does not answer"), "'%s'", r->warning);
	close(pipefd[0]);
	free(r);
}

/*
 * The request of a child that was detached before it was served: its slice belongs to another process by now, which
 * has not filled it in, or just so.
 */
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
	CHECK(sl->state == (late->step ? UFT_SLICE_LIVE : UFT_SLICE_FREE), "step %d: the slice is in state %u",
	      late->step, sl->state);
	if (late->step == 2) {
		sl->pid = 0;
		__atomic_store_n(&sl->state, UFT_SLICE_FREE, __ATOMIC_RELEASE);
		close(late->in);
		late->in = -1;
		return;
	}
	sl->pid = late->step ? parents->pid : 0;	/* one that looks like a child */
	__atomic_store_n(&sl->state, UFT_SLICE_LIVE, __ATOMIC_RELEASE);
	*req = (struct uft_request){
		.kind = UFT_REQ_FORKED, .pid = 1, .tid = 1, .no_wait = 1, .slice = (uint32_t)late->index,
		.arg = { (uint64_t)late->index },
	};
	__atomic_store_n(&req->state, UFT_REQ_POSTED, __ATOMIC_RELEASE);
	__atomic_store_n(&s->arena.mail[(uint32_t)late->index / a->per_file]->posted, 1, __ATOMIC_RELEASE);
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

const struct session_case agents_cases[] = {
	{ "setuid", test_setuid }, { "slice-of-one-left", test_slice_of_one_left },
	{ "stuck-left", test_stuck_left }, { "silent-agent", test_silent_agent },
	{ "ended-unanswered", test_ended_unanswered }, { "stopped-in-fork", test_stopped_in_fork },
	{ "late-fork", test_late_fork }, { NULL, NULL },
};
