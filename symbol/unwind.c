/* SPDX-License-Identifier: MIT */
/*
 * unwind.c - function starts from .eh_frame_hdr or .eh_frame
 *
 * The search table of .eh_frame_hdr is a sorted array of (function, entry) pairs, present in every dynamic or PIE
 * program, even in a stripped one; a scan costs a few nanoseconds a function. Only `gcc -static` (not static-pie)
 * leaves it out: then .eh_frame is read, entry by entry.
 *
 * Source: LSB core, "Exception Frames"; DWARF 5 section 6.4 for the entries.
 */
#include <errno.h>
#include <string.h>

#include "symbol/uw_cursor.h"
#include "symbol/table.h"
#include "symbol/unwind.h"
#include "symbol/sorted.h"

/* Pointer encodings (DW_EH_PE_*). */
enum {
	PE_ABSPTR = 0x00, PE_ULEB128 = 0x01, PE_UDATA2 = 0x02, PE_UDATA4 = 0x03, PE_UDATA8 = 0x04,
	PE_SLEB128 = 0x09, PE_SDATA2 = 0x0a, PE_SDATA4 = 0x0b, PE_SDATA8 = 0x0c, PE_FORMAT = 0x0f,
	PE_PCREL = 0x10, PE_DATAREL = 0x30, PE_APPLICATION = 0x70, PE_INDIRECT = 0x80, PE_OMIT = 0xff,
};

#define UW_MAX_AUGMENTATION	32	/* letters; the longest in use is "zPLRS" */

/* Reads one encoded value; 0 and c->p NULL if it is cut off or has a form that files do not use. */
static uint64_t uw_pointer(struct uw_cursor *c, uint8_t enc, uint64_t datarel)
{
	uint64_t at = c->vaddr, value = 0;
	const uint8_t *p;

	switch (enc & PE_FORMAT) {
	case PE_ULEB128: value = uw_leb(c, 0); break;
	case PE_SLEB128: value = uw_leb(c, 1); break;
	case PE_UDATA2: p = uw_take(c, 2); value = p ? p[0] | p[1] << 8 : 0; break;
	case PE_SDATA2: p = uw_take(c, 2); value = p ? (uint64_t)(int16_t)(p[0] | p[1] << 8) : 0; break;
	case PE_UDATA4: p = uw_take(c, 4); value = p ? elf_get32(p) : 0; break;
	case PE_SDATA4: p = uw_take(c, 4); value = p ? (uint64_t)(int32_t)elf_get32(p) : 0; break;
	case PE_ABSPTR: case PE_UDATA8: case PE_SDATA8: p = uw_take(c, 8); value = p ? elf_get64(p) : 0; break;
	default: c->p = NULL;
	}
	switch (enc & PE_APPLICATION) {
	case 0: break;
	case PE_PCREL: value += at; break;
	case PE_DATAREL: value += datarel; break;
	default: c->p = NULL;
	}
	if (enc & PE_INDIRECT)
		c->p = NULL;
	return c->p ? value : 0;
}

#define UW_MAX_INSNS	(16u << 10)	/* executed bytes of an entry: entries may overlap in a damaged file */

/* ---- Entries of .eh_frame -------------------------------------------------------------------- */

/* Reads the length word(s) of an entry; @c then stands at its id and ends with the entry. 0 at the end. */
static int uw_entry(struct uw_cursor *c, struct uw_cursor *rest)
{
	const uint8_t *p = uw_take(c, 4);
	uint64_t len = p ? elf_get32(p) : 0;

	if (len == 0xffffffff) {
		p = uw_take(c, 8);
		len = p ? elf_get64(p) : 0;
	}
	if (!c->p || !len || len > (uint64_t)(c->end - c->p))
		return 0;
	rest->p = c->p + len;
	rest->end = c->end;
	rest->vaddr = c->vaddr + len;
	c->end = rest->p;
	return 1;
}

