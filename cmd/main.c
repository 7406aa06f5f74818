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
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/options.h"
#include "cmd/symbols.h"

struct command {
	const char *name;
	int (*fn)(int argc, char **argv);
	const char *doc;
};

static const struct command commands[] = {
	{ "record", cmd_record, "run a program and record its function calls" },
	{ "attach", cmd_attach, "record running programs" },
	{ "detach", cmd_detach, "leave a traced process as it was before" },
	{ "report", cmd_report, "print a recording: the kernel's trace text, or a profile" },
	{ "export", cmd_export, "turn a recording into another format (trace.dat)" },
	{ "stat", cmd_stat, "say what a recording holds, one key: value a line" },
	{ "sites", cmd_sites, "list the patchable function entries of a program or object" },
	{ "disas", cmd_disas, "show a function's bytes: original, idle, armed" },
	{ "shell", cmd_shell, "run programs that find their trace where the kernel's tracing directory is" },
	{ "mount", cmd_mount, "mount the kernel's tracing files for processes" },
	{ "umount", cmd_umount, "unmount them" },
	{ "start", cmd_start, "start recording in a running session" },
	{ "set", cmd_set, "change what it records" },
	{ "stop", cmd_stop, "stop recording" },
	{ "restart", cmd_restart, "go on with it" },
	{ "show", cmd_show, "print what it recorded" },
	{ "clear", cmd_clear, "throw that away" },
	{ "snapshot", cmd_snapshot, "keep it, or print what was kept" },
	{ "stack", cmd_stack, "look for the deepest stack, or print it" },
	{ "extract", cmd_extract, "take it out of the buffer, into a trace.dat" },
	{ "reset", cmd_reset, "leave it as if nobody had recorded" },
	{ "list", cmd_list, "list the running sessions, or what one offers" },
	{ "read", cmd_read, "print a tracing file of uft shell or uft mount" },
	{ "write", cmd_write, "write into one" },
	{ "ls", cmd_ls, "list them" },
	{ "mkdir", cmd_mkdir, "make an instance: another buffer, with settings of its own" },
	{ "rmdir", cmd_rmdir, "remove it" },
	{ "doctor", cmd_doctor, "say what would and would not work, and why" },
	{ "cflags", cmd_cflags, "print the compiler flags that prepare a program for tracing" },
	{ "recordmcount", cmd_recordmcount, "add the table of call sites to object files" },
};

#define NCOMMANDS	(sizeof(commands) / sizeof(commands[0]))

int cmd_fail(const char *command, const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "uft %s: ", command);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return CMD_FAILED;
}

static void print_commands(FILE *out)
{
	fprintf(out, "usage: uft COMMAND [OPTIONS] ...\n\n"
		     "Traces the functions of ordinary programs the way the kernel's ftrace traces the kernel's.\n\n");
	for (size_t i = 0; i < NCOMMANDS; i++)
		fprintf(out, "  %-14s%s\n", commands[i].name, commands[i].doc);
	fprintf(out, "  %-14s%s\n\nBegin with: uft record ./program && uft report\n", "help",
		"show this, or with a command its options");
}

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < NCOMMANDS; i++)
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	return NULL;
}

/* What is a command with trace-cmd, uftrace or perf; nearness of letters would lead astray. */
static const struct habit { const char *name, *here; } habits[] = {
	{ "replay", "uft report" }, { "dump", "uft report" }, { "script", "uft report" }, { "graph", "uft report" },
	{ "info", "uft stat FILE" }, { "convert", "uft export" }, { "profile", "uft report --profile" },
	{ "live", "uft record PROGRAM && uft report" }, { "run", "uft record PROGRAM" }, { "trace", "uft record PROGRAM" },
	{ "top", "uft attach PID, then uft report --profile" }, { "stream", "uft shell, then uft show --pipe" },
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

	if (here) {
		fprintf(stderr, "uft: no command '%s': here it is %s (uft help lists the commands)\n", name, here);
		return CMD_USAGE;
	}
	for (size_t i = 0; i < NCOMMANDS; i++)
		names[i] = commands[i].name;
	names[NCOMMANDS] = "help";
	cmd_near(name, names, NCOMMANDS + 1, near, sizeof(near));
	fprintf(stderr, "uft: no %s '%s'%s (uft help lists the commands)\n",
		name[0] == '-' ? "option" : "command", name, near);
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
		puts(commands[i].name);
	return 0;
}

/* What goes to standard output is the answer; half an answer is a failure. */
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
	return c ? c->fn(argc, argv) : unknown_command(argv[0]);
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
