/* SPDX-License-Identifier: MIT */
/*
 * patch.c - sites of a running program, from state to state, where instructions are aligned words
 *
 * It is the contract of runtime.h (patch) for architectures on which one aligned store changes one instruction, and
 * every CPU fetches the old one or the new. One store here does what x86_64 needs patch.c, site.c and batch.c for.
 * arch/NAME/patch.h has the encodings; this file knows none.
 *
 * Objects and owners. A struct word_object per loaded ELF file: a region within branch reach of its text (a page of
 * cells, a page of thunks, the stubs) and a table of sites by stub index: address, kind, the words as found. The agent
 * owns all of it. The present words of a site are noted nowhere: they are read and compared with the forms that the
 * site can have. So a fork child, which may have been born in the middle of a batch, needs no journal.
 *
 *	entry site, two words:	first	as found -> entry word (saves the return address); stays until the end
 *				second	nop | call of the func thunk | jump to the stub
 *	mcount site:		as found | nop | call of the mfunc thunk, or of the stub; the same for the second of two words
 *	unprepared code, one	as found | jump to its code (idle), to its call of the function handler, or to the stub
 *	word:			(unprepared.c)
 *
 * Where a call does not reach far (ARCH_CALL_BY_STUB) an entry jumps to its stub in the state FUNCTION as
 * well, and the stub's first word, which leads to the thunk of the state, is changed instead.
 *
 * Invariants:
 *   1. Only words that are one of the site's forms are overwritten: sites with other words are left alone and counted.
 *   2. Code that a site leads to is complete and visible to every CPU before the site leads there: stubs are written
 *	and flushed first, and a synchronisation lies in between.
 *   3. The second word of an entry site leads somewhere only when every thread that is at the site has executed the
 *	first word as it is now. A thread may rest between the two for any time, so the first word is written only while
 *	no thread can be there: the object is fresh or all tasks are stopped (the session says so). Else: UFT_ST_LIVE,
 *	counted. The same holds for words that are not aligned, for words as found that may be more than one
 *	instruction, and for unprepared code: CPUs may fetch one branch or another while it changes, but not a branch or
 *	any other instruction.
 *
 * Not here: the loader's calls and unwinders (hook.c); hooks of system calls, own calls of mcount:
 * -EOPNOTSUPP or UFT_ST_KIND.
 *
 * Failure: each site has a status; a batch never stops for one.
 */
#include <linux/errno.h>

#include "runtime/arch/arch.h"
#include "runtime/base/mem.h"
#include "runtime/patch/calls.h"
#include "runtime/patch/words/words.h"
#include "runtime/platform/platform.h"
#include "runtime/runtime.h"

/* The words of a site, in one state. */
struct form {
	uint32_t w[2];
};

static struct word_object *objects;
static int is_vouched;			/* the session has stopped all tasks. Written by the agent */
static struct plat_window window;	/* the open window; a fork child closes its copy */
static int has_window;

int patch_init(void)
{
	return plat_sync_init();
}

void patch_vouch(int is_held)
{
	is_vouched = is_held;
}

int word_is_quiet(void)
{
	return is_vouched;
}

struct word_object *word_find(uint32_t object)
{
	for (struct word_object *o = objects; o; o = o->next)
		if (o->object == object && !o->is_gone)
			return o;
	return NULL;
}

/* ---- writing -------------------------------------------------------------------------------------- */

/*
 * The mapping of the last window. The program may have changed it since the last batch, so each batch forgets it first.
 */
static struct {
	uintptr_t lo, hi;
	int prot;
} segment;

void word_begin(void)
{
	segment.lo = segment.hi = 0;
}

int word_open(uintptr_t lo, uintptr_t hi)
{
	int ret;

	if (lo < segment.lo || hi > segment.hi)		/* a look-up is dear: emulators write the list anew each time */
		segment.prot = plat_text_segment(lo, &segment.lo, &segment.hi);
	if (segment.prot < 0 || hi > segment.hi) {
		segment.lo = segment.hi = 0;
		return -EFAULT;
	}
	ret = plat_text_open(&window, lo, hi, segment.prot, (int)uft_rt.no_mprotect);
	if (ret)
		return ret;
	uft_store_release(&has_window, 1);
	return 0;
}

void word_close(void)
{
	plat_text_close(&window);
	uft_store_release(&has_window, 0);
}

