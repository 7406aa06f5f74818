/* SPDX-License-Identifier: MIT */
/*
 * frames.c - unwind information for a pc in the runtime's memory
 *
 * A signal can interrupt any instruction: of moved code, a stub, a thunk, a handler. The signal handler may throw, end
 * the thread or ask for its callers, and the unwinder then looks up the interrupted pc. libgcc's unwinder does so by
 * _Unwind_Find_FDE(), which is hooked (hook.c) and answered here. For the runtime's own functions the answer comes from
 * the tables of the blob, which are those of an ordinary object. For made code the answer is one of the constant frames
 * of arch/x86_64/frames.S, chosen by the layout that trampolines.c, unprepared.c and hook.c define. Most frames lead
 * to the place in the program's own code where the pc would be without the runtime. There the program's tables are
 * right, landing pads included.
 *
 * Not done instead: changing the pc in the signal frame (the handler may return there), or registering
 * tables, which is a call of the program's libgcc for each object.
 *
 * Context: any point of any thread. Nothing is changed. Objects and hooks are lists that only grow, and what they
 * describe stays mapped until a detach has seen every task, and every signal frame, outside of it.
 */
#include "runtime/arch/x86_64/frames.h"
#include "runtime/patch/bytes/bytes.h"

#include <linux/elf.h>

struct find_fde { uint64_t tbase, dbase, func; };		/* of libgcc: struct dwarf_eh_bases */

/* ---- The blob ---------------------------------------------------------------------------------- */

extern const Elf64_Ehdr __ehdr_start;	/* the linker's */

#define ENC_PCREL_S4	0x1b
#define ENC_TABLE_S4	0x3b

struct eh_hdr {
	uint8_t version, ptr_enc, count_enc, table_enc;
	int32_t frame;
	uint32_t n;
	struct { int32_t pc, fde; } row[];
};

/* The blob's table if @pc is in its text; NULL. */
static const struct eh_hdr *blob_table(uint64_t pc)
{
	const uint64_t base = (uint64_t)&__ehdr_start;
	const Elf64_Phdr *ph = (const Elf64_Phdr *)(base + __ehdr_start.e_phoff);
	const struct eh_hdr *table = NULL;
	int inside = 0;

	for (unsigned i = 0; i < __ehdr_start.e_phnum; i++) {
		if (ph[i].p_type == PT_GNU_EH_FRAME)
			table = (const struct eh_hdr *)(base + ph[i].p_vaddr);
		else if (ph[i].p_type == PT_LOAD && ph[i].p_flags & PF_X)
			inside |= pc - (base + ph[i].p_vaddr) < ph[i].p_memsz;
	}
	return inside && table && table->ptr_enc == ENC_PCREL_S4 && table->table_enc == ENC_TABLE_S4 ? table : NULL;
}

uint64_t frames_tables(void)
{
	return (uint64_t)blob_table((uint64_t)&frames_tables);
}

/* The function's extent is not checked: the runtime's functions lie side by side. */
static uint64_t blob_fde(const struct eh_hdr *t, uint64_t pc, struct find_fde *f)
{
	const uint64_t base = (uint64_t)t;
	uint32_t lo = 0, hi = t->n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (base + (uint64_t)(int64_t)t->row[mid].pc <= pc)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo)
		return 0;
	f->func = base + (uint64_t)(int64_t)t->row[lo - 1].pc;
	return base + (uint64_t)(int64_t)t->row[lo - 1].fde;
}

/* ---- Made code: each returns enum uft_frame, or -1 ------------------------------------------------------------- */

/* push %rax; mov; jmp. The caller's address is at (rsp). */
static int in_thunk(unsigned at)
{
	return at ? UFT_FRAME_RETURN_RAX : UFT_FRAME_RETURN;
}

/* Which byte of the site it is, or where the site was called from. */
static int in_code(const struct code_map *m, unsigned at, unsigned nmoved)
{
	unsigned place = 0;

	if (m->pushed && at >= m->pushed)
		return UFT_FRAME_RETURN;
	for (unsigned i = 0; i < sizeof(m->at); i++)
		if (m->at[i] && m->at[i] <= at)
			place = i + 1;
	if (m->back && m->back <= at)
		place = nmoved;
	return place < UFT_FRAME_PLACES ? UFT_FRAME_CODE + (int)place : -1;
}

static int in_aux(const struct patch_object *o, uint64_t offset)
{
	const struct patch_site *s = &o->site[offset / AUX_BYTES];
	unsigned at = offset % AUX_BYTES;

	if (s->class != CLASS_CODE)
		return -1;
	if (at < CODE_ADDR)
		return in_code((const struct code_map *)(o->aux_base + (offset - at) + CODE_MAP), at, s->win);
	return at < CODE_THUNK ? UFT_FRAME_CODE : in_thunk(at - CODE_THUNK);
}

/* call enter; call code; jmp exit (or, after the prologue, call enter; ret) */
static int in_stub(const struct patch_object *o, uint64_t offset)
{
	const struct patch_site *s = &o->site[offset / UFT_STUB_BYTES];
	unsigned at = offset % UFT_STUB_BYTES;

	if (s->bits & SITE_FRAME)
		return at <= UFT_LEN_CALL ? UFT_FRAME_RETURN : -1;
	if (at == UFT_LEN_CALL || at == 2 * UFT_LEN_CALL)
		return UFT_FRAME_HELD;
	if (at > UFT_LEN_CALL || UFT_SITE_IS_OWN(s->kind_len & 0xf))
		return -1;
	return s->class == CLASS_CODE ? UFT_FRAME_STUB_CODE : UFT_FRAME_STUB;
}

static int in_object(const struct patch_object *o, uint64_t pc)
{
	if (pc >= o->cell_base)
		return -1;
	if (pc >= o->aux_base)
		return in_aux(o, pc - o->aux_base);
	if (pc >= o->stub_base)
		return in_stub(o, pc - o->stub_base);
	if (pc < o->thunk[0] || pc >= o->thunk[0] + NTHUNKS * THUNK_BYTES)
		return -1;
	if (pc >= o->thunk[THUNK_EXIT] && pc < o->thunk[THUNK_EXIT] + THUNK_BYTES)
		return UFT_FRAME_HELD;
	return in_thunk((pc - o->thunk[0]) % THUNK_BYTES);
}

static int frame_of(uint64_t pc)
{
	for (const struct patch_object *o = object_first(); o; o = o->next) {
		if (pc >= o->region && pc < o->region_end)
			return in_object(o, pc);
		if (!o->is_gone && pc >= o->text_start && pc < o->text_end)
			return code_is_pad(o, pc) ? UFT_FRAME_PAD : -1;
	}
	return pun_is_at(pc) ? UFT_FRAME_PUN : hook_frame(pc);
}

/* ---- The answer ----------------------------------------------------------------------------------- */

/* Called by hook.S: the FDE for @pc, or 0: the pc is not in the runtime's memory. */
uint64_t frames_find_fde(uint64_t pc, struct find_fde *f);
uint64_t frames_find_fde(uint64_t pc, struct find_fde *f)
{
	const struct eh_hdr *table = blob_table(pc);
	int frame = table ? 0 : frame_of(pc);

	if (frame < 0)
		return 0;
	*f = (struct find_fde){ .func = pc };
	return table ? blob_fde(table, pc, f) : (uint64_t)uft_asm_frames + (uint64_t)frame * UFT_FRAME_BYTES;
}
