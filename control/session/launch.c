// SPDX-License-Identifier: MIT
/*
 * launch.c - start programs and attach to processes, while the session serves their requests
 *
 * uft_session_launch() returns when the program is about to run its own code. For a dynamic program that is after its
 * loader has mapped all libraries and before the first constructor: only then can be said whether a filter
 * matches anything.
 */
#include "control/detach/guard.h"
#include "control/proc/proc.h"
#include "control/ptrace/task_stop.h"
#include "control/session/internal.h"
#include "control/start/start.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <string.h>

#define START_TIMEOUT_MS	10000
/* an emulated loader on a busy machine, and its libraries' functions are looked for */
#define HELLO_TIMEOUT_MS	60000
#define STEP_MS		5

/* Kills a program that must not run, and removes its target. */
static void abandon(struct uft_session *s, struct target *t, pid_t pid)
{
	if (t && t->remote) {
		kill(pid, SIGKILL);		/* first, so that letting it go does not let it run */
		inject_release(s, t);
	}
	launch_end_child(s, pid);
	if (t && target_by_slice(s, t->slice) == t)
		target_end(s, t);
	s->launched = 0;
}

static void tell_released(struct uft_session *s)
{
	if (!s->is_told && s->ev.released)
		s->ev.released(s->ev.arg);
	s->is_told = 1;
}

/*
 * Serves the session until the program's loader has finished, or there is none. The loader's requests come within a
 * millisecond, so this waits for the bell itself, not for the thread that turns it into a descriptor. Sources that have
 * only a descriptor wait STEP_MS. The listener `launched` does work of its own, so it is called after the loader's
 * first answer.
 */
static int run_to_start(struct uft_session *s, struct target **t)
{
	uint64_t deadline = now_ns() + START_TIMEOUT_MS * 1000000ull;
	uint32_t *bell = &s->arena.board->bell, slice = (*t)->slice;
	pid_t pid = (*t)->pid;
	int has_waited = 0;

	atomic_store(&s->is_at_bell, 1);	/* before the number is read: a ring behind that wakes us */
	for (;;) {
		uint32_t seen = __atomic_load_n(bell, __ATOMIC_SEQ_CST);

		session_step(s, 0);
		if (has_waited)
			tell_released(s);
		*t = target_by_slice(s, slice);
		if (!*t || (*t)->pid != pid || (*t)->space->started || now_ns() >= deadline)
			break;
		futex(bell, 0 /* FUTEX_WAIT */, seen, &(struct timespec){ .tv_nsec = STEP_MS * 1000000 });
		has_waited = 1;
	}
	atomic_store(&s->is_at_bell, 0);
	return *t && (*t)->pid == pid ? 0 : -ESRCH;
}

static int start_failed(const struct uft_session *s, const char *path, int error, struct uft_error *err)
{
	uint32_t page_bytes = 0;

	for (uint32_t f = 0; f < s->arena.nfamilies && !page_bytes; f++)
		page_bytes = s->arena.mail[f] ? SHARED_LOAD(&s->arena.mail[f]->page_bytes) : 0;
	if (page_bytes)
		return uft_fail(err, error,
				"%s: the kernel's memory pages are of %u bytes here, and uft needs pages of %u: boot a kernel "
				"that has them, as Debian's for arm64", path, page_bytes, UFT_PAGE);
	return uft_fail(err, error, "the runtime did not come up in %s: %s", path, strerror(-error));
}

/* Frees the spare family that a runtime has taken which could not start. */
static int32_t start_error(const struct uft_session *s)
{
	int32_t error = 0;

	for (uint32_t f = 0; f < s->arena.nfamilies && !error; f++)
		error = s->arena.mail[f] ? SHARED_LOAD_ACQUIRE(&s->arena.mail[f]->start_error) : 0;
	return error;
}

/*
 * Serves until the runtime has sent its hello and everything is armed, or it reports that it cannot start, or the
 * program has ended.
 */
