/* SPDX-License-Identifier: MIT */
/*
 * socket.h - the tree through a socket, for uft read, write, ls, mkdir and rmdir. Theory: socket.c. Context:
 * any thread.
 */
#ifndef UFT_TREE_SOCKET_H
#define UFT_TREE_SOCKET_H

#include "symbol/error.h"
#include "tree/tree.h"

struct uft_serve;

/* Serves @t at DIR/PID.sock of uft_serve_dir() until uft_serve_stop(), which must come before the tree's end. */
int uft_serve_start(struct uft_tree *t, struct uft_serve **out, struct uft_error *err);
const char *uft_serve_path(const struct uft_serve *s);
void uft_serve_stop(struct uft_serve *s);

/*
 * Makes $XDG_RUNTIME_DIR/uft, else /tmp/uft-UID, or another name if that is a stranger's directory
 * (symbol/rundir.h).
 */
int uft_serve_dir(char *buf, size_t size, struct uft_error *err);

/*
 * ---- Protocol: a request, followed by the path; then frames: a length and so many bytes. Length 0 ends, a negative
 * length is -errno.
 */

#define SERVE_MAGIC	0x31746675u	/* uft1 */
#define SERVE_FRAME	65536		/* bytes at most */
#define SERVE_PATH	4096

enum serve_op {
	SERVE_LIST	= 1,	/* frames: struct serve_entry, name, NUL, doc, NUL */
	SERVE_READ	= 2,	/* frames: the content; SERVE_NOWAIT: ends where a reader would wait */
	/* frames from the client, one write each; each is answered by a length, the end by 0, or by -errno */
	SERVE_WRITE	= 3,
	/* frames: the buffer as a trace.dat, then the buffer is cleared; the path: any file of the instance */
	SERVE_EXTRACT	= 4,
	SERVE_MKDIR	= 5,	/* no frames: an instance */
	SERVE_RMDIR	= 6,
};
/* SERVE_CELLS: read a file hist as words for programs (uft_tree_hist_cells()). */
enum serve_flags { SERVE_APPEND = 1, SERVE_NOWAIT = 2, SERVE_CELLS = 4 };
struct serve_request { uint32_t magic, op, flags, path_bytes; };
struct serve_entry { uint32_t mode; };

/* Sends or receives all bytes: 0, or -errno; -ECONNRESET: the peer went away. */
int serve_send(int fd, const void *p, size_t n);
int serve_receive(int fd, void *p, size_t n);

#endif
