/* SPDX-License-Identifier: MIT */
/*
 * reader.c - finds the blocks of a .uft file
 *
 * One pass over the block heads at open. It reads all metadata, and of ring data it notes only the place. Every size is
 * bounded before it is used, every skipped byte is counted, and the work is linear in the size of the file: a block
 * with a valid head is skipped as a whole even if its payload is damaged.
 *
 * A file may be cut off or overwritten while it is read. All reading of blocks goes through rd_scan() and rd_load(), so
 * bytes that cannot be had are noticed there, and tell a changed file from one that was damaged before: it has less
 * bytes than at open, or another head where a good one was. Other bytes in a payload are a change if they were good
 * when they were read before, or if the file was written since, and its recorder cannot have done that: a recorder
 * appends, and not behind an END. In a recording that grows, a payload that was bad at the first look is damage. A
 * changed file gives no more data, and uft_stream_check_file() says so. Data that was read before is the recording's,
 * by its sum.
 *
 * Memory that is refused for something of the file is no damage of it, and no reason to show less: rd_no_memory() notes
 * it wherever it happens, reading goes on without that thing, and uft_stream_check_file() says so at the end. Memory
 * for what only makes reading faster is not noted.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stream/dat/dat.h"
#include "stream/file/reader.h"
#include "symbol/array.h"

#define RD_CHUNK	65536u
#define RD_STORED_RATIO	64		/* bytes of size for a stored byte that count */
#define RD_RINGS	(2u << 20)	/* CPUs and exchange rings: rd_geometry_ok() */

void *rd_push(struct rd_file *f, void *array, size_t *n, size_t *cap, size_t size)
{
	char *p;

	if (f->budget < size)
		return NULL;
	if (*n == *cap && array_grow(array, size, cap, sizeof(*cap), *n + 1, 0)) {
		rd_no_memory(f);
		return NULL;
	}
	f->budget -= size;
	memcpy(&p, array, sizeof(p));
	p += (*n)++ * size;
	memset(p, 0, size);
	return p;
}

int rd_head_ok(const struct uft_file_block *b)
{
	return b->magic == UFT_BLOCK_MAGIC && b->stored <= UFT_BLOCK_MAX && b->raw <= UFT_BLOCK_MAX &&
	       (b->flags & (UFT_BLOCK_ZSTD | UFT_BLOCK_PACKED) || b->stored == b->raw) &&
	       b->head_sum == wire_sum(b, offsetof(struct uft_file_block, head_sum));
}

static int rd_is_shorter(const struct rd_file *f)
{
	struct stat st;

	return !f->is_imported && !fstat(f->fd, &st) && (uint64_t)st.st_size < f->size;
}

/* Returns 1 if somebody has cut off or overwritten the file since it was opened. A recorder that appends has not. */
static int rd_is_other(const struct rd_file *f)
{
	struct stat st;

	if (f->is_imported || fstat(f->fd, &st))
		return 0;
	if (rd_is_shorter(f))
		return 1;
	return (f->is_complete || (uint64_t)st.st_size == f->size) && rd_mtime_ns(&st) != f->mtime_ns;
}

/* Notes whether the payload of @b, which is not what its head says, was so when the file was opened. */
static void rd_check_block(struct rd_file *f, const struct rd_block *b)
{
	struct uft_file_block head;

	if (f->is_imported)
		return;
	/* GUARD(reader_changed) */
	f->is_changed |= wire_read_at(f->fd, &head, sizeof(head), b->offset - sizeof(head)) || !rd_head_ok(&head) ||
			 head.payload_sum != b->payload_sum || head.stored != b->stored;
	f->is_changed |= b->is_read; /* GUARD(reader_reread) */
	f->is_changed |= rd_is_other(f); /* GUARD(reader_changed) */
}

