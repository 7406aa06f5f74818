/* SPDX-License-Identifier: MIT */
/*
 * limit.c - RLIMIT_AS of a process that also has memory of the runtime
 *
 * The kernel compares this limit with the whole address space, the runtime's hundreds of megabytes included. A program
 * that limits itself to less would have no room for its next thread. So the program's calls are made here:
 *
 *	kernel's soft limit = the program's + the runtime's memory now (own.c reports each change)
 *	kernel's hard limit = the program's + UFT_LIMIT_ROOM (constant, because raising it again takes rights)
 *
 * The program sees its own limits. A hard limit that another process has set since is left alone. A vfork child shares
 * the memory, but not its parent's limits: its own are noted for the program that it executes.
 *
 * Executed programs keep the kernel's limits. The session reads the program's limits in uft_boot.space before the exec
 * and writes them into the next boot block. A new program may have no session, so the soft limit is the program's own
 * during an exec, unless the new program's loader maps the runtime under it (LD_PRELOAD). The session gives a program
 * that it stopped, but does not follow, the hard limit, too. Only root could raise that again after an exec that fails.
 * The agent is another process with a copy of the limits: it raises its own, and changes the program's by the program's
 * number.
 */
#include "runtime/base/sys.h"
#include "runtime/platform/linux/own.h"
#include "runtime/platform/platform.h"
#include "uft/abi.h"

#define RLIMIT_AS_	9u
#define INFINITE	UINT64_MAX

static struct uft_own_limit *own;	/* in the boot block, where the session reads it; NULL: not begun */
static const uint64_t *agent_stack;
static struct uft_limits given;		/* the limits that the kernel has now */
static int program;			/* its number */

static uint64_t add(uint64_t limit, uint64_t bytes)
{
	return limit >= INFINITE - bytes ? INFINITE : limit + bytes;
}

static long set_limits(int pid, const struct uft_limits *to, void *was)
{
	return sys_call4(__NR_prlimit64, pid, RLIMIT_AS_, to, was);
}

/* Is the caller the agent, which is another process? Its stack tells without a call. */
static int is_agent(void)
{
	const uint64_t stack = uft_load(agent_stack);

	return stack && (uint64_t)(uintptr_t)__builtin_frame_address(0) - stack < UFT_AGENT_STACK;
}

static int is_set(void)
{
	return own && uft_load_acquire(&own->is_set);
}

static int must_follow(void)
{
	return is_set() && !plat_is_denied(UFT_DENIED_LIMIT);
}

static void follow(uint64_t more)
{
	const int pid = is_agent() ? program : 0;
	struct uft_limits was;
	uint64_t ours;

	do {
		struct uft_limits to = { 0, given.max };

		ours = mem_owned_bytes();
		to.cur = add(own->limit.cur, ours + more);
		to.cur = to.cur < to.max ? to.cur : to.max;
		if (set_limits(pid, NULL, &was))
			return;
		if (was.max != given.max) {
			uft_store(&own->is_set, 0);
			return;
		}
		given.cur = to.cur;
		set_limits(pid, &to, NULL);
	} while (ours != mem_owned_bytes());
}

void limit_follow(void)
{
	if (must_follow())
		follow(0);
}

int limit_make_room(uint64_t bytes)
{
	if (!must_follow())
		return 0;
	follow(bytes);
	return 1;
}

void limit_begin(struct uft_own_limit *shared, const uint64_t *stack)
{
	own = shared;
	agent_stack = stack;
	if (!is_set())
		return;
	program = sys_getpid();
	if (set_limits(0, NULL, &given))
		uft_store(&own->is_set, 0);
	limit_follow();
}

void limit_fork(void)
{
	if (is_set())
		program = sys_getpid();
}

void limit_raise_agent(void)
{
	struct uft_limits mine;

	if (!must_follow() || set_limits(0, NULL, &mine))
		return;
	mine.cur = mine.max;
	set_limits(0, &mine, NULL);
}

void plat_limit_end(void)
{
	if (!must_follow())
		return;
	set_limits(is_agent() ? program : 0, &own->limit, NULL);
	uft_store(&own->is_set, 0);
}

/* The limits that the calling process has set itself, a vfork child perhaps; NULL: none. */
static const struct uft_limits *own_limits(void)
{
	const uint32_t guest = own ? uft_load_acquire(&own->guest) : 0;

	if (guest && guest == (uint32_t)sys_getpid())
		return &own->guests;
	return is_set() ? &own->limit : NULL;
}

void plat_limit_exec(int has_failed)
{
	const struct uft_limits *its = plat_is_denied(UFT_DENIED_LIMIT) ? NULL : own_limits();
	struct uft_limits to;

	if (!its || set_limits(0, NULL, &to))
		return;
	if (its == &own->limit && to.max != given.max)
		return;			/* another process has set it */
	to.cur = add(its->cur, has_failed ? mem_owned_bytes() : 0);
	to.cur = to.cur < to.max ? to.cur : to.max;
	set_limits(0, &to, NULL);
}

/* The limits to set in the kernel for @wanted, when @was is in force. */
static struct uft_limits translate(const struct uft_limits *wanted, const struct uft_limits *was)
{
	struct uft_limits to = { add(wanted->cur, mem_owned_bytes()), add(wanted->max, UFT_LIMIT_ROOM) };

	/* The hard limit is lower than ours would be: the nearest that needs no rights. */
	if (to.max > was->max)
		to.max = wanted->max > was->max ? wanted->max : was->max;
	if (to.cur > to.max)
		to.cur = to.max;
	return to;
}

/* The kernel has just written there, so the memory is writable. */
static void show(void *at, const struct uft_limits *limits)
{
	plat_poke((uintptr_t)at, limits->cur);
	plat_poke((uintptr_t)at + 8, limits->max);
}

int plat_limit_call(const struct plat_limit_call *c, long *result)
{
	const int is_known = is_set();
	struct uft_limits wanted, was, to;

	if (!own || c->resource != RLIMIT_AS_ || (c->pid && c->pid != sys_getpid()) ||
	    plat_is_denied(UFT_DENIED_LIMIT) || set_limits(0, NULL, &was) ||
	    (c->to && plat_peek(c->to, &wanted, sizeof(wanted))))
		return 0;
	if (c->to)
		/* the kernel refuses a soft limit above the hard one */
		to = wanted.cur > wanted.max ? wanted : translate(&wanted, &was);
	*result = set_limits(0, c->to ? &to : NULL, c->was);
	if (*result)
		return 1;
	if (c->was && is_known && was.max == given.max)
		show(c->was, &own->limit);
	if (c->to && c->is_guest) {
		own->guests = wanted;
		uft_store_release(&own->guest, (uint32_t)sys_getpid());
	} else if (c->to) {
		own->limit = wanted;
		given = to;
		program = sys_getpid();
		uft_store_release(&own->is_set, (uint32_t)(wanted.max != INFINITE || wanted.cur != INFINITE));
	}
	return 1;
}
