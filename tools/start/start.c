/* SPDX-License-Identifier: MIT */
/*
 * start.c - libuft-start.a: a program built with -pg that costs nothing when nobody traces it
 *
 * What it is: what the kernel's ftrace_init() does at boot, for a program. -pg and -pg -mfentry leave a call of
 * mcount or __fentry__ in every function. Linked with this archive (uft cflags --link) those names are
 * functions that only return, and before the program's constructors run every such call becomes a nop.
 * It needs no tracer, no other library and no environment, and changes no result of the program.
 * It is not the runtime: it records nothing, and nothing else of uft needs it.
 *
 * Members, each linked only when something asks for it:
 *   start.o	this pass; the marker uft_start_archive
 *   fentry.o	__fentry__	mcount.o  mcount, _mcount	(ask for start.o; not linked if the program has its own)
 *   gmon.o	what gcrt1.o calls if the program is linked with -pg all the same: no gmon.out is written
 *   table.o	asked for by -Wl,-u,uft_start_table: for code without unwind tables, see below
 * All names are hidden: each object that links the archive has its own copy and looks after its own sites.
 * A note (x86_64/note.h) tells readers of a stripped file which functions are the ones that only return.
 *
 * Finding the calls: the function starts in .eh_frame_hdr, as uft itself does it. At a start (after an
 * endbr64) stands the call of __fentry__; the call of mcount comes somewhere in the prologue. A call counts
 * only if its target is exactly our function, so that a call which the runtime has already armed, or one of
 * the program's own mcount, is never touched. __mcount_loc is not read by default: a reference
 * to __start___mcount_loc makes ld keep every function that is listed, which defeats --gc-sections.
 *
 * When: as the first entry of .init_array, that is after relocation, before the constructors of the same
 * object. Text is made writable for the moment by mprotect(). Invariants:
 *  1. Text never loses PROT_EXEC: where writable and executable at once is refused (W^X, PR_SET_MDWE, SELinux),
 *     nothing is written.
 *  2. Nothing is written while other threads exist (a library loaded late, or a thread started by another
 *     library's constructor): one of them might be inside a call that changes under it.
 * Failure is always the same and harmless: calls stay calls, of a function that only returns.
 */
#include <asm/stat.h>
#include <elf.h>
#include <stddef.h>
#include <stdint.h>

#include "call.h"

#define HIDDEN __attribute__((visibility("hidden")))
#define WEAK __attribute__((weak)) HIDDEN

#define AT_FDCWD_KERNEL		(-100)
#define PROT_R			1
#define PROT_W			2
#define PROT_X			4
#define PAGE_MIN		4096ul
#define PROLOGUE_BYTES		256	/* a call of mcount lies within so many bytes of the function's start */
#define MAX_TEXTS		8

/* The marker; the value is the version. */
HIDDEN extern const uint32_t uft_start_archive;
const uint32_t uft_start_archive = 1;

extern const Elf64_Ehdr __ehdr_start WEAK;	/* made by the linker */
extern const char uft_start_fentry[] WEAK, uft_start_mcount[] WEAK;	/* only ours */
extern const uintptr_t *const uft_start_table[2] WEAK;

struct text {
	uintptr_t start, end;
	int prot, writable;	/* as loaded; while we write */
};

struct object {
	uintptr_t bias, start, end;	/* mapped extent */
	const uint8_t *eh_frame_hdr;
	uintptr_t eh_frame_hdr_end;
	struct text text[MAX_TEXTS];
	unsigned ntext;
};

static int prot_of(uint32_t p_flags)
{
	return (p_flags & PF_R ? PROT_R : 0) | (p_flags & PF_W ? PROT_W : 0) | (p_flags & PF_X ? PROT_X : 0);
}

static void object_segment(struct object *o, const Elf64_Phdr *ph)
{
	uintptr_t start = o->bias + ph->p_vaddr, end = start + ph->p_memsz;

	if (ph->p_type == PT_GNU_EH_FRAME) {
		o->eh_frame_hdr = (const uint8_t *)start;
		o->eh_frame_hdr_end = end;
	}
	if (ph->p_type != PT_LOAD)
		return;
	if (!o->end || start < o->start)
		o->start = start;
	if (end > o->end)
		o->end = end;
	if ((ph->p_flags & PF_X) && o->ntext < MAX_TEXTS)
		o->text[o->ntext++] = (struct text){ .start = start, .end = end, .prot = prot_of(ph->p_flags) };
}

