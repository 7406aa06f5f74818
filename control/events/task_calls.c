// SPDX-License-Identifier: MIT
/*
 * task_calls.c - stacks of the events sched_process_fork and sched_process_exit
 *
 * The kernel's record of a task that is made or ends (task_events.c) has no registers, and a tracepoint of the kernel
 * there comes too late: at the end of a process its memory is gone already. So the system calls that such events come
 * from are observed: clone, clone3, fork, vfork, exit, exit_group. The kernel copies the registers and the top of the
 * stack when the call begins, as for a sample (sample_callers.c walks both), before it does anything. The thread's next
 * event of that kind comes from its last call. A call that failed is replaced by the next.
 *
 * Nothing is done for it in the program. While such an event is open, the kernel takes a longer way into each system
 * call, of all processes; so the events are open only while stacks are asked for.
 *
 * tracefs has the numbers of these tracepoints, which root may read: once, because they do not change. Whatever is
 * mounted at /sys/kernel/tracing, uft's tree too, another tracefs is made that is mounted nowhere: fsmount().
 *
 * The runtime's hook makes a fork of a target (runtime/arch/x86_64/syscall.S); its stub tells the instruction of the
 * program that it replaces.
 *
 * Tasks that a signal ends, or another thread's exit_group() or exec, have no stack: they made no call. An exec has
 * none, because its event is the new program's, which no code has called; a call of the old program is in an image that
 * the new one does not have.
 */
#include "control/events/observe_internal.h"
#include "control/events/sample_callers.h"
#include "runtime/arch/x86_64/encode.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct { const char *name; uint32_t meaning; } calls[PERF_CALLS_MAX] = {
	{ "clone", UFT_TASKS_FORK }, { "clone3", UFT_TASKS_FORK }, { "fork", UFT_TASKS_FORK },
	{ "vfork", UFT_TASKS_FORK | WALK_VFORK }, { "exit", UFT_TASKS_EXIT }, { "exit_group", UFT_TASKS_EXIT },
};

#define BUCKETS		16u	/* at first */

struct call_stack {
	struct call_stack *next;	/* of its bucket */
	pid_t tid;
	uint32_t task, n;
	uint64_t w[1 + UFT_STACK_MAX];
};

/* Last calls of a process's threads, by tid; on average at most one per bucket. */
struct call_table {
	uint32_t n, nbuckets;		/* nbuckets: a power of two */
	struct call_stack *bucket[];
};

/* ---- Numbers of the calls -------------------------------------------------------------------- */

/* Returns a descriptor of a tracefs, or -errno. */
static int open_tracefs(void)
{
	int fs = (int)syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC), at, ret = 0;

	if (fs < 0)
		return -errno;
	if (syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		ret = -errno;
	at = ret ? -1 : (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, 0);
	if (at < 0 && !ret)
		ret = -errno;
	close(fs);
	return ret ? ret : at;
}

/* 0: this kernel has no such call. */
static uint32_t read_number(int tracefs, const char *call)
{
	char path[64], text[16];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "events/syscalls/sys_enter_%s/id", call);
	fd = openat(tracefs, path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	return (uint32_t)strtoul(text, NULL, 10);
}

static pthread_mutex_t numbers_lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t numbers[PERF_CALLS_MAX];	/* of calls[]; they do not change while the kernel runs */
static int has_numbers;

/* Under the lock. */
static int read_numbers(void)
{
	int tracefs = has_numbers ? 0 : open_tracefs();

	if (has_numbers || tracefs < 0)
		return tracefs;
	for (uint32_t i = 0; i < PERF_CALLS_MAX; i++)
		numbers[i] = read_number(tracefs, calls[i].name);
	close(tracefs);
	has_numbers = 1;
	return 0;
}

int calls_find(struct perf_want *want, uint32_t tasks)
{
	int ret;

	want->ncalls = 0;
	pthread_mutex_lock(&numbers_lock);
	ret = read_numbers();
	for (uint32_t i = 0; !ret && i < PERF_CALLS_MAX; i++)
		if (numbers[i] && calls[i].meaning & tasks)
			want->call[want->ncalls++] = (struct perf_call){ numbers[i], calls[i].meaning };
	pthread_mutex_unlock(&numbers_lock);
	return ret ? ret : want->ncalls ? 0 : -ENOENT;
}

/* ---- The frame of a hook --------------------------------------------------------------------- */

/* The address behind the system call that this hook replaces; 0: the image has no such hook. */
static uint64_t behind_call(const struct space *sp, uint64_t addr)
{
	for (uint32_t i = 0; i < sp->nobj; i++)
		for (uint32_t k = 0; k < sp->obj[i].nhook; k++) {
			const struct uft_hook *h = &sp->obj[i].hook[k];

			if (h->addr == addr && h->kind == UFT_HOOK_SYSCALL)
				return addr + (h->len > UFT_LEN_MOV_EAX ? h->len : UFT_LEN_MOV_EAX) + UFT_LEN_SYSCALL;
		}
	return 0;
}

