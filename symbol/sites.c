/* SPDX-License-Identifier: MIT */
/*
 * sites.c - find the patchable sites of an object
 *
 * The search goes from function starts to bytes, not from the compiler's tables: gcc 12 writes one table a file, so a
 * COMDAT function in two files leaves a dangling entry, and --gc-sections drops entries of functions that stay. In this
 * order:
 *   1. every function start of .eh_frame_hdr, else .eh_frame (unwind.c): [endbr64] and then a pad of nops or a
 *      call of __fentry__; in objects that call mcount also the prologue up to that call;
 *   2. entries of __patchable_function_entries and __mcount_loc that belong to no function of step 1
 *      (code built without unwind tables);
 *   3. function symbols, where there is no unwind table, or it is much smaller than the symbol table.
 * Every site is checked against the bytes in the file, whatever its source.
 *
 * False hits. Unprepared code may begin with nops: the alignment of a loop at the very start of a function. So a pad
 * counts only with a confirmation: a table entry; the exact 5-byte nops that gcc and clang write; another function with
 * a pad of the same form; or missing section headers (sstrip), because then there is no table. A false hit does no
 * harm: it is the entry of a function whose first bytes have no effect, and no jump leads into the middle of an
 * alignment.
 *
 * N,M pads (-fpatchable-function-entry=N,M): the table points M bytes before the symbol. With >= 5 bytes left behind
 * the entry the M bytes do not matter; with 2..4 the site is PREPAD; with fewer the M bytes decide: five of them hold a
 * jump that a short jump at the entry reaches, so the function's code can be rewritten (UFT_SKIP_BEFORE,
 * control/relocate/). The list of C++ made by gcc 12 is discarded at link (tools/start): there gcc's one-byte nops
 * around the entry are confirmation enough; nops before it only if most functions of the object have them.
 *
 * Functions without a site are listed with the reason, but only in an object that has sites at all: an unprepared libc
 * would otherwise be thousands of lines of "not compiled for tracing".
 *
 * Cost: 100,000 prepared functions take 4 ms, half of it page faults; in two threads, beside all other work at a start
 * (prefetch.c).
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <Zydis/Zydis.h>

#include "runtime/arch/x86_64/encode.h"
#include "symbol/calls.h"
#include "symbol/object_internal.h"
#include "symbol/site_table.h"
#include "symbol/sorted.h"
#include "symbol/table.h"
#include "symbol/thread.h"
#include "symbol/unwind.h"
#include "symbol/isa.h"

#define SITE_MAX_LEN		15	/* a uft_patch has 4 bits for it */
#define SITE_MIN_LEN		5	/* jmp rel32, call rel32 */
#define SITE_PROLOGUE_BYTES	128	/* a call of mcount lies within them */
#define SITE_MAX_BEFORE		255	/* M of N,M */
#define SITE_DECODE_STEPS	8u	/* for each decoded byte */
#define SITE_ONES_BEFORE	8	/* one-byte nops before an entry, which only gcc makes */
#define SITE_MAX_PLT		8
#define SITE_BIG		(128u << 10)	/* bytes of .eh_frame_hdr, 8 a function: enough for a second thread */

struct site_scan {
	struct uft_object *obj;
	struct elf_view *v;
	struct callees calls;
	const struct isa *isa;	/* if instructions are whole words; else NULL */
	struct isa_calls isa_calls;
	struct uw_starts syms;	/* then: function symbols, by address */
	struct site_table pfe, loc;
	struct { uint64_t start, end; } plt[SITE_MAX_PLT];
	unsigned nplt;
	unsigned shapes[2][SITE_MAX_LEN + 1];	/* number of pads by UFT_SITE_NOPS and length */
	size_t room;
	int has_memory;
	int error;		/* of site_read_rest() */
};

/* ---- Bytes ------------------------------------------------------------------------------------ */

unsigned object_pad(const uint8_t *p, size_t avail, unsigned *len)
{
	size_t n = avail < SITE_MAX_LEN ? avail : SITE_MAX_LEN, first, ones = 0;

	while (ones < n && p[ones] == UFT_OP_NOP)
		ones++;
	*len = ones;
	if (ones >= SITE_MIN_LEN)
		return UFT_SITE_NOPS;
	first = ones ? 1 : uft_insn_nop_length(p, n);
	*len = first;
	if (first >= SITE_MIN_LEN)
		return UFT_SITE_NOP;
	*len = first ? uft_insn_nops_length(p, n, NULL) : 0;
	return UFT_SITE_NONE;
}

