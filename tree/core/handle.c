/* SPDX-License-Identifier: MIT */
/*
 * handle.c - open files
 *
 * The owner makes the whole text of a file when it is read at offset 0 and keeps it until the next such read. So
 * several reads of one handle see one moment. Files that stream (trace, trace_pipe) have a read function of their own.
 */
#include "tree/core/tree_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct job {				/* what the owner is asked to do */
	struct uft_handle *h;
	const char *p;
	size_t n;
	ssize_t result;
};

static int open_job(void *arg)
{
	struct uft_handle *h = ((struct job *)arg)->h;
	int ret = 0;

	if (h->flags & O_TRUNC && h->at.row->truncate)
		ret = h->at.row->truncate(&h->at);
	return ret || !h->at.row->open ? ret : h->at.row->open(h);
}

static int show_job(void *arg)
{
	struct uft_handle *h = ((struct job *)arg)->h;
	struct tree_text fresh = { 0 };
	int ret = h->at.row->show(&h->at, &fresh);

	if (!ret)
		ret = fresh.error;
	if (ret) {
		free(fresh.p);
		return ret;
	}
	free(h->text.p);
	h->text = fresh;
	h->has_text = 1;
	return 0;
}

static int store_job(void *arg)
{
	struct job *j = arg;

	j->h->wrong = NULL;
	j->h->wrong_at = 0;
	j->h->is_noted = 0;
	j->h->t->conflict = NULL;
	j->h->t->refused.text[0] = '\0';
	if (!j->h->at.row->store)
		j->h->wrong = "A file that is read only";
	j->result = j->h->at.row->store ? j->h->at.row->store(j->h, j->p, j->n) : -EINVAL;
	if (j->result == -EBUSY)
		j->h->wrong = j->h->t->conflict;
	else if (j->result < 0 && !j->h->wrong && j->h->t->refused.text[0])
		j->h->wrong = j->h->t->refused.text;
	if (!j->h->is_noted && (j->result == -EINVAL || (j->result < 0 && j->h->wrong)))
		error_note(j->h, j->p, j->n);
	return j->result < 0 ? (int)j->result : 0;
}

static int release_job(void *arg)
{
	struct uft_handle *h = ((struct job *)arg)->h;

	return h->at.row->release(h);
}

/*
 * The user of a tree is like root for the kernel's tree: file modes do not restrict this user. A file that cannot be
 * read or written refuses the read or write itself.
 */
static int may_open(const struct row *row)
{
	return S_ISDIR(row->pub.mode) ? -EISDIR : 0;
}

static void put(struct uft_handle *h)
{
	pthread_mutex_lock(&h->t->lock);
	h->at.in->handles--;
	pthread_mutex_unlock(&h->t->lock);
	free(h->text.p);
	free(h);
}

void handle_look_up(struct uft_handle *h, pid_t pid)
{
	h->pid = pid;
	h->tgid = uft_session_process_of(pid);
	h->tgid = h->tgid ? h->tgid : pid;
}

int uft_tree_open(struct uft_tree *t, uft_node node, int flags, pid_t pid, struct uft_handle **out)
{
	struct uft_handle *h = calloc(1, sizeof(*h));
	int ret;

	*out = NULL;
	if (!h)
		return -ENOMEM;
	h->t = t;
	h->flags = flags;
	handle_look_up(h, pid ? pid : getpid());
	pthread_mutex_lock(&t->lock);
	ret = node_place(t, node, &h->at);
	if (!ret)
		ret = may_open(h->at.row);
	if (!ret)
		h->at.in->handles++;
	pthread_mutex_unlock(&t->lock);
	if (ret) {
		free(h);
		return ret;
	}
	if (h->at.row->open || (flags & O_TRUNC && h->at.row->truncate))
		ret = tree_call(t, open_job, &(struct job){ .h = h });
	if (ret)
		put(h);
	else
		*out = h;
	return ret;
}

ssize_t uft_tree_read(struct uft_handle *h, void *buf, size_t n, uint64_t offset, int flags)
{
	const struct row *row = h->at.row;
	int ret;

	if ((h->flags & O_ACCMODE) == O_WRONLY)
		return -EBADF;
	if (row->read)
		return row->read(h, buf, n, offset, flags | (h->flags & O_NONBLOCK));
	if (!row->show)
		return -EINVAL;
	if (!offset || !h->has_text) {
		ret = tree_call(h->t, show_job, &(struct job){ .h = h });
		if (ret)
			return ret;
	}
	if (offset >= h->text.n)
		return 0;
	n = n < h->text.n - offset ? n : h->text.n - offset;
	memcpy(buf, h->text.p + offset, n);
	return (ssize_t)n;
}

