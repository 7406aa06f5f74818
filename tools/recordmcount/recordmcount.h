/* SPDX-License-Identifier: MIT */
/*
 * recordmcount.h - add __mcount_loc to relocatable objects, and turn the calls in them into nops
 *
 * What the kernel's scripts/recordmcount does, for objects of ordinary programs: see recordmcount.c.
 * Context: control (a build tool). Nothing here prints.
 */
#ifndef UFT_TOOLS_RECORDMCOUNT_H
#define UFT_TOOLS_RECORDMCOUNT_H

#include <stddef.h>
#include <stdint.h>

#include "symbol/error.h"

struct uft_recordmcount_options {
	int nop;		/* also turn every call into a nop of its length, and pads of several nops into one */
	int pads_only;		/* nothing but the pads: calls stay and are not listed */
	int dry_run;		/* find out, write nothing */
};

struct uft_recordmcount_result {
	size_t calls;		/* calls of mcount, _mcount or __fentry__ found in executable sections */
	size_t fentry;		/* ... of these, calls of __fentry__ */
	size_t covered;		/* ... of these, already in a __mcount_loc of the object */
	size_t added;		/* entries added */
	size_t nopped;		/* calls turned into nops */
	size_t own;		/* with nop: calls kept because the object itself defines their target */
	size_t unknown;		/* references to those names that are no call we know (-mcmodel=large) */
	size_t recorded;	/* entries that the object had before */
	size_t pads;		/* entries listed by -fpatchable-function-entry */
	size_t many;		/* ... of these, several nops where one would do */
	size_t joined;		/* with nop or pads_only: made one */
	int link_time_code;	/* the object holds code for the linker's compiler (-flto), in full or beside its own */
	int changed;		/* the object was, or with dry_run would be, written */
};

/**
 * uft_recordmcount_image - the same for an object in memory
 * @name:    for error messages
 * @in:      the file's bytes; not changed
 * @out:     receives malloc'd new contents, or NULL if nothing is to be changed
 * @out_len: receives their length
 *
 * Returns 0, or: -ENOEXEC no ELF file, an archive, link-time code only, or damaged; -EINVAL an ELF file
 * that is not relocatable; -EPFNOSUPPORT an architecture without a row in the table; -ENOMEM.
 */
int uft_recordmcount_image(const char *name, const void *in, size_t len, const struct uft_recordmcount_options *opt,
			   struct uft_recordmcount_result *res, void **out, size_t *out_len, struct uft_error *err);

/**
 * uft_recordmcount_file - process one object file in place
 *
 * The new contents are written beside the file and renamed over it, mode and owner kept, so that the file
 * is at every instant either the old or the new one. A file that needs no change is not touched at all:
 * its time stays, and make(1) does not start over.
 *
 * Returns as uft_recordmcount_image(), or a negative errno of the file operations.
 */
int uft_recordmcount_file(const char *path, const struct uft_recordmcount_options *opt,
			  struct uft_recordmcount_result *res, struct uft_error *err);

#endif
