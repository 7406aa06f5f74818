/* SPDX-License-Identifier: MIT */
/*
 * patch.h - sites, thunks and stubs of riscv64, for patch/words/patch.c
 *
 *	entry site	auipc t0 ; nop | jalr t0 stub		8 bytes, at a word: two nops when found, or four compressed ones
 *	mcount site	jal ra _mcount | nop | jal ra stub			4 bytes, which may lie between words
 *			auipc ra ; jalr ra | auipc ra ; nop | jalr ra stub	8 bytes, where nothing was relaxed
 *	thunk		auipc t4 ; ld t3, cells ; ld t4, cells + 8 ; lw t5, libc's note ; jr t4	t3: K; the exit's without. t5: the
 *			thread's number (uft_slice.tid_offset), 0 if not known; unprepared code's without
 *	copy		of a fast path (trace.S), its first word j thunk while it is off ; j thunk
 *	stub		jal t1 func thunk | enter thunk ; jalr ra, t0 ; j exit thunk ; flags	UFT_STUB_BYTES
 *	mcount stub	jal t1 mfunc thunk | menter thunk ; frame ; j exit thunk ; flags	does not come back; bodies return to j exit thunk
 *	unprepared	j slot's code | func | graph		4 bytes, at any two: one instruction or two when found
 *	its slot	code | func: save ra t3 t4 ; jal ra, func thunk ; restore ; j code | graph: save ra t3 t4, where ; j stub
 *			exit: save t3 t4 ; j exit thunk
 *	its stub	jal ra, enter thunk ; jal ra, code ; j slot's exit ; flags	at enter the parent lies at sp
 *
 * auipc stays, and jalr reaches 2 KiB around its address. So an entry leads to its stub in every state, and the stub's
 * first word decides where to go on (ARCH_CALL_BY_STUB). t0-t6 except t2 (the static chain) are free at the entry of a
 * function. Return predictors pair calls by t0 with returns by t0, and calls by ra with returns by ra.
 */
#ifndef UFT_RISCV64_PATCH_H
#define UFT_RISCV64_PATCH_H

#include <stdint.h>

#include "runtime/arch/riscv64/encode.h"

#define ARCH_ENTRY_BYTES	8u	/* of an entry site */
#define ARCH_THUNK_BYTES	20u
#define ARCH_THUNK_K(k)		((uint64_t)(k))
#define ARCH_THUNK_PAGES	2u	/* jal does not reach far: one page before the stubs and one behind them */
#define ARCH_CALL_BY_STUB	1
#define ARCH_INSN_ALIGN		2u
#define ARCH_INSN_NOP		RV_NOP

static inline int arch_is_nop(uint32_t word)
{
	return rv_is_nops(word);
}

/* The first word of an entry site while it is armed or idle. */
static inline uint32_t arch_entry_word(uint64_t site, uint64_t stub)
{
	return rv_auipc(RV_T0, site, stub);
}

/* Its second word. */
static inline uint32_t arch_jump_word(uint64_t at, uint64_t stub)
{
	return rv_jalr(RV_T0, RV_T0, at - 4, stub);
}

/*
 * A site of @n words behind a prologue: makes a call of @thunk. Its last word decides whether it is a call. 0: out of
 * reach.
 */
static inline int arch_make_call(uint32_t *w, unsigned n, uint64_t at, uint64_t thunk)
{
	w[0] = n == 1 ? rv_jal(RV_RA, at, thunk) : rv_auipc(RV_RA, at, thunk);
	if (n == 2)
		w[1] = rv_jalr(RV_RA, RV_RA, at, thunk);
	return w[0] != 0;
}

static inline int arch_is_call(const uint32_t *w, unsigned n)
{
	return n == 1 ? rv_is_jal(w[0], RV_RA) : rv_is_auipc(w[0], RV_RA) &&
	rv_is_like(w[1], rv_jalr(RV_RA, RV_RA, 0, 0));
}

/* The call @word at @at, but to @target. 0: it is no call, or out of reach. */
static inline uint32_t arch_retarget(uint32_t word, uint64_t at, uint64_t target)
{
	return rv_is_jal(word, RV_RA) ? rv_jal(RV_RA, at, target) : 0;
}

/*
 * @cells: two cells, in 16 aligned bytes; @has_k: the handler needs the first; @tid_offset: uft_slice's, if the handler
 * needs the number. 0: out of reach.
 */
