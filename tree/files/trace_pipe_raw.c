/* SPDX-License-Identifier: MIT */
/*
 * trace_pipe_raw.c - per_cpu/cpuN/trace_pipe_raw and snapshot_raw: the records as the kernel's sub-buffers, and the
 * files that describe their layout
 *
 * Readers are programs: trace-cmd, libtracefs. They want pages of 4096 bytes, or of buffer_subbuf_size_kb, in the
 * layout of events/header_page, with records in the layouts of events/ftrace/NAME/format, and addresses that kallsyms
 * names. So events are encoded again (output/krecord.c), with addresses of one space for all processes. The file
 * kallsyms, which the kernel has in /proc, names the addresses in pages that readers got.
 *
 * A reader gets a page that is not full only if there are no more events. A reader that asks for several pages gets as
 * many as there are. As in the kernel a page that is read in parts goes on with its rest, and reading consumes: each
 * event goes to one reader, readers of trace_pipe included.
 *
 * The pages of a snapshot are consumed as well. A snapshot does not grow: at its end a reader gets the end of file, or
 * EAGAIN. Functions of a snapshot have addresses of their own, which are dropped with the snapshot.
 *
 * Concurrency: under pipe_lock, as trace_pipe.
 */
#include "symbol/array.h"
#include "tree/files/rows.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "tree/core/raw_pages.h"

struct raw_reader {
	size_t at, n;		/* of the page */
	uint8_t *page;		/* malloc'd; NULL: none was read in parts */
};

/* Makes one page. 1: made; 0: there are no events; -errno. */
static int produce(struct uft_live *live, struct dat_syms *syms, uint32_t cpu, struct raw_cpu *c)
{
	struct uft_stream *st = uft_live_begin(live, cpu);
	struct uft_event ev[BATCH];
	uint64_t lost = st ? uft_live_untold(live, cpu) : 0;
	size_t n = 1;
	int ret = !st ? -ENOMEM : lost ? uft_kbuf_lost(&c->kbuf, lost) : 0;

	while (!ret && !c->nready && (n = uft_stream_batch(st, ev, BATCH)))
		for (size_t i = 0; i < n && !ret; i++)
			ret = krecord_put(&c->kbuf, syms, &ev[i]);
	if (st)
		uft_live_end(live);
	if (!ret && !c->nready)
		ret = uft_kbuf_flush(&c->kbuf);
	return ret < 0 ? ret : c->nready > 0;
}

static int is_frozen(const struct uft_handle *h)
{
	return (h->at.row->flags & ROW_FROZEN) != 0;
}

/* *@bytes: the present size of a page; -ENOSPC: that is more than @room. */
static int next_page(struct uft_handle *h, uint8_t *page, size_t room, size_t *bytes)
{
	struct instance *in = h->at.in;
	struct raw_pages *raw = is_frozen(h) ? &in->frozen_raw : &in->raw;
	struct uft_live *live;
	struct raw_cpu *c;
	int ret;

	pthread_mutex_lock(&in->t->pipe_lock);
	live = is_frozen(h) ? in->frozen : in->live;
	c = raw_cpu_of(in, raw->cpu, h->at.index);
	*bytes = c ? c->bytes : 0;
	ret = !c ? -ENOMEM : room < c->bytes ? -ENOSPC : c->nready ? 1 : live ?
		produce(live, &raw->syms, h->at.index, c) : 0;
	if (ret > 0) {
		memcpy(page, c->ready, c->bytes);
		c->nready--;
		memmove(c->ready, c->ready + c->bytes, (size_t)c->nready * c->bytes);
	}
	pthread_mutex_unlock(&in->t->pipe_lock);
	return ret;
}

/* The kernel keeps the worst case of a latency tracer in the snapshot. */
int open_raw(struct uft_handle *h)
{
	if (is_frozen(h) && snapshot_is_used(h->at.in))
		return -EBUSY;
	h->priv = calloc(1, sizeof(struct raw_reader));
	h->at.in->nraw += h->priv != NULL;
	return h->priv ? 0 : -ENOMEM;
}

int release_raw(struct uft_handle *h)
{
	struct raw_reader *r = h->priv;

	h->at.in->nraw--;
	free(r->page);
	free(r);
	return 0;
}

/* Returns 1 if the buffer holds as much as a waiting reader of pages wants. */
static int is_full_enough(struct instance *in, uint32_t cpu)
{
	return in->buffer_percent &&
	       uft_live_bytes(in->live, cpu) * 100 >= buffer_kb(in, cpu) * 1024 * in->buffer_percent;
}

