/* SPDX-License-Identifier: MIT */
/*
 * namespace.c - where every ftrace tool looks, there is the tree
 *
 * Tools find the kernel's tracing directory by the first line of /proc/mounts whose type is tracefs, or by its path:
 * /sys/kernel/tracing, /sys/kernel/debug/tracing. There is no variable that tells them another one. So a process that
 * wants them to find ours gets a mount namespace: the kernel's tracefs is mounted first, which makes that line, and FUSE
 * over it at the same path, which is what the path then leads to. All of it ends with the namespace's last process.
 *
 * Beside the directory, tools touch files of /proc, which the namespace replaces where the kernel has them:
 *	/proc/sys/kernel/ftrace_enabled	trace-cmd writes 1; the machine's own setting is none of our business
 *	/proc/sys/kernel/stack_tracer_enabled	trace-cmd stack: ours is in the directory
 *	/proc/kallsyms			trace-cmd keeps it as the names of addresses: ours are the targets' functions
 *
 * Without root a user namespace gives the right to mount FUSE, but not tracefs; then a tracefs that is mounted already
 * (systemd mounts it) serves as the line, and without one tools need the path.
 */
#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tree/namespace.h"

#define TRACING		"/sys/kernel/tracing"
#define DEBUG		"/sys/kernel/debug"

static int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : write(fd, text, strlen(text));
	int ret = n < 0 ? -errno : 0;

	if (fd >= 0)
		close(fd);
	return ret;
}

/* We stay who we are: the user and group are mapped to themselves, nobody else is. */
static int map_ids(uid_t uid, gid_t gid)
{
	char line[64];
	int ret;

	snprintf(line, sizeof(line), "%u %u 1", uid, uid);
	ret = write_text("/proc/self/uid_map", line);
	if (ret == 0)
		ret = write_text("/proc/self/setgroups", "deny");
	snprintf(line, sizeof(line), "%u %u 1", gid, gid);
	return ret < 0 ? ret : write_text("/proc/self/gid_map", line);
}

int uft_namespace_enter(struct uft_error *err)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	int is_root = unshare(CLONE_NEWNS) == 0;

	if (!is_root && unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return uft_fail(err, -errno, "cannot make a mount namespace: %s (sysctl kernel.unprivileged_userns_clone=1 allows it; "
				"uft mount DIR needs none)", strerror(errno));
	if (!is_root && map_ids(uid, gid) < 0)
		return uft_fail(err, -EPERM, "cannot map user %u into a namespace", uid);
	if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
		return uft_fail(err, -errno, "cannot keep mounts to this namespace: %s", strerror(errno));
	return 0;
}

static int is_mounted(const char *dir, const char *type)
{
	FILE *f = setmntent("/proc/self/mounts", "re");
	struct mntent *m;
	int found = 0;

	while (f && !found && (m = getmntent(f)))
		found = strcmp(m->mnt_dir, dir) == 0 && strcmp(m->mnt_type, type) == 0;
	if (f)
		endmntent(f);
	return found;
}

/* A file with @text that stands at @path from now on; what cannot be replaced stays. */
static void stand_in(const char *path, const char *text)
{
	char name[] = "/tmp/uft-XXXXXX";
	int fd = mkstemp(name);

	if (fd < 0)
		return;
	if (write(fd, text, strlen(text)) >= 0 && fchmod(fd, 0644) == 0)
		(void)!mount(name, path, NULL, MS_BIND, NULL);
	close(fd);
	unlink(name);
}

int uft_namespace_mount(struct uft_tree *t, struct uft_fuse **out, struct uft_error *err)
{
	struct uft_fuse_opts opts = { 0 };
	struct stat st;
	int ret;

	if (stat(TRACING, &st) < 0)
		return uft_fail(err, -ENOENT, "this kernel has no " TRACING " to stand in for; use uft mount DIR");
	if (!is_mounted(TRACING, "tracefs"))
		(void)!mount("nodev", TRACING, "tracefs", 0, NULL);
	ret = uft_fuse_start(t, TRACING, &opts, out, err);
	if (ret < 0)
		return ret;
	if (!is_mounted(DEBUG, "debugfs"))
		(void)!mount("nodev", DEBUG, "debugfs", 0, NULL);
	(void)!mount(TRACING, DEBUG "/tracing", NULL, MS_BIND, NULL);
	stand_in("/proc/sys/kernel/ftrace_enabled", "1\n");
	(void)!mount(TRACING "/stack_tracer_enabled", "/proc/sys/kernel/stack_tracer_enabled", NULL, MS_BIND, NULL);
	(void)!mount(TRACING "/kallsyms", "/proc/kallsyms", NULL, MS_BIND, NULL);
	return 0;
}
