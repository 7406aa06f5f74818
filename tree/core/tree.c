/* SPDX-License-Identifier: MIT */
/*
 * tree.c - the owner of a tree: the one thread that calls the session
 *
 * tree.h says what a tree is. In turn the owner runs the requests of other threads (tree_call(), one at a time, in
 * order), runs a round of the session, and drains the rings. Before each request it adopts the fork children that exist
 * by then. So a reader that has waited for a child finds its records, however long the previous request took.
 *
 * Settings. `set` holds the values that the user wrote into files. A write makes a copy, changes it and hands it to
 * tree_apply(), which applies it to the session. Only on success does the copy become `set`; a refused write changes
 * nothing.
 *
 * Locks: `lock` for requests, instances and waiting readers, held for moments, no other lock taken inside.
 */
#include "symbol/now.h"
#include "symbol/thread.h"
#include "tree/core/tree_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define IDLE_MS		100	/* the session's own pace */
#define BUSY_MS		5	/* a ring takes longer to fill, */
#define MUCH_BYTES	(512u << 10)	/* but not if a round takes that much: the next one follows at once */
#define RING_BYTES	(4u << 20)	/* not more, since a file waits until earlier records are drained */
/* in a burst that we cannot drain in time: a file then waits for so many bytes */
#define RING_MAX	(16u << 20)
#define EMULATED_RINGS	32u	/* threads that write at the same time */
#define SUB_BYTES	4096u	/* the kernel's: what a buffer drops at a time, and a trace_pipe_raw page */

struct request {
	struct request *next;
	int (*fn)(void *arg);
	void *arg;
	int result, is_done;
};

int tree_call(struct uft_tree *t, int (*fn)(void *arg), void *arg)
{
	struct request r = { .fn = fn, .arg = arg };

	if (pthread_equal(pthread_self(), t->owner))
		return fn(arg);
	pthread_mutex_lock(&t->lock);
	*t->last = &r;
	t->last = &r.next;
	pthread_cond_signal(&t->asked);
	uft_session_wake(t->session);
	while (!r.is_done)
		pthread_cond_wait(&t->done, &t->lock);
	pthread_mutex_unlock(&t->lock);
	return r.result;
}

static void serve(struct uft_tree *t)
{
	pthread_mutex_lock(&t->lock);
	while (t->first) {
		struct request *r = t->first;

		t->first = r->next;
		if (!t->first)
			t->last = &t->first;
		pthread_mutex_unlock(&t->lock);
		uft_session_adopt(t->session); /* GUARD(request_adopts) */
		r->result = r->fn(r->arg);
		pthread_mutex_lock(&t->lock);
		r->is_done = 1;
		pthread_cond_broadcast(&t->done);
	}
	pthread_mutex_unlock(&t->lock);
}

/* Waits for a request. Without targets the session has nothing to wait for; without a tracer no data comes. */
static void wait_asked(struct uft_tree *t)
{
	const struct timespec until = clock_in(CLOCK_MONOTONIC, IDLE_MS * 1000000ull);

	pthread_mutex_lock(&t->lock);
	if (!t->first && !t->ending && (t->is_busy || t->fresh))
		pthread_cond_timedwait(&t->asked, &t->lock, &until);
	else if (!t->first && !t->ending)
		pthread_cond_wait(&t->asked, &t->lock);
	pthread_mutex_unlock(&t->lock);
}

static int is_ending(struct uft_tree *t)
{
	int ret;

	pthread_mutex_lock(&t->lock);
	ret = t->ending && !t->first;
	pthread_mutex_unlock(&t->lock);
	return ret;
}

static void note_status(struct uft_tree *t)
{
	int status = uft_session_status(t->session);

	if (status != t->status && status >= 0)
		each_part(t, exited, t, status);
	pthread_mutex_lock(&t->lock);
	if (status != t->status) {
		t->status = status;
		pthread_cond_broadcast(&t->done);
	}
	pthread_mutex_unlock(&t->lock);
}

/*
 * Drains the rings and wakes waiting readers. Events may be too young to be returned yet, so each round wakes readers
 * again until the events can be. One more round is not enough, since the owner's own round follows a reader's at once.
 */
void tree_pull(struct uft_tree *t)
{
	uint64_t n;

	uft_live_until(t->instances->live, uft_session_gather(t->session));
	t->took = uft_live_pull(t->instances->live);
	n = t->took + t->nmarks;
	t->nmarks = 0;
	t->has_emitted = 0;
	each_part(t, round, t);
	if (t->has_emitted)	/* before readers come to that time */
		n += uft_live_pull(t->instances->live);
	if (n)
		t->fresh = uft_live_clock(t->instances->live);
	if (!t->fresh)
		return;
	handle_wake_all(t);
	if (uft_live_certain(t->instances->live) >= t->fresh)
		t->fresh = 0;
}

void tree_pull_all(struct uft_tree *t)
{
	do
		tree_pull(t);
	while (t->has_emitted);
}

static int pull_job(void *arg)
{
	tree_pull(arg);
	return 0;
}

