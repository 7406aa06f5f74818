// SPDX-License-Identifier: MIT
/*
 * hwlat.c - time that is stolen from a thread that spins: the tracer hwlat
 *
 * A thread of ours reads the clock in pairs for `width` of each `window`: two readings of a pair have nothing between them, two
 * pairs only the loop. What takes long there is whatever took the CPU from the thread: another thread, an interrupt, the
 * hypervisor, the firmware. The kernel's detector stops interrupts meanwhile and so sees the firmware alone; we cannot, and
 * say what a program would lose.
 *
 * A window in which one was longer than the threshold is one record, as in the kernel: the longest of each kind in the whole window, be it
 * too long or not, how many were too long, when the first of them was. Windows are numbered by those that have a record, from 1
 * when the tracer begins; other settings do not begin it anew.
 *
 * Concurrency: each thread has a CPU to itself in mode per-cpu, else there is one thread; so each ring has one writer. `lock`
 * guards is_ending and the numbers; while it spins a thread looks at is_ending without the lock, some thousand times a millisecond.
 * CPU use is width / window of one CPU, or of each; none while nothing is recorded: there are no threads then, as in the kernel.
 */
#include "control/own.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define WINDOW_US	1000000u
#define REST_US		1000u		/* at least, as in the kernel */
#define THRESH_NS	10000u		/* the kernel's */

struct spinner {
	struct hwlat *h;
	pthread_t thread;
	pid_t tid;			/* the session waits for it */
	int cpu;			/* to which it keeps; -1: to none, or all in turn */
};

struct hwlat {
	struct own *own;
	struct spinner *spinner;
	uint32_t n, mode;
	uint64_t width, thresh;		/* clock units */
	uint64_t rest_us;		/* of the window */
	double ns;			/* a clock unit's */
	cpu_set_t cpus;			/* that we may use */
	pthread_mutex_t lock;
	uint32_t seq;			/* of the last record */
	pthread_cond_t changed;		/* is_ending, or a tid */
	int is_ending;
};

struct found { uint64_t inner, outer, first_ns; uint32_t count; };

static uint64_t realtime_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* One width. */
static void spin(const struct hwlat *h, struct found *f)
{
	uint64_t start = __builtin_ia32_rdtsc(), last = 0, a, b, inner, outer;

	*f = (struct found){ 0 };
	do {
		a = __builtin_ia32_rdtsc();
		b = __builtin_ia32_rdtsc();
		inner = b - a;
		outer = last ? a - last : 0;
		f->inner = inner > f->inner ? inner : f->inner;
		f->outer = outer > f->outer ? outer : f->outer;
		if (inner > h->thresh || outer > h->thresh) {
			if (!f->count++)
				f->first_ns = realtime_ns();
			b = __builtin_ia32_rdtsc();	/* what we did ourselves is no latency */
		}
		last = b;
	} while (b - start < h->width && !__atomic_load_n(&h->is_ending, __ATOMIC_RELAXED));
}

static void record(struct spinner *p, const struct found *f)
{
	struct hwlat *h = p->h;
	uint64_t w[4] = { (uint64_t)((double)f->inner * h->ns), (uint64_t)((double)f->outer * h->ns), f->first_ns };
	uint64_t task = (uint64_t)(uint32_t)getpid() | (uint64_t)(uint32_t)p->tid << 32;
	int cpu = p->cpu >= 0 ? p->cpu : sched_getcpu();

	pthread_mutex_lock(&h->lock);
	w[3] = (h->seq + 1) | (uint64_t)f->count << 32;
	if (!own_write(h->own, cpu < 0 ? 0 : (uint32_t)cpu, __builtin_ia32_rdtsc(), task, UFT_EVENT_HWLAT, w, 4))
		h->seq++;
	pthread_mutex_unlock(&h->lock);
}

static void keep_to(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);	/* one that went meanwhile: where we are is as good */
}

/* Behind @cpu, in turn. */
static int next_cpu(const struct hwlat *h, int cpu)
{
	for (int i = 1; i <= CPU_SETSIZE; i++)
		if (CPU_ISSET((cpu + i) % CPU_SETSIZE, &h->cpus))
			return (cpu + i) % CPU_SETSIZE;
	return cpu;
}

/* 1: it is over. */
static int rest(struct hwlat *h)
{
	struct timespec until;
	int is_over, late = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += (time_t)(h->rest_us / 1000000);
	until.tv_nsec += (long)(h->rest_us % 1000000) * 1000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&h->lock);
	while (!h->is_ending && !late)
		late = pthread_cond_timedwait(&h->changed, &h->lock, &until) == ETIMEDOUT;
	is_over = h->is_ending;
	pthread_mutex_unlock(&h->lock);
	return is_over;
}

