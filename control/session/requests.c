// SPDX-License-Identifier: MIT
/*
 * requests.c - serve the requests of targets
 *
 * A request is copied, checked and answered (POSTED -> DONE, or FREE if no thread waits). Nothing in it is
 * believed: a task is what the kernel says it is, and it is one of ours only if it has our board mapped. A
 * wrong number (another pid namespace, malice) is answered with an error, so that the asking thread goes on
 * untraced.
 */
#include "control/arm/arm.h"
#include "control/proc/procinfo.h"
#include "control/proc/seccomp.h"
#include "control/ptrace/task_stop.h"
#include "control/start/start.h"
#include "control/session/internal.h"
#include "control/session/price.h"
#include "control/watchdog/watchdog.h"

#include <errno.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#define ANSWER_KEPT_MS	4000	/* longer than any thread waits; */
#define STALE_MS	1000	/* between searches for older answers */
#define GENERATIONS	4	/* of fork children that are found in one search */
#define MAX_ANCESTORS	8	/* that are adopted before a child, if they are no targets yet */

/*
 * Slots of requests are numbered through: UFT_NREQUESTS of each family, then the board's, which only commands
 * of the same user can write to.
 */
static uint32_t first_ask(const struct uft_session *s)
{
	return s->arena.nfamilies * UFT_NREQUESTS;
}

size_t request_slots(const struct uft_session *s)
{
	return first_ask(s) + UFT_NASKS;
}

static int is_ask(const struct uft_session *s, uint32_t i)
{
	return i >= first_ask(s);
}

/* NULL: its family is gone. */
static struct uft_request uft_shared *slot(const struct uft_session *s, uint32_t i)
{
	struct uft_mail uft_shared *m = is_ask(s, i) ? NULL : s->arena.mail[i / UFT_NREQUESTS];

	if (is_ask(s, i))
		return (struct uft_request uft_shared *)&s->arena.board->ask[i - first_ask(s)];
	return m ? &m->req[i % UFT_NREQUESTS] : NULL;
}

/* Returns 1 if the slice is in the family whose mail had the request. */
static int is_own_slice(const struct uft_session *s, uint32_t i, uint64_t slice)
{
	return slice < s->arena.map->nslices && slice / s->arena.map->per_file == i / UFT_NREQUESTS;
}

/* Answers only if the slot still has this request: the asking thread may have given up meanwhile. */
static void answer(struct uft_session *s, uint32_t i, const struct uft_request *served, int result)
{
	struct uft_request uft_shared *r = slot(s, i);
	uint32_t posted = UFT_REQ_POSTED;

	if (!r || SHARED_LOAD(&r->tid) != served->tid || SHARED_LOAD(&r->kind) != served->kind)
		return;
	SHARED_STORE(&r->result, result);
	s->done_ns[i] = now_ns();
	if (SHARED_SWAP(&r->state, &posted, served->no_wait ? UFT_REQ_FREE : UFT_REQ_DONE))
		futex(shared_address(&r->state), 1 /* FUTEX_WAKE */, INT32_MAX, NULL);
}

/* Returns 1 for a child of vfork(), which shares memory. A fast check, not possible across pid namespaces. */
static int is_in_memory_of(const struct target *t, pid_t pid)
{
	return t && pid > 0 && t->own_pid == t->pid && proc_namespace_pid(pid) == pid &&
	       !syscall(SYS_kcmp, t->pid, pid, KCMP_VM, 0, 0) &&
	       target_is_running(t) /* behind: the number was still its own */;
}

/*
 * Returns the asking task by its number here, 0 if it is not of the process that has the slice. In another pid
 * namespace it has a different number.
 */
static pid_t requester(struct uft_session *s, const struct uft_request *r)
{
	struct target *t = target_by_slice(s, r->slice);
	pid_t pid = (pid_t)r->pid, tid;

	if (t && t->own_pid == pid)
		pid = t->pid;
	else if (!is_in_memory_of(t, pid))
		/* a fork child that has made no traced call yet: it has its parent's slice */
		pid = target_find_process(s, r->slice, pid);
	tid = pid == (pid_t)r->pid ? (pid_t)r->tid : pid ? proc_find_task(pid, (pid_t)r->tid) : 0;
	return tid > 0 && (pid_t)proc_status_number(tid, "Tgid", 10) == pid /* GUARD(request_tgid) */ ? tid : 0;
}

