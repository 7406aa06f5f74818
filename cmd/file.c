/* SPDX-License-Identifier: MIT */
/*
 * file.c - uft read, write, ls, mkdir, rmdir: the tracing files of a session that runs, without a mounted
 * file system
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/client.h"
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "output/report/table.h"
#include "symbol/array.h"

struct file_opts {
	const char *session;
	int append, no_wait, is_long, json, csv;
	struct table *table;		/* JSON or CSV; NULL: text */
};

#define SESSION CMD_SESSION(offsetof(struct file_opts, session))

static const struct cmd_option read_options[] = {
	SESSION,
	{ "no-wait", 'n', NULL, "end instead of waiting for events in trace_pipe", cmd_flag,
		offsetof(struct file_opts, no_wait), NULL },
	{ 0 }
};

static const struct cmd_syntax read_syntax = {
	"read", "[OPTIONS] FILE", "Print the tracing file FILE of a session: uft read trace.", read_options, 0
};

static const struct cmd_option write_options[] = {
	SESSION,
	{ "append", 'a', NULL, "add to a list, as >> does", cmd_flag, offsetof(struct file_opts, append), NULL },
	{ 0 }
};

static const struct cmd_syntax write_syntax = {
	"write", "[OPTIONS] FILE [TEXT]",
	"Write TEXT and a newline to the tracing file FILE of a session: uft write current_tracer function. "
	"Without TEXT: write standard input.", write_options, 0
};

static const struct cmd_option ls_options[] = {
	SESSION,
	{ "long", 'l', NULL, "print modes, and what each file is", cmd_flag, offsetof(struct file_opts, is_long),
		NULL },
	{ "json", 0, NULL, "print the list as JSON", cmd_flag, offsetof(struct file_opts, json), NULL },
	{ "csv", 0, NULL, "print the list as CSV", cmd_flag, offsetof(struct file_opts, csv), NULL },
	{ 0 }
};

static const struct cmd_syntax ls_syntax = {
	"ls", "[OPTIONS] [DIR]", "List the tracing files of a session.", ls_options, 0
};

int cmd_read(int argc, char **argv)
{
	struct file_opts o = { 0 };
	struct uft_error err = { "" };
	int ret, status = cmd_parse(&read_syntax, &argc, argv, &o);

	if (status >= 0)
		return status;
	if (argc != 2)
		return cmd_usage(&read_syntax, "give one FILE, not %d", argc - 1);
	ret = client_read(o.session, argv[1], o.no_wait, client_print, NULL, &err);
	return ret && ret != -EPIPE ? cmd_fail("read", "%s", err.text) : 0;
}

/* Reads all of standard input. NULL: no memory, or a read error. */
static char *read_input(size_t *n)
{
	char *buf = NULL;
	size_t cap = 0;
	ssize_t got = 1;

	*n = 0;
	while (got > 0) {
		if (array_reserve(buf, cap, *n + 65536))
			break;
		got = read(STDIN_FILENO, buf + *n, cap - *n);
		*n += got > 0 ? (size_t)got : 0;
	}
	if (!got)
		return buf;
	free(buf);
	return NULL;
}

int cmd_write(int argc, char **argv)
{
	struct file_opts o = { 0 };
	struct uft_error err = { "" };
	char *text = NULL;
	int ret, status = cmd_parse(&write_syntax, &argc, argv, &o);
	size_t n = 0;

	if (status >= 0)
		return status;
	if (argc != 2 && argc != 3)
		return cmd_usage(&write_syntax, "give a FILE and one TEXT, not %d words", argc - 1);
	if (argc == 2)
		text = read_input(&n);
	else if (asprintf(&text, "%s\n", argv[2]) >= 0)
		n = strlen(text);
	if (!text)
		return cmd_fail("write", "cannot read what to write: %s", strerror(errno));
	ret = client_write(o.session, argv[1], text, n, o.append, &err);
	free(text);
	return ret ? cmd_fail("write", "%s", err.text) : 0;
}

static const struct table_column ls_columns[] = {
	{ NULL, "name", TABLE_NAME, 0 }, { NULL, "type", TABLE_NAME, 0 }, { NULL, "mode", TABLE_NAME, 0 },
	{ NULL, "description", TABLE_NAME, 0 },
};

static void print_entry(void *arg, uint32_t mode, const char *name, const char *doc)
{
	const struct file_opts *o = arg;
	char bits[11] = "----------";

	bits[0] = S_ISDIR(mode) ? 'd' : '-';
	for (int i = 0; i < 9; i++)
		if (mode & (0400u >> i))
			bits[i + 1] = "rwx"[i % 3];
	if (o->table)
		table_row(o->table, (struct table_cell[]){ CELL_NAME(name),
			CELL_NAME(S_ISDIR(mode) ? "directory" : "file"), CELL_NAME(bits),
			{ .is_known = *doc != '\0', .s = doc } }, 0);
	else if (o->is_long)
		printf("%s %-32s %s\n", bits, name, doc);
	else
		printf("%s%s\n", name, S_ISDIR(mode) ? "/" : "");
}

int cmd_ls(int argc, char **argv)
{
	struct table table = {
		.out = stdout, .column = ls_columns, .ncolumns = sizeof(ls_columns) / sizeof(ls_columns[0]),
	};
	struct file_opts o = { 0 };
	struct uft_error err = { "" };
	int ret, status = cmd_parse(&ls_syntax, &argc, argv, &o);

	if (status >= 0)
		return status;
	if (argc > 2)
		return cmd_usage(&ls_syntax, "give one directory, not %d", argc - 1);
	if (o.json && o.csv)
		return cmd_usage(&ls_syntax, "--json and --csv exclude each other");
	if (o.json || o.csv) {
		o.table = &table;
		table.form = o.json ? UFT_FORM_JSON : UFT_FORM_CSV;
		table_begin(&table, "ls");
	}
	ret = client_list(o.session, argc > 1 ? argv[1] : "/", print_entry, &o, &err);
	if (o.table)
		table_end(&table);
	if (fflush(stdout) && !ret)
		ret = uft_fail(&err, -errno, "standard output: %s", strerror(errno));
	return ret && ret != -EPIPE ? cmd_fail("ls", "%s", err.text) : 0;
}

/* ---- Instances ------------------------------------------------------------------------------- */

static const struct cmd_option dir_options[] = { SESSION, { 0 } };

static const struct cmd_syntax mkdir_syntax = {
	"mkdir", "[OPTIONS] NAME", "Create the instance NAME in a session: a buffer with its own settings.",
	dir_options, 0
};

static const struct cmd_syntax rmdir_syntax = {
	"rmdir", "[OPTIONS] NAME", "Remove the instance NAME from a session.", dir_options, 0
};

static int change_instance(const struct cmd_syntax *syntax, int argc, char **argv,
			   int (*fn)(const char *session, const char *path, struct uft_error *err))
{
	struct file_opts o = { 0 };
	struct uft_error err = { "" };
	char path[CLIENT_PATH];
	int status = cmd_parse(syntax, &argc, argv, &o);

	if (status >= 0)
		return status;
	if (argc != 2)
		return cmd_usage(syntax, "give one NAME, not %d", argc - 1);
	return fn(o.session, strchr(argv[1], '/') ? argv[1] : client_path(argv[1], "", path), &err) ?
		cmd_fail(syntax->name, "%s", err.text) : 0;
}

int cmd_mkdir(int argc, char **argv)
{
	return change_instance(&mkdir_syntax, argc, argv, client_mkdir);
}

int cmd_rmdir(int argc, char **argv)
{
	return change_instance(&rmdir_syntax, argc, argv, client_rmdir);
}