static inline int arch_make_thunk(uint32_t *w, uint64_t at, uint64_t cells, int has_k, const int32_t *tid_offset)
{
	unsigned n = 1;

	w[0] = rv_auipc(RV_T4, at, cells);
	if (has_k)
		w[n++] = rv_ld(RV_T3, RV_T4, at, cells);
	w[n++] = rv_ld(RV_T4, RV_T4, at, cells + 8);
	if (tid_offset)
		w[n++] = rv_number(RV_T5, *tid_offset);
	w[n++] = rv_jr(RV_T4);
	while (n < ARCH_THUNK_BYTES / 4)
		w[n++] = ARCH_INSN_NOP;
	return w[0] != 0;
}

/* ---- copies of fast paths beside the thunks ---- */

#define ARCH_COPY_BYTES	512u	/* of one copy */

extern const char uft_asm_copy_func[], uft_asm_copy_enter[], uft_asm_copy_exit[], uft_asm_copy_end[];

/*
 * Makes a copy of the fast path of one thunk, which saves the way through cells. @w, ARCH_COPY_BYTES: the words for
 * @at. @which: 0 function, 1 enter, 2 exit; @k: a cell with the constant for ids: its thunk's, or arch_copy_k();
 * @thunk: where it leads in unusual cases; @number, @tls: uft_slice.tid_offset, uft_rt.tls_offset. Returns its words;
 * 0: not known or out of reach. The first word can become arch_copy_off().
 */
static inline unsigned arch_make_copy(uint32_t *w, uint64_t at, unsigned which, uint64_t k, uint64_t thunk,
				      int32_t number, int64_t tls)
{
	const uint32_t *from[] = { (const uint32_t *)uft_asm_copy_func, (const uint32_t *)uft_asm_copy_enter,
				   (const uint32_t *)uft_asm_copy_exit, (const uint32_t *)uft_asm_copy_end };
	unsigned n = (unsigned)(from[which + 1] - from[which]);

	if (!number || n >= ARCH_COPY_BYTES / 4)
		return 0;
	for (unsigned i = 0; i < n; i++) {
		uint32_t word = from[which][i];

		if (rv_is_auipc(word, RV_T3)) {				/* LOAD_K: of two words */
			w[i] = rv_auipc(RV_T3, at + 4 * i, k);
			w[i + 1] = rv_ld(RV_T3, RV_T3, at + 4 * i, k);
			i++;
			continue;
		}
		/* lw: the number; ld: struct ring_tls */
		w[i] = rv_from_tp(word, (word >> 12 & 7) == 2 ? number : tls);
		if (!w[i])
			return 0;
	}
	w[n] = rv_jal(RV_ZERO, at + 4 * n, thunk);
	return n + 1;
}

/*
 * The number that the enter copy subtracts from an address in a stub, which gives the record's upper half 4 bits
 * higher. The function copy uses its thunk's.
 */
static inline uint64_t arch_copy_k(uint64_t stub_base, uint32_t first_id, uint32_t kind)
{
	return stub_base - ((uint64_t)(first_id | kind << 28) << 4);
}

static inline uint32_t arch_copy_off(uint64_t at, uint64_t thunk)
{
	return rv_jal(RV_ZERO, at, thunk);
}

/* @to: the thunk for the site's state. Bodies are called through t0, because they may be anywhere. */
static inline int arch_make_stub(uint32_t *w, uint64_t at, uint64_t to, uint64_t exit, uint64_t body, uint8_t flags)
{
	(void)body;
	w[0] = rv_jal(RV_T1, at, to);
	w[1] = rv_jalr(RV_RA, RV_T0, 0, 0);
	w[2] = rv_jal(RV_ZERO, at + 8, exit);
	w[3] = (uint32_t)flags << 24;
	return w[0] && w[2];
}

/* @frame: of arch_mcount_frame(). */
static inline int arch_make_mcount_stub(uint32_t *w, uint64_t at, uint64_t to, uint64_t exit, uint32_t frame,
					uint8_t flags)
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

/* ---- hooks of unwinders ---- */

#define ARCH_HOOK_ENTRY	8u		/* of a stub: behind the handler's address */
#define ARCH_HOOK_STUB	20u		/* bytes before the instructions that moved */
#define ARCH_HOOK_MAX	8u		/* bytes that the jump to a stub takes, at most */

/*
 * Makes the jump from the entry of an unwinder's function to its stub, and the jump back. Both use t6, because the
 * session has checked that none of the moved instructions uses it. Returns its words; 0: out of reach.
 */
