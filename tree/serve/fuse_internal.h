/* SPDX-License-Identifier: MIT */
/* fuse_internal.h - what fuse.c (names, life) and fuse_file.c (open files) share */
#ifndef UFT_TREE_FUSE_INTERNAL_H
#define UFT_TREE_FUSE_INTERNAL_H

#define FUSE_USE_VERSION 314
#include <fuse_lowlevel.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "tree/tree.h"

#define FUSE_PAGE	4096u	/* bytes of a page in the kernel's cache, and of a sub-buffer of trace_pipe_raw */
#define NLOOPS	6	/* requests served at once; reads that wait for data are none of them */

struct file {
	struct uft_fuse *fuse;
	struct uft_handle *handle;
	uint32_t flags;			/* enum uft_tree_attr_flags */
	pthread_mutex_t lock;
	struct fuse_pollhandle *poll;	/* a waiting poll, or NULL */
	struct file *next;		/* in the queue */
	struct file *before, *after;	/* of all that are open */
	uft_node node;
	struct ahead *ahead;		/* of a file of pages, once it was read */
	int is_queued;
	int is_shared;			/* a file of pages that another reader opened as well; atomic */
};

struct wait {
	struct wait *next;
	struct file *file;
	fuse_req_t req;
	size_t size;
};

struct loop {
	struct uft_fuse *fuse;
	pthread_t thread;
	int epoll;			/* of the session and of stop_fd */
	/* of a request that may be a close and is not done, or 0; fuse_await_closes() reads it */
	atomic_ullong ticket;
};

struct uft_fuse {
	struct uft_tree *tree;
	struct fuse_session *session;
	struct loop loop[NLOOPS];
	pthread_t answerer;
	unsigned nloops;
	pthread_mutex_t lock;
	pthread_mutex_t storing;	/* held while pages are put into the kernel's cache; by trylock only */
	pthread_cond_t queued, done;	/* the queue has a file; busy has changed */
	struct wait *waits;
	struct file *queue, *busy;	/* files with new data, in no order; the file that is being read */
	struct file *open;
	atomic_ullong last_ticket;
	atomic_ullong claims;		/* of sizes, so far */
	int is_ending;
	int gone_fd, stop_fd;
};

static inline struct uft_fuse *fuse_of(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

/* 0, -ENOENT: the node is gone. @flags: of the tree's attributes, may be NULL. */
int fuse_fill_stat(struct uft_fuse *f, uft_node node, struct stat *st, uint32_t *flags);
/* Waits until earlier closes have taken effect; a fifth of a second at most. */
void fuse_await_closes(struct uft_fuse *f);
/* Returns 1, after a pause, if @ret is -EBUSY and the call should be tried again. */
int fuse_is_busy_still(ssize_t ret, int *tries);

/* fuse_file.c */
int fuse_is_open(struct uft_fuse *f, uft_node node);	/* by any task */
/*
 * Makes the kernel assume that an open file of pages is longer than any splice; call it before an answer about the file
 * is sent. 0 or -errno.
 */
int fuse_claim_size(struct uft_fuse *f, uft_node node);
void fuse_file_ops(struct fuse_lowlevel_ops *ops);
void *fuse_answerer(void *fuse);	/* a thread, until is_ending */
void fuse_close_all(struct uft_fuse *f);

/* fuse_ahead.c; file locked, but for ahead_put(). @a may be NULL. */
/* Copies the data at @offset if it was handed out ahead: bytes, or 0. */
ssize_t ahead_kept(struct ahead *a, char *buf, size_t size, uint64_t offset);
/*
 * Thread @tid asked for the page at @offset and gets it: takes the pages that the thread will ask for next.
 * 1: there are some.
 */
int ahead_take(struct file *file, pid_t tid, uint64_t offset);
/*
 * Puts them into the kernel's cache, before the page that was asked for is answered. File not locked: the
 * kernel may wait in it for our other answers.
 */
void ahead_put(struct file *file, fuse_ino_t node);
void ahead_none(struct ahead *a);		/* answers the reader that there is no data */
int ahead_has(const struct ahead *a);		/* are there kept pages that may not have been read? */
void ahead_free(struct ahead *a);

#endif
