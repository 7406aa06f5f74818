/* SPDX-License-Identifier: MIT */
/*
 * punned_jump.c - jumps that end in bytes of the program
 *
 * For an entry where five bytes may not change, because code leads into them, or because some belong to another
 * function. Only the first bytes of its first instruction change (struct uft_code: pun of them): to e9 and as much of a
 * displacement as there is room for. The rest of the displacement is the bytes of the program behind them, which stay:
 *
 *	48 89 f8  48 83 fa 20		mov %rdi,%rax; cmp $32,%rdx
 *	e9 xx xx  48 83 fa 20		jmp .-0x7cb80000 + xxxx
 *
 * So those bytes determine where the jump leads, except for its low bytes. Prefixes that have no effect before e9 make
 * the jump longer, so it ends in other bytes of the program: another displacement, with fewer bytes of ours. If a page
 * can be mapped at one of these places, the place gets
 *
 *	jmp *1f(%rip); 1: .quad slot	14 bytes
 *
 * and the rest is as for any other site (unprepared.c). No task rests inside one instruction, and no byte behind it
 * changes.
 *
 * A page is mapped where no memory is and none will grow (plat_growth(): a heap, a stack, a sanitizer's shadow), and
 * stays until the detach, like an object's region; several sites may use it. When an object is gone, its places are
 * free for sites of any object; the last user of a page unmaps it. The list has PUN_PLACES entries; when it is full,
 * further sites are refused as for lack of memory.
 *
 * Context: control; pun_is_at(): any point of any thread. A fork child has a copy, and the pages.
 */
#include "runtime/base/mem.h"
#include "runtime/patch/bytes/bytes.h"

#define PUN_BYTES	UFT_PUN_BYTES
#define PUN_SLOT	6u		/* offset in a place: the address of the slot */
#define PUN_STEP	16u
#define PUN_PLACES	256u		/* and at most as many pages */
#define PUN_TRIES	16u		/* pages tried per window: a command may have thousands of such entries */
#define LOWEST		0x10000ull
#define HIGHEST		0x7ffffffff000ull

struct pun {
	uintptr_t at;			/* 14 bytes */
	const struct patch_object *o;	/* NULL: free, but its page is mapped */
	uintptr_t site;
};
static struct pun pun[PUN_PLACES];
static uint32_t npuns;			/* published when the entries are complete */

/* The range where a jump with @prefixes may lead: [lo, lo + size). */
struct window {
	uint64_t lo, size;
	unsigned prefixes;
};

static struct window window_of(const struct uft_code *c, unsigned prefixes)
{
	unsigned ours = c->pun - 1 - prefixes, at = c->pun;
	uint32_t rel = 0;

	for (unsigned i = ours; i < 4; i++)
		rel |= (uint32_t)c->orig[at++] << 8 * i;
	return (struct window){ c->addr + prefixes + UFT_LEN_JMP + (uint64_t)(int64_t)(int32_t)rel, 1ull << 8 * ours,
		prefixes };
}

static unsigned nwindows(const struct uft_code *c)
{
	unsigned most = c->known - UFT_LEN_JMP + 1;

	return c->pun < most ? c->pun : most;
}

static int is_ours(uint64_t page)
{
	for (uint32_t i = 0; i < npuns; i++)
		if (PLAT_PAGE_DOWN(pun[i].at) == page)
			return 1;
	return 0;
}

static int overlaps(const struct pun *p, uint64_t at)
{
	return at < p->at + PUN_BYTES && p->at < at + PUN_BYTES;
}

/* Has the page of @p other entries, free or not? */
static int has_others(const struct pun *p)
{
	for (uint32_t i = 0; i < npuns; i++)
		if (&pun[i] != p && PLAT_PAGE_DOWN(pun[i].at) == PLAT_PAGE_DOWN(p->at))
			return 1;
	return 0;
}

/*
 * The list entry for a place at @at (0: any place): a free one that overlaps it, else a new one, else any free one;
 * NULL: the list is full.
 */
static struct pun *entry_for(uint64_t at)
{
	struct pun *any = NULL;

	for (uint32_t i = 0; i < npuns; i++) {
		if (pun[i].o)
			continue;
		if (at && overlaps(&pun[i], at))
			return &pun[i];
		any = &pun[i];
	}
	return npuns < PUN_PLACES ? &pun[npuns] : any;
}

/* Does a place at @at fit in one page without other sites' places? */
static int is_free(uint64_t at)
{
	if (PLAT_PAGE_DOWN(at) != PLAT_PAGE_DOWN(at + PUN_BYTES - 1))
		return 0;
	for (uint32_t i = 0; i < npuns; i++)
		if (pun[i].o && overlaps(&pun[i], at))
			return 0;
	return 1;
}

/* A free place in the window and in @page; 0: none. */
static uint64_t place_in(const struct window *w, uint64_t page)
{
	for (uint64_t at = page > w->lo ? page : w->lo; at < page + PLAT_PAGE && at - w->lo < w->size; at += PUN_STEP)
		if (is_free(at))
			return at;
	return 0;
}

static uint64_t place_before(const struct patch_object *o, const struct uft_code *c, const struct window *w)
{
	for (uint32_t i = 0; i < npuns; i++)
		if (pun[i].o == o && pun[i].site == c->addr && pun[i].at - w->lo < w->size)
			return pun[i].at;
	return 0;
}

/* A free place in a page that is mapped already. */
static uint64_t place_known(const struct window *w)
{
	for (uint32_t i = 0; i < npuns; i++) {
		uint64_t at = place_in(w, PLAT_PAGE_DOWN(pun[i].at));

		if (at)
			return at;
	}
	return 0;
}

