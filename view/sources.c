/* SPDX-License-Identifier: MIT */
/*
 * sources.c - the recordings of a question, on one clock
 *
 * Recordings of one boot of one machine have the same CLOCK_MONOTONIC. Others are compared by the date, which each
 * recording stores with its first reading of the clock. A trace.dat has no date: its recording ended at the latest when
 * the file was last changed, and copies have a later time. So a trace.dat with trace_clock mono counts as of the boot
 * of another recording of the same machine, unless it ended before that boot. Recordings of a host and its guests have
 * the host's clock if trace-cmd recorded them in one session (stream/dat/time_shift.h). A correction by the user is
 * added to the times of each recording. Times in answers begin with the first event of all.
 */
#include <errno.h>
#include <string.h>

#include "view/recording_internal.h"

#define SAME_BOOT_NS 10000000000u /* the date is set, a little, while a machine runs */

int recording_state(struct recording *r)
{
	int ret;

	pthread_mutex_lock(&r->lock);
	ret = r->view[0].made == MADE_DONE ? 0 : r->view[0].made == MADE_FAILED ? r->view[0].error : -EAGAIN;
	pthread_mutex_unlock(&r->lock);
	return ret;
}

void sources_one(struct sources *s, struct recording *r)
{
	*s = (struct sources){.n = 1, .file = {r}, .is_aligned = 1};
}

/* Do both recordings give the same time of boot? That of @b may be an upper bound only. */
static int is_start_of(const struct recording *a, const struct recording *b)
{
	uint64_t x = a->boot_ns, y = b->boot_ns;

	return b->is_latest_boot ? x < y + SAME_BOOT_NS : (x > y ? x - y : y - x) < SAME_BOOT_NS;
}

static int is_same_boot(const struct recording *a, const struct recording *b)
{
	if (a == b || (a->session && a->session == b->session))
		return 1;
	if (!a->boot_ns || !b->boot_ns || a->is_other_clock || b->is_other_clock)
		return 0;
	if (!a->hostname || !b->hostname || strcmp(a->hostname, b->hostname))
		return 0;
	if (a->is_latest_boot && b->is_latest_boot)
		return 1;
	return a->is_latest_boot ? is_start_of(b, a) : is_start_of(a, b);
}

/* 1: each recording has the clock of the first one, or of one that has it. */
static int is_one_clock(const struct sources *s)
{
	uint64_t joined = s->n != 0, before;

	do {
		before = joined;
		for (size_t i = 0; i < s->n; i++)
			for (size_t k = 0; k < s->n && !(joined >> i & 1); k++)
				joined |= (uint64_t)(joined >> k & 1 && is_same_boot(s->file[k], s->file[i])) << i;
	} while (joined != before);
	return __builtin_popcountll(joined) == (int)s->n;
}

/*
 * A recording's descriptions change only while its first view is made. No reload can begin meanwhile, because this
 * thread is the one that reloads.
 */
int sources_all(struct sources *s, struct recording *const *file, const int64_t *shift, size_t n)
{
	int64_t begin[SOURCES_MAX], first = INT64_MAX;
	int ret = 0;

	*s = (struct sources){.n = 0};
	for (size_t i = 0; i < n && i < SOURCES_MAX; i++) {
		s->shift[i] = shift[i];
		s->file[s->n++] = file[i];
		ret = ret ? ret : recording_state(file[i]);
	}
	s->is_aligned = is_one_clock(s);
	if (ret)
		return ret;
	for (size_t i = 0; i < s->n; i++) {
		uint64_t at = s->file[i]->origin_ns + (s->is_aligned ? 0 : s->file[i]->boot_ns);

		begin[i] = (int64_t)(at < INT64_MAX - SHIFT_MAX ? at : INT64_MAX - SHIFT_MAX) + shift[i];
		if (s->file[i]->info.events && begin[i] < first)
			first = begin[i];
	}
	for (size_t i = 0; i < s->n; i++)
		s->offset[i] = begin[i] > first ? (uint64_t)begin[i] - (uint64_t)first : 0;
	return 0;
}
