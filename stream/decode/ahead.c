/* SPDX-License-Identifier: MIT */
/*
 * ahead.c - see ahead.h
 *
 * BATCHES buffers go round: `made` counts those that the decoder filled, `used` those that the user gave back, both
 * under the lock. All that events point to stays as it is until the stream is closed, so only the buffers are handed
 * over.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "stream/decode/ahead.h"
#include "symbol/thread.h"

#define BATCHES 4u
#define BATCH 4096u /* events: a handing-over costs less than 1 ns of each */

struct batch {
	struct uft_event ev[BATCH];
	size_t n; /* 0: the end */
	double progress;
};

struct uft_ahead {
	struct uft_stream *st;
	int (*each)(void *arg, const struct uft_event *ev, size_t n);
	void *arg;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	uint64_t made, used;
	int is_given, is_ending, ret;
	double progress;
	struct batch batch[BATCHES];
};

static void *decode(void *arg)
{
	struct uft_ahead *a = arg;
	size_t n = 1;

	for (uint64_t i = 0; n; i++) {
		struct batch *b = &a->batch[i % BATCHES];
		int is_ending;

		pthread_mutex_lock(&a->lock);
		while (i - a->used == BATCHES && !a->is_ending)
			pthread_cond_wait(&a->changed, &a->lock);
		is_ending = a->is_ending;
		pthread_mutex_unlock(&a->lock);
		n = is_ending ? 0 : uft_stream_batch(a->st, b->ev, BATCH);
		if (n && a->each)
			a->ret = a->each(a->arg, b->ev, n);
		n = a->ret < 0 ? 0 : n;
		b->n = n;
		b->progress = uft_stream_progress(a->st);
		pthread_mutex_lock(&a->lock);
		a->made = i + 1;
		pthread_cond_signal(&a->changed);
		pthread_mutex_unlock(&a->lock);
	}
	return NULL;
}

int uft_ahead_start(struct uft_stream *st, int (*each)(void *arg, const struct uft_event *ev, size_t n), void *arg,
		    struct uft_ahead **out)
{
	struct uft_ahead *a = calloc(1, sizeof(*a));
	int ret;

	*out = NULL;
	if (!a)
		return -ENOMEM;
	a->st = st;
	a->each = each;
	a->arg = arg;
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->changed, NULL);
	ret = thread_start(&a->thread, decode, a);
	if (ret) {
		free(a);
		return ret;
	}
	*out = a;
	return 0;
}

size_t uft_ahead_next(struct uft_ahead *a, const struct uft_event **ev)
{
	struct batch *b;

	pthread_mutex_lock(&a->lock);
	if (a->is_given && a->batch[a->used % BATCHES].n) {
		a->used++;
		pthread_cond_signal(&a->changed);
	}
	while (a->made == a->used)
		pthread_cond_wait(&a->changed, &a->lock);
	pthread_mutex_unlock(&a->lock);
	a->is_given = 1;
	b = &a->batch[a->used % BATCHES];
	*ev = b->ev;
	a->progress = b->progress;
	return b->n;
}

double uft_ahead_progress(const struct uft_ahead *a)
{
	return a->progress;
}

int uft_ahead_end(struct uft_ahead *a)
{
	int ret;

	if (!a)
		return 0;
	pthread_mutex_lock(&a->lock);
	a->is_ending = 1;
	pthread_cond_signal(&a->changed);
	pthread_mutex_unlock(&a->lock);
	pthread_join(a->thread, NULL);
	ret = a->ret;
	pthread_cond_destroy(&a->changed);
	pthread_mutex_destroy(&a->lock);
	free(a);
	return ret;
}