ssize_t uft_tree_write(struct uft_handle *h, const void *buf, size_t n)
{
	struct job j = { .h = h, .p = buf, .n = n };
	int ret;

	if ((h->flags & O_ACCMODE) == O_RDONLY)
		return -EBADF;
	ret = tree_call(h->t, store_job, &j);
	return ret ? ret : j.result;
}

struct ioctl_job { struct uft_handle *h; unsigned cmd; uint64_t arg; };

static int ioctl_job(void *arg)
{
	struct ioctl_job *j = arg;

	return j->h->at.row->ioctl(j->h, j->cmd, j->arg);
}

/* Is /proc of our pid namespace? In another one the same number names another process. */
static int is_proc_ours(void)
{
	char text[16] = "";

	return readlink("/proc/self", text, sizeof(text) - 1) > 0 && atoi(text) == getpid();
}

/*
 * The kernel keeps task @pid in the call until it has our answer, so the number cannot be reused meanwhile. Facts
 * stored for that number earlier may be about a process that has ended.
 */
int uft_tree_ioctl(struct uft_handle *h, pid_t pid, unsigned cmd, uint64_t arg)
{
	pid_t tgid = h->at.row->ioctl && pid > 0 && is_proc_ours() ? uft_session_process_of(pid) : 0;

	if (!h->at.row->ioctl)
		return -ENOTTY;
	if (!tgid)
		return -ESRCH;
	h->pid = pid;
	h->tgid = tgid; /* GUARD(ioctl_caller) */
	return tree_call(h->t, ioctl_job, &(struct ioctl_job){ h, cmd, arg });
}

void uft_tree_caller(struct uft_handle *h, pid_t pid)
{
	if (pid && pid != h->pid)
		handle_look_up(h, pid);
}

int uft_tree_release(struct uft_handle *h)
{
	int ret = 0;

	uft_tree_notify(h, NULL, NULL);
	if (h->at.row->release)
		ret = tree_call(h->t, release_job, &(struct job){ .h = h });
	put(h);
	return ret;
}

/* ---- Waiting --------------------------------------------------------------------------------- */

int uft_tree_poll(struct uft_handle *h)
{
	return h->at.row->poll ? h->at.row->poll(h) : POLLIN | POLLRDNORM | POLLOUT | POLLWRNORM;
}

void uft_tree_await_read(struct uft_handle *h, int is_waiting)
{
	atomic_store(&h->is_read_waiting, is_waiting);
}

int handle_wait_news(struct uft_handle *h)
{
	struct uft_tree *t = h->t;
	uint64_t seen;
	int ret;

	pthread_mutex_lock(&t->lock);
	seen = t->news;
	while (!t->ending && t->news == seen && !(uft_tree_poll(h) & POLLIN))
		pthread_cond_wait(&t->data, &t->lock);
	ret = t->ending ? -ESHUTDOWN : 0;
	pthread_mutex_unlock(&t->lock);
	if (!ret && t->news == seen)	/* present events are too young to be shown yet: wait for a moment only */
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	return ret;
}

void uft_tree_notify(struct uft_handle *h, void (*fn)(void *arg), void *arg)
{
	struct uft_handle **p;

	pthread_mutex_lock(&h->t->lock);
	for (p = &h->t->waiting; *p && *p != h; p = &(*p)->next)
		;
	if (*p)
		*p = h->next;
	h->notify = fn;
	h->notify_arg = arg;
	if (fn && (uft_tree_poll(h) & POLLIN || h->t->ending)) {
		fn(arg);
	} else if (fn) {
		h->next = h->t->waiting;
		h->t->waiting = h;
	}
	pthread_mutex_unlock(&h->t->lock);
}

void handle_wake_all(struct uft_tree *t)
{
	struct uft_handle **p;

	pthread_mutex_lock(&t->lock);
	t->news++;
	for (p = &t->waiting; *p;) {
		struct uft_handle *h = *p;

		if (!t->ending && !(uft_tree_poll(h) & POLLIN)) {
			p = &h->next;
			continue;
		}
		*p = h->next;
		h->notify(h->notify_arg);
	}
	pthread_cond_broadcast(&t->data);
	pthread_mutex_unlock(&t->lock);
}
