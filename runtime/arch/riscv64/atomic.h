/* SPDX-License-Identifier: MIT */
/*
 * atomic.h - the clock, and stores that running code may see half way
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
	/* pause: a hint, which older CPUs ignore */
	__asm__ volatile(".insn i 0x0f, 0, x0, x0, 0x010" ::: "memory");
}

/* The trace clock, raw: the timer, the same on all CPUs. */
static inline uint64_t arch_clock(void)
{
	uint64_t v;

	__asm__ volatile("rdtime %0" : "=r"(v));
	return v;
}

/*
 * The same, but not read before the preceding instructions are done: for code that has just taken a task over from
 * another CPU.
 */
static inline uint64_t arch_clock_after(void)
{
	__asm__ volatile("fence ir, ir" ::: "memory");
	return arch_clock();
}

/* Ticks of the clock per second; 0: it has to be measured. */
static inline uint64_t arch_clock_hz(void)
{
	return 0;
}

/* The thread's identity. */
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
 * An aligned word is one store, never split: a CPU that fetches it has the old instruction or the new. Another word
 * takes two stores, only while no thread runs.
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

/* Makes this CPU fetch the stored instructions; the others do after plat_sync_cores(). */
static inline void arch_text_flush(const void *at, size_t bytes)
{
	(void)at, (void)bytes;
	__asm__ volatile("fence rw, rw\n\tfence.i" ::: "memory");
}

/*
 * No other kind of instruction makes a CPU fetch again, so the kernel makes all CPUs execute fence.i. 0: the kernel has
 * no such call (emulators, which see stores to code by themselves).
 */
static inline int arch_sync_cores(void)
{
	return !arch_syscall3(259 /* riscv_flush_icache */, 0, 0, 0);
}

#endif
