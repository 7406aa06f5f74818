/* SPDX-License-Identifier: MIT */
/*
 * profile.h - calls of a stream added up by function
 *
 * Theory: profile.c; with several threads: profile_parts.c. Context: control; one thread per profile.
 */
#ifndef UFT_OUTPUT_PROFILE_H
#define UFT_OUTPUT_PROFILE_H

#include "output/emit.h"
#include "output/histogram.h"

#define PAGE_FUNCS	512u
#define RECENT		64u
#define FRAME_BEFORE	0x80000000u

struct prof_count {
	const struct uft_sym *sym;	/* NULL: never seen */
	uint64_t calls;
};

struct prof_func {
	uint64_t timed;			/* calls with a known duration; of these: */
	uint64_t self, sum;		/* sum: nested ones too */
	uint64_t notmin, max;		/* notmin: ~shortest, so that 0 is none */
	unsigned __int128 squares;	/* ns^2: exact, so that parts can be added up in any order */
	uint64_t total;			/* over all tasks, when all is read */
	uint64_t nleft;			/* calls left that may still return */
	struct histogram hist;
};

/* A timed call on its way from the first loop to the second. */
struct prof_sample {
	uint64_t ns, self_ns;
	size_t func;
	size_t place;			/* in the histogram, when it has been looked up */
};

struct prof_interval {
	uint32_t func;
	uint64_t start, counted;
};

struct prof_frame {
	uint64_t total;			/* the function's running total at the entry */
	/* 1 + index; 0: none. FRAME_BEFORE: the call began before the part, total is not known */
	uint32_t func;
};

struct prof_task {
	struct prof_frame *frame;	/* by depth */
	size_t nframes;
	uint64_t **total;		/* [function / PAGE_FUNCS][function % PAGE_FUNCS] */
	size_t npages;
	struct prof_interval *recent;	/* RECENT slots: calls without an entry */
	uint32_t next;
	uint32_t nbefore;		/* frames that were open when the part began */
};

/* A call that began before the part and ended in it. */
struct prof_ended {
	uint32_t task, func, depth;
	uint64_t ns;
	/* the running total at that moment, counted from the last such end of the function or from the begin */
	uint64_t total;
};

struct profile {
	struct emit_source src;
	struct hist_pool pool;
	struct prof_count *count;
	struct prof_func *func;
	size_t nfunc;
	struct prof_task *task;
	size_t ntask;
	int has_times, has_ranks;
	int has_alone;			/* calls without an entry were added by the times of others */
	int *stop;			/* struct parts_ops */
	struct prof_ended *ended;
	size_t nended, cap_ended;
	size_t nsamples;		/* of the batch under way; one event gives at most one */
	struct prof_sample sample[EMIT_BATCH + 1];	/* one more is written without being kept */
};

int profile_add_events(struct profile *prof);	/* of prof->src, up to its end; 0 or -ENOMEM */
void profile_add_totals(struct profile *prof);	/* last of all */
void profile_clear(struct profile *prof);	/* frees all; it is 0 then, but itself */
int profile_grow_funcs(struct profile *prof, uint32_t index);	/* does nothing if there is room; 0 or -ENOMEM */
struct prof_task *profile_task(struct profile *prof, uint32_t index);	/* NULL: no memory */
uint64_t *profile_total(struct prof_task *t, uint32_t func);	/* the running total; NULL: no memory */

/**
 * profile_add_stream - add up all of @st, which is at its start
 * @threads: at most; 0: as many as there are processors
 *
 * Returns 0 or -ENOMEM. The sums do not depend on the number of threads.
 */
int profile_add_stream(struct profile *prof, struct uft_stream *st, unsigned threads);

#endif
