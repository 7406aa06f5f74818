/* SPDX-License-Identifier: MIT */
/*
 * pack.c - see pack.h; uft_file.h describes the code
 *
 * Speed comes from two choices. Each part of a record (kind, id, clock) has an array of its own, so that no load waits
 * for the length of what was read before it. The stack of open calls is a circle, so that a wrong depth reads a wrong
 * id but never beyond the stack. Loops without a branch on kind and step were slower: 102 and 150 M calls/s instead of
 * 147 and 217.
 *
 * The encoder makes all decisions. The decoder's stack follows the same steps, so it has the same content wherever the
 * encoder relied on it. A word that the stack does not explain (an exit after loss, another thread) is a literal.
 *
 * FUNC records have a code of their own, without a stack. The ring of a function recording has no ENTRY and no EXIT, so
 * a block has one code or the other, and the loop of calls does not check for FUNC.
 *
 * Measured in the commits that made this file; bench/pack.c prints the figures.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stream/wire/pack.h"
#include "stream/wire/uft_file.h"
#include "stream/wire/wire.h"
#include "uft/abi.h"

#define WORDS_MAX	(UFT_BLOCK_MAX / 8)
#define CODE_PAIR	240u			/* codes from here on have a second byte */
#define IDS_MAX		(CODE_PAIR + 16 * 256u)	/* per block; further ids are literal */
#define STEP_PAIR	224u			/* steps of the clock from here on have a second byte, */
#define STEP_WORD	255u			/* from here on four more */
#define STEP_PAIR_END	((STEP_WORD - STEP_PAIR) << 8)
#define STACK		4096u
#define BELOW_MAX	512u			/* calls that were open before the block */
#define DEPTH_MAX	((int)(STACK - BELOW_MAX) - 1)
/* frames searched for the call of an exit that does not end the innermost call */
#define LEFT_SEARCH	64
#define SLOTS_LOG	14u

_Static_assert(PACK_SLACK >= 64 * 4 + 64 * 2, "what 64 records can take beyond the arrays");
_Static_assert(BELOW_MAX < STACK && IDS_MAX < 1u << 16, "pack");

struct run { uint32_t records, words, pops; };
struct slot { uint32_t id; uint16_t block, code; };

struct pack {
	uint32_t stack[STACK];
	uint32_t dict[IDS_MAX];
	uint64_t parent[IDS_MAX];		/* UFT_PACK_FUNCS: the second half of the pair whose id is in dict */
	/* Of the encoder */
	struct slot slot[1u << SLOTS_LOG];	/* id, or id and parent -> code; a slot of an earlier block is empty */
	uint32_t below[BELOW_MAX];
	uint16_t block;
	unsigned code_kind;			/* enum uft_pack_code */
	uint32_t clock;				/* base of the first step */
	uint32_t nids, nbelow, nruns, nwords;
	int32_t sp, deepest;			/* depth relative to the begin of the block; the deepest one */
	struct run run[WORDS_MAX + 1];
	uint64_t bits[WORDS_MAX / 64 + 1];
	uint8_t step[WORDS_MAX + 8];
	uint8_t code[2 * WORDS_MAX + 8];
	uint8_t more[4 * WORDS_MAX + 8];	/* bytes of steps beyond their first */
	uint64_t word[WORDS_MAX];
	struct wire out;
};

struct pack *pack_new(void)
{
	return calloc(1, sizeof(struct pack));
}

void pack_free(struct pack *p)
{
	if (p)
		wire_free(&p->out);
	free(p);
}

/* ---- Encoding ------------------------------------------------------------------------------- */

static inline struct slot *slot_of(struct pack *p, uint32_t id)
{
	return &p->slot[(id * 0x9e3779b1u) >> (32 - SLOTS_LOG)];
}

/*
 * Returns the slot of an id, searched from @s, where its hash leads; adds it if the block has room. NULL: no room. With
 * @parent the slot of the pair of both.
 */
static inline __attribute__((always_inline)) struct slot *find(struct pack *p, struct slot *s, uint32_t id,
							       const uint64_t *parent)
{
	while (s->block == p->block && (s->id != id || (parent && p->parent[s->code] != *parent)))
		s = s + 1 < p->slot + (1u << SLOTS_LOG) ? s + 1 : p->slot;
	if (s->block != p->block) {
		if (p->nids == IDS_MAX)
			return NULL;
		*s = (struct slot){ id, p->block, (uint16_t)p->nids };
		if (parent)
			p->parent[p->nids] = *parent;
		p->dict[p->nids++] = id;
	}
	return s;
}