/* Are these the nops that only gcc (-mnop-mcount) and clang (=5) write at a function's start? */
static int site_is_compilers(const uint8_t *p)
{
	return !memcmp(p, "\x0f\x1f\x44\0", 4) && (p[4] == 0 || p[4] == 8);
}

/* Is it an N,M pad of gcc without a list: one-byte nops on both sides of the entry? Alignment uses long nops. */
static int site_is_gcc_prepad(struct uft_object *obj, uint64_t func, const uint8_t *p, unsigned len)
{
	static const uint8_t nops[SITE_MIN_LEN] = { 0x90, 0x90, 0x90, 0x90, 0x90 };
	const uint8_t *before;
	size_t avail;

	before = func > SITE_MIN_LEN ? object_code(obj, func - SITE_MIN_LEN, &avail) : NULL;
	return before && avail >= SITE_MIN_LEN && !memcmp(before, nops, SITE_MIN_LEN) && !memcmp(p, nops, len);
}

/*
 * Does the whole pad lie before the entry, without a list? This is no proof, but if most functions have such pads they
 * are not the linker's filling.
 */
static int site_has_ones_before(struct uft_object *obj, uint64_t func)
{
	size_t avail;
	const uint8_t *p = func > SITE_ONES_BEFORE ? object_code(obj, func - SITE_ONES_BEFORE, &avail) : NULL;

	return p && avail >= SITE_ONES_BEFORE && !memcmp(p, "\x90\x90\x90\x90\x90\x90\x90\x90", SITE_ONES_BEFORE);
}

/* ---- Prologues -------------------------------------------------------------------------------- */

/* Returns the length of an instruction that compilers put before the call of mcount; 0: needs the full decoder. */
static unsigned site_prologue_insn(const uint8_t *p)
{
	if ((p[0] & 0xf8) == 0x50)					/* push %reg */
		return 1;
	if (p[0] == 0x41 && (p[1] & 0xf8) == 0x50)			/* push %r8-%r15 */
		return 2;
	if (p[0] == 0x48 && p[1] == 0x89 && p[2] >= 0xc0)		/* mov %reg,%reg */
		return 3;
	if (p[0] == 0x89 && p[1] >= 0xc0)				/* mov %r32,%r32 */
		return 2;
	if (p[0] == 0x48 && p[1] == 0x83 && (p[2] == 0xec || p[2] == 0xe4))	/* sub/and $imm8,%rsp */
		return 4;
	if (p[0] == 0x48 && p[1] == 0x81 && p[2] == 0xec)		/* sub $imm32,%rsp */
		return 7;
	return 0;
}

/* Does decoding from @p reach the offset @at exactly? @avail bytes are readable, at least 5 of them behind @at. */
static int site_is_boundary(const uint8_t *p, size_t at, size_t avail)
{
	ZydisDecodedInstruction insn;
	ZydisDecoder decoder;
	size_t off = 0;
	unsigned len;
	int ready = 0;

	while (off < at) {
		len = site_prologue_insn(p + off);
		if (!len) {
			if (!ready)
				ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
			ready = 1;
			if (ZYAN_FAILED(ZydisDecoderDecodeInstruction(&decoder, NULL, p + off, avail - off, &insn)))
				return 0;
			len = insn.length;
		}
		off += len;
	}
	return off == at;
}

/* Searches the call of mcount in the first bytes of a function of @size bytes. Returns its offset, or -1. */
static long site_find_mcount(struct site_scan *s, uint64_t func, const uint8_t *p, size_t avail, size_t size,
			     unsigned *len, unsigned *what)
{
	size_t at, n = size < avail ? size : avail;

	if (n > SITE_PROLOGUE_BYTES)
		n = SITE_PROLOGUE_BYTES;
	for (at = 0; at + SITE_MIN_LEN <= n; at++) {
		if (p[at] != 0xe8 && p[at] != 0xff && p[at] != 0x67)
			continue;
		*len = callee_of_call(&s->calls, func + at, p + at, n - at, what);
		if (*len && *what & CALLEE_MCOUNT &&
		    !bound_steps(s->v->bound, "prologues", SITE_DECODE_STEPS * at) && site_is_boundary(p, at, avail))
			return at;
	}
	return -1;
}

/* ---- One function ----------------------------------------------------------------------------- */

