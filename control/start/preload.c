/* SPDX-License-Identifier: MIT */
/*
 * preload.c - programs into which the loader puts the runtime (LD_PRELOAD), without ptrace
 *
 * For programs under an emulator without ptrace, and for systems that forbid ptrace. The session starts the program
 * with libuft.so in LD_PRELOAD and the session's files in UFT_ARENA. Before any code of the program runs, the runtime
 * says hello and waits (runtime/agent/preload.c). From then on such a target is like any other, except:
 *   - its agent is a thread of the process: tasks are not stopped, and there is no watchdog. When the session ends, the
 *     code is restored, but the library stays mapped;
 *   - fork children are followed. An executed program is followed if it has the same variables in its environment.
 *     Where execve() is hooked (x86-64) the runtime takes them out when it has started, and adds them at each exec that
 *     the session permits (runtime/trace/hooks/exec_preload.c). So a program that is executed behind a seccomp filter
 *     which would kill it for the start of the runtime has none of them. Elsewhere they stay. Under an emulator the
 *     variable is QEMU_SET_ENV, which passes to the next emulator what -E passed to the first: programs of this machine
 *     do not use it.
 *
 * Under an emulator, /proc describes the emulator. So the runtime sends the auxiliary vector, the program is the file
 * that is mapped where the vector points, and the clock is the emulated one. Memory is read at the program's own
 * addresses: emulators of 64 bits on 64 bits do not move memory, which is_same_memory() checks.
 */
#include "control/arm/arm.h"
#include "control/start/start.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- Starting -------------------------------------------------------------------------------- */

const char *preload_machine(uint16_t machine)
{
	/* uft_object_open() refuses other machines */
	return machine == EM_AARCH64 ? "aarch64" : machine == EM_RISCV ? "riscv64" : "x86_64";
}

static const char *machine_name(const char *path, struct uft_error *err)
{
	struct uft_object *obj;
	const char *name = NULL;

	if (uft_object_open(path, &obj, err))
		return NULL;
	if (obj->is_static)
		uft_fail(err, -EPFNOSUPPORT, "%s is linked statically: no loader puts the runtime into it", path);
	else
		name = preload_machine(obj->machine);
	uft_object_put(obj);
	return name;
}

/* The library is beside the command in the build tree, or where it is installed. */
int preload_find_library(const char *machine, char *path, size_t size, struct uft_error *err)
{
	static const char *const places[] = { "runtime", "../lib/uft", UFT_LIBDIR, NULL };
	char exe[PATH_MAX - 64];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	exe[n > 0 ? n : 0] = '\0';
	if (strrchr(exe, '/'))
		*strrchr(exe, '/') = '\0';
	for (int i = 0; places[i]; i++) {
		if (places[i][0] == '/')
			snprintf(path, size, "%s/libuft-%s.so", places[i], machine);
		else
			snprintf(path, size, "%s/%s/libuft-%s.so", exe, places[i], machine);
		if (access(path, R_OK) == 0)
			return 0;
	}
	return uft_fail(err, -ENOENT,
			"there is no libuft-%s.so: uft was built without a compiler for that architecture", machine);
}

/* Blanks and colons separate libraries in LD_PRELOAD, and commas separate qemu's variables: no path may have them. */
int preload_check_places(const struct uft_session *s, const char *library, struct uft_error *err)
{
	const char *separators = s->opts.emulator ? " :," : " :";

	if (strpbrk(library, separators))
		return uft_fail(err, -EINVAL,
				"%s: LD_PRELOAD takes no path with a %s: install uft in another folder",
				library, s->opts.emulator ? "blank, a colon or a comma" : "blank or a colon");
	if (s->opts.emulator && strchr(s->arena.path, ','))
		return uft_fail(err, -EINVAL,
				"%s: an emulator takes no path with a comma (-E): set XDG_RUNTIME_DIR to another folder",
				s->arena.path);
	return 0;
}

int preload_put_texts(struct uft_session *s, const char *library, char how, struct uft_error *err)
{
	static const char variable[] = "LD_PRELOAD=";
	struct uft_arena *board = s->arena.board;

	if (strlen(library) + sizeof(variable) > sizeof(board->preload))
		return uft_fail(err, -ENAMETOOLONG, "%s: the path is too long", library);
	if (board->start[0])
		return 0;		/* a task may be reading the texts, so they never change */
	memcpy(board->preload, variable, sizeof(variable) - 1);
	memcpy(board->preload + sizeof(variable) - 1, library, strlen(library) + 1);
	snprintf(board->start, sizeof(board->start), "UFT_ARENA=%zx%c%s", s->arena.target_bytes, how, s->arena.path);
	return 0;
}

