/* SPDX-License-Identifier: MIT */
/* info.c - facts of recordings: tasks, counts, losses and their reasons */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "output/losses.h"
#include "stream/file/reader.h"
#include "view/recording_internal.h"

static void put_sentence(void *arg, const char *sentence)
{
	struct json *j = arg;

	json_comma(j);
	json_str(j, sentence);
}

static void put_drops(struct recording *r, struct uft_stream *st)
{
	struct uft_drop_row d;

	json_raw(&r->drops, "[");
	for (size_t i = 0; uft_stream_drop(st, i, &d); i++) {
		json_comma(&r->drops);
		json_raw(&r->drops, "{");
		json_key_u(&r->drops, "t", d.ts_ns > r->origin_ns ? d.ts_ns - r->origin_ns : 0);
		json_key_str(&r->drops, "name", d.sym && d.sym->name ? d.sym->name : "?");
		json_key_u(&r->drops, "pid", d.pid);
		json_key_u(&r->drops, "calls_per_s", d.calls_per_s);
		json_key_str(&r->drops, "why", d.why == 1 ? "--budget" : "--max-rate");
		json_raw(&r->drops, "}");
	}
	json_raw(&r->drops, "]");
}

void info_forget(struct recording *r)
{
	free(r->cmdline);
	free(r->hostname);
	free(r->uname);
	r->cmdline = r->hostname = r->uname = NULL;
	json_free(&r->missing);
	json_free(&r->drops);
	json_free(&r->plots);
}

int info_describe(struct recording *r, struct uft_stream *st)
{
	struct uft_info info = *uft_stream_info(st);
	const struct rd_file *f = uft_stream_recording(st);

	info_forget(r);
	r->cmdline = strdup(info.cmdline);
	r->hostname = strdup(info.hostname);
	r->uname = strdup(info.uname);
	json_raw(&r->missing, "[");
	losses_each(&info, uft_stream_rescued(st) != NULL, put_sentence, &r->missing);
	json_raw(&r->missing, "]");
	put_drops(r, st);
	plot_put_choices(&r->plots, uft_stream_events(st));
	r->boot_ns = f->npair && uft_stream_stamp(st) == UFT_STAMP_NS && info.realtime_ns > f->pair[0].ns
			     ? info.realtime_ns - f->pair[0].ns
			     : 0;
	r->session = f->head.session;
	r->is_latest_boot = (f->head.flags & UFT_FILE_LATEST_DATE) != 0;
	r->has_flags = (f->head.flags & UFT_FILE_LATENCY) != 0;
	r->is_other_clock = (f->head.flags & UFT_FILE_OTHER_CLOCK) != 0;
	info.cmdline = info.hostname = info.uname = NULL;
	r->info = info;
	return r->missing.err ? r->missing.err : r->drops.err ? r->drops.err : r->plots.err;
}

/* ---- The answer -------------------------------------------------------------------------------------------- */

static void put_tasks(struct recording *r, uint64_t offset, uint32_t place, struct json *j)
{
	const struct lod_row *row;
	size_t n = lod_rows(r->preview.lod ? r->preview.lod : r->view[0].lod, &row);

	for (size_t i = 0; i < n; i++) {
		struct row who;

		if (!rows_at(&r->rows, row[i].row, &who))
			continue;
		json_comma(j);
		json_raw(j, "{");
		json_key_u(j, "row", place << ROW_PLACE | row[i].row);
		json_key_u(j, "file", place);
		json_key_u(j, "pid", who.pid);
		json_key_u(j, "tid", who.tid);
		json_key_u(j, "ppid", who.ppid);
		json_key_str(j, "comm", who.comm);
		json_key_u(j, "lanes", row[i].lanes);
		json_key_u(j, "calls", row[i].calls);
		json_key_u(j, "events", row[i].events);
		json_key_u(j, "first", row[i].first + offset);
		json_key_u(j, "last", row[i].last + offset);
		json_raw(j, "}");
	}
}

struct sums {
	uint64_t bytes, first_ns, end, events, calls, lost, overwritten, damaged, resolution, index_bytes, generation;
	int is_changed, is_complete, has_flags;
	double progress;
};

static void put_signed(struct json *j, const char *key, int64_t v)
{
	uint64_t size = v < 0 ? -(uint64_t)v : (uint64_t)v;

	json_key(j, key);
	json_numbers(j, &size, 1, v < 0);
}

static void add_to_sums(struct sums *all, const struct recording *r, uint64_t offset)
{
	const struct view *v = &r->view[0];

	all->bytes += (uint64_t)r->stat.st_size;
	all->generation += r->generation;
	all->is_changed |= recording_is_changed(r);
	if (v->made != MADE_DONE) {
		all->progress = v->progress < all->progress ? v->progress : all->progress;
		all->end = r->preview.duration_ns;
		all->events = r->preview.events;
		return;
	}
	if (r->origin_ns && r->origin_ns < all->first_ns)
		all->first_ns = r->origin_ns;
	if (offset + r->duration_ns > all->end)
		all->end = offset + r->duration_ns;
	all->events += v->matches;
	all->calls += r->info.calls;
	all->lost += r->info.lost;
	all->overwritten += r->info.overwritten;
	all->damaged += r->info.damaged_bytes;
	all->is_complete &= r->info.complete;
	all->has_flags |= r->has_flags;
	all->index_bytes += lod_bytes(v->lod);
	if (lod_resolution(v->lod) > all->resolution)
		all->resolution = lod_resolution(v->lod);
}