/* The hook of a stub. It is read once, because the process may have ended when its next fork is reported. */
static uint64_t hook_of(struct into *in, pid_t pid, uint64_t stub)
{
	uint64_t hook;

	for (uint32_t i = 0; i < in->nstub; i++)
		if (in->stub[i].stub == stub)
			return in->stub[i].hook;
	if (proc_read_memory(pid, stub + UFT_HOOK_STUB_ADDR, &hook, sizeof(hook)) || !behind_call(in->space, hook))
		return 0;
	if (in->nstub < HOOK_STUBS) {
		in->stub[in->nstub].stub = stub;
		in->stub[in->nstub++].hook = hook;
	}
	return hook;
}

/* Makes @r as if the program had made the call that its hook makes. */
static void leave_hook(struct into *in, struct perf_record *r)
{
	uint64_t back, hook;

	if (uft_image_at(in->space->img, r->pc, UINT64_MAX) < UINT32_MAX || r->stack_bytes < UFT_HOOK_CALL_DEPTH)
		return;
	memcpy(&back, r->stack, sizeof(back));
	hook = hook_of(in, r->pid, back & ~(uint64_t)(UFT_HOOK_STUB_BYTES - 1));
	if (!hook)
		return;
	r->pc = behind_call(in->space, hook);
	r->sp += UFT_HOOK_CALL_DEPTH;
	r->stack += UFT_HOOK_CALL_DEPTH;
	r->stack_bytes -= UFT_HOOK_CALL_DEPTH;
}

/* ---- Stacks ---------------------------------------------------------------------------------- */

/* The bucket of a tid; tids are given in sequence. */
static struct call_stack **bucket_of(struct call_table *t, pid_t tid)
{
	return &t->bucket[(uint32_t)tid & (t->nbuckets - 1)];
}

/* The place of the thread's call, present or not; NULL: the process has no table. */
static struct call_stack **place_of(struct proc *p, pid_t tid)
{
	struct call_stack **at = p->calls ? bucket_of(p->calls, tid) : NULL;

	while (at && *at && (*at)->tid != tid)
		at = &(*at)->next;
	return at;
}

/* Makes room for one more. 0, -ENOMEM. */
static int grow(struct proc *p)
{
	struct call_table *old = p->calls, *t;
	uint32_t n = old ? 2 * old->nbuckets : BUCKETS;

	if (old && old->n < old->nbuckets)
		return 0;
	t = calloc(1, sizeof(*t) + n * sizeof(t->bucket[0]));
	if (!t)
		return -ENOMEM;
	t->nbuckets = n;
	for (uint32_t i = 0; old && i < old->nbuckets; i++)
		for (struct call_stack *c = old->bucket[i], *next; c; c = next) {
			struct call_stack **to = bucket_of(t, c->tid);

			next = c->next;
			c->next = *to;
			*to = c;
			t->n++;
		}
	free(old);
	p->calls = t;
	return 0;
}

/* NULL: no memory. */
static struct call_stack *call_of(struct proc *p, pid_t tid)
{
	struct call_stack **at = place_of(p, tid), *c = at ? *at : NULL;

	if (c)
		return c;
	c = grow(p) ? NULL : calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	at = bucket_of(p->calls, tid);
	*c = (struct call_stack){ .next = *at, .tid = tid };
	*at = c;
	p->calls->n++;
	return c;
}

void calls_keep(struct proc *p, const struct perf_record *r)
{
	struct perf_record call = *r;
	struct call_stack *c = p->is_other || !p->into ? NULL : call_of(p, r->tid);

	if (!c)
		return;
	leave_hook(p->into, &call);
	c->task = r->call & ~WALK_VFORK;
	c->w[0] = call.pc | UFT_STACK_ADDRESS | UFT_STACK_TRACEPOINT;
	c->n = 1 + walk_callers(p->into->space, &call, c->w + 1, UFT_STACK_MAX);
}

void calls_drop(struct proc *p, pid_t tid)
{
	struct call_stack **at = place_of(p, tid), *c = at ? *at : NULL;

	if (c) {
		*at = c->next;
		p->calls->n--;
		free(c);
	}
}

uint32_t calls_take(struct proc *p, pid_t tid, uint32_t task, uint64_t *w)
{
	struct call_stack *const *at = place_of(p, tid);
	const struct call_stack *c = at ? *at : NULL;
	uint32_t n = 1;

	w[0] = UFT_STACK_ADDRESS | UFT_STACK_TRACEPOINT;
	if (c && c->task == task) {
		n = c->n;
		memcpy(w, c->w, n * sizeof(*w));
		calls_drop(p, tid);
	}
	return n;
}

void calls_drop_all(struct proc *p)
{
	for (uint32_t i = 0; p->calls && i < p->calls->nbuckets; i++)
		while (p->calls->bucket[i])
			calls_drop(p, p->calls->bucket[i]->tid);
	free(p->calls);
	p->calls = NULL;
}
