/* SPDX-License-Identifier: MIT */
/*
 * export.c - uft export: a recording in another format; the formats are rows of uft_exports[]
 *
 * A signal (Ctrl-C) ends the export at once: its handler removes the incomplete output and ends us by the same signal.
 * There are no other files to remove, as the file in which pages wait has no name (output/spool.c).
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/export.h"
#include "cmd/input.h"
#include "cmd/options.h"
#include "cmd/progress.h"
#include "cmd/selected.h"
#include "cmd/symbols.h"
#include "output/discard.h"
#include "output/export/sink.h"
#include "symbol/clean.h"
#include "symbol/tracer.h"

struct export_opts {
	int format;		/* index into uft_exports[], -1: by the name of the output */
	const char *output, *input;
	struct cmd_range range;
	struct cmd_numbers tids, pids, cpus;
	int lines, inlines;
};

#define FORMATS_MAX	32
static const char *format_names[FORMATS_MAX + 1];	/* from uft_exports[], filled before parsing */

static const struct cmd_option export_options[] = {
	{ "format", 'f', "FORMAT", "the format; default: by the ending of FILE",
	  cmd_choice, offsetof(struct export_opts, format), format_names },
	CMD_INPUT(offsetof(struct export_opts, input)),
	{ "output", 'o', "FILE", "write to FILE", cmd_string, offsetof(struct export_opts, output), NULL },
	{ "range", 'r', "A~B", "write only this part, counted from the first event: 0.5s~2s, 10ms~; or by time stamps",
		cmd_time_range,
	  offsetof(struct export_opts, range), NULL },
	{ "tid", 't', "LIST", "write only these threads: 1200,1204-1209", cmd_numbers,
		offsetof(struct export_opts, tids), NULL },
	{ "pid", 0, "LIST", "write only these processes, with all their threads", cmd_numbers,
		offsetof(struct export_opts, pids), NULL },
	{ "cpu", 'C', "LIST", "write only events of these CPUs", cmd_numbers, offsetof(struct export_opts, cpus),
		NULL },
	{ "lines", 0, NULL, "write where functions are defined, from debug information", cmd_flag,
		offsetof(struct export_opts, lines), NULL },
	{ "inlines", 0, NULL, "write inlined functions between callers and callees, from debug information", cmd_flag,
	  offsetof(struct export_opts, inlines), NULL },
	CMD_DEMANGLE_OPTION,
	{ 0 }
};

static const struct cmd_syntax export_syntax = {
	"export", "[-f FORMAT] -o FILE [RECORDING]",
	"Write RECORDING (default " CMD_DEFAULT_FILE ") in another format, for other tools.",
	export_options, 0
};

static void fill_format_names(void)
{
	for (size_t i = 0; uft_exports[i].name && i < FORMATS_MAX; i++)
		format_names[i] = uft_exports[i].name;
}

/* ---- Writing, until the end or a signal ------------------------------------------------------------------ */

static const int end_signals[CMD_NENDS] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP };

/* Written before the handler is there. */
static struct {
	const char *output, *last;
	struct stat before;		/* of the output */
	int was_there;
} writing;

/* Is an older file of that name still unchanged? */
static int is_as_before(const struct stat *now)
{
	const struct stat *was = &writing.before;

	return writing.was_there && now->st_dev == was->st_dev && now->st_ino == was->st_ino &&
		now->st_size == was->st_size &&
	       now->st_mtim.tv_sec == was->st_mtim.tv_sec && now->st_mtim.tv_nsec == was->st_mtim.tv_nsec;
}

static void on_end(int sig)
{
	struct stat now;

	export_sink_discard();
	if (stat(writing.output, &now) == 0 && S_ISREG(now.st_mode) && !is_as_before(&now))
		output_discard(writing.output, &now);
	progress_end();
	if (writing.last && write(STDERR_FILENO, writing.last, strlen(writing.last)) < 0)
		_exit(128 + sig);
	signal(sig, SIG_DFL);
	raise(sig);			/* once this returns */
}

static void on_nothing(int sig)
{
	(void)sig;
}

void cmd_watch_ends(void (*handler)(int sig), struct sigaction old[CMD_NENDS])
{
	struct sigaction action = { .sa_handler = handler };

	/* makes the write fail with EFBIG instead */
	sigaction(SIGXFSZ, &(struct sigaction){ .sa_handler = on_nothing }, NULL);
	sigfillset(&action.sa_mask);
	for (size_t i = 0; i < CMD_NENDS; i++)
		if (sigaction(end_signals[i], NULL, &old[i]) == 0 && old[i].sa_handler != SIG_IGN)
			sigaction(end_signals[i], &action, NULL);
}

