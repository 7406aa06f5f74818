/* SPDX-License-Identifier: MIT */
/*
 * options.h - one table per command drives parsing, --help and completion
 *
 *	static const struct cmd_option sites_options[] = {
 *		{ "all", 'a', NULL, "also list skipped sites", cmd_flag, offsetof(struct sites_opts, all) },
 *		{ "limit", 'n', "N", "rows at most", cmd_uint, offsetof(struct sites_opts, limit) },
 *		{ 0 }
 *	};
 *	static const struct cmd_syntax sites_syntax = {
 *		"sites", "[OPTIONS] PROG|PID|FILE.o", "List patchable function entries.", sites_options,
 *	};
 *	...
 *	int done = cmd_parse(&sites_syntax, &argc, argv, &opts);
 *	if (done >= 0)
 *		return done;
 *	... operands are argv[1..argc-1]
 */
#ifndef UFT_CMD_OPTIONS_H
#define UFT_CMD_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "symbol/error.h"

struct cmd_option {
	const char *name;	/* long form, without the dashes */
	char letter;		/* short form, 0: none */
	const char *arg;	/* name of its argument in the help, NULL: takes none */
	const char *doc;	/* one line; "@NAME TEXT": of the commands that share the table only NAME shows it */
	/* Stores @text at @field; -EINVAL with a reason in @err. */
	int (*parse)(const struct cmd_option *o, const char *text, void *field, struct uft_error *err);
	size_t offset;		/* of the field in the command's option structure */
	const char *const *choices;	/* cmd_choice: NULL-terminated */
};

struct cmd_syntax {
	const char *name;
	const char *operands;	/* what follows the name in the usage line */
	const char *doc;	/* one or more sentences, shown by --help */
	const struct cmd_option *options;	/* ends with a NULL name */
	int is_wrapper;		/* options end at the first operand: the rest is another program's */
};

struct cmd_list { const char **item; size_t n; };	/* item ends with NULL; NULL when empty */
struct cmd_numbers { uint32_t *item; size_t n; };
#define CMD_OFFSETS_MAX 64u
struct cmd_offsets { int64_t ns[CMD_OFFSETS_MAX]; size_t n; };	/* each below 1e18: 31 years */
struct cmd_moment { uint64_t ns; int is_plain; };	/* is_plain: no unit was given, so it may be a time stamp */
struct cmd_range { struct cmd_moment from, to; };	/* to 0: to the end */

/* Rows that several commands have; @at: the offset of the field. */
#define CMD_SESSION(at) { "session", 'S', "PID", \
	"the session that process PID serves; default: the current uft shell, or the only session", cmd_string, at, \
		NULL }
#define CMD_INSTANCE(at) { "instance", 'B', "NAME", "use this instance instead of the top", cmd_string, at, NULL }
#define CMD_INPUT(at)	{ "input", 'i', "FILE", "the recording; the same as the operand", cmd_string, at, NULL }
#define CMD_NO_PAGER(at) { "no-pager", 0, NULL, "never start a pager", cmd_flag, at, NULL }
#define CMD_FILTER(at)	{ "filter", 'l', "FUNC", \
	"trace only these functions: a glob, or GLOB:mod:OBJECT; may be repeated", cmd_strings, at, NULL }
#define CMD_NOTRACE(at)	{ "notrace", 'n', "FUNC", "do not trace these functions; may be repeated", cmd_strings, at, \
	NULL }
#define CMD_GRAPH(at)	{ "graph", 'g', "FUNC", "function_graph: trace only these functions and what they call", \
	cmd_strings, at, NULL }
#define CMD_WATCHDOG(at) { "watchdog", 0, NULL, \
	"if uft causes a fault in a program, report it, restore all code and resume the program", cmd_flag, at, NULL }
#define CMD_INT3(at)	{ "int3", 0, NULL, \
	"trace also functions that no jump fits, by int3; implies --watchdog. Killing uft may kill a program", cmd_flag, \
	at, NULL }
#define CMD_BUFFER_SIZE(at) { "buffer-size", 'b', "KB", "size of each CPU's ring buffer (default 1408)", cmd_kb, at, \
	NULL }
#define CMD_EMULATOR(at) { "emulator", 0, "COMMAND", \
	"run PROGRAM, of another architecture, by COMMAND: 'qemu-aarch64 -L /usr/aarch64-linux-gnu'", cmd_string, at, NULL }

/* Field types */
int cmd_flag(const struct cmd_option *, const char *, void *field, struct uft_error *);	/* int, set to 1 */
int cmd_string(const struct cmd_option *, const char *, void *field, struct uft_error *);	/* const char * */
int cmd_strings(const struct cmd_option *, const char *, void *field, struct uft_error *);	/* struct cmd_list */
int cmd_uint(const struct cmd_option *, const char *, void *field, struct uft_error *);	/* uint32_t */
int cmd_numbers(const struct cmd_option *, const char *, void *field, struct uft_error *);	/* "1,4-7" */
int cmd_choice(const struct cmd_option *, const char *, void *field, struct uft_error *);	/* int, index */
int cmd_kb(const struct cmd_option *, const char *, void *field, struct uft_error *);	/* uint64_t bytes; KB, K M G */
int cmd_percent(const struct cmd_option *, const char *, void *field, struct uft_error *); /* uint32_t, millionths */
/* uint32_t, millionths */
int cmd_percent_or_0(const struct cmd_option *, const char *, void *field, struct uft_error *);
/* uint64_t ns; plain: us */
int cmd_time_us(const struct cmd_option *, const char *, void *field, struct uft_error *);
/* uint64_t ns, not 0; plain: seconds */
int cmd_time_s(const struct cmd_option *, const char *, void *field, struct uft_error *);
/* struct cmd_moment, seconds */
int cmd_moment(const struct cmd_option *, const char *, void *field, struct uft_error *);
int cmd_time_offsets(const struct cmd_option *, const char *, void *field, struct uft_error *);	/* 0,-2ms, seconds */
int cmd_time_range(const struct cmd_option *, const char *, void *field, struct uft_error *);	/* A~B, seconds */

/*
 * Parses argv[1..] into @opts, which holds the defaults, and moves the operands to argv[1..*argc-1].
 * Returns -1 to go on, or an exit status: 0 when --help or --list-options was answered, 2 (CMD_USAGE)
 * after an error, whose message, naming the near options or values, is on stderr.
 */
int cmd_parse(const struct cmd_syntax *syntax, int *argc, char **argv, void *opts);

/* The place of the word `--`, behind which a command is; 0: there is none. */
int cmd_find_dashes(int argc, char **argv);

/* A usage error found after parsing: prints it with a pointer to --help and returns CMD_USAGE. */
int cmd_usage(const struct cmd_syntax *syntax, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Writes ": did you mean 'a', 'b'?" for names similar to @text into @buf ("" if there is none). */
void cmd_near(const char *text, const char *const *names, size_t n, char *buf, size_t size);

#endif
