/* SPDX-License-Identifier: MIT */
/*
 * page.c - see page.h
 *
 *	u64 time stamp
 *	u64 commit: bytes of data in bits 0-19; bit 31: events were lost before; bit 30: how many stands behind the data
 *	then records: 5 bits type and length, 27 bits time since the one before, data
 *
 * Length codes: 1-28 words of 4 bytes; 0 the length, itself included, is in the first word; 29 padding; 30 time
 * extend; 31 time stamp, whose top 5 bits are those of the time so far.
 * Source: events/header_event of the kernel, and its include/linux/ring_buffer.h.
 */
#include <errno.h>
#include <string.h>

#include "stream/dat/page.h"

#define HEADER_BYTES	16u
#define COMMIT_MASK	0xfffffu
#define MISSED		(1u << 31)
#define MISSED_STORED	(1u << 30)
#define TOP_BITS	(31ull << 59)

enum { LEN_WORDS_MAX = 28, LEN_PADDING = 29, LEN_EXTEND = 30, LEN_STAMP = 31 };

static uint32_t word(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, 4);
	return v;
}

int dat_page_open(struct dat_page *to, const uint8_t *page, uint32_t bytes)
{
	uint32_t flags, commit;

	if (bytes < HEADER_BYTES)
		return -EBADMSG;
	flags = word(page + 8);
	commit = flags & COMMIT_MASK;
	if (commit > bytes - HEADER_BYTES)
		return -EBADMSG;
	*to = (struct dat_page){.p = page + HEADER_BYTES, .end = page + HEADER_BYTES + commit};
	memcpy(&to->time, page, 8);
	if (flags & MISSED) {
		to->missed = UINT64_MAX;
		if (flags & MISSED_STORED && bytes - HEADER_BYTES - commit >= 8)
			memcpy(&to->missed, to->end, 8);
	}
	return 0;
}

int dat_page_next(struct dat_page *pg, struct dat_record *out)
{
	while (pg->end - pg->p >= 4) {
		uint32_t head = word(pg->p), code = head & 31, delta = head >> 5,
			 room = (uint32_t)(pg->end - pg->p) - 4, n;
		const uint8_t *data = pg->p + 4;

		if (code == LEN_PADDING && !delta)
			break;
		if (code && code <= LEN_WORDS_MAX) {
			n = 4 * code;
		} else {
			if (room < 4)
				return -EBADMSG;
			n = code == 0 || code == LEN_PADDING ? word(data) : 4;
			if (n < 4)
				return -EBADMSG;
		}
		if (n > room)
			return -EBADMSG;
		pg->p = data + ((n + 3u) & ~3u);
		if (pg->p > pg->end)
			pg->p = pg->end;
		if (code == LEN_STAMP) {
			pg->time = (pg->time & TOP_BITS) | (((uint64_t)word(data) << 27) + delta);
			continue;
		}
		pg->time += code == LEN_EXTEND ? ((uint64_t)word(data) << 27) + delta : delta;
		if (code == LEN_EXTEND || code == LEN_PADDING)
			continue;
		*out = (struct dat_record){pg->time, code ? data : data + 4, code ? n : n - 4};
		return 1;
	}
	pg->p = pg->end;
	return 0;
}
