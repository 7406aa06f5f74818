/* SPDX-License-Identifier: MIT */
/* fuse_file.c - open files of the mounted tree: reads that wait, polls, writes. Theory: fuse.c. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tree/serve/fuse_internal.h"

#define PAGES_SIZE	(1ull << 50)	/* more than a file of pages will ever hold */
#define READ_MAX	(1u << 20)	/* bytes of one answer */

static struct file *file_of(const struct fuse_file_info *fi)
{
	return (struct file *)(uintptr_t)fi->fh;
}

/* ---- Open files ------------------------------------------------------------------------------- */

static void file_add(struct uft_fuse *f, struct file *file)
{
	file->fuse = f;
	pthread_mutex_init(&file->lock, NULL);
	pthread_mutex_lock(&f->lock);
	for (struct file *other = file->flags & UFT_ATTR_PAGES ? f->open : NULL; other; other = other->after) {
		if (other->node != file->node)
			continue;
		__atomic_store_n(&other->is_shared, 1, __ATOMIC_RELAXED);
		file->is_shared = 1;
	}
	file->after = f->open;
	if (f->open)
		f->open->before = file;
	f->open = file;
	pthread_mutex_unlock(&f->lock);
}

int fuse_is_open(struct uft_fuse *f, uft_node node)
{
	struct file *file;

	pthread_mutex_lock(&f->lock);
	for (file = f->open; file && file->node != node; file = file->after)
		;
	pthread_mutex_unlock(&f->lock);
	return file != NULL;
}

/*
 * Stores a byte in the kernel's cache beyond the end, farther each time. Then the kernel assumes that size, and treats
 * an older answer with size 0 as outdated for all but its own caller. The next open drops the cached bytes.
 */
int fuse_claim_size(struct uft_fuse *f, uft_node node)
{
	struct fuse_bufvec last = FUSE_BUFVEC_INIT(1);
	char nothing = 0;

	last.buf[0].mem = &nothing;
	return fuse_lowlevel_notify_store(f->session, node, (off_t)(PAGES_SIZE + atomic_fetch_add(&f->claims, 1)),
					  &last, FUSE_BUF_NO_SPLICE);
}

static void file_remove(struct uft_fuse *f, struct file *file)
{
	if (file->before)
		file->before->after = file->after;
	else
		f->open = file->after;
	if (file->after)
		file->after->before = file->before;
	for (struct file **p = &f->queue; *p; p = &(*p)->next) {
		if (*p == file) {
			*p = file->next;
			break;
		}
	}
}

/* No read of the file waits at this time, since a request keeps its file open. */
static int file_close(struct file *file)
{
	struct uft_fuse *f = file->fuse;
	int ret;

	pthread_mutex_lock(&f->lock);
	file_remove(f, file);
	file->is_queued = 1;		/* never again */
	while (f->busy == file)
		pthread_cond_wait(&f->done, &f->lock);
	pthread_mutex_unlock(&f->lock);
	/* the thread of a read whose wait was taken off the list at once may still use the file */
	pthread_mutex_lock(&file->lock);
	pthread_mutex_unlock(&file->lock);
	uft_tree_notify(file->handle, NULL, NULL);
	if (file->poll)
		fuse_pollhandle_destroy(file->poll);
	ret = uft_tree_release(file->handle);
	pthread_mutex_destroy(&file->lock);
	ahead_free(file->ahead);
	free(file);
	return ret;
}

static void op_open(fuse_req_t req, fuse_ino_t node, struct fuse_file_info *fi)
{
	struct uft_fuse *f = fuse_of(req);
	struct file *file = calloc(1, sizeof(*file));
	struct stat st;
	int ret = file ? fuse_fill_stat(f, node, &st, &file->flags) : -ENOMEM, tries = 0;

	while (ret == 0) {
		fuse_await_closes(f);
		ret = uft_tree_open(f->tree, node, fi->flags, fuse_req_ctx(req)->pid, &file->handle);
		if (!fuse_is_busy_still(ret, &tries))
			break;
		ret = 0;
	}
	if (ret < 0) {
		free(file);
		fuse_reply_err(req, -ret);
		return;
	}
	file->node = node;
	file_add(f, file);
	ret = file->flags & UFT_ATTR_PAGES ? fuse_claim_size(f, node) : 0;
	if (ret < 0) {
		file_close(file);
		fuse_reply_err(req, -ret);
		return;
	}
	fi->fh = (uintptr_t)file;
	fi->direct_io = 1;
	fi->nonseekable = file->flags & UFT_ATTR_BLOCKS && !(file->flags & UFT_ATTR_PAGES);
	if (fuse_reply_open(req, fi) == -ENOENT)	/* the open was interrupted: no release will come */
		file_close(file);
}

