/* SPDX-License-Identifier: MIT */
/*
 * bytes.h - objects of the patcher where instructions have any length, and who does what: site.c decides bytes,
 * unprepared.c those of plain functions, stubs.c makes the code that sites jump to, batch.c writes, known_sites.c and
 * known_bitmap.c switch many, hook.c places hooks, patch.c is the contract of runtime.h
 */
#ifndef UFT_PATCH_BYTES_H
#define UFT_PATCH_BYTES_H

#include <linux/errno.h>
#include <stdint.h>

#include "runtime/arch/arch.h"
#include "runtime/patch/thunk.h"
#include "runtime/platform/platform.h"
#include "runtime/runtime.h"

#define PATCH_LINE	64u	/* bytes that a CPU fetches from one state of its cache, at least */
#define PATCH_WORD	8u	/* bytes that the kernel writes for us at once */

/* Are two bytes at @at and behind it written at once? Not over two lines; nor, where the kernel has to write, over
 * two words. */
static inline int is_last_of_line(uintptr_t at)
{
	uintptr_t last = (uft_rt.no_mprotect /* GUARD(last_of_line) */ ? PATCH_WORD : PATCH_LINE) - 1;

	return (at & last) == last; /* GUARD(is_last_of_line) */
}

/* ---- what stands at a site (site.c) ------------------------------------------------------------- */

/* Up to 16 bytes of code as numbers: byte i of the window is bits 8i of lo, then hi. */
struct code {
	uint64_t lo, hi;
};

/* The low @bytes bytes; 8 and more: all. */
static inline uint64_t code_mask(unsigned bytes)
{
	return bytes >= 8 ? ~0ull : (1ull << bytes * 8) - 1;
}

static inline void code_from(struct code *c, const void *sixteen, unsigned n)
{
	uint64_t buf[2];

	__builtin_memcpy(buf, sixteen, 16);
	c->lo = buf[0] & code_mask(n);
	c->hi = n > 8 ? buf[1] & code_mask(n - 8) : 0;
}

/* The @n bytes at @at, which the caller knows to be mapped; the page after them may not be. */
static inline void code_load(struct code *c, uintptr_t at, unsigned n)
{
	uint64_t buf[2] = { 0, 0 };
	unsigned i;

	if ((at & (PLAT_PAGE - 1)) <= PLAT_PAGE - 16) {
		code_from(c, (const void *)at, n);
		return;
	}
	for (i = 0; i < n; i++)
		buf[i / 8] |= (uint64_t)((const uint8_t *)at)[i] << 8 * (i & 7);
	c->lo = buf[0];
	c->hi = buf[1];
}

enum form {
	FORM_ORIGINAL,		/* as found */
	FORM_NOP,		/* idle: a nop */
	FORM_NOP_F,		/* still a nop, everything but the first bytes as in FORM_FUNCTION */
	FORM_NOP_G,		/* the same for FORM_GRAPH */
	FORM_FUNCTION,
	FORM_GRAPH,
};

/* How a site gets from one form to another; see site.c. */
enum site_class {
	CLASS_PLAIN,		/* in one step */
	CLASS_PREFIX,		/* byte 0 becomes a prefix once, the rest is CLASS_PLAIN at the next byte */
	CLASS_ISLE,		/* nop at heart: one byte at a time, by an island */
	CLASS_ISLE_CALL,	/* call at heart: the same */
	CLASS_PREPAD,		/* jump back to the bytes before it */
	CLASS_SWITCH,		/* own call: leads to a jump through a cell from the first time on */
	CLASS_CODE,		/* plain function: unprepared.c */
};

enum site_bits {
	SITE_HAS_STUB	= 1,	/* what is in memory for it already */
	SITE_HAS_AUX	= 2,
	SITE_HAS_ISLE_F	= 4,
	SITE_HAS_ISLE_G	= 8,
	SITE_HAS_OWN_GRAPH = 16,
	SITE_HAS_SWITCH	= 32,
	SITE_HAS_ALL	= 63,
	SITE_SLED	= 64,	/* CLASS_ISLE over one-byte nops */
	SITE_FRAME	= 128,	/* comes after the prologue (mcount) */
	SITE_PRE_USED	= 256,	/* CLASS_PREPAD: threads have run through the bytes before it */
	SITE_QUIET_ENDS	= 512,	/* to and from FORM_ORIGINAL only while no thread runs */
	SITE_FUNCTION_ONLY = 1024, /* CLASS_CODE: not for the graph tracer */
	SITE_PUN	= 4096,	/* CLASS_CODE: a jump that ends in bytes of the program (punned_jump.c) */
	SITE_NO_PLACE	= 8192,	/* CLASS_CODE, not known yet: no jump could be had for it, which is counted */
	SITE_SHORT	= 2048,	/* CLASS_PLAIN, at most eight bytes, all in one page: known_sites.c may switch it */
};

