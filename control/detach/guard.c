// SPDX-License-Identifier: MIT
/*
 * guard.c - the process that completes the detach when the recorder is killed
 *
 * The session forks the guard when it is created, before it has threads of its own. (The session's creator may have a
 * thread that reads a program's file, symbol/prefetch.c, and holds the lock of objects. The guard makes that lock anew,
 * because it opens objects when it saves a recording.) The guard holds the arena's file (and with it the lock that
 * marks the file as used), a pidfd of the session's process and one end of a socket, through which it gets the
 * recording's file. It has no terminal, no directory, and none of the session's other descriptors. It is a child of
 * init, in a kernel session of its own, with all signals blocked: a program that waits for the recorder's children or
 * signals its group does not affect it.
 *
 *	waits -- the socket closes, arena.closed is set --> ends
 *       -- the session's process ends --------------> detaches all targets in the arena, then saves the rings' records
 *							    (.rescue), removes the arena's file, ends
 *
 * First the guard completes the session's unfinished work (guard_notes): it undoes an attach whose agent does not serve
 * yet, restores raised priorities, and unmaps the rest of a target whose agent was unmapping. The facts for that are in
 * the arena: slices, with the numbers of targets and agents. The agents have restored the code by themselves meanwhile,
 * and still take commands (agent.c). They complete the command during which the session died; the guard's commands come
 * after that.
 *
 * Targets can write anything into the arena, so the guard knows the place of its rings from before there were targets.
 *
 * If the guard is killed as well, the agents end, and the mapped memory stays, inert, until the next recording or `uft
 * detach` takes over. The same holds for processes from which a recorder, or the guard, could not detach: then the file
 * stays, without a lock. It is kept for those processes alone, so it has no records any more, and no slices of other
 * processes: the slice of a process that was detached is DEAD while the rings are saved, and FREE after that. If the
 * next recording cannot detach from such a process either (a program that is frozen, say), every later recording would
 * wait as long: so after that only uft detach tries.
 */
#include "control/start/start.h"
#include "control/detach/guard.h"
#include "control/arena/journal.h"

#include "control/proc/procinfo.h"
#include "control/ptrace/task_stop.h"
#include "control/detach/agentless.h"
#include "symbol/guard_map.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define SETTLE_MS	300	/* agents notice within 100 ms; agents of children just born are still being made */

/* Completes the unfinished work of the killed session. */
static void finish_noted(const struct arena *a)
{
	struct guard_notes n = *guard_notes();

	guard_notes()->nhurried = 0;		/* from now on the guard notes its own tasks there */
	guard_notes()->leaving.pid = 0;
	for (uint32_t i = 0; i < n.nhurried && i < sizeof(n.hurried) / sizeof(n.hurried[0]); i++)
		task_restore_priority(n.hurried[i].tid, n.hurried[i].nice);
	if (n.attach.pid && attach_finish(&n))
		arena_release((struct arena *)a, n.slice);
	if (n.leaving.pid)
		detach_finish(a, &n.leaving); /* GUARD(finish_noted_detach_finish) */
}

/* ---- Detach ----------------------------------------------------------------------------------- */

/*
 * Collects the live processes of the arena. A process number that belongs to another process by now does no harm: no
 * agent answers there.
 */
static uint32_t collect(const struct arena *a, struct detaching *l)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < a->map->nslices; i++) {
		const struct uft_slice uft_shared *sl = arena_has(a, i) ? arena_slice(a, i) : NULL;

		pid_t pid = sl && SHARED_LOAD_ACQUIRE(&sl->state) == UFT_SLICE_LIVE ? (pid_t)SHARED_LOAD(&sl->pid) : 0;

		if (pid > 0 && SHARED_LOAD(&sl->agent_tid) && kill(pid, 0) == 0)
			l[n++] = (struct detaching){ .arena = a, .slice = i };
	}
	return n;
}

/*
 * From now on the arena is only needed to save the rings. The pid in a slice may be of another pid namespace, and no
 * process here. A process that was not detached is found by its mappings, and its slice is needed for that.
 */
