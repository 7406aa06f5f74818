/* SPDX-License-Identifier: MIT */
/*
 * latency.c - preemptoff, irqsoff, preemptirqsoff, wakeup, wakeup_rt: the worst case in a stream
 *
 * The kernel's tracers of these names look for the longest time in which preemption, interrupts or a woken task had to
 * wait. Here:
 *
 *   preemptoff		a thread holds a lock: from the return of the call that took its first mutex, spinlock or
 *			rwlock for writing to the call that releases its last
 *   irqsoff		a thread has signals blocked: from the return of pthread_sigmask() or sigprocmask() that
 *			finds the mask not empty to the return of the one that finds it empty (libc's own two
 *			signals do not count)
 *   preemptirqsoff	either
 *   wakeup		from the last wake at an address (cond_signal, cond_broadcast, sem_post, mutex_unlock)
 *			before the woken thread's return from its wait there, which began earlier, to that
 *			return
 *   wakeup_rt		the same, for threads of SCHED_FIFO and SCHED_RR
 *
 * A stretch collects the calls of its thread. A stretch that ends longer than the longest so far becomes the worst, as
 * the kernel swaps its buffer. With tracing_thresh the worst is the last stretch that was longer than the threshold.
 *
 * If stacks of calls are recorded (option stacktrace), the stack of the stretch's last call is kept: the kernel shows
 * it behind the last line.
 *
 * Uncertain owners are left out: a call whose arguments or result are not in the stream changes nothing. If a thread
 * leaves calls that take or release (longjmp), its stretch ends without a result. Only the last wake at an address
 * counts, so no reported time is too long. A loss of records closes all stretches without a result. The stream shows a
 * loss at its end, so a stretch whose end was lost on another CPU may last to the next event that looks like its end.
 *
 * The blocked signals are those that the kernel reported at the return of a call, so a mask that was inherited or
 * changed by other means (sigsuspend, a handler's own mask) is seen at the return of the next call.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "output/latency.h"
#include "symbol/array.h"

#define LIBC_SIGNALS	(3ull << 31)	/* 32 and 33: cancellation, setuid in all threads */
#define EOWNERDEAD_	130		/* a robust mutex is held then, too */

/* ---- Stretches ---------------------------------------------------------------------------- */

static void add_line(struct latency *l, struct stretch *s, const struct uft_event *ev, const struct call *call,
		     uint64_t ts_ns, const struct call_task *t)
{
	s->total++;
	if (s->n == STRETCH_LINES)
		return;
	if (array_reserve(s->line, s->cap, s->n + 1)) {
		l->error = -ENOMEM;
		return;
	}
	s->line[s->n++] = (struct stretch_line){
		.ts_ns = ts_ns, .sym = call->sym, .parent = call->parent, .task = ev->task, .cpu = ev->cpu,
		.depth = (uint8_t)t->nheld, .is_masked = (t->mask & ~LIBC_SIGNALS) != 0, .kind = (uint8_t)ev->kind,
		.level = ev->depth,
		.duration_ns = ev->duration_ns,
	};
}

static struct stretch *open_of(struct latency *l, struct call_task *t)
{
	if (!t->open)
		t->open = calloc(1, sizeof(*t->open));
	if (!t->open)
		l->error = -ENOMEM;
	return t->open;
}

static void begin(struct latency *l, struct call_task *t, const struct uft_event *ev, const struct call *call)
{
	struct stretch *s = open_of(l, t);

	if (!s)
		return;
	s->n = 0;
	s->total = 0;
	s->start_ns = ev->ts_ns;
	s->task = ev->task;
	t->is_inside = 1;
	add_line(l, s, ev, call, ev->ts_ns, t);
}

/*
 * Keeps the stack of the end of @ev: the task's next event, behind the call's arguments; at the return of the call it
 * is the last stack.
 */
static void take_stack(struct stretch *s, const struct call_task *t, const struct uft_event *ev,
		       const struct call *call)
{
	s->wants_stack = ev->kind == UFT_EV_DATA && ev->data == UFT_EVENT_CALL;
	s->stack = !s->wants_stack && t->stack_of == call->sym ? t->stack : NULL;
}

static void note_stack(struct latency *l, const struct uft_event *ev)
{
	struct call_task *t = calls_task(&l->calls, ev->task);

	if (t) {
		t->stack = ev->stack;
		t->stack_of = ev->sym;
	}
	if (l->worst.wants_stack && l->worst.task == ev->task && l->worst.line[l->worst.n - 1].sym == ev->sym)
		l->worst.stack = ev->stack;
}

