/* SPDX-License-Identifier: MIT */
/*
 * socket.c - the tree through a socket: for machines without FUSE, and for commands about a session that runs
 *
 * Objects and owners
 *	uft_serve	one a tree: the socket's name, the thread that accepts, the number of connections
 *	connection	one a file that a client reads or writes: a thread, which owns its descriptor and its handle
 *
 * A connection carries one request. It is refused unless the peer is the same user or root; the directory is private to
 * the user as well. Lengths in a request are checked; a peer can do no more than a program with the mounted files.
 *
 * Concurrency. A connection waits in poll() for data, the end of the peer, or our end. So uft_serve_stop() ends all
 * connections and waits until the last has released its handle.
 *
 * Failure. A slow or dead peer only loses its own connection: each part that it sends has a time limit, and so has the
 * rest that it reads when we end. A killed server leaves a name on which no process listens; a command that finds the
 * name removes it.
 */
#include "symbol/now.h"
#include "symbol/rundir.h"
#include "symbol/thread.h"
#include "tree/serve/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define MAX_CONNECTIONS	128
#define LAST_MS		1000		/* time limits when we end: for each part that a peer still has to read, */
#define LAST_ALL_MS	30000		/* for all parts, */
#define LAST_FRAMES	256		/* and so many parts of an endless text */
/* time limit for a whole request, a part of a text, or the reading of a status */
#define REQUEST_S	10

struct uft_serve {
	struct uft_tree *tree;
	int fd, stop_fd;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t idle;
	unsigned connections;
	struct sockaddr_un addr;
};

struct connection {
	struct uft_serve *s;
	int fd, data_fd;
	int64_t last_ms;		/* by when the peer must have read the rest; 0: we do not end yet */
};

/* ---- Bytes ----------------------------------------------------------------------------------- */

int serve_send(int fd, const void *p, size_t n)
{
	const char *at = p;

	while (n) {
		ssize_t ret = send(fd, at, n, MSG_NOSIGNAL);

		if (ret < 0 && errno == EINTR)
			continue;
		if (ret < 0)
			return -errno;
		at += ret;
		n -= (size_t)ret;
	}
	return 0;
}

int serve_receive(int fd, void *p, size_t n)
{
	char *at = p;

	while (n) {
		ssize_t ret = recv(fd, at, n, 0);

		if (ret < 0 && errno == EINTR)
			continue;
		if (ret <= 0)
			return ret ? -errno : -ECONNRESET;
		at += ret;
		n -= (size_t)ret;
	}
	return 0;
}

static int64_t now_ms(void)
{
	return (int64_t)(now_ns() / 1000000);
}

/* Receives all @n bytes by @by_ms, or within a moment once we end; else -EAGAIN, even if some bytes came. */
static int receive_by(const struct connection *c, void *p, size_t n, int64_t by_ms)
{
	struct pollfd fds[2] = { { .fd = c->fd, .events = POLLIN }, { .fd = c->s->stop_fd, .events = POLLIN } };
	char *at = p;
	int is_ending = 0;

	while (n) {
		ssize_t ret = recv(c->fd, at, n, MSG_DONTWAIT);
		int64_t left = by_ms - now_ms();

		if (!ret || (ret < 0 && errno != EINTR && errno != EAGAIN))
			return ret ? -errno : -ECONNRESET;
		at += ret > 0 ? ret : 0;
		n -= ret > 0 ? (size_t)ret : 0;
		if (n && left <= 0) /* GUARD(serve_receive_by) */
			return -EAGAIN;
		if (n)
			poll(fds, is_ending ? 1 : 2, (int)left);
		if (fds[1].revents && !is_ending) {
			is_ending = 1;
			by_ms = by_ms < now_ms() + LAST_MS ? by_ms : now_ms() + LAST_MS;
		}
	}
	return 0;
}

