/* SPDX-License-Identifier: MIT */
/*
 * tree.h - the kernel's tracefs over our targets: one table of files, one interface for every transport
 *
 * A tree has the files of /sys/kernel/tracing with their names, grammar, text and errors, over a session (control/) and
 * its rings (stream/). It is no file system: FUSE and the commands `uft read`, `uft write`, `uft ls` look up nodes,
 * open handles and pass bytes; the tree knows nothing of a transport.
 *
 * Objects and owners
 *	tree	one a process; owns the session, the buffers, the instances and a thread
 *	file	a row of the table (table.c): path pattern, mode, scope, what read and write do, one line of
 *		documentation
 *	node	a number that names one file or directory of one instance, cpu or option; never reused, so a file system
 *		may use it as an inode number. Nothing is allocated for it: nodes need no release
 *	handle	an open file: the incomplete last line of a write, the text that a reader has begun, its position in a
 *		trace
 *
 * Concurrency. All calls of the session must come from one thread (ptrace), so the tree has an owner thread: it polls
 * the session, drains the rings and runs the session's part of reads and writes. All functions below may be called from
 * any thread; they wait for the owner (milliseconds, at most as long as it switches targets over). A blocking read does
 * not block the owner. One handle is used by one thread at a time, except for _poll and _notify.
 *
 * What a file system must know
 *  1. Contents come from reads: sizes are 0 as in the kernel. Serve with direct I/O; no cache, no readahead.
 *  2. uft_tree_open() gets the open's flags: O_TRUNC clears lists and buffers at once, O_APPEND keeps them.
 *  3. Writes have no offset: one write is one or more commands. An error is the errno of that write, and changes
 *     nothing. An incomplete last line goes on in the next write; the release carries it out, and its error is the
 *     close's.
 *  4. Files with UFT_ATTR_BLOCKS: a read without data waits, with @flags & O_NONBLOCK it is -EAGAIN. uft_tree_poll()
 *     tells whether there is data, uft_tree_notify() calls back once when there is, so no thread has to wait. Offsets
 *     have no meaning for these files.
 *  5. Open handles keep an instance busy: rmdir is -EBUSY.
 *  6. Errors are the kernel's errno, negative.
 *
 * Failure. The end of a target does not end the tree. If the session cannot be made, uft_tree_create() fails. When the
 * tree is destroyed, waiting readers get 0 (end of file); handles must be released before.
 */
#ifndef UFT_TREE_TREE_H
#define UFT_TREE_TREE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "symbol/error.h"
#include "symbol/event_type.h"

struct uft_tree;
struct uft_handle;
typedef uint64_t uft_node;
#define UFT_TREE_ROOT	1u		/* FUSE's number for it, too */
#define UFT_TREE_NAME	256		/* the longest name, with its end */

/* ---- Life ------------------------------------------------------------------------------------ */

struct uft_tree_opts {
	uint64_t buffer_kb;		/* of each cpu; 0: the kernel's 1408 */
	int no_children;		/* do not follow fork and exec */
	int preload;			/* as uft_session_opts */
	const char *const *emulator;	/* the same */
	int watchdog, int3;		/* as uft_session_opts; what the watchdog reports comes as a warning */
	/* Warnings of the session; called in the owner's thread. May be NULL. */
	void (*warning)(void *arg, const char *text);
	/* Text of the commands dump and cpudump, in parts, from there too. NULL: they are refused. */
	void (*dump)(void *arg, const char *p, size_t n);
	void *arg;
};

/* Before the process has other threads: forks the guard, which cleans up if we are killed. */
int uft_tree_create(const struct uft_tree_opts *opts, struct uft_tree **out, struct uft_error *err);
void uft_tree_destroy(struct uft_tree *t);	/* detaches from all targets */

/* Starts @argv as a target, as uft_session_launch(). One for each tree. */
int uft_tree_launch(struct uft_tree *t, char *const argv[], pid_t *pid, struct uft_error *err);
/*
 * Writes the buffer of @node's instance as a trace.dat to @path, an existing file, and clears the buffer, also after an
 * error.
 */
int uft_tree_extract(struct uft_tree *t, uft_node node, const char *path);
/*
 * Returns the histograms of @node, a file hist, as words of uft_hist_put_cells(); free() them. 0; -EINVAL: @node is
 * another file.
 */
int uft_tree_hist_cells(struct uft_tree *t, uft_node node, char **words, size_t *n);
/* Applies settings in the form of the kernel's command line, `ftrace=function ftrace_filter=...`, before the launch. */
int uft_tree_boot(struct uft_tree *t, const char *line, struct uft_error *err);
/* Makes the events of the program or library @path known, before it is started. */
int uft_tree_expect(struct uft_tree *t, const char *path, struct uft_error *err);
const struct uft_event_table *uft_tree_event_types(const struct uft_tree *t);	/* it grows while programs run */
/* Appends to a file by its path, as `echo TEXT >>FILE` does; @err: the reason of a refusal, without the file's name. */
int uft_tree_put(struct uft_tree *t, const char *file, const char *text, size_t n, struct uft_error *err);
/*
 * Texts that are put into the top's files between these two calls take effect together, at the second call: a trigger
 * does not act before the next one exists. The second call also returns refusals by targets or the kernel.
 */
void uft_tree_begin_together(struct uft_tree *t);
int uft_tree_end_together(struct uft_tree *t, struct uft_error *err);
/* Writes a word to set_event. An event of an unknown system is switched on as soon as a program declares it. */
int uft_tree_put_event(struct uft_tree *t, const char *word, struct uft_error *err);
/*
 * Writes @text to the file `filter` or `trigger` of each event that a word of set_event matches; -EINVAL also if no
 * event matches. A filter that fits only some of the events is set for these, without an error.
 */
