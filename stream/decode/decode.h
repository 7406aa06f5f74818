/* SPDX-License-Identifier: MIT */
/*
 * decode.h - the inside of a stream, which decodes records to events (decode.c, task.c, merge.c, scan.c, stream.c)
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
	unsigned shift;		/* 64 - log2 of the caches' entries */
	int is_used;		/* of a live buffer's base: a ring has this image, or had it */
	int has_overlaps;	/* addresses had several owners: names depend on the time, and addr is not used */
};

/* Ids and addresses come at regular distances, so the high bits of a product index the table. */
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

struct dec_done { uint64_t start_ns, duration_ns; };	/* a call of a CALL record, which may lie inside a later one */

/* task.c: tasks are found by slice and one of their numbers there, and by the numbers that the session gives them */
enum dec_key { DEC_OWN_PID, DEC_OWN_TID, DEC_SESSION, DEC_KEYS };

struct dec_task {
	struct uft_task pub;
	uint32_t slice;
	uint32_t same[DEC_KEYS];	/* index + 1 of the next task whose key has the same hash */
	struct dec_image *image;
	struct dec_frame *stack;
	uint32_t depth, cap;
	uint32_t over;			/* open calls that are too deep to be stored */
	uint32_t has_events;
	struct dec_task *next;		/* of the same slice: ended.c */
	uint32_t is_event_kept;		/* the last event with a type was kept: its stack may follow */
	struct dec_done *done;		/* CALL records only */
	uint32_t ndone, cap_done;
};

/* A call that UNWIND set aside, which may still return by EXIT_LEFT. */
struct dec_aside { uint64_t entry_ns, child_ns; uint32_t id, slice; };
#define DEC_ASIDE	4096u		/* direct mapped; a collision costs one call's self time */

/* ---- Rings ---------------------------------------------------------------------------------- */

struct dec_ring {
	struct cursor cur;
	const struct rd_slice *slice;	/* NULL: the slice's description is damaged */
	struct dec_image *image;
	struct dec_task *task;		/* of the current context */
	uint64_t key;			/* clock of the next record, or a lower bound */
	uint64_t hi;			/* high half of the clock */
	uint64_t left_ns;		/* time of the UNWIND under way: */
	uint32_t left;			/* frames of `task` to be reported as left, */
	uint32_t left_aside;		/* and whether these calls may return later */
	uint32_t slice_number, ring, cpu, index;
	uint64_t lost;			/* losses reported so far */
	uint64_t lost_in_header;	/* of these, reported for the current sub-buffer's header */
	uint64_t lost_due;		/* losses to be reported at `key` */
	uint64_t final_lost;
	uint64_t given;			/* records returned as events */
	int is_done;			/* the ring is read to its end; only lost_due may be left */
	/* in the last ring of a slice that ended: its tasks whose open calls have to be ended */
	struct dec_task *ending;
	struct dec_task *tasks;		/* in the first ring of a slice: all of its tasks, */
	uint32_t running;		/* and how many of its rings are not at their end */
	int is_ending;			/* `left` counts calls that were open when the process ended */
	int is_ours;			/* live: the session writes this ring, with UFT_REC_MARK */
	int has_flags;			/* this sub-buffer has a FLAGS record: records behind it have */
	uint16_t flags;			/* these flags */
};

struct uft_stream {
	struct rd_file *file;
	struct uft_clock clock;
	struct uft_resolver *resolver;
	struct dec_image *image; size_t nimage;		/* as file->image */
	uint32_t unknown_ids, unknown_addrs;		/* numbers resolved to no name so far */

	struct dec_task **task; uint32_t ntask, cap_task;	/* by index */
	struct hash_index by_tid;			/* of task */
	uint32_t *chain[DEC_KEYS], nchain;		/* by hash: index + 1 of the first task; nchain of each */
	struct dec_task *last_task;			/* for all tasks beyond the most */
	struct uft_task *task_copy;
	/* task.c: numbers of tasks of other pid namespaces, by rising (slice, tid) */
	struct dec_outer *outer; uint32_t nouter, cap_outer, outer_given;
	uint64_t frames;				/* allocated, all tasks */
	/* task.c: each slice's part of them; NULL while there are few */
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
	int is_passing;					/* parts.c: calls change the state but make no events */
	int has_over;					/* a call was too deep to be stored */
	struct selection sel;				/* select.h: which events the reader gets */
	enum uft_stamp stamp;
	const char *clock_name;
	uint64_t limit;					/* live: events of later clocks wait; 0: no limit */
	uint64_t lost_max;				/* the most records that a ring can have lost; 0: unknown */
	struct lv_hold *hold;				/* live: chunks that a snapshot refers to, */
	void (*release)(struct uft_stream *st);		/* and the function that releases them */
	struct dec_stack **stack; uint32_t nstack, stack_cap;	/* stacks.c */
	struct hash_index stack_by;
	uint64_t missed_stacks;				/* stacks that found no place */
	char **mark; uint32_t nmark, cap_mark;		/* texts of UFT_EV_MARK */
	struct dec_chunk *chunk, *old_chunk;		/* payloads.c: the newest first; those of the last batch */

	int has_info;
	struct uft_info info;
	struct uft_profile_row *profile; size_t nprofile; int has_profile;
	struct uft_rescue rescue;
};

/* task.c */
/*
 * The session's number of the task @tid of a slice. @order: which of such numbers it is, in the order of being given.
 */
