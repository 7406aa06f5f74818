// SPDX-License-Identifier: MIT
/*
 * watchdog.c - trace every task of every target by PTRACE_SEIZE, to see faults before the program does
 *
 * Why so (doc/design/decisions.md): a fault must be seen before the program's handler or the kernel's default action
 * gets it, and only a tracer does. It costs each signal two stops, so it is done when asked for (opts.watchdog).
 *
 *	target announced -> its tasks seized, without a stop; their threads come with them (seize.c)
 *	fork child	 -> seized when it is a target of its own; with int3s (int3.c) from its birth
 *	exec		 -> exec_trace.c takes the task over; the new image is a target again
 *	session ends, or is killed -> detached
 *
 * There is no descriptor for "a tracee has stopped". A helper thread waits for any tracee without taking the news
 * (WNOWAIT), turns it into an eventfd and waits until the session's thread has taken it: stops are handled at once, and
 * the session still sleeps. Only the tid is looked at; waiting for it is done by the session's thread.
 *
 * A tracee must live as untraced. Signals are passed on with their siginfo, group stops are listened to. One thing is
 * different in the kernel: a signal that is ignored wakes a traced task, and a system call which is not restarted by
 * itself then ends in EINTR. Such a task is set back to its `syscall` instruction (a relative time-out starts anew).
 */
#include "control/watchdog/watchdog.h"

#include "control/ptrace/task_stop.h"
#include "control/watchdog/int3.h"
#include "symbol/array.h"
#include "symbol/sorted.h"
#include "symbol/thread.h"

#include <errno.h>
#include <linux/kcmp.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RELEASE_MS	500	/* for a task to stop: the parent of a vfork child waits for that one */
#define PRESS_NS	20000000	/* then one that is needed gets a better priority */
#define PRESS_NAP_NS	1000000
#define PATIENCE_NS	5000000000ull	/* then the user is told that we wait */
#define NAP_NS		20000
#define STOPS_AT_ONCE	256	/* stops handled before requests are served */

struct watchdog {
	int fd;
	pthread_t helper;
	uint32_t taken;		/* futex: the helper may look again; also when the first task is seized */
	pid_t *tid;		/* sorted */
	size_t n, room;
};

/* ---- The tasks ------------------------------------------------------------------------------ */

static size_t place_of(const struct watchdog *w, pid_t tid)
{
	return SORTED_FIRST(i, w->n, w->tid[i] >= tid);
}

int watchdog_has(const struct uft_session *s, pid_t tid)
{
	const struct watchdog *w = s->watch;
	size_t at = w ? place_of(w, tid) : 0;

	return w && at < w->n && w->tid[at] == tid;
}

static int add(struct watchdog *w, pid_t tid)
{
	size_t at = place_of(w, tid);

	if (at < w->n && w->tid[at] == tid)
		return 0;
	if (array_reserve(w->tid, w->room, w->n + 1))
		return -ENOMEM;
	memmove(w->tid + at + 1, w->tid + at, (w->n - at) * sizeof(*w->tid));
	w->tid[at] = tid;
	w->n++;
	return 0;
}

void watchdog_forget(struct uft_session *s, pid_t tid)
{
	struct watchdog *w = s->watch;
	size_t at = w ? place_of(w, tid) : 0;

	if (!watchdog_has(s, tid))
		return;
	w->n--;
	memmove(w->tid + at, w->tid + at + 1, (w->n - at) * sizeof(*w->tid));
}

pid_t *watchdog_processes(const struct uft_session *s, size_t *n)
{
	const struct watchdog *w = s->watch;
	size_t room = w ? w->n + 1 : 1;
	pid_t *pid, last = 0;

	for (const struct target *t = s->targets; t; t = t->next)
		room++;
	pid = calloc(room, sizeof(*pid));
	*n = 0;
	for (size_t i = 0; pid && w && i < w->n; i++) {		/* a process's tasks have near numbers mostly */
		pid_t tgid = (pid_t)proc_status_number(w->tid[i], "Tgid", 10);

		if (tgid > 0 && tgid != last)
			pid[(*n)++] = last = tgid;
	}
	for (const struct target *t = s->targets; pid && t; t = t->next)
		pid[(*n)++] = t->pid;
	return pid;
}

