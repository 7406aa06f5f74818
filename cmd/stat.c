/* SPDX-License-Identifier: MIT */
/* stat.c - uft stat: print facts of a recording, one `key: value` a line */
#include <errno.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/input.h"
#include "cmd/livestat.h"
#include "cmd/options.h"
#include "output/output.h"

struct stat_opts {
	const char *input, *session, *instance;
	int json, csv;
};

static const struct cmd_option stat_options[] = {
	CMD_INPUT(offsetof(struct stat_opts, input)),
	{ "session", 'S', "PID",
		"ask the session that process PID serves instead of a recording; -: the current or only one",
	  cmd_string, offsetof(struct stat_opts, session), NULL },
	{ "instance", 'B', "NAME", "with -S: use this instance instead of the top", cmd_string,
		offsetof(struct stat_opts, instance), NULL },
	{ "json", 0, NULL, "print one JSON object", cmd_flag, offsetof(struct stat_opts, json), NULL },
	{ "csv", 0, NULL, "print CSV: key and value", cmd_flag, offsetof(struct stat_opts, csv), NULL },
	{ 0 }
};

static const struct cmd_syntax stat_syntax = {
	"stat", "[OPTIONS] [FILE]",
	"Print facts about the recording FILE (default " CMD_DEFAULT_FILE "), one key: value per line.",
	stat_options, 0
};

int cmd_stat(int argc, char **argv)
{
	struct uft_select all = { 0 };
	struct uft_error err = { "" };
	struct uft_stream *st;
	struct stat_opts o = { 0 };
	enum uft_form form;
	int done = cmd_parse(&stat_syntax, &argc, argv, &o);
	int ret;

	if (done >= 0)
		return done;
	if (o.instance && !o.session)
		return cmd_usage(&stat_syntax, "-B names an instance of a session: name the session with -S");
	if (o.json && o.csv)
		return cmd_usage(&stat_syntax, "--json and --csv exclude each other");
	form = o.json ? UFT_FORM_JSON : o.csv ? UFT_FORM_CSV : UFT_FORM_TEXT;
	if (o.session && argc < 2 && !o.input)
		return cmd_live_stat(o.session, o.instance, form);
	if (o.session)
		return cmd_usage(&stat_syntax, "a recording or a session, not both");
	if (argc > 2 || (argc > 1 && o.input))
		return cmd_usage(&stat_syntax, "one file at a time, not also '%s'", argv[argc - 1]);
	if (cmd_input_open(argc > 1 ? argv[1] : o.input, &all, &st, &err) < 0)
		return cmd_fail("stat", "%s", err.text);
	uft_stream_info(st);
	if (uft_stream_check_file(st, &err)) {
		cmd_input_close(st);
		return cmd_fail("stat", "%s", err.text);
	}
	ret = uft_output_stat(st, stdout, form);
	cmd_input_close(st);
	return ret && ret != -EPIPE ? cmd_fail("stat", "%s", strerror(-ret)) : 0;
}
