/* SPDX-License-Identifier: MIT */
/*
 * unprepared.h - functions without compiler support; theory in unprepared.c. Context: control, the session's
 * thread.
 */
#ifndef UFT_CONTROL_UNPREPARED_H
#define UFT_CONTROL_UNPREPARED_H

#include "control/plan/plan.h"

/* Does the spec ask for the object's unprepared functions? Looks at names of files only. */
int unprepared_is_asked(const struct spec *spec, const struct space *sp, uint32_t index);
/* Lists them and gives them ids, once, if the spec asks for them. 0 or -errno. */
int unprepared_find(struct uft_session *s, struct space *sp, uint32_t index);
size_t unprepared_count(const struct space_obj *o);
/* The vaddr of the @i-th; *can_be: no reason is known why it could not be traced. */
uint64_t unprepared_func(const struct space_obj *o, size_t i, int *can_be);
const char *unprepared_why(const struct space_obj *o, size_t i);	/* the reason why it cannot be traced */
struct entry;
struct entries;
void unprepared_free(struct uft_session *s);	/* all lists of the session; no space is there any more */
/* The list of an object, whether or not a spec asks for it. 0 or -errno. */
int unprepared_list(struct uft_session *s, struct space_obj *o, const struct uft_mapped *m, const struct entries **out);
const struct entry *unprepared_entry(const struct space_obj *o, size_t i);	/* relocate/entry.h */
/* Fills their part of want[]. */
int unprepared_plan(const struct spec *spec, struct space *sp, uint32_t index, struct uft_error *err);
/*
 * Fills out->chooser and ->chosen: a function that only chooses an implementation (ifunc), and what
 * implementations are called.
 */
void unprepared_describe_ifunc(const struct uft_object *obj, const struct uft_func *fn, struct uft_session_stats *out);
/*
 * Where the jump of an entry leads that ends in bytes of the program (patch/bytes/punned_jump.c): UFT_PUN_BYTES.
 * 0: it is not armed, or no such.
 */
uint64_t unprepared_pun_place(const struct target *t, uint32_t object, uint32_t stub);
/* For a pc between moved instructions: the same place in the target's copy of them. 0: none. */
uint64_t unprepared_copy_of(const struct target *t, uint32_t object, uint32_t stub, uint64_t pc);

#endif
