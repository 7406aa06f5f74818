/* SPDX-License-Identifier: MIT */
/*
 * folded.c - folded stacks: a line for each call path, `main;work;leaf 1234`, the number being its own time in ns
 *
 * Input for flamegraph.pl, speedscope, inferno and others. The numbers of all lines add up to the time of the
 * outermost calls. In a name `;` becomes `:` and control bytes become `?`; losses are one line `[N records
 * lost] 0`.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "output/export/export.h"
#include "symbol/array.h"
#include "symbol/tracer.h"
#include "output/export/sink.h"
#include "output/report/aggregate.h"
#include "output/report/table.h"

static void put_name(FILE *out, const char *s)
{
	for (unsigned n; *s; s += n ? n : 1) {
		n = table_utf8(s);
		if (!n)
			fputs("\xef\xbf\xbd", out);
		else if ((unsigned char)*s < 0x20 || *s == 0x7f)
			putc('?', out);
		else if (*s == ';')
			putc(':', out);
		else
			fwrite(s, 1, n, out);
	}
}

static int put_paths(const struct agg *a, FILE *out)
{
	uint32_t *path = NULL, cap = 0;

	for (uint32_t i = 1; i < a->nnodes && !ferror(out); i++) {
		uint32_t n = 0;

		if ((!a->node[i].self && !a->node[i].calls) || a->node[i].is_inlined)
			continue;
		for (uint32_t up = i; up; up = a->node[up].parent) {
			if (array_reserve(path, cap, n + 1)) {
				free(path);
				return -ENOMEM;
			}
			path[n++] = up;
		}
		while (n--) {
			put_name(out, a->func[a->node[path[n]].func].name);
			putc(n ? ';' : ' ', out);
		}
		fprintf(out, "%" PRIu64 "\n", a->node[i].self);
	}
	if (a->lost)
		fprintf(out, "[%" PRIu64 " record%s lost] 0\n", a->lost, a->lost == 1 ? "" : "s");
	free(path);
	return 0;
}

/* Adds the debug information that the user asked for. */
static int add_source(struct agg *a, const struct uft_export_opts *o, struct uft_error *err)
{
	struct agg_source source = { .err = err };
	int ret = 0;

	if (!o)
		return 0;
	source.note = o->note;
	source.ctx = o->ctx;
	if (o->has_inlines)
		ret = agg_find_inlined(a, &source);
	source.note = o->has_inlines ? NULL : o->note;
	return !ret && o->has_lines ? agg_find_source(a, &source) : ret;
}

int export_paths(struct uft_stream *st, const char *path, const struct uft_export_opts *o, struct uft_error *err,
		 int (*put)(struct uft_stream *st, struct agg *a, FILE *out))
{
	struct export_sink sink;
	struct agg a;
	int ret;

	if (uft_tracer(uft_stream_tracer(st))->has_no_returns) {
		snprintf(err->text, sizeof(err->text),
			 "the recording has no calls with a duration: record it with -p function_graph");
		return -EINVAL;
	}
	ret = agg_init(&a);
	if (!ret)
		ret = agg_add_threads(&a, st, UFT_BY_NONE, 0);
	if (!ret) {
		agg_finish(&a);
		ret = add_source(&a, o, err);
	}
	if (!ret) {
		ret = export_sink_open(&sink, path, err);
		if (!ret)
			ret = export_sink_finish(&sink, st, put(st, &a, sink.out), err);
	}
	agg_free(&a);
	return ret;
}

static int put(struct uft_stream *st, struct agg *a, FILE *out)
{
	(void)st;
	return put_paths(a, out);
}

int uft_export_folded(struct uft_stream *st, const char *path, const struct uft_export_opts *o, struct uft_error *err)
{
	return export_paths(st, path, o, err, put);
}
