/* SPDX-License-Identifier: MIT */
/*
 * trace.c - trace, trace_pipe, per_cpu, and trace_marker and trace_marker_raw, which write into them
 *
 * trace is printed from a snapshot that its reader owns, part by part as it is read. Memory is bounded by the content
 * of the buffer, and neither the owner nor the targets wait for the reader. A read at offset 0 takes a new snapshot.
 *
 * trace_pipe has one printer for all its readers, since the printed part of a call tree decides how the next line
 * looks. Each event goes to one reader. An entry is printed as `name() {` if it is not known yet whether calls are in
 * it and no more events follow.
 */
#include "control/proc/proc.h"
#include "symbol/tracer.h"
#include "tree/files/rows.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t cpu_of(const struct place *at)
{
	return at->row->pub.scope & UFT_SCOPE_CPU ? at->index : UFT_LIVE_ALL;
}

/* ---- trace ----------------------------------------------------------------------------------- */

struct reader {
	struct uft_stream *st;
	struct uft_printer *printer;
	struct tree_text out;
	uint32_t cpu;			/* that is shown, or UFT_LIVE_ALL */
	uint64_t base;			/* offset of out.p[0] in the whole text */
	int has_begun, is_over, has_paused;
};

static void reader_reset(struct reader *r)
{
	uft_text_close(r->printer);
	uft_stream_close(r->st);
	r->printer = NULL;
	r->st = NULL;
	r->out.n = 0;
	r->base = 0;
	r->has_begun = r->is_over = 0;
}

struct source { struct uft_handle *h; struct uft_stream *st; struct uft_info whole; };

/*
 * A tracer of worst cases reads all CPUs, whichever is shown: from a part of a thread's events, two stretches would
 * look like one.
 */
static int is_worst_case(const struct instance *in)
{
	return uft_tracer_is_latency(in->set.tracer);
}

/* The owner: opens a stream of the present content for a reader. No stream: there is no snapshot. */
static int source_job(void *arg)
{
	struct source *s = arg;
	struct instance *in = s->h->at.in;
	int is_frozen = s->h->at.row->flags & ROW_FROZEN, ret = 0;
	struct uft_live *live = is_frozen ? in->frozen : in->live;
	struct uft_live_stats all;

	if (!is_frozen)
		tree_pull(in->t);
	if (!is_frozen || in->frozen)
		ret = uft_live_snapshot(live, is_worst_case(in) ? UFT_LIVE_ALL : cpu_of(&s->h->at), &s->st);
	if (!ret && is_frozen && s->st && !uft_stream_info(s->st)->events) {
		uft_stream_close(s->st);
		s->st = NULL;
	}
	/* the header is about all of them, as the kernel's */
	if (!ret && s->st && cpu_of(&s->h->at) != UFT_LIVE_ALL) {
		uft_live_stats(live, UFT_LIVE_ALL, &all);
		s->whole = (struct uft_info){ .events = all.entries, .lost = all.missing, .ncpus = tree_ncpus(in->t) };
	}
	return ret;
}

static int reader_start(struct uft_handle *h, struct reader *r)
{
	struct uft_text_opts opts = {
		.tracer = h->at.in->set.tracer, .flags = option_text_flags(h->at.in->set.options),
		.ncpus = tree_ncpus(h->t),
		.start_ns = h->at.in->cleared_ns,
		.floor_ns = h->at.in->set.max_latency_us * 1000, .thresh_ns = h->t->instances->set.thresh_us * 1000,
		.from_ns = h->at.in->latency_from_ns,
		.sink = text_sink, .ctx = &r->out,
	};
	struct source s = { .h = h };
	int ret;

	r->cpu = cpu_of(&h->at);
	opts.whole = r->cpu == UFT_LIVE_ALL || is_worst_case(h->at.in) ? NULL : &s.whole;
	opts.only_cpus = r->cpu == UFT_LIVE_ALL || !is_worst_case(h->at.in) ? NULL : &r->cpu;
	opts.nonly_cpus = opts.only_cpus != NULL;
	reader_reset(r);
	ret = tree_call(h->t, source_job, &s);
	r->st = s.st;
	r->has_begun = !ret;
	if (!ret && !r->st) {
		snapshot_help(&h->at, &r->out);
		r->is_over = 1;
		return r->out.error;
	}
	return ret ? ret : uft_text_open(r->st, &opts, &r->printer);
}

