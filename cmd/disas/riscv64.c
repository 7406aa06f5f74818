/* SPDX-License-Identifier: MIT */
/* riscv64.c - forms of riscv64 sites, for uft disas */
#include <string.h>

#include "cmd/disas/words.h"
#include "runtime/arch/riscv64/patch.h"

static const struct dis_words words = {
	.nop = ARCH_INSN_NOP, .is_by_stub = ARCH_CALL_BY_STUB, .thunk_bytes = ARCH_THUNK_BYTES,
	.entry_word = arch_entry_word,
	.jump_word = arch_jump_word, .code_jump = arch_code_jump, .make_call = arch_make_call,
	.make_thunk = arch_make_thunk,
	.make_stub = arch_make_stub,
	.make_mcount_stub = arch_make_mcount_stub,
	.mcount_stub_label = { "uft mcount enter thunk; function: uft mcount thunk",
		"=what its prologue made of the frame", "uft exit thunk: to uft_asm_graph_exit" },
	.thunk_label = { "id base", "id base", "uft_asm_func", "=lw t5, libc's note of the thread's number", NULL },
	.has_entry_link = 1, .has_body_link = 0,
};

/* ---- Plain code ------------------------------------------------------------------------------- */

/* As on arm64; a body returns by way of the slot. */
static void print_code(FILE *f, struct dis *d)
{
	const char *func_label[RV_CODE_GRAPH - RV_CODE_FUNC] = {
		[4] = "uft function thunk: to uft_asm_code_func", [9] = "code"
	};
	const char *graph_label[RV_CODE_EXIT - RV_CODE_GRAPH] = { [6] = "uft stub" };
	const char *exit_label[4] = { [3] = "uft exit thunk: to uft_asm_code_exit" };
	uint32_t w[UFT_CODE_STRIDE / 4];
	struct uft_code c = { 0 };

	if (!words_print_moved(f, d, &c))
		return;
	memset(w, 0, sizeof(w));
	arch_make_code(w, 0, 0, 0, 0, 0);
	fprintf(f, "\nuft slot of %s: function\n", d->name);
	words_print_piece(f, d, w + RV_CODE_FUNC, RV_CODE_GRAPH - RV_CODE_FUNC, func_label);
	if (d->entry->is_plain)
		return;
	fprintf(f, "\nuft slot of %s: function_graph, and its exit\n", d->name);
	words_print_piece(f, d, w + RV_CODE_GRAPH, RV_CODE_EXIT - RV_CODE_GRAPH, graph_label);
	words_print_piece(f, d, w + RV_CODE_EXIT, 4, exit_label);
	arch_make_code_stub(w, 0, 0, 0, 0, 0);
	words_print_code_stub(f, d, w, "uft slot: exit");
}

const struct dis_isa dis_riscv64 = {
	.reader = &insn_riscv64, .words = &words, .pre = words_pre, .site_columns = words_site_columns,
	.print_runtime = words_print_runtime, .code_columns = words_code_columns, .print_code = print_code,
};