static void close_slice(const struct detaching *l)
{
	if (!l->why[0] || (l->is_asked && !arena_is_mapped_by(l->arena, l->pid)))
		SHARED_STORE_RELEASE(&arena_slice(l->arena, l->slice)->state, UFT_SLICE_DEAD);
}

/*
 * Detaches from all processes of a session that has died. Returns how many still have the runtime; *its: how many of
 * these are @of.
 */
static unsigned finish(const struct arena *a, pid_t of, unsigned *its)
{
	struct detaching *l = calloc(a->map->nslices, sizeof(*l));
	pid_t *known = calloc(a->map->nslices, sizeof(*known));
	unsigned failed = 0;
	char why[240];
	uint32_t n, nknown = 0;

	*its = 1;
	if (!l || !known) {
		free(known);
		free(l);
		return 1;
	}
	*its = 0;
	__atomic_store_n(&a->board->children, 0, __ATOMIC_RELAXED);
	nanosleep(&(struct timespec){ .tv_nsec = SETTLE_MS * 1000000 }, NULL);
	n = collect(a, l);
	detach_targets(l, n); /* GUARD(guard_finish_detach_targets) */
	for (uint32_t i = 0; i < n; i++) {
		close_slice(&l[i]); /* GUARD(guard_finish_close_slice) */
		if (!l[i].is_asked || l[i].is_over || l[i].is_alone)
			continue;		/* an agent that has just ended, perhaps without its process */
		failed += l[i].why[0] != '\0';
		*its |= l[i].why[0] && l[i].pid == of;
		known[nknown++] = l[i].pid;
	}
	failed += agentless_detach(a, 0, 1, known, nknown, why, sizeof(why));
	*its |= of && arena_is_mapped_by(a, of);
	free(known);
	free(l);
	__atomic_store_n(&a->board->closed, 1, __ATOMIC_RELEASE);
	return failed;
}

int guard_can_take_over(const struct arena *a)
{
	const struct blob *blob;

	return !blob_get(&blob) && a->board->build == blob->build;
}

/* Removes the files. A process that still maps them needs them no more: they only tell where its memory is. */
static void put_away(struct arena *a, unsigned failed)
{
	if (!failed || !arena_is_mapped(a)) {
		arena_unlink(a);
		return;
	}
	for (uint32_t i = 0; i < a->map->nslices + a->map->nown; i++) {
		struct uft_slice uft_shared *sl;

		if (!arena_has(a, i))
			continue;
		sl = arena_slice(a, i);
		if (SHARED_LOAD_ACQUIRE(&sl->state) == UFT_SLICE_FREE)
			continue;
		/* its code may still be the runtime's */
		__atomic_and_fetch(&sl->ring_flags, UFT_RING_OVERWRITE, __ATOMIC_RELAXED);
		if (SHARED_LOAD_ACQUIRE(&sl->state) == UFT_SLICE_DEAD)
			arena_release(a, i);
		else
			arena_empty(a, i); /* GUARD(put_away_arena_empty) */
	}
	arena_drop_unused(a);
}

unsigned guard_take_over(struct arena *a, pid_t of)
{
	unsigned failed, its;

	__atomic_store_n(&a->board->heir_pid, (uint32_t)getpid(), __ATOMIC_RELEASE);
	a->board->guard_pid = 0;
	a->board->closed = 0;
	__atomic_store_n(&a->board->session_pid, (uint32_t)getpid(), __ATOMIC_RELEASE);
	failed = finish(a, of, &its);
	put_away(a, failed);
	return of ? its : failed;
}

/*
 * Has another tracer seized a thread of a process that is to be detached? Waiting for that process would take all the
 * time in vain.
 */
static int is_any_taken(const struct arena *a)
{
	char by[80];

	for (uint32_t i = 0; i < a->map->nslices; i++) {
		const struct uft_slice uft_shared *sl = arena_has(a, i) ? arena_slice(a, i) : NULL;

		if (sl && SHARED_LOAD_ACQUIRE(&sl->state) == UFT_SLICE_LIVE &&
		    procinfo_taken((pid_t)SHARED_LOAD(&sl->pid), getpid(), by, sizeof(by)))
			return 1;
	}
	return 0;
}

