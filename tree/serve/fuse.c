/* SPDX-License-Identifier: MIT */
/*
 * fuse.c - the tree through FUSE: what a shell, trace-cmd and libtracefs open, read and write
 *
 * Objects and owners
 *	uft_fuse	one a mount: the libfuse session, its loop thread, the answering thread and its queue
 *	file		one an open file: a handle of the tree and the poll that waits for it
 *	wait		one a read that found no data: its request, until it is answered
 * Inode numbers are the tree's node numbers; nothing is allocated for them, so FORGET has nothing to do.
 *
 * Concurrency. Several threads take requests and call the operations; each request wakes one of them. A read
 * that finds no data becomes a wait, and its thread goes on: a hundred readers of trace_pipe cost no thread.
 * uft_tree_notify() calls back when there is data. The callback may not call the tree, so it only queues the file for
 * the answering thread, which reads and replies. file->lock serializes use of the handle; fuse->lock, taken after
 * file->lock, guards waits and queue. Only the thread that takes a wait off the list answers its request. An interrupt
 * (a signal at the reader) takes the wait and answers EINTR; else the reader could not even be killed.
 *
 * What the kernel does with our answers, and what follows
 *	- Sizes are 0 and contents come from reads: direct I/O, attributes valid for no time.
 *	- `>` comes as O_TRUNC of the open (FUSE_CAP_ATOMIC_O_TRUNC). A size set by truncate(2) has no effect, as in the
 *	  kernel.
 *	- splice ignores direct I/O: it goes through the page cache and ends at the size. So trace_pipe_raw,
 *	  once it is open, is huge to the kernel, though not to a caller of stat (fuse_claim_size()): tar would
 *	  fill the disk with zeros. There is no read-ahead, each read of a page is answered by one sub-buffer. A
 *	  read for the page cache never waits, or a recorder that splices could not stop: it gets EAGAIN and
 *	  polls. A read(2) waits, as the kernel's; its request names a lock owner, which only direct I/O has
 *	  (fs/fuse/file.c). The pages that a splice requests after its first are put into the cache before that
 *	  (fuse_ahead.c).
 *	- An incomplete last line takes effect when the file is closed. Its error is lost, as in the kernel: FLUSH
 *	  cannot tell the last close from the close of a duplicate, and release returns no error to the caller.
 *	- A close does not wait for the tree (no FLUSH): a target that closes would wait for the owner, and the
 *	  owner waits for it while it is exec'ing. A task that opens a file or removes a directory later, be it
 *	  the same shell's next command, waits for the closes that came before (fuse_await_closes()), but not
 *	  for ever, for the same reason.
 *
 * Failure. When the process dies in any way, the kernel ends the connection: every call gets ENOTCONN, no caller hangs.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <linux/fuse.h>
#include <unistd.h>

#include "symbol/thread.h"
#include "tree/serve/fuse.h"
#include "tree/serve/fuse_internal.h"

/* ---- Names and attributes --------------------------------------------------------------------- */

int fuse_fill_stat(struct uft_fuse *f, uft_node node, struct stat *st, uint32_t *flags)
{
	struct uft_tree_attr a;
	int ret = uft_tree_getattr(f->tree, node, &a);

	if (ret < 0)
		return ret;
	memset(st, 0, sizeof(*st));
	st->st_ino = node;
	st->st_mode = a.mode;
	st->st_nlink = a.nlink;
	st->st_uid = a.uid;
	st->st_gid = a.gid;
	st->st_blksize = 4096;
	if (a.flags & UFT_ATTR_PAGES && fuse_is_open(f, node)) {
		ret = fuse_claim_size(f, node);
		if (ret < 0)
			return ret;
	}
	st->st_mtim.tv_sec = (time_t)(a.mtime_ns / 1000000000);
	st->st_mtim.tv_nsec = (long)(a.mtime_ns % 1000000000);
	st->st_atim = st->st_ctim = st->st_mtim;
	if (flags)
		*flags = a.flags;
	return 0;
}

static void reply_entry(fuse_req_t req, uft_node node)
{
	struct fuse_entry_param e = { .ino = node };
	int ret = fuse_fill_stat(fuse_of(req), node, &e.attr, NULL);

	if (ret < 0)
		fuse_reply_err(req, -ret);
	else
		fuse_reply_entry(req, &e);
}

static void op_lookup(fuse_req_t req, fuse_ino_t dir, const char *name)
{
	uft_node node;
	int ret = uft_tree_lookup(fuse_of(req)->tree, dir, name, &node);

	if (ret < 0)
		fuse_reply_err(req, -ret);
	else
		reply_entry(req, node);
}

