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
	int may = ARCH_HAS_OWN || uft_rt.rseq_offset, is_fast = may && trace_graph_is_fast();

	switch (t) {
	case THUNK_FUNC:
		return may ? uft_asm_func : uft_asm_func_slow;
	case THUNK_MFUNC:
		return uft_asm_mcount_func;
	case THUNK_ENTER:
		return is_fast ? uft_asm_graph_enter : uft_asm_graph_enter_slow;
	case THUNK_EXIT:
		return is_fast ? uft_asm_graph_exit : uft_asm_graph_exit_slow;
	default:
		return uft_asm_mcount_graph;
	}
}

#endif
