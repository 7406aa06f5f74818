/* SPDX-License-Identifier: MIT */
/*
 * source.c - questions about sources, object by object, each answered by a child process (debuginfo.c)
 *
 * The child has CPU_S seconds and DATA_BYTES of memory and is killed after WAIT_MS; its answers, at most
 * ANSWER_BYTES, come through a pipe and are checked like any file. A child that dies has no answer.
 *
 * libdw opens files that the debug information names (DW_AT_dwo_name, .gnu_debugaltlink). Of a file that another user
 * can change it may open none: a name may lead to a pipe, or to a file that only root can read. A child of root takes
 * that user's rights there. So the answers for such a file come from the file alone.
 */
#include <errno.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "symbol/debuginfo.h"
#include "symbol/object_internal.h"
#include "symbol/open_regular.h"
#include "symbol/source.h"

#define CPU_S		30u
#define WAIT_MS		60000
#define DATA_BYTES	(1ull << 30)
#define ANSWER_BYTES	(256u << 20)
#define NOBODY		65534u

struct answers { uint8_t *data; size_t n; };

/* ---- The child ---- */

static void bound_child(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
	setrlimit(RLIMIT_CPU, &(struct rlimit){ CPU_S, CPU_S });
	setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 0, 0 });
#ifndef __SANITIZE_ADDRESS__		/* whose shadow counts */
	setrlimit(RLIMIT_DATA, &(struct rlimit){ DATA_BYTES, DATA_BYTES });
#endif
}

/*
 * For a file of @uid and @gid, which is open. A file system that its user serves can call root its owner. Where the
 * rights cannot be given up, in a container, the child can open nothing all the same.
 */
static void confine_child(uid_t uid, gid_t gid)
{
	setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 0, 0 }); /* GUARD(source_opens_nothing) */
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (geteuid() != 0)
		return;
	if (setgroups(0, NULL) == 0 && setgid(gid ? gid : NOBODY) == 0 && setuid(uid ? uid : NOBODY) == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);	/* another user's has none any more */
}

/* All that comes before its answers; @parent: who is to get them. A descriptor of the file, or less than 0. */
static int start_child(const char *path, pid_t parent)
{
	struct stat st;
	int fd;

	bound_child();
	fd = open_regular(path, OPEN_FOLLOW, &st);
	if (fd >= 0 && can_others_write(fd, &st))
		confine_child(st.st_uid, st.st_gid);
	return getppid() == parent ? fd : -1;
}

/* How long it may still take, in ms. */
static int time_left(const struct timespec *begin)
{
	struct timespec now;
	int64_t gone;

	clock_gettime(CLOCK_MONOTONIC, &now);
	gone = (now.tv_sec - begin->tv_sec) * 1000 + (now.tv_nsec - begin->tv_nsec) / 1000000;
	return gone < WAIT_MS ? (int)(WAIT_MS - gone) : 0;
}

/* All that comes out of @fd. 0, or -1: too much, or too late. */
static int read_answers(int fd, struct answers *a)
{
	struct timespec begin;
	size_t room = 0;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (;;) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		int ready = poll(&p, 1, time_left(&begin));
		ssize_t n;

		if (ready < 0 && errno == EINTR)
			continue;
		if (ready <= 0)
			return -1;
		if (a->n == room) {
			uint8_t *grown = room < ANSWER_BYTES ? realloc(a->data, 2 * room + 65536) : NULL;

			if (!grown)
				return -1;
			a->data = grown;
			room = 2 * room + 65536;
		}
		n = read(fd, a->data + a->n, room - a->n);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n == 0 ? 0 : -1;
		a->n += (size_t)n;
	}
}

static int ask(const char *path, const struct uft_source_query *q, const struct debuginfo_want *func, size_t nfuncs,
	       const struct debuginfo_want *call, size_t ncalls, struct answers *a)
{
	int fd[2], status = 0, ret;
	pid_t parent = getpid(), pid;

	if (pipe(fd) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		FILE *out = fdopen(fd[1], "w");
		int file = start_child(path, parent);

		close(fd[0]);
		ret = out && file >= 0 ? debuginfo_answer(file, q, func, nfuncs, call, ncalls, out) : -1;
		_exit(out && fflush(out) == 0 && ret == 0 ? 0 : 1);
	}
	close(fd[1]);
	ret = pid < 0 ? -1 : read_answers(fd[0], a);
	close(fd[0]);
	if (pid < 0)
		return -1;
	if (ret)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return ret || status ? -1 : 0;
}

/* ---- Its answers ---- */

static int take_u32(const struct answers *a, size_t *at, uint32_t *v)
{
	if (a->n - *at < sizeof(*v))
		return 0;
	memcpy(v, a->data + *at, sizeof(*v));
	*at += sizeof(*v);
	return 1;
}

/* NULL: it is not all there, or no memory. */
static char *take_text(const struct answers *a, size_t *at)
{
	uint32_t n;
	char *text;

	if (!take_u32(a, at, &n) || a->n - *at < n)
		return NULL;
	text = strndup((const char *)a->data + *at, n);
	*at += n;
	return text;
}

static int take_func(struct uft_source_query *q, const struct answers *a, size_t *at)
{
	uint32_t i, line;
	char *file;

	if (!take_u32(a, at, &i) || !take_u32(a, at, &line) || i >= q->nfuncs || !(file = take_text(a, at)))
		return 0;
	free(q->func[i].at.file);
	q->func[i].at = (struct uft_source){ file, line };
	return 1;
}

