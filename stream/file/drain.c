/* SPDX-License-Identifier: MIT */
/*
 * drain.c - drain rings to the file
 *
 * Discard mode. The target never changes [read, commit), because it writes at commit and beyond only. So a run goes
 * from the ring to the page cache by one writev(), without a copy, and `read` is advanced after each run, which frees
 * the room. A rest of less than a sub-buffer waits for WR_LAZY_NS at most. A target that changes [read, commit) all the
 * same spoils its own block: the block's sum is wrong then. Data is copied before it is compressed, because no
 * compressor is written for memory that changes. Where the target skipped positions (abi.h, how a ring grows), the
 * positions of blocks have a gap, which begins and ends at a sub-buffer.
 *
 * Beyond a limit (wr_may_grow()) data is not written, but `read` is advanced: no ring fills, so no record counts as
 * lost.
 *
 * Overwrite mode. Nothing is written until the slice ends. The target may still run then. So a run is copied, and after
 * a load barrier (partner of the target's store barrier after advancing `oldest`) `oldest` is loaded again: bytes below
 * it are dropped, since the target may have overwritten them meanwhile.
 */
#include <errno.h>
#include <string.h>

#include "stream/file/writer_internal.h"

#define WR_LAZY_NS	50000000ull
#define WR_SAMPLE	4096u		/* bytes of a run that are looked at to tell how many records it has */
#define WR_RETRIES	64		/* attempts to load commit and oldest as a pair */

struct uft_ring wr_unused;

/* Returns the bytes of the next run of [from, to): up to the ring's end, whole sub-buffers where possible. */
static size_t wr_run(const struct uft_writer *w, uint64_t from, uint64_t to)
{
	uint64_t sub = w->head.sub_bytes, room = w->head.ring_bytes - (from & (w->head.ring_bytes - 1));
	uint64_t n = to - from;

	if (n > room)
		n = room;
	if (n > UFT_BLOCK_RUN) {
		n = UFT_BLOCK_RUN;
		if ((from & (sub - 1)) + n >= sub)
			n -= (from + n) & (sub - 1);
	}
	return n;
}

static int wr_run_write(struct uft_writer *w, const struct wr_slice *s, uint32_t ring, uint64_t position,
			const uint8_t *data, size_t n)
{
	struct uft_file_block head = {
		.type = UFT_BLOCK_RING, .slice = s->number, .ring = ring, .position = position,
	};
	uint64_t sub = w->head.sub_bytes, first = -position & (sub - 1);

	if (first + sizeof(struct uft_sub_header) <= n)
		memcpy(&head.clock, data + first + offsetof(struct uft_sub_header, clock), 8);
	return wr_block_ring(w, &head, data, n);
}

/* The number of lost records is unknown; they count as one. */
static void wr_retire(struct wr_ring *wr)
{
	wr->is_broken = 1;
	wr->unsaved++;
}

/*
 * Adds the records of a run of @n bytes, as many as there are in its first bytes, @sample, in the same proportion: how
 * long a record is depends on the tracer, and on the events.
 */
static void wr_estimate(struct uft_writer *w, const uint8_t *sample, size_t n, uint64_t position)
{
	size_t known = n < WR_SAMPLE ? n : WR_SAMPLE;

	w->stats.events += known ? wr_count_records(sample, known, position, w->head.sub_bytes) * n / known : 0;
}

/* Returns where the bytes from wr->read on end. If no byte is at wr->read, first moves wr->read to the next ones. */
static uint64_t wr_run_end(const struct uft_writer *w, struct wr_ring *wr, const struct uft_ring uft_shared *r,
			   uint64_t commit)
{
	struct uft_ring_run run = wr_ring_run(w, r, wr->read, commit);

	while (run.end == wr->read && run.end != commit) {
		wr->read = run.next;
		run = wr_ring_run(w, r, wr->read, commit);
	}
	return run.end;
}

