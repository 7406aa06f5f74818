/* SPDX-License-Identifier: MIT */
/*
 * scan.c - count the content of a file exactly
 *
 * Reads every ring once without merging: counts need no order, and a record costs a nanosecond or two. A scan has
 * cursors of its own, so it may be asked for at any time. It reads and checks all payloads, which makes damaged_bytes
 * exact.
 */
#include <stdlib.h>
#include <string.h>

#include "stream/decode/decode.h"
#include "symbol/sorted.h"

struct scan {
	uint64_t events, calls, lost;
	uint64_t first, last;		/* clocks of records of calls */
	uint64_t damaged;
	uint32_t max_cpu, false_losses;
};

static const uint8_t scan_words[16] = {
	[UFT_REC_CONTEXT] = 3, [UFT_REC_FUNC] = 2, [UFT_REC_ENTRY] = 1, [UFT_REC_EXIT] = 1, [UFT_REC_CALL] = 2,
	[UFT_REC_UNWIND] = 1, [UFT_REC_EXIT_LEFT] = 2, [UFT_REC_LOST] = 2, [UFT_REC_FLAGS] = 1,
};
#define SCAN_EVENTS	(1u << UFT_REC_FUNC | 1u << UFT_REC_ENTRY | 1u << UFT_REC_EXIT | 1u << UFT_REC_CALL | \
			 1u << UFT_REC_EXIT_LEFT)
#define SCAN_CALLS	(1u << UFT_REC_FUNC | 1u << UFT_REC_ENTRY | 1u << UFT_REC_CALL)

static inline uint32_t scan_length(uint64_t word)
{
	unsigned kind = UFT_REC_KIND(word);

	return kind == UFT_REC_EVENT ? 1 + UFT_EVENT_WORDS(UFT_REC_VALUE(word)) : scan_words[kind];
}

/* The same rules for losses as decode.c: a header's count includes the LOST record that follows it. */
struct scan_lost {
	const struct uft_stream *st;
	uint64_t lost, in_header;
	uint32_t is_false;
};

static uint64_t scan_lose(struct scan_lost *l, uint64_t told)
{
	uint64_t more = dec_lost_more(l->st, l->lost, told);

	l->lost += more;
	l->is_false |= more != told;
	return more;
}

static void scan_lost_header(struct scan_lost *l, uint64_t lost)
{
	l->in_header = lost > l->lost ? scan_lose(l, lost - l->lost) : 0;
}

static void scan_lost_record(struct scan_lost *l, uint64_t lost)
{
	uint64_t known = lost < l->in_header ? lost : l->in_header;

	l->in_header -= known;
	scan_lose(l, lost - known);
}

/* Counts entries and exits, nearly all records of a graph. Time does not run backwards: the first is the earliest. */
static void scan_graph(struct dec_ring *r, uint64_t *last, struct scan *s)
{
	const uint8_t *p = r->cur.p, *lim = r->cur.lim, *from = p;
	uint64_t clock = *last, hi = r->hi, entries = 0, first = 0;

	for (; lim - p >= 8; p += 8) {
		uint64_t word = wire_word(p), at = hi | UFT_REC_CLOCK(word);
		unsigned kind = UFT_REC_KIND(word);

		if (kind != UFT_REC_ENTRY && kind != UFT_REC_EXIT)
			break;
		clock = at > clock ? at : clock;
		first = p == from ? clock : first;
		entries += kind == UFT_REC_ENTRY;
	}
	if (p == from)
		return;
	s->first = first < s->first ? first : s->first;
	s->last = clock > s->last ? clock : s->last;
	s->events += (size_t)(p - from) / 8;
	s->calls += entries;
	r->task->has_events = 1;
	r->cur.p = (uint8_t *)p;
	*last = clock;
}

/* Counts one ring; @r is a copy for this scan only. */
static void scan_ring(struct uft_stream *st, struct dec_ring *r, struct scan *s)
{
	struct cursor *c = &r->cur;
	struct scan_lost lost = { .st = st };
	uint64_t clock = r->key;
	struct uft_sub_header h;

	for (;;) {
		uint64_t word, at;
		unsigned kind;

		scan_graph(r, &clock, s);
		if (c->lim - c->p < 8 || c->lim - c->p < 8 * scan_length(wire_word(c->p))) {
			enum cur_result got = cur_next(c, &h);

			if (got == CUR_END)
				break;
			if (got == CUR_HEADER) {
				dec_context(st, r, h.clock, h.pid, h.tid);
				scan_lost_header(&lost, h.lost);
			}
			continue;
		}
		word = wire_word(c->p);
		kind = UFT_REC_KIND(word);
		if (1u << kind & SCAN_EVENTS ||
		    (kind == UFT_REC_EVENT && UFT_EVENT_IS_OWN(UFT_EVENT_ID(UFT_REC_VALUE(word))))) {
			at = r->hi | UFT_REC_CLOCK(word);
			clock = at > clock ? at : clock;
			if (clock < s->first)
				s->first = clock;
			if (clock > s->last)
				s->last = clock;
			s->events++;
			s->calls += 1u << kind & SCAN_CALLS ? 1 : 0;
			r->task->has_events = 1;
		} else if (kind == UFT_REC_CONTEXT) {
			at = wire_word(c->p + 16);
			dec_context(st, r, wire_word(c->p + 8), (uint32_t)at, (uint32_t)(at >> 32));
			clock = r->key > clock ? r->key : clock;
		} else if (kind == UFT_REC_LOST) {
			scan_lost_record(&lost, wire_word(c->p + 8));
		} else if (kind != UFT_REC_UNWIND && kind != UFT_REC_EVENT && kind != UFT_REC_FLAGS) {
			cur_skip_sub(c, kind != UFT_REC_PAD);
			continue;
		}
		c->p += 8 * scan_length(word);
	}
	if (r->final_lost > lost.lost)
		scan_lose(&lost, r->final_lost - lost.lost);
	s->lost += lost.lost;
	s->false_losses += lost.is_false;
	s->damaged += c->bad;
	if (r->cpu > s->max_cpu)
		s->max_cpu = r->cpu;
	cur_release(c);
}

