/* SPDX-License-Identifier: MIT */
/*
 * list_events.c - uft list -e: list the events that can be recorded: without a program, of programs' files, or of a
 * session
 *
 * A file's events are read from its ELF sections, so the program need not run. The numbers (ID) of a file's events are
 * those of a session that finds this file first.
 */
#include "cmd/list_events.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/client.h"
#include "cmd/cmd.h"
#include "cmd/objects.h"
#include "symbol/tracepoint.h"

struct listing {
	int forms;			/* enum list_event_forms */
	const char *session;
	struct table *table;		/* NULL: text */
	struct uft_error *err;
};

/* The kernel's text of `format`, as trace-cmd list -F cuts it: the print format is for --full. */
static void print_format(const struct listing *l, const char *system, const char *format)
{
	const char *print = strstr(format, "\nprint fmt:");

	printf("system: %s\n%.*s\n", system,
	       (int)(print && !(l->forms & LIST_EVENT_FULL) ? print - format : (long)strlen(format)), format);
}

const struct table_column list_format_columns[] = {
	{ NULL, "event", TABLE_NAME, 0 }, { NULL, "id", TABLE_COUNT, 0 }, { NULL, "field", TABLE_NAME, 0 },
	{ NULL, "type", TABLE_NAME, 0 },
	{ NULL, "offset", TABLE_COUNT, 0 }, { NULL, "size", TABLE_COUNT, 0 }, { NULL, "signed", TABLE_COUNT, 0 },
	{ NULL, "print", TABLE_NAME, 0 },
};
const size_t list_format_ncolumns = sizeof(list_format_columns) / sizeof(list_format_columns[0]);

/* Adds a row for each field; an event without fields has one row with its number. */
static void put_fields(const struct listing *l, const struct uft_event_type *type)
{
	char event[512], kind[256];
	struct table_cell print = CELL_NAME(type->print);

	print.is_known = (l->forms & LIST_EVENT_FULL) != 0;
	snprintf(event, sizeof(event), "%s:%s", type->system, type->name);
	for (uint32_t i = 0; i < type->nfields + !type->nfields; i++) {
		const struct uft_event_field *f = i < type->nfields ? &type->field[i] : NULL;

		snprintf(kind, sizeof(kind), "%s%s", f ? f->type : "", f ? f->brackets : "");
		table_row(l->table, (struct table_cell[]){
			CELL_NAME(event), CELL_COUNT(type->kernel_id),
				{ .is_known = f != NULL, .s = f ? f->name : NULL },
			{ .is_known = f != NULL, .s = kind }, { .is_known = f != NULL, .u = f ? f->offset : 0 },
			{ .is_known = f != NULL, .u = f ? f->size : 0 },
			{ .is_known = f != NULL, .u = f ? f->is_signed : 0 }, print,
		}, 0);
	}
}

static void put_event(const struct listing *l, const struct uft_event_type *type)
{
	char name[512];

	snprintf(name, sizeof(name), "%s:%s", type->system, type->name);
	if (l->table)
		cmd_list_row(l->table, "event", name, NULL);
	else
		puts(name);
}

static void print_types(const struct listing *l, const struct uft_event_table *types)
{
	for (uint32_t i = 0; i < uft_event_table_count(types); i++) {
		const struct uft_event_type *type = uft_event_table_at(types, i);

		if (type && l->forms && l->table)
			put_fields(l, type);
		else if (type && l->forms)
			print_format(l, type->system, type->format);
		else if (type)
			put_event(l, type);
	}
}

static int add_object(char *command, struct uft_event_table *types, struct uft_object *obj)
{
	struct uft_found_events found;
	const struct uft_event_type **type;
	int ret = uft_object_events(obj, &found);

	if (ret)
		return ret;
	if (found.nrefused)
		cmd_warn(command, found.refused.text);
	type = calloc(found.nevents + 1, sizeof(*type));
	ret = type ? uft_found_events_add(types, obj, &found, type, cmd_warn, command) : -ENOMEM;
	free(type);
	uft_found_events_free(&found);
	return ret;
}

int cmd_add_events(char *command, struct uft_event_table *types, const char *program, struct uft_error *err)
{
	struct cmd_objects objects;
	int ret = cmd_objects_open(program, &objects, err);

	if (ret)
		return ret;
	for (size_t k = 0; k < objects.n && !ret; k++)
		ret = add_object(command, types, objects.item[k].obj);
	cmd_objects_close(&objects);
	return ret == -ENOMEM ? uft_fail(err, ret, "out of memory") : ret;
}

static int list_files(struct listing *l, char *const *file, int n)
{
	struct uft_event_table *types = uft_event_table_new();
	int ret = types ? 0 : uft_fail(l->err, -ENOMEM, "out of memory");

	for (int i = 0; i < n && !ret; i++)
		ret = cmd_add_events("list", types, file[i], l->err);
	if (!ret)
		print_types(l, types);
	uft_event_table_put(types);
	return ret;
}

static int print_session_format(struct listing *l, const char *event)
{
	char path[CLIENT_PATH], *text;
	int system = (int)strcspn(event, ":"), ret = 0;
	struct uft_event_type *type = NULL;

	if (snprintf(path, sizeof(path), "events/%.*s/%s/format", system, event, event + system + 1) >=
	    (int)sizeof(path))
		return 0;
	text = client_read_text(l->session, path, l->err);
	if (!text)
		return -EIO;
	path[7 + system] = '\0';
	if (!l->table)
		print_format(l, path + 7, text);
	else if (!uft_event_format_parse(path + 7, text, &type, l->err))
		put_fields(l, type);
	else
		ret = -EIO;
	free(type);
	free(text);
	return ret;
}

static int list_session(struct listing *l)
{
	char *events = client_read_text(l->session, "available_events", l->err);
	int ret = events ? 0 : -EIO;

	if (events && !l->forms && !l->table)
		fputs(events, stdout);
	for (char *line = events ? strtok(events, "\n") : NULL; line && !ret; line = strtok(NULL, "\n")) {
		if (l->forms && strchr(line, ':'))
			ret = print_session_format(l, line);
		else if (l->table)
			cmd_list_row(l->table, "event", line, NULL);
	}
	free(events);
	return ret;
}

int cmd_list_events(const char *session, int forms, struct table *t, char *const *file, int n, struct uft_error *err)
{
	struct listing l = { .forms = forms, .session = session, .table = t, .err = err };

	return !n && (session || getenv("UFT_SESSION")) ? list_session(&l) : list_files(&l, file, n);
}
