/* SPDX-License-Identifier: MIT */
/*
 * recording.h - a recording that is looked at: its indices, made in the background, and answers about parts of it
 *
 * One worker thread makes what takes long (the index of all, those of filters, reports); one other thread asks. Theory:
 * recording.c. Times are ns from the first event on.
 */
#ifndef UFT_VIEW_RECORDING_H
#define UFT_VIEW_RECORDING_H

#include "view/json.h"
#include "view/lod.h"

struct recording;

/* 0, or negative errno and a sentence. The worker begins at once. */
int recording_open(const char *path, struct recording **out, struct uft_error *err);
void recording_close(struct recording *r);
const char *recording_path(const struct recording *r);

/* ---- Answers, as JSON (doc/view-api.md): 0, or a negative errno: -EINVAL and *why says what is wrong with the
 * question, -ENOMEM ---- */
struct view_range {
	uint64_t from, to;
};

int recording_info(struct recording *r, struct json *j);
/* What a picture of @nrows rows needs. While the index of the filter is being made: state "working". */
int recording_tiles(struct recording *r, const char *filter, struct view_range range, uint32_t width,
		    const uint32_t *rows, size_t nrows, struct json *j, const char **why);
/* Events @first and following of those that match. */
int recording_list(struct recording *r, const char *filter, uint64_t first, uint32_t count, struct json *j,
		   const char **why);
/* The number of the first event at @t or later. */
int recording_row_at(struct recording *r, const char *filter, uint64_t t, struct json *j, const char **why);
/* The first event behind @first, or the last before it, whose text has @text in it; `more` says where to go on if it
 * took too long. */
int recording_search(struct recording *r, const char *filter, const char *text, uint64_t first, int is_back,
		     struct json *j, const char **why);
/* The call tree of a part, or the latencies of a function in it. @tid 0: of all tasks. */
int recording_tree(struct recording *r, struct view_range range, uint32_t tid, struct json *j, const char **why);
int recording_histogram(struct recording *r, struct view_range range, uint32_t tid, const char *func, struct json *j,
			const char **why);
/* Reads the file again, which has changed. */
int recording_reload(struct recording *r, struct json *j);

#endif
