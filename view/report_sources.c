/* SPDX-License-Identifier: MIT */
/* report_sources.c - the sources of a report: the part of each recording, by a stream of its own */
#include "output/output.h"
#include "view/recording_internal.h"

void report_end(struct report_sources *s)
{
	uft_stream_close(s->st);
	s->st = NULL;
}

/* Opens the part of @r that the report is about. */
static int open_part(struct recording *r, const struct report *p, struct view_range range, struct uft_stream **st)
{
	const struct uft_export *format = p->q.kind == REPORT_EXPORT ? uft_export_find(p->q.text) : NULL;
	struct uft_select sel = {
		.from_ns = range.from,
		.to_ns = range.to,
		.tids = &p->q.tid,
		.ntids = p->q.tid != 0,
		.ends = !format || !(format->takes & UFT_EXPORT_RECORDS),
		.no_parents = p->q.kind != REPORT_DETAILS,
	};
	int ret = recording_stream_of(r, &sel, st);

	if (ret)
		return ret;
	uft_stream_end_when(*st, &p->is_cancelled);
	pthread_mutex_lock(&r->lock);
	if (r->index)
		uft_stream_seek_selection(*st, r->index);
	pthread_mutex_unlock(&r->lock);
	return 0;
}

int report_next(struct report_sources *s)
{
	const struct sources *of = &s->p->of;
	int changed = s->st ? uft_stream_check_file(s->st, NULL) : 0;

	report_end(s);
	if (changed)
		return changed;
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