void word_put(uintptr_t at, uint32_t word)
{
	if (window.is_direct)
		arch_text_store4((void *)at, word); /* GUARD(text_store, (void)word) */
	else
		plat_text_poke(at, &word, sizeof(word));
	arch_text_flush((const void *)at, sizeof(word));
}

/* ---- regions -------------------------------------------------------------------------------------- */

/*
 * The cells of a thunk: the value that it loads for its handler (ARCH_THUNK_K), and where it leads. The cells behind
 * the last thunk's are for the enter copy.
 */
static uint64_t *cells(const struct word_object *o, unsigned t)
{
	return (uint64_t *)(o->region + t * 16u);
}

static uintptr_t thunk_in(const struct word_object *o, unsigned page, unsigned t)
{
	return (page ? o->region_end - PLAT_PAGE : o->region + PLAT_PAGE) + t * ARCH_THUNK_BYTES;
}

/* Copies of fast paths behind the thunks (arch_make_copy()), because no handler is within reach of stubs. */
enum { COPY_FUNC, COPY_ENTER, COPY_EXIT, NCOPIES };
#define COPIES_FROM	1024u
_Static_assert(WORD_NTHUNKS * ARCH_THUNK_BYTES <= COPIES_FROM && COPIES_FROM + NCOPIES * ARCH_COPY_BYTES <= PLAT_PAGE,
	       "one page");
static const uint8_t copy_thunk[NCOPIES] = {
	[COPY_FUNC] = THUNK_FUNC, [COPY_ENTER] = THUNK_ENTER, [COPY_EXIT] = THUNK_EXIT
};

static uintptr_t copy_in(const struct word_object *o, unsigned page, unsigned c)
{
	return thunk_in(o, page, 0) + COPIES_FROM + c * ARCH_COPY_BYTES;
}

/* The code that leads to a thunk's handler, nearest to @from: its copy, or the thunk. */
uintptr_t word_thunk(const struct word_object *o, unsigned t, uintptr_t from)
{
	unsigned page = ARCH_THUNK_PAGES > 1 && from > o->region + (o->region_end - o->region) / 2;

	for (unsigned c = 0; o->has_copies && c < NCOPIES; c++)
		if (copy_thunk[c] == t)
			return copy_in(o, page, c);
	return thunk_in(o, page, t);
}

uintptr_t word_stub(const struct word_object *o, uint32_t i)
{
	return o->stub_base + (uintptr_t)i * UFT_STUB_BYTES;
}

static const char *handler_of(unsigned t)
{
	switch (t) {
	case THUNK_CODE_FUNC: return arch_code_handler_func();
	case THUNK_CODE_ENTER: return arch_code_handler_enter(trace_graph_path() == GRAPH_PLAIN);
	case THUNK_CODE_EXIT: return arch_code_handler_exit(trace_graph_path() == GRAPH_PLAIN);
	default: return thunk_handler(t);
	}
}

/* The words that a copy has to have now; 0: it cannot be made. */
static unsigned make_copy(const struct word_object *o, unsigned page, unsigned c, uint32_t *w)
{
	unsigned t = copy_thunk[c];
	uintptr_t at = copy_in(o, page, c), thunk = thunk_in(o, page, t);
	uint64_t *k = c == COPY_ENTER ? cells(o, WORD_NTHUNKS) : cells(o, t);
	unsigned n = arch_make_copy(w, at, c, (uint64_t)k, thunk, uft_rt.slice->tid_offset, uft_rt.tls_offset);

	if (n && c != COPY_FUNC && trace_graph_path() != GRAPH_PLAIN)
		w[0] = arch_copy_off(at, thunk);
	return n;
}

/* Updates the words of all copies in one page. Returns how many copies the page has, or -errno. */
static int write_copies(const struct word_object *o, unsigned page)
{
	uint32_t w[ARCH_COPY_BYTES / 4 + 1];
	int is_open = 0, made = 0;

	for (unsigned c = 0; c < NCOPIES; c++) {
		uintptr_t at = copy_in(o, page, c);
		unsigned n = make_copy(o, page, c, w);

		for (unsigned i = 0; i < n; i++) {
			int ret = 0;

			if (arch_text_load4((const void *)(at + 4 * i)) == w[i])
				continue;
			if (!is_open)
				ret = word_open(copy_in(o, page, 0), copy_in(o, page, NCOPIES));
			if (ret)
				return ret;
			is_open = 1;
			word_put(at + 4 * i, w[i]);
		}
		made += n != 0;
	}
	if (is_open) {
		word_close();
		plat_sync_cores();
	}
	return made;
}

