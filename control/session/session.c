// SPDX-License-Identifier: MIT
/*
 * session.c - control all targets: start, arm, follow and detach them
 *
 * What it is. The outside half of uft: it starts programs with the runtime in them, decides which sites are armed, and
 * keeps up with what processes do: fork, exec, load, end. It does not read rings, write files or print.
 *
 * Objects and owners
 *	session		one thread's; owns everything below
 *	arena		shared memory with all targets (arena.c)
 *	spec		what the user wants, parsed (spec.c)
 *	space		an image and what is planned for it (image_plan.c); lives as long as the session, since
 *			records refer to it, or until no process can have it any more (forget_spaces.c)
 *	target		a process with runtime and agent, in a slice of the arena (target.c)
 *	ptask		a task that is traced by ptrace for the moment of an exec (exec_trace.c)
 *
 * Life of a target
 *	launch: fork, seize, exec stop -> inject_exec() -> released -> loader calls (OBJECTS) -> runs -> ends
 *	fork:   the child takes a spare family by itself and says FORKED; it shares its parent's space
 *	exec:   EXEC request -> seized -> exec stop -> the old target ends, inject_exec() makes a new one
 *
 * Concurrency. All work is done by the thread that calls uft_session_*(): ptrace demands it. One helper (bell.c)
 * thread turns the arena's bell, a futex, into an eventfd and touches nothing else. The session sleeps in
 * epoll_wait() on that, on pidfds of processes and agents, at most until the next look at thread names (200
 * ms); while a task is seized, for which there is no descriptor to wait on, at most 1 ms.
 *
 * Invariants
 *  1. What a target wrote is copied, bounded and checked before use (procfs.c, image_plan.c, requests.c).
 *  2. A slice is handed on only when its process and its agent have ended (target_end).
 *  3. A program runs not one instruction of its own before it is armed (tests/func/session: exact counts).
 *  4. No target stays stopped or seized when the session ends (exec_task_release_all), however it ends: the kernel
 *     lets seized tasks go, agents see the session's pidfd.
 *
 * Failure. A process that cannot be followed runs untraced, is counted (not_followed) and reported once (warning
 * event).
 */
#include "control/arm/budget.h"
#include "control/proc/cgroup.h"
#include "control/arm/arm.h"
#include "control/start/start.h"
#include "control/session/internal.h"
#include "control/session/price.h"
#include "control/watchdog/int3.h"
#include "control/watchdog/watchdog.h"
#include "control/detach/guard.h"
#include "control/detach/detach.h"
#include "control/ptrace/task_stop.h"
#include "control/events/sources.h"
#include "control/plan/unprepared.h"
#include "control/detach/agentless.h"
#include "symbol/host.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SCAN_MS		200	/* thread names, strays */
#define SEIZED_MS	1
#define EXEC_NS		2000000		/* of a turn, for stops of tasks that execute a program */
#define AGENT_ALONE_MS	100	/* between the ends of an agent and of its process, or its exec: waited for at once, */
#define AGENT_LOST_MS	3000	/* and looked for again at each scan, before the agent counts as ended alone */
#define LATE_MS		500	/* for tasks that did not stop in time, before we end */
#define SILENT_MS	100	/* between searches of all processes for children that have not announced themselves */

/* ---- Create, destroy ------------------------------------------------------------------------ */

static void set_ring_flags(struct uft_session *s, int on)
{
	const int is_on = on && !s->is_paused;

	arena_set_flags(&s->arena, (is_on ? UFT_RING_ON : 0) | (s->opts.overwrite ? UFT_RING_OVERWRITE : 0),
			is_on ? s->arena.map->ncpus : 0);
	/* Slices of fork children in their parents' families were not counted. */
	for (const struct target *t = s->targets; t; t = t->next)
		session_set_slice(s, t->slice);
	sources_set_flags(s);
}

