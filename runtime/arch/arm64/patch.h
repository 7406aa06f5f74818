/* SPDX-License-Identifier: MIT */
/*
 * patch.h - sites, thunks and stubs of arm64, for patch/words/patch.c
 *
 *	entry site	mov x9, x30 ; nop | bl func thunk | b stub		8 bytes: two nops when found
 *	mcount site	bl _mcount | nop | bl mfunc thunk | bl stub		4 bytes
 *	thunk		ldr x17, cells ; ldr x16, cells + 8 ; br x16		x17: ARCH_THUNK_K; the exit's without
 *	stub		bl enter thunk ; bl site+8 ; b exit thunk ; flags	UFT_STUB_BYTES
 *	mcount stub	mov x9, x30 ; bl menter thunk ; b exit thunk ; flags, frame	does not come back; bodies return to b exit thunk
 *
 *	unprepared	b slot's code | func | graph		4 bytes: any instruction when found
 *	its slot	code | func: save x9 - x15 ; mov x9, x30 ; x17 ; bl func thunk ; restore ; b code | graph: push x30 ; b stub
 *	its stub	bl enter thunk ; bl code ; b exit thunk ; flags	at enter the parent lies at sp
 *
 * x9 is free at the entry of a function with a patchable entry, x16 and x17 at every branch that may need a veneer. The
 * compiler does not know of the first word. It stays when a site is idle, because a thread may rest between the two
 * words.
 */
#ifndef UFT_ARM64_PATCH_H
#define UFT_ARM64_PATCH_H

#include <stdint.h>

#include "runtime/arch/arm64/encode.h"

#define ARCH_ENTRY_BYTES	8u	/* of an entry site */
#define ARCH_THUNK_BYTES	12u
/* one addition to the shifted return address makes a record's id */
#define ARCH_THUNK_K(k)		-((uint64_t)(k) << 32)
#define ARCH_THUNK_PAGES	1u
#define ARCH_CALL_BY_STUB	0
#define ARCH_INSN_ALIGN		4u
#define ARCH_INSN_NOP		A64_NOP

static inline int arch_is_nop(uint32_t word)
{
	return word == A64_NOP;
}

/* The first word of an entry site while it is armed or idle. */
static inline uint32_t arch_entry_word(uint64_t site, uint64_t stub)
{
	(void)site, (void)stub;
	return A64_MOV_X9_LR;
}

static inline uint32_t arch_jump_word(uint64_t at, uint64_t stub)
{
	return a64_b(at, stub);
}

/* The second word, or a site of one word behind a prologue: call @thunk. 0: out of reach. */
static inline int arch_make_call(uint32_t *w, unsigned n, uint64_t at, uint64_t thunk)
{
	w[n - 1] = a64_bl(at + 4 * (n - 1), thunk);
	return w[n - 1] != 0;
}

static inline int arch_is_call(const uint32_t *w, unsigned n)
{
	return n == 1 && a64_is_bl(w[0]);
}

/* The call @word at @at, but to @target. 0: it is no call, or out of reach. */
static inline uint32_t arch_retarget(uint32_t word, uint64_t at, uint64_t target)
{
	return a64_is_bl(word) ? a64_bl(at, target) : 0;
}

/* Copies of fast paths beside the thunks (riscv64): none. */
#define ARCH_COPY_BYTES	0u

static inline unsigned arch_make_copy(uint32_t *w, uint64_t at, unsigned which, uint64_t k, uint64_t thunk,
				      int32_t number, int64_t tls)
{
	(void)w, (void)at, (void)which, (void)k, (void)thunk, (void)number, (void)tls;
	return 0;
}

static inline uint64_t arch_copy_k(uint64_t stub_base, uint32_t first_id, uint32_t kind)
{
	(void)stub_base, (void)first_id, (void)kind;
	return 0;
}

static inline uint32_t arch_copy_off(uint64_t at, uint64_t thunk)
{
	(void)at, (void)thunk;
	return 0;
}

/* @cells: two cells; @has_k: the handler needs the first. No handler needs the number. 0: out of reach. */
static inline int arch_make_thunk(uint32_t *w, uint64_t at, uint64_t cells, int has_k, const int32_t *tid_offset)
{
	unsigned n = 0;

	(void)tid_offset;
	if (has_k) {
		w[0] = a64_ldr_literal(17, at, cells);
		n = 1;
	}
	w[n] = a64_ldr_literal(16, at + 4 * n, cells + 8);
	w[n + 1] = a64_br(16);
	if (!has_k)
		w[2] = ARCH_INSN_NOP;
	return w[0] && w[n];
}

