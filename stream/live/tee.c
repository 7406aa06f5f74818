/* SPDX-License-Identifier: MIT */
/*
 * tee.c - several buffers of the records of the same targets
 *
 * One buffer, the leader, drains the arena's rings. Its followers get the same bytes in the same round, before a target
 * may write there again, and keep them with limits, readers and losses of their own. A follower begins empty, with the
 * leader's contexts and open calls, without its shift of times.
 *
 * Muted, as a whole or for a CPU, a buffer takes no records and keeps those it has. When it is unmuted it must know its
 * place in each ring, and a sub-buffer makes sense only from its header on. So the newest sub-buffer of each ring is
 * kept aside, with its contexts and with blank records (UNWIND of no call), and is appended when the buffer is unmuted.
 * The rest of a sub-buffer that had been begun before is appended as it comes, blank, too.
 *
 * Concurrency. Rounds, slices and tasks are the leader's calls and hold all locks, the leader's first. All other calls
 * are as for one buffer alone, and hold no lock while they take another buffer's. A leader outlives its followers.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stream/live/live_internal.h"

void lv_lock_all(struct uft_live *l)
{
	for (l = l->leader ? l->leader : l; l; l = l->next)
		pthread_mutex_lock(&l->lock);
}

void lv_unlock_all(struct uft_live *l)
{
	for (l = l->leader ? l->leader : l; l; l = l->next)
		pthread_mutex_unlock(&l->lock);
}

/* ---- Muted ----------------------------------------------------------------------------------- */

static void begin_aside(struct uft_live *l, struct lv_ring *r, uint64_t position, const uint8_t *data, size_t n)
{
	uint32_t sub = l->geo->head.sub_bytes;

	if (!r->aside)
		r->aside = malloc(sizeof(*r->aside) + sub);
	if (!r->aside)
		return;
	*r->aside = (struct lv_chunk){ .refs = 1, .cap = sub, .position = position, .clock = l->watermark };
	if (n >= sizeof(struct uft_sub_header))
		memcpy(&r->aside->clock, data + offsetof(struct uft_sub_header, clock), 8);
}

/* If there was no place for the record, r->end stays behind, and the ring goes on at the next header. */
void lv_take_muted(struct uft_live *l, struct lv_ring *r, uint64_t position, const uint8_t *data, size_t n)
{
	uint32_t sub = l->geo->head.sub_bytes;
	int is_rest = !r->aside && r->end == position && position & (sub - 1);
	uint8_t *to = NULL;

	if (!(position & (sub - 1)))
		begin_aside(l, r, position, data, n);
	if (is_rest)
		to = malloc(n);
	else if (r->aside && r->aside->position + r->aside->len == position)
		to = r->aside->data + r->aside->len;
	if (!to)
		return;
	memcpy(to, data, n);
	wr_blank_records(to, n, position, sub);
	if (is_rest) {
		lv_take(l, r, position, to, n);
		free(to);
	} else {
		r->aside->len += (uint32_t)n;
		r->end = position + n;
	}
}

/* Appends the chunk aside as the ring's last chunk. A full one is not needed: a header comes next. */
static void take_aside(struct uft_live *l, struct lv_ring *r)
{
	struct lv_chunk *c = r->aside;

	r->aside = NULL;
	if (!c || r->is_dead || c->len == c->cap) {
		free(c);
		return;
	}
	if (!lv_make_room(l, r)) {
		r->end = c->position;
		free(c);
		return;
	}
	if (r->last)
		r->last->next = c;
	else
		r->first = c;
	r->last = c;
	l->cpu[lv_cpu_of(l, r->ring)].bytes += c->cap;
	l->version++;
}

/* Appends the chunks aside of rings that are not muted any more. */
static void take_asides(struct uft_live *l)
{
	for (uint32_t i = 0; i < l->nring; i++)
		if (l->ring[i].aside && !lv_is_muted(l, l->ring[i].ring))
			take_aside(l, &l->ring[i]);
}

void uft_live_mute(struct uft_live *l, int on)
{
	pthread_mutex_lock(&l->lock);
	l->is_muted = on;
	take_asides(l);
	pthread_mutex_unlock(&l->lock);
}

