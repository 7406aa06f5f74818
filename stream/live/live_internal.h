/* SPDX-License-Identifier: MIT */
/* live_internal.h - shared by buffer.c (draining) and snapshot.c (giving out); the theory is in buffer.c */
#ifndef UFT_STREAM_LIVE_INTERNAL_H
#define UFT_STREAM_LIVE_INTERNAL_H

#include <pthread.h>

#include "stream/decode/decode.h"
#include "stream/live/live.h"
#include "stream/file/writer_internal.h"

#define LV_SLACK	20000u		/* clocks: most from reading the clock to the commit, if not preempted */
#define LV_PAIR_NS	1000000000ull
#define LV_NO_IMAGE	UINT32_MAX

struct lv_chunk {
	struct lv_chunk *next;
	struct lv_block *block;		/* that holds it; NULL: malloc() does */
	int refs;			/* atomic: of the buffer and of snapshots */
	uint32_t len, cap;		/* snapshots read len under the lock only */
	int is_condensed;		/* condense.c */
	int is_squeezed;		/* reclaim.c: no hidden record is left; 2: it is the copy */
	uint64_t position, clock;
	uint8_t data[];
};

struct lv_ring {
	uint32_t number, ring, image;	/* slice number, ring of the slice */
	struct lv_chunk *first, *last;
	uint64_t end;			/* position behind the last byte taken or dropped */
	uint64_t until;			/* clock: no taken record is younger */
	uint64_t final_lost;
	struct lv_chunk *aside;		/* tee.c: the newest sub-buffer, while muted */
	int is_dead, is_ours;
};

struct lv_slice {
	int is_live;
	uint32_t number, image;
	const struct uft_image *img;
	/* by ring; lost: records that the target had no room for, as counted so far */
	uint64_t *read, *lost;
	uint8_t *is_broken;
	uint32_t *index;		/* by ring: index of its lv_ring, + 1; 0: none */
};

/* limit: 0: the limit of all; fresh: bytes since the last squeeze; untold: part of overrun not told to the consumer */
struct lv_cpu {
	struct lv_block *block;		/* buffer.c: of the next chunk; NULL: none has room */
	uint64_t bytes, overrun, untold, dropped, read, limit, fresh;
};

struct lv_hold { size_t n; struct lv_chunk *chunk[]; };

struct uft_live {
	pthread_mutex_t lock;
	struct uft_live_opts opts;
	uint8_t *pulled;		/* part of a ring, copied once before it is read */
	struct uft_writer *geo;		/* only arena and geometry, for the inlines of writer_internal.h */
	uint32_t ncpus;
	struct lv_slice *slice;
	struct lv_ring *ring; uint32_t nring, cap_ring;
	struct lv_cpu *cpu;		/* by CPU */
	struct uft_stream *base;
	uint32_t numbers;		/* of slices, from 1; 0: the session's own */
	uint32_t image_version;
	uint64_t watermark;
	uint64_t until;			/* clock that the watermark may not pass */
	uint64_t version, base_version;	/* of the chunks; of the chunks that base last got, 0: none */
	struct uft_clock_line line;
	uint64_t told;			/* clocks up to this one may have been given as times */
	uint64_t next_pair_ns;
	const char *clock_name;		/* NULL: CLOCK_MONOTONIC */
	clockid_t clock_id;		/* of the line */
	uint64_t shift_ns;		/* added to the times given, modulo 2^64 */
	uint64_t since_ns;		/* no record was lost before this time */
	enum uft_stamp stamp;
	uint32_t mark_index[1024];	/* by CPU: index of its markers' ring, + 1 */
	/* tee.c: the leader that drains for this buffer; the buffers that follow, as a list */
	struct uft_live *leader, *next;
	int is_muted;
	/* images.c: number of latest names that stay; number given so far; numbers at which some are freed next */
	uint32_t names, named;
	size_t next_drop, next_drop_outer;
	struct sel_span *span; size_t nspan, cap_span;	/* hidden_spans.c */
	struct sel_choice *choice; size_t nchoice, cap_choice;	/* choices.c */
	uint64_t *single_at; size_t nsingle_at, cap_single_at;
	uint64_t cpus_off[UFT_LIVE_CPUS / 64];	/* muted, too: a bit for each CPU */
	struct uft_live *tap;		/* that watches it; NULL: none */
	uint64_t looked;		/* while watched: a watermark for the consumer */
};

