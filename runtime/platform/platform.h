/* SPDX-License-Identifier: MIT */
/*
 * platform.h - functions that a host must give the runtime
 *
 * A host is whatever runs the traced code: Linux processes (platform/linux/), later small kernels. Asked of
 * it are memory, also within branch reach of code, a way to write code, a way to make every CPU see what was
 * written, who is running and whether anybody is, that nothing interrupts for a while, and a way to wait.
 * patch/, ring/, trace/ and the channel of commands and requests (agent/command.c, request.c) ask nobody
 * else. The clock is the architecture's (arch_clock()).
 *
 * Unless a contract says otherwise: context control or init, one caller at a time, 0 or a negative errno.
 * Context probe means any thread at any point: no lock is taken that its caller may hold, and nothing of the
 * program is changed.
 */
#ifndef UFT_PLATFORM_H
#define UFT_PLATFORM_H

#include <linux/errno.h>
#include <stddef.h>
#include <stdint.h>

#define PLAT_PAGE	4096ul
#define PLAT_PAGE_DOWN(x) ((uintptr_t)(x) & ~(PLAT_PAGE - 1))
#define PLAT_PAGE_UP(x)	PLAT_PAGE_DOWN((uintptr_t)(x) + PLAT_PAGE - 1)

enum plat_prot { PLAT_READ = 1, PLAT_WRITE = 2, PLAT_EXEC = 4,	/* mmap(2)'s own values */
		 PLAT_CLOSE = 0x100	/* plat_map_near(): see there */ };

/* ---- memory -------------------------------------------------------------------------------------- */

/**
 * plat_lock_others - mlock() every mapping but ours
 * @large:	what of ours is never to be locked (the rest may be where nothing limits it): the first piece
 *		that ends above @at: 1 and its range, which may begin below @at; 0: none. *lo and *hi come in as
 *		the end of what is asked for.
 * @on_fault:	make no pages now
 * @is_future:	what is mapped may come locked by now, and shall not any more
 *
 * 0; -ENOMEM: more than the process may lock, nothing was; another -errno: the mappings cannot be listed. Context: any.
 */
typedef int plat_ours_fn(uintptr_t at, uintptr_t *lo, uintptr_t *hi);
int plat_lock_others(plat_ours_fn *large, int on_fault, int is_future);
/* 1: from now on new mappings may come locked, for good; 0: asks only. Returns the state before. Context: any. */
int plat_expect_locks(int from_now);

/* Zeroed private memory, populated when touched; NULL: none. Context: probe, with signals blocked. */
void *plat_map(size_t bytes);
void plat_unmap(void *at, size_t bytes);
/*
 * The same for what is reserved for the worst case: no page of it is made before it is touched, whatever the
 * program locks.
 */
void *plat_map_sparse(size_t bytes);
/*
 * Zeroed memory for as long as the process lives, aligned to 16, in any size (alloc.c); NULL: none. Context:
 * control. There is no way back: it describes objects and hooks, which code may still run through.
 */
void *plat_alloc(size_t bytes);
/*
 * Whole pages of plat_map*() read 0 in a fork child: what is not the child's may stand there. 0, or -errno:
 * not to be had.
 */
int plat_wipe_on_fork(uintptr_t at, size_t bytes);
/* Lists what the host has mapped for the runtime, @max pieces at most; returns how many there are. */
struct uft_owned;
uint32_t plat_list_owned(struct uft_owned *to, uint32_t max);
/* Whole pages of plat_map*() are not needed and read 0 when they are touched again. Context: probe. */
void plat_discard(uintptr_t at, size_t bytes);
/* Makes the pages that hold [lo, hi), which are private and writable, at once. A hint. */
void plat_populate(uintptr_t lo, uintptr_t hi);
/*
 * Whole pages of a shared mapping are there before they are written; what stands in them stays. 0, also where the
 * kernel cannot be asked; -ENOMEM: there is no memory for them. Context: probe.
 */
int plat_reserve(uintptr_t lo, size_t bytes);
/* The contrary: whole pages of a shared mapping go, for all who have it. */
void plat_give_back(uintptr_t lo, size_t bytes);
/* No rseq section that any thread is in goes on; 0, or -errno: the host cannot say so. Context: control. */
int plat_restart_sections(void);

