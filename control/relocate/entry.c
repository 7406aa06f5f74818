// SPDX-License-Identifier: MIT
/*
 * entry.c - decide which function entries of an object can be rewritten, and how
 *
 * What it is: from the bytes of a file, a list of functions with the form each will take, or the reason why it is left
 * alone; and the code that goes out of line. It touches no process. The functions are the unwind entries: they are
 * there in stripped programs, and they tell a function from a part of one.
 *
 * The instructions named here are x86-64's; arm64.c and riscv64.c have what differs there.
 *
 * Forms, tried in this order. The site is the function's first byte, or the one behind its endbr64, which an
 * indirect call must find.
 *	long	5 bytes become a jump. The instructions they belong to move; a function shorter than that gives
 *		the padding behind it, which is unused.
 *	short	2 bytes become a jump to 5 bytes of padding (pad.c) within its reach, which jump on. For entries
 *		of which more cannot move, because something leads there. A function that was compiled with a
 *		pad before its entry (UFT_SKIP_BEFORE) has its own.
 *	pun	1 to 4 bytes become the first ones of a jump whose others are the program's and stay (pun.c).
 *		The first instruction alone moves, so nothing that leads behind it matters. Where that jump
 *		leads is not ours to choose: whether something is there is seen in the process.
 *	trap	1 byte becomes int3, if that was asked for (with_traps). As few bytes move. Only for what no jump fits.
 *
 * Life: entries_list() fills addresses, the first entries_plan() looks at all of the code (scan.c), each further one
 * costs what it plans. A planned entry does not change, so what was handed out stays true.
 * Ownership: the lists are the caller's; bytes point into the object, which must live as long. One thread at a time.
 *
 * Invariants:
 *   1. Nothing but a call of the function, or a jump to it in place of one, leads to a byte that changes
 *      (scan.c, near.c, lands_in());
 *	tests/unit/relocate has a case for each way.
 *   2. A jump of a function to its own start is a loop: it would count as calls and nest without end. Such a function
 *	is left alone.
 *   3. The bytes of two entries never overlap, pads included.
 *   4. The reasons sum to the entries (tests/unit/relocate/coverage.c).
 *   5. Any file ends in bounded time without a fault (tests/fuzz/relocate): what is looked at more than once
 *      has a budget.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "control/relocate/arm64_move.h"
#include "control/relocate/internal.h"
#include "control/relocate/move.h"
#include "control/relocate/plan.h"
#include "runtime/arch/x86_64/encode.h"
#include "symbol/array.h"
#include "symbol/object_internal.h"
#include "symbol/sorted.h"

#define STARTS_MAX	(1u << 28)	/* bytes of text: 32 MiB of bits */

/* ---- The list --------------------------------------------------------------------------------- */

/* Mostly asked by rising address: then the answer is the last one, or the one behind it. */
static const struct uft_unwind *unwind_at(struct entries_priv *pr, uint64_t addr)
{
	size_t lo;

	for (unsigned i = 0; i < 2 && pr->hint + i < pr->nunwind; i++) {
		const struct uft_unwind *u = &pr->unwind[pr->hint + i];

		if (addr - u->addr < u->size && (u + 1 == pr->unwind + pr->nunwind || addr < u[1].addr)) {
			pr->hint += i;
			return u;
		}
	}
	lo = SORTED_FIRST(i, pr->nunwind, pr->unwind[i].addr > addr);
	pr->hint = lo ? lo - 1 : 0;
	return lo && addr - pr->unwind[lo - 1].addr < pr->unwind[lo - 1].size ? &pr->unwind[lo - 1] : NULL;
}

/*
 * A bit for each byte of the first text at which an unwind entry begins: symbols come in no order, and
 * searching costs 150 ns each.
 */