static int wr_drain_discard(struct uft_writer *w, const struct wr_slice *s, uint32_t ring,
			    struct uft_ring uft_shared *r, uint64_t now, int force)
{
	struct wr_ring *wr = &s->ring[ring];
	uint64_t commit = SHARED_LOAD_ACQUIRE(&r->commit);	/* data before commit is there */
	uint64_t ready = commit - wr->read;
	int is_coded = w->opts.compress || w->is_packing;

	if (!ready)
		return 0;
	if (ready > w->most_unread || commit & 7) { /* GUARD(wr_drain_discard_ready) */
		wr_retire(wr);
		return 0;
	}
	if (!force && ready < w->head.sub_bytes && now - wr->copied_ns < WR_LAZY_NS)
		return 0;
	wr->copied_ns = now;
	while (wr->read != commit) {
		uint64_t end = wr_run_end(w, wr, r, commit);
		const uint8_t uft_shared *data = wr_arena_data(w, r, wr->read);
		size_t n = wr_run(w, wr->read, end);
		int err;

		if (!wr_may_grow(w, n)) {
			wr->read = commit;
			break;
		}
		shared_read(w->copy, data, is_coded || n < WR_SAMPLE ? n : WR_SAMPLE);
		/*
		 * Uncompressed bytes are written from the ring: the block's sum is wrong if the target changes them
		 * meanwhile.
		 */
		err = wr_run_write(w, s, ring, wr->read, is_coded ? w->copy : shared_address(data), n);
		if (err)
			return err;
		wr_estimate(w, w->copy, n, wr->read);
		wr->read += n;
		/* The copy is done before the target may write there again. */
		SHARED_STORE_RELEASE(&r->read, wr->read);
	}
	SHARED_STORE_RELEASE(&r->read, wr->read);
	return 0;
}

/* Loads commit and oldest as a pair: oldest <= commit <= oldest + ring_bytes. -EBADMSG: not in WR_RETRIES attempts. */
static int wr_window(const struct uft_writer *w, const struct uft_ring uft_shared *r, uint64_t *oldest,
		     uint64_t *commit)
{
	for (int i = 0; i < WR_RETRIES; i++) {
		*oldest = SHARED_LOAD_ACQUIRE(&r->oldest);
		*commit = SHARED_LOAD_ACQUIRE(&r->commit);
		if (*oldest <= *commit && *commit - *oldest <= w->head.ring_bytes &&
		    !(*oldest & (w->head.sub_bytes - 1)) && !(*commit & 7))
			return 0;
	}
	return -EBADMSG;
}

static int wr_drain_overwrite(struct uft_writer *w, const struct wr_slice *s, uint32_t ring,
			      struct uft_ring uft_shared *r)
{
	struct wr_ring *wr = &s->ring[ring];
	uint64_t oldest, commit;

	if (wr_window(w, r, &oldest, &commit)) {
		wr_retire(wr);
		return 0;
	}
	if (wr->read > commit)
		return 0;
	if (wr->read < oldest)
		wr->read = oldest;
	while (wr->read < commit) {
		size_t n = wr_run(w, wr->read, commit), overtaken = 0;
		int err;

		if (!wr_may_grow(w, n))
			return 0;
		shared_read(w->copy, wr_arena_data(w, r, wr->read), n);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);	/* reads the copy before `oldest` */
		oldest = SHARED_LOAD(&r->oldest);
		if (oldest > wr->read) {
			overtaken = oldest - wr->read < n ? oldest - wr->read : n;
			if (overtaken & 7) {
				wr_retire(wr);
				return 0;
			}
		}
		if (overtaken < n) {
			err = wr_run_write(w, s, ring, wr->read + overtaken, w->copy + overtaken, n - overtaken);
			if (err)
				return err;
			wr_estimate(w, w->copy + overtaken, n - overtaken, wr->read + overtaken);
		}
		wr->read += n;
		if (oldest > wr->read)
			wr->read = oldest < commit ? oldest : commit;
	}
	return 0;
}

/* UFT_PACK_IDLE packs on an idle CPU only, because targets go first: cmd/record_pack.c can pack the rest later. */
static int is_time_to_pack(struct uft_writer *w, uint64_t now)
{
	return w->opts.pack == UFT_PACK_ALWAYS || (w->opts.pack == UFT_PACK_IDLE && idle_cpu_is_there(&w->idle, now));
}