static uint64_t file_bytes(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

int cmd_export_write(const struct uft_export *format, struct uft_stream *st, const char *input, const char *output,
		     const char *who,
		     int is_quiet, const char *last, const struct uft_export_opts *opts, struct uft_error *err)
{
	struct sigaction old[CMD_NENDS];
	int ret;

	writing.output = output;
	writing.last = last;
	writing.was_there = stat(output, &writing.before) == 0;
	cmd_watch_ends(on_end, old);
	if (!is_quiet)
		progress_begin(who, st, file_bytes(input));
	ret = format->write(st, output, opts, err);
	progress_end();
	for (size_t i = 0; i < CMD_NENDS; i++)
		sigaction(end_signals[i], &old[i], NULL);
	return ret;
}

/* ---- The command ------------------------------------------------------------------------------------------ */

/* The formats and the file name endings that select them. */
static void describe_formats(char *buf, size_t size)
{
	size_t len = 0;

	for (const struct uft_export *x = uft_exports; x->name && len < size; x++)
		len += (size_t)snprintf(buf + len, size - len, "%s%s%s%s%s", x == uft_exports ? "" : ", ", x->name,
					x->suffix ? " (" : "", x->suffix ? x->suffix : "", x->suffix ? ")" : "");
}

/* Is the output the input? Writing starts with truncation, so it must not be. */
static int is_same_file(const char *a, const char *b)
{
	struct stat sa, sb;

	return stat(a, &sa) == 0 && stat(b, &sb) == 0 && S_ISREG(sa.st_mode) && sa.st_dev == sb.st_dev &&
	       sa.st_ino == sb.st_ino;
}

static const struct uft_export *choose_format(const struct export_opts *o)
{
	return o->format >= 0 ? &uft_exports[o->format] : uft_export_find(o->output);
}

static struct uft_select selection(const struct export_opts *o, const struct uft_export *format)
{
	return (struct uft_select){
		.from_ns = o->range.from.ns, .to_ns = o->range.to.ns, .is_from_stamp = o->range.from.is_plain,
		.is_to_stamp = o->range.to.is_plain,
		.tids = o->tids.item, .ntids = o->tids.n, .pids = o->pids.item, .npids = o->pids.n,
		.cpus = o->cpus.item, .ncpus = o->cpus.n,
		.ends = !(format->takes & UFT_EXPORT_RECORDS),
		.needs_times = !(format->takes & UFT_EXPORT_RECORDS) || o->range.from.ns || o->range.to.ns,
	};
}

static void note_object(void *ctx, const char *object, const char *why)
{
	(void)ctx;
	fputs("uft export: no source lines of ", stderr);
	uft_put_clean(stderr, object);
	fprintf(stderr, ": %s\n", why);
}

static void warn_of_file(void *ctx, const char *sentence)
{
	(void)ctx;
	fprintf(stderr, "uft export: %s\n", sentence);
}

/* The names of the formats that take @what, for a message. */
static const char *formats_that_take(unsigned what, char *buf, size_t size)
{
	size_t len = 0;

	buf[0] = '\0';
	for (const struct uft_export *x = uft_exports; x->name && len < size; x++)
		if (x->takes & what)
			len += (size_t)snprintf(buf + len, size - len, "%s%s", len ? ", " : "", x->name);
	return buf;
}

static int run(struct export_opts *o, int argc, char **argv)
{
	struct uft_export_opts opts = { .note = note_object, .warn = warn_of_file };
	struct uft_select sel;
	struct uft_error err = { "" };
	const struct uft_export *format;
	struct uft_stream *st;
	const char *why;
	char formats[1024];
	int done, ret;

	fill_format_names();
	done = cmd_parse(&export_syntax, &argc, argv, o);
	if (done >= 0)
		return done;
	if (argc > 2 || (argc > 1 && o->input))
		return cmd_usage(&export_syntax, "one recording at a time, not also '%s'", argv[argc - 1]);
	if (!o->output)
		return cmd_usage(&export_syntax, "no output file given: -o FILE");
	if (argc > 1)
		o->input = argv[1];
	format = choose_format(o);
	describe_formats(formats, sizeof(formats));
	if (!format)
		return cmd_usage(&export_syntax, "the name '%s' does not say which format; choose one with -f: %s",
				 o->output, formats);
	if (o->lines && !(format->takes & UFT_EXPORT_LINES))
		return cmd_usage(&export_syntax, "--lines: the format %s has no place for source lines; these have: %s",
				 format->name, formats_that_take(UFT_EXPORT_LINES, formats, sizeof(formats)));
	if (o->inlines && !(format->takes & UFT_EXPORT_INLINES))
		return cmd_usage(&export_syntax,
				 "--inlines: the format %s has a row for each call, and inlined functions have none; these take them: %s",
				 format->name, formats_that_take(UFT_EXPORT_INLINES, formats, sizeof(formats)));
	opts.has_lines = o->lines;
	opts.has_inlines = o->inlines;
	if (is_same_file(o->output, o->input ? o->input : CMD_DEFAULT_FILE))
		return cmd_usage(&export_syntax, "'%s' is the recording itself", o->output);
	sel = selection(o, format);
	if (sel.to_ns && sel.to_ns <= sel.from_ns)
		return cmd_usage(&export_syntax, "the time selected ends before it begins");
	if (cmd_input_open(o->input, &sel, &st, &err) < 0)
		return cmd_fail("export", "%s", err.text);
	/* counting reads all of the file: only where it may say no */
	why = uft_export_why_not(format, uft_stream_tracer(st), uft_stream_tracer(st) != UFT_TRACER_PROFILE ||
				 uft_stream_info(st)->events > 0);
	if (why) {
		cmd_input_close(st);
		return cmd_fail("export", "%s cannot become a file of the format %s: %s",
				o->input ? o->input : CMD_DEFAULT_FILE, format->name, why);
	}
	ret = cmd_export_write(format, st, o->input ? o->input : CMD_DEFAULT_FILE, o->output, "uft export", 0, NULL,
			       &opts, &err);
	if (!ret && uft_output_losses(st, stderr))
		ret = uft_stream_check_file(st, &err);
	if (!ret)
		cmd_selected_note("export", o->input, st, &sel);
	cmd_input_close(st);
	if (ret)
		return cmd_fail("export", "%s", err.text[0] ? err.text : strerror(-ret));
	return 0;
}

int cmd_export(int argc, char **argv)
{
	struct export_opts o = { .format = -1 };
	int status = run(&o, argc, argv);

	free(o.tids.item);
	free(o.pids.item);
	free(o.cpus.item);
	return status;
}
