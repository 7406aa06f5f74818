/* SPDX-License-Identifier: MIT */
/*
 * platform.h - functions that a host must give the runtime
 *
 * A host is whatever runs the traced code: Linux processes (platform/linux/), or a program or small kernel that the
 * runtime is linked into (platform/bare/). It gives memory, also within branch reach of code, a way to write code, a
 * way to make every CPU see the written code, the identity of the running task and whether other tasks run, a way to
 * block interrupts for a while, and a way to wait. patch/, ring/, trace/ and the channel of commands and requests
 * (agent/command.c, request.c) use no other functions of the host. The clock is the architecture's (arch_clock()).
 *
 * Unless a contract says otherwise: context control or init, one caller at a time, 0 or a negative errno. Context probe
 * means any thread at any point: the function takes no lock that its caller may hold, and changes nothing of the
 * program.
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
 * plat_lock_others - mlock() every mapping except the runtime's
 * @large: lists mappings of the runtime that are never to be locked (the others may be locked where no limit applies).
 *	Sets *lo and *hi to the first piece that ends above @at, which may begin below @at, and returns 1; 0: none.
 *	*lo and *hi come in as the end of the range that is asked for.
 * @on_fault: make no pages now
 * @is_future: mappings may come locked by now, and shall not any more
 *
 * 0; -ENOMEM: more than the process may lock, and nothing was locked; another -errno: the mappings cannot be listed.
 * Context: any.
 */
typedef int plat_ours_fn(uintptr_t at, uintptr_t *lo, uintptr_t *hi);
int plat_lock_others(plat_ours_fn *large, int on_fault, int is_future);
/* 1: from now on new mappings may come locked, for good; 0: asks only. Returns the state before. Context: any. */
int plat_expect_locks(int from_now);

/* Zeroed private memory, populated when touched; NULL: none. Context: probe, with signals blocked. */
void *plat_map(size_t bytes);
void plat_unmap(void *at, size_t bytes);
/*
 * The same for memory reserved for the worst case: no page of it is made before it is touched, whatever the program
 * locks.
 */
void *plat_map_sparse(size_t bytes);
/*
 * Zeroed memory for as long as the process lives, aligned to 16, in any size (alloc.c); NULL: none. It cannot be freed,
 * because it describes objects and hooks, whose code may still be executed. Context: control.
 */
void *plat_alloc(size_t bytes);
/*
 * Makes whole pages of plat_map*() read 0 in a fork child, because they have the parent's data. 0, or -errno: not
 * possible.
 */
int plat_wipe_on_fork(uintptr_t at, size_t bytes);
/* Lists the memory that the host has mapped for the runtime, at most @max pieces; returns how many there are. */
struct uft_owned;
uint32_t plat_list_owned(struct uft_owned *to, uint32_t max);
/* Frees whole pages of plat_map*() that are not needed; they read 0 when they are touched again. Context: probe. */
void plat_discard(uintptr_t at, size_t bytes);
/* Makes the pages that hold [lo, hi), private and writable memory, at once. A hint. */
void plat_populate(uintptr_t lo, uintptr_t hi);
/*
 * Makes whole pages of a shared mapping before they are written; their content stays. 0, also if the kernel cannot be
 * asked; -ENOMEM: there is no memory for them. Context: probe.
 */
int plat_reserve(uintptr_t lo, size_t bytes);
/* The reverse: frees whole pages of a shared mapping, for all processes that have it. */
void plat_give_back(uintptr_t lo, size_t bytes);
/*
 * Makes every thread that is in an rseq section begin it again. 0, or -errno: the host cannot do that. Context:
 * control.
 */
int plat_restart_sections(void);

/**
 * plat_map_near - private memory that code in [lo, hi) reaches by a 32-bit displacement, and that reaches it
 * @lo, @hi:	the code
 * @bytes:	size; address space is taken at once, memory when touched
 * @prot:	enum plat_prot
 * @out:	address
 *
 * It lies below the code if there is room (the heap of a program grows above it), else as far above it as reach allows,
 * and never where the program may map by MAP_FIXED later (plat_growth()). With PLAT_CLOSE it lies wherever it is
 * closest, except where the heap will grow. -ENOMEM: no room in reach.
 */
int plat_map_near(uintptr_t lo, uintptr_t hi, size_t bytes, int prot, uintptr_t *out);

/* The same at exactly @at; -EEXIST: other memory is there, which is never replaced. */
int plat_map_at(uintptr_t at, size_t bytes, int prot);

