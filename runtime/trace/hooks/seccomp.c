/* SPDX-License-Identifier: MIT */
/*
 * seccomp.c - a program restricts its system calls, or its use of the clock
 *
 * The system calls that do this (prctl, seccomp) are hooked. So the runtime prepares for the restriction while it may
 * still make all calls:
 *
 *	a seccomp filter	the session runs it on each call of ours (control/proc/seccomp.c). If it allows all,
 *				nothing changes. If it kills for calls that the runtime can avoid, these are not
 *				made any more (plat_deny()). Else: out
 *	strict mode, PR_SET_TSC	out
 *	PR_SET_SYSCALL_USER_DISPATCH
 *				out: our calls would be dispatched to the program as if it had made them
 *
 * Out, for good, this process and the children that it forks: events only check trace_is_out(), so no system call is
 * made, no clock is read and no new call is hooked. The fast paths find a number of CPUs of 0, before they read the
 * clock. The calling thread's frames get their true return addresses before its call. Then the session makes the agent,
 * which no filter of the program reaches, disarm all sites and restore the frames of the other threads. A call that
 * returns through the runtime meanwhile finds its entry without a lock (fg_exit_out()).
 *
 * A filter for all threads (SECCOMP_FILTER_FLAG_TSYNC) may find another thread in the middle of an event that began
 * before the denied calls were set: it has checked them already, and has not made its call yet. So the caller waits
 * until the session has seen each other thread outside of the runtime's code (await_others()): its next event checks
 * again. Other filters are for the caller alone, and for the threads that it makes later.
 *
 * A task that shares the memory of others (vfork child) takes them out with it. If a filter forbids to ask for the
 * signal stack, the caller's is noted before; that filter also forbids to change it.
 *
 * Not seen: a call by an instruction that is not hooked (hook.c), and filters that are there when the session attaches
 * (attach is refused then). Not waited for: a thread that does not come out in QUIET_TRIES looks, such as one that a
 * debugger holds, or one whose signal handler, which has interrupted the runtime, waits for the filter.
 *
 * Context: probe.
 */
#include <asm/unistd.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>

#include "runtime/trace/hooks/hooks.h"

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#endif
#define QUIET_TRIES	250	/* four seconds or more */
#define QUIET_NS	100000	/* from one look to the next; doubled each time, up to */
#define QUIET_MAX_NS	16000000

static void note_signal_stack(void)
{
	struct trace_task t;

	task_begin(&t);
	if (t.th && plat_signal_stack(&t.th->signal_stack))
		t.th->signal_stack.bytes = 0;
	task_end(&t);
}

/*
 * Does everything that has to be done while calls are still allowed: writes true addresses into the frames of the
 * caller, whose code is at @sp.
 */
static void go_out(uint64_t sp)
{
	struct trace_task t;

	task_begin(&t);
	trace_go_out();
	ring_close(); /* GUARD(go_out_ring_close) */
	if (t.th) {
		task_lock(&t);
		unwind_restore_array(t.th, sp, NULL);
		unwind_restore_aside(sp, unwind_reach(t.th, sp));
		task_unlock(&t);
	}
	task_end(&t);
}

/* enum uft_sandbox of the call: FILTER, or the reason to go out; -1: none. */
static int kind_of(uint32_t nr, const uint64_t *regs, uint64_t *program)
{
	const int is_prctl = nr == __NR_prctl;
	const uint64_t what = is_prctl && regs[0] == PR_SET_SECCOMP ? regs[1] : 0;

	*program = regs[2];
	if (is_prctl && regs[0] == PR_SET_TSC)
		return (uint32_t)regs[1] == PR_TSC_SIGSEGV ? UFT_SANDBOX_OUT_CLOCK : -1;
	if (is_prctl && regs[0] == PR_SET_SYSCALL_USER_DISPATCH)
		return regs[1] ? UFT_SANDBOX_OUT_DISPATCH : -1; /* GUARD(sandbox_dispatch, -1) */
	if (is_prctl ? what == SECCOMP_MODE_STRICT : (uint32_t)regs[0] == SECCOMP_SET_MODE_STRICT)
		return UFT_SANDBOX_OUT_STRICT;
	if (is_prctl ? what == SECCOMP_MODE_FILTER : (uint32_t)regs[0] == SECCOMP_SET_MODE_FILTER)
		return UFT_SANDBOX_FILTER;
	return -1;
}

static int is_followed(void)
{
	if (uft_load(ring_state()) == RING_FRESH)
		trace_adopt_child();
	return uft_load(ring_state()) == RING_LIVE && !plat_is_denied(UFT_DENIED_ASK);
}

/* Waits by futex(), which may be called even if the coming filter, or an earlier one, denies nanosleep(). */
static void await_others(void)
{
	static uint32_t never;
	const uint64_t quiet = UFT_SANDBOX_QUIET;
	uint64_t ns = QUIET_NS;

	for (int i = 0; i < QUIET_TRIES && agent_request(UFT_REQ_SANDBOX, &quiet, 1, 1) == -EAGAIN; i++) {
		plat_wait(&never, 0, ns);
		ns = 2 * ns < QUIET_MAX_NS ? 2 * ns : QUIET_MAX_NS;
	}
}

static int is_for_all(uint32_t nr, const uint64_t *regs)
{
	return nr == __NR_seccomp && (uint32_t)regs[0] == SECCOMP_SET_MODE_FILTER &&
	       regs[1] & SECCOMP_FILTER_FLAG_TSYNC;
}

void trace_hook_sandbox(uint32_t nr, const uint64_t *regs, uint64_t sp)
{
	uint64_t args[2], program;
	int kind = kind_of(nr, regs, &program), is_told;

	if (kind < 0 || trace_is_out())
		return;
	args[0] = (uint64_t)kind;
	args[1] = program;
	is_told = is_followed();
	if (kind == UFT_SANDBOX_FILTER) {
		int denied = is_told ? agent_request(UFT_REQ_SANDBOX, args, 2, 1) : -EPERM;

		if (denied >= 0) {
			note_signal_stack();
			plat_deny((uint32_t)denied); /* GUARD(trace_hook_sandbox_plat_deny) */
			if (denied && is_for_all(nr, regs))
				await_others();
			return;
		}
		args[0] = UFT_SANDBOX_OUT_FILTER;
	}
	go_out(sp); /* GUARD(trace_hook_sandbox_go_out) */
	if (!is_told)
		return;
	if (is_for_all(nr, regs))	/* first, because after the other call no request is made any more */
		await_others(); /* GUARD(trace_hook_sandbox_await_others) */
	agent_request(UFT_REQ_SANDBOX, args, 2, 1);
}
