/* SPDX-License-Identifier: MIT */
/* thunk.h - the thunks of an object, and where each leads (runtime/arch/arch.h describes them) */
#ifndef UFT_PATCH_THUNK_H
#define UFT_PATCH_THUNK_H

#include "runtime/arch/arch.h"
#include "runtime/runtime.h"

enum thunk { THUNK_FUNC, THUNK_MFUNC, THUNK_ENTER, THUNK_EXIT, THUNK_MENTER, NTHUNKS };

static inline const char *thunk_enter(enum graph_path path)
{
	static const char *const handler[] = {
		[GRAPH_SLOW] = uft_asm_graph_enter_slow,
		[GRAPH_PLAIN] = uft_asm_graph_enter,
		[GRAPH_FUNC] = ARCH_HAS_BESIDE ? uft_asm_graph_enter_func : uft_asm_graph_enter_slow,
		[GRAPH_SUMS] = ARCH_HAS_BESIDE ? uft_asm_graph_enter_sums : uft_asm_graph_enter_slow,
		[GRAPH_DEPTH] = ARCH_HAS_LIMITS ? uft_asm_graph_enter_depth : uft_asm_graph_enter_slow,
		[GRAPH_THRESH] = ARCH_HAS_LIMITS ? uft_asm_graph_enter_thresh : uft_asm_graph_enter_slow,
		[GRAPH_PROFILE] = ARCH_HAS_SUMS ? uft_asm_graph_enter_profile : uft_asm_graph_enter_slow,
		[PROFILE_FUNC] = ARCH_HAS_BESIDE ? uft_asm_profile_enter_func : uft_asm_graph_enter_slow,
	};

	if (ARCH_HAS_COUNTS && path == GRAPH_PLAIN && trace_counts())
		return uft_asm_graph_enter_counts;
	return handler[path];
}

static inline const char *thunk_exit(enum graph_path path)
{
	static const char *const handler[] = {
		[GRAPH_SLOW] = uft_asm_graph_exit_slow,
		[GRAPH_PLAIN] = uft_asm_graph_exit,
		[GRAPH_FUNC] = ARCH_HAS_BESIDE ? uft_asm_graph_exit_func : uft_asm_graph_exit_slow,
		[GRAPH_SUMS] = ARCH_HAS_BESIDE ? uft_asm_graph_exit_sums : uft_asm_graph_exit_slow,
		[GRAPH_DEPTH] = ARCH_HAS_LIMITS ? uft_asm_graph_exit : uft_asm_graph_exit_slow,
		[GRAPH_THRESH] = ARCH_HAS_LIMITS ? uft_asm_graph_exit_thresh : uft_asm_graph_exit_slow,
		[GRAPH_PROFILE] = ARCH_HAS_SUMS ? uft_asm_graph_exit_profile : uft_asm_graph_exit_slow,
		[PROFILE_FUNC] = ARCH_HAS_SUMS ? uft_asm_graph_exit_profile : uft_asm_graph_exit_slow,
	};

	if (ARCH_HAS_COUNTS && path == GRAPH_PLAIN && trace_counts())
		return uft_asm_graph_exit_counts;
	return handler[path];
}

/* The mcount handler of a graph path. Without keys it goes on to C code by itself. */
static inline const char *thunk_menter(enum graph_path path)
{
	if (ARCH_HAS_COUNTS && path == GRAPH_PLAIN && trace_counts())
		return uft_asm_mcount_graph_counts;
	if (ARCH_HAS_LIMITS && path == GRAPH_DEPTH)
		return uft_asm_mcount_graph_depth;
	return ARCH_HAS_LIMITS && path == GRAPH_THRESH ? uft_asm_mcount_graph_thresh : uft_asm_mcount_graph;
}

/*
 * The handler of a thunk. Where fast handlers write rings of CPUs, they do not check whether rseq is known: that is
 * checked here.
 */
static inline const char *thunk_handler(enum thunk t)
{
	int may = ARCH_HAS_OWN || uft_rt.rseq_offset; /* GUARD(may_count, 1) */
	enum graph_path path = may ? trace_graph_path() : GRAPH_SLOW;

	switch (t) {
	case THUNK_FUNC:
		if (!may)
			return uft_asm_func_slow;
		if (ARCH_HAS_BESIDE && trace_is_beside())
			return uft_asm_func_beside;
		return ARCH_HAS_COUNTS && trace_counts() ? uft_asm_func_counts : uft_asm_func;
	case THUNK_MFUNC:
		if (ARCH_HAS_BESIDE && may && trace_is_beside())
			return uft_asm_mcount_func_beside;
		return ARCH_HAS_COUNTS && may && trace_counts() ? uft_asm_mcount_func_counts : uft_asm_mcount_func;
	case THUNK_ENTER:
		return thunk_enter(path);
	case THUNK_EXIT:
		return thunk_exit(path);
	default:
		return thunk_menter(path);
	}
}

#endif
