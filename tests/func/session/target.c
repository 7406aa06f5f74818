// SPDX-License-Identifier: MIT
/*
 * target.c - what the session tests trace: each mode calls work_a() and work_b() a known number of times in a known
 * arrangement of processes, and looks from inside at what must be as untraced. Exit status 42: all well.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define GOOD	42
#define PLAIN	__attribute__((noinline, noclone, patchable_function_entry(0)))

extern char **environ;
static volatile unsigned long sink;

__attribute__((noinline, noclone)) void work_a(void) { sink++; }
__attribute__((noinline, noclone)) void work_b(void) { sink += 2; }
__attribute__((noinline, noclone)) void work_outer(void) { work_a(); work_b(); sink++; }

static PLAIN void calls(long n)
{
	for (long i = 0; i < n; i++) {
		work_a();
		work_b();
		work_b();
	}
}

static PLAIN void die(const char *what)
{
	fprintf(stderr, "target: %s: %s\n", what, strerror(errno));
	exit(1);
}

static PLAIN int status_of(pid_t pid)
{
	int status = 0;

	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		die("waitpid");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static PLAIN void sleep_ms(long ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	while (nanosleep(&t, &t) < 0 && errno == EINTR)
		;
}

/* ---- Processes ---- */

static PLAIN int mode_fork(const char *self)
{
	pid_t pid;

	(void)self;
	calls(100);
	pid = fork();
	if (!pid) {
		calls(50);
		_exit(GOOD);
	}
	calls(10);
	return status_of(pid);
}

/* Children that end as soon as they have called, one after another. */
static PLAIN int mode_short(void)
{
	for (int i = 0; i < 200; i++) {
		pid_t pid = fork();

		if (!pid) {
			calls(1);
			_exit(GOOD);
		}
		if (status_of(pid) != GOOD)
			return 1;
	}
	return GOOD;
}

/* Forks all the time, until standard input ends. The children call nothing. */
static PLAIN int mode_forks(void)
{
	struct pollfd in = { .fd = 0, .events = POLLIN };

	signal(SIGCHLD, SIG_IGN);
	while (!poll(&in, 1, 0)) {
		pid_t pid = fork();

		if (!pid)
			_exit(GOOD);
	}
	return GOOD;
}

static PLAIN int mode_tree(int depth)
{
	pid_t a = -1, b = -1;

	calls(10);
	if (depth > 0) {
		a = fork();
		if (!a)
			_exit(mode_tree(depth - 1));
		b = fork();
		if (!b)
			_exit(mode_tree(depth - 1));
		if (status_of(a) != GOOD || status_of(b) != GOOD)
			return 1;
	}
	return GOOD;
}

static PLAIN int mode_vfork(const char *self)
{
	char *argv[] = { (char *)self, "calls", "30", NULL };
	pid_t pid;

	calls(5);
	pid = vfork();
	if (!pid) {
		execv(self, argv);
		_exit(1);
	}
	calls(5);
	return status_of(pid);
}

static PLAIN int mode_spawn(const char *self)
{
	char *argv[] = { (char *)self, "calls", "30", NULL };
	pid_t pid;

	calls(5);
	if (posix_spawn(&pid, self, NULL, NULL, argv, environ))
		die("posix_spawn");
	calls(5);
	return status_of(pid);
}

static PLAIN int mode_system(const char *self)
{
	char cmd[4096];
	FILE *f;
	int status;

	snprintf(cmd, sizeof(cmd), "%s calls 20; %s calls 10; exit 42", self, self);
	calls(5);
	status = system(cmd);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != GOOD)
		return 1;
	snprintf(cmd, sizeof(cmd), "%s calls 7 >/dev/null; echo said", self);
	f = popen(cmd, "r");
	if (!f || !fgets(cmd, sizeof(cmd), f) || strcmp(cmd, "said\n") || pclose(f))
		return 2;
	calls(5);
	return GOOD;
}

static PLAIN int mode_exec(const char *self)
{
	char *argv[] = { (char *)self, "calls", "30", NULL };

	calls(5);
	execv(self, argv);
	return 1;
}

/* It is left while it waits for a child, which execs when its input ends. */
static PLAIN int mode_left(const char *self)
{
	char byte;
	pid_t pid;

	calls(5);
	pid = fork();
	if (!pid) {
		calls(5);
		_exit(read(0, &byte, 1) ? 1 : mode_exec(self));
	}
	return status_of(pid);
}

static PLAIN void *exec_thread(void *self)
{
	mode_exec(self);
	return NULL;
}

