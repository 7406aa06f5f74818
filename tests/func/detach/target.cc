// SPDX-License-Identifier: MIT
/*
 * target.cc - programs at the moment of a detach: target MODE
 *
 * Each mode comes to its point, says `ready` and waits for bytes on its input, in traced frames. Then it goes on, checks
 * its own work and prints what came out, and `end`. Whatever becomes of the tracing, the output is the same.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

static volatile long sink;

/* The byte that lets one waiting go on; nobody else takes it. */
NOINLINE static long wait_byte(int fd)
{
	char c = 0;
	ssize_t n;

	while ((n = read(fd, &c, 1)) < 0 && errno == EINTR)
		;
	return n == 1 ? 1 : -1000000;
}

static void ready()
{
	printf("ready\n");
	fflush(stdout);
}

NOINLINE static long leaf(long n)
{
	sink = n;
	return n * 3 + 1;
}

NOINLINE static long descend(long n, long (*at_end)(int), int fd)
{
	long r = n ? descend(n - 1, at_end, fd) : at_end(fd);

	sink = r;
	return r + leaf(n);
}

/* ---- blocked: threads that sleep in read, epoll_wait and a futex ------------------------------------ */

static int pipes[3][2];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int released;

NOINLINE static long wait_epoll(int fd)
{
	struct epoll_event ev = {}, got = {};
	int ep = epoll_create1(0), n;

	ev.events = EPOLLIN;
	epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev);
	n = epoll_wait(ep, &got, 1, -1);	/* with EINTR it would fail: nobody sends a signal */
	close(ep);
	return n == 1 ? wait_byte(fd) : -5000000;
}

NOINLINE static long wait_cond(int)
{
	pthread_mutex_lock(&mutex);
	while (!released)
		pthread_cond_wait(&cond, &mutex);
	pthread_mutex_unlock(&mutex);
	return 7;
}

static void *blocked(void *arg)
{
	int i = (int)(long)arg;

	return (void *)descend(20, i == 0 ? wait_byte : i == 1 ? wait_epoll : wait_cond, pipes[i][0]);
}

static long mode_blocked()
{
	pthread_t t[3];
	void *out;
	long sum = 0;

	for (long i = 0; i < 3; i++) {
		if (pipe(pipes[i]))
			return -1;
		pthread_create(&t[i], NULL, blocked, (void *)i);
	}
	usleep(100000);
	ready();
	sum += wait_byte(0);
	for (int i = 0; i < 2; i++)
		if (write(pipes[i][1], "x", 1) != 1)
			return -2;
	pthread_mutex_lock(&mutex);
	released = 1;
	pthread_cond_broadcast(&cond);
	pthread_mutex_unlock(&mutex);
	for (int i = 0; i < 3; i++) {
		pthread_join(t[i], &out);
		sum += (long)out;
	}
	return sum;
}

/* ---- deep ---------------------------------------------------------------------------------------- */

NOINLINE static long say_and_wait(int fd)
{
	ready();
	return wait_byte(fd);
}

static long mode_deep()
{
	return descend(20000, say_and_wait, 0);
}

/* ---- coroutine: suspended inside traced frames, resumed afterwards, also by another thread -------------- */

static ucontext_t back, there;
static long co_result;

NOINLINE static long suspend(int)
{
	swapcontext(&there, &back);
	return 11;
}

static void coroutine()
{
	co_result = descend(30, suspend, 0);
}

/* Each jumps to the other: one slot of the stack, many calls. */
#define SIBLING __attribute__((noinline, noclone, optimize("optimize-sibling-calls")))
SIBLING static long pong(long n);
SIBLING static long ping(long n)
{
	sink = n;
	return n ? pong(n - 1) : descend(3, suspend, 0);
}

SIBLING static long pong(long n)
{
	sink = -n;
	return n ? ping(n - 1) : descend(2, suspend, 0);
}

static void mutual()
{
	co_result = descend(5, [](int) { return ping(6) + 1; }, 0);
}