/* ---- Exec ---------------------------------------------------------------------------------- */

/* Returns why an exec gains rights, for a message; NULL: it does not, as far as known. @name: the task's path. */
static const char *secure_reason(pid_t tid, const struct uft_request *r, char *name, size_t size)
{
	/* arg: 0 path or 0, 2 directory descriptor (execveat). */
	snprintf(name, size, "a program");
	if (r->arg[0] && proc_read_string(tid, r->arg[0], name, size) < 0)
		return NULL;		/* exec will fail as well */
	return secure_exec_reason_of(tid, r->arg[0] ? name : NULL, (int)r->arg[2]);
}

/* The asking process: it has the slice, or is a fork child without a slice of the process that has it. */
static pid_t parent_of(const struct uft_session *s, uint32_t slice)
{
	const struct uft_slice uft_shared *sl;
	uint32_t parent;

	if (slice >= s->arena.map->nslices)
		return 0;
	sl = arena_slice(&s->arena, slice);
	if (SHARED_LOAD_ACQUIRE(&sl->state) != UFT_SLICE_HELD)
		return s->last[slice].pid;
	parent = SHARED_LOAD(&sl->parent_slice);
	return parent < s->arena.map->nslices ? s->last[parent].pid : 0;
}

/* Task @tid starts a program and cannot be seized for it: @ret. */
static void warn_not_seized(struct uft_session *s, pid_t tid, const struct uft_request *r, int ret)
{
	struct procinfo p = { .pid = tid, .uid = (uid_t)proc_status_number(tid, "Uid", 10) };
	char name[200], why[400];

	if (!r->arg[0] || proc_read_string(tid, r->arg[0], name, sizeof(name)) < 0)
		snprintf(name, sizeof(name), "a program that a traced process starts");
	snprintf(why, sizeof(why), "ptrace: %s", strerror(-ret));
	if (ret == -EPERM)
		procinfo_explain_eperm(&p, why, sizeof(why));
	session_warn_of(s, r->slice, "not followed: %s: %s", name, why);
}

/* Another tracer has task @tid, so the loader of what it executes is to bring the runtime. */
static int serve_traced_exec(struct uft_session *s, const struct uft_request *r, pid_t tid, pid_t tgid, pid_t tracer)
{
	char name[3000], path[PATH_MAX], its[200];
	struct uft_error why = { "" };
	int ret;

	if (r->arg[0] && proc_read_string(tid, r->arg[0], name, sizeof(name)) < 0)
		return -ESRCH;			/* exec will fail as well */
	ret = executed_path(tid, r->arg[0] ? name : NULL, (int)r->arg[2], path, sizeof(path));
	if (!ret)
		ret = preload_offer(s, tid, tgid, path, &why);
	if (!ret) {
		pid_inherit_fork(s, tgid, parent_of(s, r->slice));
		return UFT_EXEC_PRELOAD;
	}
	if (why.text[0] && ret != -ENOEXEC) {
		s->not_followed++;
		procinfo_read_name(tracer, its, sizeof(its));
		session_warn_of(s, r->slice,
				"not followed: %s: %s (process %d) traces it, and its loader cannot bring the runtime: %s",
				path,
				its, tracer, why.text);
	}
	return ret;
}

static int serve_exec(struct uft_session *s, const struct uft_request *r)
{
	pid_t tid, tgid, tracer;
	char name[3000];
	const char *why;
	int ret;

	proc_status_hold((pid_t)r->tid);	/* its numbers stay */
	tid = requester(s, r);
	tgid = (pid_t)proc_status_number(tid, "Tgid", 10);
	proc_status_release();
	if (s->opts.emulator)
		return -EOPNOTSUPP;
	if (tgid <= 0)
		return -ESRCH;
	why = secure_reason(tid, r, name, sizeof(name));
	if (why) {
		s->not_followed++;
		session_warn_of(s, r->slice, "not followed: %s gains rights when it is started (%s)", name, why);
		exec_task_release(s, tid);
		watchdog_let_execute(s, tid, tgid);
		return -EPERM;
	}
	if (!session_follows_children(s))
		return -EOPNOTSUPP;
	if (s->opts.preload)
		return s->arena.board->start[0] ? UFT_EXEC_PRELOAD : -EOPNOTSUPP;
	ret = exec_task_seize(s, tid, tgid, parent_of(s, r->slice));
	tracer = ret == -EPERM ? (pid_t)proc_status_number(tid, "TracerPid", 10) : 0;
	if (tracer > 0)
		return serve_traced_exec(s, r, tid, tgid, tracer);
	if (ret && proc_is_ending(tid))
		return -ESRCH;			/* the task was killed meanwhile: there is nothing to follow */
	if (ret) {
		s->not_followed++;
		warn_not_seized(s, tid, r, ret);
	}
	return ret;
}

