// SPDX-License-Identifier: MIT
/* ends.c - ends: of the program, of the session, of one of two sessions */
#include "tests/func/session/cases.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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
	CHECK(write(in[1], "?", 1) == 1 && read_line(out[0], line, sizeof(line)) && !strcmp(line, "changed"), "'%s'",
	      line);
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
	/* its guard may have been at work still */
	for (int tries = 0; tries < 1000 && has_file(pid); tries++, usleep(50000)) {
		uft_session_destroy(s);
		CHECK(uft_session_create(&opts, NULL, &s, NULL) == 0, "create again");
	}
	CHECK(!has_file(pid), "the file of session %d is still there", pid);
	CHECK(has_file(getpid()), "our own file is not where it is looked for");
	uft_session_destroy(s);
	CHECK(!has_file(getpid()), "our own file is still there");
}

static void test_destroyed_session(void) { CHECK(!has_file(end_session(0)), "its file is still there"); }

/*
 * The program is killed while the session is destroyed: the status is there, once, be it reaped for a stop of
 * it or not.
 */
static void kill_while_destroyed(long after_us)
{
	char *argv[] = { (char *)target, "loop", NULL };
	struct run *r = new_run(UFT_TRACER_GRAPH);
	struct uft_ops op = { .tracer = UFT_TRACER_GRAPH };
	struct uft_session *s;
	struct uft_error err;
	int in[2], status, was = dup(0);
	pid_t prog, killer;

	CHECK(pipe2(in, O_CLOEXEC) == 0 && dup2(in[0], 0) == 0, "pipe");
	CHECK(uft_session_create(&r->opts, NULL, &s, &err) == 0 && trace_op(s, &op, &err) == 0, "create");
	CHECK(uft_session_launch(s, argv, &prog, &err) == 0, "%s", err.text);
	dup2(was, 0);
	close(was);
	close(in[0]);
	killer = fork();
	if (!killer) {
		usleep((useconds_t)after_us);
		_exit(kill(prog, SIGKILL));
	}
	status = uft_session_destroy(s);
	if (status < 0)
		CHECK(waitpid(prog, &status, 0) == prog, "after %ld us: nobody has its status", after_us);
	CHECK(status == SIGKILL, "after %ld us: %x", after_us, status);
	waitpid(killer, NULL, 0);
	close(in[1]);
	free(r);
}

static void test_killed_while_destroyed(void)
{
	for (long us = 0; us < 3000; us += 150)
		kill_while_destroyed(us);
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

const struct session_case ends_cases[] = {
	{ "killed-target", test_killed_target }, { "killed-session", test_killed_session },
	{ "destroyed-session", test_destroyed_session }, { "killed-while-destroyed", test_killed_while_destroyed },
	{ "two-sessions", test_two_sessions },
	{ NULL, NULL },
};