/* @by: 1: one more reader pauses recording; -1: one less. Other instances of the session go on. */
static void pause_by(struct instance *in, int by)
{
	tree_pull(in->t);
	in->paused += by;
	tree_record(in->t);
}

int open_trace(struct uft_handle *h)
{
	struct reader *r;

	if ((h->flags & O_ACCMODE) == O_WRONLY)
		return 0;
	h->priv = r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	if (h->at.in->set.options & OPT_BIT(OPT_PAUSE) && h->at.in->set.is_on && !(h->at.row->flags & ROW_FROZEN)) {
		pause_by(h->at.in, 1);
		r->has_paused = 1;
	}
	return 0;
}

int release_trace(struct uft_handle *h)
{
	struct reader *r = h->priv;

	if (!r)
		return 0;
	if (r->has_paused)
		pause_by(h->at.in, -1);
	reader_reset(r);
	free(r->out.p);
	free(r);
	return 0;
}

/* Forgets the text before @offset, makes more until @n bytes of it are there. */
static int reader_fill(struct reader *r, uint64_t offset, size_t n)
{
	int ret = 0;

	for (;;) {
		uint64_t gone = offset - r->base < r->out.n ? offset - r->base : r->out.n;

		if (gone && (gone == r->out.n || gone > 1u << 20)) {
			memmove(r->out.p, r->out.p + gone, r->out.n - gone);
			r->out.n -= gone;
			r->base += gone;
		}
		if (r->is_over || r->base + r->out.n >= offset + n)
			return 0;
		ret = uft_text_run(r->printer, SIZE_MAX);
		if (!ret) {
			ret = uft_text_collect(r->printer, 1);
			r->is_over = 1;
		}
		if (ret < 0)
			return ret;
	}
}

ssize_t read_trace(struct uft_handle *h, char *buf, size_t n, uint64_t offset, int flags)
{
	struct reader *r = h->priv;
	int ret = 0;

	(void)flags;
	if (!offset || offset < r->base || !r->has_begun)
		ret = reader_start(h, r);
	if (!ret)
		ret = reader_fill(r, offset, n);
	if (ret)
		return ret;
	offset -= r->base;
	if (offset >= r->out.n)
		return 0;
	n = n < r->out.n - offset ? n : r->out.n - offset;
	memcpy(buf, r->out.p + offset, n);
	return (ssize_t)n;
}

int truncate_trace(const struct place *at)
{
	tree_clear(at->in, cpu_of(at));
	return 0;
}

/* Only the opening clears; what is written does not matter. */
ssize_t store_trace(struct uft_handle *h, const char *p, size_t n)
{
	(void)h, (void)p;
	return (ssize_t)n;
}

/* ---- trace_pipe ------------------------------------------------------------------------------ */

struct pipe {
	struct pipe *next;		/* of the instance */
	uint32_t cpu;			/* that it consumes, or UFT_LIVE_ALL */
	struct tree_text out;
	size_t at;
	int has_read;
};

/* One reader consumes the events of a cpu, as in the kernel: two readers would each see a part. */
int open_pipe(struct uft_handle *h)
{
	uint32_t cpu = cpu_of(&h->at);
	struct pipe *p;

	for (p = h->at.in->pipes; p; p = p->next)
		if (p->cpu == cpu || p->cpu == UFT_LIVE_ALL || cpu == UFT_LIVE_ALL)
			return -EBUSY;
	h->priv = p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->cpu = cpu;
	p->next = h->at.in->pipes;
	h->at.in->pipes = p;
	return 0;
}

int release_pipe(struct uft_handle *h)
{
	struct pipe *p = h->priv, **at = &h->at.in->pipes;

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	free(p->out.p);
	free(p);
	return 0;
}

int poll_pipe(struct uft_handle *h)
{
	struct pipe *p = h->priv;

	return p->at < p->out.n || !uft_live_is_empty(h->at.in->live, cpu_of(&h->at)) ? POLLIN | POLLRDNORM : 0;
}