/* ---- Fork ---------------------------------------------------------------------------------- */

/*
 * Process @pid has the slice and does not become a target for @ret: counts it as not followed, and warns, once. -ENOENT
 * is no failure: the child has executed another program since, whose own start tells whether it is followed. Returns
 * @ret, or -ESRCH if the process is over, or will write no more. After -ENOENT, and for lack of memory or descriptors,
 * the search for strays tries it again.
 */
static int child_unfollowed(struct uft_session *s, uint32_t slice, pid_t pid, int ret)
{
	const int is_final = ret != -ENOMEM && ret != -EMFILE && ret != -ENFILE;
	char name[32];

	if (ret == -ENOENT /* GUARD(child_executed, 0) */)
		return ret;
	if (ret == -ESRCH || proc_is_ending(pid))
		return -ESRCH;
	if (s->last[slice].unfollowed == pid)
		return is_final ? -ESRCH : ret;
	s->last[slice].unfollowed = pid;
	s->not_followed++;	/* GUARD(count_unfollowed) */
	procinfo_read_name(pid, name, sizeof(name));
	session_warn_of(s, slice, "not followed: %s (process %d): %s", name, pid, strerror(-ret));
	return is_final ? -ESRCH : ret;
}

/* Returns 0; -ESRCH: the process has just ended; -ENOENT: no known image is like its own; why it cannot be read. */
static int find_space(struct uft_session *s, pid_t pid, struct space *parents, struct space **out)
{
	uint8_t raw[UFT_AUXV_MAX];
	struct auxv av;
	size_t bytes;
	int ret = auxv_read(pid, raw, &bytes, &av);

	if (ret)
		return ret == -ENOENT ? -ESRCH : ret;
	/* Processes that were forked from one and attached to each have a space of their own, and all look the same. */
	if (parents && parents->auxv_bytes == bytes && !memcmp(parents->auxv, raw, bytes)) {
		*out = parents;
		return 0;
	}
	for (struct space *sp = s->spaces; sp; sp = sp->next) {
		if (sp->auxv_bytes == bytes && !memcmp(sp->auxv, raw, bytes)) {
			*out = sp;
			return 0;
		}
	}
	return -ENOENT;
}

/*
 * Sets the states of the child's sites to those last sent to its relatives. The child has the program and its loader; a
 * relative may have loaded or unloaded other objects before or after the fork. The next consistent list of the loader
 * tells, and confirmed objects are sent again (the runtime skips what is done already).
 */
static void inherit(struct target *t)
{
	struct space *sp = t->space;
	uint32_t fixed = sp->is_dynamic ? 2 : 1;

	for (uint32_t i = 0; i < t->nobj; i++) {
		if (t->obj[i].state)
			memcpy(t->obj[i].state, sp->obj[i].sent, sp->img->obj[i].nstubs * sizeof(*sp->obj[i].sent));
		for (uint32_t k = 0; t->obj[i].state && k < sp->img->obj[i].nstubs; k++)
			t->armed += t->obj[i].state[k] != WANT_NOT && WANT_STATE(t->obj[i].state[k]) >= UFT_FUNCTION;
		t->obj[i].is_mapped = 1;
		t->obj[i].is_hooked = i < fixed;
		t->obj[i].is_assumed = i >= fixed;
		t->obj[i].has_events_on = t->obj[i].has_rules = sp->obj[i].found.nevents != 0;
	}
}

/* The process that a slice names as its own; not checked. */
static pid_t slice_process(struct uft_session *s, uint32_t slice)
{
	const struct uft_slice uft_shared *sl = arena_slice(&s->arena, slice);
	pid_t pid = (pid_t)SHARED_LOAD(&sl->pid);

	return pid > 0 && SHARED_LOAD(&sl->flags) & UFT_SLICE_OTHER_NS ? target_find_process(s, slice, pid) : pid;
}