/**
 * plat_map_near - private memory that code in [lo, hi) reaches by a 32-bit displacement, and that reaches it
 * @lo, @hi:	the code
 * @bytes:	size; address space is taken at once, memory when touched
 * @prot:	enum plat_prot
 * @out:	address
 *
 * Below the code if there is room (the heap of a program grows above it), else as far above it as reach
 * allows, and not where the program may map by MAP_FIXED later (plat_growth()); with PLAT_CLOSE wherever it
 * is closest, but where the heap will grow. -ENOMEM: no room in reach.
 */
int plat_map_near(uintptr_t lo, uintptr_t hi, size_t bytes, int prot, uintptr_t *out);

/* The same at exactly @at; -EEXIST: something is there already. Nothing is ever replaced. */
int plat_map_at(uintptr_t at, size_t bytes, int prot);

/*
 * Where the heap and the stack will grow, and what in reach of @code is taken by whoever wants it without a
 * look: a mapping there would stop them, or be lost. 0, or -errno: not known.
 */
#define PLAT_NGROWTH	3u
struct plat_growing { uintptr_t lo, hi; };
int plat_growth(uintptr_t code, struct plat_growing r[PLAT_NGROWTH]);

/* Another protection (enum plat_prot) for whole pages that plat_map_near() or plat_map_at() gave. */
int plat_protect(uintptr_t at, size_t bytes, int prot);

/*
 * The program asks for limits, or sets them: 1 and the call's result if this made the call, as the limit is one of
 * memory that is not all the program's; 0: the call is to be made. Context: probe.
 */
struct plat_limit_call {
	int pid;		/* as the program names it, 0 itself */
	uint32_t resource;
	int is_guest;		/* a vfork child: it has its parent's memory, and limits of its own */
	const void *to;		/* the program's memory; NULL none */
	void *was;
};
int plat_limit_call(const struct plat_limit_call *c, long *result);
void plat_limit_end(void);	/* all that is ours goes next: the limits are the program's alone again. control */

/* ---- reading what may not be there --------------------------------------------------------------- */

/*
 * Like memcpy from @addr, but -EFAULT instead of a fault; -ENOSYS, -EPERM: the host does not let us. With
 * UFT_DENIED_PEEK the page is looked at first, and what another thread unmaps between that and the reading
 * faults. Context: probe.
 */
int plat_peek(const void *addr, void *to, uint32_t bytes);
/*
 * Many pieces, one behind the other to @to. Returns how many bytes were read: up to the first piece that is
 * not there; -errno.
 */
struct plat_range { uint64_t at, bytes; };
long plat_peek_ranges(const struct plat_range *from, uint32_t n, void *to);
/*
 * Writes a word where a program's stack is, or was: -EFAULT if it is there no more. Other threads find the
 * old word or the new one. Context: probe.
 */
int plat_poke(uint64_t addr, uint64_t word);
/* Many, in this order. Returns how many bytes were written: up to the first word that is not there; -errno. */
long plat_poke_ranges(const struct plat_range *to, uint32_t n, const uint64_t *words);
/*
 * Can the 8 bytes at @addr be read? For what stays mapped until it was. Asked by nothing that a filter of the
 * program's may end it for, which plat_peek() may be. Context: probe.
 */
int plat_is_readable(const void *addr);

/* ---- writing code -------------------------------------------------------------------------------- */

/*
 * A window makes code writable for a while. Code stays executable all the time: other threads run in it. While a
 * window is `direct` its bytes are written by plain stores; where the host forbids memory that is writable and
 * executable they go through plat_text_poke(). Opening and closing a window each order everything before them
 * against everything after them as a fork of the process sees it (patch/bytes/batch.c relies on that).
 */
struct plat_window {
	uintptr_t lo, hi;	/* whole pages */
	int prot;		/* what it was, and will be again */
	int is_direct;
};

/* Protection (enum plat_prot bits) of the mapping that holds @at, and its limits; -ENOENT: there is none;
 * -ENOSYS: something is there, the host does not say what (limits: the page). */
int plat_text_segment(uintptr_t at, uintptr_t *lo, uintptr_t *hi);
/* -EFAULT: not all of it is mapped; -EACCES: cannot be written in any way. @prot: what it is now, negative: not
 * known, then it is never direct. @no_mprotect: the host is known to forbid it, do not try. */
int plat_text_open(struct plat_window *w, uintptr_t lo, uintptr_t hi, int prot, int no_mprotect);
void plat_text_close(struct plat_window *w);
/* The order alone: of what is written before it a fork child has all if it has anything that was written after it. */
void plat_order_forks(void);
/* Writes @n bytes into an open window that is not direct. Bytes of one aligned 8-byte word are written by one
 * access of the kernel. -EACCES, -EFAULT. */
