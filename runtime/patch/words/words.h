/* SPDX-License-Identifier: MIT */
/* words.h - what the files of this folder share; theory in patch.c */
#ifndef UFT_PATCH_WORDS_H
#define UFT_PATCH_WORDS_H

#include "runtime/patch/thunk.h"

struct word_site {
	uint64_t addr;		/* 0: never touched */
	uint32_t orig[2];
	uint8_t kind_len, action, has_stub, stub_state;
	uint8_t is_plain, is_signed;	/* UFT_SITE_CODE: of its struct uft_code */
	uint8_t pad[2];
};
_Static_assert(sizeof(struct word_site) == 24, "three lines hold eight");

struct word_object {
	uintptr_t text_start, text_end;
	uint32_t object, capacity, nstubs;
	uint32_t first_text_id, first_stub_id;
	int is_gone;
	int has_copies;		/* of fast paths, behind the thunks */
	uintptr_t region, region_end, stub_base;
	uintptr_t code_base;	/* 0: no plain code of it was announced */
	struct word_site *site;
	struct word_object *next;	/* newest first; never freed */
};

/* The thunks of plain code, behind those of enum thunk. */
enum word_thunk { THUNK_CODE_FUNC = NTHUNKS, THUNK_CODE_ENTER, THUNK_CODE_EXIT, WORD_NTHUNKS };

struct word_object *word_find(uint32_t object);
/* its copy nearest to what leads there */
uintptr_t word_thunk(const struct word_object *o, unsigned t, uintptr_t from);
uintptr_t word_stub(const struct word_object *o, uint32_t stub);
void word_begin(void);			/* of a batch: the program may have changed its mappings since the last */
int word_open(uintptr_t lo, uintptr_t hi);	/* 0 or -errno; then */
void word_put(uintptr_t at, uint32_t word);
void word_close(void);

/* unprepared.c: where the site leads in a state; ORIGINAL is not asked. */
uint32_t word_code_form(const struct word_object *o, const struct word_site *s, uint32_t stub, unsigned state);
uintptr_t word_code_at(const struct word_object *o, uint32_t stub);

int word_is_quiet(void);		/* the session says that no thread runs */
void word_unhook(void);		/* hook.c: the loader's calls as found, but for those that cannot change now */

#endif
