/* SPDX-License-Identifier: MIT */
/*
 * main.c - the uft program: one table of commands
 *
 *	uft COMMAND ...			runs it
 *	uft help [COMMAND]		this table, or a command's options
 *	uft --version
 *	uft --list-commands		for completion and the checks: one name a line
 *	uft --list-options COMMAND	the same for a command's options (options.c)
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/input.h"
#include "cmd/options.h"
#include "cmd/symbols.h"
#include "symbol/clean.h"

/* A row without a name is the heading of those that follow. */
struct command {
	const char *name;
	int (*fn)(int argc, char **argv);
	/* an imperative sentence; the man pages and README.md have the same (tests/func/cli/docs.sh) */
	const char *doc;
};

static const struct command commands[] = {
	{ .doc = "Record a program" },
	{ "record", cmd_record, "run a program and record its function calls" },
	{ "attach", cmd_attach, "record running processes until Ctrl-C" },
	{ "top", cmd_top, "show what running processes call most, again and again" },
	{ "detach", cmd_detach, "stop tracing a process and restore its code" },
	{ .doc = "Read a recording" },
	{ "report", cmd_report, "print a recording as trace text or as a profile" },
	{ "view", cmd_view, "show recordings in a browser: graph, list and flame graph" },
	{ "diff", cmd_diff, "print what changed between recordings, by call path" },
	{ "stat", cmd_stat, "print facts about a recording, one key: value per line" },
	{ "hist", cmd_hist, "count events by their fields, as the kernel's hist triggers do" },
	{ "export", cmd_export, "convert a recording to another format" },
	{ "pack", cmd_pack, "write a recording in fewer bytes" },
	{ .doc = "Trace live, with the kernel's tracing files" },
	{ "shell", cmd_shell, "run a shell whose /sys/kernel/tracing traces processes" },
	{ "mount", cmd_mount, "start a session and mount its tracing files" },
	{ "umount", cmd_umount, "unmount a session's tracing files and end it" },
	{ "start", cmd_start, "start recording in a session" },
	{ "stop", cmd_stop, "stop recording and keep the buffer" },
	{ "restart", cmd_restart, "resume recording" },
	{ "set", cmd_set, "change the settings of a session" },
	{ "show", cmd_show, "print a session's buffer" },
	{ "stream", cmd_stream, "print the events of a program or session as they come" },
	{ "clear", cmd_clear, "clear a session's buffer" },
	{ "snapshot", cmd_snapshot, "take, print or free a snapshot of the buffer" },
	{ "extract", cmd_extract, "save a session's buffer as a trace.dat file" },
	{ "stack", cmd_stack, "start, stop or print the stack tracer" },
	{ "sqlhist", cmd_sqlhist, "make histograms and synthetic events by SQL" },
	{ "reset", cmd_reset, "reset all tracing settings of a session" },
	{ "list", cmd_list, "list sessions, tracers, options, functions, clocks and events" },
	{ "read", cmd_read, "print a tracing file of a session" },
	{ "write", cmd_write, "write to a tracing file of a session" },
	{ "ls", cmd_ls, "list the tracing files of a session" },
	{ "mkdir", cmd_mkdir, "create an instance: a buffer with its own settings" },
	{ "rmdir", cmd_rmdir, "remove an instance" },
	{ .doc = "Inspect and prepare programs" },
	{ "doctor", cmd_doctor, "check what can be traced in a program or process" },
	{ "sites", cmd_sites, "list the patchable function entries of a program" },
	{ "disas", cmd_disas, "show a function's code: original, idle and armed" },
	{ "cflags", cmd_cflags, "print the compiler flags that prepare a program" },
	{ "recordmcount", cmd_recordmcount, "add the table of mcount calls to object files" },
};

#define NCOMMANDS	(sizeof(commands) / sizeof(commands[0]))