static uint64_t *mark_starts(const struct uft_object *obj, const struct entries_priv *pr, size_t *n)
{
	size_t size = obj->ntext ? obj->text[0].end - obj->text[0].addr : 0;
	uint64_t *map = size <= STARTS_MAX ? calloc(size / 64 + 1, sizeof(*map)) : NULL;

	*n = map ? size : 0;
	for (size_t i = 0; map && i < pr->nunwind; i++) {
		size_t at = pr->unwind[i].addr - obj->text[0].addr;

		if (at < size && pr->unwind[i].size)
			map[at / 64] |= 1ull << at % 64;
	}
	return map;
}

/* Functions that only a symbol knows, by address, behind those that are there. */
static int add_symbols(struct uft_object *obj, struct entries *e, const struct elf_symtab *t)
{
	enum entry_skip reason = grow_is_go(obj) ? ENTRY_STACK : ENTRY_NO_UNWIND;
	size_t n = e->n, room = n, size, at;
	uint64_t *starts = mark_starts(obj, e->priv, &size);
	Elf64_Sym s;
	int is_known;		/* C code of riscv64 has no unwind data */

	for (size_t i = 1; i < t->n; i++) {
		elf_sym(t, i, &s);
		at = size ? s.st_value - obj->text[0].addr : 0;
		if (at < size && starts[at / 64] >> at % 64 & 1)
			continue;
		if (s.st_shndx == SHN_UNDEF || !elf_sym_is_func(&s) || !object_text(obj, s.st_value) ||
		    unwind_at(e->priv, s.st_value) || object_in_plt(obj, s.st_value))
			continue;
		is_known = obj->machine == EM_RISCV && s.st_size && reason == ENTRY_NO_UNWIND &&
			   object_in_text(obj, s.st_value);
		if (array_reserve(e->entry, room, n + 1)) {
			free(starts);
			return -ENOMEM;
		}
		e->entry[n++] = (struct entry){ .addr = s.st_value, .func = s.st_value, .size = s.st_size,
						 .skip = is_known ? ENTRY_OK : reason };
	}
	free(starts);
	if (n == e->n)
		return 0;
	SORT_BY(e->entry, n, func);
	e->n = 0;
	for (size_t i = 0; i < n; i++)
		if (!e->n || e->entry[e->n - 1].func != e->entry[i].func)
			e->entry[e->n++] = e->entry[i];
	return 0;
}

/* Bytes at an entry that indirect calls must find. */
static unsigned lead_of(const struct uft_object *obj, const uint8_t *p, size_t avail)
{
	if (obj->machine == EM_AARCH64)
		return arm64_lead(p, avail);
	if (obj->machine == EM_RISCV)
		return 0;
	return avail > UFT_LEN_ENDBR ? (unsigned)uft_insn_is_endbr(p) : 0;
}

static int list_unwind(struct uft_object *obj, struct entries *e)
{
	struct entries_priv *pr = e->priv;
	int ret = uft_object_unwind(obj, &pr->unwind, &pr->nunwind);

	e->entry = ret ? NULL : malloc((pr->nunwind + 1) * 2 * sizeof(*e->entry));
	if (!e->entry)
		return ret ? ret : -ENOMEM;
	for (size_t i = 0; i < pr->nunwind; i++) {
		const struct uft_unwind *u = &pr->unwind[i];
		const uint8_t *p;
		size_t avail;

		if (!object_text(obj, u->addr))
			continue;
		p = object_code(obj, u->addr, &avail);
		e->entry[e->n++] = (struct entry){
			.func = u->addr, .size = u->size,
			.addr = u->addr + (p ? lead_of(obj, p, avail) : 0),
			.skip = u->flags || object_in_plt(obj, u->addr) ? ENTRY_NOT_FUNCTION :
				object_in_text(obj, u->addr) ? ENTRY_OK : ENTRY_SECTION,
		};
	}
	return 0;
}

static void list_split(struct uft_object *obj, struct entries *e)
{
	if (!grow_is_split(obj, e))
		return;
	for (size_t i = 0; i < e->n; i++)
		if (e->entry[i].skip == ENTRY_OK)
			e->entry[i].skip = ENTRY_STACK;
}

