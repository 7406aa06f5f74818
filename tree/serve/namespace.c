/* SPDX-License-Identifier: MIT */
/*
 * namespace.c - mount the tree where ftrace tools look for it
 *
 * Tools find the kernel's tracing directory by the first line of /proc/mounts whose type is tracefs, or by its path:
 * /sys/kernel/tracing, /sys/kernel/debug/tracing. No environment variable can name another directory. So a process
 * whose tools shall find our directory gets a mount namespace. The kernel's tracefs is mounted first, which makes that
 * line, and FUSE over it at the same path, so the path leads to our tree. All of it ends with the namespace's last
 * process.
 *
 * Beside the directory, tools use files of /proc. The namespace has files of the session in their place, so that writes
 * never reach the machine: /proc/kallsyms has the names of the targets' functions, and the sysctls in lent[] are files
 * of the directory. A kernel without a stack tracer has no file for it, no file can be made in /proc, and trace-cmd
 * stack needs it. Then /proc/sys/kernel becomes a tmpfs, with all its files bound into it, and this file added.
 *
 * Without root a user namespace gives the right to mount FUSE, but not tracefs; then a tracefs that is mounted already
 * (systemd mounts it) serves as the line, and without one tools need the path.
 */
#include <dirent.h>
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

#include "tree/serve/namespace.h"

#define TRACING		"/sys/kernel/tracing"
#define DEBUG		"/sys/kernel/debug"
#define SYSCTL		"/proc/sys/kernel"

static int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : write(fd, text, strlen(text));
	int ret = n < 0 ? -errno : 0;

	if (fd >= 0)
		close(fd);
	return ret;
}

/* Maps only our user and group, to themselves. */
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
		return uft_fail(err, -errno,
				"cannot make a mount namespace: %s (sysctl kernel.unprivileged_userns_clone=1 allows it; "
				"uft mount DIR needs none)", strerror(errno));
	if (!is_root && map_ids(uid, gid) < 0)
		return uft_fail(err, -EPERM, "cannot map user %u into a namespace", uid);
	if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
		return uft_fail(err, -errno, "cannot keep mounts to this namespace: %s", strerror(errno));
	return 0;
}

int uft_mount_exists(const char *dir, const char *name, const char *type)
{
	FILE *f = setmntent("/proc/self/mounts", "re");
	struct mntent *m;
	int found = 0;

	while (f && !found && (m = getmntent(f)))
		found = (!dir || !strcmp(m->mnt_dir, dir)) && (!name || !strcmp(m->mnt_fsname, name)) &&
			(!type || !strcmp(m->mnt_type, type));
	if (f)
		endmntent(f);
	return found;
}

/* Files of the directory, and where in /proc the kernel's tools look for them. */
static const struct { const char *file, *path; } lent[] = {
	{ "ftrace_enabled", SYSCTL "/ftrace_enabled" },
	{ "stack_tracer_enabled", SYSCTL "/stack_tracer_enabled" },
	{ "ftrace_dump_on_oops", SYSCTL "/ftrace_dump_on_oops" },
	{ "traceoff_on_warning", SYSCTL "/traceoff_on_warning" },
	{ "kprobes-optimization", "/proc/sys/debug/kprobes-optimization" },
	{ "kprobes-optimization", SYSCTL "/kprobes-optimization" },
	{ "kallsyms", "/proc/kallsyms" },
};

/* An empty file or directory @to, with @from over it. */
static int bind_entry(const char *from, const char *to, int is_dir)
{
	int fd = is_dir ? mkdir(to, 0555) : open(to, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0444);

	if (fd > 0)
		close(fd);
	return fd < 0 ? -errno : mount(from, to, NULL, MS_BIND | MS_REC, NULL) < 0 ? -errno : 0;
}

/*
 * Gives SYSCTL an empty file for each file of lent[] that belongs there and that the kernel lacks. On an error nothing
 * has changed.
 */
static int make_room(void)
{
	DIR *old = opendir(SYSCTL);
	char from[300], to[300];
	struct dirent *e;
	int ret = old ? mount("uft", SYSCTL, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=555") : -1;

	if (ret < 0) {
		ret = -errno;
		if (old)
			closedir(old);
		return ret;
	}
	while (!ret && (e = readdir(old))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		snprintf(from, sizeof(from), "/proc/self/fd/%d/%s", dirfd(old), e->d_name);
		snprintf(to, sizeof(to), SYSCTL "/%s", e->d_name);
		ret = bind_entry(from, to, e->d_type == DT_DIR);
	}
	closedir(old);
	for (size_t i = 0; !ret && i < sizeof(lent) / sizeof(lent[0]); i++)
		if (!strcmp(lent[i].file, "stack_tracer_enabled"))
			ret = bind_entry(TRACING "/stack_tracer_enabled", lent[i].path, 0);
	if (ret)
		umount2(SYSCTL, MNT_DETACH);
	return ret;
}

static void lend(void)
{
	char file[128];

	if (access(SYSCTL "/stack_tracer_enabled", F_OK) < 0)
		(void)!make_room();	/* without it trace-cmd stack says that there is no stack tracer */
	for (size_t i = 0; i < sizeof(lent) / sizeof(lent[0]); i++) {
		snprintf(file, sizeof(file), TRACING "/%s", lent[i].file);
		if (access(lent[i].path, F_OK) == 0)
			(void)!mount(file, lent[i].path, NULL, MS_BIND, NULL);
	}
}

int uft_namespace_mount(struct uft_tree *t, struct uft_fuse **out, struct uft_error *err)
{
	struct uft_fuse_opts opts = { 0 };
	struct stat st;
	int ret;

	if (stat(TRACING, &st) < 0)
		return uft_fail(err, -ENOENT, "this kernel has no " TRACING " to stand in for; use uft mount DIR");
	if (!uft_mount_exists(TRACING, NULL, "tracefs"))
		(void)!mount("nodev", TRACING, "tracefs", 0, NULL);
	ret = uft_fuse_start(t, TRACING, &opts, out, err);
	if (ret < 0)
		return ret;
	if (!uft_mount_exists(DEBUG, NULL, "debugfs"))
		(void)!mount("nodev", DEBUG, "debugfs", 0, NULL);
	(void)!mount(TRACING, DEBUG "/tracing", NULL, MS_BIND, NULL);
	lend();
	return 0;
}
