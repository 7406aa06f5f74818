/* SPDX-License-Identifier: MIT */
/*
 * report.c - uft report: a recording as text
 *
 * Chooses the events and the view; output/ makes the views. Call trees, flame graphs and other views are rows of
 * `views` here, and a file each in output/.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/input.h"
#include "cmd/nameless.h"
#include "cmd/options.h"
#include "cmd/progress.h"
#include "cmd/recordopts.h"
#include "cmd/selected.h"
#include "cmd/symbols.h"
#include "output/output.h"
#include "symbol/text_file.h"
#include "symbol/tracer.h"
#include "tree/tree.h"

struct report_opts {
	int profile, tree, flat, timeline, json, csv, no_pager, follow, lines, inlines;
	const char *callers, *callees, *histogram;	/* patterns */
	int by;				/* enum uft_by */
	uint32_t depth, min;		/* min: millionths, MIN_DEFAULT not given */
	int sort, colour;
	uint32_t limit, threads;
	struct cmd_range range;
	struct cmd_moment from, to;
	struct cmd_numbers tids, pids, cpus;
	struct cmd_list funcs, events, symbols, options;
	uint32_t text;			/* enum uft_text_flags */
	int is_worst;			/* the selected cpus only limit the printed lines of a worst case */
	const char *input;
};

static const char *const sort_names[] = {
	[UFT_SORT_TOTAL] = "total", [UFT_SORT_SELF] = "self", [UFT_SORT_CALLS] = "calls",
	[UFT_SORT_AVG] = "avg", [UFT_SORT_MAX] = "max", [UFT_SORT_NAME] = "name", NULL
};

#define MIN_DEFAULT	UINT32_MAX
#define MIN_TEXT	0.005		/* share of the time: smaller nodes would make a tree too long to read */
static const char *const by_names[] = {
	[UFT_BY_NONE] = "all", [UFT_BY_TASK] = "task", [UFT_BY_PROCESS] = "process", [UFT_BY_PROGRAM] = "program",
	[UFT_BY_OBJECT] = "object", [UFT_BY_CPU] = "cpu", NULL
};

enum colour { COLOUR_AUTO, COLOUR_ALWAYS, COLOUR_NEVER };
static const char *const colour_names[] = { "auto", "always", "never", NULL };

/* A pattern of functions, or EVENT:FILTER. */
static int parse_func(const struct cmd_option *o, const char *text, void *field, struct uft_error *err)
{
	struct report_opts *opts = (struct report_opts *)((char *)field - offsetof(struct report_opts, funcs));

	return cmd_strings(o, text, uft_select_event_filter(text) ? &opts->events : &opts->funcs, err);
}