static int may_map(uint64_t page, const struct plat_growing *grows)
{
	if (page < LOWEST || page >= HIGHEST || is_ours(page))
		return 0;
	for (unsigned i = 0; i < PLAT_NGROWTH; i++)
		if (page + PLAT_PAGE > grows[i].lo && page < grows[i].hi)
			return 0;
	return 1;
}

/* Maps a page and takes a place in it. 0: other memory is wherever it tried; -errno: another failure. */
static int place_new(const struct window *w, const struct plat_growing *grows, uint64_t *out)
{
	uint64_t first = PLAT_PAGE_DOWN(w->lo), n = (PLAT_PAGE_DOWN(w->lo + w->size - 1) - first) / PLAT_PAGE + 1;
	uint64_t step = n / PUN_TRIES ? n / PUN_TRIES : 1;

	for (uint64_t i = 0; i < n; i += step) {
		uint64_t page = first + i * PLAT_PAGE, at = place_in(w, page);
		int ret;

		if (!at || !may_map(page, grows))
			continue;
		ret = plat_map_at(page, PLAT_PAGE, PLAT_READ | PLAT_EXEC);
		if (!ret)
			*out = at;
		if (ret != -EEXIST)
			return ret;
	}
	return 0;
}

static int look_at_growth(const struct patch_object *o, struct pun_search *s)
{
	if (!s->is_asked)
		s->ret = plat_growth(o->text_start, s->grows);
	s->is_asked = 1;
	return s->ret;
}

/* -ERANGE: no place, because other memory is there. */
static int find_place(const struct patch_object *o, const struct uft_code *c, struct pun_search *s, struct window *w,
		      uint64_t *at)
{
	unsigned i, n = nwindows(c);
	int ret;

	for (*at = i = 0; i < n && !*at; i++) {
		*w = window_of(c, i);
		*at = place_before(o, c, w);
	}
	if (*at)
		return 0;
	if (!entry_for(0))
		return -ENOSPC;
	for (i = 0; i < n && !*at; i++) {
		*w = window_of(c, i);
		*at = place_known(w);
	}
	if (*at)
		return 0;
	ret = look_at_growth(o, s);
	for (i = 0; i < n && !ret && !*at; i++) {
		*w = window_of(c, i);
		ret = place_new(w, s->grows, at);
	}
	return ret ? ret : *at ? 0 : -ERANGE;
}

static int write_place(uint64_t at, uint64_t slot)
{
	uint8_t b[PUN_BYTES] = { 0xff, UFT_MODRM_JMP };
	struct plat_window w;
	int ret = plat_text_open(&w, at, at + PUN_BYTES, PLAT_READ | PLAT_EXEC, (int)uft_rt.no_mprotect);

	if (ret)
		return ret;
	memcpy(b + PUN_SLOT, &slot, 8);
	if (w.is_direct)
		memcpy((void *)at, b, sizeof(b));
	else
		ret = plat_text_poke(at, b, sizeof(b));
	plat_text_close(&w);
	return ret;
}

/* A reader sees the old place or the new one. */
static void note_place(const struct patch_object *o, uint64_t site, uint64_t at)
{
	struct pun *p = entry_for(at);
	uintptr_t page = p->at ? PLAT_PAGE_DOWN(p->at) : 0;

	for (uint32_t i = 0; i < npuns; i++)
		if (pun[i].o == o && pun[i].site == site && pun[i].at == at)
			return;
	if (page == PLAT_PAGE_DOWN(at) || has_others(p))
		page = 0;
	uft_store(&p->at, at);
	uft_store(&p->site, site);
	uft_store(&p->o, o);
	if (p == &pun[npuns])
		uft_store_release(&npuns, npuns + 1);
	if (page)
		plat_unmap((void *)page, PLAT_PAGE);
}

void pun_forget(const struct patch_object *o)
{
	for (uint32_t i = 0; i < npuns; i++)
		if (pun[i].o == o)
			uft_store(&pun[i].o, NULL);
}

int pun_make(const struct patch_object *o, const struct uft_code *c, uintptr_t slot, struct pun_search *s,
	     struct pun_jump *out)
{
	struct window w;
	uint64_t at;
	uint32_t rel;
	int ret = find_place(o, c, s, &w, &at);

	if (ret)
		return ret;
	note_place(o, c->addr, at);		/* also if the write fails: the page is there */
	ret = write_place(at, slot);
	if (ret)
		return ret;
	out->n = (uint8_t)(w.prefixes + UFT_LEN_JMP);
	rel = (uint32_t)(at - (c->addr + out->n));
	memset(out->bytes, 0, sizeof(out->bytes));
	memset(out->bytes, UFT_PFX_CS, w.prefixes);
	out->bytes[w.prefixes] = UFT_OP_JMP;
	memcpy(out->bytes + w.prefixes + 1, &rel, 4);
	return memcmp(out->bytes + c->pun, c->orig + c->pun, out->n - c->pun) ? -EINVAL : 0;
}

int pun_is_at(uintptr_t pc)
{
	uint32_t n = uft_load_acquire(&npuns);

	for (uint32_t i = 0; i < n; i++)
		if (uft_load(&pun[i].at) == pc)
			return 1;
	return 0;
}

int pun_is_in(const struct patch_object *o, uint64_t at, uint64_t bytes)
{
	for (uint32_t i = 0; i < npuns; i++)
		if (pun[i].o == o && pun[i].at - at < bytes)
			return 1;
	return 0;
}
