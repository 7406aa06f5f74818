/* SPDX-License-Identifier: MIT */
/*
 * take.c - take the content of a buffer at a certain moment: as a snapshot, or as text on standard error
 *
 * All of it belongs to the owner. A snapshot changes under pipe_lock, since other threads read its pages.
 */
#include "tree/core/tree_internal.h"
#include "symbol/tracer.h"

#include <errno.h>
#include <string.h>

/* ---- Snapshots -------------------------------------------------------------------------------- */

/* Replaces the snapshot under pipe_lock: a reader of pages may be using the old one. */
static void put(struct instance *in, struct uft_live *frozen)
{
	struct uft_live *before = in->frozen;

	pthread_mutex_lock(&in->t->pipe_lock);
	raw_forget(in, UFT_LIVE_ALL);
	in->frozen = frozen;
	pthread_mutex_unlock(&in->t->pipe_lock);
	uft_live_destroy(before);
}

void snapshot_clear(struct instance *in, uint32_t cpu)
{
	pthread_mutex_lock(&in->t->pipe_lock);
	raw_forget(in, cpu);
	uft_live_clear(in->frozen, cpu);
	pthread_mutex_unlock(&in->t->pipe_lock);
}

int snapshot_is_used(const struct instance *in)
{
	return uft_tracer_is_latency(in->set.tracer);
}

int snapshot_take(struct instance *in, uint64_t until)
{
	struct uft_live *frozen;
	int ret = uft_live_take(in->live, UFT_LIVE_ALL, until, &frozen);

	if (ret)
		return ret;
	put(in, frozen);
	return 0;
}

/* Makes an empty snapshot. A snapshot that was taken stays, as in the kernel. */
int snapshot_allocate(struct instance *in)
{
	struct uft_live *frozen;
	int ret;

	if (in->frozen)
		return 0;
	ret = uft_live_take(in->live, UFT_LIVE_ALL, 0, &frozen);
	if (ret)
		return ret;
	uft_live_clear(frozen, UFT_LIVE_ALL);
	put(in, frozen);
	return 1;
}

void snapshot_free(struct instance *in)
{
	put(in, NULL);
}

/* ---- Dumps ------------------------------------------------------------------------------------ */

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
		.flags = (option_text_flags(in->set.options) & ~(uint32_t)(UFT_TEXT_RAW | UFT_TEXT_HEX | UFT_TEXT_BIN |
			UFT_TEXT_VERBOSE)) |
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
		goto out;
	to_server(in, "Dumping ftrace buffer:\n", 23);
	if (uft_stream_info(st)->events) {
		to_server(in, RULER, strlen(RULER));
		ret = print(in, st);
		to_server(in, RULER, strlen(RULER));
	} else {
		to_server(in, "   (ftrace buffer empty)\n", 25);
	}
	uft_stream_close(st);
out:
	uft_live_destroy(frozen);
	return ret;
}
