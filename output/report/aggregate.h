/* SPDX-License-Identifier: MIT */
/*
 * aggregate.h - a stream added up by call path: the one mechanism of the call tree, of differences and of flame graphs
 *
 * A node is a function as called on one path: `main;work;leaf`. Node 0 is the whole recording, its children are groups
 * (agg_by) or, without groups, outermost functions. A parent's index is smaller than its children's. With several
 * threads: aggregate_parts.c; sums of some calls only: aggregate_some.c. Context: control, one thread.
 */
#ifndef UFT_OUTPUT_REPORT_AGGREGATE_H
#define UFT_OUTPUT_REPORT_AGGREGATE_H

#include "output/histogram.h"
#include "output/output.h"

struct agg_func {
	char *name, *object;	/* as shown */
	/* as linked: the same function in another recording has the same. Groups have a control byte in front */
	char *key;
	const struct uft_object *of;	/* where it was met; NULL: not known. Valid while its stream is open */
	uint64_t vaddr;			/* in there */
	char *file;			/* where it is defined, by agg_find_source(); NULL: not known */
	uint32_t line;
};
#define AGG_INLINED	'\002'	/* in front of the key of a function as inlined into others */

/* Kinds of groups: agg_finish() sums up the children, or the group has its sums already. */
enum { AGG_GROUP = 1, AGG_GROUP_SUMMED };

struct agg_node {
	uint64_t calls;		/* begun, or returned without an entry */
	uint64_t timed;		/* calls with a known duration, including those that are open at the end */
	uint64_t total, self;	/* ns; total: of calls that are not within another one of the same node */
	uint64_t sum;		/* ns, of all timed ones */
	uint64_t min, max;	/* of timed ones; min UINT64_MAX: none */
	/* ns, of self: without a CPU, waiting for something or for a CPU; where switches were recorded */
	uint64_t blocked, runnable;
	uint64_t all_blocked, all_runnable;	/* the same, of total */
	/* calls that had not returned when their process or the recording ended: counted up to then */
	uint64_t nopen;
	uint32_t parent, func;	/* func: index of agg.func */
	uint32_t hist;		/* index of the first block in agg.pool */
	uint8_t hist_first, hist_n;	/* octaves that it has */
	uint8_t is_group;	/* AGG_GROUP or AGG_GROUP_SUMMED; 0: no group */
	uint8_t is_more;	/* stands for all paths beyond AGG_NODES */
	/* an inlined function: it has the total of the calls in it, no calls or own time of its own */
	uint8_t is_inlined;
	uint32_t charged;		/* off_cpu.c */
	uint32_t child, next;	/* 0: none; by agg_finish() */
};

/* paths at most, and one for the rest below each; twice as many functions of groups */
#define AGG_NODES	(1u << 18)

struct agg {
	struct agg_node *node;
	uint32_t nnodes, max_nodes;	/* max_nodes: AGG_NODES; for tests */
	struct agg_func *func;
	uint32_t nfuncs;
	uint64_t lost;			/* records that the stream says are missing */
	uint64_t unknown;		/* calls whose time is not known, as their entry is missing */
	uint64_t first_ns, last_ns;
	int has_switches;		/* some were recorded */
	int has_thresh;			/* calls without entries: their paths are not known */
	/* set by a user that needs no paths: a node may be a function of a group, for all its paths */
	int may_be_flat;
	/*
	 * Set to make agg_add() add up some calls only: does the call of @ev count? @ev is the end of the call, or its
	 * begin if it does not end. A call that does not count is there as a caller: its node gets no call and no time
	 * of it, but its totals have those of the calls below it that count. Nodes without any such call below stay:
	 * agg_calls_below().
	 */
	int (*counts)(const void *of, const struct uft_event *ev);
	const void *counts_of;
	unsigned nthreads;		/* that added it up */
	struct agg_build *build;	/* aggregate.c */
};

int agg_init(struct agg *a);
void agg_free(struct agg *a);
/* Adds all of @st. 0 or -ENOMEM. */
int agg_add(struct agg *a, struct uft_stream *st, enum uft_by by);
/* Makes the same sums by @threads threads at most; 0: as many as there are processors. One thread, if @a is not new. */
int agg_add_threads(struct agg *a, struct uft_stream *st, enum uft_by by, unsigned threads);
/* Links the children of each node, the one with the longest total first, and sums up the groups. */
void agg_finish(struct agg *a);

/* For each node the number of calls of it and of all nodes below it; the caller frees it. NULL: no memory. */
uint64_t *agg_calls_below(const struct agg *a);

/* The value of the calls' durations that @percent of them do not exceed, off by at most 1.6 %. */
uint64_t agg_rank(const struct agg *a, const struct agg_node *n, unsigned percent);
/*
 * Gives a histogram in order: calls @put(ctx, from, to, calls) for each bucket that is not empty; both bounds are
 * inside the bucket.
 */
void agg_each_bucket(const struct agg *a, const struct agg_node *n,
		     void (*put)(void *ctx, uint64_t from, uint64_t to, uint64_t calls), void *ctx);

/* ---- To make one out of others ---- */
/* UINT32_MAX: no memory */
uint32_t agg_func_get(struct agg *a, const char *key, const char *name, const char *object);
uint32_t agg_child(struct agg *a, uint32_t parent, uint32_t func);	/* made if need be; UINT32_MAX: no memory */
/* Adds the calls of @n to node @to; their total only if @is_outer. 0 or -ENOMEM. */
int agg_merge(struct agg *a, uint32_t to, const struct agg *from, const struct agg_node *n, int is_outer);

/*
 * tree.c: adds to @to a node for each function of @a (finished) that matches the pattern @func, with the sums of all
 * its paths. 0, also if none matches; -EINVAL; -ENOMEM.
 */
int agg_flatten(struct agg *to, const struct agg *a, const char *func);

/* ---- source.c: what debug information adds ---- */
/* note() is called with a sentence for each object without debug information. */
struct agg_source { void (*note)(void *ctx, const char *object, const char *why); void *ctx; struct uft_error *err; };
/* Inserts the inlined functions that calls came from between the callers and callees of @a, which is finished. */
int agg_find_inlined(struct agg *a, const struct agg_source *source);
/* Fills file and line of all functions. Both functions return 0; -ENOPKG with a sentence in source->err; -ENOMEM. */
int agg_find_source(struct agg *a, const struct agg_source *source);

#endif
