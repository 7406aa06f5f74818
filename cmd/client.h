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
/* What @sink returns below 0 ends it. @no_wait: until a reader would wait. */
int client_read(const char *session, const char *path, int no_wait, int (*sink)(void *arg, const char *p, size_t n),
		void *arg, struct uft_error *err);
/* A sink: to standard output, at once. */
int client_print(void *arg, const char *p, size_t n);
/* All of a file, as far as it is there now; free() it. NULL: with @err. */
char *client_read_text(const char *session, const char *path, struct uft_error *err);
/* Histograms of a file hist, for programs (uft_tree_hist_cells()). */
int client_read_cells(const char *session, const char *path, int (*sink)(void *arg, const char *p, size_t n), void *arg,
		      struct uft_error *err);
/* `instances/@instance/@file` in @buf, or @file itself: the top's. */
#define CLIENT_PATH	512
const char *client_path(const char *instance, const char *file, char buf[CLIENT_PATH]);
/* The buffer, that of the instance in which @path is, as a trace.dat, in parts; it is empty then. */
int client_extract(const char *session, const char *path, int (*sink)(void *arg, const char *p, size_t n), void *arg,
		   struct uft_error *err);
int client_write(const char *session, const char *path, const char *text, size_t n, int append, struct uft_error *err);
int client_mkdir(const char *session, const char *path, struct uft_error *err);
int client_rmdir(const char *session, const char *path, struct uft_error *err);
/* Calls @fn for each session that serves; names of killed ones are removed. */
int client_sessions(void (*fn)(void *arg, int pid, const char *socket), void *arg, struct uft_error *err);

#endif
