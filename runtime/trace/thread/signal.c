/* SPDX-License-Identifier: MIT */
/*
 * signal.c - which calls are a signal handler's
 *
 * The kernel makes such a call, and it returns to code that does nothing but ask for rt_sigreturn(). So what
 * stands at the return address tells, and nothing else does: a handler is a function like others, and the
 * program may call it as well.
 *
 * Only slow paths ask, and only while somebody wants to know. A system call tells whether the bytes can be
 * read at all (the code may be there to be executed only, a return address be none or the end of a mapping),
 * once for each return address: the answer is remembered in a table, place by place without a lock, until the
 * parameters change. Then they are just read: somebody is about to return to them. Many programs are asked
 * this who never asked for it, so it is not process_vm_readv(), for which a seccomp filter may kill. Where
 * code was replaced meanwhile an answer may be of what stood there before.
 *
 * Context: probe.
 */
#include "runtime/trace/thread/thread.h"

#define PARENTS 4096u		/* a power of two; of two in one place the later is remembered */

static uint64_t parents[PARENTS];	/* address << 1 | is one; 0 empty. Whole words, written by any thread */

static int is_sigreturn(uint64_t at)
{
	const uint8_t *code = (const uint8_t *)at;

	return plat_is_readable(code) && plat_is_readable(code + ARCH_SIGRETURN_BYTES - 8) && arch_is_sigreturn(code);
}

/* Answers that come in between are as good as later ones. */
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