/*
 * The cells are written first, because a copy that is switched off leads to its thunk. A copy that cannot be switched
 * off still executes its fast path. That is harmless only because every line is shut by then: the line's key is of the
 * generation before, so the copy goes to its thunk (ring/thread_rings.c).
 */
void patch_retarget(void)
{
	for (struct word_object *o = objects; o; o = o->next) {
		for (unsigned t = THUNK_ENTER; t < WORD_NTHUNKS; t++)
			uft_store_release(&cells(o, t)[1], (uint64_t)handler_of(t));
		word_begin();
		for (unsigned page = 0; o->has_copies && page < ARCH_THUNK_PAGES; page++)
			if (write_copies(o, page) < 0)
				trace_count(UFT_CNT_SITE_REFUSED, 1);
	}
}

static int write_thunks(struct word_object *o, unsigned page)
{
	uint32_t text_k = UFT_THUNK_K((uint32_t)(o->text_start >> 2) - o->first_text_id, UFT_REC_FUNC);
	uint32_t stub_k = UFT_THUNK_K((uint32_t)(o->stub_base >> 4) - o->first_stub_id, UFT_REC_ENTRY);
	uint32_t code_k = UFT_THUNK_K(arch_code_k(o->code_base, o->first_stub_id), UFT_REC_FUNC);
	uint32_t w[ARCH_THUNK_BYTES / 4];
	int ret = word_open(thunk_in(o, page, 0), thunk_in(o, page, WORD_NTHUNKS));

	if (ret)
		return ret;
	for (unsigned t = 0; t < WORD_NTHUNKS; t++) {
		uintptr_t at = thunk_in(o, page, t);
		int has_k = t != THUNK_EXIT && t != THUNK_CODE_EXIT && (ARCH_CODE_HAS_K || t != THUNK_CODE_FUNC);

		cells(o, t)[0] = ARCH_THUNK_K(t <= THUNK_MFUNC ? text_k : t == THUNK_CODE_FUNC ? code_k : stub_k);
		uft_store_release(&cells(o, t)[1], (uint64_t)handler_of(t));
		if (!arch_make_thunk(w, at, (uint64_t)cells(o, t), has_k,
				     t < NTHUNKS ? &uft_rt.slice->tid_offset : NULL))
			ret = -ERANGE;
		for (unsigned i = 0; i < ARCH_THUNK_BYTES / 4; i++)
			word_put(at + 4 * i, w[i]);
	}
	word_close();
	plat_sync_cores();
	return ret;
}

static int map_region(struct word_object *o, int has_code)
{
	size_t stubs = PLAT_PAGE_UP((size_t)o->capacity * UFT_STUB_BYTES);
	size_t code = has_code ? PLAT_PAGE_UP((size_t)o->capacity * UFT_CODE_STRIDE) : 0;
	size_t bytes = (1 + ARCH_THUNK_PAGES) * PLAT_PAGE + stubs + code;
	int ret = plat_map_near(o->text_start, o->text_end, bytes, PLAT_READ | PLAT_EXEC | (has_code ? PLAT_CLOSE : 0),
				&o->region);

	if (ret)
		return ret;
	o->region_end = o->region + bytes;
	o->stub_base = o->region + 2 * PLAT_PAGE;
	o->code_base = has_code ? o->stub_base + stubs : 0;
	ret = plat_protect(o->region, PLAT_PAGE, PLAT_READ | PLAT_WRITE);
	word_begin();
	for (unsigned page = 0; !ret && page < ARCH_THUNK_PAGES; page++)
		ret = write_thunks(o, page);
	if (!ret)
		*cells(o, WORD_NTHUNKS) = arch_copy_k(o->stub_base, o->first_stub_id, UFT_REC_ENTRY);
	o->has_copies = !ret;
	for (unsigned page = 0; o->has_copies && page < ARCH_THUNK_PAGES; page++)
		o->has_copies = write_copies(o, page) == NCOPIES;
	return ret;
}

static struct word_object *object_new(const struct uft_cmd_object *c)
{
	struct word_object *o = plat_alloc(sizeof(*o));