#define F(field) offsetof(struct report_opts, field)
static const struct cmd_option report_options[] = {
	CMD_INPUT(F(input)),
	{ "profile", 0, NULL, "print one row per function instead of events", cmd_flag, F(profile), NULL },
	{ "tree", 0, NULL, "print the call tree: each path with its calls and times", cmd_flag, F(tree), NULL },
	{ "flat", 0, NULL, "print one row per function; with --by for each task, process ...", cmd_flag, F(flat),
		NULL },
	{ "callers", 0, "GLOB", "print the callers of these functions, their callers, and so on", cmd_string,
		F(callers), NULL },
	{ "callees", 0, "GLOB", "print what these functions call", cmd_string, F(callees), NULL },
	{ "histogram", 0, "GLOB", "print how the durations of these functions are distributed", cmd_string,
		F(histogram), NULL },
	{ "timeline", 0, NULL, "print the calls per second over time", cmd_flag, F(timeline), NULL },
	{ "follow", 0, NULL, "print events, or the table again, while the recording grows", cmd_flag, F(follow), NULL },
	{ "by", 0, "KEY", "split --tree and --flat by task, process, program, object or cpu", cmd_choice, F(by),
		by_names },
	{ "depth", 'D', "N", "print at most N levels of a tree", cmd_uint, F(depth), NULL },
	{ "min", 0, "PERCENT", "leave out paths that take less of the time; default 0.5 in text, 0 in JSON and CSV",
		cmd_percent_or_0, F(min), NULL },
	{ "lines", 0, NULL, "show where each function of a table is defined, from debug information", cmd_flag,
		F(lines), NULL },
	{ "inlines", 0, NULL, "show inlined functions between callers and callees, from debug information", cmd_flag,
		F(inlines), NULL },
	{ "sort", 's', "KEY", "sort the profile's rows by KEY", cmd_choice, F(sort), sort_names },
	{ "limit", 'n', "N", "print at most N rows of a table", cmd_uint, F(limit), NULL },
	{ "threads", 0, "N", "read with at most N threads; default: as many as there are processors", cmd_uint,
		F(threads), NULL },
	{ "json", 0, NULL, "print the table as JSON", cmd_flag, F(json), NULL },
	{ "csv", 0, NULL, "print the table as CSV", cmd_flag, F(csv), NULL },
	{ "range", 'r', "A~B", "print only this part, counted from the first event: 0.5s~2s, 10ms~; or by time stamps",
		cmd_time_range, F(range), NULL },
	{ "from", 0, "TIME", "leave out earlier events: a time stamp, or a time after the first event (0.5, 10ms)",
		cmd_moment, F(from), NULL },
	{ "to", 0, "TIME", "leave out later events", cmd_moment, F(to), NULL },
	{ "func", 'F', "GLOB",
		"print only these functions: a glob, or GLOB:mod:OBJECT; or these events: 'EVENT: FILTER'; may be repeated",
		parse_func, F(funcs), NULL },
	{ "symbols", 0, "FILE",
		"take the program's names from FILE, in the format of nm; or OBJECT=FILE; may be repeated",
	  cmd_strings, F(symbols), NULL },
	CMD_DEMANGLE_OPTION,
	{ "tid", 't', "LIST", "print only these threads: 1200,1204-1209", cmd_numbers, F(tids), NULL },
	{ "pid", 0, "LIST", "print only these processes, with all their threads", cmd_numbers, F(pids), NULL },
	{ "cpu", 'C', "LIST", "print only events of these CPUs", cmd_numbers, F(cpus), NULL },
	{ "option", 'O', "NAME",
		"set an option of trace_options: funcgraph-tail, nofuncgraph-cpu, latency-format; may be repeated",
		cmd_strings,
	  F(options), NULL },
	{ "color", 0, "WHEN", "use colours; auto: on a terminal, unless NO_COLOR is set", cmd_choice, F(colour),
		colour_names },
	CMD_NO_PAGER(F(no_pager)),
	{ 0 }
};
#undef F

static const struct cmd_syntax report_syntax = {
	"report", "[OPTIONS] [FILE]",
	"Print the recording FILE (default " CMD_DEFAULT_FILE ") in the format of the kernel's trace file, or as a profile.",
	report_options, 0
};

/* ---- The command ---------------------------------------------------------------------------------------- */

static int is_tree(const struct report_opts *o)
{
	return o->tree || o->callers || o->callees || o->histogram || (o->flat && (o->by || o->lines || o->inlines));
}

static struct uft_select selection(const struct report_opts *o)
{
	const struct cmd_moment *from = o->from.ns ? &o->from : &o->range.from, *to = o->to.ns ? &o->to : &o->range.to;

	return (struct uft_select){
		.from_ns = from->ns, .to_ns = to->ns, .is_from_stamp = from->is_plain, .is_to_stamp = to->is_plain,
		.tids = o->tids.item, .ntids = o->tids.n, .pids = o->pids.item, .npids = o->pids.n,
		.cpus = o->cpus.item, .ncpus = o->cpus.n,
		.funcs = o->funcs.item, .nfuncs = o->funcs.n,
		.events = o->events.item, .nevents = o->events.n,
		.ends = o->profile || o->flat || is_tree(o),
		.no_parents = o->profile || o->flat || o->timeline || is_tree(o),
		.needs_times = o->profile || o->flat || o->timeline || is_tree(o) || from->ns || to->ns,
	};
}