int wr_drain(struct uft_writer *w, const struct wr_slice *s, uint32_t index, uint64_t now, int force)
{
	uint32_t flags = SHARED_LOAD(&wr_arena_slice(w, index)->ring_flags);
	int err = 0;

	if (flags & UFT_RING_OVERWRITE && !force)
		return 0;
	w->is_packing = is_time_to_pack(w, now);
	for (uint32_t i = 0; i < w->nrings && !err; i++) {
		struct uft_ring uft_shared *r = wr_arena_ring(w, index, i);

		if (s->ring[i].is_broken)
			continue;
		if (flags & UFT_RING_OVERWRITE)
			err = wr_drain_overwrite(w, s, i, r);
		else
			err = wr_drain_discard(w, s, i, r, now, force);
	}
	return err;
}

void wr_abandon(struct uft_writer *w, struct wr_slice *s, uint32_t index)
{
	if (SHARED_LOAD(&wr_arena_slice(w, index)->ring_flags) & UFT_RING_OVERWRITE)
		return;
	for (uint32_t i = 0; i < w->nrings; i++) {
		struct uft_ring uft_shared *r = wr_arena_ring(w, index, i);
		struct wr_ring *wr = &s->ring[i];
		uint64_t commit = SHARED_LOAD_ACQUIRE(&r->commit);

		if (wr->is_broken || commit - wr->read > w->most_unread || commit & 7)
			continue;
		while (wr->read != commit) {
			size_t n = wr_run(w, wr->read, wr_run_end(w, wr, r, commit));

			shared_read(w->copy, wr_arena_data(w, r, wr->read), n);
			wr->unsaved += wr_count_records(w->copy, n, wr->read, w->head.sub_bytes);
			wr->read += n;
		}
	}
}

/* Does the record count? An UNWIND of no call is a blank: wr_blank_records(). */
static int is_counted(uint64_t word)
{
	switch (UFT_REC_KIND(word)) {
	case UFT_REC_CONTEXT:
	case UFT_REC_LOST:
		return 0;
	case UFT_REC_EVENT:
		return UFT_EVENT_IS_OWN(UFT_EVENT_ID(UFT_REC_VALUE(word)));
	case UFT_REC_UNWIND:
		return UFT_REC_VALUE(word) != 0;
	default:
		return 1;
	}
}

uint64_t wr_count_records(const uint8_t *p, size_t n, uint64_t position, uint32_t sub_bytes)
{
	uint64_t count = 0;
	size_t at = 0;

	while (at + 8 <= n) {
		uint64_t in_sub = (position + at) & (sub_bytes - 1), word;
		unsigned words;

		memcpy(&word, p + at, 8);
		words = UFT_REC_KIND(word) == UFT_REC_MARK /* GUARD(count_marks, 0) */ ?
			1 + ((UFT_REC_VALUE(word) & ~UFT_MARK_RAW) + 7) / 8 : wr_record_words(word);
		if (!in_sub) {
			at += sizeof(struct uft_sub_header);
		} else if (!words) {
			at += sub_bytes - in_sub;
		} else {
			at += 8u * words;
			count += is_counted(word);
		}
	}
	return count;
}

void wr_blank_records(uint8_t *p, size_t n, uint64_t position, uint32_t sub_bytes)
{
	size_t at = (position & (sub_bytes - 1)) ? 0 : sizeof(struct uft_sub_header);

	while (at + 8 <= n) {
		uint64_t word, blank;
		unsigned kind, words;

		memcpy(&word, p + at, 8);
		kind = UFT_REC_KIND(word);
		words = wr_record_words(word);
		if (!words)
			return;
		blank = UFT_REC_WORD(UFT_REC_UNWIND, 0, UFT_REC_CLOCK(word));
		for (unsigned i = 0; i < words && at + 8 <= n; i++, at += 8)
			if (kind != UFT_REC_CONTEXT)
				memcpy(p + at, &blank, 8);
	}
}
