/* SPDX-License-Identifier: MIT */
/*
 * early_bitmap.c - the first arming of many sites of one kind, named by a bit and four bytes each
 *
 * A program's start waits for it. A list takes sixteen bytes per site in memory that is made for it, and the session
 * writes parts of a list in turns with the agent, which sleeps meanwhile. An order by bits has the facts that all sites
 * share once, and the agent gets all sites at once.
 *
 * This file decides nothing. It makes requests from the order, as many at a time as the cache holds, and passes them to
 * early.c. A site that early.c cannot arm in one step (another kind, foreign bytes, a thread runs) keeps its
 * bit: the session sends it again as a request, and a refusal is counted there.
 */
#include "runtime/patch/bytes/bytes.h"

/* sites at a time: 128 KiB of requests. Opening and closing a window costs as much as arming fifty sites */
#define ARM_SITES	8192u
#define ARM_WORD	64u

/* Makes requests of words [k, end). The session may write the order meanwhile: each part of it is read once. */
static uint32_t make_requests(const struct patch_object *o, const struct uft_site_order *order, const uint64_t *word,
			      const uint32_t *offset, uint32_t k, uint32_t end, uint32_t nstubs, struct uft_patch *p)
{
	struct uft_patch like = { .kind_len = order->kind_len, .state = order->state, .action = order->action };
	uint32_t n = 0;
	uint64_t left;

	for (; k < end; k++)
		for (left = uft_load(&word[k]); left; left &= left - 1) {
			like.stub = k * ARM_WORD + (uint32_t)__builtin_ctzll(left);
			if (like.stub >= nstubs)
				break;
			like.addr = o->text_start + uft_load(&offset[like.stub]);
			p[n++] = like;
		}
	return n;
}

static void take_bits(uint64_t *word, const struct uft_patch *p, uint32_t n)
{
	uint32_t i = 0, k;
	uint64_t done;

	while (i < n) {
		k = p[i].stub / ARM_WORD;
		for (done = 0; i < n && p[i].stub / ARM_WORD == k; i++)
			done |= (uint64_t)(p[i].status == UFT_ST_OK) << p[i].stub % ARM_WORD;
		word[k] &= ~done; /* GUARD(early_bits_done, 0) */
	}
}

long early_bits(struct patch_object *o, const struct uft_site_order *order, uint64_t *word, uint32_t n, unsigned flags)
{
	struct quiet quiet = { .asked = (flags & UFT_PATCH_STILL) != 0 };
	const uint32_t *offset = (const uint32_t *)(word + ((uint64_t)n + ARM_WORD - 1) / ARM_WORD);
	uint32_t nwords, k, some, changed = 0;
	struct uft_patch *p;

	if (order->text_start != o->text_start || (order->state != UFT_FUNCTION && order->state != UFT_GRAPH))
		return -EINVAL;
	n = n < o->nstubs ? n : o->nstubs;
	nwords = (n + ARM_WORD - 1) / ARM_WORD;
	p = quiet_at(&quiet, 0, 0) ? plat_map(ARM_SITES * sizeof(*p)) : NULL;
	if (!p)
		return 0;
	if (!(flags & UFT_PATCH_STILL))
		batch_begin();
	for (k = 0; k < nwords; k += ARM_SITES / ARM_WORD) {
		uint32_t end = k + ARM_SITES / ARM_WORD;

		some = make_requests(o, order, word, offset, k, end < nwords ? end : nwords, n, p);
		changed += early_new(o, p, some, &quiet);
		take_bits(word, p, some);
	}
	plat_unmap(p, ARM_SITES * sizeof(*p));
	plat_sync_cores();
	trace_count(UFT_CNT_PATCHED, changed);
	return changed;
}
