// SPDX-License-Identifier: MIT
/*
 * target.c - a process with the runtime in it
 *
*	claimed -> announced (slice_begin) -> live -> ended -> (agent gone) slice_end, freed
 *
 * The session has pidfds of the process and of its agent, so their numbers cannot mean other tasks. A slice is given
 * back only when both have ended: until then either may write to it. The listener that drains slices (slice_end) frees
 * them; without such a listener they are freed here.
 */
#include "control/arena/channel.h"
#include "control/proc/proc_list.h"
#include "control/target/target.h"
#include "control/ptrace/task_stop.h"
#include "symbol/array.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#define AGENT_GRACE_MS	1000
#define AGENT_PART_MS	10

static int open_pidfd(struct uft_session *s, pid_t pid)
{
	struct epoll_event ev = { .events = EPOLLIN };
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (fd < 0)
		return -errno;
	ev.data.fd = fd;
	epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, fd, &ev);
	return fd;
}

int target_grow(struct target *t, uint32_t nobj)
{
	if (nobj > t->nobj) {
		if (array_resize(t->obj, nobj))
			return -ENOMEM;
		memset(t->obj + t->nobj, 0, (nobj - t->nobj) * sizeof(*t->obj));
		t->nobj = nobj;
	}
	for (uint32_t i = 0; i < nobj; i++) {
		uint32_t n = t->space->img->obj[i].nstubs;
		struct target_obj *o = &t->obj[i];

		if (o->nstate >= n)
			continue;
		if (array_resize(o->state, n))
			return -ENOMEM;
		memset(o->state + o->nstate, 0xff, (n - o->nstate) * sizeof(*o->state));
		o->nstate = n;
	}
	return 0;
}

static void target_free(const struct uft_session *s, struct target *t)
{
	for (uint32_t i = 0; i < t->nobj; i++) {
		free(t->obj[i].state);
		free(t->obj[i].named);
	}
	free(t->obj);
	free(t->task);
	for (uint32_t i = 0; i < s->nlistener; i++)
		if (s->listener[i].freed)
			s->listener[i].freed(t);
	if (t->pidfd >= 0)
		close(t->pidfd);
	if (t->agent_fd >= 0)
		close(t->agent_fd);
	if (t->spare_sock > 0)
		target_close_socket(t->spare_sock);
	if (t->jit_fd > 0)
		close(t->jit_fd);
	free(t);
}

/* By the kernel; the slice's value only where both agree. */
static pid_t own_number(const struct uft_session *s, uint32_t slice, pid_t pid)
{
	return (pid_t)SHARED_LOAD(&arena_slice(&s->arena, slice)->pid) == pid ? pid : proc_namespace_pid(pid);
}

struct target *target_reserve(struct uft_session *s, pid_t pid, struct space *space)
{
	struct target *t = calloc(1, sizeof(*t));
	int ret;

	if (!t)
		return NULL;
	t->pid = pid;
	t->space = space;
	t->agent_fd = -1;
	t->pidfd = pid ? open_pidfd(s, pid) : -ESRCH;		/* -ESRCH: over, and reaped already */
	if ((t->pidfd < 0 && t->pidfd != -ESRCH) || target_grow(t, space->nobj)) {
		ret = t->pidfd < 0 && t->pidfd != -ESRCH ? t->pidfd : -ENOMEM;
		target_free(s, t);
		errno = -ret;
		return NULL;
	}
	return t;
}

void target_drop(const struct uft_session *s, struct target *t)
{
	if (t)
		target_free(s, t);
}

