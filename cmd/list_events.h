/* SPDX-License-Identifier: MIT */
/* list_events.h - uft list -e */
#ifndef UFT_CMD_LIST_EVENTS_H
#define UFT_CMD_LIST_EVENTS_H

#include "output/report/table.h"
#include "symbol/error.h"
#include "symbol/event_type.h"

enum list_event_forms { LIST_EVENT_FORMAT = 1, LIST_EVENT_FULL = 2 };	/* 0: SYSTEM:EVENT, one a line */

/*
 * @t: gets a row an event (cmd_list_row()), with @forms a row a field (list_format_columns); NULL: text. @file:
 * programs, or PIDs; none: of the session, if there is one to ask. 0, or a negative errno with @err.
 */
int cmd_list_events(const char *session, int forms, struct table *t, char *const *file, int n, struct uft_error *err);
/* Adds the events that @program, a file or a process, and its libraries declare. 0, or a negative errno with @err. */
int cmd_add_events(char *command, struct uft_event_table *types, const char *program, struct uft_error *err);
extern const struct table_column list_format_columns[];
extern const size_t list_format_ncolumns;
/* A row of the table of uft list (list.c); @value NULL: it has none. */
void cmd_list_row(struct table *t, const char *kind, const char *name, const char *value);

#endif