/* The variables in the program's environment. */
struct start_env {
	char preload[PATH_MAX + 4096], arena[PATH_MAX + 64];
	char inherited[3 * PATH_MAX + 4096];	/* for emulators that the program executes; empty: not followed */
};

static void make_env(const struct uft_session *s, const char *library, struct start_env *e)
{
	const char *old = s->opts.emulator ? NULL : getenv("LD_PRELOAD");

	snprintf(e->preload, sizeof(e->preload), "LD_PRELOAD=%s%s%s", library, old && old[0] ? ":" : "",
		 old ? old : "");
	snprintf(e->arena, sizeof(e->arena), "UFT_ARENA=%zx%c%s", s->arena.target_bytes,
		 s->opts.emulator ? '!' : uft_session_can_attach() ? ';' : ':', s->arena.path);
	e->inherited[0] = '\0';
	old = getenv("QEMU_SET_ENV");
	if (s->opts.emulator && session_follows_children(s))
		snprintf(e->inherited, sizeof(e->inherited), "QEMU_SET_ENV=%s%s%s,%s", old ? old : "", old &&
			 old[0] ? "," : "", e->preload, e->arena);
}

/* Returns `emulator -E ... -E ... program arguments`; its words belong to the parameters. NULL: no memory. */
static char **emulator_argv(const struct uft_session *s, char *path, char *const argv[], struct start_env *e)
{
	size_t n = 0, m = 0;
	char **all;

	while (argv[n])
		n++;
	while (s->opts.emulator[m])
		m++;
	all = calloc(m + n + 6, sizeof(*all));
	if (!all)
		return NULL;
	for (size_t i = 0; i < m; i++)
		all[i] = (char *)s->opts.emulator[i];
	all[m++] = "-E";
	all[m++] = e->preload;
	all[m++] = "-E";
	all[m++] = e->arena;
	all[m++] = path;
	for (size_t i = 1; i < n; i++)
		all[m++] = argv[i];
	return all;
}

/* Returns the environment with both variables behind all others (runtime/agent/preload.c); NULL: no memory. */
static char **append_env(struct start_env *e)
{
	size_t n = 0;
	char **all;

	while (environ[n])
		n++;
	all = calloc(n + 3, sizeof(*all));
	if (!all)
		return NULL;
	memcpy(all, environ, n * sizeof(*all));
	all[n] = e->preload;
	all[n + 1] = e->arena;
	return all;
}

static _Noreturn void child(const struct uft_session *s, const char *path, char *const argv[], struct start_env *e,
			    int report)
{
	int error;

	sigprocmask(SIG_SETMASK, &s->launch_mask, NULL);
	if (!s->opts.emulator) {
		unsetenv("UFT_ARENA");		/* of another session */
		if (!uft_session_can_attach())	/* no runtime takes ours back; it has these words as well */
			unsetenv("LD_PRELOAD");
		environ = append_env(e);
	}
	if (e->inherited[0])
		putenv(e->inherited);
	if (environ)
		execvp(path, argv);
	error = environ ? errno : ENOMEM;
	if (write(report, &error, sizeof(error)) < 0)
		_exit(126);
	_exit(127);
}

static int start_child(struct uft_session *s, const char *path, char *const argv[], struct start_env *e, pid_t *pid,
		       struct uft_error *err)
{
	int report[2], error = 0;

	if (pipe2(report, O_CLOEXEC) < 0)
		return uft_fail(err, -errno, "cannot start %s: %s", path, strerror(errno));
	*pid = fork();
	if (*pid == 0)
		child(s, path, argv, e, report[1]);
	close(report[1]);
	if (*pid < 0)
		error = errno;
	else if (read(report[0], &error, sizeof(error)) != (ssize_t)sizeof(error))
		error = 0;
	close(report[0]);
	if (!error)
		return 0;
	if (*pid > 0)
		waitpid(*pid, NULL, 0);
	return uft_fail(err, -error, "cannot start %s: %s", path, strerror(error));
}

/*
 * Finds the program that will start (@image: @path, or a script's interpreter), and checks it: the session would wait
 * in vain for the hello of an unsuitable one. 0, or -errno and the reason in @err.
 */
