/* SPDX-License-Identifier: MIT */
/*
 * aggregate_build.h - the state of aggregate.c while it adds up a stream, for aggregate_parts.c
 *
 * Context: control; one thread per aggregate.
 */
#ifndef UFT_OUTPUT_REPORT_AGGREGATE_BUILD_H
#define UFT_OUTPUT_REPORT_AGGREGATE_BUILD_H

#include "output/report/aggregate.h"
#include "symbol/hash_index.h"

#define AGG_NOWHERE	UINT32_MAX

struct agg_frame {
	uint32_t node, func, depth;
	uint64_t start, child_ns;
};

struct agg_some {		/* of an open call, where only some calls count */
	uint64_t below_ns;	/* the outermost calls below it that count */
	/* ns without a CPU, blocked and runnable: in itself, in itself and all below, in calls below that count */
	uint64_t own_off[2], off[2], off_below[2];
	int is_begin;		/* its begin counts */
};

struct agg_task {
	struct agg_frame *frame;
	struct agg_some *some;	/* by the index of frame; NULL: all calls count */
	uint32_t cap_some;
	uint32_t n, cap;
	uint32_t root;		/* node of its group + 1; 0 not looked up */
	uint32_t tid;		/* once it has called something */
	uint32_t nbefore, first;	/* in a part: calls that were open when it began; the node of the outermost */
	uint32_t *nopen, cap_nopen;	/* flat: open calls by function of their nodes */
};

struct agg_link {		/* of a node: what the search for a child needs, close together */
	uint32_t func, last;	/* last: the child that was called last, 0 none */
};

struct agg_build {
	struct agg_link *link;
	uint32_t cap_nodes, cap_funcs;
	struct hash_index by_path;	/* of nodes, by (parent, func) */
	struct hash_index by_key;	/* of functions */
	uint32_t (*pool)[HIST_SUB];
	uint32_t npool, cap_pool;
	uint32_t unused[65];	/* by number of blocks: the first unused room, + 1; its first word has the next */
	/* of the stream that is being added */
	uint32_t *func_of;	/* by uft_sym.index: function + 1 */
	uint32_t nfunc_of;
	uint32_t *met, nmet, cap_met;	/* uft_sym.index of the symbols, in the order in which they were met */
	uint32_t *nleft;	/* by function: calls left that may still return */
	uint32_t cap_left;
	struct agg_task *task;
	uint32_t ntasks, ncalled;	/* ncalled: how many have called something */
	enum uft_by by;
	int is_flat;		/* nodes are functions of groups, their parents the groups */
	int *stop;		/* struct parts_ops */
	struct agg_off *off;	/* threads that leave CPUs and get them */
	uint32_t noff, cap_off;
	struct hash_index off_by_tid;
	uint8_t *sched;
	uint32_t nsched;	/* by uft_event_type.index: enum sched_kind + 1 */
	uint32_t ncharged;	/* how often a time without a CPU was added */
	int has_alone;		/* an exit without an entry was counted: no call of its function had been left */
};

/* UINT32_MAX or NULL: no memory. A node made by agg_node_new() is no child that agg_child() looks for at once. */
uint32_t agg_node_new(struct agg *a, uint32_t parent, uint32_t func);
uint32_t agg_find_child(const struct agg *a, uint32_t parent, uint32_t func);	/* AGG_NOWHERE: there is none */
uint32_t agg_func_of(struct agg *a, const struct uft_sym *sym);
struct agg_task *agg_task_get(struct agg_build *b, uint32_t index);
/* The steps of agg_add(). 0 or -ENOMEM. */
int agg_add_events(struct agg *a, struct uft_stream *st);
int agg_close_open(struct agg *a);
void agg_forget_stream(struct agg_build *b);

/* ---- aggregate_some.c ---- */
/* Call it before the call is put on the stack. 0 or -ENOMEM. */
int agg_some_enter(struct agg *a, struct agg_task *t, const struct uft_event *ev);
/* Call it after the call was popped from the stack: adds its sums to node and caller, but self and durations. */
void agg_some_leave(struct agg *a, struct agg_task *t, uint32_t node, uint64_t ns, int counts);
void agg_some_charge(struct agg_task *t, int is_ready, uint64_t ns);	/* time without a CPU, in the innermost call */

/* ---- off_cpu.c: 0 or -ENOMEM ---- */
int agg_add_switch(struct agg *a, const struct uft_event *ev);		/* UFT_EVENT_SWITCH */
/* one with a type: also one that is about something else */
int agg_add_kernel_event(struct agg *a, const struct uft_event *ev);
void agg_charge_rest(struct agg *a);	/* times that have not ended, at the end of the stream */
void agg_forget_off(struct agg_build *b);

#endif