/* Entries do not overlap; where a table says so, the next one begins and this one ends. */
static void clip(struct entries *e)
{
	for (size_t i = 0; i + 1 < e->n; i++)
		if (e->entry[i].size > e->entry[i + 1].func - e->entry[i].func)
			e->entry[i].size = e->entry[i + 1].func - e->entry[i].func;
	for (size_t i = 0; i + 1 < e->priv->nunwind; i++) {
		struct uft_unwind *u = &e->priv->unwind[i];

		if (u->size > u[1].addr - u->addr)
			u->size = u[1].addr - u->addr;
	}
}

static void list_prepared(struct uft_object *obj, struct entries *e)
{
	struct uft_error err;
	size_t k = 0;

	if (uft_object_sites(obj, &err))
		return;
	for (size_t i = 0; i < obj->nsite; i++) {
		const struct uft_site *s = &obj->site[i];
		struct entry *f = NULL;

		for (; k < e->n && e->entry[k].func < s->func; k++)	/* both go by address */
			;
		if (!s->skip || s->skip == UFT_SKIP_BEFORE)
			f = k < e->n && e->entry[k].func == s->func ? &e->entry[k] : entries_find(e, s->func);
		if (f && !s->skip)
			f->skip = ENTRY_PREPARED;
		else if (f && f->skip == ENTRY_OK)
			f->before = s->len;
	}
	/* What its author prepared is traced, as with other pads. */
	for (size_t i = 0; obj->nbefore && i < e->n; i++)
		if (e->entry[i].skip == ENTRY_OK && !e->entry[i].before)
			e->entry[i].skip = ENTRY_UNPREPARED;
}

int entries_list(struct uft_object *obj, struct entries *out)
{
	struct elf_view *v = &object_priv(obj)->view;
	struct elf_symtab symtab;
	struct entries_priv *pr;
	int ret;

	memset(out, 0, sizeof(*out));
	out->priv = pr = calloc(1, sizeof(*pr));
	if (!pr)
		return -ENOMEM;
	if (!entries_are_known(obj) || obj->type == ET_REL)
		return 0;
	ret = list_unwind(obj, out);
	elf_symtab_find(v, SHT_SYMTAB, &symtab);
	if (!ret)
		ret = add_symbols(obj, out, symtab.n ? &symtab : &v->dyn);
	if (!ret) {
		clip(out);
		list_prepared(obj, out);
		list_split(obj, out);
		pr->of = malloc(out->n * sizeof(*pr->of) + 1);
		pr->gap = calloc(out->n + 1, sizeof(*pr->gap));
		ret = pr->of && pr->gap ? 0 : -ENOMEM;
	}
	if (ret) {
		entries_free(out);
		return ret;
	}
	for (size_t i = 0; i < out->n; i++) {
		const struct uft_unwind *u = unwind_at(pr, out->entry[i].func);

		pr->of[i] = u && u->addr == out->entry[i].func ? (uint32_t)(u - pr->unwind) : ~0u;
		out->nskip[out->entry[i].skip] += out->entry[i].skip != ENTRY_OK;
	}
	return 0;
}

int entries_ours(struct entries *e, const struct uft_range *r, size_t n)
{
	struct uft_range *copy = malloc(n * sizeof(*copy) + 1);

	if (!copy)
		return -ENOMEM;
	memcpy(copy, r, n * sizeof(*copy));
	free(e->priv->ours);
	e->priv->ours = copy;
	e->priv->nours = n;
	return 0;
}

void entries_free(struct entries *e)
{
	if (e->priv) {
		scan_free(e->priv->scan);
		bound_free(e->priv->unwind);
		free(e->priv->of);
		free(e->priv->gap);
		free(e->priv->ours);
		free(e->priv);
	}
	free(e->entry);
	memset(e, 0, sizeof(*e));
}

