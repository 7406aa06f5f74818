/* SPDX-License-Identifier: MIT */
/*
 * words.h - forms of sites where instructions are aligned words, for uft disas
 *
 * runtime/patch/words/patch.c writes the words of runtime/arch/NAME/patch.h; arm64.c and riscv64.c pass them to here.
 */
#ifndef UFT_CMD_DISAS_WORDS_H
#define UFT_CMD_DISAS_WORDS_H

#include "cmd/disas/disas.h"

#define WORDS_PIECE	5	/* words of a thunk, at most */

struct dis_words {
	uint32_t nop;
	int is_by_stub;		/* ARCH_CALL_BY_STUB: an entry leads to its stub for the function tracer as well */
	unsigned thunk_bytes;
	uint32_t (*entry_word)(uint64_t site, uint64_t stub);
	uint32_t (*jump_word)(uint64_t at, uint64_t stub);
	uint32_t (*code_jump)(uint64_t at, uint64_t to);	/* replaces the entry of an unprepared function */
	int (*make_call)(uint32_t *w, unsigned n, uint64_t at, uint64_t thunk);
	int (*make_thunk)(uint32_t *w, uint64_t at, uint64_t cells, int has_k, const int32_t *tid_offset);
	int (*make_stub)(uint32_t *w, uint64_t at, uint64_t to, uint64_t exit, uint64_t body, uint8_t flags);
	int (*make_mcount_stub)(uint32_t *w, uint64_t at, uint64_t to, uint64_t exit, uint32_t frame, uint8_t flags);
	/* What the words' addresses are, NULL: it has none. */
	const char *thunk_label[WORDS_PIECE];
	const char *mcount_stub_label[UFT_STUB_BYTES / 4 - 1];
	int has_entry_link, has_body_link;	/* the first word of an entry, the second of a stub */
};

unsigned words_pre(const struct uft_site *s);
int words_site_columns(struct dis *d);
/*
 * Prints @n words of our own code. label[i]: the target of word i, or NULL; a label that begins with `=` is printed in
 * place of an instruction.
 */
void words_print_piece(FILE *f, struct dis *d, const uint32_t *word, unsigned n, const char *const *label);
int words_code_columns(struct dis *d);	/* unprepared code */
/* Prints the moved instructions and fills *c. 0: there is nothing more to print. */
int words_print_moved(FILE *f, struct dis *d, struct uft_code *c);
void words_print_code_stub(FILE *f, struct dis *d, const uint32_t *word, const char *exit);
void words_print_runtime(FILE *f, struct dis *d);

#endif