void tree_pull_now(struct uft_tree *t)
{
	tree_call(t, pull_job, t);
}

static int pause_ms(const struct uft_tree *t)
{
	if (!t->is_busy)
		return IDLE_MS;
	return t->took < MUCH_BYTES ? BUSY_MS : 0;
}

static void *owner_main(void *arg)
{
	struct uft_tree *t = arg;
	int has_targets;

	while (!is_ending(t)) {
		serve(t);
		has_targets = uft_session_poll(t->session, pause_ms(t));
		tree_pull(t);
		note_status(t);
		if (!has_targets)
			wait_asked(t);
	}
	uft_session_destroy(t->session);
	return NULL;
}

/* ---- Settings -------------------------------------------------------------------------------- */

void tree_clear(struct instance *in, uint32_t cpu)
{
	uft_session_gather(in->t->session);	/* records of before the clear go as well */
	uft_live_clear(in->live, cpu);
	if (cpu == UFT_LIVE_ALL)
		in->cleared_ns = uft_live_now(in->live);
}

int tree_apply(struct instance *in, const struct settings *set, struct uft_error *err)
{
	struct settings now = *set;
	struct uft_tree *t = in->t;
	int ret, was_on = in->set.is_on;

	share_settle(in, set);
	if (set->is_on == was_on)	/* a write of another setting does not undo a pending traceoff */
		now.is_on = in->set.is_on;
	set = &now;
	ret = t->is_together ? 0 : share_apply(in, set, err);
	if (ret) {
		each_part(t, applied, t);
		return ret;
	}
	if (in->set.tracer != set->tracer || in->set.clock != set->clock)
		tree_clear(in, UFT_LIVE_ALL);
	if (in->set.clock != set->clock)
		each_part(t, clock, in, set->clock);
	uft_live_limit(in->live, set->buffer_kb * 1024, (set->options & OPT_BIT(OPT_OVERWRITE)) != 0);
	uft_live_cpus(in->live, set->cpus_off);
	if (in->set.is_on != set->is_on)
		each_part(t, switched, in, set->is_on);
	in->set = *set;
	if (t->is_together)
		return 0;
	each_part(t, applied, t);
	share_mute(t);
	tree_record(t);
	return 0;
}

static int begin_together(void *arg)
{
	struct uft_tree *t = arg;

	t->is_together = 1;
	return 0;
}

void uft_tree_begin_together(struct uft_tree *t)
{
	tree_call(t, begin_together, t);
}

struct together { struct uft_tree *t; struct uft_error *err; };

static int end_together(void *arg)
{
	struct together *e = arg;
	struct instance *top = e->t->instances;

	e->t->is_together = 0;
	return tree_apply(top, &top->set, e->err);
}

int uft_tree_end_together(struct uft_tree *t, struct uft_error *err)
{
	return tree_call(t, end_together, &(struct together){ t, err });
}

/* ---- Life ------------------------------------------------------------------------------------ */

void tree_warn(void *tree, const char *text)
{
	struct uft_tree *t = tree;

	if (t->opts.warning)
		t->opts.warning(t->opts.arg, text);
}

static void on_told(void *arg, const struct uft_told_event *e)
{
	struct uft_tree *t = arg;

	each_part(t, told, t, e);
}

static void on_fault(void *arg, pid_t pid, const char *text)
{
	(void)pid;
	tree_warn(arg, text);
}

static void on_events_found(void *arg, const struct uft_event_type *const *type, uint32_t n)
{
	struct uft_tree *t = arg;

	each_part(t, types_found, t, type, n);
}

static void on_slice_begin(void *arg, uint32_t slice, pid_t pid, pid_t ppid, const struct uft_image *img)
{
	struct uft_tree *t = arg;
	char text[80];
	int ret;

	(void)ppid;
	each_part(t, slice_begin, t, slice, img);
	ret = uft_live_slice(t->instances->live, slice, img);
	if (ret) {
		snprintf(text, sizeof(text), "the events of process %d are lost: %s", pid, strerror(-ret));
		tree_warn(arg, text);
	}
}

static void on_slice_end(void *arg, uint32_t slice, pid_t pid)
{
	struct uft_tree *t = arg;

	(void)pid;
	each_part(t, slice_end, t, slice);
	uft_live_slice_end(t->instances->live, slice);
	t->fresh = uft_live_clock(t->instances->live);	/* the buffer drains the rest */
}

static void on_task(void *arg, pid_t pid, pid_t tid, pid_t ppid, const struct uft_image *img, const char *comm)
{
	struct uft_tree *t = arg;

	(void)img;
	if (!(t->instances->set.options & OPT_BIT(OPT_RECORD_CMD)))
		comm = "";
	uft_live_task(t->instances->live, (uint32_t)pid, (uint32_t)tid, (uint32_t)ppid, comm);
}

static void on_outer(void *arg, uint32_t slice, pid_t tid, pid_t outer)
{
	struct uft_tree *t = arg;

	if (uft_live_outer(t->instances->live, slice, (uint32_t)tid, (uint32_t)outer))
		tree_warn(arg, "no memory to tell the tasks of another pid namespace: set_event_pid misses some");
}

