/* SPDX-License-Identifier: MIT */
/* synthetic.h - synthetic events: types that a user defines and that histograms make. Theory: synthetic.c. */
#ifndef UFT_HIST_SYNTHETIC_H
#define UFT_HIST_SYNTHETIC_H

#include "symbol/event_type.h"

#define UFT_SYNTH_FIELDS	64u
#define UFT_SYNTH_TEXT		256u	/* bytes of a string, its end included */

struct uft_synth_field {
	char *type, *name;		/* "char[16]", "name" */
	uint32_t size, offset;		/* in the record behind the common fields */
	uint8_t is_signed, is_string, is_dynamic, is_stack;
};

struct uft_synth {
	struct uft_synth *next;		/* in the order of definition */
	char *name;
	struct uft_synth_field *field;
	uint32_t nfields, bytes;	/* of the fixed part */
	uint32_t refs;			/* of histograms that make it */
	const struct uft_event_type *type;	/* its place in the table of types */
};

struct uft_synth_list { struct uft_synth *first; };

/* The first mistake of a definition: the kernel's text (static), and its place. */
struct uft_synth_error { const char *what; size_t at; };

/*
 * Parses `NAME TYPE FIELD[; TYPE FIELD]...`, a name that @list lacks; *out is malloc'd. 0; -EINVAL, -EEXIST, -ENOMEM.
 * @command: all of the user's text, in which err->at counts.
 */
int uft_synth_parse(const struct uft_synth_list *list, const char *text, const char *command, struct uft_synth **out,
		    struct uft_synth_error *err);
/* Adds it to the list and the table. On an error the caller still owns it. */
int uft_synth_add(struct uft_synth_list *list, struct uft_event_table *types, struct uft_synth *s);
/* Removes it from both and frees it. */
void uft_synth_remove(struct uft_synth_list *list, struct uft_event_table *types, struct uft_synth *s);
void uft_synth_free(struct uft_synth *s);
struct uft_synth *uft_synth_find(const struct uft_synth_list *list, const char *name, size_t n);

/* A value of a field. @p: of a string or stack, else NULL. */
struct uft_synth_value { uint64_t number; const void *p; size_t bytes; };
/*
 * Writes the record behind its common fields. Returns bytes, at most @room, which is UFT_EVENT_PAYLOAD_MAX. 0: no room.
 */
size_t uft_synth_pack(const struct uft_synth *s, const struct uft_synth_value *v, uint8_t *to, size_t room);

#endif