static void site_add(struct site_scan *s, uint64_t addr, uint64_t func, unsigned kind, unsigned len, unsigned source,
		     unsigned skip)
{
	if (!object_add_site(s->obj, &s->room, addr, func, kind, len, source, skip))
		s->has_memory = 0;
	else if ((kind == UFT_SITE_NOP || kind == UFT_SITE_NOPS) && len <= SITE_MAX_LEN)
		s->shapes[kind == UFT_SITE_NOPS][len]++;
}

/*
 * The called function decides whether the call is the program's own, the place of the call decides the kind: before the
 * frame is set up it is a call of __fentry__.
 */
static void site_add_call(struct site_scan *s, uint64_t addr, uint64_t func, unsigned what, unsigned len,
			  unsigned source, int is_entry)
{
	unsigned kind = is_entry ? UFT_SITE_FENTRY_CALL : UFT_SITE_MCOUNT_CALL;

	if (what & CALLEE_OWN)	/* recorded, but the call stays: never a nop */
		kind = UFT_SITE_OWN_CALL;
	site_add(s, addr, func, kind, len, source, UFT_SKIP_NONE);
	if (s->has_memory)
		s->obj->site[s->obj->nsite - 1].call_name = what >> CALLEE_NAME_SHIFT;
}

static int site_is_nops(const struct uft_object *obj, const uint8_t *p, size_t n)
{
	const struct isa *isa = isa_of(obj);

	return isa ? isa->is_pad(p, n) : uft_insn_nops_length(p, n, NULL) == n;
}

/* Is there only a landing pad between the entry and @e? Small functions lie 4 bytes apart. */
static int site_is_landing(struct uft_object *obj, uint64_t func, uint64_t e)
{
	size_t avail;
	const uint8_t *p = e == func + UFT_LEN_ENDBR ? object_code(obj, func, &avail) : NULL;

	if (!p || avail < UFT_LEN_ENDBR)
		return 0;
	return isa_of(obj) ? site_is_nops(obj, p, 4) : uft_insn_is_endbr(p) != 0;
}

/* Marks the table entry of the pad of @func as seen. 1: there is one. *before gets the M of N,M. */
static int site_claim_pfe(struct site_scan *s, uint64_t func, unsigned *before)
{
	struct site_table *t = &s->pfe;
	const uint8_t *p;
	size_t i, avail;

	*before = 0;
	i = site_table_from(t, func > SITE_MAX_BEFORE ? func - SITE_MAX_BEFORE : 1);
	while (t->at < t->n && t->seen[t->at])		/* small functions: many lie that close */
		i = ++t->at;
	for (; i < t->n && t->addr[i] <= func + UFT_LEN_ENDBR; i++) {
		uint64_t e = t->addr[i];

		if (t->seen[i])
			continue;
		if (bound_steps(s->v->bound, "pads", func > e ? func - e : 1))
			return 0;
		if (e < func) {
			p = object_code(s->obj, e, &avail);
			if (!p || avail < func - e || !site_is_nops(s->obj, p, func - e))
				continue;
			*before = func - e;
		} else if (e != func && !site_is_landing(s->obj, func, e)) {
			continue;
		}
		t->seen[i] = 1;
		return 1;
	}
	return 0;
}

/* Adds the site that __mcount_loc names in the function, whose code ends before @end. 1: found. */
static int site_from_loc(struct site_scan *s, uint64_t func, uint64_t end, const uint8_t *p, size_t avail,
			 unsigned source)
{
	struct site_table *t = &s->loc;
	unsigned len, what = 0, is_entry;
	uint64_t e, at;
	size_t i;

	for (i = site_table_from(t, func); i < t->n && t->seen[i]; i++)
		;
	if (i == t->n || t->addr[i] >= end || t->addr[i] - func >= avail)
		return 0;
	e = t->addr[i];
	at = e - func;
	is_entry = at == 0 || (at == UFT_LEN_ENDBR && uft_insn_is_endbr(p));
	len = callee_of_call(&s->calls, e, p + at, avail - at, &what);
	if (len) {		/* the called function may have no name any more; the table tells that this is a call */
		t->seen[i] = 1;
		site_add_call(s, e, func, what, len, source, is_entry);
		return 1;
	}
	len = uft_insn_nop_length(p + at, avail - at);
	if (len < SITE_MIN_LEN)
		return 0;
	t->seen[i] = 1;
	site_add(s, e, func, is_entry ? UFT_SITE_NOP : UFT_SITE_MCOUNT_NOP, len, source, UFT_SKIP_NONE);
	return 1;
}