static void let_helper_look(struct watchdog *w)
{
	__atomic_add_fetch(&w->taken, 1, __ATOMIC_RELEASE);
	futex(&w->taken, 1 /* FUTEX_WAKE */, 1, NULL);
}

/* ---- Stops ---------------------------------------------------------------------------------- */

static int is_ignored(pid_t tid, int sig)
{
	const uint64_t bit = 1ull << (sig - 1);
	const uint64_t by_default =
		1ull << (SIGCHLD - 1) | 1ull << (SIGURG - 1) | 1ull << (SIGWINCH - 1) | 1ull << (SIGCONT - 1);

	if ((uint64_t)proc_status_number(tid, "SigCgt", 16) & bit)
		return 0;
	return by_default & bit || (uint64_t)proc_status_number(tid, "SigIgn", 16) & bit;
}

/* The signal would not have woken the task if it were not traced. */
static void undo_eintr(pid_t tid, int sig)
{
	struct user_regs_struct regs;

	if (task_request(PTRACE_GETREGS, tid, 0, &regs) || (int64_t)regs.orig_rax < 0 || regs.rax != (uint64_t)-EINTR ||
	    !is_ignored(tid, sig))
		return;
	regs.rax = regs.orig_rax;
	regs.orig_rax = (uint64_t)-1;
	regs.rip -= 2;
	task_request(PTRACE_SETREGS, tid, 0, &regs);
}

/* The task was interrupted by a stop of all tasks that has not waited for it. */
static void repeat_call(pid_t tid)
{
	struct user_regs_struct regs;

	if (!task_request(PTRACE_GETREGS, tid, 0, &regs) && regs_restart_call(&regs))
		task_request(PTRACE_SETREGS, tid, 0, &regs);
}

static void on_signal(struct uft_session *s, pid_t tid, int sig)
{
	if (sig == SIGTRAP && int3_serve(s, tid))
		sig = 0;
	else if (sig == SIGSEGV || sig == SIGILL || sig == SIGBUS || sig == SIGTRAP)
		sig = fault_look(s, tid, sig);
	else
		undo_eintr(tid, sig);
	task_request(PTRACE_CONT, tid, 0, (void *)(intptr_t)sig);
}

int watchdog_take_back(struct uft_session *s, pid_t tid)
{
	struct watchdog *w = s->watch;
	int ret = w ? add(w, tid) : -ENOENT;

	if (!ret && w->n == 1)
		let_helper_look(w);
	return ret;
}

void watchdog_note_child(struct uft_session *s, pid_t tid, int event)
{
	unsigned long made;

	if (s->opts.int3 &&
	    (event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK || event == PTRACE_EVENT_CLONE) &&
	    !task_request(PTRACE_GETEVENTMSG, tid, 0, &made) && made)
		add(s->watch, (pid_t)made);
}

static void on_stop(struct uft_session *s, pid_t tid, int status)
{
	int event = status >> 16, sig = WSTOPSIG(status);

	if (event == PTRACE_EVENT_EXEC) {		/* an exec without a request: no target any more */
		task_detach(tid, 0);
		watchdog_forget(s, tid);
	} else if (event == PTRACE_EVENT_STOP) {
		int is_group_stop = sig == SIGSTOP || sig == SIGTSTP || sig == SIGTTIN || sig == SIGTTOU;

		repeat_call(tid);
		task_request(is_group_stop ? PTRACE_LISTEN : PTRACE_CONT, tid, 0, NULL);
	} else if (event || sig == (SIGTRAP | 0x80)) {
		watchdog_note_child(s, tid, event);
		task_request(PTRACE_CONT, tid, 0, NULL);
	} else {
		on_signal(s, tid, sig);
	}
}