/* One per stub index, 32 bytes; zero until the site is first touched. Control context only. */
struct patch_site {
	uint64_t addr;
	uint8_t kind_len;	/* of struct uft_patch */
	uint8_t action;		/* in the stub */
	uint16_t bits;		/* enum site_bits */
	uint8_t class;		/* enum site_class */
	uint8_t form;		/* enum form: what is there now */
	uint8_t win;		/* bytes of the first instruction: all that changes; CLASS_CODE: bytes that moved */
	uint8_t isle;		/* CLASS_ISLE*: which pair of islands */
	uint8_t orig[16];	/* as found; PREPAD: the five bytes before it at [8] */
};
_Static_assert(sizeof(struct patch_site) == 32, "one cache line holds two");

/* ---- objects (stubs.c) ---------------------------------------------------------------------------- */

/* Code that a displacement with fixed bytes leads to: the text, displaced. */
enum isle { ISLE_SLED, ISLE_NOP5, ISLE_NOP7, ISLE_NOP8, NISLES };
enum { ISLE_F, ISLE_G, ISLE_WAYS };

#define AUX_BYTES	128u
#define AUX_OWN_GRAPH	32u	/* offset of the second piece in an aux slot, and of its data */
#define AUX_OWN_CELL	48u
#define AUX_SWITCH	64u	/* of the third, its parts, and its data */
#define AUX_SWITCH_OWN	72u
#define AUX_SWITCH_GRAPH 80u
#define AUX_SWITCH_CELL	96u

/* Parts of an aux slot of CLASS_CODE, behind the code (unprepared.c). */
#define CODE_ADDR	80u
#define CODE_SLOT	88u
#define CODE_FUNC	96u
#define CODE_X		(CODE_FUNC + UFT_LEN_CALL)	/* where the function handler returns to */
#define CODE_THUNK	(CODE_X + UFT_LEN_JMP)
#define CODE_MAP	120u
struct code_map {
	uint8_t at[4], back, pushed;	/* struct uft_code */
};

/*
 * 64 sites in a row, as an order by bits finds them; known_bitmap.c. In one page: of its stores a fork child has
 * those up to some one.
 */
#define PATCH_BLOCK	64u
struct patch_block {
	/* those that are alike: the form in their records is out of date, the one here is true */
	uint64_t member;
	uint64_t asked;		/* of which ones it was told then; 0: nothing is known */
	uint64_t record;	/* of each member: the eight bytes from kind_len on */
	uint64_t orig;		/* of each member, if they are nops: five bytes as found */
	uint32_t lo, hi;	/* where the first and the last of them lie in the object */
	uint64_t pad[3];
};
#define PATCH_NBLOCKS(o) (((o)->capacity + PATCH_BLOCK - 1) / PATCH_BLOCK)

#define PATCH_PADS	64u	/* python3 has 17, libcrypto 24 */
struct patch_object {
	uintptr_t text_start, text_end;
	uint32_t object;
	uint32_t capacity;		/* stubs that the region has room for */
	uint32_t nstubs;
	uint32_t first_text_id, first_stub_id;
	int is_gone;
	uintptr_t region, region_end;	/* cells (rw-) | thunks | stubs | aux (r-x) | words (rw-) */
	uintptr_t cell_base;		/* CLASS_CODE: a word by stub index */
	uintptr_t thunk[NTHUNKS];	/* addresses */
	uintptr_t stub_base, aux_base;
	struct patch_site *site;	/* capacity of them */
	/* PATCH_NBLOCKS(), and behind them a word a site; NULL: none yet (known_bitmap.c) */
	struct patch_block *block;
	uint32_t pad[PATCH_PADS], npads;	/* sites of CLASS_CODE that have one: the first that there are */
	int32_t isle[NISLES][ISLE_WAYS]; /* displacement; 0: none yet, 1: there is no room for one */
	/* of the first so many records, and stubs, the pages are there: asking again is no less work */
	uint32_t nwarm, nwarm_stubs;
	uint32_t nstuck;		/* sites that could not be put back (foreign_bytes.c) */
	struct patch_object *next;	/* newest first; never freed */
};

static inline uintptr_t stub_at(const struct patch_object *o, uint32_t i)
{
	return o->stub_base + (uintptr_t)i * UFT_STUB_BYTES;
}