static int check_image(const char *path, char image[PATH_MAX], struct uft_error *err)
{
	int ret = program_check(path, err);

	if (!ret && script_interpreter(path, image, PATH_MAX))
		ret = program_check(image, err);
	else
		memcpy(image, path, strlen(path) + 1);
	return ret ? ret : program_check_rights(image, err);
}

int preload_begin(struct uft_session *s, char *const argv[], char path[PATH_MAX], pid_t *pid, struct uft_error *err)
{
	char image[PATH_MAX], library[PATH_MAX + 64];
	struct start_env *env = calloc(1, sizeof(*env));
	char **words = NULL;
	const char *machine;
	int ret = env ? launch_find_program(argv[0], path, PATH_MAX, err) : -ENOMEM;

	if (!ret && !s->opts.emulator)
		ret = check_image(path, image, err);
	if (!ret) {
		machine = machine_name(s->opts.emulator ? path : image, err);
		ret = machine ? preload_find_library(machine, library, sizeof(library), err) : -EPFNOSUPPORT;
	}
	if (!ret)
		ret = preload_check_places(s, library, err);
	if (!ret && !s->opts.emulator && uft_session_can_attach())
		ret = preload_put_texts(s, library, ';', err);
	if (!ret) {
		make_env(s, library, env);
		if (s->opts.emulator)
			words = emulator_argv(s, path, argv, env);
		ret = s->opts.emulator && !words ? -ENOMEM : 0;
	}
	if (!ret)
		ret = start_child(s, words ? words[0] : path, words ? words : argv, env, pid, err);
	free(words);
	free(env);
	if (!ret)
		launch_adopt(s, *pid);
	return ret;
}

/* ---- Hello ----------------------------------------------------------------------------------- */

/* Returns 1 if the session reads the program's memory at @at: then it finds a boot block of this session there. */
static int is_same_memory(const struct uft_session *s, pid_t pid, uint64_t at)
{
	struct uft_boot boot;

	return !proc_read_memory(pid, at, &boot, sizeof(boot)) && boot.version == UFT_ABI_VERSION &&
	       boot.arena_bytes == s->arena.target_bytes;
}

/* Notes the emulated clock of the first hello: its value, its rate, and the host's time. */
static void take_clock(struct uft_session *s, const struct uft_request *r)
{
	if (!s->opts.emulator || s->guest_hz || !r->arg[2])
		return;
	s->guest_clock0 = r->arg[0];
	s->guest_ns0 = r->arg[1];
	__atomic_store_n(&s->guest_hz, r->arg[2], __ATOMIC_RELEASE);
	if (s->spec)
		session_set_times(s, s->spec);
}

/* The agent is a thread, which has no pidfd: uses that of its process. */
void preload_take_agent(struct uft_session *s, struct target *t)
{
	int fd = (int)syscall(SYS_pidfd_open, t->pid, 0);

	if (fd >= 0)
		target_take_agent(s, t, fd);
	t->has_thread_agent = 1;
}

void preload_leave(struct uft_session *s, struct target *t)
{
	int left = command_run(s, t, UFT_CMD_LEAVE);

	if (left > 0)
		session_warn_left(s, t->slice,
				  "process %d: %d place%s of its code could not be changed back beside its running threads",
				  t->pid, left,
				  left == 1 ? "" : "s");
	if (left >= 0)
		command_run(s, t, UFT_CMD_UNHOOK);
	command_run(s, t, UFT_CMD_AGENT_EXIT);
	t->has_agent = 0;
}

static struct target *make_target(struct uft_session *s, const struct uft_request *r, struct uft_error *err)
{
	struct uft_hello hello;
	pid_t pid = (pid_t)r->pid;
	long parent = proc_status_number(pid, "PPid", 10);
	struct space *sp;
	struct target *t;

	shared_read(&hello, channel_payload(arena_cmd(&s->arena, r->slice)), sizeof(hello));
	if (hello.nauxv > UFT_HELLO_AUXV)
		hello.nauxv = UFT_HELLO_AUXV;
	if (space_create(s, pid, s->opts.emulator ? &hello : NULL, NULL, &sp, err))
		return NULL;
	sp->boot = r->arg[3];
	sp->is_preloaded = 1;
	t = target_create(s, r->slice, pid, parent > 0 ? (pid_t)parent : 0, sp);
	if (!t) {
		uft_fail(err, -ENOMEM, "no memory for %s", sp->img->exe);
		space_drop(s, sp);
		return NULL;
	}
	session_set_slice(s, r->slice);
	if (s->opts.preload || s->opts.emulator)
		preload_take_agent(s, t);
	else				/* preload_offer.c */
		target_open_agent(s, t);
	return t;
}

