/* SPDX-License-Identifier: MIT */
/*
 * newfile_test.c - what stands where a file is to be made is judged before it is opened, since that may wait
 *
 * Each file that must not be opened is watched: inotify tells of an open that did not wait, an alarm ends one that waits.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "symbol/newfile.h"

#define OTHER	65534		/* a user */
#define CHECK(c) do { if (!(c)) { fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #c); exit(1); } } while (0)

static char dir[] = "/tmp/uft-newfile-XXXXXX";

static const char *in_dir(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static void make(const char *name)
{
	int fd = open(in_dir(name), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);

	CHECK(fd >= 0 && write(fd, "old", 3) == 3);
	close(fd);
}

static void test_own_file(void)
{
	const char *why;
	struct stat st;
	int is_new, fd;

	make("own");
	fd = uft_newfile_open(in_dir("own"), O_APPEND, &is_new, &why);
	CHECK(fd >= 0 && !is_new && !fstat(fd, &st) && (st.st_mode & 0777) == 0600 && st.st_size == 3);
	CHECK((fcntl(fd, F_GETFL) & (O_APPEND | O_NONBLOCK | O_ACCMODE)) == (O_APPEND | O_WRONLY));
	close(fd);
	CHECK(uft_newfile_open(dir, 0, NULL, NULL) == -EISDIR);
}

/* Where the kernel gives one for files in /tmp. */
static void test_lease(void)
{
	const char *why = NULL;
	char ok = 0;
	int up[2];
	pid_t pid;

	make("leased");
	CHECK(!pipe2(up, O_CLOEXEC));
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		signal(SIGIO, SIG_IGN);
		alarm(100);
		ok = !fcntl(open(in_dir("leased"), O_RDONLY), F_SETLEASE, F_RDLCK);
		if (write(up[1], &ok, 1) == 1)
			pause();
		_exit(1);
	}
	CHECK(read(up[0], &ok, 1) == 1);
	if (ok)
		CHECK(uft_newfile_open(in_dir("leased"), 0, NULL, &why) == -EAGAIN && why && strstr(why, "lease"));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(up[0]);
	close(up[1]);
}

/* The user's own pipe is opened when somebody reads it. */
static void test_own_pipe(void)
{
	pid_t pid;
	int fd;

	CHECK(!mkfifo(in_dir("pipe"), 0600));
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		char byte = 0;

		fd = open(in_dir("pipe"), O_RDONLY);
		_exit(fd < 0 || read(fd, &byte, 1) != 1 || byte != 'x');
	}
	fd = uft_newfile_open(in_dir("pipe"), 0, NULL, NULL);
	CHECK(fd >= 0 && write(fd, "x", 1) == 1);
	close(fd);
	CHECK(waitpid(pid, &fd, 0) == pid && fd == 0);
}

static void test_strangers(void)
{
	int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	const char *why = NULL;
	char event[512];

	make("foreign");
	CHECK(!chown(in_dir("foreign"), OTHER, OTHER));
	CHECK(!mkfifo(in_dir("trap"), 0666) && !chown(in_dir("trap"), OTHER, OTHER));
	CHECK(watch >= 0 && inotify_add_watch(watch, in_dir("foreign"), IN_OPEN) >= 0 &&
	      inotify_add_watch(watch, in_dir("trap"), IN_OPEN) >= 0);
	CHECK(uft_newfile_open(in_dir("foreign"), 0, NULL, &why) == -EPERM && why && strstr(why, "another user"));
	why = NULL;
	CHECK(uft_newfile_open(in_dir("trap"), 0, NULL, &why) == -EPERM && why && strstr(why, "another user"));
	CHECK(read(watch, event, sizeof(event)) < 0 && errno == EAGAIN);
	close(watch);
}

int main(void)
{
	static const char *const names[] = { "own", "leased", "pipe", "foreign", "trap" };

	CHECK(mkdtemp(dir));
	alarm(100);
	test_own_file();
	test_lease();
	test_own_pipe();
	if (!geteuid())
		test_strangers();
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unlink(in_dir(names[i]));
	CHECK(!rmdir(dir));
	return 0;
}