static void on_end(struct uft_session *s, pid_t tid, int status)
{
	if (tid == s->launched)
		s->launched_status = status;
	watchdog_forget(s, tid);
}

static void resume(struct uft_session *s, pid_t tid, int status)
{
	if (WIFSTOPPED(status))
		on_stop(s, tid, status);
	else
		on_end(s, tid, status);
}

/* A task with a stop or end to handle, which stays pending. 0: none. */
static int see(siginfo_t *si, int which)
{
	si->si_pid = 0;
	return waitid(P_ALL, 0, si, WEXITED | WSTOPPED | WNOWAIT | WNOHANG | which) == 0 && si->si_pid;
}

/*
 * Other children of ours (fusermount, or children of a shell that executed uft) would be reported first until they are
 * reaped. With __WCLONE the kernel reports all tracees, and not such children.
 */
static int is_no_business(const struct uft_session *s, pid_t pid)
{
	return pid != s->launched && !watchdog_has(s, pid) && !watchdog_is_exec_task(s, pid) && !task_is_late(pid) &&
	       !proc_is_our_tracee(pid);
}

/* Handles one stop or end of a tracee. 0: there is none. */
static int take(struct uft_session *s)
{
	siginfo_t si;
	int status;

	if (!see(&si, __WALL) || (is_no_business(s, si.si_pid) && !see(&si, __WCLONE)) ||
	    watchdog_is_exec_task(s, si.si_pid))
		return 0;
	if (!watchdog_has(s, si.si_pid)) {
		/*
		 * One that was to be let go (watchdog_release) and stops only now. Taken by us it would be a
		 * tracee for good.
		 */
		if (task_is_late(si.si_pid)) {
			tasks_reap_late();
			return !task_is_late(si.si_pid);
		}
		/*
		 * A thread of a tracee that stops before its maker told us, or is ended before it ever stops:
		 * an exec waits until somebody takes that end. Any other is a child's.
		 */
		if (si.si_pid == s->launched || (si.si_code != CLD_TRAPPED && !proc_is_our_tracee(si.si_pid)) ||
		    add(s->watch, si.si_pid))
			return 0;
	}
	if (waitpid(si.si_pid, &status, __WALL | WNOHANG) != si.si_pid)
		return 0;
	resume(s, si.si_pid, status);
	return 1;
}

void watchdog_serve(struct uft_session *s)
{
	struct watchdog *w = s->watch;
	uint64_t drained;
	int n = 0;

	if (!w)
		return;
	if (read(w->fd, &drained, sizeof(drained)) < 0)
		return;
	while (n < STOPS_AT_ONCE && take(s))
		n++;
	let_helper_look(w);
}

/* ---- The helper ----------------------------------------------------------------------------- */

static void *helper_main(void *arg)
{
	struct watchdog *w = arg;
	uint64_t one = 1;

	for (;;) {
		uint32_t seen = __atomic_load_n(&w->taken, __ATOMIC_ACQUIRE);
		siginfo_t si = { .si_pid = 0 };

		/*
		 * Of those that are traced, as take() asks: what is nobody's business would be shown again as
		 * soon as the session has looked. And the session looks now and then: where nobody is traced
		 * yet nothing is waited for.
		 */
		if (waitid(P_ALL, 0, &si, WEXITED | WSTOPPED | WNOWAIT | __WCLONE) == 0 &&
		    write(w->fd, &one, sizeof(one)) < 0)
			break;
		pthread_testcancel();
		futex(&w->taken, 0 /* FUTEX_WAIT */, seen, &(struct timespec){ .tv_nsec = 100000000 });
	}
	return NULL;
}

static int is_kept(void *s, pid_t tid)
{
	return watchdog_may_keep(s, tid);
}

static void go_on(void *s, pid_t tid, int status)
{
	resume(s, tid, status);
}

static const struct tracee_keeper keeper = { .is_kept = is_kept, .go_on = go_on };

