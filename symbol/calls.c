/* SPDX-License-Identifier: MIT */
/*
 * calls.c - find the call instructions that call mcount or __fentry__
 *
 * Compilers and linkers leave three forms: `e8 rel32` to the function or to its PLT entry, `ff 15 disp32` through its
 * GOT slot, and `67 e8 rel32`, which is the second after the linker relaxed it. A dynamic relocation identifies a slot,
 * a slot the PLT entry that jumps through it, and a symbol a function.
 *
 * A program may define its own mcount or __fentry__ (or get one from its own library). Calls of these have an effect
 * that the program needs, and are marked CALLEE_OWN. Not own: libc's, dynamic (the import has a GLIBC_ version) or
 * linked statically (__mcount_internal is beside it); those of uft's start archive (its notes); a function that only
 * returns, whose call is as good as a nop.
 */
#include <string.h>

#include "runtime/arch/x86_64/encode.h"
#include "symbol/calls.h"

unsigned callee_by_name(const char *name)
{
	if (!strcmp(name, "mcount") || !strcmp(name, "_mcount"))
		return CALLEE_MCOUNT;
	return strcmp(name, "__fentry__") ? CALLEE_NONE : CALLEE_FENTRY;
}

/* ---- Profiling functions that a compiler calls ------------------------------------------------- */

static int callee_only_returns(struct uft_object *obj, uint64_t addr)
{
	size_t avail;
	const uint8_t *p = object_code(obj, addr, &avail);

	if (p && avail > UFT_LEN_ENDBR && uft_insn_is_endbr(p)) {
		p += UFT_LEN_ENDBR;
		avail -= UFT_LEN_ENDBR;
	}
	return p && avail && *p == UFT_OP_RET;
}

/*
 * Tells glibc's mcount and __fentry__ by their code, which saves the argument registers in one frame and loads the two
 * addresses. It is the same since 2002 (sysdeps/x86_64/_mcount.S). Needed for stripped static programs only.
 */
static unsigned callee_by_code(struct uft_object *obj, uint64_t addr)
{
	static const uint8_t save[] = {			/* behind `sub $frame,%rsp` */
		0x48, 0x89, 0x04, 0x24,			/* mov %rax,(%rsp) */
		0x48, 0x89, 0x4c, 0x24, 0x08,		/* mov %rcx,8(%rsp) */
		0x48, 0x89, 0x54, 0x24, 0x10,		/* mov %rdx,16(%rsp) */
		0x48, 0x89, 0x74, 0x24, 0x18,		/* mov %rsi,24(%rsp) */
		0x48, 0x89, 0x7c, 0x24, 0x20,		/* mov %rdi,32(%rsp) */
		0x4c, 0x89, 0x44, 0x24, 0x28,		/* mov %r8,40(%rsp) */
		0x4c, 0x89, 0x4c, 0x24, 0x30,		/* mov %r9,48(%rsp) */
		0x48, 0x8b, 0x74, 0x24,			/* mov frame(%rsp),%rsi */
	};
	static const uint8_t mcount[] = { 0x48, 0x8b, 0x7d, 0x08 };		/* mov 8(%rbp),%rdi */
	static const uint8_t fentry[] = { 0x48, 0x8b, 0x7c, 0x24 };		/* mov frame+8(%rsp),%rdi */
	size_t avail, end = 4 + sizeof(save) + 1;
	const uint8_t *p = object_code(obj, addr, &avail);

	if (p && avail > UFT_LEN_ENDBR && uft_insn_is_endbr(p)) {
		p += UFT_LEN_ENDBR;
		avail -= UFT_LEN_ENDBR;
	}
	if (!p || avail < end + 5 || memcmp(p, "\x48\x83\xec", 3) || memcmp(p + 4, save, sizeof(save)) ||
	    p[end - 1] != p[3])
		return CALLEE_NONE;
	if (!memcmp(p + end, mcount, sizeof(mcount)))
		return CALLEE_MCOUNT;
	return !memcmp(p + end, fentry, sizeof(fentry)) && p[end + 4] == p[3] + 8 ? CALLEE_FENTRY : CALLEE_NONE;
}

/* ---- Gathering names -------------------------------------------------------------------------- */

struct callee_names {	/* symbols that decide between the kinds */
	int has_internal, has_archive, has_monstartup;
	int is_libc;	/* exports the functions that gprof programs call */
};

static void callee_note(struct callee_func *list, unsigned *n, uint64_t addr, unsigned what)
{
	unsigned i;

	for (i = 0; i < *n; i++)
		if (list[i].addr == addr) {
			list[i].what |= what;
			return;
		}
	if (*n < CALLEE_MAX)
		list[(*n)++] = (struct callee_func){ addr, what };
}

