/* SPDX-License-Identifier: MIT */
/*
 * changed_input.c - loaded into uft: at its CHANGE_AT-th read of a recording this changes the recording
 *
 * CHANGE_FILE: the recording. CHANGE_HOW: cut (half of it stays), empty, over (its second half is overwritten), touch
 * (only its time changes), append (the rest of CHANGE_WHOLE comes, as of a recorder), grow (the same, and a byte of the
 * payload of each RING block behind the middle changes). CHANGE_COUNT: a file that gets the
 * number of reads.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stream/wire/uft_file.h"

static atomic_long reads;

static void copy_rest(int to, off_t at)
{
	static char part[65536];
	int from = open(getenv("CHANGE_WHOLE"), O_RDONLY | O_CLOEXEC);
	ssize_t (*next)(int, void *, size_t, off_t) = dlsym(RTLD_NEXT, "pread64");
	ssize_t n;

	for (; (n = next(from, part, sizeof(part), at)) > 0; at += n)
		if (pwrite(to, part, (size_t)n, at) != n)
			abort();
	close(from);
}

/* Of blocks up to @end. 0, or 1: there is none. */
static int spoil_payloads(int fd, off_t end)
{
	ssize_t (*next)(int, void *, size_t, off_t) = dlsym(RTLD_NEXT, "pread64");
	struct uft_file_block head;
	int n = 0;

	for (off_t at = end / 2 & ~7; next(fd, &head, sizeof(head), at) == sizeof(head) && at < end; at += 8) {
		off_t middle = at + (off_t)sizeof(head) + head.stored / 2;
		char byte;

		if (head.magic != UFT_BLOCK_MAGIC || head.type != UFT_BLOCK_RING || next(fd, &byte, 1, middle) != 1)
			continue;
		byte ^= 1;
		n += pwrite(fd, &byte, 1, middle) == 1;
	}
	return !n;
}

static void change(const char *path)
{
	const char *how = getenv("CHANGE_HOW");
	int fd = open(path, O_RDWR | O_CLOEXEC), is_bad = 0;
	char junk[4096];
	struct stat st;

	memset(junk, 0x5a, sizeof(junk));
	if (fd < 0 || fstat(fd, &st))
		abort();
	if (!strcmp(how, "cut") || !strcmp(how, "empty"))
		is_bad = ftruncate(fd, *how == 'c' ? st.st_size / 2 : 0);
	else if (!strcmp(how, "touch"))
		is_bad = futimens(fd, NULL);
	else if (!strcmp(how, "append"))
		copy_rest(fd, st.st_size);
	if (!strcmp(how, "grow")) {
		copy_rest(fd, st.st_size);
		is_bad = spoil_payloads(fd, st.st_size);
	}
	for (off_t at = st.st_size / 2; !strcmp(how, "over") && at + (off_t)sizeof(junk) <= st.st_size; at += sizeof(junk))
		is_bad |= pwrite(fd, junk, sizeof(junk), at) != sizeof(junk);
	if (is_bad)
		abort();
	close(fd);
}

static void before_read(int fd)
{
	const char *path = getenv("CHANGE_FILE"), *at = getenv("CHANGE_AT");
	struct stat a, b;

	if (!path || fstat(fd, &a) || stat(path, &b) || a.st_dev != b.st_dev || a.st_ino != b.st_ino)
		return;
	if (atomic_fetch_add(&reads, 1) + 1 == (at ? atol(at) : 0))
		change(path);
}

/* The names that the C library's headers make of pread(), which they may declare as each other. */
ssize_t plain(int fd, void *to, size_t n, off_t at) __asm__("pread");
ssize_t large(int fd, void *to, size_t n, off_t at) __asm__("pread64");
ssize_t checked(int fd, void *to, size_t n, off_t at, size_t room) __asm__("__pread64_chk");

ssize_t large(int fd, void *to, size_t n, off_t at)
{
	static ssize_t (*next)(int, void *, size_t, off_t);

	if (!next)
		next = dlsym(RTLD_NEXT, "pread64");
	before_read(fd);
	return next(fd, to, n, at);
}

ssize_t plain(int fd, void *to, size_t n, off_t at)
{
	return large(fd, to, n, at);
}

ssize_t checked(int fd, void *to, size_t n, off_t at, size_t room)
{
	return large(fd, to, n < room ? n : room, at);
}

__attribute__((destructor)) static void end(void)
{
	const char *path = getenv("CHANGE_COUNT");
	FILE *f = path ? fopen(path, "w") : NULL;

	if (!f)
		return;
	fprintf(f, "%ld\n", reads);
	fclose(f);
}