/* Reads the CIE at @c (behind its id) up to its instructions. */
static int uw_cie_header(struct uw_cursor *c, struct uw_cie *cie)
{
	const uint8_t *p = uw_take(c, 1), *aug = c->p;
	uint8_t version = p ? *p : 0;
	uint64_t len;
	size_t n;

	if (!p || (version != 1 && version != 3))
		return 0;
	n = strnlen((const char *)aug, c->end - c->p < UW_MAX_AUGMENTATION ? c->end - c->p : UW_MAX_AUGMENTATION);
	if (n == UW_MAX_AUGMENTATION || !uw_take(c, n + 1))
		return 0;
	cie->code_align = uw_leb(c, 0);
	cie->data_align = (int64_t)uw_leb(c, 1);
	if (version == 1)
		uw_take(c, 1);			/* return address column */
	else
		uw_leb(c, 0);
	cie->enc = PE_ABSPTR;
	cie->lsda_enc = PE_OMIT;
	cie->is_signal = 0;
	cie->has_data = *aug == 'z';
	if (*aug != 'z')
		return c->p != NULL;
	len = uw_leb(c, 0);
	if (!c->p || len > (uint64_t)(c->end - c->p))
		return 0;
	{
		struct uw_cursor data = { c->p, c->p + len, c->vaddr };

		for (aug++; *aug && data.p; aug++) {
			if (*aug == 'R' || *aug == 'L') {
				p = uw_take(&data, 1);
				*(*aug == 'R' ? &cie->enc : &cie->lsda_enc) = p ? *p : PE_OMIT;
			} else if (*aug == 'P') {
				p = uw_take(&data, 1);
				if (p)
					uw_pointer(&data, *p & ~PE_INDIRECT, 0);
			} else if (*aug == 'S') {
				cie->is_signal = 1;
			} else if (*aug != 'B') {
				return 0;
			}
		}
		if (!data.p)
			return 0;
	}
	return uw_take(c, len) != NULL;
}

static int uw_read_cie(struct elf_view *v, uint64_t vaddr, struct uw_cie *cie)
{
	struct uw_cursor c = { NULL, NULL, vaddr }, rest;
	const uint8_t *p;
	size_t avail;

	if (cie->valid && cie->vaddr == vaddr)
		return 1;
	cie->valid = 0;
	cie->vaddr = vaddr;
	c.p = elf_at(v, vaddr, &avail);
	if (!c.p)
		return 0;
	c.end = c.p + avail;
	if (!uw_entry(&c, &rest))
		return 0;
	p = uw_take(&c, 4);
	if (!p || elf_get32(p))
		return 0;
	cie->valid = uw_cie_header(&c, cie);
	if (cie->valid) {
		struct uft_unwind u = { .insn = c.p, .ninsn = (uint32_t)(c.end - c.p), .code_align = cie->code_align,
					.data_align = cie->data_align, .start = { .reg = -1 } };

		if (bound_steps(v->bound, "unwind entries", u.ninsn))
			return cie->valid = 0;
		uw_run(&u, NULL, NULL, &cie->start, &cie->has_no_parent);
	}
	return cie->valid;
}

/*
 * Reads the FDE or CIE at @c and moves @c behind it. 1: fills *r, and *body, unless NULL, with what follows the range;
 * 0: not a (readable) FDE; -1: the end.
 */
static int uw_read_fde(struct elf_view *v, struct uw_cursor *c, struct uw_cie *cie, struct uw_range *r,
		       struct uw_cursor *body)
{
	struct uw_cursor rest;
	uint64_t id_at;
	const uint8_t *p;
	uint32_t id;

	r->fde = c->vaddr;
	if (!c->p || !uw_entry(c, &rest))
		return -1;
	id_at = c->vaddr;
	p = uw_take(c, 4);
	id = p ? elf_get32(p) : 0;
	r->addr = r->size = 0;
	if (id && uw_read_cie(v, id_at - id, cie)) {
		r->addr = uw_pointer(c, cie->enc, 0);
		r->size = uw_pointer(c, cie->enc & PE_FORMAT, 0);
		if (!c->p)
			r->addr = 0;
	}
	if (body)
		*body = *c;
	*c = rest;
	return r->addr != 0;
}

/* Reads the pointer to a table of handlers: 0 means none, whatever it is relative to. */
static uint64_t uw_lsda(struct uw_cursor *c, uint8_t enc)
{
	struct uw_cursor raw = *c;

	return uw_pointer(&raw, enc & PE_FORMAT, 0) ? uw_pointer(c, enc, 0) : 0;
}

/* ---- Lists ----------------------------------------------------------------------------------- */

