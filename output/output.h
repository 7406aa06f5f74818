/* SPDX-License-Identifier: MIT */
/*
 * output.h - write a stream in other forms: one file per form
 *
 * A new export is one file here and one row in uft_exports[]. All writers take a stream and a FILE or
 * path, return 0 or a negative errno, and never print to stderr themselves. Context: control.
 */
#ifndef UFT_OUTPUT_OUTPUT_H
#define UFT_OUTPUT_OUTPUT_H

#include <stdio.h>

#include "stream/stream.h"

/* The kernel's options of the text. */
enum uft_text_flags {
	UFT_TEXT_CONTEXT	= 1,		/* context-info */
	UFT_TEXT_IRQ_INFO	= 2,
	UFT_TEXT_PARENT		= 4,		/* print-parent */
	UFT_TEXT_TGID		= 8,		/* record-tgid */
	UFT_TEXT_CPU		= 0x10,		/* funcgraph-cpu ... */
	UFT_TEXT_OVERHEAD	= 0x20,
	UFT_TEXT_PROC		= 0x40,
	UFT_TEXT_DURATION	= 0x80,
	UFT_TEXT_ABSTIME	= 0x100,
	UFT_TEXT_TAIL		= 0x200,
	UFT_TEXT_ANNOTATE	= 0x400,	/* say where a CPU's buffer starts */
	UFT_TEXT_MSG_ONLY	= 0x800,	/* printk-msg-only */
	UFT_TEXT_SYM_OFFSET	= 0x1000,
	UFT_TEXT_SYM_ADDR	= 0x2000,
	UFT_TEXT_VERBOSE	= 0x4000,
	UFT_TEXT_LATENCY	= 0x8000,	/* latency-format */
	UFT_TEXT_NO_HEADER	= 0x10000,
	UFT_TEXT_RAW		= 0x20000,	/* of these three the last wins; a graph has none */
	UFT_TEXT_HEX		= 0x40000,
	UFT_TEXT_BIN		= 0x80000,
	UFT_TEXT_OVERRUN	= 0x100000,	/* funcgraph-overrun, and the recorded data of each call: */
	UFT_TEXT_RETVAL		= 0x200000,
	UFT_TEXT_RETVAL_HEX	= 0x400000,
	UFT_TEXT_ARGS		= 0x800000,
	UFT_TEXT_RETADDR	= 0x1000000,
	/* a record as the names and values of its fields; a graph has no such form */
	UFT_TEXT_FIELDS		= 0x4000000,
	UFT_TEXT_DISPLAY_GRAPH	= 0x8000000,	/* latency tracers: their calls as a graph */
	/* func-no-repeats: calls of one function by one caller on a CPU, one after the other, are two lines */
	UFT_TEXT_NO_REPEATS	= 0x2000000,
};
/* stacks as the kernel shows its own; so they are if none of these is set */
#define UFT_TEXT_STACK		0x10000000u
#define UFT_TEXT_USER_STACK	0x20000000u	/* as it shows a program's */
#define UFT_TEXT_USEROBJ	0x40000000u	/* sym-userobj */
#define UFT_TEXT_DEFAULT (UFT_TEXT_CONTEXT | UFT_TEXT_IRQ_INFO | UFT_TEXT_PARENT | UFT_TEXT_CPU | UFT_TEXT_OVERHEAD | \
			  UFT_TEXT_DURATION)
/* Shows all that was recorded of calls. */
#define UFT_TEXT_REPORT	(UFT_TEXT_DEFAULT | UFT_TEXT_RETVAL | UFT_TEXT_ARGS | UFT_TEXT_RETADDR)

