// SPDX-License-Identifier: MIT
/*
 * scan.c - find the places in an object's code that something may lead to
 *
 * The question is always: does anything but a call of the function lead into its first bytes? Instead of decoding
 * all code, which costs 60 ns an instruction and goes astray behind data, every byte is taken for the start of an
 * instruction that has a 32-bit displacement: call, jmp, jcc and lea. So no branch is missed, whatever stands before
 * it; some are seen that are none, which costs a function in a thousand. Short branches reach 127 bytes and are looked
 * for around each entry when it is planned (entry.c).
 *
 * Pointers in data: relative relocations of what is relocated, every aligned word of what is not. Jump tables of
 * position-independent code: from each address that a lea gives, as long as what stands there, added to it, lies in
 * code. Function symbols: code may be entered there.
 *
 * A part that a compiler split off (.cold) has an unwind entry of its own, and one of a function without a
 * frame looks like a function. Tracing it could destroy what lives in flags, below the stack pointer, or
 * where a return address should be. So what nobody calls, points to or has a name for counts as a function
 * only if it is aligned as one, and not jumped to under a condition (entry.c).
 *
 * Where instructions are words (arm64.c) code is read as what it is.
 *
 * Bounded: one look at every byte, and as many steps through tables as the file has bytes.
 */
#include "control/relocate/scan_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/arch/x86_64/encode.h"
#include "symbol/object_internal.h"
#include "symbol/sorted.h"

#define CLASS_CALL	1
#define CLASS_JMP	2
#define CLASS_0F	3
#define CLASS_LEA	4
#define CLASS_MOV	5	/* mov $imm32,reg, push $imm32 in code at fixed addresses */
#define CLASS_STORE	6	/* mov $imm32,operand there */

/* ---- Code ------------------------------------------------------------------------------------- */

/* Bytes of an operand behind its modrm byte. */
static unsigned modrm_bytes(const uint8_t *p)
{
	unsigned mod = p[0] >> 6, has_sib = mod != 3 && (p[0] & 7) == 4;
	unsigned base = has_sib ? p[1] & 7 : p[0] & 7;

	return has_sib + (mod == 1 ? 1 : mod == 2 || (mod == 0 && base == 5) ? 4 : 0);
}

static unsigned byte_class(unsigned b, int is_fixed)
{
	switch (b) {
	case UFT_OP_CALL: return CLASS_CALL;
	case UFT_OP_JMP: return CLASS_JMP;
	case 0x0f: return CLASS_0F;
	case 0x8d: return CLASS_LEA;
	case 0xc7: return is_fixed ? CLASS_STORE : 0;
	default: return is_fixed && (b == 0x68 || (b & 0xf8) == 0xb8) ? CLASS_MOV : 0;
	}
}

static void scan_code(struct scanner *sc, const struct scan_text *t)
{
	const uint8_t *p = t->p;
	uint8_t class[256];
	size_t i, k = 0, imm, n = t->n < 6 ? 0 : t->n - 5;

	for (i = 0; i < 256; i++)
		class[i] = (uint8_t)byte_class((unsigned)i, sc->obj->type == ET_EXEC);
	for (i = 0; i < n && !sc->status; i++) {
		uint64_t at = t->addr + i;

		switch (class[p[i]]) {
		case 0:
			continue;
		case CLASS_CALL:
			scan_called(sc, uft_insn_branch_target(p + i, 5, at));
			break;
		case CLASS_0F:
			if ((p[i + 1] & 0xf0) != 0x80)
				break;
			/* fall through */
		case CLASS_JMP:
			scan_jump(sc, &k, at, uft_insn_branch_target(p + i, p[i] == 0x0f ? 6 : 5, at), p[i] == 0x0f);
			break;
		case CLASS_LEA:
			if ((p[i + 1] & 0xc7) != 5)
				break;
			scan_pointer(sc, uft_insn_branch_target(p + i, 6, at));
			scan_note_base(sc, uft_insn_branch_target(p + i, 6, at));
			break;
		case CLASS_MOV:
			scan_pointer(sc, uft_get32(p + i + 1));
			break;
		case CLASS_STORE:
			imm = i + 2 + modrm_bytes(p + i + 1);
			if (imm + 4 <= t->n)
				scan_pointer(sc, uft_get32(p + imm));
			break;
		}
	}
}

/* ---- Data ------------------------------------------------------------------------------------- */

