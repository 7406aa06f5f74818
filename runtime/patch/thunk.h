/* SPDX-License-Identifier: MIT */
/* thunk.h - the thunks of an object, and where each leads (runtime/arch/arch.h describes them) */
#ifndef UFT_PATCH_THUNK_H
#define UFT_PATCH_THUNK_H

#include "runtime/arch/arch.h"
#include "runtime/runtime.h"

enum thunk {THUNK_FUNC, THUNK_MFUNC, THUNK_ENTER, THUNK_EXIT, THUNK_MENTER, NTHUNKS };

static inline const char *thunk_enter(enum graph_path path)
{
	switch (path) {
	case GRAPH_PLAIN:
		return ARCH_HAS_COUNTS && trace_counts() ? uft_asm_graph_enter_counts : uft_asm_graph_enter;
	case GRAPH_DEPTH:
		if (ARCH_HAS_LIMITS)
			return uft_asm_graph_enter_depth;
		break;
	case GRAPH_THRESH:
		if (ARCH_HAS_LIMITS)
			return uft_asm_graph_enter_thresh;
		break;
	case GRAPH_PROFILE:
		if (ARCH_HAS_SUMS)
			return uft_asm_graph_enter_profile;
		break;
	case GRAPH_FUNC:
		if (ARCH_HAS_BESIDE)
			return uft_asm_graph_enter_func;
		break;
	case GRAPH_SUMS:
		if (ARCH_HAS_BESIDE)
			return uft_asm_graph_enter_sums;
		break;
	case PROFILE_FUNC:
		if (ARCH_HAS_BESIDE)
			return uft_asm_profile_enter_func;
		break;
	case GRAPH_SLOW:
		break;
	}
	return uft_asm_graph_enter_slow;
}

static inline const char *thunk_exit(enum graph_path path)
{
	switch (path) {
	case GRAPH_PLAIN:
		return ARCH_HAS_COUNTS && trace_counts() ? uft_asm_graph_exit_counts : uft_asm_graph_exit;
	case GRAPH_DEPTH:
		if (ARCH_HAS_LIMITS)
			return uft_asm_graph_exit;
		break;
	case GRAPH_THRESH:
		if (ARCH_HAS_LIMITS)
			return uft_asm_graph_exit_thresh;
		break;
	case GRAPH_PROFILE:
	case PROFILE_FUNC:
		if (ARCH_HAS_SUMS)
			return uft_asm_graph_exit_profile;
		break;
	case GRAPH_FUNC:
		if (ARCH_HAS_BESIDE)
			return uft_asm_graph_exit_func;
		break;
	case GRAPH_SUMS:
		if (ARCH_HAS_BESIDE)
			return uft_asm_graph_exit_sums;
		break;
	case GRAPH_SLOW:
		break;
	}
	return uft_asm_graph_exit_slow;
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