/* ---- One entry -------------------------------------------------------------------------------- */

struct plan {
	struct uft_object *obj;
	struct entries *e;
	const struct scan_text *t;
	size_t i;
	struct entry *f;
	unsigned shorts;	/* short_branches() */
};

/* Does anything lead into the bytes 1..@n-1 of the site? */
static int is_entered(const struct plan *p, unsigned n)
{
	const struct uft_unwind *u = p->e->priv->of[p->i] == ~0u ? NULL : &p->e->priv->unwind[p->e->priv->of[p->i]];

	return p->shorts >> (SHORT_BEFORE + 1) & ((1u << (n - 1)) - 1) ||
	       scan_any(p->t, p->t->target, p->f->addr + 1, n - 1) ||
	       (u && lands_in(p->obj, p->e->priv, u, p->f->addr + 1, n - 1));
}

/* Bytes behind @end that are not a function's, nor the pad of the next one. */
static size_t room_behind(const struct plan *p, uint64_t end)
{
	const struct entry *next = p->i + 1 < p->e->n ? p->f + 1 : NULL;
	uint64_t limit = next && next->before ? next->func - ENTRY_JUMP : p->t->addr + p->t->n;

	return limit > end && limit - p->t->addr <= p->t->n ? limit - end : 0;
}

/* Tries @change bytes. What moves ends within the function, or with an instruction that does not run on. */
static int try_form(const struct plan *p, unsigned change, unsigned *nmoved)
{
	struct entry *f = p->f;
	size_t at = f->addr - p->t->addr;
	uint64_t end = f->func + f->size;
	struct move m = {
		.from = f->addr, .to = f->addr, .code = p->t->p + at, .avail = p->t->n - at, .change = change
	};
	int ret = move_code(&m);

	if (ret == -EINVAL)
		return ENTRY_DATA;
	if (ret)
		return ENTRY_INSN;
	if (f->addr + m.nread > end)
		return ENTRY_DATA;
	*nmoved = m.nread;
	if (m.nread < change) {		/* it ended early: padding must follow */
		size_t left = room_behind(p, f->addr + m.nread);

		if (pad_length(m.code + m.nread, left < GAP_LOOK ? left : GAP_LOOK) < change - m.nread)
			return ENTRY_SHORT;
		*nmoved = change;
	}
	if (entries_is_ours(p->e->priv, f->addr, *nmoved))
		return ENTRY_OURS;
	/* Nothing that a compiler makes leads into the middle of an instruction. */
	if (f->before && m.ninsns == 1)
		return ENTRY_OK;
	return is_entered(p, change) ? ENTRY_BRANCH : ENTRY_OK;
}

/* A jump of the function to its start, seen from afar or near. */
static int is_loop(const struct plan *p)
{
	unsigned own = 1u << SHORT_BEFORE | 1u << (SHORT_BEFORE - (p->f->addr - p->f->func));

	return p->shorts & own || scan_bit(p->t->looped, p->f->func - p->t->addr);
}

/* Of an instruction of @len bytes as many as nothing leads into. */
static int plan_pun(struct plan *p, unsigned len)
{
	struct entry *f = p->f;
	unsigned change = len < UFT_PUN_MAX ? len : UFT_PUN_MAX, known = pun_known(p->e, p->t, p->i);

	while (is_entered(p, change))
		change--;
	if (known < ENTRY_JUMP || !pun_may_lead(p->obj, f->addr, p->t->p + (f->addr - p->t->addr), change, known))
		return 0;
	f->pun = (uint8_t)change;
	f->known = (uint8_t)known;
	return 1;
}

/* No jump of ours alone fits, for @reason: one that ends in the program's bytes may, or an int3. */
static int plan_first(struct plan *p, unsigned reason, unsigned *nmoved)
{
	struct entry *f = p->f;

	if (f->before || try_form(p, ENTRY_TRAP, nmoved) != ENTRY_OK)
		return (int)reason;
	if (plan_pun(p, *nmoved))
		return ENTRY_OK;
	f->can_trap = 1;
	f->is_trap = p->e->with_traps != 0;
	return f->is_trap ? ENTRY_OK : (int)reason;
}

