/* SPDX-License-Identifier: MIT */
/*
 * decode.h - the inside of a stream: it decodes records to events (decode.c, task.c, merge.c, scan.c, stream.c)
 *
 * Context: control, one thread per stream.
 */
#ifndef UFT_STREAM_DECODE_H
#define UFT_STREAM_DECODE_H

#include "stream/file/reader.h"
#include "stream/select/select.h"
#include "symbol/hash_index.h"

/* ---- Symbols: id and address to symbol by direct mapped caches in front of the resolver ------ */

struct sym_entry { uint64_t key; const struct uft_sym *sym; };	/* key: id or address, + 1; 0 empty */

struct dec_image {
	const struct uft_image *img;
	struct sym_entry *id, *addr;
	unsigned shift;		/* 64 - log2 of their entries */
	int is_used;		/* of a live buffer's base: a ring has it, or had */
	int has_overlaps;	/* addresses had several owners: names are those of their time, and addr is not used */
};

/* Ids and addresses come at regular distances, so the index is a product's high bits. */
static inline struct sym_entry *sym_slot(struct sym_entry *table, unsigned shift, uint64_t key)
{
	return &table[key * 0x9e3779b97f4a7c15ull >> shift];
}

/* ---- Tasks ---------------------------------------------------------------------------------- */

struct dec_frame {			/* an open call */
	uint64_t entry_ns, child_ns;
	const struct uft_sym *sym;
	uint32_t id, pad;
};

struct dec_done { uint64_t start_ns, duration_ns; };	/* a call of a CALL record, maybe inside a later one */

/* task.c: tasks are found by their slice and one of its numbers, and by the numbers that the session gives them */
enum dec_key { DEC_OWN_PID, DEC_OWN_TID, DEC_SESSION, DEC_KEYS };

struct dec_task {
	struct uft_task pub;
	uint32_t slice;
	uint32_t same[DEC_KEYS];	/* index + 1 of the next task whose key has the same hash */
	struct dec_image *image;
	struct dec_frame *stack;
	uint32_t depth, cap;
	uint32_t over;			/* open calls that are too deep to be kept */
	uint32_t has_events;
	struct dec_task *next;		/* of the same slice: ended.c */
	uint32_t is_event_kept;		/* the last one with a type, whose stack may follow */
	struct dec_done *done;		/* CALL records only */
	uint32_t ndone, cap_done;
};

/* A call set aside by UNWIND, which may still return by EXIT_LEFT. */
struct dec_aside { uint64_t entry_ns, child_ns; uint32_t id, slice; };
#define DEC_ASIDE	4096u		/* direct mapped; a collision costs one call's self time */

/* ---- Rings ---------------------------------------------------------------------------------- */

struct dec_ring {
	struct cursor cur;
	const struct rd_slice *slice;	/* NULL: its description is damaged */
	struct dec_image *image;
	struct dec_task *task;		/* of the current context */
	uint64_t key;			/* clock of the next record, or a lower bound */
	uint64_t hi;			/* high half of the clock */
	uint64_t left_ns;		/* UNWIND under way: */
	uint32_t left;			/* frames of `task` still to report as left, */
	uint32_t left_aside;		/* and whether they may come back */
	uint32_t slice_number, ring, cpu, index;
	uint64_t lost;			/* reported so far */
	uint64_t lost_in_header;	/* of these, reported by the current sub-buffer's header */
	uint64_t lost_due;		/* to be reported at `key` */
	uint64_t final_lost;
	uint64_t given;			/* records returned as events */
	int is_done;			/* the ring is read, only lost_due may be left */
	/* in the last ring of a slice that ended: its tasks with calls that have still to end */
	struct dec_task *ending;
	struct dec_task *tasks;		/* the first ring of a slice: all of its tasks, */
	uint32_t running;		/* and how many of its rings are not at their end */
	int is_ending;			/* `left` counts calls during which the process ended */
	int is_ours;			/* live: written by the session, with UFT_REC_MARK */
	int has_flags;			/* a FLAGS record came in this sub-buffer: records behind it have */
	uint16_t flags;			/* these flags */
};

struct uft_stream {
	struct rd_file *file;
	struct uft_clock clock;
	struct uft_resolver *resolver;
	struct dec_image *image; size_t nimage;		/* as file->image */
	uint32_t unknown_ids, unknown_addrs;		/* resolved to numbers so far */