	if (!o)
		return NULL;
	o->text_start = c->text_start;
	o->text_end = c->text_end;
	o->capacity = c->nstubs + c->nstubs / 4 + 64;
	o->object = c->object;
	o->first_text_id = c->first_text_id;
	o->first_stub_id = c->first_stub_id;
	o->site = plat_map((size_t)o->capacity * sizeof(*o->site));
	if (!o->site)
		return NULL;
	if (map_region(o, c->has_code && ARCH_HAS_CODE)) {
		plat_unmap(o->site, (size_t)o->capacity * sizeof(*o->site));
		return NULL;
	}
	o->next = objects;
	uft_store_release(&objects, o);
	return o;
}

int patch_object(struct uft_cmd_object *c)
{
	struct word_object *o = word_find(c->object);

	if (c->text_end <= c->text_start || c->object >= UFT_MAX_OBJECTS)
		return -EINVAL;
	if (o && (o->text_start != c->text_start || o->text_end != c->text_end ||
		  o->first_text_id != c->first_text_id || o->first_stub_id != c->first_stub_id))
		return -EEXIST;
	if (!o)
		o = object_new(c);
	if (!o)
		return -ENOMEM;
	if (c->nstubs > o->capacity)
		return -ENOSPC;
	if (c->has_code && !o->code_base)
		return -ENOSPC;		/* the session has to describe the object again */
	if (c->nstubs > o->nstubs)
		o->nstubs = c->nstubs;
	c->stub_base = o->stub_base;
	c->tramp_base = o->region;
	c->tramp_end = o->region_end;
	c->code_base = o->code_base;
	return 0;
}

/* ---- words of a site ------------------------------------------------------------------------ */

static unsigned site_kind(const struct word_site *s)
{
	return s->kind_len & 0xf;
}

static unsigned site_words(const struct word_site *s)
{
	return (unsigned)(s->kind_len >> 4) / 4;
}

static int is_entry(const struct word_site *s)
{
	return site_kind(s) == UFT_SITE_NOPS;
}

static int is_code(const struct word_site *s)
{
	return site_kind(s) == UFT_SITE_CODE;
}

static uint32_t word_at(const struct word_site *s, unsigned i)
{
	return arch_text_load4((const void *)(s->addr + 4 * i));
}

static int entry_form(const struct word_object *o, const struct word_site *s, uint32_t stub, unsigned state,
		      struct form *f)
{
	uintptr_t at = s->addr + 4;

	f->w[0] = arch_entry_word(s->addr, word_stub(o, stub));
	f->w[1] = ARCH_INSN_NOP;
	if (state == UFT_GRAPH || (state == UFT_FUNCTION && ARCH_CALL_BY_STUB))
		f->w[1] = arch_jump_word(at, word_stub(o, stub));
	else if (state == UFT_FUNCTION && !arch_make_call(f->w, 2, s->addr, word_thunk(o, THUNK_FUNC, at)))
		return 0;
	return f->w[0] && f->w[1];
}

/* The words of a site in @state. 0: the site has no such form, or a target is out of reach. */
static int form_of(const struct word_object *o, const struct word_site *s, uint32_t stub, unsigned state,
		   struct form *f)
{
	unsigned n = site_words(s);
	int ret;

	if (state == UFT_ORIGINAL) {
		*f = (struct form){ { s->orig[0], s->orig[1] } };
		return 1;
	}
	if (is_entry(s))
		return entry_form(o, s, stub, state, f);
	if (is_code(s)) {
		/* An idle site that is not linked yet stays as found. */
		f->w[0] = state == UFT_IDLE && word_at(s, 0) == s->orig[0] ? s->orig[0] :
			word_code_form(o, s, stub, state);
		return f->w[0] != 0;
	}
	ret = arch_make_call(f->w, n, s->addr, state == UFT_GRAPH || ARCH_CALL_BY_STUB ? word_stub(o, stub) :
			     word_thunk(o, THUNK_MFUNC, s->addr));
	if (state != UFT_IDLE)
		return ret;
	f->w[n - 1] = ARCH_INSN_NOP;
	return ret || n == 1;
}

