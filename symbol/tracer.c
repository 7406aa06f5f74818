/* SPDX-License-Identifier: MIT */
/* tracer.c - the tracers and their functions; see tracer.h */
#include "symbol/tracer.h"

#include <string.h>

#define LATENCY_TAKES	(UFT_TAKES_FILTER | UFT_TAKES_EVENT_STACK)
#define GRAPH_TAKES	(UFT_TAKES_FILTER | UFT_TAKES_LIMITS | UFT_TAKES_SWITCHES | UFT_TAKES_EVENTS | UFT_TAKES_BUDGET)
#define NO_RETURNS	"the recording has no returns, so no durations and no paths: record it with -p function_graph"
#define SUMS_ONLY	"the recording has sums only, no calls: record it with -p function_graph, or see --profile"

static const struct uft_tracer_row uft_tracers[UFT_NTRACERS] = {
	[UFT_TRACER_NOP] = { .name = "nop", .target = UFT_TRACER_NOP, .takes = UFT_TAKES_FILTER, .place = 1 },
	[UFT_TRACER_FUNCTION] = {
		.name = "function", .target = UFT_TRACER_FUNCTION, .place = 2, .has_no_returns = 1,
		.no_tree = NO_RETURNS,
		.takes = UFT_TAKES_FILTER | UFT_TAKES_SWITCHES | UFT_TAKES_BUDGET | UFT_TAKES_FUNC_STACK,
	},
	[UFT_TRACER_GRAPH] = { .name = "function_graph", .target = UFT_TRACER_GRAPH, .takes = GRAPH_TAKES, .place = 8 },
	[UFT_TRACER_PROFILE] = {	/* function_profile_enabled there */
		.name = "profile", .target = UFT_TRACER_PROFILE, .takes = UFT_TAKES_FILTER | UFT_TAKES_EVENTS,
		.has_no_returns = 1, .no_tree = SUMS_ONLY,
	},
	[UFT_TRACER_PREEMPTOFF] = {
		.name = "preemptoff", .kind = UFT_KIND_SECTION, .target = UFT_TRACER_GRAPH, .groups = UFT_GROUP_LOCK,
		.takes = LATENCY_TAKES, .place = 4,
	},
	[UFT_TRACER_IRQSOFF] = {
		.name = "irqsoff", .kind = UFT_KIND_SECTION, .target = UFT_TRACER_GRAPH, .groups = UFT_GROUP_MASK,
		.takes = LATENCY_TAKES, .place = 3,
	},
	[UFT_TRACER_PREEMPTIRQSOFF] = {
		.name = "preemptirqsoff", .kind = UFT_KIND_SECTION, .target = UFT_TRACER_GRAPH,
		.groups = UFT_GROUP_LOCK | UFT_GROUP_MASK,
		.takes = LATENCY_TAKES, .place = 5,
	},
	[UFT_TRACER_WAKEUP] = {
		.name = "wakeup", .kind = UFT_KIND_WAKEUP, .target = UFT_TRACER_GRAPH, .groups = UFT_GROUP_WAKE,
		.takes = LATENCY_TAKES, .place = 6,
	},
	[UFT_TRACER_WAKEUP_RT] = {
		.name = "wakeup_rt", .kind = UFT_KIND_WAKEUP, .target = UFT_TRACER_GRAPH, .groups = UFT_GROUP_WAKE,
		.takes = LATENCY_TAKES, .place = 7,
		.is_rt = 1,
	},
	[UFT_TRACER_KMEMTRACE] = {
		.name = "kmemtrace", .kind = UFT_KIND_LINES, .target = UFT_TRACER_GRAPH, .groups = UFT_GROUP_HEAP,
		.takes = LATENCY_TAKES, .place = 9,
	},
	[UFT_TRACER_BLK] = {
		.name = "blk", .kind = UFT_KIND_LINES, .target = UFT_TRACER_GRAPH, .groups = UFT_GROUP_IO,
		.takes = LATENCY_TAKES, .place = 14, .is_top = 1,
	},
	[UFT_TRACER_INITCALL] = {
		.name = "initcall", .kind = UFT_KIND_LINES, .target = UFT_TRACER_GRAPH, .is_inits = 1,
		.takes = UFT_TAKES_FILTER, .place = 10,
	},
	[UFT_TRACER_HWLAT] = { .name = "hwlat", .kind = UFT_KIND_OWN, .takes = UFT_TAKES_GAP, .place = 15 },
	[UFT_TRACER_OSNOISE] = { .name = "osnoise", .kind = UFT_KIND_OWN, .takes = UFT_TAKES_GAP, .place = 16 },
	[UFT_TRACER_SYSPROF] = { .name = "sysprof", .kind = UFT_KIND_OWN, .takes = UFT_TAKES_PERIOD |
		UFT_TAKES_EVENT_STACK, .place = 12, .is_of_threads = 1 },
	[UFT_TRACER_MMIOTRACE] = { .name = "mmiotrace", .kind = UFT_KIND_OWN, .takes = UFT_TAKES_MEMORY, .place = 13,
		.is_top = 1 },
	[UFT_TRACER_SCHED_SWITCH] = { .name = "sched_switch", .kind = UFT_KIND_OWN, .place = 11, .is_of_threads = 1 },
};