static inline int arch_make_stub(uint32_t *w, uint64_t at, uint64_t enter, uint64_t exit, uint64_t body, uint8_t flags)
{
	w[0] = a64_bl(at, enter);
	w[1] = a64_bl(at + 4, body);
	w[2] = a64_b(at + 8, exit);
	w[3] = (uint32_t)flags << 24;
	return w[0] && w[1] && w[2];
}

/* @frame: of arch_mcount_frame(). */
static inline int arch_make_mcount_stub(uint32_t *w, uint64_t at, uint64_t enter, uint64_t exit, uint32_t frame,
					uint8_t flags)
{
	w[0] = A64_MOV_X9_LR;
	w[1] = a64_bl(at + 4, enter);
	w[2] = a64_b(at + 8, exit);
	w[3] = (uint32_t)flags << 24 | frame;
	return w[1] && w[2];
}

/* ---- unprepared code ---- */

#define ARCH_HAS_CODE	1
#define ARCH_CODE_MAX	24u		/* bytes of the code that moved */
#define ARCH_CODE_BYTES	96u		/* of a whole slot */
#define A64_CODE_FUNC	(ARCH_CODE_MAX / 4)
#define A64_CODE_CALL	(A64_CODE_FUNC + 7)
#define A64_CODE_GRAPH	(A64_CODE_FUNC + 13)
#define A64_CODE_K	(A64_CODE_FUNC + 16)

extern const char uft_asm_code_enter[], uft_asm_code_enter_slow[], uft_asm_code_exit[], uft_asm_func[],
	uft_asm_graph_exit_slow[];

static inline const char *arch_code_handler_func(void)
{
	return uft_asm_func;
}

static inline const char *arch_code_handler_enter(int is_fast)
{
	return is_fast ? uft_asm_code_enter : uft_asm_code_enter_slow;
}

static inline const char *arch_code_handler_exit(int is_fast)
{
	return is_fast ? uft_asm_code_exit : uft_asm_graph_exit_slow;
}

static inline uint32_t arch_code_jump(uint64_t at, uint64_t target)
{
	return a64_b(at, target);
}

/*
 * Where the site leads to; @at: of the slot. @is_signed: x30 is signed when the site is reached, and the code signs it
 * again after it was authenticated.
 */
static inline uint64_t arch_code_idle(uint64_t at, int is_signed)
{
	return at + 4 * is_signed;
}

static inline uint64_t arch_code_func(uint64_t at, int is_signed)
{
	return at + 4 * (A64_CODE_FUNC + !is_signed);
}

static inline uint64_t arch_code_graph(uint64_t at, int is_signed)
{
	return at + 4 * (A64_CODE_GRAPH + !is_signed);
}

/* The function handler returns to this address. */
static inline uint64_t arch_code_called(uint64_t at)
{
	return at + 4 * (A64_CODE_CALL + 1);
}

#define ARCH_CODE_HAS_K	0
/* The constant between that address and the id of a slot, with the record's kind. */
static inline uint32_t arch_code_k(uint64_t slot, uint32_t id)
{
	return (uint32_t)(arch_code_called(slot) >> 2) - id;
}

