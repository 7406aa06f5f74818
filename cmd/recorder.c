/* SPDX-License-Identifier: MIT */
/*
 * recorder.c - the writer of a recording in a thread of its own
 *
 * Targets wait while the session's thread answers ptrace stops and requests, and the disk may be slow. So there are two
 * threads, and the session's news (a slice began or ended, a task has a name) goes to the writer through a queue.
 *
 * Objects: struct recorder, owned by the session's thread; struct uft_writer, touched by the writer's thread
 * alone from start to finish; messages, made by one and freed by the other; views, copies of the session's
 * images for the writer (imageview.h), because the session goes on adding objects to its own.
 *
 * Concurrency: `lock` guards the queue, `ending`, and the published `stats` and `error`; it is never held over
 * a call of the writer, so posting never waits. Rings need no lock: the arena is their protocol.
 *
 * Pace: after a poll that found data the writer looks again in PACE_MIN_US, else it backs off to PACE_MAX_US. A ring of
 * the default size takes far longer to fill, and a ring that is read late grows (abi.h). A message wakes the writer at
 * once, but not before the program has started (recorder_hold()): copying and writing tables of 100,000 functions would
 * take CPU time from the threads that arm them.
 *
 * Priority: if permitted, the writer's thread has a higher priority than the recorded programs, which can occupy every
 * CPU for longer than it takes to fill a ring. The writer sleeps whenever it has caught up.
 *
 * Failure: the first error of the writer (a full disk) is kept. Slices are still ended, which frees them for other
 * processes, but nothing is copied any more. A failed allocation of a message is such an error, too.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "cmd/imageview.h"
#include "cmd/recorder.h"
#include "symbol/now.h"
#include "symbol/thread.h"

#define PACE_MIN_US	500u
#define PACE_MAX_US	5000u
#define WRITER_NICE	(-15)

enum message_kind { MSG_SLICE_BEGIN, MSG_SLICE_END, MSG_OUTER, MSG_TASK, MSG_IMAGE, MSG_DROP, MSG_FORMAT };

struct message {
	struct message *next;
	enum message_kind kind;
	uint32_t slice;
	const struct uft_image *img;
	struct imageview_update update;
	uint32_t pid, tid, ppid, image, outer;
	char comm[32];
	struct uft_writer_drop drop;
	const struct uft_event_type *type;
};

struct recorder {
	struct uft_writer *writer;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t news;
	struct message *first, **last;
	int ending;
	int error;
	int is_held;			/* the queue stays; messages have the session's images */
	struct uft_writer_stats stats;
	struct imageviews views;	/* the session's thread; each view's copy is the writer's */
	struct imageview **of_slice;	/* the session's thread; by slice, NULL: it has ended */
	uint32_t nof_slice;
};

/* ---- The session's side -------------------------------------------------------------------- */

static void fail(struct recorder *r, int error)
{
	pthread_mutex_lock(&r->lock);
	if (!r->error)
		r->error = error;
	pthread_mutex_unlock(&r->lock);
}

static void post(struct recorder *r, const struct message *message)
{
	struct message *m = malloc(sizeof(*m));

	if (!m) {
		fail(r, -ENOMEM);
		return;
	}
	*m = *message;
	m->next = NULL;
	pthread_mutex_lock(&r->lock);
	*r->last = m;
	r->last = &m->next;
	if (!r->is_held)
		pthread_cond_signal(&r->news);
	pthread_mutex_unlock(&r->lock);
}

static int make_room_for(struct recorder *r, uint32_t slice)
{
	uint32_t n = slice + slice / 2 + 16;
	struct imageview **more;

	if (slice < r->nof_slice)
		return 0;
	more = realloc(r->of_slice, n * sizeof(*more));
	if (!more)
		return -ENOMEM;
	memset(more + r->nof_slice, 0, (n - r->nof_slice) * sizeof(*more));
	r->of_slice = more;
	r->nof_slice = n;
	return 0;
}

