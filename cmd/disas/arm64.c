/* SPDX-License-Identifier: MIT */
/* arm64.c - what sites of arm64 become, for uft disas */
#include "cmd/disas/words.h"
#include "runtime/arch/arm64/patch.h"

static const struct dis_words words = {
	.nop = ARCH_INSN_NOP, .is_by_stub = ARCH_CALL_BY_STUB, .thunk_bytes = ARCH_THUNK_BYTES, .entry_word = arch_entry_word,
	.jump_word = arch_jump_word, .make_call = arch_make_call, .make_thunk = arch_make_thunk, .make_stub = arch_make_stub,
	.make_mcount_stub = arch_make_mcount_stub, .mcount_stub_label = { NULL, "uft mcount enter thunk: to uft_asm_mcount_graph",
		"uft exit thunk: to uft_asm_graph_exit" },
	.thunk_label = { "id base", "uft_asm_func", NULL }, .has_entry_link = 0, .has_body_link = 1,
};

static int site_columns(struct dis *d)
{
	return words_site_columns(d, &words);
}

static void print_runtime(FILE *f, struct dis *d)
{
	words_print_runtime(f, d, &words);
}

const struct dis_isa dis_arm64 = {
	.reader = &insn_arm64, .pre = words_pre, .site_columns = site_columns, .print_runtime = print_runtime,
};