static inline uintptr_t aux_at(const struct patch_object *o, uint32_t i)
{
	return o->aux_base + (uintptr_t)i * AUX_BYTES;
}

/* CLASS_SWITCH: where the cell leads in @form. */
uintptr_t near_switch_target(const struct patch_object *o, const struct patch_site *s, uint32_t index, unsigned form);

struct patch_item;
struct patch_object *near_find(uint32_t object);
int near_object(struct uft_cmd_object *o);
void near_retarget(void);
uint64_t *near_handler_cell(const struct patch_object *o, enum thunk t);
void near_pass_through(struct patch_object *o);	/* for good: who comes to a thunk goes on as if nothing was armed */
struct patch_object *near_first(void);
/* The displacement of an island, made at first use; 1: none can be had. */
int32_t near_isle(struct patch_object *o, unsigned isle, unsigned way);

/* A piece of code to write out of line before sites lead to it. */
#define THUNK_BYTES	16u
struct near_code {
	uintptr_t at;
	uint8_t n;
	uint8_t bytes[47];
};
/* Bits of enum site_bits that @form needs and @s lacks. */
unsigned near_missing(const struct patch_site *s, unsigned form);
/* Builds one of them. -ERANGE: something is out of reach. */
int near_build(const struct patch_object *o, const struct patch_site *s, uint32_t index, unsigned bit, uint8_t flags,
	       struct near_code *c);

/* That of an entry, SITE_HAS_STUB, into open memory: what near_build() makes. @end: where its function goes on. */
void near_entry_stub(const struct patch_object *o, uint32_t index, uintptr_t end, uint8_t flags);

/* ---- sites (site.c) ------------------------------------------------------------------------------ */

/* Does no thread run? Asked at most once a batch, and only if it matters. */
struct quiet {
	int asked;		/* 0 not yet; 1 */
	int n;			/* tasks; negative: not quiet */
	uintptr_t pc[64];
};
int quiet_at(struct quiet *q, uintptr_t lo, uintptr_t hi);	/* 1: no thread runs, no thread rests inside (lo, hi) */

/* The i-th displacement that a sled may get; 0: there are no more. */
int32_t site_sled_displacement(unsigned i);
/* First touch: looks at the bytes, which lie in the object and are mapped, and fills *s if they will do. Returns
 * enum uft_site_status. */
int site_learn(struct patch_object *o, struct patch_site *s, const struct uft_patch *p, struct quiet *q);
/* The form to take next on the way to enum uft_site_state @state; the present one when it is there. */
unsigned site_next(const struct patch_site *s, unsigned state);
/* Entry sites: does a call in place of the nop return to the site's end? Else the aux code sees to it. */
int site_calls_directly(const struct patch_site *s);
/* The bytes of a form. */
void site_code(const struct patch_object *o, const struct patch_site *s, uint32_t index, unsigned form, struct code *c);
/* Both ends of a step at once: the bytes that stand there now and those to come. */
void site_codes(const struct patch_object *o, const struct patch_site *s, uint32_t index, unsigned to,
		struct code *old, struct code *new);
/* CLASS_PREPAD: the five bytes before it and its own two, the first of which these forms have in common. */
#define SITE_PRE_LEN	7u
void site_pre_code(const struct patch_object *o, const struct patch_site *s, uint32_t index, unsigned form,
		   struct code *c);

/* ---- plain functions (unprepared.c) --------------------------------------------------------------------- */

/**
 * code_step - what is to be done next for a site of CLASS_CODE on the way to @state
 * @switched:	counts up if all that changed was where its cell leads
 *
 * The cell leads to its new place when it returns. 1: *it is to be carried out, 0: nothing is; else the negative of
 * enum uft_site_status.
 */
int code_step(const struct patch_object *o, struct patch_site *s, uint32_t stub, unsigned state, struct quiet *q,
	      struct patch_item *it, uint32_t *switched);
/*
 * The short way of that for those of @p whose last step is to be linked, their text in @w, writable: as many
 * as there are in a row. No thread runs.
 */
uint32_t code_link(const struct patch_object *o, struct uft_patch *p, uint32_t n, const struct plat_window *w);
int code_is_pad(const struct patch_object *o, uintptr_t pc);	/* of a site that leads there, or did */
int code_is_done(const struct patch_site *s, unsigned form, unsigned state);	/* no further step will be needed */
unsigned code_extent(const struct patch_site *s);	/* bytes at the site that are looked at */

/* ---- jumps that end in bytes of the program (punned_jump.c) ---------------------------------------------- */