static int take_call(struct uft_source_query *q, const struct answers *a, size_t *at)
{
	struct uft_source_call *c;
	uint32_t i, n;

	if (!take_u32(a, at, &i) || !take_u32(a, at, &n) || i >= q->ncalls || n > 255 || q->call[i].inlined)
		return 0;
	c = &q->call[i];
	c->inlined = calloc(n, sizeof(*c->inlined));
	for (; c->inlined && c->n < n; c->n++) {
		struct uft_source_inline *f = &c->inlined[c->n];

		if (!take_u32(a, at, &f->at.line))
			return 0;
		f->name = take_text(a, at);
		f->at.file = take_text(a, at);
		if (!f->name || !f->at.file) {
			free(f->name);
			free(f->at.file);
			return 0;
		}
	}
	return c->inlined != NULL;
}

static size_t take(struct uft_source_query *q, const struct answers *a)
{
	size_t at = 0, n = 0;

	while (at < a->n) {
		uint8_t kind = a->data[at++];

		if (!(kind == 'F' ? take_func(q, a, &at) : kind == 'C' ? take_call(q, a, &at) : 0))
			break;
		n++;
	}
	return n;
}

void uft_source_free(struct uft_source_query *q)
{
	for (size_t i = 0; i < q->nfuncs; i++)
		free(q->func[i].at.file);
	for (size_t i = 0; i < q->ncalls; i++) {
		for (uint32_t k = 0; k < q->call[i].n; k++) {
			free(q->call[i].inlined[k].name);
			free(q->call[i].inlined[k].at.file);
		}
		free(q->call[i].inlined);
	}
}

/* ---- Objects ---- */

static int is_recorded_file(const struct uft_object *real, const struct uft_object *obj)
{
	if (obj->build_id_len)
		return real->build_id_len == obj->build_id_len &&
		       !memcmp(real->build_id, obj->build_id, obj->build_id_len);
	return !real->build_id_len && real->file_bytes == obj->file_bytes && real->mtime_ns == obj->mtime_ns;
}

/* Why there are no answers, or NULL. */
static const char *ask_object(struct uft_source_query *q, const struct uft_object *obj,
			      const struct debuginfo_want *func, size_t nfuncs,
			      const struct debuginfo_want *call, size_t ncalls)
{
	struct uft_object *real;
	struct answers a = { 0 };
	struct stat st;
	const char *why = NULL;
	char *path;

	if (!obj->path || obj->path[0] != '/' || stat(obj->path, &st) < 0 || !S_ISREG(st.st_mode) ||
	    uft_object_open(obj->path, &real, NULL) < 0)
		return "its file is not here";
	path = is_recorded_file(real, obj) ? object_debug_info(real) : NULL;
	if (!is_recorded_file(real, obj))
		why = "its file is not the one that was recorded";
	else if (!path)
		why = "it has no debug information: compile it with -g, or install its debug symbols";
	else if (ask(path, q, func, nfuncs, call, ncalls, &a) < 0)
		why = "its debug information is damaged, or too large";
	else
		take(q, &a);
	free(a.data);
	free(path);
	uft_object_put(real);
	return why;
}

static int by_vaddr(const void *a, const void *b)
{
	const struct debuginfo_want *x = a, *y = b;

	return x->vaddr != y->vaddr ? (x->vaddr > y->vaddr) - (x->vaddr < y->vaddr) :
		(x->index > y->index) - (x->index < y->index);
}

static size_t wanted_funcs(const struct uft_source_query *q, const struct uft_object *obj, struct debuginfo_want *want)
{
	size_t n = 0;

	for (size_t i = 0; i < q->nfuncs; i++)
		if (q->func[i].obj == obj)
			want[n++] = (struct debuginfo_want){ q->func[i].vaddr, (uint32_t)i };
	qsort(want, n, sizeof(*want), by_vaddr);
	return n;
}

static size_t wanted_calls(const struct uft_source_query *q, const struct uft_object *obj, struct debuginfo_want *want)
{
	size_t n = 0;

	for (size_t i = 0; i < q->ncalls; i++)
		if (q->call[i].obj == obj)
			want[n++] = (struct debuginfo_want){ q->call[i].vaddr, (uint32_t)i };
	qsort(want, n, sizeof(*want), by_vaddr);
	return n;
}

static void ask_for(struct uft_source_query *q, const struct uft_object *obj, struct debuginfo_want *func,
		    struct debuginfo_want *call)
{
	size_t nfuncs = wanted_funcs(q, obj, func), ncalls = wanted_calls(q, obj, call);
	const char *why = ask_object(q, obj, func, nfuncs, call, ncalls);

	if (why && q->note)
		q->note(q->ctx, obj, why);
}

/* Adds @obj, if it is not there; 0 or -ENOMEM. */
static int add_object(const struct uft_object ***list, size_t *n, const struct uft_object *obj)
{
	const struct uft_object **grown;

	for (size_t i = *n; obj && i-- > 0;)
		if ((*list)[i] == obj)
			return 0;
	if (!obj)
		return 0;
	grown = realloc(*list, (*n + 1) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	*list = grown;
	grown[(*n)++] = obj;
	return 0;
}

int uft_source_find(struct uft_source_query *q, struct uft_error *err)
{
	const struct uft_object **list = NULL;
	struct debuginfo_want *func, *call;
	size_t n = 0;
	int ret = debuginfo_load(err);

	if (ret)
		return ret;
	func = malloc((q->nfuncs + 1) * sizeof(*func));
	call = malloc((q->ncalls + 1) * sizeof(*call));
	ret = func && call ? 0 : -ENOMEM;
	for (size_t i = 0; i < q->nfuncs && !ret; i++)
		ret = add_object(&list, &n, q->func[i].obj);
	for (size_t i = 0; i < q->ncalls && !ret; i++)
		ret = add_object(&list, &n, q->call[i].obj);
	for (size_t i = 0; i < n && !ret; i++)
		ask_for(q, list[i], func, call);
	free(list);
	free(func);
	free(call);
	return ret;
}
