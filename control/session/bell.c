// SPDX-License-Identifier: MIT
/*
 * bell.c - the session's second thread: it turns the arena's bell, a futex that targets ring, into an eventfd
 */
#include "control/session/internal.h"
#include "symbol/thread.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define IDLE_RINGS	100u	/* without a request in a row: then the thread listens only once in */
#define IDLE_NS		1000000

/* The session's threads hear of a wake by the number, which only we write: run_to_start() waits for it as well. */
static void *bell_main(void *arg)
{
	struct uft_session *s = arg;
	uint32_t *bell = &s->arena.board->bell;
	uint64_t one = 1;

	while (!atomic_load(&s->bell_stop)) {
		if (futex(bell, 0 /* FUTEX_WAIT */, __atomic_load_n(bell, __ATOMIC_ACQUIRE), NULL) < 0 &&
		    errno == EINTR)
			continue;
		__atomic_fetch_add(bell, 1, __ATOMIC_SEQ_CST);
		if (atomic_load(&s->is_at_bell))
			futex(bell, 1 /* FUTEX_WAKE */, INT32_MAX, NULL);
		if (write(s->bell_fd, &one, sizeof(one)) < 0)
			continue;	/* it is full: the session is late anyway */
		/* Any target can ring without a request. A target with a request rings until it is heard. */
		if (atomic_fetch_add(&s->idle_rings, 1) > IDLE_RINGS)
			nanosleep(&(struct timespec){ .tv_nsec = IDLE_NS }, NULL);
	}
	return NULL;
}

int bell_start(struct uft_session *s)
{
	struct epoll_event ev = { .events = EPOLLIN };
	int ret;

	s->bell_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (s->bell_fd < 0 || s->epoll_fd < 0)
		return -errno;
	ev.data.fd = s->bell_fd;
	if (epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, s->bell_fd, &ev) < 0)
		return -errno;
	ret = thread_start(&s->bell_thread, bell_main, s);
	s->has_bell_thread = !ret;
	return ret;
}

void bell_stop(struct uft_session *s)
{
	if (s->has_bell_thread) {
		atomic_store(&s->bell_stop, 1);
		__atomic_fetch_add(&s->arena.board->bell, 1, __ATOMIC_ACQ_REL);
		futex(&s->arena.board->bell, 1 /* FUTEX_WAKE */, INT32_MAX, NULL);
		pthread_join(s->bell_thread, NULL);
	}
	if (s->bell_fd >= 0)
		close(s->bell_fd);
	if (s->epoll_fd >= 0)
		close(s->epoll_fd);
}
