/* SPDX-License-Identifier: MIT */
/* event_type.c - the table of events that have a name; see event_type.h */
#include "symbol/event_type.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMM(name, word, at)	{ name, "char", UFT_FIELD_COMM, word, at, 16, 0 }
#define PID(name, at)		{ name, "pid_t", UFT_FIELD_TID, 0, at, 4, 1 }

const struct uft_event_type uft_event_types[UFT_NEVENT_TYPES] = {
	{ UFT_EVENT_EXEC, 303, "sched", "sched_process_exec", "filename=%s pid=%d old_pid=%d", 20, UFT_TASKS_EXEC, {
		{ "filename", "__data_loc char[]", UFT_FIELD_TEXT, 0, 8, 4, 0 },
		PID("pid", 12), { "old_pid", "pid_t", UFT_FIELD_WORD, 0, 16, 4, 1 } } },
	{ UFT_EVENT_EXIT, 307, "sched", "sched_process_exit", "comm=%s pid=%d prio=%d", 32, UFT_TASKS_EXIT, {
		COMM("comm", 0, 8), PID("pid", 24), { "prio", "int", UFT_FIELD_WORD, UFT_COMM_WORDS, 28, 4, 1 } } },
	/* A child has its maker's name at that moment. */
	{ UFT_EVENT_FORK, 304, "sched", "sched_process_fork", "comm=%s pid=%d child_comm=%s child_pid=%d", 48, UFT_TASKS_FORK, {
		COMM("parent_comm", 0, 8), PID("parent_pid", 24), COMM("child_comm", 0, 28),
		{ "child_pid", "pid_t", UFT_FIELD_WORD, UFT_COMM_WORDS, 44, 4, 1 } } },
};

const struct uft_event_type *uft_event_type(uint32_t id)
{
	for (size_t i = 0; i < UFT_NEVENT_TYPES; i++)
		if (uft_event_types[i].id == id)
			return &uft_event_types[i];
	return NULL;
}

static int put_field(FILE *f, const struct uft_event_field *e)
{
	int is_array = e->from == UFT_FIELD_COMM;

	return fprintf(f, "\tfield:%s %s%s;\toffset:%u;\tsize:%u;\tsigned:%d;\n", e->type, e->name, is_array ? "[16]" : "", e->offset, e->size,
		       e->is_signed);
}

char *uft_event_format(const struct uft_event_type *type)
{
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);
	int is_whole;

	if (!f)
		return NULL;
	fprintf(f, "name: %s\nID: %u\nformat:\n"
		"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
		"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
		"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n", type->name, type->kernel_id);
	for (const struct uft_event_field *e = type->field; e->name; e++)
		put_field(f, e);
	fprintf(f, "\nprint fmt: \"%s\"", type->print);
	for (const struct uft_event_field *e = type->field; e->name; e++)
		fprintf(f, e->from == UFT_FIELD_TEXT ? ", __get_str(%s)" : ", REC->%s", e->name);
	fputc('\n', f);
	is_whole = !ferror(f);
	if (fclose(f) || !is_whole) {
		free(text);
		return NULL;
	}
	return text;
}
