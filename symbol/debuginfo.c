/* SPDX-License-Identifier: MIT */
/*
 * debuginfo.c - find where functions are defined, and which of their calls come from functions inlined into them
 *
 * One pass over the units of the file; it skips units whose ranges hold no wanted address. A function's place is that
 * of its declaration, or, where there is only a line table (assembler), that of its first instruction.
 *
 * Inlined functions: a call site that the compiler described (DW_TAG_call_site) lies within the inlined functions that
 * it came from. Sites that may call the wanted function are those of its name and the indirect ones. The answer is the
 * chain of inlined functions that all of them share, so it is certain, and short where the sites differ. A caller gets
 * no answer unless its description says that it has all sites (DW_AT_call_all_calls and its likes).
 *
 * Bounds: STEPS entries read, DEPTH levels, CHAIN nested inlined functions. The process that this runs in (source.c)
 * bounds everything else, faults and endless loops of the library included.
 */
#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/debuginfo.h"

#define STEPS	(50u << 20)
#define DEPTH	200u
#define CHAIN	32u

#define LIBRARY(f)	__typeof__(&dwarf_##f) f
static struct {
	void *so;
	LIBRARY(begin);
	LIBRARY(get_units);
	LIBRARY(tag);
	LIBRARY(child);
	LIBRARY(siblingof);
	LIBRARY(attr);
	LIBRARY(attr_integrate);
	LIBRARY(hasattr);
	LIBRARY(formref_die);
	LIBRARY(formstring);
	LIBRARY(diename);
	LIBRARY(decl_file);
	LIBRARY(decl_line);
	LIBRARY(ranges);
	LIBRARY(getsrc_die);
	LIBRARY(getsrcfiles);
	LIBRARY(lineno);
	LIBRARY(linesrc);
	LIBRARY(dieoffset);
} dw;

int debuginfo_load(struct uft_error *err)
{
#define FUNCTION(f)	{ "dwarf_" #f, &dw.f }
	const struct { const char *name; void *at; } function[] = {
		FUNCTION(begin), FUNCTION(get_units), FUNCTION(tag), FUNCTION(child), FUNCTION(siblingof),
		FUNCTION(attr), FUNCTION(attr_integrate),
		FUNCTION(hasattr), FUNCTION(formref_die), FUNCTION(formstring), FUNCTION(diename), FUNCTION(decl_file),
		FUNCTION(decl_line),
		FUNCTION(ranges), FUNCTION(getsrc_die), FUNCTION(getsrcfiles), FUNCTION(lineno), FUNCTION(linesrc),
		FUNCTION(dieoffset),
	};

	if (dw.so)
		return 0;
	dw.so = dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!dw.so)
		return uft_fail(err, -ENOPKG,
				"cannot load libdw.so.1, which reads source lines: install it (Debian: libdw1)");
	for (size_t i = 0; i < sizeof(function) / sizeof(function[0]); i++) {
		void *f = dlsym(dw.so, function[i].name);

		if (!f) {
			dlclose(dw.so);
			dw.so = NULL;
			return uft_fail(err, -ENOPKG, "the libdw.so.1 that is installed is too old: it has no %s",
					function[i].name);
		}
		memcpy(function[i].at, &f, sizeof(f));
	}
	return 0;
}

/* ---- Answers ---- */

struct frame { const char *name, *file; uint32_t line; };

struct call_answer {
	struct frame chain[CHAIN];
	Dwarf_Off offset[CHAIN];	/* of their entries */
	uint32_t n;
	uint8_t has_sites, has_direct;
};

struct search {
	const struct uft_source_query *q;
	const struct debuginfo_want *func, *call;
	size_t nfuncs, ncalls;
	uint8_t *is_found;		/* by index in func */
	struct call_answer *answer;	/* by index in call */
	FILE *out;
	uint32_t steps;
};

static void put_u32(FILE *out, uint32_t v)
{
	fwrite(&v, sizeof(v), 1, out);
}

static void put_text(FILE *out, const char *s)
{
	uint32_t n = s ? (uint32_t)strnlen(s, 4096) : 0;

	put_u32(out, n);
	fwrite(s ? s : "", 1, n, out);
}

static void put_func(struct search *s, size_t i, const char *file, uint32_t line)
{
	if (!file || s->is_found[i])
		return;
	s->is_found[i] = 1;
	putc('F', s->out);
	put_u32(s->out, s->func[i].index);
	put_u32(s->out, line);
	put_text(s->out, file);
}