/* Where the table at @base would lead first; 0: it is no table. */
static uint64_t first_target(struct scanner *sc, uint64_t base)
{
	const uint8_t *p = elf_at_len(&object_priv(sc->obj)->view, base, 4);
	uint64_t to = p ? base + (uint64_t)(int32_t)elf_get32(p) : 0;

	return p && scan_text(sc->s, to) ? to : 0;
}

/* One table, up to @end, where the next begins: what stands there is relative to that. */
static void scan_table(struct scanner *sc, uint64_t base, uint64_t end)
{
	size_t avail;
	const uint8_t *p = elf_at(&object_priv(sc->obj)->view, base, &avail);

	if (p && end - base < avail)
		avail = end - base;
	for (size_t k = 0; p && k + 4 <= avail; k += 4) {
		uint64_t to = base + (uint64_t)(int32_t)elf_get32(p + k);
		const struct scan_text *t = scan_text(sc->s, to);

		if (!t)
			break;
		if (!sc->steps) {
			sc->status = -E2BIG;
			break;
		}
		sc->steps--;
		mark(t->target, to - t->addr);
	}
}

/* Tables of 32-bit offsets from their own start. */
static void scan_tables(struct scanner *sc)
{
	uint64_t next = ~0ull;

	SORT_BY(sc->base, sc->nbase, addr);
	for (size_t i = sc->nbase; i-- && !sc->status;) {
		uint64_t base = sc->base[i].addr;

		if (base == next || !first_target(sc, base))
			continue;
		scan_table(sc, base, next);
		next = base;
	}
}

static void scan_words(struct scanner *sc)
{
	struct elf_view *v = &object_priv(sc->obj)->view;

	for (size_t i = 0; i < v->nph; i++) {
		const Elf64_Phdr *ph = &v->ph[i];
		uint64_t skip = -ph->p_vaddr & 7;
		const uint8_t *p;

		if (ph->p_type != PT_LOAD || ph->p_flags & PF_X || !(p = elf_bytes(v, ph->p_offset, ph->p_filesz)))
			continue;
		for (; skip + 8 <= ph->p_filesz; skip += 8)
			scan_pointer(sc, elf_get64(p + skip));
	}
}

static int has_packed_relocs(const struct elf_view *v)
{
	for (size_t i = 0; i < v->nph; i++) {
		const uint8_t *p;

		if (v->ph[i].p_type != PT_DYNAMIC || !(p = elf_bytes(v, v->ph[i].p_offset, v->ph[i].p_filesz)))
			continue;
		for (uint64_t k = 0; k + 16 <= v->ph[i].p_filesz; k += 16)
			if (elf_get64(p + k) == 36 /* DT_RELR: the addresses are in the words themselves */)
				return 1;
	}
	return 0;
}

/* The address of a function that the object exports is a relocation by name, even where the object itself takes it. */
static void scan_named_pointer(struct scanner *sc, const struct elf_symtab *t, const Elf64_Rela *r)
{
	Elf64_Sym s;

	if (!ELF64_R_SYM(r->r_info) || ELF64_R_SYM(r->r_info) >= t->n)
		return;
	elf_sym(t, ELF64_R_SYM(r->r_info), &s);
	if (s.st_shndx != SHN_UNDEF && elf_sym_is_func(&s))
		scan_pointer(sc, s.st_value + (uint64_t)r->r_addend);
}

static void scan_data(struct scanner *sc)
{
	struct elf_view *v = &object_priv(sc->obj)->view;
	Elf64_Rela r;

	for (size_t i = 0; i < v->rela.n; i++) {
		elf_rela(&v->rela, i, &r);
		if (ELF64_R_TYPE(r.r_info) == elf_relative(v) || ELF64_R_TYPE(r.r_info) == elf_irelative(v))
			scan_pointer(sc, (uint64_t)r.r_addend);
		else
			scan_named_pointer(sc, &v->dyn, &r); /* GUARD(named_pointers) */
	}
	for (size_t i = 0; i < v->jmprel.n; i++) {
		elf_rela(&v->jmprel, i, &r);
		if (ELF64_R_TYPE(r.r_info) == elf_irelative(v))
			scan_pointer(sc, (uint64_t)r.r_addend);
	}
	if (sc->obj->type == ET_EXEC || has_packed_relocs(v))
		scan_words(sc);
}

/* Names of any length may share their bytes. */
static int is_cold_name(const char *name)
{
	return memmem(name, strnlen(name, 1024), ".cold", 5) != NULL;
}