/* Finds an id that is not in its first slot. */
static struct slot *find_slot(struct pack *p, uint32_t id)
{
	return find(p, slot_of(p, id), id, NULL);
}

static struct slot *find_pair(struct pack *p, uint32_t id, uint64_t parent)
{
	return find(p, &p->slot[((id ^ parent << 20 ^ parent >> 44) * 0x9e3779b97f4a7c15ull) >> (64 - SLOTS_LOG)], id,
		    &parent);
}

static void begin_block(struct pack *p)
{
	if (!++p->block) {
		memset(p->slot, 0, sizeof(p->slot));
		p->block = 1;
	}
	memset(&p->stack[STACK - BELOW_MAX - 1], 0xff, (BELOW_MAX + 1) * sizeof(p->stack[0]));
	p->nids = p->nbelow = p->nruns = p->nwords = 0;
	p->sp = p->deepest = 0;
	p->run[0] = (struct run){ 0 };
}

/* Does an exit, not of the innermost known call, end a call that was open before the block, so that it can be coded? */
static int exits_below(struct pack *p, uint32_t id)
{
	if (p->sp != -(int32_t)p->nbelow || p->nbelow == BELOW_MAX || p->deepest > DEPTH_MAX)
		return 0;
	p->below[p->nbelow++] = id;
	return 1;
}

/* Returns how many of the innermost calls end by a literal word. */
static uint32_t pops_of(const struct pack *p, uint64_t w)
{
	int32_t depth = p->sp + (int32_t)p->nbelow;	/* may be negative after the stack went around */
	uint32_t open = depth > 0 ? (uint32_t)depth : 0, id = UFT_REC_VALUE(w);

	switch (UFT_REC_KIND(w)) {
	case UFT_REC_UNWIND:
		return id < open ? id : open;
	case UFT_REC_EXIT:
		for (uint32_t i = 1; i <= open && i <= LEFT_SEARCH; i++)
			if (p->stack[(uint32_t)(p->sp - (int32_t)i) & (STACK - 1)] == id)
				return i;
		return 0;
	case UFT_REC_CONTEXT:
		return open;		/* mostly of another thread */
	default:
		return 0;
	}
}

/* The last run's words stand behind its records, so later records begin another run. */
static void begin_run(struct pack *p, uint32_t records)
{
	if (p->run[p->nruns].words)
		p->run[++p->nruns] = (struct run){ 0 };
	p->run[p->nruns].records = records;
}

/* @records: coded records since the last literal word. */
static void put_literal(struct pack *p, uint64_t w, uint32_t records)
{
	uint32_t pops = pops_of(p, w);
	struct run *r;

	if (records)
		begin_run(p, records);
	r = &p->run[p->nruns];
	r->words++;
	r->pops += pops;
	p->sp -= (int32_t)pops;
	p->word[p->nwords++] = htole64(w);
}

/*
 * The encoder's place in its arrays, with sp and deepest of struct pack, which are written back when a function needs
 * them.
 */
struct sink {
	uint8_t *code, *more;
	uint32_t n, clock;		/* coded records; the clock of the last one */
	uint64_t bits;			/* of the last 64 records */
	int32_t sp, deepest;
	uint16_t block;
};

/* Makes a block of its arrays. @to by value, because a sink whose address is taken is not kept in registers. */
static size_t put_block(struct pack *p, struct sink to)
{
	size_t ncode = (size_t)(to.code - p->code), nmore = (size_t)(to.more - p->more);
	struct wire *w = &p->out;
	uint64_t last_parent = 0;
	uint32_t last = 0;

	w->n = 0;
	wire_put_u(w, UFT_PACK_VERSION);
	wire_put_u(w, p->code_kind);
	wire_put_u(w, p->clock);
	wire_put_u(w, to.n);
	wire_put_u(w, p->nids);
	wire_put_u(w, p->nbelow);
	wire_put_u(w, p->nruns);
	wire_put_u(w, ncode);
	wire_put_u(w, nmore);
	for (uint32_t i = 0; i < p->nids; last = p->dict[i++]) {
		wire_put_s(w, (int64_t)p->dict[i] - last);
		if (p->code_kind == UFT_PACK_FUNCS) {
			wire_put_s(w, (int64_t)(p->parent[i] - last_parent));
			last_parent = p->parent[i];
		}
	}
	for (uint32_t i = 0; i < p->nbelow; i++)
		wire_put_u(w, p->below[i]);
	for (uint32_t i = 0; i < p->nruns; i++) {
		wire_put_u(w, p->run[i].records);
		wire_put_u(w, p->run[i].words);
		wire_put_u(w, p->run[i].pops);
	}
	if (p->code_kind == UFT_PACK_CALLS)
		wire_put_raw(w, p->bits, (to.n + 7) / 8);
	wire_put_raw(w, p->step, to.n);
	wire_put_raw(w, p->code, ncode);
	wire_put_raw(w, p->more, nmore);
	wire_put_raw(w, p->word, 8 * (size_t)p->nwords);
	return w->err ? 0 : w->n;
}

