// SPDX-License-Identifier: MIT
/*
 * spin.c - threads of the session that spin, which shows what takes a CPU from a program: the tracers hwlat and osnoise
 *
 * A thread spins for `width` of each `window`, in its tracer's way (hwlat.c, osnoise.c), and rests. In modes none and
 * round-robin there is one thread, in per-cpu one for each CPU. CPU use is width / window of one CPU, or of each; none
 * while recording is off: there are no threads then, as in the kernel. New settings do not begin a tracer again.
 *
 * Concurrency: each thread has a CPU to itself in mode per-cpu, else there is one thread; so each ring has one writer.
 * `lock` guards is_ending and the numbers; while it spins a thread reads is_ending without the lock, some thousand
 * times a millisecond.
 */
#include "control/events/spin.h"
#include "symbol/host.h"
#include "symbol/now.h"
#include "symbol/thread.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define REST_US		1000u		/* at least, as in the kernel */

int spin_write(struct spinner *p, uint32_t event, const uint64_t *w, uint32_t n)
{
	uint64_t task = (uint64_t)(uint32_t)getpid() | (uint64_t)(uint32_t)p->tid << 32;
	int cpu = p->cpu >= 0 ? p->cpu : sched_getcpu();

	return event_ring_write(p->spin->own, cpu < 0 ? 0 : (uint32_t)cpu, host_clock(), task, event, w, n);
}

static void keep_to(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);	/* if that CPU went off meanwhile, the present one will do */
}

/* The CPU after @cpu, in turn. */
static int next_cpu(const struct spin *h, int cpu)
{
	for (int i = 1; i <= CPU_SETSIZE; i++)
		if (CPU_ISSET((cpu + i) % CPU_SETSIZE, &h->cpus))
			return (cpu + i) % CPU_SETSIZE;
	return cpu;
}

/* 1: the thread has ended. */
static int rest(struct spin *h)
{
	const struct timespec until = clock_in(CLOCK_MONOTONIC, h->rest_us * 1000);
	int is_over, late = 0;

	pthread_mutex_lock(&h->lock);
	while (!h->is_ending && !late)
		late = pthread_cond_timedwait(&h->changed, &h->lock, &until) == ETIMEDOUT;
	is_over = h->is_ending;
	pthread_mutex_unlock(&h->lock);
	return is_over;
}

/* The name of the thread, as the kernel's threads have it. */
static void name_of(const struct spinner *p, char name[16])
{
	snprintf(name, 16, p->spin->kind->is_per_cpu ? "%.8s/%d" : "%.15s", p->spin->kind->comm, p->cpu);
}

static void *spinner_main(void *arg)
{
	struct spinner *p = arg;
	struct spin *h = p->spin;
	char name[16];
	int cpu = -1;

	name_of(p, name);
	prctl(PR_SET_NAME, name);
	if (p->cpu >= 0)
		keep_to(p->cpu);
	pthread_mutex_lock(&h->lock);
	p->tid = (pid_t)syscall(SYS_gettid);
	pthread_cond_broadcast(&h->changed);
	pthread_mutex_unlock(&h->lock);
	do {
		if (h->mode == UFT_HWLAT_ROUND_ROBIN)
			keep_to(cpu = next_cpu(h, cpu));
		h->kind->round(p);
	} while (!rest(h));
	return NULL;
}

static int start_all(struct uft_session *s, struct spin *h)
{
	uint32_t want = h->mode == UFT_HWLAT_PER_CPU ? (uint32_t)CPU_COUNT(&h->cpus) : 1;
	int cpu = -1, ret = 0;
	char name[16];

	h->spinner = calloc(want, sizeof(*h->spinner));
	if (!h->spinner)
		return -ENOMEM;
	while (h->n < want && !ret) {
		struct spinner *p = &h->spinner[h->n];

		cpu = next_cpu(h, cpu);
		*p = (struct spinner){ .spin = h, .cpu = h->mode == UFT_HWLAT_PER_CPU ? cpu : -1 };
		ret = thread_start(&p->thread, spinner_main, p);
		h->n += !ret;
	}
	for (uint32_t i = 0; i < h->n; i++) {
		pthread_mutex_lock(&h->lock);
		while (!h->spinner[i].tid)
			pthread_cond_wait(&h->changed, &h->lock);
		pthread_mutex_unlock(&h->lock);
		name_of(&h->spinner[i], name);
		if (s->ev.task)
			s->ev.task(s->ev.arg, getpid(), h->spinner[i].tid, 0, h->own->img, name);
	}
	return ret;
}

static void take_settings(struct uft_session *s, struct spin *h, const struct uft_hwlat_opts *opts, uint64_t thresh_ns)
{
	uint64_t window_us = opts->window_us ? opts->window_us : h->kind->window_us;
	uint64_t width_us = opts->width_us ? opts->width_us : h->kind->width_us;

	h->mode = h->kind->is_per_cpu ? UFT_HWLAT_PER_CPU : opts->mode;
	h->width = session_clock_units(s, width_us * 1000);
	h->thresh = session_clock_units(s, thresh_ns ? thresh_ns : h->kind->thresh_ns);
	h->ns = 1e9 / (double)session_clock_units(s, 1000000000);
	h->rest_us = window_us > width_us + REST_US ? window_us - width_us : REST_US;
	if (sched_getaffinity(0, sizeof(h->cpus), &h->cpus))
		CPU_SET(0, &h->cpus);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (opts->cpus_off[cpu / 64] >> cpu % 64 & 1)
			CPU_CLR(cpu, &h->cpus);
}

struct spin *spin_begin(struct uft_session *s, const struct spin_kind *kind, const struct uft_hwlat_opts *opts,
			uint64_t thresh_ns)
{
	struct spin *h = calloc(1, sizeof(*h));
	pthread_condattr_t attr;

	if (!h)
		return NULL;
	h->kind = kind;
	pthread_mutex_init(&h->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&h->changed, &attr);
	pthread_condattr_destroy(&attr);
	take_settings(s, h, opts, thresh_ns);
	h->own = event_ring_open(s, getpid(), 0, NULL);
	spin_run(s, h, 1);
	return h;
}

/* The slice and the numbers stay. */
static void stop_all(struct spin *h)
{
	pthread_mutex_lock(&h->lock);
	__atomic_store_n(&h->is_ending, 1, __ATOMIC_RELAXED);
	pthread_cond_broadcast(&h->changed);
	pthread_mutex_unlock(&h->lock);
	for (uint32_t i = 0; i < h->n; i++)
		pthread_join(h->spinner[i].thread, NULL);
	free(h->spinner);
	h->spinner = NULL;
	h->n = 0;
	h->is_ending = 0;
}

void spin_run(struct uft_session *s, struct spin *h, int on)
{
	int ret = 0;

	if (!on)
		stop_all(h);
	else if (!h->spinner)
		ret = h->own ? start_all(s, h) : -ENOMEM;
	if (ret)
		session_warn(s, "the tracer %s does not run on all of its CPUs: %s", h->kind->tracer, strerror(-ret));
}

void spin_set(struct uft_session *s, struct spin *h, const struct uft_hwlat_opts *opts, uint64_t thresh_ns)
{
	int was_on = h->spinner != NULL;

	stop_all(h);
	take_settings(s, h, opts, thresh_ns);
	spin_run(s, h, was_on);
}

void spin_end(struct spin *h)
{
	stop_all(h);
	if (h->own)
		event_ring_close(h->own);
	pthread_cond_destroy(&h->changed);
	pthread_mutex_destroy(&h->lock);
	free(h);
}