void target_add(struct uft_session *s, struct target *t, uint32_t slice, pid_t ppid)
{
	struct space *space = t->space;
	pid_t pid = t->pid;

	t->slice = slice;
	if (slice < s->arena.map->nslices)
		s->arena.given[slice / s->arena.map->per_file] = 0;
	t->own_pid = pid ? own_number(s, slice, pid) : (pid_t)SHARED_LOAD(&arena_slice(&s->arena, slice)->pid);
	t->ppid = ppid;
	t->start = pid ? proc_start_ticks(pid) : 0;
	if (!t->start && !s->own_start)
		s->own_start = proc_start_ticks(getpid());
	t->start = t->start ? t->start : s->own_start;
	if (pid)
		pid_inherit_fork(s, pid, ppid);
	space->was_used = 1;
	t->next = s->targets;
	s->targets = t;
	s->targets_total++;
	s->last[slice].space = space;
	s->last[slice].pid = pid;
}

struct target *target_create(struct uft_session *s, uint32_t slice, pid_t pid, pid_t ppid, struct space *space)
{
	struct target *t = target_reserve(s, pid, space);

	if (t)
		target_add(s, t, slice, ppid);
	return t;
}

/* The agent's task is a process of its own. */
void target_open_agent(struct uft_session *s, struct target *t)
{
	const struct uft_slice uft_shared *sl = arena_slice(&s->arena, t->slice);
	pid_t tid = (pid_t)SHARED_LOAD(&sl->agent_tid);
	int fd;

	/* Of a process that has ended only its own numbers are known. */
	if (tid > 0 && t->own_pid != t->pid)
		tid = proc_find_neighbour(t->pid, tid);
	else if (tid > 0 && SHARED_LOAD(&sl->flags) & UFT_SLICE_OTHER_NS)
		tid = target_find_process(s, t->slice, tid);
	fd = task_open_agent(t->pid, tid);
	if (fd >= 0)
		target_take_agent(s, t, fd);
}

void target_take_agent(struct uft_session *s, struct target *t, int pidfd)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.fd = pidfd };

	epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, pidfd, &ev);
	t->agent_fd = pidfd;
	t->has_agent = 1;
}

pid_t target_agent_pid(const struct target *t)
{
	char path[64], line[128];
	int pid = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", t->agent_fd);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f) && sscanf(line, "Pid: %d", &pid) != 1)
		;
	if (f)
		fclose(f);
	return pid;
}

void target_announce(struct uft_session *s, struct target *t)
{
	if (s->ev.slice_begin)
		s->ev.slice_begin(s->ev.arg, t->slice, t->own_pid, t->ppid, t->space->img);
	if (s->ev.outer && t->pid && t->pid != t->own_pid)
		s->ev.outer(s->ev.arg, t->slice, t->own_pid, t->pid);
	for (uint32_t i = 0; t->pid && i < s->nlistener; i++)
		if (s->listener[i].announced)
			s->listener[i].announced(s, t);
	target_scan_tasks(s, t);
}

/* The agent may be a late task that has stopped by now: such tasks are resumed meanwhile. */
static int agent_ends(int fd)
{
	const uint64_t since = now_ns(), deadline = since + patience_ns(AGENT_GRACE_MS);
	int is_over;

	while (!target_fd_ready(fd, AGENT_PART_MS) && now_ns() < deadline)
		tasks_reap_late();
	is_over = target_fd_ready(fd, 0);
	patience_use(since, !is_over);
	return is_over;
}

struct orphan { const struct uft_session *s; const struct target *t; };

static int is_orphan(void *arg, pid_t agent)
{
	const struct orphan *o = arg;

	return arena_slice_is_mapped_by(&o->s->arena, o->t->slice, agent);
}

/* The process has ended and its agent has not (it was stopped, say), and so keeps the memory of both. */
static int end_orphan(const struct uft_session *s, const struct target *t)
{
	struct orphan o = { s, t };

	return !target_is_running(t) && !task_end(target_agent_pid(t), t->agent_fd, is_orphan, &o) &&
	       agent_ends(t->agent_fd);
}

/* A counter comes from the target. A value above one a nanosecond for each thread is false, and becomes 1. */
uint64_t target_counter(const struct uft_session *s, const struct target *t, int counter)
{
	uint64_t told = SHARED_LOAD(&arena_slice(&s->arena, t->slice)->counter[counter]);

	return told / s->arena.map->ncpus > now_ns() - s->mono0 ? 1 : told;
}