int uft_tree_put_of_events(struct uft_tree *t, const char *word, const char *file, const char *text,
			   struct uft_error *err);
/* Waits until the launched program ends: its wait status; -EAGAIN: @timeout_ms passed (-1: no limit). */
int uft_tree_wait(struct uft_tree *t, int timeout_ms);

/* ---- Nodes ----------------------------------------------------------------------------------- */

enum uft_tree_scope {
	UFT_SCOPE_TOP		= 1,	/* only in the top directory */
	UFT_SCOPE_INSTANCE	= 2,	/* in the top directory and in each instance */
	UFT_SCOPE_CPU		= 4,	/* one for each cpu: `%` in the path is its number */
	UFT_SCOPE_OPTION	= 8,	/* one for each option: `%` is its name */
	UFT_SCOPE_EVENT		= 16,	/* one for each event of the system before: `%` is its name */
	UFT_SCOPE_SYSTEM	= 32,	/* one for each system of events: `%` is its name */
};

struct uft_tree_row {			/* for lists and documentation */
	const char *path;
	uint32_t mode, scope;		/* S_IF* included */
	const char *doc;
};
const struct uft_tree_row *uft_tree_table(size_t i);	/* NULL: there are no more */

enum uft_tree_attr_flags {
	UFT_ATTR_BLOCKS	= 1,		/* reads wait for data; poll means something */
	UFT_ATTR_PAGES	= 2,		/* trace_pipe_raw: whole sub-buffers */
};
struct uft_tree_attr {
	uint32_t mode;			/* S_IFDIR or S_IFREG, and permissions */
	uid_t uid;
	gid_t gid;
	uint32_t nlink, flags;
	uint64_t mtime_ns;		/* CLOCK_REALTIME, when the instance was made */
	const char *doc;
};

int uft_tree_lookup(struct uft_tree *t, uft_node dir, const char *name, uft_node *out);	/* -ENOENT, -ENOTDIR */
int uft_tree_walk(struct uft_tree *t, const char *path, uft_node *out);	/* from the root; repeated `/` are one */
int uft_tree_getattr(struct uft_tree *t, uft_node node, struct uft_tree_attr *out);
/*
 * Changes the permissions, owner or group that uft_tree_getattr() returns, until the instance is removed; -1 keeps a
 * value. The tree does not check them: the mount decides whether a caller may open a file. 0, -ENOENT, -ENOMEM.
 */
int uft_tree_setattr(struct uft_tree *t, uft_node node, mode_t mode, uid_t uid, gid_t gid);
/* Entry @i of a directory, from 0; without `.` and `..`. 1 filled, 0 the end, negative errno. */
int uft_tree_readdir(struct uft_tree *t, uft_node dir, size_t i, char name[UFT_TREE_NAME], uft_node *out);
int uft_tree_parent(struct uft_tree *t, uft_node node, uft_node *out);	/* the root's is itself */
int uft_tree_mkdir(struct uft_tree *t, uft_node dir, const char *name, uft_node *out);	/* -EPERM outside instances/ */
int uft_tree_rmdir(struct uft_tree *t, uft_node dir, const char *name);

/*
 * Applies an option, by its word of trace_options, to @text (enum uft_text_flags) and @events (enum uft_events), for
 * commands. Returns which of them the option is about: enum uft_option_kind; 0: there is no such option. An option of
 * the buffer or of stacks changes neither.
 */
enum uft_option_kind { UFT_OPTION_TEXT = 1, UFT_OPTION_EVENTS = 2, UFT_OPTION_OTHER = 4 };
int uft_tree_option(const char *word, uint32_t *text, uint32_t *events);
/* the words of options, for "did you mean"; returns how many, at most @max */
size_t uft_tree_options(const char **names, size_t max);

/* ---- Handles --------------------------------------------------------------------------------- */

/* @flags: of open(2); @pid: the task that opens it (messages and trace_marker name it), 0: this process. */
int uft_tree_open(struct uft_tree *t, uft_node node, int flags, pid_t pid, struct uft_handle **out);
/* Bytes, 0 at the end, negative errno. @flags: O_NONBLOCK. */
ssize_t uft_tree_read(struct uft_handle *h, void *buf, size_t n, uint64_t offset, int flags);
ssize_t uft_tree_write(struct uft_handle *h, const void *buf, size_t n);
/* 0 or negative errno; -ESRCH: the waiting task @pid is not visible. @arg: an address in its memory. */
int uft_tree_ioctl(struct uft_handle *h, pid_t pid, unsigned cmd, uint64_t arg);
void uft_tree_caller(struct uft_handle *h, pid_t pid);	/* sets the task that writes; default: the task of the open */
/* Carries out an incomplete last line. Returns its error or 0. The handle is freed in any case. */
int uft_tree_release(struct uft_handle *h);
int uft_tree_poll(struct uft_handle *h);		/* POLLIN | POLLRDNORM ... at this moment */
/*
 * Notes that a read of the handle waits (@is_waiting), or no longer waits. Meanwhile poll and notify ignore
 * buffer_percent, as the kernel's read does.
 */
void uft_tree_await_read(struct uft_handle *h, int is_waiting);
/*
 * Calls @fn once, from a thread of the tree, as soon as uft_tree_poll() returns POLLIN, which may be at once. @fn may
 * not call the tree. NULL cancels: after that call returns, @fn does not run any more.
 */
void uft_tree_notify(struct uft_handle *h, void (*fn)(void *arg), void *arg);

#endif
