/* SPDX-License-Identifier: MIT */
/* client.c - requests to a running session, one connection each. See client.h. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cmd/client.h"
#include "symbol/array.h"
#include "symbol/text_file.h"
#include "tree/serve/socket.h"

/* ---- Which session --------------------------------------------------------------------------- */

static int connect_to(const char *name)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd, ret;

	if (strlen(name) >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	strcpy(addr.sun_path, name);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0)
		return fd;
	ret = -errno;
	close(fd);
	return ret;
}

int client_sessions(void (*fn)(void *arg, int pid, const char *socket), void *arg, struct uft_error *err)
{
	char dir[128], name[512];
	struct dirent *e;
	int ret = uft_serve_dir(dir, sizeof(dir), err);
	DIR *d = ret ? NULL : opendir(dir);

	if (!d)
		return ret ? ret : uft_fail(err, -errno, "cannot read %s: %s", dir, strerror(errno));
	while ((e = readdir(d))) {
		int pid, end = 0, fd;

		if (sscanf(e->d_name, "%d.sock%n", &pid, &end) != 1 || !end || e->d_name[end])
			continue;
		snprintf(name, sizeof(name), "%s/%s", dir, e->d_name);
		fd = connect_to(name);
		if (fd >= 0) {
			close(fd);
			fn(arg, pid, name);
		} else if (fd == -ECONNREFUSED) {
			unlink(name);
		}
	}
	closedir(d);
	return 0;
}

struct only { unsigned n; char name[512]; };

static void take_only(void *arg, int pid, const char *socket)
{
	struct only *o = arg;

	(void)pid;
	o->n++;
	snprintf(o->name, sizeof(o->name), "%s", socket);
}

static int find_session(const char *session, char *name, size_t size, struct uft_error *err)
{
	struct only o = { 0 };
	char dir[128];
	int ret;

	if (!session || !*session || !strcmp(session, "-"))
		session = getenv("UFT_SESSION");
	if (session && strchr(session, '/')) {
		snprintf(name, size, "%s", session);
		return 0;
	}
	if (session && *session) {
		ret = uft_serve_dir(dir, sizeof(dir), err);
		snprintf(name, size, "%s/%s.sock", dir, session);
		return ret;
	}
	ret = client_sessions(take_only, &o, err);
	if (!ret && o.n != 1)
		ret = uft_fail(err, o.n ? -E2BIG : -ESRCH,
			       o.n ? "%u sessions run: choose one with -S PID (uft list shows them)" :
			       "no session runs: uft shell or uft mount starts one", o.n);
	snprintf(name, size, "%s", o.name);
	return ret;
}

/* ---- Asking ---------------------------------------------------------------------------------- */

/* A descriptor, or -errno. */
static int ask(const char *session, uint32_t op, uint32_t flags, const char *path, struct uft_error *err)
{
	struct serve_request r = {
		.magic = SERVE_MAGIC, .op = op, .flags = flags, .path_bytes = (uint32_t)strlen(path) + 1
	};
	char name[512];
	int ret = find_session(session, name, sizeof(name), err), fd;

	if (ret)
		return ret;
	if (r.path_bytes > SERVE_PATH)
		return uft_fail(err, -ENAMETOOLONG, "%s: %s", path, strerror(ENAMETOOLONG));
	fd = connect_to(name);
	if (fd < 0)
		return uft_fail(err, fd, "no session at %s: %s", name, strerror(-fd));
	ret = serve_send(fd, &r, sizeof(r));
	if (!ret)
		ret = serve_send(fd, path, r.path_bytes);
	if (!ret)
		return fd;
	close(fd);
	/* not -EPIPE, which means the reader of our output */
	return uft_fail(err, -ECONNRESET, "%s: %s", path, strerror(-ret));
}

/* Reads one frame into @buf and terminates it. Returns its bytes, 0: the end, or -errno. */
static int next_frame(int fd, char buf[SERVE_FRAME + 1])
{
	int32_t n;
	int ret = serve_receive(fd, &n, sizeof(n));

	if (ret || n <= 0)
		return ret ? ret : n;
	if (n > SERVE_FRAME)
		return -EPROTO;
	ret = serve_receive(fd, buf, (size_t)n);
	buf[n] = '\0';
	return ret ? ret : n;
}

