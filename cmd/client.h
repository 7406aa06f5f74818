/* SPDX-License-Identifier: MIT */
/* client.h - the files of a running session (uft shell, uft mount) without a file system: tree/serve/socket.h */
#ifndef UFT_CMD_CLIENT_H
#define UFT_CMD_CLIENT_H

#include <stddef.h>
#include <stdint.h>

#include "symbol/error.h"

/*
 * @session: the PID of its server, or the name of its socket; NULL: the one in $UFT_SESSION (which uft
 * shell sets), else the only one there is. All return 0 or -errno with a sentence.
 */
int client_list(const char *session, const char *path,
		void (*fn)(void *arg, uint32_t mode, const char *name, const char *doc),
		void *arg, struct uft_error *err);
/* A negative result of @sink ends the reading and is returned. @no_wait: ends where a reader would wait. */
int client_read(const char *session, const char *path, int no_wait, int (*sink)(void *arg, const char *p, size_t n),
		void *arg, struct uft_error *err);
/* A sink: to standard output, at once. */
int client_print(void *arg, const char *p, size_t n);
/* A sink: to @arg, a FILE of memory. */
int client_keep(void *arg, const char *p, size_t n);
/* Returns the present content of a file; free() it. NULL: with @err. */
char *client_read_text(const char *session, const char *path, struct uft_error *err);
/* Histograms of a file hist, for programs (uft_tree_hist_cells()). */
int client_read_cells(const char *session, const char *path, int (*sink)(void *arg, const char *p, size_t n), void *arg,
		      struct uft_error *err);
/* `instances/@instance/@file` in @buf, or @file itself: the top's. */
#define CLIENT_PATH	512
const char *client_path(const char *instance, const char *file, char buf[CLIENT_PATH]);
/* Passes the buffer of the instance of @path as a trace.dat, in parts, to @sink, and clears the buffer. */
int client_extract(const char *session, const char *path, int (*sink)(void *arg, const char *p, size_t n), void *arg,
		   struct uft_error *err);
int client_write(const char *session, const char *path, const char *text, size_t n, int append, struct uft_error *err);
int client_mkdir(const char *session, const char *path, struct uft_error *err);
int client_rmdir(const char *session, const char *path, struct uft_error *err);
/* Calls @fn for each session that serves; names of killed ones are removed. */
int client_sessions(void (*fn)(void *arg, int pid, const char *socket), void *arg, struct uft_error *err);

#endif
