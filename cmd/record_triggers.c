/* SPDX-License-Identifier: MIT */
/*
 * record_triggers.c - uft record -R, uft attach -R: a recording whose events have triggers
 *
 * A trigger acts while the program runs (record less or more from this event on, count, take a snapshot), from the
 * clock of its event. Triggers are files of the tracing directory, so such a recording has a private directory
 * (own_session.c). Its buffer is in memory. At the end the buffer goes to the file as a trace.dat, histograms go to
 * standard error, and a snapshot to a file beside the recording.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/own_session.h"
#include "cmd/record_internal.h"
#include "symbol/newfile.h"

#define BUFFER_KB	65536u	/* of each CPU; memory is taken as it is written */
#define POLL_MS		100

static int put_text(void *f, const char *p, size_t n)
{
	return fwrite(p, 1, n, f) == n ? 0 : -EIO;
}

static void print_hist(struct own_session *s, const struct uft_event_type *type)
{
	char path[600];

	snprintf(path, sizeof(path), "events/%s/%s/hist", type->system, type->name);
	fprintf(stderr, "# event: %s:%s\n", type->system, type->name);
	own_session_read(s, path, 0, put_text, stderr);
}

static int has_hist(const struct record_opts *o, const struct uft_event_type *type)
{
	for (size_t i = 0; i < o->event.n; i++)
		for (size_t k = 0; k < o->event.v[i].triggers.n; k++)
			if (!strncmp(o->event.v[i].triggers.item[k], "hist:", 5) &&
			    uft_event_matches(o->event.v[i].word, strlen(o->event.v[i].word), type))
				return 1;
	return 0;
}

static void print_hists(struct recording *rec, struct own_session *s)
{
	const struct uft_event_table *types = uft_tree_event_types(s->tree);

	for (uint32_t i = 0; i < uft_event_table_count(types); i++) {
		const struct uft_event_type *type = uft_event_table_at(types, i);

		if (type && has_hist(rec->opts, type))
			print_hist(s, type);
	}
	fflush(stderr);
}

struct snapshot { FILE *file; const char *path; int is_held; };

/* Makes the file with the first line of an event. */
static int put_snapshot(void *arg, const char *p, size_t n)
{
	struct snapshot *shot = arg;
	int fd = -1;

	shot->is_held |= *p != '#' || memmem(p, n, "\n ", 2) != NULL;
	if (!shot->file && shot->is_held) {
		fd = uft_newfile_open(shot->path, 0, NULL, NULL);
		if (fd >= 0 && !ftruncate(fd, 0))
			shot->file = fdopen(fd, "w");
	}
	return !shot->is_held || (shot->file && fwrite(p, 1, n, shot->file) == n) ? 0 : -EIO;
}

static void save_snapshot(struct recording *rec, struct own_session *s)
{
	char path[PATH_MAX + 16];
	struct snapshot shot = { NULL, path, 0 };

	snprintf(path, sizeof(path), "%s.snapshot", rec->path);
	if (own_session_read(s, "snapshot", 0, put_snapshot, &shot) && shot.is_held)
		record_say(rec, "warning: the snapshot could not be written to %s", path);
	else if (shot.file)
		record_say(rec, "a trigger took a snapshot: it is in %s", path);
	if (shot.file)
		fclose(shot.file);
}

static int has_trigger(const struct record_opts *o, const char *word)
{
	for (size_t i = 0; i < o->event.n; i++)
		for (size_t k = 0; k < o->event.v[i].triggers.n; k++)
			if (strstr(o->event.v[i].triggers.item[k], word))
				return 1;
	return 0;
}

/* Writes the buffer into the existing file of the recording. */
static int save(struct recording *rec, struct own_session *s, struct uft_error *err)
{
	const char *why = NULL;
	int fd = uft_newfile_open(rec->path, 0, NULL, &why), ret;
	uft_node root;

	if (fd < 0)
		return uft_fail(err, fd, "cannot write %s: %s", rec->path, why ? why : strerror(-fd));
	close(fd);
	ret = uft_tree_walk(s->tree, "", &root);
	ret = ret ? ret : uft_tree_extract(s->tree, root, rec->path);
	return ret ? uft_fail(err, ret, "writing %s failed: %s", rec->path, strerror(-ret)) : 0;
}

static void say_summary(struct recording *rec, const char *path)
{
	struct uft_writer_stats total = { 0 };
	struct uft_info info = { 0 };
	const char *unit = "events";
	int is_exact = 0;

	if (rec->opts->is_quiet)
		return;
	record_count(rec->path, &total, &unit, &is_exact, &info);
	status_summary(&rec->status, &total, unit, is_exact, path);
}

