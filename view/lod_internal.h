/* SPDX-License-Identifier: MIT */
/* lod_internal.h - what making levels of detail (lod.c) and keeping them in a file (levels_file.c) share */
#ifndef UFT_VIEW_LOD_INTERNAL_H
#define UFT_VIEW_LOD_INTERNAL_H

#include "output/dense.h"
#include "view/lod.h"

#define LEVELS 12u

struct level {
	struct lod_span *v;
	size_t n, cap;
};

struct track {
	uint32_t row, lane;
	struct level level[LEVELS];
	uint64_t resolution[LEVELS];
	uint32_t nlevels;
	uint64_t end, busy, longest; /* of the last span: where it ends; of its calls */
};

struct open_call {
	uint64_t start;
	const struct uft_sym *sym;
	int is_open;
	struct track *track; /* of calls of this depth, once there was one */
};

struct row_state {
	struct open_call *open;
	uint32_t depth, cap; /* entries without an exit so far, by depth */
	uint32_t at;	     /* in rows, + 1 */
	uint32_t task;	     /* index of the one that the open calls are of, + 1: after an exec it is another one */
	uint32_t name;	       /* of the state that began at since (names.h) */
	uint64_t since;	       /* when it got or lost its CPU, or woke up, + 1; 0: nothing is known */
};

enum thread_state { THREAD_RUNS, THREAD_WAITS, THREAD_BLOCKED };

struct cpu_state {
	uint32_t row, is_busy;
	uint32_t is_told; /* sched_switch says which task it has: it is not gone where no event comes */
	uint64_t start, last;
};

struct lod {
	struct names *names;
	struct rows *rows;
	void *loaded; /* all spans of all tracks, read from a file; NULL: each level has memory of its own */
	uint64_t origin_ns, below, resolution, last;
	size_t most, total;
	struct track **track;
	uint32_t ntrack, cap_track;
	uint32_t *hash, mask;
	struct lod_row *row;
	uint32_t nrow, cap_row;
	struct row_state *state;
	uint32_t nstate; /* by row */
	struct cpu_state *cpu;
	uint32_t ncpu;
	uint32_t *runs, nruns; /* by CPU: the row of the thread that runs there, + 1; 0: not known */
	uint32_t *name_of;
	uint32_t nname_of; /* by uft_sym.index: name + 1 */
	uint32_t *row_of;
	uint32_t nrow_of; /* by uft_task.index: row + 1 */
	uint8_t *sched;
	uint32_t nsched; /* by uft_event_type.index: enum sched_kind + 1 */
	uint32_t state_name[3]; /* by enum thread_state, + 1 */
};

struct track *lod_track(struct lod *l, uint32_t row, uint32_t lane); /* made if there is none; NULL: no memory */
/* Merges neighbours of @from that together last less than @resolution, in place or to another list: how many remain. */
size_t lod_merge(struct lod_span *to, const struct lod_span *from, size_t n, uint64_t resolution);
/* The state of row @row, by its number, which is in *at once it is made. */
struct lod_row *lod_row_of(struct lod *l, uint32_t row, uint32_t *at, uint64_t t);

#endif
