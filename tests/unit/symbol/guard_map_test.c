/* SPDX-License-Identifier: MIT */
/* guard_map_test.c - a file that is cut off while it is mapped ends nobody; a fault that is not ours still does */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "symbol/guard_map.h"
#include "symbol/object.h"

#define CHECK(c) do { if (!(c)) { fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #c); exit(1); } } while (0)

/* A copy of this program; returns its descriptor. */
static int copy_self(char *path)
{
	static char buf[1 << 16];
	FILE *from = fopen("/proc/self/exe", "r");
	int fd = mkstemp(path);
	size_t n;

	CHECK(from && fd >= 0);
	while ((n = fread(buf, 1, sizeof(buf), from)))
		CHECK(write(fd, buf, n) == (ssize_t)n);
	fclose(from);
	return fd;
}

static void test_zeros(void)
{
	char path[] = "/tmp/uft-guard-XXXXXX";
	int fd = copy_self(path);
	size_t size = (size_t)lseek(fd, 0, SEEK_END), page = (size_t)sysconf(_SC_PAGESIZE);
	const unsigned char *p = guard_map(fd, size);

	CHECK(p);
	CHECK(ftruncate(fd, (off_t)page) == 0);
	CHECK(p[1] == 'E');
	for (size_t i = page; i < size; i++)
		CHECK(p[i] == 0);
	guard_unmap(p, size);
	close(fd);
	unlink(path);
}

static void test_object(void)
{
	char path[] = "/tmp/uft-guard-XXXXXX";
	int fd = copy_self(path);
	struct uft_error err = { "" };
	struct uft_object *obj;

	CHECK(uft_object_open(path, &obj, &err) == 0);
	CHECK(ftruncate(fd, 100) == 0);
	uft_object_sites(obj, &err);
	uft_object_names(obj, &err);
	uft_object_func(obj, obj->entry);
	uft_object_put(obj);
	close(fd);
	unlink(path);
}

/* After a guarded mapping was there, and is gone. */
static void test_other(void)
{
	char path[] = "/tmp/uft-guard-XXXXXX";
	int fd = copy_self(path), status;
	pid_t child = fork();

	if (!child) {
		const char *p = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE, fd, 0);
		char c;

		guard_unmap(guard_map(fd, 8192), 8192);
		if (ftruncate(fd, 0) == 0 && p != MAP_FAILED) {
			c = *(volatile const char *)p;
			(void)c;
		}
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
	close(fd);
	unlink(path);
}

int main(void)
{
	test_zeros();
	test_object();
	test_other();
	return 0;
}