/* Returns the bytes of the ring that are not in the file, before its last block. */
static double scan_missing(const struct rd_block *block, const struct rd_block *end, double *kept)
{
	double missing = 0;
	uint64_t at = 0;

	*kept = 0;
	for (; block < end; block++) {
		missing += block->position > at ? (double)(block->position - at) : 0;
		*kept += block->raw;
		at = block->position + block->raw;
	}
	return missing;
}

/* Counts losses of rings without a block: nothing of them could be saved. Both lists are in order of slice and ring. */
static void scan_lost_without_ring(const struct uft_stream *st, struct scan *s)
{
	uint32_t k = 0;

	for (size_t i = 0; i < st->file->nlost; i++) {
		const struct rd_lost *l = &st->file->lost[i];

		while (k < st->nring && (st->ring[k].slice_number < l->slice ||
					 (st->ring[k].slice_number == l->slice && st->ring[k].ring < l->ring)))
			k++;
		if (k == st->nring || st->ring[k].slice_number != l->slice || st->ring[k].ring != l->ring) {
			uint64_t lost = dec_lost_more(st, 0, l->lost);

			s->lost += lost;
			s->false_losses += lost != l->lost;
		}
	}
}

/* Counts tasks with records; a task that went through an exec counts once. */
static uint32_t scan_tasks(struct uft_stream *st)
{
	uint64_t *key = malloc((st->ntask + 1) * sizeof(*key));
	uint32_t n = 0, different = 0;

	for (uint32_t i = 0; key && i < st->ntask; i++)
		if (st->task[i]->has_events)
			key[n++] = st->task[i]->pub.pid | (uint64_t)st->task[i]->pub.tid << 32;
	if (!key)
		dec_no_memory(st);
	SORT_NUMBERS(key, n);
	for (uint32_t i = 0; i < n; i++)
		different += !i || key[i] != key[i - 1];
	free(key);
	return different;
}

/* Describes what the metadata tells, without a scan. */
static void scan_describe(struct uft_stream *st)
{
	const struct rd_file *f = st->file;
	struct uft_info *info = &st->info;

	info->format = "uft";
	info->bytes = f->size;
	memcpy(info->counters, f->counters, sizeof(info->counters));
	info->ncpus = f->head.ncpus;
	info->ring_bytes = f->head.ring_bytes;
	info->nobjects = f->nobjects;
	info->nfuncs = f->nfuncs;
	info->tracer = f->head.tracer;
	info->complete = f->is_complete;
	info->stop = f->stop;
	info->stop_bytes = f->stop_bytes;
	info->cmdline = f->cmdline ? f->cmdline : "";
	info->hostname = f->hostname ? f->hostname : "";
	info->realtime_ns = f->head.realtime_ns;
	info->uname = f->uname ? f->uname : "";
	st->has_info = 1;
}

void scan_known(struct uft_stream *st, const struct uft_info *counted)
{
	st->info = *counted;
	scan_describe(st);
}

void scan_info(struct uft_stream *st)
{
	struct scan s = { .first = UINT64_MAX };
	struct uft_info *info = &st->info;
	struct rd_file *f = st->file;
	struct dec_ring *ring = st->nring ? calloc(st->nring, sizeof(*ring)) : NULL;
	struct cur_pool pool = { .file = f };
	double overwritten = 0;

	if (st->nring && !ring)
		dec_no_memory(st);
	for (uint32_t i = 0; ring && i < st->nring; i++) {
		const struct dec_ring *from = &st->ring[i];
		struct cursor *one = &ring[i].cur;
		uint64_t before = s.events;
		double missing, kept;

		ring[i] = (struct dec_ring){
			.slice = from->slice, .image = from->image, .slice_number = from->slice_number,
			.ring = from->ring, .cpu = from->cpu, .final_lost = from->final_lost,
		};
		one->block = st->first_block[i];
		one->block_end = i + 1 < st->nring ? st->first_block[i + 1] : f->block + f->nblock;
		one->pool = &pool;
		ring[i].key = one->block->clock;
		pool.cursor = &one;
		pool.ncursor = 1;
		scan_ring(st, &ring[i], &s);
		missing = f->head.flags & UFT_FILE_OVERWRITE ? scan_missing(st->first_block[i], one->block_end, &kept) :
			0;
		if (missing > 0 && kept > 0)
			overwritten += missing / kept * (double)(s.events - before);
	}
	free(ring);
	info->events = s.events;
	info->calls = s.calls;
	/* The profile tracer writes sums, no records. */
	for (size_t i = 0; i < f->nprofile; i++)
		info->calls += f->profile[i].hits;
	scan_lost_without_ring(st, &s);
	info->lost = s.lost;
	info->false_losses = s.false_losses + f->nfalse;
	info->lost_parts = f->counters[UFT_CNT_LOST_PART] < info->lost ? f->counters[UFT_CNT_LOST_PART] : info->lost;
	info->lost -= info->lost_parts;
	info->overwritten = overwritten < 1e18 ? (uint64_t)overwritten : (uint64_t)1e18;
	if (s.events) {
		info->first_ns = uft_clock_ns(&st->clock, s.first);
		info->duration_ns = uft_clock_ns(&st->clock, s.last) - info->first_ns;
	}
	info->ntasks = scan_tasks(st);
	info->damaged_bytes = f->damaged + s.damaged;
	scan_describe(st);
}