/* The object that this copy of the archive is part of. 0 if its headers are not in memory. */
static int object_find(struct object *o)
{
	const Elf64_Ehdr *eh = &__ehdr_start;
	const Elf64_Phdr *ph;
	unsigned i;

	if (!eh || eh->e_ident[EI_CLASS] != ELFCLASS64 || eh->e_phentsize != sizeof(*ph))
		return 0;
	ph = (const Elf64_Phdr *)((const char *)eh + eh->e_phoff);
	for (i = 0; i < eh->e_phnum; i++)
		if (ph[i].p_type == PT_LOAD && ph[i].p_offset == 0)
			break;
	if (i == eh->e_phnum)
		return 0;
	o->bias = (uintptr_t)eh - ph[i].p_vaddr;
	for (i = 0; i < eh->e_phnum; i++)
		object_segment(o, &ph[i]);
	return 1;
}

static struct text *text_of(struct object *o, uintptr_t addr)
{
	for (unsigned i = 0; i < o->ntext; i++)
		if (addr >= o->text[i].start && addr < o->text[i].end)
			return &o->text[i];
	return NULL;
}

static int text_protect(const struct text *t, int prot)
{
	uintptr_t start = t->start & -PAGE_MIN, end = (t->end + PAGE_MIN - 1) & -PAGE_MIN;

	return (int)start_syscall(START_NR_mprotect, start, end - start, prot, 0);
}

/* Makes the call at @p, if it is one of @target, a nop. 1: it was one, and is dealt with. */
static int nop_call(struct object *o, struct text *t, const uint8_t *p, const char *target)
{
	unsigned len = start_call_len(p, (const uint8_t *)t->end, (uintptr_t)target, o->start, o->end);

	if (!len)
		return 0;
	if (!t->writable && text_protect(t, t->prot | PROT_W | PROT_X))
		return 1;
	t->writable = 1;
	start_put_nop((volatile uint8_t *)p, len);
	return 1;
}

static void nop_function(struct object *o, uintptr_t func, uintptr_t next)
{
	struct text *t = text_of(o, func);
	const uint8_t *p, *end;

	if (!t)
		return;
	p = start_skip_landing((const uint8_t *)func, (const uint8_t *)t->end);
	if (uft_start_fentry && nop_call(o, t, p, uft_start_fentry))
		return;
	if (!uft_start_mcount)
		return;
	end = (const uint8_t *)(next > func && next < t->end ? next : t->end);
	if (end > p + PROLOGUE_BYTES)
		end = p + PROLOGUE_BYTES;
	while (p < end && !nop_call(o, t, p, uft_start_mcount))
		p += START_INSN_ALIGN;
}

/* The sorted table in .eh_frame_hdr: pairs of 32-bit offsets (function, FDE) from its start. */
static void nop_functions(struct object *o)
{
	const uint8_t *h = o->eh_frame_hdr;
	const int32_t *table = (const int32_t *)(h + 12);
	uint32_t n;

	/* version 1; eh_frame pointer sdata4|pcrel; count udata4; table sdata4|datarel: what all linkers make */
	if (!h || h[0] != 1 || h[1] != 0x1b || h[2] != 0x03 || h[3] != 0x3b)
		return;
	n = *(const uint32_t *)(h + 8);
	if (n > (o->eh_frame_hdr_end - (uintptr_t)table) / 8)
		return;
	for (uint32_t i = 0; i < n; i++) {
		uintptr_t func = (uintptr_t)h + table[2 * i];

		nop_function(o, func, i + 1 < n ? (uintptr_t)h + table[2 * i + 2] : 0);
	}
}

static void nop_table(struct object *o)
{
	for (const uintptr_t *site = uft_start_table[0]; site < uft_start_table[1]; site++) {
		struct text *t = text_of(o, *site);

		if (!t)
			continue;
		if (uft_start_fentry && nop_call(o, t, (const uint8_t *)*site, uft_start_fentry))
			continue;
		if (uft_start_mcount)
			nop_call(o, t, (const uint8_t *)*site, uft_start_mcount);
	}
}

/* The link count of /proc/self/task is 2 and one for each thread. Unknown counts as no. */
static int is_single_threaded(void)
{
	static const char path[] = "/proc/self/task";
	struct stat st;

	return !start_syscall(START_NR_newfstatat, AT_FDCWD_KERNEL, (long)path, (long)&st, 0) && st.st_nlink == 3;
}

static void start_pass(void)
{
	static struct object o;	/* zero without memset(), which nobody here offers */

	if ((!uft_start_fentry && !uft_start_mcount) || !object_find(&o) || !is_single_threaded())
		return;
	nop_functions(&o);
	if (uft_start_table)
		nop_table(&o);
	for (unsigned i = 0; i < o.ntext; i++)
		if (o.text[i].writable)
			text_protect(&o.text[i], o.text[i].prot);
}

/* Constructors of programs have priority 101 and up, or none. */
__attribute__((section(".init_array.00000"), used)) static void (*start_entry)(void) = start_pass;