/* Returns the first function symbol above @from and not above @to; 0: none. */
static uint64_t site_symbol_in(const struct site_scan *s, uint64_t from, uint64_t to)
{
	size_t lo = SORTED_FIRST(i, s->syms.n, s->syms.addr[i] > from);

	return lo < s->syms.n && s->syms.addr[lo] <= to ? s->syms.addr[lo] : 0;
}

/*
 * Returns the offset of the nops that __mcount_loc names in the function, if instructions are whole words; -1: none.
 * Calls are found without the table: @at, or -1. Code without unwind data may follow, so an entry that is neither
 * belongs to no function here.
 */
static long site_listed_words(struct site_scan *s, uint64_t func, size_t n, const uint8_t *p, long at)
{
	struct site_table *t = &s->loc;
	size_t i = site_table_from(t, func), len = s->isa->mcount_len, off = i < t->n ? t->addr[i] - func : n;
	int is_pad;

	if (off >= n || off >= ISA_MCOUNT_BYTES || site_symbol_in(s, func, func + off))
		return -1;
	is_pad = off + len <= n && s->isa->is_pad(p + off, len);
	t->seen[i] |= is_pad || (long)off == at;
	return is_pad ? (long)off : -1;
}

/*
 * Without a list (C++ of gcc, whose list the link discards): returns the length of the nops between a function's symbol
 * and its unwind entry at @func, which gcc begins behind the pad. 0: none, or only alignment, because there is no
 * symbol.
 */
static unsigned site_unlisted_pad(struct site_scan *s, uint64_t func)
{
	uint64_t symbol = site_symbol_in(s, func - SITE_MAX_BEFORE - 1, func), next;
	const uint8_t *p;
	size_t avail;

	if (s->pfe.n)
		return 0;
	while (symbol && symbol < func && (next = site_symbol_in(s, symbol, func)))
		symbol = next;
	p = symbol && symbol < func ? object_code(s->obj, symbol, &avail) : NULL;
	return p && avail >= func - symbol && s->isa->is_pad(p, func - symbol) ? (unsigned)(func - symbol) : 0;
}

/*
 * The same for instructions of whole words. gcc begins the unwind entry behind the pad, whose first nops may lie before
 * the function (M of N,M); then a symbol tells how many. Calls of mcount are found by the PLT entry or function that
 * they lead to.
 */
static void site_of_function_words(struct site_scan *s, uint64_t func, uint64_t end, const uint8_t *p, size_t avail,
				   unsigned source)
{
	unsigned before = 0, listed = s->pfe.n && site_claim_pfe(s, func, &before), kind = UFT_SITE_NOPS, len = 8;
	size_t n = end - func < avail ? end - func : avail, have;
	const uint8_t *pad;
	uint64_t site = func, symbol;
	long at;

	if (before && site_symbol_in(s, func - 1, func))	/* the true entry */
		before = 0;
	if (!listed && (before = site_unlisted_pad(s, func)))
		listed = 1;
	at = s->isa->site(&s->isa_calls, func, p, n, &kind, &len);
	/* nothing at the unwind entry: it lies behind the pad */
	if (before && (at < 0 || kind != UFT_SITE_NOPS)) {
		pad = object_code(s->obj, func - before, &have);
		at = pad && have >= before ? s->isa->pad_site(func - before, pad, before) : -1;
		kind = UFT_SITE_NOPS;
		len = 8;
	} else {
		before = 0;
	}

	if (s->loc.n) {
		long nops = site_listed_words(s, func, n, p, at);

		if (at < 0 && nops >= 0) {
			site_add(s, func + (uint64_t)nops, func, UFT_SITE_MCOUNT_NOP, s->isa->mcount_len, source,
				 UFT_SKIP_NONE);
			return;
		}
	}
	if (at < 0) {
		site_add(s, func, func, UFT_SITE_NONE, len, source, listed ? UFT_SKIP_PAD_SMALL : UFT_SKIP_NO_PAD);
		return;
	}
	site += (uint64_t)at - before;
	symbol = before ? site_symbol_in(s, func - before - 1, site) : 0;
	if (before && !symbol && site_is_landing(s->obj, func - before - 4, func - before))
		symbol = site_symbol_in(s, func - before - 5, func - before - 4);
	if (symbol)
		func = symbol;
	/* the entry lies behind its first word */
	if (kind == UFT_SITE_NOPS && site_symbol_in(s, site, site + len))
		site_add(s, site, func, UFT_SITE_NONE, len, source, UFT_SKIP_PAD_SMALL);
	else
		site_add(s, site, func, kind, len, source,
			 kind != UFT_SITE_NOPS || listed ? UFT_SKIP_NONE : UFT_SKIP_NO_PAD);
}

