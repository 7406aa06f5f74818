/* SPDX-License-Identifier: MIT */
/*
 * program.h - small verified programs that check the record of an event; filters are compiled to them
 *
 * A program is a list of steps. A step asks one question about one value of the record, and names the next step for
 * either answer: always a later one, or the end, which accepts or rejects the record. So there are no loops, and a
 * program ends after at most as many steps as it has. Answers are not combined at run time: the order of the steps
 * expresses && || ! and parentheses (symbol/event_filter.c makes them).
 *
 * The same program runs in a target, before its record is committed (tracers/event_rules.c), and outside, for readers
 * of the record and for records of the session itself. Some facts are unknown in a target (the thread's name) or
 * outside (none so far). For a question about such a fact the step holds the answer that leads to "accept". So a target
 * may record an event that a reader leaves out, but never the reverse.
 *
 * The caller of uft_program_run() has verified the program (uft_program_is_good()): each place that it names lies in
 * the largest record or in its own constants. A record may be shorter than the fields that the program asks for; a
 * missing value is 0, or "".
 *
 * Context: any; nothing here has a libc, a lock or memory of its own.
 */
#ifndef UFT_PROGRAM_H
#define UFT_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

#define UFT_PROGRAM_BYTES	(32u << 10)	/* of the longest program */
#define UFT_PROGRAM_STEPS	1024u
#define UFT_PROGRAM_RECORD	(8u * 255)	/* of the longest record, behind the common fields */

enum uft_load {			/* a value of a record */
	/* Numbers: at a place of the record, */
	UFT_LOAD_U8, UFT_LOAD_U16, UFT_LOAD_U32, UFT_LOAD_U64,
	UFT_LOAD_S8, UFT_LOAD_S16, UFT_LOAD_S32, UFT_LOAD_S64,
	/* or of the thread that wrote it */
	UFT_LOAD_TID,
	UFT_LOAD_CPU,
	/* Bytes: of the record, a fixed number of them; where a word of the record says; of the thread that wrote it */
	UFT_LOAD_BYTES,
	UFT_LOAD_DATA_LOC,	/* offset from the common fields' begin | length << 16 */
	UFT_LOAD_REL_LOC,	/* offset from behind that word | length << 16 */
	UFT_LOAD_COMM,
	UFT_NLOADS
};
#define UFT_LOAD_IS_NUMBER(load)	((load) <= UFT_LOAD_CPU)

enum uft_step_op {
	/* of numbers; `value`: the number to compare with */
	UFT_STEP_EQ,
	UFT_STEP_LT, UFT_STEP_LE,	/* signed */
	UFT_STEP_ULT, UFT_STEP_ULE,
	UFT_STEP_BITS,			/* one of these bits at least is set */
	/* `value`: UFT_STEP_VALUE() of a constant */
	UFT_STEP_IN_CPUS,		/* a number: its bit is set in the constant */
	UFT_STEP_IN_TASKS,		/* UFT_LOAD_TID: the constant's numbers have it, or its process's */
	UFT_STEP_IN_FUNCTION,		/* an address: within the function that the constant names */
	UFT_STEP_TEXT,			/* bytes, up to a 0: they are the constant's, up to its end */
	UFT_STEP_GLOB,			/* the constant, up to its 0, matches them */
	UFT_STEP_MASK,			/* bytes: the same bits as the constant's are set; what one has more of is 0 */
	UFT_STEP_MASK_MEETS,		/* one bit at least is set in both */
	UFT_NSTEPS_OPS
};

#define UFT_STEP_REJECT	0xffffu		/* in place of a step's number */
#define UFT_STEP_ACCEPT	0xfffeu

struct uft_step {
	uint8_t op;		/* enum uft_step_op */
	uint8_t load;		/* enum uft_load | UFT_STEP_MAYBE_NO */
	uint16_t at;		/* where, behind the common fields */
	uint16_t yes, no;	/* what comes next */
	uint64_t value;
};
#define UFT_STEP_MAYBE_NO	0x80u	/* where the fact is not known, `no` comes next; else `yes` */
_Static_assert(sizeof(struct uft_step) == 16, "programs travel");

/*
 * How `value` names a constant. Names, texts and globs have a 0 behind them; bit i of a mask is bit i % 8 of
 * byte i / 8; numbers of tasks are of 32 bits.
 */
#define UFT_STEP_VALUE(offset, bytes, field)	((uint64_t)(offset) | (uint64_t)(bytes) << 16 | (uint64_t)(field) << 32)
#define UFT_STEP_OFFSET(value)	((uint32_t)(value) & 0xffff)		/* in the constants */
#define UFT_STEP_BYTES(value)	((uint32_t)((value) >> 16) & 0xffff)	/* of the constant, without the 0 of a text */
#define UFT_STEP_FIELD(value)	((uint32_t)((value) >> 32) & 0xffff)	/* UFT_LOAD_BYTES: of the field */

struct uft_program {
	uint32_t bytes;		/* of all of it, a multiple of 8 */
	uint16_t nsteps;
	uint16_t facts;		/* enum uft_facts that it asks for */
	struct uft_step step[];
	/* constants follow */
};
static inline const uint8_t *uft_program_constants(const struct uft_program *p)
{
	return (const uint8_t *)&p->step[p->nsteps];
}

enum uft_facts {
	UFT_FACT_TID		= 1,
	UFT_FACT_CPU		= 2,
	UFT_FACT_COMM		= 4,
	UFT_FACT_FUNCTION	= 8,
};

struct uft_record {
	const uint8_t *payload;	/* behind the common fields */
	uint32_t bytes;
	uint32_t known;		/* enum uft_facts: which of the following are known */
	uint32_t tid, pid, cpu;	/* pid: of the thread's process, known as the thread is */
	const char *comm;	/* with a 0 at its end */
	/*
	 * Is the code address in that function, or, if the function is a number, in the function that has this address?
	 */
	int (*is_in_function)(const struct uft_record *r, uint64_t address, const char *function);
	const void *arg;	/* is_in_function()'s */
};

/* 1: @p is a valid program of at most @bytes. For any bytes, aligned to 8. */
int uft_program_is_good(const void *p, size_t bytes);
/* 1: it accepts the record. */
int uft_program_run(const struct uft_program *p, const struct uft_record *r);

/* load.c: the value at a place within UFT_PROGRAM_RECORD. Numbers are sign-extended; for a load of bytes 0. */
int64_t uft_load_number(unsigned load, uint32_t at, const struct uft_record *r);
/*
 * *n: the number of bytes. @field: their number in a complete record, for UFT_LOAD_BYTES; 0: all up to the record's end.
 * Never NULL.
 */
const uint8_t *uft_load_bytes(unsigned load, uint32_t at, uint32_t field, const struct uft_record *r, uint32_t *n);
/* Returns the enum uft_facts that the value is, or 0. */
uint32_t uft_load_facts(unsigned load);

/* glob.c: the kernel's filter glob. The text ends at a 0, or behind @n bytes (SIZE_MAX: at its 0). 1 match, 0 not. */
int uft_glob_bytes(const char *glob, const uint8_t *text, size_t n);

#endif
