/* SPDX-License-Identifier: MIT */
/*
 * source.c - questions about sources, object by object, each answered by a child process (debuginfo.c)
 *
 * The child has CPU_S seconds and DATA_BYTES of memory and is killed after WAIT_MS. Its answers come through a pipe and
 * are checked like any file. A child that dies gives no answer. A recording names the objects, so all of them together
 * have a bound: ALL_MS, ANSWER_BYTES, and the bounds of finding them (recorded.h).
 *
 * libdw opens files that the debug information names (DW_AT_dwo_name, .gnu_debugaltlink). For a file that another user
 * can change it may open none, because a name may lead to a pipe, or to a file that only root can read. A child of root
 * takes that user's rights there. So the answers for such a file come from the file alone.
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

#include "symbol/array.h"
#include "symbol/debuginfo.h"
#include "symbol/object_internal.h"
#include "symbol/open_regular.h"
#include "symbol/recorded.h"
#include "symbol/sorted.h"
#include "symbol/source.h"

#define CPU_S		30u
#define WAIT_MS		60000
#define DATA_BYTES	(1ull << 30)
#define ALL_MS		120000		/* for all objects of a query */
#define ANSWER_BYTES	(64u << 20)	/* the same; in memory they take up to eight times as much */
#define NOBODY		65534u

struct answers { uint8_t *data; size_t n; };

/* The part of the bounds that the objects of one query have used. */
struct spent {
	struct recorded_files files;
	struct timespec begin;
	size_t answer_bytes;
	int is_noted;			/* 1: the user was told that a bound is reached */
};

/* ---- The child ---- */

static void bound_child(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
	setrlimit(RLIMIT_CPU, &(struct rlimit){ CPU_S, CPU_S });
	setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 0, 0 });
#ifndef __SANITIZE_ADDRESS__		/* its shadow memory counts, too */
	setrlimit(RLIMIT_DATA, &(struct rlimit){ DATA_BYTES, DATA_BYTES });
#endif
}

/*
 * Confines the child of a file of @uid and @gid, which is open. The user who serves a file system can name root as the
 * owner. In a container the rights may not be given up, but the child can open nothing there either.
 */
static void confine_child(uid_t uid, gid_t gid)
{
	setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 0, 0 }); /* GUARD(source_opens_nothing) */
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (geteuid() != 0)
		return;
	if (setgroups(0, NULL) == 0 && setgid(gid ? gid : NOBODY) == 0 && setuid(uid ? uid : NOBODY) == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);	/* another user's child has lost it by setuid */
}

/* Prepares the child for its answers, which @parent reads. Returns a descriptor of the file, or less than 0. */
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

/* Returns how much is left of @ms. */
static int time_left(const struct timespec *begin, int64_t ms)
{
	struct timespec now;
	int64_t gone;

	clock_gettime(CLOCK_MONOTONIC, &now);
	gone = (now.tv_sec - begin->tv_sec) * 1000 + (now.tv_nsec - begin->tv_nsec) / 1000000;
	return gone < ms ? (int)(ms - gone) : 0;
}

/* Reads all answers from @fd. 0, or -1: too many, or too late. */
static int read_answers(int fd, const struct spent *spent, struct answers *a)
{
	const size_t most = ANSWER_BYTES - spent->answer_bytes;
	struct timespec begin;
	size_t room = 0;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (;;) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		int left = time_left(&begin, WAIT_MS), all_left = time_left(&spent->begin, ALL_MS);
		int ready = poll(&p, 1, left < all_left ? left : all_left);
		ssize_t n;

		if (ready < 0 && errno == EINTR)
			continue;
		if (ready <= 0)
			return -1;
		if (a->n == room && (room >= most || array_reserve(a->data, room, a->n + 65536)))
			return -1;
		n = read(fd, a->data + a->n, room - a->n);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n == 0 ? 0 : -1;
		a->n += (size_t)n;
	}
}

static int ask(const char *path, const struct uft_source_query *q, const struct debuginfo_want *func, size_t nfuncs,
	       const struct debuginfo_want *call, size_t ncalls, const struct spent *spent, struct answers *a)
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
	ret = pid < 0 ? -1 : read_answers(fd[0], spent, a);
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

/* NULL: the text is incomplete, or no memory. */
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

/* The objects of a query, in the order of their first mention, with the questions about each. */
struct wanted { const struct uft_object *obj; struct debuginfo_want want; };
/* Sorted by object and address; want: the same without the objects. */
struct wanted_list { struct wanted *item; struct debuginfo_want *want; size_t n; };
struct mention { const struct uft_object *obj; size_t order; };

/* Reported once, for all later objects. */
static const char too_many[] = "too many files are not here, or not those that were recorded";

