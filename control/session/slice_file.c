// SPDX-License-Identifier: MIT
/*
 * slice_file.c - slices of targets as parts of their families' files (session.h)
 *
 * What a target adds up (sums of the profile, maps of histograms) is copied by read(), not looked at in the session's
 * mapping: a look at a page that its target has not written would make the page, or on a full file system leave the
 * session with a page of zeros of its own.
 *
 * Invariants: a hole stays a hole. Each word is read once. Places are the session's own (arena.map).
 * Failure: what cannot be read, or was cut off by the target, is zeros; sums that cannot be cleared stay.
 */
#include "control/arena/arena.h"
#include "control/session/internal.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

int uft_slice_open(const struct uft_session *s, uint32_t slice, struct uft_slice_file *f)
{
	const struct uft_arena *l = s->arena.map;
	int fd = slice < l->nslices ? arena_open_family(&s->arena, slice / l->per_file) : -EINVAL;

	*f = (struct uft_slice_file){ .fd = fd, .at = l->slice_offset - UFT_BOARD_BYTES +
		slice % l->per_file * l->slice_bytes };
	return fd < 0 ? fd : 0;
}

void uft_slice_read(const struct uft_slice_file *f, uint64_t offset, void *to, size_t bytes)
{
	ssize_t n = 0;

	for (size_t at = 0; at < bytes; at += (size_t)n) {
		n = pread(f->fd, (char *)to + at, bytes - at, (off_t)(f->at + offset + at));
		if (n < 0 && errno == EINTR)
			n = 0;
		else if (n <= 0) {
			memset((char *)to + at, 0, bytes - at);
			return;
		}
	}
}

/* The next data within [*from, to), up to *end. 0: there is none. */
static int next_data(int fd, off_t *from, off_t *end, off_t to)
{
	off_t at = lseek(fd, *from, SEEK_DATA);

	if (at < 0 && errno == EINVAL)
		at = *from;		/* no file system for that */
	if (at < 0 || at >= to)
		return 0;
	*end = lseek(fd, at, SEEK_HOLE);
	*end = *end <= at || *end > to ? to : *end;
	*from = at;
	return 1;
}

static off_t block_at(const struct uft_arena *l, const struct uft_slice_file *f, uint32_t block)
{
	return (off_t)(f->at + l->profile_offset + (uint64_t)block * l->profile_ids * sizeof(struct uft_profile));
}

static int each_sum(const struct uft_slice_file *f, off_t block_begin, uint32_t block, off_t from, off_t end,
		    uft_sums_fn *fn, void *arg)
{
	const off_t size = sizeof(struct uft_profile);
	struct uft_profile p[64];
	int ret = 0;

	for (off_t id = (from - block_begin) / size, n; block_begin + id * size < end && !ret; id += n) {
		n = (end - block_begin + size - 1) / size - id;
		n = n < 64 ? n : 64;
		uft_slice_read(f, (uint64_t)(block_begin + id * size) - f->at, p, (size_t)(n * size));
		for (off_t i = 0; i < n && !ret; i++)
			if (p[i].hits || p[i].total)
				ret = fn(arg, (uint32_t)(id + i), block, &p[i]);
	}
	return ret;
}

int uft_slice_sums(const struct uft_session *s, const struct uft_slice_file *f, uint32_t first, uint32_t n,
		   uft_sums_fn *fn, void *arg)
{
	const struct uft_arena *l = s->arena.map;
	const off_t size = sizeof(struct uft_profile);
	const uint64_t last = (uint64_t)first + n < l->profile_ids ? (uint64_t)first + n : l->profile_ids;
	int ret = 0;

	for (uint32_t block = 0; block < UFT_PROFILE_BLOCKS(l->ncpus) && first < last && !ret; block++) {
		const off_t begin = block_at(l, f, block), to = begin + (off_t)last * size;

		for (off_t from = begin + first * size, end; !ret && next_data(f->fd, &from, &end, to); from = end)
			ret = each_sum(f, begin, block, from, end, fn, arg);
	}
	return ret;
}

void uft_slice_clear_sums(const struct uft_session *s, const struct uft_slice_file *f)
{
	static const char zeros[UFT_PAGE];
	const struct uft_arena *l = s->arena.map;
	const off_t to = block_at(l, f, UFT_PROFILE_BLOCKS(l->ncpus));

	for (off_t from = block_at(l, f, 0), end; next_data(f->fd, &from, &end, to); from = end)
		for (off_t n; from < end; from += n) {
			n = end - from < UFT_PAGE ? end - from : UFT_PAGE;
			if (pwrite(f->fd, zeros, (size_t)n, from) != n)
				return;
		}
}

void uft_slice_close(struct uft_slice_file *f)
{
	close(f->fd);
	f->fd = -1;
}
