/* SPDX-License-Identifier: MIT */
/* tracer.c - the tracers and their functions; see tracer.h */
#include "symbol/tracer.h"

#include <stddef.h>
#include <string.h>

enum { GROUP_LOCK = 1, GROUP_MASK = 2, GROUP_WAKE = 4, GROUP_HEAP = 8, GROUP_IO = 16 };

static const struct { const char *name; uint8_t kind, groups; } tracers[UFT_NTRACERS] = {
	[UFT_TRACER_NOP] = { "nop", UFT_KIND_PLAIN, 0 },
	[UFT_TRACER_FUNCTION] = { "function", UFT_KIND_PLAIN, 0 },
	[UFT_TRACER_GRAPH] = { "function_graph", UFT_KIND_PLAIN, 0 },
	[UFT_TRACER_PROFILE] = { "profile", UFT_KIND_PLAIN, 0 },
	[UFT_TRACER_PREEMPTOFF] = { "preemptoff", UFT_KIND_SECTION, GROUP_LOCK },
	[UFT_TRACER_IRQSOFF] = { "irqsoff", UFT_KIND_SECTION, GROUP_MASK },
	[UFT_TRACER_PREEMPTIRQSOFF] = { "preemptirqsoff", UFT_KIND_SECTION, GROUP_LOCK | GROUP_MASK },
	[UFT_TRACER_WAKEUP] = { "wakeup", UFT_KIND_WAKEUP, GROUP_WAKE },
	[UFT_TRACER_WAKEUP_RT] = { "wakeup_rt", UFT_KIND_WAKEUP, GROUP_WAKE },
	[UFT_TRACER_KMEMTRACE] = { "kmemtrace", UFT_KIND_LINES, GROUP_HEAP },
	[UFT_TRACER_BLK] = { "blk", UFT_KIND_LINES, GROUP_IO },
	[UFT_TRACER_INITCALL] = { "initcall", UFT_KIND_LINES, 0 },
	[UFT_TRACER_HWLAT] = { "hwlat", UFT_KIND_OWN, 0 },
	[UFT_TRACER_OSNOISE] = { "osnoise", UFT_KIND_OWN, 0 },
	[UFT_TRACER_SYSPROF] = { "sysprof", UFT_KIND_OWN, 0 },
	[UFT_TRACER_MMIOTRACE] = { "mmiotrace", UFT_KIND_OWN, 0 },
	[UFT_TRACER_SCHED_SWITCH] = { "sched_switch", UFT_KIND_OWN, 0 },
};

/*
 * By the names that objects have for them; underscores in front, libc_, and what tells versions apart (@), do
 * not count.
 */