/* With conventions of their own that their code does not show. */
static int is_special_name(const char *name)
{
	static const char *const names[] = { "__tls_get_addr", "__tls_get_addr_slow", "__morestack",
		"__morestack_non_split",
		"_dl_runtime_resolve", "_dl_tlsdesc_dynamic", "_dl_tlsdesc_return", "_dl_tlsdesc_undefweak",
		"__riscv_save_", "__riscv_restore_" };

	for (size_t i = 0; name[0] == '_' && i < sizeof(names) / sizeof(names[0]); i++)
		if (!strncmp(name, names[i], strlen(names[i])))
			return 1;
	return 0;
}

/* Entry points that embedders of a runtime link against, so a stripped one has them too. */
static int is_runtime_name(const char *name)
{
	return !strncmp(name, "JNI_CreateJavaVM", 16) || !strncmp(name, "_ZN2v87Isolate3New", 18);
}

/*
 * A runtime that makes code tells perf of it in /tmp/perf-PID.map, whose name no symbol table is needed to
 * find. Its made code has no unwind data, so it finds frames by the return addresses of calls from it: V8,
 * the Java machine, Mono, .NET, Erlang.
 */
static int names_perf_map(const uint8_t *p, size_t n)
{
	static const char begin[] = "/perf-%", end[] = ".map";
	const uint8_t *at = p;

	while ((at = memmem(at, (size_t)(p + n - at), begin, sizeof(begin) - 1))) {
		const uint8_t *behind = (at += sizeof(begin) - 1);

		while (behind < p + n && behind - at < 8 &&
		       ((*behind >= 'a' && *behind <= 'z') || (*behind >= '0' && *behind <= '9')))
			behind++;
		if ((size_t)(p + n - behind) >= sizeof(end) && !memcmp(behind, end, sizeof(end)))
			return 1;
	}
	return 0;
}

static int makes_code(const struct elf_view *v)
{
	for (size_t i = 0; i < v->nph; i++) {
		const Elf64_Phdr *ph = &v->ph[i];
		const uint8_t *p = ph->p_type == PT_LOAD &&
			!(ph->p_flags & PF_X) ? elf_bytes(v, ph->p_offset, ph->p_filesz) : NULL;

		if (p && names_perf_map(p, ph->p_filesz))
			return 1;
	}
	return 0;
}

/*
 * A table of frames for a collector of the program's own, which finds them by the return addresses on the
 * stack: of OCaml's compiler (the program exports it, so a stripped one has it too), and what LLVM makes for
 * any other.
 */
static int is_frame_table_name(const char *name)
{
	return !strcmp(name, "caml_frametable") || !strcmp(name, "__LLVM_StackMaps");
}

int scan_is_called_by_made_code(const struct scan *s, const struct scan_text *t, uint64_t func, uint64_t addr)
{
	return s->is_runtime && (scan_bit(t->pointed, func - t->addr) ||
				 (addr - t->addr < t->n && scan_bit(t->pointed, addr - t->addr)));
}

static void note_special(struct scan *s, uint64_t addr)
{
	for (size_t i = 0; i < s->nspecial; i++)
		if (s->special[i] == addr)
			return;
	if (s->nspecial < SCAN_SPECIAL)
		s->special[s->nspecial++] = addr;
}

static void scan_symbols(struct scanner *sc, const struct elf_symtab *t)
{
	const struct scan_text *text;
	Elf64_Sym s;

	for (size_t i = 1; i < t->n; i++) {
		elf_sym(t, i, &s);
		if (s.st_shndx == SHN_UNDEF)
			continue;
		sc->s->has_frame_table |= is_frame_table_name(elf_sym_name(t, &s));
		if (!elf_sym_is_func(&s))
			continue;
		text = scan_text(sc->s, s.st_value);
		if (text && is_cold_name(elf_sym_name(t, &s)))
			mark(text->part, s.st_value - text->addr);
		else
			scan_called(sc, s.st_value);
		sc->s->is_runtime |= text && is_runtime_name(elf_sym_name(t, &s));
		if (text && is_special_name(elf_sym_name(t, &s)))
			note_special(sc->s, s.st_value);
	}
}

/* The jump at @p, with a displacement of 32 bits on x86-64: its length, 0: none. */
static unsigned jump_at(const struct scanner *sc, const uint8_t *p, uint64_t at, uint64_t *to)
{
	unsigned len = p[0] == UFT_OP_JMP ? 5 : p[0] == 0x0f && (p[1] & 0xf0) == 0x80 ? 6 : 0;

	if (sc->obj->machine == EM_AARCH64)
		return arm64_jump(p, at, to) ? 4 : 0;
	if (sc->obj->machine == EM_RISCV)
		return riscv64_jump(p, 4, at, to) ? 4 : 0;
	if (len)
		*to = uft_insn_branch_target(p, len, at);
	return len;
}