/* Writes one array with the elements of an array of each recording, one recording after the other. */
static void put_joined(const struct sources *s, struct json *j, const char *key, size_t member)
{
	json_key(j, key);
	json_raw(j, "[");
	for (size_t i = 0; i < s->n; i++) {
		const struct json *array = (const struct json *)((const char *)s->file[i] + member);

		if (array->n <= 2)
			continue;
		json_comma(j);
		json_bytes(j, array->p + 1, array->n - 2);
	}
	json_raw(j, "]");
}

static void put_done(const struct sources *s, const struct sums *all, struct json *j)
{
	const struct recording *r = s->file[0];

	json_key_u(j, "first_ns", all->first_ns != UINT64_MAX ? all->first_ns : 0);
	json_key_u(j, "duration", all->end);
	json_key_u(j, "events", all->events);
	json_key_u(j, "calls", all->calls);
	json_key_u(j, "lost", all->lost);
	json_key_u(j, "overwritten", all->overwritten);
	json_key_u(j, "damaged_bytes", all->damaged);
	json_key_u(j, "complete", (uint64_t)all->is_complete);
	json_key_u(j, "flags", (uint64_t)all->has_flags);
	json_key_u(j, "aligned", (uint64_t)s->is_aligned);
	json_key_str(j, "cmdline", s->n == 1 && r->cmdline ? r->cmdline : "");
	json_key_str(j, "hostname", r->hostname ? r->hostname : "");
	json_key_str(j, "uname", r->uname ? r->uname : "");
	json_key_u(j, "resolution", all->resolution);
	json_key_u(j, "index_bytes", all->index_bytes);
	put_joined(s, j, "missing", offsetof(struct recording, missing));
	put_joined(s, j, "plots", offsetof(struct recording, plots));
	json_key(j, "sources");
	json_raw(j, "[");
	for (uint32_t i = 0; i < s->n; i++) {
		json_comma(j);
		json_raw(j, "{");
		json_key_str(j, "path", s->file[i]->path);
		json_key_u(j, "offset", s->offset[i]);
		put_signed(j, "shift", s->shift[i]);
		json_key_u(j, "duration",
			   s->file[i]->preview.lod ? s->file[i]->preview.duration_ns : s->file[i]->duration_ns);
		json_key_u(j, "ncpus", s->file[i]->preview.lod ? s->file[i]->preview.ncpus : s->file[i]->info.ncpus);
		json_key(j, "drops");
		json_raw(j, s->file[i]->drops.p ? s->file[i]->drops.p : "[]");
		json_raw(j, "}");
	}
	json_raw(j, "]");
	json_key(j, "tasks");
	json_raw(j, "[");
	for (uint32_t i = 0; i < s->n; i++)
		put_tasks(s->file[i], s->offset[i], i, j);
	json_raw(j, "]");
}

int view_info(const struct sources *s, struct json *j)
{
	struct sums all = {.first_ns = UINT64_MAX, .is_complete = 1, .progress = 1};
	int error = 0, is_done = 1;

	for (size_t i = 0; i < s->n; i++) {
		struct view *v = &s->file[i]->view[0];

		pthread_mutex_lock(&s->file[i]->lock);
		add_to_sums(&all, s->file[i], s->offset[i]);
		error = error || v->made != MADE_FAILED ? error : v->error;
		is_done &= v->made == MADE_DONE;
	}
	json_raw(j, "{");
	json_key_str(j, "state", error ? "failed" : is_done ? "done" : "working");
	json_key(j, "progress");
	json_f(j, is_done ? 1 : all.progress);
	json_key_str(j, "path", s->file[0]->path);
	json_key_u(j, "bytes", all.bytes);
	json_key_u(j, "changed", (uint64_t)all.is_changed);
	json_key_u(j, "generation", all.generation);
	if (error) {
		json_key_str(j, "error", error == -EINVAL ? "it is no recording, or not one any more" : strerror(-error));
	} else if (is_done) {
		put_done(s, &all, j);
	} else if (s->n == 1 && s->file[0]->preview.lod) { /* a first picture */
		json_key_u(j, "preview", s->file[0]->preview.events);
		put_done(s, &all, j);
	}
	if (s->n == 1)
		s->file[0]->preview.is_wanted = !is_done;
	json_raw(j, "}");
	for (size_t i = s->n; i-- > 0;)
		pthread_mutex_unlock(&s->file[i]->lock);
	return j->err;
}