/* Adds the site of the function at @func, or the reason why it has none. @end: the end of what may be its code. */
static void site_of_function(struct site_scan *s, uint64_t func, uint64_t end, const uint8_t *p, size_t avail,
			     unsigned source)
{
	unsigned kind, len, what = 0, before = 0, listed;
	size_t at = avail >= UFT_LEN_ENDBR ? uft_insn_is_endbr(p) : 0;
	long off;

	if (s->isa) {
		site_of_function_words(s, func, end, p, avail, source);
		return;
	}

	listed = s->pfe.n && site_claim_pfe(s, func, &before);
	if (s->loc.n && site_from_loc(s, func, end, p, avail, source))
		return;
	kind = object_pad(p + at, avail - at, &len);
	if (kind) {
		site_add(s, func + at, func, kind, len, source,
			 listed || !s->v->nsh || site_is_compilers(p + at) ? UFT_SKIP_NONE : UFT_SKIP_NO_PAD);
		return;
	}
	if (s->calls.has_any && callee_of_call(&s->calls, func + at, p + at, avail - at, &what) && what) {
		len = p[at] == UFT_OP_CALL ? 5 : 6;
		site_add_call(s, func + at, func, what, len, source, 1);
		return;
	}
	if (s->calls.has_any) {
		off = site_find_mcount(s, func, p, avail, end - func, &len, &what);
		if (off >= 0) {
			site_add_call(s, func + off, func, what, len, source, 0);
			return;
		}
	}
	if (!at && len >= 2 && len < SITE_MIN_LEN &&
	    (listed ? before >= SITE_MIN_LEN : site_is_gcc_prepad(s->obj, func, p, len)))
		site_add(s, func, func, UFT_SITE_PREPAD, len, source, UFT_SKIP_NONE);
	else if (before >= SITE_MIN_LEN)
		site_add(s, func + at, func, UFT_SITE_CODE, before < SITE_MAX_LEN ? before : SITE_MAX_LEN, source,
			 UFT_SKIP_BEFORE);
	else if (!listed && !s->pfe.n && site_has_ones_before(s->obj, func))
		/* decided by site_settle() */
		site_add(s, func + at, func, UFT_SITE_CODE, SITE_ONES_BEFORE, source, UFT_SKIP_NO_PAD);
	else
		site_add(s, func + at, func, UFT_SITE_NONE, listed ? len : 0, source,
			 listed ? UFT_SKIP_PAD_SMALL : UFT_SKIP_NO_PAD);
}

static int site_in_plt(const struct site_scan *s, uint64_t addr)
{
	unsigned i;

	for (i = 0; i < s->nplt; i++)
		if (addr >= s->plt[i].start && addr < s->plt[i].end)
			return 1;
	return 0;
}

static void site_find_plt(struct site_scan *s)
{
	size_t i;

	for (i = 1; i < s->v->nsh && s->nplt < SITE_MAX_PLT; i++) {
		const char *name = elf_section_name(s->v, i);

		if (strncmp(name, ".plt", 4) && strcmp(name, ".iplt"))
			continue;
		s->plt[s->nplt].start = s->v->sh[i].sh_addr;
		s->plt[s->nplt++].end = s->v->sh[i].sh_addr + s->v->sh[i].sh_size;
	}
}

/* ---- Lists of functions ------------------------------------------------------------------------- */

/* Is it exactly the five bytes of -fpatchable-function-entry=5, with no more nops? UFT_SITE_NONE: no. */
static unsigned site_pad_of_5(const uint8_t *p, size_t avail)
{
	if (avail <= SITE_MIN_LEN)
		return UFT_SITE_NONE;
	if (site_is_compilers(p))
		return UFT_SITE_NOP;
	return !memcmp(p, "\x90\x90\x90\x90\x90", SITE_MIN_LEN) && p[SITE_MIN_LEN] != UFT_OP_NOP ? UFT_SITE_NOPS :
		UFT_SITE_NONE;
}

