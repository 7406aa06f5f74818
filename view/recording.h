/* SPDX-License-Identifier: MIT */
/*
 * recording.h - open recordings: their indices, made in the background, and answers about parts of them
 *
 * Each recording has a worker thread that makes indices and reports, which take long; one other thread asks. Theory:
 * recording.c. Times are ns from the first event on.
 */
#ifndef UFT_VIEW_RECORDING_H
#define UFT_VIEW_RECORDING_H

#include "view/json.h"
#include "view/lod.h"

struct recording;

/*
 * Opens a recording, whose worker begins at once. @names: texts of all recordings that are shown together; they outlive
 * this one. 0, or negative errno and a sentence.
 */
int recording_open(const char *path, struct names *names, struct recording **out, struct uft_error *err);
void recording_stop(struct recording *r); /* ends the worker: of all, before the first is closed */
void recording_close(struct recording *r);
const char *recording_path(const struct recording *r);
/* -EAGAIN: the first index is not made yet (MADE_NOT, MADE_WORKING); 0: it is made; else the error of making it. */
int recording_state(struct recording *r);

/* ---- Questions -------------------------------------------------------------------------------------------------- */

#define SOURCES_MAX 64u
/* a row of the picture of several recordings: place << 20 | row; of a CPU: place << 20 | CPU | ROW_CPU */
#define ROW_PLACE 20u

/* The recordings that a question is about, on one clock. */
struct sources {
	size_t n;
	struct recording *file[SOURCES_MAX];
	uint64_t offset[SOURCES_MAX]; /* ns from the first event of all to the first of this one */
	int64_t shift[SOURCES_MAX];   /* ns that the user has added to its times */
	/* recordings of one boot of one machine; 0: their clocks are compared by the date */
	int is_aligned;
};

struct view_range {
	uint64_t from, to;
};

#define SHIFT_MAX 1000000000000000000 /* ns, 31 years: a date with it is below 2^63 ns */

/*
 * sources.c: sets the recordings of a question, several with @shift ns (at most SHIFT_MAX) added to the times of each.
 * -EAGAIN while an index of one is being made; -ENOMEM; or the error of making it.
 */
void sources_one(struct sources *s, struct recording *r);
int sources_all(struct sources *s, struct recording *const *file, const int64_t *shift, size_t n);

/*
 * Answers, as JSON (doc/view-api.md). 0, or a negative errno: -EINVAL and *why: the mistake of the question; -ENOMEM.
 */
int view_info(const struct sources *s, struct json *j);
/* A picture of some rows: @rows, whose members row, first_lane and behind_lane are set. */
struct tiles_asked {
	const char *filter;
	struct view_range range;
	uint32_t width; /* columns of the picture */
	const struct lod_asked *rows;
	size_t nrows;
	int is_packed; /* spans as varints behind the JSON */
};
/* The data of a picture. While the index of the filter is being made: state "working", and *is_packed is 0. */
int view_tiles(const struct sources *s, const struct tiles_asked *q, struct json *j, int *is_packed, const char **why);
/* Lists the matching events from number @first on. */
int view_list(const struct sources *s, const char *filter, uint64_t first, uint32_t count, struct json *j,
	      const char **why);
/* Finds the number of the first event at @t or later. */
int view_row_at(const struct sources *s, const char *filter, uint64_t t, struct json *j, const char **why);
/* Conditions of a search: an event must meet all of them. */
struct wanted {
	const char *text;	/* in its name or that of its task, in any case; "": any */
	/* the end of a call of that function, or its call where only entries are traced; "": any */
	const char *call;
	uint32_t tid;		/* of that thread; 0: any */
	uint64_t source;	/* of that recording of all; UINT64_MAX: any */
};
/*
 * Finds the first event behind @first, or the last before it, that meets @wanted. `more` is the place to continue at if
 * the search took too long.
 */
int view_search(const struct sources *s, const char *filter, const struct wanted *w, uint64_t first, int is_back,
		struct json *j, const char **why);

enum report_kind {
	REPORT_TREE, REPORT_HISTOGRAM, REPORT_PLOT, REPORT_COUNTERS, REPORT_DIFF, REPORT_EXPORT, REPORT_DETAILS,
	REPORT_SOURCE,
};
#define DETAILS_OF_EVENT UINT32_MAX
struct report_question {
	enum report_kind kind;
	struct view_range range;
	uint32_t tid, width;	 /* tid 0: all tasks. Of PLOT: width, how many parts of the range */
	uint32_t depth;		 /* DETAILS, SOURCE: of a call that begins with the range, or DETAILS_OF_EVENT */
	/*
	 * HISTOGRAM: a function. PLOT: f and a function, f: all calls, or e, EVENT.FIELD, and, to select by it, a
	 * newline and a track_name. EXPORT: a format. DETAILS, SOURCE: the name of an event, as in the list
	 */
	const char *text;
	const char *filter;	 /* TREE, HISTOGRAM, PLOT: only events that match */
	struct recording *other; /* DIFF: the recording to compare with */
};
/* An answer that takes a pass over the range. */
int view_report(const struct sources *s, const struct report_question *q, struct json *j, const char **why);
/* Opens the file of REPORT_EXPORT by the `export` number of its answer. Returns a new descriptor, or -ENOENT. */
int view_exported(struct recording *r, uint64_t number);

void put_working(struct json *j, double progress);
/* The error in words, for an answer. -ESTALE: the recording was truncated or overwritten while it was read. */
const char *view_error_text(int error);

/* Reads a changed file again. */
int recording_reload(struct recording *r, struct json *j);

#endif