/* Waits until the program ends; -EAGAIN: a signal ended the wait. */
static int wait_end(struct own_session *s, int (*is_asked)(void))
{
	int status;

	while ((status = uft_tree_wait(s->tree, POLL_MS)) == -EAGAIN && !is_asked())
		;
	return status;
}

/* Opens a pidfd of each target, since a PID may be reused meanwhile. 0, or -errno with @err. */
static int open_targets(const struct cmd_targets *targets, struct pollfd *fd, struct uft_error *err)
{
	for (size_t i = 0; i < targets->n; i++) {
		fd[i] = (struct pollfd){ (int)syscall(SYS_pidfd_open, targets->item[i].pid, 0), POLLIN, 0 };
		if (fd[i].fd < 0 && !targets->item[i].is_found)
			return uft_fail(err, -errno, errno == EINVAL ? "%d is a thread: give its process" :
					"process %d: %s", targets->item[i].pid, strerror(errno));
	}
	return 0;
}

/* Waits until all targets have ended, or a signal comes. */
static void wait_targets(struct pollfd *fd, size_t n, int (*is_asked)(void))
{
	size_t running = 1;

	while (running && !is_asked()) {
		poll(fd, n, POLL_MS);
		running = 0;
		for (size_t i = 0; i < n; i++) {
			if (fd[i].fd >= 0 && fd[i].revents) {
				close(fd[i].fd);
				fd[i].fd = -1;
			}
			running += fd[i].fd >= 0;
		}
	}
}

/* Writes the buffer, histograms and snapshot of the session to their files. */
static int keep(struct recording *rec, struct own_session *s, struct uft_error *err)
{
	print_hists(rec, s);
	if (has_trigger(rec->opts, "snapshot"))
		save_snapshot(rec, s);
	return save(rec, s, err);
}

static int record_started(struct recording *rec, struct own_session *s, char *const argv[], int (*is_asked)(void),
			  int *status, struct uft_error *err)
{
	int ret = own_session_set(s, rec->opts, rec->image, err);

	ret = ret ? ret : record_keep_old(rec, err);
	ret = ret ? ret : own_session_start(s, argv, err);
	if (!ret) {
		rec->is_started = 1;
		*status = wait_end(s, is_asked);
		return keep(rec, s, err);
	}
	return ret;
}

static int record_attached(struct recording *rec, struct own_session *s, int (*is_asked)(void), struct uft_error *err)
{
	struct pollfd *fd = calloc(rec->targets->n, sizeof(*fd));
	int ret = fd ? open_targets(rec->targets, fd, err) : -ENOMEM;

	ret = ret ? ret : own_session_attach(s, rec->targets, err);
	ret = ret ? ret : record_keep_old(rec, err);
	if (!ret) {
		uft_tree_begin_together(s->tree);
		ret = own_session_set(s, rec->opts, NULL, err);
		ret = ret ? ret : uft_tree_end_together(s->tree, err);
	}
	if (!ret) {
		rec->is_started = 1;
		wait_targets(fd, rec->targets->n, is_asked);
		ret = keep(rec, s, err);
	}
	for (size_t i = 0; fd && i < rec->targets->n; i++)
		if (fd[i].fd > 0)
			close(fd[i].fd);
	free(fd);
	return ret;
}

int record_with_triggers(struct recording *rec, const struct uft_export *format, char *const argv[],
			 int (*is_asked)(void))
{
	const int is_attached = rec->targets && !rec->command;
	const char *lacks = own_session_lacks(rec->opts, is_attached);
	struct uft_error err = { "" };
	struct own_session s;
	int status = 0, ret;

	if (lacks || (rec->targets && rec->command))
		return cmd_usage(rec->syntax, "--trigger: not with %s", lacks ? lacks :
				 "a program and running processes at once");
	if (rec->opts->emulator && has_trigger(rec->opts, "stacktrace"))
		return cmd_usage(rec->syntax, "--trigger: uft records stacks on x86-64 only, not with --emulator");
	ret = own_session_open(&s, rec->syntax->name, rec->opts,
			       rec->opts->buffer_bytes ? rec->opts->buffer_bytes / 1024 : BUFFER_KB, &err);
	if (ret)
		return cmd_fail(rec->syntax->name, "%s", err.text);
	ret = is_attached ? record_attached(rec, &s, is_asked, &err) :
		record_started(rec, &s, argv, is_asked, &status, &err);
	if (ret && !rec->is_started && rec->kept[0])
		record_restore_old(rec);
	own_session_close(&s);
	if (ret)
		return cmd_fail(rec->syntax->name, "%s", err.text[0] ? err.text : strerror(-ret));
	say_summary(rec, format ? rec->opts->output : rec->path);
	if (format)
		ret = record_export(rec, format);
	return ret ? ret : status < 0 ? 128 + is_asked() : WIFSIGNALED(status) ? 128 +
		WTERMSIG(status) : WEXITSTATUS(status);
}
