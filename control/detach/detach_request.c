// SPDX-License-Identifier: MIT
/*
 * detach_request.c - `uft detach`: have the session that traces a process detach from it
 *
 * Every session of this user has its file in the run directory, which names its targets. A living session is
 * asked through the board. When a session has died, its guard detaches; if the guard was killed too, this file does the
 * same. So it does for a session that ended without being able to detach from this process, and kept its file for
 * that. If another uft is already detaching, this one waits. A session of another build is refused, because its code in
 * the targets is not known here.
 */
#include "control/proc/cgroup.h"
#include "control/detach/guard.h"
#include "control/proc/procinfo.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#define ANSWER_MS	20000
#define CLAIM_MS	2000
#define PART_NS		20000000

struct search {
	const char *name;
	unsigned found, failed;
	struct uft_error *err;
};

/* Returns 1 if @name is the number of the process, or the name of its program. */
static int is_meant(const char *name, pid_t pid)
{
	char *end, comm[32];

	if (strtol(name, &end, 10) == pid && !*end)
		return 1;
	if (proc_read_file(pid, "comm", comm, sizeof(comm)) <= 0)
		return 0;
	comm[strcspn(comm, "\n")] = '\0';
	return strncmp(comm, name, 15) == 0 && strlen(comm) == (strlen(name) < 15 ? strlen(name) : 15);
}

