// SPDX-License-Identifier: MIT
/*
 * spares.c - families for the fork children of processes that may not open any
 *
 * An agent that may not open the session's files (another user's, in a chroot or another mount namespace) makes
 * a pair of sockets and says so in its slice (uft_slice.spare_fd). The session takes one end from it once, as
 * from an attached agent, and sends descriptors of families without a process, each with its number, as
 * long as fewer than SENT of them have not been taken. What the agent does with them is its process's own
 * affair: they are for that process's children.
 *
 * A process can take them without having children. So those that were sent to one user's processes, and whose
 * child is no target so far, are at most half of what other such users leave, of half of all; and one that no process
 * has mapped any more is dropped, whatever stands in it (session/families.c).
 */
#include "control/proc/proc.h"
#include "control/target/target.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The number of a pidfd's task in our pid namespace; 0: the task has ended. */
static pid_t task_of(int pidfd)
{
	char file[32], text[512];
	const char *at = NULL;

	snprintf(file, sizeof(file), "fdinfo/%d", pidfd);
	if (proc_read_file(getpid(), file, text, sizeof(text)) > 0)
		at = strstr(text, "\nPid:");
	return at && atoi(at + 5) > 0 ? atoi(at + 5) : 0;
}

/*
 * A file may be served by the user's own process (FUSE): to poll, stat or close it waits for that one. So what is no
 * socket is not taken, and if it became none meanwhile, it stays open. At the other end of a Unix socket may be a
 * service, which would take what we send for root's word: the agent has made both ends itself.
 */
int target_take_socket(int agent_fd, int its_fd)
{
	const pid_t agent = task_of(agent_fd);
	struct ucred maker = { 0 };
	socklen_t n = sizeof(int), size = sizeof(maker);
	char path[64], to[32];
	int sock, domain = 0;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", agent, its_fd);
	if (readlink(path, to, sizeof(to)) < 7 || memcmp(to, "socket:", 7))
		return -ENOTSOCK;
	sock = (int)syscall(SYS_pidfd_getfd, agent_fd, its_fd, 0);
	if (sock < 0)
		return -errno;
	if (getsockopt(sock, SOL_SOCKET, SO_DOMAIN, &domain, &n) < 0)
		return -ENOTSOCK;
	if (domain == AF_UNIX && !getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &maker, &size) &&
	    maker.pid == agent /* GUARD(socket_maker) */)
		return sock;
	target_close_socket(sock);
	return -ENOTSOCK;
}

/* A thread of ours with its own copies of all descriptors; it ends with our process in any case. */
struct holder {
	char stack[16384] __attribute__((aligned(16)));
	uint32_t is_closed;
	pid_t tid;			/* 0: it has left its stack */
};

static int hold_until_closed(void *arg)
{
	struct holder *h = arg;

	while (!__atomic_load_n(&h->is_closed, __ATOMIC_ACQUIRE))
		futex(&h->is_closed, 0 /* FUTEX_WAIT */, 0, NULL);
	return 0;
}

static void end_holder(struct holder *h)
{
	pid_t tid;

	__atomic_store_n(&h->is_closed, 1, __ATOMIC_RELEASE);
	futex(&h->is_closed, 1 /* FUTEX_WAKE */, 1, NULL);
	while ((tid = __atomic_load_n(&h->tid, __ATOMIC_ACQUIRE)) > 0)
		futex((uint32_t *)&h->tid, 0 /* FUTEX_WAIT */, (uint32_t)tid, NULL);
}

/*
 * A message that waits in the socket may hold one of TCP, whose last close() waits for as long as its owner likes
 * (SO_LINGER); so may @sock itself if it is no Unix socket. The kernel does not wait in a task that ends: the last
 * one that has it open is a thread of ours that ends. A process would stay if we were killed before it was.
 */
void target_close_socket(int sock)
{
	struct holder h = { .is_closed = 0 };
	sigset_t all, was;
	int ret;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &was);	/* no handler of ours runs there */
	ret = clone(hold_until_closed, h.stack + sizeof(h.stack),
		    CLONE_VM | CLONE_FS | CLONE_SIGHAND | CLONE_SYSVSEM | CLONE_THREAD | CLONE_PARENT_SETTID |
		    CLONE_CHILD_CLEARTID, &h, &h.tid, NULL, &h.tid);
	pthread_sigmask(SIG_SETMASK, &was, NULL);
	if (ret < 0)
		return;			/* it stays open */
	close(sock); /* GUARD(socket_linger, end_holder(&h), usleep(100000), close(sock)) */
	end_holder(&h);
}