/* -1 to go on. */
static int take_options(struct report_opts *o)
{
	uint32_t events = 0;

	for (size_t i = 0; i < o->options.n; i++) {
		int kinds = uft_tree_option(o->options.item[i], &o->text, &events);

		if (!kinds)
			return cmd_no_trace_option(&report_syntax, o->options.item[i]);
		if (kinds & UFT_OPTION_OTHER)
			return cmd_usage(&report_syntax, "--option: '%s' is for the tracing directory (man uft-shell)",
					 o->options.item[i]);
		if (!(kinds & UFT_OPTION_TEXT))
			return cmd_usage(&report_syntax,
					 "--option: '%s' changes what is recorded: give it to uft record",
					 o->options.item[i]);
	}
	return -1;
}

/* The tracer profile records no events: there is nothing else to show. */
static int is_profile_recording(struct uft_stream *st)
{
	return uft_stream_tracer(st) == UFT_TRACER_PROFILE;
}

/* Prints dropped functions by a stream of its own: their calls are counted in all of the file, whatever is selected. */
static int print_drops(const struct uft_stream *of, FILE *out, struct uft_error *err)
{
	struct uft_select all = { .no_parents = 1 };
	struct uft_drop_row row;
	struct uft_stream *st;
	int ret = uft_stream_open_again(of, &all, &st, err), checked;

	if (ret < 0)
		return ret;
	ret = uft_stream_drop(st, 0, &row) ? uft_output_drops(st, out) : 0;
	checked = uft_stream_check_file(st, err);
	ret = checked ? checked : ret;
	uft_stream_close(st);
	return ret;
}

static struct uft_report_opts table_opts(const struct report_opts *o, struct uft_error *err)
{
	return (struct uft_report_opts){
		.form = o->json ? UFT_FORM_JSON : o->csv ? UFT_FORM_CSV : UFT_FORM_TEXT,
		.width = cmd_terminal_width(STDOUT_FILENO),
		.sort = (enum uft_profile_sort)o->sort, .limit = o->limit, .threads = o->threads,
		.by = (enum uft_by)o->by, .depth = o->depth,
		.func = o->callers ? o->callers : o->callees ? o->callees : o->histogram,
		.has_lines = o->lines, .has_inlines = o->inlines, .err = err,
		.min_share = o->min != MIN_DEFAULT ? o->min / 1e6 : o->json || o->csv ? 0 : MIN_TEXT,
	};
}

static enum uft_tree_view view_of(const struct report_opts *o)
{
	return o->callers ? UFT_VIEW_CALLERS : o->callees ? UFT_VIEW_CALLEES : o->histogram ? UFT_VIEW_HISTOGRAM :
		o->flat ? UFT_VIEW_FLAT : UFT_VIEW_TREE;
}

/* Views exclude each other. An exit status, or -1 to go on. */
static int check_view(const struct report_opts *o)
{
	int nviews = o->profile + o->tree + o->flat + o->timeline + !!o->callers + !!o->callees + !!o->histogram;

	if (nviews > 1)
		return cmd_usage(&report_syntax,
				 "--profile, --tree, --flat, --callers, --callees, --histogram and --timeline exclude each other");
	if (o->json && o->csv)
		return cmd_usage(&report_syntax, "--json and --csv exclude each other");
	if (o->by && !o->tree && !o->flat)
		return cmd_usage(&report_syntax, "--by is for --tree and --flat");
	if ((o->lines || o->inlines) && (!is_tree(o) || o->histogram))
		return cmd_usage(&report_syntax,
				 "--lines and --inlines are for tables of functions: add --tree or --flat");
	if ((o->depth || o->min != MIN_DEFAULT) && !is_tree(o))
		return cmd_usage(&report_syntax, "--depth and --min are for trees: add --tree");
	return -1;
}

/* Text on standard error, and the exit status. */
static int fail_of_view(int error, const struct report_opts *o)
{
	struct uft_report_opts table = table_opts(o, NULL);

	if (error == -ENOENT && table.func)
		return cmd_fail("report", "no function of the recording matches '%s' (uft report --flat lists them)",
				table.func);
	if (error == -EINVAL && table.func)
		return cmd_fail("report", "'%s' is no pattern of names", table.func);
	return cmd_fail("report", "%s", strerror(-error));
}

/* Why there is no tree of this recording; NULL: there is. */
static const char *why_no_tree(struct uft_stream *st)
{
	return uft_tracer(uft_stream_tracer(st))->no_tree;
}