static int claim(struct uft_arena *board)
{
	for (int ms = 0; ms < CLAIM_MS; ms++) {
		for (int i = 0; i < UFT_NASKS; i++) {
			uint32_t free = UFT_REQ_FREE;

			if (__atomic_compare_exchange_n(&board->ask[i].state, &free, UFT_REQ_CLAIMED, 0,
				__ATOMIC_ACQ_REL,
							__ATOMIC_RELAXED))
				return i;
		}
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
	return -EBUSY;
}

/* Posts a request as runtime/agent/request.c does. The session may end with the answer, if that was its last target. */
static int ask_session(const struct arena *a, pid_t pid)
{
	uint64_t deadline = now_ns() + ANSWER_MS * 1000000ull;
	int i = claim(a->board), result;
	struct uft_request *r;
	uint32_t state;

	if (i < 0)
		return i;
	r = &a->board->ask[i];
	r->kind = UFT_REQ_DETACH;
	r->pid = r->tid = (uint32_t)getpid();
	r->slice = UFT_NO_SLICE;
	r->no_wait = 0;
	r->result = 0;
	r->arg[0] = (uint64_t)pid;
	SHARED_STORE_RELEASE(&r->state, UFT_REQ_POSTED);
	__atomic_add_fetch(&a->board->bell, 1, __ATOMIC_ACQ_REL);
	futex(&a->board->bell, 1 /* FUTEX_WAKE */, INT32_MAX, NULL);
	while ((state = SHARED_LOAD_ACQUIRE(&r->state)) == UFT_REQ_POSTED && now_ns() < deadline &&
	       !proc_is_ending((pid_t)a->board->session_pid))
		futex(&r->state, 0 /* FUTEX_WAIT */, state, &(struct timespec){ .tv_nsec = PART_NS });
	result = state == UFT_REQ_DONE ? r->result : -ETIMEDOUT;
	SHARED_STORE_RELEASE(&r->state, UFT_REQ_FREE);
	return result;
}

/*
 * Waits for the guard. An agent that has ended proves nothing, because it also ends when the guard is killed. Returns 0
 * when the process is detached, -EOWNERDEAD when the guard ended before that.
 */
static int await_guard(const struct arena *a, pid_t pid)
{
	uint64_t deadline = now_ns() + ANSWER_MS * 1000000ull;

	while (arena_is_mapped_by(a, pid)) {
		if (proc_is_ending((pid_t)a->board->guard_pid))
			return -EOWNERDEAD;
		if (now_ns() > deadline)
			return -ETIMEDOUT;
		nanosleep(&(struct timespec){ .tv_nsec = PART_NS }, NULL);
	}
	return 0;
}

/* Session and guard are dead, but the kernel may still be releasing the lock, or another uft has taken over. */
static int await_lock(const struct arena *a)
{
	uint64_t deadline = now_ns() + ANSWER_MS * 1000000ull;

	while (flock(a->fd, LOCK_EX | LOCK_NB) < 0) {
		if (now_ns() > deadline)
			return -ETIMEDOUT;
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
	return 0;
}

static int detach_one(struct arena *a, pid_t pid, int is_held)
{
	int is_left = __atomic_load_n(&a->board->heir_pid, __ATOMIC_ACQUIRE) != 0, ret;
	char by[200];

	if (cgroup_is_frozen(pid, by, sizeof(by)))
		return -EBUSY;		/* no process can change it meanwhile */
	if (is_held && !is_left && !proc_is_ending((pid_t)a->board->session_pid))
		return ask_session(a, pid);
	if (is_held && !is_left && (ret = await_guard(a, pid)) != -EOWNERDEAD)
		return ret;
	if (is_held && await_lock(a))
		return -ETIMEDOUT;
	if (is_held && !arena_is_mapped_by(a, pid))
		return 0;
	if (!guard_can_take_over(a))
		return -EXDEV;
	if (!guard_take_over(a, pid))
		return 0;
	return procinfo_taken(pid, getpid(), by, sizeof(by)) ? -EBUSY : -EAGAIN;
}

/* @a: of the session that was to detach. */
static void say_result(struct search *s, const struct arena *a, pid_t pid, pid_t session, int ret)
{
	char by[80], group[200];
	pid_t tid;

	if (!ret || (ret != -EAGAIN && proc_is_ending(pid)))	/* it ended before its session could detach */
		return;
	s->failed++;
	tid = ret == -EBUSY ? procinfo_taken(pid, session, by, sizeof(by)) : 0;
	if (tid)
		uft_fail(s->err, ret,
			 "cannot detach from process %d yet: its thread %d is being traced by %s; run uft detach again when that "
			 "is over", pid, tid, by);
	else if (cgroup_is_frozen(pid, group, sizeof(group)))
		uft_fail(s->err, ret,
			 "cannot detach from process %d yet: it is frozen (its control group is %s); run uft detach again when it "
			 "is thawed", pid, group);
	else if (ret == -EBUSY)
		uft_fail(s->err, ret,
			 "cannot detach from process %d yet: the agent in it (uft-agent) does not answer, or it is executing a "
			 "program; run uft detach again", pid);
	else if (ret == -EAGAIN)
		uft_fail(s->err, ret, "process %d is detached, but memory of uft remains in it, unused", pid);
	else if (ret == -EXDEV)
		uft_fail(s->err, ret,
			 "process %d was recorded by another build of uft, and only that one can detach from it: run its `uft detach %d`%s%.*s%s",
			 pid, pid, a->board->exe[0] ? " (it was " : "", (int)sizeof(a->board->exe), a->board->exe,
			 a->board->exe[0] ? ")" : "");
	else if (ret == -ETIMEDOUT)
		uft_fail(s->err, ret, "the recorder of process %d does not answer", pid);
	else
		uft_fail(s->err, ret, "process %d: %s", pid, strerror(-ret));
}

static void search_arena(struct arena *a, void *arg)
{
	int is_held = !arena_lock_dead(a->fd);	/* by its session, or the guard */
	struct search *s = arg;
	pid_t pid;

	for (uint32_t i = 0; i < a->map->nslices; i++) {
		struct uft_slice uft_shared *sl;

		if (!arena_has(a, i))
			continue;
		sl = arena_slice(a, i);
		pid = (pid_t)SHARED_LOAD(&sl->pid);
		if (SHARED_LOAD_ACQUIRE(&sl->state) != UFT_SLICE_LIVE || pid <= 0 || kill(pid, 0) ||
		    !is_meant(s->name, pid))
			continue;
		s->found++;
		say_result(s, a, pid, (pid_t)a->board->session_pid, detach_one(a, pid, is_held));
	}
	/* A child that has no slice. */
	pid = (pid_t)atoi(s->name);
	if (!s->found && pid > 0 && is_meant(s->name, pid) && arena_is_mapped_by(a, pid)) {
		s->found++;
		say_result(s, a, pid, (pid_t)a->board->session_pid, detach_one(a, pid, is_held));
	}
}

int uft_detach(const char *name, struct uft_error *err)
{
	struct search s = { .name = name, .err = err };

	arena_each(0, search_arena, &s);
	if (!s.found)
		return uft_fail(err, -ESRCH, "no recorder of yours traces a process '%s'", name);
	return s.failed ? -EAGAIN : 0;
}