static const struct { const char *name; uint8_t role, groups; } funcs[] = {
	{ "pthread_mutex_lock", UFT_ROLE_TAKE, GROUP_LOCK | GROUP_WAKE },
	{ "pthread_mutex_trylock", UFT_ROLE_TAKE, GROUP_LOCK | GROUP_WAKE },
	{ "pthread_mutex_timedlock", UFT_ROLE_TAKE, GROUP_LOCK | GROUP_WAKE },
	{ "pthread_mutex_clocklock", UFT_ROLE_TAKE, GROUP_LOCK | GROUP_WAKE },
	{ "pthread_mutex_unlock", UFT_ROLE_RELEASE, GROUP_LOCK | GROUP_WAKE },
	{ "pthread_cond_wait", UFT_ROLE_COND_WAIT, GROUP_LOCK | GROUP_WAKE },
	{ "pthread_cond_timedwait", UFT_ROLE_COND_WAIT, GROUP_LOCK | GROUP_WAKE },
	{ "pthread_cond_clockwait", UFT_ROLE_COND_WAIT, GROUP_LOCK | GROUP_WAKE },
	{ "pthread_spin_lock", UFT_ROLE_TAKE, GROUP_LOCK },
	{ "pthread_spin_trylock", UFT_ROLE_TAKE, GROUP_LOCK },
	{ "pthread_rwlock_wrlock", UFT_ROLE_TAKE, GROUP_LOCK },
	{ "pthread_rwlock_trywrlock", UFT_ROLE_TAKE, GROUP_LOCK },
	{ "pthread_rwlock_timedwrlock", UFT_ROLE_TAKE, GROUP_LOCK },
	{ "pthread_rwlock_clockwrlock", UFT_ROLE_TAKE, GROUP_LOCK },
	{ "pthread_spin_unlock", UFT_ROLE_RELEASE, GROUP_LOCK },
	{ "pthread_spin_init", UFT_ROLE_RELEASE, GROUP_LOCK },
	{ "pthread_rwlock_unlock", UFT_ROLE_RELEASE, GROUP_LOCK },
	{ "pthread_cond_signal", UFT_ROLE_WAKE, GROUP_WAKE },
	{ "pthread_cond_broadcast", UFT_ROLE_WAKE, GROUP_WAKE },
	{ "sem_post", UFT_ROLE_WAKE, GROUP_WAKE },
	{ "sem_wait", UFT_ROLE_WAIT, GROUP_WAKE },
	{ "sem_timedwait", UFT_ROLE_WAIT, GROUP_WAKE },
	{ "sem_clockwait", UFT_ROLE_WAIT, GROUP_WAKE },
	{ "pthread_sigmask", UFT_ROLE_MASK, GROUP_MASK },
	{ "sigprocmask", UFT_ROLE_MASK, GROUP_MASK },
	{ "malloc", UFT_ROLE_MALLOC, GROUP_HEAP },
	{ "valloc", UFT_ROLE_MALLOC, GROUP_HEAP },
	{ "calloc", UFT_ROLE_CALLOC, GROUP_HEAP },
	{ "realloc", UFT_ROLE_REALLOC, GROUP_HEAP },
	{ "memalign", UFT_ROLE_MEMALIGN, GROUP_HEAP },
	{ "aligned_alloc", UFT_ROLE_MEMALIGN, GROUP_HEAP },
	{ "free", UFT_ROLE_FREE, GROUP_HEAP },
	{ "cfree", UFT_ROLE_FREE, GROUP_HEAP },
	{ "mmap", UFT_ROLE_MMAP, GROUP_HEAP },
	{ "mmap64", UFT_ROLE_MMAP, GROUP_HEAP },
	{ "munmap", UFT_ROLE_MUNMAP, GROUP_HEAP },
	{ "read", UFT_ROLE_READ, GROUP_IO },
	{ "write", UFT_ROLE_WRITE, GROUP_IO },
	{ "pread", UFT_ROLE_PREAD, GROUP_IO },
	{ "pread64", UFT_ROLE_PREAD, GROUP_IO },
	{ "pwrite", UFT_ROLE_PWRITE, GROUP_IO },
	{ "pwrite64", UFT_ROLE_PWRITE, GROUP_IO },
	{ "readv", UFT_ROLE_READV, GROUP_IO },
	{ "writev", UFT_ROLE_WRITEV, GROUP_IO },
	{ "fsync", UFT_ROLE_SYNC, GROUP_IO },
	{ "fdatasync", UFT_ROLE_SYNC, GROUP_IO },
};

const char *uft_tracer_name(uint32_t tracer)
{
	return tracer < UFT_NTRACERS ? tracers[tracer].name : "unknown";
}

enum uft_tracer_kind uft_tracer_kind(uint32_t tracer)
{
	return tracer < UFT_NTRACERS ? (enum uft_tracer_kind)tracers[tracer].kind : UFT_KIND_PLAIN;
}

int uft_tracer_has_events(uint32_t tracer)
{
	return tracer < UFT_NTRACERS && tracers[tracer].groups;
}

enum uft_role uft_tracer_role(uint32_t tracer, const char *name, uint8_t *site)
{
	unsigned groups = tracer < UFT_NTRACERS ? tracers[tracer].groups : 0;
	size_t n;

	if (!groups || !name)
		return UFT_ROLE_NONE;
	if (*name == '_')
		name += strspn(name, "_");
	if (!strncmp(name, "libc_", 5))
		name += 5;
	n = strcspn(name, "@");
	for (size_t i = 0; i < sizeof(funcs) / sizeof(funcs[0]); i++)
		if (funcs[i].groups & groups && funcs[i].name[0] == *name && !strncmp(funcs[i].name, name, n) && !funcs[i].name[n]) {
			if (site)
				*site = funcs[i].role == UFT_ROLE_MASK ? UFT_SITE_MASK : UFT_SITE_ARGS;
			return (enum uft_role)funcs[i].role;
		}
	return UFT_ROLE_NONE;
}

int uft_tracer_wants_object(const char *file)
{
	return !strncmp(file, "libc.so", 7) || !strncmp(file, "libc-", 5) || !strncmp(file, "libpthread", 10);
}
