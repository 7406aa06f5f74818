/* SPDX-License-Identifier: MIT */
/*
 * arch.h - the porting contract: what each architecture folder has for the runtime
 *
 * Each arch/<name>/ has the same files: encode.h (pure instruction encodings, shared with the session),
 * syscall.h (raw system calls), atomic.h, entry.S (blob entry, agent clone), syscall.S, trace.S (handlers),
 * ring.S (rseq sections), hook.S (system call and unwinder hooks). This header picks the folder and states
 * each obligation.
 *
 * Thunks and handlers, x86_64; others in their patch.h. A thunk is per object and lies within branch reach of
 * its text; it loads one constant and jumps to the common handler, wherever the blob is:
 *
 *	thunk:	push %rax; mov $K,%eax; jmp *target(%rip)
 *
 *   site kind, state          site            goes to            handler entered with
 *   entry, FUNCTION           call func thunk                    (rsp)=rax 8(rsp)=site+len 16(rsp)=parent
 *   mcount, FUNCTION          call mfunc thunk                   (rsp)=rax 8(rsp)=site+len, parent at 8(%rbp)
 *   entry, GRAPH              jmp stub        call enter thunk   (rsp)=rax 8(rsp)=stub+5   16(rsp)=parent
 *                                             call site+len      body; its return address fills the slot
 *                                             jmp exit thunk     rsp = slot + 8, result registers live
 *   mcount, GRAPH             call stub       call menter thunk  (rsp)=rax 8(rsp)=stub+5 16(rsp)=site+len,
 *                                             ret                parent's slot is 8(%rbp)
 *
 * Stub of an entry site (UFT_STUB_BYTES): call enter; call site+len; jmp exit; byte of enum uft_site_flags.
 * Stub of a mcount site: call menter; ret; zeros; the flags byte last (offset 15) as well.
 * K for text ids: id = (uint32_t)((site+len) >> 2) - K; for stub ids: id = (uint32_t)(stub >> 4) - K. What thunks
 * load is UFT_THUNK_K(): the same subtraction gives the record's kind in the four bits above the id.
 * The exit thunk is `jmp *target(%rip)` alone. The balanced enter handler returns with `ret $8` after the
 * parent went to the shadow stack, or, declined, leaves the parent in place and continues at site+len
 * (the target of the stub's second call).
 */
#ifndef UFT_ARCH_H
#define UFT_ARCH_H

#include <stdint.h>

#if defined(__x86_64__)
#include "runtime/arch/x86_64/encode.h"
#include "runtime/arch/x86_64/syscall.h"
#include "runtime/arch/x86_64/atomic.h"
#include "runtime/arch/x86_64/rseq.h"
#elif defined(__aarch64__)
#include "runtime/arch/arm64/encode.h"
#include "runtime/arch/arm64/syscall.h"
#include "runtime/arch/arm64/atomic.h"
#include "runtime/arch/arm64/rseq.h"
#include "runtime/arch/arm64/frame.h"
#include "runtime/arch/arm64/patch.h"
#elif defined(__riscv) && __riscv_xlen == 64
#include "runtime/arch/riscv64/encode.h"
#include "runtime/arch/riscv64/syscall.h"
#include "runtime/arch/riscv64/atomic.h"
#include "runtime/arch/riscv64/rseq.h"
#include "runtime/arch/riscv64/frame.h"
#include "runtime/arch/riscv64/patch.h"
#else
#error "uft: no runtime for this architecture yet"
#endif

#define UFT_THUNK_K(k, kind)	((k) - ((uint32_t)(kind) << 28))

/*
 * Handlers that thunks jump to (trace.S). Assembly only: never called from C.
 *
 * Pre: a thunk has loaded its constant (ARCH_THUNK_K() where instructions are words); everything else is as at the
 * site. Post, for all handlers: registers that a caller of the function, or its body, may rely on are as they were. Of
 * the program's memory only the stack below its own was written, and that was probed before anything changed.
 *   func, mcount_func		control is behind the site, one FUNC record or none was written
 *   graph_enter		accepted: the parent is in a shadow entry named by the slot, and the body's
 *				return leads to the stub;
 *				declined: the body runs as if called by the parent
 *   mcount_graph		accepted: the same, and the address in the slot is the stub's or
 *				uft_asm_mcount_return; control is behind the site in both cases
 *   graph_exit, mcount_return	control is at the parent of the entry with this slot, which is popped; results live
 * A fast handler may end in the slow one's C code at any point before its commit: until then nothing has changed that
 * the C code needs.
 */
