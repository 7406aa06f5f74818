/* SPDX-License-Identifier: MIT */
/*
 * probe.c - system calls of events: signals, waiting, the CPU and its time
 *
 * The program's threads make these calls, also under seccomp filters: doc/design/runtime.md has the table of all such
 * calls, and how each behaves under a filter that would end the thread for it.
 */
#include "runtime/base/sys.h"
#include "runtime/platform/platform.h"
#include "uft/abi.h"

/* ---- calls that filters forbid ---------------------------------------------------------------------- */

static uint32_t denied;		/* enum uft_denied; copied by fork */

void plat_deny(uint32_t calls)
{
	__atomic_or_fetch(&denied, calls, __ATOMIC_SEQ_CST);
}

int plat_is_denied(uint32_t calls)
{
	return !!(uft_load(&denied) & calls);
}

/* ---- signals ------------------------------------------------------------------------------------- */

void plat_signals_block(uint64_t *mask)
{
	uint64_t all = ~0ull; /* GUARD(signals_blocked) */

	sys_sigprocmask(SIG_BLOCK, &all, mask);
}

void plat_signals_restore(const uint64_t *mask)
{
	sys_sigprocmask(SIG_SETMASK, mask, NULL);
}

int plat_signals_get(uint64_t *mask)
{
	return sys_sigprocmask(SIG_BLOCK, NULL, mask);
}

int plat_signal_stack(struct plat_stack *s)
{
	struct { uint64_t sp; int flags, pad; uint64_t bytes; } ss = { 0 };
	int ret = (int)sys_call3(__NR_sigaltstack, 0, &ss, 0);

	*s = (struct plat_stack){ ss.sp, ss.bytes, ss.flags & 1 /* SS_ONSTACK */ };
	return ret;
}

/* ---- waiting ------------------------------------------------------------------------------------- */

static struct __kernel_timespec timespec_of(uint64_t ns)
{
	return (struct __kernel_timespec){ .tv_sec = (int64_t)(ns / 1000000000),
		.tv_nsec = (int64_t)(ns % 1000000000) };
}

int plat_wait(uint32_t *word, uint32_t val, uint64_t ns)
{
	struct __kernel_timespec t = timespec_of(ns);

	return sys_futex_wait(word, val, &t);
}

int plat_wake(uint32_t *word, int n)
{
	return sys_futex_wake(word, n);
}

void plat_nap(uint64_t ns)
{
	struct __kernel_timespec t = timespec_of(ns);

	if (!plat_is_denied(UFT_DENIED_ASK))
		sys_call3(__NR_nanosleep, &t, 0, 0);
}

/* ---- the CPU, and its time ----------------------------------------------------------------------- */

uint32_t plat_cpu(void)
{
	uint32_t cpu = 0;

	if (plat_is_denied(UFT_DENIED_CPU))
		return 0;
	return sys_call3(__NR_getcpu, &cpu, 0, 0) ? 0 : cpu;
}

uint64_t plat_cpu_ns(void)
{
	struct { int64_t sec, nsec; } ts;

	if (sys_call3(__NR_clock_gettime, 3 /* CLOCK_THREAD_CPUTIME_ID */, &ts, 0))
		return 0;
	return (uint64_t)ts.sec * 1000000000 + (uint64_t)ts.nsec;
}

uint64_t plat_policy(void)
{
	int64_t policy = sys_call3(__NR_sched_getscheduler, 0, 0, 0), nice;
	uint32_t rt = 0;

	if (policy < 0)
		return 0;
	policy &= ~0x40000000ll;	/* SCHED_RESET_ON_FORK */
	if (policy == 1 /* FIFO */ || policy == 2 /* RR */)
		return sys_call3(__NR_sched_getparam, 0, &rt, 0) ? 0 : (uint64_t)policy | (uint64_t)(99 - rt) << 32;
	nice = 20 - sys_call3(__NR_getpriority, 0 /* PRIO_PROCESS */, 0, 0);
	return nice > 19 ? 0 : (uint64_t)policy | (uint64_t)(120 + nice) << 32;
}

/* ---- names --------------------------------------------------------------------------------------- */

int plat_look_up(const char *path)
{
	return sys_access(path, 0);
}
