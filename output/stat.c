/* SPDX-License-Identifier: MIT */
/* stat.c - facts about a recording, one `key: value` line each; keys never change their meaning */
#include <errno.h>
#include <inttypes.h>

#include "output/losses.h"
#include "output/output.h"
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

static void put_number(FILE *out, const char *key, uint64_t value)
{
	fprintf(out, "%s: %" PRIu64 "\n", key, value);
}

/* Text of a recording comes from elsewhere: it must stay one line. */
static void put_text(FILE *out, const char *key, const char *value)
{
	fprintf(out, "%s: ", key);
	uft_put_clean(out, value);
	putc('\n', out);
}

static void put_ratio(FILE *out, const char *key, uint64_t a, uint64_t b)
{
	fprintf(out, "%s: %.2f\n", key, b ? (double)a / (double)b : 0.0);
}

static void put_missing(void *out, const char *sentence)
{
	put_text(out, "missing", sentence);
}

/**
 * uft_output_stat - print what a recording is and what it holds
 * @st:  the stream
 * @out: where to; not closed
 *
 * Returns 0, -ENOMEM without information, or what @out failed with. Context: control.
 */
int uft_output_stat(struct uft_stream *st, FILE *out)
{
	const struct uft_info *info = uft_stream_info(st);
	const struct uft_rescue *rescued = uft_stream_rescued(st);

	if (!info)
		return -ENOMEM;
	errno = 0;
	put_text(out, "format", info->format);
	put_text(out, "complete", info->complete ? "yes" : "no");
	if (rescued) {		/* the recorder was killed */
		put_number(out, "rescued_bytes", rescued->bytes);
		put_number(out, "rescued_processes", rescued->slices);
		put_number(out, "rescued_unknown", rescued->unknown);
	}
	put_text(out, "tracer", uft_tracer_name(info->tracer));
	put_text(out, "cmdline", info->cmdline);
	put_text(out, "hostname", info->hostname);
	put_text(out, "uname", info->uname);
	put_number(out, "events", info->events);
	put_number(out, "calls", info->calls);
	put_number(out, "lost", info->lost);
	put_number(out, "lost_parts", info->lost_parts);
	put_number(out, "overwritten", info->overwritten);
	put_number(out, "duration_ns", info->duration_ns);
	put_number(out, "first_ns", info->first_ns);
	put_number(out, "tasks", info->ntasks);
	put_number(out, "cpus", info->ncpus);
	put_number(out, "objects", info->nobjects);
	put_number(out, "functions", info->nfuncs);
	put_number(out, "bytes", info->bytes);
	put_ratio(out, "bytes_per_event", info->bytes, info->events);
	put_ratio(out, "bytes_per_call", info->bytes, info->events ? info->calls : 0);	/* a profile holds sums */
	put_number(out, "damaged_bytes", info->damaged_bytes);
	for (size_t i = 0; i < UFT_NCOUNTERS; i++) {
		char key[64];

		snprintf(key, sizeof(key), "counter_%s", counter_names[i] ? counter_names[i] : "unknown");
		put_number(out, key, info->counters[i]);
	}
	losses_each(info, rescued != NULL, put_missing, out);
	if (fflush(out) || ferror(out))
		return errno ? -errno : -EIO;
	return 0;
}
