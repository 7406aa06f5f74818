/* SPDX-License-Identifier: MIT */
/*
 * event_type.h - event types: system, name, fields, print format
 *
 * One table of types serves the code that switches events (tree/, cmd/), records them (control/), filters them
 * (stream/) and prints or exports them (output/). Any provider adds types at run time: the built-in ones exist from the
 * start, tracepoints of an object are added when the session finds them, a recording brings the types it was made with.
 *
 * A type is described by the text of its `format` file, which is the kernel's. That text is all that a recording or
 * trace.dat needs, and uft_event_table_add() takes nothing else. A record's payload is the kernel's record behind the 8
 * bytes of its common fields, so offsets are those of the format minus UFT_EVENT_COMMON.
 *
 * A table only grows. Types are never changed or freed while the table lives, with two exceptions: a recording's
 * description replaces a built-in type of the same id, and more objects may declare a type. Adding and looking up by
 * name take a lock, looking up by index takes none; any thread may do it.
 */
#ifndef UFT_SYMBOL_EVENT_TYPE_H
#define UFT_SYMBOL_EVENT_TYPE_H

#include <stddef.h>
#include <string.h>

#include "symbol/error.h"
#include "symbol/owner.h"
#include "uft/abi.h"

#define UFT_EVENT_COMMON	8u	/* bytes of common_type, common_flags, common_preempt_count, common_pid */
#define UFT_EVENT_PAYLOAD_MAX	(8u * 255)
#define UFT_EVENT_TYPES_MAX	60000u	/* common_type has 16 bits */

enum uft_field_place { UFT_FIELD_FIXED, UFT_FIELD_DATA_LOC, UFT_FIELD_REL_LOC };

struct uft_event_field {
	const char *name;
	const char *type;		/* the part before the name: "char", "pid_t", "__data_loc char[]" */
	const char *brackets;		/* "[16]" behind the name, or "" */
	uint32_t offset, size;		/* in the kernel's record; for a dynamic field those of its location word */
	uint32_t element;		/* bytes of an element; of a plain number its size */
	uint8_t place;			/* enum uft_field_place */
	uint8_t is_signed, is_array;
	uint8_t is_string;		/* an array of char */
};

struct uft_print;			/* print_format.h */

/* An object that declares the type: by its file's name, without directories. */
struct uft_event_object { const struct uft_event_object *next; char name[]; };

struct uft_event_type {
	uint32_t id;			/* in uft's records: UFT_EVENT_FREE + index */
	uint32_t index;			/* in the table */
	uint32_t kernel_id;		/* common_type, and the file `id` */
	uint32_t system_index;		/* dense, by first appearance */
	uint32_t member_index;		/* under the table's lock: its index among the system's types */
	const char *system, *name;
	const char *print;		/* the text behind `print fmt: ` */
	const char *format;		/* the whole text of the file `format` */
	struct uft_print *text;		/* the compiled print format; NULL: the compiler did not accept it */
	uint32_t bytes;			/* bytes of the fixed part of a kernel record */
	uint32_t owner;			/* the user that declared it, or UFT_OWNER_OURS (owner.h) */
	uint32_t declared_bytes;	/* length of the declared name, with which its name begins */
	uint32_t is_gone;		/* atomic: it was removed; only earlier records have it */
	uint32_t tasks;			/* enum uft_tasks: built-in types that the session records itself; else 0 */
	uint32_t nfields;
	struct uft_event_field *field;
	const struct uft_event_object *object;	/* atomic: a list that grows at its head; NULL: no object */
};

struct uft_event_table;

/*
 * The type of marks, ftrace:print. It stands beside the others, since only its triggers and histograms work as those of
 * an event: no count has its index, and no word or name finds it.
 */
#define UFT_EVENT_PRINT	UINT32_MAX
extern const char uft_event_print_format[];
/* The built-in types: their indices in every table. */
enum uft_builtin_event { UFT_BUILTIN_EXEC, UFT_BUILTIN_EXIT, UFT_BUILTIN_FORK, UFT_NBUILTINS };
#define UFT_EVENT_SCHED_EXEC	(UFT_EVENT_FREE + UFT_BUILTIN_EXEC)
#define UFT_EVENT_SCHED_EXIT	(UFT_EVENT_FREE + UFT_BUILTIN_EXIT)
#define UFT_EVENT_SCHED_FORK	(UFT_EVENT_FREE + UFT_BUILTIN_FORK)

struct uft_event_table *uft_event_table_new(void);	/* with the built-in types; NULL: no memory */
struct uft_event_table *uft_event_table_get(struct uft_event_table *t);
void uft_event_table_put(struct uft_event_table *t);