int rd_load(struct rd_file *f, struct rd_block *b, uint8_t *to)
{
	uint8_t *stored = b->flags & (UFT_BLOCK_ZSTD | UFT_BLOCK_PACKED) ? f->stored : to;

	if (b->mem) {
		memcpy(to, b->mem, b->raw);
		return 0;
	}
	if (b->flags & UFT_BLOCK_PACKED && !f->pack && !(f->pack = pack_new()))
		return rd_no_memory(f);
	if (f->is_changed)
		return -ESTALE;
	if (!b->is_damaged && !wire_read_at(f->fd, stored, b->stored, b->offset) &&
	    wire_sum(stored, b->stored) == b->payload_sum &&
	    (stored == to ||
	     (b->flags & UFT_BLOCK_PACKED ? !pack_decode(f->pack, stored, b->stored, to, b->raw) :
	      ZSTD_decompressDCtx(f->zstd, to, b->raw, stored, b->stored) == b->raw))) {
		b->is_read = 1;
		return 0;
	}
	if (!b->is_damaged) {
		f->damaged += sizeof(struct uft_file_block) + b->stored;
		rd_check_block(f, b);
	}
	b->is_damaged = 1;
	return f->is_changed ? -ESTALE : -EBADMSG;
}

static int rd_metadata(struct rd_file *f, const struct uft_file_block *head, struct rd_block *b, uint8_t **raw)
{
	if (!*raw)
		*raw = malloc(UFT_BLOCK_MAX);
	if (!*raw)
		return -ENOMEM;
	if (head->type == UFT_BLOCK_END)
		f->is_complete = 1;
	if (rd_load(f, b, *raw))
		return 0;
	return rd_meta_block(f, head->type, *raw, b->raw);
}

static int rd_add(struct rd_file *f, const struct rd_block *b)
{
	if (array_reserve(f->block, f->cap_block, f->nblock + 1))
		return -ENOMEM;
	f->block[f->nblock++] = *b;
	return 0;
}

static int rd_block(struct rd_file *f, const struct uft_file_block *head, uint64_t at, uint8_t **raw)
{
	struct rd_block b = {
		.offset = at + sizeof(*head), .position = head->position, .clock = head->clock,
		.payload_sum = head->payload_sum, .stored = head->stored, .raw = head->raw,
		.slice = head->slice, .ring = head->ring, .order = (uint32_t)f->nblock, .flags = head->flags,
	};

	if (head->type != UFT_BLOCK_RING)
		return rd_metadata(f, head, &b, raw);
	if (head->ring >= RD_RINGS) {		/* all readers take it for the number of a CPU */
		f->damaged += sizeof(*head) + head->stored;
		return 0;
	}
	return rd_add(f, &b);
}

/* Returns where bytes that were written go on: a file may claim terabytes that nobody wrote. */
static uint64_t rd_skip_hole(const struct rd_file *f, uint64_t from)
{
	off_t at = from <= INT64_MAX ? lseek(f->fd, (off_t)from, SEEK_DATA) : -1;

	if (at < 0)
		return from <= INT64_MAX && errno == ENXIO ? f->size : from;
	return (uint64_t)at < f->size ? (uint64_t)at : f->size;
}

uint64_t rd_resync(struct rd_file *f, uint64_t from)
{
	static const uint64_t magic = UFT_BLOCK_MAGIC;

	while ((from = rd_skip_hole(f, from)) + 8 <= f->size) { /* GUARD(resync_hole, from + 8 <= f->size) */
		size_t n = f->size - from < RD_CHUNK ? f->size - from : RD_CHUNK;
		uint8_t *hit;

		if (wire_read_at(f->fd, f->stored, n, from))
			break;
		hit = memmem(f->stored, n, &magic, sizeof(magic));
		if (hit)
			return from + (uint64_t)(hit - f->stored);
		from += n - 7;
	}
	return f->size;
}

/* Copies the RING blocks of @like in the order of the file. NULL: @like does not match @f, or no memory. */
static struct rd_block *rd_known(const struct rd_file *f, const struct rd_file *like)
{
	struct rd_block *known;

	if (!like || !like->nblock || f->size != like->size || f->mtime_ns != like->mtime_ns)
		return NULL;
	known = malloc(like->nblock * sizeof(*known));
	for (size_t i = 0; known && i < like->nblock; i++) {
		const struct rd_block *b = &like->block[i];

		/* All but is_damaged and is_read, which @like's reader may be writing. */
		known[b->order] = (struct rd_block){
			.offset = b->offset, .position = b->position, .clock = b->clock, .payload_sum = b->payload_sum,
			.stored = b->stored, .raw = b->raw, .slice = b->slice, .ring = b->ring, .order = b->order,
			.flags = b->flags,
		};
	}
	return known;
}

