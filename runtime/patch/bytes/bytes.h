/* SPDX-License-Identifier: MIT */
/*
 * bytes.h - objects of the patcher where instructions have any length. site.c decides the bytes of prepared sites,
 * unprepared.c those of unprepared functions, trampolines.c makes the code that sites jump to, batch.c writes,
 * early.c, early_bitmap.c, bulk.c and bulk_bitmap.c change many sites, hook.c places hooks, patch.c fulfils
 * the contract of runtime.h
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
#define PATCH_WORD	8u	/* bytes that the kernel writes at once */

/*
 * Is @at the last byte that one store can write together with its predecessors? Then the bytes at @at and @at + 1
 * cannot be written at once: they lie in two lines or, where the kernel has to write, in two words.
 */
static inline int is_last_of_line(uintptr_t at)
{
	uintptr_t last = (uft_rt.no_mprotect /* GUARD(last_of_line) */ ? PATCH_WORD : PATCH_LINE) - 1;

	return (at & last) == last; /* GUARD(is_last_of_line) */
}

/* ---- bytes of a site (site.c) ------------------------------------------------------------- */

/* Up to 16 bytes of code as numbers: byte i of the window is bits 8i of lo, then hi. */
struct code {
	uint64_t lo, hi;
};

/* A mask of the low @bytes bytes; 8 or more: all. */
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

/* Loads the @n bytes at @at. The caller knows that they are mapped; the page behind them may not be. */
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
	CLASS_PLAIN,		/* one step changes all */
	CLASS_PREFIX,		/* byte 0 becomes a prefix once, the rest is CLASS_PLAIN at the next byte */
	CLASS_ISLE,		/* over a nop: one byte at a time, with an island */
	CLASS_ISLE_CALL,	/* over a call: the same */
	CLASS_PREPAD,		/* a jump back to the bytes before the entry */
	CLASS_SWITCH,		/* a call of the program: from the first arming on it leads to a jump through a cell */
	CLASS_CODE,		/* an unprepared function: see unprepared.c */
};

enum site_bits {
	SITE_HAS_STUB	= 1,	/* out-of-line code that is written already */
	SITE_HAS_AUX	= 2,
	SITE_HAS_ISLE_F	= 4,
	SITE_HAS_ISLE_G	= 8,
	SITE_HAS_OWN_GRAPH = 16,
	SITE_HAS_SWITCH	= 32,
	SITE_HAS_ALL	= 63,
	SITE_SLED	= 64,	/* CLASS_ISLE over one-byte nops */
	SITE_FRAME	= 128,	/* behind the prologue (mcount) */
	SITE_PRE_USED	= 256,	/* CLASS_PREPAD: threads have executed the bytes before the entry */
	SITE_QUIET_ENDS	= 512,	/* changes to and from FORM_ORIGINAL only while no thread runs */
	SITE_FUNCTION_ONLY = 1024, /* CLASS_CODE: the graph tracer cannot trace it */
	SITE_PUN	= 4096,	/* CLASS_CODE: a jump that ends in bytes of the program (punned_jump.c) */
	SITE_NO_PLACE	= 8192,	/* CLASS_CODE, not known yet: no place for its jump was found, and that is counted */
	SITE_SHORT	= 2048,	/* CLASS_PLAIN, at most eight bytes, all in one page: bulk.c may switch it */
};

/* One per stub index, 32 bytes; all zero until the site is learned. Control context only. */
struct patch_site {
	uint64_t addr;
	uint8_t kind_len;	/* of struct uft_patch */
	uint8_t action;		/* in the stub */
	uint16_t bits;		/* enum site_bits */
	uint8_t class;		/* enum site_class */
	uint8_t form;		/* enum form: the bytes there now */
	uint8_t win;		/* bytes of the first instruction, and only they change; CLASS_CODE: bytes that moved */
	uint8_t isle;		/* CLASS_ISLE*: which pair of islands */
	uint8_t orig[16];	/* as found; PREPAD: the five bytes before it at [8] */
};
_Static_assert(sizeof(struct patch_site) == 32, "one cache line holds two");

/* ---- objects (trampolines.c) ---------------------------------------------------------------------------- */

/*
 * Islands by the fixed bytes of the displacement that leads to them. An island is as large as the text, at a fixed
 * distance.
 */
enum isle { ISLE_SLED, ISLE_NOP5, ISLE_NOP7, ISLE_NOP8, NISLES };
enum { ISLE_F, ISLE_G, ISLE_WAYS };

