/* SPDX-License-Identifier: MIT */
/*
 * reports.c - answers that take a pass over a part of recordings, made by the worker and kept
 *
 * A report belongs to the first recording of its question. report_sources.c opens its input.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "view/recording_internal.h"

static int (*const makers[])(struct report *p) = {
	[REPORT_TREE] = report_tree, [REPORT_HISTOGRAM] = report_histogram, [REPORT_PLOT] = report_plot,
	[REPORT_COUNTERS] = report_counters,
	[REPORT_DIFF] = report_diff, [REPORT_EXPORT] = report_export,
	[REPORT_DETAILS] = report_details, [REPORT_SOURCE] = report_details,
};

void report_work(struct recording *r, struct report *p)
{
	int ret = makers[p->q.kind](p);

	pthread_mutex_lock(&r->lock);
	ret = p->is_cancelled ? -ECANCELED : ret;
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
	free((char *)p->q.filter);
	view_filter_free(p->filter);
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
	       p->q.tid == q->tid && p->q.depth == q->depth && p->q.width == q->width && p->q.other == q->other &&
	       !strcmp(p->q.text, q->text) &&
	       !strcmp(p->q.filter, q->filter);
}

static uint64_t generation_of(const struct sources *s, const struct report_question *q)
{
	uint64_t sum = q->other ? q->other->generation : 0;

	for (size_t i = 0; i < s->n; i++)
		sum += s->file[i]->generation;
	return sum;
}

/* Finds the report, or makes a new one. NULL: no memory, or *why: the mistake in the filter. */
static struct report *get_report(struct recording *r, const struct sources *s, const struct report_question *q,
				 const char **why)
{
	uint64_t generation = generation_of(s, q);
	struct uft_filter_error err = {NULL, 0};
	struct view_filter *filter;
	struct report *p = NULL;
	char *text, *filter_text;

	for (uint32_t i = 0; i < REPORTS; i++) {
		struct report *old = &r->report[i];

		if (is_same(old, s, q, generation)) {
			old->used = ++r->clock;
			return old;
		}
		if (old->made != MADE_WORKING && (!p || !old->is_used || (p->is_used && old->used < p->used)))
			p = old;
	}
	if (view_filter_make(q->filter, &filter, &err) < 0) {
		*why = err.what ? err.what : "the filter is too long";
		return NULL;
	}
	text = strdup(q->text);
	filter_text = strdup(q->filter);
	if (!p || !text || !filter_text) {
		view_filter_free(filter);
		free(text);
		free(filter_text);
		return NULL;
	}
	report_clear(p);
	*p = (struct report){.is_used = 1, .q = *q, .of = *s, .generation = generation, .fd = -1, .used = ++r->clock};
	p->q.text = text;
	p->q.filter = filter_text;
	p->filter = filter;
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
	p = get_report(r, s, q, why);
	if (!p)
		ret = *why ? -EINVAL : -ENOMEM;
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