/* A fork child under an emulator has no agent: it carries out commands while it waits for an answer. */
static int has_agent_of_its_own(const struct uft_session *s, const struct target *t)
{
	return !t->has_thread_agent || SHARED_LOAD(&arena_slice(&s->arena, t->slice)->agent_tid);
}

/* A target has one slice: a second slice that names its process lies. */
static int is_running_target(struct uft_session *s, pid_t pid)
{
	const struct target *t = target_by_pid(s, pid);

	return t && target_is_running(t);
}

/* The parent by the kernel; 0: none that we see, as of process 1; -1: no process has this number. */
static pid_t kernel_parent(pid_t pid)
{
	long parent = proc_status_number(pid, "PPid", 10);

	return parent < 0 ? -1 : (pid_t)parent;
}

/*
 * Returns -ESRCH only while the slice has no target: once announced, the slice belongs to the target until
 * target_end(). If the process ends while its sites are armed, its pidfd tells that.
 */
static int adopt(struct uft_session *s, uint32_t slice)
{
	struct uft_slice uft_shared *sl;
	struct space *sp;
	struct target *t;
	uint32_t parent;
	pid_t pid, from, told;
	int ret;

	if (slice >= s->arena.map->nslices || !arena_has(&s->arena, slice))
		return -EINVAL;
	sl = arena_slice(&s->arena, slice);
	if (SHARED_LOAD_ACQUIRE(&sl->state) != UFT_SLICE_LIVE || target_by_slice(s, slice))
		return -EEXIST;
	if (!SHARED_LOAD_ACQUIRE(&sl->pid))
		return -EEXIST;		/* a child is filling the slice in, and announces itself later */
	pid = slice_process(s, slice);
	if (pid <= 0 ||
	    !arena_slice_is_mapped_by(&s->arena, slice, pid) /* GUARD(slice_mapped_by, !process_maps_arena(s, pid)) */)
		return -ESRCH;
	if (is_running_target(s, pid))
		return -EEXIST;
	parent = SHARED_LOAD(&sl->parent_slice);
	from = parent < s->arena.map->nslices ? s->last[parent].pid : 0;
	ret = find_space(s, pid, from ? s->last[parent].space : NULL, &sp);
	told = kernel_parent(pid);
	t = ret ? NULL : target_create(s, slice, pid, (told > 0 ? told : 0) /* GUARD(parent_by_kernel, from) */, sp);
	if (!t)
		return child_unfollowed(s, slice, pid, ret ? ret : -errno);
	s->last[slice].unfollowed = 0;
	/* the parent has ended, or the child lies: this decides about its own records only */
	if (from && from != t->ppid)
		pid_inherit_fork(s, pid, from);
	session_set_slice(s, slice);
	if (s->opts.preload || s->opts.emulator)
		preload_take_agent(s, t);
	else
		target_open_agent(s, t);
	inherit(t);
	t->has_agent &= has_agent_of_its_own(s, t);
	target_announce(s, t);
	if (sp->started && t->has_agent)
		space_walk(s, t, 0);
	/* Switched over at any time since the start: the child may have been forked before or after. */
	if (s->spec && (sp->is_changed || sp->spec_sent != s->spec->generation))
		ret = target_arm(s, t, 1);
	else if (s->spec && s->spec->params.has_pids && t->own_pid != t->pid && t->has_agent)
		ret = command_params(s, t);	/* its parent's numbers are none of its own */
	if (t->pidfd < 0)	/* reaped before it could be held: nothing will tell of its end */
		target_end(s, t);
	return ret == -ESRCH ? 0 : ret;
}

/*
 * A child that ended before it became a target still has records in its slice, but its image cannot be found out: it
 * counts as that of the process that last had the parent's slice. The child's pid may be a lie, so names are read only
 * of a zombie that the kernel shows as a child of that process; a live task with that pid gets no parent.
 */