/* Sends to a peer that may be slow, as a pager, until the peer goes away. Once we end, each part has a time limit. */
static int send_patiently(struct connection *c, const void *p, size_t n)
{
	struct pollfd fds[2] = { { .fd = c->fd, .events = POLLOUT }, { .fd = c->s->stop_fd, .events = POLLIN } };
	const char *at = p;

	while (n) {
		int is_ending = fds[1].revents != 0 || c->last_ms, got;
		int64_t left = LAST_MS;
		ssize_t ret = send(c->fd, at, n, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (ret < 0 && errno != EINTR && errno != EAGAIN)
			return -errno;
		at += ret > 0 ? ret : 0;
		n -= ret > 0 ? (size_t)ret : 0;
		if (is_ending && !c->last_ms)
			c->last_ms = now_ms() + LAST_ALL_MS;
		if (is_ending && c->last_ms - now_ms() < left)
			left = c->last_ms > now_ms() ? c->last_ms - now_ms() : 0;
		got = n ? poll(fds, is_ending ? 1 : 2, is_ending ? (int)left : -1) : 1;
		if (!got)
			return -EPIPE;
	}
	return 0;
}

static int send_frame(struct connection *c, const void *p, size_t n)
{
	int32_t len = (int32_t)n;
	int ret = send_patiently(c, &len, sizeof(len));

	return ret ? ret : send_patiently(c, p, n);
}

static int send_status(int fd, int status)
{
	int32_t value = status;

	return serve_send(fd, &value, sizeof(value));
}

/* ---- Requests -------------------------------------------------------------------------------- */

static int send_entry(struct connection *c, uft_node node, const char *name)
{
	char buf[1024];
	struct uft_tree_attr a;
	struct serve_entry e;
	int n;

	if (uft_tree_getattr(c->s->tree, node, &a))
		return 0;		/* removed in this moment */
	e.mode = a.mode;
	memcpy(buf, &e, sizeof(e));
	n = snprintf(buf + sizeof(e), sizeof(buf) - sizeof(e), "%s%c%s", name, 0, a.doc ? a.doc : "");
	return n < (int)(sizeof(buf) - sizeof(e)) ? send_frame(c, buf, sizeof(e) + (size_t)n + 1) : -ENAMETOOLONG;
}

static int list(struct connection *c, uft_node node, const char *path)
{
	char name[UFT_TREE_NAME];
	uft_node entry;
	int ret = 1;

	for (size_t i = 0; ret > 0; i++) {
		ret = uft_tree_readdir(c->s->tree, node, i, name, &entry);
		if (ret > 0)
			ret = send_entry(c, entry, name) ? -EPIPE : 1;
	}
	return ret == -ENOTDIR ? send_entry(c, node, path) : ret;
}

static void data_came(void *arg)
{
	eventfd_write(*(int *)arg, 1);
}

/* Waits until there is data, or we end: 0; -EPIPE: the peer has gone. */
static int wait_for_data(struct connection *c, struct uft_handle *h)
{
	struct pollfd p[3] = { { .fd = c->data_fd, .events = POLLIN }, { .fd = c->fd, .events = POLLIN | POLLRDHUP },
			       { .fd = c->s->stop_fd, .events = POLLIN } };
	eventfd_t unused;

	uft_tree_notify(h, data_came, &c->data_fd);
	while (poll(p, 3, -1) < 0 && errno == EINTR)
		;
	uft_tree_notify(h, NULL, NULL);
	eventfd_read(c->data_fd, &unused);
	return p[1].revents ? -EPIPE : 0;
}

static int is_ending(const struct connection *c)
{
	return poll(&(struct pollfd){ .fd = c->s->stop_fd, .events = POLLIN }, 1, 0) > 0;
}

/*
 * @waits: the file has no end of its own. When we end, it is read until it is empty, but not for ever: targets may
 * still write.
 */
static int read_all(struct connection *c, struct uft_handle *h, uint32_t flags, int waits)
{
	uint64_t offset = 0;
	char *buf = malloc(SERVE_FRAME);
	ssize_t n = buf ? 1 : -ENOMEM;
	int last = 0;

	while (n > 0 && last < LAST_FRAMES) {
		int ends = waits && is_ending(c);

		last += ends;
		n = uft_tree_read(h, buf, SERVE_FRAME, offset, O_NONBLOCK);
		if (n == -EAGAIN && !(flags & SERVE_NOWAIT) && !ends) {
			n = wait_for_data(c, h);
			n = n ? n : 1;
			continue;
		}
		if (n == -EAGAIN)
			n = 0;
		if (n > 0 && send_frame(c, buf, (size_t)n))
			n = -EPIPE;
		offset += n > 0 ? (uint64_t)n : 0;
	}
	free(buf);
	return n < 0 ? (int)n : 0;
}

/* Writes again on EBUSY for a while, as FUSE does, because a close may still be under way. */
static int write_whole(struct uft_handle *h, const char *p, size_t n)
{
	int tries = 0;

	while (n) {
		ssize_t ret = uft_tree_write(h, p, n);

		if (ret == -EBUSY && tries++ < 3) {
			usleep(2000);
			continue;
		}
		if (ret <= 0)
			return ret ? (int)ret : -EIO;
		p += ret;
		n -= (size_t)ret;
	}
	return 0;
}

static int write_all(struct connection *c, struct uft_handle *h)
{
	char *buf = malloc(SERVE_FRAME);
	int32_t n = 0;
	int ret = buf ? 0 : -ENOMEM;

	while (!ret && !(ret = receive_by(c, &n, sizeof(n), now_ms() + REQUEST_S * 1000)) && n) {
		if (n < 0 || n > SERVE_FRAME)
			ret = -EINVAL;
		if (!ret)
			ret = receive_by(c, buf, (size_t)n, now_ms() + REQUEST_S * 1000);
		if (!ret)
			ret = write_whole(h, buf, (size_t)n);
		if (!ret)
			ret = send_status(c->fd, n);
	}
	free(buf);
	return ret;
}

static int use_file(struct connection *c, uft_node node, const struct serve_request *r, pid_t pid)
{
	int flags = r->op == SERVE_READ ? O_RDONLY : O_WRONLY | (r->flags & SERVE_APPEND ? O_APPEND : O_TRUNC), ret,
	    closed;
	struct uft_tree_attr attr;
	struct uft_handle *h;

	ret = uft_tree_getattr(c->s->tree, node, &attr);
	if (!ret)
		ret = uft_tree_open(c->s->tree, node, flags, pid, &h);
	if (ret)
		return ret;
	if (r->op == SERVE_WRITE)
		ret = send_status(c->fd, 1);	/* the file is open: the client may send */
	if (!ret)
		ret = r->op == SERVE_READ ? read_all(c, h, r->flags, attr.flags & UFT_ATTR_BLOCKS) : write_all(c, h);
	closed = uft_tree_release(h);
	return ret ? ret : closed;
}

static int send_file(struct connection *c, int fd)
{
	char *buf = malloc(SERVE_FRAME);
	ssize_t n = buf ? 1 : -ENOMEM;

	while (n > 0) {
		n = read(fd, buf, SERVE_FRAME);
		n = n < 0 ? -errno : n;
		if (n > 0 && send_frame(c, buf, (size_t)n))
			n = -EPIPE;
	}
	free(buf);
	return (int)n;
}

/* The writer needs a file name and seeks, so the file is made beside the socket and unlinked at once. */
static int extract(struct connection *c, uft_node node)
{
	char name[sizeof(c->s->addr.sun_path) + 16];
	int fd, ret;

	snprintf(name, sizeof(name), "%s.XXXXXX", c->s->addr.sun_path);
	fd = mkostemp(name, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ret = uft_tree_extract(c->s->tree, node, name);
	unlink(name);
	if (!ret)
		ret = send_file(c, fd);
	close(fd);
	return ret;
}

static int send_cells(struct connection *c, uft_node node)
{
	char *words;
	size_t n, at = 0, part;
	int ret = uft_tree_hist_cells(c->s->tree, node, &words, &n);

	for (; !ret && at < n; at += part) {
		part = n - at < SERVE_FRAME ? n - at : SERVE_FRAME;
		ret = send_frame(c, words + at, part) ? -EPIPE : 0;
	}
	free(words);
	return ret;
}

/* An instance is made or removed. */
static int change_dir(struct connection *c, uint32_t op, char *path)
{
	size_t n = strlen(path);
	uft_node dir, made;
	char *slash;
	int ret;

	while (n > 1 && path[n - 1] == '/')
		path[--n] = '\0';
	slash = strrchr(path, '/');
	if (slash)
		*slash = '\0';
	ret = uft_tree_walk(c->s->tree, slash ? path : "", &dir);
	if (ret)
		return ret;
	path = slash ? slash + 1 : path;
	return op == SERVE_MKDIR ? uft_tree_mkdir(c->s->tree, dir, path, &made) : uft_tree_rmdir(c->s->tree, dir, path);
}

/* Reads the request of another user before it refuses it, so that the peer gets the reason. */
static int answer(struct connection *c)
{
	socklen_t len = sizeof(struct ucred);
	char path[SERVE_PATH];
	struct ucred peer;
	struct serve_request r;
	uft_node node;
	int64_t by_ms = now_ms() + REQUEST_S * 1000;
	int ret = receive_by(c, &r, sizeof(r), by_ms);

	if (ret)
		return ret;
	if (r.magic != SERVE_MAGIC || !r.path_bytes || r.path_bytes > sizeof(path) || r.op < SERVE_LIST ||
	    r.op > SERVE_RMDIR)
		return -EPROTO;
	ret = receive_by(c, path, r.path_bytes, by_ms);
	if (!ret && path[r.path_bytes - 1])
		ret = -EPROTO;
	if (!ret &&
	    (getsockopt(c->fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 || (peer.uid != geteuid() && peer.uid != 0)))
		ret = -EPERM;
	if (!ret && r.op >= SERVE_MKDIR)
		return change_dir(c, r.op, path);
	if (!ret)
		ret = uft_tree_walk(c->s->tree, path, &node);
	if (ret)
		return ret;
	if (r.op == SERVE_EXTRACT)
		return extract(c, node);
	if (r.op == SERVE_READ && r.flags & SERVE_CELLS)
		return send_cells(c, node);
	return r.op == SERVE_LIST ? list(c, node, path) : use_file(c, node, &r, peer.pid);
}

/* ---- Connections ----------------------------------------------------------------------------- */

static void *connection_main(void *arg)
{
	struct connection *c = arg;
	struct uft_serve *s = c->s;
	struct timeval limit = { .tv_sec = REQUEST_S };

	setsockopt(c->fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	send_status(c->fd, answer(c));
	close(c->fd);
	if (c->data_fd >= 0)
		close(c->data_fd);
	free(c);
	pthread_mutex_lock(&s->lock);
	s->connections--;
	pthread_cond_signal(&s->idle);
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

static void take_connection(struct uft_serve *s, int fd)
{
	struct connection *c = malloc(sizeof(*c));
	unsigned n;
	pthread_t thread;

	if (c)
		*c = (struct connection){ .s = s, .fd = fd, .data_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) };
	pthread_mutex_lock(&s->lock);
	n = s->connections++;
	pthread_mutex_unlock(&s->lock);
	if (c && c->data_fd >= 0 && n < MAX_CONNECTIONS && !thread_start(&thread, connection_main, c)) {
		pthread_detach(thread);
		return;
	}
	send_status(fd, -EAGAIN);
	close(fd);
	if (c && c->data_fd >= 0)
		close(c->data_fd);
	free(c);
	pthread_mutex_lock(&s->lock);
	s->connections--;
	pthread_mutex_unlock(&s->lock);
}

static void *accept_main(void *arg)
{
	struct uft_serve *s = arg;
	struct pollfd p[2] = { { .fd = s->fd, .events = POLLIN }, { .fd = s->stop_fd, .events = POLLIN } };

	while (!p[1].revents) {
		int fd = -1;

		if (poll(p, 2, -1) > 0 && p[0].revents)
			fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC);
		if (fd >= 0)
			take_connection(s, fd);
		else if (p[0].revents)
			usleep(10000);		/* no descriptors left: do not spin */
	}
	return NULL;
}

/* ---- Life ------------------------------------------------------------------------------------ */

int uft_serve_dir(char *buf, size_t size, struct uft_error *err)
{
	const char *run = getenv("XDG_RUNTIME_DIR");
	struct stat st;
	int ret;

	if (!run || !*run) {
		ret = uft_rundir("/tmp", buf, size);
		return ret ? uft_fail(err, ret, "cannot make %s: %s", buf, strerror(-ret)) : 0;
	}
	ret = snprintf(buf, size, "%s/uft", run);
	if (ret < 0 || (size_t)ret >= size)
		return uft_fail(err, -ENAMETOOLONG, "XDG_RUNTIME_DIR is too long");
	if (mkdir(buf, 0700) < 0 && errno != EEXIST)
		return uft_fail(err, -errno, "cannot make %s: %s", buf, strerror(errno));
	if (lstat(buf, &st) < 0 || !S_ISDIR(st.st_mode) || st.st_uid != geteuid() || st.st_mode & 022)
		return uft_fail(err, -EPERM, "%s is not a directory that only user %u may write", buf, geteuid());
	return 0;
}

static void release(struct uft_serve *s)
{
	if (s->fd >= 0)
		close(s->fd);
	if (s->stop_fd >= 0)
		close(s->stop_fd);
	free(s);
}

/* Makes the name only once the socket listens: a client that cannot connect removes the name, as of a killed server. */
static int bind_and_listen(const struct uft_serve *s)
{
	struct sockaddr_un young = s->addr;
	int n = snprintf(young.sun_path, sizeof(young.sun_path), "%s.new", s->addr.sun_path);

	if (n < 0 || (size_t)n >= sizeof(young.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	unlink(young.sun_path);
	if (bind(s->fd, (const struct sockaddr *)&young, sizeof(young)) < 0 || listen(s->fd, 16) < 0)
		return -1;
	return rename(young.sun_path, s->addr.sun_path);
}

int uft_serve_start(struct uft_tree *t, struct uft_serve **out, struct uft_error *err)
{
	struct uft_serve *s = calloc(1, sizeof(*s));
	char dir[sizeof(s->addr.sun_path) - 24];
	int ret;

	*out = NULL;
	if (!s)
		return uft_fail(err, -ENOMEM, "out of memory");
	ret = uft_serve_dir(dir, sizeof(dir), err);
	if (ret) {
		free(s);
		return ret;
	}
	s->tree = t;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->idle, NULL);
	s->addr.sun_family = AF_UNIX;
	snprintf(s->addr.sun_path, sizeof(s->addr.sun_path), "%s/%d.sock", dir, getpid());
	unlink(s->addr.sun_path);	/* of a killed server with our PID */
	s->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	s->stop_fd = eventfd(0, EFD_CLOEXEC);
	if (s->fd < 0 || s->stop_fd < 0 || bind_and_listen(s) < 0)
		ret = uft_fail(err, -errno, "cannot serve at %s: %s", s->addr.sun_path, strerror(errno));
	if (!ret && thread_start(&s->thread, accept_main, s)) {
		unlink(s->addr.sun_path);
		ret = uft_fail(err, -EAGAIN, "cannot start a thread");
	}
	if (ret)
		release(s);
	else
		*out = s;
	return ret;
}

const char *uft_serve_path(const struct uft_serve *s)
{
	return s->addr.sun_path;
}

void uft_serve_stop(struct uft_serve *s)
{
	if (!s)
		return;
	unlink(s->addr.sun_path);
	eventfd_write(s->stop_fd, 1);
	pthread_join(s->thread, NULL);
	pthread_mutex_lock(&s->lock);
	while (s->connections)
		pthread_cond_wait(&s->idle, &s->lock);
	pthread_mutex_unlock(&s->lock);
	release(s);
}
