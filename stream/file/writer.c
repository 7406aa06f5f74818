/* SPDX-License-Identifier: MIT */
/*
 * writer.c - writes live rings to a .uft file
 *
 * The writer is the only consumer of an arena's rings. It runs in one thread of the recorder, shares memory with every
 * target and trusts nothing in it.
 *
 * Objects. uft_writer owns the file and, for each arena slice in use, a wr_slice with the position up to which each
 * ring was consumed. Images are the caller's: the writer reads the image of a slice only between uft_writer_slice() and
 * uft_writer_slice_end(), and writes what the caller adds to it at the next poll. Objects are referenced, because their
 * names are written at the end.
 *
 * How rings are drained: drain.c.
 *
 * Invariants
 *  1. The file never holds part of a block, except while the process is being killed inside writev():
 *     a failed write is undone by ftruncate(). (unit/stream/kill)
 *  2. `end` + WR_RESERVE bytes are allocated before ring data is written, so that a full disk is noticed while
 *     there is still room for the metadata. Without fallocate() there is no such promise. (unit/stream/nospace)
 *  3. A control field out of bounds retires that ring for good, counted as one loss, and touches nothing else.
 *     (unit/stream/hostile)
 *  4. Ring data that could not be saved is counted as lost. (unit/stream/nospace)
 *  5. Ring data beyond a limit (max_bytes, the room that stays free) is discarded, uncounted: END names the
 *     limit. (func/cli/limit)
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "stream/file/writer_internal.h"
#include "symbol/guard_map.h"
#include "symbol/newfile.h"
#include "symbol/now.h"

#define WR_RESERVE	(1u << 20)	/* for counters, tasks, names when the disk is full */
#define WR_RESERVE_END	4096u		/* of that, for END when there is no room for the names */
/*
 * largest step of the allocation; a step is never more than is allocated by then. On tmpfs the step makes and clears
 * pages, and at first a program waits to be started
 */
#define WR_ALLOCATE	(8u << 20)
/* 1/20 of a file system stays free, or half of what was free at the start if that is less */
#define WR_FREE_PART	20u
#define WR_FREE_LOOKS	4u		/* checks of the free room while that much is written, */
#define WR_FREE_STEP	(8u << 20)	/* and one each 8 MB at least */
#define WR_TOUCHES	64u		/* pages of a run, each of which can turn to zeros once */
#define WR_SUB_MIN	64u		/* a header and some records */
#define WR_SECOND_NS	500000ull	/* between the first two clock pairs */
#define WR_TICK_FIRST_NS 10000000ull	/* clock pairs: 10 ms after the start, then ever rarer, at most 1 s */
#define WR_TICK_MAX_NS	1000000000ull

/* ---- Blocks ------------------------------------------------------------------------------- */

/* Allocates the file up to end + @n + @reserve. 0, or a negative errno (-ENOSPC). */
static int wr_allocate(struct uft_writer *w, uint64_t n, uint64_t reserve)
{
	uint64_t need = w->end + n + reserve, step = w->allocated < WR_ALLOCATE ? w->allocated : WR_ALLOCATE;

	if (need <= w->allocated || !w->can_allocate)
		return 0;
	if (need - w->allocated > step)
		step = need - w->allocated;
	for (;;) {
		if (!fallocate(w->fd, FALLOC_FL_KEEP_SIZE, (off_t)w->allocated, (off_t)step)) {
			w->allocated += step;
			return 0;
		}
		if (errno == EINTR)
			continue;
		if (errno == EOPNOTSUPP || errno == ENOSYS) {
			w->can_allocate = 0;
			return 0;
		}
		if (step == need - w->allocated)
			return -errno;
		step = need - w->allocated;	/* less is left: exactly what is needed */
	}
}

