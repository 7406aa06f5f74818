/* SPDX-License-Identifier: MIT */
/* arm64.c - forms of arm64 sites, for uft disas */
#include <string.h>

#include "cmd/disas/words.h"
#include "runtime/arch/arm64/patch.h"

static const struct dis_words words = {
	.nop = ARCH_INSN_NOP, .is_by_stub = ARCH_CALL_BY_STUB, .thunk_bytes = ARCH_THUNK_BYTES,
	.entry_word = arch_entry_word,
	.jump_word = arch_jump_word, .code_jump = arch_code_jump, .make_call = arch_make_call,
	.make_thunk = arch_make_thunk,
	.make_stub = arch_make_stub,
	.make_mcount_stub = arch_make_mcount_stub,
	.mcount_stub_label = { NULL, "uft mcount enter thunk: to uft_asm_mcount_graph",
		"uft exit thunk: to uft_asm_graph_exit" },
	.thunk_label = { "id base", "uft_asm_func", NULL }, .has_entry_link = 0, .has_body_link = 1,
};

/* ---- Plain code ------------------------------------------------------------------------------- */

/* Prints the moved instruction and the code that leads to the tracers; the site jumps to one of the three pieces. */
static void print_code(FILE *f, struct dis *d)
{
	const char *func_label[A64_CODE_GRAPH - A64_CODE_FUNC] = { NULL }, *graph_label[3] = { NULL };
	uint32_t w[UFT_CODE_STRIDE / 4];
	struct uft_code c = { 0 };
	unsigned from;

	if (!words_print_moved(f, d, &c))
		return;
	memset(w, 0, sizeof(w));
	memcpy(w, c.code, c.ncode);
	arch_make_code(w, 0, 0, 0, 0, 0);
	from = c.is_signed ? 0 : 1;
	func_label[A64_CODE_CALL - A64_CODE_FUNC - from] = "uft function thunk: to uft_asm_func";
	func_label[A64_CODE_CALL - A64_CODE_FUNC - from - 1] = "id base";
	func_label[A64_CODE_GRAPH - A64_CODE_FUNC - from - 1] = "code";
	graph_label[2 - from] = "uft stub";
	fprintf(f, "\nuft slot of %s: function\n", d->name);
	words_print_piece(f, d, w + A64_CODE_FUNC + from, A64_CODE_GRAPH - A64_CODE_FUNC - from, func_label);
	if (d->entry->is_plain)
		return;
	fprintf(f, "\nuft slot of %s: function_graph\n", d->name);
	words_print_piece(f, d, w + A64_CODE_GRAPH + from, 3 - from, graph_label);
	arch_make_code_stub(w, 0, 0, 0, 0, 0);
	words_print_code_stub(f, d, w, "uft exit thunk: to uft_asm_graph_exit_slow");
}

const struct dis_isa dis_arm64 = {
	.reader = &insn_arm64, .words = &words, .pre = words_pre, .site_columns = words_site_columns,
	.print_runtime = words_print_runtime, .code_columns = words_code_columns, .print_code = print_code,
};