int watchdog_begin(struct uft_session *s)
{
	struct epoll_event ev = { .events = EPOLLIN };
	struct watchdog *w = calloc(1, sizeof(*w));
	int ret;

	if (!w)
		return -ENOMEM;
	w->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	ev.data.fd = w->fd;
	if (w->fd < 0 || epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, w->fd, &ev) < 0) {
		ret = -errno;
		goto undo;
	}
	ret = thread_start(&w->helper, helper_main, w);
	if (ret)
		goto undo;
	s->watch = w;
	s->keeper = &keeper;
	return 0;
undo:
	if (w->fd >= 0)
		close(w->fd);
	free(w);
	return ret;
}

/* Returns 1 if the task is of process @pid or shares its memory; for 0 always. */
static int is_of(pid_t tid, pid_t pid)
{
	return !pid || tid == pid || proc_status_number(tid, "Tgid", 10) == pid ||
	       syscall(SYS_kcmp, pid, tid, KCMP_VM, 0, 0) == 0;
}

/* Returns 1 if the task has taken a trap that is reported only after the stop that we requested. */
static int has_trap_ahead(const struct uft_session *s, pid_t tid)
{
	const uint64_t bit = 1ull << (SIGTRAP - 1);

	return s->traps &&
	       (uint64_t)proc_status_number(tid, "SigPnd", 16) & ~(uint64_t)proc_status_number(tid, "SigBlk", 16) & bit;
}

/* Detaches a stopped task with the signal that it stopped for. 0: it must stop once more first. */
static int let_go(struct uft_session *s, pid_t tid, int status)
{
	int event = status >> 16, sig = event || WSTOPSIG(status) == (SIGTRAP | 0x80) ? 0 : WSTOPSIG(status);

	watchdog_note_child(s, tid, event);
	int3_take_out(s, tid);
	if (event == PTRACE_EVENT_STOP && has_trap_ahead(s, tid)) {
		task_request(PTRACE_CONT, tid, 0, NULL);
		return 0;
	}
	if (sig == SIGTRAP && int3_serve(s, tid))
		sig = 0;
	task_detach(tid, sig);
	return 1;
}

/* Resumes tasks that have stopped. Returns how many. */
static size_t let_go_stopped(struct uft_session *s, pid_t pid)
{
	struct watchdog *w = s->watch;
	size_t gone = 0;
	int status;

	for (size_t i = w->n; i-- > 0;) {
		pid_t tid = i < w->n ? w->tid[i] : 0;
		int got = tid && is_of(tid, pid) ? waitpid(tid, &status, __WALL | WNOHANG) : 0;

		if (got == tid && tid && !WIFSTOPPED(status))
			on_end(s, tid, status);
		else if (got > 0 && let_go(s, tid, status))
			watchdog_forget(s, tid);
		else if (got < 0)
			watchdog_forget(s, tid);
		gone += got != 0;
	}
	return gone;
}

/* Interrupts all tasks of the process, or of all processes. Returns their number. */
static size_t ask_to_stop(struct watchdog *w, pid_t pid)
{
	size_t n = 0;

	for (size_t i = 0; i < w->n; i++)
		if (is_of(w->tid[i], pid)) {
			ptrace(PTRACE_INTERRUPT, w->tid[i], 0, 0);
			n++;
		}
	return n;
}

static size_t count(const struct watchdog *w, pid_t pid)
{
	size_t n = 0;

	for (size_t i = 0; i < w->n; i++)
		n += (size_t)is_of(w->tid[i], pid);
	return n;
}

/*
 * Returns 1 if the task may be resumed from its next stop without the watchdog. Where there are int3s, it must have no
 * trap pending and not be making a child from memory with int3s: so it sleeps in another system call, or has ended.
 */