/*
 * Does a part that jumps to the start of a function belong to it? Then that jump is a loop. It does if the function
 * jumps into the part.
 */
static void scan_leaves(struct scanner *sc)
{
	const unsigned step = sc->obj->machine == EM_X86_64 ? 1 : sc->obj->machine == EM_RISCV ? 2 : 4,
		most = sc->obj->machine == EM_X86_64 ? 6 : 4;

	for (size_t i = 0; i < sc->nleave; i++) {
		const struct entry *part = &sc->e->entry[sc->leave[i].from];
		const struct entry *f = entries_find(sc->e, sc->leave[i].target);
		const struct scan_text *t = scan_text(sc->s, sc->leave[i].target);
		size_t at, n;

		if (!f || !t || (sc->leave[i].target != f->func && sc->leave[i].target != f->addr))
			continue;
		at = f->func - t->addr;
		n = f->size < t->n - at ? f->size : t->n - at;
		for (size_t k = 0; k + most <= n; k += step) {
			uint64_t to;

			if (!sc->steps) {
				sc->status = -E2BIG;
				return;
			}
			sc->steps--;
			if (jump_at(sc, t->p + at + k, f->func + k, &to) && to - part->func < part->size) {
				mark(t->looped, at);
				break;
			}
		}
	}
}

/* ---- All of it --------------------------------------------------------------------------------- */

static int make_texts(struct uft_object *obj, struct scan *s)
{
	s->text = calloc(obj->ntext + 1, sizeof(*s->text));
	if (!s->text)
		return -ENOMEM;
	for (size_t i = 0; i < obj->ntext; i++) {
		struct scan_text *t = &s->text[s->ntext];
		size_t avail, words;

		t->addr = obj->text[i].addr;
		t->p = object_code(obj, t->addr, &avail);
		if (!t->p)
			continue;
		t->n = obj->text[i].end - t->addr < avail ? obj->text[i].end - t->addr : avail;
		words = t->n / 64 + 1;
		t->target = calloc(5 * words, sizeof(*t->target));
		if (!t->target)
			return -ENOMEM;
		t->called = t->target + words;
		t->part = t->called + words;
		t->looped = t->part + words;
		t->pointed = t->looped + words;
		s->ntext++;
	}
	return 0;
}

static void mark_entries(struct scanner *sc)
{
	for (size_t i = 0; i < sc->e->n; i++) {
		const struct scan_text *t = scan_text(sc->s, sc->e->entry[i].func);

		if (t)
			mark(t->target, sc->e->entry[i].func - t->addr);
	}
}

static void scan_machine(struct scanner *sc, const struct scan_text *t)
{
	if (sc->obj->machine == EM_AARCH64)
		arm64_scan(sc, t);
	else if (sc->obj->machine == EM_RISCV)
		riscv64_scan(sc, sc->e, t);
	else
		scan_code(sc, t);
}

int scan_make(struct uft_object *obj, const struct entries *e, struct scan **out)
{
	struct elf_view *v = &object_priv(obj)->view;
	struct scanner sc = { .obj = obj, .e = e };
	struct elf_symtab symtab;

	*out = NULL;
	sc.s = calloc(1, sizeof(*sc.s));
	if (!sc.s)
		return -ENOMEM;
	sc.steps = v->size;
	sc.status = make_texts(obj, sc.s);
	for (size_t i = 0; i < sc.s->ntext && !sc.status; i++)
		scan_machine(&sc, &sc.s->text[i]);
	if (!sc.status)
		scan_tables(&sc);
	if (!sc.status)
		scan_leaves(&sc);
	if (!sc.status) {
		scan_data(&sc);
		scan_symbols(&sc, &v->dyn);
		elf_symtab_find(v, SHT_SYMTAB, &symtab);
		scan_symbols(&sc, &symtab);
		sc.s->has_frame_table |= elf_section(v, ".llvm_stackmaps", 0) != 0;
		sc.s->is_runtime = sc.s->is_runtime || makes_code(v);
		scan_called(&sc, obj->entry);
		mark_entries(&sc);
		*out = sc.s;
	} else {
		scan_free(sc.s);
	}
	free(sc.base);
	free(sc.leave);
	return sc.status;
}

void scan_free(struct scan *s)
{
	for (size_t i = 0; s && i < s->ntext; i++)
		free(s->text[i].target);
	if (s)
		free(s->text);
	free(s);
}
