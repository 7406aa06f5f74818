/* SPDX-License-Identifier: MIT */
/* live_internal.h - what buffer.c (taking) and snapshot.c (handing out) share; the theory is in buffer.c */
#ifndef UFT_STREAM_LIVE_INTERNAL_H
#define UFT_STREAM_LIVE_INTERNAL_H

#include <pthread.h>

#include "stream/decode/decode.h"
#include "stream/live/live.h"
#include "stream/file/writer_internal.h"

#define LV_SLACK	20000u		/* clocks: the longest from reading the clock to the commit, undisturbed */
#define LV_PAIR_NS	1000000000ull
#define LV_NO_IMAGE	UINT32_MAX

struct lv_chunk {
	struct lv_chunk *next;
	struct lv_block *block;		/* it lies in; NULL: it is malloc()'s */
	int refs;			/* atomic: the buffer's and snapshots' */
	uint32_t len, cap;		/* len is read by snapshots under the lock only */
	int is_condensed;		/* condense.c */
	int is_squeezed;		/* reclaim.c: has nothing that is another's alone; 2: a copy without it */
	uint64_t position, clock;
	uint8_t data[];
};

struct lv_ring {
	uint32_t number, ring, image;	/* slice number, ring in it */
	struct lv_chunk *first, *last;
	uint64_t end;			/* position behind the last byte that was taken or dropped */
	uint64_t until;			/* clock: no record that was taken is younger */
	uint64_t final_lost;
	struct lv_chunk *aside;		/* tee.c: the sub-buffer that came last while nothing is taken */
	int is_dead, is_ours;
};

struct lv_slice {
	int is_live;
	uint32_t number, image;
	const struct uft_image *img;
	/* by ring; lost: of those that the target had no room for, what is counted already */
	uint64_t *read, *lost;
	uint8_t *is_broken;
	uint32_t *index;		/* by ring: of its lv_ring, + 1; 0 none */
};

/* limit: 0: that of all; fresh: bytes since the last squeeze; untold: of overrun what the consumer was not told of */
struct lv_cpu {
	struct lv_block *block;		/* buffer.c: the next chunk's; NULL: none has room */
	uint64_t bytes, overrun, untold, dropped, read, limit, fresh;
};

struct lv_hold { size_t n; struct lv_chunk *chunk[]; };

struct uft_live {
	pthread_mutex_t lock;
	struct uft_live_opts opts;
	uint8_t *pulled;		/* a part of a ring, copied once before anything is looked at */
	struct uft_writer *geo;		/* arena and geometry only, for the inlines of writer_internal.h */
	uint32_t ncpus;
	struct lv_slice *slice;
	struct lv_ring *ring; uint32_t nring, cap_ring;
	struct lv_cpu *cpu;		/* by CPU */
	struct uft_stream *base;
	uint32_t numbers;		/* of slices, from 1: 0 is ours */
	uint32_t image_version;
	uint64_t watermark;
	uint64_t until;			/* what the watermark may not pass */
	uint64_t version, base_version;	/* of the chunks; of those that base was last given, 0 none */
	struct uft_clock_line line;
	uint64_t told;			/* clocks up to this may have been shown as times already */
	uint64_t next_pair_ns;
	const char *clock_name;		/* NULL: CLOCK_MONOTONIC's */
	clockid_t clock_id;		/* of the line */
	uint64_t shift_ns;		/* of the times we give, modulo 2^64 */
	uint64_t since_ns;		/* no record was lost before */
	enum uft_stamp stamp;
	uint32_t mark_index[1024];	/* by CPU: of the ring of its markers, + 1 */
	/* tee.c: the leader that drains for this buffer; the buffers that follow, as a list */
	struct uft_live *leader, *next;
	int is_muted;
	/* images.c: so many names, the latest, stay; so many were given; with so many some may go again */
	uint32_t names, named;
	size_t next_drop, next_drop_outer;
	struct sel_span *span; size_t nspan, cap_span;	/* hidden_spans.c */
	struct sel_choice *choice; size_t nchoice, cap_choice;	/* choices.c */
	uint64_t *single_at; size_t nsingle_at, cap_single_at;
	uint64_t cpus_off[UFT_LIVE_CPUS / 64];	/* muted, too */
	int is_watched;
	uint64_t looked;		/* then: as watermark, for the consumer */
};

/*
 * Exchange rings, of tasks without a usable rseq area, have no known CPU. A CPU number beyond the machine's has no
 * per_cpu directory, and readers of pages would miss its records. So each such ring counts as that of a real CPU.
 */
static inline uint32_t lv_cpu_of(const struct uft_live *l, uint32_t ring)
{
	return ring % l->ncpus;
}

static inline int lv_is_cpu_off(const struct uft_live *l, uint32_t cpu)
{
	return cpu < UFT_LIVE_CPUS && l->cpus_off[cpu / 64] >> (cpu % 64) & 1;
}

/* The end of the bytes that a decoder has in memory; all before is decoded. */
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
/* by the time that there was: dec_lost_more() */
void lv_bound_losses(const struct uft_live *l, struct uft_stream *st);
/* @from (one chunk, or two, before @end) becomes @to, or goes. */
void lv_replace(struct uft_live *l, const struct lv_ring *r, struct lv_chunk **from, struct lv_chunk *end,
		struct lv_chunk *to);
void lv_drop_first(struct uft_live *l, struct lv_ring *r);
void lv_fit(struct uft_live *l);		/* into its limit */
int lv_make_room(struct uft_live *l, struct lv_ring *r);
void lv_take(struct uft_live *l, struct lv_ring *r, uint64_t position, const uint8_t *data, size_t n);
uint64_t lv_pull_slice(struct uft_live *l, uint32_t index);

/* tee.c */
void lv_take_muted(struct uft_live *l, struct lv_ring *r, uint64_t position, const uint8_t *data, size_t n);
void lv_lock_all(struct uft_live *l);		/* a leader and those that follow */
void lv_unlock_all(struct uft_live *l);

/* reclaim.c: takes out of the CPU's chunks what is never shown here. 1: there is more room now */
int lv_reclaim(struct uft_live *l, struct lv_cpu *cpu, uint64_t limit);

/* condense.c: what is left of @c, or of both, in *out: NULL nothing. 0: they stay */
int lv_condense(const struct lv_chunk *before, const struct lv_chunk *c, struct lv_chunk **out);

/* choices.c */
void lv_choices_free(struct sel_choice *choice, size_t n);
int lv_copy_choices(struct uft_stream *st, const struct uft_live *from);

/* freeze.c */
int lv_copy_live(struct uft_live *to, struct uft_live *from);	/* what @from holds; without its slices and arena */

/* images.c */
/* The index of an image of @l that is a copy of @img; -errno. An image of which nothing was recorded is used again. */
int lv_image_of(struct uft_live *l, const struct uft_image *img);
/* index of a private copy, -errno */
int lv_image_add(struct uft_stream *st, const struct uft_image *img, uint32_t id);
void lv_sync_images(struct uft_live *l);	/* the session's thread */

/* snapshot.c */
struct uft_stream *lv_stream_new(struct uft_live *l);
struct uft_stream *lv_copy_base(struct uft_live *l);	/* locked */
void lv_pull_slices(struct uft_live *l);		/* locked, as lv_clear() */
void lv_clear(struct uft_live *l, uint32_t cpu, uint64_t until);
void lv_stream_release(struct uft_stream *st);	/* of the chunks: it is filled anew before it is used */

#endif