static int adopt_dead(struct uft_session *s, uint32_t slice)
{
	struct uft_slice uft_shared *sl = arena_slice(&s->arena, slice);
	uint32_t parent = SHARED_LOAD(&sl->parent_slice);
	pid_t pid = (pid_t)SHARED_LOAD(&sl->pid), from, told;
	struct target *t;
	int is_child;

	if (parent >= s->arena.map->nslices || !s->last[parent].space)
		return -ESRCH;
	from = s->last[parent].pid;
	told = kernel_parent(pid);
	is_child = told == from && proc_is_ending(pid) && !target_by_pid(s, pid);
	t = target_create(s, slice, (is_child ? pid : 0) /* GUARD(ended_child, pid) */,
			  is_child || told < 0 ? from : 0, s->last[parent].space);
	if (!t)
		return -ENOMEM;
	/* Children of its own, which come later, count as its parent's (pid_inherit.c). */
	if (!is_child) /* GUARD(parent_of_ended) */
		s->last[slice].pid = from;
	target_announce(s, t);
	target_end(s, t);
	return 0;
}

/* Has a process announced itself in the slice, but is no target yet? agent_tid is the last thing that it fills in. */
static int is_announced(struct uft_session *s, uint32_t i)
{
	const struct uft_slice uft_shared *sl;

	if (i >= s->arena.map->nslices || !arena_has(&s->arena, i) || target_by_slice(s, i))
		return 0;
	sl = arena_slice(&s->arena, i);
	return SHARED_LOAD_ACQUIRE(&sl->state) == UFT_SLICE_LIVE && (pid_t)SHARED_LOAD(&sl->pid) > 0 &&
	       (SHARED_LOAD(&sl->agent_tid) || proc_is_ending(slice_process(s, i)));
}

/* Up to @depth ancestors come first, wherever their slices lie: their adoption notes what a child inherits. */
static int adopt_below(struct uft_session *s, uint32_t slice, unsigned depth)
{
	const uint32_t parent = SHARED_LOAD(&arena_slice(&s->arena, slice)->parent_slice);
	int ret;

	if (depth && parent != slice && is_announced(s, parent))
		adopt_below(s, parent, depth - 1);
	ret = adopt(s, slice);
	return ret == -ESRCH ? adopt_dead(s, slice) : ret;
}

static int adopt_any(struct uft_session *s, uint32_t slice)
{
	return adopt_below(s, slice, MAX_ANCESTORS);
}

/*
 * The asking process may have been detached meanwhile, and its slice may belong to another child by now, which is not
 * ready and asks as well.
 */
static int serve_forked(struct uft_session *s, const struct uft_request *r)
{
	if (!arena_has(&s->arena, (uint32_t)r->arg[0]))
		return -EINVAL;
	if (SHARED_LOAD_ACQUIRE(&arena_slice(&s->arena, (uint32_t)r->arg[0])->pid) != r->pid)
		return -EEXIST;
	return adopt_any(s, (uint32_t)r->arg[0]);
}

uint32_t request_next_stray(struct uft_session *s, uint32_t i)
{
	const uint32_t n = s->arena.map->nslices, per_file = s->arena.map->per_file;

	while (i < n) {
		if (!arena_has(&s->arena, i)) {
			i += per_file - i % per_file;
			continue;
		}
		if (SHARED_LOAD_ACQUIRE(&arena_slice(&s->arena, i)->state) == UFT_SLICE_LIVE && !target_by_slice(s, i))
			return i;
		i++;
	}
	return n;
}

void request_adopt_strays(struct uft_session *s)
{
	for (uint32_t i = 0; (i = request_next_stray(s, i)) < s->arena.map->nslices; i++)
		if (is_announced(s, i))
			adopt_any(s, i);
}

/* ---- Objects ------------------------------------------------------------------------------- */

static int serve_objects(struct uft_session *s, uint32_t index, const struct uft_request *r)
{
	struct target *t = target_by_slice(s, r->slice);
	int was_started, ret;

	/* what it has said of its birth stands in a slot behind this */
	if (!t && s->opts.emulator && !adopt(s, r->slice))
		t = target_by_slice(s, r->slice);
	if (!t || t->is_over || (uint32_t)t->own_pid != r->pid)
		return -ESRCH;
	was_started = t->space->started;
	t->waiting = index + 1;
	t->has_agent |= t->has_thread_agent;
	ret = space_walk(s, t, r->arg[0]);
	t->has_agent &= has_agent_of_its_own(s, t);
	t->waiting = 0;
	if (ret < 0)
		return ret == -EAGAIN ? 0 : ret;	/* the list is being changed: another call comes */
	if (was_started || !t->space->started || s->held != t->slice)
		return 0;
	s->held_result = launch_check_start(s, t, &s->held_error);
	return s->held_result ? -ECANCELED : 0;
}