/* Exec by a thread that is not the leader. */
static PLAIN int mode_exec_thread(const char *self)
{
	pthread_t t;

	pthread_create(&t, NULL, exec_thread, (void *)self);
	pthread_join(t, NULL);
	return 1;
}

static PLAIN int tracer_pid(void)
{
	char line[256];
	int pid = -1;
	FILE *f = fopen("/proc/self/status", "r");

	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "TracerPid: %d", &pid);
	if (f)
		fclose(f);
	return pid;
}

static PLAIN int mode_exec_failed(const char *self)
{
	char *argv[] = { (char *)self, NULL };

	/* The program is seized for an exec that fails. */
	for (int i = 0; i < 20; i++) {
		calls(1);
		if (execv(i & 1 ? "/nonexistent/program" : "/dev/null", argv) != -1 ||
		    errno != (i & 1 ? ENOENT : EACCES))
			return 1;
		calls(1);
	}
	for (int i = 0; tracer_pid() && i < 200; i++)
		sleep_ms(10);
	return tracer_pid() ? 2 : GOOD;
}

static PLAIN int mode_outlive(void)
{
	calls(5);
	if (!fork()) {
		sleep_ms(300);
		calls(10);
		_exit(0);
	}
	return GOOD;
}

static PLAIN int mode_daemon(void)
{
	calls(5);
	if (daemon(0, 0))
		return 1;
	sleep_ms(100);
	calls(10);
	return GOOD;
}

/* ---- Libraries ---- */

#ifdef WITH_LIBRARY
void lib_work(void);
void lib_constructor_work(void);
#endif

static PLAIN int mode_linked(void)
{
#ifdef WITH_LIBRARY
	for (int i = 0; i < 100; i++)
		lib_work();
#endif
	calls(5);
	return GOOD;
}

/* Loads, calls and unloads @path 20 times, in a child as well. */
static PLAIN int mode_plugin(const char *path)
{
	pid_t pid = -1;

	for (int i = 0; i < 20; i++) {
		void *lib = dlopen(path, RTLD_NOW);
		void (*work)(void) = lib ? (void (*)(void))dlsym(lib, "lib_work") : NULL;

		if (!work) {
			fprintf(stderr, "target: %s\n", dlerror());
			return 1;
		}
		work();
		if (i == 9) {
			pid = fork();
			if (!pid) {
				work();
				dlclose(lib);
				lib = dlopen(path, RTLD_NOW);
				work = (void (*)(void))dlsym(lib, "lib_work");
				work();
				_exit(GOOD);
			}
		}
		dlclose(lib);
	}
	return status_of(pid);
}

/* ---- As untraced ---- */

static PLAIN int mode_waitany(void)
{
	calls(5);
	errno = 0;
	if (waitpid(-1, NULL, 0) != -1 || errno != ECHILD)
		return 1;
	if (waitpid(-1, NULL, WNOHANG) != -1 || errno != ECHILD)
		return 2;
	calls(5);
	return GOOD;
}

static PLAIN int mode_unshare(void)
{
	calls(5);
	if (unshare(CLONE_NEWUSER))
		return errno == EPERM || errno == ENOSPC ? 77 : 1;
	calls(5);
	return GOOD;
}

static PLAIN int mode_setuid(void)
{
	calls(5);
	if (getuid())
		return 77;
	if (setgid(65534) || setuid(65534))
		return 1;
	sleep_ms(400);		/* the test looks at the agent meanwhile */
	calls(5);
	return GOOD;
}

static PLAIN void *idle_thread(void *arg)
{
	sleep_ms(100);
	return arg;
}

static PLAIN int mode_tsync(void)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		/* What the runtime's slow path needs, as any libc does; nothing of what the agent does. */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_futex, 5, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigprocmask, 4, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_gettid, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { sizeof(f) / sizeof(f[0]), f };
	pthread_t t;

	calls(5);
	pthread_create(&t, NULL, idle_thread, NULL);
	pthread_join(t, NULL);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &prog))
		return 1;
	calls(5);
	_exit(GOOD);
}

static PLAIN int mode_closerange(void)
{
	int fd = dup(0);

	if (fd != 3)
		return 1;	/* descriptor numbers are the program's own */
	calls(5);
	if (syscall(SYS_close_range, 3, ~0u, 0))
		return 2;
	calls(5);
	return GOOD;
}

static PLAIN void *exit_thread(void *arg)
{
	(void)arg;
	sleep_ms(50);
	calls(5);
	syscall(SYS_exit, GOOD);
	return NULL;
}

