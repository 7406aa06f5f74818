/* SPDX-License-Identifier: MIT */
/*
 * out.c - the state of a process that records no event any more because it has restricted its system calls; theory in
 * hooks/seccomp.c
 *
 * Context: probe.
 */
#include "runtime/trace/thread/thread.h"

static uint32_t is_out;		/* 1: for good; copied by fork */

int trace_is_out(void)
{
	return (int)uft_load(&is_out);
}

void trace_go_out(void)
{
	uft_store_release(&is_out, 1u);
}

int thread_signal_stack(const struct uft_thread *th, struct plat_stack *s)
{
	if (!plat_is_denied(UFT_DENIED_STACK))
		return plat_signal_stack(s);
	*s = th->signal_stack;
	s->is_on = (uint64_t)__builtin_frame_address(0) - s->lo < s->bytes;
	return 0;
}
