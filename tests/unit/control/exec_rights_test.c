/* SPDX-License-Identifier: MIT */
/*
 * exec_rights_test.c - what a task would execute, by a name that it chose: links and scripts mean what they
 * mean to the task
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "control/proc/proc.h"

#define OTHER	65534		/* a user */
#define CHECK(c) do { if (!(c)) { fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #c); exit(1); } } while (0)

static char dir[] = "/tmp/uft-rights-XXXXXX";

static void make(const char *path, mode_t mode)
{
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0700);

	CHECK(fd >= 0 && fchmod(fd, mode) == 0);
	close(fd);
}

/* A task of another user in @root, and in its folder @cwd. Ends with its end of the pipe. */
static pid_t start(const char *root, const char *cwd, int *ready)
{
	int up[2], end[2];
	char byte;
	pid_t pid;

	CHECK(!pipe2(up, O_CLOEXEC) && !pipe2(end, O_CLOEXEC));
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		close(end[1]);
		if (chroot(root) || chdir(cwd) || dup2(open("/", O_PATH | O_DIRECTORY), 20) < 0 || setgid(OTHER) ||
		    setuid(OTHER) || write(up[1], "", 1) != 1)
			_exit(1);
		_exit(read(end[0], &byte, 1) != 0);
	}
	close(end[0]);
	close(up[1]);
	CHECK(read(up[0], &byte, 1) == 1);
	close(up[0]);
	*ready = end[1];
	return pid;
}

static void stop(pid_t pid, int ready)
{
	int status;

	close(ready);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

/* Ours is a program that gains rights, theirs by the same name is none. */
static void test_chroot(void)
{
	char path[256], link[256];
	int ready;
	pid_t pid;

	CHECK(!mkdir("jail", 0755) && !mkdir("jail/sub", 0755) && !mkdir("jail/tmp", 0755));
	snprintf(path, sizeof(path), "jail%s", dir);
	CHECK(!mkdir(path, 0755));
	make("outer", 04755);
	make("jail/inner", 04755);
	snprintf(path, sizeof(path), "jail%s/outer", dir);
	make(path, 0755);
	snprintf(link, sizeof(link), "%s/outer", dir);
	CHECK(!symlink(link, "jail/link"));
	pid = start("jail", "/sub", &ready);
	CHECK(!secure_exec_reason_of(pid, "/link", AT_FDCWD));
	CHECK(!secure_exec_reason_of(pid, "../link", AT_FDCWD));
	CHECK(!secure_exec_reason_of(pid, "../../../../../outer", AT_FDCWD));
	CHECK(secure_exec_reason_of(pid, "../inner", AT_FDCWD));
	CHECK(secure_exec_reason_of(pid, "/inner", AT_FDCWD));
	CHECK(secure_exec_reason_of(pid, "inner", 20));
	CHECK(!secure_exec_reason_of(pid, "inner", 21));
	stop(pid, ready);
}

/* /proc/self is the task's in its name, and ours where we look. */
static void test_magic(void)
{
	int ready, fd = open("outer", O_PATH);
	char name[64];
	pid_t pid;

	CHECK(fd >= 0 && !symlink("/proc/self/cwd/outer", "magic"));
	pid = start("/", dir, &ready);
	CHECK(secure_exec_reason_of(pid, "outer", AT_FDCWD));
	CHECK(!secure_exec_reason_of(pid, "magic", AT_FDCWD));
	CHECK(!secure_exec_reason_of(pid, "/proc/self/cwd/outer", AT_FDCWD));
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	CHECK(secure_exec_reason_of(pid, name, AT_FDCWD));
	CHECK(secure_exec_reason_of(pid, NULL, fd));
	close(fd);	/* it has that still */
	CHECK(secure_exec_reason_of(pid, name, AT_FDCWD));
	stop(pid, ready);
}

static void write_script(const char *path, const char *interpreter)
{
	FILE *f = fopen(path, "w");

	CHECK(f && fprintf(f, "#! %s -x\n", interpreter) > 0 && !fclose(f) && !chmod(path, 0755));
}

/* The kernel gives a script the rights of its interpreter, which is found as the task finds it, and none of its own. */
static void test_scripts(void)
{
	struct uft_error err;
	char path[256];
	int ready;
	pid_t pid;

	snprintf(path, sizeof(path), "%s/outer", dir);
	write_script("script", path);
	write_script("jail/script", "/inner");
	write_script("jail/nested", "../script");
	write_script("jail/common", "/sub/plain");
	make("jail/sub/plain", 0755);
	CHECK(!chmod("jail/common", 04755) && !mkfifo("jail/pipe", 0755));
	CHECK(program_check_rights("script", &err) == 0);	/* root gains none by a file of root's */
	CHECK(!chown("outer", OTHER, OTHER) && !chmod("outer", 04755));
	CHECK(program_check_rights("script", &err) == -EPERM);
	CHECK(!chown("outer", 0, 0) && !chmod("outer", 04755));
	pid = start("jail", "/sub", &ready);
	CHECK(secure_exec_reason_of(pid, "/script", AT_FDCWD));
	CHECK(secure_exec_reason_of(pid, "../nested", AT_FDCWD));
	CHECK(!secure_exec_reason_of(pid, "/common", AT_FDCWD));
	CHECK(!secure_exec_reason_of(pid, "/pipe", AT_FDCWD));
	stop(pid, ready);
}

int main(void)
{
	struct statvfs fs;
	char command[64];
	int status;

	if (geteuid()) {
		puts("SKIPPED: only root can run a task in another root");
		return 77;
	}
	CHECK(mkdtemp(dir) && !chmod(dir, 0755) && !chdir(dir));
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	if (statvfs(dir, &fs) == 0 && fs.f_flag & ST_NOSUID) {
		puts("SKIPPED: no program in /tmp gains rights");
		status = 77;
	} else {
		test_chroot();
		test_magic();
		test_scripts();
		status = 0;
	}
	return system(command) ? 1 : status;
}
