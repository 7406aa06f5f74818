// SPDX-License-Identifier: MIT
/*
 * launch.c - start a program with the runtime in it
 *
 * The child waits on a pipe until it is seized, then calls execve() with an unchanged state: signal mask as it was
 * when the session was created, dispositions as exec leaves them, our descriptors close-on-exec. If exec
 * fails, the child sends errno through a second pipe, which a successful exec closes. If the program is known when the
 * session is created, the child is started first: the kernel makes the image on another CPU meanwhile.
 * session/launch.c waits for what follows.
 */
#include "control/start/start.h"
#include "control/ptrace/task_stop.h"
#include "control/plan/unprepared.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int launch_find_program(const char *name, char *path, size_t size, struct uft_error *err)
{
	const char *dirs = getenv("PATH");
	int denied = 0;

	if (strchr(name, '/')) {
		if ((size_t)snprintf(path, size, "%s", name) >= size)
			return uft_fail(err, -ENAMETOOLONG, "cannot start %s: the path is too long", name);
		return 0;
	}
	for (dirs = dirs ? dirs : "/usr/local/bin:/usr/bin:/bin"; *name; dirs++) {
		size_t len = strcspn(dirs, ":");
		struct stat st;

		if ((size_t)snprintf(path, size, "%.*s%s%s", (int)len, dirs, len ? "/" : "./", name) < size &&
		    stat(path, &st) == 0 && S_ISREG(st.st_mode)) {
			if (access(path, X_OK) == 0)
				return 0;
			denied = 1;
		}
		dirs += len;
		if (!*dirs)
			break;
	}
	if (denied)
		return uft_fail(err, -EACCES, "cannot start %s: it is not executable", name);
	return uft_fail(err, -ENOENT, "cannot start '%s': no such program in PATH", name);
}

static _Noreturn void child(const struct uft_session *s, const char *path, char *const argv[], int go, int report)
{
	int error;
	char byte;

	if (read(go, &byte, 1) != 1)
		_exit(127);
	sigprocmask(SIG_SETMASK, &s->launch_mask, NULL);
	execv(path, argv);
	error = errno;
	if (write(report, &error, sizeof(error)) < 0)
		_exit(126);
	_exit(127);
}

static void pass_stop(pid_t pid, int status)
{
	int sig = WSTOPSIG(status);

	task_request(PTRACE_CONT, pid, 0, (void *)(intptr_t)(status >> 16 || sig == (SIGTRAP | 0x80) ? 0 : sig));
}

/* Seizes the child and lets it execute the program. */
static int begin_exec(pid_t pid, int go, const char *path, struct uft_error *err)
{
	if (ptrace(PTRACE_SEIZE, pid, 0, PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL) < 0)
		return uft_fail(err, -errno, "ptrace is not permitted here (%s); see kernel.yama.ptrace_scope and the "
				"container's seccomp profile", strerror(errno));
	if (write(go, "", 1) != 1)
		return uft_fail(err, -errno, "cannot start %s: %s", path, strerror(errno));
	return 0;
}

static void coming_done(struct uft_session *s)
{
	close(s->coming.report);
	s->coming.pid = 0;
}

/*
 * Waits until the child is in its exec stop. On an error the child has ended, and its number may mean another process
 * by now.
 */
static int await_exec(struct uft_session *s, struct uft_error *err)
{
	const char *path = s->coming.path;
	const struct blob *b;
	int error = 0, status, ret;

	/* meanwhile the kernel works on the exec; a later call returns the error again */
	blob_get(&b);
	for (;;) {
		if (waitpid(s->coming.pid, &status, __WALL) < 0) {
			if (errno == EINTR)
				continue;
			break;			/* ECHILD: SIGCHLD is ignored, so the child left no status */
		}
		if (!WIFSTOPPED(status))
			break;
		if (status >> 16 == PTRACE_EVENT_EXEC)
			return 0;
		pass_stop(s->coming.pid, status);
	}
	if (read(s->coming.report, &error, sizeof(error)) == (ssize_t)sizeof(error) && error > 0)
		ret = uft_fail(err, -error, "cannot start %s: %s", path, error == ENOENT ?
			       "its interpreter (#! line or loader) does not exist" : strerror(error));
	else
		ret = uft_fail(err, -ECANCELED, "%s was ended before it started", path);
	coming_done(s);
	return ret;
}