/*
 * Memory where the heap and the stack will grow, and memory in reach of @code that programs take without a look: a
 * mapping there would stop them, or be lost. 0, or -errno: not known.
 */
#define PLAT_NGROWTH	3u
struct plat_growing { uintptr_t lo, hi; };
int plat_growth(uintptr_t code, struct plat_growing r[PLAT_NGROWTH]);

/* Changes the protection (enum plat_prot) of whole pages that plat_map_near() or plat_map_at() gave. */
int plat_protect(uintptr_t at, size_t bytes, int prot);

/*
 * The program asks for limits, or sets them. 1: this function made the call, with *result, because the limit also
 * counts memory that is not the program's; 0: the caller makes the call. Context: probe.
 */
struct plat_limit_call {
	int pid;		/* as the program names it, 0: itself */
	uint32_t resource;
	int is_guest;		/* a vfork child: it has its parent's memory, and limits of its own */
	const void *to;		/* the program's memory; NULL: none */
	void *was;
};
int plat_limit_call(const struct plat_limit_call *c, long *result);
/* Before an exec the soft limit becomes the program's own; after one that failed it is raised again. Context: probe. */
void plat_limit_exec(int has_failed);
void plat_limit_end(void);	/* the runtime's memory goes next: the limits are the program's alone again. control */

/* ---- reading memory that may not be mapped --------------------------------------------------------------- */

/*
 * Like memcpy from @addr, but -EFAULT instead of a fault; -ENOSYS, -EPERM: the host does not permit it. With
 * UFT_DENIED_PEEK the function checks the page first, and faults if another thread unmaps it between the check and the
 * reading. Context: probe.
 */
int plat_peek(const void *addr, void *to, uint32_t bytes);
/*
 * Reads many pieces to @to, one behind the other. Returns how many bytes were read, up to the first piece that is not
 * mapped; -errno.
 */
struct plat_range { uint64_t at, bytes; };
long plat_peek_ranges(const struct plat_range *from, uint32_t n, void *to);
/*
 * Writes a word where a program's stack is, or was: -EFAULT if it is not mapped any more. Other threads find the old
 * word or the new one. Context: probe.
 */
int plat_poke(uint64_t addr, uint64_t word);
/*
 * Writes many words, in this order. Returns how many bytes were written, up to the first word that is not mapped;
 * -errno.
 */
long plat_poke_ranges(const struct plat_range *to, uint32_t n, const uint64_t *words);
/*
 * Can the 8 bytes at @addr be read? For memory that stays mapped until it was read. It makes no call for which a filter
 * may end the program, which plat_peek() may. Context: probe.
 */
int plat_is_readable(const void *addr);

/* ---- writing code -------------------------------------------------------------------------------- */

/*
 * A window makes code writable for a while. Code stays executable all the time: other threads run in it. While a window
 * is `direct` its bytes are written by plain stores; where the host forbids memory that is writable and executable they
 * are written by plat_text_poke(). Opening and closing a window each order everything before them against everything
 * after them, as a fork of the process sees it (patch/bytes/batch.c relies on that).
 */
struct plat_window {
	uintptr_t lo, hi;	/* whole pages */
	int prot;		/* before, and again afterwards */
	int is_direct;
};

/*
 * Protection (enum plat_prot bits) of the mapping that holds @at, and its limits; -ENOENT: there is no mapping;
 * -ENOSYS: there is one, but the host does not tell the protection (limits: the page).
 */
int plat_text_segment(uintptr_t at, uintptr_t *lo, uintptr_t *hi);
/*
 * -EFAULT: not all of it is mapped; -EACCES: it cannot be written in any way. @prot: the present protection; negative:
 * not known, then the window is never direct. @no_mprotect: the host is known to forbid it, so do not try.
 */
int plat_text_open(struct plat_window *w, uintptr_t lo, uintptr_t hi, int prot, int no_mprotect);
void plat_text_close(struct plat_window *w);
/* The order alone: a fork child that has a write made after it also has all writes made before it. */
void plat_order_forks(void);
/*
 * Writes @n bytes into an open window that is not direct. The kernel writes bytes of one aligned 8-byte word by one
 * access. -EACCES, -EFAULT.
 */
int plat_text_poke(uintptr_t at, const void *bytes, size_t n);
/*
 * Opens now, and keeps, the descriptor that plat_text_poke() needs, for tasks that will lose the right to open it.
 * Returns the descriptor (the caller never closes it) or -errno. Per descriptor table: call it in the task that
 * patches.
 */