/* Do the words in the text belong to one of the states? */
static int is_ours(const struct word_object *o, const struct word_site *s, uint32_t stub)
{
	static const uint8_t states[] = { UFT_ORIGINAL, UFT_IDLE, UFT_FUNCTION, UFT_GRAPH };
	struct form f;

	for (unsigned i = 0; i < sizeof(states); i++)
		if (form_of(o, s, stub, states[i], &f) && word_at(s, 0) == f.w[0] &&
		    (site_words(s) < 2 || word_at(s, 1) == f.w[1]))
			return 1;
	return 0;
}

/* Are the words as found of the site's kind? Returns enum uft_site_status. */
static int check_words(const struct word_site *s, unsigned bytes)
{
	unsigned n = bytes / 4;

	if (n < 1 || n > 2 || bytes & 3)
		return UFT_ST_KIND;
	switch (site_kind(s)) {
	case UFT_SITE_NOPS:
		if (bytes != ARCH_ENTRY_BYTES)
			return UFT_ST_KIND;
		return !(s->addr & 3) && arch_is_nop(s->orig[0]) && arch_is_nop(s->orig[1]) ? UFT_ST_OK : UFT_ST_BYTES;
	case UFT_SITE_MCOUNT_CALL:
	case UFT_SITE_MCOUNT_NOP:
		return (arch_is_nop(s->orig[0]) && (n == 1 || arch_is_nop(s->orig[1]))) || arch_is_call(s->orig, n) ?
			UFT_ST_OK :
		       UFT_ST_BYTES;
	default:
		return UFT_ST_KIND;
	}
}

/* Learns a site at first touch. Returns enum uft_site_status. */
static int learn(const struct word_object *o, struct word_site *s, const struct uft_patch *p)
{
	struct word_site fresh = { .addr = p->addr, .kind_len = p->kind_len, .action = p->action };
	unsigned bytes = p->kind_len >> 4;
	int status;

	if (p->addr & (ARCH_INSN_ALIGN - 1) || p->addr < o->text_start || p->addr + bytes > o->text_end)
		return UFT_ST_BYTES;
	for (unsigned i = 0; i < bytes / 4 && i < 2; i++)
		fresh.orig[i] = word_at(&fresh, i);
	status = check_words(&fresh, bytes);
	if (status != UFT_ST_OK)
		return status;
	s->kind_len = fresh.kind_len;
	s->action = fresh.action;
	s->orig[0] = fresh.orig[0];
	s->orig[1] = fresh.orig[1];
	uft_store_release(&s->addr, p->addr);	/* last: a fork child finds all of the record or none */
	return UFT_ST_OK;
}

/* ---- changing ------------------------------------------------------------------------------------- */

static void refuse(struct uft_patch *p, int status)
{
	p->status = (uint8_t)status;
	trace_count(status == UFT_ST_LIVE ? UFT_CNT_SITE_LIVE : status == UFT_ST_REACH ? UFT_CNT_SITE_REACH :
		    UFT_CNT_SITE_REFUSED, 1);
}

/* The record of a request's site, if the request is sound; else the request is refused. */
static struct word_site *site_for(struct word_object *o, struct uft_patch *p)
{
	struct word_site *s = p->stub < o->nstubs && p->state <= UFT_GRAPH ? &o->site[p->stub] : NULL;
	int status = UFT_ST_OK;

	if (!s || (s->addr && (s->addr != p->addr || s->kind_len != p->kind_len)))
		status = UFT_ST_KIND;
	else if (!s->addr)
		status = learn(o, s, p);
	if (status == UFT_ST_OK)
		return s;
	refuse(p, status);
	return NULL;
}

static int wants_stub(const struct uft_patch *p)
{
	return p->status == UFT_ST_OK && (p->state == UFT_GRAPH || (ARCH_CALL_BY_STUB && p->state == UFT_FUNCTION));
}

/* The size of the frame that the prologue has made; 0: not known, or the site lies at the entry. */
static uint32_t frame_of(const struct word_object *o, const struct word_site *s)
{
	return is_entry(s) ||
		is_code(s) ? 0 : arch_mcount_frame((const uint32_t *)s->addr, (const uint32_t *)o->text_start);
}