/* What stands at such a site when it is linked. */
struct pun_jump {
	uint8_t bytes[UFT_PUN_KNOWN];	/* of the site's first ones, and those behind that stay */
	uint8_t n;			/* 5..8 */
};
/* Asked once for all entries of a command; zero at first. */
struct pun_search {
	int is_asked, ret;
	struct plat_growing grows[PLAT_NGROWTH];
};
/*
 * A place for the jump of @c, which leads to @slot from there. 0, or -ERANGE: something else is there,
 * -errno: what else failed.
 */
int pun_make(const struct patch_object *o, const struct uft_code *c, uintptr_t slot, struct pun_search *s,
	     struct pun_jump *out);
void pun_forget(const struct patch_object *o);		/* it is gone: its places are free */
int pun_is_at(uintptr_t pc);				/* such a place begins there */
/* one of the object's sites leads there */
int pun_is_in(const struct patch_object *o, uint64_t at, uint64_t bytes);

/* ---- batches (batch.c) --------------------------------------------------------------------------- */

enum protocol { PROTO_NONE, PROTO_ST8, PROTO_SWAP, PROTO_JS, PROTO_TAIL, PROTO_PLAIN };

/* One change of code. The array is the journal: complete before the first write, untouched until the last. */
struct patch_item {
	uintptr_t at;		/* ST8: the aligned word; else the first byte */
	struct code code;	/* ST8: lo = bits, hi = mask; SWAP: 8 bytes in lo, mask in hi; else the bytes */
	uint32_t index;		/* caller's: the stub */
	uint8_t len;		/* JS, TAIL, PLAIN: bytes */
	uint8_t proto;
	uint8_t form;		/* caller's: enum form to note */
	uint8_t stand_in;	/* TAIL: byte 0 while the others change */
};
_Static_assert(sizeof(struct patch_item) == 32, "two a cache line");

/* Before planning: what is known of the address space is out of date. */
void batch_begin(void);
/* The mapping that holds the last address asked for; a program may have changed it since the last batch. */
extern struct batch_segment {
	uintptr_t lo, hi;
	int prot;
} batch_segment;
int batch_look_up(uintptr_t at, unsigned n);

/* May the bytes be read? One look at the address space for each mapping. */
static inline int batch_is_mapped(uintptr_t at, unsigned n)
{
	return (at >= batch_segment.lo && at + n <= batch_segment.hi) || batch_look_up(at, n);
}

enum item_rule {
	ITEM_ANY_CPU	= 1,	/* a half-seen change is harmless here: one store will do on every CPU */
	ITEM_AT_ONCE	= 2,	/* the instruction may not be left out: no stand-in */
};

/* First and last byte that differ; @x is not 0. */
static inline unsigned item_first(uint64_t x)
{
	return (unsigned)__builtin_ctzll(x) / 8;
}

static inline unsigned item_last(uint64_t x)
{
	return 7 - (unsigned)__builtin_clzll(x) / 8;
}

/* Do bytes @lo to @hi behind @at lie in one aligned block? */
static inline int item_fits(uintptr_t at, unsigned lo, unsigned hi, unsigned block)
{
	return (at + lo) / block == (at + hi) / block;
}

static inline void item_st8(struct patch_item *it, uintptr_t at, uint64_t bytes, unsigned lo, unsigned hi)
{
	unsigned shift = 8 * (unsigned)((at + lo) & 7);
	uint64_t mask = code_mask(hi - lo + 1) << shift;

	it->proto = PROTO_ST8;
	it->at = (at + lo) & ~7ul;
	it->code.lo = bytes >> 8 * lo << shift & mask;
	it->code.hi = mask;
}

/* All @len bytes of @new, in any order: no thread executes them, or stands between them, until the batch is done. */
static inline void item_plain(struct patch_item *it, uintptr_t at, const struct code *new, unsigned len)
{
	it->proto = PROTO_PLAIN;
	it->at = at;
	it->code = *new;
	it->len = (uint8_t)len;
}

/* Chooses the protocol for @old -> @new at @at, of whose @win bytes any may change. 0, or -EOPNOTSUPP. */
int batch_item(struct patch_item *it, uintptr_t at, const struct code *old, const struct code *new, unsigned win,
	       unsigned rule);
/* Room for @n items; NULL: no memory. Valid until the next call. */
struct patch_item *batch_room(uint32_t n);
/**
 * batch_write - carries out items
 * @it, @n:	sorted by address (else it costs more windows); from batch_room() or static
 * @fresh:	code out of line was written since the last sync
 * @commit:	notes what has been done, for every item whose protocol is not PROTO_NONE; called once by us, and by
 *		a fork child that finishes the batch
 *
 * Items that could not be written get PROTO_NONE. Returns their number.
 */
