/* SPDX-License-Identifier: MIT */
/*
 * hook.c - handle system calls that make or replace tasks, and newly loaded objects
 *
 * Theory of thread pointers: thread.c. These functions run between two instructions of libc, with every register
 * saved (hook.S). They may wait for the session; they never change what the call does
 * (mlockall: mlock.c; limits of address space: platform/linux/limit.c; environment of an exec: exec_preload.c).
 */
#include <asm/unistd.h>
#include <linux/fcntl.h>
#include <linux/sched.h>

#include "runtime/ring/layout.h"
#include "runtime/trace/hooks/hooks.h"

/* distance from the argument registers, saved by hook.S, up to the stack pointer of the hooked code */
#define HOOK_FRAME_BYTES	(88 + 136)
#define HOOK_NR			9	/* index of the saved register with the call's number, or its result */
#define CLONE3_STACK		40	/* offsetof(struct clone_args, stack) */
#define CLONE3_TLS		56	/* tls */
#define NUNASKED		64
#define RDEBUG_STATE		24	/* offsetof(struct r_debug, r_state) */

/* Prepares for a vfork child, which will run on this thread pointer, too. */
static void hook_vfork(uint64_t sp)
{
	struct trace_task t;

	task_begin(&t);
	if (t.th && !t.guest) {
		/* In this order: a handler that comes in between must not heal the state (thread.c). */
		t.th->vfork_sp = sp;
		uft_barrier();
		arch_local_or32(&t.th->flags, TH_VFORK);
		uft_store(&t.th->tid, UFT_NO_TID); /* GUARD(hook_vfork_tid) */
		ring_forget(t.th->tp); /* GUARD(hook_vfork_ring_forget) */
	}
	task_end(&t);
}

static void hook_share(void)
{
	struct trace_task t;

	task_begin(&t);
	if (t.th)
		thread_share(&t);
	task_end(&t);
}

/* Reads memory of the program that is not checked yet. */
static int read_argument(const void *addr, uint64_t *to)
{
	if (!plat_is_readable(addr))
		return -EFAULT;
	*to = *(const volatile uint64_t *)addr;
	return 0;
}

/*
 * Marks a new thread's rseq area as uninitialized, as glibc defines it. glibc registers the area in start_thread(),
 * which may be traced. Until then it has zeros, or values of the last thread on that stack: a CPU, though the kernel
 * restarts no section there, and a record written meanwhile would destroy others in that CPU's ring. glibc's control
 * block is recognised by its two pointers to itself; no other memory is written.
 */
static void forget_rseq(uint64_t tp)
{
	const int64_t offset = uft_load(&uft_rt.rseq_offset);
	uint64_t self;

	if (!offset || read_argument((const uint64_t *)tp, &self) || self != tp ||
	    read_argument((const uint64_t *)tp + 2, &self) || self != tp)
		return;
	uft_store((uint32_t *)(tp + (uint64_t)offset + RSEQ_CPU_ID), (uint32_t)-1);
}

/* 1: it is a fork, and the runtime makes the call. A child on another stack (@stack) would not return here. */
static int hook_clone(uint64_t flags, uint64_t tls, uint64_t stack, uint64_t sp)
{
	if (!(flags & CLONE_VM))
		return !stack && spare_fork_begin();
	if (flags & CLONE_SETTLS && tls != arch_thread_pointer()) {
		struct trace_task t;

		task_begin(&t);
		thread_reset(&t, tls); /* GUARD(hook_clone_thread_reset) */
		task_end(&t);
		forget_rseq(tls);
		return 0;
	}
	if (flags & CLONE_VFORK)
		hook_vfork(sp); /* GUARD(hook_vforks) */
	else
		hook_share(); /* GUARD(hook_clone_hook_share) */
	return 0;
}

static int hook_clone3(const uint64_t *regs, uint64_t sp)
{
	const char *args = (const char *)regs[0];
	uint64_t flags, stack, tls = 0;

	if (read_argument(args, &flags) || read_argument(args + CLONE3_STACK, &stack))
		return 0;
	if (regs[1] < CLONE3_TLS + 8 || read_argument(args + CLONE3_TLS, &tls))
		flags &= ~(uint64_t)CLONE_SETTLS;
	return hook_clone(flags, tls, stack, sp);
}