/*
 * Refuses the graph tracers if an unwinder could not be hooked: they put return addresses of ours into frames, no
 * exception would pass these, and the program would end by terminate(). (For libraries of dlopen(), arm_object.c warns
 * of that.)
 */
static int check_graph(struct uft_session *s, const struct target *t, struct uft_error *err)
{
	const struct uft_image *img = t->space->img;
	uint32_t tracer = s->spec ? s->spec->tracer : UFT_TRACER_NOP;

	if (hooks_are_known(img->obj[0].obj) || (tracer != UFT_TRACER_GRAPH && tracer != UFT_TRACER_PROFILE))
		return 0;
	for (uint32_t i = 0; i < img->nobj; i++)
		if (t->space->obj[i].unwind_error)
			return uft_fail(err, -EOPNOTSUPP,
					"%s uses %s, which begins to unwind by code that cannot be hooked (%s): exceptions "
					"would not pass through traced frames; the tracer function can be used (-p function)",
						img->exe,
					img->obj[i].obj->path, strerror(-t->space->obj[i].unwind_error));
	return 0;
}

/* Arms a program that waits in its hello: no thread has run in any object but the loader (object 1). */
static int arm_start(struct uft_session *s, struct target *t, struct uft_error *err)
{
	int ret = 0;

	for (uint32_t i = 0; i < t->nobj; i++)
		t->obj[i].is_mapped = 1;
	t->is_held_back = 1;
	ret = space_walk(s, t, 0);
	t->is_held_back = 0;
	if (ret < 0)
		return ret;
	for (uint32_t i = 0; i < t->nobj; i++)
		t->obj[i].is_fresh = i != 1;
	ret = s->spec ? target_arm(s, t, 0) : 0;
	if (s->spec)
		t->space->spec_sent = s->spec->generation;
	for (uint32_t i = 0; i < t->nobj; i++)
		t->obj[i].is_fresh = 0;
	rseq_area_send(s, t);
	return ret ? ret : check_graph(s, t, err);
}

/*
 * A process is one target. If a target's process says hello again, it has executed another program, which has not
 * mapped the old family: then the old target ends. Otherwise the hello is refused (-EEXIST).
 */
static int end_replaced(struct uft_session *s, pid_t pid)
{
	struct target *old = target_by_pid(s, pid);

	if (!old || !target_is_running(old))
		return 0;
	if (arena_slice_is_mapped_by(&s->arena, old->slice, pid))
		return -EEXIST; /* GUARD(preload_twice) */
	if (old->has_thread_agent) {		/* it ended with the old image */
		if (old->agent_fd >= 0)
			close(old->agent_fd);
		old->agent_fd = -1;
		old->has_agent = 0;
	}
	target_end(s, old);
	return 0;
}

int preload_hello(struct uft_session *s, uint32_t index, const struct uft_request *r)
{
	struct uft_error err = { "" };
	struct target *t;
	int ret;

	if (r->slice >= s->arena.map->nslices || target_by_slice(s, r->slice) ||
	    !arena_slice_is_mapped_by(&s->arena, r->slice, (pid_t)r->pid))
		return -ESRCH;
	preload_withdraw(s, (pid_t)r->pid);	/* after the checks: any target can put this number into a request */
	ret = end_replaced(s, (pid_t)r->pid);
	if (ret)
		return ret;
	if (!is_same_memory(s, (pid_t)r->pid, r->arg[3])) {
		session_warn(s, "process %d: its emulator moves memory about: it is not traced", (int)r->pid);
		return -EOPNOTSUPP;
	}
	take_clock(s, r);
	t = make_target(s, r, &err);
	if (!t) {
		session_warn(s, "%s", err.text);
		return -ENOMEM;
	}
	target_announce(s, t);
	t->waiting = index + 1;
	ret = arm_start(s, t, &err);
	t->waiting = 0;
	if (ret && !err.text[0])
		uft_fail(&err, ret, "%s could not be armed: %s", t->space->img->exe, strerror(-ret));
	if (t->pid != s->launched || s->has_hello) {
		if (ret)
			session_warn(s, "%s", err.text);
		return ret;
	}
	s->held_error = err;
	if (!ret)
		ret = launch_check_start(s, t, &s->held_error);
	s->held_result = ret;
	s->has_hello = !ret;
	return ret ? -ECANCELED : 0;
}
