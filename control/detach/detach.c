// SPDX-License-Identifier: MIT
/*
 * detach.c - detach from a target: bring it back to its state before the attach
 *
 * A detach needs the arena and the number of a slice, and nothing of the session, so the guard can do it as well.
 *
 *	1. LEAVE: the agent stops recording and restores sites, return addresses and hooks, in this order: an exception
 *	   finds true addresses or the unwinder's hooks, but for one of a thread that was inside the runtime meanwhile.
 *	   Sites that cannot change while threads run are restored in a second attempt, while all tasks are stopped.
 *	2. UNHOOK: the agent writes true return addresses into all slots, then the session looks at every task. Both are
 *	   repeated until two looks in a row find no task inside (why two: runtime/trace/shadow/way_out.c).
 *	3. Tasks that still have the runtime's thread pointer get 0 in its place; memory whose pointer cannot be taken
 *	   from a task remains (drop_needed()). The session stops the agent and makes it unmap all memory of uft, its
 *	   own stack and code among it, by system calls at an instruction of the vdso, and then exit. Nothing remains,
 *	   so nothing can pile up. All tasks are stopped meanwhile, because a child forked in that moment would keep a
 *	   part of the runtime, which no agent could remove. If the session is killed there, the guard continues at that
 *	   point: detach_finish().
 *
 * Invariants. Memory is unmapped only if step 1 has left no code that leads into it and step 2 has found no task
 * inside. If a step fails, the target stays as it is from there. That is sound: its text is its own, and the mapped
 * memory is inert; ->why has the reason. rseq: after a critical section of the runtime was left, aborted or committed,
 * no pointer to it remains (the handlers clear it, the kernel clears a stale one), so a task outside of the runtime has
 * none. If another program has changed a site, the memory that our jump led to stays mapped, inert
 * (runtime/patch/bytes/foreign_bytes.c), because that program may put our jump back.
 */
#include "control/detach/detach.h"

#include "control/arena/channel.h"
#include "control/arena/journal.h"
#include "control/ptrace/task_stop.h"
#include "control/proc/procinfo.h"
#include "control/ptrace/remote_call.h"

#include <errno.h>
#include <linux/kcmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <time.h>
#include <unistd.h>

/* Limits for each target; base/patience.c tells what is left of them. */
/* for all answers of an agent together, without its waits for a CPU; also for it to stop, and to end */
#define ANSWER_MS	5000
#define RESTORE_MS	5000		/* to stop all tasks */
#define LEAVE_MS	3000		/* for tasks to leave the runtime's code */
#define LATE_MS		20000		/* added while tasks do not stop, or do not get a CPU */
#define HURRY		(-20)
#define HOLD_TRIES	4
#define LOOK_MIN_NS	200000
#define LOOK_MAX_NS	20000000
#define OWN_MAX		(1u << 20)
#define OWN_FEW		1024u		/* ranges for which no memory is needed: most targets have a few dozen */

