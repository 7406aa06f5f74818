/* SPDX-License-Identifier: MIT */
/*
 * words.h - common to arm64 and riscv64: these have no instructions for copies, and none that changes memory at once
 *
 * Copies use no vector registers; the barrier keeps the compiler from making memcpy() of a loop. The arch_local_*() are
 * atomic against handlers of the same task and, because no cheaper way exists, against all other tasks. Context: any.
 */
#ifndef UFT_ARCH_WORDS_H
#define UFT_ARCH_WORDS_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/arch/order.h"

static inline void arch_copy(void *to, const void *from, size_t n)
{
	unsigned char *d = to;
	const unsigned char *s = from;

	for (; n >= 8 && !(((uintptr_t)d | (uintptr_t)s) & 7); n -= 8, d += 8, s += 8) {
		*(uint64_t *)d = *(const uint64_t *)s;
		uft_barrier();
	}
	for (; n; n--) {
		*d++ = *s++;
		uft_barrier();
	}
}

static inline void arch_fill(void *to, int c, size_t n)
{
	unsigned char *d = to;

	for (; n >= 8 && !((uintptr_t)d & 7); n -= 8, d += 8) {
		*(uint64_t *)d = 0x0101010101010101ull * (unsigned char)c;
		uft_barrier();
	}
	for (; n; n--) {
		*d++ = (unsigned char)c;
		uft_barrier();
	}
}

static inline int arch_local_cas(void *at, uint64_t old, uint64_t v)
{
	return __atomic_compare_exchange_n((uint64_t *)at, &old, v, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

static inline void arch_local_or32(uint32_t *at, uint32_t v)
{
	__atomic_fetch_or(at, v, __ATOMIC_RELAXED);
}

static inline void arch_local_clear32(uint32_t *at, uint32_t v)
{
	__atomic_fetch_and(at, ~v, __ATOMIC_RELAXED);
}

static inline void arch_local_add64(uint64_t *at, uint64_t v)
{
	__atomic_fetch_add(at, v, __ATOMIC_RELAXED);
}

#endif
