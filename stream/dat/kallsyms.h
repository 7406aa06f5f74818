/* SPDX-License-Identifier: MIT */
/* kallsyms.h - the functions of a trace.dat file: objects with the names of their functions. Context: control. */
#ifndef UFT_STREAM_DAT_KALLSYMS_H
#define UFT_STREAM_DAT_KALLSYMS_H

#include <stdint.h>

struct dat_func {
	uint64_t addr, size;
	char *name;			/* in the text */
	uint32_t object, id;		/* id: of the function in records */
};

struct dat_object {
	const char *name;
	uint64_t start, end;
	uint32_t first_id, nfuncs, first_func;	/* of its functions, which are neighbours in by_object */
};

struct dat_kallsyms {
	struct dat_func *func;		/* by address, one for each address */
	uint32_t *by_object;		/* the same, by object and address */
	struct dat_object *object;
	uint32_t nfuncs, nobjects, next_id;
};

/* @text: /proc/kallsyms; it is changed, and must live as long as @k. 0 or -ENOMEM: other lines are skipped. */
int dat_kallsyms_read(struct dat_kallsyms *k, char *text);
void dat_kallsyms_free(struct dat_kallsyms *k);
/* The id of the function that contains @addr; 0: none. */
uint32_t dat_kallsyms_id(const struct dat_kallsyms *k, uint64_t addr);

#endif
