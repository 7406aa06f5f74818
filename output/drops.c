/* SPDX-License-Identifier: MIT */
/* drops.c - functions that --budget or --max-rate dropped: one comment line for each */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "output/output.h"
#include "symbol/array.h"

struct drop {
	struct uft_drop_row row;
	uint64_t calls;			/* in the recording */
};

static void count(struct drop *d, size_t n, const struct uft_event *ev)
{
	if (ev->kind != UFT_EV_FUNC && ev->kind != UFT_EV_ENTRY && !(ev->flags & UFT_EVF_CALL))
		return;
	for (size_t i = 0; i < n; i++)
		d[i].calls += d[i].row.sym == ev->sym;
}

static double seconds(uint64_t from, uint64_t to)
{
	return to > from ? (double)(to - from) / 1e9 : 0;
}

static void put(FILE *out, const struct drop *d, uint64_t first, uint64_t last)
{
	double left = seconds(d->row.ts_ns, last);

	fprintf(out,
		"# dropped: %s after %.6f s, by %s of process %" PRIu32 ": %" PRIu64 " calls/s took %.1f %% of its CPU time; "
		"%" PRIu64 " calls recorded, about %.0f missing (at that rate for the other %.6f s)\n",
			d->row.sym->name,
		seconds(first, d->row.ts_ns), d->row.why == 1 ? "--budget" : "--max-rate", d->row.pid,
		d->row.calls_per_s,
		d->row.cost_ppm / 1e4, d->calls, (double)d->row.calls_per_s * left, left);
}

int uft_output_drops(struct uft_stream *st, FILE *out)
{
	static struct uft_event ev[256];
	struct uft_drop_row row;
	struct drop *list = NULL;
	size_t n = 0, got;
	uint64_t first = 0, last = 0;

	for (; uft_stream_drop(st, n, &row); n++) {
		if (array_resize(list, n + 1)) {
			free(list);
			return -ENOMEM;
		}
		list[n] = (struct drop){ .row = row };
	}
	while (n && (got = uft_stream_batch(st, ev, sizeof(ev) / sizeof(ev[0]))))
		for (size_t i = 0; i < got; i++) {
			first = first ? first : ev[i].ts_ns;
			last = ev[i].ts_ns;
			count(list, n, &ev[i]);
		}
	for (size_t i = 0; i < n; i++)
		put(out, &list[i], first, last);
	free(list);
	return ferror(out) ? -EIO : 0;
}
