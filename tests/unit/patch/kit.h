/* SPDX-License-Identifier: MIT */
/*
 * kit.h - generated text with sites of every kind, and doubles for the handlers they lead to
 *
 * The doubles (doubles.S) obey arch.h and count; they keep a shadow stack per thread in TLS, which a hosted test may
 * have. A generated function returns its argument plus one, whatever stands at its site.
 */
#ifndef TESTS_PATCH_KIT_H
#define TESTS_PATCH_KIT_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/arch/arch.h"
#include "runtime/runtime.h"

#define CHECK(c, ...)										\
	do {											\
		if (!(c)) {									\
			fprintf(stderr, "%s:%d: %s:", __FILE__, __LINE__, #c);			\
			fprintf(stderr, " " __VA_ARGS__);						\
			fputc('\n', stderr);							\
			exit(1);								\
		}										\
	} while (0)

/* What the doubles saw. */
extern uint64_t kit_funcs, kit_enters, kit_slow_enters, kit_exits, kit_slow_exits, kit_own_calls;
extern uint64_t kit_hook_pre, kit_hook_post, kit_hook_unwind, kit_hook_find, kit_hook_rbrk, kit_hook_any;
extern uint64_t kit_last_id, kit_last_parent, kit_own_self, kit_own_parent;
extern uint64_t kit_counters[UFT_NCOUNTERS];
extern int kit_graph_is_fast;
/* Each thread calls this before it calls generated functions. */
void kit_thread_init(void);
extern const char kit_own_mcount[];	/* the program's own, what original calls go to */

/* Text of @n slots of KIT_SLOT bytes, int3 all over, not executable yet. */
#define KIT_SLOT	256u
struct kit_text {
	uint8_t *base;
	size_t bytes;		/* text; behind it a page with a `jmp kit_own_mcount` and a cell of its address */
	uint32_t n;
	uint8_t *copy;		/* of the slots as they were */
};

struct kit_site {
	const char *name;
	uint8_t kind, len, action;
	uint8_t prologue;	/* the site stands behind push %rbp; mov %rsp,%rbp */
	uint8_t nbytes, bytes[24];	/* at the site; a call's displacement is filled in */
	uint8_t before;		/* PREPAD: one-byte nops before it */
};

/* Every kind and length that compilers and linkers leave. Ends with a NULL name. */
extern const struct kit_site kit_sites[];

void kit_text_make(struct kit_text *t, uint32_t n);
/* Puts a function into slot @i, its site at @offset (0..63) of a cache line. Returns the site's address. */
uint64_t kit_emit(struct kit_text *t, uint32_t i, const struct kit_site *k, unsigned offset);
/* How text is mapped (enum of mmap's): where no host protects it, it can be written. */
int kit_prot(void);
/* Takes the copy and makes it executable. */
void kit_text_seal(struct kit_text *t);
void kit_text_free(struct kit_text *t);
/* As the session switches: by a bit each, a state at a time, and what is left by a list. How many were not left. */
uint32_t kit_bitmap(uint32_t object, struct uft_patch *p, uint32_t n);
long kit_call(const struct kit_text *t, uint32_t i, const struct kit_site *k, unsigned offset, long arg);
void kit_object(const struct kit_text *t, uint32_t object, uint32_t nstubs, struct uft_cmd_object *o);

#endif
