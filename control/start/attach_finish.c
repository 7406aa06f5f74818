// SPDX-License-Identifier: MIT
/* attach_finish.c - finish the attach of a killed session: the agent serves, or the process is restored */
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

/* Fields of /proc/PID/stat behind the name: the state, and the exit signal */
#define STAT_STATE_AND_SIGNAL	" %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %*u %*u " \
				"%*d %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %d"
#define FINISH_MS	20000	/* long, because what the guard does not remove now stays */
#define ENTRY_BYTES	64		/* of uft_blob_attach, at least */

/*
 * Finds the task that made the agent, if the thread that cloned that task could not reap it: no other thread will.
 * Returns its number in its own pid namespace; 0: none.
 */
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
 * Waits until no thread is in the code of the way back in the vdso, or at the blob's entry, and then removes that code.
 * 1: a thread stays in the blob.
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
	look.own = &own[look.nown - 1];		/* the way back itself needs no blob */
	look.nown = 1;
	return tasks_find_inside(&look) > 0;
}

int attach_finish(const struct guard_notes *n)
{
	struct attach a = { .pid = n->attach.pid, .info = n->attach, .r = { .base = n->at }, .agent_fd = -1 };
	struct uft_boot boot = { 0 };
	const struct blob *b;
	int ret = blob_get(&b), is_inside = 0;

	a.r.mem = proc_open_memory(a.pid);
	a.info.pidfd = (int)syscall(SYS_pidfd_open, a.pid, 0);
	if (!ret)
		is_inside = clear_way_back(&a, b, n);
	if (!ret && n->at)
		ret = attach_agent_await(&a, b, &boot);
	a.between = n->at ? find_between(&a) : 0;	/* without a blob such a zombie is the program's own */
	if (is_inside)
		a.r.base = 0;		/* the blob stays mapped; if an agent serves, the detach checks again */
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