static void clean_up(struct arena *a, void *s)
{
	if (a->board->is_tried || !guard_can_take_over(a) || is_any_taken(a) ||
	    !guard_take_over(a, 0))
		return;
	a->board->is_tried = 1; /* GUARD(clean_up_board) */
	session_warn(s, "cannot detach from all programs of a recorder that has ended: uft detach tries it again");
}

void guard_clean_up(struct uft_session *s)
{
	arena_each(1, clean_up, s);
}

/* ---- The process ------------------------------------------------------------------------------ */

/* Closes all descriptors except @keep, which is sorted. */
static void close_others(const int *keep, int n)
{
	unsigned from = 0;

	for (int i = 0; i < n; i++) {
		if ((unsigned)keep[i] > from)
			syscall(SYS_close_range, from, (unsigned)keep[i] - 1, 0);
		from = (unsigned)keep[i] + 1;
	}
	syscall(SYS_close_range, from, ~0u, 0);
}

/* Receives the last file that the session gave, if any; *file was the one before. */
static void take_files(int sock, int *file)
{
	union { struct cmsghdr head; char room[CMSG_SPACE(sizeof(int))]; } control;
	char byte;
	struct iovec iov = { &byte, 1 };
	struct msghdr m = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)
	};

	while (recvmsg(sock, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) > 0) {
		if (m.msg_controllen >= CMSG_LEN(sizeof(int)) && control.head.cmsg_type == SCM_RIGHTS) {
			if (*file >= 0)
				close(*file);
			memcpy(file, CMSG_DATA(&control.head), sizeof(*file));
		}
		m.msg_controllen = sizeof(control);
	}
}

/* Both descriptors tell of the same end; the socket a little earlier. */
static void wait_for_end(const struct arena *a, int sock, int session_fd, int *file)
{
	struct pollfd p[2] = { { .fd = session_fd, .events = POLLIN }, { .fd = sock, .events = POLLIN } };

	for (;;) {
		if (poll(p, 2, -1) < 0 && errno != EINTR)
			return;
		if (p[1].revents)
			take_files(sock, file);
		if (p[0].revents || __atomic_load_n(&a->board->closed, __ATOMIC_ACQUIRE))
			return;
		if (p[1].revents & (POLLHUP | POLLERR))
			/* it is dying, or a fork of it closed the last end by chance: the pidfd tells */
			p[1].fd = -1;
	}
}

static _Noreturn void guard_main(const struct uft_session *s, int sock, int session_fd)
{
	const struct arena *of = &s->arena;
	int keep[5] = { of->fd, of->board_fd, of->own_fd, sock, session_fd }, file = -1;
	struct uft_arena head = *of->map;	/* as it was made, before there was a target */
	struct arena a = *of;

	uft_object_forked();
	a.void_fd = -1;		/* is closed below */
	a.since = 0;		/* the session may attach to processes from now on */
	for (int i = 0; i < 4; i++)		/* sorted */
		for (int k = 0; k < 4; k++)
			if (keep[k] > keep[k + 1]) {
				int t = keep[k];

				keep[k] = keep[k + 1];
				keep[k + 1] = t;
			}
	close_others(keep, 5);
	setsid();
	if (chdir("/") < 0)
		_exit(1);
	prctl(PR_SET_NAME, "uft-guard");
	if (arena_map(&a, &head))
		_exit(1);
	__atomic_store_n(&a.board->guard_pid, (uint32_t)getpid(), __ATOMIC_RELEASE);
	futex(&a.board->guard_pid, 1 /* FUTEX_WAKE */, INT32_MAX, NULL);
	wait_for_end(&a, sock, session_fd, &file);
	if (!__atomic_load_n(&a.board->closed, __ATOMIC_ACQUIRE)) {
		unsigned failed, its;

		arena_map_families(&a);
		finish_noted(&a);
		failed = finish(&a, 0, &its);
		if (s->opts.rescue && file >= 0)
			s->opts.rescue(&head, (void *)a.map, file); /* GUARD(guard_main_opts) */
		put_away(&a, failed);
	}
	_exit(0);
}