/* @w: the slot; its code is there already. @k: ARCH_THUNK_K. 0: out of reach. */
static inline int arch_make_code(uint32_t *w, uint64_t at, uint64_t func_thunk, uint64_t exit_thunk, uint64_t stub,
				 uint64_t k)
{
	uint32_t *f = w + A64_CODE_FUNC, *g = w + A64_CODE_GRAPH;

	(void)exit_thunk;
	/*
	 * if the code signs, w[0] is paciasp or pacibsp, and this is autiasp or autibsp; else this word is not reached
	 */
	f[0] = g[0] = w[0] | 0x80;
	f[1] = 0xa9bc2be9;			/* stp x9, x10, [sp, #-64]! */
	f[2] = 0xa90133eb;			/* stp x11, x12, [sp, #16] */
	f[3] = 0xa9023bed;			/* stp x13, x14, [sp, #32] */
	f[4] = 0xf9001bef;			/* str x15, [sp, #48] */
	f[5] = A64_MOV_X9_LR;
	f[6] = a64_ldr_literal(17, at + 4 * (A64_CODE_FUNC + 6), at + 4 * A64_CODE_K);
	f[7] = a64_bl(at + 4 * A64_CODE_CALL, func_thunk);
	f[8] = 0xf9401bef;			/* ldr x15, [sp, #48] */
	f[9] = 0xa9423bed;			/* ldp x13, x14, [sp, #32] */
	f[10] = 0xa94133eb;			/* ldp x11, x12, [sp, #16] */
	f[11] = 0xa8c42be9;			/* ldp x9, x10, [sp], #64 */
	f[12] = a64_b(at + 4 * (A64_CODE_FUNC + 12), at);
	g[1] = 0xf81f0ffe;			/* str x30, [sp, #-16]! */
	g[2] = a64_b(at + 4 * (A64_CODE_GRAPH + 2), stub);
	w[A64_CODE_K] = (uint32_t)k;
	w[A64_CODE_K + 1] = (uint32_t)(k >> 32);
	return f[7] && g[2];
}

/* The stub of a slot at @code. */
static inline int arch_make_code_stub(uint32_t *w, uint64_t at, uint64_t enter, uint64_t exit, uint64_t code,
				      uint8_t flags)
{
	return arch_make_stub(w, at, enter, exit, code, flags);
}

/* ---- hooks of unwinders ---- */

#define ARCH_HOOK_ENTRY	8u		/* of a stub: behind the handler's address */
#define ARCH_HOOK_STUB	20u		/* bytes before the instructions that moved */
#define ARCH_HOOK_MAX	4u		/* bytes that the jump to a stub takes, at most */

/* Makes the jump from the entry of an unwinder's function to its stub. Returns its words; 0: out of reach. */
static inline unsigned arch_hook_jump(uint32_t *w, uint64_t at, uint64_t stub)
{
	w[0] = a64_b(at, stub);
	return w[0] != 0;
}

/* handler's address ; entered here: x16 from it ; x17 behind this ; br x16 */
static inline void arch_make_hook(uint32_t *w, uint64_t at, uint64_t handler)
{
	w[0] = (uint32_t)handler;
	w[1] = (uint32_t)(handler >> 32);
	w[2] = a64_ldr_literal(16, at + 8, at);
	w[3] = a64_adr(17, at + 12, at + ARCH_HOOK_STUB);
	w[4] = a64_br(16);
}

/* ---- hooks of forks ---- */

#define ARCH_FORK_MAX	12u		/* words of a stub */

/*
 * Makes the jump from the system call. svc and b are instructions of which CPUs may execute either while one replaces
 * the other.
 */
static inline unsigned arch_fork_jump(uint32_t *w, uint64_t at, const uint8_t *code, uint64_t stub)
{
	(void)code;
	w[0] = a64_b(at, stub + ARCH_HOOK_ENTRY);
	return w[0] != 0;
}

/*
 * handler's address ; entered here: save x16, x30 ; call the handler ; it did nothing: restore, the system call,
 * back | it made the call: restore, back. @code: the @len bytes at the site @at. Returns its words; 0: it cannot be
 * made.
 */
#define ARCH_FORK_MADE	12		/* distance of the second way from where the handler returns to, in bytes */
static inline unsigned arch_make_fork(uint32_t *w, uint64_t stub, uint64_t handler, uint64_t at, const uint8_t *code,
				      unsigned len)
{
	const uint32_t restore = 0xa8c17bf0u;			/* ldp x16, x30, [sp], #16 */
	unsigned n = 0;

	(void)code;
	w[n++] = (uint32_t)handler;
	w[n++] = (uint32_t)(handler >> 32);
	w[n++] = 0xa9bf7bf0u;					/* stp x16, x30, [sp, #-16]! */
	w[n] = a64_ldr_literal(16, stub + 4 * n, stub);
	n++;
	w[n++] = a64_blr(16);
	w[n++] = restore;
	w[n++] = A64_SVC;
	w[n] = a64_b(stub + 4 * n, at + len);
	n++;
	w[n++] = restore;
	w[n] = a64_b(stub + 4 * n, at + len);
	return w[n] && w[7] ? n + 1 : 0;
}

static inline uint32_t arch_mcount_stub_frame(const uint32_t *stub)
{
	return stub[3] & 0xffffff;
}

#endif
