/* SPDX-License-Identifier: MIT */
/*
 * event_type.h - the events that have a name: system, name, fields, text
 *
 * One table for who switches them (tree/, cmd/), who records them (control/), who tries filters (stream/) and who writes them as text
 * and as records of the kernel (output/). What a program defines itself joins here, with ids from UFT_EVENT_FREE on.
 * Names, fields and texts are the kernel's (6.12), so that its tools and habits fit. Context: any.
 */
#ifndef UFT_SYMBOL_EVENT_TYPE_H
#define UFT_SYMBOL_EVENT_TYPE_H

#include <stddef.h>

#include "uft/abi.h"

/* Where of an event's record a field is from. */
enum uft_field_from {
	UFT_FIELD_TID,		/* whose event it is */
	UFT_FIELD_WORD,		/* the low half of word `word` */
	UFT_FIELD_COMM,		/* a name of UFT_COMM_WORDS words from `word` on */
	UFT_FIELD_TEXT,		/* the bytes behind word `word`: in a record of the kernel __data_loc, behind the others */
};

struct uft_event_field {
	const char *name, *type;	/* of the kernel's format: `char comm[16]` has its brackets behind the name */
	enum uft_field_from from;
	uint32_t word;
	uint32_t offset, size;		/* in a record of the kernel */
	int is_signed;
};

struct uft_event_type {
	uint32_t id;			/* enum uft_event_id */
	uint32_t kernel_id;		/* in records of the kernel's form: above those of its tracers */
	const char *system, *name;
	const char *print;		/* one `%` for each field, in their order */
	uint32_t bytes;			/* of a record of the kernel, without text */
	uint32_t tasks;			/* enum uft_tasks: what has to be asked for; 0: nothing that the session knows of tasks */
	struct uft_event_field field[5];	/* a name NULL behind the last */
};

#define UFT_NEVENT_TYPES	3u
extern const struct uft_event_type uft_event_types[UFT_NEVENT_TYPES];	/* by system and name, as they are listed */

const struct uft_event_type *uft_event_type(uint32_t id);	/* NULL: it has no name */

/**
 * uft_event_types_named - the types that a word of set_event, or of -e, means
 * @word: SYSTEM:EVENT, SYSTEM:, SYSTEM:*, :EVENT, EVENT, or SYSTEM; each part may be a glob
 * @n:    its length
 *
 * Returns a bit for each, by place in the table; 0: there is none.
 */
uint32_t uft_event_types_named(const char *word, size_t n);

/* The kernel's events/SYSTEM/NAME/format. malloc'd; NULL: no memory. */
char *uft_event_format(const struct uft_event_type *type);

#endif