/**
 * uft_event_table_add - add a type, or find an equal one
 * @owner:  the user that declares it
 * @system: its system; the text does not name it
 * @format: the text of a `format` file. Its `ID:` holds if it is not 0 and free; else the table chooses one,
 *          and changes the text
 * @out:    the type in the table
 *
 * Types of the same system and name with the same fields and print format are equal. A different type of the same name
 * is refused if it has the same owner, and else called NAME_0xN, with the first of 64 N that no other type has. An
 * owner other than uft has at most half of what the others left. Returns 0, -EEXIST, -EINVAL (the text is no format),
 * -ENOSPC, -EFBIG, -ENOMEM, with @err.
 */
int uft_event_table_add(struct uft_event_table *t, uint32_t owner, const char *system, const char *format,
			const struct uft_event_type **out, struct uft_error *err);
/* The same with uft's id, by which records name the type (a recording's own description). */
int uft_event_table_set(struct uft_event_table *t, uint32_t id, const char *system, const char *format,
			struct uft_error *err);

/*
 * Notes that the object of @owner with this file name declares @type, a type of the table. 0, -ENOMEM, or -ENOSPC,
 * because the number of noted objects is bounded: programs may load objects of new names all the time.
 */
int uft_event_table_note_object(struct uft_event_table *t, uint32_t owner, const struct uft_event_type *type,
				const char *name);
/*
 * Removes a type: uft_event_table_at() does not find it any more, uft_event_table_by_id() does, for earlier records.
 * Its name is free.
 */
void uft_event_table_remove(struct uft_event_table *t, uint32_t index);

uint32_t uft_event_table_count(const struct uft_event_table *t);	/* indices: some may be empty */
/* @index: also UFT_EVENT_PRINT. NULL: empty */
const struct uft_event_type *uft_event_table_at(const struct uft_event_table *t, uint32_t index);
uint32_t uft_event_table_systems(const struct uft_event_table *t);
const char *uft_event_table_system(const struct uft_event_table *t, uint32_t system);
/* UINT32_MAX: no system has that name */
uint32_t uft_event_table_find_system(const struct uft_event_table *t, const char *name, size_t n);
uint32_t uft_event_table_members(const struct uft_event_table *t, uint32_t system);	/* types of a system */
/* index of the system's i-th type; UFT_EVENT_TYPES_MAX: there is none */
uint32_t uft_event_table_member(const struct uft_event_table *t, uint32_t system, uint32_t i);
const struct uft_event_type *uft_event_table_find(const struct uft_event_table *t, const char *system, size_t nsystem,
						  const char *name, size_t nname);

const struct uft_event_type *uft_event_table_by_id(const struct uft_event_table *t, uint32_t id);

/**
 * uft_event_matches - does a word of set_event, or of -e, mean this type?
 * @word: SYSTEM:EVENT, SYSTEM:, SYSTEM:*, :EVENT, EVENT, or SYSTEM; each part may be a glob; :mod:OBJECT behind it
 *        (also alone): only types of that object, or of objects that match a glob. EVENT: its name, or the declared one
 * @n:    its length
 */
int uft_event_matches(const char *word, size_t n, const struct uft_event_type *type);

const struct uft_event_field *uft_event_field(const struct uft_event_type *type, const char *name, size_t n);

/*
 * event_format.c: makes a type of its text, malloc'd as one piece with all that it points to. 0, -EINVAL, -ENOMEM, with
 * @err.
 */
int uft_event_format_parse(const char *system, const char *format, struct uft_event_type **out, struct uft_error *err);

/* Returns the bytes of a field, or those that its location word names; NULL: not within the payload. */
static inline const uint8_t *uft_field_bytes(const uint8_t *payload, size_t end, const struct uft_event_field *f,
					     size_t *n)
{
	uint64_t at = f->offset - UFT_EVENT_COMMON, bytes = f->size;
	uint32_t where;

	*n = 0;
	if (at + bytes > end)
		return NULL;
	if (f->place != UFT_FIELD_FIXED) {
		memcpy(&where, payload + at, 4);
		bytes = where >> 16;
		where &= 0xffff;
		if (f->place == UFT_FIELD_REL_LOC)
			at += 4ull + where;
		else if (where < UFT_EVENT_COMMON)
			return NULL;
		else
			at = where - UFT_EVENT_COMMON;
		if (at + bytes > end)
			return NULL;
	}
	*n = bytes;
	return payload + at;
}

static inline int64_t uft_field_number(const uint8_t *p, uint32_t size, int is_signed)
{
	uint64_t v = 0;
	unsigned unused;

	if (size > 8)
		size = 8;
	memcpy(&v, p, size);
	unused = 64 - 8 * size;
	if (!size || !unused)
		return (int64_t)v;
	return is_signed ? (int64_t)(v << unused) >> unused : (int64_t)v;
}

#endif