static void *resume(void *)
{
	swapcontext(&back, &there);
	return NULL;
}

static long mode_coroutine(void (*fn)(), int migrate)
{
	static char stack[256 << 10];
	pthread_t t;

	getcontext(&there);
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = sizeof(stack);
	there.uc_link = &back;
	makecontext(&there, fn, 0);
	resume(NULL);
	ready();
	if (wait_byte(0) != 1)
		return -1;
	if (migrate) {
		pthread_create(&t, NULL, resume, NULL);
		pthread_join(t, NULL);
	} else {
		resume(NULL);
	}
	return co_result;
}

/* ---- exception: in flight, its destructors sleep ----------------------------------------------------- */

struct sleeper {
	int id;
	NOINLINE ~sleeper()
	{
		if (id == 5)
			sink += say_and_wait(0);
		leaf(id);
	}
};

NOINLINE static long thrower(int n)
{
	sleeper s = { n };

	if (n == 0)
		throw 42;
	return thrower(n - 1) + leaf(n);
}

NOINLINE static long catcher()
{
	try {
		return thrower(10);
	} catch (int v) {
		return v + leaf(v);
	}
}

static long mode_exception()
{
	long a = catcher();

	return a + descend(3, [](int) { return 0l; }, 0);
}

/* ---- altstack: a handler on its own stack sleeps; others storm ----------------------------------------- */

static volatile sig_atomic_t storms;

static void on_sleep(int)
{
	sink += descend(5, say_and_wait, 0);
}

static void on_storm(int)
{
	storms++;
	leaf(storms);
}

static void use_altstack(char *stack, size_t size)
{
	stack_t ss = {};

	ss.ss_sp = stack;
	ss.ss_size = size;
	sigaltstack(&ss, NULL);
}

static void handle(int sig, void (*fn)(int))
{
	struct sigaction a = {};

	a.sa_handler = fn;
	a.sa_flags = SA_ONSTACK | SA_RESTART;
	sigaction(sig, &a, NULL);
}

static long mode_altstack()
{
	static char stack[64 << 10];

	use_altstack(stack, sizeof(stack));
	handle(SIGUSR1, on_sleep);
	return descend(9, [](int) { raise(SIGUSR1); return 3l; }, 0);
}

static volatile int stop;

static void *storm_target(void *arg)
{
	char *stack = (char *)arg;
	long n = 0, bad = 0;

	use_altstack(stack, 64 << 10);
	while (!stop)
		n++, bad += leaf(n) != n * 3 + 1;
	return (void *)bad;
}

static long mode_storm()
{
	static char stack[64 << 10];
	pthread_t t;
	void *bad;

	handle(SIGUSR2, on_storm);
	pthread_create(&t, NULL, storm_target, stack);
	ready();
	for (int fd_ready = 0; !fd_ready;) {
		fd_set in;
		timeval tv = { 0, 50 };

		FD_ZERO(&in);
		FD_SET(0, &in);
		pthread_kill(t, SIGUSR2);
		fd_ready = select(1, &in, NULL, NULL, &tv) > 0;
	}
	stop = 1;
	pthread_join(t, &bad);
	return (long)bad + (storms > 0 ? 1 : -1) + wait_byte(0);
}

/* ---- processes -------------------------------------------------------------------------------------- */

static int status_of(pid_t pid)
{
	int status = -1;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1000;
}

/* The child borrows all memory; its parent sleeps in the kernel. */
static long mode_vfork()
{
	long before = descend(4, [](int) { return 1l; }, 0);
	pid_t pid;

	ready();
	pid = vfork();
	if (!pid) {
		char c;

		if (read(0, &c, 1) != 1)
			_exit(1);
		_exit(23);
	}
	return before + status_of(pid) + descend(4, [](int) { return 2l; }, 0);
}

/* Forks all the time, in traced frames; each child returns through them and works. */
NOINLINE static long fork_child(int)
{
	return fork();
}

