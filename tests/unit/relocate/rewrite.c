// SPDX-License-Identifier: MIT
/* rewrite.c - contract in rewrite.h */
#include "rewrite.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "runtime/arch/x86_64/encode.h"

/* incq count(%rip): 7 bytes, then the code */
#define SLOT_CODE	8u

static long raw_mprotect(uint64_t addr, uint64_t len, long prot)
{
	long ret;

	__asm__ volatile("syscall" : "=a"(ret) : "a"(SYS_mprotect), "D"(addr), "S"(len), "d"(prot) : "rcx", "r11",
			 "memory");
	return ret;
}

/* No call of a library's memcpy: it may be what is being written. */
static void store(uint64_t at, const uint8_t *p, unsigned n)
{
	volatile uint8_t *to = (volatile uint8_t *)(uintptr_t)at;

	for (unsigned i = 0; i < n; i++)
		to[i] = p[i];
}

int rewrite_open(struct rewrite *r, void *handle)
{
	struct uft_error err = { "" };
	struct link_map *map;
	int ret;

	memset(r, 0, sizeof(*r));
	if (dlinfo(handle, RTLD_DI_LINKMAP, &map))
		return -ENOENT;
	r->bias = map->l_addr;
	ret = uft_object_open(map->l_name, &r->obj, &err);
	return ret ? ret : entries_list(r->obj, &r->entries);
}

int rewrite_plan(struct rewrite *r)
{
	return entries_plan(r->obj, &r->entries, NULL);
}

