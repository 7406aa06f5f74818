/* SPDX-License-Identifier: MIT */
/*
 * reader.h - a .uft file opened: its blocks, its metadata, and a cursor over each ring
 *
 * Internal to stream/. The file is read with pread() into buffers: a mapping would fault if the file is truncated.
 * Context: control, one thread.
 */
#ifndef UFT_STREAM_READER_H
#define UFT_STREAM_READER_H

#include <errno.h>
#include <sys/stat.h>
#include <zstd.h>

#include "stream/wire/clock.h"
#include "stream/wire/pack.h"
#include "stream/stream.h"
#include "stream/wire/uft_file.h"
#include "stream/wire/wire.h"

struct rd_block {			/* a RING block that has a valid head */
	uint64_t offset;		/* of the payload */
	uint64_t position, clock, payload_sum;
	uint32_t stored, raw;
	uint32_t slice, ring;
	uint32_t order;
	uint16_t flags;
	uint8_t is_damaged;		/* and counted */
	uint8_t is_read;		/* its payload was what its head says */
	const uint8_t *mem;		/* buffer.c: the bytes in memory; NULL: in the file */
};

struct rd_slice {
	uint32_t number, pid, ppid, image_id, order;
	uint64_t clock_start;
	uint64_t clock_end;		/* 0: the process outlived the recording, or its end is unknown */
	const struct uft_image *image;	/* never NULL after rd_open() */
};

struct rd_lost { uint32_t slice, ring, order; uint64_t lost; };

struct rd_task { uint32_t pid, tid, ppid, image, order; char *comm; };

struct rd_outer { uint32_t slice, tid, order, outer; };

struct rd_profile { uint32_t slice, id; uint64_t hits, total, self, squares, min, max; };

struct rd_drop { uint32_t image, id, cost_ppm, pid, why; uint64_t clock, calls_per_s; };

struct rd_rescue { uint64_t clock, slices, unknown, bytes; };

struct rd_meta;				/* reader_meta.c: what is collected until the images are built */

struct rd_file {
	int fd;
	char *path;			/* in messages */
	uint64_t dev, ino, size, mtime_ns; /* of the file when it was opened */
	int is_changed;			/* since then it was cut off or overwritten: no more data can be had */
	int is_partial;			/* memory was refused, so something of the file is left out */
	uint32_t uid;
	struct uft_file_header head;
	int has_head, is_complete;
	int is_imported;		/* it is a trace.dat; fd is the recording made of it */
	uint32_t stop;			/* enum uft_stop */
	uint64_t stop_bytes;
	int is_live;			/* buffer.c: a ring that is read to its end may get more records */
	uint64_t damaged;
	uint64_t end;			/* end of the last whole block */
	uint64_t budget;		/* bytes that may still be allocated for metadata */
	char *cmdline, *hostname, *uname;
	ZSTD_DCtx *zstd;
	struct pack *pack;		/* NULL: no packed block so far */
	uint8_t *stored;		/* UFT_BLOCK_MAX and PACK_SLACK, a payload as stored */

	struct rd_block *block; size_t nblock, cap_block;	/* by slice, ring, order */
	struct uft_clock_pair *pair; size_t npair, cap_pair;
	struct rd_slice *slice; size_t nslice, cap_slice;	/* by number */
	struct rd_lost *lost; size_t nlost, cap_lost;		/* by slice, ring; one each */
	struct rd_task *task; size_t ntask, cap_task;		/* by pid, tid, order */
	struct rd_outer *outer; size_t nouter, cap_outer;	/* by slice, tid */
	struct rd_profile *profile; size_t nprofile, cap_profile;
	struct rd_drop *drop; size_t ndrop, cap_drop;		/* in the order in which they were dropped */
	struct uft_image **image; size_t nimage;		/* by id; the last one is for unknown slices */
	struct uft_event_table *events;
	int is_rescued;
	struct rd_rescue rescue;
	uint64_t counters[UFT_NCOUNTERS];
	uint64_t lost_max;		/* the most records that a ring can have lost; 0: unknown */
	/* processes whose loss counters are impossibly high; each such counter counts as one loss */
	uint32_t nfalse;
	uint32_t nobjects, nfuncs;
	struct rd_meta *meta;
};

/*
 * @like: the same recording, opened before, whose heads are taken over; another thread may read it meanwhile. Or NULL.
 */
int rd_open(const char *path, const struct rd_file *like, struct rd_file **out, struct uft_error *err);
void rd_close(struct rd_file *f);

int rd_head_ok(const struct uft_file_block *b);	/* 1: its fields are in bounds and its sum is right */
/* Returns the next offset from @from on at which the magic of a block stands; the file's size: none. */
uint64_t rd_resync(struct rd_file *f, uint64_t from);
/*
 * Reads and unpacks a block's payload into @to (raw bytes). 0, or -EBADMSG: damaged, counted once; -ESTALE: the file
 * has changed; -ENOMEM.
 */
int rd_load(struct rd_file *f, struct rd_block *b, uint8_t *to);
/*
 * Notes that memory was refused for something that the file has. The caller goes on without it, and rd_check_file()
 * tells. Returns -ENOMEM.
 */
