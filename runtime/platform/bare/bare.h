/* SPDX-License-Identifier: MIT */
/*
 * bare.h - the runtime linked into a kernel, or into a program without one: platform/bare/
 *
 * This host makes no system call, and calls only the functions listed here. All memory is mapped, and can be written
 * and executed. There is one address space, which is never copied and does not end. So nothing is wiped, and no file,
 * credential or session is needed. There is no agent: the holder carries out commands (agent_poll()), or calls
 * patch_*() and trace_set_params() itself (runtime/runtime.h).
 *
 *	bare_init(&host); bare_give(memory, bytes); then uft_rt is filled in; trace_init(); patch_init();
 *
 * The holder defines agent_start(), which may be empty, and lays out an arena (include/uft/abi.h) in memory that reads
 * 0. If no session answers requests there, `closed` has to be set.
 */
#ifndef UFT_BARE_H
#define UFT_BARE_H

#include "runtime/platform/platform.h"

/* Contracts: those of the functions in platform.h with these names. Never changed after bare_init(). Context: probe. */
struct bare_host {
	int pid;					/* 0: 1 */
	int (*tid)(void);				/* unset: there is one thread, number 1 */
	int (*is_gone)(uint32_t tid);			/* unset: no thread ever is */
	uint32_t (*cpu)(void);				/* unset: 0 */
	uint64_t (*cpu_ns)(void);			/* unset: not known */
	void (*block)(uint64_t *mask);			/* both unset: nothing interrupts */
	void (*restore)(const uint64_t *mask);
	int (*blocked)(uint64_t *mask);			/* unset: -ENOSYS */
	int (*signal_stack)(struct plat_stack *s);	/* unset: interrupts come on the stack that they find */
	void (*yield)(void);				/* for a thread that waits; unset: others run all the same */
	/* unset: all memory that is asked for can be read */
	int (*peek)(const void *addr, void *to, uint32_t bytes);
	int (*is_quiet)(uintptr_t *pc, int max);	/* unset: no thread runs while code is patched */
	void (*sync_cores)(void);			/* unset: there is one CPU */
};
void bare_init(const struct bare_host *host);

/*
 * Memory from which the runtime takes all that it needs; it reads 0. Several pieces may be given, at any time, because
 * objects need some of it within reach of their text. -ENOSPC: too many pieces. Context: control.
 */
int bare_give(uintptr_t at, size_t bytes);

/* Bytes that the runtime gave back when the table was full: they are lost. Context: probe. */
uint64_t bare_lost_bytes(void);

#endif