	struct dec_task **task; uint32_t ntask, cap_task;	/* by index */
	struct hash_index by_tid;			/* of task */
	uint32_t *chain[DEC_KEYS], nchain;		/* by hash: index + 1 of the first task; nchain of each */
	struct dec_task *last_task;			/* when there are too many */
	struct uft_task *task_copy;
	/* task.c: of slices of other pid namespaces, by rising (slice, tid) */
	struct dec_outer *outer; uint32_t nouter, cap_outer, outer_given;
	uint64_t frames;				/* allocated, all tasks */
	/* task.c: of those, what each slice has; NULL while there are few */
	struct dec_share *share;
	uint64_t search_budget;				/* see dec_exit_search() */
	struct dec_aside *aside;

	struct dec_ring *ring; uint32_t nring;
	uint32_t *heap, nheap;				/* ring indices, least (key, index) first */
	struct cursor **cursors;
	struct rd_block **first_block;			/* by ring */
	struct cur_pool pool;
	struct uft_event next[64];			/* uft_stream_next() hands out of here */
	const int *stop;			/* the stream ends when *stop is set; NULL: never */
	uint32_t next_at, next_n;

	int has_select, no_parents, has_ends;
	int is_passing;					/* parts.c: calls make no events, only state */
	int has_over;					/* a call was deeper than what is kept */
	struct selection sel;				/* select.h: which events the reader gets */
	enum uft_stamp stamp;
	const char *clock_name;
	uint64_t limit;					/* live: events of later clocks have to wait; 0 none */
	uint64_t lost_max;				/* what a ring can have lost; 0 not known */
	struct lv_hold *hold;				/* live: chunks that a snapshot refers to, */
	void (*release)(struct uft_stream *st);		/* and the function that releases them */
	struct dec_stack **stack; uint32_t nstack, stack_cap;	/* stacks.c */
	struct hash_index stack_by;
	uint64_t missed_stacks;				/* for which there was no place */
	char **mark; uint32_t nmark, cap_mark;		/* texts of UFT_EV_MARK */
	struct dec_chunk *chunk, *old_chunk;		/* payloads.c: the newest first; those before */

	int has_info;
	struct uft_info info;
	struct uft_profile_row *profile; size_t nprofile; int has_profile;
	struct uft_rescue rescue;
};

/* task.c */
/* The session's number of the task @tid of a slice. @order: which of such numbers it was, from the first given on. */
struct dec_outer { uint32_t slice, tid, outer, order; };

int dec_outer_add(struct uft_stream *st, uint32_t slice_number, uint32_t tid, uint32_t outer);	/* 0, -ENOMEM */
void dec_outer_keep(struct uft_stream *st, const struct dec_task *t);	/* its numbers are as if given just now */
/* The task @tid of the process @pid, by the session's numbers, is called @comm, which lives as long as the stream. */
void dec_task_rename(struct uft_stream *st, uint32_t pid, uint32_t tid, const char *comm);
struct dec_task *dec_task_get(struct uft_stream *st, uint32_t slice_number, struct dec_image *image,
			      const struct rd_slice *slice, uint32_t pid, uint32_t tid);
const struct uft_image *dec_task_image(const struct uft_task *t);	/* NULL: not known */
void dec_tasks_free(struct uft_stream *st);
int dec_task_grow(struct uft_stream *st, struct dec_task *t);	/* room for one more frame; 0 or -ENOMEM */
int dec_images_alloc(struct uft_stream *st);
void dec_images_free(struct uft_stream *st);
/*
 * Caches that hold nothing and cost nothing: they are made with the first symbol. The image's former caches
 * are freed.
 */
void dec_image_empty(struct dec_image *image);
/* so many ids or addresses without a name that they have lost theirs, or nearly */
int dec_has_unknown(const struct uft_stream *st);
const struct uft_sym *dec_sym_miss(struct uft_stream *st, struct dec_image *image, uint32_t id);
const struct uft_sym *dec_addr_miss(struct uft_stream *st, struct dec_image *image, uint64_t addr);

