/* SPDX-License-Identifier: MIT */
/*
 * table.c - every file of the tree, one row each
 *
 * A file that is not here does not exist: what has no meaning yet is not listed rather than faked. Row 0 is the top
 * directory, and that of an instance.
 */
#include "tree/rows.h"

#include <sys/stat.h>

#define DIR(p, perm, where, text, ...)	{ .pub = { p, S_IFDIR | (perm), where, text }, __VA_ARGS__ }
#define FILE(p, perm, where, text, ...)	{ .pub = { p, S_IFREG | (perm), where, text }, __VA_ARGS__ }

const struct row rows[] = {
	DIR("", 0700, UFT_SCOPE_INSTANCE, "the tracing directory"),
	FILE("available_tracers", 0440, UFT_SCOPE_INSTANCE, "the tracers that current_tracer takes",
	     .show = show_available_tracers),
	FILE("current_tracer", 0640, UFT_SCOPE_INSTANCE, "the tracer in use; writing a name switches and clears the buffer",
	     .show = show_current_tracer, .store = store_current_tracer),
	FILE("tracing_on", 0640, UFT_SCOPE_INSTANCE, "1: the buffer takes records; 0: it does not, and tracers stay armed",
	     .show = show_tracing_on, .store = store_tracing_on),
};
const size_t nrows = sizeof(rows) / sizeof(rows[0]);
