/* SPDX-License-Identifier: MIT */
/*
 * dump.c - what a session that serves says on its standard error: the commands dump and cpudump, warnings
 *
 * It is said by the session's own thread: while it waits for a reader nobody empties the rings. No question
 * tells beforehand whether a write to whatever standard error is would sleep: a terminal that polls as
 * writable takes less than a pipe does, another writer may use a pipe's room first; and to open it again, not
 * to be waited for, is not possible for a socket or a terminal of somebody else. So a thread writes that may
 * sleep. The session gives it a part and waits a moment; if the part is not written then, the rest of the
 * text is dropped, and all that comes until that thread is back, which it never is while nobody reads.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "symbol/thread.h"

#define PATIENCE_S	1 /* GUARD(reader_patience, 1000) */
#define PART_BYTES	4096u	/* a pipe takes so much at once: nobody else's text comes between */

/* All under the lock, but part while the thread has it. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t asked, done;
	int is_started, has_failed;
	size_t n;	/* of part, that the thread has to write; 0: it waits for more */
	char part[PART_BYTES];
} dump = { .lock = PTHREAD_MUTEX_INITIALIZER, .asked = PTHREAD_COND_INITIALIZER };

static int write_part(const char *p, size_t n)
{
	while (n) {
		ssize_t done = write(STDERR_FILENO, p, n);

		if (done > 0) {
			p += done;
			n -= (size_t)done;
		} else if (done < 0 && errno == EAGAIN) {	/* others may have made it so */
			poll(&(struct pollfd){ .fd = STDERR_FILENO, .events = POLLOUT }, 1, -1);
		} else if (done == 0 || errno != EINTR) {
			return -1;
		}
	}
	return 0;
}

static void *writer_main(void *arg)
{
	size_t n;
	int ret;

	pthread_mutex_lock(&dump.lock);
	for (;;) {
		while (!dump.n)
			pthread_cond_wait(&dump.asked, &dump.lock);
		n = dump.n;
		pthread_mutex_unlock(&dump.lock);
		ret = write_part(dump.part, n);
		pthread_mutex_lock(&dump.lock);
		dump.has_failed = ret != 0;
		dump.n = 0;
		pthread_cond_signal(&dump.done);
	}
	return arg;
}

static int start_writer(void)
{
	pthread_condattr_t attr;
	pthread_t thread;
	int ret;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&dump.done, &attr);
	pthread_condattr_destroy(&attr);
	ret = thread_start(&thread, writer_main, NULL);
	if (!ret)
		pthread_detach(thread);
	return ret;
}

/* Whether the part is written before the patience ends. */
static int wait_written(void)
{
	struct timespec until;
	int is_late = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += PATIENCE_S;
	while (dump.n && !is_late)
		is_late = pthread_cond_timedwait(&dump.done, &dump.lock, &until) == ETIMEDOUT;
	return !dump.n && !dump.has_failed;
}

void cmd_dump(void *arg, const char *p, size_t n)
{
	(void)arg;
	pthread_mutex_lock(&dump.lock);
	if (!dump.is_started)
		dump.is_started = start_writer() == 0;
	while (n && dump.is_started && !dump.n) {
		size_t part = n < PART_BYTES ? n : PART_BYTES;

		memcpy(dump.part, p, part);
		dump.n = part;
		pthread_cond_signal(&dump.asked);
		if (!wait_written())
			break;
		p += part;
		n -= part;
	}
	pthread_mutex_unlock(&dump.lock);
}

void cmd_warn(void *command, const char *text)
{
	char *line;
	int n = asprintf(&line, "uft %s: %s\n", (const char *)command, text);

	if (n < 0)
		return;
	cmd_dump(NULL, line, (size_t)n);
	free(line);
}