static int say(struct detaching *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static int say(struct detaching *l, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(l->why, sizeof(l->why), fmt, ap);
	va_end(ap);
	return -EAGAIN;
}

/* ---- Commands -------------------------------------------------------------------------------- */

static int agent_is_over(const struct detaching *l, unsigned ms)
{
	return fd_await(l->agent_fd, ms);
}

/*
 * May the session stop waiting? A hostile agent answers late or never while other targets wait. An agent that gets no
 * CPU is not hostile: its time of waiting for a CPU does not count, up to LATE_MS.
 */
static int gives_up(const void *arg, uint64_t waited_ns)
{
	const struct detaching *l = arg;
	uint64_t starved;

	if (agent_is_over(l, 0))
		return -ESRCH;
	if (l->answer_ns + waited_ns <= l->patience_ns)
		return 0;
	starved = proc_starved_ns(l->agent) - l->starved_ns;
	return l->answer_ns + waited_ns > l->patience_ns + (starved < l->late_ns ? starved : l->late_ns);
}

static struct uft_cmd uft_shared *area(const struct detaching *l)
{
	return arena_cmd(l->arena, l->slice);
}

static void post(struct detaching *l, uint32_t op, uint32_t flags)
{
	SHARED_STORE(&channel_begin(l->arena, l->slice, op, 0, 0)->flags, flags);
	channel_post(l->arena, l->slice);
}

static int await(struct detaching *l)
{
	uint64_t since = now_ns();
	int ret = channel_await(l->arena, l->slice, ANSWER_MS + LATE_MS, gives_up, l);

	l->answer_ns += now_ns() - since;
	return ret > 0 ? command_result(l->arena, l->slice) : ret ? ret : -ETIMEDOUT;
}

static int run(struct detaching *l, uint32_t op, uint32_t flags)
{
	post(l, op, flags);
	return await(l);
}

/* ---- Step 1 ---------------------------------------------------------------------------------- */

static struct task_search detach_search(const struct detaching *l)
{
	return (struct task_search){ .pid = l->pid, .agent = l->agent, .own = l->own, .nown = l->nown };
}

/* The process has executed another program; the agent alone has the memory of the old one. */
static int has_executed(const struct detaching *l)
{
	return !agent_is_over(l, 0) && syscall(SYS_kcmp, l->pid, l->agent, KCMP_VM, 0, 0) > 0;
}

/*
 * On a loaded machine some tasks may not stop in time; a task that was inside may have left at the next try.
 * -ESRCH: the process has ended, or executed another program: no task will stop.
 */
static int restore_code(struct detaching *l)
{
	uint64_t since = now_ns(), deadline = since + patience_ns(RESTORE_MS);
	struct task_search look = detach_search(l);
	struct stopped_tasks *held = NULL;
	char by[80];
	pid_t tid;

	while (l->left > 0) {
		if (stop_all_tasks(&look, TASK_STOP_MS, &held) == 0) { /* GUARD(restore_code_stop_all_tasks) */
			l->left = run(l, UFT_CMD_LEAVE, UFT_CMD_HELD);
			l->stuck = l->left < 0 ? 0 : (int)SHARED_LOAD(&area(l)->n);
		}
		resume_all(held);
		if (l->left > 0 && (proc_is_ending(l->pid) || has_executed(l))) /* GUARD(restore_code_over) */
			return -ESRCH;
		if (l->left > 0 && now_ns() > deadline)
			break;
		if (l->left > 0)
			nanosleep(&(struct timespec){ .tv_nsec = LOOK_MAX_NS }, NULL);
	}
	patience_use(since, l->left > 0);
	if (l->left < 0)
		return l->left;
	if (!l->left)
		return 0;
	tid = procinfo_taken(l->pid, getpid(), by, sizeof(by));
	if (tid)
		return say(l, "%d place%s of its code could not be put back: its thread %d is being traced by %s",
			   l->left, l->left == 1 ? "" : "s", tid, by);
	return say(l, "%d place%s of its code could not be put back: its threads cannot be stopped", l->left,
		   l->left == 1 ? "" : "s");
}

/* ---- Step 2 ---------------------------------------------------------------------------------- */

/* Takes ranges off the list that tasks are inside of, because they do not matter here. */
static void set_needed_aside(struct detaching *l)
{
	uint32_t n = 0;

	l->kept_bytes = 0;
	for (uint32_t i = 0; i < l->nown; i++)
		if (l->own[i].bytes & UFT_OWNED_NEEDED)
			l->kept_bytes += l->own[i].bytes & ~(uint64_t)(UFT_OWNED_TP | UFT_OWNED_NEEDED);
		else
			l->own[n++] = l->own[i];
	l->nown = n;
}

/* For the target from which this thread detaches. */
static _Thread_local struct uft_owned few[OWN_FEW];

static void free_mappings(struct detaching *l)
{
	if (l->own != few)
		free(l->own);
	l->own = NULL;
	l->nown = 0;
}

/* The target's list is untrusted data: it is copied, and only ever used on the target itself. */
static int read_mappings(struct detaching *l)
{
	int ret = run(l, UFT_CMD_MAPPINGS, UFT_CMD_HELD);
	uint32_t n = SHARED_LOAD(&area(l)->n);

	if (ret)
		return ret;
	if (n > OWN_MAX || n * sizeof(*l->own) > l->arena->map->cmd_bytes - UFT_CMD_PAYLOAD)
		return -EPROTO;
	free_mappings(l);
	l->own = malloc((n + 1) * sizeof(*l->own));
	if (!l->own && n <= OWN_FEW /* GUARD(detach_few, 0) */)
		l->own = few;
	if (!l->own)
		return say(l, "mappings remain, because uft has no memory for a list of them");
	shared_read(l->own, channel_payload(area(l)), n * sizeof(*l->own));
	l->nown = n;
	set_needed_aside(l);
	return 0;
}

/*
 * Lets a running task run before a search. Each search stops it, and so takes the time slice in which it would have
 * left the runtime: a task of low priority among many others never left while it was searched. Returns how long that
 * took.
 */
static uint64_t let_run(const struct task_search *look, uint64_t deadline)
{
	uint64_t since = now_ns();
	int nice, is_hurried;

	if (!task_waits_for_cpu(look))
		return 0;
	is_hurried = task_raise_priority(look->inside, &nice);
	while (task_waits_for_cpu(look) && now_ns() < deadline)
		nanosleep(&(struct timespec){ .tv_nsec = LOOK_MIN_NS }, NULL);
	if (is_hurried)
		task_restore_priority(look->inside, nice);
	return now_ns() - since;
}

/* A task that the session may not stop may be running anywhere. */
static int say_inside(struct detaching *l, pid_t inside)
{
	char by[80];
	pid_t tid = procinfo_taken(l->pid, getpid(), by, sizeof(by));

	if (tid == inside)
		return say(l, "%u mappings remain, because thread %d is being traced by %s", l->nown, tid, by);
	return say(l, "%u mappings remain, because thread %d does not leave them", l->nown, inside);
}

static int wait_until_no_task_inside(struct detaching *l)
{
	uint64_t since = now_ns(), deadline = since + patience_ns(LEAVE_MS), late_ns = patience_ns(LATE_MS),
		 waited = 0;
	struct task_search look = detach_search(l);
	long nap = LOOK_MIN_NS;
	int ret = 0;

	look.until_ns = deadline + late_ns;
	for (int clean = 0; clean < 2 && !ret;) {
		ret = run(l, UFT_CMD_UNHOOK, 0); /* GUARD(detach_unhooks, 0) */
		if (ret >= 0)
			ret = tasks_find_inside(&look);
		clean = ret ? 0 : clean + 1;
		if (ret <= 0)
			continue;
		ret = 0;
		if (now_ns() > deadline + (look.is_late ? late_ns : waited))
			ret = say_inside(l, look.inside);
		else
			waited += let_run(&look, look.until_ns);
		nanosleep(&(struct timespec){ .tv_nsec = nap }, NULL);
		nap = nap * 2 > LOOK_MAX_NS ? LOOK_MAX_NS : nap * 2;
	}
	patience_use(since + waited, ret);
	return ret;
}

/* ---- Step 3 ---------------------------------------------------------------------------------- */

/*
 * Makes the system call @nr in the stopped agent. Returns its value or -errno; -ESRCH: the agent has ended; -ETIMEDOUT:
 * the call has not returned by @deadline, and the agent then sleeps behind it (remote_park()).
 */
static long agent_call(pid_t agent, struct user_regs_struct *regs, uint64_t insn, long nr, uint64_t a, uint64_t b,
		       uint64_t deadline)
{
	int status, ret;

	regs->rip = insn;
	regs->rax = (unsigned long long)nr;
	regs->orig_rax = -1ull;
	regs->rdi = a;
	regs->rsi = b;
	if (task_request(PTRACE_SETREGS, agent, 0, regs))
		return -ESRCH;
	for (int i = 0; i < 2; i++) {
		if (task_request(PTRACE_SYSCALL, agent, 0, NULL))
			return -ESRCH;
		do
			ret = task_wait_stop(agent, &status);
		while (ret == -EAGAIN && now_ns() < deadline /* GUARD(munmap_deadline) */);
		if (ret == -EAGAIN) {
			late_task_interrupt(agent);
			return -ETIMEDOUT;
		}
		if (ret)
			return ret;
	}
	return task_request(PTRACE_GETREGS, agent, 0, regs) ? -ESRCH : (long)regs->rax;
}

/*
 * Does a task still need the range as its thread pointer? A program that never sets its thread pointer, or has not done
 * so yet, has the one that the blob gave it (runtime/agent/boot.c). It had none before, so it gets 0 in its place, and
 * the range can be unmapped.
 */
static int is_needed(const struct detaching *l, const struct uft_owned *own)
{
	struct task_search look = detach_search(l);

	return own->bytes & UFT_OWNED_TP && tasks_take_thread_pointer(&look, own->at, own->bytes & ~UFT_OWNED_TP);
}

/* Takes ranges off the list from which a task's thread pointer could not be taken. Returns how many remain mapped. */
static uint32_t drop_needed(struct detaching *l)
{
	uint64_t since = now_ns(), deadline = since + patience_ns(UNMAP_MS);
	uint32_t n = 0;

	for (uint32_t i = 0; i < l->nown; i++)
		if (now_ns() < deadline && !is_needed(l, &l->own[i]))
			l->own[n++] = l->own[i];
	patience_use(since, 0);
	n = l->nown - n;
	l->nown -= n;
	return n;
}

/*
 * Returns the address at which the agent makes its calls, and sleeps if this process is killed or stops waiting; 0: no
 * room. If there is room for the note, the guard finds out from it how far the agent came.
 */
static uint64_t note(const struct detaching *l, struct remote *r)
{
	struct detach_notes *n = &guard_notes()->leaving;
	uint8_t raw[UFT_AUXV_MAX];
	struct auxv av;
	size_t bytes;

	if (r->mem < 0 || auxv_read(l->agent, raw, &bytes, &av))
		return 0;
	n->park = 0;
	if (l->nown <= sizeof(n->own) / sizeof(n->own[0])) {
		n->agent = l->agent;
		n->slice = l->slice;
		n->nown = l->nown;
		memcpy(n->own, l->own, l->nown * sizeof(*l->own));
		__atomic_store_n(&n->pid, l->pid, __ATOMIC_RELEASE);
	}
	if (!remote_park(r, &av, &n->park))
		n->pid = 0;
	return r->guard;
}

/* Another session that stops all tasks of the process for a moment has the agent, too. */
static int stop_agent(const struct detaching *l, struct user_regs_struct *regs)
{
	uint64_t since = now_ns(), deadline = since + patience_ns(ANSWER_MS);
	uint64_t taken = since + TASK_STOP_MS * 1000000ull;
	int sig = 0, ret;

	while ((ret = task_stop(l->agent, &sig))) {
		if (ret == -EPERM && now_ns() < taken)
			nanosleep(&(struct timespec){ .tv_nsec = LOOK_MIN_NS }, NULL);
		else if (ret != -EAGAIN || now_ns() >= deadline)
			break;
	}
	patience_use(since, ret);
	if (!ret && ptrace(PTRACE_GETREGS, l->agent, 0, regs) < 0)
		ret = -errno;
	if (!ret)	/* with CAP_SYS_ADMIN: a filter may deny munmap */
		ptrace(PTRACE_SETOPTIONS, l->agent, 0, PTRACE_O_SUSPEND_SECCOMP);
	return ret;
}

/*
 * Unmaps the first @n ranges by calls of the stopped agent at @insn. -ETIMEDOUT: one of the calls does not return,
 * which a target can cause (UFFD_FEATURE_EVENT_UNMAP, a frozen control group).
 */
static int unmap_rest(struct detaching *l, uint32_t n, struct user_regs_struct *regs, uint64_t insn)
{
	uint64_t since = now_ns(), deadline = since + patience_ns(UNMAP_MS);
	uint32_t failed = 0;

	for (uint32_t i = n; i-- > 0;) {		/* in this order: the arena and the code are among the last */
		long got = agent_call(l->agent, regs, insn, SYS_munmap /* GUARD(detach_unmaps, SYS_msync) */,
				      l->own[i].at, l->own[i].bytes & ~UFT_OWNED_TP,
				      deadline);

		if (got == -ESRCH || got == -ETIMEDOUT) {
			patience_use(since, got == -ETIMEDOUT);
			return (int)got;
		}
		failed += got != 0;
		if (now_ns() > deadline) {
			failed += i;
			break;
		}
	}
	regs->rip = insn;
	regs->rax = SYS_exit;
	regs->orig_rax = -1ull;
	regs->rdi = 0;
	if (ptrace(PTRACE_SETREGS, l->agent, 0, regs) < 0)	/* it has no code to return to */
		syscall(SYS_pidfd_send_signal, l->agent_fd, SIGKILL, NULL, 0);
	task_detach(l->agent, 0);
	patience_use(since, !agent_is_over(l, (unsigned)(patience_ns(ANSWER_MS) / 1000000)));
	return (int)failed;
}

/*
 * @ret: of unmap_rest(). An agent that returns late needs the code behind its call, and is made to exit there.
 * Otherwise it would outlive its process, because only the end of the process makes the call return.
 */
static void forget(struct remote *r, int ret)
{
	if (ret == -ETIMEDOUT)
		remote_park_ends(r); /* GUARD(forget_park_ends) */
	else
		remote_unguard(r);
	guard_notes()->leaving.pid = 0;
}

static int unmap_held(struct detaching *l, struct remote *r)
{
	struct user_regs_struct regs;
	uint64_t insn;
	int ret = stop_agent(l, &regs);

	if (ret)
		return say(l, "%u mappings remain, because its agent cannot be stopped: %s", l->nown, strerror(-ret));
	/* not the process's: that may have executed another program by now */
	r->mem = proc_open_memory(l->agent);
	insn = note(l, r);
	if (!insn) {
		task_resume(l->agent, 0);
		return say(l, "%u mappings remain, because its vdso has no room for a system call", l->nown);
	}
	SHARED_STORE(&arena_slice(l->arena, l->slice)->agent_tid, 0);		/* the agent is gone */
	ret = unmap_rest(l, l->nown, &regs, insn);
	forget(r, ret);
	if (ret == -ETIMEDOUT)
		say(l, "mappings and its agent remain, because the kernel did not unmap them in time (is it frozen, or watched by userfaultfd?)");
	return ret;
}

/*
 * Goes on even if some tasks cannot be stopped: the only risk is a child that one of them forks just now. The stopped
 * tasks refer to @look.
 */
static struct stopped_tasks *stop_for_detach(struct task_search *look)
{
	uint64_t since = now_ns(), deadline = since + patience_ns(RESTORE_MS);
	struct stopped_tasks *held;

	for (int i = 0;
	     stop_all_tasks(look, TASK_STOP_MS, &held) == -EAGAIN && i < HOLD_TRIES && now_ns() < deadline; i++)
		resume_all(held);
	patience_use(since, 0);
	return held;
}

static int unmap_all(struct detaching *l)
{
	struct remote r = { .mem = -1 };
	uint32_t needed = drop_needed(l);
	struct task_search look = detach_search(l);
	struct stopped_tasks *held = stop_for_detach(&look);
	int ret = unmap_held(l, &r);

	resume_all(held);
	if (r.mem >= 0)
		close(r.mem);
	if (ret < 0)
		return ret;
	return ret + needed ? say(l, ret + needed == 1 ? "%u mapping remains" : "%u mappings remain", ret + needed) : 0;
}

/* How many ranges the agent has still to unmap, after it fell asleep where its tracer died; all if it has not begun. */
static uint32_t ranges_left(const struct detach_notes *n, const struct user_regs_struct *regs)
{
	/* all ranges are unmapped, the agent only has to exit */
	if (regs->rip == n->park && regs->rax == SYS_exit)
		return 0;
	for (uint32_t i = 0; i < n->nown; i++)
		if (n->own[i].at == regs->rdi)
			return i + (regs->rip == n->park);	/* that call is not made yet */
	return n->nown;
}

void detach_finish(const struct arena *a, struct detach_notes *n)
{
	struct detaching l = {
		.arena = a, .slice = n->slice, .pid = n->pid, .agent = n->agent, .own = n->own, .nown = n->nown
	};
	struct remote r = { .mem = -1, .guard = n->park, .guard_bytes = REMOTE_PARK_BYTES };
	struct user_regs_struct regs;
	struct task_search look = detach_search(&l);
	struct stopped_tasks *held = NULL;
	int ret = 0;

	l.agent_fd = task_open_agent(l.pid, l.agent);
	if (l.agent_fd >= 0)
		held = stop_for_detach(&look);
	if (l.agent_fd >= 0 && !stop_agent(&l, &regs)) {
		r.mem = proc_open_memory(l.agent);
		if (regs.rip - n->park < REMOTE_PARK_BYTES) {
			ret = unmap_rest(&l, ranges_left(n, &regs), &regs, n->park);
		} else {
		/* the agent still serves */
			SHARED_STORE(&arena_slice(a, l.slice)->agent_tid, (uint32_t)proc_namespace_pid(l.agent));
			task_resume(l.agent, 0);
		}
	}
	resume_all(held);
	if (r.mem < 0)
		r.mem = proc_open_memory(l.pid);	/* the agent has ended, the note is at its old place */
	if (r.mem >= 0) {
		forget(&r, ret);
		close(r.mem);
	}
	if (l.agent_fd >= 0)
		close(l.agent_fd);
}

/* ---- All -------------------------------------------------------------------------------------- */

static void ask(struct detaching *l)
{
	const struct uft_slice uft_shared *sl = arena_slice(l->arena, l->slice);

	const pid_t named = (pid_t)SHARED_LOAD(&sl->agent_tid);

	l->is_asked = l->is_done = 0;
	if (!l->pid) {
		pid_t pid = (pid_t)SHARED_LOAD(&sl->pid);

		l->pid = arena_slice_is_mapped_by(l->arena, l->slice, pid) ? pid : 0;
	}
	l->agent = l->pid ? named : 0;
	if (l->agent && !task_is_agent_of(l->pid, l->agent))
		l->agent = agent_find(l->pid);
	if (l->agent && proc_namespace_pid(l->agent) != named)
		l->agent = 0;		/* the number in the slice belongs to another process, and so does this agent */
	l->agent_fd = task_open_agent(l->pid, l->agent);
	if (l->agent_fd < 0 || l->pid <= 0) {
		l->is_alone = l->pid > 0 && !proc_is_ending(l->pid) && arena_is_mapped_by(l->arena, l->pid);
		l->is_over = l->pid > 0 && !l->is_alone; /* GUARD(ask_is_over) */
		if (!l->is_over)
			say(l, "the runtime remains in it: it has no agent that removes it");
		return;
	}
	l->is_hurried = task_raise_priority(l->agent, &l->nice);
	l->starved_ns = proc_starved_ns(l->agent);
	l->is_asked = 1;
	post(l, UFT_CMD_LEAVE, 0);
}

static void detach_target(struct detaching *l)
{
	int ret = l->left = await(l);

	l->stuck = ret < 0 ? 0 : (int)SHARED_LOAD(&area(l)->n);
	if (ret >= 0)
		ret = restore_code(l);
	if (!ret)
		ret = read_mappings(l);
	if (!ret)
		ret = wait_until_no_task_inside(l);
	if (!ret)
		ret = read_mappings(l);		/* threads may have mapped more meanwhile; from now on none does */
	if (!ret)
		ret = unmap_all(l);
	if (!ret && l->stuck)
		ret = say(l,
			  "%d place%s of its code could not be put back, as another program has changed %s (a debugger's breakpoint?): "
			  "%llu kB of uft's code remain mapped, and record nothing", l->stuck, l->stuck == 1 ? "" : "s",
			  l->stuck == 1 ? "it" : "them", (unsigned long long)l->kept_bytes >> 10);
	if (ret && (proc_is_ending(l->pid) || has_executed(l))) /* GUARD(detach_target_over) */
		ret = -ESRCH;
	else if (ret == -ESRCH && (l->is_alone = arena_is_mapped_by(l->arena, l->pid)))
		ret = say(l, "its agent was ended, by a seccomp filter perhaps: uft's memory remains");
	if (ret == -ESRCH || ret == -ETIMEDOUT) {
		l->is_over = ret == -ESRCH;
		if (ret == -ESRCH || !l->why[0])
			say(l, ret == -ESRCH ? "" : "its agent does not answer");
	} else if (ret && !l->why[0]) {
		say(l, "%s", strerror(-ret));
	}
	if (ret && l->may_stay && l->left > 0 && !l->is_over) /* GUARD(detach_target_may_stay) */
		return;		/* the caller tries again */
	l->may_stay = 0;
	if (ret && !agent_is_over(l, 0) && ret != -ETIMEDOUT)
		run(l, UFT_CMD_AGENT_EXIT, 0);
}

static int has_answered(const struct detaching *l)
{
	const struct uft_slice uft_shared *sl = arena_slice(l->arena, l->slice);

	return SHARED_LOAD_ACQUIRE(&sl->cmd_done) == SHARED_LOAD(&sl->cmd_seq);
}

/* All targets that do not answer share one limit of time. */
static void detach_in_time(struct detaching *l)
{
	uint64_t starved;

	l->patience_ns = patience_ns(ANSWER_MS);
	l->late_ns = patience_ns(LATE_MS);
	detach_target(l);
	starved = agent_is_over(l, 0) ? 0 : proc_starved_ns(l->agent) - l->starved_ns;
	patience_use(now_ns() - (starved < l->answer_ns ? l->answer_ns - starved : 0),
		     l->answer_ns > l->patience_ns);
	if (l->is_hurried && !agent_is_over(l, 0))	/* else its number may belong to another process */
		task_restore_priority(l->agent, l->nice);
}

/*
 * Detaches with better priority: each stop waits until two processes get a CPU, and there are dozens of stops, so this
 * process and the agent should not queue for it. Without CAP_SYS_NICE they do.
 */
void detach_targets(struct detaching *l, uint32_t n)
{
	int own = getpriority(PRIO_PROCESS, 0);

	setpriority(PRIO_PROCESS, 0, HURRY);
	for (uint32_t i = 0; i < n; i++)
		ask(&l[i]);
	for (uint32_t i = 0; i < n; i++)
		if (!l[i].is_asked)
			l[i].may_stay = 0;
	/* Targets that have answered come first: they must not wait for one that does not. */
	for (int late = 0; late < 2; late++)
		for (uint32_t i = 0; i < n; i++)
			if (l[i].is_asked && !l[i].is_done && (late || has_answered(&l[i]))) {
				detach_in_time(&l[i]);
				l[i].is_done = 1;
			}
	for (uint32_t i = 0; i < n; i++) {
		if (l[i].agent_fd >= 0)
			close(l[i].agent_fd);
		free_mappings(&l[i]);
	}
	setpriority(PRIO_PROCESS, 0, own);
}
