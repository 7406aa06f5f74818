// SPDX-License-Identifier: MIT
/*
 * osnoise.c - measure what the operating system takes from threads that only count: the tracer osnoise
 *
 * A thread on each CPU (spin.c) reads the clock for `runtime` of each `period`. A time between two readings that is at
 * least the threshold is noise. There is one record per period, as in the kernel: how long the thread ran, the noise in
 * it, the longest noise; and how often it was interfered with.
 *
 * The kernel counts interferences where they happen. This file takes the counts that every user can read: how often the
 * thread had to leave its CPU, and how many interrupts, NMIs and softirqs the CPU had meanwhile (/proc/interrupts,
 * /proc/softirqs). The kernel's first column, noise without a known cause, needs the kernel's way of counting: it is
 * not known here.
 */
#include "control/events/spin.h"
#include "symbol/host.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

struct counts { uint64_t thread, irq, nmi, softirq; int has_irq, has_softirq; };

/* The column of `CPU<cpu>` in the first line; -1: there is none. */
static int column_of(const char *line, int cpu)
{
	const char *p = line;
	int n = 0;

	for (; (p = strstr(p, "CPU")); p += 3, n++)
		if (atoi(p + 3) == cpu)
			return n;
	return -1;
}

/* The number in that column; 0 if the line is shorter. */
static uint64_t number_in(const char *p, int column)
{
	for (int i = 0; ; i++) {
		char *end;
		uint64_t v = strtoull(p, &end, 10);

		if (end == p || (*end && !isspace((unsigned char)*end)))
			return 0;
		if (i == column)
			return v;
		p = end;
	}
}

/* Adds up the CPU's column of such a table; the line NMI separately. 0: there is no such column. */
static int add_up(const char *path, int cpu, uint64_t *sum, uint64_t *nmi)
{
	FILE *f = fopen(path, "re");
	char *line = NULL, *colon;
	size_t room = 0;
	int column;

	*sum = *nmi = 0;
	column = f && getline(&line, &room, f) > 0 ? column_of(line, cpu) : -1;
	while (column >= 0 && getline(&line, &room, f) > 0) {
		colon = strchr(line, ':');
		if (colon)
			*(strstr(line, "NMI:") ? nmi : sum) += number_in(colon + 1, column);
	}
	free(line);
	if (f)
		fclose(f);
	return column >= 0;
}

static void count(const struct spinner *p, struct counts *c)
{
	struct rusage use;
	uint64_t none;

	c->has_irq = add_up("/proc/interrupts", p->cpu, &c->irq, &c->nmi);
	c->has_softirq = add_up("/proc/softirqs", p->cpu, &c->softirq, &none);
	c->thread = getrusage(RUSAGE_THREAD, &use) ? 0 : (uint64_t)use.ru_nivcsw;
}

static uint64_t since(int is_known, uint64_t now, uint64_t then)
{
	return !is_known || now < then ? UINT32_MAX : now - then < UINT32_MAX ? now - then : UINT32_MAX - 1;
}

/*
 * Rounds to the nearest: a round of exactly its runtime is as long as the runtime, though the runtime in units of the
 * clock was rounded down.
 */
static uint64_t us(const struct spin *h, uint64_t units)
{
	uint64_t n = (uint64_t)((double)units * h->ns / 1000 + 0.5);

	return n < UINT32_MAX ? n : UINT32_MAX;
}

static void measure(struct spinner *p)
{
	const struct spin *h = p->spin;
	struct counts before, after;
	uint64_t start, last, now, noise = 0, longest = 0, w[4];

	count(p, &before);
	start = last = now = host_clock();
	while (now - start < h->width && !spin_is_ending(h)) {
		now = host_clock();
		if (now - last >= h->thresh) {
			noise += now - last;
			longest = now - last > longest ? now - last : longest;
		}
		last = now;
	}
	if (spin_is_ending(h))
		return;			/* a period that was cut off does not count */
	count(p, &after);
	w[0] = us(h, noise) | us(h, now - start) << 32;
	w[1] = us(h, longest) | since(1, after.thread, before.thread) << 32;
	w[2] = since(before.has_irq && after.has_irq, after.irq, before.irq) |
	       since(before.has_softirq && after.has_softirq, after.softirq, before.softirq) << 32;
	w[3] = since(before.has_irq && after.has_irq, after.nmi, before.nmi);
	spin_write(p, UFT_EVENT_OSNOISE, w, 4);
}

const struct spin_kind osnoise_kind = {
	.tracer = "osnoise", .comm = "osnoise", .round = measure, .window_us = 1000000, .width_us = 1000000,
	.thresh_ns = 5000, .is_per_cpu = 1,
};