/* By the names that objects use; leading underscores, libc_, and version suffixes (@) are ignored. */
static const struct { const char *name; uint8_t role, groups; } funcs[] = {
	{ "pthread_mutex_lock", UFT_ROLE_TAKE, UFT_GROUP_LOCK | UFT_GROUP_WAKE },
	{ "pthread_mutex_trylock", UFT_ROLE_TAKE, UFT_GROUP_LOCK | UFT_GROUP_WAKE },
	{ "pthread_mutex_timedlock", UFT_ROLE_TAKE, UFT_GROUP_LOCK | UFT_GROUP_WAKE },
	{ "pthread_mutex_clocklock", UFT_ROLE_TAKE, UFT_GROUP_LOCK | UFT_GROUP_WAKE },
	{ "pthread_mutex_unlock", UFT_ROLE_RELEASE, UFT_GROUP_LOCK | UFT_GROUP_WAKE },
	{ "pthread_cond_wait", UFT_ROLE_COND_WAIT, UFT_GROUP_LOCK | UFT_GROUP_WAKE },
	{ "pthread_cond_timedwait", UFT_ROLE_COND_WAIT, UFT_GROUP_LOCK | UFT_GROUP_WAKE },
	{ "pthread_cond_clockwait", UFT_ROLE_COND_WAIT, UFT_GROUP_LOCK | UFT_GROUP_WAKE },
	{ "pthread_spin_lock", UFT_ROLE_TAKE, UFT_GROUP_LOCK },
	{ "pthread_spin_trylock", UFT_ROLE_TAKE, UFT_GROUP_LOCK },
	{ "pthread_rwlock_wrlock", UFT_ROLE_TAKE, UFT_GROUP_LOCK },
	{ "pthread_rwlock_trywrlock", UFT_ROLE_TAKE, UFT_GROUP_LOCK },
	{ "pthread_rwlock_timedwrlock", UFT_ROLE_TAKE, UFT_GROUP_LOCK },
	{ "pthread_rwlock_clockwrlock", UFT_ROLE_TAKE, UFT_GROUP_LOCK },
	{ "pthread_spin_unlock", UFT_ROLE_RELEASE, UFT_GROUP_LOCK },
	{ "pthread_spin_init", UFT_ROLE_RELEASE, UFT_GROUP_LOCK },
	{ "pthread_rwlock_unlock", UFT_ROLE_RELEASE, UFT_GROUP_LOCK },
	{ "pthread_cond_signal", UFT_ROLE_WAKE, UFT_GROUP_WAKE },
	{ "pthread_cond_broadcast", UFT_ROLE_WAKE, UFT_GROUP_WAKE },
	{ "sem_post", UFT_ROLE_WAKE, UFT_GROUP_WAKE },
	{ "sem_wait", UFT_ROLE_WAIT, UFT_GROUP_WAKE },
	{ "sem_timedwait", UFT_ROLE_WAIT, UFT_GROUP_WAKE },
	{ "sem_clockwait", UFT_ROLE_WAIT, UFT_GROUP_WAKE },
	{ "pthread_sigmask", UFT_ROLE_MASK, UFT_GROUP_MASK },
	{ "sigprocmask", UFT_ROLE_MASK, UFT_GROUP_MASK },
	{ "malloc", UFT_ROLE_MALLOC, UFT_GROUP_HEAP },
	{ "valloc", UFT_ROLE_MALLOC, UFT_GROUP_HEAP },
	{ "calloc", UFT_ROLE_CALLOC, UFT_GROUP_HEAP },
	{ "realloc", UFT_ROLE_REALLOC, UFT_GROUP_HEAP },
	{ "memalign", UFT_ROLE_MEMALIGN, UFT_GROUP_HEAP },
	{ "aligned_alloc", UFT_ROLE_MEMALIGN, UFT_GROUP_HEAP },
	{ "free", UFT_ROLE_FREE, UFT_GROUP_HEAP },
	{ "cfree", UFT_ROLE_FREE, UFT_GROUP_HEAP },
	{ "mmap", UFT_ROLE_MMAP, UFT_GROUP_HEAP },
	{ "mmap64", UFT_ROLE_MMAP, UFT_GROUP_HEAP },
	{ "munmap", UFT_ROLE_MUNMAP, UFT_GROUP_HEAP },
	{ "read", UFT_ROLE_READ, UFT_GROUP_IO },
	{ "write", UFT_ROLE_WRITE, UFT_GROUP_IO },
	{ "pread", UFT_ROLE_PREAD, UFT_GROUP_IO },
	{ "pread64", UFT_ROLE_PREAD, UFT_GROUP_IO },
	{ "pwrite", UFT_ROLE_PWRITE, UFT_GROUP_IO },
	{ "pwrite64", UFT_ROLE_PWRITE, UFT_GROUP_IO },
	{ "readv", UFT_ROLE_READV, UFT_GROUP_IO },
	{ "writev", UFT_ROLE_WRITEV, UFT_GROUP_IO },
	{ "fsync", UFT_ROLE_SYNC, UFT_GROUP_IO },
	{ "fdatasync", UFT_ROLE_SYNC, UFT_GROUP_IO },
};

