/* SPDX-License-Identifier: MIT */
/*
 * shared.h - memory that a target maps: a word is read once, and more than a word is copied before it is used
 *
 * A pointer to such memory has uft_shared in its type. The target may write there at any moment, so only the copied
 * value is checked: code uses a value that SHARED_LOAD() or shared_read() returned, never the memory that the pointer
 * leads to. tests/check/shared.sh lets clang find pointers that are used directly. Context: any thread outside of
 * targets.
 */
#ifndef UFT_SYMBOL_SHARED_H
#define UFT_SYMBOL_SHARED_H

#include "uft/abi.h"

#include <stddef.h>
#include <string.h>

#ifdef UFT_CHECK_SHARED
#define uft_shared	__attribute__((noderef, address_space(1)))
#else
#define uft_shared
#endif

#define SHARED_LOAD(p)			__atomic_load_n(p, __ATOMIC_RELAXED)
#define SHARED_LOAD_ACQUIRE(p)		__atomic_load_n(p, __ATOMIC_ACQUIRE)
#define SHARED_STORE(p, value)		__atomic_store_n(p, value, __ATOMIC_RELAXED)
#define SHARED_STORE_ORDERED(p, value)	__atomic_store_n(p, value, __ATOMIC_SEQ_CST)
#define SHARED_STORE_RELEASE(p, value)	__atomic_store_n(p, value, __ATOMIC_RELEASE)
/* Replaces *@was by @value, if *@was is there; else sets *@was to the value that is there. */
#define SHARED_SWAP(p, was, value)	__atomic_compare_exchange_n(p, was, value, 0, __ATOMIC_ACQ_REL, \
	__ATOMIC_RELAXED)

/* For system calls by which the kernel reads and writes the memory (futex, madvise, mmap). */
static inline void *shared_address(const volatile void uft_shared *p)
{
	return (void *)(uintptr_t)p;
}

/* The barriers are for the compiler: it must not read the memory again after the copy. */
static inline void shared_read(void *to, const void uft_shared *from, size_t bytes)
{
	memcpy(to, shared_address(from), bytes);
	__asm__ volatile("" : : : "memory");
}

static inline void shared_write(void uft_shared *to, const void *from, size_t bytes)
{
	memcpy(shared_address(to), from, bytes);
	__asm__ volatile("" : : : "memory");
}

static inline void shared_clear(void uft_shared *at, size_t bytes)
{
	memset(shared_address(at), 0, bytes);
	__asm__ volatile("" : : : "memory");
}

/* Was that ring of the slice begun? A read of an unused ring would allocate its memory. */
static inline int shared_ring_is_used(const struct uft_slice uft_shared *slice, uint32_t ring)
{
	return uft_ring_is_used(shared_address(slice), ring);
}

#endif
