/* SPDX-License-Identifier: MIT */
/*
 * fake_stream.h - a struct uft_stream made by hand: the events a test wants, in the order it adds them
 *
 * Linked instead of stream/. Every call aborts the test when memory is short. Time stamps that the test
 * leaves at 0 go on by 100 ns from the event before.
 */
#ifndef UFT_TESTS_FAKE_STREAM_H
#define UFT_TESTS_FAKE_STREAM_H

#include "stream/stream.h"

struct uft_stream *fake_new(enum uft_tracer tracer, uint32_t ncpus);
struct uft_info *fake_info(struct uft_stream *st);
/* The same name, object and address give the same symbol. */
const struct uft_sym *fake_sym(struct uft_stream *st, const char *name, const char *object, uint64_t addr);
const struct uft_task *fake_task(struct uft_stream *st, uint32_t tid, const char *comm, const struct uft_image *img);
/* An image with one object of the given text range. */
const struct uft_image *fake_image(struct uft_stream *st, uint64_t start, uint64_t end);

struct uft_event *fake_add(struct uft_stream *st, enum uft_event_kind kind, uint32_t cpu, uint64_t ts_ns,
			   const struct uft_task *task, const struct uft_sym *sym);
void fake_func(struct uft_stream *st, uint32_t cpu, uint64_t ts_ns, const struct uft_task *task,
	       const struct uft_sym *sym, const struct uft_sym *parent);
void fake_entry(struct uft_stream *st, uint32_t cpu, uint64_t ts_ns, const struct uft_task *task,
		const struct uft_sym *sym, uint32_t depth);
void fake_exit(struct uft_stream *st, uint32_t cpu, uint64_t ts_ns, const struct uft_task *task,
	       const struct uft_sym *sym, uint32_t depth, uint64_t duration_ns);
void fake_lost(struct uft_stream *st, uint32_t cpu, uint64_t ts_ns, uint64_t n);
void fake_profile(struct uft_stream *st, const struct uft_profile_row *row);

/* Back to the start; @times > 1: gives all events so often, time going on. */
void fake_rewind(struct uft_stream *st, uint64_t times);

#endif