/* The usual form in a prepared object: such a pad at the entry, next in the table. 1: it was added. */
static int site_is_plainest(struct site_scan *s, uint64_t func, const uint8_t *p, size_t avail, unsigned source)
{
	struct site_table *t = &s->pfe;
	struct uft_object *obj = s->obj;
	unsigned kind;

	if (t->at >= t->n || t->addr[t->at] != func || t->seen[t->at] || s->loc.n || obj->nsite == s->room ||
	    obj->machine != EM_X86_64 || !(kind = site_pad_of_5(p, avail)))
		return 0;
	t->seen[t->at++] = 1;
	obj->site[obj->nsite++] = (struct uft_site){ .addr = func, .func = func, .kind = (uint8_t)kind,
		.len = SITE_MIN_LEN,
						     .source = (uint8_t)source };
	s->shapes[kind == UFT_SITE_NOPS][SITE_MIN_LEN]++;
	return 1;
}

/* @list is sorted; functions in @known are left out (NULL: none). */
static void site_scan_functions(struct site_scan *s, const struct uw_starts *list, const struct uw_starts *known,
				unsigned source)
{
	const struct uft_text *text = NULL;
	const uint8_t *code = NULL;
	size_t i, k = 0, avail = 0;
	uint64_t end;

	s->pfe.at = s->loc.at = 0;
	for (i = 0; i < list->n && s->has_memory; i++) {
		uint64_t func = list->addr[i];

		if (!text || func < text->addr || func >= text->end) {
			text = object_text(s->obj, func);
			code = text ? object_code(s->obj, text->addr, &avail) : NULL;
		}
		if (!code || func - text->addr >= avail || site_in_plt(s, func))
			continue;
		end = i + 1 < list->n && list->addr[i + 1] < text->end ? list->addr[i + 1] : text->end;
		if (known) {
			while (k < known->n && known->addr[k] < func)
				k++;
			if (k < known->n && known->addr[k] == func)
				continue;
			if (k < known->n && known->addr[k] < end)
				end = known->addr[k];
		}
		if (!site_is_plainest(s, func, code + (func - text->addr), avail - (func - text->addr), source))
			site_of_function(s, func, end, code + (func - text->addr), avail - (func - text->addr), source);
	}
}

/* Makes a sorted list of the function symbols, each address once. */
static int site_symbol_list(struct site_scan *s, struct uw_starts *out)
{
	struct elf_symtab t;
	Elf64_Sym sym;
	size_t i, n = 0;

	memset(out, 0, sizeof(*out));
	elf_symtab_find(s->v, SHT_SYMTAB, &t);
	if (!t.n)
		t = s->v->dyn;
	out->addr = bound_alloc(s->v->bound, "symbols", t.n + 1, sizeof(*out->addr));
	if (!out->addr)
		return -ENOMEM;
	for (i = 1; i < t.n; i++) {
		elf_sym(&t, i, &sym);
		if (ELF64_ST_TYPE(sym.st_info) == STT_FUNC && sym.st_shndx != SHN_UNDEF)
			out->addr[out->n++] = sym.st_value;
	}
	site_sort_addrs(out->addr, out->n);
	for (i = 0; i < out->n; i++)
		if (!n || out->addr[n - 1] != out->addr[i])
			out->addr[n++] = out->addr[i];
	out->n = n;
	return 0;
}

/* Are there functions that the unwind table lacks? Aliases make the symbol table larger anyway. */
static int site_wants_symbols(const struct site_scan *s, const struct uw_starts *uw)
{
	if (!s->calls.nfuncsyms)
		return 0;
	/*
	 * Calls are in no table, so all functions are searched. A few functions more than the unwind table has are
	 * start-up code.
	 */
	if (s->calls.has_any && s->calls.nfuncsyms > uw->n &&
	    (s->calls.nfuncsyms < 4096 || s->calls.nfuncsyms > uw->n + uw->n / 32))
		return 1;
	return !uw->n || s->calls.nfuncsyms > 2 * uw->n + 16 || site_table_unseen(&s->pfe) ||
	       site_table_unseen(&s->loc);
}

/* Outside of known functions: behind `push %rbp; mov %rsp,%rbp` a site of __mcount_loc is mcount's. */
static int site_is_after_frame(struct site_scan *s, uint64_t a)
{
	size_t avail;
	const uint8_t *p = a > 4 ? object_code(s->obj, a - 4, &avail) : NULL;

	return p && avail >= 4 && !memcmp(p, "\x55\x48\x89\xe5", 4);
}