/* The leader leaves first; the last thread's exit ends the process, with the leader's status. */
static PLAIN int mode_sysexit(void)
{
	pthread_t t;

	calls(5);
	pthread_create(&t, NULL, exit_thread, NULL);
	syscall(SYS_exit, GOOD);
	return 1;
}

/* Everybody in the process group is told to go: only we are there. */
static PLAIN int mode_group(void)
{
	pid_t pid = fork();

	if (!pid) {
		setpgid(0, 0);
		calls(5);
		kill(0, SIGTERM);
		_exit(1);
	}
	if (status_of(pid) != 128 + SIGTERM)
		return 1;
	/* The process group is empty. */
	return kill(-pid, 0) == -1 && errno == ESRCH ? GOOD : 2;
}

/* ---- While it runs ---- */

/* What the file has at work_a against what stands there now. */
static PLAIN int is_original(void)
{
	unsigned char file[16], *now = (unsigned char *)work_a;
	Dl_info info;
	struct link_map *map = NULL;
	int fd = open("/proc/self/exe", O_RDONLY), same = 0;

	if (dladdr1((void *)work_a, &info, (void **)&map, RTLD_DL_LINKMAP) && fd >= 0) {
		unsigned long vaddr = (unsigned long)now - (unsigned long)info.dli_fbase;

		/* text is linked with file offset = address (checked by the test's build flags) */
		same = pread(fd, file, sizeof(file), (off_t)vaddr) == sizeof(file) && !memcmp(file, now, sizeof(file));
	}
	if (fd >= 0)
		close(fd);
	return same;
}

/* Runs until its standard input ends; then says how its code looks and how often it called. */
static PLAIN int mode_loop(void)
{
	unsigned long n = 0;
	char byte;

	fcntl(0, F_SETFL, O_NONBLOCK);
	for (;;) {
		ssize_t got;

		for (int i = 0; i < 200; i++, n++)
			work_outer();
		got = read(0, &byte, 1);
		if (got == 0 || (got < 0 && errno != EAGAIN))
			break;
		if (got == 1) {
			printf("%s\n", is_original() ? "original" : "changed");
			fflush(stdout);
		}
	}
	printf("%s %d\n", is_original() ? "original" : "changed", sink == n * 4);
	return GOOD;
}

/* Ten calls for each byte of its standard input, and a byte when they are over. */
static PLAIN int mode_turns(void)
{
	char byte;

	while (read(0, &byte, 1) == 1) {
		for (int i = 0; i < 10; i++)
			work_outer();
		if (write(1, &byte, 1) != 1)
			return GOOD + 1;
	}
	return GOOD;
}

static PLAIN void *loop_thread(void *stop)
{
	while (!__atomic_load_n((int *)stop, __ATOMIC_RELAXED))
		work_outer();
	return NULL;
}

static PLAIN int mode_threads(void)
{
	pthread_t t[3];
	int stop = 0;

	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, loop_thread, &stop);
	mode_loop();
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	return GOOD;
}

PLAIN int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	self[n > 0 ? n : 0] = '\0';
	if (!strcmp(mode, "calls")) {
		calls(atol(argv[2]));
		printf("done\n");
		return GOOD;
	}
	if (!strcmp(mode, "tree"))
		return mode_tree(atoi(argv[2]));
	if (!strcmp(mode, "plugin"))
		return mode_plugin(argv[2]);
	struct { const char *name; int (*plain)(void); int (*with_self)(const char *); } modes[] = {
		{ "fork", NULL, mode_fork }, { "vfork", NULL, mode_vfork }, { "spawn", NULL, mode_spawn },
		{ "system", NULL, mode_system }, { "exec", NULL, mode_exec }, { "exec-thread", NULL, mode_exec_thread },
		{ "left", NULL, mode_left },
		{ "exec-failed", NULL, mode_exec_failed }, { "outlive", mode_outlive, NULL },
		{ "daemon", mode_daemon, NULL }, { "waitany", mode_waitany, NULL }, { "unshare", mode_unshare, NULL },
		{ "setuid", mode_setuid, NULL }, { "tsync", mode_tsync, NULL }, { "closerange", mode_closerange, NULL },
		{ "sysexit", mode_sysexit, NULL }, { "group", mode_group, NULL }, { "loop", mode_loop, NULL },
		{ "turns", mode_turns, NULL },
		{ "threads", mode_threads, NULL }, { "linked", mode_linked, NULL }, { "short", mode_short, NULL },
		{ "forks", mode_forks, NULL },
	};
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (!strcmp(mode, modes[i].name))
			return modes[i].plain ? modes[i].plain() : modes[i].with_self(self);
	fprintf(stderr, "target: no mode '%s'\n", mode);
	return 2;
}