/* Called by the tree's thread: there is data for @file, or its end. */
static void data_came(void *arg)
{
	struct file *file = arg;
	struct uft_fuse *f = file->fuse;

	pthread_mutex_lock(&f->lock);
	if (!file->is_queued) {
		file->is_queued = 1;
		file->next = f->queue;
		f->queue = file;
		pthread_cond_signal(&f->queued);
	}
	pthread_mutex_unlock(&f->lock);
}

/* One read that does not wait: bytes, or -errno. *@buf is the caller's to free. File locked. */
static ssize_t read_now(struct file *file, size_t size, off_t offset, char **buf)
{
	*buf = malloc(size);
	return *buf ? uft_tree_read(file->handle, *buf, size, (uint64_t)offset, O_NONBLOCK) : -ENOMEM;
}

static void reply(fuse_req_t req, char *buf, ssize_t n)
{
	if (n >= 0)
		fuse_reply_buf(req, buf, (size_t)n);
	else
		fuse_reply_err(req, (int)-n);
	free(buf);
}

/* Takes the first wait of @file, or with @req the wait of that request; NULL: none. Fuse locked. */
static struct wait *take_wait(struct uft_fuse *f, const struct file *file, fuse_req_t req)
{
	for (struct wait **p = &f->waits; *p; p = &(*p)->next) {
		struct wait *w = *p;

		if (req ? w->req == req : w->file == file) {
			*p = w->next;
			return w;
		}
	}
	return NULL;
}

/*
 * Adds @w to the list of waits; the thread that removes it owns it. Returns 0, or -EINTR: the reader was interrupted
 * before, and @w still belongs to the caller.
 */
static int put_wait(struct uft_fuse *f, struct wait *w)
{
	int is_late;

	pthread_mutex_lock(&f->lock);
	is_late = fuse_req_interrupted(w->req);
	if (!is_late) {
		w->next = f->waits;
		f->waits = w;
	}
	pthread_mutex_unlock(&f->lock);
	return is_late ? -EINTR : 0;
}

/* A signal at the reader. */
static void interrupted(fuse_req_t req, void *arg)
{
	struct uft_fuse *f = arg;
	struct wait *w;

	pthread_mutex_lock(&f->lock);
	w = take_wait(f, NULL, req);
	pthread_mutex_unlock(&f->lock);
	if (w)
		fuse_reply_err(req, EINTR);
	free(w);
}

/* Keeps the request until there is data; file locked, so that the file stays while we ask to be notified. */
static int wait_for_data(struct file *file, fuse_req_t req, size_t size)
{
	struct wait *w = malloc(sizeof(*w));
	int ret;

	if (!w)
		return -ENOMEM;
	*w = (struct wait){ .file = file, .req = req, .size = size };
	ret = put_wait(file->fuse, w);
	if (ret < 0)
		free(w);
	if (ret == 0) {
		uft_tree_await_read(file->handle, 1);
		uft_tree_notify(file->handle, data_came, file);
	}
	return ret;
}

/* A file of pages. 1 in *@has_ahead: with pages for the kernel's cache. File locked. */
static ssize_t read_pages(struct file *file, fuse_req_t req, size_t size, off_t offset, char **buf, int *has_ahead)
{
	ssize_t n;

	*buf = ahead_has(file->ahead) ? malloc(size) : NULL;
	n = *buf ? ahead_kept(file->ahead, *buf, size, (uint64_t)offset) : 0;
	if (n)
		return n;
	free(*buf);
	n = read_now(file, size, offset, buf);
	if (n == -EAGAIN)
		ahead_none(file->ahead);
	*has_ahead = n == FUSE_PAGE && size == FUSE_PAGE && ahead_take(file, fuse_req_ctx(req)->pid, (uint64_t)offset);
	return n;
}

/*
 * The answer is sent after the file is unlocked: the reader asks for more at once, and its next request would wait for
 * the lock.
 */
static void op_read(fuse_req_t req, fuse_ino_t node, size_t size, off_t offset, struct fuse_file_info *fi)
{
	struct file *file = file_of(fi);
	int is_pages = (file->flags & UFT_ATTR_PAGES) != 0, has_ahead = 0;
	int may_wait = file->flags & UFT_ATTR_BLOCKS && (!is_pages || fi->lock_owner) && !(fi->flags & O_NONBLOCK);
	char *buf;
	ssize_t n;

	if (size > READ_MAX)
		size = READ_MAX;
	fuse_req_interrupt_func(req, interrupted, file->fuse);
	pthread_mutex_lock(&file->lock);
	n = is_pages ? read_pages(file, req, size, offset, &buf, &has_ahead) : read_now(file, size, offset, &buf);
	if (n == -EAGAIN && may_wait)
		n = wait_for_data(file, req, size);
	else
		may_wait = 0;
	pthread_mutex_unlock(&file->lock);
	if (has_ahead)
		ahead_put(file, node);
	if (may_wait && n == 0)		/* it waits */
		free(buf);
	else
		reply(req, buf, n);
}

