/* SPDX-License-Identifier: MIT */
/*
 * rseq.h - restartable sections for the .S files, and operations for C that are atomic against signals of the same task
 */
#ifndef UFT_X86_64_RSEQ_H
#define UFT_X86_64_RSEQ_H

/* ---- capabilities of this architecture, for C (runtime/arch/arch.h) ---- */

#define ARCH_HAS_RSEQ		1	/* sections in ring.S and trace.S */
#define ARCH_HAS_OWN		0	/* fast paths write the rings of their CPUs */
#define ARCH_HAS_LIMITS		1	/* fast paths with a depth limit or a threshold */
#define ARCH_HAS_SUMS		1	/* fast paths of the profile, and sections that add to its sums */
#define ARCH_HAS_COUNTS		1	/* fast paths that count and read no clock */
#define ARCH_HAS_BESIDE		1	/* fast paths of calls that several tracers want */
#define ARCH_HAS_HOOKS		1	/* system calls of libc are hooked (hook.S) */
#define ARCH_REACH		0x7ff00000ull	/* of a call, minus the bytes that displacements are relative to */
#define ARCH_STUB_RETURN	10	/* offset in a stub of the address that bodies return to */
#define ARCH_HAS_INIT		1	/* loaders call DT_INIT */
#define ARCH_SLOT_IN_MEMORY	1	/* a frame's slot is the address of its return address */
#define ARCH_HAS_STACKS		1	/* slow handlers can tell where the program's frame is (tracers/stack.c) */
/* Offsets in a signal's frame, from the handler's CFA on: its ucontext. */
#define ARCH_SIGNAL_FP		120
#define ARCH_SIGNAL_SP		160
#define ARCH_SIGNAL_PC		168

/* libc has registered with this value; it lies before each abort address */
#define ARCH_RSEQ_SIG		0x53053053

#ifdef __ASSEMBLER__

	/* Descriptor of a section (struct rseq_cs); the only relocations are relative ones. */
	.macro RSEQ_CS_DESC name, start, commit, abort
	.pushsection .data.rel.ro, "aw", @progbits
	.balign	32
\name:
	.long	0, 0
	.quad	\start, \commit - \start, \abort
	.popsection
	.endm

	/* The section begins at the instruction after this one. */
	.macro RSEQ_ARM desc, area, scratch
	lea	\desc(%rip), \scratch
	mov	\scratch, %fs:RSEQ_CS(\area) /* GUARD(rseq_armed) */
	.endm

	/* An abort address and the signature that the kernel looks for before it (an undefined ud1 operand). */
	.macro RSEQ_ABORT name
	.byte	0x0f, 0xb9, 0x3d
	.long	ARCH_RSEQ_SIG
\name:
	.endm

	.macro SAVE reg
	push	\reg
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset \reg, 0
	.endm

	.macro UNSAVE reg
	pop	\reg
	.cfi_adjust_cfa_offset -8
	.cfi_restore \reg
	.endm

#else

#include <stdint.h>

/* cpu_id of the calling task's struct rseq: the CPU, or a value above any CPU number when not registered. */
static inline uint32_t arch_rseq_cpu(int64_t rseq_offset)
{
	uint32_t cpu;

	__asm__ volatile("mov %%fs:4(%1),%0" : "=r"(cpu) : "r"(rseq_offset));
	return cpu;
}

/* One instruction each, so a signal handler sees all or nothing of a change; other CPUs must not write there. */
static inline int arch_local_cas(void *at, uint64_t old, uint64_t v)
{
	uint8_t done;

	__asm__ volatile("cmpxchgq %3,%1; sete %0"
			 : "=q"(done), "+m"(*(uint64_t *)at), "+a"(old) : "r"(v) : "memory", "cc");
	return done;
}

static inline void arch_local_or32(uint32_t *at, uint32_t v)
{
	__asm__ volatile("orl %1,%0" : "+m"(*at) : "r"(v) : "memory", "cc");
}

static inline void arch_local_clear32(uint32_t *at, uint32_t v)
{
	__asm__ volatile("andl %1,%0" : "+m"(*at) : "r"(~v) : "memory", "cc");
}

static inline void arch_local_add64(uint64_t *at, uint64_t v)
{
	__asm__ volatile("addq %1,%0" : "+m"(*at) : "r"(v) : "memory", "cc");
}

#endif
#endif