void uft_live_cpus(struct uft_live *l, const uint64_t off[UFT_LIVE_CPUS / 64])
{
	pthread_mutex_lock(&l->lock);
	memcpy(l->cpus_off, off, sizeof(l->cpus_off));
	take_asides(l);
	pthread_mutex_unlock(&l->lock);
}

/* ---- Following ------------------------------------------------------------------------------- */

static int copy_slice(struct lv_slice *to, const struct lv_slice *from, uint32_t n)
{
	if (!from->read || !from->lost || !from->is_broken || !from->index)
		return 0;		/* no process had it yet, or the memory for one was missing */
	*to = (struct lv_slice){
		.is_live = from->is_live, .number = from->number, .image = from->image, .img = from->img
	};
	to->read = calloc(n, sizeof(*to->read));
	to->lost = calloc(n, sizeof(*to->lost));
	to->is_broken = calloc(n, 1);
	to->index = calloc(n, sizeof(*to->index));
	if (!to->read || !to->lost || !to->is_broken || !to->index)
		return -ENOMEM;
	memcpy(to->lost, from->lost, n * sizeof(*to->lost));
	memcpy(to->index, from->index, n * sizeof(*to->index));
	return 0;
}

static int copy_asides(struct uft_live *to, const struct uft_live *from)
{
	for (uint32_t i = 0; i < from->nring; i++) {
		const struct lv_chunk *c = from->ring[i].aside;

		if (!c)
			continue;
		to->ring[i].aside = malloc(sizeof(*c) + c->cap);
		if (!to->ring[i].aside)
			return -ENOMEM;
		memcpy(to->ring[i].aside, c, sizeof(*c) + c->len);
	}
	return 0;
}

/* Copies all of @from but its records. */
static int copy_state(struct uft_live *to, struct uft_live *from)
{
	int ret = lv_copy_live(to, from);

	if (ret)
		return ret;
	to->cap_ring = to->nring;
	*to->geo = *from->geo;
	to->slice = calloc(from->geo->nslices, sizeof(*to->slice));
	for (uint32_t i = 0; to->slice && i < from->geo->nslices && !ret; i++)
		ret = copy_slice(&to->slice[i], &from->slice[i], from->geo->nrings);
	if (!to->slice || ret || copy_asides(to, from))
		return -ENOMEM;
	to->numbers = from->numbers;
	to->image_version = from->image_version;
	memcpy(to->mark_index, from->mark_index, sizeof(to->mark_index));
	to->is_muted = from->is_muted;
	to->watermark = from->watermark;
	lv_clear(to, UFT_LIVE_ALL, UFT_LIVE_NOW);
	for (uint32_t i = 0; i < to->ncpus; i++)
		to->cpu[i].limit = 0;
	lv_choices_free(to->choice, to->nchoice);
	to->choice = NULL;
	/* spans and choices of the leader do not matter here */
	to->nspan = to->nchoice = to->cap_choice = to->nsingle_at = 0;
	return 0;
}

int uft_live_follow(struct uft_live *leader, const struct uft_live_opts *opts, struct uft_live **out)
{
	struct uft_live *l = calloc(1, sizeof(*l));
	int ret;

	*out = NULL;
	if (!l)
		return -ENOMEM;
	pthread_mutex_init(&l->lock, NULL);
	lv_lock_all(leader);
	lv_pull_slices(leader);
	ret = copy_state(l, leader);
	l->opts = *opts;
	l->names = leader->names;
	l->named = leader->named;
	lv_unlock_all(leader);
	if (ret) {
		uft_live_destroy(l);
		return ret;
	}
	memset(l->cpus_off, 0, sizeof(l->cpus_off));
	uft_live_use_clock(l, &(struct uft_live_clock){ .id = CLOCK_MONOTONIC });
	take_asides(l);
	l->leader = leader;
	l->next = leader->next;		/* only the session's thread goes through that list */
	leader->next = l;
	*out = l;
	return 0;
}

void uft_live_unfollow(struct uft_live *l)
{
	struct uft_live **p = &l->leader->next;

	while (*p != l)
		p = &(*p)->next;
	*p = l->next;
	l->leader = l->next = NULL;
}
