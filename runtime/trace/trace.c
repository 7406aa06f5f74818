/* SPDX-License-Identifier: MIT */
/*
 * trace.c - start of the probe side, and counters
 */
#include "runtime/trace/trace.h"

int trace_init(void)
{
	int ret = thread_init();

	if (!ret)
		ret = aside_init();
	return ret ? ret : ring_init();
}

/* uft_rt.rseq_offset is known now: libc came up after us. Context: control. */
void trace_rseq_changed(void)
{
	uft_store(&uft_ring_fast.rseq_offset, uft_rt.rseq_offset);
	/* The handlers load the offset first: with the old one, 0, they do not get as far as the number of CPUs. */
	uft_store_release(&uft_ring_fast.ncpus, uft_rt.rseq_offset ? uft_rt.arena->ncpus : 0);
}

void trace_count(enum uft_counter c, uint64_t n)
{
	uft_add(&uft_rt.slice->counter[c], n);
}
