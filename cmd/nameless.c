/* SPDX-License-Identifier: MIT */
/* nameless.c - see nameless.h */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/nameless.h"
#include "symbol/clean.h"
#include "symbol/names.h"

#define PACKAGE_ROOM	128u

extern char **environ;

/* Takes the first name of `dpkg-query -S PATH`, `PACKAGE[:ARCH][, ...]: PATH`. 0: the file is in no package. */
static int ask_dpkg(const char *path, char package[PACKAGE_ROOM])
{
	char *argv[] = { "dpkg-query", "-S", (char *)path, NULL };
	posix_spawn_file_actions_t files;
	FILE *answer;
	int fd[2], ret;
	size_t n;
	pid_t pid;

	if (pipe2(fd, O_CLOEXEC) < 0)
		return 0;
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&files, fd[1], 1);
	posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
	ret = posix_spawnp(&pid, argv[0], &files, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&files);
	close(fd[1]);
	answer = fdopen(fd[0], "r");
	if (!answer)
		close(fd[0]);
	n = ret || !answer ? 0 : fread(package, 1, PACKAGE_ROOM - 1, answer);
	if (answer)
		fclose(answer);
	if (!ret)
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	package[n] = '\0';
	n = strspn(package, "abcdefghijklmnopqrstuvwxyz0123456789+-.");
	ret = n && (package[n] == ':' || package[n] == ',');
	package[n] = '\0';
	return ret;
}

/* Tries both paths: a package lists the one of before or of after /bin and /lib became links into /usr. */
static int find_package(const char *path, char package[PACKAGE_ROOM])
{
	if (path[0] != '/' || path[strcspn(path, "*?[]\\")])
		return 0;
	return ask_dpkg(path, package) || (!strncmp(path, "/usr/", 5) && ask_dpkg(path + 4, package));
}

/* A recording keeps the names known when it was made: packages installed later help only the next recording. */
static int put_line(const struct uft_object *obj, uint32_t functions, FILE *out)
{
	char package[PACKAGE_ROOM];

	fprintf(out, "# no names of %" PRIu32 " function%s of ", functions, functions == 1 ? "" : "s");
	uft_put_clean(out, uft_base_name(obj->path));
	fputs(": it was recorded without symbols. Name them by --symbols; for the next recording ", out);
	if (find_package(obj->path, package))
		fprintf(out, "install %s-dbgsym (or -dbg) from Debian's debug archive, or set DEBUGINFOD_URLS\n",
			package);
	else
		fputs("install its debug symbols, or set DEBUGINFOD_URLS\n", out);
	return ferror(out) ? -EIO : 0;
}

int cmd_nameless_put(struct uft_stream *st, FILE *out)
{
	struct uft_object *obj, *worst = NULL;
	uint32_t most = 0, n;

	for (size_t i = 0; n = uft_stream_nameless(st, i, &obj), obj; i++)
		if (n > most) {
			most = n;
			worst = obj;
		}
	return worst ? put_line(worst, most, out) : 0;
}
