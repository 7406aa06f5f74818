/* SPDX-License-Identifier: MIT */
/*
 * own_session.h - a session of one command, for the program that it starts or processes that run. Theory:
 * own_session.c.
 */
#ifndef UFT_CMD_OWN_SESSION_H
#define UFT_CMD_OWN_SESSION_H

#include "cmd/recordopts.h"
#include "cmd/targets.h"
#include "tree/tree.h"

struct own_session {
	struct uft_tree *tree;
	pid_t pid;			/* of the program */
};

/* Before the process has other threads. @command: begins each message; @buffer_kb of each CPU, 0: the kernel's. */
int own_session_open(struct own_session *s, const char *command, const struct record_opts *o, uint64_t buffer_kb,
		     struct uft_error *err);
/*
 * Writes the options into the files. @path: the program, whose events become known; NULL: for running processes. 0, or
 * -errno; @err names the file that refused, and why.
 */
int own_session_set(struct own_session *s, const struct record_opts *o, const char *path, struct uft_error *err);
/* Attaches to running processes; with the option for children, their new children become targets as well. */
int own_session_attach(struct own_session *s, const struct cmd_targets *targets, struct uft_error *err);
int own_session_start(struct own_session *s, char *const argv[], struct uft_error *err);
int own_session_put(struct own_session *s, const char *file, const char *text, struct uft_error *err);
/* Writes to a file of each event that @word of set_event means. @option: the option that has the text, or NULL. */
int own_session_put_of_events(struct own_session *s, const char *word, const char *option, const char *file,
			      const char *text, struct uft_error *err);
/* Calls @sink for each part of a file, to its end; with O_NONBLOCK in @flags only for present data. 0, -errno. */
int own_session_read(struct own_session *s, const char *file, int flags,
		     int (*sink)(void *arg, const char *p, size_t n), void *arg);
/* The same of a file hist, for programs (uft_tree_hist_cells()). */
int own_session_read_cells(struct own_session *s, const char *file, int (*sink)(void *arg, const char *p, size_t n),
			   void *arg);
void own_session_close(struct own_session *s);

/*
 * The first given option that does not work with such a session; NULL: none. @is_attached: processes are given by -P.
 */
const char *own_session_lacks(const struct record_opts *o, int is_attached);

#endif