int target_send_fds(int sock, const int *fd, size_t n, const void *data, size_t bytes)
{
	union { struct cmsghdr head; char room[CMSG_SPACE(UFT_BOOT_NFDS * sizeof(int))]; } control;
	struct iovec iov = { (void *)(uintptr_t)data, bytes };
	struct msghdr m = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = CMSG_SPACE(n * sizeof(int))
	};

	memset(&control, 0, sizeof(control));
	control.head.cmsg_level = SOL_SOCKET;
	control.head.cmsg_type = SCM_RIGHTS;
	control.head.cmsg_len = CMSG_LEN(n * sizeof(int));
	memcpy(CMSG_DATA(&control.head), fd, n * sizeof(int));
	return sendmsg(sock, &m, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)bytes ? 0 : -errno;
}

/* Once: a descriptor that its agent names later is not looked at. */
static void take_socket(struct uft_session *s, struct target *t)
{
	uint32_t fd = SHARED_LOAD_ACQUIRE(&arena_slice(&s->arena, t->slice)->spare_fd);

	if (!fd || t->spare_sock || t->agent_fd < 0)
		return;
	t->spare_sock = target_take_socket(t->agent_fd, (int)(fd - 1));
	if (t->spare_sock <= 0)
		t->spare_sock = -1;
}

static int is_waiting(const struct uft_session *s, uint32_t sent)
{
	uint32_t slice = (sent - 1) * s->arena.map->per_file;

	return sent && s->arena.mail[sent - 1] &&
	       SHARED_LOAD_ACQUIRE(&arena_slice(&s->arena, slice)->state) == UFT_SLICE_FREE;
}

/* May one more be sent to processes of this user? */
static int has_share(const struct arena *a, uint32_t user)
{
	uint32_t its = 0, others = 0;

	for (uint32_t i = 0; i < a->nused; i++) {
		const uint32_t given = a->given[a->used[i]];

		its += given == user;
		others += given && given != user;
	}
	return others < a->nfamilies / 2 && its < (a->nfamilies / 2 - others) / 2;
}

/* 0; or why not: -EAGAIN for now. */
static int send_family(struct uft_session *s, struct target *t, uint32_t *sent)
{
	struct pollfd room = { .fd = t->spare_sock, .events = POLLOUT };
	const uint32_t user = 1 + (uint32_t)proc_effective_user(t->pid);
	uint32_t number;
	int64_t family;
	int fd, ret;

	if (!user || poll(&room, 1, 0) != 1 || !has_share(&s->arena, user))
		return -EAGAIN;
	family = arena_make_family(&s->arena);
	number = (uint32_t)family;
	if (family < 0)
		return -EAGAIN;
	fd = arena_open_family(&s->arena, number);
	ret = fd < 0 ? fd : target_send_fds(t->spare_sock, &fd, 1, &number, sizeof(number));
	if (fd >= 0)
		close(fd);
	if (ret) {
		arena_drop_family(&s->arena, number);
		return ret;
	}
	*sent = number + 1;
	s->arena.given[number] = user;
	futex(shared_address(&arena_slice(&s->arena, t->slice)->cmd_seq), 1 /* FUTEX_WAKE */, INT32_MAX,
	      NULL);	/* it looks */
	return 0;
}

void spares_send(struct uft_session *s)
{
	for (struct target *t = s->targets; t; t = t->next) {
		if (t->is_over || t->has_thread_agent)
			continue;
		take_socket(s, t);
		for (unsigned i = 0; t->spare_sock > 0 && i < TARGET_SPARES; i++) {
			int ret = is_waiting(s, t->sent[i]) ? 0 : send_family(s, t, &t->sent[i]);

			if (ret && ret != -EAGAIN) {	/* no socket, or its other end is closed: never again */
				target_close_socket(t->spare_sock);
				t->spare_sock = -1;
			}
			if (ret)
				break;
		}
	}
}

int spares_has_sent(const struct uft_session *s, uint32_t family)
{
	for (const struct target *t = s->targets; t; t = t->next)
		for (unsigned i = 0; i < TARGET_SPARES; i++)
			if (t->sent[i] == family + 1 && is_waiting(s, t->sent[i]))
				return 1;
	return 0;
}