int plat_text_keep(void);
/* Forgets that descriptor without closing it, because a fork child has another descriptor table. Context: probe. */
void plat_text_forget(void);

/* ---- calls that filters forbid ---------------------------------------------------------------------- */

/*
 * From now on no thread of the program makes these system calls in plat_*(), because a seccomp filter would end it
 * (enum uft_denied). Each function's contract tells what it does instead. Bits are added, and a fork child has its
 * parent's. Context: probe.
 */
void plat_deny(uint32_t calls);
int plat_is_denied(uint32_t calls);	/* any of them */

/* ---- synchronise CPUs --------------------------------------------------------------------------- */

int plat_sync_init(void);
/* When it returns, every other CPU that runs this address space has executed a serialising instruction. */
void plat_sync_cores(void);

/* ---- tasks ------------------------------------------------------------------------------------ */

/**
 * plat_is_quiet - make sure that no thread can run program code before the caller lets it
 * @pid:	the process (the caller may be a task of another one that shares its memory)
 * @pc:		gets the program counters of its tasks, the caller excepted
 * @max:	room in @pc
 *
 * A task counts as quiet if it is stopped by a tracer, or blocked in a system call made by the runtime's own code (it
 * waits for the session's answer). Returns the number of tasks, or -EBUSY: a thread may run; -ENOSYS: the host does not
 * tell.
 */
int plat_is_quiet(int pid, uintptr_t *pc, int max);
/* the number of @pid in the /proc that is mounted, which may be another pid namespace's; -errno */
int plat_proc_pid(int pid);
int plat_parent(void);		/* parent of the caller's process; 0: not in the caller's namespace, or unknown */
uint64_t plat_pid_ns(void);	/* inode of the caller's pid namespace; 0 unknown */

/*
 * Numbers of the caller: of all tasks that share its memory as a process, and its own. Both are above 0, and no two
 * living tasks have the same. A host without processes has one. plat_quiet_tid() is for the program's threads under any
 * filter, which may end them for the call that plat_tid() makes. Context: probe.
 */
int plat_pid(void);
int plat_tid(void);
int plat_quiet_tid(void);
/* 1: no task has this number any more; 0 also if that cannot be known. Context: probe. */
int plat_is_gone(uint32_t tid);

/* The CPU that the caller is on, or was a moment ago; any number if the host does not tell. Context: probe. */
uint32_t plat_cpu(void);
/* CPU time that the calling thread has used; 0: not known. Context: probe. */
uint64_t plat_cpu_ns(void);
/*
 * The caller's scheduling policy, and in the upper half its priority as Linux counts it: 99 - rt_priority, or 120 +
 * nice. 0: not known.
 */
uint64_t plat_policy(void);

/* Does a file of this name exist, by the real user's rights? -ENOENT, -ENOTDIR: no. Context: probe. */
int plat_look_up(const char *path);

/* ---- interrupts ----------------------------------------------------------------------------- */

/*
 * Between these two calls the calling thread runs no code of the program except by its own calls: signals of a process
 * or interrupts of a kernel are blocked. *mask is for the host: the state before, in Linux's form where events show it.
 * Pairs nest. Context: probe.
 */
void plat_signals_block(uint64_t *mask);
void plat_signals_restore(const uint64_t *mask);
/* The mask of signals that are blocked now. */
int plat_signals_get(uint64_t *mask);

/*
 * The stack on which signal handlers of the calling thread run, if it has a separate one. Events ask
 * thread_signal_stack(). Context: probe.
 */
struct plat_stack {
	uint64_t lo, bytes;	/* bytes 0: none */
	int is_on;		/* the caller is on it */
};
int plat_signal_stack(struct plat_stack *s);

/* ---- waiting ------------------------------------------------------------------------------------- */

/*
 * Returns when *word is not @val, when another thread wakes it, or when @ns have passed (-ETIMEDOUT); also without a
 * reason. The word may be shared with other processes. A host that cannot sleep lets others run and returns -ETIMEDOUT.
 * Context: probe.
 */
int plat_wait(uint32_t *word, uint32_t val, uint64_t ns);
/*
 * Wakes up to @n waiting threads; returns how many. If the word changes before the wake, no waiter is missed. Context:
 * probe.
 */
int plat_wake(uint32_t *word, int n);
void plat_nap(uint64_t ns);

#endif