static inline unsigned arch_hook_jump(uint32_t *w, uint64_t at, uint64_t stub)
{
	w[0] = rv_auipc(RV_T6, at, stub);
	w[1] = rv_jalr(RV_ZERO, RV_T6, at, stub);
	return w[0] ? 2 : 0;
}

/* handler's address ; entered here: t5 from it ; call t5, with t6 behind this */
static inline void arch_make_hook(uint32_t *w, uint64_t at, uint64_t handler)
{
	w[0] = (uint32_t)handler;
	w[1] = (uint32_t)(handler >> 32);
	w[2] = rv_auipc(RV_T5, at + 8, at);
	w[3] = rv_ld(RV_T5, RV_T5, at + 8, at);
	w[4] = rv_jalr(RV_T6, RV_T5, 0, 0);
}

/* ---- hooks of forks ---- */

#define ARCH_FORK_MAX	24u		/* words of a stub */

static inline uint32_t rv_fetch(const uint8_t *code)
{
	uint32_t low = code[0] | (uint32_t)code[1] << 8;

	return rv_length(code[0]) == 2 ? low : low | (uint32_t)code[2] << 16 | (uint32_t)code[3] << 24;
}

/*
 * Makes the jump from the system call and the instructions before it, of which the first is at @code: through the
 * register that this instruction writes and does not read.
 */
static inline unsigned arch_fork_jump(uint32_t *w, uint64_t at, const uint8_t *code, uint64_t stub)
{
	unsigned reg = rv_defines(rv_fetch(code));

	w[0] = reg ? rv_auipc(reg, at, stub + ARCH_HOOK_ENTRY) : 0;
	w[1] = rv_jalr(RV_ZERO, reg, at, stub + ARCH_HOOK_ENTRY);
	return w[0] ? 2 : 0;
}

static inline unsigned rv_fork_back(uint32_t *w, unsigned n, uint64_t stub, unsigned reg, uint64_t to)
{
	w[n] = rv_auipc(reg, stub + 4 * n, to);
	w[n + 1] = rv_jalr(RV_ZERO, reg, stub + 4 * n, to);
	return n + 2;
}

/*
 * handler's address ; entered here: what stood before the system call ; save t6, ra ; call the handler ; it did
 * nothing: restore, the system call, back | it made the call: restore, back. @code: the @len bytes at the site @at, and
 * the instruction behind, whose register is free on the way back. Returns its words; 0: it cannot be made.
 */
#define ARCH_FORK_MADE	24		/* distance of the second way from where the handler returns to, in bytes */
static inline unsigned arch_make_fork(uint32_t *w, uint64_t stub, uint64_t handler, uint64_t at, const uint8_t *code,
				      unsigned len)
{
	const unsigned reg = rv_defines(rv_fetch(code + len)), moved = len - 4;
	unsigned n = 2, call;

	if (!reg || len < 8 || len > 12 || rv_fetch(code + moved) != RV_ECALL)
		return 0;
	w[0] = (uint32_t)handler;
	w[1] = (uint32_t)(handler >> 32);
	for (unsigned i = 0; i < moved; i += 4) {
		uint32_t low = code[i] | (uint32_t)code[i + 1] << 8;

		/* c.nop */
		w[n++] = low |
			 (i + 4 <= moved ? (uint32_t)code[i + 2] << 16 | (uint32_t)code[i + 3] << 24 : 0x00010000u);
	}
	w[n++] = 0xff010113u;					/* addi sp, sp, -16 */
	w[n++] = rv_sd(RV_T6, RV_SP, 0);
	w[n++] = rv_sd(RV_RA, RV_SP, 8);
	call = n;
	w[n++] = rv_auipc(RV_T6, stub + 4 * call, stub);
	w[n++] = rv_ld(RV_T6, RV_T6, stub + 4 * call, stub);
	w[n++] = rv_jalr(RV_RA, RV_T6, 0, 0);
	for (int made = 0; made < 2; made++) {
		w[n++] = rv_ld(RV_T6, RV_SP, 0, 0);
		w[n++] = rv_ld(RV_RA, RV_SP, 0, 8);
		w[n++] = 0x01010113u;				/* addi sp, sp, 16 */
		if (!made)
			w[n++] = RV_ECALL;
		n = rv_fork_back(w, n, stub, reg, at + len);
	}
	return n;
}

/* ---- unprepared code ---- */

#define ARCH_HAS_CODE	1
#define ARCH_CODE_MAX	28u		/* bytes of the code that moved */
#define ARCH_CODE_BYTES	112u		/* of a whole slot */
#define RV_CODE_FUNC	(ARCH_CODE_MAX / 4)
#define RV_CODE_GRAPH	(RV_CODE_FUNC + 10)
#define RV_CODE_EXIT	(RV_CODE_GRAPH + 7)