static int is_worse(const struct latency *l, uint64_t start_ns, uint64_t end_ns)
{
	uint64_t ns = end_ns > start_ns ? end_ns - start_ns : 0;

	if (end_ns < l->from_ns || !ns)
		return 0;
	if (l->thresh_ns)
		return ns >= l->thresh_ns;
	return ns > l->floor_ns && ns > l->worst.end_ns - l->worst.start_ns;
}

static void end(struct latency *l, struct call_task *t, const struct uft_event *ev, const struct call *call)
{
	struct stretch *s = t->open, worst;

	t->is_inside = 0;
	if (!s || !is_worse(l, s->start_ns, ev->ts_ns))
		return;
	/* replaces the line of its own entry */
	if (s->n && s->total == s->n && s->line[s->n - 1].sym == call->sym &&
	    s->line[s->n - 1].ts_ns == call->start_ns) {
		s->n--;
		s->total--;
	}
	add_line(l, s, ev, call, ev->ts_ns, t);
	s->end_ns = ev->ts_ns;
	s->cpu = ev->cpu;
	s->policy = t->policy;
	s->priority = t->priority;
	s->has_state = t->has_state;
	take_stack(s, t, ev, call);
	worst = l->worst;
	l->worst = *s;
	*s = worst;		/* its memory serves again */
}

/* ---- Locks and masks ---------------------------------------------------------------------- */

static void take(struct call_task *t, uint64_t lock)
{
	if (t->nheld < CALLS_HELD)
		t->held[t->nheld++] = lock;
}

static void release(struct call_task *t, uint64_t lock)
{
	uint32_t i = t->nheld;

	while (i && t->held[i - 1] != lock)
		i--;
	if (!i)
		return;
	memmove(&t->held[i - 1], &t->held[i], (t->nheld - i) * sizeof(t->held[0]));
	t->nheld--;
}

static int is_success(const struct call *call)
{
	return call->has_result && ((uint32_t)call->result == 0 || (uint32_t)call->result == EOWNERDEAD_);
}

/* Applies the event to the locks of its task. */
static void change_locks(struct call_task *t, const struct uft_event *ev, const struct call *call)
{
	int begins = ev->kind == UFT_EV_DATA && ev->data == UFT_EVENT_CALL, ends = ev->kind == UFT_EV_EXIT;

	if (!call->has_args)
		return;
	if (call->role == UFT_ROLE_TAKE && ends && is_success(call))
		take(t, call->arg[0]);
	else if (call->role == UFT_ROLE_RELEASE && begins)
		release(t, call->arg[0]);
	else if (call->role == UFT_ROLE_COND_WAIT && begins)
		release(t, call->arg[1]);
	else if (call->role == UFT_ROLE_COND_WAIT && ends && call->has_result)
		take(t, call->arg[1]);		/* after a time-out as well */
}

static int is_off(const struct latency *l, const struct call_task *t)
{
	uint32_t by = uft_tracer(l->calls.tracer)->groups;

	return (by & UFT_GROUP_LOCK && t->nheld) || (by & UFT_GROUP_MASK && t->mask & ~LIBC_SIGNALS);
}

static void section(struct latency *l, struct call_task *t, const struct uft_event *ev, const struct call *call)
{
	int off;

	change_locks(t, ev, call);
	off = is_off(l, t);
	if (ev->kind == UFT_EV_LEFT && call->role != UFT_ROLE_NONE)
		t->is_inside = 0;
	else if (off && !t->is_inside && call->role != UFT_ROLE_NONE)
		begin(l, t, ev, call);
	else if (!off && t->is_inside)
		end(l, t, ev, call);
	else if (t->is_inside && (ev->kind == UFT_EV_ENTRY || (l->has_returns && ev->kind != UFT_EV_DATA)) && t->open)
		add_line(l, t->open, ev, call, ev->ts_ns, t);
}

/* ---- Wakes -------------------------------------------------------------------------------- */

/* Finds the wake of a process at an address, because forked processes use the same addresses. */
static struct wake *wake_at(struct latency *l, uint64_t address, uint32_t pid)
{
	if (!l->wake)
		l->wake = calloc(WAKES, sizeof(*l->wake));
	if (!l->wake)
		l->error = -ENOMEM;
	return l->wake ? &l->wake[(address >> 3 ^ (uint64_t)pid << 44) * 0x9e3779b97f4a7c15ull >> 52] : NULL;
}

