/* SPDX-License-Identifier: MIT */
/*
 * time_shift.c - convert a guest's clock to its host's
 *
 * While trace-cmd records a host and a guest, it measures the distance of their clocks again and again, and stores it
 * in the guest's file for each of its CPUs: u64 session of the peer, u32 flags, u32 CPUs; for each CPU u32 samples,
 * then their times, offsets and scalings, u64 each; behind all CPUs their fractions, which older files lack.
 *
 * A time between two samples gets the offset of the earlier one; with INTERPOLATE the offset on the line through both,
 * and so do times before the first sample and behind the last. With one sample that sample's offset is used. The
 * scaling is that of the earlier sample.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stream/dat/layout.h"
#include "stream/dat/time_shift.h"
#include "symbol/sorted.h"

#define INTERPOLATE 1u
#define OFFSET_MAX  (INT64_C(1) << 61) /* of each side: a difference of two, times any time, fits in 128 bits */

struct bytes {
	const uint8_t *p;
	size_t n;
};

static int take(struct bytes *b, void *to, size_t n)
{
	if (n > b->n)
		return -EBADMSG;
	memcpy(to, b->p, n);
	b->p += n;
	b->n -= n;
	return 0;
}

/* Reads one number of each sample: the file has them side by side. */
static int take_all(struct bytes *b, struct dat_cpu_shift *c, size_t offset)
{
	int ret = 0;

	for (uint32_t i = 0; i < c->n && !ret; i++)
		ret = take(b, (char *)&c->sample[i] + offset, 8);
	return ret;
}

static int take_cpu(struct bytes *b, struct dat_cpu_shift *c)
{
	uint32_t n;
	int ret = take(b, &n, 4);

	if (ret || n > b->n / 24)
		return -EBADMSG;
	c->sample = calloc(n + 1ull, sizeof(*c->sample));
	if (!c->sample)
		return -ENOMEM;
	c->n = n;
	ret = take_all(b, c, offsetof(struct dat_sample, time));
	ret = ret ? ret : take_all(b, c, offsetof(struct dat_sample, offset));
	return ret ? ret : take_all(b, c, offsetof(struct dat_sample, scaling));
}

/* Sorts by time, and keeps one sample per moment. */
static int sort(struct dat_cpu_shift *c)
{
	uint32_t kept = 0;

	SORT_BY(c->sample, c->n, time);
	for (uint32_t i = 0; i < c->n; i++) {
		if (c->sample[i].fraction > 63 || c->sample[i].offset > OFFSET_MAX || c->sample[i].offset < -OFFSET_MAX)
			return -EBADMSG;
		if (!kept || c->sample[kept - 1].time != c->sample[i].time)
			c->sample[kept++] = c->sample[i];
	}
	c->n = kept;
	return 0;
}

int dat_time_shift_read(struct dat_time_shift *s, const void *bytes, size_t n)
{
	struct bytes b = {bytes, n};
	uint32_t ncpus;

	if (take(&b, &s->peer, 8) || take(&b, &s->flags, 4) || take(&b, &ncpus, 4) || ncpus > DAT_CPUS_MAX)
		return -EBADMSG;
	s->cpu = calloc(ncpus + 1ull, sizeof(*s->cpu));
	if (!s->cpu)
		return -ENOMEM;
	s->ncpus = ncpus;
	for (uint32_t i = 0; i < ncpus; i++) {
		int ret = take_cpu(&b, &s->cpu[i]);

		if (ret)
			return ret;
	}
	for (uint32_t i = 0; i < ncpus; i++)
		if ((b.n && take_all(&b, &s->cpu[i], offsetof(struct dat_sample, fraction))) || sort(&s->cpu[i]))
			return -EBADMSG;
	return 0;
}

void dat_time_shift_free(struct dat_time_shift *s)
{
	for (uint32_t i = 0; i < s->ncpus; i++)
		free(s->cpu[i].sample);
	free(s->cpu);
	*s = (struct dat_time_shift){0};
}

/* The sample that applies at @t: one with a successor, if there are two samples. */
static const struct dat_sample *find(const struct dat_cpu_shift *c, uint64_t t)
{
	uint32_t low = 0, high = c->n > 1 ? c->n - 1 : 1;

	while (high - low > 1) {
		uint32_t mid = low + (high - low) / 2;

		if (c->sample[mid].time <= t)
			low = mid;
		else
			high = mid;
	}
	return &c->sample[low];
}

uint64_t dat_time_shift(const struct dat_time_shift *s, uint32_t cpu, uint64_t t)
{
	const struct dat_cpu_shift *c = cpu < s->ncpus ? &s->cpu[cpu] : NULL;
	const struct dat_sample *at = c && c->n ? find(c, t) : NULL;
	unsigned __int128 scaled = t;
	__int128 offset, sum;

	if (!at)
		return t;
	if (c->n > 1)
		scaled = scaled * at->scaling >> at->fraction;
	offset = at->offset;
	if (c->n > 1 && s->flags & INTERPOLATE) {
		__int128 delta = (__int128)at[1].time - at->time;
		__int128 more = ((__int128)t - at->time) * ((__int128)at[1].offset - at->offset);

		offset += (more + delta / 2) / delta;
	}
	sum = (__int128)(scaled < UINT64_MAX ? scaled : UINT64_MAX) + offset;
	return sum < 0 ? 0 : sum > INT64_MAX ? INT64_MAX : (uint64_t)sum;
}