/* ---- Sandboxes ------------------------------------------------------------------------------ */

/*
 * Checks the filter that the task is about to set. Returns enum uft_denied; or -EPERM and warns the user: the process
 * must be detached.
 */
static int serve_filter(struct uft_session *s, const struct uft_request *r, struct target *t)
{
	struct sock_filter code[BPF_MAXINSNS];
	pid_t tid = requester(s, r);
	struct sock_fprog p;
	char names[400];
	uint32_t denied;
	int ret;

	if (proc_read_memory(tid, r->arg[1], &p, sizeof(p)) || p.len > BPF_MAXINSNS ||
	    proc_read_memory(tid, (uint64_t)(uintptr_t)p.filter, code, p.len * sizeof(code[0])))
		return -EFAULT;		/* the call fails as well */
	ret = seccomp_judge(code, p.len, &denied, names, sizeof(names));
	if (ret)
		session_warn_of(s, t->slice,
				"process %d: not traced any more: it sets a seccomp filter that ends it for %s", t->pid,
				names);
	else if (denied & (UFT_DENIED_CHILDREN | UFT_DENIED_ASK) && session_follows_children(s) &&
		 seccomp_permits_children(code, p.len))
		session_warn_of(s, t->slice,
				"process %d: what it forks or executes from now on is not followed: its seccomp filter ends it for %s",
				t->pid,
			     names[0] ? names : "gettid");
	return ret ? ret : (int)denied;
}

/*
 * The filter is for all threads of @t (TSYNC): one that is in the middle of an event may be about to make a call that
 * the event began with when it was allowed. So the thread that asks waits until each other one was seen outside of the
 * runtime's code. Not looked at: agents that are threads, and what the watchdog has by ptrace all the time.
 */
static int serve_quiet(struct uft_session *s, const struct uft_request *r, const struct target *t)
{
	const struct blob *b;
	struct uft_owned code;
	struct task_search look = { .pid = t->pid, .own = &code, .nown = 1 };
	pid_t tid = requester(s, r);

	if (tid <= 0 || t->has_thread_agent || t->is_watched || !t->space->boot || blob_get(&b))
		return 0;
	code = (struct uft_owned){ t->space->boot - b->boot, b->span };
	return threads_find_inside(&look, tid) > 0 ? -EAGAIN : 0;
}

/*
 * A process forbids itself what tracing does in it. Its runtime makes no call and records nothing any more
 * (OUT): what it has changed is put back by the agent, which is none of the process's threads.
 */
static int serve_sandbox(struct uft_session *s, const struct uft_request *r)
{
	struct target *t = target_by_slice(s, r->slice);

	if (!t && !adopt(s, r->slice))
		t = target_by_slice(s, r->slice);
	if (!t || t->is_over || (uint32_t)t->own_pid != r->pid)
		return -ESRCH;
	switch (r->arg[0]) {
	case UFT_SANDBOX_FILTER:
		return serve_filter(s, r, t);
	case UFT_SANDBOX_QUIET:
		return serve_quiet(s, r, t);
	case UFT_SANDBOX_OUT_FILTER:
		break;
	case UFT_SANDBOX_OUT_STRICT:
		session_warn_of(s, t->slice, "process %d: not traced any more: it enters seccomp's strict mode",
				t->pid);
		break;
	case UFT_SANDBOX_OUT_CLOCK:
		session_warn_of(s, t->slice,
				"process %d: not traced any more: it forbids itself to read the clock (PR_SET_TSC)",
				t->pid);
		break;
	case UFT_SANDBOX_OUT_DISPATCH:
		session_warn_of(s, t->slice,
				"process %d: not traced any more: it dispatches its system calls to its own code (PR_SET_SYSCALL_USER_DISPATCH)",
				t->pid);
		break;
	default:
		return -EINVAL;
	}
	return target_restore_code(s, t);
}

/* ---- The mailbox --------------------------------------------------------------------------- */