/*
 * The process in between ends at once, so that the guard becomes a child of init; guard_await() waits for that process.
 */
static _Noreturn void between(const struct uft_session *s, const int *ends, int session_fd)
{
	close(ends[1]);
	if (fork() == 0)
		guard_main(s, ends[0], session_fd);
	_exit(0);
}

/* The other end is closed: the guard could not be forked, or ended before it was ready. */
static int is_hung_up(int sock)
{
	struct pollfd p = { .fd = sock };

	return poll(&p, 1, 0) > 0 && p.revents & POLLHUP;
}

static void reap_between(struct uft_session *s)
{
	while (s->guard_between > 0 && waitpid(s->guard_between, NULL, 0) < 0 && errno == EINTR)
		;
	s->guard_between = 0;
}

void guard_await(struct uft_session *s)
{
	uint32_t *pid = &s->arena.board->guard_pid;
	int is_over = 0;

	reap_between(s);
	if (s->guard_fd >= 0 || s->guard_sock < 0)
		return;
	for (int ms = 0; ms < 2000 && !__atomic_load_n(pid, __ATOMIC_ACQUIRE) && !is_over; ms += 10) {
		is_over = is_hung_up(s->guard_sock);
		futex(pid, 0 /* FUTEX_WAIT */, 0, &(struct timespec){ .tv_nsec = 10000000 });
	}
	if (!__atomic_load_n(pid, __ATOMIC_ACQUIRE) && is_over) {
		close(s->guard_sock);
		s->guard_sock = -1;
		session_warn(s,
			     "the guard process did not start: if the recorder is killed, uft's memory stays in the programs, and "
			     "records that were not written yet are lost");
		return;
	}
	s->guard_fd = (int)syscall(SYS_pidfd_open, __atomic_load_n(pid, __ATOMIC_ACQUIRE), 0);
}

int guard_start(struct uft_session *s)
{
	int self = (int)syscall(SYS_pidfd_open, getpid(), 0), ends[2], ret = 0;
	sigset_t all, old;
	pid_t pid;

	s->guard_fd = s->guard_sock = -1;
	if (self < 0)
		return -errno;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) {
		ret = -errno;
		close(self);
		return ret;
	}
	guard_notes();				/* shared from here on */
	guard_fill_mask(&all);
	sigprocmask(SIG_SETMASK, &all, &old);
	pid = fork();
	if (pid == 0)
		between(s, ends, self);
	ret = pid < 0 ? -errno : 0;
	s->guard_between = pid;
	sigprocmask(SIG_SETMASK, &old, NULL);
	close(ends[0]);
	close(self);
	if (ret)
		close(ends[1]);
	else
		s->guard_sock = ends[1];
	return ret;
}

void guard_stop(struct uft_session *s)
{
	guard_await(s);
	if (s->arena.map)
		__atomic_store_n(&s->arena.board->closed, 1, __ATOMIC_RELEASE);
	if (s->guard_sock >= 0)
		close(s->guard_sock);
	if (s->guard_fd >= 0) {
		fd_await(s->guard_fd, 2000);
		close(s->guard_fd);
	}
	s->guard_fd = s->guard_sock = -1;
}

int uft_session_rescue_into(struct uft_session *s, int fd)
{
	union { struct cmsghdr head; char room[CMSG_SPACE(sizeof(int))]; } control = { .room = "" };
	struct iovec iov = { (char[]){ 'f' }, 1 };
	struct msghdr m = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)
	};

	control.head.cmsg_level = SOL_SOCKET;
	control.head.cmsg_type = SCM_RIGHTS;
	control.head.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	return sendmsg(s->guard_sock, &m, MSG_NOSIGNAL | MSG_DONTWAIT) == 1 ? 0 : -errno;
}
