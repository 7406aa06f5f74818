/* SPDX-License-Identifier: MIT */
/*
 * set_ftrace_pid.c - set_ftrace_pid: tasks to trace, also of processes that are no targets yet;
 * set_ftrace_notrace_pid: tasks not to trace
 *
 * The session attaches to a running process in the list that is no target, or to the process of a listed thread. It
 * detaches when no number of the process is in a list any more. As long as the list is not empty, only calls of tasks
 * in it are recorded. Tracepoints of all tasks are recorded (UFT_PIDS_CALLS): set_event_pid selects these. A number
 * without a task is accepted, as by the kernel.
 */
#include "tree/files/rows.h"

#include "control/functions.h"
#include "symbol/array.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* @named: those that the write names, in the list before or not. */
#define PID_MOST	((1u << 30) - 1)	/* the kernel's lists have no bit for a higher number: EPERM */

struct pid_edit { struct pids list, named; int is_pending; };

static enum pid_list list_of(const struct place *at)
{
	const char *path = at->row->pub.path;
	enum pid_list first = strstr(path, "event") ? PIDS_EVENT_ONLY : PIDS_ONLY;

	return strstr(path, "notrace") ? first + (PIDS_NOT - PIDS_ONLY) : first;
}

static void show_kin(void *out, pid_t pid)
{
	text_printf(out, "%d\n", pid);
}

int show_pids(const struct place *at, struct tree_text *out)
{
	enum pid_list which = list_of(at);
	const struct pids *list = &at->in->set.pids[which];

	if (at->in->set.has_event_fork && which >= NPIDS)	/* first take the forks and exits until now */
		tree_pull(at->t);
	if (event_fork_show(at->in, which, out))
		return 0;
	for (size_t i = 0; i < list->n; i++)
		text_printf(out, "%u\n", list->pid[i]);
	if (which >= NPIDS)		/* the kernel's file shows nothing for an empty list */
		return 0;
	if (!list->n)
		text_printf(out, "no pid\n");
	else if (share_knows_kin(at->in))
		uft_session_kin(at->t->session, list_of(at) == PIDS_NOT, show_kin, out);
	return 0;
}

int open_pids(struct uft_handle *h)
{
	struct pid_edit *e;

	if ((h->flags & O_ACCMODE) == O_RDONLY)
		return 0;
	h->priv = e = calloc(1, sizeof(*e));
	if (!e)
		return -ENOMEM;
	e->is_pending = (h->flags & O_TRUNC) != 0;
	if (!e->is_pending)
		e->list = h->at.in->set.pids[list_of(&h->at)];
	return 0;
}

/* @named 0: for any number of the list. */
static int is_attached(const struct uft_tree *t, uint32_t pid, uint32_t named)
{
	for (size_t i = 0; i < t->nattached; i++)
		if (t->attached[i].pid == pid && (!named || t->attached[i].named == named))
			return 1;
	return 0;
}

/*
 * Attaches to the process of a task that is new in the list, or named again. Returns 1; 0: there is no such process, or
 * it is a target already.
 */
static int attach(struct uft_tree *t, uint32_t named)
{
	uint32_t pid = (uint32_t)uft_session_process_of((pid_t)named);
	struct uft_error err = { "" };
	int ret;

	if (!pid || (pid_t)pid == getpid())
		return 0;
	/* before the attach: a process that is not noted is never detached */
	if (array_resize(t->attached, t->nattached + 1))
		return -ENOMEM;
	ret = uft_session_attach(t->session, (pid_t)pid, &err);
	if (ret && ret != -EEXIST && ret != -ESRCH && t->opts.warning)
		t->opts.warning(t->opts.arg, err.text);
	if (ret)
		t->refused = err;
	/* noted already: it was detached by hand meanwhile */
	if ((!ret || (ret == -EEXIST && is_attached(t, pid, 0))) && !is_attached(t, pid, named))
		t->attached[t->nattached++] = (struct attached){ pid, named };
	return !ret ? 1 : ret == -EEXIST || ret == -ESRCH ? 0 : ret;
}

/* Is @task in a list that attaches? @list: the present list @which of @in. */
static int is_listed(const struct instance *in, enum pid_list which, const struct pids *list, uint32_t task)
{
	if (pids_have(list, task))
		return 1;
	for (const struct instance *other = in->t->instances; other; other = other->next)
		if (((other != in || which != PIDS_ONLY) && pids_have(&other->set.pids[PIDS_ONLY], task)) ||
		    ((other != in || which != PIDS_EVENT_ONLY) && pids_have(&other->set.pids[PIDS_EVENT_ONLY], task)))
			return 1;
	return 0;
}

/*
 * Detaches from attached processes without a task in any list. @list: the present list @which of @in. A process from
 * which the session cannot detach now, since it is frozen, stays attached until the next change of a list.
 */
