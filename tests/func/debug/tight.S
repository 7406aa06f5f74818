/* SPDX-License-Identifier: MIT */
/* tight.S - functions at whose entry no jump fits: back to back, and no padding within reach of a short one */
	.text
.macro func name
	.globl	\name
	.type	\name, @function
\name:
	.cfi_startproc
.endm
.macro end name
	.cfi_endproc
	.size	\name, . - \name
.endm

	.p2align 4
func far_before			/* what lies before it is out of reach */
	.fill	80, 2, 0xc031		/* xor %eax, %eax */
	ret
end far_before
func next			/* one instruction of three bytes, and the end */
	lea	1(%rdi), %eax
	ret
end next
func same
	mov	%edi, %eax
	ret
end same
func count			/* a loop whose head is byte 1, and what stands there would be a displacement of next to nothing */
	cld
1:	.byte	0x05, 0, 0, 0, 0	/* add $0, %eax */
	mov	%edi, %eax
	dec	%sil
	jnz	1b
	ret
end count
func onward			/* nothing but a jump */
	jmp	next
end onward
func forward			/* a call of what is not near, whose return address is seen */
	push	%rdi
	call	next
	pop	%rdi
	ret
end forward
func nothing
	ret
end nothing
func far_behind
	.fill	80, 2, 0xc031		/* xor %eax, %eax */
	ret
end far_behind
	.section .note.GNU-stack, "", @progbits
