// SPDX-License-Identifier: MIT
/* cmdline.c - command lines as a shell takes them; see cmdline.h */
#include "cmd/cmdline.h"

#include <stdio.h>
#include <string.h>

#include "control/proc/proc.h"

#define CMDLINE_MAX	4096	/* bytes of a process's command line that are read */

/* Writes an argument for a shell: quoted if it is empty or has a character with a meaning to a shell. */
static void put_arg(FILE *out, const char *arg)
{
	if (*arg && !strpbrk(arg, " \t\r\n\"'`$\\|&;<>()*?[]{}~#!")) {
		fputs(arg, out);
		return;
	}
	putc('\'', out);
	for (; *arg; arg++)
		if (*arg == '\'')
			fputs("'\\''", out);
		else
			putc(*arg, out);
	putc('\'', out);
}

void cmd_cmdline_of_args(char *const argv[], char *buf, size_t size)
{
	FILE *out = fmemopen(buf, size, "w");

	buf[0] = '\0';
	for (size_t i = 0; out && argv[i]; i++) {
		if (i)
			putc(' ', out);
		put_arg(out, argv[i]);
	}
	if (out)
		fclose(out);
	buf[size - 1] = '\0';
}

/* Reads /proc/PID/cmdline: arguments, each with its zero byte. 0: the process is gone, or the file cannot be read. */
static size_t read_args(pid_t pid, char args[CMDLINE_MAX])
{
	int len = proc_read_file(pid, "cmdline", args, CMDLINE_MAX);

	return len > 0 ? (size_t)len : 0;
}

/* Has a server written a title over its arguments ("nginx: worker process")? That is one text, then zeros or blanks. */
static int is_title(const char *args, size_t len)
{
	size_t first = strlen(args);

	for (size_t i = first; i < len; i++)
		if (args[i])
			return 0;
	return strchr(args, ' ') != NULL;
}

static void put_process(FILE *out, const char *args, size_t len)
{
	if (is_title(args, len)) {
		size_t end = strlen(args);

		while (end && args[end - 1] == ' ')
			end--;
		fwrite(args, 1, end, out);
		return;
	}
	for (size_t at = 0; at < len; at += strlen(args + at) + 1) {
		if (at)
			putc(' ', out);
		put_arg(out, args + at);
	}
}

void cmd_cmdline_of_targets(const struct cmd_targets *t, char *buf, size_t size)
{
	FILE *out = fmemopen(buf, size, "w");
	char args[CMDLINE_MAX];
	size_t len = 0;

	buf[0] = '\0';
	for (size_t i = 0; out && !len && i < t->n; i++)
		len = read_args(t->item[i].pid, args);
	if (len)
		put_process(out, args, len);
	if (len && t->n > 1)
		fprintf(out, " (and %zu more process%s)", t->n - 1, t->n == 2 ? "" : "es");
	if (out)
		fclose(out);
	buf[size - 1] = '\0';
}