int poll_raw(struct uft_handle *h)
{
	const struct raw_reader *r = h->priv;
	const struct raw_cpu *c = h->at.in->raw.cpu[h->at.index];
	uint32_t percent = atomic_load(&h->is_read_waiting) ? 0 : h->at.in->buffer_percent;

	if (is_frozen(h))	/* there is nothing to wait for */
		return POLLIN | POLLRDNORM;
	if (r->at < r->n || (c && c->nready) || is_full_enough(h->at.in, h->at.index))
		return POLLIN | POLLRDNORM;
	return percent || (!(c && c->kbuf.used) && uft_live_is_empty(h->at.in->live, h->at.index)) ? 0 : POLLIN |
		POLLRDNORM;
}

/* A reader that asks for less than a page gets its beginning, and the rest later. */
static ssize_t take_part(struct uft_handle *h, char *buf, size_t n, size_t bytes)
{
	struct raw_reader *r = h->priv;
	int ret;

	if (array_resize(r->page, bytes))
		return -ENOMEM;
	r->at = r->n = 0;
	ret = next_page(h, r->page, bytes, &bytes);
	if (ret <= 0)
		return ret;
	n = n < bytes ? n : bytes;
	memcpy(buf, r->page, n);
	r->at = n;
	r->n = bytes;
	return (ssize_t)n;
}

/* Returns the rest of a page, or as many whole pages as there are and fit into @buf. */
static ssize_t take_pages(struct uft_handle *h, char *buf, size_t n)
{
	struct raw_reader *r = h->priv;
	size_t done = n < r->n - r->at ? n : r->n - r->at, bytes;
	ssize_t ret;

	if (done)
		memcpy(buf, r->page + r->at, done);
	r->at += done;
	while ((ret = next_page(h, (uint8_t *)buf + done, n - done, &bytes)) > 0)
		done += bytes;
	if (done)
		return (ssize_t)done;
	while (ret == -ENOSPC)		/* again: the size of pages was changed meanwhile */
		ret = take_part(h, buf, n, bytes);
	return ret;
}

ssize_t read_raw(struct uft_handle *h, char *buf, size_t n, uint64_t offset, int flags)
{
	ssize_t ret = n ? take_pages(h, buf, n) : 0;

	(void)offset;
	if (is_frozen(h))
		return n && !ret && flags & O_NONBLOCK ? -EAGAIN : ret;
	while (n && !ret) {
		tree_pull_now(h->t);
		ret = take_pages(h, buf, n);
		if (ret)
			break;
		if (flags & O_NONBLOCK)
			return -EAGAIN;
		ret = handle_wait_news(h);
		if (ret)
			return ret == -ESHUTDOWN ? 0 : ret;
		ret = take_pages(h, buf, n);
	}
	return ret;
}

/* ---- Layout files ---------------------------------------------------------------------------- */

static int put_names(struct dat_syms *syms, struct tree_text *out)
{
	size_t n = 0;
	char *text = dat_syms_text(syms, &n);

	text_put(out, text, text ? n : 0);
	free(text);
	return text ? 0 : -ENOMEM;
}

int show_kallsyms(const struct place *at, struct tree_text *out)
{
	struct uft_tree *t = at->t;
	int ret = 0;

	pthread_mutex_lock(&t->pipe_lock);
	for (struct instance *in = t->instances; in && !ret; in = in->next) {
		ret = put_names(&in->raw.syms, out);
		ret = ret ? ret : put_names(&in->frozen_raw.syms, out);
	}
	pthread_mutex_unlock(&t->pipe_lock);
	return ret;
}

int show_header_page(const struct place *at, struct tree_text *out)
{
	char text[KRECORD_HEADER_MAX];

	text_put(out, text, (size_t)krecord_put_header_page(text, at->in->subbuf_kb * 1024));
	return 0;
}

int show_header_event(const struct place *at, struct tree_text *out)
{
	(void)at;
	text_put(out, krecord_header_event, strlen(krecord_header_event));
	return 0;
}

/* The directory above the file names the event. */
int show_format(const struct place *at, struct tree_text *out)
{
	if (at->row->pub.scope & UFT_SCOPE_EVENT) {
		const struct uft_event_type *type = uft_event_table_at(tree_types(at->t), at->index);

		if (!type)	/* the event was removed, and the file is still open */
			return -ENODEV;
		text_put(out, type->format, strlen(type->format));
		return 0;
	}
	for (size_t i = 0; i < KRECORD_NFORMATS; i++) {
		size_t n = strlen(krecord_formats[i].name);
		const char *path = at->row->pub.path + strlen("events/ftrace/");

		if (strncmp(path, krecord_formats[i].name, n) == 0 && path[n] == '/')
			text_put(out, krecord_formats[i].text, strlen(krecord_formats[i].text));
	}
	return 0;
}