static void put_calls(struct search *s)
{
	for (size_t i = 0; i < s->ncalls; i++) {
		const struct call_answer *a = &s->answer[i];

		if (!a->n || !a->has_direct)
			continue;
		putc('C', s->out);
		put_u32(s->out, s->call[i].index);
		put_u32(s->out, a->n);
		for (uint32_t k = 0; k < a->n; k++) {
			put_u32(s->out, a->chain[k].line);
			put_text(s->out, a->chain[k].name);
			put_text(s->out, a->chain[k].file);
		}
	}
}

/* ---- Entries ---- */

/* Returns the index of the first of @list that is not below @addr. */
static size_t place_of(const struct debuginfo_want *list, size_t n, uint64_t addr)
{
	size_t from = 0;

	while (from < n) {
		size_t mid = from + (n - from) / 2;

		if (list[mid].vaddr < addr)
			from = mid + 1;
		else
			n = mid;
	}
	return from;
}

/* Returns the linked name of a function's entry, or its name in the source. */
static const char *linked_name(Dwarf_Die *die)
{
	Dwarf_Attribute attr;

	if (dw.attr_integrate(die, DW_AT_linkage_name, &attr) ||
	    dw.attr_integrate(die, DW_AT_MIPS_linkage_name, &attr)) {
		const char *name = dw.formstring(&attr);

		if (name)
			return name;
	}
	return dw.diename(die);
}

static uint32_t decl_line(Dwarf_Die *die)
{
	int line = 0;

	return dw.decl_line(die, &line) == 0 && line > 0 ? (uint32_t)line : 0;
}

/* Compares without a suffix of the compiler or of object.h: f.constprop.0, f@a.c. */
static int is_same_name(const char *linked, const char *source)
{
	size_t n = source ? strlen(source) : 0;

	return n && !strncmp(linked, source, n) && (!linked[n] || linked[n] == '.' || linked[n] == '@');
}

/* ---- Call sites ---- */

static void add_site(struct call_answer *a, const struct frame *chain, const Dwarf_Off *offset, uint32_t n,
		     int is_direct)
{
	uint32_t same = 0;

	a->has_direct |= (uint8_t)is_direct;
	if (!a->has_sites) {
		a->has_sites = 1;
		memcpy(a->chain, chain, n * sizeof(*chain));
		memcpy(a->offset, offset, n * sizeof(*offset));
		a->n = n;
		return;
	}
	while (same < a->n && same < n && a->offset[same] == offset[same])
		same++;
	a->n = same;
}

/* @from and @to: the wanted calls of the function that @site is in. */
static void see_site(struct search *s, size_t from, size_t to, Dwarf_Die *site, const struct frame *chain,
		     const Dwarf_Off *offset, uint32_t n)
{
	Dwarf_Attribute attr;
	Dwarf_Die origin;
	int is_direct = (dw.attr(site, DW_AT_call_origin, &attr) || dw.attr(site, DW_AT_abstract_origin, &attr)) &&
			dw.formref_die(&attr, &origin);
	const char *name = is_direct ? linked_name(&origin) : NULL, *source = is_direct ? dw.diename(&origin) : NULL;

	for (size_t i = from; i < to; i++) {
		const char *callee = s->q->call[s->call[i].index].callee;

		if (!is_direct || is_same_name(callee, name) || is_same_name(callee, source))
			add_site(&s->answer[i], chain, offset, n, is_direct);
	}
}

static void find_sites(struct search *s, size_t from, size_t to, Dwarf_Die *parent, struct frame *chain,
		       Dwarf_Off *offset, uint32_t n, unsigned depth)
{
	Dwarf_Die die;

	if (depth > DEPTH || dw.child(parent, &die) != 0)
		return;
	do {
		int tag = dw.tag(&die);

		if (s->steps++ > STEPS)
			return;
		if (tag == DW_TAG_call_site || tag == DW_TAG_GNU_call_site)
			see_site(s, from, to, &die, chain, offset, n);
		else if (tag == DW_TAG_lexical_block)
			find_sites(s, from, to, &die, chain, offset, n, depth + 1);
		else if (tag == DW_TAG_inlined_subroutine && n < CHAIN) {
			chain[n] = (struct frame){ linked_name(&die), dw.decl_file(&die), decl_line(&die) };
			offset[n] = dw.dieoffset(&die);
			find_sites(s, from, to, &die, chain, offset, n + (chain[n].name != NULL), depth + 1);
		}
	} while (dw.siblingof(&die, &die) == 0);
}

/* Does the function's description have all its calls? Tail calls, which are last in it, may be missing. */
static int has_all_sites(Dwarf_Die *func)
{
	return dw.hasattr(func, DW_AT_call_all_calls) || dw.hasattr(func, DW_AT_call_all_source_calls) ||
		dw.hasattr(func, DW_AT_GNU_all_call_sites) ||
	       dw.hasattr(func, DW_AT_GNU_all_source_call_sites);
}