static void op_getattr(fuse_req_t req, fuse_ino_t node, struct fuse_file_info *fi)
{
	struct stat st;
	int ret = fuse_fill_stat(fuse_of(req), node, &st, NULL);

	(void)fi;
	if (ret < 0)
		fuse_reply_err(req, -ret);
	else
		fuse_reply_attr(req, &st, 0);
}

/* The kernel has checked who may change a mode or an owner (default_permissions). Times are accepted and not kept. */
static void op_setattr(fuse_req_t req, fuse_ino_t node, struct stat *attr, int to_set, struct fuse_file_info *fi)
{
	int ret = 0;

	if (to_set & (FUSE_SET_ATTR_MODE | FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID))
		ret = uft_tree_setattr(fuse_of(req)->tree, node, to_set & FUSE_SET_ATTR_MODE ? attr->st_mode :
				       (mode_t)-1, to_set & FUSE_SET_ATTR_UID ? attr->st_uid : (uid_t)-1,
				       to_set & FUSE_SET_ATTR_GID ? attr->st_gid : (gid_t)-1);
	if (ret < 0)
		fuse_reply_err(req, -ret);
	else
		op_getattr(req, node, fi);
}

static void op_mkdir(fuse_req_t req, fuse_ino_t dir, const char *name, mode_t mode)
{
	uft_node node;
	int ret = uft_tree_mkdir(fuse_of(req)->tree, dir, name, &node);

	(void)mode;
	if (ret < 0)
		fuse_reply_err(req, -ret);
	else
		reply_entry(req, node);
}

/*
 * The kernel does not wait for our answer to a close. So when a task closes a file and then opens another one, another
 * thread could serve the open first. Requests are read in the order in which they came. So a thread takes a ticket
 * before it reads a request, and returns the ticket if the request is no close, or when the close is done. An earlier
 * close was read earlier, under a ticket up to the last that was given; requests that are read meanwhile have later
 * tickets.
 */
#define CLOSES_WAIT_US	200000
#define CLOSES_STEP_US	100

/* Looks at all threads, as a new one may take requests before nloops counts it. */
static int may_have_close(struct uft_fuse *f, unsigned long long last)
{
	for (unsigned i = 0; i < NLOOPS; i++) {
		unsigned long long ticket = atomic_load(&f->loop[i].ticket);

		if (ticket && ticket <= last)
			return 1;
	}
	return 0;
}

void fuse_await_closes(struct uft_fuse *f)
{
	unsigned long long last = atomic_load(&f->last_ticket);

	for (int us = 0; may_have_close(f, last) && us < CLOSES_WAIT_US; us += CLOSES_STEP_US)
		usleep(CLOSES_STEP_US);
}

/* Returns 1 if @ret is EBUSY and the call should be tried again: a close may have taken longer, or come another way. */
int fuse_is_busy_still(ssize_t ret, int *tries)
{
	if (ret != -EBUSY || (*tries)++ == 3)
		return 0;
	usleep(2000);
	return 1;
}

static void op_rmdir(fuse_req_t req, fuse_ino_t dir, const char *name)
{
	int ret, tries = 0;

	fuse_await_closes(fuse_of(req));
	do
		ret = uft_tree_rmdir(fuse_of(req)->tree, dir, name);
	while (fuse_is_busy_still(ret, &tries));
	fuse_reply_err(req, -ret);
}

/* Nothing can be made, removed, renamed or linked but instances. The errors are those of the kernel's tracefs. */
static void op_create(fuse_req_t req, fuse_ino_t dir, const char *name, mode_t mode, struct fuse_file_info *fi)
{
	(void)dir, (void)name, (void)mode, (void)fi;
	fuse_reply_err(req, EACCES);
}

static void op_symlink(fuse_req_t req, const char *to, fuse_ino_t dir, const char *name)
{
	(void)to, (void)dir, (void)name;
	fuse_reply_err(req, EPERM);
}

static void op_link(fuse_req_t req, fuse_ino_t node, fuse_ino_t dir, const char *name)
{
	(void)node, (void)dir, (void)name;
	fuse_reply_err(req, EPERM);
}

static void op_rename(fuse_req_t req, fuse_ino_t dir, const char *name, fuse_ino_t to, const char *new_name,
		      unsigned flags)
{
	(void)dir, (void)name, (void)to, (void)new_name, (void)flags;
	fuse_reply_err(req, EPERM);
}

static void op_mknod(fuse_req_t req, fuse_ino_t dir, const char *name, mode_t mode, dev_t dev)
{
	(void)dir, (void)name, (void)mode, (void)dev;
	fuse_reply_err(req, EPERM);
}

static void op_unlink(fuse_req_t req, fuse_ino_t dir, const char *name)
{
	(void)dir, (void)name;
	fuse_reply_err(req, EPERM);
}

