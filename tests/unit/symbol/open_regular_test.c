/* SPDX-License-Identifier: MIT */
/*
 * open_regular_test.c - files whose name or content another user chose: nothing else is opened, and no name
 * changes later
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "symbol/object.h"
#include "symbol/open_regular.h"

#define CHECK(c) do { if (!(c)) { fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #c); exit(1); } } while (0)

static char dir[] = "/tmp/uft-regular-XXXXXX";

static const char *in_dir(const char *name)
{
	static char path[2][128];
	static int i;

	i = !i;
	snprintf(path[i], sizeof(path[i]), "%s/%s", dir, name);
	return path[i];
}

static void copy_self(const char *to, mode_t mode)
{
	static char buf[1 << 16];
	FILE *from = fopen("/proc/self/exe", "r"), *f = fopen(to, "w");
	size_t n;

	CHECK(from && f);
	while ((n = fread(buf, 1, sizeof(buf), from)))
		CHECK(fwrite(buf, 1, n, f) == n);
	fclose(from);
	CHECK(fclose(f) == 0 && chmod(to, mode) == 0);
}

/* To open a device is to use it. A pipe stands for one: inotify tells of each time that it was opened. */
static void test_not_opened(void)
{
	int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	struct uft_error err = { "" };
	struct uft_object *obj;
	struct stat st;
	char event[512];

	CHECK(mkfifo(in_dir("pipe"), 0600) == 0);
	CHECK(watch >= 0 && inotify_add_watch(watch, in_dir("pipe"), IN_OPEN) >= 0);
	CHECK(open_regular(in_dir("pipe"), OPEN_FOLLOW, &st) == -ENODEV);
	CHECK(uft_object_open(in_dir("pipe"), &obj, &err) == -ENOEXEC && strstr(err.text, "special file"));
	CHECK(read(watch, event, sizeof(event)) < 0 && errno == EAGAIN);
	CHECK(open_regular(dir, OPEN_FOLLOW, &st) == -EISDIR);
	CHECK(open_regular(in_dir("nothing"), OPEN_FOLLOW, &st) == -ENOENT);
	CHECK(symlink("pipe", in_dir("link")) == 0);
	CHECK(open_regular(in_dir("link"), OPEN_NOFOLLOW, &st) == -ELOOP);
	close(watch);
}

/* Files of the kernel's: regular ones, of which some do something when they are opened. */
static void test_not_stored(void)
{
	static const char *const path[] = { "/proc/self/status", "/proc/kcore", "/sys/kernel/notes",
		"/sys/kernel/mm/transparent_hugepage/enabled" };
	struct uft_object *obj;
	struct stat st;
	int n = 0;

	for (size_t i = 0; i < sizeof(path) / sizeof(path[0]); i++) {
		if (stat(path[i], &st))
			continue;
		CHECK(open_regular(path[i], OPEN_FOLLOW, &st) == -ENODEV);
		CHECK(uft_object_open(path[i], &obj, NULL) == -ENOEXEC);
		n++;
	}
	CHECK(n);
}

/* A file that claims what was never written. */
static void test_hollow(void)
{
	struct uft_error err = { "" };
	struct uft_object *obj;

	copy_self(in_dir("hollow"), 0755);
	CHECK(truncate(in_dir("hollow"), 3ll << 30) == 0);
	CHECK(uft_object_open(in_dir("hollow"), &obj, &err) == -EFBIG && strstr(err.text, "never written"));
}

/* Names point into the file's bytes: its owner must not change them any more. */
static void test_copy(void)
{
	struct uft_error err = { "" };
	const struct uft_func *fn;
	struct uft_object *obj;
	char name[64], zeros[4096];
	struct stat st;
	int fd;

	copy_self(in_dir("shared"), 0777);
	CHECK(uft_object_open(in_dir("shared"), &obj, &err) == 0);
	CHECK(uft_object_names(obj, &err) == 0 && obj->nfunc);
	fn = &obj->func[obj->nfunc / 2];
	CHECK(fn->name);
	snprintf(name, sizeof(name), "%.60s", fn->name);
	fd = open(in_dir("shared"), O_WRONLY);
	CHECK(fd >= 0 && fstat(fd, &st) == 0);
	memset(zeros, 'x', sizeof(zeros));
	for (off_t at = 0; at < st.st_size; at += (off_t)sizeof(zeros))
		CHECK(pwrite(fd, zeros, sizeof(zeros), at) > 0);
	CHECK(!strncmp(fn->name, name, strlen(name)));
	close(fd);
	uft_object_put(obj);
}

/* A process whose root is elsewhere: a link that is absolute there leads to its own files. */
static int test_root(void)
{
	int ready[2];
	char path[128];
	struct stat st, its, ours;
	pid_t pid;

	CHECK(mkdir(in_dir("root"), 0755) == 0 && mkdir(in_dir("root/bin"), 0755) == 0);
	copy_self(in_dir("root/bin/own"), 0755);
	CHECK(symlink("/bin/own", in_dir("root/absolute")) == 0 && symlink("/../../../bin/sh", in_dir("root/up")) == 0);
	CHECK(symlink("/proc/self/exe", in_dir("root/magic")) == 0);
	CHECK(stat(in_dir("root/bin/own"), &its) == 0 && stat("/bin/sh", &ours) == 0);
	CHECK(pipe(ready) == 0);
	pid = fork();
	if (pid == 0) {
		char c = (char)((geteuid() && unshare(CLONE_NEWUSER)) || chroot(in_dir("root")) || chdir("/"));

		if (write(ready[1], &c, 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	CHECK(read(ready[0], path, 1) == 1);
	if (!path[0]) {
		int fd;

		snprintf(path, sizeof(path), "/proc/%d/root/absolute", pid);
		fd = open_regular(path, OPEN_FOLLOW, &st);
		CHECK(fd >= 0 && st.st_ino == its.st_ino && st.st_dev == its.st_dev);
		close(fd);
		snprintf(path, sizeof(path), "/proc/%d/root/up", pid);
		CHECK(open_regular(path, OPEN_FOLLOW, &st) == -ENOENT);
		snprintf(path, sizeof(path), "/proc/%d/root/magic", pid);
		CHECK(open_regular(path, OPEN_FOLLOW, &st) < 0);
		path[0] = 0;
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return path[0];
}

int main(void)
{
	char command[160];
	int skipped;

	umask(022);
	CHECK(mkdtemp(dir));
	test_not_opened();
	test_not_stored();
	test_hollow();
	test_copy();
	skipped = test_root();
	if (skipped)
		printf("SKIPPED: another root: chroot is not permitted\n");
	snprintf(command, sizeof(command), "rm -r %s", dir);
	return system(command) != 0;
}