typedef void (*batch_commit)(void *arg, const struct patch_item *it, uint32_t n);
uint32_t batch_write(struct patch_item *it, uint32_t n, int fresh, batch_commit commit, void *arg);
/* Writes code that no thread runs yet, or rewrites it as it is, in pages of our own. */
int batch_write_near(const struct near_code *c, struct plat_window *w);
/* Was this fork child born while its parent changed something? Until batch_after_fork(), which finishes it. */
int batch_is_open(void);
void batch_after_fork(void);

/* ---- runs (known_sites.c, known_bitmap.c) ----------------------------------------------------------------------- */

/* Sites whose table is the journal while they are switched. */
struct patch_run {
	struct patch_object *o;		/* NULL: none */
	uint32_t lo, hi;		/* stubs, both inclusive: no others */
	struct plat_window w;
	int is_all_back;		/* every site is to be as found */
	int is_sweep;			/* what a stand-in becomes is not in its record, but: */
	uint8_t to;			/* enum form */
};
/*
 * Notes it and opens its window for stores of ours; 0, or -EAGAIN and nothing is noted. @r->w: what to open,
 * then the window.
 */
int run_open(struct patch_run *r);
void run_close(void);

/* ---- lists (patch.c, first_arm.c, known_sites.c) ------------------------------------------------------------ */

/* One batch, whoever runs. Returns the number of sites changed. */
uint32_t patch_chunk(struct patch_object *o, struct uft_patch *p, uint32_t n, unsigned flags);
/* The same, faster for many new sites if no thread runs. */
uint32_t cold_sites(struct patch_object *o, struct uft_patch *p, uint32_t n, unsigned flags);
#define PATCH_LEFT	0xffu	/* in a request's status: somebody else has to see to it */
/*
 * Arms the sites of @p, by address, that are new and take no more than one go, as long as @q says that no
 * task runs; the others end with PATCH_LEFT and as they were. Returns the number of the former.
 */
uint32_t cold_new(struct patch_object *o, struct uft_patch *p, uint32_t n, struct quiet *q);
/* LIVE sites will be written while all tasks stand: pages that have to be copied for it are copied now. */
void cold_warm(const struct uft_patch *p, uint32_t n);
/* The same, faster for many known ones: 0 and the number of sites changed, or -EAGAIN: not these. */
int dense_sites(struct patch_object *o, struct uft_patch *p, uint32_t n, unsigned flags, uint32_t *changed);
int dense_is_open(void);		/* as batch_is_open(), of a run */
void dense_after_fork(void);
/* patch_bits(), by form */
long known_bits(struct patch_object *o, const struct uft_site_order *order, uint64_t *word, uint32_t n);
long first_bits(struct patch_object *o, const struct uft_site_order *order, uint64_t *word, uint32_t n, unsigned flags);
/*
 * Blocks of sites that are about to be looked at, or changed, by their records: those of a list, or all. Not
 * within a run.
 */
void sweep_yield(const struct patch_object *o, const struct uft_patch *p, uint32_t n);
void sweep_yield_all(const struct patch_object *o);
void sweep_end(struct patch_object *o);		/* its sites are forgotten */
#define PATCH_ALL_BACK	0x80000000u	/* with enum uft_cmd_flags: all sites of the object that are not as found */

/*
 * What the faster ways leave to the general one, which has windows of its own: its turn comes when theirs are
 * closed.
 */
#define PATCH_NLEFT	512u
struct patch_left {
	uint32_t n;
	struct uft_patch *from[PATCH_NLEFT];
	struct uft_patch p[PATCH_NLEFT];
};
static inline void left_add(struct patch_left *l, struct uft_patch *p)
{
	l->from[l->n] = p;
	l->p[l->n++] = *p;
}
/* Returns the number of sites changed. */
uint32_t left_flush(struct patch_object *o, struct patch_left *l, unsigned flags);

/* ---- what cannot be put back (foreign_bytes.c) ------------------------------------------------------------- */

/* Of the sites of @p, which were to be as found; their statuses tell. */
void stuck_note(struct patch_object *o, const struct uft_patch *p, uint32_t n);

/* ---- hooks (hook.c) ------------------------------------------------------------------------------ */

int hook_arm(struct uft_hook *h, uint32_t n);
int hook_frame(uintptr_t pc);		/* enum uft_frame for a pc in a hook's stub; -1 */
uint32_t hook_disarm(void);	/* returns how many have to wait until no thread runs */
void hook_forget(uintptr_t lo, uintptr_t hi);
uint32_t hook_stuck(uint64_t at, uint64_t bytes);	/* those that could not be put back and lead to this memory */

#endif
