/* SPDX-License-Identifier: MIT */
/* lod_internal.h - the state of levels of detail, shared by lod.c, lod_join.c, lod_query.c and levels_file.c */
#ifndef UFT_VIEW_LOD_INTERNAL_H
#define UFT_VIEW_LOD_INTERNAL_H

#include "symbol/array.h"
#include "symbol/hash_index.h"
#include "view/lod.h"

#define LEVELS 12u
#define CPU_IDLE_NS 1000000u /* without events for that long, a CPU's task is drawn as gone */

struct level {
	struct lod_span *v;
	size_t n, cap;
};

/* A span of a track that is being made: exact sums, so that the order in which spans join does not matter. */
struct raw_span {
	uint64_t start, len, busy, longest; /* ns of the calls in it; of the one whose name it has */
	uint32_t name, count;
};

struct track {
	uint32_t row, lane;
	struct raw_span *raw; /* level 0 until it is finished */
	size_t nraw, cap_raw;
	struct level level[LEVELS];
	uint64_t resolution[LEVELS];
	uint32_t nlevels;
	uint64_t end; /* of the last span */
};

enum call_state { CALL_UNKNOWN, CALL_OPEN, CALL_CLOSED }; /* UNKNOWN: of a part, as it was before it */
struct open_call {
	uint64_t start;
	const struct uft_sym *sym;
	enum call_state state;
	struct track *track; /* of calls of this depth, once there was one */
};

struct row_state {
	struct open_call *open;
	uint32_t depth, cap; /* entries without an exit so far, by depth */
	uint32_t at;	     /* in rows, + 1 */
	uint32_t task;	     /* index of the one that the open calls are of, + 1: after an exec it is another one */
	uint32_t ntasks;     /* how often that changed */
	uint32_t name;	       /* of the state that began at since (names.h) */
	uint64_t since;	       /* when it got or lost its CPU, or woke up, + 1; 0: nothing is known */
};

/* The place of calls of a task on a CPU, until the next lod_add() or lod_join() (lod_calls.c). */
struct place {
	uint64_t slow; /* l->slow when the place was looked up */
	uint32_t cpu, depths; /* at depths below that there are open calls */
	struct open_call *open;
	struct lod_row *r;
	struct cpu_state *c;
};

enum thread_state { THREAD_RUNS, THREAD_WAITS, THREAD_BLOCKED, THREAD_GUEST, THREAD_STATES };

struct cpu_state {
	uint32_t row, is_busy;
	uint32_t is_told; /* sched_switch says which task it has: it is not gone where no event comes */
	uint64_t start, last;
	/* of a part: the CPU may have had its first task before */
	enum { FIRST_NONE, FIRST_LASTS, FIRST_ENDED } has_first;
	uint32_t first_row;
	uint64_t first_start, first_last;
};

/* A change that a part makes to calls that were open when it began, in the order of time: lod_join.c makes it. */
struct early {
	enum { EARLY_CALL, EARLY_TASK } kind;
	/* CALL: row, lane, name. TASK: calls of the row are of this one from here on */
	uint32_t row, lane, name, task;
	uint64_t t, len;		  /* CALL: its end. TASK: that of those before, + 1; 0: before the part */
	uint64_t touched[LOD_LANES / 64]; /* TASK: depths at which the part had calls by then */
};

struct lod {
	struct names *names;
	struct rows *rows;
	void *loaded; /* all spans of all tracks, read from a file; NULL: each level has memory of its own */
	uint64_t origin_ns, below, resolution, last;
	size_t most, total, room; /* spans: that may be kept, that are, and that the tracks have memory for */
	struct track **track;
	uint32_t ntrack, cap_track;
	struct hash_index by_lane;
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
	struct place *place;
	uint32_t nplace; /* by uft_task.index */
	uint64_t slow; /* calls of lod_add() and lod_join(), + 1 */
	uint8_t *sched;
	uint32_t nsched; /* by uft_event_type.index: enum sched_kind + 1 */
	uint32_t state_name[THREAD_STATES]; /* by enum thread_state, + 1 */
	int is_part, is_dependent; /* dependent: it depends on earlier events in a way that lod_join() cannot handle */
	uint64_t border;	   /* of a part: its first event, + 1 */
	struct early *early;
	uint32_t nearly, cap_early;
};

struct track *lod_find_track(const struct lod *l, uint32_t row, uint32_t lane); /* NULL: there is none */
struct track *lod_track(struct lod *l, uint32_t row, uint32_t lane); /* made if there is none; NULL: no memory */
uint32_t lod_fill_of(uint64_t busy, uint64_t len); /* of 255 */
static inline uint32_t lod_sum_count(uint32_t a, uint32_t b) /* at most what fits */
{
	return a + b < 1u << 24 ? a + b : (1u << 24) - 1;
}

/* A longer span before this one ends behind its own cell, so that nothing begins in that any more. */
static inline int lod_joins(const struct raw_span *tail, const struct raw_span *s, uint64_t resolution)
{
	return s->len < resolution && (tail->start ^ s->start) < resolution;
}

static inline void lod_join_span(struct raw_span *tail, const struct raw_span *s)
{
	if (s->longest > tail->longest) {
		tail->longest = s->longest;
		tail->name = s->name;
	}
	tail->busy += s->busy;
	tail->len = s->start + s->len - tail->start;
	tail->count = lod_sum_count(tail->count, s->count);
}

/* Joins neighbours that are shorter than @resolution, a power of two, and begin in the same multiple of it. */
size_t lod_merge(struct raw_span *to, const struct raw_span *from, size_t n, uint64_t resolution);
uint64_t lod_power_of_two(uint64_t at_least);
/* The state of row @row, by its number, which is in *at once it is made. */
struct lod_row *lod_row_of(struct lod *l, uint32_t row, uint32_t *at, uint64_t t);
/* Both add the next span of a track, which may join the one before. 0 or -ENOMEM. */
int lod_add_span(struct lod *l, struct track *t, uint64_t start, uint64_t len, uint32_t name, uint32_t count);
int lod_add_raw(struct lod *l, struct track *t, const struct raw_span *s);
void lod_coarsen_to(struct lod *l, uint64_t resolution);
/* Ends the open calls, except those at the depths of @touched (NULL: none), at @end. 0 or -ENOMEM. */
int lod_close_open(struct lod *l, uint32_t row, uint64_t end, const uint64_t *touched);
void lod_sort(struct lod *l); /* tracks by row and lane, in an order that does not depend on threads */
void lod_link_tracks(struct lod *l);
int lod_close_cpu(struct lod *l, uint32_t cpu, struct cpu_state *c);

#endif
