/* SPDX-License-Identifier: MIT */
/* order.h - ordered accesses: the compiler's, under names that tell the order; for arch/NAME/atomic.h. Context: any */
#ifndef UFT_ARCH_ORDER_H
#define UFT_ARCH_ORDER_H

#define uft_load(p)		__atomic_load_n((p), __ATOMIC_RELAXED)
#define uft_load_acquire(p)	__atomic_load_n((p), __ATOMIC_ACQUIRE)
#define uft_store(p, v)		__atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define uft_store_release(p, v)	__atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define uft_add(p, v)		__atomic_fetch_add((p), (v), __ATOMIC_RELAXED)
/* 1 when *p was `old` and is now `new`. */
#define uft_cas(p, old, new)								\
	({										\
		__typeof__(*(p)) uft_old_ = (old);					\
		__atomic_compare_exchange_n((p), &uft_old_, (new), 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE); \
	})
#define uft_fence()		__atomic_thread_fence(__ATOMIC_ACQ_REL)
/* Orders what the compiler emits, not the CPU: against a signal handler of the same task. */
#define uft_barrier()		__asm__ volatile("" ::: "memory")

#endif