static void serve(struct uft_session *s, uint32_t i)
{
	const uint32_t before =
		session_begin_of(s, is_ask(s, i) ? UFT_NO_SLICE : i / UFT_NREQUESTS * s->arena.map->per_file);
	struct uft_request r;
	int ret = -EINVAL, pidfd;

	shared_read(&r, slot(s, i), sizeof(r));
	if (!is_ask(s, i) &&
	    (!is_own_slice(s, i, r.slice) /* GUARD(request_own_slice) */ ||
	     (r.kind == UFT_REQ_FORKED && !is_own_slice(s, i, r.arg[0]))))
		r.kind = 0;
	switch (is_ask(s, i) == (r.kind == UFT_REQ_DETACH) ? r.kind : 0) {
	case UFT_REQ_EXEC:
		ret = serve_exec(s, &r);
		break;
	case UFT_REQ_EXEC_FAILED:
		exec_task_release(s, requester(s, &r));
		preload_withdraw(s, (pid_t)proc_status_number(requester(s, &r), "Tgid", 10));
		watchdog_exec_failed(s, requester(s, &r));
		ret = 0;
		break;
	case UFT_REQ_FORKED:
		ret = serve_forked(s, &r);
		break;
	case UFT_REQ_SANDBOX:
		ret = serve_sandbox(s, &r);
		break;
	case UFT_REQ_DETACH:
		ret = session_detach(s, (pid_t)r.arg[0]);
		break;
	case UFT_REQ_HELLO:
		/* Other processes have no runtime that was preloaded, and the paths in their hello are not opened. */
		pidfd = (int)syscall(SYS_pidfd_open, (pid_t)r.pid, 0);	/* of the checked process, or -1 */
		ret = s->opts.preload || s->opts.emulator || preload_is_offered(s, (pid_t)r.pid) ?
			preload_hello(s, i, &r) : -EOPNOTSUPP;
		if (ret == -ECANCELED) {	/* nothing to trace: it does not start */
			proc_signal(pidfd, (pid_t)r.pid, SIGKILL);
			r.no_wait = 1;
		}
		if (pidfd >= 0)
			close(pidfd);
		break;
	case UFT_REQ_OBJECTS:
		ret = serve_objects(s, i, &r);
		if (ret == -ECANCELED && s->held_result) {
			/* Launch fails: the program must not get its answer, it ends here. */
			proc_signal(target_by_slice(s, r.slice)->pidfd, target_by_slice(s, r.slice)->pid, SIGKILL);
			r.no_wait = 1;
		}
		break;
	}
	answer(s, i, &r, ret);
	session_end_of(s, before);
}

static int is_posted(const struct uft_session *s, uint32_t i)
{
	const struct uft_request uft_shared *r = slot(s, i);

	return r && SHARED_LOAD_ACQUIRE(&r->state) == UFT_REQ_POSTED;
}

/* A request that is paid for, or has to wait: price.c. */
static void serve_paid(struct uft_session *s, uint32_t i)
{
	struct price_purse *purse = &s->purse[i / UFT_NREQUESTS];
	const uint32_t slice = SHARED_LOAD(&slot(s, i)->slice);
	struct target *t;
	uint64_t begin;

	if (!price_has_left(purse, now_ns())) {
		t = purse->is_told || !is_own_slice(s, i, slice) ? NULL : target_by_slice(s, slice);
		if (t)
			session_warn_of(s, t->slice,
					"process %d sends the recorder more requests than it may: they wait", t->pid);
		purse->is_told |= t != NULL;
		purse->has_waiting = 1;
		return;
	}
	begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	serve(s, i);
	price_pay(purse, clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin, now_ns());
	atomic_store(&s->idle_rings, 0);
}

/*
 * A search along PATH reports a failed exec and requests the next one without waiting. The report may lie in a slot
 * before the request; if it were served later, it would detach the task during the exec that succeeds.
 */
static void serve_failed_first(struct uft_session *s, uint32_t i)
{
	const uint32_t first = i - i % UFT_NREQUESTS;
	struct uft_request it, other;

	shared_read(&it, slot(s, i), sizeof(it));
	for (uint32_t k = 0; k < UFT_NREQUESTS && it.kind == UFT_REQ_EXEC; k++) {
		if (!is_posted(s, first + k))
			continue;
		shared_read(&other, slot(s, first + k), sizeof(other));
		if (other.kind == UFT_REQ_EXEC_FAILED && other.tid == it.tid && other.slice == it.slice)
			serve_paid(s, first + k);
	}
}

static void serve_forks(struct uft_session *s, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++)
		if (is_posted(s, i) && SHARED_LOAD(&slot(s, i)->kind) == UFT_REQ_FORKED)
			serve(s, i);
}

