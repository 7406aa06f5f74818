/* SPDX-License-Identifier: MIT */
/* compile.c - runs a compiler on the probe in a scratch directory; no shell is involved */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/cflags/internal.h"

#define MAX_WORDS 64

extern char **environ;

int cc_dir_make(struct cc_dir *d, const char *source, struct uft_error *err)
{
	const char *tmp = getenv("TMPDIR");
	FILE *f;
	int n;

	n = snprintf(d->path, sizeof(d->path), "%s/uft-cflags-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	if (n >= (int)sizeof(d->path))
		snprintf(d->path, sizeof(d->path), "/tmp/uft-cflags-XXXXXX");
	if (!mkdtemp(d->path))
		return uft_fail(err, -errno, "cannot make a directory for a test compilation: %s", strerror(errno));
	snprintf(d->object, sizeof(d->object), "%s/probe.o", d->path);
	snprintf(d->source, sizeof(d->source), "%s/probe.c", d->path);
	f = fopen(d->source, "we");
	if (f && fputs(source, f) >= 0 && !fclose(f))
		return 0;
	n = -errno;
	cc_dir_remove(d);
	return uft_fail(err, n, "cannot write a file for a test compilation: %s", strerror(-n));
}

void cc_dir_remove(struct cc_dir *d)
{
	unlink(d->object);
	unlink(d->source);
	rmdir(d->path);
}

/* Divides a copy of @text into words at @argv[*n]...; the copy is kept in *@store for the caller to free. */
static int add_words(const char *text, char **store, char **argv, size_t *n)
{
	char *save = NULL;

	*store = strdup(text);
	if (!*store)
		return -ENOMEM;
	for (char *w = strtok_r(*store, " \t\n", &save); w; w = strtok_r(NULL, " \t\n", &save)) {
		if (*n >= MAX_WORDS)
			return -E2BIG;
		argv[(*n)++] = w;
	}
	return 0;
}

static int spawn_to(char **argv, int fd)
{
	posix_spawn_file_actions_t fa;
	int status, ret;
	pid_t pid;

	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&fa, fd, 1);
	posix_spawn_file_actions_adddup2(&fa, fd, 2);
	ret = -posix_spawnp(&pid, argv[0], &fa, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&fa);
	if (ret)
		return ret;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static void read_back(int fd, char *out, size_t size)
{
	size_t got = 0;

	lseek(fd, 0, SEEK_SET);
	while (got < size - 1) {
		ssize_t n = read(fd, out + got, size - 1 - got);

		if (n <= 0)
			break;
		got += n;
	}
	out[got] = 0;
}

int cc_run(const char *cc, const char *flags, const struct cc_dir *d, char *out, size_t size)
{
	char *store[2] = { NULL, NULL }, *argv[MAX_WORDS + 16];
	size_t n = 0;
	int fd = -1, ret;

	out[0] = 0;
	ret = add_words(cc, &store[0], argv, &n);
	if (!ret && !n)
		ret = -ENOENT;
	if (!ret)
		ret = add_words(flags, &store[1], argv, &n);
	if (ret)
		goto out;
	if (d) {
		/* One section a function shows whether their lists are apart too. */
		char *compile[] = { "-O1", "-ffunction-sections", "-c", (char *)d->source, "-o", (char *)d->object };

		memcpy(&argv[n], compile, sizeof(compile));
		n += sizeof(compile) / sizeof(compile[0]);
	}
	argv[n] = NULL;
	fd = memfd_create("uft-cflags", MFD_CLOEXEC);
	ret = fd < 0 ? -errno : spawn_to(argv, fd);
	if (fd >= 0) {
		read_back(fd, out, size);
		close(fd);
	}
out:
	free(store[0]);
	free(store[1]);
	return ret;
}
