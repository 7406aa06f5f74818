/* SPDX-License-Identifier: MIT */
/*
 * parts_sum.c - see parts_sum.h
 *
 * Each thread adds up one part of the recording (stream/decode/parts.h) as if it were the whole, and the parts are
 * joined in their order. The first part is added up in the sum of the whole, from the caller's stream, so at its end
 * the sum is that of a single thread. If a part meets something that cannot be joined, the other threads stop, and the
 * first thread goes on behind its part: it reads nothing twice, but the work of the others is lost. Only if parts turn
 * out not to fit after some of them were joined, all begins again.
 */
#include <errno.h>
#include <pthread.h>

#include "output/report/parts_sum.h"
#include "symbol/thread.h"

struct run {
	const struct parts_ops *ops;
	void *sum;
	struct uft_part *part;
	pthread_t thread;
	int ret;
};

static void *add_part(void *arg)
{
	struct run *r = arg;

	r->ret = uft_part_begin(r->part);
	if (!r->ret && r->part->from)
		r->ret = r->ops->open(r->sum, r->part);
	if (!r->ret)
		r->ret = r->ops->add(r->sum, r->part->st);
	return NULL;
}

/* Starts the threads of all parts but the first. Returns how many parts have a sum. */
static size_t start_others(struct run *run, struct uft_part *part, size_t n, int *stop)
{
	for (size_t i = 1; i < n; i++) {
		struct run *r = &run[i];

		part[i].stop = stop;
		*r = (struct run){ .ops = run->ops, .sum = run->ops->make(run->sum), .part = &part[i] };
		if (!r->sum)
			return i;
		run->ops->watch(r->sum, stop);
		if (thread_start(&r->thread, add_part, r)) {
			run->ops->release(r->sum);
			return i;
		}
	}
	return n;
}

/* As join() of struct parts_ops. */
static int join_others(struct run *run, struct uft_stream *st, size_t n)
{
	int ret = PARTS_JOINED;

	for (size_t i = 0; i < n; i++)
		if (!uft_part_is_exact(run[i].part))
			return PARTS_APART;
	for (size_t i = 1; i < n && ret == PARTS_JOINED; i++) {
		ret = run->ops->join(run->sum, st, run[i].sum, run[i].part);
		if (ret == PARTS_APART && i > 1)
			ret = -EAGAIN;
	}
	return ret;
}

/* As join() of struct parts_ops: whether @all has all parts. */
static int add_parts(const struct parts_ops *ops, void *all, struct uft_stream *st, struct uft_part *part, size_t n)
{
	struct run run[UFT_PARTS_MAX] = { { .ops = ops, .sum = all, .part = &part[0] } };
	int stop = 0, ret = 0;
	size_t started = start_others(run, part, n, &stop);

	if (started < n)
		__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	ops->watch(all, &stop);
	if (!uft_stream_info(st)) {
		run[0].ret = -ENOMEM;
		__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	} else {
		add_part(&run[0]);
	}
	for (size_t i = 0; i < started; i++) {
		if (i)
			pthread_join(run[i].thread, NULL);
		ret = ret ? ret : run[i].ret;
	}
	ops->watch(all, NULL);
	if (!ret)
		ret = stop ? PARTS_APART : join_others(run, st, started);
	for (size_t i = 1; i < started; i++)
		ops->release(run[i].sum);
	return ret;
}

int parts_sum(const struct parts_ops *ops, void *all, struct uft_stream *st, unsigned threads, int must_fit)
{
	struct uft_part part[UFT_PARTS_MAX];
	size_t n = uft_parts_open(st, threads, &ops->cost, part);
	int ret = n > 1 ? add_parts(ops, all, st, part, n) : PARTS_APART;
	int is_again = n > 1 && (ret == -EAGAIN || (ret == PARTS_APART && must_fit));

	if (n > 1)
		uft_parts_close(part, n, is_again);
	if (is_again)
		ret = ops->clear(all);
	if (ret)
		return ret < 0 ? ret : (int)n;
	if (must_fit)
		return 0;
	ret = ops->add(all, st);
	return ret ? ret : 1;
}