struct dec_outer { uint32_t slice, tid, outer, order; };

/* Notes that memory was refused for something of the recording (rd_no_memory()). Returns -ENOMEM. */
static inline int dec_no_memory(struct uft_stream *st)
{
	return rd_no_memory(st->file);
}

int dec_outer_add(struct uft_stream *st, uint32_t slice_number, uint32_t tid, uint32_t outer);	/* 0, -ENOMEM */
void dec_outer_keep(struct uft_stream *st, const struct dec_task *t);	/* makes the task's numbers the newest ones */
/* Renames the task @tid of the process @pid, the session's numbers. @comm lives as long as the stream. */
void dec_task_rename(struct uft_stream *st, uint32_t pid, uint32_t tid, const char *comm);
struct dec_task *dec_task_get(struct uft_stream *st, uint32_t slice_number, struct dec_image *image,
			      const struct rd_slice *slice, uint32_t pid, uint32_t tid);
const struct uft_image *dec_task_image(const struct uft_task *t);	/* NULL: not known */
void dec_tasks_free(struct uft_stream *st);
int dec_task_grow(struct uft_stream *st, struct dec_task *t);	/* room for one more frame; 0, -EDQUOT, -ENOMEM */
int dec_images_alloc(struct uft_stream *st);
void dec_images_free(struct uft_stream *st);
/* Makes the caches empty ones without cost, and frees the former ones. Real caches are made with the first symbol. */
void dec_image_empty(struct dec_image *image);
/* 1: so many ids or addresses have no name that later ones lose theirs, or nearly so many */
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
	/* An empty entry looks like an entry of the highest address. */
	return __builtin_expect(e->key == addr + 1 && e->sym, 1) ? e->sym : dec_addr_miss(st, image, addr);
}

/* ended.c: called only if the reader wants these events */
void end_init(struct uft_stream *st);		/* call it when the rings are where decoding begins */
void end_add_task(struct uft_stream *st, struct dec_task *t);
void end_ring(struct uft_stream *st, struct dec_ring *r);	/* call it when the ring is at its end */
void end_next_task(struct uft_stream *st, struct dec_ring *r);	/* r->ending: sets r->left to its open calls */

/* payloads.c: copies @n bytes, aligned to 8, valid as payloads.c says; NULL: no memory. */
uint8_t *dec_payload(struct uft_stream *st, const void *from, uint32_t n);
void dec_payloads_next_batch(struct uft_stream *st);	/* frees payloads older than the last batch */
void dec_payloads_free(struct uft_stream *st);

/*
 * old_events.c: makes the @n words of a task event of an earlier version an event of a type. 0: unknown event, or no
 * memory.
 */
int dec_old_event(struct uft_stream *st, struct uft_event *e, uint32_t id, const uint8_t *p, uint32_t n);

/* stacks.c: returns the stack of a record's @n words, the function's id first; it lives as long as the stream. */
/* @word: the first word of a stack */
const struct uft_sym *dec_stack_func(struct uft_stream *st, struct dec_image *image, uint64_t word, uint64_t clock);
const struct uft_stack *dec_stack(struct uft_stream *st, struct dec_image *image, const uint8_t *p, uint32_t n,
				  uint64_t clock);
void dec_stacks_free(struct uft_stream *st);

/*
 * Returns how many of @more losses after @total are counted. The counter comes from a target. More than one loss a
 * nanosecond is impossible: then all count as one, as for a ring that cannot be read.
 */
static inline uint64_t dec_lost_more(const struct uft_stream *st, uint64_t total, uint64_t more)
{
	const uint64_t max = st->lost_max ? st->lost_max : UINT64_MAX;

	return more <= max && total <= max - more ? more : total < UINT64_MAX;
}

/*
 * decode.c: decodes events of @r whose clock is at most @limit, up to @max. Updates r->key; sets r->is_done at the end.
 */
size_t dec_run(struct uft_stream *st, struct dec_ring *r, uint64_t limit, struct uft_event *ev, size_t max);
/*
 * The same for two rings whose records alternate, as those of two busy CPUs do, in the order of time, up to st->limit.
 * @a is due. Ends where dec_run() has to go on, with the ring that is due then.
 */
size_t dec_two(struct uft_stream *st, struct dec_ring *a, struct dec_ring *b, struct uft_event *ev, size_t max);
void dec_context(struct uft_stream *st, struct dec_ring *r, uint64_t clock, uint32_t pid, uint32_t tid);

/* seek.c: goes back to the first event, as if nothing had been read; tasks keep their numbers */
void seek_start(struct uft_stream *st);

/* merge.c */
void mrg_heapify(struct uft_stream *st);
static inline int mrg_ended(const struct dec_ring *r)
{
	return r->is_done && !r->lost_due && !r->left && !r->ending;
}
struct dec_image *mrg_image(struct uft_stream *st, const struct rd_slice *slice);	/* of a slice; NULL: unknown */
int mrg_init(struct uft_stream *st);
uint64_t mrg_stamp(enum uft_stamp stamp, uint64_t ns, uint64_t clock);	/* ts_ns of an event of that time */
void mrg_free(struct uft_stream *st);

/* scan.c */
void scan_info(struct uft_stream *st);
/* sets the counts as if scanned: those of @counted */
void scan_known(struct uft_stream *st, const struct uft_info *counted);

#endif