const struct uft_tracer_row *uft_tracer(uint32_t tracer)
{
	return &uft_tracers[tracer < UFT_NTRACERS ? tracer : UFT_TRACER_NOP];
}

size_t uft_tracers_offered(int is_top, uint32_t out[UFT_NTRACERS])
{
	size_t n = 0;

	for (uint32_t place = UFT_NTRACERS; place; place--)
		for (uint32_t i = 0; i < UFT_NTRACERS; i++)
			if (uft_tracers[i].place == place && (is_top || !uft_tracers[i].is_top))
				out[n++] = i;
	return n;
}

const char *uft_tracer_name(uint32_t tracer)
{
	return tracer < UFT_NTRACERS ? uft_tracers[tracer].name : "unknown";
}

enum uft_tracer_kind uft_tracer_kind(uint32_t tracer)
{
	return uft_tracer(tracer)->kind;
}

int uft_tracer_is_latency(uint32_t tracer)
{
	return uft_tracer(tracer)->kind == UFT_KIND_SECTION || uft_tracer(tracer)->kind == UFT_KIND_WAKEUP;
}

int uft_tracer_has_events(uint32_t tracer)
{
	return uft_tracer(tracer)->groups != 0;
}

enum uft_role uft_tracer_role(uint32_t tracer, const char *name, uint32_t *ops)
{
	uint32_t groups = uft_tracer(tracer)->groups;
	size_t n;

	if (!groups || !name)
		return UFT_ROLE_NONE;
	if (*name == '_')
		name += strspn(name, "_");
	if (!strncmp(name, "libc_", 5))
		name += 5;
	n = strcspn(name, "@");
	for (size_t i = 0; i < sizeof(funcs) / sizeof(funcs[0]); i++)
		if (funcs[i].groups & groups && funcs[i].name[0] == *name && !strncmp(funcs[i].name, name, n) &&
		    !funcs[i].name[n]) {
			if (ops)
				*ops = funcs[i].role == UFT_ROLE_MASK ? UFT_ACT_MASK : UFT_ACT_ARGS;
			return (enum uft_role)funcs[i].role;
		}
	return UFT_ROLE_NONE;
}

int uft_tracer_wants_object(const char *file)
{
	return !strncmp(file, "libc.so", 7) || !strncmp(file, "libc-", 5) || !strncmp(file, "libpthread", 10);
}