/* 0: *nmoved bytes move, and f->pad, f->pun or f->is_trap tells the form. */
static int plan_form(struct plan *p, unsigned *nmoved)
{
	struct entry *f = p->f;
	unsigned reason = try_form(p, ENTRY_JUMP, nmoved);

	if (reason != ENTRY_SHORT && reason != ENTRY_BRANCH && reason != ENTRY_INSN)
		return (int)reason;
	if (try_form(p, ENTRY_SHORT_JUMP, nmoved) == ENTRY_OK)
		f->pad = f->before ? f->func - ENTRY_JUMP : pad_take(p->e, p->t, p->i, f->addr);
	return f->pad ? ENTRY_OK : plan_first(p, reason, nmoved);
}

static int plan_entry(struct plan *p)
{
	struct entry *f = p->f;
	size_t at = f->func - p->t->addr;
	unsigned nmoved = 0, reason;
	size_t avail;

	if (object_code(p->obj, f->func, &avail) != p->t->p + at)	/* segments overlap: it is here and there */
		return ENTRY_DATA;
	if (entry_is_part(p->t, f))
		return ENTRY_NOT_FUNCTION;
	if (!f->before && plan_takes_flags(p->t->p + at, p->t->n - at))
		return ENTRY_FLAGS;
	p->shorts = short_branches(p->e, p->t, p->i);
	if (is_loop(p))
		return ENTRY_BRANCH;
	reason = (unsigned)plan_form(p, &nmoved);
	if (reason)
		return (int)reason;
	f->nmoved = (uint8_t)nmoved;
	f->is_plain = (uint8_t)plain_is(p->obj, p->e, p->t, p->i, 0);
	return ENTRY_OK;
}

static int plan_arm64(struct plan *p)
{
	return arm64_plan(p->obj, p->e, p->t, p->i);
}

static int plan_riscv64(struct plan *p)
{
	return riscv64_plan(p->obj, p->e, p->t, p->i);
}

static int (*plan_of(const struct uft_object *obj))(struct plan *p)
{
	return obj->machine == EM_AARCH64 ? plan_arm64 : obj->machine == EM_RISCV ? plan_riscv64 : plan_entry;
}

int entries_plan(struct uft_object *obj, struct entries *e, const uint8_t *want)
{
	if (!e->n)
		return 0;
	if (!e->priv->scan) {
		int ret = scan_make(obj, e, &e->priv->scan);

		if (ret)
			return ret;
		e->priv->left = LOOK_TWICE;
		for (size_t i = 0; i < e->priv->scan->ntext; i++)
			e->priv->left += LOOK_TIMES * e->priv->scan->text[i].n;
	}
	for (size_t i = 0; i < e->n; i++) {
		struct entry *f = &e->entry[i];
		struct plan p = { .obj = obj, .e = e, .i = i, .f = f };

		if ((want && !want[i]) || f->skip || f->nmoved)
			continue;
		p.t = scan_text(e->priv->scan, f->addr);
		f->skip = p.t ? (uint8_t)plan_of(obj)(&p) : ENTRY_DATA;
		if (f->skip)
			f->pad = 0;
		e->nskip[f->skip]++;
	}
	return 0;
}

