/* SPDX-License-Identifier: MIT */
/*
 * tree.h - the kernel's tracefs over our targets: one table of files, one way in for every transport
 *
 * What it is. The files of /sys/kernel/tracing with their names, grammar, text and errors, over a session
 * (control/) and its rings (stream/). What it is not: a file system. FUSE and the commands `uft read`, `uft
 * write`, `uft ls` look nodes up, open handles and pass bytes; nothing of a transport is known here.
 *
 * Objects and owners
 *	tree	one a process; owns the session, the store of what was recorded, the instances and a thread
 *	file	a row of the table (table.c): path pattern, mode, scope, what read and write do, one line of
 *		documentation
 *	node	a number that names one file or directory of one instance, cpu or option; never reused, so a file system
 *		may take it for an inode number. Nothing is allocated for it: nodes need no release
 *	handle	an open file: what is left of a line that a write broke off, the text that a reader is in the middle of,
 *		its place in a trace
 *
 * Concurrency. The session wants all its calls from one thread (ptrace), so the tree has an owner thread: it polls the
 * session, empties the rings and runs what reads and writes want of either. All functions below may be called from any
 * thread; they wait for the owner (milliseconds, at most while it switches targets over). A blocking read waits
 * outside of it. One handle is used by one thread at a time, except for _poll and _notify.
 *
 * What a file system must know
 *  1. Contents come from reads: sizes are 0 as in the kernel. Serve with direct I/O; no cache, no readahead.
 *  2. uft_tree_open() gets the open's flags: O_TRUNC clears lists and buffers at once, O_APPEND keeps them. A
 *     transport that learns of a truncation in another way passes it to uft_tree_truncate().
 *  3. Writes have no offset: one write is one or more commands. An error is the errno of that write, and leaves all as
 *     it was. A line that a write breaks off goes on in the next one, and counts as whole at the release, whose
 *     error is the close's.
 *  4. Files with UFT_ATTR_BLOCKS: a read without data waits, with @flags & O_NONBLOCK it is -EAGAIN. uft_tree_poll()
 *     tells, uft_tree_notify() calls back once when that changes, so no thread has to wait. Offsets mean nothing there.
 *  5. Open handles keep an instance busy: rmdir is -EBUSY.
 *  6. Errors are the kernel's errno, negative.
 *
 * Failure. A target that dies is a target less; a session that cannot be made fails uft_tree_create(). When the tree is
 * destroyed, waiting readers get 0 (end of file); handles must be released before.
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
 * What the buffer of @node's instance holds into @path, a file that is there, as a trace.dat; it is empty
 * then, even if that failed.
 */
int uft_tree_extract(struct uft_tree *t, uft_node node, const char *path);
/*
 * The histograms of @node, a file hist, for programs: words of uft_hist_put_cells(), free() them. 0; -EINVAL: it is
 * another file.
 */
int uft_tree_hist_cells(struct uft_tree *t, uft_node node, char **words, size_t *n);
/* Settings in the words of the kernel's command line, `ftrace=function ftrace_filter=...`: before the launch. */
int uft_tree_boot(struct uft_tree *t, const char *line, struct uft_error *err);
/* Makes the events known that the program or library @path declares: before it is started. */
int uft_tree_expect(struct uft_tree *t, const char *path, struct uft_error *err);
const struct uft_event_table *uft_tree_event_types(const struct uft_tree *t);	/* it grows while programs run */
/* Appends to a file by its path, as `echo TEXT >>FILE` does; @err: the reason of a refusal, without the file's name. */
int uft_tree_put(struct uft_tree *t, const char *file, const char *text, size_t n, struct uft_error *err);
/*
 * Texts that are put between the two into the top's files take effect at their end, all at once, for targets that run:
 * a trigger does not act before the one behind it is there. What targets or the kernel refuse is told at the end, too.
 */
void uft_tree_begin_together(struct uft_tree *t);
int uft_tree_end_together(struct uft_tree *t, struct uft_error *err);
/* A word of set_event. An event of a system that is not known yet is on as soon as a program declares it. */
int uft_tree_put_event(struct uft_tree *t, const char *word, struct uft_error *err);
/*
 * Into the file `filter` or `trigger` of each event that a word of set_event means; -EINVAL also where none is known. A
 * filter that fits some of them is theirs, and no error.
 */