/* Returns 1 if @f, which is another opening of @like's file, has other blocks where @like found its own. */
static int rd_differs(const struct rd_file *f, const struct rd_file *like)
{
	if (f->nblock < like->nblock || (like->is_complete && f->nblock > like->nblock))
		return 1;
	for (size_t i = 0; i < like->nblock; i++) {
		const struct rd_block *was = &like->block[i], *is = &f->block[was->order];

		if (is->offset != was->offset || is->payload_sum != was->payload_sum || is->stored != was->stored)
			return 1;
	}
	return 0;
}

/* Takes over the heads of RING blocks that @like has read, because there may be 100,000. */
static int rd_scan(struct rd_file *f, const struct rd_file *like)
{
	struct rd_block *known = rd_known(f, like);
	uint64_t at = sizeof(struct uft_file_header);
	struct uft_file_block head;
	uint8_t *raw = NULL;
	int err = 0, has_gap = !f->has_head;

	f->end = at;
	while (at < f->size && !err) {
		if (known && f->nblock < like->nblock && known[f->nblock].offset == at + sizeof(head)) {
			at = known[f->nblock].offset + known[f->nblock].stored;
			at += -(uint64_t)known[f->nblock].stored & 7;
			f->end = at;
			err = rd_add(f, &known[f->nblock]);
			continue;
		}
		if (f->size - at < sizeof(head) || wire_read_at(f->fd, &head, sizeof(head), at)) {
			f->damaged += f->size - at;	/* less than a head is left: the file is cut off */
			break;
		}
		if (!rd_head_ok(&head)) {
			uint64_t next = rd_resync(f, at + 1);

			has_gap = 1;
			f->damaged += next - at;
			at = next;
			continue;
		}
		if (f->size - at - sizeof(head) < head.stored) {
			f->damaged += f->size - at;
			break;
		}
		err = rd_block(f, &head, at, &raw);
		at += sizeof(head) + head.stored;
		at += -(uint64_t)head.stored & 7;
		f->end = at;
	}
	f->is_changed |= has_gap ? rd_is_other(f) : f->end < f->size && rd_is_shorter(f);
	f->is_changed |= like && !known && rd_differs(f, like);
	free(known);
	free(raw);
	return err;
}