/* Asks about one object. Returns why there are no answers, or NULL. */
static const char *ask_object(struct uft_source_query *q, const struct uft_object *obj,
			      const struct debuginfo_want *func, size_t nfuncs,
			      const struct debuginfo_want *call, size_t ncalls, struct spent *spent)
{
	struct uft_object *real;
	struct answers a = { 0 };
	const char *why = NULL;
	char *path;
	int ret = recorded_open(&spent->files, obj, &real);

	if (ret)
		return ret == -ENOENT ? "its file is not here" :
		       ret == -ESTALE ? "its file is not the one that was recorded" :
		       too_many;
	path = object_debug_info(real);
	if (!path)
		why = "it has no debug information: compile it with -g, or install its debug symbols";
	else if (ask(path, q, func, nfuncs, call, ncalls, spent, &a) < 0)
		why = "its debug information is damaged, or too large";
	else
		take(q, &a);
	spent->answer_bytes += a.n < ANSWER_BYTES - spent->answer_bytes ? a.n : ANSWER_BYTES - spent->answer_bytes;
	free(a.data);
	free(path);
	uft_object_put(real);
	return why;
}

static int by_object(const void *a, const void *b)
{
	const struct wanted *x = a, *y = b;

	if (x->obj != y->obj)
		return (x->obj > y->obj) - (x->obj < y->obj);
	if (x->want.vaddr != y->want.vaddr)
		return (x->want.vaddr > y->want.vaddr) - (x->want.vaddr < y->want.vaddr);
	return (x->want.index > y->want.index) - (x->want.index < y->want.index);
}

static int by_mention(const void *a, const void *b)
{
	const struct mention *x = a, *y = b;

	return x->obj != y->obj ? (x->obj > y->obj) - (x->obj < y->obj) : (x->order > y->order) - (x->order < y->order);
}

/* Makes room for @n questions; 0 or -ENOMEM. */
static int list_begin(struct wanted_list *l, size_t n)
{
	l->item = malloc((n + 1) * sizeof(*l->item));
	l->want = malloc((n + 1) * sizeof(*l->want));
	return l->item && l->want ? 0 : -ENOMEM;
}

static void list_add(struct wanted_list *l, const struct uft_object *obj, uint64_t vaddr, size_t index)
{
	if (obj)
		l->item[l->n++] = (struct wanted){ obj, { vaddr, (uint32_t)index } };
}

static void list_sort(struct wanted_list *l)
{
	qsort(l->item, l->n, sizeof(*l->item), by_object);
	for (size_t i = 0; i < l->n; i++)
		l->want[i] = l->item[i].want;
}

/* Returns the first question about @obj, and their number in *n. */
static const struct debuginfo_want *list_of(const struct wanted_list *l, const struct uft_object *obj, size_t *n)
{
	size_t from = SORTED_FIRST(i, l->n, l->item[i].obj >= obj), to = SORTED_FIRST(i, l->n, l->item[i].obj > obj);

	*n = to - from;
	return l->want + from;
}

static size_t find_objects(const struct wanted_list *func, const struct wanted_list *call, struct mention *m)
{
	size_t n = 0, kept = 0;

	for (size_t i = 0; i < func->n; i++, n++)
		m[n] = (struct mention){ func->item[i].obj, n };
	for (size_t i = 0; i < call->n; i++, n++)
		m[n] = (struct mention){ call->item[i].obj, n };
	qsort(m, n, sizeof(*m), by_mention);
	for (size_t i = 0; i < n; i++)
		if (!kept || m[kept - 1].obj != m[i].obj)
			m[kept++] = m[i];
	SORT_BY(m, kept, order);
	return kept;
}

static void ask_for(struct uft_source_query *q, const struct uft_object *obj, const struct wanted_list *func,
		    const struct wanted_list *call, struct spent *spent)
{
	size_t nfuncs, ncalls;
	const struct debuginfo_want *f = list_of(func, obj, &nfuncs), *c = list_of(call, obj, &ncalls);
	const char *why = ask_object(q, obj, f, nfuncs, c, ncalls, spent);

	if (why && q->note && !spent->is_noted)
		q->note(q->ctx, obj, why);
	spent->is_noted |= why == too_many;
}

int uft_source_find(struct uft_source_query *q, struct uft_error *err)
{
	struct wanted_list func = { 0 }, call = { 0 };
	struct mention *object = malloc((q->nfuncs + q->ncalls + 1) * sizeof(*object));
	struct spent spent = { 0 };
	size_t n;
	int ret = debuginfo_load(err);

	if (!ret && (!object || list_begin(&func, q->nfuncs) || list_begin(&call, q->ncalls)))
		ret = -ENOMEM;
	if (!ret) {
		clock_gettime(CLOCK_MONOTONIC, &spent.begin);
		for (size_t i = 0; i < q->nfuncs; i++)
			list_add(&func, q->func[i].obj, q->func[i].vaddr, i);
		for (size_t i = 0; i < q->ncalls; i++)
			list_add(&call, q->call[i].obj, q->call[i].vaddr, i);
		n = find_objects(&func, &call, object);
		list_sort(&func);
		list_sort(&call);
		for (size_t i = 0; i < n; i++)
			ask_for(q, object[i].obj, &func, &call, &spent);
	}
	free(object);
	free(func.item);
	free(func.want);
	free(call.item);
	free(call.want);
	return ret;
}
