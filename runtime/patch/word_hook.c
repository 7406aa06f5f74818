/* SPDX-License-Identifier: MIT */
/*
 * word_hook.c - the loader's calls that announce a library, where instructions are words
 *
 * The loader calls an empty function when its list of objects has changed (r_brk): before the constructors of a new one, and when one
 * has gone. That function is one `ret`, on riscv64 two bytes with another function behind them: no room for a jump. So the calls are
 * what changes: the session lists them, and each becomes the same call of our handler, which is in this library and returns to
 * the loader. No stub, no memory near the loader; what is out of the instruction's reach is refused (-ERANGE).
 *
 *	original	bl _dl_debug_state	jal ra, _dl_debug_state
 *	armed		bl uft_asm_hook_rbrk	jal ra, uft_asm_hook_rbrk
 *
 * Concurrency. One call for another is a change that CPUs may see at any time, if it is one aligned store. A call that lies between two
 * words is changed only while the program waits in its hello, when it has one thread: else it stays as it is, -EBUSY. Left
 * armed it does no harm: the library stays mapped, and without a session the handler asks nobody.
 *
 * Context: control. A fork child has its own copy of the list, and of the code.
 */
#include <linux/errno.h>

#include "runtime/arch/arch.h"
#include "runtime/base/mem.h"
#include "runtime/patch/word.h"
#include "runtime/platform/platform.h"
#include "runtime/runtime.h"

#define MAX_CALLS	32u

struct call {
	uintptr_t at;
	uint32_t orig, ours;
};

static struct call calls[MAX_CALLS];
static uint32_t ncalls;		/* counts what is complete: a fork child finds all of an entry or none */

/* The program waits until it is answered: nobody runs beside us. */
static int is_starting(void)
{
	struct uft_arena *a = uft_rt.arena;

	for (unsigned i = 0; a && i < UFT_NREQUESTS; i++)
		if (uft_load_acquire(&a->req[i].state) == UFT_REQ_POSTED && a->req[i].kind == UFT_REQ_HELLO &&
		    a->req[i].slice == uft_rt.slice_index)
			return 1;
	return 0;
}

static uint32_t read_word(uintptr_t at)
{
	uint32_t word;

	memcpy(&word, (const void *)at, sizeof(word));
	return word;
}

static int write_word(uintptr_t at, uint32_t word)
{
	int ret;

	if (at & 3 && !is_starting())
		return -EBUSY;
	ret = word_open(PLAT_PAGE_DOWN(at), PLAT_PAGE_UP(at + sizeof(word)));
	if (ret)
		return ret;
	word_put(at, word);
	word_close();
	plat_sync_cores();
	return 0;
}

static int arm_call(const struct uft_hook *h)
{
	struct call c = { .at = h->addr };
	uint32_t i, now;

	if (h->kind != UFT_HOOK_RBRK)
		return -EOPNOTSUPP;
	memcpy(&c.orig, h->bytes, sizeof(c.orig));
	c.ours = arch_retarget(c.orig, c.at, (uintptr_t)uft_asm_hook_rbrk);
	if (c.at & (ARCH_INSN_ALIGN - 1) || !plat_is_readable((const void *)c.at) || !plat_is_readable((const void *)(c.at + 3)))
		return -EFAULT;
	now = read_word(c.at);
	if (!c.ours || now == c.ours)
		return c.ours ? 0 : -ERANGE;
	if (now != c.orig)
		return -EILSEQ;
	for (i = 0; i < ncalls && calls[i].at != c.at; i++)
		;
	if (i == MAX_CALLS)
		return -ENOSPC;
	calls[i] = c;
	if (i == ncalls)
		uft_store_release(&ncalls, i + 1);
	return write_word(c.at, c.ours);
}

int patch_hooks(struct uft_hook *h, uint32_t n)
{
	word_begin();
	for (uint32_t i = 0; i < n; i++)
		h[i].result = arm_call(&h[i]);
	return 0;
}

void word_unhook(void)
{
	word_begin();
	for (uint32_t i = 0; i < ncalls; i++)
		if (plat_is_readable((const void *)calls[i].at) && read_word(calls[i].at) == calls[i].ours)
			write_word(calls[i].at, calls[i].orig);
}
