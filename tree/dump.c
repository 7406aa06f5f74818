/* SPDX-License-Identifier: MIT */
/*
 * dump.c - the buffer as text for whoever serves: func:dump, func:cpudump, ftrace_dump_on_oops
 *
 * The kernel prints to its console; here the text goes to the standard error of the process that has the tree. The form is the kernel's,
 * with times from the first event on. What is printed is out of the buffer then.
 *
 * A program that crashed is one that the session started (uft shell PROGRAM) and that a signal of an error ended, or a shell that says
 * so of its last command; how others end nobody is told. By then its rings have been taken over.
 */
#include "tree/rows.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#define RULER	"---------------------------------\n"

static int to_server(void *arg, const char *p, size_t n)
{
	const struct instance *in = arg;

	in->t->opts.dump(in->t->opts.arg, p, n);
	return 0;
}

static int print(struct instance *in, struct uft_stream *st)
{
	struct uft_text_opts opts = {
		.tracer = in->set.tracer, .ncpus = tree_ncpus(in->t), .sink = to_server, .ctx = in,
		.flags = (option_text_flags(in->set.options) & ~(uint32_t)(UFT_TEXT_RAW | UFT_TEXT_HEX | UFT_TEXT_BIN | UFT_TEXT_VERBOSE)) |
			 UFT_TEXT_LATENCY | UFT_TEXT_NO_HEADER,
	};
	struct uft_printer *printer;
	int ret = uft_text_open(st, &opts, &printer);

	if (ret)
		return ret;
	while ((ret = uft_text_run(printer, SIZE_MAX)) > 0)
		;
	if (!ret)
		ret = uft_text_collect(printer, 1);
	uft_text_close(printer);
	return ret;
}

int dump_take(struct instance *in, uint32_t cpu, uint64_t until)
{
	struct uft_live *frozen = NULL;
	struct uft_stream *st = NULL;
	int ret = in->t->opts.dump ? uft_live_take(in->live, cpu, until, &frozen) : -EINVAL;

	if (!ret)
		ret = uft_live_snapshot(frozen, cpu, &st);
	if (ret)
		return ret;
	to_server(in, "Dumping ftrace buffer:\n", 23);
	if (uft_stream_info(st)->events) {
		to_server(in, RULER, strlen(RULER));
		ret = print(in, st);
		to_server(in, RULER, strlen(RULER));
	} else {
		to_server(in, "   (ftrace buffer empty)\n", 25);
	}
	uft_stream_close(st);
	uft_live_destroy(frozen);
	return ret;
}
