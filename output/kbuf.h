/* SPDX-License-Identifier: MIT */
/*
 * kbuf.h - writes the kernel's ring-buffer pages, as trace_pipe_raw gives them
 *
 * One struct uft_kbuf is one CPU's stream: records go in by rising time, full pages come
 * out through a callback. A page is
 *
 *	u64 time stamp of the page	(of its first record)
 *	u64 commit			bytes of data; bit 31: records were lost before this page,
 *					bit 30: their number follows the data as a u64. Without room for
 *					the number the next page tells it.
 *	records				4-byte aligned: u32 {type_len:5, delta:27}, then by type_len
 *
 * A delta counts from the record before (or from the page's stamp); a time extend (30), which carries 59 bits, precedes
 * a delta of more than 27 bits. The rest of a page is zero. Context: control, one thread per object. Source: the
 * kernel's header_page and header_event files; tests/unit/output/kbuf.c reads all of it back with libtraceevent.
 */
#ifndef UFT_OUTPUT_KBUF_H
#define UFT_OUTPUT_KBUF_H

#include <errno.h>
#include <stdint.h>
#include <string.h>

#define KBUF_PAGE		4096u
#define KBUF_HEADER		16u
#define KBUF_DATA		(KBUF_PAGE - KBUF_HEADER)
#define KBUF_TIME_EXTEND	30u
#define KBUF_DELTA_BITS		27
#define KBUF_SMALL_MAX		112u	/* payload bytes whose length fits in type_len */
#define KBUF_PAYLOAD_MAX	(KBUF_DATA - 8)	/* of a record alone in a page, which has a head of two words */
#define KBUF_MISSED		(1ull << 31)
#define KBUF_MISSED_COUNT	(1ull << 30)

struct uft_kbuf {
	uint64_t last_ns;		/* of the last record */
	uint64_t entries, lost;		/* in all */
	uint64_t missed;		/* lost records that no page has reported yet */
	uint32_t used;			/* data bytes in the page; 0: no page begun */
	uint32_t limit;			/* data bytes it may have */
	int (*sink)(void *ctx, const void *page);
	void *ctx;
	uint32_t data_bytes;		/* of a page, behind its header */
	uint8_t *page;			/* the caller's */
};

/*
 * @page: a buffer of @bytes, KBUF_PAGE << 0..7, aligned to 8, valid as long as @kb is used. @sink takes pages of that
 * size and returns 0 or a negative errno, which the writing call returns.
 */
void uft_kbuf_init(struct uft_kbuf *kb, void *page, uint32_t bytes, int (*sink)(void *ctx, const void *page),
		   void *ctx);
/* Hands over the page being filled, if any. The next record starts a new one. */
int uft_kbuf_flush(struct uft_kbuf *kb);
/*
 * @n records were lost at this place: the next page that has room for their number tells so. At most one page
 * goes to the sink.
 */
int uft_kbuf_lost(struct uft_kbuf *kb, uint64_t n);

/* Begins a page whose first record is at @ts_ns. */
void uft_kbuf_begin(struct uft_kbuf *kb, uint64_t ts_ns);

/**
 * uft_kbuf_record - reserve one record
 * @kb:    the CPU
 * @ts_ns: its time; an earlier one than the last record's counts as the same
 * @bytes: payload, 4..KBUF_PAYLOAD_MAX
 * @out:   where the payload goes: fill all of it before the next call
 *
 * At most one page goes to the sink. Returns 0, -EMSGSIZE, or what the sink returned for the page before.
 * Context: control.
 */
static inline int uft_kbuf_record(struct uft_kbuf *kb, uint64_t ts_ns, uint32_t bytes, void **out)
{
	uint32_t words = (bytes + 3) / 4, need, head;
	uint64_t delta;
	uint8_t *p;
	int ret;

	if (!bytes || bytes > KBUF_PAYLOAD_MAX)
		return -EMSGSIZE;
	need = 4 + 4 * words + 4 * (bytes > KBUF_SMALL_MAX);
	if (kb->used && kb->used + need + 8 > kb->limit && (ret = uft_kbuf_flush(kb)) < 0)
		return ret;
	if (!kb->used)
		uft_kbuf_begin(kb, ts_ns);
	if (ts_ns < kb->last_ns)
		ts_ns = kb->last_ns;
	delta = ts_ns - kb->last_ns;
	kb->last_ns = ts_ns;
	p = kb->page + KBUF_HEADER + kb->used;
	if (delta >> KBUF_DELTA_BITS) {
		uint32_t extend[2] = { KBUF_TIME_EXTEND | (uint32_t)delta << 5, (uint32_t)(delta >> KBUF_DELTA_BITS) };

		memcpy(p, extend, 8);
		p += 8;
		kb->used += 8;
		delta = 0;
	}
	head = (uint32_t)delta << 5 | (bytes > KBUF_SMALL_MAX ? 0 : words);
	memcpy(p, &head, 4);
	p += 4;
	if (bytes > KBUF_SMALL_MAX) {
		uint32_t len = 4 + 4 * words;

		memcpy(p, &len, 4);
		p += 4;
	}
	memset(p + 4 * (words - 1), 0, 4);
	kb->used += need;
	kb->entries++;
	*out = p;
	return 0;
}

#endif
