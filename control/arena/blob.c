// SPDX-License-Identifier: MIT
/*
 * blob.c - the runtime as an image that can be written into any process
 *
 * The ELF file of the runtime is part of this library (runtime/blob.S.in). It is parsed once: segments, the two
 * symbols of abi.h, and R_X86_64_RELATIVE relocations, the only kind it has (tools/check-blob.sh sees to that).
 */
#include "control/arena/arena.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

extern const uint8_t uft_blob_elf[], uft_blob_elf_end[];

static int blob_segments(struct blob *b, const Elf64_Ehdr *eh, const Elf64_Phdr *ph)
{
	for (unsigned i = 0; i < eh->e_phnum; i++) {
		if (ph[i].p_type != PT_LOAD)
			continue;
		if (b->nseg == sizeof(b->seg) / sizeof(b->seg[0]))
			return -ENOEXEC;
		b->seg[b->nseg].addr = ph[i].p_vaddr & ~(uint64_t)(UFT_PAGE - 1);
		b->seg[b->nseg].end = (ph[i].p_vaddr + ph[i].p_memsz + UFT_PAGE - 1) & ~(uint64_t)(UFT_PAGE - 1);
		b->seg[b->nseg].prot = (ph[i].p_flags & PF_R ? PROT_READ : 0) |
			(ph[i].p_flags & PF_W ? PROT_WRITE : 0) |
				       (ph[i].p_flags & PF_X ? PROT_EXEC : 0);
		b->span = b->seg[b->nseg++].end;
	}
	if (!b->nseg || b->seg[0].addr)
		return -ENOEXEC;
	b->image = calloc(1, b->span);
	if (!b->image)
		return -ENOMEM;
	for (unsigned i = 0; i < eh->e_phnum; i++)
		if (ph[i].p_type == PT_LOAD)
			memcpy(b->image + ph[i].p_vaddr, uft_blob_elf + ph[i].p_offset, ph[i].p_filesz);
	return 0;
}

static int blob_relocations(struct blob *b, const Elf64_Ehdr *eh, const Elf64_Phdr *ph)
{
	for (unsigned i = 0; i < eh->e_phnum; i++) {
		if (ph[i].p_type != PT_DYNAMIC)
			continue;
		for (const Elf64_Dyn *d = (const void *)(b->image + ph[i].p_vaddr); d->d_tag != DT_NULL; d++) {
			if (d->d_tag == DT_RELA)
				b->rela = b->image + d->d_un.d_ptr;
			else if (d->d_tag == DT_RELASZ)
				b->nrela = d->d_un.d_val / sizeof(Elf64_Rela);
		}
	}
	for (size_t i = 0; i < b->nrela; i++) {
		const Elf64_Rela *r = (const Elf64_Rela *)b->rela + i;

		if (ELF64_R_TYPE(r->r_info) != R_X86_64_RELATIVE || r->r_offset > b->span - 8)
			return -ENOEXEC;
	}
	return 0;
}

static void blob_symbols(struct blob *b, const Elf64_Ehdr *eh)
{
	const Elf64_Shdr *sh = (const void *)(uft_blob_elf + eh->e_shoff);

	for (unsigned i = 0; i < eh->e_shnum; i++) {
		const Elf64_Sym *sym = (const void *)(uft_blob_elf + sh[i].sh_offset);
		const char *names;

		if (sh[i].sh_type != SHT_SYMTAB)
			continue;
		names = (const char *)uft_blob_elf + sh[sh[i].sh_link].sh_offset;
		for (size_t k = 0; k < sh[i].sh_size / sizeof(*sym); k++) {
			if (!strcmp(names + sym[k].st_name, "uft_blob_start"))
				b->start = sym[k].st_value;
			else if (!strcmp(names + sym[k].st_name, "uft_blob_attach"))
				b->attach = sym[k].st_value;
			else if (!strcmp(names + sym[k].st_name, "uft_blob_rejoin"))
				b->rejoin = sym[k].st_value;
			else if (!strcmp(names + sym[k].st_name, "uft_boot"))
				b->boot = sym[k].st_value;
			else if (!strcmp(names + sym[k].st_name, "uft_own_first"))
				b->own = sym[k].st_value;
		}
	}
}

static void use_until(struct blob *b, uint64_t end)
{
	for (unsigned i = 0; i < b->nseg; i++)
		if (end > b->seg[i].used && end <= b->seg[i].end && end > b->seg[i].addr)
			b->seg[i].used = end;
}

/* Up to where each segment is written: its last byte that is not zero, relocated word, or the boot block. */
static void blob_used(struct blob *b)
{
	const Elf64_Rela *r = b->rela;

	for (unsigned i = 0; i < b->nseg; i++) {
		b->seg[i].used = b->seg[i].end;
		while (b->seg[i].used > b->seg[i].addr && !b->image[b->seg[i].used - 1])
			b->seg[i].used--;
	}
	for (size_t i = 0; i < b->nrela; i++)
		use_until(b, r[i].r_offset + sizeof(uint64_t));
	use_until(b, b->boot + sizeof(struct uft_boot));
}

/* FNV-1a, by words: what makes the difference is no adversary. */
static uint64_t sum_of(const uint8_t *p, size_t n)
{
	uint64_t sum = 0xcbf29ce484222325ull, word;

	for (size_t i = 0; i + sizeof(word) <= n; i += sizeof(word)) {
		memcpy(&word, p + i, sizeof(word));
		sum = (sum ^ word) * 0x100000001b3ull;
		sum ^= sum >> 32;
	}
	return sum;
}

int blob_get(const struct blob **out)
{
	static struct blob cached;		/* written once, by the session's thread */
	const Elf64_Ehdr *eh = (const void *)uft_blob_elf;
	struct blob b = { 0 };
	int ret;

	if (cached.image) {
		*out = &cached;
		return 0;
	}
	if ((size_t)(uft_blob_elf_end - uft_blob_elf) < sizeof(*eh) || memcmp(eh->e_ident, ELFMAG, SELFMAG))
		return -ENOEXEC;
	ret = blob_segments(&b, eh, (const void *)(uft_blob_elf + eh->e_phoff));
	if (!ret)
		ret = blob_relocations(&b, eh, (const void *)(uft_blob_elf + eh->e_phoff));
	if (!ret)
		blob_symbols(&b, eh);
	if (!ret && (!b.start || !b.attach || !b.rejoin || !b.boot || b.boot > b.span - sizeof(struct uft_boot) ||
		     !b.own || b.own > b.span - sizeof(struct uft_own_chunk)))
		ret = -ENOEXEC;
	if (ret) {
		free(b.image);
		return ret;
	}
	blob_used(&b);
	b.build = sum_of(b.image, b.span);
	cached = b;
	*out = &cached;
	return 0;
}
