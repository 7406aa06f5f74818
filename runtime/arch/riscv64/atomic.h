/* SPDX-License-Identifier: MIT */
/*
 * atomic.h - the clock, and the stores that running code may see half way
 *
 * Ordered accesses: arch/order.h; copies: arch/words.h. Context: any.
 */
#ifndef UFT_ARCH_ATOMIC_H
#define UFT_ARCH_ATOMIC_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/arch/order.h"
#include "runtime/arch/riscv64/syscall.h"
#include "runtime/arch/words.h"

static inline void arch_cpu_relax(void)
{
	/* pause: a hint, nothing to older CPUs */
	__asm__ volatile(".insn i 0x0f, 0, x0, x0, 0x010" ::: "memory");
}

/* The trace clock, raw: the timer, the same on all CPUs. */
static inline uint64_t arch_clock(void)
{
	uint64_t v;

	__asm__ volatile("rdtime %0" : "=r"(v));
	return v;
}

/* The same, not read before what precedes it is done: for who has just taken something over from another CPU. */
static inline uint64_t arch_clock_after(void)
{
	__asm__ volatile("fence ir, ir" ::: "memory");
	return arch_clock();
}

/* Units of the clock a second; 0: only a measurement tells. */
static inline uint64_t arch_clock_hz(void)
{
	return 0;
}

/* What names the thread. */
static inline uint64_t arch_thread_pointer(void)
{
	return arch_get_thread_pointer();
}

/* Instructions may lie between words. */
static inline uint32_t arch_text_load4(const void *at)
{
	const uint16_t *half = at;

	return half[0] | (uint32_t)half[1] << 16;
}

/*
 * An aligned word: one store, never split. A CPU that fetches it has the old instruction or the new. Else
 * two: when no thread runs.
 */
static inline void arch_text_store4(void *at, uint32_t v)
{
	uint16_t *half = at;

	if ((uintptr_t)at & 2)
		__asm__ volatile("sh %2, %0\n\tsh %3, %1"
				 : "=m"(half[0]), "=m"(half[1]) : "r"(v), "r"(v >> 16) : "memory");
	else
		__asm__ volatile("sw %1, %0" : "=m"(*(uint32_t *)at) : "r"(v) : "memory");
}

/* This CPU fetches what was stored; the others do after plat_sync_cores(). */
static inline void arch_text_flush(const void *at, size_t bytes)
{
	(void)at, (void)bytes;
	__asm__ volatile("fence rw, rw\n\tfence.i" ::: "memory");
}

/*
 * No instruction of another kind makes a CPU fetch anew: the kernel has to have all of them execute fence.i.
 * 0: it has no such call (emulators, which see stores to code by themselves).
 */
static inline int arch_sync_cores(void)
{
	return !arch_syscall3(259 /* riscv_flush_icache */, 0, 0, 0);
}

#endif