/*
 * A search along PATH is many execve() of files that do not exist. Being seized and released for each cost 20 times the
 * call. So the session is not asked if there is no file to execute, nor told that the call failed. glibc's loader
 * begins every program with access(), so a filter that lets programs be executed permits it. A filter that refuses
 * execve(), logs it or reports it may end a caller of access() all the same: control/proc/seccomp.c keeps the runtime
 * out of such a program. A file that is made between the two calls is executed without the runtime.
 */
/* by tid: tasks, vfork children as well, that are in such a call. Of two with one place, one is reported in vain */
static uint32_t unasked[NUNASKED];

static uint32_t *unasked_at(uint32_t tid)
{
	return &unasked[tid % NUNASKED];
}

/* May the session be asked, and can the executed program live with the runtime, under the present filters? */
static int may_follow_exec(void)
{
	return !trace_is_out() && !plat_is_denied(UFT_DENIED_ASK | UFT_DENIED_CHILDREN);
}

/* Only for execve(): programs do not search by the other call. */
static int is_missing(uint32_t nr, const uint64_t *regs)
{
	int ret = nr == __NR_execve ? plat_look_up((const char *)regs[0]) : 0;

	return ret == -ENOENT || ret == -ENOTDIR; /* GUARD(is_missing) */
}

/*
 * args: 0 = address of the path, 0 if the call has a descriptor only; 1 = system call; 2 = directory descriptor; 3 =
 * flags. The slice is the caller's or, in a fork child without an event so far, its parent's. 1: the program preloads
 * the runtime.
 */
static int ask_for_exec(uint32_t nr, uint64_t *regs)
{
	int at = nr == __NR_execveat;
	uint64_t args[4] = { at ? regs[1] : regs[0], nr, at ? regs[0] : (uint64_t)AT_FDCWD, at ? regs[4] : 0 };
	uint32_t tid;

	if (!uft_load(&uft_rt.arena->children) || !may_follow_exec())
		return 0;
	tid = (uint32_t)plat_tid();
	if (is_missing(nr, regs)) {
		uft_store(unasked_at(tid), tid);
		return 0;
	}
	uft_cas(unasked_at(tid), tid, 0u); /* GUARD(hook_exec_unasked_at) */
	if (args[3] & AT_EMPTY_PATH) {
		char first = 0;

		if (!plat_peek((const void *)args[0], &first, 1) && !first)
			args[0] = 0;
	}
	/* A child without an event so far asks in the family that it inherited, if there is one. */
	if (uft_load(&uft_rt.mail->closed) && uft_load(ring_state()) == RING_FRESH)
		trace_adopt_child();
	if (agent_request(UFT_REQ_EXEC, args, 4, 1) != UFT_EXEC_PRELOAD /* GUARD(exec_is_told, 1) */)
		return 0;
	exec_preload(&regs[at ? 3 : 2]);
	return 1;
}

static void hook_exec(uint32_t nr, uint64_t *regs)
{
	if (!ask_for_exec(nr, regs)) /* GUARD(limit_of_preload, 0) */
		plat_limit_exec(0); /* GUARD(limit_before_exec) */
}

#ifdef __NR_getrlimit
/* 1: the call is made. */
static int hook_limit(uint32_t nr, uint64_t *regs)
{
	const int is_prlimit = nr == __NR_prlimit64;
	struct plat_limit_call c = {
		.pid = is_prlimit ? (int)regs[0] : 0,
		.resource = (uint32_t)regs[is_prlimit],
		.to = (const void *)(is_prlimit ? regs[2] : nr == __NR_setrlimit ? regs[1] : 0),
		.was = (void *)(is_prlimit ? regs[3] : nr == __NR_getrlimit ? regs[1] : 0),
	};
	long result;

	c.is_guest = uft_load(ring_state()) == RING_LIVE && (uint32_t)plat_pid() != uft_load(&uft_rt.slice->pid);
	if (!plat_limit_call(&c, &result))
		return 0;
	regs[HOOK_NR] = (uint64_t)result;
	return 1;
}
#endif

