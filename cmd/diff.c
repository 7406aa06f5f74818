/* SPDX-License-Identifier: MIT */
/* diff.c - uft diff: compare recordings of two programs, or of two runs of one program; conditions for CI */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "symbol/tracer.h"
#include "cmd/input.h"
#include "cmd/options.h"
#include "cmd/symbols.h"
#include "output/output.h"
#include "symbol/clean.h"

#define STATUS_HOLDS	3		/* a --fail-if holds */
#define MIN_DEFAULT	UINT32_MAX
/* share of the whole time; text leaves smaller changes out, of which there are many */
#define MIN_TEXT	0.001

struct diff_opts {
	struct cmd_list conditions;
	int json, csv, no_pager, wide;
	uint32_t limit, min;		/* min: millionths */
};

#define F(field) offsetof(struct diff_opts, field)
static const struct cmd_option diff_options[] = {
	{ "fail-if", 0, "CONDITION", "exit with status 3 if it holds: 'p99(work) > 1.1x'; may be repeated", cmd_strings,
		F(conditions), NULL },
	{ "limit", 'n', "N", "print at most N rows", cmd_uint, F(limit), NULL },
	{ "min", 0, "PERCENT", "leave out changes below this share of the time; default 0.1 in text, 0 in JSON and CSV",
		cmd_percent_or_0, F(min), NULL },
	{ "json", 0, NULL, "print the table as JSON", cmd_flag, F(json), NULL },
	{ "csv", 0, NULL, "print the table as CSV", cmd_flag, F(csv), NULL },
	{ "wide", 'w', NULL, "show total time and 99th percentile of both sides as well", cmd_flag, F(wide), NULL },
	CMD_DEMANGLE_OPTION,
	CMD_NO_PAGER(F(no_pager)),
	{ 0 }
};
#undef F

static const struct cmd_syntax diff_syntax = {
	"diff", "[OPTIONS] A B [A2 B2 ...]",
	"Print what changed from recording A to recording B, by call path. Further pairs are more runs of the same two programs: "
	"they tell change from noise.",
	diff_options, 0
};

/* 0, or an exit status after an error. */
static int add_file(struct uft_diff *d, int side, const char *path)
{
	struct uft_select all = { .ends = 1, .no_parents = 1, .needs_times = 1 };
	struct uft_error err = { "" };
	struct uft_stream *st;
	uint32_t tracer;
	int ret;

	if (cmd_input_open(path, &all, &st, &err) < 0)
		return cmd_fail("diff", "%s", err.text);
	tracer = uft_stream_tracer(st);
	if (uft_tracer(tracer)->has_no_returns) {
		cmd_input_close(st);
		return cmd_fail("diff",
				"%s: the recording has no calls with a duration: record it with -p function_graph",
				path);
	}
	ret = uft_diff_add(d, side, st);
	if (!ret)
		ret = uft_stream_check_file(st, &err);
	cmd_input_close(st);
	return ret && err.text[0] ? cmd_fail("diff", "%s", err.text) :
	       ret ? cmd_fail("diff", "%s: %s", path, strerror(-ret)) : 0;
}

/* An exit status. */
static int check(struct uft_diff *d, const struct cmd_list *conditions, FILE *out)
{
	int status = 0;

	for (size_t i = 0; i < conditions->n; i++) {
		int ret = uft_diff_check(d, conditions->item[i], out);

		if (ret == -ENOENT)
			return cmd_fail("diff", "--fail-if: no function of the recordings is meant by '%s'",
					conditions->item[i]);
		if (ret < 0)
			return cmd_fail("diff", "%s", strerror(-ret));
		if (ret)
			status = STATUS_HOLDS;
	}
	return status;
}

static int print(struct uft_diff *d, const struct diff_opts *o, const char *a, const char *b)
{
	struct uft_report_opts table = {
		.form = o->json ? UFT_FORM_JSON : o->csv ? UFT_FORM_CSV : UFT_FORM_TEXT,
		.width = cmd_terminal_width(STDOUT_FILENO), .limit = o->limit, .is_wide = o->wide,
		.min_share = o->min != MIN_DEFAULT ? o->min / 1e6 : o->json || o->csv ? 0 : MIN_TEXT,
	};
	struct cmd_output *out = cmd_output_open(o->no_pager);
	int ret, closed, status = 0;

	if (!out)
		return cmd_fail("diff", "%s", strerror(ENOMEM));
	if (table.form == UFT_FORM_TEXT) {
		fputs("# A: ", cmd_output_file(out));
		uft_put_clean(cmd_output_file(out), a);
		fputs("\n# B: ", cmd_output_file(out));
		uft_put_clean(cmd_output_file(out), b);
		putc('\n', cmd_output_file(out));
	}
	ret = uft_diff_print(d, cmd_output_file(out), &table);
	if (!ret)
		status = check(d, &o->conditions, table.form == UFT_FORM_TEXT ? cmd_output_file(out) : stderr);
	closed = cmd_output_close(out);
	ret = ret == 0 || ret == -EPIPE ? closed : ret;
	return ret ? cmd_fail("diff", "%s", strerror(-ret)) : status;
}

static int run(struct diff_opts *o, int argc, char **argv)
{
	struct uft_diff *d;
	int done = cmd_parse(&diff_syntax, &argc, argv, o);

	if (done >= 0)
		return done;
	if (o->json && o->csv)
		return cmd_usage(&diff_syntax, "--json and --csv exclude each other");
	if (argc < 3 || argc % 2 == 0)
		return cmd_usage(&diff_syntax, "give recordings in pairs: A B, and for more runs A2 B2 and so on");
	for (size_t i = 0; i < o->conditions.n; i++)
		if (!uft_diff_is_condition(o->conditions.item[i]))
			return cmd_usage(&diff_syntax,
					 "--fail-if: '%s' is no condition: calls, total, self, avg, p50, p99 or max, a function in brackets, "
					 "< or >, and a limit: 1.1x (times A), 10ms, or a number of calls",
						 o->conditions.item[i]);
	d = uft_diff_new();
	if (!d)
		return cmd_fail("diff", "%s", strerror(ENOMEM));
	done = 0;
	for (int i = 1; i < argc && !done; i++)
		done = add_file(d, (i - 1) % 2, argv[i]);
	if (!done)
		done = print(d, o, argv[1], argv[2]);
	uft_diff_free(d);
	return done;
}

int cmd_diff(int argc, char **argv)
{
	struct diff_opts o = { .min = MIN_DEFAULT };
	int status = run(&o, argc, argv);

	free(o.conditions.item);
	return status;
}