/* Consumes events until about @n bytes are printed or none are left. */
static int pipe_fill(struct uft_handle *h, struct pipe *p, size_t n)
{
	struct instance *in = h->at.in;
	struct uft_tree *t = h->t;
	struct uft_stream *st;
	int ret = 1;

	p->out.n = p->at = 0;
	n = n < 65536 ? n : 65536;
	pthread_mutex_lock(&t->pipe_lock);
	st = uft_live_begin(in->live, cpu_of(&h->at));
	if (!st) {
		pthread_mutex_unlock(&t->pipe_lock);
		return -ENOMEM;
	}
	uft_text_set(in->pipe_text, st, in->set.tracer, option_text_flags(in->set.options));
	for (uint32_t cpu = 0; cpu < tree_ncpus(t); cpu++) {
		uint64_t lost = p->cpu == UFT_LIVE_ALL || p->cpu == cpu ? uft_live_untold(in->live, cpu) : 0;

		if (lost)
			uft_text_lost(in->pipe_text, cpu, lost);
	}
	while (ret > 0 && in->pipe_out.n < n) {
		ret = uft_text_run(in->pipe_text, 1 + (n - in->pipe_out.n) / 256);
		if (ret >= 0)
			ret = uft_text_collect(in->pipe_text, !ret) ? -ENOMEM : ret;
	}
	uft_live_end(in->live);
	text_put(&p->out, in->pipe_out.p, in->pipe_out.n);
	in->pipe_out.n = 0;
	pthread_mutex_unlock(&t->pipe_lock);
	return ret < 0 ? ret : p->out.error;
}

ssize_t read_pipe(struct uft_handle *h, char *buf, size_t n, uint64_t offset, int flags)
{
	struct pipe *p = h->priv;
	int ret = 0;

	(void)offset;
	while (!ret && p->at == p->out.n) {
		ret = pipe_fill(h, p, n);
		if (!ret && !p->out.n) {
			tree_pull_now(h->t);
			ret = pipe_fill(h, p, n);
		}
		if (ret || p->out.n)
			break;
		if (h->flags & O_NONBLOCK)	/* the end is for readers that wait, as in the kernel */
			return -EAGAIN;
		if (!h->at.in->set.is_on && p->has_read)
			return 0;
		if (flags & O_NONBLOCK)
			return -EAGAIN;
		ret = handle_wait_news(h);
	}
	if (ret)
		return ret == -ESHUTDOWN ? 0 : ret;
	p->has_read = 1;
	n = n < p->out.n - p->at ? n : p->out.n - p->at;
	memcpy(buf, p->out.p + p->at, n);
	p->at += n;
	return (ssize_t)n;
}

/* ---- trace_marker ---------------------------------------------------------------------------- */

/* Adds the name of the writing task to the buffer. */
static int name_writer(struct uft_handle *h)
{
	char file[64], comm[32] = "";

	snprintf(file, sizeof(file), "task/%d/comm", h->pid);
	if (h->at.in->set.options & OPT_BIT(OPT_RECORD_CMD) && proc_read_file(h->tgid, file, comm, sizeof(comm)) > 0)
		comm[strcspn(comm, "\n")] = '\0';
	h->named = h->pid;
	h->named_tgid = h->tgid;
	return comm[0] ? uft_live_task(h->t->instances->live, (uint32_t)h->tgid, (uint32_t)h->pid, 0, comm) : 0;
}

/* Finds field @n in text @p of a task's stat, which begins with field @from. NULL: the text ends before. */
static char *stat_field(char *p, int from, int n)
{
	while (p && from++ < n)
		p = strchr(p + 1, ' ');
	return p;
}

static int read_stat(const struct uft_handle *h, char *stat, size_t size)
{
	char file[64];

	snprintf(file, sizeof(file), "task/%d/stat", h->pid);
	return proc_read_file(h->tgid, file, stat, size);
}

/*
 * Returns the CPU on which the writer ran last; the writer waits for us. Returns our CPU if /proc cannot tell. The tid
 * may have been another task's when the file was used last: of another process, or with another start time.
 */
static uint32_t look_at_writer(struct uft_handle *h, int *ret)
{
	char stat[1024], *p;
	uint64_t began;
	int cpu = sched_getcpu(), n = read_stat(h, stat, sizeof(stat));

	if (n < 0) { /* GUARD(writer_look_up) */
		handle_look_up(h, h->pid);
		n = read_stat(h, stat, sizeof(stat));
	}
	p = n > 0 ? strrchr(stat, ')') : NULL;
	p = stat_field(p, 2, 22);
	began = p ? strtoull(p, NULL, 10) : 0;
	p = stat_field(p, 22, 39);
	cpu = p ? atoi(p) : cpu;
	*ret = 0;
	if (h->named != h->pid || h->named_tgid != h->tgid || h->named_began != began)
		*ret = name_writer(h);
	h->named_began = began;
	return cpu < 0 ? 0 : (uint32_t)cpu;
}