/* Finds entry @i; 0 and 1 are `.` and `..`. Returns 1 if filled. */
static int entry_at(struct uft_fuse *f, uft_node dir, off_t i, char name[UFT_TREE_NAME], uft_node *out)
{
	if (i == 0) {
		strcpy(name, ".");
		*out = dir;
		return 1;
	}
	if (i == 1) {
		strcpy(name, "..");
		return uft_tree_parent(f->tree, dir, out) < 0 ? -ENOENT : 1;
	}
	return uft_tree_readdir(f->tree, dir, (size_t)i - 2, name, out);
}

static void op_readdir(fuse_req_t req, fuse_ino_t dir, size_t size, off_t from, struct fuse_file_info *fi)
{
	struct uft_fuse *f = fuse_of(req);
	char *buf = malloc(size), name[UFT_TREE_NAME];
	size_t n = 0;
	uft_node node;
	int ret = buf ? 1 : -ENOMEM;

	(void)fi;
	for (off_t i = from; ret == 1 && (ret = entry_at(f, dir, i, name, &node)) == 1; i++) {
		struct stat st;
		size_t len;

		if (fuse_fill_stat(f, node, &st, NULL) < 0)
			continue;	/* removed in this moment */
		len = fuse_add_direntry(req, buf + n, size - n, name, &st, i + 1);
		if (len > size - n)
			break;
		n += len;
	}
	if (ret < 0 && n == 0)
		fuse_reply_err(req, -ret);
	else
		fuse_reply_buf(req, buf, n);
	free(buf);
}

/* ---- Life ------------------------------------------------------------------------------------- */

static void op_init(void *arg, struct fuse_conn_info *conn)
{
	(void)arg;
	conn->want |= conn->capable & FUSE_CAP_ATOMIC_O_TRUNC;
	conn->max_readahead = 0;
}

static struct fuse_lowlevel_ops ops = {
	.init = op_init,
	.lookup = op_lookup, .getattr = op_getattr, .setattr = op_setattr, .readdir = op_readdir,
	.mkdir = op_mkdir, .rmdir = op_rmdir, .create = op_create, .mknod = op_mknod, .unlink = op_unlink,
	.symlink = op_symlink, .link = op_link, .rename = op_rename,
};

static int is_close(const struct fuse_buf *buf)
{
	const struct fuse_in_header *in = buf->mem;

	return !(buf->flags & FUSE_BUF_IS_FD) && buf->size >= sizeof(*in) && in->opcode == FUSE_RELEASE;
}

/* Unlike libfuse's own loop, this one ends on our request even while files are open. */
static void *run_loop(void *arg)
{
	struct loop *l = arg;
	struct uft_fuse *f = l->fuse;
	struct fuse_buf buf = { 0 };

	while (!fuse_session_exited(f->session)) {
		struct epoll_event ev;
		int ret = epoll_wait(l->epoll, &ev, 1, -1), closes = 0;

		if (ret > 0 && ev.data.fd == f->stop_fd)
			break;
		if (ret > 0) {
			atomic_store(&l->ticket, atomic_fetch_add(&f->last_ticket, 1) + 1);
			ret = fuse_session_receive_buf(f->session, &buf);
			closes = ret > 0 && is_close(&buf);
			if (!closes)
				atomic_store(&l->ticket, 0);
		}
		if (ret > 0)
			fuse_session_process_buf(f->session, &buf);
		if (closes)
			atomic_store(&l->ticket, 0);
		if (ret == 0 || (ret < 0 && ret != -EINTR && ret != -EAGAIN && errno != EINTR))
			break;			/* ENODEV: unmounted */
	}
	free(buf.mem);
	eventfd_write(f->gone_fd, 1);
	return NULL;
}

static int watch(int epoll, int fd, uint32_t events)
{
	return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &(struct epoll_event){ .events = events, .data.fd = fd });
}

/*
 * Each thread waits by an epoll of its own, so a request wakes one sleeping thread. With poll() a request woke all six,
 * and five found nothing.
 */
static int start_loop(struct uft_fuse *f, struct loop *l)
{
	l->fuse = f;
	l->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (l->epoll < 0)
		return -errno;
	if (watch(l->epoll, fuse_session_fd(f->session), EPOLLIN |
		EPOLLEXCLUSIVE /* GUARD(one_thread_wakes, EPOLLIN) */) == 0 &&
	    watch(l->epoll, f->stop_fd, EPOLLIN) == 0 &&
	    thread_start(&l->thread, run_loop, l) == 0)
		return 0;
	close(l->epoll);
	return -EAGAIN;
}

