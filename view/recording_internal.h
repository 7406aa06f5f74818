/* SPDX-License-Identifier: MIT */
/*
 * recording_internal.h - the state of an open recording, shared by its files
 *
 * views.c makes views (an index for each filter) and parts.c finer indices of parts of them; reports.c makes reports;
 * tiles.c, list.c and info.c answer from these, for the recordings of a question (sources.c); recording.c opens and
 * closes, and runs the worker. Theory: recording.c.
 */
#ifndef UFT_VIEW_RECORDING_INTERNAL_H
#define UFT_VIEW_RECORDING_INTERNAL_H

#include <pthread.h>
#include <sys/stat.h>

#include "stream/decode/seek.h"
#include "view/recording.h"

#define VIEWS 5u /* filters that are remembered, the empty one included */
#define REPORTS 16u
#define FINE 8u /* parts with a finer index */
#define BATCH 512u

enum made { MADE_NOT, MADE_WORKING, MADE_DONE, MADE_FAILED };

struct view {
	char *text; /* of the filter; NULL: the slot is free */
	struct view_filter *filter;
	struct lod *lod;
	uint64_t *before; /* by point of the index: matching events before it; NULL: all match */
	uint64_t matches, used;
	double progress;
	enum made made;
	int error;
};

struct report {
	int is_used;
	struct report_question q; /* texts are copies, or NULL */
	struct view_filter *filter;
	struct sources of;
	uint64_t generation; /* of all its sources */
	struct json answer;
	int fd;		 /* EXPORT: the file, whose only name this is; else -1 */
	uint64_t number; /* of a report: no two of a recording have the same */
	uint64_t used;
	double progress;
	enum made made;
	int error;
	int is_cancelled; /* atomic: its streams end, and it fails */
	char *why; /* a sentence about the error, or NULL */
};

struct fine {
	struct lod *lod;
	const struct lod *of;
	uint64_t from, to, used;
};

/* The view that the worker makes, and the latest requested meanwhile: earlier requests are outdated. */
struct part {
	struct view *v;
	uint64_t from, to;
};
struct order {
	struct view *v; /* being made */
	uint64_t from, to;
	enum made made;
	int is_cancelled, has_next;
	struct part next;
};

struct recording {
	char *path, name[64]; /* name: of the descriptor, in /proc */
	int fd, is_imported; /* imported: fd is the recording made of a trace.dat */
	struct stat stat;
	struct names *names; /* of all recordings that are shown together */
	struct rows rows;
	pthread_mutex_t lock;
	pthread_cond_t ordered;
	pthread_t worker;
	int has_worker, is_ending, is_stale, is_saving; /* stale: the worker's present job is of the old file */
	struct uft_index *index; /* made, or read, with the first view; then it does not change */
	uint64_t origin_ns, duration_ns, generation;
	struct uft_info info;
	uint64_t boot_ns; /* CLOCK_REALTIME when its clock was 0; 0: not known */
	uint64_t session; /* recordings of one session have one clock; 0: unknown */
	int is_latest_boot, is_other_clock; /* boot_ns is an upper bound; its clock is not CLOCK_MONOTONIC */
	int has_flags;	  /* its events are a kernel's, and have latency flags */
	char *cmdline, *hostname, *uname;
	struct json missing, drops, plots; /* arrays: sentences; functions that were dropped; what can be plotted */
	struct view view[VIEWS];
	struct report report[REPORTS];
	/* The first view so far, while it is made, and whether it was requested since. */
	struct preview {
		struct lod *lod; /* NULL: there is none */
		uint64_t events, duration_ns; /* so far; of the whole, as far as one can tell */
		uint32_t ncpus;
		int is_wanted;
	} preview;
	uint64_t clock;			 /* of uses */
	struct uft_stream *st, *part_st; /* the asking thread's; the worker's, for parts */
	struct fine fine[FINE];
	struct order order;
};

/* Opens a stream, with the lock held. A stream of the same kind as the first one opens faster. */
static inline int recording_stream(const struct recording *r, const struct uft_select *sel, struct uft_stream **st)
{
	struct uft_error err;

	return r->st ? uft_stream_open_again(r->st, sel, st, &err) : uft_stream_open(r->name, sel, st, &err);
}

/* The same, for a thread that does not hold the lock. */
int recording_stream_of(struct recording *r, const struct uft_select *sel, struct uft_stream **st);

/* ---- recording_file.c ---- */
int recording_open_file(struct recording *r, const char *path, struct uft_error *err); /* 0, or -errno and a sentence */
int recording_is_changed(const struct recording *r); /* at its name there is another file now, a longer one, or none */

/* ---- plot_fields.c ---- */
#define PLOT_VALUE "counter_value" /* of events that count, */
#define PLOT_TRACK "track_name"	   /* each of several things */
int plot_is_field(const struct uft_event_field *f);
const struct uft_event_field *plot_track_field(const struct uft_event_type *type); /* NULL: it has none */
int plot_put_choices(struct json *j, const struct uft_event_table *events); /* `EVENT.FIELD` of each, an array */

/* ---- info.c: with the lock held ---- */
/* Collects the recording's facts, once its first view is made. */
int info_describe(struct recording *r, struct uft_stream *st);
void info_forget(struct recording *r);

/* ---- views.c: all but view_make() with the lock held ---- */
/* Makes a view, in the worker, without the lock. */
void view_make(struct recording *r, struct view *v);
void view_clear(struct view *v);
void preview_end(struct recording *r);
uint64_t view_before(const struct recording *r, const struct view *v, size_t point); /* matching events before it */
/* 1: @v is made; 0: it is not, and the answer tells so. */
int view_is_made(const struct view *v, struct json *j);
/* Gets a made view, or answers that it is not. 1: *out; 0: answered; -EINVAL. */
int view_need(struct recording *r, const char *filter, struct view **out, struct json *j, const char **why);
void put_failed(struct json *j, int error, const char *why); /* why: a sentence, or NULL */

/* ---- parts.c ---- */
void part_make(struct recording *r, struct order *o); /* by the worker, without the lock */
/* These hold the lock. Moves the asking thread's stream to a point of the index: */
int part_seek(struct recording *r, size_t point);
struct fine *part_get(struct recording *r, struct view *v, uint64_t from, uint64_t to, int *is_coarse);
void part_forget_view(struct recording *r, const struct view *v); /* its parts, and the ordered one */
void part_forget_all(struct recording *r);

/* ---- reports.c ---- */
void report_work(struct recording *r, struct report *p); /* by the worker, without the lock */
void report_clear(struct report *p);
/*
 * report_sources.c: streams of the recordings of a report, one after the other. 1: st is the next; 0: there is none;
 * -errno.
 */
struct report_sources {
	struct report *p;
	size_t next;
	struct uft_stream *st;
	uint64_t offset, origin_ns; /* of it */
};
int report_next(struct report_sources *s);
void report_end(struct report_sources *s);
/* These make a report of a kind. 0, or -errno. */
int report_tree(struct report *p);
int report_histogram(struct report *p);
int report_plot(struct report *p);
int report_counters(struct report *p);
int report_diff(struct report *p);
int report_export(struct report *p);
int report_details(struct report *p); /* and of REPORT_SOURCE */

#endif