/* From the end: a dropped family is replaced by the last one, which was served already. */
static void serve_families(struct uft_session *s, void (*serve_some)(struct uft_session *s, uint32_t from, uint32_t to))
{
	for (uint32_t i = s->arena.nused; i-- > 0;)
		if (i < s->arena.nused)
			serve_some(s, s->arena.used[i] * UFT_NREQUESTS, (s->arena.used[i] + 1) * UFT_NREQUESTS);
}

/*
 * A process to be detached may have just announced itself: its rings are drained only after it is a target.
 */
static void serve_forks_first(struct uft_session *s)
{
	serve_families(s, serve_forks);
	request_adopt_strays(s);
}

static void serve_slots(struct uft_session *s, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++)
		if (is_posted(s, i)) {
			if (is_ask(s, i)) {
				serve_forks_first(s);
				serve(s, i);
			} else {
				serve_failed_first(s, i);
				serve_paid(s, i);
			}
		}
}

/*
 * Of many families few have posted anything since the last turn: a line of memory each tells which. It is read first: a
 * swap takes the line from its target's CPU, also where nothing was posted.
 */
static void serve_posted(struct uft_session *s, uint32_t from, uint32_t to)
{
	const uint32_t family = from / UFT_NREQUESTS;
	uint32_t posted = 1;

	if ((SHARED_LOAD_ACQUIRE(&s->arena.mail[family]->posted) &&
	     SHARED_SWAP(&s->arena.mail[family]->posted, &posted, 0)) ||
	    s->purse[family].has_waiting) {
		s->purse[family].has_waiting = 0;
		serve_slots(s, from, to);
	}
}

/* Other requests are served by request_serve(): the family's flag stays set. */
static void serve_posted_forks(struct uft_session *s, uint32_t from, uint32_t to)
{
	const uint32_t family = from / UFT_NREQUESTS;

	if (!SHARED_LOAD_ACQUIRE(&s->arena.mail[family]->posted) && !s->purse[family].has_waiting)
		return;
	for (uint32_t i = from; i < to; i++)
		if (is_posted(s, i) && SHARED_LOAD(&slot(s, i)->kind) == UFT_REQ_FORKED)
			serve_paid(s, i);
}

/*
 * A child that has ended is known by its parent, which may be new as well and come later in the list. So the search is
 * repeated while it finds children, but not for ever: a target may announce children without end.
 */
void uft_session_adopt(struct uft_session *s)
{
	uint32_t known = s->targets_total;

	serve_families(s, serve_posted_forks);
	for (int i = 0; i < GENERATIONS && s->targets_total != known; i++) {
		known = s->targets_total;
		request_adopt_strays(s);
	}
}

void request_serve_family(struct uft_session *s, uint32_t family)
{
	const uint32_t from = family * UFT_NREQUESTS;

	serve_forks(s, from, from + UFT_NREQUESTS);
	serve_slots(s, from, from + UFT_NREQUESTS);
}

/* Frees slots with old answers: the asking thread was killed, or gave up just then. */
static void free_slots(struct uft_session *s, uint32_t from, uint32_t to)
{
	const uint64_t now = now_ns();

	for (uint32_t i = from; i < to; i++) {
		uint32_t done = UFT_REQ_DONE;
		struct uft_request uft_shared *r;

		if (!s->done_ns[i])
			continue;
		r = slot(s, i);
		if (!r || SHARED_LOAD(&r->state) != UFT_REQ_DONE)
			s->done_ns[i] = 0;
		else if (now - s->done_ns[i] > ANSWER_KEPT_MS * 1000000ull &&
			 SHARED_SWAP(&r->state, &done, UFT_REQ_FREE))
			s->done_ns[i] = 0;
	}
}

static void free_stale(struct uft_session *s)
{
	const uint64_t now = now_ns();

	if (now < s->next_stale_ns)
		return;
	s->next_stale_ns = now + STALE_MS * 1000000ull;
	serve_families(s, free_slots);
	free_slots(s, first_ask(s), (uint32_t)request_slots(s));
}

void request_serve(struct uft_session *s)
{
	free_stale(s);
	serve_families(s, serve_posted);
	serve_slots(s, first_ask(s), (uint32_t)request_slots(s));
	families_tend(s);
}
