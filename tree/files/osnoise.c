/* SPDX-License-Identifier: MIT */
/*
 * osnoise.c - osnoise/: period, runtime and cpus of the tracer osnoise
 *
 * The runtime is never more than the period. At the defaults, which are the kernel's, it is the whole period on every
 * cpu.
 */
#include "tree/files/rows.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

#define DEFAULT_US	1000000u
#define MAX_US		(3600u * 1000000u)

static uint64_t runtime_us(const struct settings *set)
{
	return set->osnoise.width_us ? set->osnoise.width_us : DEFAULT_US;
}

static uint64_t period_us(const struct settings *set)
{
	return set->osnoise.window_us ? set->osnoise.window_us : DEFAULT_US;
}

int show_osnoise_runtime_us(const struct place *at, struct tree_text *out)
{
	text_printf(out, "%llu\n", (unsigned long long)runtime_us(&at->in->set));
	return 0;
}

int show_osnoise_period_us(const struct place *at, struct tree_text *out)
{
	text_printf(out, "%llu\n", (unsigned long long)period_us(&at->in->set));
	return 0;
}

static ssize_t store(struct uft_handle *h, const struct settings *set, size_t n)
{
	int is_bad = !set->osnoise.width_us || runtime_us(set) > period_us(set) || period_us(set) > MAX_US;

	return store_settings(h, set, is_bad ? -EINVAL : 0, n);
}

ssize_t store_osnoise_runtime_us(struct uft_handle *h, const char *p, size_t n)
{
	struct settings set = h->at.in->set;
	int ret = text_number(p, n, 10, &set.osnoise.width_us);

	return ret ? ret : store(h, &set, n);
}

ssize_t store_osnoise_period_us(struct uft_handle *h, const char *p, size_t n)
{
	struct settings set = h->at.in->set;
	int ret = text_number(p, n, 10, &set.osnoise.window_us);

	set.osnoise.width_us = runtime_us(&set);
	return ret ? ret : !set.osnoise.window_us ? -EINVAL : store(h, &set, n);
}

/* ---- cpus: a list, 0-3,5 -------------------------------------------------------------------- */

static uint32_t ncpus(const struct uft_tree *t)
{
	return tree_ncpus(t) < UFT_SPIN_CPUS ? tree_ncpus(t) : UFT_SPIN_CPUS;
}

static int is_off(const struct settings *set, uint32_t cpu)
{
	return set->osnoise.cpus_off[cpu / 64] >> cpu % 64 & 1;
}

int show_osnoise_cpus(const struct place *at, struct tree_text *out)
{
	const char *comma = "";

	for (uint32_t from = 0, n = ncpus(at->t); from < n; from++) {
		uint32_t to = from;

		if (is_off(&at->in->set, from))
			continue;
		while (to + 1 < n && !is_off(&at->in->set, to + 1))
			to++;
		text_printf(out, to > from ? "%s%u-%u" : "%s%u", comma, from, to);
		comma = ",";
		from = to;
	}
	text_printf(out, "\n");
	return 0;
}

/* Reads the number of a cpu at *@p and moves *@p behind it. -EINVAL: no number, or no such cpu. */
static int take_cpu(const char **p, const char *end, uint32_t n, uint32_t *out)
{
	const char *begin = *p;

	for (*out = 0; *p < end && **p >= '0' && **p <= '9' && *out < UFT_SPIN_CPUS; ++*p)
		*out = *out * 10 + (uint32_t)(**p - '0');
	return *p == begin || *out >= n ? -EINVAL : 0;
}

/* May a thread of ours run on one of the cpus in @set? */
static int is_usable(const struct settings *set, uint32_t n)
{
	cpu_set_t ours;

	if (sched_getaffinity(0, sizeof(ours), &ours))
		return 1;
	for (uint32_t cpu = 0; cpu < n; cpu++)
		if (CPU_ISSET(cpu, &ours) && !is_off(set, cpu))
			return 1;
	return 0;
}

ssize_t store_osnoise_cpus(struct uft_handle *h, const char *p, size_t n)
{
	struct settings set = h->at.in->set;
	size_t len = n;
	const char *end;
	int ret = 0;

	text_strip(&p, &len);
	end = p + len;
	memset(set.osnoise.cpus_off, 0xff, sizeof(set.osnoise.cpus_off));
	do {
		uint32_t from, to;

		ret = take_cpu(&p, end, ncpus(h->t), &from);
		to = from;
		if (!ret && p < end && *p == '-') {
			p++;
			ret = take_cpu(&p, end, ncpus(h->t), &to);
		}
		for (uint32_t cpu = from; !ret && cpu <= to; cpu++)
			set.osnoise.cpus_off[cpu / 64] &= ~(1ull << cpu % 64);
		if (to < from || (p < end && *p != ','))
			ret = -EINVAL;
	} while (!ret && p < end && p++);
	if (!ret && !is_usable(&set, ncpus(h->t))) {
		h->wrong = "The server may run on none of these cpus";
		ret = -EINVAL;
	}
	return store_settings(h, &set, ret, n);
}