static inline void put_code(struct sink *to, uint32_t code)
{
	if (__builtin_expect(code >= CODE_PAIR, 0)) {
		*to->code++ = (uint8_t)(CODE_PAIR + ((code - CODE_PAIR) >> 8));
		*to->code++ = (uint8_t)(code - CODE_PAIR);
	} else {
		*to->code++ = (uint8_t)code;
	}
}

/* 0: the id has no code. */
static inline int put_entry(struct pack *p, struct sink *to, uint32_t id)
{
	const struct slot *s = slot_of(p, id);

	if (__builtin_expect(s->id != id || s->block != to->block, 0)) {
		s = find_slot(p, id);
		if (!s)
			return 0;
	}
	put_code(to, s->code);
	p->stack[(uint32_t)to->sp++ & (STACK - 1)] = id;
	to->deepest = to->sp > to->deepest ? to->sp : to->deepest;
	return 1;
}

/* 0: it is not the exit of the innermost call. */
static inline int put_exit(struct pack *p, struct sink *to, uint32_t id)
{
	if (__builtin_expect(p->stack[(uint32_t)(to->sp - 1) & (STACK - 1)] != id, 0)) {
		p->sp = to->sp;
		p->deepest = to->deepest;
		if (!exits_below(p, id))
			return 0;
	}
	to->sp--;
	return 1;
}

static inline void put_step(struct pack *p, struct sink *to, uint32_t clock)
{
	uint32_t step = clock - to->clock;

	to->clock = clock;
	if (step < STEP_PAIR) {
		p->step[to->n] = (uint8_t)step;
	} else if (step < STEP_PAIR_END) {
		p->step[to->n] = (uint8_t)(STEP_PAIR + (step >> 8));
		*to->more++ = (uint8_t)step;
	} else {
		p->step[to->n] = STEP_WORD;
		step = htole32(step);
		memcpy(to->more, &step, 4);
		to->more += 4;
	}
}

static inline void put_kind(struct pack *p, struct sink *to, unsigned is_exit)
{
	to->bits = to->bits >> 1 | (uint64_t)is_exit << 63;
	if (!(++to->n & 63))
		p->bits[to->n / 64 - 1] = htole64(to->bits);
}

static uint64_t word_at(const uint8_t *raw)
{
	return le64toh(wire_word(raw));
}

static void end_runs(struct pack *p, uint32_t records)
{
	if (records)
		begin_run(p, records);
	p->nruns++;
}

static struct sink encode_calls(struct pack *p, const uint8_t *raw, size_t n)
{
	struct sink to = { .code = p->code, .more = p->more, .block = p->block, .clock = p->clock };
	uint32_t literal_at = 0;

	for (const uint8_t *end = raw + n; raw < end; raw += 8) {
		uint64_t w = word_at(raw);
		unsigned kind = UFT_REC_KIND(w);
		int is_coded = kind == UFT_REC_ENTRY ? put_entry(p, &to, UFT_REC_VALUE(w)) :
			       kind == UFT_REC_EXIT ? put_exit(p, &to, UFT_REC_VALUE(w)) : 0;

		if (__builtin_expect(is_coded, 1)) {
			put_step(p, &to, UFT_REC_CLOCK(w));
			put_kind(p, &to, kind == UFT_REC_EXIT);
		} else {
			p->sp = to.sp;
			put_literal(p, w, to.n - literal_at);
			literal_at = to.n;
			to.sp = p->sp;
		}
	}
	if (to.n & 63)
		p->bits[to.n / 64] = htole64(to.bits >> (64 - (to.n & 63)));
	end_runs(p, to.n - literal_at);
	return to;
}

static struct sink encode_funcs(struct pack *p, const uint8_t *raw, size_t n)
{
	struct sink to = { .code = p->code, .more = p->more, .clock = p->clock };
	uint32_t literal_at = 0;

