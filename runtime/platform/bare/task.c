/* SPDX-License-Identifier: MIT */
/* task.c - the running task, interrupts, and waiting: by the holder's functions */
#include "runtime/arch/arch.h"
#include "runtime/platform/bare/host.h"
#include "runtime/runtime.h"

static const struct bare_host alone;
const struct bare_host *bare_host = &alone;

void bare_init(const struct bare_host *host)
{
	bare_host = host;
}

/* ---- the running task ------------------------------------------------------------------------------------ */

int plat_pid(void)
{
	return bare_host->pid ? bare_host->pid : 1;
}

int plat_tid(void)
{
	return bare_host->tid ? bare_host->tid() : 1;
}

int plat_quiet_tid(void)
{
	return plat_tid();
}

int plat_is_gone(uint32_t tid)
{
	return bare_host->is_gone && bare_host->is_gone(tid);
}

int plat_proc_pid(int pid)
{
	return pid;
}

int plat_parent(void)
{
	return 0;
}

uint64_t plat_pid_ns(void)
{
	return 0;
}

uint32_t plat_cpu(void)
{
	return bare_host->cpu ? bare_host->cpu() : 0;
}

uint64_t plat_cpu_ns(void)
{
	return bare_host->cpu_ns ? bare_host->cpu_ns() : 0;
}

uint64_t plat_policy(void)
{
	return 0;
}

int plat_is_quiet(int pid, uintptr_t *pc, int max)
{
	(void)pid;
	return bare_host->is_quiet ? bare_host->is_quiet(pc, max) /* GUARD(bare_quiet, 0) */ : 0;
}

int plat_look_up(const char *path)
{
	(void)path;
	return -ENOSYS;
}

/* ---- interrupts ----------------------------------------------------------------------------- */

void plat_signals_block(uint64_t *mask)
{
	*mask = 0;
	if (bare_host->block) /* GUARD(plat_signals_block_bare_host) */
		bare_host->block(mask);
}

void plat_signals_restore(const uint64_t *mask)
{
	if (bare_host->restore)
		bare_host->restore(mask);
}

int plat_signals_get(uint64_t *mask)
{
	return bare_host->blocked ? bare_host->blocked(mask) : -ENOSYS;
}

int plat_signal_stack(struct plat_stack *s)
{
	*s = (struct plat_stack){ 0, 0, 0 };
	return bare_host->signal_stack ? bare_host->signal_stack(s) : 0;
}

/* ---- waiting ------------------------------------------------------------------------------------- */

static void let_others_run(void)
{
	if (bare_host->yield)
		bare_host->yield();
	else
		arch_cpu_relax();
}

int plat_wait(uint32_t *word, uint32_t val, uint64_t ns)
{
	(void)ns;
	if (uft_load_acquire(word) == val)
		let_others_run();
	return uft_load_acquire(word) == val ? -ETIMEDOUT : 0;
}

int plat_wake(uint32_t *word, int n)
{
	(void)word;
	return n;		/* no thread sleeps */
}

void plat_nap(uint64_t ns)
{
	(void)ns;
	let_others_run();
}

/* ---- reading memory that may not be mapped --------------------------------------------------------------- */

int plat_peek(const void *addr, void *to, uint32_t bytes)
{
	if (bare_host->peek)
		return bare_host->peek(addr, to, bytes);
	arch_copy(to, addr, bytes);
	return 0;
}

long plat_peek_ranges(const struct plat_range *from, uint32_t n, void *to)
{
	char *at = to;

	for (uint32_t i = 0; i < n && !plat_peek((const void *)from[i].at, at, (uint32_t)from[i].bytes); i++)
		at += from[i].bytes;
	return at - (char *)to;
}

long plat_poke_ranges(const struct plat_range *to, uint32_t n, const uint64_t *words)
{
	uint64_t now;
	uint32_t i;

	for (i = 0; i < n && !plat_peek((const void *)to[i].at, &now, sizeof(now)); i++)
		uft_store((uint64_t *)to[i].at, words[i]);
	return i || !n ? 8 * (long)i : -EFAULT;
}

int plat_poke(uint64_t addr, uint64_t word)
{
	const struct plat_range to = { addr, 8 };

	return plat_poke_ranges(&to, 1, &word) == 8 ? 0 : -EFAULT;
}

/* There are no seccomp filters. */
void plat_deny(uint32_t calls)
{
	(void)calls;
}

int plat_is_denied(uint32_t calls)
{
	(void)calls;
	return 0;
}

int plat_is_readable(const void *addr)
{
	uint64_t word;

	return !plat_peek(addr, &word, sizeof(word));
}

/* There is no fork, and there are no files: a child, in tests, claims its slice by itself. */
int agent_start_child(void)
{
	return -ENOSYS;
}

void agent_note_slice(void)
{
}

/* There are no forks. */
int spare_fork_begin(void)
{
	return 0;
}

void spare_fork_end(int64_t result)
{
	(void)result;
}

void spare_leave_family(void)
{
}

int spare_is_void(void)
{
	return 0;
}

uint64_t spare_place(void)
{
	return 0;
}

int spare_next(uintptr_t at, uintptr_t *lo, uintptr_t *hi)
{
	(void)at, (void)lo, (void)hi;
	return 0;
}

int boot_ask_family(uint64_t at)
{
	(void)at;
	return -ENOSYS;
}

int boot_take_spare(uint64_t at)
{
	(void)at;
	return -ENOSYS;
}
