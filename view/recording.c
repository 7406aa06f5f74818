/* SPDX-License-Identifier: MIT */
/*
 * recording.c - an open recording
 *
 * A view is a filter with the data made for it: an index of levels of detail (lod.c) and, for each point of the
 * recording's index (stream/decode/seek.c), how many matching events come before it. The first view has no filter, and
 * making it makes the index if there is none; both are kept beside the recording (levels_file.c) for later openings. A
 * report is an answer that takes a pass over its range. The worker makes views and reports in the order of the
 * requests; until one is made the answer is `"state":"working"` with the progress, and the client asks again.
 *
 * The file is opened once: answers show the file of that moment, even if it is deleted later. A stream reads it by its
 * descriptor's name in /proc.
 *
 * Threads: the worker owns its streams, and each view or report until it publishes it under `lock`. The asking thread
 * owns `st` and the fine indices, and holds `lock` while it uses views. The worker holds `lock` only to take an order
 * or to publish. New views and reports replace the least recently used ones, but never the one that is being made.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbol/thread.h"
#include "view/recording_internal.h"

/* ---- The worker ------------------------------------------------------------------------------------------ */

static void *index_main(void *arg)
{
	struct recording *r = arg;

	pthread_mutex_lock(&r->lock);
	while (!r->is_ending) {
		struct view *v = NULL;
		struct report *p = NULL;

		for (uint32_t i = 0; i < VIEWS && !v; i++)
			if (r->view[i].text && r->view[i].made == MADE_NOT)
				v = &r->view[i];
		for (uint32_t i = 0; i < REPORTS && !v && !p; i++)
			if (r->report[i].is_used && r->report[i].made == MADE_NOT)
				p = &r->report[i];
		if (!v && r->order.has_next) {
			struct part next = r->order.next;

			r->order = (struct order){next.v, next.from, next.to, MADE_WORKING, 0, 0, next};
			pthread_mutex_unlock(&r->lock);
			part_make(r, &r->order);
			pthread_mutex_lock(&r->lock);
			pthread_cond_broadcast(&r->ordered);
			continue;
		}
		if (!v && !p) {
			pthread_cond_wait(&r->ordered, &r->lock);
			continue;
		}
		if (v)
			v->made = MADE_WORKING;
		else
			p->made = MADE_WORKING;
		pthread_mutex_unlock(&r->lock);
		if (v)
			view_make(r, v);
		else
			report_work(r, p);
		pthread_mutex_lock(&r->lock);
		if (v && v->made == MADE_WORKING) /* cancelled */
			v->made = MADE_NOT;
		r->is_stale = 0;
		pthread_cond_broadcast(&r->ordered);
	}
	pthread_mutex_unlock(&r->lock);
	return NULL;
}

/* ---- Opening, closing -------------------------------------------------------------------------------------- */

int recording_open(const char *path, struct names *names, struct recording **out, struct uft_error *err)
{
	struct recording *r = calloc(1, sizeof(*r));
	struct uft_select all = {.no_parents = 1, .needs_times = 1};
	int ret;

	*out = NULL;
	if (!r)
		return uft_fail(err, -ENOMEM, "out of memory");
	r->fd = -1;
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->ordered, NULL);
	r->path = strdup(path);
	r->view[0].text = strdup("");
	r->names = names;
	ret = r->path && r->view[0].text ? rows_init(&r->rows) : -ENOMEM;
	if (ret)
		uft_fail(err, ret, "out of memory");
	if (!ret)
		ret = recording_open_file(r, path, err);
	/* opened by its path, so that the sentence about an error names it; a trace.dat has been imported by now */
	if (!ret && recording_stream(r, &all, &r->st))
		ret = uft_stream_open(r->is_imported ? r->name : path, &all, &r->st, err);
	if (!ret) {
		ret = thread_start(&r->worker, index_main, r);
		if (ret)
			uft_fail(err, ret, "cannot make a thread: %s", strerror(-ret));
	}
	if (ret) {
		recording_close(r);
		return ret;
	}
	r->has_worker = 1;
	*out = r;
	return 0;
}

static void stop_work(struct recording *r, int is_end)
{
	r->is_ending |= is_end;
	r->is_stale = 1;
	r->order.has_next = 0;
	r->order.is_cancelled = 1;
	for (uint32_t i = 0; i < REPORTS; i++) {
		if (r->report[i].is_used && r->report[i].made == MADE_NOT)
			report_clear(&r->report[i]);
		__atomic_store_n(&r->report[i].is_cancelled, 1, __ATOMIC_RELAXED);
	}
	pthread_cond_broadcast(&r->ordered);
}

void recording_stop(struct recording *r)
{
	if (!r || !r->has_worker)
		return;
	pthread_mutex_lock(&r->lock);
	stop_work(r, 1);
	pthread_mutex_unlock(&r->lock);
	pthread_join(r->worker, NULL);
	r->has_worker = 0;
}

void recording_close(struct recording *r)
{
	if (!r)
		return;
	recording_stop(r);
	part_forget_all(r);
	preview_end(r);
	for (uint32_t i = 0; i < VIEWS; i++)
		view_clear(&r->view[i]);
	for (uint32_t i = 0; i < REPORTS; i++)
		report_clear(&r->report[i]);
	uft_index_close(r->index);
	if (r->fd >= 0)
		close(r->fd);
	info_forget(r);
	rows_free(&r->rows);
	free(r->path);
	pthread_cond_destroy(&r->ordered);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

const char *recording_path(const struct recording *r)
{
	return r->path;
}

int recording_reload(struct recording *r, struct json *j)
{
	struct uft_error err = {""};
	int ret;

	pthread_mutex_lock(&r->lock);
	stop_work(r, 0);
	while (r->order.made == MADE_WORKING)
		pthread_cond_wait(&r->ordered, &r->lock);
	r->order.is_cancelled = 0;
	while (r->is_saving)
		pthread_cond_wait(&r->ordered, &r->lock);
	for (uint32_t i = 0; i < REPORTS; i++) {
		while (r->report[i].made == MADE_WORKING)
			pthread_cond_wait(&r->ordered, &r->lock);
		if (r->report[i].error == -ECANCELED)
			report_clear(&r->report[i]);
	}
	for (uint32_t i = 0; i < VIEWS; i++)
		while (r->view[i].made == MADE_WORKING) {
			r->is_stale = 1;
			pthread_cond_wait(&r->ordered, &r->lock);
		}
	r->is_stale = 0;
	ret = recording_open_file(r, r->path, &err);
	if (!ret) {
		part_forget_all(r);
		uft_index_close(r->index);
		r->index = NULL;
		for (uint32_t i = 0; i < REPORTS; i++)
			report_clear(&r->report[i]);
		for (uint32_t i = 1; i < VIEWS; i++)
			view_clear(&r->view[i]);
		lod_free(r->view[0].lod);
		free(r->view[0].before);
		r->view[0] = (struct view){.text = r->view[0].text};
		r->generation++;
		pthread_cond_broadcast(&r->ordered);
	}
	json_raw(j, "{");
	json_key_str(j, "state", ret ? "failed" : "working");
	if (ret)
		json_key_str(j, "error", err.text);
	json_raw(j, "}");
	pthread_mutex_unlock(&r->lock);
	return j->err;
}