static int rd_block_compare(const void *a, const void *b)
{
	const struct rd_block *x = a, *y = b;

	if (x->slice != y->slice)
		return x->slice < y->slice ? -1 : 1;
	if (x->ring != y->ring)
		return x->ring < y->ring ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static int rd_setup(const struct uft_file_header *h)
{
	return h->magic == UFT_FILE_MAGIC && h->head_sum == wire_sum(h, offsetof(struct uft_file_header, head_sum));
}

static int rd_geometry_ok(const struct uft_file_header *h)
{
	return h->sub_bytes >= 64 && !(h->sub_bytes & (h->sub_bytes - 1)) && h->sub_bytes <= 1u << 30 &&
	       h->ncpus <= 1u << 20 && h->nexch <= 1u << 20;
}

/* Converts a trace.dat to an unnamed recording, which is read instead. */
static int rd_import(struct rd_file *f, const char *path, struct uft_error *err)
{
	struct stat st;
	int fd, ret = dat_import(f->fd, path, &fd, err);

	if (ret)
		return ret;
	close(f->fd);
	f->fd = fd;
	f->is_imported = 1;
	if (fstat(fd, &st))
		return uft_fail(err, -errno, "%s: %s", path, strerror(errno));
	f->size = (uint64_t)st.st_size;
	return 0;
}

int rd_check_file(const struct rd_file *f, struct uft_error *err)
{
	if (f->is_changed)
		return uft_fail(err, -ESTALE, WIRE_CHANGED, f->path);
	if (f->is_partial) /* GUARD(reader_partial) */
		return uft_fail(err, -ENOMEM, "%s: not enough memory to read it", f->path);
	return 0;
}

static int rd_open_file(struct rd_file *f, const char *path, struct uft_error *err)
{
	uint64_t stored;
	struct stat st;
	int ret;

	f->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (f->fd < 0)
		return uft_fail(err, -errno, "%s: cannot be opened: %s", path, strerror(errno));
	if (fstat(f->fd, &st))
		return uft_fail(err, -errno, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return uft_fail(err, -EINVAL, "%s: is not a regular file", path);
	f->size = (uint64_t)st.st_size;
	f->dev = st.st_dev;
	f->ino = st.st_ino;
	f->mtime_ns = rd_mtime_ns(&st);
	f->uid = st.st_uid;
	if (dat_is_file(f->fd)) {
		ret = rd_import(f, path, err);
		if (ret)
			return ret;
	}
	/* Bounds what metadata may unpack to: names pack 5 times, sites 10 times. A hole of the file packs nothing. */
	stored = (uint64_t)st.st_blocks * 512 * RD_STORED_RATIO;
	f->budget = (16u << 20) + 16 * (f->is_imported || f->size < stored ? f->size : stored);
	ret = wire_read_at(f->fd, &f->head, sizeof(f->head), 0);
	f->is_changed = ret && rd_is_shorter(f);
	if (f->is_changed)
		return rd_check_file(f, err);
	if (ret || f->head.magic != UFT_FILE_MAGIC)
		return uft_fail(err, ret && ret != -EBADMSG ? ret : -EINVAL,
				"%s is not a .uft recording (it does not start with UFTFILE1)", path);
	f->has_head = rd_setup(&f->head);
	if (!f->has_head)
		f->damaged += sizeof(f->head);
	return 0;
}

int rd_open(const char *path, const struct rd_file *like, struct rd_file **out, struct uft_error *err)
{
	struct rd_file *f = calloc(1, sizeof(*f));
	int ret;

	if (!f)
		return uft_fail(err, -ENOMEM, "%s: not enough memory to read it", path);
	f->fd = -1;
	f->path = strdup(like ? like->path : path);
	ret = f->path ? rd_open_file(f, path, err) : uft_fail(err, -ENOMEM, "%s: not enough memory to read it", path);
	if (ret)
		goto close_file;
	f->stored = calloc(1, UFT_BLOCK_MAX + PACK_SLACK);
	f->zstd = ZSTD_createDCtx();
	f->events = uft_event_table_new();
	ret = f->stored && f->zstd && f->events ? rd_scan(f, like) : -ENOMEM;
	ret = ret ? ret : rd_check_file(f, err);
	if (ret == -ESTALE)
		goto close_file;
	if (!ret && !f->has_head)
		ret = uft_fail(err, -EBADMSG, "%s: its header is damaged and no copy of it is left", path);
	else if (!ret && ((f->head.version != UFT_FILE_VERSION && f->head.version != UFT_FILE_PACKED) ||
			  f->head.abi < UFT_ABI_RECORDS || f->head.abi > UFT_ABI_VERSION))
		ret = uft_fail(err, -EPROTONOSUPPORT,
			       "%s: was made by another version of uft (format %u.%u, this one reads %u.%u)",
			       path, f->head.version, f->head.abi, UFT_FILE_PACKED, UFT_ABI_VERSION);
	else if (!ret && !rd_geometry_ok(&f->head))
		ret = uft_fail(err, -EBADMSG, "%s: its header makes no sense", path);
	else if (!ret)
		ret = rd_meta_build(f);
	ret = ret ? ret : rd_check_file(f, err);
	if (ret == -ENOMEM)
		uft_fail(err, ret, "%s: not enough memory to read it", f->path);
	if (ret)
		goto close_file;
	if (f->nblock)
		qsort(f->block, f->nblock, sizeof(*f->block), rd_block_compare);
	*out = f;
	return 0;
close_file:
	rd_close(f);
	return ret;
}

void rd_close(struct rd_file *f)
{
	if (!f)
		return;
	if (f->fd >= 0)
		close(f->fd);
	rd_meta_free(f);
	uft_event_table_put(f->events);
	free(f->block);
	free(f->stored);
	free(f->path);
	pack_free(f->pack);
	ZSTD_freeDCtx(f->zstd);
	free(f);
}
