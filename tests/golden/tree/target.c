/* SPDX-License-Identifier: MIT */
/*
 * target.c - a program that does in itself what a kernel does for it, by the same names
 *
 *	golden N [hold|last]	N times: sysinfo(), personality(), and functions named as those of the kernel that the two pass; then
 *				says so and waits for the end of standard input. `last`: personality() only the last time
 *	golden try FILE TEXT...	writes each TEXT and a newline into FILE as > does; says what that gave and what FILE says then
 *	golden add FILE TEXT...	the same as >> does
 *	golden put FILE TEXT...	as try, without what FILE says then
 *	golden get FILE...	what reading gives: an error, or ok
 *	golden drain FILE	reads without waiting until that gives no more; says what the last read gave
 *
 * So one text of commands traces the kernel's functions there and this program's here, and nothing has to be renamed in what
 * is shown.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

volatile int sink;

void si_meminfo(void);
void si_swapinfo(void);
void nr_blockdev_pages(void);

/* In the order that they have in a kernel's text; the third by the name that its compiler gave it. */
void do_sysinfo(void) __asm__("do_sysinfo.isra.0");

NOINLINE void __x64_sys_personality(void)
{
	sink++;
}

NOINLINE void do_sysinfo(void)
{
	si_meminfo();
	si_swapinfo();
	sink++;
}

NOINLINE void __x64_sys_sysinfo(void)
{
	do_sysinfo();
	sink++;
}

NOINLINE void si_meminfo(void)
{
	nr_blockdev_pages();
	sink++;
}

NOINLINE void si_swapinfo(void)
{
	sink++;
}

NOINLINE void nr_blockdev_pages(void)
{
	sink++;
}

NOINLINE void do_syscall_64(int n)
{
	if (n)
		__x64_sys_sysinfo();
	else
		__x64_sys_personality();
	sink++;
}

static const char *name_of(int err)
{
	static const struct { int err; const char *name; } names[] = {
		{ 0, "ok" }, { EINVAL, "EINVAL" }, { EBUSY, "EBUSY" }, { EBADF, "EBADF" }, { ENOENT, "ENOENT" },
		{ ENODEV, "ENODEV" },
		{ EPERM, "EPERM" }, { EACCES, "EACCES" }, { ERANGE, "ERANGE" }, { ENOMEM, "ENOMEM" },
		{ EEXIST, "EEXIST" },
		{ ESRCH, "ESRCH" }, { EOVERFLOW, "EOVERFLOW" }, { EFAULT, "EFAULT" }, { E2BIG, "E2BIG" },
		{ EIO, "EIO" },
		{ EAGAIN, "EAGAIN" }, { EOPNOTSUPP, "EOPNOTSUPP" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].err == err)
			return names[i].name;
	return strerror(err);
}

static int put(const char *path, const char *text, int flags)
{
	int fd = open(path, O_WRONLY | flags), err = 0;
	char line[4096];

	if (fd < 0)
		return errno;
	snprintf(line, sizeof(line), "%s\n", text);
	for (size_t at = 0, n = strlen(line); at < n && !err;) {
		ssize_t got = write(fd, line + at, n - at);

		if (got < 0)
			err = errno;
		else if (!got)
			err = EIO;
		else
			at += got;
	}
	if (close(fd) && !err)
		err = errno;
	return err;
}

static void tell(const char *path)
{
	char text[4096];
	int fd = open(path, O_RDONLY);
	ssize_t n = 0, got;

	while (fd >= 0 && n < (ssize_t)sizeof(text) - 1 && (got = read(fd, text + n, sizeof(text) - 1 - n)) > 0)
		n += got;
	text[n] = 0;
	if (n && text[n - 1] == '\n')
		text[n - 1] = 0;
	for (char *c = text; *c; c++)
		if (*c == '\n')
			*c = ';';
	puts(text);
	if (fd >= 0)
		close(fd);
}

static int get(const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK), err = 0;
	char c;

	if (fd < 0 || read(fd, &c, 1) < 0)
		err = errno;
	if (fd >= 0)
		close(fd);
	return err;
}

/* Reads to the end or the first error: its name, or "end". */
static const char *drain(const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK);
	char text[4096];
	ssize_t n = fd < 0 ? -1 : 1;

	while (n > 0)
		n = read(fd, text, sizeof(text));
	return n ? name_of(errno) : "end";
}

int main(int argc, char **argv)
{
	struct sysinfo si;

	if (argc == 3 && !strcmp(argv[1], "drain")) {
		printf("%s: %s\n", argv[2], drain(argv[2]));
		return 0;
	}
	for (int i = 2; i < argc && !strcmp(argv[1], "get"); i++)
		printf("%s: %s\n", argv[i], name_of(get(argv[i])));
	for (int i = 3; i < argc && !strcmp(argv[1], "put"); i++)
		printf("%s \"%s\" %s\n", argv[2], argv[i], name_of(put(argv[2], argv[i], O_TRUNC)));
	if (argc > 2 && (!strcmp(argv[1], "get") || !strcmp(argv[1], "put")))
		return 0;

	if (argc > 3 && (!strcmp(argv[1], "try") || !strcmp(argv[1], "add"))) {
		for (int i = 3; i < argc; i++) {
			printf("%s \"%s\" %s: ", argv[2], argv[i],
			       name_of(put(argv[2], argv[i], argv[1][0] == 't' ? O_TRUNC : O_APPEND)));
			tell(argv[2]);
		}
		return 0;
	}
	for (int i = argc > 1 ? atoi(argv[1]) : 1; i > 0; i--) {
		if (sysinfo(&si))
			return 1;
		do_syscall_64(1);
		if (i > 1 && argc > 2 && !strcmp(argv[2], "last"))
			continue;
		sink += personality(0xffffffff);
		do_syscall_64(0);
	}
	if (argc > 2 && !strcmp(argv[2], "hold")) {
		puts("held");
		fflush(stdout);
		while (getchar() != EOF)
			;
	}
	return 0;
}