#define WITHOUT		"uft shell --no-mount, with uft read, uft write and uft ls, needs none"

/* Checks the device before libfuse would print an error without a remedy. */
static int check_device(struct uft_error *err)
{
	if (faccessat(AT_FDCWD, "/dev/fuse", F_OK, AT_EACCESS) < 0)
		return uft_fail(err, -ENODEV, "this machine has no FUSE (no /dev/fuse: modprobe fuse); " WITHOUT);
	if (faccessat(AT_FDCWD, "/dev/fuse", R_OK | W_OK, AT_EACCESS) < 0)
		return uft_fail(err, -EPERM,
				"/dev/fuse may not be opened: %s (chmod 666 /dev/fuse, as distributions have it); " WITHOUT,
				strerror(errno));
	return 0;
}

/* Makes the message for a failed mount; libfuse has printed why. */
static int cannot_mount(const char *dir, struct uft_error *err)
{
	return uft_fail(err, -EPERM,
			"cannot mount at %s: a user other than root needs fusermount3 (package fuse3) and must own the directory",
			dir);
}

static void stop_threads(struct uft_fuse *f)
{
	eventfd_write(f->stop_fd, 1);
	for (unsigned i = 0; i < f->nloops; i++) {
		pthread_join(f->loop[i].thread, NULL);
		close(f->loop[i].epoll);
	}
	pthread_mutex_lock(&f->lock);
	f->is_ending = 1;
	pthread_cond_signal(&f->queued);
	pthread_mutex_unlock(&f->lock);
	pthread_join(f->answerer, NULL);
}

static int start_threads(struct uft_fuse *f, struct uft_error *err)
{
	if (thread_start(&f->answerer, fuse_answerer, f))
		return uft_fail(err, -EAGAIN, "cannot start a thread");
	while (f->nloops < NLOOPS && start_loop(f, &f->loop[f->nloops]) == 0)
		f->nloops++;
	if (f->nloops)
		return 0;
	stop_threads(f);
	return uft_fail(err, -EAGAIN, "cannot start a thread");
}

static void release(struct uft_fuse *f)
{
	if (f->session)
		fuse_session_destroy(f->session);
	if (f->gone_fd >= 0)
		close(f->gone_fd);
	if (f->stop_fd >= 0)
		close(f->stop_fd);
	free(f);
}

int uft_fuse_start(struct uft_tree *t, const char *dir, const struct uft_fuse_opts *opts, struct uft_fuse **out,
		   struct uft_error *err)
{
	char *argv[] = { "uft", "-o", "fsname=uft,subtype=tracefs,default_permissions",
		opts->allow_other ? "-oallow_other" : NULL, NULL };
	struct fuse_args args = FUSE_ARGS_INIT(opts->allow_other ? 4 : 3, argv);
	struct uft_fuse *f = calloc(1, sizeof(*f));
	struct stat st;
	int ret;

	if (stat(dir, &st) < 0)
		ret = uft_fail(err, -errno, "cannot mount at %s: %s", dir, strerror(errno));
	else if (!S_ISDIR(st.st_mode))
		ret = uft_fail(err, -ENOTDIR, "cannot mount at %s: not a directory", dir);
	else
		ret = f ? check_device(err) : uft_fail(err, -ENOMEM, "out of memory");
	if (ret < 0) {
		free(f);
		return ret;
	}
	f->tree = t;
	pthread_mutex_init(&f->lock, NULL);
	pthread_mutex_init(&f->storing, NULL);
	pthread_cond_init(&f->queued, NULL);
	pthread_cond_init(&f->done, NULL);
	fuse_file_ops(&ops);
	f->gone_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	f->stop_fd = eventfd(0, EFD_CLOEXEC);
	f->session = fuse_session_new(&args, &ops, sizeof(ops), f);
	fuse_opt_free_args(&args);
	if (!f->session || f->gone_fd < 0 || f->stop_fd < 0 || fuse_session_mount(f->session, dir) != 0 ||
	    fcntl(fuse_session_fd(f->session), F_SETFL, O_NONBLOCK) < 0) {
		ret = cannot_mount(dir, err);
		release(f);
		return ret;
	}
	ret = start_threads(f, err);
	if (ret < 0) {
		fuse_session_unmount(f->session);
		release(f);
		return ret;
	}
	*out = f;
	return 0;
}

int uft_fuse_gone_fd(const struct uft_fuse *f)
{
	return f->gone_fd;
}

void uft_fuse_stop(struct uft_fuse *f, int is_mounted)
{
	stop_threads(f);
	fuse_close_all(f);
	if (is_mounted)		/* libfuse unmounts by path as long as an open file keeps the connection */
		fuse_session_unmount(f->session);
	release(f);
}
