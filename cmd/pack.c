/* SPDX-License-Identifier: MIT */
/*
 * pack.c - uft pack: compress a recording, in place or to another file
 *
 * The result is written to a temporary file and renamed once it is complete and on the disk. Until then, and after a
 * signal or on a full disk, the recording is unchanged.
 */
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/export.h"
#include "cmd/input.h"
#include "cmd/options.h"
#include "cmd/progress.h"
#include "output/export/sink.h"
#include "stream/file/pack_file.h"

struct pack_opts { const char *output, *input; };

static const struct cmd_option pack_options[] = {
	CMD_INPUT(offsetof(struct pack_opts, input)),
	{ "output", 'o', "FILE", "write to FILE and keep RECORDING", cmd_string, offsetof(struct pack_opts, output),
		NULL },
	{ 0 }
};

static const struct cmd_syntax pack_syntax = {
	"pack", "[-o FILE] [RECORDING]",
	"Write RECORDING (default " CMD_DEFAULT_FILE ") in fewer bytes, in its place unless -o is given.",
	pack_options, 0
};

static void on_end(int sig)
{
	export_sink_discard();
	progress_end();
	signal(sig, SIG_DFL);
	raise(sig);
}

/* Gives the result the recording's mode. Refuses another user's recording, whose owner would change. */
static int prepare_in_place(const char *input, FILE *out, struct uft_error *err)
{
	struct stat st;

	if (stat(input, &st) < 0)
		return uft_fail(err, -errno, "%s: %s", input, strerror(errno));
	if (st.st_uid != geteuid())
		return uft_fail(err, -EPERM, "%s belongs to another user: give -o FILE", input);
	return fchmod(fileno(out), st.st_mode & 0777) < 0 ? -errno : 0;
}

/* A pipe is not on a disk. */
static int flush_to_disk(FILE *out)
{
	return fflush(out) || (fsync(fileno(out)) < 0 && errno != EINVAL && errno != EROFS) ? -errno : 0;
}

static int write_packed(const char *input, const char *output, struct uft_pack *pack, struct uft_error *err)
{
	struct sigaction old[CMD_NENDS];
	struct export_sink sink;
	struct stat st;
	int ret;

	cmd_watch_ends(on_end, old);
	ret = export_sink_open(&sink, output, err);
	if (ret)
		return ret;
	if (pack->is_in_place)
		ret = prepare_in_place(input, sink.out, err);
	progress_begin_bytes("uft pack", &pack->done, stat(input, &st) == 0 ? (uint64_t)st.st_size : 0);
	if (!ret)
		ret = uft_pack_file(input, sink.out, pack, err);
	if (!ret)
		ret = flush_to_disk(sink.out);
	progress_end();
	return export_sink_close(&sink, ret, err);
}

static void print_result(const struct uft_pack *pack)
{
	fprintf(stderr, "uft pack: %.1f MB are %.1f MB now\n", (double)pack->bytes / 1e6, (double)pack->packed / 1e6);
	if (pack->damaged)
		fprintf(stderr, "uft pack: %llu damaged bytes were left out\n", (unsigned long long)pack->damaged);
}

int cmd_pack(int argc, char **argv)
{
	struct pack_opts o = { 0 };
	struct uft_pack pack = { 0 };
	struct uft_error err = { "" };
	struct stat in, out;
	int ret, done = cmd_parse(&pack_syntax, &argc, argv, &o);

	if (done >= 0)
		return done;
	if (argc > 2 || (argc > 1 && o.input))
		return cmd_usage(&pack_syntax, "one recording at a time, not also '%s'", argv[argc - 1]);
	if (argc > 1)
		o.input = argv[1];
	if (cmd_input_check(o.input, &err) < 0)
		return cmd_fail("pack", "%s", err.text);
	if (!o.input)
		o.input = CMD_DEFAULT_FILE;
	pack.is_in_place = !o.output ||
		(stat(o.input, &in) == 0 && stat(o.output, &out) == 0 && in.st_dev == out.st_dev &&
		 in.st_ino == out.st_ino);
	ret = write_packed(o.input, o.output ? o.output : o.input, &pack, &err);
	if (ret)
		return cmd_fail("pack", "%s", err.text[0] ? err.text : strerror(-ret));
	print_result(&pack);
	return 0;
}