static void uw_sort(struct uw_list *l)
{
	size_t i, n = 0;

	for (i = 1; i < l->n && l->range[i - 1].addr < l->range[i].addr; i++)
		;
	if (i >= l->n)
		return;
	SORT_BY(l->range, l->n, addr);
	for (i = 0; i < l->n; i++)
		if (!n || l->range[n - 1].addr != l->range[i].addr)
			l->range[n++] = l->range[i];
	l->n = n;
}

static uint64_t uw_fde_size(struct elf_view *v, uint64_t fde, uint64_t addr, struct uw_cie *cie)
{
	struct uw_cursor c = { NULL, NULL, fde };
	struct uw_range r;
	size_t avail;

	c.p = bound_steps(v->bound, "unwind entries", v->nph) ? NULL : elf_at(v, fde, &avail);
	if (!c.p)
		return 0;
	c.end = c.p + avail;
	return uw_read_fde(v, &c, cie, &r, NULL) > 0 && r.addr == addr ? r.size : 0;
}

/* The rule of the first stretch, at the function's begin. */
static int uw_first(void *arg, const struct uft_cfa *cfa)
{
	*(struct uft_cfa *)arg = *cfa;
	return 1;
}

/* Is the stack pointer as at a function's entry? On x86-64 the call has pushed the return address. */
static int uw_is_entry(const struct elf_view *v, const struct uft_cfa *cfa)
{
	switch (v->eh.e_machine) {
	case EM_AARCH64: return cfa->reg == 31 && !cfa->offset;
	case EM_RISCV: return cfa->reg == 2 && !cfa->offset;
	default: return cfa->reg == 7 && cfa->offset == 8;
	}
}

int uw_details(struct elf_view *v, const struct uw_range *r, struct uw_cie *cie, struct uft_unwind *u)
{
	struct uw_cursor c = { NULL, NULL, r->fde }, body;
	struct uft_cfa first = { .reg = -1 };
	struct uw_range got;
	size_t avail;
	int no_parent;

	c.p = elf_at(v, r->fde, &avail);
	if (!c.p)
		return 0;
	c.end = c.p + avail;
	if (uw_read_fde(v, &c, cie, &got, &body) <= 0 || got.addr != r->addr || !got.size ||
	    got.addr + got.size < got.addr)
		return 0;
	*u = (struct uft_unwind){ .addr = got.addr, .size = got.size, .code_align = cie->code_align,
				  .data_align = cie->data_align, .start = cie->start };
	if (cie->has_data) {
		uint64_t len = uw_leb(&body, 0);
		struct uw_cursor data = body;

		if (!uw_take(&body, len))
			return 0;
		data.end = body.p;
		if (cie->lsda_enc != PE_OMIT && len)
			u->lsda = uw_lsda(&data, cie->lsda_enc);
	}
	u->insn = body.p;
	u->ninsn = body.end - body.p < UW_MAX_INSNS ? (uint32_t)(body.end - body.p) : UW_MAX_INSNS;
	if (bound_steps(v->bound, "unwind entries", u->ninsn))
		return 0;
	uw_run(u, uw_first, &first, NULL, NULL);
	uw_run(u, NULL, NULL, NULL, &no_parent);
	if (cie->is_signal)
		u->flags |= UFT_UNWIND_SIGNAL;
	if (no_parent || cie->has_no_parent)
		u->flags |= UFT_UNWIND_OUTERMOST;
	if (!uw_is_entry(v, &first))
		u->flags |= UFT_UNWIND_PART;
	return 1;
}

/* The binary search table of .eh_frame_hdr: @n pairs of @enc from @c on. */
struct uw_search {
	struct uw_cursor c;
	uint64_t hdr, n;
	uint8_t enc;
};

/* Is it the form that every linker writes? */
static int uw_is_plain_search(const struct uw_search *t)
{
	return t->enc == (PE_DATAREL | PE_SDATA4);
}

