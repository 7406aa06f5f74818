/* SPDX-License-Identifier: MIT */
/*
 * unprepared.c - entries of unprepared functions, where instructions are words
 *
 * The session decodes and plans (control/relocate/); this file checks the session's words, copies them and links them.
 * Per site, in the slot of its stub index, arch_make_code() writes (arch/NAME/patch.h): the moved code, in front of it
 * a call of the function handler, and code that leads to the stub. None of that changes. The site itself is one jump,
 * to one of the three:
 *
 *	ORIGINAL	as found
 *	IDLE code, behind the signature that it begins with if the site lies behind one
 *	FUNCTION	the function handler's call, then code
 *	GRAPH		stub: enter ; call code ; exit
 *
 * Handlers. At the entry of such a function its callers may keep values in registers that it does not use itself
 * (-fipa-ra). So all registers, except those that a veneer may change, are saved around the handlers of prepared
 * entries: by the slot, or by handlers of their own (trace.S).
 *
 * Context: control; all of it is in the site's record or in memory of the runtime, so that a fork child has it.
 */
#include <linux/errno.h>

#include "runtime/arch/arch.h"
#include "runtime/base/mem.h"
#include "runtime/patch/words/words.h"
#include "runtime/platform/platform.h"
#include "runtime/runtime.h"

_Static_assert(ARCH_CODE_BYTES <= UFT_CODE_STRIDE && ARCH_CODE_MAX <= UFT_CODE_MAX,
	       "the session computes addresses of code");

uintptr_t word_code_at(const struct word_object *o, uint32_t stub)
{
	return o->code_base + (uintptr_t)stub * UFT_CODE_STRIDE;
}

uint32_t word_code_form(const struct word_object *o, const struct word_site *s, uint32_t stub, unsigned state)
{
	uintptr_t at = word_code_at(o, stub);

	return arch_code_jump(s->addr, state == UFT_FUNCTION ? arch_code_func(at, s->is_signed) :
				       state == UFT_GRAPH ? arch_code_graph(at, s->is_signed) :
					       arch_code_idle(at, s->is_signed));
}

/* Checks the numbers of @c, and that the site has the words as found. */
static uint8_t check(const struct word_object *o, const struct uft_code *c)
{
	const struct word_site *s = c->stub < o->nstubs ? &o->site[c->stub] : NULL;
	uint32_t orig;

	if (!s || c->nmoved < 4 || c->nmoved > 8 || c->pad || !c->ncode || c->ncode > ARCH_CODE_MAX ||
	    (c->ncode | c->addr) & (ARCH_INSN_ALIGN - 1) || c->addr < o->text_start ||
	    c->addr + c->nmoved > o->text_end)
		return UFT_ST_KIND;
	memcpy(&orig, c->orig, 4);
	if (s->addr)		/* known: the same code again is welcome */
		return s->addr == c->addr && s->kind_len == UFT_KIND_LEN(UFT_SITE_CODE, 4) &&
			s->orig[0] == orig ? UFT_ST_OK : UFT_ST_KIND;
	return !memcmp((const void *)c->addr, c->orig, c->nmoved) ? UFT_ST_OK : UFT_ST_BYTES;
}

static int is_new(const struct word_object *o, const struct uft_code *c)
{
	return c->status == UFT_ST_OK && !o->site[c->stub].addr;
}

static void write_code(const struct word_object *o, struct uft_code *c)
{
	const struct word_site site = { .addr = c->addr };
	uintptr_t at = word_code_at(o, c->stub);
	uint32_t w[UFT_CODE_STRIDE / 4] = { 0 };
	uint32_t k = UFT_THUNK_K(arch_code_k(at, o->first_stub_id + c->stub), UFT_REC_FUNC);

	memcpy(w, c->code, c->ncode);
	if (!arch_make_code(w, at, word_thunk(o, THUNK_CODE_FUNC, at), word_thunk(o, THUNK_CODE_EXIT, at),
		word_stub(o, c->stub),
			    ARCH_THUNK_K(k)) || !word_code_form(o, &site, c->stub, UFT_GRAPH)) {
		c->status = UFT_ST_REACH;
		trace_count(UFT_CNT_SITE_REACH, 1);
		return;
	}
	for (unsigned i = 0; i < ARCH_CODE_BYTES / 4; i++)
		word_put(at + 4 * i, w[i]);
}

/* The address comes last: a fork child finds all of the record or none. */
static void note(struct word_object *o, const struct uft_code *c)
{
	struct word_site *s = &o->site[c->stub];

	s->kind_len = UFT_KIND_LEN(UFT_SITE_CODE, 4);
	s->is_plain = c->is_plain;
	s->is_signed = c->is_signed != 0;
	memcpy(s->orig, c->orig, 4);
	uft_store_release(&s->addr, c->addr);
}

int patch_code(uint32_t object, struct uft_code *c, uint32_t n, uint64_t *done)
{
	struct word_object *o = word_find(object);
	uint32_t i, lo = ~0u, hi = 0;
	int ret;

	if (!o)
		return -ENOENT;
	if (!o->code_base)
		return -EOPNOTSUPP;
	for (i = 0; i < n; i++) {
		c[i].status = check(o, &c[i]);
		if (c[i].status)
			trace_count(UFT_CNT_SITE_REFUSED, 1);
		if (!is_new(o, &c[i]))
			continue;
		lo = c[i].stub < lo ? c[i].stub : lo;
		hi = c[i].stub >= hi ? c[i].stub + 1 : hi;
	}
	*done = n;
	if (lo >= hi)
		return 0;
	ret = word_open(word_code_at(o, lo), word_code_at(o, hi));
	if (ret)
		return ret;
	for (i = 0; i < n; i++)
		if (is_new(o, &c[i]))
			write_code(o, &c[i]);
	word_close();
	plat_sync_cores();
	for (i = 0; i < n; i++)
		if (is_new(o, &c[i]))
			note(o, &c[i]);
	return 0;
}
