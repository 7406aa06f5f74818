/* SPDX-License-Identifier: MIT */
/* kbuf.c - see kbuf.h */
#include "output/kbuf.h"

void uft_kbuf_init(struct uft_kbuf *kb, void *page, uint32_t bytes, int (*sink)(void *ctx, const void *page), void *ctx)
{
	memset(kb, 0, sizeof(*kb));
	kb->sink = sink;
	kb->ctx = ctx;
	kb->page = page;
	kb->data_bytes = bytes - KBUF_HEADER;
}

void uft_kbuf_begin(struct uft_kbuf *kb, uint64_t ts_ns)
{
	if (ts_ns < kb->last_ns)
		ts_ns = kb->last_ns;
	memcpy(kb->page, &ts_ns, 8);
	kb->last_ns = ts_ns;
	kb->limit = kb->data_bytes - (kb->missed ? 8 : 0);	/* the count stands behind the data */
}

int uft_kbuf_flush(struct uft_kbuf *kb)
{
	uint8_t *data = kb->page + KBUF_HEADER;
	uint64_t commit = kb->used;
	uint32_t used = kb->used;

	if (!used)
		return 0;
	if (kb->missed && used + 8 <= kb->data_bytes) { /* GUARD(kbuf_missed_room, kb->missed) */
		commit |= KBUF_MISSED | KBUF_MISSED_COUNT;
		memcpy(data + used, &kb->missed, 8);
		used += 8;
		kb->missed = 0;
	}
	memset(data + used, 0, kb->data_bytes - used);
	memcpy(kb->page + 8, &commit, 8);
	kb->used = 0;
	return kb->sink(kb->ctx, kb->page);
}

int uft_kbuf_lost(struct uft_kbuf *kb, uint64_t n)
{
	int ret = uft_kbuf_flush(kb);

	kb->missed += n;
	kb->lost += n;
	return ret;
}