/* Writes a site's stub; 1: written. Only its first and its last word differ between states and flags. */
static int write_stub(struct word_object *o, struct word_site *s, const struct uft_patch *p)
{
	uintptr_t at = word_stub(o, p->stub);
	int is_function = ARCH_CALL_BY_STUB && p->state == UFT_FUNCTION, made;
	unsigned enter = is_code(s) ? THUNK_CODE_ENTER : is_entry(s) ? (is_function ? THUNK_FUNC : THUNK_ENTER) :
		is_function ? THUNK_MFUNC : THUNK_MENTER;
	uint8_t flags = p->action;
	uint32_t w[UFT_STUB_BYTES / 4];

	if (s->has_stub && s->action == flags && s->stub_state == enter)
		return 0;
	if (is_code(s))
		made = arch_make_code_stub(w, at, word_thunk(o, enter, at), word_thunk(o, THUNK_CODE_EXIT, at),
					   word_code_at(o, p->stub), flags);
	else if (is_entry(s))
		made = arch_make_stub(w, at, word_thunk(o, enter, at), word_thunk(o, THUNK_EXIT, at),
				      s->addr + ARCH_ENTRY_BYTES, flags);
	else
		made = arch_make_mcount_stub(w, at, word_thunk(o, enter, at), word_thunk(o, THUNK_EXIT, at),
					     frame_of(o, s), flags);
	if (!made)
		return 0;
	for (unsigned k = 0; k < UFT_STUB_BYTES / 4; k++)
		if (!s->has_stub || arch_text_load4((const void *)(at + 4 * k)) != w[k])
			word_put(at + 4 * k, w[k]);
	s->action = flags;
	s->stub_state = (uint8_t)enter;
	s->has_stub = 1;
	return 1;
}

/* Stubs first, because sites lead there afterwards. The flags byte is data and is set to the flags wanted now. */
static void write_stubs(struct word_object *o, struct uft_patch *p, uint32_t n)
{
	int written = 0;

	if (word_open(o->stub_base, o->stub_base + o->capacity * UFT_STUB_BYTES))
		return;
	for (uint32_t i = 0; i < n; i++)
		if (p[i].stub < o->nstubs && wants_stub(&p[i]))
			written |= write_stub(o, &o->site[p[i].stub], &p[i]);
	word_close();
	if (written)
		plat_sync_cores();
}

/*
 * Writes one word of a site, word 0 or 1, on the way to the wanted state. Returns 1 if it was written. While threads
 * may run, the first of two words is never restored, and words as found behind it neither: idle does no harm. A site
 * that cannot become idle either stays armed, and is refused with UFT_ST_LIVE.
 */
static int change_word(struct word_object *o, struct uft_patch *p, unsigned word, int is_quiet)
{
	struct word_site *s = &o->site[p->stub];
	unsigned n = site_words(s), stays = n > 1 || is_code(s),
		 state = p->state == UFT_ORIGINAL && stays && !is_quiet ? UFT_IDLE : p->state;
	uint32_t *at = (uint32_t *)s->addr + word;
	struct form f;

	if (p->status != UFT_ST_OK || word >= n)
		return 0;
	if (!form_of(o, s, p->stub, state, &f) || (wants_stub(p) && !s->has_stub)) {
		refuse(p, UFT_ST_REACH);
		return 0;
	}
	if (word_at(s, word) == f.w[word])
		return 0;
	if (!is_quiet && (n - 1 - word || s->addr & 3 || (is_code(s) && word_at(s, 0) == s->orig[0]))) {
		if (p->state != UFT_ORIGINAL || (word == n - 1 && word_at(s, word) != s->orig[word]))
			refuse(p, UFT_ST_LIVE);
		return 0;
	}
	if (!window.is_direct || (uintptr_t)at < window.lo || (uintptr_t)at + 4 > window.hi) {
		if (has_window)
			word_close();
		if (word_open(PLAT_PAGE_DOWN(at), PLAT_PAGE_UP((uintptr_t)at + 4))) {
			refuse(p, UFT_ST_WRITE);
			return 0;
		}
	}
	word_put((uintptr_t)at, f.w[word]);
	return 1;
}

/*
 * Changes all sites of a list, in an order in which every instant is sound. Arming: the first words, a synchronisation,
 * the second words. Restoring: the second words, a synchronisation, and then the first words if no thread runs.
 */
