/* SPDX-License-Identifier: MIT */
/* check.h - a recording in a temporary file and its events as text, to compare with what is expected */
#ifndef UFT_TESTS_STREAM_CHECK_H
#define UFT_TESTS_STREAM_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "stream/stream.h"
#include "tests/lib/synth.h"

#define T0	5000000000ull		/* clock of most scripts' first event; 32 bits wrap at 4294967296 * n */

struct check {
	char path[64];
	struct synth *s;
	struct uft_image *img;
	struct uft_writer *w;
	struct synth_at at;		/* of the next record; tests change what they need */
};

static inline void check_start(struct check *c, const struct synth_opts *o, uint32_t tracer)
{
	memset(c, 0, sizeof(*c));
	snprintf(c->path, sizeof(c->path), "/tmp/uft-stream-XXXXXX");
	close(mkstemp(c->path));
	c->s = synth_new(o);
	c->img = synth_image(1, 64);
	c->w = synth_writer(c->s, c->path, tracer, 0);
	assert_non_null(c->w);
	synth_begin(c->s, 0, 100, 1);
	assert_int_equal(uft_writer_slice(c->w, 0, 100, c->img), 0);
	assert_int_equal(uft_writer_task(c->w, 100, 100, 1, 1, "main"), 0);
	c->at = (struct synth_at){ 0, 0, 100, 100, T0 };
}

static inline void check_finish(struct check *c)
{
	struct uft_error err = { "" };

	if (uft_writer_finish(c->w, NULL, &err))
		fail_msg("finish: %s", err.text);
	c->w = NULL;
}

static inline void check_end(struct check *c)
{
	if (c->w)
		uft_writer_finish(c->w, NULL, NULL);
	unlink(c->path);
	uft_image_free(c->img);
	synth_free(c->s);
}

/* The records of most tests: @dt later than the one before, function by number. */
static inline void enter(struct check *c, uint64_t dt, uint32_t func)
{
	c->at.clock += dt;
	synth_entry(c->s, c->at, synth_stub_id(c->img, func));
}

static inline void leave(struct check *c, uint64_t dt, uint32_t func)
{
	c->at.clock += dt;
	synth_exit(c->s, c->at, synth_stub_id(c->img, func));
}

/* "ts cpu tid KIND name depth [duration self] [orphan] [call]" a line; ts relative to T0. malloc'd. */
static inline char *check_text(const char *path, const struct uft_select *sel)
{
	static const char *const kinds[] = { "FUNC", "ENTRY", "EXIT", "LEFT", "LOST" };
	struct uft_error err = { "" };
	struct uft_stream *st;
	struct uft_event ev;
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);
	int ret = uft_stream_open(path, sel, &st, &err);

	if (ret)
		fail_msg("open: %s", err.text);
	while ((ret = uft_stream_next(st, &ev)) == 1) {
		fprintf(f, "%lld %u %u %s", (long long)(ev.ts_ns - T0), ev.cpu, ev.task->tid, kinds[ev.kind]);
		if (ev.kind == UFT_EV_LOST)
			fprintf(f, " %llu", (unsigned long long)ev.lost);
		else
			fprintf(f, " %s", ev.sym->name);
		if (ev.kind == UFT_EV_FUNC && ev.parent)
			fprintf(f, " < %s", ev.parent->name);
		if (ev.kind == UFT_EV_ENTRY || ev.kind == UFT_EV_EXIT || ev.kind == UFT_EV_LEFT)
			fprintf(f, " %u", ev.depth);
		if (ev.kind == UFT_EV_EXIT)
			fprintf(f, " %llu %llu%s%s", (unsigned long long)ev.duration_ns,
				(unsigned long long)ev.self_ns, ev.flags & UFT_EVF_ORPHAN ? " orphan" : "",
				ev.flags & UFT_EVF_CALL ? " call" : "");
		fprintf(f, "\n");
	}
	assert_int_equal(ret, 0);
	uft_stream_close(st);
	fclose(f);
	return text;
}

static inline void check_events(struct check *c, const struct uft_select *sel, const char *expected)
{
	char *text;

	if (c->w)
		check_finish(c);
	text = check_text(c->path, sel);
	assert_string_equal(text, expected);
	free(text);
}

static inline struct uft_info check_info(const char *path)
{
	struct uft_error err = { "" };
	struct uft_stream *st;
	struct uft_info info;

	if (uft_stream_open(path, NULL, &st, &err))
		fail_msg("open: %s", err.text);
	info = *uft_stream_info(st);
	uft_stream_close(st);
	return info;		/* its texts are gone */
}

#endif
