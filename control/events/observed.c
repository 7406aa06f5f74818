// SPDX-License-Identifier: MIT
/*
 * observed.c - threads and processes with events, and the slices of spaces that their events are written into
 *
 * Objects, and the life of a process: observe.c.
 */
#include "control/proc/proc.h"
#include "control/events/observe_internal.h"
#include "symbol/array.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct thread observe_no_thread = { .group = -1, .prio = -1, .point = { -1, -1, -1, -1 } };

/* ---- Threads ------------------------------------------------------------------------------- */

struct thread *observe_thread(const struct proc *p, pid_t tid)
{
	for (uint32_t i = 0; i < p->nthreads; i++)
		if (p->thread[i].tid == tid)
			return &p->thread[i];
	return NULL;
}

static void tell(const struct observe *o, const struct proc *p, const struct thread *t)
{
	if (o->s->ev.task && p->into)
		o->s->ev.task(o->s->ev.arg, p->pid, t->tid, p->ppid, p->into->own->img, t->comm);
}

/* @like: its own former entry, or that of its maker, which gave it name and priority. */
struct thread *observe_thread_add(struct observe *o, struct proc *p, pid_t tid, const struct thread *like)
{
	struct thread *t = observe_thread(p, tid);

	if (!t && array_reserve(p->thread, p->cap, p->nthreads + 1))
		return NULL;
	t = t ? t : &p->thread[p->nthreads++];
	*t = *like;
	t->tid = tid;
	tell(o, p, t);
	return t;
}

/* Reads behind the name, which may have any characters. */
int observe_stat(pid_t pid, pid_t tid, int field, int *value)
{
	char path[48], text[512];
	const char *p;
	int n;

	snprintf(path, sizeof(path), "task/%d/stat", tid);
	n = proc_read_file(pid, path, text, sizeof(text) - 1);
	if (n <= 0)
		return -ESRCH;
	text[n] = '\0';
	p = strrchr(text, ')');
	for (int at = 2; p && at < field; at++)
		p = strchr(p + 1, ' ');
	if (!p)
		return -EBADMSG;
	*value = atoi(p + 1);
	return 0;
}

int observe_prio(pid_t pid, pid_t tid)
{
	int value;

	return observe_stat(pid, tid, 18, &value) ? -1 : value + 100;
}

/* Reads name and priority from /proc. */
struct thread observe_thread_read(pid_t pid, pid_t tid)
{
	struct thread t = observe_no_thread;
	char path[48], text[32];

	t.tid = tid;
	t.prio = observe_prio(pid, tid);
	t.prio_ns = now_ns();
	snprintf(path, sizeof(path), "task/%d/comm", tid);
	if (proc_read_file(pid, path, text, sizeof(text)) > 0) {
		text[strcspn(text, "\n")] = '\0';
		snprintf(t.comm, sizeof(t.comm), "%.15s", text);
	}
	return t;
}

/* ---- Processes ----------------------------------------------------------------------------- */

struct proc *observe_proc(const struct observe *o, pid_t pid)
{
	struct proc *p = o->procs;

	while (p && p->pid != pid)
		p = p->next;
	return p;
}

static struct into *into_of(struct observe *o, const struct proc *p, struct space *space)
{
	struct into *i = o->intos;

	while (i && i->space != space)
		i = i->next;
	if (i) {
		i->refs++;
		return i;
	}
	i = calloc(1, sizeof(*i));
	if (!i)
		return NULL;
	*i = (struct into){
		.next = o->intos, .space = space, .refs = 1, .own = event_ring_open(o->s, p->pid, p->ppid, space->img)
	};
	if (!i->own) {
		free(i);
		return NULL;
	}
	space->holders++;
	o->intos = i;
	return i;
}

static void into_put(struct observe *o, struct into *i)
{
	struct into **at = &o->intos;

	if (!i || --i->refs)
		return;
	while (*at != i)
		at = &(*at)->next;
	*at = i->next;
	event_ring_close(i->own);
	i->space->holders--;
	free(i);
}

/* Begins a process's memory; its records go to processes that share it. */
void observe_begin_space(struct observe *o, struct proc *p, struct space *space)
{
	struct into *before = p->into;

	p->into = into_of(o, p, space);
	p->is_other = 0;
	into_put(o, before);
	if (!p->into) {
		o->s->not_followed++;
		session_warn(o->s, "some processes are not observed: too many programs at once");
	}
	for (uint32_t i = 0; i < p->nthreads; i++)
		tell(o, p, &p->thread[i]);
}

struct proc *observe_proc_add(struct observe *o, pid_t pid, pid_t ppid)
{
	struct proc *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->pid = pid;
	p->ppid = ppid;
	p->next = o->procs;
	o->procs = p;
	return p;
}

void observe_proc_end(struct observe *o, struct proc *p)
{
	for (struct proc **at = &o->procs; *at; at = &(*at)->next)
		if (*at == p) {
			*at = p->next;
			break;
		}
	for (uint32_t i = 0; i < p->nthreads; i++)
		points_release(o, &p->thread[i]);
	for (uint32_t i = 0; i < p->nold; i++)
		points_release(o, &p->old[i]);
	into_put(o, p->into);
	calls_drop_all(p);
	free(p->thread);
	free(p->old);
	free(p);
}