/* Returns the writer's copy of @img, made if needed; it is compared with @img until the slice ends. */
static const struct uft_image *view_of(struct recorder *r, uint32_t slice, const struct uft_image *img)
{
	struct imageview *view = make_room_for(r, slice) ? NULL : imageview_get(&r->views, img);

	if (!view) {
		fail(r, -ENOMEM);
		return NULL;
	}
	if (r->of_slice[slice])
		imageview_end_slice(&r->views, r->of_slice[slice]);
	r->of_slice[slice] = view;
	imageview_begin_slice(&r->views, view);
	return &view->copy;
}

void recorder_slice_begin(struct recorder *r, uint32_t slice, uint32_t pid, uint32_t ppid, const struct uft_image *img)
{
	const struct uft_image *its = r->is_held ? img : view_of(r, slice, img);

	if (its)
		post(r, &(struct message){
				.kind = MSG_SLICE_BEGIN, .slice = slice, .pid = pid, .ppid = ppid, .img = its });
}

void recorder_hold(struct recorder *r)
{
	pthread_mutex_lock(&r->lock);
	r->is_held = 1;
	pthread_mutex_unlock(&r->lock);
}

void recorder_release(struct recorder *r)
{
	if (!r->is_held)
		return;
	for (struct message *m = r->first; m; m = m->next)	/* no other thread runs that could change it */
		if (m->kind == MSG_SLICE_BEGIN)
			m->img = view_of(r, m->slice, m->img);
	pthread_mutex_lock(&r->lock);
	r->is_held = 0;
	pthread_cond_signal(&r->news);
	pthread_mutex_unlock(&r->lock);
}

void recorder_sync_images(struct recorder *r)
{
	recorder_release(r);
	for (struct imageview *view = r->views.live; view; view = view->next_live) {
		struct message m = { .kind = MSG_IMAGE };
		int ret = imageview_compare(view, &m.update);

		if (ret > 0)
			post(r, &m);
		else if (ret < 0)
			fail(r, ret);
	}
}

void recorder_slice_end(struct recorder *r, uint32_t slice)
{
	/* Take objects loaded since the last look: a short program loads all of them and ends within one poll. */
	recorder_sync_images(r);
	if (slice < r->nof_slice && r->of_slice[slice]) {
		imageview_end_slice(&r->views, r->of_slice[slice]);
		r->of_slice[slice] = NULL;
	}
	post(r, &(struct message){ .kind = MSG_SLICE_END, .slice = slice });
}

void recorder_task(struct recorder *r, uint32_t pid, uint32_t tid, uint32_t ppid, uint32_t image, const char *comm)
{
	struct message m = { .kind = MSG_TASK, .pid = pid, .tid = tid, .ppid = ppid, .image = image };

	if (comm)
		strncpy(m.comm, comm, sizeof(m.comm) - 1);
	post(r, &m);
}

void recorder_outer(struct recorder *r, uint32_t slice, uint32_t tid, uint32_t outer)
{
	post(r, &(struct message){ .kind = MSG_OUTER, .slice = slice, .tid = tid, .outer = outer });
}

void recorder_drop(struct recorder *r, const struct uft_writer_drop *drop)
{
	post(r, &(struct message){ .kind = MSG_DROP, .drop = *drop });
}

int recorder_error(struct recorder *r)
{
	int error;

	pthread_mutex_lock(&r->lock);
	error = r->error;
	pthread_mutex_unlock(&r->lock);
	return error;
}

void recorder_stats(struct recorder *r, struct uft_writer_stats *out)
{
	pthread_mutex_lock(&r->lock);
	*out = r->stats;
	pthread_mutex_unlock(&r->lock);
}

void recorder_format(struct recorder *r, const struct uft_event_type *type)
{
	post(r, &(struct message){ .kind = MSG_FORMAT, .type = type });
}

/* ---- The writer's thread ------------------------------------------------------------------- */

static int handle(struct uft_writer *w, const struct message *m)
{
	switch (m->kind) {
	case MSG_SLICE_BEGIN:
		return m->img ? uft_writer_child(w, m->slice, m->pid, m->ppid, m->img) : -ENOMEM;
	case MSG_SLICE_END:
		return uft_writer_slice_end(w, m->slice);
	case MSG_OUTER:
		return uft_writer_outer(w, m->slice, m->tid, m->outer);
	case MSG_TASK:
		return uft_writer_task(w, m->pid, m->tid, m->ppid, m->image, m->comm[0] ? m->comm : NULL);
	case MSG_IMAGE:
		imageview_install(&m->update);
		return 0;
	case MSG_FORMAT:
		return uft_writer_format(w, m->type);
	case MSG_DROP:
		return uft_writer_drop(w, &m->drop);
	}
	return -EINVAL;
}