/*
 * Exchange rings, of tasks without a usable rseq area, have no known CPU. A CPU number beyond the machine's has no
 * per_cpu directory, and readers of pages would miss its records. So each exchange ring counts as a real CPU's.
 */
static inline uint32_t lv_cpu_of(const struct uft_live *l, uint32_t ring)
{
	return ring % l->ncpus;
}

static inline int lv_is_cpu_off(const struct uft_live *l, uint32_t cpu)
{
	return cpu < UFT_LIVE_CPUS && l->cpus_off[cpu / 64] >> (cpu % 64) & 1;
}

/* Returns the end of the bytes that a decoder has in memory; all bytes before are decoded. */
static inline uint64_t lv_seen_to(const struct dec_ring *r)
{
	return cur_position(&r->cur) + (uint64_t)(r->cur.end - r->cur.p);
}

static inline int lv_is_muted(const struct uft_live *l, uint32_t ring)
{
	return l->is_muted || lv_is_cpu_off(l, lv_cpu_of(l, ring));
}

/* buffer.c */
int lv_read_clock(const struct uft_live *l, clockid_t id, struct uft_clock_pair *now);
void lv_sample_clock(struct uft_live *l);
void lv_know_clock(struct uft_live *l);		/* snapshot.c */
void lv_chunk_put(struct lv_chunk *c);
/* bounds losses by the time that has passed: dec_lost_more() */
void lv_bound_losses(const struct uft_live *l, struct uft_stream *st);
/* Replaces @from (one chunk, or two, before @end) by @to; NULL: removes it. */
void lv_replace(struct uft_live *l, const struct lv_ring *r, struct lv_chunk **from, struct lv_chunk *end,
		struct lv_chunk *to);
void lv_drop_first(struct uft_live *l, struct lv_ring *r);
void lv_fit(struct uft_live *l);		/* drops chunks beyond the limit */
int lv_make_room(struct uft_live *l, struct lv_ring *r);
void lv_take(struct uft_live *l, struct lv_ring *r, uint64_t position, const uint8_t *data, size_t n);
uint64_t lv_pull_slice(struct uft_live *l, uint32_t index);

/* tee.c */
void lv_take_muted(struct uft_live *l, struct lv_ring *r, uint64_t position, const uint8_t *data, size_t n);
void lv_lock_all(struct uft_live *l);		/* of a leader and its followers */
void lv_unlock_all(struct uft_live *l);

/* reclaim.c: takes records out of the CPU's chunks that this buffer never shows. 1: there is more room now */
int lv_reclaim(struct uft_live *l, struct lv_cpu *cpu, uint64_t limit);

/* condense.c: *out: the rest of @c, or of both; NULL: nothing. 0: they stay */
int lv_condense(const struct lv_chunk *before, const struct lv_chunk *c, struct lv_chunk **out);

/* choices.c */
void lv_choices_free(struct sel_choice *choice, size_t n);
int lv_copy_choices(struct uft_stream *st, const struct uft_live *from);

/* freeze.c */
int lv_copy_live(struct uft_live *to, struct uft_live *from);	/* copies chunks, not slices and arena */

/* images.c */
/* Returns the index of an image of @l that is a copy of @img; -errno. Reuses an image without records. */
int lv_image_of(struct uft_live *l, const struct uft_image *img);
/* returns the index of a private copy, or -errno */
int lv_image_add(struct uft_stream *st, const struct uft_image *img, uint32_t id);
void lv_sync_images(struct uft_live *l);	/* in the session's thread */

/* snapshot.c */
struct uft_stream *lv_stream_new(struct uft_live *l);
struct uft_stream *lv_copy_base(struct uft_live *l);	/* call it locked */
void lv_pull_slices(struct uft_live *l);		/* call it locked, as lv_clear() */
void lv_clear(struct uft_live *l, uint32_t cpu, uint64_t until);
void lv_stream_release(struct uft_stream *st);	/* of its chunks; refill it before use */

#endif