static int may_go_late(const struct uft_session *s, pid_t tid)
{
	pid_t pid = (pid_t)proc_status_number(tid, "Tgid", 10);
	struct asleep a;
	int ret;

	if (!s->traps || pid <= 0)
		return 1;
	ret = task_read_asleep(pid, tid, &a);
	if (ret <= 0)
		return ret != 0;
	if (has_trap_ahead(s, tid))
		return 0;
	if (a.nr == SYS_fork || a.nr == SYS_vfork || a.nr == SYS_clone || a.nr == SYS_clone3)
		return task_is_vfork_wait(pid, &a);
	return 1;
}

struct pressed {
	pid_t tid;
	int nice, is_said;
};

static void press_no_more(struct pressed *p)
{
	if (p->tid)
		task_restore_priority(p->tid, p->nice);
	p->tid = 0;
}

/* Raises the priority of the first task that must be waited for, after @ns without a stop. 0: there is none. */
static int press(struct uft_session *s, pid_t pid, struct pressed *p, uint64_t ns)
{
	const struct watchdog *w = s->watch;

	for (size_t i = 0; i < w->n; i++) {
		pid_t tid = w->tid[i];

		if (!is_of(tid, pid) || may_go_late(s, tid))
			continue;
		if (p->tid != tid) {
			press_no_more(p);
			p->tid = task_raise_priority(tid, &p->nice) ? tid : 0;
		}
		if (ns > PATIENCE_NS && !p->is_said++)
			session_warn_of(s, target_slice_of(s, tid),
					"waiting for task %d: it gets no CPU time, and without uft it could die of SIGTRAP",
					tid);
		return 1;
	}
	return 0;
}

/* Detaches all tasks of the process, or of all processes, that stop in time. */
static void let_go_all(struct uft_session *s, pid_t pid)
{
	uint64_t since = now_ns(), ns;
	struct pressed p = { .tid = 0 };

	while (count(s->watch, pid)) {
		int must_wait = 0;

		if (let_go_stopped(s, pid)) {
			since = now_ns();
			continue;
		}
		ns = now_ns() - since;
		if (s->traps && ns > PRESS_NS)
			must_wait = press(s, pid, &p, ns);
		if (!must_wait && ns > RELEASE_MS * 1000000ull)
			break;
		nanosleep(&(struct timespec){ .tv_nsec = must_wait ? PRESS_NAP_NS : NAP_NS }, NULL);
	}
	press_no_more(&p);
}

/*
 * Without int3s there is nothing to be careful about. With them the memories are cleaned before the first
 * task is let go, by whichever of its tasks; a child that was made meanwhile, from memory that was not clean,
 * is found by its maker's stop or its own. So whoever makes one, or is in a trap, is waited for until it has
 * stopped, however long it gets no CPU.
 */
void watchdog_release(struct uft_session *s, pid_t pid)
{
	struct watchdog *w = s->watch;
	pid_t last = 0;

	if (!w)
		return;
	if (!s->traps)
		pid = 0;
	for (size_t i = 0; s->traps && i < w->n; i++) {
		pid_t tgid = is_of(w->tid[i], pid) ? (pid_t)proc_status_number(w->tid[i], "Tgid", 10) : 0;

		if (tgid > 0 && tgid != last)
			int3_take_out(s, w->tid[i]);
		last = tgid > 0 ? tgid : last;
	}
	ask_to_stop(w, pid);
	let_go_all(s, pid);
	for (size_t i = w->n; i-- > 0;)		/* it goes when it stops: tasks_reap_late() */
		if (is_of(w->tid[i], pid)) {
			late_task_add(w->tid[i]);
			watchdog_forget(s, w->tid[i]);
		}
	for (struct target *t = s->targets; t; t = t->next)
		if (!pid || t->pid == pid)
			t->is_watched = 0;
}

void watchdog_end(struct uft_session *s)
{
	struct watchdog *w = s->watch;

	if (!w)
		return;
	watchdog_release(s, 0);
	pthread_cancel(w->helper);
	let_helper_look(w);
	pthread_join(w->helper, NULL);
	close(w->fd);
	free(w->tid);
	free(w);
	s->watch = NULL;
	s->keeper = NULL;
}
