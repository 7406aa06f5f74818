/* SPDX-License-Identifier: MIT */
/*
 * cmd.h - declarations shared by all subcommands
 *
 * A command is one file with one function of this form; argv[0] is the command's name. It parses its
 * options by a table (options.h), which also answers --help and the hidden --list-options. It returns
 * the exit status: 0 done, 1 failed (one message on stderr says why), 2 wrong usage. A new command is
 * one file, one row in main.c and one page in doc/man.
 */
#ifndef UFT_CMD_CMD_H
#define UFT_CMD_CMD_H

#include <stdio.h>

#include "symbol/error.h"

#define CMD_FAILED	1
#define CMD_USAGE	2

int cmd_record(int argc, char **argv);
int cmd_attach(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_detach(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_pack(int argc, char **argv);
int cmd_stat(int argc, char **argv);
int cmd_stream(int argc, char **argv);
int cmd_hist(int argc, char **argv);
int cmd_sqlhist(int argc, char **argv);
int cmd_view(int argc, char **argv);
int cmd_sites(int argc, char **argv);
int cmd_disas(int argc, char **argv);
int cmd_mount(int argc, char **argv);
int cmd_umount(int argc, char **argv);
int cmd_shell(int argc, char **argv);
int cmd_stack(int argc, char **argv);
int cmd_start(int argc, char **argv);
int cmd_set(int argc, char **argv);
int cmd_stop(int argc, char **argv);
int cmd_restart(int argc, char **argv);
int cmd_show(int argc, char **argv);
int cmd_clear(int argc, char **argv);
int cmd_snapshot(int argc, char **argv);
int cmd_extract(int argc, char **argv);
int cmd_reset(int argc, char **argv);
int cmd_list(int argc, char **argv);
int cmd_read(int argc, char **argv);
int cmd_write(int argc, char **argv);
int cmd_ls(int argc, char **argv);
int cmd_mkdir(int argc, char **argv);
int cmd_rmdir(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_cflags(int argc, char **argv);
int cmd_recordmcount(int argc, char **argv);

/* Prepares the heap of a command that starts programs, so that large tables do not cost a fault for each page. */
void cmd_heap_prepare(void);

/* Prints "uft COMMAND: text" on stderr and returns CMD_FAILED. */
int cmd_fail(const char *command, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Printed at the start of each command with --int3. */
#define CMD_INT3_RISK	"--int3: if uft is killed (SIGKILL, out of memory), a program that is inside such a function's first " \
			"instruction, or calls one within the next tenth of a second, ends by SIGTRAP"

/* struct uft_tree_opts.dump: writes to standard error. Text that no reader takes is dropped. */
void cmd_dump(void *arg, const char *p, size_t n);
/* Writes a line `uft COMMAND: TEXT` in the same way. @command: a text, as an argument of callbacks. */
void cmd_warn(void *command, const char *text);

/* Standard output: through a pager and with colour when it is a terminal, plain data otherwise. Close
 * waits for the pager; it returns 0, or -errno when not everything could be written. A reader that went
 * away (EPIPE) is no failure. */
struct cmd_output;
struct cmd_output *cmd_output_open(int no_pager);
FILE *cmd_output_file(struct cmd_output *o);
int cmd_output_close(struct cmd_output *o);
/* 1 if text for descriptor @fd should be coloured: a terminal that can, and NO_COLOR unset. */
int cmd_is_colour(int fd);
/* Characters of a line of the terminal @fd; 0: none, so lines may be of any length. */
unsigned cmd_terminal_width(int fd);

#endif
