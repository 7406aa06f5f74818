// SPDX-License-Identifier: MIT
/* attach_finish.c - ends an attach whose session was killed: the agent serves, or the process is as it was */
#include "control/start/attach_internal.h"
#include "control/arena/journal.h"
#include "control/ptrace/task_stop.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Of /proc/PID/stat, behind the name: the state, and the signal at the end */
#define STAT_STATE_AND_SIGNAL	" %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %*u %*u " \
				"%*d %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %d"
#define FINISH_MS	20000	/* the guard has time: what it does not take out now stays */
#define ENTRY_BYTES	64		/* of uft_blob_attach, at least */

/* The task that made the agent, if the thread that made it was not there to wait for it: nobody else ever will. As the
 * process itself knows it. */
static pid_t find_between(const struct attach *a)
{
	char name[64], text[4096], *at, *end, state;
	struct dirent *e;
	pid_t found = 0;
	DIR *d;
	int exit_signal;

	snprintf(name, sizeof(name), "/proc/%d/task", a->pid);
	d = opendir(name);
	while (d && !found && (e = readdir(d))) {
		snprintf(name, sizeof(name), "task/%d/children", atoi(e->d_name));
		if (atoi(e->d_name) <= 0 || proc_read_file(a->pid, name, text, sizeof(text)) <= 0)
			continue;
		for (at = text; !found && strtol(at, &end, 10) > 0 && end > at; at = end) {
			pid_t child = (pid_t)strtol(at, NULL, 10);
			char stat[1024], *rest = NULL;

			if (proc_read_file(child, "stat", stat, sizeof(stat)) > 0)
				rest = strrchr(stat, ')');
			if (rest && sscanf(rest + 1, STAT_STATE_AND_SIGNAL, &state, &exit_signal) == 2 &&
			    state == 'Z' && !exit_signal)
				found = proc_namespace_pid(child);
		}
	}
	if (d)
		closedir(d);
	return found;
}

/*
 * The thread takes its way back, from the blob perhaps; the code of that in the vdso goes when nobody is on
 * it any more. 1: somebody is in the blob for good.
 */
static int clear_way_back(const struct attach *a, const struct blob *b, const struct guard_notes *n)
{
	struct uft_owned own[2];
	struct task_search look = { .pid = a->pid, .own = own };
	struct remote r = { .mem = a->r.mem, .guard = n->way_back, .guard_bytes = n->way_back_bytes };
	uint64_t deadline = now_ns() + FINISH_MS * 1000000ull;
	int ret;

	if (n->way_back)
		own[look.nown++] = (struct uft_owned){ n->way_back, n->way_back_bytes };
	if (n->at)
		own[look.nown++] = (struct uft_owned){ n->at + b->attach, ENTRY_BYTES };
	if (!look.nown)
		return 0;
	while ((ret = tasks_find_inside(&look)) > 0 && now_ns() < deadline)
		nap(1000);
	if (!ret)
		remote_unguard(&r);
	if (ret <= 0 || !n->at)
		return 0;
	look.own = &own[look.nown - 1];		/* its way back needs no blob */
	look.nown = 1;
	return tasks_find_inside(&look) > 0;
}

int attach_finish(const struct guard_notes *n)
{
	struct attach a = { .pid = n->attach.pid, .info = n->attach, .r = { .base = n->at }, .agent_fd = -1 };
	struct uft_boot boot = { 0 };
	const struct blob *b;
	char path[64];
	int ret = blob_get(&b), is_inside = 0;

	snprintf(path, sizeof(path), "/proc/%d/mem", a.pid);
	a.r.mem = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	a.info.pidfd = (int)syscall(SYS_pidfd_open, a.pid, 0);
	if (!ret)
		is_inside = clear_way_back(&a, b, n);
	if (!ret && n->at)
		ret = attach_agent_await(&a, b, &boot);
	a.between = n->at ? find_between(&a) : 0;	/* before that there was none: what looks so is the program's */
	if (is_inside)
		a.r.base = 0;		/* it stays mapped, unless an agent serves: then the detach looks for itself */
	if (ret)
		attach_agent_remove(&a, b, FINISH_MS);
	else if (a.between && !attach_stop(&a))
		attach_resume(&a, 1);
	if (!ret && n->at)
		close(a.agent_fd);
	if (a.r.mem >= 0)
		close(a.r.mem);
	if (a.info.pidfd >= 0)
		close(a.info.pidfd);
	return ret || !n->at ? -ECHILD : 0;
}