/* Parts with a target that ends: the counters in its slice are added up. */
static void part_with(struct uft_session *s, struct target *t)
{
	for (uint32_t i = 0; i < s->nlistener; i++)
		if (s->listener[i].ends)
			s->listener[i].ends(s, t);
	target_scan_tasks(s, t);
	/*
	 * The agent looks up at a command, finds nobody to serve, and ends. A bare wake could come while it
	 * does not wait.
	 */
	if (!t->is_stuck || !target_is_running(t)) {
		SHARED_STORE(&arena_cmd(&s->arena, t->slice)->op, UFT_CMD_NOP);
		channel_post(&s->arena, t->slice);
	}
	t->is_over = 1;
	if (t->agent_fd >= 0 && !agent_ends(t->agent_fd) && !end_orphan(s, t) /* GUARD(orphan_ended) */)
		session_warn_of(s, t->slice, "the agent of process %d does not end", t->pid);
	for (int i = 0; i < UFT_NCOUNTERS; i++)
		s->counters[i] += target_counter(s, t, i);
	for (struct target **p = &s->targets; *p; p = &(*p)->next)
		if (*p == t) {
			*p = t->next;
			break;
		}
}

void target_end(struct uft_session *s, struct target *t)
{
	part_with(s, t);
	/* Its drain may come later, in another thread: until the slice is free no live child may get it. */
	SHARED_STORE_RELEASE(&arena_slice(&s->arena, t->slice)->state, UFT_SLICE_DEAD);
	if (s->ev.slice_end)
		s->ev.slice_end(s->ev.arg, t->slice, t->own_pid);
	else
		arena_release(&s->arena, t->slice);
	target_free(s, t);
}

void target_keep(struct uft_session *s, struct target *t)
{
	part_with(s, t);
	arena_empty(&s->arena, t->slice);
	s->arena.is_kept = 1;
	target_free(s, t);
}

/* ---- Names of tasks ------------------------------------------------------------------------ */

/* Returns 1 when the name is news. */
static int remember(struct target *t, pid_t tid, const char *comm)
{
	uint32_t i = 0;

	while (i < t->ntask && t->task[i].tid != tid)
		i++;
	if (i < t->ntask && !strncmp(t->task[i].comm, comm, sizeof(t->task[i].comm)))
		return 0;
	if (array_reserve(t->task, t->task_alloc, i + 1))
		return 1;
	if (i == t->ntask)
		t->ntask++;
	t->task[i].tid = tid;
	memcpy(t->task[i].comm, comm, sizeof(t->task[i].comm));
	return 1;
}

static void tell_task(const struct uft_session *s, const struct target *t, pid_t tid, const char *comm)
{
	pid_t own = t->own_pid == t->pid ? tid : proc_namespace_pid(tid);

	if (s->ev.outer && own != tid)
		s->ev.outer(s->ev.arg, t->slice, own, tid);
	if (s->ev.outer)
		s->ev.task(s->ev.arg, t->pid, tid, t->ppid, t->space->img, comm);
	else
		s->ev.task(s->ev.arg, t->own_pid, own, t->ppid, t->space->img, comm);
}

void target_scan_tasks(struct uft_session *s, struct target *t)
{
	char path[64], comm[32];
	pid_t tid;
	DIR *d;

	if (!s->ev.task || !t->pid)
		return;
	d = proc_list(t->pid);
	while ((tid = proc_list_next(d))) {
		char name[16] = "";

		snprintf(path, sizeof(path), "task/%d/comm", tid);
		if (proc_read_file(t->pid, path, comm, sizeof(comm)) <= 0)
			continue;
		comm[strcspn(comm, "\n")] = '\0';
		snprintf(name, sizeof(name), "%.15s", comm);
		if (remember(t, tid, name))
			tell_task(s, t, tid, name);
	}
	proc_list_end(d);
}

void session_set_slice(struct uft_session *s, uint32_t index)
{
	arena_set_slice(&s->arena, index);
}