static void handle_all(struct recorder *r, struct message *m)
{
	struct message *next;

	for (; m; m = next) {
		int ret = handle(r->writer, m);

		if (ret < 0)
			fail(r, ret);
		next = m->next;
		free(m);
	}
}

/* Sleeps at most @us, takes the queue. Returns 1 when this was the last time. */
static int wait_news(struct recorder *r, unsigned us, struct message **out)
{
	struct timespec deadline = clock_in(CLOCK_MONOTONIC, us * 1000ull);
	int ending, timed_out = 0;

	pthread_mutex_lock(&r->lock);
	while ((!r->first || r->is_held) && !r->ending && !timed_out)
		timed_out = pthread_cond_timedwait(&r->news, &r->lock, &deadline) == ETIMEDOUT;
	*out = r->is_held ? NULL : r->first;
	if (!r->is_held) {
		r->first = NULL;
		r->last = &r->first;
	}
	ending = r->ending;
	pthread_mutex_unlock(&r->lock);
	return ending;
}

static int64_t copy(struct recorder *r)
{
	struct uft_writer_stats stats;
	int64_t copied = recorder_error(r) ? 0 : uft_writer_poll(r->writer);

	if (copied < 0)
		fail(r, (int)copied);
	uft_writer_stats(r->writer, &stats);
	pthread_mutex_lock(&r->lock);
	r->stats = stats;
	pthread_mutex_unlock(&r->lock);
	return copied;
}

static void *writer_thread(void *arg)
{
	struct recorder *r = arg;
	struct message *messages;
	unsigned pace_us = PACE_MAX_US;
	int ending;

	setpriority(PRIO_PROCESS, 0, WRITER_NICE);	/* of this thread; may be refused */
	do {
		ending = wait_news(r, pace_us, &messages);
		handle_all(r, messages);
		pace_us = copy(r) > 0 ? PACE_MIN_US : pace_us * 2 > PACE_MAX_US ? PACE_MAX_US : pace_us * 2;
	} while (!ending);
	return NULL;
}

/* ---- Life ---------------------------------------------------------------------------------- */

int recorder_start(const char *path, const struct uft_arena *arena, const struct uft_writer_opts *opts,
		   struct recorder **out, struct uft_error *err)
{
	struct recorder *r = calloc(1, sizeof(*r));
	pthread_condattr_t attr;
	int ret;

	if (!r)
		return uft_fail(err, -ENOMEM, "out of memory");
	ret = uft_writer_create(path, arena, opts, &r->writer, err);
	if (ret) {
		free(r);
		return ret;
	}
	r->last = &r->first;
	pthread_mutex_init(&r->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&r->news, &attr);
	pthread_condattr_destroy(&attr);
	ret = thread_start(&r->thread, writer_thread, r);
	if (ret) {
		uft_writer_finish(r->writer, NULL, NULL);
		pthread_cond_destroy(&r->news);
		pthread_mutex_destroy(&r->lock);
		free(r);
		return uft_fail(err, ret, "cannot start the writer's thread: %s", strerror(-ret));
	}
	*out = r;
	return 0;
}

int recorder_file(const struct recorder *r)
{
	return uft_writer_file(r->writer);
}

int recorder_finish(struct recorder *r, struct uft_writer_stats *stats, struct uft_error *err)
{
	int ret, error;

	recorder_release(r);
	pthread_mutex_lock(&r->lock);
	r->ending = 1;
	pthread_cond_signal(&r->news);
	pthread_mutex_unlock(&r->lock);
	pthread_join(r->thread, NULL);
	error = r->error;
	ret = uft_writer_finish(r->writer, stats, err);
	imageview_free(&r->views);
	free(r->of_slice);
	pthread_cond_destroy(&r->news);
	pthread_mutex_destroy(&r->lock);
	free(r);
	return error ? error : ret;
}
