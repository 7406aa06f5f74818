// SPDX-License-Identifier: MIT
/*
 * task_events.c - the events sched_process_fork, sched_process_exec, sched_process_exit
 *
 * The kernel reports each task of the targets that is made, executes a program or ends (observe.c): also one that is
 * killed, all those that end with their process, and children that are not traced. Nothing is done for it in the
 * program, on no path. The runtime sees less: it comes before a system call that may fail, and a thread's end, or one
 * by a signal, is no call that it sees.
 *
 * Times are the kernel's, of its report: a fork's is before the child runs, an end's before a waiting task knows of it.
 *
 * Facts that the kernel does not report are looked up while they can be:
 *	filename	the path given to exec, from the new program's auxiliary vector (AT_EXECFN). A process that is
 *			followed is stopped until it is read; in others it may have changed or be gone: `?`
 *	prio		from stat; if the thread has ended, the last value read of it, or of its maker
 *
 * The runtime's own tasks are not the program's. The task that makes the agent sets its name before it does anything
 * else, and the agent inherits it. Until a new process that shares its maker's memory is named otherwise, executes a
 * program, or ends, its fork event waits. If no event may be left for later, because a target is made or detached, the
 * name is waited for, for up to 50 ms. An exec waits until it is known whether the program becomes a target: then its
 * event is of the new image, with its names. A task that waits longer than WAIT_NS is judged by the facts known then.
 */
#include "control/events/observe_internal.h"

#include <elf.h>
#include <errno.h>
#include <linux/kcmp.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define WAIT_NS		1000000000u
#define NAP_NS		200000u
#define NAPS		250

/* Payloads of the built-in types (symbol/event_type.c): the kernel's records behind their common fields. */
struct fork_payload {
	char parent_comm[16];
	int32_t parent_pid;
	char child_comm[16];
	int32_t child_pid;
};
struct exit_payload {
	char comm[16];
	int32_t pid, prio;
};
struct exec_payload {
	uint32_t filename;		/* __data_loc: where the text is, and its length */
	int32_t pid, old_pid;
	char text[8 * (UFT_EXEC_WORDS - 1)];
};
_Static_assert(sizeof(struct fork_payload) == 40 && sizeof(struct exit_payload) == 24 &&
		       offsetof(struct exec_payload, text) == 12,
	       "formats of sched_process_*");

static int is_asked(const struct observe *o, uint32_t what)
{
	return (o->s->spec->tasks & what) != 0;
}

/* Is it unknown yet whether the task is the runtime's? Then it shares its maker's memory, and has its maker's name. */
static int is_unnamed(const struct perf_record *r)
{
	char comm[32];

	return r->pid == r->tid && !syscall(SYS_kcmp, r->pid, r->ptid, KCMP_VM, 0, 0) &&
	       proc_read_file(r->pid, "comm", comm, sizeof(comm)) > 0 && strncmp(comm, "uft-agent", 9) != 0;
}

/* Waits for the name of a task whose record cannot be left for later: mostly until the task gets a CPU. */
static void wait_for_name(const struct perf_record *r)
{
	for (int i = 0; i < NAPS && is_unnamed(r); i++)
		nanosleep(&(struct timespec){ .tv_nsec = NAP_NS }, NULL);
}

int tasks_must_wait(const struct observe *o, const struct perf_record *r)
{
	int is_new = r->kind == PERF_FORK && !observe_proc(o, r->pid);

	if (!o->s->spec->tasks || now_ns() > r->ns + WAIT_NS)
		return 0;
	if (o->is_final && is_new)
		wait_for_name(r);
	if (o->is_final)
		return 0;
	if (r->kind == PERF_COMM)
		return r->is_exec && r->pid != o->coming && session_follows_children(o->s) && observe_proc(o, r->pid) &&
		       !kill(r->pid, 0);
	return is_new && is_unnamed(r);
}

void tasks_fork(const struct observe *o, struct proc *parent, const struct perf_record *r)
{
	const struct thread *maker = observe_thread(parent, r->ptid);
	struct perf_record by = { .ns = r->ns, .cpu = r->cpu, .pid = parent->pid, .tid = r->ptid };
	struct fork_payload w = { .parent_pid = r->ptid, .child_pid = r->tid };

	if (!is_asked(o, UFT_TASKS_FORK))
		return;
	if (maker) {	/* a child has its maker's name at that moment */
		memcpy(w.parent_comm, maker->comm, sizeof(w.parent_comm));
		memcpy(w.child_comm, maker->comm, sizeof(w.child_comm));
	}
	observe_event(o, parent, &by, UFT_EVENT_SCHED_FORK, &w, sizeof(w), (uint32_t)r->tid);
}

void tasks_exit(const struct observe *o, struct proc *p, const struct perf_record *r)
{
	const struct thread *t = observe_thread(p, r->tid);
	struct exit_payload w = { .pid = r->tid };
	int prio;

	if (!t || !is_asked(o, UFT_TASKS_EXIT))
		return;
	prio = observe_prio(p->pid, r->tid);
	memcpy(w.comm, t->comm, sizeof(w.comm));
	w.prio = prio >= 0 ? prio : t->prio;
	observe_event(o, p, r, UFT_EVENT_SCHED_EXIT, &w, sizeof(w), 0);
}

void tasks_exec(const struct observe *o, struct proc *p, const struct perf_record *r)
{
	if (!is_asked(o, UFT_TASKS_EXEC))
		return;
	tasks_put_exec(o, p);		/* an exec before this one, of a program that is not followed */
	p->is_exec_told = 1;
	p->exec_ns = r->ns;
	p->exec_cpu = r->cpu;
	p->exec_tid = p->nthreads == 1 ? p->thread[0].tid : r->tid;
}

/* The path given to its exec, with zeroes behind it; "": not known any more. */
static void read_filename(pid_t pid, char *name, size_t size)
{
	Elf64_auxv_t av[64];
	int bytes = proc_read_file(pid, "auxv", (char *)av, sizeof(av));
	uint64_t at = 0;
	long n;

	for (int i = 0; bytes > 0 && i < bytes / (int)sizeof(av[0]) && av[i].a_type != AT_NULL; i++)
		at = av[i].a_type == AT_EXECFN ? av[i].a_un.a_val : at;
	n = at ? proc_read_string(pid, at, name, size) : -ESRCH;
	n = n == -ENAMETOOLONG ? (long)size - 1 : n < 0 ? 0 : n;
	memset(name + n, 0, size - (size_t)n);
}

void tasks_put_exec(const struct observe *o, struct proc *p)
{
	uint32_t n;
	struct perf_record r = { .ns = p->exec_ns, .cpu = p->exec_cpu, .pid = p->pid, .tid = p->pid };
	struct exec_payload w = { .pid = p->pid, .old_pid = p->exec_tid };

	if (!p->exec_ns)
		return;
	p->exec_ns = 0;
	if (!is_asked(o, UFT_TASKS_EXEC))
		return;
	read_filename(p->pid, w.text, sizeof(w.text));
	if (!w.text[0])
		w.text[0] = '?';
	n = (uint32_t)strlen(w.text) + 1;
	w.filename = n << 16 | (UFT_EVENT_COMMON + offsetof(struct exec_payload, text));
	observe_event(o, p, &r, UFT_EVENT_SCHED_EXEC, &w, offsetof(struct exec_payload, text) + n, 0);
}