extern const char uft_asm_code_func[], uft_asm_code_enter[], uft_asm_code_enter_slow[], uft_asm_code_exit[],
	uft_asm_code_exit_slow[];

static inline const char *arch_code_handler_func(void)
{
	return uft_asm_code_func;
}

static inline const char *arch_code_handler_enter(int is_fast)
{
	return is_fast ? uft_asm_code_enter : uft_asm_code_enter_slow;
}

static inline const char *arch_code_handler_exit(int is_fast)
{
	return is_fast ? uft_asm_code_exit : uft_asm_code_exit_slow;
}

static inline uint32_t arch_code_jump(uint64_t at, uint64_t target)
{
	return rv_jal(RV_ZERO, at, target);
}

/* Where the site leads to; @at: of the slot. */
static inline uint64_t arch_code_idle(uint64_t at, int is_signed)
{
	(void)is_signed;
	return at;
}

static inline uint64_t arch_code_func(uint64_t at, int is_signed)
{
	(void)is_signed;
	return at + 4 * RV_CODE_FUNC;
}

static inline uint64_t arch_code_graph(uint64_t at, int is_signed)
{
	(void)is_signed;
	return at + 4 * RV_CODE_GRAPH;
}

/* The function handler returns to this address. */
static inline uint64_t arch_code_called(uint64_t at)
{
	return at + 4 * (RV_CODE_FUNC + 5);
}

#define ARCH_CODE_HAS_K	1
/*
 * The constant of its thunk (ARCH_THUNK_K): between that address and the id of a slot, with the record's kind; slots
 * are 128 bytes apart.
 */
static inline uint32_t arch_code_k(uint64_t base, uint32_t first_id)
{
	return (uint32_t)(arch_code_called(base) >> 7) - first_id;
}

/* @w: the slot; its code is there already. @k: for slots with a K of their own. 0: out of reach. */
static inline int arch_make_code(uint32_t *w, uint64_t at, uint64_t func_thunk, uint64_t exit_thunk, uint64_t stub,
				 uint64_t k)
{
	uint32_t *f = w + RV_CODE_FUNC, *g = w + RV_CODE_GRAPH, *x = w + RV_CODE_EXIT;

	(void)k;
	f[0] = g[0] = 0xfe010113;				/* addi sp, sp, -32 */
	f[1] = g[1] = rv_sd(RV_RA, RV_SP, 0);
	f[2] = g[2] = rv_sd(RV_T3, RV_SP, 8);
	f[3] = g[3] = rv_sd(RV_T4, RV_SP, 16);
	f[4] = rv_jal(RV_RA, at + 4 * (RV_CODE_FUNC + 4), func_thunk);
	f[5] = rv_ld(RV_RA, RV_SP, 0, 0);
	f[6] = rv_ld(RV_T3, RV_SP, 0, 8);
	f[7] = rv_ld(RV_T4, RV_SP, 0, 16);
	f[8] = 0x02010113;					/* addi sp, sp, 32 */
	f[9] = rv_jal(RV_ZERO, at + 4 * (RV_CODE_FUNC + 9), at);
	/* graph + 16: if the handler declines, it goes on at f[5] */
	g[4] = rv_auipc(RV_T3, at, at);
	g[5] = rv_sd(RV_T3, RV_SP, 24);
	g[6] = rv_jal(RV_ZERO, at + 4 * (RV_CODE_GRAPH + 6), stub);
	x[0] = 0xff010113;					/* addi sp, sp, -16 */
	x[1] = rv_sd(RV_T3, RV_SP, 0);
	x[2] = rv_sd(RV_T4, RV_SP, 8);
	x[3] = rv_jal(RV_ZERO, at + 4 * (RV_CODE_EXIT + 3), exit_thunk);
	return f[4] && f[9] && g[6] && x[3];
}

/* The stub of a slot at @code. */
static inline int arch_make_code_stub(uint32_t *w, uint64_t at, uint64_t enter, uint64_t exit, uint64_t code,
				      uint8_t flags)
{
	(void)exit;
	w[0] = rv_jal(RV_RA, at, enter);
	w[1] = rv_jal(RV_RA, at + 4, code);
	w[2] = rv_jal(RV_ZERO, at + 8, code + 4 * RV_CODE_EXIT);
	w[3] = (uint32_t)flags << 24;
	return w[0] && w[1] && w[2];
}

#endif
