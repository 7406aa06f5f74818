/* SPDX-License-Identifier: MIT */
/*
 * writer_internal.h - what the parts of the writer share: the file (writer.c), rings (drain.c), metadata
 * (writer_meta.c), and a file that a killed recorder left unfinished (rescue.c)
 */
#ifndef UFT_STREAM_WRITER_INTERNAL_H
#define UFT_STREAM_WRITER_INTERNAL_H

#include <zstd.h>

#include "stream/file/idle_cpu.h"
#include "stream/wire/clock.h"
#include "stream/wire/pack.h"
#include "stream/wire/uft_file.h"
#include "stream/wire/wire.h"
#include "stream/file/writer.h"
#include "symbol/event_set.h"
#include "symbol/hash_index.h"
#include "symbol/shared.h"

/* An object of an image as it was last described in the file. */
struct wr_mapped {
	uint32_t object;			/* index in uft_writer.object */
	uint32_t nstubs, ntext_ids;
	uint64_t text_end, to_clock;
};

struct wr_image {
	uint32_t id, nmapped;
	struct wr_mapped *mapped;
	uint64_t max_stub;			/* one beyond the last stub id */
	struct wr_image *next;
	struct wr_image *next_alike;		/* in its bucket */
};
#define WR_IMAGE_BUCKETS	256u

struct wr_ring {
	uint64_t read;				/* ours; ring->read is written from it, never read */
	uint64_t copied_ns;
	uint64_t unsaved;			/* records that were committed but could not be saved */
	int is_broken;				/* its control fields made no sense: the ring is never touched again */
};

struct wr_slice {
	uint32_t number, pid, ppid, image_id;	/* in the file */
	int is_live;
	const struct uft_image *img;		/* valid while is_live */
	struct wr_image *image;
	struct wr_ring *ring;
	uint64_t counter_sum;			/* of the counters last written */
};

struct wr_task { uint64_t key, value; };	/* pid, tid -> sum of its last description */

struct uft_writer {
	int fd, error;				/* error: the first one; after it only metadata is written */
	char *path;
	uint64_t end;				/* file bytes that are good */
	uint64_t allocated;			/* file bytes that the file system has allocated */
	int can_allocate;
	uint64_t free_min;			/* bytes of the file system that stay free; 0: it has no size */
	uint64_t free_at;			/* file bytes at which to check the room again */

	uint8_t uft_shared *arena;		/* and a copy of its geometry, since targets can write to the arena */
	uint32_t nslices, nrings;
	uint64_t slice_offset, slice_bytes, ring_offset, ring_stride, profile_offset, profile_ids;
	uint64_t most_unread;			/* positions between a ring's `read` and its commit */
	struct uft_file_header head;
	struct uft_writer_opts opts;

	struct wr_slice *slice;			/* nslices, by the arena's index */
	uint32_t *live, nlive, numbers;		/* live slices' indices; numbers given so far */
	struct wr_image *image;
	struct wr_image *image_by_id[WR_IMAGE_BUCKETS];
	struct uft_object **object;		/* referenced */
	uint32_t nobject, cap_object;
	struct wr_task *task;
	uint32_t cap_task;
	struct hash_index by_key;		/* of task */
	struct wire tasks, outers;		/* TASKS and OUTER to be written */
	struct uft_event_set formats;		/* of types whose FORMAT is in the file */

	uint64_t second_ns;			/* when the second clock pair is due; 0: it is in the file */
	uint64_t begin_ns;
	uint64_t tick_ns, tick_step_ns;		/* next clock pair and how long until the one after it */
	uint8_t *copy, *packed;			/* UFT_BLOCK_RUN and its compressed bound */
	ZSTD_CCtx *zstd;
	struct pack *pack;			/* of a writer that packs */
	int is_packing;				/* in this drain: wr_drain() decides */
	struct idle_cpu idle;
	struct uft_writer_stats stats;
};

static inline struct uft_slice uft_shared *wr_arena_slice(const struct uft_writer *w, uint32_t i)
{
	return (struct uft_slice uft_shared *)(w->arena + w->slice_offset + i * w->slice_bytes);
}

extern struct uft_ring wr_unused;	/* always zero */

/* Returns the address of ring position @position. */
static inline uint8_t uft_shared *wr_arena_data(const struct uft_writer *w, struct uft_ring uft_shared *r,
						uint64_t position)
{
	return (uint8_t uft_shared *)r + UFT_PAGE + (position & (w->head.ring_bytes - 1));
}

/* If a ring can grow, its last two turns may be unread, because each skips positions. */
static inline uint64_t wr_most_unread(const struct uft_arena *a)
{
	return a->ring_usual < a->ring_bytes ? 2 * (uint64_t)a->ring_bytes : a->ring_bytes;
}

/* Tells how far the ring's bytes go on from @at; @commit was loaded before. */
static inline struct uft_ring_run wr_ring_run(const struct uft_writer *w, const struct uft_ring uft_shared *r,
					      uint64_t at, uint64_t commit)
{
	const struct uft_ring_turn uft_shared *t = &r->turn[at / w->head.ring_bytes & 1];
	struct uft_ring_turn turn = { .gap = SHARED_LOAD(&t->gap), .gap_to = SHARED_LOAD(&t->gap_to),
		.skip = SHARED_LOAD(&t->skip) };

	return uft_ring_run(at, commit, turn, w->head.ring_bytes);
}

