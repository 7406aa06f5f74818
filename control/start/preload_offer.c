// SPDX-License-Identifier: MIT
/*
 * preload_offer.c - load the runtime by the loader into programs that have another tracer
 *
 * A task that executes a program asks the session to seize it. If the task has another tracer (trace-cmd record
 * --proc-map, gdb, strace), ptrace refuses. Then the session checks the program. If its loader can load the runtime,
 * the task adds LD_PRELOAD and UFT_ARENA to the environment (runtime/trace/hooks/exec_preload.c). Both texts are on the
 * board and the same for all programs. The new runtime removes both and says hello (preload.c).
 *
 * An offer permits one hello of this process. It gives no other right: each target can open the board and a spare, and
 * a hello makes the process a target with memory of its own. An offer belongs to the process, not to its number. A
 * process need not execute after it has asked, so when all offers are in use, one without a hello for OFFER_NS is
 * replaced.
 *
 * Only glibc's loader gets an offer: musl's gives an initialization function no environment. AddressSanitizer as a
 * library refuses to start behind a preloaded one.
 */
#include "control/proc/proc.h"
#include "control/start/start.h"
#include "symbol/host.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOFFERS		(sizeof(((struct uft_session *)0)->offered) / sizeof(struct offer))
#define OFFER_NS	10000000000ull	/* an exec follows at once, and its loader soon */

/* Returns 1 if task @tid sees our file @path by the same name. */
static int sees(pid_t tid, const char *path)
{
	char its[PATH_MAX + 64];
	struct stat a, b;

	snprintf(its, sizeof(its), "/proc/%d/root%s", tid, path);
	return stat(path, &a) == 0 && stat(its, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static int check_program(const char *path, struct uft_error *err)
{
	struct uft_object *obj;
	const char *loader;
	int ret = uft_object_open(path, &obj, err);

	if (ret)
		return ret;
	loader = uft_object_interp(obj);
	if (obj->machine != HOST_MACHINE)
		ret = uft_fail(err, -EPFNOSUPPORT, "it is for another architecture");
	else if (!loader)
		ret = uft_fail(err, -EPFNOSUPPORT, "it is linked statically");
	else if (!strstr(loader, "/ld-linux"))
		ret = uft_fail(err, -EPFNOSUPPORT, "its loader %s is not glibc's", loader);
	else if (uft_object_imports(obj, "__asan_init"))
		ret = uft_fail(err, -EPFNOSUPPORT, "its AddressSanitizer must be the first library");
	uft_object_put(obj);
	return ret;
}

/* The agent opens the session's files by their paths, and the session knows the process by its number. */
static int check_process(const struct uft_session *s, pid_t tid, pid_t tgid, const char *library, struct uft_error *err)
{
	char board[PATH_MAX];

	snprintf(board, sizeof(board), "%s%s", s->arena.path, UFT_BOARD_SUFFIX);
	if (!sees(tid, library) || !sees(tid, board))
		return uft_fail(err, -EXDEV, "it does not see uft's files");
	if (proc_namespace_pid(tgid) != tgid)
		return uft_fail(err, -EXDEV, "it is in another pid namespace");
	if (!proc_is_of_our_user(tgid))
		return uft_fail(err, -EPERM, "it runs as another user");
	return 0;
}

static int is_of(const struct offer *o, pid_t pid)
{
	return o->pid == pid && o->start == proc_start_ticks(pid) /* GUARD(offer_start) */;
}

static int is_over(const struct offer *o)
{
	return !o->pid || proc_is_ending(o->pid) || o->start != proc_start_ticks(o->pid);
}

static int note(struct uft_session *s, pid_t tgid, uint64_t now)
{
	struct offer *to = NULL, *oldest = &s->offered[0];

	for (struct offer *o = s->offered; o < s->offered + NOFFERS; o++) {
		if (is_of(o, tgid)) {
			o->at = now;
			return 0;
		}
		if (!to && is_over(o))
			to = o;
		if (o->at < oldest->at)
			oldest = o;
	}
	if (!to && now - oldest->at > OFFER_NS) /* GUARD(offers_expire) */
		to = oldest;
	if (!to)
		return -EAGAIN;
	*to = (struct offer){ .pid = tgid, .start = proc_start_ticks(tgid), .at = now };
	return 0;
}

int preload_offer(struct uft_session *s, pid_t tid, pid_t tgid, const char *path, struct uft_error *err)
{
	char image[PATH_MAX], library[PATH_MAX + 64];
	int ret = check_program(script_interpreter(path, image, sizeof(image)) ? image : path, err);

	if (!ret)
		ret = preload_find_library(preload_machine(HOST_MACHINE), library, sizeof(library), err);
	if (!ret)
		ret = preload_check_places(s, library, err);
	if (!ret)
		ret = check_process(s, tid, tgid, library, err);
	if (ret)
		return ret;
	ret = preload_put_texts(s, library, '?', err);
	if (!ret && note(s, tgid, now_ns()))
		ret = uft_fail(err, -EAGAIN, "%zu programs are starting so", NOFFERS);
	return ret;
}

int preload_is_offered(const struct uft_session *s, pid_t pid)
{
	for (unsigned i = 0; pid > 0 && i < NOFFERS; i++)
		if (is_of(&s->offered[i], pid))
			return 1;
	return 0;
}

void preload_withdraw(struct uft_session *s, pid_t pid)
{
	for (unsigned i = 0; i < NOFFERS; i++)
		if (s->offered[i].pid == pid)
			s->offered[i].pid = 0;
}