int uft_tree_put_of_events(struct uft_tree *t, const char *word, const char *file, const char *text,
			   struct uft_error *err);
/* Waits until the launched program ends: its wait status; -EAGAIN: @timeout_ms passed (-1: no limit). */
int uft_tree_wait(struct uft_tree *t, int timeout_ms);

/* ---- Nodes ----------------------------------------------------------------------------------- */

enum uft_tree_scope {
	UFT_SCOPE_TOP		= 1,	/* only in the top directory */
	UFT_SCOPE_INSTANCE	= 2,	/* there and in each instance */
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
int uft_tree_walk(struct uft_tree *t, const char *path, uft_node *out);	/* from the root; `/` as often as wanted */
int uft_tree_getattr(struct uft_tree *t, uft_node node, struct uft_tree_attr *out);
/*
 * Changes the permissions, owner or group that uft_tree_getattr() tells until the instance is removed; -1
 * keeps one. The tree itself does not go by them: whether a caller may open a file, a mount decides. 0,
 * -ENOENT, -ENOMEM.
 */
int uft_tree_setattr(struct uft_tree *t, uft_node node, mode_t mode, uid_t uid, gid_t gid);
/* Entry @i of a directory, from 0; without `.` and `..`. 1 filled, 0 the end, negative errno. */
int uft_tree_readdir(struct uft_tree *t, uft_node dir, size_t i, char name[UFT_TREE_NAME], uft_node *out);
int uft_tree_parent(struct uft_tree *t, uft_node node, uft_node *out);	/* the root's is itself */
int uft_tree_mkdir(struct uft_tree *t, uft_node dir, const char *name, uft_node *out);	/* -EPERM outside instances/ */
int uft_tree_rmdir(struct uft_tree *t, uft_node dir, const char *name);

/*
 * An option by its word of trace_options, for commands: changes what it stands for of @text (enum
 * uft_text_flags) and of @events (enum uft_events). Which of them that can be: enum uft_option_kind; 0: there
 * is no such option. An option of the buffer or of stacks changes neither.
 */
enum uft_option_kind { UFT_OPTION_TEXT = 1, UFT_OPTION_EVENTS = 2, UFT_OPTION_OTHER = 4 };
int uft_tree_option(const char *word, uint32_t *text, uint32_t *events);
/* their words, for "did you mean"; how many there are, at most @max */
size_t uft_tree_options(const char **names, size_t max);

/* ---- Handles --------------------------------------------------------------------------------- */

/* @flags: of open(2); @pid: the task that opens it (messages and trace_marker name it), 0: this process. */
int uft_tree_open(struct uft_tree *t, uft_node node, int flags, pid_t pid, struct uft_handle **out);
int uft_tree_truncate(struct uft_tree *t, uft_node node);		/* as O_TRUNC does, without a handle */
/* Bytes, 0 at the end, negative errno. @flags: O_NONBLOCK. */
ssize_t uft_tree_read(struct uft_handle *h, void *buf, size_t n, uint64_t offset, int flags);
ssize_t uft_tree_write(struct uft_handle *h, const void *buf, size_t n);
/* 0 or negative errno; -ESRCH: @pid, the task that waits for the answer, is not seen. @arg: an address of it. */
int uft_tree_ioctl(struct uft_handle *h, pid_t pid, unsigned cmd, uint64_t arg);
void uft_tree_caller(struct uft_handle *h, pid_t pid);	/* the task that writes from now on; default: that opened it */
/* Carries out an incomplete last line. Returns its error or 0. The handle is freed in any case. */
int uft_tree_release(struct uft_handle *h);
int uft_tree_poll(struct uft_handle *h);		/* POLLIN | POLLRDNORM ..., as of now */
/*
 * A read waits for the handle (@is_waiting), or no longer: until then poll and notify ignore buffer_percent,
 * as the kernel's read does.
 */
void uft_tree_await_read(struct uft_handle *h, int is_waiting);
/*
 * Calls @fn once, from a thread of the tree, as soon as uft_tree_poll() says POLLIN; at once if it does
 * already. @fn may not call the tree. NULL cancels: after that returns, @fn does not run any more.
 */
void uft_tree_notify(struct uft_handle *h, void (*fn)(void *arg), void *arg);

#endif
