/* SPDX-License-Identifier: MIT */
/* export.c - uft export: a recording in another format; the formats are rows of uft_exports[] */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/cmd.h"
#include "cmd/input.h"
#include "cmd/options.h"
#include "output/output.h"

struct export_opts {
	int format;		/* index into uft_exports[], -1: by the name of the output */
	const char *output, *input;
};

#define FORMATS_MAX	32
static const char *format_names[FORMATS_MAX + 1];	/* from uft_exports[], filled before parsing */

static const struct cmd_option export_options[] = {
	{ "format", 'f', "FORMAT", "what to write; without it, the ending of FILE decides",
	  cmd_choice, offsetof(struct export_opts, format), format_names },
	{ "input", 'i', "FILE", "the recording, as the operand", cmd_string, offsetof(struct export_opts, input), NULL },
	{ "output", 'o', "FILE", "where to write it", cmd_string, offsetof(struct export_opts, output), NULL },
	{ 0 }
};

static const struct cmd_syntax export_syntax = {
	"export", "[-f FORMAT] -o FILE [RECORDING]",
	"Writes RECORDING (default " CMD_DEFAULT_FILE ") in another format, for other tools.",
	export_options, 0
};

static void fill_format_names(void)
{
	for (size_t i = 0; uft_exports[i].name && i < FORMATS_MAX; i++)
		format_names[i] = uft_exports[i].name;
}

/* The formats and the file name endings that select them. */
static void describe_formats(char *buf, size_t size)
{
	size_t len = 0;

	for (const struct uft_export *x = uft_exports; x->name && len < size; x++)
		len += (size_t)snprintf(buf + len, size - len, "%s%s%s%s%s", x == uft_exports ? "" : ", ", x->name,
					x->suffix ? " (" : "", x->suffix ? x->suffix : "", x->suffix ? ")" : "");
}

/* Writing starts by cutting the output to nothing: it must not be what is read. */
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

int cmd_export(int argc, char **argv)
{
	struct export_opts o = { .format = -1 };
	struct uft_select all = { 0 };
	struct uft_error err = { "" };
	const struct uft_export *format;
	struct uft_stream *st;
	char formats[512];
	int done, ret;

	fill_format_names();
	done = cmd_parse(&export_syntax, &argc, argv, &o);
	if (done >= 0)
		return done;
	if (argc > 2 || (argc > 1 && o.input))
		return cmd_usage(&export_syntax, "one recording at a time, not also '%s'", argv[argc - 1]);
	if (!o.output)
		return cmd_usage(&export_syntax, "-o FILE is missing: where to write");
	if (argc > 1)
		o.input = argv[1];
	format = choose_format(&o);
	describe_formats(formats, sizeof(formats));
	if (!format)
		return cmd_usage(&export_syntax, "the name '%s' does not say which format; choose one with -f: %s",
				 o.output, formats);
	if (is_same_file(o.output, o.input ? o.input : CMD_DEFAULT_FILE))
		return cmd_usage(&export_syntax, "'%s' is the recording itself", o.output);
	if (cmd_input_open(o.input, &all, &st, &err) < 0)
		return cmd_fail("export", "%s", err.text);
	ret = format->write(st, o.output, &err);
	uft_stream_close(st);
	if (ret)
		return cmd_fail("export", "%s", err.text[0] ? err.text : strerror(-ret));
	return 0;
}