/* 1: found; 0: no usable table. */
static int uw_find_search(struct elf_view *v, struct uw_search *t)
{
	const uint8_t *h;
	size_t i, avail, width;
	uint64_t n;

	for (i = 0; i < v->nph && v->ph[i].p_type != PT_GNU_EH_FRAME; i++)
		;
	if (i == v->nph)
		return 0;
	t->hdr = v->ph[i].p_vaddr;
	t->c = (struct uw_cursor){ elf_at(v, t->hdr, &avail), NULL, t->hdr };
	if (!t->c.p)
		return 0;
	t->c.end = t->c.p + (v->ph[i].p_memsz && v->ph[i].p_memsz < avail ? v->ph[i].p_memsz : avail);
	h = uw_take(&t->c, 4);
	if (!h || h[0] != 1)
		return 0;
	if (h[1] != PE_OMIT)
		uw_pointer(&t->c, h[1], t->hdr);	/* .eh_frame itself */
	t->enc = h[3];
	if (!t->c.p || h[2] == PE_OMIT || t->enc == PE_OMIT || (t->enc & PE_FORMAT) == PE_ULEB128 ||
	    (t->enc & PE_FORMAT) == PE_SLEB128)
		return 0;
	n = uw_pointer(&t->c, h[2], t->hdr);
	if (!t->c.p || !n)
		return 0;
	width = (t->enc & PE_FORMAT) == PE_SDATA4 || (t->enc & PE_FORMAT) == PE_UDATA4 ? 4 : 8;
	t->n = n < (uint64_t)(t->c.end - t->c.p) / (2 * width) ? n : (uint64_t)(t->c.end - t->c.p) / (2 * width);
	return 1;
}

static int uw_from_search(struct elf_view *v, struct uw_search *t, int want_sizes, struct uw_list *out)
{
	struct uw_cie cie = { 0 };
	size_t i;

	out->range = bound_alloc(v->bound, "unwind entries", t->n + 1, sizeof(*out->range));
	if (!out->range)
		return -ENOMEM;
	table_populate(out->range, t->n * sizeof(*out->range));
	for (i = 0; i < t->n; i++) {
		struct uw_range *r = &out->range[out->n];

		if (uw_is_plain_search(t)) {
			r->addr = t->hdr + (int32_t)elf_get32(t->c.p);
			r->fde = t->hdr + (int32_t)elf_get32(t->c.p + 4);
			t->c.p += 8;
		} else {
			r->addr = uw_pointer(&t->c, t->enc, t->hdr);
			r->fde = uw_pointer(&t->c, t->enc, t->hdr);
			if (!t->c.p)
				break;
		}
		r->size = want_sizes ? uw_fde_size(v, r->fde, r->addr, &cie) : 0;
		out->n++;
	}
	out->from_hdr = 1;
	return 0;
}

/* Reads .eh_frame from @vaddr to its terminator or to @limit bytes. */
static int uw_walk(struct elf_view *v, uint64_t vaddr, uint64_t limit, struct uw_list *out)
{
	struct uw_cursor c = { NULL, NULL, vaddr };
	struct uw_cie cie = { 0 };
	struct uw_range r;
	size_t avail, room = 0;
	int got;

	c.p = elf_at(v, vaddr, &avail);
	if (!c.p)
		return 0;
	c.end = c.p + (limit && limit < avail ? limit : avail);
	while ((got = uw_read_fde(v, &c, &cie, &r, NULL)) >= 0) {
		if (!got)
			continue;
		if (out->n == room) {
			struct uw_range *grown;

			room = room ? room * 2 : 256;
			grown = bound_grow(v->bound, "unwind entries", out->range, room, sizeof(*grown));
			if (!grown)
				return -ENOMEM;
			out->range = grown;
		}
		out->range[out->n++] = r;
	}
	return 0;
}

/* Finds .eh_frame by the section headers, else by .eh_frame_hdr. *limit: its length; 0: up to the terminator. */
static uint64_t uw_find_frame(struct elf_view *v, uint64_t *limit)
{
	size_t i = elf_section(v, ".eh_frame", 0);

	*limit = 0;
	if (i && v->sh[i].sh_addr) {
		*limit = v->sh[i].sh_size;
		return v->sh[i].sh_addr;
	}
	for (i = 0; i < v->nph; i++) {
		struct uw_cursor c = { NULL, NULL, v->ph[i].p_vaddr };
		const uint8_t *h;
		size_t avail;
		uint64_t frame;

		if (v->ph[i].p_type != PT_GNU_EH_FRAME)
			continue;
		c.p = elf_at(v, c.vaddr, &avail);
		c.end = c.p ? c.p + avail : NULL;
		h = uw_take(&c, 4);
		frame = h && h[0] == 1 && h[1] != PE_OMIT ? uw_pointer(&c, h[1], v->ph[i].p_vaddr) : 0;
		return c.p ? frame : 0;
	}
	return 0;
}