void launch_end_child(struct uft_session *s, pid_t pid)
{
	int status;

	if (s->launched == pid && s->launched_status >= 0)
		return;			/* reaped already */
	kill(pid, SIGKILL);
	while (waitpid(pid, &status, __WALL) < 0 && errno == EINTR)
		;
}

int launch_check_start(struct uft_session *s, struct target *t, struct uft_error *err)
{
	uint64_t usable = 0;
	char text[600];

	if (!s->spec || s->spec->tracer == UFT_TRACER_NOP)
		return 0;
	for (uint32_t i = 0; i < t->space->nobj; i++)
		usable += t->space->obj[i].nusable + unprepared_count(&t->space->obj[i]);
	if (usable)
		return spec_check(s->spec, &t->space, 1, err);
	/* The program runs all the same: scripts expect that, and its child programs may be traceable. */
	spec_explain_none(t->space, text, sizeof(text));
	session_warn(s, "%s", text);
	return 0;
}

void launch_adopt(struct uft_session *s, pid_t pid)
{
	struct epoll_event ev = { .events = EPOLLIN };

	s->launched = pid;
	s->launched_status = -1;
	child_status_keep(pid);
	s->launched_fd = (int)syscall(SYS_pidfd_open, pid, 0);
	ev.data.fd = s->launched_fd;
	if (s->launched_fd >= 0)
		epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, s->launched_fd, &ev);
}

/* Forks and lets the child execute. Fills s->coming for await_exec(). */
static int start_child(struct uft_session *s, char *const argv[], struct uft_error *err)
{
	const char *path = s->coming.path;
	int go[2], report[2], ret;
	pid_t pid;

	if (pipe2(go, O_CLOEXEC) < 0)
		return uft_fail(err, -errno, "cannot start %s: %s", path, strerror(errno));
	if (pipe2(report, O_CLOEXEC) < 0) {
		ret = uft_fail(err, -errno, "cannot start %s: %s", path, strerror(errno));
		goto close_go;
	}
	pid = fork();
	if (pid == 0) {
		close(go[1]);
		child(s, path, argv, go[0], report[1]);
	}
	close(report[1]);
	ret = pid < 0 ? uft_fail(err, -errno, "cannot start %s: %s", path, strerror(errno)) :
		begin_exec(pid, go[1], path, err);
	if (ret) {
		if (pid > 0)
			launch_end_child(s, pid);
		close(report[0]);
	} else {
		s->coming.pid = pid;
		s->coming.report = report[0];
		s->coming.argv = argv;
	}
close_go:
	close(go[0]);
	close(go[1]);
	return ret;
}

int launch_begin(struct uft_session *s, char *const argv[], struct uft_error *err)
{
	char *path = s->coming.path;
	int ret = launch_find_program(argv[0], path, sizeof(s->coming.path), err);

	if (!ret)
		ret = program_check(path, err);
	if (!ret)
		ret = program_check_rights(path, err);
	return ret ? ret : start_child(s, argv, err);
}

void launch_forget(struct uft_session *s)
{
	if (!s->coming.pid)
		return;
	launch_end_child(s, s->coming.pid);
	coming_done(s);
}

int launch_exec(struct uft_session *s, char *const argv[], pid_t *pid, struct uft_error *err)
{
	int ret = 0;

	if (s->coming.argv != argv)
		launch_forget(s);
	if (!s->coming.pid)
		ret = launch_begin(s, argv, err);
	if (!ret)
		ret = await_exec(s, err);
	if (ret)
		return ret;
	*pid = s->coming.pid;
	coming_done(s);
	return 0;
}
