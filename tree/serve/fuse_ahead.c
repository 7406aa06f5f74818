/* SPDX-License-Identifier: MIT */
/*
 * fuse_ahead.c - a splice of trace_pipe_raw in one round trip
 *
 * The kernel requests the data of a splice page by page, and sleeps for each. So before the answer for one page, the
 * pages that the same splice will request next are put into the kernel's cache (notify_store), where it finds them.
 * How much a splice will take must be known: a page too many is lost if the reader never comes back. It is looked up
 * while the reader sleeps in the call that we answer:
 *
 *	/proc/TID/syscall	that it is a splice, and how much it asks for
 *	/proc/TID/fdinfo/FD	where in the file the call began
 *	the call before		how much the pipe took: the first splice of an open file goes page by page, and tells it
 *
 * A call that ended for lack of data tells nothing about the pipe. Single pages go to a reader whose call cannot be
 * seen (of another user or pid namespace, or with an offset), and to readers that share an open file, since they share
 * the kernel's cache.
 *
 * Cached pages are kept here until the reader requests the page after them. So nothing depends on the kernel's cache:
 * if the kernel drops or refuses a page, the reader requests it again and gets it from here. A reader whose pipe took
 * less than the last time finds the rest at its next splice. Poll reports data until the reader requests the page after
 * the cached ones.
 *
 * Two threads could each put pages into the cache that the other's reader waits for. So only one thread at a time does,
 * and the others answer page by page.
 */
#include "tree/serve/fuse_internal.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define AHEAD_PAGES	63u	/* of a splice of 256 KiB; a pipe holds 64 as a rule */
#define UNSEEN		64u	/* a reader that takes single pages is looked at again after so many pages */

struct ahead {
	uint64_t began, took;		/* offset where the last call began; bytes that a call takes */
	int is_begun, was_short;	/* there was a call; that call ended for lack of data */
	uint32_t unseen;
	uint64_t at;			/* of the first page kept */
	uint32_t n;			/* pages kept; no page after them was requested yet */
	char *page;
};

/* The text of /proc/@tid/@name, of one read. 0: there is none. */
static int proc_text(pid_t tid, const char *name, char *text, size_t size)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", tid, name);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, text, size - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/*
 * Looks at the splice in which @tid waits: the bytes requested, and the offset where it began. Returns 1; 0: @tid is in
 * no splice that we understand; -1: @tid is on the way into its wait.
 */
static int see_splice(pid_t tid, uint64_t *bytes, uint64_t *began)
{
	unsigned long long fd, offset, len, at;
	char text[256], name[32];
	const char *pos;
	long number;

	if (tid <= 0 || !proc_text(tid, "syscall", text, sizeof(text)))
		return 0;
	if (text[0] == 'r')		/* running */
		return -1;
	if (sscanf(text, "%ld %llx %llx %*x %*x %llx", &number, &fd, &offset, &len) != 4 || number != SYS_splice ||
	    offset)
		return 0;
	snprintf(name, sizeof(name), "fdinfo/%d", (int)fd);
	if (!proc_text(tid, name, text, sizeof(text)))
		return 0;
	pos = strstr(text, "pos:");
	if (!pos || sscanf(pos, "pos: %llu", &at) != 1)
		return 0;
	*bytes = len;
	*began = at;
	return 1;
}

/* How many pages the present call of @tid will request after the page at @offset. */
static uint32_t wanted(struct ahead *a, pid_t tid, uint64_t offset)
{
	uint64_t bytes, began, takes, pages;
	int seen;

	if (a->unseen) {
		a->unseen--;
		return 0;
	}
	seen = see_splice(tid, &bytes, &began);
	if (seen < 0)
		return 0;
	if (!seen || bytes < 2 * FUSE_PAGE || began > offset) {
		a->unseen = UNSEEN;
		a->took = 0;
		return 0;
	}
	if (began != a->began || !a->is_begun) {	/* another call: how much did the last one take? */
		if (began != offset)			/* the pipe had less room than we assumed */
			a->took = 0;
		else if (a->is_begun && !a->was_short && began > a->began)
			a->took = began - a->began;
		a->is_begun = 1;
		a->was_short = 0;
		a->began = began;
	}
	takes = bytes < a->took ? bytes : a->took;
	pages = takes > offset - began ? (takes - (offset - began)) / FUSE_PAGE : 0;
	return pages < 2 ? 0 : pages - 1 < AHEAD_PAGES ? (uint32_t)pages - 1 : AHEAD_PAGES;
}

int ahead_has(const struct ahead *a)
{
	return a && a->n;
}

ssize_t ahead_kept(struct ahead *a, char *buf, size_t size, uint64_t offset)
{
	uint64_t end = ahead_has(a) ? a->at + (uint64_t)a->n * FUSE_PAGE : 0;

	if (!end || offset < a->at)
		return 0;
	if (offset >= end) {
		a->n = 0;
		return 0;
	}
	size = size < end - offset ? size : end - offset;
	memcpy(buf, a->page + (offset - a->at), size);
	return (ssize_t)size;
}

void ahead_none(struct ahead *a)
{
	if (a)
		a->was_short = 1;
}

int ahead_take(struct file *file, pid_t tid, uint64_t offset)
{
	struct ahead *a = file->ahead;
	uint32_t n;

	if (!a)
		a = file->ahead = calloc(1, sizeof(*a));
	if (!a || a->n || __atomic_load_n(&file->is_shared, __ATOMIC_RELAXED))
		return 0;
	n = wanted(a, tid, offset);
	if (n && !a->page)
		a->page = malloc(AHEAD_PAGES * FUSE_PAGE);
	if (!n || !a->page)
		return 0;
	a->at = offset + FUSE_PAGE;
	for (a->n = 0; a->n < n; a->n++)
		if (uft_tree_read(file->handle, a->page + (size_t)a->n * FUSE_PAGE, FUSE_PAGE, 0, O_NONBLOCK) !=
		    FUSE_PAGE)
			break;
	return a->n != 0;
}

void ahead_put(struct file *file, fuse_ino_t node)
{
	struct ahead *a = file->ahead;
	struct fuse_bufvec v = FUSE_BUFVEC_INIT((size_t)a->n * FUSE_PAGE);

	v.buf[0].mem = a->page;
	if (pthread_mutex_trylock(&file->fuse->storing) != 0)
		return;
	fuse_lowlevel_notify_store(file->fuse->session, node, (off_t)a->at, &v, FUSE_BUF_NO_SPLICE);
	pthread_mutex_unlock(&file->fuse->storing);
}

void ahead_free(struct ahead *a)
{
	if (a)
		free(a->page);
	free(a);
}
