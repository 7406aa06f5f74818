/* SPDX-License-Identifier: MIT */
/*
 * writer.h - drain live rings to a .uft file without delaying the target
 *
 * The caller hands over the arena and says which slice belongs to which image; the writer copies
 * committed sub-buffers to the file as they are (blocks with a header each: what was written before a
 * crash of any process stays readable). The file's layout is specified at the top of uft_file.h.
 */
#ifndef UFT_STREAM_WRITER_H
#define UFT_STREAM_WRITER_H

#include "stream/wire/uft_file.h"
#include "symbol/error.h"
#include "symbol/event_type.h"
#include "symbol/image.h"
#include "uft/abi.h"

struct uft_writer;
/* Whether ring data is packed; what is not shorter then is compressed, if that was asked for. */
enum uft_writer_pack {
	UFT_PACK_NEVER,
	UFT_PACK_ALWAYS,
	UFT_PACK_IDLE,			/* while a CPU has nothing else to do (idle_cpu.h) */
};

struct uft_writer_opts {
	uint32_t tracer;		/* enum uft_tracer */
	const char *cmdline;		/* what was recorded */
	int compress;			/* zstd level, 0 none */
	enum uft_writer_pack pack;
	int overwrite;			/* rings keep the newest records: overwritten ones are no loss */
	int counts;			/* no times: UFT_FILE_COUNTER */
	uint64_t max_bytes;		/* of the file, its names apart; 0: as long as the disk has room */
	/*
	 * Where clock pairs come from; NULL: this machine's counter and CLOCK_MONOTONIC. Each time two, the
	 * first the same always: how short ever a recording is, it has a line. A clock of 0 is one that is
	 * not known yet.
	 */
	void (*clock)(void *arg, uint64_t clock[2], uint64_t monotonic_ns[2]);
	void *clock_arg;
};

struct uft_writer_stats {
	uint64_t bytes, events, lost, overwritten;	/* while running: events: an estimate; overwritten: 0 */
	uint64_t plain_bytes;		/* of ring data that UFT_PACK_IDLE left as it was for lack of CPU time */
	/* Since a limit was reached ring data is discarded, uncounted. The caller stops recording. */
	enum uft_stop stop;
	uint64_t stop_bytes;
};

int uft_writer_create(const char *path, const struct uft_arena *arena, const struct uft_writer_opts *opts,
		      struct uft_writer **out, struct uft_error *err);
/* The descriptor of its file, the writer's own. */
int uft_writer_file(const struct uft_writer *w);
/* Process @pid has the slice from now on; the slice's own pid is not used. In the thread of uft_writer_poll(). */
int uft_writer_slice(struct uft_writer *w, uint32_t slice, uint32_t pid, const struct uft_image *img);
/* The same of a child of @ppid; 0 unknown. */
int uft_writer_child(struct uft_writer *w, uint32_t slice, uint32_t pid, uint32_t ppid, const struct uft_image *img);
/* Records of the slice call a task @tid, and here, in another pid namespace, it is @outer. Duplicates are fine. */
int uft_writer_outer(struct uft_writer *w, uint32_t slice, uint32_t tid, uint32_t outer);
/* Tasks and their names (called at thread discovery and at the end; duplicates are fine). */
int uft_writer_task(struct uft_writer *w, uint32_t pid, uint32_t tid, uint32_t ppid, uint32_t image, const char *comm);
/* A function is not traced any more, since @clock; written at once. */
struct uft_writer_drop { uint32_t image, stub_id, cost_ppm, pid, why; uint64_t clock, calls_per_s; };
int uft_writer_drop(struct uft_writer *w, const struct uft_writer_drop *drop);
/* Events of this type will come; written at once, and once. */
int uft_writer_format(struct uft_writer *w, const struct uft_event_type *type);
/* Copies what is committed. Returns bytes copied, or negative errno (-ENOSPC: what is on disk stays
 * readable; the caller stops recording and says so). */
int64_t uft_writer_poll(struct uft_writer *w);
/* Drains the slice for the last time and marks it DEAD -> FREE. */
int uft_writer_slice_end(struct uft_writer *w, uint32_t slice);
void uft_writer_stats(const struct uft_writer *w, struct uft_writer_stats *out);
/*
 * Images' objects and symbols, profile blocks, clock calibration, counters, index; closes the file. *@total,
 * unless NULL: with the last look at all rings; also of what failed.
 */
int uft_writer_finish(struct uft_writer *w, struct uft_writer_stats *total, struct uft_error *err);

#endif