const char *entry_skip_text(enum entry_skip skip)
{
	static const char *const text[ENTRY_NSKIPS] = {
		[ENTRY_OK]		= "usable",
		[ENTRY_PREPARED]	= "compiled for tracing: its own site is used",
		[ENTRY_NOT_FUNCTION]	= "no function: linkage table, signal return, or a part of another function",
		[ENTRY_SHORT]		= "shorter than a jump, and no padding near (build with -falign-functions=16)",
		[ENTRY_BRANCH]		= "something jumps into its first bytes (build with what `uft cflags` prints)",
		[ENTRY_INSN]		=
			"begins with an instruction that cannot move (build with what `uft cflags` prints)",
		[ENTRY_NO_UNWIND]	= "no unwind data: assembly, or built with -fno-asynchronous-unwind-tables",
		[ENTRY_DATA]		= "its first bytes are not code that ends where the unwind data says",
		[ENTRY_FLAGS]		= "reads the flags that its caller left, or has registers of its own: assembly",
		[ENTRY_SECTION]		= "in a section that is not text: it may be copied and run elsewhere",
		[ENTRY_STACK]		=
			("runs on a stack that grows when it must, without room for tracing: Go, or built with "
					   "-fsplit-stack (C code beside Go can be traced)"),
		[ENTRY_OURS]		= "tracing itself needs this place",
		[ENTRY_UNPREPARED]	=
			"not compiled for tracing, unlike other functions of this object (build with what `uft cflags` prints)",
	};

	return skip < ENTRY_NSKIPS ? text[skip] : "unknown";
}

/* ---- Its code --------------------------------------------------------------------------------- */

static int entry_move(struct uft_object *obj, const struct entry *e, uint64_t from, uint64_t to, struct move *m)
{
	*m = (struct move){ .from = from, .to = to, .change = entry_len(obj, e) };
	m->code = object_code(obj, e->addr, &m->avail);
	if (!m->code || !e->nmoved || e->nmoved > m->avail)
		return -EINVAL;
	return move_code(m);
}

int entry_code(struct uft_object *obj, const struct entry *e, uint64_t bias, uint64_t at, struct uft_code *out)
{
	uint32_t stub = out->stub;
	struct move m;
	int ret;

	if (obj->machine == EM_AARCH64)
		return arm64_code(obj, e, bias, at, out);
	if (obj->machine == EM_RISCV)
		return riscv64_code(obj, e, bias, at, out);
	ret = entry_move(obj, e, e->addr + bias, at, &m);
	if (ret)
		return ret;
	if (m.ncode > UFT_CODE_MAX || e->nmoved > sizeof(out->orig) || (e->pun && e->known > m.avail))
		return -E2BIG;
	*out = (struct uft_code){ .addr = e->addr + bias, .stub = stub, .nmoved = e->nmoved, .ncode = (uint8_t)m.ncode,
				  .is_plain = e->is_plain, .is_trap = e->is_trap, .back = (uint8_t)m.back,
				  .pushed = (uint8_t)m.pushed,
				  .pun = e->pun, .known = e->known };
	for (unsigned i = 1; i < m.ninsns; i++)
		out->map[m.at[i] - 1] = m.copy[i];
	memcpy(out->orig, m.code, e->pun && e->known > e->nmoved ? e->known : e->nmoved);
	memcpy(out->code, m.out, m.ncode);
	if (e->pad) {
		out->pad = e->pad + bias;
		if (uft_object_read(obj, e->pad, out->pad_orig, ENTRY_JUMP) != ENTRY_JUMP)
			return -EINVAL;
	}
	return 0;
}

int entry_twin(struct uft_object *obj, const struct entry *e, unsigned offset)
{
	struct move m;
	int ret;

	if (obj->machine != EM_X86_64)		/* a word: no thread rests inside */
		return -EINVAL;
	ret = entry_move(obj, e, e->addr, e->addr, &m);
	if (ret)
		return ret;
	for (unsigned i = 0; i < m.ninsns; i++)
		if (m.at[i] == offset)
			return m.copy[i];
	return -EINVAL;
}

const char *entries_walker_text(const struct entries *e)
{
	const struct scan *s = e->priv ? e->priv->scan : NULL;

	if (s && s->has_frame_table)
		return "it has a table of frames for its own collector, which finds each by its return address";
	if (s && s->is_runtime)
		return "it makes code at run time and looks up the return addresses of calls from it";
	return NULL;
}