/*
 * A table is complete only after the whole file was read. It is made before the pager has the terminal, which shows the
 * progress meanwhile.
 */
static int make_table(struct uft_stream *st, const struct report_opts *o, const struct uft_report_opts *table,
		      char **text, size_t *n)
{
	FILE *f = open_memstream(text, n);
	int ret, checked, closed;

	if (!f)
		return -ENOMEM;
	progress_begin("uft report", st, 0);
	ret = o->timeline ? uft_output_timeline(st, f, table)
	    : is_tree(o) ? uft_output_tree(st, f, view_of(o), table)
			 : uft_output_profile(st, f, table);
	progress_end();
	checked = uft_stream_check_file(st, table->err);
	ret = checked ? checked : ret;
	closed = text_file_close(f, text);
	return ret ? ret : closed;
}

static int print_text(struct uft_stream *st, FILE *out, int colour, const struct uft_text_opts *opts)
{
	int ret;

	if (!isatty(STDOUT_FILENO))
		progress_begin("uft report", st, 0);
	ret = uft_output_text(st, out, colour, opts);
	progress_end();
	return ret;
}

/* Is anything selected beside functions? Sums can only be selected by function. */
static int is_part(const struct report_opts *o)
{
	return o->tids.n || o->pids.n || o->cpus.n || o->range.from.ns || o->range.to.ns || o->from.ns || o->to.ns;
}

static int print(struct uft_stream *st, const struct report_opts *o, int is_profile, struct uft_error *err)
{
	/* Decided before the pager stands between us and the terminal. */
	int colour = o->colour == COLOUR_ALWAYS || (o->colour == COLOUR_AUTO && cmd_is_colour(STDOUT_FILENO));
	struct uft_text_opts text = { .flags = o->text, .only_cpus = o->is_worst ? o->cpus.item : NULL,
		.nonly_cpus = o->is_worst ? o->cpus.n : 0 };
	struct uft_report_opts table = table_opts(o, err);
	int is_table = o->timeline || is_tree(o) || is_profile, ret = 0, closed;
	char *made = NULL;
	size_t n = 0;
	struct cmd_output *out;

	if (is_table)
		ret = make_table(st, o, &table, &made, &n);
	out = cmd_output_open(o->no_pager);
	if (!out) {
		free(made);
		return -ENOMEM;
	}
	if (is_table && !ret && fwrite(made, 1, n, cmd_output_file(out)) != n)
		ret = errno ? -errno : -EIO;
	if (!is_table)
		ret = print_text(st, cmd_output_file(out), colour, &text);
	free(made);
	if (!ret && table.form == UFT_FORM_TEXT)
		ret = print_drops(st, cmd_output_file(out), err);
	if (!ret && table.form == UFT_FORM_TEXT)
		ret = uft_output_rescued(st, cmd_output_file(out));
	if (!ret)
		ret = uft_output_losses(st, table.form == UFT_FORM_TEXT ? cmd_output_file(out) : stderr);
	if (!ret)
		ret = cmd_nameless_put(st, table.form == UFT_FORM_TEXT ? cmd_output_file(out) : stderr);
	closed = cmd_output_close(out);
	return ret == 0 || ret == -EPIPE ? closed : ret;
}

/*
 * Opens the recording. The worst case is searched on all CPUs: from a part of a thread's events, two stretches would
 * look like one. 0 or -errno.
 */
static int open_input(struct report_opts *o, struct uft_select *sel, struct uft_stream **st, struct uft_error *err)
{
	int ret = cmd_input_open(o->input, sel, st, err);

	if (ret >= 0)
		cmd_input_seek(o->input, sel, *st);
	if (ret < 0 || !sel->ncpus)
		return ret;
	if (!uft_tracer_is_latency(uft_stream_tracer(*st)))
		return ret;
	cmd_input_close(*st);
	sel->ncpus = 0;
	o->is_worst = 1;
	ret = cmd_input_open(o->input, sel, st, err);
	if (ret >= 0)
		cmd_input_seek(o->input, sel, *st);
	return ret;
}

static int is_table(const struct report_opts *o, struct uft_stream *st)
{
	return o->profile || o->flat || o->timeline || is_tree(o) || is_profile_recording(st);
}

