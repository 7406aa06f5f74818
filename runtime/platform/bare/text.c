/* SPDX-License-Identifier: MIT */
/*
 * text.c - writing code, and making all CPUs see it
 *
 * A host that does not know a protection, or forbids to change one, gets a window that is not direct, as on every host:
 * then each write is one aligned store of eight bytes.
 */
#include "runtime/arch/arch.h"
#include "runtime/platform/bare/host.h"

int plat_text_segment(uintptr_t at, uintptr_t *lo, uintptr_t *hi)
{
	uint64_t word;

	if (plat_peek((const void *)(at & ~7ul), &word, sizeof(word)))
		return -ENOENT;
	*lo = PLAT_PAGE;
	*hi = PLAT_PAGE_DOWN(~0ul);
	return PLAT_READ | PLAT_WRITE | PLAT_EXEC;
}

int plat_text_open(struct plat_window *w, uintptr_t lo, uintptr_t hi, int prot, int no_mprotect)
{
	uint64_t word;

	*w = (struct plat_window){ PLAT_PAGE_DOWN(lo), PLAT_PAGE_UP(hi), prot, prot >= 0 && !no_mprotect };
	for (uintptr_t at = w->lo; at < w->hi; at += PLAT_PAGE)
		if (plat_peek((const void *)at, &word, sizeof(word)))
			return -EFAULT;
	return 0;
}

/* There are no forks that could see an order. */
void plat_order_forks(void)
{
	uft_barrier();
}

void plat_text_close(struct plat_window *w)
{
	(void)w;
	plat_order_forks();
}

int plat_text_poke(uintptr_t at, const void *bytes, size_t n)
{
	const uint8_t *from = bytes;

	while (n) {
		size_t part = 8 - (at & 7);
		uint64_t *word = (uint64_t *)(at & ~7ul), v = *word;

		if (part > n)
			part = n;
		for (size_t i = 0; i < part; i++)
			((uint8_t *)&v)[(at & 7) + i] = from[i];
		uft_store(word, v); /* GUARD(plat_text_poke_word) */
		at += part;
		from += part;
		n -= part;
	}
	return 0;
}

int plat_text_keep(void)
{
	return -ENOSYS;
}

void plat_text_forget(void)
{
}

int plat_sync_init(void)
{
	return 0;
}

void plat_sync_cores(void)
{
	if (bare_host->sync_cores)
		bare_host->sync_cores();
}