/* Options of the text: of `trace`, and without header and end of `trace_pipe`. */
struct uft_text_opts {
	uint32_t tracer, flags;
	uint32_t ncpus;
	/* the source of the header's facts: events, lost, ncpus; NULL: the stream */
	const struct uft_info *whole;
	uint64_t start_ns;	/* latency-format: the zero of times; 0: the first event */
	/*
	 * Latency tracers: the longest stretch above floor_ns, or, if thresh_ns is not 0, the last above thresh_ns;
	 * only stretches that ended after from_ns.
	 */
	uint64_t floor_ns, thresh_ns, from_ns;
	/*
	 * The CPUs whose lines are printed, of what the tracer found in the whole stream; NULL: all. Valid until the
	 * text is closed.
	 */
	const uint32_t *only_cpus; size_t nonly_cpus;
	int (*sink)(void *ctx, const char *text, size_t n);	/* 0, or -errno, which ends the text */
	void *ctx;
};
/* The kernel's `trace` text, header included. Of @opts: flags, only_cpus. */
int uft_output_text(struct uft_stream *st, FILE *out, int colour, const struct uft_text_opts *opts);

/* The same text in parts. */
struct uft_printer;
int uft_text_open(struct uft_stream *st, const struct uft_text_opts *opts, struct uft_printer **out);
/* Prints up to @max more events. 1: there were some; 0: none (now); -errno. */
int uft_text_run(struct uft_printer *t, size_t max);
/* @n events of @cpu were overwritten unread: printed in front of its next line. */
void uft_text_lost(struct uft_printer *t, uint32_t cpu, uint64_t n);
/* from now on */
void uft_text_set(struct uft_printer *t, struct uft_stream *st, uint32_t tracer, uint32_t flags);
/* Prints the events that later ones cannot change any more; with @end all. 0 or -errno. */
int uft_text_collect(struct uft_printer *t, int end);
void uft_text_close(struct uft_printer *t);

/* Finds the longest stretch in @st, as above; *ns is 0 if there is none. Reads all of it. 0 or -ENOMEM. */
int uft_latency_longest(struct uft_stream *st, const struct uft_text_opts *opts, uint64_t *ns);

/* ---- Reports: tables, output/report/ ---- */
enum uft_form { UFT_FORM_TEXT, UFT_FORM_JSON, UFT_FORM_CSV };
enum uft_profile_sort { UFT_SORT_TOTAL, UFT_SORT_SELF, UFT_SORT_CALLS, UFT_SORT_AVG, UFT_SORT_MAX, UFT_SORT_NAME };
/*
 * A task is a thread between two execs; a process is its threads; a program is all processes of one executable. The
 * object of a tree is that of its outermost function, its cpu the one on which that function was called.
 */
enum uft_by { UFT_BY_NONE, UFT_BY_TASK, UFT_BY_PROCESS, UFT_BY_PROGRAM, UFT_BY_OBJECT, UFT_BY_CPU };
struct uft_report_opts {
	enum uft_form form;
	unsigned width;			/* text: characters of a line, 0 any */
	enum uft_profile_sort sort;
	size_t limit;			/* rows at most, 0 all */
	unsigned threads;		/* at most, for profile and tree; 0: as many as there are processors */
	/* of uft_output_tree(): */
	enum uft_by by;			/* TREE and FLAT: a root for each */
	const char *func;		/* of CALLERS, CALLEES, HISTOGRAM: a pattern (symbol/names.h) */
	unsigned depth;			/* levels at most, 0 all */
	double min_share;		/* of the whole time; what has less is left out */
	int is_wide;			/* of uft_diff_print(): totals and 99th percentiles in text, too */
	int has_lines, has_inlines;	/* places in the source; inlined functions (symbol/source.h) */
	struct uft_error *err;		/* gets a sentence, if there is one to say */
};

/* One row per function: calls, total, self, avg, p50, p99, max. */
int uft_output_profile(struct uft_stream *st, FILE *out, const struct uft_report_opts *o);

/*
 * Prints a view of the calls added up by path. -ENOENT: no function matches @o->func; -EINVAL: it is no pattern;
 * -ENOMEM; or the error of @out.
 */
