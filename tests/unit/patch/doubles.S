/* SPDX-License-Identifier: MIT */
/* doubles.S - handlers as arch.h demands them, that count and keep a simple shadow stack in TLS */

	.macro COUNT what
	lock incq \what(%rip)
	.endm

	.macro PUSH_PARENT	/* rdx = parent; clobbers rcx */
	mov	%fs:kit_shadow@tpoff, %rcx
	mov	%rdx, (%rcx)
	add	$8, %rcx
	mov	%rcx, %fs:kit_shadow@tpoff
	.endm

	.text
	.macro FUNC name, parent
	.globl	\name
	.hidden	\name
\name:
	push	%rcx			/* 0 rcx, 8 rax, 16 site+len, 24 parent */
	mov	16(%rsp), %rcx
	shr	$2, %rcx
	sub	%eax, %ecx
	and	$0xfffffff, %ecx	/* the kind stands above */
	mov	%rcx, kit_last_id(%rip)
	mov	\parent, %rcx
	mov	%rcx, kit_last_parent(%rip)
	COUNT	kit_funcs
	pop	%rcx
	pop	%rax
	ret
	.endm
	FUNC	uft_asm_func, 24(%rsp)
	FUNC	uft_asm_func_slow, 24(%rsp)
	FUNC	uft_asm_mcount_func, 8(%rbp)

	.macro ENTER name, counter
	.globl	\name
	.hidden	\name
\name:
	push	%rcx
	push	%rdx			/* 0 rdx, 8 rcx, 16 rax, 24 stub+5, 32 parent */
	mov	24(%rsp), %rcx
	shr	$4, %rcx
	sub	%eax, %ecx
	and	$0xfffffff, %ecx	/* the kind stands above */
	mov	%rcx, kit_last_id(%rip)
	mov	32(%rsp), %rdx
	mov	%rdx, kit_last_parent(%rip)
	PUSH_PARENT
	COUNT	\counter
	pop	%rdx
	pop	%rcx
	pop	%rax
	ret	$8
	.endm
	ENTER	uft_asm_graph_enter, kit_enters
	ENTER	uft_asm_graph_enter_slow, kit_slow_enters

	/* Not led to here. */
	.globl	uft_asm_graph_enter_depth, uft_asm_graph_enter_thresh, uft_asm_mcount_graph_depth, uft_asm_mcount_graph_thresh
	.hidden	uft_asm_graph_enter_depth, uft_asm_graph_enter_thresh, uft_asm_mcount_graph_depth, uft_asm_mcount_graph_thresh
	.globl	uft_asm_graph_exit_thresh, uft_asm_graph_enter_profile, uft_asm_graph_exit_profile
	.hidden	uft_asm_graph_exit_thresh, uft_asm_graph_enter_profile, uft_asm_graph_exit_profile
	.globl	uft_asm_func_counts, uft_asm_graph_enter_counts, uft_asm_graph_exit_counts
	.hidden	uft_asm_func_counts, uft_asm_graph_enter_counts, uft_asm_graph_exit_counts
	.irp	name, graph_enter_func, graph_exit_func, profile_enter_func, graph_enter_sums, graph_exit_sums, func_beside, mcount_func_beside
	.globl	uft_asm_\name
	.hidden	uft_asm_\name
uft_asm_\name:
	.endr
	.globl	uft_asm_mcount_func_counts, uft_asm_mcount_graph_counts
	.hidden	uft_asm_mcount_func_counts, uft_asm_mcount_graph_counts
uft_asm_graph_enter_depth:
uft_asm_graph_enter_thresh:
uft_asm_mcount_graph_depth:
uft_asm_mcount_graph_thresh:
uft_asm_graph_exit_thresh:
uft_asm_graph_enter_profile:
uft_asm_graph_exit_profile:
uft_asm_mcount_func_counts:
uft_asm_mcount_graph_counts:
uft_asm_func_counts:
uft_asm_graph_enter_counts:
uft_asm_graph_exit_counts:
	ud2

	.globl	uft_asm_graph_exit, uft_asm_graph_exit_slow, uft_asm_mcount_return
	.hidden	uft_asm_graph_exit, uft_asm_graph_exit_slow, uft_asm_mcount_return
uft_asm_graph_exit_slow:
	COUNT	kit_slow_exits
uft_asm_graph_exit:
uft_asm_mcount_return:
	sub	$8, %rsp
	push	%rcx
	push	%rdx
	mov	%fs:kit_shadow@tpoff, %rcx
	sub	$8, %rcx
	mov	%rcx, %fs:kit_shadow@tpoff
	mov	(%rcx), %rdx
	mov	%rdx, 16(%rsp)
	COUNT	kit_exits
	pop	%rdx
	pop	%rcx
	ret

	.globl	uft_asm_mcount_graph
	.hidden	uft_asm_mcount_graph
uft_asm_mcount_graph:
	push	%rcx
	push	%rdx			/* 0 rdx, 8 rcx, 16 rax, 24 stub+5, 32 site+len */
	mov	24(%rsp), %rcx
	shr	$4, %rcx
	sub	%eax, %ecx
	and	$0xfffffff, %ecx	/* the kind stands above */
	mov	%rcx, kit_last_id(%rip)
	mov	8(%rbp), %rdx
	mov	%rdx, kit_last_parent(%rip)
	PUSH_PARENT
	lea	uft_asm_mcount_return(%rip), %rdx
	mov	%rdx, 8(%rbp)
	COUNT	kit_enters
	pop	%rdx
	pop	%rcx
	pop	%rax
	ret

/* The program's own mcount or __fentry__: notes what it can see from its stack. */
	.globl	kit_own_mcount
	.hidden	kit_own_mcount
kit_own_mcount:
	push	%rcx
	mov	8(%rsp), %rcx
	mov	%rcx, kit_own_self(%rip)
	mov	16(%rsp), %rcx
	mov	%rcx, kit_own_parent(%rip)
	COUNT	kit_own_calls
	pop	%rcx
	ret

	.macro HOOK name, counter
	.globl	\name
	.hidden	\name
\name:
	pushfq
	COUNT	\counter
	popfq
	ret
	.endm
	HOOK	uft_asm_hook_syscall_pre, kit_hook_pre
	HOOK	uft_asm_hook_syscall_post, kit_hook_post
	HOOK	uft_asm_hook_unwind, kit_hook_unwind
	HOOK	uft_asm_hook_rbrk, kit_hook_rbrk
	HOOK	uft_asm_hook_find_fde, kit_hook_find

/* Makes the calls that are odd itself. */
	.globl	uft_asm_hook_syscall_any
	.hidden	uft_asm_hook_syscall_any
uft_asm_hook_syscall_any:
	COUNT	kit_hook_any
	test	$1, %al
	jz	1f
	syscall
	stc
1:	ret

	.section .note.GNU-stack, "", @progbits