static void *spinner_main(void *arg)
{
	struct spinner *p = arg;
	struct hwlat *h = p->h;
	struct found f;
	int cpu = -1;

	prctl(PR_SET_NAME, "hwlatd");
	if (p->cpu >= 0)
		keep_to(p->cpu);
	pthread_mutex_lock(&h->lock);
	p->tid = (pid_t)syscall(SYS_gettid);
	pthread_cond_broadcast(&h->changed);
	pthread_mutex_unlock(&h->lock);
	do {
		if (h->mode == UFT_HWLAT_ROUND_ROBIN)
			keep_to(cpu = next_cpu(h, cpu));
		spin(h, &f);
		if (f.count)
			record(p, &f);
	} while (!rest(h));
	return NULL;
}

/* With every signal blocked: they are the caller's business. */
static int start_spinner(struct spinner *p)
{
	sigset_t all, saved;
	int ret;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &saved);
	ret = -pthread_create(&p->thread, NULL, spinner_main, p);
	pthread_sigmask(SIG_SETMASK, &saved, NULL);
	return ret;
}

static int start_all(struct uft_session *s, struct hwlat *h)
{
	uint32_t want = h->mode == UFT_HWLAT_PER_CPU ? (uint32_t)CPU_COUNT(&h->cpus) : 1;
	int cpu = -1, ret = 0;

	h->spinner = calloc(want, sizeof(*h->spinner));
	if (!h->spinner)
		return -ENOMEM;
	while (h->n < want && !ret) {
		struct spinner *p = &h->spinner[h->n];

		cpu = next_cpu(h, cpu);
		*p = (struct spinner){ .h = h, .cpu = h->mode == UFT_HWLAT_PER_CPU ? cpu : -1 };
		ret = start_spinner(p);
		h->n += !ret;
	}
	for (uint32_t i = 0; i < h->n; i++) {
		pthread_mutex_lock(&h->lock);
		while (!h->spinner[i].tid)
			pthread_cond_wait(&h->changed, &h->lock);
		pthread_mutex_unlock(&h->lock);
		if (s->ev.task)
			s->ev.task(s->ev.arg, getpid(), h->spinner[i].tid, 0, h->own->img, "hwlatd");
	}
	return ret;
}

static void take_settings(struct uft_session *s, struct hwlat *h, const struct uft_hwlat_opts *opts, uint64_t thresh_ns)
{
	uint64_t window_us = opts->window_us ? opts->window_us : WINDOW_US;
	uint64_t width_us = opts->width_us ? opts->width_us : WINDOW_US / 2;

	h->mode = opts->mode;
	h->width = session_clock_units(s, width_us * 1000);
	h->thresh = session_clock_units(s, thresh_ns ? thresh_ns : THRESH_NS);
	h->ns = 1e9 / (double)session_clock_units(s, 1000000000);
	h->rest_us = window_us > width_us + REST_US ? window_us - width_us : REST_US;
}

struct hwlat *hwlat_begin(struct uft_session *s, const struct uft_hwlat_opts *opts, uint64_t thresh_ns)
{
	struct hwlat *h = calloc(1, sizeof(*h));
	pthread_condattr_t attr;

	if (!h)
		return NULL;
	pthread_mutex_init(&h->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&h->changed, &attr);
	pthread_condattr_destroy(&attr);
	take_settings(s, h, opts, thresh_ns);
	if (sched_getaffinity(0, sizeof(h->cpus), &h->cpus))
		CPU_SET(0, &h->cpus);
	h->own = own_begin(s, getpid(), 0, NULL);
	hwlat_run(s, h, 1);
	return h;
}

/* The slice and the numbers stay. */
static void stop_all(struct hwlat *h)
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

void hwlat_run(struct uft_session *s, struct hwlat *h, int on)
{
	int ret = 0;

	if (!on)
		stop_all(h);
	else if (!h->spinner)
		ret = h->own ? start_all(s, h) : -ENOMEM;
	if (ret)
		session_warn(s, "the tracer hwlat does not run on every CPU that it should: %s", strerror(-ret));
}

void hwlat_set(struct uft_session *s, struct hwlat *h, const struct uft_hwlat_opts *opts, uint64_t thresh_ns)
{
	int was_on = h->spinner != NULL;

	stop_all(h);
	take_settings(s, h, opts, thresh_ns);
	hwlat_run(s, h, was_on);
}

void hwlat_end(struct hwlat *h)
{
	stop_all(h);
	if (h->own)
		own_end(h->own);
	pthread_cond_destroy(&h->changed);
	pthread_mutex_destroy(&h->lock);
	free(h);
}
