/* SPDX-License-Identifier: MIT */
/* words.h - declarations for the files of this folder; theory in patch.c */
#ifndef UFT_PATCH_WORDS_H
#define UFT_PATCH_WORDS_H

#include "runtime/patch/thunk.h"

struct word_site {
	uint64_t addr;		/* 0: not learned yet */
	uint32_t orig[2];
	uint8_t kind_len, action, has_stub, stub_state;
	uint8_t is_plain, is_signed;	/* UFT_SITE_CODE: flags of its struct uft_code */
	uint8_t pad[2];
};
_Static_assert(sizeof(struct word_site) == 24, "three lines hold eight");

struct word_object {
	uintptr_t text_start, text_end;
	uint32_t object, capacity, nstubs;
	uint32_t first_text_id, first_stub_id;
	int is_gone;
	int has_copies;		/* copies of fast paths, behind the thunks */
	uintptr_t region, region_end, stub_base;
	uintptr_t code_base;	/* 0: the object has no unprepared code */
	struct word_site *site;
	struct word_object *next;	/* newest first; never freed */
};

/* The thunks of unprepared code, behind those of enum thunk. */
enum word_thunk { THUNK_CODE_FUNC = NTHUNKS, THUNK_CODE_ENTER, THUNK_CODE_EXIT, WORD_NTHUNKS };

struct word_object *word_find(uint32_t object);
/* the copy of the thunk nearest to @from, or the thunk */
uintptr_t word_thunk(const struct word_object *o, unsigned t, uintptr_t from);
uintptr_t word_stub(const struct word_object *o, uint32_t stub);
void word_begin(void);			/* begins a batch: the program may have changed its mappings since the last */
int word_open(uintptr_t lo, uintptr_t hi);	/* 0 or -errno; after 0 come word_put() and word_close() */
void word_put(uintptr_t at, uint32_t word);
void word_close(void);

/* unprepared.c: where the site leads in a state other than UFT_ORIGINAL. */
uint32_t word_code_form(const struct word_object *o, const struct word_site *s, uint32_t stub, unsigned state);
uintptr_t word_code_at(const struct word_object *o, uint32_t stub);

int word_is_quiet(void);		/* true if the session says that no thread runs */
void word_unhook(void);		/* hook.c: restores the loader's calls, except those that cannot change now */

#endif
