/* SPDX-License-Identifier: MIT */
/* recorder.h - the writer of a recording in a thread of its own; theory in recorder.c. Context: control. */
#ifndef UFT_CMD_RECORDER_H
#define UFT_CMD_RECORDER_H

#include "stream/file/writer.h"

struct recorder;

/* Creates the file and starts the thread. */
int recorder_start(const char *path, const struct uft_arena *arena, const struct uft_writer_opts *opts,
		   struct recorder **out, struct uft_error *err);

int recorder_file(const struct recorder *r);	/* its descriptor, the recorder's own */

/* Holds messages back until the release, the next recorder_sync_images(), the end of a slice, or the end. */
void recorder_hold(struct recorder *r);
void recorder_release(struct recorder *r);

/* The session's news, in the order in which they come; never blocks on the disk. */
void recorder_slice_begin(struct recorder *r, uint32_t slice, uint32_t pid, uint32_t ppid, const struct uft_image *img);
void recorder_slice_end(struct recorder *r, uint32_t slice);
void recorder_task(struct recorder *r, uint32_t pid, uint32_t tid, uint32_t ppid, uint32_t image, const char *comm);
void recorder_outer(struct recorder *r, uint32_t slice, uint32_t tid, uint32_t outer);

void recorder_drop(struct recorder *r, const struct uft_writer_drop *drop);
/* Events of this type will come. It stays in the session's table. */
void recorder_format(struct recorder *r, const struct uft_event_type *type);

/* Tells the writer about newly loaded objects; call it after each round of the session. */
void recorder_sync_images(struct recorder *r);

/* 0, or the negative errno of the first failed write: after it nothing is written. */
int recorder_error(struct recorder *r);
void recorder_stats(struct recorder *r, struct uft_writer_stats *out);

/* Writes what is left, ends the thread, completes the file; frees @r. The arena must still be there. */
int recorder_finish(struct recorder *r, struct uft_writer_stats *stats, struct uft_error *err);

#endif