static void leave(struct instance *in, enum pid_list which, const struct pids *list)
{
	struct uft_tree *t = in->t;

	for (size_t i = 0; i < t->nattached; i++) {
		struct attached a = t->attached[i];

		if (is_listed(in, which, list, a.named))
			continue;
		t->attached[i] = t->attached[--t->nattached];
		if (!is_attached(t, a.pid, 0) && uft_session_detach(t->session, (pid_t)a.pid) == -EBUSY)
			t->attached[t->nattached++] = a;
		else
			i--;
	}
}

void pid_leave(struct instance *in)
{
	in->set.pids[PIDS_EVENT_ONLY].n = 0;
	leave(in, PIDS_ONLY, &(struct pids){ .n = 0 });
}

/* @is_anew: @list replaces the list, it is not added to it. */
static int pids_apply(struct instance *in, enum pid_list which, const struct pids *list, const struct pids *named,
		      int is_anew)
{
	/* in the list, but detached by hand meanwhile */
	struct pids *before = &in->set.pids[which], again = { .n = 0 };
	struct settings set = in->set;
	int ret = 0, is_attaching = which == PIDS_ONLY || which == PIDS_EVENT_ONLY;

	set.pids[which] = *list;
	for (size_t i = 0; i < before->n; i++)
		if (which < NPIDS && !pids_have(list, before->pid[i]))
			set.kin = ++in->t->kins;
	if (set.pids[PIDS_ONLY].n + set.pids[PIDS_NOT].n > MAX_PIDS)
		return -E2BIG;
	for (size_t i = 0; i < list->n && ret >= 0 && is_attaching; i++) {
		if (pids_have(before, list->pid[i]) && !pids_have(named, list->pid[i]))
			continue;
		ret = attach(in->t, list->pid[i]);
		if (ret > 0 && pids_have(before, list->pid[i]))
			again.pid[again.n++] = list->pid[i];
	}
	/* Events until now are judged by the old list. */
	if (in->triggers || (which >= NPIDS && set.has_event_fork)) {
		tree_pull(in->t);
		set.is_on = in->set.is_on;		/* a traceoff in these events may have changed it */
	}
	if (ret >= 0)
		ret = tree_apply(in, &set, NULL);
	if (ret >= 0)
		ret = event_fork_write(in, which, is_anew ? list : named, is_anew);
	for (size_t i = 0; i < again.n && ret < 0; i++)
		uft_session_detach(in->t->session, uft_session_process_of((pid_t)again.pid[i]));
	if (is_attaching)		/* refused: those that were new */
		leave(in, which, ret < 0 ? before : list);
	return ret;
}

/* The lowest first, as the kernel shows them. */
static int add(struct pids *list, uint32_t pid)
{
	size_t at;

	if (list->n == MAX_PIDS)
		return -E2BIG;
	for (at = list->n++; at && list->pid[at - 1] > pid; at--)
		list->pid[at] = list->pid[at - 1];
	list->pid[at] = pid;
	return 0;
}

ssize_t store_pids(struct uft_handle *h, const char *p, size_t n)
{
	struct pid_edit *e = h->priv, next = *e;
	int ret = 0, was_applied = 0;

	next.named.n = 0;
	for (size_t at = 0; at < n && !ret;) {
		size_t len = 0;
		uint64_t pid;

		while (at < n && text_is_gap(p[at]))
			at++;
		while (at + len < n && !text_is_gap(p[at + len]))
			len++;
		if (!len)
			break;
		ret = text_number(p + at, len, 0, &pid) ? -EINVAL : pid > PID_MOST ? -EPERM : 0;
		if (ret) {
			h->wrong = "Invalid process id";
			h->wrong_at = at;
		}
		if (!ret && !pids_have(&next.list, (uint32_t)pid))
			ret = add(&next.list, (uint32_t)pid);
		if (!ret && !pids_have(&next.named, (uint32_t)pid))
			ret = add(&next.named, (uint32_t)pid);
		at += len;
	}
	if (!ret) {
		ret = pids_apply(h->at.in, list_of(&h->at), &next.list, &next.named,
				 (h->flags & O_TRUNC) && e->is_pending);
		was_applied = ret != 0;
	}
	if (ret == -E2BIG)
		h->wrong = "Takes 61 numbers at most, those of its notrace list included";
	if (ret && !was_applied)
		return ret;
	if (ret) {
		e->is_pending = 0;	/* who is in it stays, also at the close of a file that was truncated */
		return ret;
	}
	next.is_pending = 0;
	*e = next;
	return (ssize_t)n;
}

int release_pids(struct uft_handle *h)
{
	struct pid_edit *e = h->priv;
	int ret = e && e->is_pending ? pids_apply(h->at.in, list_of(&h->at), &e->list, &(struct pids){ .n = 0 }, 1) : 0;

	free(e);
	return ret;
}
