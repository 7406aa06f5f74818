/* SPDX-License-Identifier: MIT */
/*
 * tree.c - the owner of a tree: one thread for all that a session is asked
 *
 * tree.h says what a tree is. Its thread does in turn what others ask of it (tree_call(), one at a time, in order), a
 * round of the session, and emptying the rings.
 *
 * Settings. `set` holds what the user wrote into files. A write makes a copy, changes it and hands it to tree_apply(),
 * which tells the session; only when that worked the copy becomes `set`. So a refused write leaves no trace.
 *
 * Locks: `lock` for requests, instances and who waits, held for moments, no other lock taken inside.
 */
#include "tree/internal.h"

#include "symbol/tracer.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define IDLE_MS		100	/* the session's own pace */
#define BUSY_MS		5	/* a ring takes far longer to fill */
#define RING_BYTES	(4u << 20)
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
		r->result = r->fn(r->arg);
		pthread_mutex_lock(&t->lock);
		r->is_done = 1;
		pthread_cond_broadcast(&t->done);
	}
	pthread_mutex_unlock(&t->lock);
}

/* Without targets there is nothing that the session could wait for. */
static void wait_asked(struct uft_tree *t, int ms)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += (long)ms * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&t->lock);
	if (!t->first && !t->ending)
		pthread_cond_timedwait(&t->asked, &t->lock, &until);
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
		dump_on_end(t, status);
	pthread_mutex_lock(&t->lock);
	if (status != t->status) {
		t->status = status;
		pthread_cond_broadcast(&t->done);
	}
	pthread_mutex_unlock(&t->lock);
}

