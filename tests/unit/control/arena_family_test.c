/* SPDX-License-Identifier: MIT */
/* arena_family_test.c - a family whose mappings cannot be replaced stays, with its file; later it can be dropped */
#include "control/arena/arena.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CHECK(c) do { if (!(c)) { fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #c); exit(1); } } while (0)

static const struct uft_session_opts opts;
static struct arena a;
static int fails;

/* In place of libc's. */
void *mmap(void *at, size_t n, int prot, int flags, int fd, off_t offset)
{
	if (fails) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	return (void *)syscall(SYS_mmap, at, n, prot, flags, fd, offset);
}

static int is_there(uint32_t family)
{
	int fd = arena_open_family(&a, family), is_open = fd >= 0;

	if (is_open)
		close(fd);
	CHECK(is_open == !!a.mail[family]);
	return is_open;
}

/* Dropped by its session, or (@is_other) by a process that takes over the files of another's. */
static void drop(int is_other)
{
	const int void_fd = a.void_fd;
	int64_t family = arena_make_family(&a);
	uint32_t nused = a.nused;

	CHECK(family >= 0);
	if (is_other)
		a.void_fd = -1;
	fails = 1;
	arena_drop_family(&a, (uint32_t)family);
	fails = 0;
	CHECK(is_there((uint32_t)family) && a.nused == nused);
	arena_drop_family(&a, (uint32_t)family);
	CHECK(!is_there((uint32_t)family) && a.nused == nused - 1);
	a.void_fd = void_fd;
}

int main(void)
{
	char dir[] = "/dev/shm/uft-test.XXXXXX", path[sizeof(dir) + 4];
	struct uft_error err = { "" };

	CHECK(mkdtemp(dir));
	setenv("XDG_RUNTIME_DIR", dir, 1);
	CHECK(!arena_create(&a, &opts, &err));
	drop(0);
	drop(1);
	arena_destroy(&a);
	snprintf(path, sizeof(path), "%s/uft", dir);
	CHECK(!rmdir(path));
	CHECK(!rmdir(dir));
	return 0;
}
