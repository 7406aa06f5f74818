/* SPDX-License-Identifier: MIT */
/* arm64.c - what sites of arm64 become, for uft disas */
#include <string.h>

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

/* ---- Plain code ------------------------------------------------------------------------------- */

#define CODE_AWAY	(16u << 20)	/* where the copy is taken to be: displacements depend on it, what they lead to does not */

static int code_columns(struct dis *d)
{
	uint64_t at = d->entry->addr + d->item->bias;
	struct dis_link link = { .at = at, .bytes = 4 };
	uint32_t word = arch_jump_word(at, at);
	int ret;

	snprintf(link.label, sizeof(link.label), "uft slot of %.80s", d->name);
	ret = dis_column(d, "rewritten", &link, (const uint8_t *)&word, 4, at);
	return ret ? ret : dis_column_now(d, 4, at);
}

/* The instruction that moved, and what leads to the tracers; the site jumps to one of the three. */
static void print_code(FILE *f, struct dis *d)
{
	const char *func_label[A64_CODE_GRAPH - A64_CODE_FUNC] = { NULL }, *graph_label[3] = { NULL };
	uint64_t addr = d->entry->addr + d->item->bias + CODE_AWAY;
	uint32_t w[ARCH_CODE_BYTES / 4] = { 0 };
	struct uft_code c = { 0 };
	struct dis_row row;
	unsigned from;

	if (entry_code(d->item->obj, d->entry, d->item->bias, addr, &c)) {
		fprintf(f, "\nits code does not fit within reach\n");
		return;
	}
	memcpy(w, c.code, c.ncode);
	arch_make_code(w, 0, 0, 0, 0);
	fprintf(f, "\nuft code of %s: the instruction that moved, and the way back%s\n", d->name,
		d->entry->is_plain ? " (function tracer only: its return address is looked at)" : "");
	for (unsigned at = 0; at < c.ncode; at += 4) {
		dis_insn(d, NULL, c.code + at, 4, addr + at, &row);
		dis_print_line(f, at, row.hex, row.text);
	}
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
	fprintf(f, "\nuft stub of %s (function_graph; %u bytes within reach of %s, then its flags byte)\n", d->name, UFT_STUB_BYTES,
		cmd_object_base(d->item->obj));
	arch_make_stub(w, 0, 0, 0, 0, 0);
	words_print_piece(f, d, w, UFT_STUB_BYTES / 4 - 1, (const char *const[]){ "uft enter thunk: to uft_asm_code_enter", "code",
									"uft exit thunk: to uft_asm_graph_exit_slow" });
}

const struct dis_isa dis_arm64 = {
	.reader = &insn_arm64, .pre = words_pre, .site_columns = site_columns, .print_runtime = print_runtime,
	.code_columns = code_columns, .print_code = print_code,
};
