/* SPDX-License-Identifier: MIT */
/*
 * signal.c - recognise calls of signal handlers
 *
 * The kernel makes such a call, and it returns to code that only calls rt_sigreturn(). So the bytes at the return
 * address tell. Nothing else tells: a handler is a function like others, and the program may call it as well.
 *
 * Only slow paths check this, and only if the parameters ask for it. A system call tells whether the bytes can be read
 * at all (the code may be execute-only, the return address invalid or at the end of a mapping), once for each return
 * address: the result is kept in a table, without a lock, until the parameters change. After that the bytes are read
 * directly, since the thread is about to return to them. The system call is not process_vm_readv(), because a seccomp
 * filter may kill the program for that. If code was replaced meanwhile, a result may be that of the old code.
 *
 * Context: probe.
 */
#include "runtime/trace/thread/thread.h"

#define PARENTS 4096u		/* a power of two; the later of two with one place is kept */

/* address << 1 | is a handler's; 0: empty. Whole words, written by any thread */
static uint64_t parents[PARENTS];

static int is_sigreturn(uint64_t at)
{
	const uint8_t *code = (const uint8_t *)at;

	return plat_is_readable(code) && plat_is_readable(code + ARCH_SIGRETURN_BYTES - 8) && arch_is_sigreturn(code);
}

/* Results that come in between are as good as later ones. */
void signal_forget(void)
{
	for (uint32_t i = 0; i < PARENTS; i++)
		uft_store(&parents[i], 0);
}

int signal_is_handler(const struct fg_entry *e)
{
	uint64_t at = e->parent, *place = &parents[(at ^ at >> 12) & (PARENTS - 1)], known = uft_load(place);

	if (known >> 1 != at) {
		known = at << 1 | (uint64_t)is_sigreturn(at);
		uft_store(place, known);
	}
	return known & 1;
}
