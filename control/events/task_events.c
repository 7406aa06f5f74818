// SPDX-License-Identifier: MIT
/*
 * task_events.c - the events sched_process_fork, sched_process_exec, sched_process_exit
 *
 * The kernel tells of each task of the targets that is made, executes a program and ends (observe.c), so also
 * of one that is killed, of all those that end with their process, and of children that are not traced;
 * nothing is done for it in the program, on no path. What the runtime sees of it is less: it is before a
 * system call that may fail, and a thread's end, or a signal's, is none of its calls.
 *
 * Times are the kernel's, of the moment in which it tells: a fork's is before the child runs, an end's before
 * who waits for it knows.
 *
 * What the kernel does not tell is looked up while it can be:
 *	filename	what exec was given, of the new program's auxiliary vector (AT_EXECFN). Whom we follow
 *			stands there until it is read; of others it may have changed or be gone: `?`
 *	prio		of stat; a thread that is gone has what was read of it, or of its maker, last
 *
 * The runtime's own tasks are none of the program's. The one that makes the agent has its name before it does
 * anything else, and the agent inherits it; until a new process that shares its maker's memory is named
 * otherwise, executes, or ends, its fork waits. Where nothing can be left for later, because a target is made
 * or left, its name is waited for there, for 50 ms. Of an exec it is waited whether the program becomes a
 * target: then its event is of the new image, with its names. Who waits longer than WAIT_NS is taken for what
 * it looks like.
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
	uint32_t filename;		/* __data_loc: where text is, and its length */
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

/* Nothing tells yet whether it is the runtime's: it has its maker's memory, and its name. */
static int is_unnamed(const struct perf_record *r)
{
	char comm[32];

	return r->pid == r->tid && !syscall(SYS_kcmp, r->pid, r->ptid, KCMP_VM, 0, 0) &&
	       proc_read_file(r->pid, "comm", comm, sizeof(comm)) > 0 && strncmp(comm, "uft-agent", 9) != 0;
}

/* What came cannot be left for later: as long as it takes to be given a CPU, mostly. */
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
	tasks_put_exec(o, p);		/* one before this that nobody followed */
	p->is_exec_told = 1;
	p->exec_ns = r->ns;
	p->exec_cpu = r->cpu;
	p->exec_tid = p->nthreads == 1 ? p->thread[0].tid : r->tid;
}

/* What its exec was given, with zeroes behind it; "": not known any more. */
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
