/* SPDX-License-Identifier: MIT */
/*
 * stream.c - the iterator over a recording
 *
 * Parts: reader.c finds blocks, reader_meta.c reads metadata, cursor.c joins the bytes of one ring, decode.c makes
 * events of them, merge.c orders the rings, select.c drops events that are not selected, scan.c counts. A struct
 * uft_stream owns all of it and everything that events point to. One thread per stream.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stream/decode/decode.h"
#include "symbol/array.h"

static int open_stream(const char *path, const struct rd_file *like, const struct uft_select *sel,
		       struct uft_stream **out, struct uft_error *err)
{
	struct uft_stream *st = calloc(1, sizeof(*st));
	int ret;

	*out = NULL;
	if (!st)
		return uft_fail(err, -ENOMEM, "%s: not enough memory to read it", path);
	ret = rd_open(path, like, &st->file, err);
	if (ret)
		goto free_stream;
	if (st->file->head.flags & UFT_FILE_COUNTER) {
		st->stamp = UFT_STAMP_COUNT;
		st->clock_name = "counter";
		if (sel && sel->needs_times) {
			ret = uft_fail(err, -ENODATA,
				       "%s has the order of its events and no times: it was recorded with the clock counter", path);
			goto free_stream;
		}
	}
	st->sel.image_of = dec_task_image;
	st->has_select = sel && sel_is_any(sel);
	st->no_parents = sel && sel->no_parents;
	st->has_ends = sel && sel->ends;
	ret = sel_init(&st->sel, sel, err);
	ret = ret || !sel ? ret : sel_events(&st->sel, st->file->events, sel->events, sel->nevents, err);
	if (ret)
		goto free_stream;
	st->lost_max = st->file->lost_max;
	ret = uft_clock_build(&st->clock, st->file->pair, st->file->npair);
	if (!ret)
		ret = dec_images_alloc(st);
	if (!ret)
		ret = mrg_init(st);
	if (ret) {
		uft_fail(err, ret, "%s: %s", st->file->path,
			 ret == -ENOMEM ? "not enough memory to read it" : strerror(-ret));
		goto free_stream;
	}
	*out = st;
	return 0;
free_stream:
	uft_stream_close(st);
	return ret;
}

int uft_stream_open(const char *path, const struct uft_select *sel, struct uft_stream **out, struct uft_error *err)
{
	return open_stream(path, NULL, sel, out, err);
}

int uft_stream_open_again(const struct uft_stream *st, const struct uft_select *sel, struct uft_stream **out,
			  struct uft_error *err)
{
	char path[40];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", st->file->fd);
	return open_stream(path, st->file, sel, out, err);
}

const struct uft_event_table *uft_stream_events(const struct uft_stream *st)
{
	return st->file->events;
}

int uft_stream_next(struct uft_stream *st, struct uft_event *ev)
{
	if (st->next_at == st->next_n) {
		st->next_at = 0;
		st->next_n = (uint32_t)uft_stream_batch(st, st->next, sizeof(st->next) / sizeof(st->next[0]));
		if (!st->next_n)
			return 0;
	}
	*ev = st->next[st->next_at++];
	return 1;
}

int uft_stream_has_found(const struct uft_stream *st)
{
	return st->sel.is_found;
}

int uft_stream_has_cpu(const struct uft_stream *st, uint32_t cpu)
{
	for (uint32_t i = 0; i < st->nring; i++)
		if (st->ring[i].cpu == cpu)
			return 1;
	return 0;
}

const struct uft_info *uft_stream_info(struct uft_stream *st)
{
	if (!st->has_info)
		scan_info(st);
	return &st->info;
}

int uft_stream_check_file(const struct uft_stream *st, struct uft_error *err)
{
	int ret = rd_check_file(st->file, err);

	if (!ret && uft_resolver_is_partial(st->resolver))
		ret = uft_fail(err, -ENOMEM, "%s: not enough memory for its names", st->file->path);
	return ret;
}

struct uft_extent uft_stream_extent(const struct uft_stream *st)
{
	return (struct uft_extent){ st->file->dev, st->file->ino, st->file->end };
}

uint32_t uft_stream_tracer(const struct uft_stream *st)
{
	return st->file->head.tracer;
}

size_t uft_stream_tasks(struct uft_stream *st, const struct uft_task **out)
{
	*out = NULL;
	if (array_resize(st->task_copy, st->ntask)) {
		dec_no_memory(st);
		return 0;
	}
	for (uint32_t i = 0; i < st->ntask; i++)
		st->task_copy[i] = st->task[i]->pub;
	*out = st->task_copy;
	return st->ntask;
}

size_t uft_stream_images(struct uft_stream *st, const struct uft_image *const **out)
{
	/* without the last image, which stands for what the file does not describe */
	*out = (const struct uft_image *const *)st->file->image;
	return st->file->nimage - 1;
}

