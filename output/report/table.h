/* SPDX-License-Identifier: MIT */
/*
 * table.h - the table printer of all reports: aligned text, JSON or CSV
 *
 * A report describes its columns once and gives rows of cells. Text shows times with three digits and a unit,
 * shares in percent and the name last, cut at the width of a terminal. JSON and CSV hold every column, times
 * in ns, shares as fractions, names whole:
 *
 *	{"report":"profile","version":1,"rows":[
 *	{"calls":2,"total_ns":4000,...,"function":"f"}
 *	]}
 *
 * Escapes: control characters are `?` in text, \u00XX in JSON, as they are within quotes in CSV; a byte that is no
 * UTF-8 is U+FFFD in JSON and CSV. A cell that is not known is `-`, null or empty. Context: control, one
 * thread.
 */
#ifndef UFT_OUTPUT_REPORT_TABLE_H
#define UFT_OUTPUT_REPORT_TABLE_H

#include <stdint.h>
#include <stdio.h>

#include "output/output.h"

enum table_kind {
	TABLE_NAME,		/* text */
	TABLE_COUNT,
	TABLE_TIME,		/* ns */
	TABLE_SHARE,		/* a fraction of 1 */
	TABLE_CHANGE,		/* of a time: signed ns, as a number */
	TABLE_NUMBER,		/* any other */
};

struct table_column {
	const char *head;	/* in text; NULL: only in JSON and CSV */
	const char *key;	/* there */
	enum table_kind kind;
	int width;		/* of text, a blank in front included; 0: the last column */
};

struct table_cell {
	int is_known;
	union { uint64_t u; double f; const char *s; };
};
#define CELL_COUNT(v)	((struct table_cell){ .is_known = 1, .u = (v) })
#define CELL_TIME(v, k)	((struct table_cell){ .is_known = (k), .u = (v) })
#define CELL_NUMBER(v, k) ((struct table_cell){ .is_known = (k), .f = (v) })
#define CELL_NAME(v)	((struct table_cell){ .is_known = 1, .s = (v) })

struct table {
	FILE *out;
	enum uft_form form;
	unsigned width;		/* text: of a line, 0 any */
	const struct table_column *column;
	size_t ncolumns, nrows;
};

/* Prints the part in front of the first row. @report names the table in JSON. */
void table_begin(struct table *t, const char *report);
/* One row: a cell for each column. Text puts @indent blanks in front of the name. */
void table_row(struct table *t, const struct table_cell *cell, unsigned indent);
/* Prints the part behind the last row. 0, or the negative errno of the output. */
int table_end(struct table *t);

#define TABLE_TIME_ROOM	24u
/* `1.23ms`: three digits and the unit that fits. Returns @buf. */
const char *table_time(char buf[TABLE_TIME_ROOM], uint64_t ns);
/* Writes @s as a JSON string, quotes included. */
void table_put_json(FILE *out, const char *s);
/* Writes @s as a cell of CSV, in quotes if RFC 4180 requires them, and with ' in front of a formula. */
void table_put_csv(FILE *out, const char *s);
/* The bytes of the UTF-8 character at @s; 0: it is none. */
unsigned table_utf8(const char *s);

#endif