/* An entry that belongs to no known function: a site of its own, or dangling. */
static void site_of_leftover(struct site_scan *s, const struct site_table *t, uint64_t a)
{
	unsigned kind, len = 0, what = 0, is_loc = t == &s->loc, framed;
	size_t avail = 0;
	const uint8_t *p = object_text(s->obj, a) ? object_code(s->obj, a, &avail) : NULL;

	if (!p) {
		site_add(s, a, 0, UFT_SITE_NONE, 0, UFT_FROM_SECTION, UFT_SKIP_DANGLING);
		return;
	}
	if (s->isa && is_loc && avail >= s->isa->mcount_len && s->isa->is_pad(p, s->isa->mcount_len)) {
		site_add(s, a, a, UFT_SITE_MCOUNT_NOP, s->isa->mcount_len, UFT_FROM_SECTION, UFT_SKIP_NONE);
		return;
	}
	if (s->isa) {
		site_of_function_words(s, a, a + avail, p, avail, UFT_FROM_SECTION);
		return;
	}
	framed = is_loc && site_is_after_frame(s, a);
	kind = object_pad(p, avail, &len);
	if (kind) {
		site_add(s, a, a, framed ? UFT_SITE_MCOUNT_NOP : kind, len, UFT_FROM_SECTION, UFT_SKIP_NONE);
		return;
	}
	if (len && !is_loc) {
		site_add(s, a, a, UFT_SITE_NONE, len, UFT_FROM_SECTION, UFT_SKIP_PAD_SMALL);
		return;
	}
	len = is_loc ? callee_of_call(&s->calls, a, p, avail, &what) : 0;
	if (len)
		site_add_call(s, a, a, what, len, UFT_FROM_SECTION, !framed);
	else
		site_add(s, a, 0, UFT_SITE_NONE, 0, UFT_FROM_SECTION, UFT_SKIP_DANGLING);
}

static void site_scan_leftovers(struct site_scan *s, struct site_table *t)
{
	size_t i;

	for (i = 0; i < t->zeros && s->has_memory; i++)
		site_add(s, 0, 0, UFT_SITE_NONE, 0, UFT_FROM_SECTION, UFT_SKIP_DANGLING);
	for (i = 0; i < t->n && s->has_memory; i++)
		if (!t->seen[i])
			site_of_leftover(s, t, t->addr[i]);
}

/* Decides about pads that waited for another one of their form. Without any site it drops the list of functions. */
static void site_settle(struct site_scan *s)
{
	struct uft_object *obj = s->obj;
	size_t i, usable = 0, ones = 0;

	for (i = 0; i < obj->nsite; i++)
		ones += obj->site[i].skip == UFT_SKIP_NO_PAD && obj->site[i].kind == UFT_SITE_CODE;
	for (i = 0; i < obj->nsite; i++) {
		struct uft_site *t = &obj->site[i];

		if (t->skip == UFT_SKIP_NO_PAD && t->kind == UFT_SITE_CODE && ones > obj->nsite / 2) {
			t->skip = UFT_SKIP_BEFORE;
		} else if (t->skip == UFT_SKIP_NO_PAD && t->kind != UFT_SITE_NONE) {
			if (t->kind != UFT_SITE_CODE && s->shapes[t->kind == UFT_SITE_NOPS][t->len] > 1)
				t->skip = UFT_SKIP_NONE;
			else
				t->kind = UFT_SITE_NONE;
		}
		usable += t->skip != UFT_SKIP_NO_PAD;
		obj->nbefore += t->skip == UFT_SKIP_BEFORE;
	}
	if (usable)
		return;
	bound_free(obj->site);
	obj->site = NULL;
	obj->nsite = 0;
}

/* Reads what the scan needs besides the list of functions. */
static void *site_read_rest(void *arg)
{
	struct site_scan *s = arg;

	callees_init(&s->calls, s->obj);
	site_find_plt(s);
	s->error = site_read_table(s->v, "__patchable_function_entries", &s->pfe);
	if (!s->error)
		s->error = site_read_table(s->v, "__mcount_loc", &s->loc);
	return NULL;
}

/* Returns the bytes of .eh_frame_hdr, if it is large; else 0. */
static size_t site_big_table(const struct elf_view *v)
{
	size_t i;

	for (i = 0; i < v->nph; i++)
		if (v->ph[i].p_type == PT_GNU_EH_FRAME)
			return v->ph[i].p_memsz < SITE_BIG ? 0 : v->ph[i].p_memsz;
	return 0;
}

