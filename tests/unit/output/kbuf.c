/* SPDX-License-Identifier: MIT */
/*
 * kbuf.c - pages written by output/kbuf.c are read back by libtraceevent, record by record
 *
 * Random records: all sizes, time steps from 0 to days, losses; fixed seeds.
 */
#include <kbuffer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output/kbuf.h"

#define MAX_PAGES 4096
#define MAX_RECORDS 20000

static struct {
	uint64_t ts, lost_before;
	uint32_t bytes;
	uint8_t fill;
} rec[MAX_RECORDS];
static uint8_t pages[MAX_PAGES][KBUF_PAGE];
static size_t npages;
static uint64_t state;

static int keep(void *ctx, const void *page)
{
	(void)ctx;
	if (npages == MAX_PAGES)
		return -ENOSPC;
	memcpy(pages[npages++], page, KBUF_PAGE);
	return 0;
}

static uint64_t rnd(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static uint64_t step(void)
{
	static const uint64_t edge[] = { 0, 1, (1 << 27) - 1, 1 << 27, (1 << 27) + 1, 1ull << 32, 86400000000000ull };
	unsigned k = rnd() % 16;

	return k < 7 ? edge[k] : rnd() % 1000;
}

static uint32_t size(int is_wide)
{
	return is_wide ? 4 + (uint32_t)(rnd() % (KBUF_PAYLOAD_MAX - 3)) : 20 + (uint32_t)(rnd() % 2) * 20;
}

static int fail(size_t i, const char *what, uint64_t got, uint64_t want)
{
	printf("FAIL record %zu: %s %llu, want %llu\n", i, what, (unsigned long long)got, (unsigned long long)want);
	return 1;
}

static uint64_t filled[KBUF_PAGE / 8];

static size_t write_all(size_t n, int is_wide)
{
	struct uft_kbuf *kb = malloc(sizeof(*kb));
	uint64_t ts = 1000;
	size_t done = 0;

	uft_kbuf_init(kb, filled, sizeof(filled), keep, NULL);
	for (size_t i = 0; i < n; i++) {
		void *p;

		rec[i].lost_before = rnd() % 100 ? 0 : 1 + rnd() % 1000;
		if (rec[i].lost_before && uft_kbuf_lost(kb, rec[i].lost_before))
			break;
		rec[i].ts = ts += step();
		rec[i].bytes = size(is_wide);
		rec[i].fill = (uint8_t)rnd();
		if (uft_kbuf_record(kb, rec[i].ts, rec[i].bytes, &p))
			break;
		memset(p, rec[i].fill, rec[i].bytes);
		done++;
	}
	uft_kbuf_flush(kb);
	if (kb->entries != done)
		done = 0;
	free(kb);
	return done;
}

static int check_record(struct kbuffer *k, size_t i, const uint8_t *data, uint64_t ts)
{
	uint32_t bytes = (rec[i].bytes + 3) & ~3u;

	if (ts != rec[i].ts)
		return fail(i, "time", ts, rec[i].ts);
	if ((uint32_t)kbuffer_event_size(k) != bytes)
		return fail(i, "size", (uint64_t)kbuffer_event_size(k), bytes);
	for (uint32_t b = 0; b < bytes; b++)
		if (data[b] != (b < rec[i].bytes ? rec[i].fill : 0))
			return fail(i, "byte", data[b], rec[i].fill);
	return 0;
}

static int read_all(size_t n)
{
	struct kbuffer *k = kbuffer_alloc(KBUFFER_LSIZE_8, KBUFFER_ENDIAN_LITTLE);
	uint64_t untold = 0;	/* lost records that a page without room for their number has left to the next */
	size_t i = 0;
	int bad = 0;

	for (size_t page = 0; page < npages && !bad; page++) {
		unsigned long long ts;
		uint8_t *data;
		uint64_t lost;

		kbuffer_load_subbuffer(k, pages[page]);
		lost = (uint64_t)kbuffer_missed_events(k);
		untold += rec[i].lost_before;
		if (((rec[i].bytes + 3) & ~3u) > KBUF_PAYLOAD_MAX - 8 ? lost : lost != untold)
			bad = fail(i, "lost", lost, untold);
		untold -= lost;
		data = kbuffer_read_event(k, &ts);
		for (size_t first = i; data && !bad; data = kbuffer_next_event(k, &ts), i++) {
			bad = i >= n || check_record(k, i, data, ts);
			if (i != first && rec[i].lost_before)
				bad = fail(i, "lost inside a page", 0, rec[i].lost_before);
		}
	}
	kbuffer_free(k);
	return bad || i != n ? fail(i, "end", i, n) : 0;
}

static int test_backwards(void)
{
	struct uft_kbuf *kb = malloc(sizeof(*kb));
	void *p;
	int bad;

	npages = 0;
	uft_kbuf_init(kb, filled, sizeof(filled), keep, NULL);
	bad = uft_kbuf_record(kb, 1000, 8, &p) || uft_kbuf_record(kb, 500, 8, &p);
	memset(p, 0, 8);
	uft_kbuf_flush(kb);
	bad |= uft_kbuf_record(kb, 100, 8, &p);		/* a new page: not earlier than the last either */
	uft_kbuf_flush(kb);
	bad |= npages != 2 || memcmp(pages[1], "\xe8\3\0\0\0\0\0\0", 8);
	bad |= uft_kbuf_record(kb, 100, KBUF_PAYLOAD_MAX + 1, &p) != -EMSGSIZE;
	bad |= uft_kbuf_record(kb, 100, 0, &p) != -EMSGSIZE;
	free(kb);
	printf("%s backwards\n", bad ? "FAIL" : "ok");
	return bad;
}

int main(void)
{
	int bad = 0;

	for (uint64_t seed = 1; seed <= 40 && !bad; seed++) {
		int is_wide = seed & 1;
		size_t want = is_wide ? 4000 : MAX_RECORDS, n;

		state = seed * 0x9e3779b97f4a7c15ull;
		npages = 0;
		n = write_all(want, is_wide);
		bad = n != want ? fail(n, "written", n, want) : read_all(n);
	}
	printf("%s round trip\n", bad ? "FAIL" : "ok");
	return bad | test_backwards();
}