static int finish(int fd, int ret, const char *path, struct uft_error *err)
{
	close(fd);
	if (ret == -ENOENT)
		return uft_fail(err, ret, "%s: %s (uft ls lists what is there)", path, strerror(-ret));
	return ret < 0 ? uft_fail(err, ret, "%s: %s", path, strerror(-ret)) : 0;
}

static int take_all(int fd, const char *path, int (*sink)(void *arg, const char *p, size_t n), void *arg,
		    struct uft_error *err)
{
	int n;
	char *buf = malloc(SERVE_FRAME + 1);

	if (fd < 0 || !buf) {
		free(buf);
		return fd < 0 ? fd : finish(fd, -ENOMEM, path, err);
	}
	while ((n = next_frame(fd, buf)) > 0) {
		n = sink(arg, buf, (size_t)n);
		if (n < 0)
			break;
	}
	free(buf);
	return finish(fd, n, path, err);
}

int client_read(const char *session, const char *path, int no_wait, int (*sink)(void *arg, const char *p, size_t n),
		void *arg, struct uft_error *err)
{
	int ret = take_all(ask(session, SERVE_READ, no_wait ? SERVE_NOWAIT : 0, path, err), path, sink, arg, err);

	return ret == -EINVAL ? uft_fail(err, ret, "%s: %s: a file that is written only", path, strerror(EINVAL)) : ret;
}

struct text { char *p; size_t n; };

static int take_text(void *arg, const char *p, size_t n)
{
	struct text *t = arg;

	if (array_resize(t->p, t->n + n + 1))
		return -ENOMEM;
	memcpy(t->p + t->n, p, n);
	t->n += n;
	t->p[t->n] = '\0';
	return 0;
}

int client_print(void *arg, const char *p, size_t n)
{
	(void)arg;
	return fwrite(p, 1, n, stdout) == n && fflush(stdout) == 0 ? 0 : -errno;
}

char *client_read_text(const char *session, const char *path, struct uft_error *err)
{
	struct text t = { NULL, 0 };
	int ret = take_text(&t, "", 0);

	if (ret)
		uft_fail(err, ret, "out of memory");
	else
		ret = client_read(session, path, 1, take_text, &t, err);
	if (!ret)
		return t.p;
	free(t.p);
	return NULL;
}

const char *client_path(const char *instance, const char *file, char buf[CLIENT_PATH])
{
	snprintf(buf, CLIENT_PATH, "instances/%s/%s", instance ? instance : "", file);
	return instance ? buf : file;
}

int client_read_cells(const char *session, const char *path, int (*sink)(void *arg, const char *p, size_t n), void *arg,
		      struct uft_error *err)
{
	return take_all(ask(session, SERVE_READ, SERVE_CELLS, path, err), path, sink, arg, err);
}

int client_extract(const char *session, const char *path, int (*sink)(void *arg, const char *p, size_t n), void *arg,
		   struct uft_error *err)
{
	return take_all(ask(session, SERVE_EXTRACT, 0, path, err), path, sink, arg, err);
}

/* Sends a request whose answer is a status alone. */
static int change_dir(const char *session, uint32_t op, const char *path, struct uft_error *err)
{
	int32_t status = 0;
	int fd = ask(session, op, 0, path, err), ret;

	if (fd < 0)
		return fd;
	ret = serve_receive(fd, &status, sizeof(status));
	return finish(fd, ret ? ret : status, path, err);
}

int client_mkdir(const char *session, const char *path, struct uft_error *err)
{
	return change_dir(session, SERVE_MKDIR, path, err);
}

int client_rmdir(const char *session, const char *path, struct uft_error *err)
{
	return change_dir(session, SERVE_RMDIR, path, err);
}

struct lister { void (*fn)(void *arg, uint32_t mode, const char *name, const char *doc); void *arg; };

static int take_entry(void *arg, const char *p, size_t n)
{
	const char *name = p + sizeof(struct serve_entry);
	const struct lister *l = arg;
	struct serve_entry e;

	if (n <= sizeof(e))
		return -EPROTO;
	memcpy(&e, p, sizeof(e));
	l->fn(l->arg, e.mode, name, name + strlen(name) < p + n ? name + strlen(name) + 1 : "");
	return 0;
}

