/* SPDX-License-Identifier: MIT */
/*
 * disas.h - shared by the files of uft disas: the table of columns, and the functions of each architecture that fill
 * it; theory in disas.c
 */
#ifndef UFT_CMD_DISAS_H
#define UFT_CMD_DISAS_H

#include <inttypes.h>
#include <stdio.h>

#include "cmd/disas/insn.h"
#include "cmd/objects.h"
#include "control/relocate/entry.h"

#define DIS_COLUMNS	5

struct dis_row {
	uint64_t addr;
	unsigned len;
	char hex[48], text[192];
};

/* An unknown address: instructions that begin in [at, at + bytes) branch or refer to @label. */
struct dis_link { uint64_t at; unsigned bytes; char label[96]; };

struct dis_column {
	const char *title;
	struct dis_row *row;
	size_t n, next;		/* next: while printing */
	int hex_width, text_width;
};

struct dis;

/* What sites look like on an architecture. */
struct dis_isa {
	const struct insn_reader *reader;
	const struct dis_words *words;			/* words.h; NULL: no words */
	unsigned (*pre)(const struct uft_site *s);	/* bytes before the site that change, too */
	int (*site_columns)(struct dis *d);		/* makes the columns of the site's states: 0 or -errno */
	void (*print_runtime)(FILE *f, struct dis *d);	/* prints the code of ours that the site leads to */
	int (*code_columns)(struct dis *d);		/* the same for unprepared code; NULL: it is not rewritten */
	void (*print_code)(FILE *f, struct dis *d);
	/* code of ours in a process; NULL */
	void (*name_runtime)(struct dis *d, uint64_t addr, char *buf, size_t size);
};

extern const struct dis_isa dis_x86_64, dis_arm64, dis_riscv64;

struct dis {
	const struct dis_isa *isa;
	const struct cmd_objects *objects;
	const struct cmd_object *item;
	const struct uft_func *func;
	const struct uft_site *site;		/* NULL: none */
	const struct entry *entry;		/* of unprepared code; NULL: prepared, or cannot be rewritten */
	struct dis_column col[DIS_COLUMNS];
	unsigned ncol;
	char name[256];
	char object[256];	/* the base name of its file, to be shown */
};

/* table.c */
void dis_func_name(const struct uft_object *obj, const struct uft_func *func, char *buf, size_t size);
/* The name of a branch target, "" if there is none. */
void dis_target(struct dis *d, uint64_t addr, char *buf, size_t size);
/*
 * Adds the instruction at @p (@avail bytes) of address @addr. @link: NULL none. Returns its length; an undecodable byte
 * is shown alone.
 */
unsigned dis_insn(struct dis *d, const struct dis_link *link, const uint8_t *p, size_t avail, uint64_t addr,
		  struct dis_row *row);
int dis_column(struct dis *d, const char *title, const struct dis_link *link, const uint8_t *p, size_t len,
	       uint64_t addr);
/* Makes the column "now": the present bytes of the process at @addr. 0 or -ENOMEM. */
int dis_column_now(struct dis *d, size_t len, uint64_t addr);
void dis_print_table(FILE *f, struct dis *d);
/* Prints a line of a piece of our own code, at offset @at of the piece. */
void dis_print_line(FILE *f, size_t at, const char *hex, const char *text);

#endif