extern const char uft_asm_func[], uft_asm_mcount_func[], uft_asm_func_slow[];	/* slow: without rseq (x86_64) */
extern const char uft_asm_graph_enter[], uft_asm_graph_exit[];		/* fast: plain graph tracer */
extern const char uft_asm_graph_enter_slow[], uft_asm_graph_exit_slow[];	/* roots, events: through C */
extern const char uft_asm_mcount_graph[], uft_asm_mcount_return[];
/* ARCH_HAS_LIMITS: the fast handlers with a depth limit, or with a threshold and perhaps a depth limit. */
extern const char uft_asm_graph_enter_depth[], uft_asm_graph_enter_thresh[], uft_asm_graph_exit_thresh[];
/* ARCH_HAS_SUMS: for the profile only, perhaps with a depth limit; mcount's sites go through C. */
extern const char uft_asm_graph_enter_profile[], uft_asm_graph_exit_profile[];
/*
 * ARCH_HAS_BESIDE: several tracers want calls, and the number in the stub tells which (runtime.h); the graph of
 * mcount's sites goes through C.
 */
extern const char uft_asm_graph_enter_func[], uft_asm_graph_exit_func[], uft_asm_profile_enter_func[];
extern const char uft_asm_graph_enter_sums[], uft_asm_graph_exit_sums[];
extern const char uft_asm_func_beside[], uft_asm_mcount_func_beside[];
/* ARCH_HAS_COUNTS: these read no clock (ring.c). */
extern const char uft_asm_func_counts[], uft_asm_graph_enter_counts[], uft_asm_graph_exit_counts[];
extern const char uft_asm_mcount_func_counts[], uft_asm_mcount_graph_counts[];
extern const char uft_asm_mcount_graph_depth[], uft_asm_mcount_graph_thresh[];

/*
 * Compare-and-swap of a word that may be unmapped at any moment: 1 done, 0 not (swap.S). Where there are signals, the
 * caller's handler for SIGSEGV and SIGBUS is uft_asm_on_fault, its restorer uft_asm_sigreturn (syscall.S).
 */
int uft_asm_swap8(uint64_t *at, uint64_t from, uint64_t to);
extern const char uft_asm_on_fault[], uft_asm_sigreturn[];

/*
 * Hooks (hook.S). Hook stubs, built by patch/bytes/hook.c, call these with everything preserved (where instructions
 * are words: patch.h, patch/words/hook.c):
 *   syscall hook stub:  lea -128(%rsp),%rsp; call uft_asm_hook_syscall_pre via pointer; lea 128(%rsp),%rsp;
 *                       mov $nr,%eax (not mlockall: pre chooses); [exec: syscall; post hook]; jmp back
 *   fork, clone, clone3, or of any number (mov 8(%rsp),%r9):
 *                       the moved instruction; clc; the same by uft_asm_hook_syscall_any; jc 1f; jmp back;
 *                       1: jmp behind the syscall
 *   unwind hook stub:   call uft_asm_hook_unwind via pointer; moved instructions; jmp back
 * eax holds the system call number at pre; the kernel's argument registers are live. */
extern const char uft_asm_hook_syscall_pre[], uft_asm_hook_syscall_post[], uft_asm_hook_unwind[], uft_asm_hook_rbrk[];
/* carry set: it has made the call; flags, rcx and r11 are lost, as in the call */
extern const char uft_asm_hook_syscall_any[];
extern const char uft_asm_hook_fork[];		/* the same where instructions are words: for forks only (patch.h) */
extern const char uft_asm_hook_find_fde[];	/* or it goes straight back to the hooked function's caller */

#endif