/* Reads the notes of uft's start archive (tools/start), which name its functions in stripped files, too. */
static void callee_read_notes(struct callees *c, struct callee_names *names)
{
	static const unsigned what[] = { [1] = CALLEE_FENTRY, [2] = CALLEE_MCOUNT };
	struct elf_note note = { 0 };

	while (elf_note_next(&object_priv(c->obj)->view, &note)) {
		if (note.owner_len != 4 || memcmp(note.owner, "uft", 4) || note.desc_len != 4 || !note.type ||
		    note.type > 2)
			continue;
		names->has_archive = 1;
		callee_note(c->func, &c->nfunc, note.desc_addr + (int32_t)elf_get32(note.desc), what[note.type]);
	}
}

static void callee_read_symbols(struct callees *c, const struct elf_symtab *t, struct callee_names *names)
{
	const char *name;
	Elf64_Sym s;
	size_t i;

	for (i = 1; i < t->n; i++) {
		elf_sym(t, i, &s);
		name = elf_sym_name(t, &s);
		if (s.st_shndx != SHN_UNDEF && ELF64_ST_TYPE(s.st_info) == STT_FUNC)
			c->nfuncsyms++;
		if (name[0] != '_' && name[0] != 'm' && name[0] != 'u')
			continue;
		if (!strcmp(name, "__monstartup") || !strcmp(name, "_mcleanup"))
			names->has_monstartup = 1;
		if (s.st_shndx == SHN_UNDEF)
			continue;
		if (callee_by_name(name))
			callee_note(c->func, &c->nfunc, s.st_value, callee_by_name(name) | CALLEE_OWN);
		else if (!strcmp(name, "__mcount_internal"))
			names->has_internal = 1;
		else if (!strcmp(name, "uft_start_archive"))
			names->has_archive = 1;
	}
}

/* Returns the bit of the name that the dynamic linker looks up. */
static unsigned callee_name_bit(const char *name)
{
	unsigned bit = name[0] == 'm' ? UFT_CALLS_MCOUNT : name[1] == 'm' ? UFT_CALLS__MCOUNT : UFT_CALLS_FENTRY;

	return bit << CALLEE_NAME_SHIFT;
}

/* Notes which own functions of the program other objects can call, too. */
static unsigned callee_exports(const struct callees *c, const struct elf_symtab *dyn)
{
	unsigned w, names = 0;
	const char *name;
	Elf64_Sym s;
	size_t i;

	for (i = 1; i < dyn->n; i++) {
		elf_sym(dyn, i, &s);
		name = elf_sym_name(dyn, &s);
		if (s.st_shndx == SHN_UNDEF || ELF64_ST_BIND(s.st_info) == STB_LOCAL || !callee_by_name(name))
			continue;
		for (w = 0; w < c->nfunc; w++)
			if (c->func[w].addr == s.st_value && c->func[w].what & CALLEE_OWN)
				names |= callee_name_bit(name);
	}
	return names >> CALLEE_NAME_SHIFT;
}

/* Reads the GOT slots that the dynamic linker fills with mcount or __fentry__. */
static void callee_read_slots(struct callees *c)
{
	struct elf_view *v = &object_priv(c->obj)->view;
	const struct elf_relocs *tables[] = { &v->jmprel, &v->rela };
	struct { uint64_t sym; unsigned what; } want[CALLEE_MAX];
	unsigned nwant = 0, k, w;
	Elf64_Rela r;
	size_t i;

	for (i = 1; i < v->dyn.n && nwant < CALLEE_MAX; i++) {
		const char *version;
		unsigned what;
		Elf64_Sym s;

		elf_sym(&v->dyn, i, &s);
		what = callee_by_name(elf_sym_name(&v->dyn, &s));
		if (!what)
			continue;
		if (s.st_shndx == SHN_UNDEF) {
			version = elf_sym_version(v, i);
			if (!version || strncmp(version, "GLIBC_", 6))
				what |= CALLEE_OWN;
		} else {
			for (w = 0; w < c->nfunc; w++)
				if (c->func[w].addr == s.st_value)
					what = c->func[w].what;
		}
		want[nwant].sym = i;
		want[nwant++].what = what | callee_name_bit(elf_sym_name(&v->dyn, &s));
	}
	for (k = 0; k < 2 && (nwant || c->nfunc); k++)
		for (i = 0; i < tables[k]->n; i++) {
			elf_rela(tables[k], i, &r);
			for (w = 0; w < nwant; w++)
				if (ELF64_R_SYM(r.r_info) == want[w].sym)
					callee_note(c->got, &c->ngot, r.r_offset, want[w].what);
			for (w = 0; w < c->nfunc; w++)
				if (ELF64_R_TYPE(r.r_info) == R_X86_64_RELATIVE &&
				    (uint64_t)r.r_addend == c->func[w].addr)
					callee_note(c->got, &c->ngot, r.r_offset, c->func[w].what);
		}
}

