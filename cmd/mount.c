/* SPDX-License-Identifier: MIT */
/*
 * mount.c - uft mount, uft umount: the tree as a directory, served in the background until it is unmounted
 *
 * The process that the user started waits until its child serves the directory or reports why it cannot. The child then
 * has no terminal any more. It ends when the directory is unmounted, after it has detached from all targets.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/options.h"
#include "tree/serve/fuse.h"
#include "tree/serve/namespace.h"
#include "tree/serve/socket.h"

struct mount_opts {
	uint64_t buffer;
	int foreground, allow_other, watchdog, int3;
};

static const struct cmd_option mount_options[] = {
	CMD_BUFFER_SIZE(offsetof(struct mount_opts, buffer)),
	{ "foreground", 'f', NULL, "stay in the foreground; Ctrl-C unmounts", cmd_flag,
		offsetof(struct mount_opts, foreground), NULL },
	{ "allow-other", 0, NULL, "allow other users, as far as the files' modes permit", cmd_flag,
	  offsetof(struct mount_opts, allow_other), NULL },
	CMD_WATCHDOG(offsetof(struct mount_opts, watchdog)),
	CMD_INT3(offsetof(struct mount_opts, int3)),
	{ 0 }
};

static const struct cmd_syntax mount_syntax = {
	"mount", "[OPTIONS] [DIR]",
	"Start a session and mount its tracing files, for the processes whose PIDs are written to set_ftrace_pid. "
	"Without DIR, mount them at $XDG_RUNTIME_DIR/uft/tracing, which uft creates.",
	mount_options, 0
};

static const struct cmd_option umount_options[] = { { 0 } };

static const struct cmd_syntax umount_syntax = {
	"umount", "[DIR]",
	"Unmount the tracing files that uft mount mounted, and restore the processes that the session traced.",
	umount_options, 0
};

/*
 * The default directory; its parents are made. A parent that other users may write to is refused: they could choose
 * what is mounted over.
 */
static const char *default_dir(char buf[PATH_MAX], struct uft_error *err)
{
	if (uft_serve_dir(buf, PATH_MAX - 16, err))
		return NULL;
	strcat(buf, "/tracing");
	mkdir(buf, 0700);
	return buf;
}

/*
 * Serves until the directory is unmounted or a signal ends us. Open files keep the connection after an unmount, so the
 * list of mounts is checked. Returns 0 after an unmount.
 */
static int serve(struct uft_fuse *fuse, const char *dir, const sigset_t *ends)
{
	struct pollfd p[3] = { { .fd = uft_fuse_gone_fd(fuse), .events = POLLIN },
			       { .fd = signalfd(-1, ends, SFD_CLOEXEC), .events = POLLIN },
			       { .fd = open("/proc/self/mounts", O_RDONLY | O_CLOEXEC), .events = POLLPRI } };
	int is_there;

	while ((is_there = uft_mount_exists(dir, "uft", NULL)) && !p[0].revents && !p[1].revents)
		if (poll(p, 3, -1) < 0 && errno != EINTR)
			break;
	close(p[1].fd);
	close(p[2].fd);
	return is_there;
}

