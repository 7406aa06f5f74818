/* SPDX-License-Identifier: MIT */
/*
 * trace.c - start of the probe side, and counters
 */
#include "runtime/trace/hooks/hooks.h"

static struct uft_debug debug;

static void describe(void)
{
	uint64_t bytes;

	debug = (struct uft_debug){
		.version = UFT_ABI_VERSION, .entry_bytes = sizeof(struct fg_entry),
		.entry_slot = offsetof(struct fg_entry, slot), .entry_parent = offsetof(struct fg_entry, parent),
		.entry_ret = offsetof(struct fg_entry, ret), .thread_base = offsetof(struct uft_thread, base),
		.thread_top = offsetof(struct uft_thread, top), .thread_next = offsetof(struct uft_thread, next),
		.threads = (uint64_t)thread_first_address(),
	};
	debug.aside = aside_reserve(&bytes);
	debug.naside = bytes / sizeof(struct fg_entry);
	patch_describe(&debug);
	uft_rt.slice->debug = (uint64_t)&debug;
	adopt_note_self();
}

int trace_init(void)
{
	int ret = thread_init();

	if (!ret)
		ret = aside_init();
	if (!ret)
		describe();
	return ret ? ret : ring_init();
}

/* uft_rt.rseq_offset is known now, because libc has started. Context: control. */
void trace_rseq_changed(void)
{
	uft_store(&uft_ring_fast.rseq_offset, uft_rt.rseq_offset);
	/*
	 * mcount's handlers and ring.S test for 0. The others do not, and are not reached before patch_retarget(),
	 * which follows.
	 */
	uft_store_release(&uft_ring_fast.ncpus, uft_rt.rseq_offset ? uft_rt.arena->ncpus : 0);
}

void trace_count(enum uft_counter c, uint64_t n)
{
	uft_add(&uft_rt.slice->counter[c], n);
}