/* ---- Functions ---- */

static void see_func(struct search *s, Dwarf_Die *die)
{
	ptrdiff_t at = 0;
	Dwarf_Addr base, start, end;
	struct frame chain[CHAIN];
	Dwarf_Off offset[CHAIN];

	while ((at = dw.ranges(die, at, &base, &start, &end)) > 0 && s->steps++ < STEPS) {
		size_t i = place_of(s->func, s->nfuncs, start), to;

		for (; i < s->nfuncs && s->func[i].vaddr < end; i++)
			put_func(s, i, dw.decl_file(die), decl_line(die));
		i = place_of(s->call, s->ncalls, start);
		to = place_of(s->call, s->ncalls, end);
		if (i < to && has_all_sites(die))
			find_sites(s, i, to, die, chain, offset, 0, 0);
	}
}

static void find_funcs(struct search *s, Dwarf_Die *parent, unsigned depth)
{
	Dwarf_Die die;

	if (depth > DEPTH || dw.child(parent, &die) != 0)
		return;
	do {
		switch (dw.tag(&die)) {
		case DW_TAG_subprogram:
			see_func(s, &die);
			break;
		case DW_TAG_namespace:
		case DW_TAG_module:
		case DW_TAG_class_type:
		case DW_TAG_structure_type:
		case DW_TAG_union_type:
			find_funcs(s, &die, depth + 1);
			break;
		}
		if (s->steps++ > STEPS)
			return;
	} while (dw.siblingof(&die, &die) == 0);
}

/* Finds functions without an entry of their own by the line of their first instruction. */
static void find_lines(struct search *s, Dwarf_Die *unit)
{
	ptrdiff_t at = 0;
	Dwarf_Addr base, start, end;

	while ((at = dw.ranges(unit, at, &base, &start, &end)) > 0 && s->steps++ < STEPS)
		for (size_t i = place_of(s->func, s->nfuncs, start); i < s->nfuncs && s->func[i].vaddr < end; i++) {
			Dwarf_Line *line = s->is_found[i] ? NULL : dw.getsrc_die(unit, s->func[i].vaddr);
			int n = 0;

			if (line && dw.lineno(line, &n) == 0)
				put_func(s, i, dw.linesrc(line, NULL, NULL), n > 0 ? (uint32_t)n : 0);
		}
}

/* 0: its ranges are known and hold no wanted address. */
static int is_wanted(struct search *s, Dwarf_Die *unit)
{
	ptrdiff_t at = 0;
	Dwarf_Addr base, start, end;
	int has_ranges = 0;

	while ((at = dw.ranges(unit, at, &base, &start, &end)) > 0 && s->steps++ < STEPS) {
		size_t i = place_of(s->func, s->nfuncs, start), k = place_of(s->call, s->ncalls, start);

		has_ranges = 1;
		if ((i < s->nfuncs && s->func[i].vaddr < end) || (k < s->ncalls && s->call[k].vaddr < end))
			return 1;
	}
	return !has_ranges;
}

int debuginfo_answer(int fd, const struct uft_source_query *q, const struct debuginfo_want *func,
		     size_t nfuncs, const struct debuginfo_want *call,
		 size_t ncalls, FILE *out)
{
	struct search s = { .q = q, .func = func, .call = call, .nfuncs = nfuncs, .ncalls = ncalls,
		.is_found = calloc(nfuncs + 1, 1),
			    .answer = calloc(ncalls + 1, sizeof(*s.answer)), .out = out };
	Dwarf *file = dw.begin(fd, DWARF_C_READ);
	Dwarf_CU *unit = NULL;
	Dwarf_Die die, split;
	Dwarf_Files *files;
	size_t nfiles;
	uint8_t type;

	if (!file || !s.is_found || !s.answer)
		return -1;
	while (dw.get_units(file, unit, &unit, NULL, &type, &die, &split) == 0 && s.steps++ < STEPS) {
		if (type == DW_UT_type || type == DW_UT_split_type || !is_wanted(&s, &die))
			continue;
		if (type == DW_UT_skeleton && dw.tag(&split) != DW_TAG_invalid) {
			/* libdw 0.188 aborts in dwarf_decl_file() if the list of files was not read before. */
			if (dw.getsrcfiles(&split, &files, &nfiles) == 0)
				find_funcs(&s, &split, 0);
		} else
			find_funcs(&s, &die, 0);
		find_lines(&s, &die);
	}
	put_calls(&s);
	return 0;
}