/* Waits until the file has grown. */
static void wait_growth(const char *path, off_t size)
{
	struct stat now;

	do
		nanosleep(&(struct timespec){ .tv_sec = 1 }, NULL);
	while (stat(path, &now) == 0 && now.st_size == size);
}

/* ---- Events as they come ----------------------------------------------------------------------------------- */

/*
 * A recorder writes one ring after the other, so the end of a growing file has holes: earlier events of another CPU are
 * still to come. Looks are a second apart, in which the recorder writes all rings more than once. So events up to the
 * last one of the previous look are complete; all events are if the file has not grown.
 */
struct follow {
	uint64_t next_ns;	/* stamp of the first event that was not printed */
	uint64_t seen_ns;	/* stamp of the last event in the previous look */
	off_t bytes;		/* of the file then */
	int is_printed;		/* the header */
};

static int print_part(const struct report_opts *o, struct uft_select sel, uint64_t first_ns, uint64_t to_ns,
		      struct follow *f, struct uft_error *err)
{
	int colour = o->colour == COLOUR_ALWAYS || (o->colour == COLOUR_AUTO && cmd_is_colour(STDOUT_FILENO));
	struct uft_text_opts text = { .flags = o->text | (f->is_printed ? UFT_TEXT_NO_HEADER : 0) };
	struct uft_stream *st;
	int ret, checked;

	sel.from_ns = f->next_ns > first_ns ? f->next_ns - first_ns : 0;
	sel.to_ns = to_ns - first_ns + !(to_ns - first_ns);		/* 0 would be all */
	ret = cmd_input_open(o->input, &sel, &st, err);
	if (ret < 0)
		return ret;
	ret = uft_output_text(st, stdout, colour, &text);
	checked = uft_stream_check_file(st, err);
	ret = checked ? checked : ret;
	cmd_input_close(st);
	f->next_ns = to_ns + 1;
	f->is_printed = 1;
	return ret;
}

/* Prints the complete events and closes @st. 1: the file is complete and printed; 0; -errno. */
static int follow_once(struct uft_stream *st, const struct uft_select *sel, const struct report_opts *o,
		       struct follow *f, struct uft_error *err)
{
	const struct uft_info info = *uft_stream_info(st);
	uint64_t last_ns = info.first_ns + info.duration_ns, to_ns;
	struct stat now = { 0 };
	int ret = 0;

	stat(o->input ? o->input : CMD_DEFAULT_FILE, &now);
	to_ns = info.complete || now.st_size == f->bytes ? last_ns : f->seen_ns;
	f->seen_ns = last_ns;
	f->bytes = now.st_size;
	if (info.complete && uft_stream_rescued(st))
		ret = uft_output_rescued(st, stdout);
	cmd_input_close(st);
	if (!ret && info.first_ns && to_ns >= info.first_ns && to_ns >= f->next_ns)
		ret = print_part(o, *sel, info.first_ns, to_ns, f, err);
	return ret ? ret : info.complete;
}

static int follow_events(struct uft_stream *st, const struct uft_select *sel, const struct report_opts *o,
			 struct uft_error *err)
{
	struct follow f = { .bytes = -1 };
	struct uft_stream *last;
	int ret, checked;

	while ((ret = follow_once(st, sel, o, &f, err)) == 0) {
		nanosleep(&(struct timespec){ .tv_sec = 1 }, NULL);
		ret = cmd_input_open(o->input, sel, &st, err);
		if (ret < 0)
			return ret;
	}
	if (ret < 0)
		return ret == -EPIPE ? 0 : ret;
	ret = cmd_input_open(o->input, sel, &last, err);
	if (ret < 0)
		return ret;
	ret = uft_output_losses(last, stdout);
	checked = uft_stream_check_file(last, err);
	ret = checked ? checked : ret;
	cmd_input_close(last);
	return ret ? ret : fflush(stdout) ? -errno : 0;
}