static void op_write(fuse_req_t req, fuse_ino_t node, const char *buf, size_t size, off_t offset,
		     struct fuse_file_info *fi)
{
	struct file *file = file_of(fi);
	ssize_t n;
	int tries = 0;

	(void)node, (void)offset;
	pthread_mutex_lock(&file->lock);
	uft_tree_caller(file->handle, fuse_req_ctx(req)->pid);
	do
		n = uft_tree_write(file->handle, buf, size);
	while (fuse_is_busy_still(n, &tries));
	pthread_mutex_unlock(&file->lock);
	if (n < 0)
		fuse_reply_err(req, (int)-n);
	else
		fuse_reply_write(req, (size_t)n);
}

/* The command's number has a size: the kernel passes so many bytes of the structure, and gets them back unchanged. */
static void op_ioctl(fuse_req_t req, fuse_ino_t node, unsigned cmd, void *arg, struct fuse_file_info *fi,
		     unsigned flags, const void *in, size_t nin, size_t nout)
{
	struct file *file = file_of(fi);
	int ret;

	(void)node, (void)flags;
	pthread_mutex_lock(&file->lock);
	ret = uft_tree_ioctl(file->handle, fuse_req_ctx(req)->pid, cmd, (uint64_t)(uintptr_t)arg);
	pthread_mutex_unlock(&file->lock);
	if (ret < 0)
		fuse_reply_err(req, -ret);
	else
		fuse_reply_ioctl(req, ret, in, nin < nout ? nin : nout);
}

static void op_poll(fuse_req_t req, fuse_ino_t node, struct fuse_file_info *fi, struct fuse_pollhandle *ph)
{
	struct file *file = file_of(fi);
	int events;

	(void)node;
	pthread_mutex_lock(&file->lock);
	events = uft_tree_poll(file->handle) | (ahead_has(file->ahead) ? POLLIN | POLLRDNORM : 0);
	if (ph) {
		if (file->poll)
			fuse_pollhandle_destroy(file->poll);
		file->poll = ph;
		uft_tree_notify(file->handle, data_came, file);
	}
	pthread_mutex_unlock(&file->lock);
	fuse_reply_poll(req, (unsigned)events);
}

static void op_release(fuse_req_t req, fuse_ino_t node, struct fuse_file_info *fi)
{
	(void)node;
	fuse_reply_err(req, -file_close(file_of(fi)));
}

/* ---- The answering thread --------------------------------------------------------------------- */

static void answer_waits(struct file *file)
{
	struct uft_fuse *f = file->fuse;

	for (;;) {
		struct wait *w;
		char *buf;
		ssize_t n;

		pthread_mutex_lock(&f->lock);
		w = take_wait(f, file, NULL);
		pthread_mutex_unlock(&f->lock);
		if (!w) {
			uft_tree_await_read(file->handle, 0);
			return;
		}
		n = read_now(file, w->size, 0, &buf);
		if (n == -EAGAIN && put_wait(f, w) == 0) {
			free(buf);
			if (file->flags & UFT_ATTR_PAGES)	/* present events are too young to be shown */
				usleep(1000);
			uft_tree_notify(file->handle, data_came, file);
			return;
		}
		reply(w->req, buf, n == -EAGAIN ? -EINTR : n);
		free(w);
	}
}

static void look_at(struct file *file)
{
	pthread_mutex_lock(&file->lock);
	answer_waits(file);
	if (file->poll && uft_tree_poll(file->handle)) {
		fuse_lowlevel_notify_poll(file->poll);
		fuse_pollhandle_destroy(file->poll);
		file->poll = NULL;
	} else if (file->poll) {
		uft_tree_notify(file->handle, data_came, file);
	}
	pthread_mutex_unlock(&file->lock);
}

void *fuse_answerer(void *arg)
{
	struct uft_fuse *f = arg;

	pthread_mutex_lock(&f->lock);
	while (!f->is_ending) {
		struct file *file = f->queue;

		if (!file) {
			pthread_cond_wait(&f->queued, &f->lock);
			continue;
		}
		f->queue = file->next;
		file->is_queued = 0;
		f->busy = file;
		pthread_mutex_unlock(&f->lock);
		look_at(file);
		pthread_mutex_lock(&f->lock);
		f->busy = NULL;
		pthread_cond_broadcast(&f->done);
	}
	pthread_mutex_unlock(&f->lock);
	return NULL;
}

void fuse_close_all(struct uft_fuse *f)
{
	while (f->waits) {
		struct wait *w = take_wait(f, f->waits->file, NULL);

		fuse_reply_buf(w->req, NULL, 0);
		free(w);
	}
	while (f->open)
		file_close(f->open);
}

void fuse_file_ops(struct fuse_lowlevel_ops *ops)
{
	ops->open = op_open;
	ops->read = op_read;
	ops->write = op_write;
	ops->ioctl = op_ioctl;
	ops->poll = op_poll;
	ops->release = op_release;
}
