/* SPDX-License-Identifier: MIT */
/*
 * call.h - x86_64: what the start-up pass must know of the machine
 *
 * An architecture gives: start_syscall() and the numbers, START_INSN_ALIGN, start_skip_landing(),
 * start_call_len(), start_put_nop(); and beside this file fentry.S, mcount.S and gmon.S.
 */
#ifndef UFT_START_CALL_H
#define UFT_START_CALL_H

#include <asm/unistd.h>
#include <stdint.h>

#define START_NR_mprotect	__NR_mprotect
#define START_NR_newfstatat	__NR_newfstatat
#define START_INSN_ALIGN	1

static inline long start_syscall(long nr, long a, long b, long c, long d)
{
	register long r10 __asm__("r10") = d;
	long ret;

	__asm__ volatile("syscall" : "=a"(ret) : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
	return ret;
}

static inline int32_t start_rel32(const uint8_t *p)
{
	return (int32_t)(p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24);
}

/* Past an endbr64 (-fcf-protection). */
static inline const uint8_t *start_skip_landing(const uint8_t *p, const uint8_t *end)
{
	return end - p >= 4 && p[0] == 0xf3 && p[1] == 0x0f && p[2] == 0x1e && p[3] == 0xfa ? p + 4 : p;
}

/*
 * Length of the instruction at @p if it is a call of @target, else 0:
 *	e8 rel32	call target
 *	67 e8 rel32	addr32 call target: what linkers make of the next one
 *	ff 15 rel32	call *slot(%rip), slot within low..high and filled in by now
 */
static inline unsigned start_call_len(const uint8_t *p, const uint8_t *end, uintptr_t target, uintptr_t low,
				      uintptr_t high)
{
	uintptr_t slot;

	if (end - p >= 5 && p[0] == 0xe8 && (uintptr_t)p + 5 + start_rel32(p + 1) == target)
		return 5;
	if (end - p < 6)
		return 0;
	if (p[0] == 0x67 && p[1] == 0xe8 && (uintptr_t)p + 6 + start_rel32(p + 2) == target)
		return 6;
	if (p[0] != 0xff || p[1] != 0x15)
		return 0;
	slot = (uintptr_t)p + 6 + start_rel32(p + 2);
	return !(slot & 7) && slot >= low && slot <= high - 8 && *(const uintptr_t *)slot == target ? 6 : 0;
}

/* 66 (at length 6) 0f 1f 44 00 00: one instruction, the same that the runtime and recordmcount put there. */
static inline void start_put_nop(volatile uint8_t *p, unsigned len)
{
	if (len == 6)
		*p++ = 0x66;
	p[0] = 0x0f;
	p[1] = 0x1f;
	p[2] = 0x44;
	p[3] = 0x00;
	p[4] = 0x00;
}

#endif