/* Why events cannot be followed; NULL: they can. */
static const char *why_no_follow(const struct report_opts *o, struct uft_stream *st)
{
	enum uft_tracer_kind kind = uft_tracer_kind(uft_stream_tracer(st));

	if (o->range.from.ns || o->range.to.ns || o->from.ns || o->to.ns)
		return "--follow prints events as they come, which is no range: leave out --range, --from and --to";
	if (kind == UFT_KIND_SECTION || kind == UFT_KIND_WAKEUP)
		return "--follow: the worst case is known at the end";
	return NULL;
}

/* Once, or with --follow until the recorder has completed the file: @st is closed. 0 or -errno. */
static int print_all(struct uft_stream *st, struct uft_select *sel, struct report_opts *o, struct uft_error *err)
{
	const char *path = o->input ? o->input : CMD_DEFAULT_FILE;
	int ret, checked;

	for (;;) {
		struct stat now = { 0 };
		int is_last = !o->follow || uft_stream_info(st)->complete;

		if (o->follow && isatty(STDOUT_FILENO))
			fputs("\033[H\033[2J", stdout);
		stat(path, &now);
		ret = print(st, o, o->profile || o->flat || is_profile_recording(st), err);
		checked = uft_stream_check_file(st, err);
		ret = checked ? checked : ret;
		if ((!ret || ret == -ENOENT) && is_last && cmd_selected_note("report", o->input, st, sel) && ret)
			ret = -ENODATA;
		cmd_input_close(st);
		if (ret || is_last)
			return ret;
		wait_growth(path, now.st_size);
		ret = open_input(o, sel, &st, err);
		if (ret)
			return ret;
	}
}

static int run(struct report_opts *o, int argc, char **argv)
{
	struct uft_select sel;
	struct uft_error err = { "" };
	struct uft_stream *st;
	int done = cmd_parse(&report_syntax, &argc, argv, o);
	int ret;

	if (done >= 0)
		return done;
	if (argc > 2 || (argc > 1 && o->input))
		return cmd_usage(&report_syntax, "one file at a time, not also '%s'", argv[argc - 1]);
	if (argc > 1)
		o->input = argv[1];
	done = check_view(o);
	if (done >= 0)
		return done;
	done = take_options(o);
	if (done >= 0)
		return done;
	done = cmd_symbols_use("report", &o->symbols, NULL);
	if (done)
		return done;
	sel = selection(o);
	if (sel.to_ns && sel.to_ns <= sel.from_ns)
		return cmd_usage(&report_syntax, "the time selected ends before it begins");
	if (open_input(o, &sel, &st, &err) < 0)
		return cmd_fail("report", "%s", err.text);
	if ((o->json || o->csv) && !is_table(o, st)) {
		cmd_input_close(st);
		return cmd_usage(&report_syntax, "--json and --csv are for tables: add --flat or --tree");
	}
	if (o->follow && !is_table(o, st) && why_no_follow(o, st)) {
		const char *why = why_no_follow(o, st);

		cmd_input_close(st);
		return cmd_usage(&report_syntax, "%s", why);
	}
	if (is_part(o) && is_profile_recording(st)) {
		cmd_input_close(st);
		return cmd_usage(&report_syntax,
				 "%s has sums of calls, without time, CPU and task (record -p profile): only --func selects of them",
				 o->input ? o->input : CMD_DEFAULT_FILE);
	}
	if (is_tree(o) && why_no_tree(st)) {
		const char *why = why_no_tree(st);

		cmd_input_close(st);
		return cmd_fail("report", "%s: %s", o->input ? o->input : CMD_DEFAULT_FILE, why);
	}
	o->no_pager |= o->follow;
	ret = o->follow && !is_table(o, st) ? follow_events(st, &sel, o, &err) : print_all(st, &sel, o, &err);
	cmd_symbols_end("report");
	if (ret == -ENODATA)		/* which was said */
		return CMD_FAILED;
	return !ret ? 0 : err.text[0] ? cmd_fail("report", "%s", err.text) : fail_of_view(ret, o);
}

int cmd_report(int argc, char **argv)
{
	struct report_opts o = { .text = UFT_TEXT_REPORT, .min = MIN_DEFAULT };
	int status = run(&o, argc, argv);

	free(o.tids.item);
	free(o.pids.item);
	free(o.cpus.item);
	free(o.funcs.item);
	free(o.events.item);
	free(o.symbols.item);
	free(o.options.item);
	return status;
}
