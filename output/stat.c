/* SPDX-License-Identifier: MIT */
/*
 * stat.c - facts about a recording: one `key: value` line each, a JSON object, or CSV rows of key and value; keys never
 * change their meaning
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "output/losses.h"
#include "output/output.h"
#include "output/report/table.h"
#include "symbol/clean.h"
#include "symbol/tracer.h"

static const char *const counter_names[UFT_NCOUNTERS] = {
	[UFT_CNT_NO_RING] = "no_ring",
	[UFT_CNT_SHADOW_FULL] = "shadow_full",
	[UFT_CNT_NO_THREAD] = "no_thread",
	[UFT_CNT_RECURSION] = "recursion",
	[UFT_CNT_NO_SLICE] = "no_slice",
	[UFT_CNT_REQ_TIMEOUT] = "request_timeout",
	[UFT_CNT_SITE_REFUSED] = "site_refused",
	[UFT_CNT_LOST_RETURN] = "lost_return",
	[UFT_CNT_SHARED_TP] = "shared_thread_pointer",
	[UFT_CNT_PATCHED] = "patched",
	[UFT_CNT_SITE_LIVE] = "site_live",
	[UFT_CNT_NOT_KEPT] = "not_kept",
	[UFT_CNT_KEEP_NO_RING] = "keep_no_ring",
	[UFT_CNT_SITE_REACH] = "site_reach",
	[UFT_CNT_NO_SLOT] = "no_slot",
	[UFT_CNT_SITE_TAKEN] = "site_taken",
	[UFT_CNT_LOST_PART] = "lost_part",
	[UFT_CNT_EVENT_SIZE] = "event_too_large",
	[UFT_CNT_NO_MEMORY] = "no_memory",
};

struct facts {
	struct table table;		/* CSV: key, value */
	unsigned nmissing;
};

static const struct table_column columns[] = { { NULL, "key", TABLE_NAME, 0 }, { NULL, "value", TABLE_NAME, 0 } };

/* Prints a fact. Text of a recording is untrusted: it must stay one line. @json: its form in JSON; NULL: a string. */
static void put(struct facts *f, const char *key, const char *value, const char *json)
{
	FILE *out = f->table.out;

	if (f->table.form == UFT_FORM_CSV) {
		table_row(&f->table, (struct table_cell[]){ CELL_NAME(key), CELL_NAME(value) }, 0);
	} else if (f->table.form == UFT_FORM_JSON) {
		fputs(",\n", out);
		table_put_json(out, key);
		putc(':', out);
		if (json)
			fputs(json, out);
		else
			table_put_json(out, value);
	} else {
		uft_put_clean(out, key);
		fputs(": ", out);
		uft_put_clean(out, value);
		putc('\n', out);
	}
}

static void put_text(struct facts *f, const char *key, const char *value)
{
	put(f, key, value, NULL);
}

static void put_number(struct facts *f, const char *key, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	put(f, key, text, text);
}

static void put_ratio(struct facts *f, const char *key, uint64_t a, uint64_t b)
{
	char text[32];

	snprintf(text, sizeof(text), "%.2f", b ? (double)a / (double)b : 0.0);
	put(f, key, text, text);
}

static void put_missing(void *ctx, const char *sentence)
{
	struct facts *f = ctx;

	if (f->table.form != UFT_FORM_JSON) {
		put_text(f, "missing", sentence);
		return;
	}
	fputs(f->nmissing++ ? "," : ",\n\"missing\":[", f->table.out);
	table_put_json(f->table.out, sentence);
}

/* Counts events by name. Reads the whole recording if its types tell that it can have some. */
static int put_events(struct facts *f, struct uft_stream *st, uint32_t tracer)
{
	const struct uft_event_table *types = uft_stream_events(st);
	uint32_t n = uft_event_table_count(types);
	uint64_t *count = calloc(n + 1, sizeof(*count));
	struct uft_event e;
	int ret = count ? 0 : -ENOMEM;

	if (n <= UFT_NBUILTINS && tracer != UFT_TRACER_NOP)
		n = 0;
	while (n && !ret && uft_stream_next(st, &e) > 0)
		if (e.kind == UFT_EV_DATA && UFT_EVENT_IS_NAMED(e.data) && e.type && e.type->index < n)
			count[e.type->index]++;
	for (uint32_t i = 0; i < n && !ret; i++) {
		const struct uft_event_type *type = uft_event_table_at(types, i);
		char key[300];

		if (!type || !count[i])
			continue;
		snprintf(key, sizeof(key), "event_%.128s:%.128s", type->system, type->name);
		put_number(f, key, count[i]);
	}
	free(count);
	return ret;
}

static int end(struct facts *f)
{
	FILE *out = f->table.out;

	if (f->table.form == UFT_FORM_JSON)
		fputs(f->nmissing ? "]}\n" : ",\n\"missing\":[]}\n", out);
	if (fflush(out) || ferror(out))
		return errno ? -errno : -EIO;
	return 0;
}

/**
 * uft_output_stat - print facts about a recording
 * @st:   the stream
 * @out:  where to; not closed
 * @form: lines, JSON or CSV
 *
 * Returns 0; -ENOMEM without information; or the error of @out. Context: control.
 */
int uft_output_stat(struct uft_stream *st, FILE *out, enum uft_form form)
{
	struct facts facts = { .table = { .out = out, .form = form, .column = columns, .ncolumns = 2 } }, *f = &facts;
	const struct uft_info *info = uft_stream_info(st);
	const struct uft_rescue *rescued = uft_stream_rescued(st);

	if (!info)
		return -ENOMEM;
	errno = 0;
	if (form == UFT_FORM_JSON)
		fputs("{\"report\":\"stat\",\"version\":1", out);
	else if (form == UFT_FORM_CSV)
		table_begin(&f->table, "stat");
	put_text(f, "format", info->format);
	put(f, "complete", info->complete ? "yes" : "no", info->complete ? "true" : "false");
	if (rescued) {		/* the recorder was killed */
		put_number(f, "rescued_bytes", rescued->bytes);
		put_number(f, "rescued_processes", rescued->slices);
		put_number(f, "rescued_unknown", rescued->unknown);
	}
	put_text(f, "tracer", uft_tracer_name(info->tracer));
	put_text(f, "cmdline", info->cmdline);
	put_text(f, "hostname", info->hostname);
	put_text(f, "uname", info->uname);
	put_number(f, "events", info->events);
	put_number(f, "calls", info->calls);
	put_number(f, "lost", info->lost);
	put_number(f, "lost_parts", info->lost_parts);
	put_number(f, "overwritten", info->overwritten);
	put_number(f, "duration_ns", info->duration_ns);
	put_number(f, "first_ns", info->first_ns);
	put_number(f, "tasks", info->ntasks);
	put_number(f, "cpus", info->ncpus);
	put_number(f, "objects", info->nobjects);
	put_number(f, "functions", info->nfuncs);
	put_number(f, "bytes", info->bytes);
	put_ratio(f, "bytes_per_event", info->bytes, info->events);
	put_ratio(f, "bytes_per_call", info->bytes, info->events ? info->calls : 0);	/* a profile holds sums */
	put_number(f, "damaged_bytes", info->damaged_bytes);
	if (put_events(f, st, info->tracer))
		return -ENOMEM;
	for (size_t i = 0; i < UFT_NCOUNTERS; i++) {
		char key[64];

		snprintf(key, sizeof(key), "counter_%s", counter_names[i] ? counter_names[i] : "unknown");
		put_number(f, key, info->counters[i]);
	}
	losses_each(info, rescued != NULL, put_missing, f);
	return end(f);
}
