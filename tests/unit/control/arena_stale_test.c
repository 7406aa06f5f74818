/* SPDX-License-Identifier: MIT */
/*
 * arena_stale_test.c - who removes a dead session's files leaves those of the next session of that name
 *
 * A session's name is that of its process, so a process that ends a session and begins another one uses the name again. Here
 * it does so between the two steps of somebody's clean-up: the file was opened, and is locked next.
 *
 * A clean-up leaves a living session alone before it maps any of its files, of which a session may have thousands.
 */
#include "control/arena/arena.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CHECK(c) do { if (!(c)) { fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #c); exit(1); } } while (0)

static const struct uft_session_opts opts;
static struct arena first, second, cleaner;
static int is_armed, nturns, nmaps, nsessions;

/* In place of libc's. */
int flock(int fd, int how)
{
	struct uft_error err = { "" };

	if (is_armed) {
		is_armed = 0;
		nturns++;
		arena_destroy(&first);
		CHECK(!arena_create(&second, &opts, &err));
	}
	return (int)syscall(SYS_flock, fd, how);
}

void *mmap(void *at, size_t bytes, int prot, int flags, int fd, off_t offset)
{
	nmaps += fd >= 0;
	return (void *)syscall(SYS_mmap, at, bytes, prot, flags, fd, offset);
}

static void count(struct arena *a, void *arg)
{
	(void)a;
	(void)arg;
	nsessions++;
}

int main(void)
{
	char dir[] = "/dev/shm/uft-test.XXXXXX", was[sizeof(first.path)];
	struct uft_error err = { "" };

	CHECK(mkdtemp(dir));
	setenv("XDG_RUNTIME_DIR", dir, 1);
	CHECK(!arena_create(&first, &opts, &err));
	strcpy(was, first.path);
	is_armed = 1;
	CHECK(!arena_create(&cleaner, &opts, &err));
	CHECK(nturns == 1);
	CHECK(!strcmp(was, second.path));
	CHECK(!access(second.path, F_OK));
	CHECK(strcmp(cleaner.path, second.path));
	arena_destroy(&cleaner);
	CHECK(!access(second.path, F_OK));
	nmaps = 0;
	CHECK(!arena_each(1, count, NULL));
	CHECK(!nsessions && !nmaps);
	CHECK(!arena_each(0, count, NULL));
	CHECK(nsessions == 1 && nmaps);
	flock(second.fd, LOCK_UN);
	CHECK(!arena_each(1, count, NULL));
	CHECK(nsessions == 2);
	arena_destroy(&second);
	CHECK(access(second.path, F_OK));
	snprintf(was, sizeof(was), "%s/uft", dir);
	CHECK(!rmdir(was));
	CHECK(!rmdir(dir));
	return 0;
}
