/* SPDX-License-Identifier: MIT */
/*
 * reports.c - answers that take a pass over a part of recordings, made by the worker and kept
 *
 * A report belongs to the first recording of its question. It reads each by a stream of its own.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "output/output.h"
#include "view/recording_internal.h"

static int (*const makers[])(struct report *p) = {
	[REPORT_TREE] = report_tree, [REPORT_HISTOGRAM] = report_histogram, [REPORT_PLOT] = report_plot,
	[REPORT_COUNTERS] = report_counters,
	[REPORT_DIFF] = report_diff, [REPORT_EXPORT] = report_export,
};

/* ---- What it reads ------------------------------------------------------------------------------------------ */

void report_end(struct report_sources *s)
{
	uft_stream_close(s->st);
	s->st = NULL;
}

/* The part of @r that a report is about; parents are not needed by any. */
static int open_part(struct recording *r, const struct report *p, struct view_range range, struct uft_stream **st)
{
	const struct uft_export *format = p->q.kind == REPORT_EXPORT ? uft_export_find(p->q.text) : NULL;
	struct uft_select sel = {
		.from_ns = range.from,
		.to_ns = range.to,
		.tids = &p->q.tid,
		.ntids = p->q.tid != 0,
		.ends = !format || !(format->takes & UFT_EXPORT_RECORDS),
		.no_parents = 1,
	};
	int ret = recording_stream_of(r, &sel, st);

	if (ret)
		return ret;
	pthread_mutex_lock(&r->lock);
	if (r->index)
		uft_stream_seek_selection(*st, r->index);
	pthread_mutex_unlock(&r->lock);
	return 0;
}

int report_next(struct report_sources *s)
{
	const struct sources *of = &s->p->of;

	report_end(s);
	while (s->next < of->n) {
		uint64_t offset = of->offset[s->next];
		struct view_range range = s->p->q.range;
		struct recording *r = of->file[s->next++];
		int ret;

		if (range.to <= offset)
			continue;
		range.from = range.from > offset ? range.from - offset : 0;
		range.to -= offset;
		s->offset = offset;
		s->origin_ns = r->origin_ns;
		ret = open_part(r, s->p, range, &s->st);
		return ret ? ret : 1;
	}
	return 0;
}

/* ---- Making and keeping ------------------------------------------------------------------------------------- */

void report_work(struct recording *r, struct report *p)
{
	int ret = makers[p->q.kind](p);

	pthread_mutex_lock(&r->lock);
	if (ret) {
		json_free(&p->answer);
		p->error = ret;
		p->made = MADE_FAILED;
	} else {
		p->made = MADE_DONE;
	}
	pthread_mutex_unlock(&r->lock);
}

void report_clear(struct report *p)
{
	if (p->is_used && p->fd >= 0)
		close(p->fd);
	free((char *)p->q.text);
	free(p->why);
	json_free(&p->answer);
	*p = (struct report){.fd = -1};
}

static int is_same(const struct report *p, const struct sources *s, const struct report_question *q,
		   uint64_t generation)
{
	return p->is_used && p->generation == generation && p->of.n == s->n && p->of.file[0] == s->file[0] &&
	       !memcmp(p->of.offset, s->offset, s->n * sizeof(s->offset[0])) &&
	       p->q.kind == q->kind && p->q.range.from == q->range.from && p->q.range.to == q->range.to &&
	       p->q.tid == q->tid && p->q.width == q->width && p->q.other == q->other && !strcmp(p->q.text, q->text);
}

static uint64_t generation_of(const struct sources *s, const struct report_question *q)
{
	uint64_t sum = q->other ? q->other->generation : 0;

	for (size_t i = 0; i < s->n; i++)
		sum += s->file[i]->generation;
	return sum;
}

static struct report *get_report(struct recording *r, const struct sources *s, const struct report_question *q)
{
	uint64_t generation = generation_of(s, q);
	struct report *p = NULL;
	char *text;

	for (uint32_t i = 0; i < REPORTS; i++) {
		struct report *old = &r->report[i];

		if (is_same(old, s, q, generation)) {
			old->used = ++r->clock;
			return old;
		}
		if (old->made != MADE_WORKING && (!p || !old->is_used || (p->is_used && old->used < p->used)))
			p = old;
	}
	text = strdup(q->text);
	if (!p || !text) {
		free(text);
		return NULL;
	}
	report_clear(p);
	*p = (struct report){.is_used = 1, .q = *q, .of = *s, .generation = generation, .fd = -1, .used = ++r->clock};
	p->q.text = text;
	p->number = r->clock;
	pthread_cond_broadcast(&r->ordered);
	return p;
}

int view_report(const struct sources *s, const struct report_question *q, struct json *j, const char **why)
{
	struct recording *r = s->file[0];
	struct report *p;
	int ret = 0;

	*why = NULL;
	pthread_mutex_lock(&r->lock);
	if (!r->index) { /* it would read from the start */
		view_is_made(&r->view[0], j);
		goto out;
	}
	p = get_report(r, s, q);
	if (!p)
		ret = -ENOMEM;
	else if (p->made == MADE_DONE)
		json_raw(j, p->answer.p);
	else if (p->made == MADE_FAILED)
		put_failed(j, p->error, p->why);
	else
		put_working(j, p->progress);
out:
	pthread_mutex_unlock(&r->lock);
	return ret ? ret : j->err;
}

int view_exported(struct recording *r, uint64_t number)
{
	int fd = -ENOENT;

	pthread_mutex_lock(&r->lock);
	for (uint32_t i = 0; i < REPORTS; i++)
		if (r->report[i].is_used && r->report[i].number == number && r->report[i].fd >= 0)
			fd = dup(r->report[i].fd);
	pthread_mutex_unlock(&r->lock);
	return fd;
}
