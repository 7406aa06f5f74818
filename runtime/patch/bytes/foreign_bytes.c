/* SPDX-License-Identifier: MIT */
/*
 * foreign_bytes.c - sites that cannot be restored: the memory that they lead to stays mapped and does nothing
 *
 * At a detach every site gets its bytes as found, unless its bytes are not ours any more (a debugger's breakpoint, a
 * probe of the kernel, a change by the program) or may not be written. The writer of foreign bytes may put ours back at
 * any time, so memory that they lead to may not be unmapped. As little as possible stays: regions and islands of such
 * objects, areas of such hooks. Unprepared functions lead to their moved code, thunks of prepared sites pass through
 * (trampolines.c), hooks lead to a `ret` (hook.c). None of that needs the runtime.
 *
 * A site that has its bytes as found, whoever restored them, leads nowhere. So does a site that is not mapped any more.
 */
#include "runtime/base/mem.h"
#include "runtime/patch/bytes/bytes.h"

static int is_as_found(const struct patch_site *s)
{
	unsigned len = s->kind_len >> 4;

	if (!batch_is_mapped(s->addr, len))
		return 1;
	/* The pad of a two-byte jump is not compared: a thread may rest in the pad. */
	return !(s->class == CLASS_CODE && len == UFT_LEN_JMP_SHORT && !(s->bits & SITE_PUN)) &&
	       !memcmp((const void *)s->addr, s->orig, len);
}

void stuck_note(struct patch_object *o, const struct uft_patch *p, uint32_t n)
{
	uint32_t refused = 0, reach = 0;

	batch_begin();
	for (uint32_t i = 0; i < n; i++) {
		if (p[i].status == UFT_ST_OK || p[i].status == UFT_ST_LIVE)
			continue;
		refused += p[i].status != UFT_ST_REACH;
		reach += p[i].status == UFT_ST_REACH;
		o->nstuck += !is_as_found(&o->site[p[i].stub]);
	}
	if (refused)		/* the caller gets this number, and may ask again; it is no refusal of arming */
		trace_count(UFT_CNT_SITE_REFUSED, -(uint64_t)refused);
	if (reach)
		trace_count(UFT_CNT_SITE_REACH, -(uint64_t)reach);
	if (o->nstuck)
		thunks_pass_through(o); /* GUARD(stuck_note_pass_through) */
}

uint32_t patch_stuck(void)
{
	uint32_t n = hook_stuck(0, ~0ull);

	for (const struct patch_object *o = object_first(); o; o = o->next)
		n += o->is_gone ? 0 : o->nstuck;
	return n;
}

static int leads_to(const struct patch_object *o, uint64_t at, uint64_t bytes)
{
	if (o->region - at < bytes || pun_is_in(o, at, bytes))
		return 1;
	for (unsigned i = 0; i < NISLES * ISLE_WAYS; i++) {
		int32_t by = o->isle[i / ISLE_WAYS][i % ISLE_WAYS];

		if (by != 0 && by != 1 && o->text_start + 5 + (uintptr_t)(intptr_t)by - at < bytes)
			return 1;
	}
	return 0;
}

int patch_is_needed(uint64_t at, uint64_t bytes)
{
	for (const struct patch_object *o = object_first(); o; o = o->next)
		if (!o->is_gone && o->nstuck && leads_to(o, at, bytes))	/* GUARD(jump_from_foreign) */
			return 1;
	return hook_stuck(at, bytes) != 0;
}
