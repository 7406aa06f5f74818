/* SPDX-License-Identifier: MIT */
/* spin.h - threads of the session that spin: the tracers hwlat and osnoise; theory in spin.c */
#ifndef UFT_CONTROL_SPIN_H
#define UFT_CONTROL_SPIN_H

#include <sched.h>

#include "control/events/sources.h"

struct spin;
struct spinner {
	struct spin *spin;
	pthread_t thread;
	pid_t tid;			/* the session waits for it */
	int cpu;			/* the CPU that it keeps to; -1: to none, or to all in turn */
};

struct spin_kind {
	const char *tracer, *comm;
	void (*round)(struct spinner *p);	/* spins one width and writes its records; in the thread */
	uint64_t window_us, width_us, thresh_ns;	/* unless settings give others */
	int is_per_cpu;
};
extern const struct spin_kind hwlat_kind, osnoise_kind;

struct spin {
	const struct spin_kind *kind;
	struct event_ring *own;
	struct spinner *spinner;
	uint32_t n, mode;
	uint64_t width, thresh;		/* clock units */
	uint64_t rest_us;		/* of the window */
	double ns;			/* ns per clock unit */
	cpu_set_t cpus;			/* CPUs that the session may use */
	pthread_mutex_t lock;
	uint32_t seq;			/* hwlat: of the last record */
	pthread_cond_t changed;		/* is_ending, or a tid */
	int is_ending;
};

static inline int spin_is_ending(const struct spin *h)
{
	return __atomic_load_n(&h->is_ending, __ATOMIC_RELAXED);
}
/* event_ring_write() for the thread, at the present time */
int spin_write(struct spinner *p, uint32_t event, const uint64_t *w, uint32_t n);

/* ---- The session ---- */
/* NULL: no memory */
struct spin *spin_begin(struct uft_session *s, const struct spin_kind *kind, const struct uft_hwlat_opts *opts,
			uint64_t thresh_ns);
void spin_run(struct uft_session *s, struct spin *h, int on);	/* starts or stops its threads */
/* Changes the settings of running threads. */
void spin_set(struct uft_session *s, struct spin *h, const struct uft_hwlat_opts *opts, uint64_t thresh_ns);
void spin_end(struct spin *h);

#endif