/* What came is told by whom it is taken; what came in the last round as well: then it was too young to be handed out. */
void tree_pull(struct uft_tree *t)
{
	uint64_t n;

	uft_live_until(t->instances->live, uft_session_gather(t->session));
	n = uft_live_pull(t->instances->live) + t->nmarks;
	t->nmarks = 0;
	trigger_round(t);
	if (n || t->is_fresh)
		handle_wake_all(t);
	t->is_fresh = n != 0;
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

static void *owner_main(void *arg)
{
	struct uft_tree *t = arg;

	while (!is_ending(t)) {
		serve(t);
		if (!uft_session_poll(t->session, t->is_busy ? BUSY_MS : IDLE_MS))
			wait_asked(t, IDLE_MS);
		tree_pull(t);
		note_status(t);
	}
	uft_session_destroy(t->session);
	return NULL;
}

/* ---- Settings -------------------------------------------------------------------------------- */

/* @words as the session takes lists: pointers into a copy that comes behind them. NULL: none, or no memory (*ret). */
static const char **word_list(const char *words, int *ret)
{
	size_t n = 0, len = strlen(words);
	const char **list;
	char *copy;

	for (size_t i = 0; i < len; i++)
		n += words[i] == '\n';
	list = n ? malloc((n + 1) * sizeof(*list) + len + 1) : NULL;
	if (n && !list)
		*ret = -ENOMEM;
	if (!list)
		return NULL;
	copy = memcpy(list + n + 1, words, len + 1);
	for (size_t i = 0; i < n; i++) {
		list[i] = copy;
		copy += strcspn(copy, "\n");
		*copy++ = '\0';
	}
	list[n] = NULL;
	return list;
}

void tree_clear(struct instance *in, uint32_t cpu)
{
	uft_session_gather(in->t->session);	/* it is of before */
	uft_live_clear(in->live, cpu);
	if (cpu == UFT_LIVE_ALL)
		in->cleared_ns = uft_live_now(in->live);
}

void tree_record(struct uft_tree *t)
{
	struct instance *in;

	instance_tracing(t->instances, &t->instances->set, &in);
	t->is_busy = in && !in->set.is_profiling && !in->set.is_measuring;
	uft_session_record(t->session, in && !in->paused && (in->set.is_on || in->triggers));
}

/* Functions have an option of their own for it, as in the kernel; the other is for the tracers with events of calls. */
static uint32_t wanted_stacks(const struct settings *set)
{
	if (set->is_measuring)
		return UFT_STACKS_MAX;
	if (set->tracer == UFT_TRACER_FUNCTION)
		return set->options & OPT_BIT(OPT_FUNC_STACK) ? UFT_STACKS_FUNC : 0;
	if ((uft_tracer_kind(set->tracer) != UFT_KIND_PLAIN && uft_tracer_kind(set->tracer) != UFT_KIND_OWN) || set->tracer == UFT_TRACER_SYSPROF)
		return set->options & (OPT_BIT(OPT_STACK) | OPT_BIT(OPT_USER_STACK)) ? UFT_STACKS_EVENT : 0;
	return 0;
}

static int is_latency(const struct settings *set)
{
	return uft_tracer_kind(set->tracer) == UFT_KIND_SECTION || uft_tracer_kind(set->tracer) == UFT_KIND_WAKEUP;
}

/* The words of a list, and where commands need more, those with theirs. */
static const char *words_of(const struct settings *set, const struct settings *top, enum list i, const char *filter,
			    const struct tree_text *words, const struct tree_text *notrace)
{
	if (i >= LIST_GRAPH)
		return top->list[i];
	if (i == LIST_NOTRACE)
		return notrace->p ? notrace->p : set->list[i];
	return words->p ? words->p : filter;
}

/* The graph's limits have no files in an instance: the top's hold for all. */
static int tell_session(struct uft_tree *t, const struct settings *set, const struct settings *top, const struct instance *now, struct uft_error *err)
{
	int is_nop = set->tracer == UFT_TRACER_NOP && !set->is_profiling && !set->is_measuring;
	const char *filter = set->list[set->is_measuring ? LIST_STACK : LIST_FILTER], **list[NLISTS] = { NULL };
	struct tree_text words = { 0 }, notrace = { 0 }, stacks = { 0 };
	const char **stack_of = NULL;
	struct uft_trace_spec spec = {
		.tracer = set->is_profiling ? UFT_TRACER_PROFILE : set->is_measuring ? UFT_TRACER_FUNCTION : set->tracer, .is_unchecked = 1,
		.stacks = wanted_stacks(set),
		.is_bare = is_latency(set) && !(set->options & OPT_BIT(OPT_FUNC_TRACE)),
		.max_depth = top->max_depth, .thresh_ns = top->thresh_us * 1000, .hwlat = top->hwlat, .osnoise = top->osnoise, .sample_ns = top->sample_us * 1000,
		.events = option_events(set->options),
		.pids = set->pids[PIDS_ONLY].pid, .npids = set->pids[PIDS_ONLY].n,
		.not_pids = set->pids[PIDS_NOT].pid, .nnot_pids = set->pids[PIDS_NOT].n,
	};
	int ret = 0;

	if (now && now->triggers && (is_nop || filter[0])) {
		text_put(&words, filter, is_nop ? 0 : strlen(filter));
		ret = trigger_put_words(now, "", &words);
		spec.tracer = is_nop ? UFT_TRACER_FUNCTION : spec.tracer;
	}
	if (now && now->triggers && set->list[LIST_NOTRACE][0]) {	/* the last word decides */
		text_put(&notrace, set->list[LIST_NOTRACE], strlen(set->list[LIST_NOTRACE]));
		ret = ret ? ret : trigger_put_words(now, "!", &notrace);
	}
	if (now && trigger_has_stacks(now)) {
		ret = ret ? ret : trigger_put_stack_words(now, &stacks);
		stack_of = ret ? NULL : word_list(stacks.p, &ret);
	}
	for (int i = 0; i < NLISTS && !ret; i++)
		list[i] = word_list(words_of(set, top, (enum list)i, filter, &words, &notrace), &ret);
	free(words.p);
	free(notrace.p);
	free(stacks.p);
	spec.stack_of = stack_of;
	spec.filter = list[LIST_FILTER];
	spec.notrace = set->is_measuring ? NULL : list[LIST_NOTRACE];
	spec.roots = set->is_measuring ? NULL : list[LIST_GRAPH];
	spec.hidden = list[LIST_GRAPH_NOT];
	if (!ret)
		ret = uft_session_trace(t->session, &spec, err);
	for (int i = 0; i < NLISTS; i++)
		free(list[i]);
	free(stack_of);
	return ret == -ESRCH ? 0 : ret;
}

/* What of a buffer's records is not for who reads it: enum uft_live_hidden. */
static uint32_t hidden_by(const struct instance *in, const struct settings *set)
{
	if (!trigger_has_stacks(in))
		return 0;
	return (set->tracer == UFT_TRACER_NOP ? UFT_LIVE_NO_CALLS : 0) | (wanted_stacks(set) ? 0 : UFT_LIVE_NO_STACKS);
}

static int hide(struct instance *in, uint32_t hidden)
{
	int ret = hidden == in->hidden ? 0 : uft_live_choose(in->live, hidden);

	if (!ret)
		in->hidden = hidden;
	return ret;
}

/* Whose tracer it was, is, or nobody's: what was written until now is taken by whom it was for. */
static void hand_on(struct uft_tree *t, const struct instance *to)
{
	if (!t->instances->next)
		return;
	tree_pull(t);
	instance_mute_but(t, to);
}

int tree_apply(struct instance *in, const struct settings *set, struct uft_error *err)
{
	struct uft_tree *t = in->t;
	uint32_t was_hidden = in->hidden, is_hidden = hidden_by(in, set);
	struct instance *before, *now;
	const struct settings *top = in == t->instances ? set : &t->instances->set;
	/* Commands look at calls. */
	int is_deaf = in->triggers && set->tracer && uft_tracer_kind(set->tracer) != UFT_KIND_PLAIN;
	int ret = is_deaf || ((set->is_profiling || set->is_measuring) && (set->tracer != UFT_TRACER_NOP || in->triggers)) ||
		  (set->is_profiling && set->is_measuring) ? -EBUSY : instance_tracing(in, set, &now);

	if (ret)
		return ret;
	instance_tracing(in, &in->set, &before);
	if (now != before)
		hand_on(t, now);
	ret = hide(in, was_hidden | is_hidden);		/* what comes meanwhile is for neither */
	if (!ret)
		ret = tell_session(t, instance_wish(in, set), top, now, err);
	if (!ret)
		ret = hide(in, is_hidden);
	if (ret) {
		hide(in, was_hidden);
		hand_on(t, before);
		return ret;
	}
	if (in->set.tracer != set->tracer || in->set.clock != set->clock)
		tree_clear(in, UFT_LIVE_ALL);
	if (in->set.clock != set->clock)
		clock_apply(in, set->clock);
	uft_live_limit(in->live, set->buffer_kb * 1024, (set->options & OPT_BIT(OPT_OVERWRITE)) != 0);
	uft_live_cpus(in->live, set->cpus_off);
	if (in->set.is_on != set->is_on)
		trigger_switched(in, set->is_on);
	in->set = *set;
	instance_mute_but(t, now);
	tree_record(t);
	return 0;
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void on_warning(void *arg, const char *text)
{
	struct uft_tree *t = arg;

	if (t->opts.warning)
		t->opts.warning(t->opts.arg, text);
}

static void on_slice_begin(void *arg, uint32_t slice, pid_t pid, pid_t ppid, const struct uft_image *img)
{
	struct uft_tree *t = arg;
	char text[80];
	int ret;

	(void)ppid;
	profile_begin(t, slice, img);
	stack_begin(t, slice, img);
	ret = uft_live_slice(t->instances->live, slice, img);
	if (ret) {
		snprintf(text, sizeof(text), "what process %d records is lost: %s", pid, strerror(-ret));
		on_warning(arg, text);
	}
}

static void on_slice_end(void *arg, uint32_t slice, pid_t pid)
{
	struct uft_tree *t = arg;

	(void)pid;
	profile_end(t, slice);
	stack_end(t, slice);
	uft_live_slice_end(t->instances->live, slice);
	t->is_fresh = 1;	/* it takes the rest */
}

static void on_task(void *arg, pid_t pid, pid_t tid, pid_t ppid, const struct uft_image *img, const char *comm)
{
	struct uft_tree *t = arg;

	(void)img;
	if (!(t->instances->set.options & OPT_BIT(OPT_RECORD_CMD)))
		comm = "";
	uft_live_task(t->instances->live, (uint32_t)pid, (uint32_t)tid, (uint32_t)ppid, comm);
}

static int start_owner(struct uft_tree *t)
{
	sigset_t all, saved;
	int ret;

	sigfillset(&all);	/* signals are the caller's business */
	pthread_sigmask(SIG_SETMASK, &all, &saved);
	ret = -pthread_create(&t->owner, NULL, owner_main, t);
	pthread_sigmask(SIG_SETMASK, &saved, NULL);
	t->has_owner = !ret;
	return ret;
}

static void tree_free(struct uft_tree *t)
{
	profile_free(t);
	stack_free(t);
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

int uft_tree_create(const struct uft_tree_opts *opts, struct uft_tree **out, struct uft_error *err)
{
	struct uft_session_opts so = { .no_children = opts->no_children, .ring_bytes = RING_BYTES, .sub_bytes = SUB_BYTES };
	struct uft_session_events ev = {
		.warning = on_warning, .slice_begin = on_slice_begin, .slice_end = on_slice_end, .task = on_task,
	};
	struct uft_tree *t = calloc(1, sizeof(*t));
	int ret;

	*out = NULL;
	if (!t)
		return uft_fail(err, -ENOMEM, "out of memory");
	t->opts = *opts;
	t->last = &t->first;
	t->status = -1;
	t->cmdlines = 128;
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

static int attach_job(void *arg)
{
	struct start *s = arg;

	return uft_session_attach(s->t->session, s->pid, s->err);
}

int uft_tree_launch(struct uft_tree *t, char *const argv[], pid_t *pid, struct uft_error *err)
{
	struct start s = { .t = t, .argv = argv, .err = err };
	int ret = tree_call(t, launch_job, &s);

	*pid = s.pid;
	return ret;
}

int uft_tree_attach(struct uft_tree *t, pid_t pid, struct uft_error *err)
{
	return tree_call(t, attach_job, &(struct start){ .t = t, .pid = pid, .err = err });
}

int uft_tree_wait(struct uft_tree *t, int timeout_ms)
{
	struct timespec until;
	int status, late = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += timeout_ms / 1000;
	until.tv_nsec += timeout_ms % 1000 * 1000000l;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
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

uint32_t tree_ncpus(const struct uft_tree *t)
{
	return t->ncpus;
}
