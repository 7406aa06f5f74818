/* SPDX-License-Identifier: MIT */
/* calls.h - internal to symbol/: which call instructions call mcount or __fentry__ */
#ifndef UFT_SYMBOL_CALLS_H
#define UFT_SYMBOL_CALLS_H

#include "symbol/object_internal.h"

/* Bits: one function may have both names, and be the program's own. */
enum callee { CALLEE_NONE = 0, CALLEE_MCOUNT = 1, CALLEE_FENTRY = 2, CALLEE_OWN = 4 };
#define CALLEE_NAME_SHIFT 3	/* bits above: enum uft_call_name, if the dynamic linker binds the call */

#define CALLEE_MAX	16	/* functions, and GOT slots: three names, each in up to two tables */
#define CALLEE_MEMO	256

struct callees {
	struct uft_object *obj;
	struct callee_func { uint64_t addr; unsigned what; } func[CALLEE_MAX], got[CALLEE_MAX];
	unsigned nfunc, ngot;
	int is_stripped_static;	/* no names: libc's mcount is found by its code */
	int has_any;		/* 0: no call can be one, do not search */
	int has_gmon;
	size_t nfuncsyms;	/* defined functions in the symbol table */
	struct { uint64_t target; unsigned what; int valid; } memo[CALLEE_MEMO];
};

/* "mcount", "_mcount" -> CALLEE_MCOUNT, "__fentry__" -> CALLEE_FENTRY, else CALLEE_NONE. */
unsigned callee_by_name(const char *name);

/* Searches the symbols and dynamic relocations of @obj. */
void callees_init(struct callees *c, struct uft_object *obj);

/*
 * Returns the length, 5 or 6, of a call at @addr (bytes @p, @avail of them), and sets *@what to what it calls. 0: no
 * such call.
 */
unsigned callee_of_call(struct callees *c, uint64_t addr, const uint8_t *p, size_t avail, unsigned *what);

#endif