int uw_functions(struct elf_view *v, int want_sizes, struct uw_list *out)
{
	struct uw_search t;
	uint64_t frame, limit;
	int ret;

	memset(out, 0, sizeof(*out));
	if (uw_find_search(v, &t)) {
		ret = uw_from_search(v, &t, want_sizes, out);
	} else {
		frame = uw_find_frame(v, &limit);
		ret = frame ? uw_walk(v, frame, limit, out) : 0;
	}
	if (ret) {
		bound_free(out->range);
		memset(out, 0, sizeof(*out));
		return ret;
	}
	uw_sort(out);
	return 0;
}

/* Reads a table in the plain form and in order, as linkers leave it. 0: it is not. */
static int uw_plain_starts(const struct uw_search *t, uint64_t *addr)
{
	for (size_t i = 0; i < t->n; i++) {
		addr[i] = t->hdr + (int32_t)elf_get32(t->c.p + 8 * i);
		if (i && addr[i] <= addr[i - 1])
			return 0;
	}
	return 1;
}

int uw_starts(struct elf_view *v, struct uw_starts *out)
{
	struct uw_search t;
	struct uw_list l;
	int ret;

	*out = (struct uw_starts){ NULL, 0, 1 };
	if (uw_find_search(v, &t) && uw_is_plain_search(&t)) {
		out->addr = bound_alloc(v->bound, "unwind entries", t.n + 1, sizeof(*out->addr));
		if (!out->addr)
			return -ENOMEM;
		table_populate(out->addr, t.n * sizeof(*out->addr));
		if (uw_plain_starts(&t, out->addr)) {
			out->n = t.n;
			return 0;
		}
		bound_free(out->addr);
		out->addr = NULL;
	}
	ret = uw_functions(v, 0, &l);
	if (!ret)
		out->addr = bound_alloc(v->bound, "unwind entries", l.n + 1, sizeof(*out->addr));
	for (size_t i = 0; out->addr && i < l.n; i++)
		out->addr[i] = l.range[i].addr;
	out->n = out->addr ? l.n : 0;
	out->from_hdr = !ret && l.from_hdr;
	bound_free(l.range);
	return ret ? ret : out->addr ? 0 : -ENOMEM;
}

/* ---- Landing in handlers ----------------------------------------------------------------------- */

/*
 * rax, rdx: the values for the handler; rbx, r12-r15: all call-saved registers, because the handler's frame is restored
 * from the saved ones. (libc's mcount saves rax and rdx, too, but not those.)
 */
#define UW_LANDER_REGS	(1u << 0 | 1u << 1 | 1u << 3 | 0xfu << 12)

/* Does the prologue that @c describes save all of @regs? A split part (.cold) begins with them saved. */
static int uw_saves(struct uw_cursor *c, uint32_t regs)
{
	uint32_t saved = 0;
	int has_moved = 0;
	const uint8_t *p;

	while (c->p && c->p < c->end && (p = uw_take(c, 1))) {
		unsigned reg = *p & 0x3f;

		switch (*p & 0xc0) {
		case 0x40:			/* advance_loc */
			has_moved = 1;
			break;
		case 0x80:			/* offset */
			uw_leb(c, 0);
			if (has_moved && reg < 32)
				saved |= 1u << reg;
			break;
		case 0:
			if (!uw_operands[*p])
				return 0;
			has_moved |= *p >= 0x02 && *p <= 0x04;
			uw_skip_operands(c, uw_operands[*p]);
			break;
		}
	}
	return c->p && (saved & regs) == regs;
}

size_t uw_landers(struct elf_view *v, struct uw_range *out, size_t max)
{
	uint64_t frame, limit;
	struct uw_cursor c = { NULL, NULL, 0 }, body;
	struct uw_cie cie = { 0 };
	struct uw_range r;
	size_t avail, n = 0;
	int got;

	frame = uw_find_frame(v, &limit);
	c.vaddr = frame;
	c.p = frame ? elf_at(v, frame, &avail) : NULL;
	if (!c.p)
		return 0;
	c.end = c.p + (limit && limit < avail ? limit : avail);
	while (n < max && (got = uw_read_fde(v, &c, &cie, &r, &body)) >= 0) {
		if (!got)
			continue;
		if (cie.has_data)
			uw_take(&body, uw_leb(&body, 0));
		if (uw_saves(&body, UW_LANDER_REGS))
			out[n++] = r;
	}
	return n;
}
