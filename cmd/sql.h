/* SPDX-License-Identifier: MIT */
/* sql.h - the SQL of libtracefs: a query, into commands for the tracing files. Theory: sql.c. */
#ifndef UFT_CMD_SQL_H
#define UFT_CMD_SQL_H

#include <stddef.h>

#include "symbol/error.h"

struct sql_format { const char *system, *text; };	/* of an event, as its file `format` has it */

struct sql_query {
	const char *text;
	const char *name;		/* of the synthetic event that it makes */
	const char *max, *change;	/* act when this variable has a new maximum, or changes; NULL: at each match */
	const char *save;		/* fields to be kept then, with commas between; NULL none */
	int trace, snapshot;		/* act so; without any: the event is recorded */
	const struct sql_format *format; size_t nformats;
};

#define SQL_ROOT	"/sys/kernel/tracing/"	/* of the files that commands name */

/* *out: lines `echo 'TEXT' >> FILE`, malloc'd. 0, or -errno: @err has the wrong place, or what is missing. */
int sql_commands(const struct sql_query *q, char **out, struct uft_error *err);

#endif