size_t uft_object_expects(const struct uft_object *obj)
{
	struct elf_view *v = &object_priv(obj)->view;
	size_t n = site_big_table(v) / 8, s = elf_section(v, "__patchable_function_entries", 0);

	if (!s)
		s = elf_section(v, "__mcount_loc", 0);
	return s && v->sh[s].sh_size / 8 > n / 2 ? n : 0;
}

/*
 * A program waits for the scan, and large tables take as long to read as the list, so a thread reads them. 0: it runs.
 */
static int site_begin_rest(struct site_scan *s, pthread_t *thread)
{
	return site_big_table(s->v) ? thread_start(thread, site_read_rest, s) : -ENOENT;
}

/* Reads the functions, makes room for their sites, and reads the rest. */
static int site_read(struct site_scan *s, struct uw_starts *uw)
{
	pthread_t thread;
	int is_apart = !site_begin_rest(s, &thread), ret;

	ret = uw_starts(s->v, uw);
	s->room = uw->n + 16;
	if (!ret)
		s->obj->site = bound_alloc(s->v->bound, "sites", s->room, sizeof(*s->obj->site));
	if (s->obj->site)
		table_populate(s->obj->site, s->room * sizeof(*s->obj->site));
	s->has_memory = s->obj->site != NULL;
	if (is_apart)
		pthread_join(thread, NULL);
	else
		site_read_rest(s);
	return ret ? ret : s->error;
}

static int site_scan_object(struct site_scan *s)
{
	struct uw_starts uw, syms = { NULL, 0, 0 };
	int ret;

	s->v = &object_priv(s->obj)->view;
	s->isa = isa_of(s->obj);
	ret = site_read(s, &uw);
	if (ret)
		goto out;
	s->obj->nunwind = uw.n;
	if (s->isa) {
		isa_calls_init(&s->isa_calls, s->obj);
		site_symbol_list(s, &s->syms);
	}
	s->obj->nsections_pfe = s->pfe.raw;
	s->obj->nsections_mcount = s->loc.raw;
	site_scan_functions(s, &uw, NULL, uw.from_hdr ? UFT_FROM_EH_FRAME_HDR : UFT_FROM_EH_FRAME);
	if (site_wants_symbols(s, &uw)) {
		ret = site_symbol_list(s, &syms);
		if (!ret)
			site_scan_functions(s, &syms, &uw, UFT_FROM_SYMBOL);
	}
	site_scan_leftovers(s, &s->pfe);
	site_scan_leftovers(s, &s->loc);
	site_settle(s);
	s->obj->has_gmon = s->calls.has_gmon;
	if (!s->has_memory)
		ret = -ENOMEM;
out:
	bound_free(uw.addr);
	bound_free(syms.addr);
	bound_free(s->syms.addr);
	return ret;
}

static int site_find(struct uft_object *obj, struct uft_error *err)
{
	struct site_scan *s;
	int ret;

	if (object_priv(obj)->has_sites)
		return 0;
	if (object_priv(obj)->sites_refused)
		return bound_error(object_priv(obj)->view.bound, obj->path, "sites", err);
	if (obj->type == ET_REL) {
		ret = object_rel_sites(obj, err);
		object_priv(obj)->has_sites = !ret;
		return ret;
	}
	s = calloc(1, sizeof(*s));
	ret = s ? 0 : -ENOMEM;
	if (s) {
		s->obj = obj;
		ret = site_scan_object(s);
		bound_free(s->pfe.addr);
		bound_free(s->pfe.seen);
		bound_free(s->loc.addr);
		bound_free(s->loc.seen);
		free(s);
	}
	if (ret) {
		bound_free(obj->site);
		obj->site = NULL;
		obj->nsite = 0;
		ret = bound_error(object_priv(obj)->view.bound, obj->path, "sites", err);
		if (ret == -EFBIG)
			object_priv(obj)->sites_refused = 1;
		return ret;
	}
	object_sort_sites(obj);
	object_priv(obj)->has_sites = 1;
	return 0;
}

int uft_object_sites(struct uft_object *obj, struct uft_error *err)
{
	int ret;

	pthread_mutex_lock(&object_priv(obj)->sites_lock);
	ret = site_find(obj, err);
	pthread_mutex_unlock(&object_priv(obj)->sites_lock);
	return ret;
}
