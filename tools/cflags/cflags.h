/* SPDX-License-Identifier: MIT */
/*
 * cflags.h - which flags make a compiler leave patchable function entries: asked of the compiler itself
 *
 * Context: control (a build tool). Nothing here prints.
 */
#ifndef UFT_TOOLS_CFLAGS_H
#define UFT_TOOLS_CFLAGS_H

#include <stdint.h>

#include "symbol/error.h"

/* In the order of preference; from UFT_CFLAGS_RECORD on only taken when named. */
enum uft_cflags_mode {
	UFT_CFLAGS_PATCHABLE,	/* nops, listed in __patchable_function_entries */
	UFT_CFLAGS_NOP_MCOUNT,	/* one nop, listed in __mcount_loc; not in position independent code */
	UFT_CFLAGS_FENTRY,	/* call of __fentry__ at the entry */
	UFT_CFLAGS_MCOUNT,	/* call of mcount after the prologue */
	UFT_CFLAGS_RECORD,	/* call of __fentry__, listed in __mcount_loc */
	/* nops before every entry, where nothing runs; listed in __patchable_function_entries */
	UFT_CFLAGS_BEFORE,
	UFT_CFLAGS_NMODES
};

/* Names for --mode=, by enum uft_cflags_mode, then NULL. */
extern const char *const uft_cflags_mode_names[];

/* What a compiler makes of one mode. */
struct uft_cflags_probe {
	int ok;			/* the object has exactly what the mode promises */
	int one_list;		/* one section lists all functions of a file: COMDAT functions break the link */
	int one_nop;		/* patchable: a single nop instruction, not several */
	char why[400];		/* not ok: the compiler's own message, or what the object lacked */
};

struct uft_cflags_target {
	uint16_t machine;	/* EM_* of what the compiler makes */
	int is_cxx;		/* it compiles C++ */
	char version[128];	/* first line of --version */
};

/**
 * uft_cflags_target - what @cc compiles for
 * @cc: a command, words divided by spaces
 *
 * Returns 0, or: -ENOENT it cannot be run; -EINVAL it compiles nothing; -EPFNOSUPPORT no flags are known for
 * its machine; a negative errno of the temporary directory.
 */
int uft_cflags_target(const char *cc, struct uft_cflags_target *t, struct uft_error *err);

/* Flags to compile with in @mode; NULL if the machine has none. */
const char *uft_cflags_flags(uint16_t machine, enum uft_cflags_mode mode);

/* Compiles a small file in @mode, with the flags @extra besides, and looks at the object. 0 whatever it found, or a
 * negative errno. */
int uft_cflags_probe(const char *cc, const struct uft_cflags_target *t, enum uft_cflags_mode mode, const char *extra,
		     struct uft_cflags_probe *p, struct uft_error *err);

#endif