int trace_hook_syscall_pre(uint32_t nr, uint64_t *regs)
{
	uint64_t sp = (uint64_t)regs + HOOK_FRAME_BYTES;

	if (trace_is_out())
		return 0;
	spare_leave_family();
	switch (nr) {
	case __NR_execve:
	case __NR_execveat:
		hook_exec(nr, regs);
		break;
#ifdef __NR_vfork
	case __NR_vfork:
		hook_vfork(sp); /* GUARD(hook_vforks) */
		break;
#endif
#ifdef __NR_fork
	case __NR_fork:
		return spare_fork_begin();
#endif
	case __NR_clone:
		return hook_clone(regs[0], regs[4], regs[1], sp);
	case __NR_clone3:
		return hook_clone3(regs, sp);
	case __NR_prctl:
	case __NR_seccomp:
		trace_hook_sandbox(nr, regs, sp);
		break;
#ifdef __NR_getrlimit
	case __NR_getrlimit:
	case __NR_setrlimit:
	case __NR_prlimit64:
		return hook_limit(nr, regs); /* GUARD(trace_hook_syscall_pre_hook_limit) */
#endif
	case __NR_mlockall:
		regs[HOOK_NR] = trace_hook_mlockall(regs); /* GUARD(trace_hook_syscall_pre_regs) */
		break;
	}
	return 0;
}

/* 1: the caller makes the call @nr. Where only forks are hooked, every event checks which task it is of (thread.c). */
int trace_hook_fork_pre(uint32_t nr, const uint64_t *regs)
{
	uint64_t flags = regs[0], stack = regs[1];

	if (trace_is_out() || (nr != __NR_clone && nr != __NR_clone3))
		return 0;
	if (nr == __NR_clone3 && (read_argument((const char *)regs[0], &flags) ||
				  read_argument((const char *)regs[0] + CLONE3_STACK, &stack)))
		return 0;
	if (flags & CLONE_VM || stack)
		return 0;
	if (uft_rt.is_emulated)
		ring_notice_fork();
	spare_leave_family();
	return spare_fork_begin();
}

void trace_hook_fork_post(int64_t result)
{
	spare_fork_end(result);
}

void trace_hook_syscall_post(uint32_t nr, int64_t result, uint64_t *regs)
{
	uint64_t args[2] = { nr, (uint64_t)result };
	uint32_t tid, children = uft_load(&uft_rt.arena->children);

	if (!trace_is_out())
		plat_limit_exec(1); /* GUARD(limit_after_exec) */
	if (!may_follow_exec())
		return;
	tid = (uint32_t)plat_tid();
	if (uft_cas(unasked_at(tid), tid, 0u))
		return;
	exec_preload_failed(regs);
	if (result < 0 && children)
		agent_request(UFT_REQ_EXEC_FAILED, args, 2, !!(children & UFT_CHILDREN_ASK));
}

/*
 * Is the loader in the middle of changing its list? It reports again at the end, and the session would answer that it
 * can read nothing yet. The session checks the list itself (RT_CONSISTENT is 0), so a wrong answer only costs a
 * request.
 */
static int is_list_changing(void)
{
	return uft_rt.rdebug &&
	       uft_load((const uint32_t *)(uft_rt.rdebug + RDEBUG_STATE)) != 0;
}

void trace_hook_rbrk(void)
{
	uint64_t arg = 0;	/* the session placed the hook and knows where r_debug is */

	if (trace_is_out() || plat_is_denied(UFT_DENIED_ASK) || is_list_changing())
		return;
	spare_leave_family();
	if (uft_rt.is_emulated)
		ring_notice_fork();
	if (uft_load(ring_state()) == RING_FRESH)
		trace_adopt_child();
	if (uft_load(ring_state()) == RING_LIVE)
		agent_request(UFT_REQ_OBJECTS, &arg, 1, 1); /* GUARD(trace_hook_rbrk_agent_request) */
}
