// SPDX-License-Identifier: MIT
/*
 * watchpoints.c - watch memory in observed processes: the tracer mmiotrace
 *
 * Each process has up to ACCESS_MAX points, found in its space when it becomes a target and, for variables of objects
 * that come later, when these are there. Each of its threads has the kernel's events for each point: its own, or its
 * maker's. A thread that was made before its maker had them (point_ns) gets its own in the next round. At an exec the
 * kernel stops the events (remove_on_exec), but keeps them, with their debug registers, while a descriptor is open: so
 * events that no thread has any more are closed.
 */
#include "control/events/observe_internal.h"

#include <errno.h>
#include <string.h>

/* Writes a record for each range, as its points lie, from point @from on. */
void points_tell(struct observe *o, const struct proc *p, uint32_t from, uint64_t ns, uint64_t flags)
{
	const struct perf_record r = { .ns = ns, .pid = p->pid, .tid = p->pid };

	for (uint32_t i = from, next; i < p->npoints; i = next) {
		uint64_t w[4] = { p->point[i].addr, 0, 0, flags |
			(uint64_t)(p->point[i].range + 1) << UFT_ACCESS_MAP_SHIFT };

		for (next = i; next < p->npoints && p->point[next].range == p->point[i].range; next++)
			w[1] += p->point[next].bytes;
		observe_put(o, p, &r, UFT_EVENT_WATCH, w, 4);
	}
}

/* Ends the points: the kernel ends the events of a process that executes another program or ends. */
void points_end(struct observe *o, struct proc *p, uint64_t ns)
{
	points_tell(o, p, 0, ns, UFT_ACCESS_END);
	p->npoints = 0;
	p->missing = 0;
	p->has_unarmed = 0;
}

static int has_group(const struct thread *t, uint32_t n, int group)
{
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < ACCESS_MAX; k++)
			if (t[i].point[k] == group)
				return 1;
	return 0;
}

static int is_shared(const struct observe *o, int group)
{
	for (const struct proc *p = o->procs; p; p = p->next)
		if (has_group(p->thread, p->nthreads, group) || has_group(p->old, p->nold, group))
			return 1;
	return 0;
}

void points_release(struct observe *o, const struct thread *t)
{
	for (uint32_t k = 0; k < ACCESS_MAX && o->has_points; k++)
		if (perf_has(o->perf, t->point[k]) && !is_shared(o, t->point[k]))
			perf_remove(o->perf, t->point[k]);
}

/* Forgets ended events, because their numbers will be used again. 1: there was one. */
static int forget_ended(const struct observe *o, struct thread *t, uint32_t n)
{
	int any = 0;

	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < ACCESS_MAX; k++)
			if (t[i].point[k] >= 0 && !perf_has(o->perf, t[i].point[k])) {
				t[i].point[k] = -1;
				any = 1;
			}
	return any;
}

void points_ended(struct observe *o)
{
	for (struct proc *p = o->procs; p; p = p->next)
		p->has_unarmed |= p->npoints && forget_ended(o, p->thread, p->nthreads);
}

void points_inherit(struct observe *o, struct proc *p, struct thread *t, uint64_t ns)
{
	for (uint32_t k = 0; k < ACCESS_MAX; k++) {
		if (ns < t->point_ns[k])
			t->point[k] = -1;
		t->point_ns[k] = 0;
		p->has_unarmed |= o->has_points && k < p->npoints && t->point[k] == -1;
	}
}

/* Gives events for the points to threads of the process that have none. */
static void points_arm(struct observe *o, struct proc *p)
{
	p->has_unarmed = 0;
	for (uint32_t i = 0; i < p->nthreads; i++) {
		struct thread *t = &p->thread[i];
		int ret = 0;

		for (uint32_t k = 0; k < p->npoints && ret >= 0; k++)
			if (!perf_has(o->perf, t->point[k])) {
				ret = t->point[k] = perf_watch(o->perf, t->tid, p->point[k].addr, p->point[k].bytes,
							       p->point[k].is_write_only);
				t->point_ns[k] = now_ns();
			}
		if (ret < 0 && ret != -ESRCH && !o->is_short++)
			session_warn_of(o->s, observe_slice(o, p->pid),
					ret == -ENOSPC ?
					"thread %d of process %d is not watched: no debug register of the CPUs is free for it (a debugger, perf?)" :
				     "thread %d of process %d is not watched: %s", t->tid, p->pid, strerror(-ret));
	}
}

static void say_wrong(struct observe *o, const struct proc *p, uint32_t wrong)
{
	const struct spec *sp = o->s->spec;

	for (uint32_t i = 0; i < sp->nwatch; i++)
		if (wrong & 1u << i)
			session_warn_of(o->s, observe_slice(o, p->pid),
					"process %d: %s is not watched: it takes more than is left of the CPU's %u debug registers, each of 8 bytes at a "
				     "multiple of 8 (--watch %s,8 is its first 8 bytes)", p->pid,
					     sp->watch[i].name ? sp->watch[i].name : "an address",
				     ACCESS_MAX, sp->watch[i].name ? sp->watch[i].name : "ADDRESS");
}

/* Finds the places of the ranges in the process, as far as they are known now. */
void points_find(struct observe *o, struct proc *p, uint32_t wanted)
{
	const struct spec *sp = o->s->spec;
	uint32_t before = p->npoints, wrong;

	if (!o->has_points || !p->into)
		return;
	p->nobj = p->into->space->img->nobj;
	p->npoints =
		access_points(p->into->space, sp->watch, sp->nwatch, wanted, p->point, before, &p->missing, &wrong);
	o->sought |= wanted;
	o->found |= wanted & ~p->missing;
	if (wrong)
		say_wrong(o, p, wrong);
	if (p->npoints == before)
		return;
	points_tell(o, p, before, now_ns(), 0);
	points_arm(o, p);
}

static void say_missing(struct observe *o, const struct proc *p)
{
	const struct spec *sp = o->s->spec;

	for (uint32_t i = 0; i < sp->nwatch; i++)
		if (p->missing & 1u << i && !(o->said & 1u << i))
			session_warn_of(
				o->s, observe_slice(o, p->pid),
				"process %d has no variable '%s': it is watched once a library that has it is loaded",
				p->pid, sp->watch[i].name);
	o->said |= p->missing;
}

/* Warns of variables that no process had, also if a process ended before the first round. */
void points_say_unfound(struct observe *o)
{
	const struct spec *sp = o->s->spec;

	for (uint32_t i = 0; sp && i < sp->nwatch; i++)
		if (o->sought & ~(o->found | o->said) & 1u << i)
			session_warn(o->s,
				     "no process had a variable '%s': nothing of it was recorded (nm PROGRAM lists variables; a stripped program "
				     "needs its debug file)", sp->watch[i].name);
}

/* Adds variables of objects that came meanwhile, and events to threads that were made before their maker had them. */
void points_round(struct observe *o)
{
	for (struct proc *p = o->procs; p; p = p->next) {
		if (p->missing && !p->is_other && p->into && p->into->space->img->nobj != p->nobj)
			points_find(o, p, p->missing);
		if (p->missing & ~o->said && !p->is_other && p->into && p->into->space->started)
			say_missing(o, p);
		if (p->has_unarmed)
			points_arm(o, p);
	}
}
