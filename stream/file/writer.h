/* SPDX-License-Identifier: MIT */
/*
 * writer.h - drain live rings to a .uft file without delaying the target
 *
 * The caller hands over the arena and says which image each slice has. The writer copies committed bytes to the file as
 * they are. Each block has its own header, so blocks that were written before a crash of any process stay readable.
 * uft_file.h specifies the file's layout.
 */
#ifndef UFT_STREAM_WRITER_H
#define UFT_STREAM_WRITER_H

#include "stream/wire/uft_file.h"
#include "symbol/error.h"
#include "symbol/event_type.h"
#include "symbol/image.h"
#include "uft/abi.h"

struct uft_writer;
/* Whether ring data is packed. With `compress`, blocks that packing does not shorten are compressed. */
enum uft_writer_pack {
	UFT_PACK_NEVER,
	UFT_PACK_ALWAYS,
	UFT_PACK_IDLE,			/* while a CPU has nothing else to do (idle_cpu.h) */
};

struct uft_writer_opts {
	uint32_t tracer;		/* enum uft_tracer */
	const char *cmdline;		/* the recorded command */
	int compress;			/* zstd level, 0 none */
	enum uft_writer_pack pack;
	int overwrite;			/* rings keep the newest records: overwritten ones are no loss */
	int counts;			/* no times: UFT_FILE_COUNTER */
	uint64_t max_bytes;		/* of the file without its names; 0: until the disk is full */
	/*
	 * Gives two clock pairs, the first always the same, so that even the shortest recording has a line. A clock of
	 * 0 is not known yet. NULL: this machine's counter and CLOCK_MONOTONIC.
	 */
	void (*clock)(void *arg, uint64_t clock[2], uint64_t monotonic_ns[2]);
	void *clock_arg;
};

struct uft_writer_stats {
	uint64_t bytes, events, lost, overwritten;	/* while running: events: an estimate; overwritten: 0 */
	uint64_t plain_bytes;		/* ring data that UFT_PACK_IDLE did not pack for lack of CPU time */
	/* Set when a limit was reached: ring data is discarded, uncounted. The caller stops recording. */
	enum uft_stop stop;
	uint64_t stop_bytes;
};

int uft_writer_create(const char *path, const struct uft_arena *arena, const struct uft_writer_opts *opts,
		      struct uft_writer **out, struct uft_error *err);
/* Returns the descriptor of the file, which the writer owns. */
int uft_writer_file(const struct uft_writer *w);
/*
 * Process @pid has the slice from now on; the pid in the slice is not used. Call it in the thread of uft_writer_poll().
 */
int uft_writer_slice(struct uft_writer *w, uint32_t slice, uint32_t pid, const struct uft_image *img);
/* The same for a child of @ppid; 0: unknown. */
int uft_writer_child(struct uft_writer *w, uint32_t slice, uint32_t pid, uint32_t ppid, const struct uft_image *img);
/* Task @tid in records of the slice has the number @outer in the recorder's pid namespace. Duplicates are fine. */
int uft_writer_outer(struct uft_writer *w, uint32_t slice, uint32_t tid, uint32_t outer);
/* Tasks and their names (called at thread discovery and at the end; duplicates are fine). */
int uft_writer_task(struct uft_writer *w, uint32_t pid, uint32_t tid, uint32_t ppid, uint32_t image, const char *comm);
/* Writes at once that a function is no longer traced, from @clock on. */
struct uft_writer_drop { uint32_t image, stub_id, cost_ppm, pid, why; uint64_t clock, calls_per_s; };
int uft_writer_drop(struct uft_writer *w, const struct uft_writer_drop *drop);
/* Writes the format of an event type at once, before its events; does nothing the second time. */
int uft_writer_format(struct uft_writer *w, const struct uft_event_type *type);
/*
 * Copies committed records. Returns bytes copied, or a negative errno (-ENOSPC: what is on disk stays readable; the
 * caller stops recording and reports it).
 */
int64_t uft_writer_poll(struct uft_writer *w);
/* Drains the slice for the last time and marks it DEAD -> FREE. */
int uft_writer_slice_end(struct uft_writer *w, uint32_t slice);
void uft_writer_stats(const struct uft_writer *w, struct uft_writer_stats *out);
/*
 * Writes images' objects and symbols, profile blocks, clock pairs and counters; closes the file. Sets *@total, unless
 * NULL, after the last drain of all rings, also on error.
 */
int uft_writer_finish(struct uft_writer *w, struct uft_writer_stats *total, struct uft_error *err);

#endif