static int await_hello(struct uft_session *s, pid_t pid, const char *path, struct uft_error *err)
{
	uint64_t deadline = now_ns() + HELLO_TIMEOUT_MS * 1000000ull;
	int32_t error;

	do {
		session_step(s, 100);
		error = start_error(s);
	} while (!s->has_hello && !s->held_result && !error && s->launched_status < 0 && now_ns() < deadline);
	if (s->held_result) {
		*err = s->held_error;
		return s->held_result;
	}
	if (s->has_hello)
		return 0;
	if (s->launched_status < 0)
		kill(pid, SIGKILL);
	if (error < 0 && error >= -4095)
		return start_failed(s, path, error, err);
	return uft_fail(err, -ENOEXEC,
			"the runtime did not come up in %s: it must be linked dynamically, not gain rights at its "
			"start%s", path, s->opts.emulator ? ", and the emulator must know -E (qemu-user does)" : "");
}

static int preload_launch(struct uft_session *s, char *const argv[], pid_t *out, struct uft_error *err)
{
	char path[PATH_MAX];
	pid_t pid = 0;
	int ret = preload_begin(s, argv, path, &pid, err);

	if (ret)
		return ret;
	ret = await_hello(s, pid, path, err);
	if (ret) {
		launch_end_child(s, pid);
		s->launched = 0;
		return ret;
	}
	if (out)
		*out = pid;
	return 0;
}

/* The attached process is not to be traced, and runs on. */
static int let_run(struct uft_session *s, pid_t pid)
{
	struct uft_error why;

	exec_guests_fail(s->coming.path, &why);
	session_warn(s, "%s", why.text);
	s->not_followed++;
	task_detach(pid, 0);
	tell_released(s);
	return 0;
}

int uft_session_launch(struct uft_session *s, char *const argv[], pid_t *out, struct uft_error *err)
{
	struct uft_error why = { "" };
	struct target *t = NULL;
	struct auxv av;
	uint8_t raw[UFT_AUXV_MAX];
	size_t bytes;
	pid_t pid = 0;
	int ret;

	if (s->launched)
		return uft_fail(err, -EBUSY, "the session has started a program already");
	if (s->opts.preload || s->opts.emulator) {
		guard_await(s);
		return preload_launch(s, argv, out, err);
	}
	ret = launch_exec(s, argv, &pid, err);
	if (ret)
		return ret;
	guard_await(s);
	launch_adopt(s, pid);
	if (auxv_read(pid, raw, &bytes, &av))
		memset(&av, 0, sizeof(av));		/* it was killed meanwhile */
	if (exec_runs_guests(pid, &av)) {
		if (out)
			*out = pid;
		return let_run(s, pid);
	}
	if (av.secure)
		ret = uft_fail(&why, -EPERM, "%s gains rights when it is started: such programs are not traced",
			       s->coming.path);
	if (!ret)
		ret = inject_exec(s, pid, getpid(), NULL, &t, &why);
	if (!ret && t->space->started)
		ret = launch_check_start(s, t, &why);
	if (ret) {
		abandon(s, t, pid);
		return uft_fail(err, ret, "%s", why.text);
	}
	if (t->space->started) {
		ret = inject_release(s, t);
		tell_released(s);
	} else {
		s->held = t->slice;
		ret = inject_release(s, t);
		if (!ret)
			ret = run_to_start(s, &t);
		/* Its refusal ends the program, whose end may have been seen already. */
		if (s->held_result)
			ret = s->held_result;
		s->held = UFT_NO_SLICE;
		if (ret && ret != -ESRCH) {
			why = s->held_error;
			abandon(s, t, pid);
			return uft_fail(err, ret, "%s", why.text);
		}
	}
	if (out)
		*out = pid;
	return 0;
}

int uft_session_attach(struct uft_session *s, pid_t pid, struct uft_error *err)
{
	int ret;

	if (!s->arena.is_linked)
		return uft_fail(err, -ENOENT, "the session is over");
	guard_await(s);
	ret = attach_process(s, pid, err);
	if (ret == -EBUSY)
		session_detach(s, pid);		/* it is a target if another session took it meanwhile */
	return ret;
}
