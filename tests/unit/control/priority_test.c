/* SPDX-License-Identifier: MIT */
/* priority_test.c - a task of another user gets a better priority for a moment, and its children keep nothing of it */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "control/ptrace/task_stop.h"

#define CHECK(c) do { if (!(c)) { fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #c); exit(1); } } while (0)

/* A child tells for each byte that it reads what priority a child of its own has. */
static pid_t start(uid_t uid, int in, int out)
{
	pid_t pid = fork(), its;
	char c;

	if (pid)
		return pid;
	if (setgid(uid) || setuid(uid))
		_exit(1);
	while (read(in, &c, 1) == 1) {
		its = fork();
		if (!its) {
			c = (char)getpriority(PRIO_PROCESS, 0);
			_exit(write(out, &c, 1) != 1);
		}
		waitpid(its, NULL, 0);
	}
	_exit(0);
}

static int childs_nice(int to, int from)
{
	signed char c = 0;

	CHECK(write(to, "x", 1) == 1 && read(from, &c, 1) == 1);
	return c;
}

static void test(uid_t uid, int inherited)
{
	int to[2], from[2], nice = 99;
	pid_t pid;

	CHECK(pipe(to) == 0 && pipe(from) == 0);
	pid = start(uid, to[0], from[1]);
	CHECK(childs_nice(to[1], from[0]) == 0);
	CHECK(task_raise_priority(pid, &nice));
	CHECK(getpriority(PRIO_PROCESS, (id_t)pid) == -20);
	CHECK(childs_nice(to[1], from[0]) == inherited);
	task_restore_priority(pid, nice);
	CHECK(getpriority(PRIO_PROCESS, (id_t)pid) == 0 && sched_getscheduler(pid) == SCHED_OTHER);
	CHECK(childs_nice(to[1], from[0]) == 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

int main(void)
{
	if (geteuid() || setpriority(PRIO_PROCESS, 0, -1)) {
		printf("needs root, with CAP_SYS_NICE\n");
		return 77;
	}
	setpriority(PRIO_PROCESS, 0, 0);
	test(65534, 0);
	test(0, -20);
	return 0;
}
