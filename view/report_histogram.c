/* SPDX-License-Identifier: MIT */
/*
 * report_histogram.c - durations of one function's calls that ended in a part and that a filter shows
 *
 * Names are compared as they are shown, not as patterns: several functions may have one name.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "output/histogram.h"
#include "view/recording_internal.h"

struct latencies {
	const char *func;
	const struct view_filter *filter;
	uint8_t *is_func; /* by symbol index: 1 it has the name, 2 it has not, 0 not compared */
	size_t nsyms;
	struct histogram h;
	struct hist_pool pool;
	uint64_t calls, min, max;
	uint64_t longest_ns;	/* when the call of max begins, from the first event of all */
	uint32_t longest_tid, longest_depth;
	size_t longest_source;
};

static int is_func(struct latencies *l, const struct uft_sym *sym)
{
	if (!sym || !sym->name)
		return 0;
	if (sym->index >= l->nsyms) {
		size_t n = 2 * (size_t)sym->index + 64;
		uint8_t *grown = realloc(l->is_func, n);

		if (!grown)
			return -ENOMEM;
		memset(grown + l->nsyms, 0, n - l->nsyms);
		l->is_func = grown;
		l->nsyms = n;
	}
	if (!l->is_func[sym->index])
		l->is_func[sym->index] = strcmp(sym->name, l->func) ? 2 : 1;
	return l->is_func[sym->index] == 1;
}

static int add(struct latencies *l, const struct report_sources *from, const struct uft_event *ev)
{
	int ret;

	if ((ev->kind != UFT_EV_EXIT && ev->kind != UFT_EV_LEFT) || ev->flags & UFT_EVF_ORPHAN)
		return 0;
	ret = is_func(l, ev->sym);
	if (ret <= 0 || !view_filter_match(l->filter, ev))
		return ret < 0 ? ret : 0;
	l->min = l->calls && l->min < ev->duration_ns ? l->min : ev->duration_ns;
	if (!l->calls || ev->duration_ns > l->max) {
		uint64_t begin = ev->ts_ns - ev->duration_ns, origin = from->origin_ns;

		l->max = ev->duration_ns;
		l->longest_ns = (begin > origin ? begin - origin : 0) + from->offset;
		l->longest_tid = ev->task->tid;
		l->longest_depth = ev->depth;
		l->longest_source = from->next - 1;
	}
	l->calls++;
	return hist_add(&l->pool, &l->h, ev->duration_ns);
}

static int add_stream(struct latencies *l, const struct report_sources *from)
{
	struct uft_event ev[BATCH];
	int ret = 0;
	size_t n;

	if (l->is_func) /* of another stream's symbols */
		memset(l->is_func, 0, l->nsyms);
	while (!ret && (n = uft_stream_batch(from->st, ev, BATCH)) != 0)
		for (size_t i = 0; i < n && !ret; i++)
			ret = add(l, from, &ev[i]);
	return ret;
}

/* The duration that @percent of the calls do not exceed. */
static uint64_t rank(const struct latencies *l, unsigned percent)
{
	uint64_t v = hist_rank(&l->pool, &l->h, l->calls - l->calls * (100 - percent) / 100);

	return v < l->min ? l->min : v > l->max ? l->max : v;
}

static void put_buckets(struct json *j, const struct latencies *l)
{
	for (unsigned octave = 0; octave <= HIST_OCTAVES; octave++)
		for (unsigned k = 0; l->h.octave[octave] && k < HIST_SUB; k++) {
			uint64_t width = octave ? 1ull << (octave - 1) : 1,
				 from = octave ? (HIST_SUB + k) * width : k;
			const uint64_t v[] = {from, from + width - 1, l->pool.block[l->h.octave[octave] - 1][k]};

			if (!v[2])
				continue;
			json_comma(j);
			json_raw(j, "[");
			json_numbers(j, v, 3, 0);
			json_raw(j, "]");
		}
}

static void put_histogram(struct json *j, const struct latencies *l)
{
	json_raw(j, "{\"state\":\"done\"");
	json_key_str(j, "func", l->func);
	json_key_u(j, "calls", l->calls);
	if (l->calls) {
		json_key_u(j, "min", l->min);
		json_key_u(j, "max", l->max);
		json_key_u(j, "p50", rank(l, 50));
		json_key_u(j, "p99", rank(l, 99));
		json_key_u(j, "longest_t", l->longest_ns);
		json_key_u(j, "longest_tid", l->longest_tid);
		json_key_u(j, "longest_depth", l->longest_depth);
		json_key_u(j, "longest_file", l->longest_source);
	}
	json_key(j, "buckets");
	json_raw(j, "[");
	put_buckets(j, l);
	json_raw(j, "]}");
}

int report_histogram(struct report *p)
{
	struct report_sources from = {.p = p};
	struct latencies l = {.func = p->q.text, .filter = p->filter};
	int ret = 0;

	while (!ret && (ret = report_next(&from)) > 0)
		ret = add_stream(&l, &from);
	report_end(&from);
	if (!ret)
		put_histogram(&p->answer, &l);
	free(l.is_func);
	free(l.pool.block);
	return ret ? ret : p->answer.err;
}
