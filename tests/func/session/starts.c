// SPDX-License-Identifier: MIT
/* starts.c - what cannot be started, scripts, and a program that is begun and not launched */
#include "tests/func/session/cases.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void expect_refusal(const char *path, int code, const char *word)
{
	char *argv[] = { (char *)path, NULL };
	struct run *r = new_run(UFT_TRACER_FUNCTION);

	r->opts.no_children = 1;
	run_session(r, argv);
	CHECK(r->launch_result == code, "%s: %d instead of %d (%s)", path, r->launch_result, code, r->err.text);
	CHECK(strstr(r->err.text, word), "%s: '%s' does not say '%s'", path, r->err.text, word);
	free(r);
}

static void write_file(const char *path, const void *data, size_t n, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0700);

	CHECK(fd >= 0 && write(fd, data, n) == (ssize_t)n && fchmod(fd, mode) == 0, "%s", path);
	close(fd);
}

static void test_refusals(void)
{
	static const char elf32[64] = "\177ELF\1\1\1\0\0\0\0\0\0\0\0\0\2\0\3";
	char dir[] = "/tmp/uft-refuse-XXXXXX", path[64];

	CHECK(mkdtemp(dir), "mkdtemp");
	expect_refusal("/nonexistent/program", -ENOENT, "No such file");
	expect_refusal("no-such-program-anywhere", -ENOENT, "PATH");
	expect_refusal("/etc/passwd", -EACCES, "not executable");
	expect_refusal("/tmp", -EISDIR, "directory");
	snprintf(path, sizeof(path), "%s/32bit", dir);
	write_file(path, elf32, sizeof(elf32), 0700);
	expect_refusal(path, -EPFNOSUPPORT, "architecture");
	write_file(path, "hello\n", 6, 0700);
	expect_refusal(path, -ENOEXEC, "neither an ELF");
	write_file(path, "#!/no/such/interpreter\n", 23, 0700);
	expect_refusal(path, -ENOENT, "interpreter");
	if (!getuid()) {
		char copy[5000];

		snprintf(copy, sizeof(copy), "cp %s %s && chown 12345 %s && chmod 4755 %s", target, path, path, path);
		CHECK(system(copy) == 0, "%s", copy);
		expect_refusal(path, -EPERM, "setuid");
	}
	unlink(path);
	rmdir(dir);
}

static void test_script(void)
{
	char dir[] = "/tmp/uft-script-XXXXXX", path[64], text[9000];
	char *argv[] = { path, NULL };
	struct run *r = new_run(UFT_TRACER_FUNCTION);

	r->has_vforks = 1;
	CHECK(mkdtemp(dir), "mkdtemp");
	snprintf(path, sizeof(path), "%s/script", dir);
	snprintf(text, sizeof(text), "#!/bin/sh\n%s calls 10\nexec %s calls 20\n", target, target);
	write_file(path, text, strlen(text), 0700);
	run_session(r, argv);
	check_clean(r);
	CHECK(r->status == GOOD, "%x", r->status);
	CHECK(!strcmp(r->output, "done\ndone\n"), "'%s'", r->output);
	check_counts(r, "work_a", 30);
	free(r);
	unlink(path);
	rmdir(dir);
}

/* Does a child of ours stand that runs @exe? Its exec takes a moment. */
static int has_begun(const char *exe)
{
	char path[64], children[256] = "", link[PATH_MAX];

	for (int ms = 0; ms < 60000; ms += 5, usleep(5000)) {
		FILE *f;
		char *at = children;

		snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
		f = fopen(path, "re");
		children[f ? fread(children, 1, sizeof(children) - 1, f) : 0] = '\0';
		if (f)
			fclose(f);
		for (long pid; (pid = strtol(at, &at, 10)) > 0;) {
			ssize_t n;

			snprintf(path, sizeof(path), "/proc/%ld/exe", pid);
			n = readlink(path, link, sizeof(link) - 1);
			if (n > 0 && (size_t)n == strlen(exe) && !memcmp(link, exe, strlen(exe)))
				return 1;
		}
	}
	return 0;
}

/* Says which, and how it is: 0 runs, or stands where somebody has seen it stand. */
static void check_no_child(void)
{
	char path[64], children[64] = "";
	int status = 0;
	pid_t left;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	f = fopen(path, "re");
	if (f && !fgets(children, sizeof(children), f))
		children[0] = '\0';
	if (f)
		fclose(f);
	left = waitpid(-1, &status, __WALL | WNOHANG);
	CHECK(left < 0 && errno == ECHILD, "a child is left: %d, status %#x, of %s", left, (unsigned)status, children);
}

/* A program named to uft_session_create() stops in its exec until it is launched, and ends there if it is not. */
static void test_begun(void)
{
	char name[] = "/tmp/uft-begun.XXXXXX", exe[PATH_MAX];
	char *touch[] = { "touch", name, NULL }, *none[] = { "/nowhere/none", NULL };
	char *calls[] = { (char *)target, "calls", "5", NULL };
	struct uft_ops op = { .tracer = UFT_TRACER_FUNCTION };
	struct uft_session_opts opts = { .ring_bytes = 1 << 20, .program = touch };
	struct uft_session *s;
	struct uft_error err = { "" };
	pid_t pid;

	close(mkstemp(name));
	unlink(name);
	CHECK(realpath("/usr/bin/touch", exe) != NULL, "no touch");
	CHECK(uft_session_create(&opts, NULL, &s, NULL) == 0 && has_begun(exe), "it was not begun");
	uft_session_destroy(s);
	check_no_child();

	CHECK(uft_session_create(&opts, NULL, &s, NULL) == 0 && trace_op(s, &op, NULL) == 0, "create");
	CHECK(uft_session_launch(s, calls, &pid, &err) == 0, "another one: %s", err.text);
	while (uft_session_poll(s, 100) > 0)
		;
	CHECK(WIFEXITED(uft_session_status(s)), "it ended by %#x", uft_session_status(s));
	uft_session_destroy(s);
	check_no_child();
	CHECK(access(name, F_OK) < 0, "a program ran that nobody launched");

	opts.program = none;
	CHECK(uft_session_create(&opts, NULL, &s, NULL) == 0, "create");
	CHECK(uft_session_launch(s, none, &pid, &err) == -ENOENT && strstr(err.text, none[0]), "%s", err.text);
	uft_session_destroy(s);
}

const struct session_case starts_cases[] = {
	{ "refusals", test_refusals }, { "script", test_script }, { "begun", test_begun }, { NULL, NULL },
};