static int wr_writev(struct uft_writer *w, struct iovec *v, int nv)
{
	uint64_t at = w->end;
	unsigned touched = 0;

	while (nv) {
		ssize_t n = pwritev(w->fd, v, nv, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		/* A target truncated its file: guard_touch() turns the pages to zeros, each once. */
		if (n < 0 && errno == EFAULT && touched++ < WR_TOUCHES) {
			for (int i = 0; i < nv; i++)
				guard_touch(v[i].iov_base, v[i].iov_len);
			continue;
		}
		if (n <= 0) {
			int err = n ? -errno : -EIO;

			if (ftruncate(w->fd, (off_t)w->end))	/* the head may be written: never leave half a block */
				return err;
			w->allocated = w->end;
			return err;
		}
		at += (uint64_t)n;
		for (; nv && (size_t)n >= v->iov_len; v++, nv--)
			n -= (ssize_t)v->iov_len;
		if (nv) {
			v->iov_base = (char *)v->iov_base + n;
			v->iov_len -= (size_t)n;
		}
	}
	w->end = at;
	return 0;
}

/* Returns how much room a block must leave: ring data for all the metadata, metadata for the end. */
static uint64_t wr_reserve(unsigned type)
{
	if (type == UFT_BLOCK_RING)
		return WR_RESERVE;
	return type == UFT_BLOCK_END || type == UFT_BLOCK_SETUP ? 0 : WR_RESERVE_END;
}

/* Appends a payload of @n bytes, of which head->flags tell how it is stored, in @stored bytes. */
static int wr_block_stored(struct uft_writer *w, struct uft_file_block *head, const void *payload, size_t stored,
			   size_t n)
{
	static const uint64_t zero;
	struct iovec v[3];
	int err;

	head->magic = UFT_BLOCK_MAGIC;
	head->stored = (uint32_t)stored;
	head->raw = (uint32_t)n;
	head->payload_sum = wire_sum(payload, stored);
	head->head_sum = wire_sum(head, offsetof(struct uft_file_block, head_sum));
	v[0] = (struct iovec){ head, sizeof(*head) };
	v[1] = (struct iovec){ (void *)payload, stored };
	v[2] = (struct iovec){ (void *)&zero, -stored & 7 };
	err = wr_allocate(w, sizeof(*head) + stored + 8, wr_reserve(head->type));
	if (!err)
		err = wr_writev(w, v, stored & 7 ? 3 : stored ? 2 : 1);
	if (!err)
		w->stats.bytes = w->end;
	return err;
}

int wr_block_ring(struct uft_writer *w, struct uft_file_block *head, const uint8_t *data, size_t n)
{
	const uint8_t *packed;
	size_t stored = w->is_packing ? pack_encode(w->pack, data, n, n, &packed) : 0;

	if (!w->is_packing && w->pack)
		w->stats.plain_bytes += n;
	if (!stored)
		return wr_block(w, head, data, n, w->opts.compress);
	head->flags |= UFT_BLOCK_PACKED;
	return wr_block_stored(w, head, packed, stored, n);
}

int wr_block(struct uft_writer *w, struct uft_file_block *head, const void *payload, size_t n, int pack)
{
	size_t stored = n;

	if (n > UFT_BLOCK_MAX)
		return -E2BIG;
	if (pack) {
		size_t z = ZSTD_compressCCtx(w->zstd, w->packed, ZSTD_compressBound(UFT_BLOCK_MAX), payload, n, pack);

		if (!ZSTD_isError(z) && z < n) {
			payload = w->packed;
			stored = z;
			head->flags |= UFT_BLOCK_ZSTD;
		}
	}
	return wr_block_stored(w, head, payload, stored, n);
}

/* ---- Limits ------------------------------------------------------------------------------- */

/* Called once, before the first block. Pipes, devices, and file systems without a size have no limit. */
static void wr_limit_begin(struct uft_writer *w)
{
	struct statvfs fs;
	struct stat st;

	if (fstat(w->fd, &st) || !S_ISREG(st.st_mode) || fstatvfs(w->fd, &fs) || !fs.f_blocks)
		return;
	w->free_min = (uint64_t)fs.f_blocks / WR_FREE_PART * fs.f_frsize;
	if (w->free_min > (uint64_t)fs.f_bavail * fs.f_frsize / 2)
		w->free_min = (uint64_t)fs.f_bavail * fs.f_frsize / 2;
	if (w->free_min < WR_RESERVE)	/* too little to keep free: ring data is written until -ENOSPC */
		w->free_min = 0;
}

static int wr_is_room_left(struct uft_writer *w)
{
	uint64_t step = w->free_min / WR_FREE_LOOKS;
	struct statvfs fs;

	if (!w->free_min || w->end < w->free_at || fstatvfs(w->fd, &fs))
		return 1;
	w->free_at = w->end + (step < WR_FREE_STEP ? step : WR_FREE_STEP);
	return (uint64_t)fs.f_bavail * fs.f_frsize >= w->free_min;
}

int wr_may_grow(struct uft_writer *w, uint64_t n)
{
	uint64_t need = w->end + sizeof(struct uft_file_block) + n + 8 + WR_RESERVE;

	if (w->stats.stop)
		return 0;
	if (w->opts.max_bytes && need > w->opts.max_bytes) {
		w->stats.stop = UFT_STOP_SIZE;
		w->stats.stop_bytes = w->opts.max_bytes;
	} else if (!wr_is_room_left(w)) {
		w->stats.stop = UFT_STOP_ROOM;
		w->stats.stop_bytes = w->free_min;
	}
	return !w->stats.stop;
}

/* ---- The public calls --------------------------------------------------------------------- */

static int wr_geometry(struct uft_writer *w, const struct uft_arena *a)
{
	w->arena = (uint8_t uft_shared *)a;
	w->nslices = a->nslices + a->nown;
	w->nrings = a->ncpus + a->nexch;
	w->slice_offset = a->slice_offset;
	w->slice_bytes = a->slice_bytes;
	w->ring_offset = a->ring_offset;
	w->ring_stride = a->ring_stride;
	w->profile_offset = a->profile_offset;
	w->profile_ids = a->profile_ids;
	w->most_unread = wr_most_unread(a);
	w->head = (struct uft_file_header){
		.magic = UFT_FILE_MAGIC, .version = w->opts.pack ? UFT_FILE_PACKED : UFT_FILE_VERSION,
		.abi = UFT_ABI_VERSION,
		.tracer = w->opts.tracer, .ncpus = a->ncpus, .nexch = a->nexch,
		.ring_bytes = a->ring_bytes, .sub_bytes = a->sub_bytes, .flags =
			(w->opts.overwrite ? UFT_FILE_OVERWRITE : 0) | (w->opts.counts ? UFT_FILE_COUNTER : 0),
	};
	if (a->magic != UFT_ABI_MAGIC || a->version != UFT_ABI_VERSION || !w->nrings || !w->nslices ||
	    a->ring_bytes & (a->ring_bytes - 1) || a->sub_bytes & (a->sub_bytes - 1) ||
	    a->sub_bytes < WR_SUB_MIN || a->ring_bytes < a->sub_bytes)
		return -EINVAL;
	return 0;
}

void wr_free(struct uft_writer *w)
{
	if (w->fd >= 0)
		close(w->fd);
	for (uint32_t i = 0; w->slice && i < w->nslices; i++)
		free(w->slice[i].ring);
	for (uint32_t i = 0; i < w->nobject; i++)
		uft_object_put(w->object[i]);
	while (w->image) {
		struct wr_image *next = w->image->next;

		free(w->image->mapped);
		free(w->image);
		w->image = next;
	}
	free(w->slice);
	free(w->live);
	free(w->object);
	free(w->task);
	hash_index_free(&w->by_key);
	wire_free(&w->tasks);
	wire_free(&w->outers);
	uft_event_set_free(&w->formats);
	free(w->copy);
	free(w->packed);
	pack_free(w->pack);
	ZSTD_freeCCtx(w->zstd);
	free((char *)w->opts.cmdline);
	free(w->path);
	free(w);
}

static int wr_open(struct uft_writer *w, const char *path, struct uft_error *err)
{
	const char *why;
	int ret, is_new;

	w->fd = uft_newfile_open(path, 0, &is_new, &why);
	if (w->fd < 0)
		return uft_fail(err, w->fd, "cannot write %s: %s", path, why ? why : strerror(-w->fd));
	if (!is_new && ftruncate(w->fd, 0) < 0 && errno != EINVAL)	/* a device cannot be truncated */
		return uft_fail(err, -errno, "cannot write %s: %s", path, strerror(errno));
	wr_limit_begin(w);
	w->head.realtime_ns = clock_ns(CLOCK_REALTIME);
	w->head.head_sum = wire_sum(&w->head, offsetof(struct uft_file_header, head_sum));
	ret = wr_allocate(w, sizeof(w->head), WR_RESERVE);
	if (!ret)
		ret = wr_writev(w, &(struct iovec){ &w->head, sizeof(w->head) }, 1);
	if (!ret)
		ret = wr_meta_begin(w);
	if (ret && is_new)
		unlink(path);		/* nothing can be read from it */
	if (ret)
		return uft_fail(err, ret, "cannot write %s: %s", path, strerror(-ret));
	return 0;
}

/* All of a writer but its file. */
int wr_alloc(const struct uft_arena *arena, const struct uft_writer_opts *opts, struct uft_writer **out)
{
	struct uft_writer *w = calloc(1, sizeof(*w));

	if (!w)
		return -ENOMEM;
	w->fd = -1;
	w->can_allocate = 1;
	w->opts = *opts;
	w->opts.cmdline = strdup(opts->cmdline ? opts->cmdline : "");
	if (wr_geometry(w, arena)) {
		wr_free(w);
		return -EINVAL;
	}
	w->slice = calloc(w->nslices, sizeof(*w->slice));
	w->live = calloc(w->nslices, sizeof(*w->live));
	w->copy = malloc(UFT_BLOCK_RUN);
	w->packed = malloc(ZSTD_compressBound(UFT_BLOCK_MAX));
	w->zstd = ZSTD_createCCtx();
	w->pack = w->opts.pack ? pack_new() : NULL;
	if ((w->opts.pack && !w->pack) || !w->opts.cmdline || !w->slice || !w->live || !w->copy || !w->packed ||
	    !w->zstd) {
		wr_free(w);
		return -ENOMEM;
	}
	*out = w;
	return 0;
}

int uft_writer_file(const struct uft_writer *w)
{
	return w->fd;
}

int uft_writer_create(const char *path, const struct uft_arena *arena, const struct uft_writer_opts *opts,
		      struct uft_writer **out, struct uft_error *err)
{
	struct uft_writer *w;
	int ret = wr_alloc(arena, opts, &w);

	*out = NULL;
	if (ret)
		return uft_fail(err, ret, ret == -EINVAL ? "the arena's geometry makes no sense" : "out of memory");
	w->path = strdup(path);
	ret = w->path ? wr_open(w, path, err) : uft_fail(err, -ENOMEM, "out of memory");
	if (ret) {
		wr_free(w);
		return ret;
	}
	w->tick_step_ns = WR_TICK_FIRST_NS;
	w->begin_ns = now_ns();
	w->tick_ns = now_ns() + w->tick_step_ns;
	w->second_ns = now_ns() + WR_SECOND_NS;
	*out = w;
	return 0;
}

/* Remembers the first error, after which ring data is no longer written. */
static int wr_latch(struct uft_writer *w, int err)
{
	if (err && !w->error)
		w->error = err;
	return err;
}

int uft_writer_slice(struct uft_writer *w, uint32_t slice, uint32_t pid, const struct uft_image *img)
{
	return uft_writer_child(w, slice, pid, 0, img);
}

int uft_writer_child(struct uft_writer *w, uint32_t slice, uint32_t pid, uint32_t ppid, const struct uft_image *img)
{
	struct wr_slice *s;
	int err;

	if (slice >= w->nslices || w->slice[slice].is_live)
		return -EINVAL;
	s = &w->slice[slice];
	if (!s->ring)
		s->ring = malloc(w->nrings * sizeof(*s->ring));
	if (!s->ring)
		return -ENOMEM;
	memset(s->ring, 0, w->nrings * sizeof(*s->ring));
	for (uint32_t i = 0; i < w->nrings; i++)
		s->ring[i].read = SHARED_LOAD(&wr_arena_ring(w, slice, i)->read) & ~7ull;
	s->number = w->numbers++;
	s->pid = pid; /* GUARD(slice_pid, SHARED_LOAD(&wr_arena_slice(w, slice)->pid)) */
	s->ppid = ppid;
	s->img = img;
	s->image_id = img->id;
	s->counter_sum = 0;
	s->is_live = 1;
	w->live[w->nlive++] = slice;
	err = wr_meta_image(w, img, &s->image);
	if (!err)
		err = wr_meta_slice(w, s, slice, 0);
	return wr_latch(w, err);
}

/*
 * Two clock pairs lie before the first records, so that even a recording whose recorder is killed at once has times.
 * They are good to 1e-4; the reader thins them out as soon as there are better ones.
 */
static int wr_second_pair(struct uft_writer *w, uint64_t now, int is_needed)
{
	if (!w->second_ns || (now < w->second_ns && !is_needed))
		return 0;
	if (now < w->second_ns && !w->opts.clock)
		nanosleep(&(struct timespec){ .tv_nsec = (long)(w->second_ns - now) }, NULL);
	w->second_ns = 0;
	return wr_meta_clock(w);
}

/* Writes a clock pair and the changed counters once in a while, in case the recorder is killed. */
static int wr_tick(struct uft_writer *w, uint64_t now)
{
	int err = wr_meta_clock(w);

	for (uint32_t i = 0; i < w->nlive && !err; i++)
		err = wr_meta_counters(w, &w->slice[w->live[i]], w->live[i], 0);
	w->tick_step_ns = w->tick_step_ns * 2 < WR_TICK_MAX_NS ? w->tick_step_ns * 2 : WR_TICK_MAX_NS;
	w->tick_ns = now + w->tick_step_ns;
	return err;
}

int64_t uft_writer_poll(struct uft_writer *w)
{
	uint64_t now = now_ns(), before = w->end;
	int err = w->error;

	if (!err)
		err = wr_second_pair(w, now, w->nlive != 0);
	for (uint32_t i = 0; i < w->nlive && !err; i++) {
		struct wr_slice *s = &w->slice[w->live[i]];

		if (s->image)
			err = wr_meta_sync(w, s->img, s->image);
		if (!err)
			err = wr_drain(w, s, w->live[i], now, 0);
	}
	if (!err && (w->tasks.n || w->outers.n))
		err = wr_meta_tasks(w);
	if (!err && now >= w->tick_ns)
		err = wr_tick(w, now);
	wr_latch(w, err);
	return err ? err : (int64_t)(w->end - before);
}

/* Returns how many records a ring has lost, by its target's counter. The reader has the same rule: dec_lost_more(). */
static uint64_t wr_lost(const struct uft_writer *w, uint32_t slice, uint32_t ring)
{
	uint64_t lost = SHARED_LOAD(&wr_arena_ring(w, slice, ring)->lost);

	return !w->opts.clock && lost > now_ns() - w->begin_ns ? 1 : lost;
}

/* Writes the final data of a slice. Tries metadata even after an error. */
static int wr_slice_last(struct uft_writer *w, uint32_t slice)
{
	struct wr_slice *s = &w->slice[slice];
	int err = w->error;

	if (s->image)
		wr_latch(w, wr_meta_sync(w, s->img, s->image));
	if (!err)
		err = wr_latch(w, wr_drain(w, s, slice, now_ns(), 1));
	if (err)
		wr_abandon(w, s, slice);
	for (uint32_t i = 0; i < w->nrings; i++)
		w->stats.lost += wr_lost(w, slice, i) + s->ring[i].unsaved;
	wr_latch(w, wr_meta_counters(w, s, slice, 1));
	if (w->opts.tracer == UFT_TRACER_PROFILE)
		wr_latch(w, wr_meta_profile(w, s, slice));
	return w->error;
}

/*
 * The next process must find nothing of the dead one: its rings, profile and histograms become a hole, which
 * gives the memory back, too. Where the file system makes none, no process gets the slice: to clear all that by hand
 * would take hundreds of megabytes. Values that the session has set for the next process (ring_flags, the session's
 * side of commands) stay.
 */
void wr_slice_free(const struct uft_writer *w, uint32_t slice)
{
	struct uft_slice uft_shared *s = wr_arena_slice(w, slice);
	uint8_t uft_shared *rings = (uint8_t uft_shared *)s + w->ring_offset;
	uint32_t state = UFT_SLICE_FREE;

	wr_arena_forget(s);
	if (madvise(shared_address(rings), w->slice_bytes - w->ring_offset, MADV_REMOVE))
		state = UFT_SLICE_SPENT; /* GUARD(slice_spent, UFT_SLICE_FREE) */
	SHARED_STORE_RELEASE(&s->state, state);
}

int uft_writer_slice_end(struct uft_writer *w, uint32_t slice)
{
	uint32_t i = 0;
	int err;

	while (i < w->nlive && w->live[i] != slice)
		i++;
	if (i == w->nlive)
		return -EINVAL;
	__atomic_store_n(&wr_arena_slice(w, slice)->state, UFT_SLICE_DEAD, __ATOMIC_RELEASE);
	err = wr_slice_last(w, slice);
	wr_latch(w, wr_meta_slice(w, &w->slice[slice], slice, 1));
	w->live[i] = w->live[--w->nlive];
	w->slice[slice].is_live = 0;
	w->slice[slice].img = NULL;
	wr_slice_free(w, slice);
	return err;
}

void uft_writer_stats(const struct uft_writer *w, struct uft_writer_stats *out)
{
	*out = w->stats;
	for (uint32_t i = 0; i < w->nlive; i++)
		for (uint32_t r = 0; r < w->nrings; r++)
			out->lost += wr_lost(w, w->live[i], r);
}

int uft_writer_finish(struct uft_writer *w, struct uft_writer_stats *total, struct uft_error *err)
{
	int ret;

	for (uint32_t i = 0; i < w->nlive; i++)
		wr_slice_last(w, w->live[i]);
	wr_latch(w, wr_second_pair(w, now_ns(), 1));
	wr_latch(w, wr_meta_clock(w));
	if (w->tasks.n || w->outers.n)
		wr_latch(w, wr_meta_tasks(w));
	wr_latch(w, wr_meta_names(w));
	wr_latch(w, wr_meta_end(w));
	if (ftruncate(w->fd, (off_t)w->end))	/* frees the allocation beyond the end */
		wr_latch(w, -errno);
	if (close(w->fd))
		wr_latch(w, -errno);
	w->fd = -1;
	if (total)
		*total = w->stats;
	ret = w->error;
	if (ret)
		uft_fail(err, ret, "%s: the recording is incomplete: %s", w->path, strerror(-ret));
	wr_free(w);
	return ret;
}
