/* SPDX-License-Identifier: MIT */
/*
 * map_files_test.c - a file that another user's process has mapped: its name leads us to no other one
 *
 * A process that gave up its rights has a copy of this program mapped, and this one opens it: by the mapping, by its name because
 * the mapping has gone, and without the capability that the first way takes. Meanwhile the name may become a link to a program
 * that only root can read.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "control/session.h"

#define OTHER	65534		/* a user */
#define CHECK(c) do { if (!(c)) { fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #c); exit(1); } } while (0)

static char dir[] = "/tmp/uft-mapped-XXXXXX";

static void copy_self(const char *to, mode_t mode)
{
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), fd = open(to, O_CREAT | O_WRONLY | O_CLOEXEC, 0700);
	char block[65536];
	ssize_t n;

	CHECK(from >= 0 && fd >= 0);
	while ((n = read(from, block, sizeof(block))) > 0)
		CHECK(write(fd, block, (size_t)n) == n);
	CHECK(!n && !fchmod(fd, mode));
	close(from);
	close(fd);
}

/* A process of another user, and where it has the file. It ends with us. */
static pid_t start(const char *file, uint64_t *at)
{
	int up[2];
	pid_t pid;

	CHECK(!pipe2(up, O_CLOEXEC));
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		int fd = open(file, O_RDONLY | O_CLOEXEC);
		uint64_t got = (uintptr_t)mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);

		if (setgid(OTHER) || setuid(OTHER) || prctl(PR_SET_DUMPABLE, 1) || prctl(PR_SET_PDEATHSIG, SIGKILL) ||
		    write(up[1], &got, sizeof(got)) != sizeof(got))
			_exit(1);
		pause();
		_exit(0);
	}
	CHECK(read(up[0], at, sizeof(*at)) == sizeof(*at) && *at != (uintptr_t)MAP_FAILED);
	close(up[0]);
	close(up[1]);
	return pid;
}

static int can_open(pid_t pid, uint64_t at, uint64_t bytes, const char *path)
{
	struct uft_object *obj;
	struct uft_error err;
	int ret = uft_process_file(pid, at, at + bytes, path, &obj, &err);

	if (!ret)
		uft_object_put(obj);
	return !ret;
}

/* What /proc/PID/map_files takes, and no more. */
static void drop_capabilities(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	CHECK(!syscall(SYS_capget, &head, data));
	data[0].effective &= ~(1u << CAP_SYS_ADMIN);
	data[1].effective &= ~(1u << (CAP_CHECKPOINT_RESTORE - 32));
	CHECK(!syscall(SYS_capset, &head, data));
}

int main(void)
{
	char file[100], secret[100];
	uint64_t at = 0;
	pid_t pid;

	if (geteuid())
		return 77;
	CHECK(mkdtemp(dir) && !chmod(dir, 0755));
	snprintf(file, sizeof(file), "%s/file", dir);
	snprintf(secret, sizeof(secret), "%s/secret", dir);
	copy_self(file, 0755);
	copy_self(secret, 0700);
	pid = start(file, &at);

	CHECK(can_open(pid, at, 4096, file));
	CHECK(can_open(pid, at, 8192, file));		/* no such mapping any more, but one that begins there */
	CHECK(!can_open(pid, at + 4096, 4096, file));
	CHECK(!can_open(pid, at, 8192, secret));
	drop_capabilities();
	CHECK(can_open(pid, at, 4096, file));
	CHECK(!chmod(file, 0700) && !can_open(pid, at, 4096, file) && !chmod(file, 0755));
	CHECK(!unlink(file) && !symlink(secret, file));
	CHECK(!can_open(pid, at, 4096, file));

	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	unlink(file);
	unlink(secret);
	rmdir(dir);
	return 0;
}