int client_list(const char *session, const char *path,
		void (*fn)(void *arg, uint32_t mode, const char *name, const char *doc),
		void *arg, struct uft_error *err)
{
	return take_all(ask(session, SERVE_LIST, 0, path, err), path, take_entry, &(struct lister){ fn, arg }, err);
}

static int put_frame(int fd, const char *p, size_t n)
{
	int32_t len = (int32_t)n, status;
	int ret = serve_send(fd, &len, sizeof(len));

	if (!ret)
		ret = serve_send(fd, p, n);
	if (!ret)
		ret = serve_receive(fd, &status, sizeof(status));
	return ret ? ret : status < 0 ? status : 0;
}

int client_keep(void *arg, const char *p, size_t n)
{
	return fwrite(p, 1, n, arg) == n ? 0 : -ENOMEM;
}

/*
 * Returns the reason in the last entry of @log, an error_log (tree/files/error_log.c), if the entry is of a write of
 * @text to @file: other clients write, too, and not every refusal has an entry. NULL: no entry, or only the errno.
 */
static char *find_reason(char *log, const char *file, const char *text, size_t n)
{
	static const char command[] = "\n  Command: ", error[] = ": error: ", filter[] = "event filter parse error";
	char *entry = NULL, *reason, *quote, *end;
	size_t len = strlen(file);

	for (char *p = log; *p; p = strchrnul(p, '\n'), p += *p == '\n')
		if (*p == '[')
			entry = strchr(p, ']');
	if (!entry || entry[1] != ' ' || !(reason = strstr(entry += 2, error)) || !(quote = strstr(reason, command)))
		return NULL;
	*reason = *quote = '\0';
	reason += sizeof(error) - 1;
	quote += sizeof(command) - 1;
	end = strchrnul(quote, '\n');
	if (strcmp(entry, file) && (strcmp(entry, filter) || len < 6 || strcmp(file + len - 6, "filter")))
		return NULL;
	return memmem(text, n, quote, (size_t)(end - quote)) && strcmp(reason, strerror(EINVAL)) ? reason : NULL;
}

/* Adds to @err why the session refused @text, where its error_log tells more than the errno. */
static void explain(const char *session, const char *path, int ret, const char *text, size_t n, struct uft_error *err)
{
	const char *file = strncmp(path, "instances/", 10) ? path : strchrnul(path + 10, '/');
	char log_path[CLIENT_PATH], *log = NULL, *reason;
	size_t len;
	FILE *f = open_memstream(&log, &len);

	if (!f)
		return;
	file += *file == '/';
	snprintf(log_path, sizeof(log_path), "%.*serror_log", (int)(file - path), path);
	client_read(session, log_path, 0, client_keep, f, NULL);
	reason = text_file_close(f, &log) ? NULL : find_reason(log, file, text, n);
	if (reason)
		uft_fail(err, ret, "%s: %s: %s", path, strerror(-ret), reason);
	free(log);
}

static int has_reason(int ret)
{
	return ret == -EINVAL || ret == -EBUSY || ret == -EPERM || ret == -EACCES || ret == -EOVERFLOW || ret == -E2BIG;
}

int client_write(const char *session, const char *path, const char *text, size_t n, int append, struct uft_error *err)
{
	int fd = ask(session, SERVE_WRITE, append ? SERVE_APPEND : 0, path, err), ret;
	const char *all = text;
	size_t bytes = n;
	int32_t status = 0;

	if (fd < 0)
		return fd;
	ret = serve_receive(fd, &status, sizeof(status));
	if (!ret && status < 0)
		ret = status;
	while (!ret && n) {
		size_t part = n < SERVE_FRAME ? n : SERVE_FRAME;

		ret = put_frame(fd, text, part);
		text += part;
		n -= part;
	}
	if (!ret)
		ret = put_frame(fd, "", 0);	/* the end; the answer is the status of the close */
	ret = finish(fd, ret, path, err);
	if (err && has_reason(ret))
		explain(session, path, ret, all, bytes, err);
	return ret;
}