static int start_owner(struct uft_tree *t)
{
	int ret = thread_start(&t->owner, owner_main, t);

	t->has_owner = !ret;
	return ret;
}

static void tree_free(struct uft_tree *t)
{
	each_part(t, tree_free, t);
	while (t->instances && t->instances->next)
		instance_free(t->instances->next);
	if (t->instances)
		instance_free(t->instances);
	pthread_cond_destroy(&t->asked);
	pthread_cond_destroy(&t->done);
	pthread_cond_destroy(&t->data);
	pthread_mutex_destroy(&t->lock);
	free(t->attached);
	free(t);
}

static void init_sync(struct uft_tree *t)
{
	pthread_condattr_t attr;

	pthread_mutex_init(&t->lock, NULL);
	pthread_mutex_init(&t->pipe_lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&t->asked, &attr);
	pthread_cond_init(&t->done, &attr);
	pthread_cond_init(&t->data, &attr);
	pthread_condattr_destroy(&attr);
}

int tree_create(const struct uft_tree_opts *opts, const struct tree_table *table, struct uft_tree **out,
		struct uft_error *err)
{
	struct uft_session_opts so = {
		.no_children = opts->no_children, .forgets_images = 1, .ring_bytes = RING_BYTES,
		.ring_max = RING_MAX, /* GUARD(rings_grow) */
		.sub_bytes = SUB_BYTES,
		.watchdog = opts->watchdog || opts->int3, .int3 = opts->int3, .preload = opts->preload,
		.emulator = opts->emulator, .nexch = opts->emulator ? EMULATED_RINGS : 0,
	};
	struct uft_session_events ev = {
		.warning = tree_warn, .slice_begin = on_slice_begin, .slice_end = on_slice_end, .task = on_task,
		.outer = on_outer,
		.told = on_told, .events_found = on_events_found,
		.fault = on_fault,
	};
	struct uft_tree *t = calloc(1, sizeof(*t));
	int ret;

	*out = NULL;
	if (!t)
		return uft_fail(err, -ENOMEM, "out of memory");
	if (so.watchdog && !uft_session_can_attach()) {
		free(t);
		return uft_fail(err, -EOPNOTSUPP, "%s works on x86-64 only: start without it",
				so.int3 ? "--int3" : "--watchdog");
	}
	t->opts = *opts;
	t->table = table;
	t->last = &t->first;
	t->status = -1;
	t->cmdlines = 128;
	t->sysctl[0] = t->sysctl[2] = 1;	/* ftrace_enabled and kprobes-optimization, as in the kernel */
	t->opts.buffer_kb = opts->buffer_kb ? opts->buffer_kb : 1408;
	init_sync(t);
	ev.arg = t;
	ret = uft_session_create(&so, &ev, &t->session, err);
	if (!ret) {
		struct instance *top;

		t->ncpus = uft_session_arena(t->session)->ncpus;
		ret = instance_add(t, "", &top);
		if (!ret)
			ret = tree_apply(top, &top->set, err);
		if (!ret)
			ret = start_owner(t);
		if (ret)
			uft_session_destroy(t->session);
	}
	if (ret) {
		tree_free(t);
		return uft_fail(err, ret, "%s", err && err->text[0] ? err->text : strerror(-ret));
	}
	*out = t;
	return 0;
}

void uft_tree_destroy(struct uft_tree *t)
{
	if (!t)
		return;
	pthread_mutex_lock(&t->lock);
	t->ending = 1;
	pthread_cond_signal(&t->asked);
	uft_session_wake(t->session);
	pthread_mutex_unlock(&t->lock);
	handle_wake_all(t);
	pthread_join(t->owner, NULL);
	tree_free(t);
}

struct start { struct uft_tree *t; char *const *argv; pid_t pid; struct uft_error *err; };

static int launch_job(void *arg)
{
	struct start *s = arg;

	return uft_session_launch(s->t->session, s->argv, &s->pid, s->err);
}

int uft_tree_launch(struct uft_tree *t, char *const argv[], pid_t *pid, struct uft_error *err)
{
	struct start s = { .t = t, .argv = argv, .err = err };
	int ret = tree_call(t, launch_job, &s);

	*pid = s.pid;
	return ret;
}

int uft_tree_wait(struct uft_tree *t, int timeout_ms)
{
	const struct timespec until = clock_in(CLOCK_MONOTONIC, timeout_ms < 0 ? 0 : (uint64_t)timeout_ms * 1000000);
	int status, late = 0;

	pthread_mutex_lock(&t->lock);
	while (t->status < 0 && !t->ending && !late) {
		if (timeout_ms < 0)
			pthread_cond_wait(&t->done, &t->lock);
		else
			late = pthread_cond_timedwait(&t->done, &t->lock, &until) == ETIMEDOUT;
	}
	status = t->status;
	pthread_mutex_unlock(&t->lock);
	return status < 0 ? -EAGAIN : status;
}
