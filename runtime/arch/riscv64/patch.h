/* SPDX-License-Identifier: MIT */
/*
 * patch.h - sites, thunks and stubs of riscv64, for patch/word.c
 *
 *	entry site	auipc t0 ; nop | jalr t0 stub		8 bytes, at a word: two nops when found, or four compressed ones
 *	mcount site	jal ra _mcount | nop | jal ra stub			4 bytes, which may lie between words
 *			auipc ra ; jalr ra | auipc ra ; nop | jalr ra stub	8 bytes, where nothing was relaxed
 *	thunk		auipc t4 ; ld t3, cells ; ld t4, cells + 8 ; jr t4	t3: K; the exit's without
 *	stub		jal t1 func thunk | enter thunk ; jalr ra, t0 ; j exit thunk ; flags	UFT_STUB_BYTES
 *	mcount stub	jal t1 mfunc thunk | menter thunk ; frame ; j exit thunk ; flags	does not come back; bodies return to j exit thunk
 *
 * auipc stays and jalr reaches 2 KiB around what it names, so an entry leads to its stub in every state, and the stub's first
 * word tells where on (ARCH_CALL_BY_STUB). t0-t6 but t2 (the static chain) are free at the entry of a function; calls by t0
 * and returns by t0 and ra are those that predictors pair.
 */
#ifndef UFT_RISCV64_PATCH_H
#define UFT_RISCV64_PATCH_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/arch/riscv64/encode.h"

#define ARCH_ENTRY_BYTES	8u	/* of an entry site */
#define ARCH_THUNK_BYTES	16u
#define ARCH_THUNK_K(k)		((uint64_t)(k))
#define ARCH_THUNK_PAGES	2u	/* jal does not reach far: before the stubs and behind them */
#define ARCH_CALL_BY_STUB	1
#define ARCH_INSN_ALIGN		2u
#define ARCH_INSN_NOP		RV_NOP

static inline int arch_is_nop(uint32_t word)
{
	return rv_is_nops(word);
}

/* The first word of an entry site while it is ours. */
static inline uint32_t arch_entry_word(uint64_t site, uint64_t stub)
{
	return rv_auipc(RV_T0, site, stub);
}

/* Its second word. */
static inline uint32_t arch_jump_word(uint64_t at, uint64_t stub)
{
	return rv_jalr(RV_T0, RV_T0, at - 4, stub);
}

/* A site of @n words behind a prologue: call @thunk. The last word is what makes it a call. 0: out of reach. */
static inline int arch_make_call(uint32_t *w, unsigned n, uint64_t at, uint64_t thunk)
{
	w[0] = n == 1 ? rv_jal(RV_RA, at, thunk) : rv_auipc(RV_RA, at, thunk);
	if (n == 2)
		w[1] = rv_jalr(RV_RA, RV_RA, at, thunk);
	return w[0] != 0;
}

static inline int arch_is_call(const uint32_t *w, unsigned n)
{
	return n == 1 ? rv_is_jal(w[0], RV_RA) : rv_is_auipc(w[0], RV_RA) && rv_is_like(w[1], rv_jalr(RV_RA, RV_RA, 0, 0));
}

/* @cells: two, in 16 aligned bytes; @has_k: the handler wants the first. 0: out of reach. */
static inline int arch_make_thunk(uint32_t *w, uint64_t at, uint64_t cells, int has_k)
{
	unsigned n = 1;

	w[0] = rv_auipc(RV_T4, at, cells);
	if (has_k)
		w[n++] = rv_ld(RV_T3, RV_T4, at, cells);
	w[n++] = rv_ld(RV_T4, RV_T4, at, cells + 8);
	w[n++] = rv_jr(RV_T4);
	if (!has_k)
		w[n] = ARCH_INSN_NOP;
	return w[0] != 0;
}

/* @to: the thunk that a site's state asks for. Bodies are called by way of t0: wherever they are. */
static inline int arch_make_stub(uint32_t *w, uint64_t at, uint64_t to, uint64_t exit, uint64_t body, uint8_t flags)
{
	(void)body;
	w[0] = rv_jal(RV_T1, at, to);
	w[1] = rv_jalr(RV_RA, RV_T0, 0, 0);
	w[2] = rv_jal(RV_ZERO, at + 8, exit);
	w[3] = (uint32_t)flags << 24;
	return w[0] && w[2];
}

/* @frame: arch_mcount_frame()'s. */
static inline int arch_make_mcount_stub(uint32_t *w, uint64_t at, uint64_t to, uint64_t exit, uint32_t frame, uint8_t flags)
{
	w[0] = rv_jal(RV_T1, at, to);
	w[1] = frame;
	w[2] = rv_jal(RV_ZERO, at + 8, exit);
	w[3] = (uint32_t)flags << 24;
	return w[0] && w[2];
}

static inline uint32_t arch_mcount_stub_frame(const uint32_t *stub)
{
	return stub[1];
}

/* ---- plain code: not yet ---- */

#define ARCH_HAS_CODE	0
#define ARCH_CODE_MAX	4u
#define ARCH_CODE_BYTES	4u

static inline const char *arch_code_enter(void)
{
	return (const char *)0;
}

static inline uint64_t arch_code_func(uint64_t at, int is_signed)
{
	(void)is_signed;
	return at;
}

static inline uint64_t arch_code_graph(uint64_t at, int is_signed)
{
	(void)is_signed;
	return at;
}

static inline uint64_t arch_code_called(uint64_t at)
{
	return at;
}

static inline int arch_make_code(uint32_t *w, uint64_t at, uint64_t func_thunk, uint64_t stub, uint64_t k)
{
	(void)w, (void)at, (void)func_thunk, (void)stub, (void)k;
	return 0;
}

#endif