static uint32_t change(struct word_object *o, struct uft_patch *p, uint32_t n, int is_quiet)
{
	uint32_t i, changed = 0, first = 0;
	int is_out = n && p[0].state == UFT_ORIGINAL;

	for (int pass = 0; pass < 2; pass++) {
		unsigned word = (unsigned)(pass ^ is_out);
		uint32_t written = 0;

		for (i = 0; i < n; i++)
			written += (uint32_t)change_word(o, &p[i], word, is_quiet);
		if (has_window)
			word_close();
		window.hi = 0;
		if (written)
			plat_sync_cores();
		if (!pass)
			first = written;
		else
			changed = written > first ? written : first;
	}
	return changed;
}

long patch_change(uint32_t object, struct uft_patch *p, uint32_t n, unsigned flags, uint64_t *done)
{
	struct word_object *o = word_find(object);
	uint32_t changed, i;

	if (!o)
		return -ENOENT;
	word_begin();
	for (i = 0; i < n; i++) {
		struct word_site *s;

		p[i].status = UFT_ST_OK;
		s = site_for(o, &p[i]);
		if (s && !is_ours(o, s, p[i].stub))
			refuse(&p[i], UFT_ST_BYTES);
		else if (s && p[i].state == UFT_GRAPH && !is_entry(s) && !is_code(s) && !frame_of(o, s))
			refuse(&p[i], UFT_ST_KIND);
		else if (s && p[i].state == UFT_GRAPH && s->is_plain)
			refuse(&p[i], UFT_ST_PLAIN);
	}
	write_stubs(o, p, n);
	changed = change(o, p, n, is_vouched || flags & (UFT_PATCH_FRESH | UFT_CMD_HELD));
	if (done)
		*done = n;
	trace_count(UFT_CNT_PATCHED, changed);
	return changed;
}

/* ---- restoring ---------------------------------------------------------------------------------- */

/* Returns how many sites could not be changed while threads run; the caller gets this number. */
static uint32_t disarm_object(struct word_object *o)
{
	struct uft_patch *p = plat_map(o->nstubs * sizeof(*p));
	uint32_t n = 0, left = 0;

	if (!p) {
		trace_count(UFT_CNT_SITE_REFUSED, o->nstubs);
		return 0;
	}
	for (uint32_t i = 0; i < o->nstubs; i++)
		if (o->site[i].addr)
			p[n++] = (struct uft_patch){ .addr = o->site[i].addr, .stub = i,
				.kind_len = o->site[i].kind_len,
						     .state = UFT_ORIGINAL, .action = o->site[i].action };
	patch_change(o->object, p, n, 0, NULL);
	for (uint32_t i = 0; i < n; i++)
		left += p[i].status == UFT_ST_LIVE;
	if (left)
		trace_count(UFT_CNT_SITE_LIVE, -(uint64_t)left);
	plat_unmap(p, o->nstubs * sizeof(*p));
	return left;
}

uint32_t patch_disarm_sites(void)
{
	uint32_t left = 0;

	for (struct word_object *o = objects; o; o = o->next)
		if (!o->is_gone && o->nstubs)
			left += disarm_object(o);
	return left + tracepoints_disarm();
}

uint32_t patch_disarm_hooks(void)
{
	word_unhook();
	return 0;
}

uint32_t patch_disarm(void)
{
	uint32_t left = patch_disarm_sites();

	return left + patch_disarm_hooks();
}

/* The library is never unmapped here, so no site has to be restored for that. */
uint32_t patch_stuck(void)
{
	return 0;
}

int patch_is_needed(uint64_t at, uint64_t bytes)
{
	(void)at, (void)bytes;
	return 0;
}

void patch_object_gone(uint32_t object)
{
	struct word_object *o = word_find(object);

	if (!o)
		return;
	o->is_gone = 1;
	plat_unmap(o->site, (size_t)o->capacity * sizeof(*o->site));
	o->site = NULL;
}

void patch_object_anew(uint32_t object)
{
	patch_object_gone(object);	/* hooks are not an object's */
}

/* Every word is sound by itself, whichever of them the child has: there is nothing to finish. */
void patch_after_fork(void)
{
	plat_text_forget();
	if (uft_load(&has_window))
		word_close();
}

/* ---- functions for other architectures ----------------------------------------------------------------- */

long patch_bits(uint32_t object, const struct uft_site_order *order, uint64_t *word, uint32_t n, unsigned flags)
{
	(void)object, (void)order, (void)word, (void)n, (void)flags;
	return -EOPNOTSUPP;
}

/* Code of sites lies in the program's text only. */
void patch_describe(struct uft_debug *d)
{
	(void)d;
}