#define AUX_BYTES	128u
#define AUX_OWN_GRAPH	32u	/* offset of the graph tracer's piece in an aux slot of an own call, and of its data */
#define AUX_OWN_CELL	48u
#define AUX_SWITCH	64u	/* of CLASS_SWITCH's piece, its parts, and its data */
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
 * 64 neighbouring sites, for the orders of bulk_bitmap.c, which have a bit per site. A block lies in one page, so a
 * fork child has its stores up to some point, in order.
 */
#define PATCH_BLOCK	64u
struct patch_block {
	/* sites that are alike: the form in their records is out of date, the form of the block is true */
	uint64_t member;
	uint64_t asked;		/* the bits of the last order for this block; 0: not known */
	uint64_t record;	/* eight bytes from kind_len on, the same in each member's record */
	uint64_t orig;		/* if the members are nops: the five bytes as found, the same in each */
	uint32_t lo, hi;	/* offsets of the first and the last member in the object */
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
	/* PATCH_NBLOCKS() blocks, behind them a word per site; NULL: not made yet (bulk_bitmap.c) */
	struct patch_block *block;
	uint32_t pad[PATCH_PADS], npads;	/* sites of CLASS_CODE that have a pad: the first PATCH_PADS */
	int32_t isle[NISLES][ISLE_WAYS]; /* displacement; 0: not made yet, 1: no room */
	/*
	 * the pages of the first nwarm records and nwarm_stubs stubs are populated: populating them again would cost as
	 * much
	 */
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
uintptr_t tramp_switch_target(const struct patch_object *o, const struct patch_site *s, uint32_t index, unsigned form);

struct patch_item;
struct patch_object *object_find(uint32_t object);
uint64_t *thunk_cell(const struct patch_object *o, enum thunk t);
/* for good: threads that come to a thunk go on as if no site was armed */
void thunks_pass_through(struct patch_object *o);
struct patch_object *object_first(void);
/* The displacement of an island, which is made at first use; 1: no room. */
int32_t tramp_isle(struct patch_object *o, unsigned isle, unsigned way);

/* A piece of code, to be written out of line before sites lead to it. */
#define THUNK_BYTES	16u
struct tramp_code {
	uintptr_t at;
	uint8_t n;
	uint8_t bytes[47];
};
/* Bits of enum site_bits that @form needs and @s lacks. */
unsigned tramp_missing(const struct patch_site *s, unsigned form);
/* Builds one of those pieces. -ERANGE: a target is out of reach. */
int tramp_build(const struct patch_object *o, const struct patch_site *s, uint32_t index, unsigned bit, uint8_t flags,
	       struct tramp_code *c);

/*
 * Writes the stub of an entry into an open window, as tramp_build() makes it for SITE_HAS_STUB. @end: where the
 * function goes on.
 */
void tramp_entry_stub(const struct patch_object *o, uint32_t index, uintptr_t end, uint8_t flags);

/* ---- sites (site.c) ------------------------------------------------------------------------------ */

/* Is it sure that no thread runs? Asked at most once a batch, and only if it matters. */
struct quiet {
	int asked;		/* 0 not yet; 1 */
	int n;			/* tasks; negative: not quiet */
	uintptr_t pc[64];
};
int quiet_at(struct quiet *q, uintptr_t lo, uintptr_t hi);	/* 1: no thread runs, and no pc is inside of (lo, hi) */

/* The i-th displacement that a sled may have; 0: there are no more. */
int32_t site_sled_displacement(unsigned i);
/*
 * Learns a site at first touch: looks at its bytes, which lie in the object and are mapped, and fills *s if they are as
 * the kind promises. Returns enum uft_site_status.
 */
int site_learn(struct patch_object *o, struct patch_site *s, const struct uft_patch *p, struct quiet *q);
/* The next form on the way to enum uft_site_state @state; the present form if the site is in that state. */
unsigned site_next(const struct patch_site *s, unsigned state);
/* Entry sites: does a call in place of the nop return to the site's end? If not, aux code is needed. */
int site_calls_directly(const struct patch_site *s);
/* The bytes of a site in a form. */
void site_code(const struct patch_object *o, const struct patch_site *s, uint32_t index, unsigned form, struct code *c);
/* Both ends of a step: the bytes that are there now, and those to come. */
void site_codes(const struct patch_object *o, const struct patch_site *s, uint32_t index, unsigned to,
		struct code *old, struct code *new);
/* CLASS_PREPAD: the five bytes before the entry and its own two. These forms share the first of the two. */
#define SITE_PRE_LEN	7u
void site_pre_code(const struct patch_object *o, const struct patch_site *s, uint32_t index, unsigned form,
		   struct code *c);

/* ---- plain functions (unprepared.c) --------------------------------------------------------------------- */

/**
 * code_step - plan the next step of a site of CLASS_CODE on the way to @state
 * @switched: is increased if the step only changed where the site's cell leads
 *
 * The cell has its new value when this returns. 1: *it is to be carried out; 0: no item is needed; else the negative of
 * enum uft_site_status.
 */
int code_step(const struct patch_object *o, struct patch_site *s, uint32_t stub, unsigned state, struct quiet *q,
	      struct patch_item *it, uint32_t *switched);
/*
 * A shorter way for sites of @p whose last step is the link: writes them as long as they come in a row. @w: a writable
 * window over their text. Context: no thread runs. Returns their number.
 */
uint32_t code_link(const struct patch_object *o, struct uft_patch *p, uint32_t n, const struct plat_window *w);
int code_is_pad(const struct patch_object *o, uintptr_t pc);	/* is @pc a pad that a site leads to, or led to? */
int code_is_done(const struct patch_site *s, unsigned form, unsigned state);	/* no further step is needed */
unsigned code_extent(const struct patch_site *s);	/* how many bytes at the site are compared */

/* ---- jumps that end in bytes of the program (punned_jump.c) ---------------------------------------------- */

/* The bytes of a site with a punned jump when it is linked. */
struct pun_jump {
	uint8_t bytes[UFT_PUN_KNOWN];	/* its own first bytes, and the bytes of the program behind them that stay */
	uint8_t n;			/* 5..8 */
};
/* State of the search for places, for all entries of a command; zero at first. */
struct pun_search {
	int is_asked, ret;
	struct plat_growing grows[PLAT_NGROWTH];
};
/*
 * Makes a place for the jump of @c; the place leads to @slot. 0, or -ERANGE: other memory is in the way, -errno:
 * another failure.
 */
int pun_make(const struct patch_object *o, const struct uft_code *c, uintptr_t slot, struct pun_search *s,
	     struct pun_jump *out);
void pun_forget(const struct patch_object *o);		/* the object is gone: its places are free again */
int pun_is_at(uintptr_t pc);				/* does a place begin at @pc? */
/* does one of the object's sites lead into this memory? */
int pun_is_in(const struct patch_object *o, uint64_t at, uint64_t bytes);

/* ---- batches (batch.c) --------------------------------------------------------------------------- */

enum protocol { PROTO_NONE, PROTO_ST8, PROTO_SWAP, PROTO_JS, PROTO_TAIL, PROTO_PLAIN };

/* One change of code. The array is the journal: complete before the first write, untouched until the last. */
struct patch_item {
	uintptr_t at;		/* ST8: the aligned word; other protocols: the first byte */
	/* ST8: lo = bits, hi = mask; SWAP: 8 bytes in lo, mask in hi; other protocols: the bytes */
	struct code code;
	uint32_t index;		/* for the caller: the stub */
	uint8_t len;		/* JS, TAIL, PLAIN: bytes */
	uint8_t proto;
	uint8_t form;		/* for the caller: the form to note when it is done */
	uint8_t stand_in;	/* TAIL: byte 0 while the other bytes change */
};
_Static_assert(sizeof(struct patch_item) == 32, "two a cache line");

/* Before planning: forgets what is known of the address space. */
void batch_begin(void);
/* The mapping that holds the last address asked for. The program may have changed it since the last batch. */
extern struct batch_segment {
	uintptr_t lo, hi;
	int prot;
} batch_segment;
int batch_look_up(uintptr_t at, unsigned n);

/* May the bytes be read? Looks up each mapping once. */
static inline int batch_is_mapped(uintptr_t at, unsigned n)
{
	return (at >= batch_segment.lo && at + n <= batch_segment.hi) || batch_look_up(at, n);
}

enum item_rule {
	ITEM_ANY_CPU	= 1,	/* a change that is seen in part is harmless: one store will do on every CPU */
	ITEM_AT_ONCE	= 2,	/* the instruction may not be skipped: no stand-in */
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

/* All @len bytes of @new, in any order: no thread executes them, or rests between them, until the batch is done. */
static inline void item_plain(struct patch_item *it, uintptr_t at, const struct code *new, unsigned len)
{
	it->proto = PROTO_PLAIN;
	it->at = at;
	it->code = *new;
	it->len = (uint8_t)len;
}

/* Chooses the protocol for @old -> @new at @at, where up to @win bytes may change. 0, or -EOPNOTSUPP. */
int batch_item(struct patch_item *it, uintptr_t at, const struct code *old, const struct code *new, unsigned win,
	       unsigned rule);
/* Memory for @n items; NULL: no memory. Valid until the next call. */
struct patch_item *batch_room(uint32_t n);
/**
 * batch_write - carries out items
 * @it, @n:	sorted by address (else it costs more windows); from batch_room() or static
 * @fresh: code out of line was written since the last sync
 * @commit: notes every item whose protocol is not PROTO_NONE as done; called once by batch_write(), and by a fork child
 *		that finishes the batch
 *
 * Items that could not be written get PROTO_NONE. Returns their number.
 */
typedef void (*batch_commit)(void *arg, const struct patch_item *it, uint32_t n);
uint32_t batch_write(struct patch_item *it, uint32_t n, int fresh, batch_commit commit, void *arg);
/* Writes code that no thread executes yet, or rewrites it unchanged, in the runtime's own pages. */
int batch_write_tramp(const struct tramp_code *c, struct plat_window *w);
/* Was this fork child born during a batch of its parent? True until batch_after_fork(), which finishes the batch. */
int batch_is_open(void);
void batch_after_fork(void);

/* ---- runs (bulk.c, bulk_bitmap.c) ----------------------------------------------------------------------- */

/* Sites that are being switched. Their records in the site table are the journal. */
struct patch_run {
	struct patch_object *o;		/* NULL: none */
	uint32_t lo, hi;		/* the first and the last stub: no others change */
	struct plat_window w;
	int is_all_back;		/* every site is to be as found */
	int is_bitmap;			/* the form behind a stand-in is not in the site's record, but in @to */
	uint8_t to;			/* enum form */
};
/*
 * Notes the run and opens its window for the runtime's own stores. @r->w: the range to open, then the window. 0, or
 * -EAGAIN and nothing is noted.
 */
int run_open(struct patch_run *r);
void run_close(void);

/* ---- lists (patch.c, early.c, bulk.c) ------------------------------------------------------------ */

/* Changes sites in one batch, whether threads run or not. Returns the number of sites changed. */
uint32_t patch_chunk(struct patch_object *o, struct uft_patch *p, uint32_t n, unsigned flags);
/* The same, faster for many new sites if no thread runs. */
uint32_t early_sites(struct patch_object *o, struct uft_patch *p, uint32_t n, unsigned flags);
#define PATCH_LEFT	0xffu	/* in a request's status: the general way (patch_chunk()) has to change this site */
/*
 * Arms new sites of @p, sorted by address, that need one step only, as long as @q says that no task runs. The other
 * sites do not change and get PATCH_LEFT. Returns the number of sites armed.
 */
uint32_t early_new(struct patch_object *o, struct uft_patch *p, uint32_t n, struct quiet *q);
/* LIVE sites will be written while all tasks are stopped: copies the pages for that now. */
void early_copy(const struct uft_patch *p, uint32_t n);
/* The same, faster for many known sites: 0 and the number of sites changed, or -EAGAIN: no site was changed. */
int bulk_sites(struct patch_object *o, struct uft_patch *p, uint32_t n, unsigned flags, uint32_t *changed);
int bulk_is_open(void);		/* as batch_is_open(), for a run */
void bulk_after_fork(void);
/* patch_bits() to a form */
long bulk_bits(struct patch_object *o, const struct uft_site_order *order, uint64_t *word, uint32_t n);
long early_bits(struct patch_object *o, const struct uft_site_order *order, uint64_t *word, uint32_t n, unsigned flags);
/*
 * Takes blocks of sites apart whose records are to be read or changed next: the blocks of a list, or all of the object.
 * Not within a run.
 */
void bulk_yield(const struct patch_object *o, const struct uft_patch *p, uint32_t n);
void bulk_yield_all(const struct patch_object *o);
void bulk_forget(struct patch_object *o);		/* the object's sites are forgotten */
/* beside enum uft_cmd_flags: every site of the object that is not as found goes back */
#define PATCH_ALL_BACK	0x80000000u

/*
 * Requests that a faster way leaves to the general way. The general way opens windows of its own, so it runs when those
 * of the faster way are closed.
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

/* ---- sites that cannot be restored (foreign_bytes.c) ------------------------------------------------------------- */

/* Notes those sites of @p that could not be restored, by their statuses. */
void stuck_note(struct patch_object *o, const struct uft_patch *p, uint32_t n);

/* ---- hooks (hook.c) ------------------------------------------------------------------------------ */

int hook_frame(uintptr_t pc);		/* enum uft_frame for a pc in a hook's stub, or -1 */
void hook_forget(uintptr_t lo, uintptr_t hi);
/* the number of hooks that could not be restored and lead into this memory */
uint32_t hook_stuck(uint64_t at, uint64_t bytes);

#endif