void callees_init(struct callees *c, struct uft_object *obj)
{
	struct elf_view *v = &object_priv(obj)->view;
	struct callee_names names = { 0 };
	struct elf_symtab t;
	unsigned i;

	memset(c, 0, sizeof(*c));
	c->obj = obj;
	callee_read_notes(c, &names);
	elf_symtab_find(v, SHT_SYMTAB, &t);
	callee_read_symbols(c, &v->dyn, &names);
	names.is_libc = names.has_monstartup && elf_symtab_has(&v->dyn, "__monstartup", 1);
	if (t.n) {
		c->nfuncsyms = 0;
		callee_read_symbols(c, &t, &names);
	}
	c->is_stripped_static = !t.n && obj->is_static;
	for (i = 0; i < c->nfunc; i++)
		if (names.has_internal || callee_only_returns(obj, c->func[i].addr))
			c->func[i].what &= ~CALLEE_OWN;
	obj->own_calls = names.is_libc ? 0 : callee_exports(c, &v->dyn);
	/*
	 * It defines libc's mcount and the functions of -finstrument-functions, but is not libc: uftrace's libmcount.
	 */
	obj->is_tracer = names.is_libc && !elf_symtab_has(&v->dyn, "__libc_start_main", 1) &&
			 elf_symtab_has(&v->dyn, "__cyg_profile_func_enter", 1);
	callee_read_slots(c);
	c->has_any = c->nfunc || c->ngot || c->is_stripped_static;
	c->has_gmon = names.has_monstartup && !names.has_archive && !names.is_libc;
}

/* ---- One call --------------------------------------------------------------------------------- */

static unsigned callee_by_slot(const struct callees *c, uint64_t slot)
{
	unsigned i;

	for (i = 0; i < c->ngot; i++)
		if (c->got[i].addr == slot)
			return c->got[i].what;
	return CALLEE_NONE;
}

static unsigned callee_classify(struct callees *c, uint64_t target)
{
	size_t avail, at = 0;
	const uint8_t *p;
	unsigned i, what;

	for (i = 0; i < c->nfunc; i++)
		if (c->func[i].addr == target)
			return c->func[i].what;
	p = object_code(c->obj, target, &avail);
	if (!p)
		return CALLEE_NONE;
	/* A PLT entry: [endbr64] [bnd] jmp *slot(%rip) */
	if (avail >= UFT_LEN_ENDBR)
		at = uft_insn_is_endbr(p);
	if (avail > at && p[at] == 0xf2)
		at++;
	if (avail >= at + 6 && p[at] == 0xff && p[at + 1] == 0x25)
		return callee_by_slot(c, target + at + 6 + (int32_t)elf_get32(p + at + 2));
	if (!c->is_stripped_static)
		return CALLEE_NONE;
	what = callee_by_code(c->obj, target);
	if (what)
		c->has_gmon = 1;
	return what;
}

static unsigned callee_by_target(struct callees *c, uint64_t target)
{
	unsigned slot = (target ^ target >> 8 ^ target >> 16) % CALLEE_MEMO;

	if (!c->memo[slot].valid || c->memo[slot].target != target) {
		c->memo[slot].target = target;
		c->memo[slot].what = callee_classify(c, target);
		c->memo[slot].valid = 1;
	}
	return c->memo[slot].what;
}

/* The linker of a static program filled a GOT slot without a relocation: reads the pointer there. */
static unsigned callee_by_content(struct callees *c, uint64_t slot)
{
	const uint8_t *p = c->obj->type == ET_EXEC ? elf_at_len(&object_priv(c->obj)->view, slot, 8) : NULL;

	return p ? callee_by_target(c, elf_get64(p)) : CALLEE_NONE;
}

unsigned callee_of_call(struct callees *c, uint64_t addr, const uint8_t *p, size_t avail, unsigned *what)
{
	unsigned len = avail >= 6 ? uft_insn_is_call(p) : avail == 5 && p[0] == UFT_OP_CALL ? 5 : 0;
	uint64_t slot;

	if (len) {
		*what = callee_by_target(c, uft_insn_branch_target(p, len, addr));
		return len;
	}
	if (avail < 6 || !uft_insn_is_call_indirect(p))
		return 0;
	slot = uft_insn_branch_target(p, 6, addr);
	*what = callee_by_slot(c, slot);
	if (!*what)
		*what = callee_by_content(c, slot);
	return 6;
}