static void note_wake(struct latency *l, const struct call_task *t, const struct uft_event *ev, const struct call *call,
		      uint64_t address)
{
	struct wake *w = wake_at(l, address, ev->task->pid);

	if (w)
		*w = (struct wake){ address, ev->ts_ns, ev->task, call->sym, call->parent, ev->cpu, t->priority,
			t->has_state };
}

static void woken(struct latency *l, struct call_task *t, const struct uft_event *ev, const struct call *call)
{
	const struct wake *w = wake_at(l, call->arg[0], ev->task->pid);
	struct stretch *s;
	int is_rt = t->policy == 1 || t->policy == 2;

	if (!w || w->address != call->arg[0] || w->ts_ns <= call->start_ns || w->task == ev->task ||
	    w->task->pid != ev->task->pid ||
	    !is_worse(l, w->ts_ns, ev->ts_ns) || (uft_tracer(l->calls.tracer)->is_rt && !is_rt))
		return;
	s = &l->worst;
	s->n = 0;
	s->total = 0;
	add_line(l, s, &(struct uft_event){ .task = w->task, .cpu = w->cpu },
		 &(struct call){ .sym = w->sym, .parent = w->parent },
		 w->ts_ns, &(struct call_task){ 0 });
	add_line(l, s, ev, call, ev->ts_ns, &(struct call_task){ 0 });
	if (s->n < 2)
		return;
	s->line[0].priority = w->priority;
	s->line[0].has_state = w->has_state;
	s->line[1].priority = t->priority;
	s->line[1].has_state = t->has_state;
	s->start_ns = w->ts_ns;
	s->end_ns = ev->ts_ns;
	s->task = ev->task;
	s->cpu = ev->cpu;
	s->policy = t->policy;
	s->priority = t->priority;
	s->has_state = t->has_state;
	take_stack(s, t, ev, call);
}

static void wakeup(struct latency *l, struct call_task *t, const struct uft_event *ev, const struct call *call)
{
	int begins = ev->kind == UFT_EV_DATA && ev->data == UFT_EVENT_CALL;

	if (!call->has_args)
		return;
	if (begins && (call->role == UFT_ROLE_WAKE || call->role == UFT_ROLE_RELEASE))
		note_wake(l, t, ev, call, call->arg[0]);
	if (begins && call->role == UFT_ROLE_COND_WAIT)		/* wakes a thread that waits for the mutex */
		note_wake(l, t, ev, call, call->arg[1]);
	if (ev->kind != UFT_EV_EXIT || !is_success(call))
		return;
	if (call->role == UFT_ROLE_TAKE || call->role == UFT_ROLE_WAIT || call->role == UFT_ROLE_COND_WAIT)
		woken(l, t, ev, call);
}

/* Ends open stretches without a result, because the holders are not known any more. */
static void forget(struct latency *l)
{
	for (uint32_t i = 0; i < l->calls.ntask; i++) {
		struct call_task *t = &l->calls.task[i];

		t->nheld = 0;
		t->mask = 0;
		t->is_inside = 0;
	}
	if (l->wake)
		memset(l->wake, 0, WAKES * sizeof(*l->wake));
}

/* ---- All ---------------------------------------------------------------------------------- */

void latency_feed(struct latency *l, const struct uft_event *ev)
{
	const struct call *call = calls_feed(&l->calls, ev);
	struct call_task *t = call ? calls_task(&l->calls, ev->task) : NULL;

	if (ev->kind == UFT_EV_DATA && ev->data == UFT_EVENT_STACK && !(ev->flags & UFT_EVF_TRACEPOINT))
		note_stack(l, ev);
	if (l->worst.task == ev->task)
		l->worst.wants_stack = 0;
	if (ev->kind == UFT_EV_LOST)
		forget(l);
	if (!t)
		return;
	if (uft_tracer_kind(l->calls.tracer) == UFT_KIND_WAKEUP)
		wakeup(l, t, ev, call);
	else
		section(l, t, ev, call);
}

static void stretch_free(struct stretch *s)
{
	if (s)
		free(s->line);
}

void latency_free(struct latency *l)
{
	for (uint32_t i = 0; i < l->calls.ntask; i++) {
		stretch_free(l->calls.task[i].open);
		free(l->calls.task[i].open);
	}
	stretch_free(&l->worst);
	free(l->wake);
	calls_free(&l->calls);
}
