// SPDX-License-Identifier: MIT
/*
 * pid_inherit.c - the option function-fork: a process is on a list of pids because the process that made it is
 *
 * The runtime of a fork child knows this by itself (runtime/trace/thread/params.c), from its first call on. The
 * runtime of a program that was executed is new, and so is one that gets its lists again: so the session notes it when
 * a process or program becomes a target. Between that one and the last process that the session knows there may be
 * some that never made a call, shells mostly: the session finds them by their parents. Notes that were made while the
 * lists had another number do not count any more. Neither does a process that was forked before its parent came onto
 * the list: the kernel gives its start in hundredths of a second.
 *
 * A pid names a process only together with its start. Processes that have ended are forgotten when room is needed, but
 * for the last few: the session may not have heard of their children yet.
 */
#include "control/functions.h"
#include "control/target/target.h"
#include "symbol/array.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#define KEPT		64u	/* of the latest, gone or not */
#define GENERATIONS	64	/* of silent ones, at most */
#define TICK_NS		10000000l

static struct pid_inherit *find(const struct uft_session *s, pid_t pid)
{
	for (size_t i = s->nkin; i; i--)
		if (s->kin[i - 1].pid == pid)
			return &s->kin[i - 1];
	return NULL;
}

uint32_t pid_inherit_lists(const struct uft_session *s, pid_t pid)
{
	const struct spec *sp = s->spec;
	const struct pid_inherit *k;

	if (!sp || !(sp->params.has_pids & UFT_PIDS_FORK) || sp->params.kin != s->kin_number)
		return 0;
	k = find(s, pid);
	return k ? k->lists : 0;
}

static uint32_t list_of(const struct uft_tracer_params *p, uint32_t index)
{
	return index < p->npids ? UFT_PIDS_ONLY : UFT_PIDS_NOT;
}

/* When the number came to be on the list of @sp, as far as that is in force already; @now if it was not. */
static uint64_t since_in(const struct spec *sp, uint32_t pid, uint32_t list, uint64_t now)
{
	const struct uft_tracer_params *p = &sp->params;

	for (uint32_t i = 0; i < p->npids + p->nnot_pids; i++)
		if (p->pids[i] == pid && list_of(p, i) == list)
			return sp->since[i];
	return now;
}

void pid_inherit_begin(const struct spec *old, struct spec *sp)
{
	const struct uft_tracer_params *p = &sp->params;
	int goes_on = old && old->params.has_pids & UFT_PIDS_FORK && old->params.kin == p->kin;
	struct timespec ts;
	uint64_t now;

	if (!(p->has_pids & UFT_PIDS_FORK) || sp->since[0])	/* it was in force before */
		return;
	clock_gettime(CLOCK_BOOTTIME, &ts);
	now = (uint64_t)ts.tv_sec * 100 + (uint64_t)(ts.tv_nsec / TICK_NS);
	for (uint32_t i = 0; i < p->npids + p->nnot_pids; i++)
		sp->since[i] = goes_on ? since_in(old, p->pids[i], list_of(p, i), now) : now;
}

/*
 * The lists that a child has of @parent: those that name it, if the child is not older than that (@start; 0
 * unknown), and its own.
 */
static uint32_t lists_of(const struct uft_session *s, pid_t parent, uint64_t start)
{
	const struct uft_tracer_params *p = &s->spec->params;
	uint32_t lists = pid_inherit_lists(s, parent);

	for (uint32_t i = 0; i < p->npids + p->nnot_pids; i++)
		if (p->pids[i] == (uint32_t)parent && (!start || start >= s->spec->since[i]))
			lists |= list_of(p, i);
	return lists;
}

/*
 * From the process upwards to @from. One in between may have ended: then the last that there is counts as a
 * child of @from.
 */
static uint32_t lists_from(const struct uft_session *s, pid_t pid, pid_t from)
{
	uint64_t start = proc_start_ticks(pid);
	uint32_t lists = 0;
	pid_t parent = 0;

	for (int i = 0; i < GENERATIONS && parent != from; i++) {
		long above = proc_status_number(pid, "PPid", 10);

		if (above <= 1)
			break;
		parent = (pid_t)above;
		lists |= lists_of(s, parent, start);
		if (parent != from) {
			pid = parent;
			start = proc_start_ticks(pid);
		}
	}
	return parent == from ? lists : lists | lists_of(s, from, start);
}

static int is_gone(const struct pid_inherit *k)
{
	return !k->start || proc_start_ticks(k->pid) != k->start;
}

/* At least half of the room is free then, so that looking costs little. */
static int make_room(struct uft_session *s)
{
	size_t n = 0;

	if (s->nkin < s->cap_kin)
		return 0;
	for (size_t i = 0; i < s->nkin; i++)
		if (i + KEPT >= s->nkin || !is_gone(&s->kin[i]))
			s->kin[n++] = s->kin[i];
	s->nkin = n;
	if (s->cap_kin && 2 * n <= s->cap_kin)
		return 0;
	if (array_resize(s->kin, 2 * n + 2 * KEPT))
		return n < s->cap_kin ? 0 : -ENOMEM;
	s->cap_kin = 2 * n + 2 * KEPT;
	return 0;
}

void pid_inherit_fork(struct uft_session *s, pid_t pid, pid_t from)
{
	struct pid_inherit *k, now = { .pid = pid };

	if (!s->spec || !(s->spec->params.has_pids & UFT_PIDS_FORK))
		return;
	if (s->kin_number != s->spec->params.kin) {
		s->kin_number = s->spec->params.kin;
		s->nkin = 0;
	}
	now.start = proc_start_ticks(pid);
	now.lists = pid == from ? 0 : lists_from(s, pid, from);
	k = find(s, pid);
	if (k && k->start == now.start)		/* of what it executes, as of itself */
		now.lists |= k->lists;
	if (!k && !now.lists)
		return;
	if (k)
		*k = now;
	else if (!make_room(s))
		s->kin[s->nkin++] = now;
}

void uft_session_kin(struct uft_session *s, int is_not, void (*fn)(void *arg, pid_t pid), void *arg)
{
	for (size_t i = 0; i < s->nkin; i++)
		if (pid_inherit_lists(s, s->kin[i].pid) & (is_not ? UFT_PIDS_NOT : UFT_PIDS_ONLY) &&
		    target_by_pid(s, s->kin[i].pid))
			fn(arg, s->kin[i].pid);
}