static void gather(struct uft_session *s, struct target *t)
{
	(void)t;
	uft_session_gather(s);
}

static void free_meter(struct target *t)
{
	cost_free(t->meter);
}

/* In the order of the calls. */
static const struct target_listener listeners[] = {
	{ .announced = sources_add_target, .ends = gather },
	{ .ends = jitmap_read },
	{ .ends = perfmap_write },
	{ .ends = int3_target_ends },
	{ .freed = free_meter },
};

static int records(const struct spec *sp)
{
	return sp && (sp->tracer != UFT_TRACER_NOP || sp->own || sp->tasks || sp->nevents || sp->nevent_words);
}

static void session_free(struct uft_session *s)
{
	launch_forget(s); /* GUARD(session_free_launch_forget) */
	watchdog_end(s);
	int3_free(s);
	sources_stop(s, NULL);
	bell_stop(s);
	guard_stop(s);
	while (s->spaces) {
		struct space *sp = s->spaces;

		s->spaces = sp->next;
		space_free(sp);
	}
	unprepared_free(s);
	free(s->sender);
	free(s->meter_scratch);
	if (s->launched)
		child_status_forget(s->launched);
	sources_free(s);
	spec_free(s->spec);
	free(s->kin);
	free(s->last);
	if (s->done_ns)
		munmap(s->done_ns, request_slots(s) * sizeof(*s->done_ns));
	free(s->purse);
	session_free_warnings(s);
	if (s->launched_fd >= 0)
		close(s->launched_fd);
	arena_destroy(&s->arena);
	uft_event_table_put(s->types);
	free(s);
}

int uft_session_create(const struct uft_session_opts *opts, const struct uft_session_events *ev,
		       struct uft_session **out, struct uft_error *err)
{
	struct uft_session *s = calloc(1, sizeof(*s));
	int ret;

