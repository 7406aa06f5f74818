/* SPDX-License-Identifier: MIT */
/*
 * dump.c - write the text of a serving session to standard error: dump and cpudump commands, warnings
 *
 * The session's own thread makes the text. While it waited for a reader of standard error, the rings would not be
 * drained. It cannot be known beforehand whether a write would sleep: a terminal that polls as writable takes less than
 * a pipe, and another writer may fill a pipe first. To open standard error again with O_NONBLOCK is not possible for a
 * socket or the terminal of another user. So a thread of its own writes, and may sleep. The session gives it a part and
 * waits a moment. If the part is not written by then, the rest of the text is dropped, and so is all text until that
 * write returns.
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
#include "symbol/now.h"
#include "symbol/thread.h"

#define PATIENCE_S	1 /* GUARD(reader_patience, 1000) */
#define PART_BYTES	4096u	/* a pipe takes so much at once, without text of others in between */

/* All members are guarded by the lock, but `part` while the thread writes it. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t asked, done;
	int is_started, has_failed;
	size_t n;	/* bytes of part that the thread has to write; 0: the thread waits */
	char part[PART_BYTES];
} dump = { .lock = PTHREAD_MUTEX_INITIALIZER, .asked = PTHREAD_COND_INITIALIZER };

static int write_part(const char *p, size_t n)
{
	while (n) {
		ssize_t done = write(STDERR_FILENO, p, n);

		if (done > 0) {
			p += done;
			n -= (size_t)done;
		} else if (done < 0 && errno == EAGAIN) {	/* another process may have set O_NONBLOCK */
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
	const struct timespec until = clock_in(CLOCK_MONOTONIC, PATIENCE_S * 1000000000ull);
	int is_late = 0;

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
