/* SPDX-License-Identifier: MIT */
/*
 * bare.h - what a kernel, or a program without one, gives the runtime when it is linked into it: platform/bare/
 *
 * This host makes no system call, and calls nobody but what stands here. All memory is there, can be written
 * and executed. There is one address space, it is not copied and does not end. So nothing is wiped, and no
 * file, credential or session is asked for. Instead of an agent the holder does what commands say
 * (agent_poll()), or himself calls patch_*() and trace_set_params() (runtime/runtime.h).
 *
 *	bare_init(&host); bare_give(memory, bytes); then uft_rt is filled in; trace_init(); patch_init();
 *
 * The holder defines agent_start(), which it may leave empty, and lays out an arena (include/uft/abi.h) in
 * memory that reads 0; if nobody answers requests there, `closed` says so.
 */
#ifndef UFT_BARE_H
#define UFT_BARE_H

#include "runtime/platform/platform.h"

/* Contracts: platform.h's, of the functions with these names. Never changed after bare_init(). Context: probe. */
struct bare_host {
	int pid;					/* 0: 1 */
	int (*tid)(void);				/* unset: there is one thread, number 1 */
	int (*is_gone)(uint32_t tid);			/* unset: nobody ever is */
	uint32_t (*cpu)(void);				/* unset: 0 */
	uint64_t (*cpu_ns)(void);			/* unset: not known */
	void (*block)(uint64_t *mask);			/* both unset: nothing interrupts */
	void (*restore)(const uint64_t *mask);
	int (*blocked)(uint64_t *mask);			/* unset: -ENOSYS */
	int (*signal_stack)(struct plat_stack *s);	/* unset: interrupts come on the stack that they find */
	void (*yield)(void);				/* for who waits; unset: others run all the same */
	int (*peek)(const void *addr, void *to, uint32_t bytes);	/* unset: whatever is asked for is there */
	int (*is_quiet)(uintptr_t *pc, int max);	/* unset: who patches runs alone */
	void (*sync_cores)(void);			/* unset: there is one CPU */
};
void bare_init(const struct bare_host *host);

/*
 * Memory to take everything from, which reads 0. Several pieces may be given, at any time: objects need some
 * of it within reach of their text. -ENOSPC: too many pieces. Context: control.
 */
int bare_give(uintptr_t at, size_t bytes);

/* Of it, what the runtime gave back when there were too many pieces: nobody gets it again. Context: probe. */
uint64_t bare_lost_bytes(void);

#endif