	for (const uint8_t *end = raw + n; raw < end; raw += 8) {
		uint64_t w = word_at(raw);
		const struct slot *s = UFT_REC_KIND(w) == UFT_REC_FUNC && end - raw >= 16 ?
			find_pair(p, UFT_REC_VALUE(w), word_at(raw + 8)) : NULL;

		if (s) {
			put_code(&to, s->code);
			put_step(p, &to, UFT_REC_CLOCK(w));
			to.n++;
			raw += 8;
		} else {
			put_literal(p, w, to.n - literal_at);
			literal_at = to.n;
		}
	}
	end_runs(p, to.n - literal_at);
	return to;
}

/* Chooses the code of the first record that has one; its clock is the base of the first step. */
static void choose_code(struct pack *p, const uint8_t *raw, size_t n)
{
	p->code_kind = UFT_PACK_CALLS;
	p->clock = 0;
	for (size_t i = 0; i < n; i += 8) {
		uint64_t w = word_at(raw + i);
		unsigned kind = UFT_REC_KIND(w);

		if (kind != UFT_REC_FUNC && kind != UFT_REC_ENTRY && kind != UFT_REC_EXIT)
			continue;
		p->code_kind = kind == UFT_REC_FUNC ? UFT_PACK_FUNCS : UFT_PACK_CALLS;
		p->clock = UFT_REC_CLOCK(w);
		break;
	}
}

size_t pack_encode(struct pack *p, const uint8_t *raw, size_t n, size_t room, const uint8_t **out)
{
	size_t size;

	if (!n || n & 7 || n > UFT_BLOCK_MAX)
		return 0;
	begin_block(p);
	choose_code(p, raw, n);
	size = put_block(p, p->code_kind == UFT_PACK_FUNCS ? encode_funcs(p, raw, n) : encode_calls(p, raw, n));
	*out = p->out.p;
	return size < room ? size : 0;
}

/* ---- Decoding ------------------------------------------------------------------------------- */

/* A block's arrays and the decoder's place in them. */
struct source {
	struct wire_in in;		/* the runs */
	const uint8_t *bits, *step, *code, *more, *word;
	const uint8_t *code_end, *more_end, *word_end;
	uint32_t n, at, nruns, nids;
	uint32_t clock, sp;
	unsigned code_kind;		/* enum uft_pack_code */
	unsigned words;			/* of a coded record */
};

static void get_dict(struct pack *p, struct source *s)
{
	uint64_t parent = 0;
	uint32_t id = 0;

	for (uint32_t i = 0; i < s->nids; i++) {
		p->dict[i] = id = (id + (uint32_t)wire_get_s(&s->in)) & UFT_REC_VALUE_MAX;
		if (s->code_kind == UFT_PACK_FUNCS)
			p->parent[i] = parent += (uint64_t)wire_get_s(&s->in);
	}
	for (uint32_t i = s->nids; i < CODE_PAIR; i++)
		p->dict[i] = p->parent[i] = 0;
}

static int open_source(struct pack *p, struct source *s, const uint8_t *packed, size_t stored, size_t n)
{
	struct wire_in *in = &s->in;
	uint32_t nbelow, ncode, nmore, nbits;
	uint64_t arrays;

	*in = (struct wire_in){ .p = packed, .end = packed + stored };
	if (wire_get_u(in) != UFT_PACK_VERSION)
		return -EBADMSG;
	s->code_kind = wire_get_u32(in);
	s->clock = wire_get_u32(in);
	s->n = wire_get_u32(in);
	s->nids = wire_get_u32(in);
	nbelow = wire_get_u32(in);
	s->nruns = wire_get_u32(in);
	ncode = wire_get_u32(in);
	nmore = wire_get_u32(in);
	s->words = s->code_kind == UFT_PACK_FUNCS ? 2 : 1;
	if (in->bad || s->code_kind > UFT_PACK_FUNCS || n & 7 || s->n > n / 8 / s->words || s->nids > IDS_MAX ||
	    nbelow > BELOW_MAX)
		return -EBADMSG;
	nbits = s->code_kind == UFT_PACK_CALLS ? (s->n + 7) / 8 : 0;
	arrays = (uint64_t)nbits + s->n + ncode + nmore + (n / 8 - (size_t)s->n * s->words) * 8;
	if (arrays > stored) /* GUARD(open_source_arrays) */
		return -EBADMSG;
	s->bits = packed + stored - arrays;
	s->step = s->bits + nbits;
	s->code = s->step + s->n;
	s->more = s->code_end = s->code + ncode;
	s->word = s->more_end = s->more + nmore;
	s->word_end = packed + stored;
	in->end = s->bits;
	get_dict(p, s);
	memset(p->stack, 0, sizeof(p->stack));
	for (uint32_t i = 1; i <= nbelow; i++)
		p->stack[STACK - i] = wire_get_u32(in) & UFT_REC_VALUE_MAX;
	s->sp = 0;
	s->at = 0;
	return in->bad ? -EBADMSG : 0;
}