int plat_text_poke(uintptr_t at, const void *bytes, size_t n);
/* Keeps what plat_text_poke() needs at hand: opened now, for tasks that will lose the right to. The descriptor
 * (never to be closed by the caller) or -errno. Per descriptor table: call it in the task that patches. */
int plat_text_keep(void);
/* Forgets the above without closing it: the descriptor table is another one now (fork child). probe. */
void plat_text_forget(void);

/* ---- what must not be asked ---------------------------------------------------------------------- */

/*
 * From now on no thread of the program makes these system calls in plat_*(), as a seccomp filter would end it
 * (enum uft_denied); what each function does instead is said there. Bits are added, and a fork child has its
 * parent's. Context: probe.
 */
void plat_deny(uint32_t calls);
int plat_is_denied(uint32_t calls);	/* any of them */

/* ---- every CPU sees it --------------------------------------------------------------------------- */

int plat_sync_init(void);
/* When it returns every other CPU that runs this address space has executed a serialising instruction. */
void plat_sync_cores(void);

/* ---- who runs ------------------------------------------------------------------------------------ */

/**
 * plat_is_quiet - no thread can run program code until we let them
 * @pid:	the process (the caller may be a task of another one that shares its memory)
 * @pc:		gets the program counters of its tasks, the caller excepted
 * @max:	room in @pc
 *
 * A task counts as quiet if it is stopped by a tracer, or blocked in a system call made by the runtime's own
 * code (it waits for the session's answer). Returns the number of tasks, or -EBUSY: a thread may run; -ENOSYS:
 * the host does not tell.
 */
int plat_is_quiet(int pid, uintptr_t *pc, int max);
int plat_proc_pid(int pid);	/* the number of @pid in /proc, which may be that of another pid namespace; -errno */
int plat_parent(void);		/* of the caller's process; 0: in no namespace of its own, or unknown */
uint64_t plat_pid_ns(void);	/* inode of the caller's pid namespace; 0 unknown */

/*
 * Numbers of who calls: of all that share its memory as a process, and its own. Above 0; no two that live
 * have the same. A host without processes has one. plat_quiet_tid() is for the program's threads wherever
 * they are: what they live under may end them for asking as plat_tid() does. Context: probe.
 */
int plat_pid(void);
int plat_tid(void);
int plat_quiet_tid(void);
/* 1: nobody has this number any more; 0 also where that cannot be known. Context: probe. */
int plat_is_gone(uint32_t tid);

/* The CPU that it is on, or was a moment ago; any number where the host does not say. Context: probe. */
uint32_t plat_cpu(void);
/* That the calling thread has used of CPUs; 0 not known. Context: probe. */
uint64_t plat_cpu_ns(void);
/*
 * Its scheduling policy, and in the upper half the priority as Linux counts: 99 - rt_priority, or 120 + nice.
 * 0: not known.
 */
uint64_t plat_policy(void);

/* Is there a file of this name, by the real user's rights? -ENOENT, -ENOTDIR: no. Context: probe. */
int plat_look_up(const char *path);

/* ---- what interrupts ----------------------------------------------------------------------------- */

/*
 * Between these two no code of the program runs on the calling thread but by its own calls: signals of a
 * process, interrupts of a kernel. *mask is for the host: what was so before, in Linux's form where events
 * show it. Pairs nest. Context: probe.
 */
void plat_signals_block(uint64_t *mask);
void plat_signals_restore(const uint64_t *mask);
/* The mask of signals that are blocked now. */
int plat_signals_get(uint64_t *mask);

/*
 * The stack that handlers of the calling thread run on, if it has one apart. Events ask
 * thread_signal_stack(). Context: probe.
 */
struct plat_stack {
	uint64_t lo, bytes;	/* bytes 0: there is none */
	int is_on;		/* the caller is on it */
};
int plat_signal_stack(struct plat_stack *s);

/* ---- waiting ------------------------------------------------------------------------------------- */

/*
 * Returns when *word is not @val, somebody wakes, or @ns have passed (-ETIMEDOUT); also for no reason. The
 * word may be shared with other processes. A host that cannot sleep lets others run and returns -ETIMEDOUT.
 * Context: probe.
 */
int plat_wait(uint32_t *word, uint32_t val, uint64_t ns);
/* Wakes @n of those that wait; how many. Who changed the word before it wakes misses nobody. Context: probe. */
int plat_wake(uint32_t *word, int n);
void plat_nap(uint64_t ns);

#endif