enum uft_tree_view { UFT_VIEW_TREE, UFT_VIEW_CALLERS, UFT_VIEW_CALLEES, UFT_VIEW_FLAT, UFT_VIEW_HISTOGRAM };
/* -ENOPKG: no libdw */
int uft_output_tree(struct uft_stream *st, FILE *out, enum uft_tree_view view, const struct uft_report_opts *o);

/* Prints calls per second, over the time of the recording. Uses of @o: form. 0, -ENOMEM, or the error of @out. */
int uft_output_timeline(struct uft_stream *st, FILE *out, const struct uft_report_opts *o);

/*
 * The change from the recordings of side 0 (A) to those of side 1 (B), by call path, the largest change of self time
 * first.
 */
struct uft_diff;
struct uft_diff *uft_diff_new(void);		/* NULL: no memory */
int uft_diff_add(struct uft_diff *d, int side, struct uft_stream *st);		/* all of @st; 0 or -ENOMEM */
/* form, width, limit, min_share, is_wide */
int uft_diff_print(struct uft_diff *d, FILE *out, const struct uft_report_opts *o);
/*
 * Checks `p99(FUNCTION) > 1.1x`: prints a line for each function for which it holds. 1: it holds for one; 0; -EINVAL:
 * no condition; -ENOENT: no such function.
 */
int uft_diff_check(struct uft_diff *d, const char *condition, FILE *out);
int uft_diff_is_condition(const char *text);
void uft_diff_free(struct uft_diff *d);

/*
 * Prints the dropped functions, the number of their recorded calls and an estimate of the missing ones. Reads all of
 * @st.
 */
int uft_output_drops(struct uft_stream *st, FILE *out);

/* Prints one comment line if the recorder was killed and the recording was rescued without it. */
int uft_output_rescued(struct uft_stream *st, FILE *out);

/*
 * Prints one comment line for each kind of loss in the recording, with its remedy: losses.h. -ESTALE or -ENOMEM, and
 * no line: not all of the file was read (uft_stream_check_file()).
 */
int uft_output_losses(struct uft_stream *st, FILE *out);

/* Prints facts of a recording: `key: value` lines, one JSON object, or CSV of key and value. */
int uft_output_stat(struct uft_stream *st, FILE *out, enum uft_form form);

struct uft_export_opts {
	int has_lines, has_inlines;	/* as of reports; only for formats that take them */
	/* Called with the reason for each object without debug information; may be NULL. */
	void (*note)(void *ctx, const char *object, const char *why);
	/* Called with a sentence, remedy included, about the written file; may be NULL. */
	void (*warn)(void *ctx, const char *sentence);
	void *ctx;
	/* bytes of a file that its reader takes as one string; 0: what browsers take. For tests */
	uint64_t max_string;
};
enum uft_export_takes {
	UFT_EXPORT_LINES = 1, UFT_EXPORT_INLINES = 2,
	/* the records alone, as in the kernel: no ends for open calls (uft_select.ends) */
	UFT_EXPORT_RECORDS = 4,
	UFT_EXPORT_TIMES = 8,	/* it is made of durations of calls */
	UFT_EXPORT_DIRECTORY = 16,	/* it is no file but a directory of files */
};
struct uft_export {
	const char *name;	/* `uft export --format` */
	const char *suffix;	/* -o name ending that selects it; NULL: none does, it is another .dat */
	const char *doc;
	/* @o NULL: none */
	int (*write)(struct uft_stream *st, const char *path, const struct uft_export_opts *o, struct uft_error *err);
	unsigned takes;		/* enum uft_export_takes */
};
extern const struct uft_export uft_exports[];	/* ends with name NULL */
const struct uft_export *uft_export_find(const char *name);	/* by name or file name; NULL none */
/* The reason that records of @tracer, and of other events if there are, give no export; NULL: they give one. */
const char *uft_export_why_not(const struct uft_export *x, uint32_t tracer, int has_events);

#endif