	if (!s)
		return -ENOMEM;
	s->epoll_fd = s->bell_fd = s->launched_fd = s->guard_fd = s->guard_sock = -1;
	s->launched_status = -1;
	s->command_ms = COMMAND_TIMEOUT_MS;
	s->listener = listeners;
	s->nlistener = sizeof(listeners) / sizeof(listeners[0]);
	s->held = UFT_NO_SLICE;
	s->arena.fd = s->arena.board_fd = s->arena.own_fd = s->arena.void_fd = -1;
	if (opts)
		s->opts = *opts;
	if (ev)
		s->ev = *ev;
	s->int3 = s->opts.int3 ? &trap_ops : NULL;
	s->opts.preload |= !uft_session_can_attach() && !s->opts.emulator;
	sigprocmask(SIG_SETMASK, NULL, &s->launch_mask);
	if (s->opts.program && !s->opts.preload && !s->opts.emulator && !s->opts.watchdog)
		launch_begin(s, s->opts.program, NULL);		/* an error is reported by the launch */
	s->mono0 = now_ns();
	s->clock0 = host_clock();
	/* until then there are no strays, and a search for them allocates pages */
	s->next_scan_ns = s->mono0 + SCAN_MS * 1000000ull;
	guard_clean_up(s);
	s->types = uft_event_table_new();
	ret = s->types && !sources_create(s) ? arena_create(&s->arena, &s->opts, err) : -ENOMEM;
	if (!ret) {
		guard_start(s);		/* before there is a thread */
		s->last = calloc(s->arena.map->nslices, sizeof(*s->last));
		/* Of thousands of families that there may be, few are there: not calloc(), which may write to all. */
		s->done_ns = mmap(NULL, request_slots(s) * sizeof(*s->done_ns), PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		s->done_ns = s->done_ns == MAP_FAILED ? NULL : s->done_ns;
		s->purse = calloc(s->arena.nfamilies, sizeof(*s->purse));
		ret = s->last && s->done_ns && s->purse ? bell_start(s) : -ENOMEM;
		if (!ret && s->opts.watchdog) {
			guard_await(s);		/* its waits see any child */
			ret = watchdog_begin(s);
		}
		if (ret)
			uft_fail(err, ret, "cannot start the session: %s", strerror(-ret));
	}
	if (ret) {
		session_free(s);
		return ret;
	}
	set_ring_flags(s, 0);
	*out = s;
	return 0;
}

struct uft_event_table *uft_session_types(const struct uft_session *s)
{
	return s->types;
}

const struct uft_arena *uft_session_arena(const struct uft_session *s)
{
	return s->arena.map;
}

/* Gives a new agent to a target whose agent was killed or did not start in time. 1: it has one now. */
static int give_agent(struct uft_session *s, const struct target *t)
{
	int ret = process_maps_arena(s, t->pid) ? agentless_rejoin(&s->arena, t->slice, t->pid) : -ESRCH;

	if (ret && ret != -ESRCH)
		session_warn_left(s, t->slice,
				  "process %d: cannot start an agent in it, so uft's memory remains in it: %s", t->pid,
				  strerror(-ret));
	return !ret;
}

/* Detaches from @n targets, and warns of what remains. 0 or -errno of the last one in which something remains. */
static int leave_some(struct uft_session *s, const struct target *only, struct detaching *l, uint32_t n)
{
	int ret = 0;

	detach_targets(l, n);
	for (uint32_t i = 0; i < n; i++) {
		struct target *t = target_by_slice(s, l[i].slice);

		if (l[i].is_alone && give_agent(s, t)) {
			l[i] = (struct detaching){ .arena = &s->arena, .slice = t->slice, .pid = t->pid };
			detach_targets(&l[i], 1);
		}
		t->has_agent = l[i].may_stay;
		if (l[i].why[0]) {
			session_warn_left(s, t->slice, "process %d: %s%s", t->pid, l[i].why,
				     only || l[i].is_over || !process_maps_arena(s, t->pid) ? "" :
				     "; run uft detach later to remove the runtime");
			ret = l[i].left > 0 ? -EBUSY : -EAGAIN;
		}
	}
	return ret;
}

/* Detaches from every target, or just @only. Without memory for a list: from one after the other. */
static int leave(struct uft_session *s, const struct target *only)
{
	struct detaching one, *l;
	uint32_t room = 1, n = 0;
	int ret = 0, failed;

	for (struct target *t = s->targets; t; t = t->next)
		room++;
	l = calloc(room, sizeof(*l));
	if (!l)
		room = 1;
	watchdog_release(s, only ? only->pid : 0);
	for (struct target *t = s->targets; t; t = t->next) {
		if (t->space->is_preloaded && (!only || t == only))
			preload_leave(s, t);
		else if (t->is_over || (only && t != only))
			continue;
		else if (command_is_unanswered(s, t))
			ret = -EBUSY;		/* its code still leads to us: it stays a target */
		else if (t->has_agent || give_agent(s, t))
			(l ? l : &one)[n++] = (struct detaching){
				.arena = &s->arena, .slice = t->slice, .pid = t->pid, .may_stay = only != NULL
			};
		if (n < room)
			continue;
		failed = leave_some(s, only, l ? l : &one, n);
		ret = failed ? failed : ret;
		n = 0;
	}
	failed = leave_some(s, only, l ? l : &one, n);
	free(l);
	return failed ? failed : ret;
}

/* Detaches from children that are no targets; of all targets or just @only. 0: none remains. */
static unsigned detach_agentless(struct uft_session *s, pid_t only)
{
	uint32_t n = 0;
	unsigned failed;
	char why[240];
	pid_t *known;

	for (struct target *t = s->targets; t; t = t->next)
		n++;
	if (s->opts.preload || s->opts.emulator)
		return 0;		/* preloaded targets are not detached by ptrace */
	known = calloc(n + 1, sizeof(*known));
	if (!known) {
		session_warn(s, "%s", AGENTLESS_NO_MEMORY);
		return 1;
	}
	n = 0;
	for (struct target *t = s->targets; t; t = t->next)
		known[n++] = t->pid;
	failed = agentless_detach(&s->arena, only, 0, known, n, why, sizeof(why));
	if (failed)
		session_warn(s, "%s", why);
	free(known);
	return failed;
}

int session_detach(struct uft_session *s, pid_t pid)
{
	struct target *t = target_by_pid(s, pid);
	char group[200];
	int ret;

	if (!t && process_maps_arena(s, pid)) {
		watchdog_release(s, pid);
		ret = detach_agentless(s, pid) ? -EAGAIN : 0;
		sources_left(s, pid);
		return ret;
	}
	if (!t)
		return -ESRCH;
	if (s->held == t->slice || t->remote || cgroup_is_frozen(pid, group, sizeof(group)))
		return -EBUSY;		/* a frozen process cannot unmap anything */
	exec_task_release_process(s, pid);
	ret = leave(s, t);
	if (ret == -EBUSY)
		return ret;		/* it stays a target, and may be detached later */
	sources_left(s, pid);
	s->is_launched_left |= pid == s->launched;
	target_end(s, t);
	return ret;
}

/* Closes the families: slices that children claim from now on would not be drained. */
static void end_those_left(struct uft_session *s)
{
	struct target *t = s->targets, *next;

	for (; t; t = next) {
		next = t->next;
		if (!target_is_running(t) || !process_maps_arena(s, t->pid))
			target_end(s, t);
	}
	for (uint32_t i = 0; i < s->arena.map->nslices; i++)
		if (arena_has(&s->arena, i) && SHARED_LOAD_ACQUIRE(&arena_slice(&s->arena, i)->state) == UFT_SLICE_DEAD)
			arena_release(&s->arena, i);
}

static void wake_askers(struct uft_mail uft_shared *m)
{
	for (uint32_t i = 0; i < UFT_NREQUESTS; i++)
		if (SHARED_LOAD(&m->req[i].state))
			futex(shared_address(&m->req[i].state), 1 /* FUTEX_WAKE */, INT32_MAX, NULL);
}

int uft_session_destroy(struct uft_session *s)
{
	int status;

	if (!s)
		return -1;
	__atomic_store_n(&s->arena.board->children, 0, __ATOMIC_RELAXED);
	set_ring_flags(s, 0);
	exec_task_release_all(s);
	watchdog_end(s);
	request_adopt_strays(s);
	leave(s, NULL);
	end_those_left(s);
	s->arena.is_kept = (s->launched || s->attached) && detach_agentless(s, 0);
	for (int ms = 0; ms < LATE_MS && tasks_reap_late(); ms++)
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	__atomic_store_n(&s->arena.board->closed, 1, __ATOMIC_RELEASE);
	/* Threads that wait for an answer look at `closed` only now and then. */
	for (uint32_t k = 0; k < s->arena.nused; k++)
		wake_askers(s->arena.mail[s->arena.used[k]]);
	for (uint32_t i = 0; i < UFT_NASKS; i++)
		futex(&s->arena.board->ask[i].state, 1 /* FUTEX_WAKE */, INT32_MAX, NULL);
	while (s->targets)
		/* GUARD(preloaded_agents, 1) */
		if (s->targets->space->is_preloaded || !process_maps_arena(s, s->targets->pid))
			target_end(s, s->targets);
		else
			target_keep(s, s->targets);
	if (s->launched_status < 0 && child_status_take(s->launched, &status))
		s->launched_status = status;
	status = s->launched_status;
	session_free(s);
	return status;
}

/* ---- Changing the specification ------------------------------------------------------------- */

static int is_live(const struct uft_session *s, const struct space *sp)
{
	for (struct target *t = s->targets; t; t = t->next)
		if (t->space == sp && !t->is_over)
			return 1;
	return 0;
}

static int check_live(struct uft_session *s, const struct spec *sp, struct uft_error *err)
{
	struct space **live;
	size_t n = 0, room = 0;
	int ret;

	for (struct space *p = s->spaces; p; p = p->next)
		room++;
	live = calloc(room + 1, sizeof(*live));
	if (!live)
		return -ENOMEM;
	for (struct space *p = s->spaces; p; p = p->next) {
		uint64_t usable = 0;

		for (uint32_t o = 0; o < p->nobj; o++)
			usable += p->obj[o].nusable + unprepared_is_asked(sp, p, o);
		if (usable && is_live(s, p))
			live[n++] = p;
	}
	ret = n ? spec_check(sp, live, n, err) : 0;
	free(live);
	return ret;
}

int uft_session_check(struct uft_session *s, struct uft_error *err)
{
	const struct target *t = s->targets;
	uint64_t usable = 0;
	char text[600];

	if (!s->spec || s->spec->tracer == UFT_TRACER_NOP || !t)
		return 0;
	for (; t; t = t->next)
		for (uint32_t o = 0; o < t->space->nobj; o++)
			usable += t->space->obj[o].nusable + unprepared_is_asked(s->spec, t->space, o);
	if (usable)
		return check_live(s, s->spec, err);
	spec_explain_none(s->targets->space, text, sizeof(text));
	return uft_fail(err, -ENODATA, "%s", text);
}

/* Switches all targets and our own threads to @sp. Returns the first error; the rest is switched nevertheless. */
static int switch_to(struct uft_session *s, struct spec *sp, struct uft_error *err)
{
	int first = 0;

	for (struct target *t = s->targets; t && sp->tracer == UFT_TRACER_NOP; t = t->next)
		jitmap_read(s, t);
	sources_stop(s, sp);
	pid_inherit_begin(s->spec, sp);
	s->spec = sp;
	sp->generation = ++s->generation;
	for (struct space *p = s->spaces; p; p = p->next)
		p->is_changed = 1;
	if (records(sp))
		set_ring_flags(s, 1);
	for (struct target *t = s->targets; t; t = t->next) {
		int ret = t->is_over ? 0 : target_arm(s, t, unresponsive_ends(s, t));

		if (ret && ret != -ESRCH && !first)
			first = uft_fail(err, ret, "cannot change what is traced in process %d: %s", t->pid,
					 strerror(-ret));
	}
	if (!records(sp))
		set_ring_flags(s, 0);
	if (s->targets)		/* only then are their events drained */
		sources_start(s);
	return first;
}

int uft_session_trace(struct uft_session *s, const struct uft_trace_spec *in, struct uft_error *err)
{
	struct spec *sp, *old = s->spec;
	int ret = spec_make(in, &sp, err), first;

	if (ret)
		return ret;
	session_set_times(s, sp);
	ret = in->is_unchecked ? 0 : check_live(s, sp, err);
	if (!ret)
		ret = sources_check(s, sp, err);
	if (ret) {
		spec_free(sp);
		return ret;
	}
	first = switch_to(s, sp, err);
	if (!first || !in->is_whole || !old) {
		spec_free(old);
		return first;
	}
	switch_to(s, old, NULL);
	spec_free(sp);
	return first;
}

void uft_session_record(struct uft_session *s, int on)
{
	uft_session_gather(s);		/* events up to now belong to the old specification */
	s->is_paused = !on;
	set_ring_flags(s, records(s->spec));
	sources_record(s);
	if (s->targets)
		sources_start(s);
}

void uft_session_wake(struct uft_session *s)
{
	uint64_t one = 1;

	if (write(s->bell_fd, &one, sizeof(one)) < 0)
		return;		/* it is full: the session is awake */
}

/* ---- Poll ----------------------------------------------------------------------------------- */

/* Any wait for a tracee returns its stops: only exec_task_poll() may wait for such a task. */
static int is_launched_traced(const struct uft_session *s)
{
	for (const struct exec_task *p = s->exec_tasks; p; p = p->next)
		if (p->tid == s->launched || p->tgid == s->launched)
			return 1;
	return 0;
}

/*
 * A task detached for an exec that gains rights may have been listed again meanwhile. The watchdog's helper does not
 * report the end of a task without a tracer.
 */
static void forget_untraced(struct uft_session *s)
{
	siginfo_t si = { .si_pid = 0 };

	if (watchdog_has(s, s->launched) && waitid(P_PID, (id_t)s->launched, &si, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	    si.si_pid && !proc_is_our_tracee(s->launched))
		watchdog_forget(s, s->launched);
}

/* The launched program's names are read while it is a zombie, before it is reaped. */
static void reap_launched(struct uft_session *s)
{
	int status;

	if (s->launched_status < 0)
		forget_untraced(s);
	if (s->launched_status < 0 && child_status_take(s->launched, &status))
		s->launched_status = status;
	if (!s->launched || (s->launched_status < 0 &&
			     (is_launched_traced(s) || task_is_late(s->launched) || watchdog_has(s, s->launched))))
		return;
	if (s->launched_status < 0 && waitpid(s->launched, &status, WNOHANG) == s->launched &&
	    (WIFEXITED(status) || WIFSIGNALED(status)))
		s->launched_status = status;
	if (s->launched_status >= 0 && s->launched_fd >= 0) {
		if (WIFSIGNALED(s->launched_status) && WTERMSIG(s->launched_status) == SIGSYS)
			session_warn(s,
				     "the program was killed by SIGSYS: a seccomp filter that kills must permit what tracing does "
				     "in its threads (`uft doctor` names the system calls)");
		close(s->launched_fd);
		s->launched_fd = -1;
	}
}

/* The agent has ended and the process has not: it runs another image, or the agent was killed. */
static int is_replaced(struct target *t)
{
	uint8_t raw[UFT_AUXV_MAX];
	struct auxv av;
	size_t bytes;

	return auxv_read(t->pid, raw, &bytes, &av) == 0 &&
	       (bytes != t->space->auxv_bytes || memcmp(raw, t->space->auxv, bytes));
}

/*
 * An agent that ends by itself (creds.c) clears its number after it has restored the code. Not proved: a target's word.
 */
static int has_put_back(const struct uft_session *s, const struct target *t)
{
	return !SHARED_LOAD(&arena_slice(&s->arena, t->slice)->agent_tid);
}

/* Checks again a process whose agent has ended: it may be executing another image, or ending. */
static void judge_agentless(struct uft_session *s, struct target *t)
{
	if (is_replaced(t)) {
		target_end(s, t);
	} else if (!proc_is_ending(t->pid) && now_ns() - t->agentless_ns > AGENT_LOST_MS * 1000000ull) {
		/*
		 * With its init a pid namespace ends; else no task ends but for its process, or by a filter
		 * that kills threads.
		 */
		session_warn_of(s, t->slice,
				has_put_back(s, t) ?
				"the agent of process %d ended, as it cannot see what rights the process has: it put the code back, and records no more" :
				"the agent of process %d ended: its code stays armed until the session detaches from it",
				t->pid);
		t->agentless_ns = 0;
	}
}

static void poll_targets(struct uft_session *s)
{
	struct target *t = s->targets, *next;
	int ms;

	for (; t; t = next) {
		next = t->next;
		if (!target_is_running(t)) {
			target_end(s, t);
		} else if (target_agent_ended(t)) {
			t->has_agent = 0;
			epoll_ctl(s->epoll_fd, EPOLL_CTL_DEL, t->agent_fd, NULL);	/* it stays readable */
			t->agentless_ns = now_ns();
			for (ms = 0; ms < AGENT_ALONE_MS && !(is_replaced(t) || proc_is_ending(t->pid)); ms++)
				nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
			judge_agentless(s, t);
		}
	}
}

/* A debugger's breakpoint is where the loader would be hooked, so the loader's list is polled. */
static void look_for_libraries(struct uft_session *s, struct target *t)
{
	if (t->space->is_preloaded && t->has_agent && t->space->is_dynamic && !t->space->rbrk)
		space_walk(s, t, 0);
}

static void scan(struct uft_session *s)
{
	uint64_t begin = now_ns(), cost;

	if (begin < s->next_scan_ns)
		return;
	request_adopt_strays(s);
	unresponsive_poll(s);
	for (struct target *t = s->targets, *next; t; t = next) {
		next = t->next;
		if (t->agentless_ns)
			judge_agentless(s, t);
	}
	for (struct target *t = s->targets; t; t = t->next) {
		target_scan_tasks(s, t);
		jitmap_look(s, t);
		look_for_libraries(s, t);
		perfmap_write(s, t);
	}
	cost = now_ns() - begin;
	/* Never more than 2 % of a CPU, however many threads there are. */
	s->next_scan_ns = begin + (cost * 50 > SCAN_MS * 1000000ull ? cost * 50 : SCAN_MS * 1000000ull);
}

pid_t uft_session_process_of(pid_t tid)
{
	long pid = tid > 0 ? proc_status_number(tid, "Tgid", 10) : 0;

	return pid > 0 ? (pid_t)pid : 0;
}

static uint32_t bell_rings(const struct uft_session *s)
{
	return __atomic_load_n(&s->arena.board->bell, __ATOMIC_ACQUIRE);
}

/*
 * Until @deadline, waits for stops of tasks that execute a program, and serves requests when the bell rings.
 * @served: the rings before requests were served last.
 */
static void await_execs(struct uft_session *s, uint64_t deadline, uint32_t served)
{
	while (exec_task_poll(s) > 0 && now_ns() < deadline && s->exec_tasks) {
		uint32_t rings;

		sched_yield();		/* the tasks that are waited for may need this CPU */
		rings = bell_rings(s);
		if (rings != served)
			request_serve(s);
		served = rings;
	}
}

void session_step(struct uft_session *s, int timeout_ms)
{
	struct epoll_event ev[16];
	uint64_t now = now_ns(), drained;
	int wait_ms = timeout_ms, n;
	uint32_t rings;

	if (s->targets && s->ev.task) {
		int to_scan = s->next_scan_ns > now ? (int)((s->next_scan_ns - now) / 1000000) + 1 : 0;

		if (to_scan < wait_ms || wait_ms < 0)
			wait_ms = to_scan;
	}
	if ((tasks_reap_late() || s->exec_tasks) && (wait_ms > SEIZED_MS || wait_ms < 0))
		wait_ms = SEIZED_MS;
	if (s->spec && (s->spec->limit.share > 0 || s->spec->limit.rate > 0) && (wait_ms > BUDGET_MS || wait_ms < 0))
		wait_ms = BUDGET_MS;
	watchdog_targets(s);
	int3_arm_waiting(s);
	int3_tend(s);
	n = epoll_wait(s->epoll_fd, ev, 16, wait_ms);
	for (int i = 0; i < n; i++)
		if (ev[i].data.fd == s->bell_fd && read(s->bell_fd, &drained, sizeof(drained)) < 0)
			continue;
	rings = bell_rings(s);
	request_serve(s);
	watchdog_serve(s);
	await_execs(s, now + EXEC_NS, rings);
	if (n > 0)
		poll_targets(s);
	reap_launched(s);
	uft_session_gather(s);
	scan(s);
	budget_poll(s);
}

static int is_busy(const struct uft_session *s)
{
	return s->targets || s->exec_tasks || (s->launched && s->launched_status < 0 && !s->is_launched_left);
}

/* All known targets have ended: a child that has not announced itself may still live. */
static int has_silent(struct uft_session *s)
{
	uint64_t now = now_ns();

	if (!session_follows_children(s) || (!s->launched && !s->attached))
		return 0;
	if (now >= s->next_silent_ns) {
		s->has_silent = arena_find_agentless(&s->arena);
		s->next_silent_ns = now + SILENT_MS * 1000000ull;
	}
	return s->has_silent;
}

/*
 * Before uft_session_poll() reports that no target lives, this searches for children that have announced themselves or
 * ended since the last search. It searches twice: a child without a slice in the first search may have claimed one,
 * written records and ended before the second step of that search.
 */
static int is_over(struct uft_session *s)
{
	if (is_busy(s))
		return 0;
	request_serve(s);
	request_adopt_strays(s);
	if (is_busy(s) || has_silent(s))
		return 0;
	request_serve(s);
	request_adopt_strays(s);
	return !is_busy(s);
}

int uft_session_poll(struct uft_session *s, int timeout_ms)
{
	sources_start(s);
	if (is_over(s))
		return 0;
	if (!is_busy(s) && (timeout_ms > SILENT_MS || timeout_ms < 0))
		timeout_ms = SILENT_MS;
	session_step(s, timeout_ms);
	return !is_over(s);
}

pid_t uft_session_waits_for(const struct uft_session *s, char *name, size_t size)
{
	pid_t pid = s->has_silent;

	for (const struct target *t = s->targets; t; t = t->next)
		if (!t->is_over && t->pid != s->launched)
			pid = t->pid;
	return pid && proc_start_name(pid, name, size) ? pid : 0;
}

int uft_session_status(const struct uft_session *s)
{
	return s->launched_status;
}

void uft_session_stats(struct uft_session *s, struct uft_session_stats *out)
{
	int any_live = 0;

	memset(out, 0, sizeof(*out));
	memcpy(out->counters, s->counters, sizeof(out->counters));
	for (struct target *t = s->targets; t; t = t->next) {
		any_live = 1;
		out->targets_live++;
		for (int i = 0; i < UFT_NCOUNTERS; i++)
			out->counters[i] += target_counter(s, t, i);
	}
	out->targets_total = s->targets_total;
	out->not_followed = s->not_followed;
	out->attached = s->attached;
	out->ended_unarmed = s->ended_unarmed;
	out->ended_pid = s->ended_pid;
	out->stop_ns_max = s->stop_ns_max;
	out->stop_ns_sum = s->stop_ns_sum;
	/* After the end there is no live image: then what there was. */
	for (struct space *sp = s->spaces; sp; sp = sp->next) {
		if (any_live && !is_live(s, sp))
			continue;
		for (uint32_t o = 0; o < sp->nobj; o++) {
			const struct uft_object *obj = sp->img->obj[o].obj;

			out->sites += sp->obj[o].nusable + sp->obj[o].nplain;
			_Static_assert(UFT_PLAIN_NO_GRAPH == PLAIN_NO_GRAPH, "control/plan/plan.h");
			for (int i = 0; i <= PLAIN_NO_GRAPH; i++) {
				out->skipped += sp->obj[o].plain_skip[i];
				out->plain_skip[i] += sp->obj[o].plain_skip[i];
			}
			if (sp->obj[o].chooser && !out->chooser)
				unprepared_describe_ifunc(obj, sp->obj[o].chooser, out);
			for (size_t i = 0; i < obj->nsite; i++)
				if (obj->site[i].skip != UFT_SKIP_NONE && obj->site[i].skip < UFT_SKIP_BEFORE) {
					out->skipped++;
					out->skip_reason[obj->site[i].skip]++;
				}
			for (uint32_t i = 0; sp->obj[o].sent && i < sp->img->obj[o].nstubs; i++)
				out->armed += sp->obj[o].sent[i] != WANT_NOT &&
					      WANT_STATE(sp->obj[o].sent[i]) >= UFT_FUNCTION;
		}
	}
}
