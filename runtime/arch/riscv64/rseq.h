/* SPDX-License-Identifier: MIT */
/*
 * rseq.h - what is atomic against signals of the same task
 *
 * riscv64 has no restartable sections yet (ARCH_HAS_RSEQ). Fast paths write the ring of their thread, with signals as
 * they are (ring/thread_rings.c). Every other event takes an exchange ring, with signals blocked. The changes of
 * arch/words.h are enough for the few lines with signals unblocked.
 */
#ifndef UFT_RISCV64_RSEQ_H
#define UFT_RISCV64_RSEQ_H

/* ---- capabilities of this architecture, for C (runtime/arch/arch.h) ---- */

#define ARCH_HAS_RSEQ		0
#define ARCH_HAS_OWN		1
#define ARCH_HAS_RING_TLS	1	/* fast paths find their line in the thread\'s TLS (ring/thread_rings.c) */
#define ARCH_HAS_LIMITS		0	/* fast paths with a depth limit or a threshold */
#define ARCH_HAS_SUMS		0
#define ARCH_HAS_COUNTS		0
#define ARCH_HAS_BESIDE		0
#define ARCH_HAS_HOOKS		0
#define ARCH_REACH		0x7ff00000ull	/* of auipc and jalr, minus a page or two */
#define ARCH_STUB_RETURN	8
#define ARCH_HAS_INIT		0	/* loaders know DT_INIT_ARRAY only */
#define ARCH_SLOT_IN_MEMORY	0	/* the return address is in ra at the entry: the slot is sp, a name only */
#define ARCH_HAS_STACKS		0	/* slow handlers can tell where the program's frame is (tracers/stack.c) */
#define ARCH_SIGNAL_FP		0
#define ARCH_SIGNAL_SP		0
#define ARCH_SIGNAL_PC		0

#ifndef __ASSEMBLER__

#include <stdint.h>

/* cpu_id of the calling task's struct rseq, 4 bytes behind its beginning. */
static inline uint32_t arch_rseq_cpu(int64_t rseq_offset)
{
	uint64_t tp;

	__asm__ volatile("mv %0, tp" : "=r"(tp));
	return *(const volatile uint32_t *)(tp + (uint64_t)rseq_offset + 4);
}

#endif
#endif