static long mode_fork()
{
	long bad = 0, n = 0;

	ready();
	for (;;) {
		fd_set in;
		timeval tv = { 0, 200 };
		long want = descend(6, [](int) { return 0l; }, 0), pid = descend(6, fork_child, 0) - want;

		if (!pid)
			_exit(descend(6, [](int) { return 0l; }, 0) == want && leaf(2) == 7 ? 5 : 6);
		bad += status_of((pid_t)pid) != 5;
		n++;
		FD_ZERO(&in);
		FD_SET(0, &in);
		if (select(1, &in, NULL, NULL, &tv) > 0)
			break;
	}
	return bad * 1000 + (n > 0) + wait_byte(0);
}

/* A child of the session's, asleep in the frames in which it was born; both are left. */
static long mode_child()
{
	int p[2];
	long pid;

	if (pipe(p))
		return -1;
	pid = descend(6, fork_child, 0);
	if (pid == descend(6, [](int) { return 0l; }, 0))
		_exit(descend(12, wait_byte, p[0]) == 1 + descend(12, [](int) { return 0l; }, 0) ? 5 : 6);
	usleep(200000);
	ready();
	if (wait_byte(0) != 1 || write(p[1], "x", 1) != 1)
		return -2;
	return status_of((pid_t)(pid - descend(6, [](int) { return 0l; }, 0)));
}

/* ---- other ------------------------------------------------------------------------------------------- */

static long mode_dlclose(const char *plugin)
{
	long sum = 0;

	for (int i = 0; i < 3; i++) {
		void *h = dlopen(plugin, RTLD_NOW);
		int (*fn)(void) = h ? (int (*)(void))dlsym(h, "plugin_answer") : NULL;

		if (!fn)
			return -1;
		sum += fn();
		dlclose(h);
	}
	return sum + descend(3, say_and_wait, 0);
}

static useconds_t rest_us;		/* of a busy thread after fifty turns; 0: it spins */

static void *busy(void *)
{
	long bad = 0, n = 0;

	while (!stop) {
		n++;
		bad += descend(n % 50, [](int) { return 0l; }, 0) < 0;
		bad += leaf(n) != 3 * n + 1;
		if (rest_us && n % 50 == 0)
			usleep(rest_us);
	}
	return (void *)bad;
}

static long mode_busy(const char *rest)
{
	rest_us = rest ? (useconds_t)atoi(rest) : 0;
	pthread_t t[4];
	long sum = 0;
	void *out;

	for (auto &x : t)
		pthread_create(&x, NULL, busy, NULL);
	usleep(50000);
	ready();
	sum = wait_byte(0);
	stop = 1;
	for (auto &x : t) {
		pthread_join(x, &out);
		sum += (long)out;
	}
	return sum;
}

static jmp_buf jump;

/* Frames that nobody returns to any more, and new ones over them. */
static long mode_longjmp()
{
	volatile long n = 0;

	if (setjmp(jump) < 20) {
		n = n + 1;
		if (n < 20)
			descend(n, [](int) { longjmp(jump, 1); return 0l; }, 0);
	}
	return descend(15, say_and_wait, 0) + n;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	long r = -1;

#define MODE(name, call) if (!strcmp(mode, name)) r = call
	MODE("blocked", mode_blocked());
	MODE("deep", mode_deep());
	MODE("coroutine", mode_coroutine(coroutine, 0));
	MODE("migrate", mode_coroutine(coroutine, 1));
	MODE("mutual", mode_coroutine(mutual, 0));
	MODE("exception", mode_exception());
	MODE("altstack", mode_altstack());
	MODE("storm", mode_storm());
	MODE("vfork", mode_vfork());
	MODE("fork", mode_fork());
	MODE("child", mode_child());
	MODE("dlclose", mode_dlclose(argv[2]));
	MODE("busy", mode_busy(argc > 2 ? argv[2] : NULL));
	MODE("longjmp", mode_longjmp());
	printf("%ld\nend\n", r);
	return 0;
}
