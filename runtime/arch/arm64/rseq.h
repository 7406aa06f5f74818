/* SPDX-License-Identifier: MIT */
/*
 * rseq.h - restartable sections for ring.S, and what is atomic against signals of the same task
 *
 * Fast paths write the ring of their thread, with signals as they are (ring/thread_rings.c). C code writes the events
 * of threads without such a ring: to the ring of their CPU, by the sections of ring.S, if libc has registered the
 * thread; else to an exchange ring, with signals blocked. A handler that comes between load and store of a change of
 * arch/words.h breaks the exclusives.
 */
#ifndef UFT_ARM64_RSEQ_H
#define UFT_ARM64_RSEQ_H

/* ---- capabilities of this architecture, for C (runtime/arch/arch.h) ---- */

#define ARCH_HAS_RSEQ		1	/* sections in ring.S */
#define ARCH_HAS_OWN		1	/* fast paths write rings of their threads */
#define ARCH_HAS_RING_TLS	0	/* fast paths find their line in the thread\'s TLS (ring/thread_rings.c) */
#define ARCH_HAS_LIMITS		0	/* fast paths with a depth limit or a threshold */
#define ARCH_HAS_SUMS		0
#define ARCH_HAS_COUNTS		0
#define ARCH_HAS_BESIDE		0
#define ARCH_HAS_HOOKS		0
#define ARCH_REACH		(127ull << 20)	/* of bl, minus a page or two */
#define ARCH_STUB_RETURN	8
#define ARCH_HAS_INIT		1	/* loaders call DT_INIT */
#define ARCH_SLOT_IN_MEMORY	0	/* the return address is in x30 at the entry: the slot is sp, a name only */
#define ARCH_HAS_STACKS		0	/* slow handlers can tell where the program's frame is (tracers/stack.c) */
#define ARCH_SIGNAL_FP		0
#define ARCH_SIGNAL_SP		0
#define ARCH_SIGNAL_PC		0

/* libc has registered with this value, and the kernel looks for it before abort addresses: brk #0x45e0 */
#define ARCH_RSEQ_SIG		0xd428bc00

#ifdef __ASSEMBLER__

	/* Descriptor of a section (struct rseq_cs); the only relocations are relative ones. */
	.macro RSEQ_CS_DESC name, start, commit, abort
	.pushsection .data.rel.ro, "aw", %progbits
	.balign	32
\name:
	.long	0, 0
	.quad	\start, \commit - \start, \abort
	.popsection
	.endm

	/* \area: the task's struct rseq. Uses \scratch. */
	.macro RSEQ_AREA area, scratch
	ldr	\scratch, uft_ring_fast + RF_RSEQ
	mrs	\area, tpidr_el0
	add	\area, \area, \scratch
	.endm

	/* The section begins at the instruction after this one. */
	.macro RSEQ_ARM desc, area, scratch
	adrp	\scratch, \desc
	add	\scratch, \scratch, :lo12:\desc
	str	\scratch, [\area, #RSEQ_CS]
	.endm

	/* An abort address behind its signature. */
	.macro RSEQ_ABORT name
	.inst	ARCH_RSEQ_SIG
\name:
	.endm

#else

#include <stdint.h>

/* cpu_id of the calling task's struct rseq, 4 bytes behind its beginning. */
static inline uint32_t arch_rseq_cpu(int64_t rseq_offset)
{
	uint64_t tp;

	__asm__ volatile("mrs %0, tpidr_el0" : "=r"(tp));
	return *(const volatile uint32_t *)(tp + (uint64_t)rseq_offset + 4);
}

#endif
#endif