static inline uint32_t get_step(uint32_t step, const uint8_t **more)
{
	uint32_t d;

	if (__builtin_expect(step < STEP_PAIR, 1))
		return step;
	if (step != STEP_WORD)
		return (step - STEP_PAIR) << 8 | *(*more)++;
	memcpy(&d, *more, 4);
	*more += 4;
	return le32toh(d);
}

static inline void put_word(uint8_t *to, uint64_t w)
{
	w = htole64(w);
	memcpy(to, &w, 8);
}

/* Decodes up to 64 records, whose bits are @bits. Reads at most PACK_SLACK bytes beyond the end of the arrays. */
static int decode_some(struct pack *p, struct source *s, uint64_t bits, uint32_t n, uint8_t *to)
{
	const uint8_t *code = s->code, *more = s->more, *step = s->step + s->at;
	uint32_t clock = s->clock, sp = s->sp, nids = s->nids;

	for (uint32_t i = 0; i < n; i++, bits >>= 1, to += 8) {
		uint32_t hi;

		if (bits & 1) {
			hi = p->stack[--sp & (STACK - 1)] | (uint32_t)UFT_REC_EXIT << UFT_REC_VALUE_BITS;
		} else {
			uint32_t c = *code++;

			if (__builtin_expect(c >= CODE_PAIR, 0)) {
				c = CODE_PAIR + ((c - CODE_PAIR) << 8 | *code++);
				if (c >= nids) /* GUARD(decode_some_nids) */
					return -EBADMSG;
			}
			hi = p->dict[c];
			p->stack[sp++ & (STACK - 1)] = hi;
			hi |= (uint32_t)UFT_REC_ENTRY << UFT_REC_VALUE_BITS;
		}
		clock += get_step(step[i], &more);
		put_word(to, clock | (uint64_t)hi << 32);
	}
	s->code = code;
	s->more = more;
	s->clock = clock;
	s->sp = sp;
	s->at += n;
	return code > s->code_end || more > s->more_end ? -EBADMSG : 0;
}

static int decode_calls(struct pack *p, struct source *s, uint32_t n, uint8_t *to)
{
	while (n) {
		uint32_t some = 64 - (s->at & 63);
		uint64_t bits;

		if (some > n)
			some = n;
		memcpy(&bits, s->bits + s->at / 64 * 8, 8);
		if (decode_some(p, s, le64toh(bits) >> (s->at & 63), some, to))
			return -EBADMSG;
		to += 8 * (size_t)some;
		n -= some;
	}
	return 0;
}

static int decode_funcs(struct pack *p, struct source *s, uint32_t n, uint8_t *to)
{
	for (uint32_t i = 0; i < n; i++, to += 16) {
		uint32_t c = *s->code++;

		if (c >= CODE_PAIR) {
			c = CODE_PAIR + ((c - CODE_PAIR) << 8 | *s->code++);
			if (c >= s->nids) /* GUARD(decode_funcs_nids) */
				return -EBADMSG;
		}
		s->clock += get_step(s->step[s->at++], &s->more);
		if (s->code > s->code_end || s->more > s->more_end) /* GUARD(decode_funcs_code_end) */
			return -EBADMSG;
		put_word(to, UFT_REC_WORD(UFT_REC_FUNC, p->dict[c], s->clock));
		put_word(to + 8, p->parent[c]);
	}
	return 0;
}

int pack_decode(struct pack *p, const uint8_t *packed, size_t stored, uint8_t *to, size_t n)
{
	struct source s;

	if (open_source(p, &s, packed, stored, n))
		return -EBADMSG;
	for (uint32_t i = 0; i < s.nruns; i++) {
		uint32_t records = wire_get_u32(&s.in), words = wire_get_u32(&s.in), pops = wire_get_u32(&s.in);

		if (s.in.bad || records > s.n - s.at || words > (size_t)(s.word_end - s.word) / 8)
			return -EBADMSG;
		if (s.code_kind == UFT_PACK_FUNCS ? decode_funcs(p, &s, records, to) : decode_calls(p, &s, records, to))
			return -EBADMSG;
		to += 8 * (size_t)records * s.words;
		memcpy(to, s.word, 8 * (size_t)words);
		s.word += 8 * (size_t)words;
		to += 8 * (size_t)words;
		s.sp -= pops;
	}
	return s.at == s.n && s.word == s.word_end && s.code == s.code_end && s.more == s.more_end &&
		s.in.p == s.in.end ? 0 : -EBADMSG;
}
