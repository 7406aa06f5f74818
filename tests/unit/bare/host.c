// SPDX-License-Identifier: MIT
/*
 * host.c - the kernel that holds the runtime in tests of platform/bare: the test program itself
 *
 * The runtime and its platform make no system call (tools/check-syscalls.sh looks at every instruction of theirs). What a kernel
 * knows of itself the test program, being a process, has to ask its own kernel: that happens here, in functions of the test.
 * Threads are pthreads, interrupts are signals. Linked by --wrap=pthread_create,--wrap=pthread_join.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "runtime/platform/bare/bare.h"
#include "tests/unit/bare/host.h"

#define POOL_BYTES	(1500ul << 20)	/* of addresses: less than a branch reaches */

static int threads = 1;			/* how many there are */

int __real_pthread_create(pthread_t *th, const pthread_attr_t *a, void *(*run)(void *), void *arg);
int __wrap_pthread_create(pthread_t *th, const pthread_attr_t *a, void *(*run)(void *), void *arg);
int __wrap_pthread_create(pthread_t *th, const pthread_attr_t *a, void *(*run)(void *), void *arg)
{
	int ret = __real_pthread_create(th, a, run, arg);

	if (!ret)
		__atomic_add_fetch(&threads, 1, __ATOMIC_SEQ_CST);
	return ret;
}

int __real_pthread_join(pthread_t th, void **result);
int __wrap_pthread_join(pthread_t th, void **result);
int __wrap_pthread_join(pthread_t th, void **result)
{
	int ret = __real_pthread_join(th, result);

	if (!ret)
		__atomic_sub_fetch(&threads, 1, __ATOMIC_SEQ_CST);
	return ret;
}

/* By the raw calls: errno is the test's, and the runtime may have interrupted anything. */
static long call(long nr, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long ret;

	__asm__ volatile("syscall" : "=a"(ret) : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}

static int host_tid(void)
{
	return (int)call(SYS_gettid, 0, 0, 0, 0, 0, 0);
}

static int host_is_gone(uint32_t tid)
{
	return call(SYS_tkill, tid, 0, 0, 0, 0, 0) == -ESRCH;
}

static uint32_t host_cpu(void)
{
	uint32_t cpu = 0;

	call(SYS_getcpu, (long)&cpu, 0, 0, 0, 0, 0);
	return cpu;
}

static void host_block(uint64_t *mask)
{
	uint64_t all = ~0ull;

	call(SYS_rt_sigprocmask, SIG_BLOCK, (long)&all, (long)mask, 8, 0, 0);
}

static void host_restore(const uint64_t *mask)
{
	call(SYS_rt_sigprocmask, SIG_SETMASK, (long)mask, 0, 8, 0, 0);
}

static int host_blocked(uint64_t *mask)
{
	return (int)call(SYS_rt_sigprocmask, SIG_BLOCK, 0, (long)mask, 8, 0, 0);
}

static int host_signal_stack(struct plat_stack *s)
{
	stack_t ss = { 0 };
	int ret = (int)call(SYS_sigaltstack, 0, (long)&ss, 0, 0, 0, 0);

	*s = (struct plat_stack){ (uint64_t)ss.ss_sp, ss.ss_size, ss.ss_flags & SS_ONSTACK };
	return ret;
}

static void host_yield(void)
{
	call(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
}

static int host_peek(const void *addr, void *to, uint32_t bytes)
{
	struct iovec local = { to, bytes }, remote = { (void *)addr, bytes };

	return call(SYS_process_vm_readv, getpid(), (long)&local, 1, (long)&remote, 1, 0) == (long)bytes ? 0 : -EFAULT;
}

static int host_is_quiet(uintptr_t *pc, int max)
{
	(void)pc, (void)max;
	return __atomic_load_n(&threads, __ATOMIC_SEQ_CST) == 1 ? 0 : -EBUSY;
}

static void host_sync_cores(void)
{
	call(SYS_membarrier, 32 /* PRIVATE_EXPEDITED_SYNC_CORE */, 0, 0, 0, 0, 0);
}

void bare_host_start(void)
{
	static struct bare_host host = {
		.tid = host_tid, .is_gone = host_is_gone, .cpu = host_cpu, .block = host_block, .restore = host_restore,
		.blocked = host_blocked, .signal_stack = host_signal_stack, .yield = host_yield, .peek = host_peek,
		.is_quiet = host_is_quiet, .sync_cores = host_sync_cores,
	};
	void *pool = mmap(NULL, POOL_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS |
			  MAP_NORESERVE, -1, 0);

	host.pid = getpid();
	if (pool == MAP_FAILED)
		abort();
	call(SYS_membarrier, 64 /* REGISTER_ that */, 0, 0, 0, 0,
	     0);	/* where there is none, nobody runs what is changed */
	bare_init(&host);
	bare_give((uintptr_t)pool, POOL_BYTES);
}

/* ---- What is left to an operating system ----------------------------------------------------------- */

/* Nothing else of these programs is left out; who names something that is not there does not pass. */
static struct lack {
	const char *program, *part, *what;
	int is_met;
} lacks[] = {
	{ "bare_probe_handlers", "hook_exec", "files to look for, and exec", 0 },
	{ "bare_probe_unwind", "exception_stale", "a kernel that writes where it may", 0 },
	{ "bare_probe_tasks", "fork", "processes", 0 },
	{ "bare_probe_tasks", "fork_exchange", "processes", 0 },
	{ "bare_probe_tasks", "fork_unfollowed", "processes", 0 },
	{ "bare_probe_tasks", "fork_no_slice", "processes", 0 },
	{ "bare_probe_tasks", "fork_locked", "processes", 0 },
	{ "bare_patch_sites", "mdwe", "protected text", 0 },
	{ "bare_patch_sites", "no_membarrier", "a call that filters refuse", 0 },
	{ "bare_patch_rules", "protections", "protected text", 0 },
	{ "bare_patch_rules", "stub_pages", "pages that are made when touched", 0 },
};
#define NLACKS (sizeof(lacks) / sizeof(lacks[0]))

const char *bare_host_lacks(const char *part)
{
	for (struct lack *l = lacks; l < lacks + NLACKS; l++)
		if (!strcmp(l->program, program_invocation_short_name) && !strcmp(l->part, part)) {
			if (!l->is_met++)
				printf("     %s needs %s\n", l->part, l->what);
			return l->what;
		}
	return NULL;
}

int bare_host_is_met(void)
{
	int ret = 1;

	for (struct lack *l = lacks; l < lacks + NLACKS; l++)
		if (!strcmp(l->program, program_invocation_short_name) && !l->is_met) {
			fprintf(stderr, "%s: there is no %s\n", l->program, l->part);
			ret = 0;
		}
	return ret;
}
