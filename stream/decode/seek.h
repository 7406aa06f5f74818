/* SPDX-License-Identifier: MIT */
/*
 * seek.h - an index of a recording, so that a reader starts anywhere in it
 *
 * An index holds points: everything that the decoder knows between two events. A stream that is brought to a point goes
 * on exactly as a stream that came there from the start. Theory: seek.c. Context: control; several threads may use a
 * finished index.
 */
#ifndef UFT_STREAM_SEEK_H
#define UFT_STREAM_SEEK_H

#include "stream/file/sidecar.h"
#include "stream/stream.h"

struct uft_index;

/* ---- Making one: hand it every batch of a stream that is at its start and selects nothing ---- */
/* Begins an index with a point about every @every events; 0: the distance for files. NULL: no memory. */
struct uft_index *uft_index_new(struct uft_stream *st, uint64_t every);
/* Adds @n events; call it after uft_stream_batch() gave them. 0, -ENOMEM, or -E2BIG: too many tasks for an index. */
int uft_index_add(struct uft_index *ix, struct uft_stream *st, const struct uft_event *ev, size_t n);
/*
 * Appends @part, made from a stream that began where that of @ix ended (parts.h) and has the same tasks. 0 or -ENOMEM.
 */
int uft_index_join(struct uft_index *ix, const struct uft_index *part);
/* Ends the index; call it when the stream is at its end. Counts what uft_stream_info() tells. 0, -ENOMEM or -E2BIG. */
int uft_index_finish(struct uft_index *ix, struct uft_stream *st);
const struct rd_file *uft_stream_recording(const struct uft_stream *st); /* for sidecar.h */
/* Writes the index beside the recording at @path, as PATH.index, in place of an older one. 0 or a negative errno. */
int uft_index_save(const struct uft_index *ix, const char *path);
/* Both return 0 with a finished index in *out; -ENOMEM, -E2BIG, or the error of opening @path. */
int uft_index_make(const char *path, struct uft_index **out, struct uft_error *err);

/* ---- Using one ---- */
/* Opens PATH.index. -ENOENT: no index of this recording as it is now; another errno: it cannot be read. */
int uft_index_open(const char *path, struct uft_stream *st, struct uft_index **out);
void uft_index_close(struct uft_index *ix);

size_t uft_index_points(const struct uft_index *ix); /* at least 1: point 0 is the start */
uint64_t uft_index_events(const struct uft_index *ix); /* in the recording */
uint64_t uft_index_bytes(const struct uft_index *ix);
/* Returns the last point before all events of @ns and later. */
size_t uft_index_find_ns(const struct uft_index *ix, uint64_t ns);
uint64_t uft_index_point_event(const struct uft_index *ix,
			       size_t point); /* number of the event that comes next there */

/*
 * Brings @st, of the same recording, to a point. 0, -ENOMEM, or -EBADMSG: the index is damaged, and @st is at its
 * start.
 */
int uft_stream_seek(struct uft_stream *st, const struct uft_index *ix, size_t point);
/*
 * Brings @st, which has given no event yet, to where its selection begins, and gives it the counts for
 * uft_stream_info(). Returns as above.
 */
int uft_stream_seek_selection(struct uft_stream *st, const struct uft_index *ix);

/* ---- The file: all numbers are little endian ---- */
#define INDEX_MAGIC 0x3358444e49544655ull /* "UFTINDX3" */

struct index_head {
	uint64_t magic;
	struct sidecar_mark of;
	uint64_t table, directory;	   /* offsets: table of tasks and counts; directory, which ends the file */
	uint64_t npoints;
	uint64_t body_sum; /* of table and directory */
	uint64_t sum;	   /* of this head so far */
};
_Static_assert(sizeof(struct index_head) == 72, "file format");

struct index_point {
	uint64_t latest_ns; /* the latest time of the events before; 0: none */
	uint64_t event;	    /* number of the events before */
	uint64_t at, bytes, sum;
};
_Static_assert(sizeof(struct index_point) == 40, "file format");

#endif