static inline const struct uft_sym *dec_sym(struct uft_stream *st, struct dec_image *image, uint32_t id)
{
	const struct sym_entry *e = sym_slot(image->id, image->shift, id);

	return __builtin_expect(e->key == (uint64_t)id + 1, 1) ? e->sym : dec_sym_miss(st, image, id);
}

static inline const struct uft_sym *dec_addr(struct uft_stream *st, struct dec_image *image, uint64_t addr,
					     uint64_t clock)
{
	const struct sym_entry *e = sym_slot(image->addr, image->shift, addr);

	if (__builtin_expect(image->has_overlaps, 0))
		return uft_resolve_addr_at(st->resolver, image->img, addr, clock);
	/* An empty entry looks like that of the last address of all. */
	return __builtin_expect(e->key == addr + 1 && e->sym, 1) ? e->sym : dec_addr_miss(st, image, addr);
}

/* ended.c: only where the reader wants these events */
void end_init(struct uft_stream *st);		/* the rings are where decoding begins */
void end_add_task(struct uft_stream *st, struct dec_task *t);
void end_ring(struct uft_stream *st, struct dec_ring *r);	/* it is at its end now */
void end_next_task(struct uft_stream *st, struct dec_ring *r);	/* of r->ending: makes r->left what it has open */

/* payloads.c: a copy of @n bytes, aligned to 8, for the life of the stream; NULL: no memory. */
uint8_t *dec_payload(struct uft_stream *st, const void *from, uint32_t n);
void dec_payloads_next_batch(struct uft_stream *st);	/* frees those of the last batch but one, and of some before */
void dec_payloads_free(struct uft_stream *st);

/*
 * old_events.c: a record of the task events of earlier versions, @n words, as one of a type. 0: it is none,
 * or no memory.
 */
int dec_old_event(struct uft_stream *st, struct uft_event *e, uint32_t id, const uint8_t *p, uint32_t n);

/* stacks.c: of the @n words of a record, the function's id first; lives as long as the stream. */
/* the first word of a stack */
const struct uft_sym *dec_stack_func(struct uft_stream *st, struct dec_image *image, uint64_t word, uint64_t clock);
const struct uft_stack *dec_stack(struct uft_stream *st, struct dec_image *image, const uint8_t *p, uint32_t n,
				  uint64_t clock);
void dec_stacks_free(struct uft_stream *st);

/*
 * Returns how many of @more losses behind @total count. The counter comes from a target. More than one loss a
 * nanosecond is impossible: then all count as one, as for a ring that cannot be read.
 */
static inline uint64_t dec_lost_more(const struct uft_stream *st, uint64_t total, uint64_t more)
{
	const uint64_t max = st->lost_max ? st->lost_max : UINT64_MAX;

	return more <= max && total <= max - more ? more : total < UINT64_MAX;
}

/* decode.c: events of @r whose clock is at most @limit, up to @max. Updates r->key; r->is_done at the end. */
size_t dec_run(struct uft_stream *st, struct dec_ring *r, uint64_t limit, struct uft_event *ev, size_t max);
/*
 * The same of two rings whose records alternate, as those of two busy CPUs do, in the order of time, up to st->limit.
 * @a is due. Ends where dec_run() has to go on, with the ring that is due then.
 */
size_t dec_two(struct uft_stream *st, struct dec_ring *a, struct dec_ring *b, struct uft_event *ev, size_t max);
void dec_context(struct uft_stream *st, struct dec_ring *r, uint64_t clock, uint32_t pid, uint32_t tid);

/* seek.c: back to the first event, as if nothing had been read; tasks keep their numbers */
void seek_start(struct uft_stream *st);

/* merge.c */
void mrg_heapify(struct uft_stream *st);
static inline int mrg_ended(const struct dec_ring *r)
{
	return r->is_done && !r->lost_due && !r->left && !r->ending;
}
struct dec_image *mrg_image(struct uft_stream *st, const struct rd_slice *slice);	/* of a slice; NULL: unknown */
int mrg_init(struct uft_stream *st);
uint64_t mrg_stamp(enum uft_stamp stamp, uint64_t ns, uint64_t clock);	/* what an event of that time has as ts_ns */
void mrg_free(struct uft_stream *st);

/* scan.c */
void scan_info(struct uft_stream *st);
/* as if it had been scanned; of @counted: the counts */
void scan_known(struct uft_stream *st, const struct uft_info *counted);

#endif
