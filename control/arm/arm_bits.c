// SPDX-License-Identifier: MIT
/*
 * arm_bits.c - send many sites of an object that get the same state as a bit each
 *
 * A change of the tracer or of a filter brings most sites of an object to one state. A site that the target knows takes
 * one bit (UFT_SITES_KNOWN), a hundredth of its size in a list. A starting target knows none: then the order has what
 * the sites have in common once, and for each site a bit and four bytes, its offset (UFT_SITES_FIRST). The process is
 * in its exec stop meanwhile.
 *
 * The answer has the bits of sites that the runtime leaves to lists. These stay in the difference, so the list that
 * follows (arm_sites.c) contains them, and its answer is counted.
 */
#include "control/arm/arm_sites.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* fewer sites are not worth a command of their own */
#define BITS_MIN	256u
#define SAMPLE		1024u	/* sites of an object that are looked at to find the most frequent kind */

static int is_first(const struct uft_site_order *o)
{
	return o->form == UFT_SITES_FIRST;
}

/* Returns 1 if an order of this form can bring the site to its next state. */
static int is_candidate(const struct site_diff *d, const struct uft_site_order *o, size_t i)
{
	const struct uft_site *site = &diff_mapped(d)->obj->site[i];

	if (d->next[i] == WANT_NOT || (diff_state(d)[i] == WANT_NOT) != is_first(o))
		return 0;
	return !is_first(o) || (!site->call_name && !UFT_SITE_IS_OWN(site->kind));
}

static unsigned most_of(const uint32_t *n, unsigned size)
{
	unsigned best = 0;

	for (unsigned i = 1; i < size; i++)
		best = n[i] > n[best] ? i : best;
	return best;
}

/* Puts the most frequent next state and kind of the sites into the order. 0: an order does not pay or is impossible. */
static int choose(const struct site_diff *d, struct uft_site_order *o)
{
	const struct uft_site *site = diff_mapped(d)->obj->site;
	uint32_t states[SITE_NWANTS] = { 0 }, kinds[256] = { 0 };
	unsigned best;

	for (size_t i = 0; i < d->nsite; i += is_first(o) ? 1 + d->nsite / SAMPLE : 1) {
		if (!is_candidate(d, o, i))
			continue;
		states[site_want_index(d->next[i])]++;
		if (is_first(o))
			kinds[UFT_KIND_LEN(site[i].kind, site[i].len)]++;
	}
	best = most_of(states, SITE_NWANTS);
	o->state = WANT_STATE(site_want_at(best));
	o->action = WANT_ACTION(site_want_at(best));
	o->kind_len = (uint8_t)most_of(kinds, 256);
	if (is_first(o))
		return states[best] && (o->state == UFT_FUNCTION || o->state == UFT_GRAPH);
	return states[best] >= BITS_MIN;
}

/* Fills in the order's bits and, for sites that the target does not know, their offsets. Returns the bits set. */
static size_t fill(const struct site_diff *d, const struct uft_site_order *o, uint64_t *word,
		   uint32_t uft_shared *offset)
{
	const struct uft_mapped *m = diff_mapped(d);
	uint64_t base = m->text_start - m->bias;
	uint16_t state = WANT_OF(o->state, o->action);
	size_t n = 0;

	for (size_t i = 0; i < d->nsite; i++) {
		const struct uft_site *site = &m->obj->site[i];
		int is_one = d->next[i] == state && is_candidate(d, o, i);

		if (is_first(o)) {
			is_one &= UFT_KIND_LEN(site->kind, site->len) == o->kind_len && site->addr - base <= UINT32_MAX;
			SHARED_STORE(&offset[i], (uint32_t)(site->addr - base));
		}
		word[i / 64] |= (uint64_t)is_one << i % 64;
		n += (size_t)is_one;
	}
	return n;
}

/* Notes the sites that are done. Of the answer, only bits that were sent are used. */
static void take_answer(struct site_diff *d, uint16_t state, const uint64_t *sent, const uint64_t uft_shared *answer)
{
	for (uint32_t k = 0; k < (d->nsite + 63) / 64; k++) {
		uint64_t done = sent[k] & ~SHARED_LOAD(&answer[k]); /* GUARD(arm_bits_answer, sent[k]) */

		for (uint32_t at, n; done; done &= n < 64 ? ~(((1ull << n) - 1) << at) : 0) {
			at = (uint32_t)__builtin_ctzll(done);
			n = ~(done >> at) ? (uint32_t)__builtin_ctzll(~(done >> at)) : 64;
			site_note_states(d->t, d->object, k * 64 + at, n, state);
			memset(d->next + k * 64 + at, 0xff, n * sizeof(*d->next));
		}
	}
}

size_t bits_bytes(enum uft_site_form form, size_t nsite)
{
	return (nsite + 63) / 64 * sizeof(uint64_t) + (form == UFT_SITES_FIRST ? nsite * sizeof(uint32_t) : 0);
}

static int send_form(struct site_diff *d, struct uft_site_order *o)
{
	size_t nwords = (d->nsite + 63) / 64;
	struct uft_cmd uft_shared *c = arena_cmd(&d->s->arena, d->t->slice);
	uint64_t uft_shared *word = (uint64_t uft_shared *)channel_payload(c);
	uint64_t *sent;
	int ret = 0;

	if (bits_bytes(o->form, d->nsite) > d->s->arena.map->cmd_bytes - UFT_CMD_PAYLOAD || !choose(d, o))
		return 0;
	if (command_room(d->s, d->t, bits_bytes(o->form, d->nsite)) < bits_bytes(o->form, d->nsite))
		return 0;		/* parts of lists need less memory */
	ret = command_object(d->s, d->t, d->object);
	sent = ret ? NULL : calloc(nwords, sizeof(*sent));
	if (!sent)
		return ret;		/* no memory: lists need less at a time */
	if (fill(d, o, sent, (uint32_t uft_shared *)(word + nwords)) >= BITS_MIN) {
		c = command_begin(d->s, d->t, UFT_CMD_PATCH, d->nsite, d->object);
		SHARED_STORE(&c->flags, command_patch_flags(d->s, d->t, d->object));
		shared_write(&c->sites, o, sizeof(*o));
		shared_write(word, sent, nwords * sizeof(*sent));
		ret = command_post(d->s, d->t);
		if (!ret)
			ret = command_wait(d->s, d->t);
		if (!ret)
			take_answer(d, WANT_OF(o->state, o->action), sent, word);
	}
	free(sent);
	return ret;
}

int bits_send(struct site_diff *d)
{
	struct uft_site_order known = { .form = UFT_SITES_KNOWN };
	struct uft_site_order first = { .form = UFT_SITES_FIRST, .text_start = diff_mapped(d)->text_start };
	int ret = 0;

	if (diff_mapped(d)->obj->machine != EM_X86_64 || d->nsite < BITS_MIN || d->force)
		return 0;
	if (d->t->obj[d->object].is_sent)
		ret = send_form(d, &known); /* GUARD(arm_bits_sent, 0) */
	if (ret != -ESRCH && ret != -ETIMEDOUT && d->t->remote)
		ret = send_form(d, &first);
	return ret == -ESRCH || ret == -ETIMEDOUT ? ret : 0;
}