int open_marker(struct uft_handle *h)
{
	int ret;

	look_at_writer(h, &ret);
	return ret;
}

static long mark(struct uft_handle *h, const char *p, size_t n, int is_raw)
{
	struct instance *in = h->at.in;
	uint32_t cpu;
	int named;
	long ret;

	if (!(in->set.options & OPT_BIT(OPT_MARKERS)))
		return -EINVAL;
	if (trigger_wants_event(in, UFT_EVENT_PRINT))	/* a traceoff of an earlier mark comes first */
		tree_pull(h->t);
	if (!in->set.is_on || in->paused)
		return -EBADF;
	cpu = look_at_writer(h, &named);
	ret = uft_live_mark(in->live, (uint32_t)h->tgid, (uint32_t)h->pid, cpu, p, n, is_raw);
	if (ret > 0)
		h->t->nmarks++;
	return ret;
}

/* Does a trigger of any instance look at the event, or a function or trigger switch it? */
static int has_watcher(const struct uft_tree *t, uint32_t event)
{
	for (const struct instance *in = t->instances; in; in = in->next)
		if (trigger_wants_event(in, event) || trigger_switches(in, event))
			return 1;
	return 0;
}

/*
 * Triggers look at the records that all buffers share, in the order of time, so an event with one goes there, and each
 * buffer chooses. Others go right to the buffers that want them, whether the session records or not.
 */
void event_write(struct uft_handle *h, const struct uft_event_type *type, const void *payload, size_t n)
{
	struct uft_tree *t = h->t;
	uint32_t pid = (uint32_t)h->tgid, tid = (uint32_t)h->pid;
	int named;
	uint32_t cpu = look_at_writer(h, &named);

	if (has_watcher(t, type->index) /* GUARD(event_write_watched, 0) */ &&
	    !uft_session_emit_open(t->session, UFT_EMITTER_PROGRAM)) {
		uft_session_emit(t->session, UFT_EMITTER_PROGRAM, cpu, uft_live_clock(t->instances->live), pid, tid,
				 type->id, payload, n);
		return;
	}
	for (struct instance *in = t->instances; in; in = in->next)
		if (in->set.is_on && !in->paused && uft_event_set_has(&in->set.events, type->index) &&
		    !uft_live_event(in->live, pid, tid, cpu, type->id, payload, n))
			t->nmarks++;
}

ssize_t store_marker(struct uft_handle *h, const char *p, size_t n)
{
	return mark(h, p, n, 0);
}

/*
 * Takes a number and data. The kernel's record has zeros after the data: it leaves room for a text, and ends at a
 * multiple of 4.
 */
ssize_t store_marker_raw(struct uft_handle *h, const char *p, size_t n)
{
	const size_t least = 13, head = 8;
	char data[UFT_LIVE_RAW_MAX] = { 0 };
	size_t bytes = ((n > least ? n : least) + head + 4 + 3) / 4 * 4 - head;
	long ret;

	if (n < 4 || bytes > sizeof(data)) {
		h->wrong = n < 4 ? "An id of 4 bytes comes first" : "Too long for a record";
		return -EINVAL;
	}
	memcpy(data, p, n);
	ret = mark(h, data, bytes, 1);
	return ret < 0 ? ret : (ssize_t)n;
}

/* ---- per_cpu/cpuN/stats ---------------------------------------------------------------------- */

static void print_stamp(struct tree_text *out, const char *what, const struct uft_live_stats *s, uint64_t ts)
{
	if (s->stamp == UFT_STAMP_NS)
		text_printf(out, "%s: %5llu.%06llu\n", what, (unsigned long long)(ts / 1000000000),
			    (unsigned long long)(ts / 1000 % 1000000));
	else
		text_printf(out, "%s: %llu\n", what, (unsigned long long)ts);
}

int show_stats(const struct place *at, struct tree_text *out)
{
	struct uft_live_stats s;

	tree_pull(at->t);
	uft_live_stats(at->in->live, at->index, &s);
	text_printf(out, "entries: %llu\noverrun: %llu\ncommit overrun: 0\nbytes: %llu\n",
		    (unsigned long long)s.entries, (unsigned long long)s.overrun, (unsigned long long)s.bytes);
	print_stamp(out, "oldest event ts", &s, s.oldest_ns);
	print_stamp(out, "now ts", &s, s.now_ns);
	text_printf(out, "dropped events: %llu\nread events: %llu\n", (unsigned long long)s.dropped,
		    (unsigned long long)s.read);
	return 0;
}
