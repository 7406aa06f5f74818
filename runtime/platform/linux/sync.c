/* SPDX-License-Identifier: MIT */
/*
 * sync.c - make every CPU see new code
 *
 * membarrier(PRIVATE_EXPEDITED_SYNC_CORE): 0.44 us with idle threads, 2-12 us with running ones.
 *
 * Fallback (Linux before 4.16, or a seccomp filter that does not know the call): the task runs on every CPU once. A
 * thread that ran there was taken off by an interrupt and comes back by iret, which serialises. A thread that did not
 * run comes through the scheduler and an exit to user mode, which serialises as well. This takes some 5-20 us per CPU;
 * the task gets its affinity back. A CPU outside of the task's cpuset cannot run the target either.
 */
#include <linux/membarrier.h>

#include "runtime/base/sys.h"
#include "runtime/platform/platform.h"

#define MAX_CPUS	4096

/* Written by plat_sync_init() and by the patching task; a fork child inherits it and registers again. */
static int has_membarrier;

int plat_sync_init(void)
{
	/* GUARD(has_membarrier) */
	has_membarrier = !sys_membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0);
	return 0;
}

/* Linux 5.10. A fork child has to register again, too. */
int plat_restart_sections(void)
{
	int ret = sys_membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ, 0);

	if (ret == -EPERM && !sys_membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ, 0))
		ret = sys_membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ, 0);
	return ret;
}

static void visit_cpus(void)
{
	uint64_t all[MAX_CPUS / 64], one[MAX_CPUS / 64] = { 0 };
	int bytes = sys_sched_getaffinity(0, sizeof(all), all), cpu;

	if (bytes <= 0)
		return;
	for (cpu = 0; cpu < bytes * 8; cpu++) {
		one[cpu / 64] = 1ull << (cpu & 63);
		/* All CPUs, because the program's threads may be pinned to others than this task. */
		sys_sched_setaffinity(0, (size_t)bytes, one);
		one[cpu / 64] = 0;
	}
	sys_sched_setaffinity(0, (size_t)bytes, all);
}

void plat_sync_cores(void)
{
	if (arch_sync_cores())
		return;
	if (has_membarrier) {
		if (!sys_membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0))
			return;
		/* -EPERM: a fork child, which does not inherit the registration. */
		plat_sync_init();
		if (has_membarrier && !sys_membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0))
			return;
	}
	visit_cpus();
}