static void print_commands(FILE *out)
{
	fprintf(out,
		"usage: uft COMMAND [OPTIONS] ...\n\nTrace the functions of ordinary programs as ftrace traces the kernel's.\n");
	for (const struct command *c = commands; c < commands + NCOMMANDS; c++) {
		if (c->name)
			fprintf(out, "  %-14s%c%s\n", c->name, toupper(c->doc[0]), c->doc + 1);
		else
			fprintf(out, "\n%s:\n", c->doc);
	}
	fprintf(out, "\n'uft help COMMAND' lists a command's options, 'man uft-COMMAND' explains them.\n"
		     "Begin with: uft record ./program && uft report\n");
}

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < NCOMMANDS; i++)
		if (commands[i].name && strcmp(commands[i].name, name) == 0)
			return &commands[i];
	return NULL;
}

/* Commands of trace-cmd, uftrace and perf: the nearest name by letters would be the wrong one. */
static const struct habit { const char *name, *here; } habits[] = {
	{ "replay", "uft report" }, { "dump", "uft report" }, { "script", "uft report" }, { "graph", "uft report" },
	{ "info", "uft stat FILE" }, { "convert", "uft export" }, { "profile", "uft report --profile" },
	{ "live", "uft top PID" }, { "run", "uft record PROGRAM" }, { "trace", "uft record PROGRAM" },
};

static const char *find_habit(const char *name)
{
	for (size_t i = 0; i < sizeof(habits) / sizeof(habits[0]); i++)
		if (strcmp(habits[i].name, name) == 0)
			return habits[i].here;
	return NULL;
}

static int unknown_command(const char *name)
{
	const char *names[NCOMMANDS + 1], *here = find_habit(name);
	char near[256];
	size_t n = 0;

	if (here) {
		fprintf(stderr, "uft: no command '%s': here it is %s (uft help lists the commands)\n", name, here);
		return CMD_USAGE;
	}
	for (size_t i = 0; i < NCOMMANDS; i++)
		if (commands[i].name)
			names[n++] = commands[i].name;
	names[n++] = "help";
	cmd_near(name, names, n, near, sizeof(near));
	fprintf(stderr, "uft: no %s '", name[0] == '-' ? "option" : "command");
	uft_put_clean(stderr, name);
	fprintf(stderr, "'%s (uft help lists the commands)\n", near);
	return CMD_USAGE;
}

/* Runs command @name with the one option @option. */
static int ask_command(const char *name, const char *option)
{
	const struct command *c = find_command(name);
	char opt[16];
	char *args[] = { (char *)name, opt, NULL };

	if (!c)
		return unknown_command(name);
	snprintf(opt, sizeof(opt), "%s", option);
	return c->fn(2, args);
}

static int help(int argc, char **argv)
{
	if (argc > 1)
		return ask_command(argv[1], "--help");
	print_commands(stdout);
	return 0;
}

static int list(int argc, char **argv)
{
	if (argc > 1)
		return ask_command(argv[1], "--list-options");
	for (size_t i = 0; i < NCOMMANDS; i++)
		if (commands[i].name)
			puts(commands[i].name);
	return 0;
}

/* Runs a command; fails if standard output could not be written completely. */
static int run(int argc, char **argv)
{
	const struct command *c;

	if (strcmp(argv[0], "help") == 0 || strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0)
		return help(argc, argv);
	if (strcmp(argv[0], "--version") == 0 || strcmp(argv[0], "-V") == 0)
		return puts("uft " UFT_VERSION) < 0 ? CMD_FAILED : 0;
	if (strcmp(argv[0], "--list-commands") == 0 || strcmp(argv[0], "--list-options") == 0)
		return list(argc, argv);
	c = find_command(argv[0]);
	return c ? cmd_input_end(c->name, c->fn(argc, argv)) : unknown_command(argv[0]);
}

int main(int argc, char **argv)
{
	int status;

	if (argc < 2) {
		print_commands(stderr);
		return CMD_USAGE;
	}
	cmd_symbols_begin();
	status = run(argc - 1, argv + 1);
	if (status == 0 && fflush(stdout) != 0 && errno != EPIPE && errno != EBADF) {
		fprintf(stderr, "uft: cannot write to standard output: %s\n", strerror(errno));
		return CMD_FAILED;
	}
	return status;
}
