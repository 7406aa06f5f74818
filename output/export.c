/* SPDX-License-Identifier: MIT */
/* export.c - the table of export formats; a new one is a row here and a file beside this one */
#include <string.h>

#include "output/export/export.h"
#include "output/output.h"
#include "output/tracedat.h"
#include "symbol/tracer.h"

const struct uft_export uft_exports[] = {
	{ "trace.dat", ".dat", "trace-cmd and KernelShark, version 7, compressed with zstd", uft_tracedat_v7_zstd,
		UFT_EXPORT_RECORDS },
	{ "trace.dat-v7", NULL, "the same, not compressed", uft_tracedat_v7, UFT_EXPORT_RECORDS },
	{ "trace.dat-v6", NULL, "for trace-cmd before 3.0 and whatever else reads version 6", uft_tracedat_v6,
		UFT_EXPORT_RECORDS },
	{ "folded", ".folded", "folded stacks, for flame graph tools: own time of each call path in ns",
		uft_export_folded,
	  UFT_EXPORT_INLINES | UFT_EXPORT_TIMES },
	{ "svg", ".svg", "a flame graph in one file, for browsers", uft_export_svg,
	  UFT_EXPORT_LINES | UFT_EXPORT_INLINES | UFT_EXPORT_TIMES },
	{ "speedscope", ".speedscope.json", "JSON for speedscope", uft_export_speedscope,
	  UFT_EXPORT_LINES },
	{ "firefox", ".firefox.json", "JSON for the Firefox profiler", uft_export_firefox,
	  UFT_EXPORT_LINES },
	{ "chrome", ".json", "JSON of chrome://tracing, for Perfetto's viewer", uft_export_chrome, 0 },
	{ "perfetto", ".pftrace", "protobuf for Perfetto: track events of each task", uft_export_perfetto, 0 },
	{ "pprof", ".pb.gz", "protobuf for pprof: calls and own time of each call path", uft_export_pprof,
	  UFT_EXPORT_LINES | UFT_EXPORT_INLINES | UFT_EXPORT_TIMES },
	{ "ctf", ".ctf", "a directory in the Common Trace Format 1.8, for babeltrace2 and Trace Compass",
		uft_export_ctf, UFT_EXPORT_DIRECTORY },
	{ "sqlite", ".sqlite", "a database of SQLite, a row for each call", uft_export_sqlite,
	  UFT_EXPORT_LINES },
	{ "parquet-events", ".events.parquet", "the same of events, marks and losses", uft_export_parquet_events, 0 },
	{ "parquet", ".parquet", "a table of Apache Parquet, a row for each call", uft_export_parquet, 0 },
	{ "otlp", ".otlp", "protobuf for OpenTelemetry collectors, a span for each call", uft_export_otlp, 0 },
	{ NULL, NULL, NULL, NULL, 0 },
};

static int has_suffix(const char *name, const char *suffix)
{
	size_t n = strlen(name), s = suffix ? strlen(suffix) : 0;

	return s && n > s && !strcmp(name + n - s, suffix);
}

/**
 * uft_export_find - find the export format that a user names
 * @name: a format's name, or the name of a file to write
 *
 * Returns the row, or NULL. A format's own name wins over a suffix. Context: control.
 */
const struct uft_export *uft_export_find(const char *name)
{
	for (const struct uft_export *x = uft_exports; name && x->name; x++)
		if (!strcmp(x->name, name))
			return x;
	for (const struct uft_export *x = uft_exports; name && x->name; x++)
		if (has_suffix(name, x->suffix))
			return x;
	return NULL;
}

const char *uft_export_why_not(const struct uft_export *x, uint32_t tracer, int has_events)
{
	if (!has_events && tracer == UFT_TRACER_PROFILE)
		return "the tracer profile records sums of calls and no events: uft report prints them";
	if (x->takes & UFT_EXPORT_TIMES && uft_tracer(tracer)->has_no_returns)
		return "the recording has no calls with a duration: record it with -p function_graph";
	return NULL;
}