static inline int rd_no_memory(struct rd_file *f)
{
	f->is_partial = 1;
	return -ENOMEM;
}
/*
 * 0, or a sentence and -ESTALE: somebody has cut off or overwritten the file while it was read; or -ENOMEM: see
 * rd_no_memory().
 */
int rd_check_file(const struct rd_file *f, struct uft_error *err);

static inline uint64_t rd_mtime_ns(const struct stat *st)
{
	return (uint64_t)st->st_mtim.tv_sec * 1000000000u + (uint64_t)st->st_mtim.tv_nsec;
}

/* Returns the latest of the descriptions of a task that fit best; NULL: none. */
const struct rd_task *rd_find_task(const struct rd_file *f, uint32_t pid, uint32_t tid, uint32_t image);
/* Returns the recorder's number of task @tid in records of slice @number: @tid itself but in another pid namespace. */
uint32_t rd_find_outer(const struct rd_file *f, uint32_t number, uint32_t tid);
const struct uft_image *rd_find_image(const struct rd_file *f, uint32_t id);	/* never NULL */
const struct rd_slice *rd_find_slice(const struct rd_file *f, uint32_t number);
uint64_t rd_find_lost(const struct rd_file *f, uint32_t slice, uint32_t ring);

/* reader_meta.c */
int rd_meta_block(struct rd_file *f, unsigned type, const uint8_t *p, size_t n);	/* 0 or -ENOMEM */
/* Calls @fn for each object whose names are missing in the file but can be read, until @fn returns not 0. */
int rd_meta_unnamed(const struct rd_file *f, int (*fn)(void *arg, uint32_t object, const struct uft_object *obj),
		    void *arg);
int rd_meta_build(struct rd_file *f);		/* builds images and sorted tables; call it after all blocks */
void rd_meta_free(struct rd_file *f);

/* Room for one more element of an array; NULL: no memory, or the file's budget is spent. */
void *rd_push(struct rd_file *f, void *array, size_t *n, size_t *cap, size_t size);
#define RD_PUSH(f, name) ((__typeof__((f)->name))rd_push((f), &(f)->name, &(f)->n##name, &(f)->cap_##name, \
							 sizeof(*(f)->name)))
/* Adds @row, of the array's type. 0: see RD_PUSH. */
#define RD_ADD(f, name, row)						\
	__extension__({							\
		__typeof__((f)->name) rd_slot_ = RD_PUSH(f, name);	\
		if (rd_slot_)						\
			*rd_slot_ = (row);				\
		rd_slot_ != NULL;					\
	})

/* ---- Cursor: the bytes of one ring, sub-buffer by sub-buffer -------------------------------- */

struct cur_pool;
struct cursor {
	uint8_t *p, *lim;		/* unread bytes of the current sub-buffer that are in memory */
	uint8_t *end;			/* of what is in memory */
	uint8_t *buf;			/* NULL: nothing loaded, or evicted */
	uint64_t base;			/* ring position of buf[0] */
	uint64_t skip_to;		/* bytes below this position are ignored */
	uint64_t bad;			/* bytes that made no sense */
	struct rd_block *block;		/* next to load; the loaded one is block[-1] */
	struct rd_block *block_end;
	uint32_t cap, ncarry;
	uint8_t carry[32];		/* end of the previous block, in front of the loaded one */
	uint8_t is_synced, is_loaded, is_evicted, is_skip_bad;
	uint8_t is_at_lim;		/* evicted: p was at lim */
	struct cur_pool *pool;
};

/*
 * All cursors of a file share CUR_POOL_MAX bytes of buffers. Beyond that a cursor takes the buffer of another one,
 * which reloads its own when it is needed.
 */
struct cur_pool {
	struct rd_file *file;
	struct cursor **cursor;
	size_t ncursor, hand, bytes;
};
#define CUR_POOL_MAX	(160u << 20)

enum cur_result { CUR_END, CUR_DATA, CUR_HEADER };

/*
 * Goes on when p reached lim, or when a record does not fit before lim. HEADER: *h starts a sub-buffer and is consumed.
 * DATA: more bytes of the same sub-buffer. Afterwards [p, lim) is to be decoded.
 */
enum cur_result cur_next(struct cursor *c, struct uft_sub_header *h);
/* Skips the rest of the sub-buffer: padding (PAD) or damage (@is_bad). Continue with cur_next(). */
void cur_skip_sub(struct cursor *c, int is_bad);
void cur_reload(struct cursor *c);		/* loads an evicted cursor's bytes; call it before p is used */
void cur_release(struct cursor *c);

/* Where a cursor stands between two calls of dec_run(). Another cursor of the same ring can go on there (seek.c). */
struct cur_place {
	uint64_t position, skip_to, bad;
	uint32_t block;			/* next to load, counted from the ring's first */
	uint32_t ncarry;
	uint8_t carry[32];
	uint8_t is_synced, is_loaded, is_skip_bad, is_at_lim;
};
void cur_save(const struct cursor *c, const struct rd_block *first, struct cur_place *to);
/* Checks all of @from. 0; -EBADMSG: it is no place in this ring, and the cursor has not changed. */
int cur_restore(struct cursor *c, struct rd_block *first, const struct cur_place *from);

static inline uint64_t cur_position(const struct cursor *c)
{
	return c->base + (uint64_t)(c->p - c->buf);
}

#endif