double uft_stream_progress(struct uft_stream *st)
{
	size_t left = 0;

	for (uint32_t i = 0; i < st->nring; i++)
		left += (size_t)(st->ring[i].cur.block_end - st->ring[i].cur.block);
	return st->file->nblock ? 1.0 - (double)left / (double)st->file->nblock : 1.0;
}

/* ---- The profile tracer's rows -------------------------------------------------------------- */

static uint64_t stream_span(struct uft_stream *st, uint64_t clocks)
{
	const struct uft_clock_seg *s = &st->clock.seg[st->clock.nseg / 2];

	return (uint64_t)((unsigned __int128)clocks * s->mult >> 32);
}

static void stream_profile_add(struct uft_stream *st, struct uft_profile_row *row, const struct rd_profile *p)
{
	double unit = (double)stream_span(st, 1ull << 32) / 4294967296.0 * (1u << UFT_PROFILE_SQ_SHIFT);
	uint64_t min = stream_span(st, p->min), max = stream_span(st, p->max);

	/* All ones: no call returned in that process. */
	if (p->min != UINT64_MAX && (!row->max_ns || min < row->min_ns))
		row->min_ns = min;
	if (max > row->max_ns)
		row->max_ns = max;
	row->hits += p->hits;
	row->total_ns += stream_span(st, p->total);
	row->self_ns += stream_span(st, p->self);
	row->squares_ns2 += (double)p->squares * unit * unit;
}

int uft_stream_profile(struct uft_stream *st, const struct uft_profile_row **out, size_t *n)
{
	const struct rd_file *f = st->file;
	uint32_t *at = NULL, cap = 0;

	if (!st->has_profile) {
		st->profile = calloc(f->nprofile + 1, sizeof(*st->profile));
		if (!st->profile)
			return -ENOMEM;
		for (size_t i = 0; i < f->nprofile; i++) {
			const struct rd_slice *slice = rd_find_slice(f, f->profile[i].slice);
			const struct uft_image *img = slice ? slice->image : f->image[f->nimage - 1];
			const struct uft_sym *sym = uft_resolve_id(st->resolver, img, f->profile[i].id);

			if (!sel_wants_sum(&st->sel, sym))
				continue;
			if (array_reach(at, cap, sym->index)) {
				free(at);
				return -ENOMEM;
			}
			if (!at[sym->index]) {
				st->profile[st->nprofile++].sym = sym;
				at[sym->index] = (uint32_t)st->nprofile;
			}
			stream_profile_add(st, &st->profile[at[sym->index] - 1], &f->profile[i]);
		}
		free(at);
		st->has_profile = 1;
	}
	*out = st->profile;
	*n = st->nprofile;
	return 0;
}

int uft_stream_drop(struct uft_stream *st, size_t i, struct uft_drop_row *out)
{
	const struct rd_drop *d;

	if (i >= st->file->ndrop)
		return 0;
	d = &st->file->drop[i];
	*out = (struct uft_drop_row){
		.sym = uft_resolve_id(st->resolver, rd_find_image(st->file, d->image), d->id),
		.ts_ns = uft_clock_ns(&st->clock, d->clock), .calls_per_s = d->calls_per_s, .cost_ppm = d->cost_ppm,
		.pid = d->pid, .why = d->why,
	};
	return 1;
}

uint32_t uft_stream_nameless(const struct uft_stream *st, size_t i, struct uft_object **obj)
{
	return uft_resolver_nameless(st->resolver, i, obj);
}

const struct uft_rescue *uft_stream_rescued(struct uft_stream *st)
{
	const struct rd_rescue *r = &st->file->rescue;

	st->rescue = (struct uft_rescue){ uft_clock_ns(&st->clock, r->clock), r->slices, r->bytes, r->unknown };
	return st->file->is_rescued ? &st->rescue : NULL;
}

void uft_stream_close(struct uft_stream *st)
{
	if (!st)
		return;
	mrg_free(st);
	dec_payloads_free(st);
	dec_tasks_free(st);
	if (st->file)
		dec_images_free(st);
	sel_free(&st->sel);
	uft_clock_free(&st->clock);
	if (st->release)
		st->release(st);
	free(st->profile);
	rd_close(st->file);
	free(st);
}