/* Runs in the child; with -f in the first process. @report: gets "ok" or the error; -1: standard error. */
static int serve_dir(const char *dir, const struct mount_opts *o, int report)
{
	struct uft_tree_opts topts = {
		.buffer_kb = o->buffer / 1024, .warning = cmd_warn, .arg = "mount", .watchdog = o->watchdog,
		.int3 = o->int3,
		.dump = o->foreground ? cmd_dump : NULL,	/* in the background there is no standard error */
	};
	struct uft_fuse_opts fopts = { .allow_other = o->allow_other };
	struct uft_error err = { "" };
	struct uft_fuse *fuse = NULL;
	struct uft_serve *socket = NULL;
	struct uft_tree *t = NULL;
	sigset_t ends;
	int ret;

	if (o->int3)
		cmd_warn("mount", CMD_INT3_RISK);
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	ret = uft_tree_create(&topts, &t, &err);
	if (ret == 0)
		ret = uft_fuse_start(t, dir, &fopts, &fuse, &err);
	if (ret == 0 && uft_serve_start(t, &socket, &err) < 0) {
		cmd_warn("mount", err.text);		/* not fatal: the mounted files work */
		err.text[0] = '\0';
	}
	if (report >= 0)
		(void)!write(report, err.text, strlen(err.text) + 1);
	else if (ret < 0)
		cmd_fail("mount", "%s", err.text);
	if (report >= 0)
		close(report);
	if (ret == 0) {
		int is_there = serve(fuse, dir, &ends);

		uft_serve_stop(socket);
		uft_fuse_stop(fuse, is_there);
	}
	if (t)
		uft_tree_destroy(t);
	return ret < 0 ? CMD_FAILED : 0;
}

/* Closes the terminal's files in the background: a program that waits for their end would wait for us. */
static void leave_terminal(void)
{
	int null = open("/dev/null", O_RDWR);

	setsid();
	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	if (null > 2)
		close(null);
	(void)!chdir("/");
}

static int in_background(const char *dir, const struct mount_opts *o)
{
	char text[sizeof(((struct uft_error *)0)->text)] = "the server died";
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0 || (pid = fork()) < 0)
		return cmd_fail("mount", "cannot start a process: %s", strerror(errno));
	if (pid == 0) {
		close(ends[0]);
		leave_terminal();
		_exit(serve_dir(dir, o, ends[1]));
	}
	close(ends[1]);
	if (read(ends[0], text, sizeof(text)) > 0 && text[0] == '\0')
		return puts(dir) < 0 ? CMD_FAILED : 0;
	waitpid(pid, NULL, 0);
	return cmd_fail("mount", "%s", text);
}

int cmd_mount(int argc, char **argv)
{
	struct uft_error err = { "" };
	struct mount_opts o = { 0 };
	char buf[PATH_MAX], full[PATH_MAX];
	const char *dir;
	int status = cmd_parse(&mount_syntax, &argc, argv, &o);

	if (status >= 0)
		return status;
	if (argc > 2)
		return cmd_usage(&mount_syntax, "give one directory, not %d", argc - 1);
	dir = argc > 1 ? argv[1] : default_dir(buf, &err);
	if (!dir)
		return cmd_fail("mount", "%s", err.text);
	if (!realpath(dir, full))
		return cmd_fail("mount", "cannot mount at %s: %s", dir, strerror(errno));
	if (uft_mount_exists(full, "uft", NULL))
		return cmd_fail("mount", "%s is mounted already%s", full, access(full, F_OK) < 0 && errno == ENOTCONN ?
				", by a server that died: uft umount removes it" : "");
	return o.foreground ? serve_dir(full, &o, -1) : in_background(full, &o);
}

/* fusermount3 unmounts for users that are not root. */
static int ask_fusermount(const char *dir)
{
	pid_t pid = fork();
	int status = -1;

	if (pid == 0) {
		execlp("fusermount3", "fusermount3", "-u", "-z", dir, NULL);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || status != 0)
		return cmd_fail("umount", "%s: fusermount3 (package fuse3) did not unmount it", dir);
	return 0;
}

int cmd_umount(int argc, char **argv)
{
	struct uft_error err = { "" };
	char buf[PATH_MAX];
	const char *dir;
	int unused, status = cmd_parse(&umount_syntax, &argc, argv, &unused);

	if (status >= 0)
		return status;
	dir = argc > 1 ? argv[1] : default_dir(buf, &err);
	if (!dir)
		return cmd_fail("umount", "%s", err.text);
	if (umount2(dir, MNT_DETACH | UMOUNT_NOFOLLOW) == 0)
		return 0;
	if (errno == EPERM)
		return ask_fusermount(dir);
	return cmd_fail("umount", "%s: %s", dir, errno == EINVAL ? "nothing is mounted there" : strerror(errno));
}