/* Free address space below the library. */
static uint8_t *map_near(uint64_t addr, size_t bytes)
{
	for (uint64_t d = 16 << 20; d < 1ull << 30; d += 8 << 20) {
		uint64_t at = (addr - d - bytes) & ~0xfffull;
		void *p = mmap((void *)(uintptr_t)at, bytes, PROT_READ | PROT_WRITE | PROT_EXEC,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

		if (p != MAP_FAILED)
			return p;
	}
	return NULL;
}

static int make_slot(struct rewrite *r, size_t i)
{
	uint8_t *slot = r->mem + i * REWRITE_SLOT;
	struct uft_code *c = &r->code[i];
	int32_t disp = (int32_t)((uint8_t *)&r->count[i] - (slot + 7));
	int ret = entry_code(r->obj, &r->entries.entry[i], r->bias, (uintptr_t)slot + SLOT_CODE, c);

	if (ret)
		return ret;
	memcpy(slot, "\x48\xff\x05", 3);
	memcpy(slot + 3, &disp, 4);
	slot[7] = 0x90;
	memcpy(slot + SLOT_CODE, c->code, c->ncode);
	if (memcmp((void *)(uintptr_t)c->addr, c->orig, c->pun && c->known > c->nmoved ? c->known : c->nmoved) ||
	    (c->pad && memcmp((void *)(uintptr_t)c->pad, c->pad_orig, 5)))
		return -EBADMSG;
	return 0;
}

static void each_text(struct rewrite *r, long prot)
{
	for (size_t i = 0; i < r->obj->ntext; i++) {
		uint64_t lo = (r->obj->text[i].addr + r->bias) & ~0xfffull;

		raw_mprotect(lo, ((r->obj->text[i].end + r->bias - lo) + 0xfff) & ~0xfffull, prot);
	}
}

/* A jump to @slot of which the program's bytes are the last; 1: a page could be had where it leads. */
static int put_pun(const struct uft_code *c, uint64_t slot, uint8_t *jump)
{
	for (unsigned prefixes = 0; prefixes < c->pun && prefixes + UFT_LEN_JMP <= c->known; prefixes++) {
		unsigned ours = c->pun - 1 - prefixes;
		uint64_t from = c->addr + prefixes + UFT_LEN_JMP, step = ours ? 4096 - 16 : 1;
		int32_t rel = 0;

		memcpy((uint8_t *)&rel + ours, c->orig + c->pun, 4 - ours);
		for (uint64_t low = 0; low < 1ull << 8 * ours; low += step) {
			uint8_t *at = (uint8_t *)(from + (uint64_t)(int64_t)rel + low);
			void *page = (void *)((uintptr_t)at & ~4095ul);

			if (((uintptr_t)at & 4095) > 4096 - 14 ||
			    mmap(page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != page)
				continue;
			store((uintptr_t)at, (const uint8_t [6]){ 0xff, 0x25 }, 6);
			store((uintptr_t)at + 6, (const uint8_t *)&slot, 8);
			memset(jump, UFT_PFX_CS, prefixes);
			jump[prefixes] = UFT_OP_JMP;
			rel = (int32_t)((uintptr_t)at - from);
			memcpy(jump + prefixes + 1, &rel, 4);
			return !memcmp(jump + c->pun, c->orig + c->pun, prefixes + UFT_LEN_JMP - c->pun);
		}
	}
	return 0;
}

int rewrite_apply(struct rewrite *r)
{
	size_t n = r->entries.n, i;

	r->bytes = n * (REWRITE_SLOT + sizeof(*r->count)) + 4096;
	r->mem = map_near(r->obj->text[0].addr + r->bias, r->bytes);
	r->code = calloc(n + 1, sizeof(*r->code));
	if (!r->mem || !r->code)
		return -ENOMEM;
	r->count = (uint64_t *)(r->mem + n * REWRITE_SLOT);
	for (i = 0; i < n; i++) {
		int ret = r->entries.entry[i].skip ? 0 : make_slot(r, i);

		if (ret)
			return ret;
	}
	each_text(r, PROT_READ | PROT_WRITE | PROT_EXEC);
	for (i = 0; i < n; i++) {
		struct uft_code *c = &r->code[i];
		uint64_t slot = (uintptr_t)r->mem + i * REWRITE_SLOT;
		uint8_t jump[16];

		if (!c->addr)
			continue;
		if (c->pun) {
			r->napplied++;
			if (put_pun(c, slot, jump))
				store(c->addr, jump, c->pun);
			else
				c->addr = 0;		/* what is there is somebody's: not rewritten */
			continue;
		}
		uft_insn_jmp(jump, c->pad ? c->pad : c->addr, slot);
		store(c->pad ? c->pad : c->addr, jump, 5);
		if (c->pad) {
			uft_insn_jmp_short(jump, (int8_t)(c->pad - (c->addr + 2)));
			store(c->addr, jump, 2);
		}
		r->napplied++;
	}
	each_text(r, PROT_READ | PROT_EXEC);
	return 0;
}

void rewrite_undo(struct rewrite *r)
{
	each_text(r, PROT_READ | PROT_WRITE | PROT_EXEC);
	for (size_t i = 0; i < r->entries.n; i++) {
		const struct uft_code *c = &r->code[i];

		if (!c->addr)
			continue;
		store(c->addr, c->orig, c->nmoved);
		if (c->pad)
			store(c->pad, c->pad_orig, 5);
	}
	each_text(r, PROT_READ | PROT_EXEC);
}

uint64_t rewrite_hits(const struct rewrite *r, const void *fn)
{
	const struct entry *f = entries_find(&r->entries, (uint64_t)(uintptr_t)fn - r->bias);

	return f && r->code[f - r->entries.entry].addr ? r->count[f - r->entries.entry] : 0;
}

int rewrite_is_done(const struct rewrite *r, const void *fn)
{
	const struct entry *f = entries_find(&r->entries, (uint64_t)(uintptr_t)fn - r->bias);

	return f && r->code[f - r->entries.entry].addr;
}

void rewrite_close(struct rewrite *r)
{
	if (r->mem)
		munmap(r->mem, r->bytes);
	free(r->code);
	entries_free(&r->entries);
	if (r->obj)
		uft_object_put(r->obj);
}
