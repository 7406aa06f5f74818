/* SPDX-License-Identifier: MIT */
/* thunk.h - the thunks of an object, and where each leads (runtime/arch/arch.h says what they do) */
#ifndef UFT_PATCH_THUNK_H
#define UFT_PATCH_THUNK_H

#include "runtime/arch/arch.h"
#include "runtime/runtime.h"

enum thunk { THUNK_FUNC, THUNK_MFUNC, THUNK_ENTER, THUNK_EXIT, THUNK_MENTER, NTHUNKS };

/* Where they write rings of CPUs, fast handlers do not ask whether rseq is known. */
static inline const char *thunk_handler(enum thunk t)
{
	int may = ARCH_HAS_OWN || uft_rt.rseq_offset; /* GUARD(may_count, 1) */
	enum graph_path path = may ? trace_graph_path() : GRAPH_SLOW;

	switch (t) {
	case THUNK_FUNC:
		return !may ? uft_asm_func_slow : ARCH_HAS_COUNTS && trace_counts() ? uft_asm_func_counts :
		       uft_asm_func;
	case THUNK_MFUNC:
		return ARCH_HAS_COUNTS && may && trace_counts() ? uft_asm_mcount_func_counts : uft_asm_mcount_func;
	case THUNK_ENTER:
		return ARCH_HAS_COUNTS && path == GRAPH_PLAIN && trace_counts() ? uft_asm_graph_enter_counts :
		       path == GRAPH_PLAIN ? uft_asm_graph_enter : ARCH_HAS_LIMITS &&
			path == GRAPH_DEPTH ? uft_asm_graph_enter_depth :
		       ARCH_HAS_LIMITS && path == GRAPH_THRESH ? uft_asm_graph_enter_thresh :
		       ARCH_HAS_SUMS && path == GRAPH_PROFILE ? uft_asm_graph_enter_profile : uft_asm_graph_enter_slow;
	case THUNK_EXIT:
		return ARCH_HAS_COUNTS && path == GRAPH_PLAIN && trace_counts() ? uft_asm_graph_exit_counts :
		       path == GRAPH_PLAIN || (ARCH_HAS_LIMITS && path == GRAPH_DEPTH) ? uft_asm_graph_exit :
		       ARCH_HAS_LIMITS && path == GRAPH_THRESH ? uft_asm_graph_exit_thresh :
		       ARCH_HAS_SUMS && path == GRAPH_PROFILE ? uft_asm_graph_exit_profile : uft_asm_graph_exit_slow;
	default:			/* where there is no key these go to C by themselves */
		return ARCH_HAS_COUNTS && path == GRAPH_PLAIN && trace_counts() ? uft_asm_mcount_graph_counts :
		       ARCH_HAS_LIMITS && path == GRAPH_DEPTH ? uft_asm_mcount_graph_depth :
		       ARCH_HAS_LIMITS && path == GRAPH_THRESH ? uft_asm_mcount_graph_thresh : uft_asm_mcount_graph;
	}
}

#endif