/* A read of an unused ring would allocate its page, so a ring of zeros is used instead. */
static inline struct uft_ring uft_shared *wr_arena_ring(const struct uft_writer *w, uint32_t i, uint32_t ring)
{
	if (!shared_ring_is_used(wr_arena_slice(w, i), ring))
		return (struct uft_ring uft_shared *)&wr_unused;
	return (struct uft_ring uft_shared *)((uint8_t uft_shared *)wr_arena_slice(w, i) + w->ring_offset +
					      ring * w->ring_stride);
}

/* Clears the words that a process has written to a slice, before another process gets it. */
static inline void wr_arena_forget(struct uft_slice uft_shared *s)
{
	SHARED_STORE(&s->pid, 0);
	SHARED_STORE(&s->ppid, 0);
	SHARED_STORE(&s->agent_tid, 0);
	SHARED_STORE(&s->flags, 0);
	SHARED_STORE(&s->parent_slice, 0);
	SHARED_STORE(&s->cmd_result, 0);
	SHARED_STORE(&s->clock_start, 0);
	shared_clear(s->counter, sizeof(s->counter));
	shared_clear(s->used, sizeof(s->used));
}

/*
 * Clears the drained slice of a process that has ended, and makes it free; if that fails, it is never claimed again.
 */
void wr_slice_free(const struct uft_writer *w, uint32_t slice);

/* Appends one block: all of it, or nothing and a negative errno. Fills magic and sums; packs when @pack. */
int wr_block(struct uft_writer *w, struct uft_file_block *head, const void *payload, size_t n, int pack);
/* The same for ring data, packed or compressed as the options of the writer say. */
int wr_block_ring(struct uft_writer *w, struct uft_file_block *head, const uint8_t *data, size_t n);

/* Returns 1 if @n bytes of ring data may be written; else recording ends here, and stats.stop tells why. */
int wr_may_grow(struct uft_writer *w, uint64_t n);

/* Allocates all of a writer but its file: 0, -ENOMEM, -EINVAL the arena's geometry makes no sense. */
int wr_alloc(const struct uft_arena *arena, const struct uft_writer_opts *opts, struct uft_writer **out);
void wr_free(struct uft_writer *w);

/* drain.c. Drains all rings of a slice; @force: also less than a sub-buffer, and rings in overwrite mode. */
int wr_drain(struct uft_writer *w, const struct wr_slice *s, uint32_t index, uint64_t now, int force);
/* After an error: counts the records that are left in the rings of a slice that ends. */
void wr_abandon(struct uft_writer *w, struct wr_slice *s, uint32_t index);

/* Each returns 0 or a negative errno, and may be called again after an error. */
int wr_meta_begin(struct uft_writer *w);			/* SETUP, INFO, CLOCK */
int wr_meta_clock(struct uft_writer *w);
/* @has_ended: writes the slice again, with this moment as its end. */
int wr_meta_slice(struct uft_writer *w, const struct wr_slice *s, uint32_t index, int has_ended);
int wr_meta_image(struct uft_writer *w, const struct uft_image *img, struct wr_image **out);	/* once per image */
int wr_meta_sync(struct uft_writer *w, const struct uft_image *img, struct wr_image *wi); /* its new objects and
											   * sites */
int wr_meta_counters(struct uft_writer *w, struct wr_slice *s, uint32_t index, int is_final);
int wr_meta_profile(struct uft_writer *w, const struct wr_slice *s, uint32_t index);
int wr_meta_tasks(struct uft_writer *w);			/* flush, their numbers too */
int wr_meta_names(struct uft_writer *w);
int wr_meta_funcs(struct uft_writer *w, uint32_t object, const struct uft_object *obj);
int wr_meta_end(struct uft_writer *w);
/* Writes a payload made of varints, and empties it. */
int wr_meta_put(struct uft_writer *w, enum uft_block_type type, struct wire *p);

/* Returns the words of the record that begins with @word; 0: unknown kind. Called for each record of a full buffer. */
static inline unsigned wr_record_words(uint64_t word)
{
	static const uint8_t words[16] = {
		[UFT_REC_CONTEXT] = 3, [UFT_REC_FUNC] = 2, [UFT_REC_ENTRY] = 1, [UFT_REC_EXIT] = 1,
		[UFT_REC_CALL] = 2, [UFT_REC_UNWIND] = 1, [UFT_REC_EXIT_LEFT] = 2, [UFT_REC_LOST] = 2,
	};
	unsigned kind = UFT_REC_KIND(word);

	return kind == UFT_REC_EVENT ? 1 + UFT_EVENT_WORDS(UFT_REC_VALUE(word)) : words[kind];
}

/* Records in [p, p + n), which starts at ring position @position; for counting only. */
uint64_t wr_count_records(const uint8_t *p, size_t n, uint64_t position, uint32_t sub_bytes);
/* Blanks the records of [p, p + n), within one sub-buffer. Contexts and clocks stay. */
void wr_blank_records(uint8_t *p, size_t n, uint64_t position, uint32_t sub_bytes);

#endif
