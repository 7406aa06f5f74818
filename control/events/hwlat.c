// SPDX-License-Identifier: MIT
/*
 * hwlat.c - measure time that is taken from a thread that spins: the tracer hwlat
 *
 * The thread (spin.c) reads the clock in pairs: nothing lies between the two readings of a pair, and only the loop
 * between two pairs. A long time there means that something took the CPU from the thread: another thread, an interrupt,
 * the hypervisor, the firmware. The kernel's detector disables interrupts meanwhile and so sees the firmware alone. uft
 * cannot, and reports the time that a program would lose.
 *
 * A window with a time longer than the threshold makes one record, as in the kernel: the longest time of each kind in
 * the whole window, above the threshold or not; how many were above it; and when the first of them was. Windows that
 * have a record are numbered, from 1 when the tracer begins.
 */
#include "control/events/spin.h"
#include "symbol/host.h"
#include "symbol/now.h"

#include <time.h>

struct found { uint64_t inner, outer, first_ns; uint32_t count; };

/* Spins for one width. */
static void spin(const struct spin *h, struct found *f)
{
	uint64_t start = host_clock(), last = 0, a, b, inner, outer;

	*f = (struct found){ 0 };
	do {
		a = host_clock();
		b = host_clock();
		inner = b - a;
		outer = last ? a - last : 0;
		f->inner = inner > f->inner ? inner : f->inner;
		f->outer = outer > f->outer ? outer : f->outer;
		if (inner > h->thresh || outer > h->thresh) {
			if (!f->count++)
				f->first_ns = clock_ns(CLOCK_REALTIME);
			b = host_clock();	/* time that this function took itself is no latency */
		}
		last = b;
	} while (b - start < h->width && !spin_is_ending(h));
}

static void spin_for_latency(struct spinner *p)
{
	struct spin *h = p->spin;
	struct found f;
	uint64_t w[4];

	spin(h, &f);
	if (!f.count)
		return;
	w[0] = (uint64_t)((double)f.inner * h->ns);
	w[1] = (uint64_t)((double)f.outer * h->ns);
	w[2] = f.first_ns;
	pthread_mutex_lock(&h->lock);
	w[3] = (h->seq + 1) | (uint64_t)f.count << 32;
	if (!spin_write(p, UFT_EVENT_HWLAT, w, 4))
		h->seq++;
	pthread_mutex_unlock(&h->lock);
}

const struct spin_kind hwlat_kind = {
	.tracer = "hwlat", .comm = "hwlatd", .round = spin_for_latency, .window_us = 1000000, .width_us = 500000,
	.thresh_ns = 10000,
};
