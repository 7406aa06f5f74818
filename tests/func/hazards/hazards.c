/* SPDX-License-Identifier: MIT */
/*
 * hazards.c - what breaks tracers: one case an argument
 *
 * Each case returns 1 when the program saw what an untraced program sees. Output is deterministic.
 * The counts that HIT() keeps are what the recording must show, to the call.
 */
#define _GNU_SOURCE
#define COUNT_MAIN
#include "count.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

extern char **environ;

/* -- plain work that other cases call ------------------------------------------------------- */
static volatile long sink, sink_never = -1;
NI static int leaf(int x) { HIT(); sink += x; return x + 1; }
NI static int middle(int x) { HIT(); int r = leaf(x) + leaf(x + 1); sink += r; return r; }
NI static void work(void) { HIT(); for (int i = 0; i < 10; i++) sink += middle(i); }

/* -- control flow ------------------------------------------------------------------------------ */
static jmp_buf env1;
NI static void jump_deep(int n) {
	HIT(); if (n == sink_never) return; if (!n) longjmp(env1, 1); jump_deep(n - 1); sink++; }
NI static int t_longjmp(void)
{
	HIT();
	volatile int jumps = 0;

	for (volatile int i = 0; i < 30000; i++) {	/* more frames left than a shadow stack has room for */
		if (!setjmp(env1))
			jump_deep(5);
		else
			jumps++;
	}
	if (!setjmp(env1))
		jump_deep(0);
	work();		/* where the one was that was left just now */
	return jumps == 30000;
}

NI static long deep(long n) { HIT(); volatile char pad[16]; pad[0] = (char)n; long r = n ? deep(n - 1) +
	1 : 0; sink += pad[0]; return r; }
NI static int t_deep(void) { HIT(); return deep(50000) == 50000; }
static volatile int jumped_out;
NI static void deep_jump(long n) {
	HIT(); volatile char pad[64]; pad[0] = 1; if (n == sink_never) return; if (!n) longjmp(env1,
		1); deep_jump(n - 1); sink += pad[0]; }
NI static int t_deepjump(void)
{
	HIT();
	for (volatile int i = 0; i < 30; i++)
		if (!setjmp(env1))
			deep_jump(20000);
		else
			jumped_out++;
	work();
	return jumped_out == 30;
}

NI static int tail3(int x) { HIT(); sink++; return x + 1; }
NI static int tail2(int x) { HIT(); sink++; return tail3(x + 1); }
NI static int tail1(int x) { HIT(); sink++; return tail2(x + 1); }
NI static int t_tail(void) { HIT(); int s = 0; for (int i = 0; i < 1000; i++) s += tail1(0); return s == 3000; }

NI __attribute__((noreturn)) static void leave(int code) { HIT(); _exit(code); }
NI __attribute__((noreturn)) static void leave2(int code) { HIT(); leave(code + 1); }
NI static int t_noreturn(void)
{
	HIT();
	int st, ok = 1;

	for (int i = 0; i < 5; i++) {
		pid_t p = fork();

		if (!p)
			leave2(6);
		waitpid(p, &st, 0);
		ok &= WIFEXITED(st) && WEXITSTATUS(st) == 7;
	}
	return ok;
}

/* -- arguments and results ------------------------------------------------------------------- */
NI static double va_sum(int n, ...)
{
	HIT();
	va_list a;
	double s = 0;

	va_start(a, n);
	for (int i = 0; i < n; i++)
		s += va_arg(a, double);
	va_end(a);
	return s;
}
struct big { long a[8]; };
struct pair { long a; double b; };
NI static struct big big_ret(long a, long b, long c, long d, long e, long f, long g, long h) {
	HIT(); return (struct big){ { a, b, c, d, e, f, g, h } }; }
NI static struct pair pair_ret(long a, double b) { HIT(); return (struct pair){ a + 1, b * 2 }; }
NI static long double ld_ret(long double x) { HIT(); return x * 2; }
NI static _Complex long double cld_ret(_Complex long double x) { HIT(); return x * 2; }
NI static __int128 i128_ret(__int128 x) { HIT(); return x + 1; }
NI static int t_abi(void)
{
	HIT();
	int ok = 1;

	for (int i = 0; i < 100; i++) {
		struct big b = big_ret(1, 2, 3, 4, 5, 6, 7, 8);
		struct pair p = pair_ret(41, 1.5);
		_Complex long double c = cld_ret(1.0L + 2.0iL);

		for (int k = 0; k < 8; k++)
			ok &= b.a[k] == k + 1;
		ok &= va_sum(9, 1., 2., 3., 4., 5., 6., 7., 8., 9.) == 45;
		ok &= p.a == 42 && p.b == 3 && ld_ret(1.5L) == 3 && __real__ c == 2 && __imag__ c == 4;
		ok &= i128_ret((__int128)1 << 100) == ((__int128)1 << 100) + 1;
	}
	return ok;
}

NI static int t_nested(void)	/* gcc passes the static chain in r10 */
{
	HIT();
	int base = 7, s = 0;
#ifndef __clang__
	NI int inner(int x) { HIT(); return x + base++; }
	for (int i = 0; i < 100; i++)
		s += inner(i);
	return s == 4950 + 700 + 4950;
#else
	return base + s == 7;
#endif
}

#ifdef __x86_64__
#define YMM __attribute__((target("avx")))
#define HAS(what) __builtin_cpu_supports(what)
typedef float v16 __attribute__((vector_size(64)));
NI __attribute__((target("avx512f"))) static v16 zmm_add(v16 a, v16 b, v16 c, v16 d, v16 e, v16 f, v16 g, v16 h) {
	HIT(); return a + b + c + d + e + f + g + h; }
NI __attribute__((target("avx512f"))) static int zmm_run(void)
{
	HIT();
	v16 v, r;
	int ok = 1;

	for (int i = 0; i < 16; i++)
		v[i] = (float)i;
	for (int k = 0; k < 100; k++) {
		sched_yield();
		r = zmm_add(v, v, v, v, v, v, v, v);
		for (int i = 0; i < 16; i++)
			ok &= r[i] == 8.0f * (float)i;
	}
	return ok;
}
#else
#define YMM
#define HAS(what) 1
NI static double zmm_add(double a, double b, double c, double d, double e, double f, double g, double h) {
	HIT(); return a + b + c + d + e + f + g + h; }
NI static int zmm_run(void)	/* every register that passes floating-point arguments */
{
	HIT();
	int ok = 1;

	for (int k = 0; k < 100; k++) {
		sched_yield();
		ok &= zmm_add(k, 2, 3, 4, 5, 6, 7, 8) == k + 35;
	}
	return ok;
}
#endif
typedef double v4 __attribute__((vector_size(32)));
NI YMM static v4 ymm_add(v4 a, v4 b) { HIT(); return a + b; }
NI YMM static int ymm_run(void)
{
	HIT();
	v4 a = { 1, 2, 3, 4 };
	int ok = 1;

	for (int k = 0; k < 100; k++) {
		sched_yield();

		v4 r = ymm_add(a, a);

		ok &= r[0] == 2 && r[1] == 4 && r[2] == 6 && r[3] == 8;
	}
	return ok;
}
/* Takes turns on one CPU with the caller, so that most of its calls are the first ones after a switch: the long way. */
static volatile int vector_done;
NI static void *vector_thread(void *arg) { HIT(); while (!vector_done) { leaf(1); sched_yield(); } return arg; }
NI static int t_vector(void)
{
	HIT();
	pthread_t t;
	cpu_set_t one;
	int ok;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	pthread_create(&t, 0, vector_thread, 0);
	ok = (!HAS("avx512f") || zmm_run()) && (!HAS("avx") || ymm_run());
	vector_done = 1;
	pthread_join(t, 0);
	return ok;
}

/* -- signals ------------------------------------------------------------------------------------ */
static volatile int signals;
#ifdef __x86_64__
#define SIGNAL_US 100
#else
#define SIGNAL_US 3000	/* emulated, a traced handler takes several 100 us; it has to end before the next */
#endif
NI static void on_signal(int sig) { HIT(); (void)sig; signals++; work(); }
NI static int t_signal(void)
{
	HIT();
	stack_t ss = { .ss_sp = malloc(65536), .ss_size = 65536 };
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };
	struct itimerval it = { { 0, SIGNAL_US }, { 0, SIGNAL_US } }, off = { 0 };

	sigaltstack(&ss, 0);
	sigaction(SIGALRM, &sa, 0);
	setitimer(ITIMER_REAL, &it, 0);
	for (int i = 0; i < 30000 * SIGNAL_US && signals < 500; i++)
		work();
	setitimer(ITIMER_REAL, &off, 0);
	return signals >= 500;
}

static sigjmp_buf env2;
NI static void on_jump(int sig) { HIT(); (void)sig; work(); siglongjmp(env2, 1); }
NI static int t_sigjump(void)
{
	HIT();
	struct sigaction sa = { .sa_handler = on_jump };
	volatile int jumps = 0;

	sigaction(SIGALRM, &sa, 0);
	while (jumps < 300) {
		if (!sigsetjmp(env2, 1)) {
			struct itimerval it = { { 0, 0 }, { 0, 60 } };

			setitimer(ITIMER_REAL, &it, 0);
			for (;;)
				work();
		}
		jumps++;
	}
	return jumps == 300;
}

NI static int t_sigtrap(void)	/* blocked and ignored, also over exec: our own use of it must not kill the program */
{
	HIT();
	sigset_t s;
	int st;

	signal(SIGTRAP, SIG_IGN);
	sigemptyset(&s);
	sigaddset(&s, SIGTRAP);
	sigprocmask(SIG_BLOCK, &s, 0);
	for (int i = 0; i < 1000; i++)
		work();
	pid_t p = fork();

	if (!p) {
		execl("/proc/self/exe", "hazards", "--trap", (char *)0);
		_exit(99);
	}
	waitpid(p, &st, 0);
	return WIFEXITED(st) && WEXITSTATUS(st) == 42;
}
OFF static int trap_is_as_it_was(void)	/* what the new image inherited */
{
	struct sigaction sa;
	sigset_t s;

	sigprocmask(SIG_BLOCK, 0, &s);
	return !sigaction(SIGTRAP, 0, &sa) && sa.sa_handler == SIG_IGN && sigismember(&s, SIGTRAP);
}

/* -- coroutines ---------------------------------------------------------------------------------- */
static ucontext_t co_main, co_a, co_b;
static int co_count;
NI static void co_step(int i) { HIT(); co_count += i; swapcontext(i == 1 ? &co_a : &co_b, &co_main); sink++; }
NI static void co_body(int i) { HIT(); for (int k = 0; k < 100; k++) co_step(i); }
NI static void co_resume(ucontext_t *c) { HIT(); swapcontext(&co_main, c); sink++; }
NI static int t_coroutine(void)
{
	HIT();
	static char s1[65536], s2[65536];

	getcontext(&co_a); co_a.uc_stack.ss_sp = s1; co_a.uc_stack.ss_size = sizeof(s1); co_a.uc_link = &co_main;
	makecontext(&co_a, (void (*)(void))co_body, 1, 1);
	getcontext(&co_b); co_b.uc_stack.ss_sp = s2; co_b.uc_stack.ss_size = sizeof(s2); co_b.uc_link = &co_main;
	makecontext(&co_b, (void (*)(void))co_body, 1, 2);
	for (int i = 0; i < 101; i++) {
		co_resume(&co_a);
		co_resume(&co_b);
	}
	return co_count == 300;
}

/* A coroutine that is resumed by alternating threads: it returns through frames another thread entered. */
static ucontext_t mig_co, mig_back;
static pthread_barrier_t mig_bar;
static volatile int mig_turn, mig_done, mig_sum;
NI static void mig_inner(int k) { HIT(); mig_sum += k; swapcontext(&mig_co, &mig_back); sink++; }
NI static void mig_outer(int k) { HIT(); mig_inner(k); mig_inner(k + 1); }
NI static void mig_body(void) { HIT(); for (int k = 0; k < 50; k++) mig_outer(k); mig_done = 1; swapcontext(&mig_co,
	&mig_back); }
NI static void mig_resume(void) { HIT(); swapcontext(&mig_back, &mig_co); sink++; }
OFF static void *mig_thread(void *arg)
{
	int me = (int)(intptr_t)arg;

	pthread_barrier_wait(&mig_bar);
	for (;;) {
		while (mig_turn != me && !mig_done)
			sched_yield();
		if (mig_done)
			return 0;
		mig_resume();
		__atomic_store_n(&mig_turn, !me, __ATOMIC_RELEASE);
	}
}
NI static int t_migrate(void)
{
	HIT();
	static char st[65536];
	pthread_t t[2];

	getcontext(&mig_co); mig_co.uc_stack.ss_sp = st; mig_co.uc_stack.ss_size = sizeof(st); mig_co.uc_link = 0;
	makecontext(&mig_co, mig_body, 0);
	pthread_barrier_init(&mig_bar, 0, 2);
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], 0, mig_thread, (void *)(intptr_t)i);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
	return mig_sum == 50 * 50;
}

/* -- threads ---------------------------------------------------------------------------------------- */
static volatile int cleaned;
NI static void cleanup(void *arg) { HIT(); (void)arg; __atomic_fetch_add(&cleaned, 1, __ATOMIC_RELAXED); }
NI static void exit_inner(void) { HIT(); pthread_cleanup_push(cleanup, 0); pthread_exit(0); pthread_cleanup_pop(0); }
NI static void *exit_thread(void *arg) { HIT(); exit_inner(); return arg; }
NI static void cancel_spin(void) { HIT(); for (;;) { leaf(1); usleep(10); } }
NI static void *cancel_thread(void *arg) {
	HIT(); pthread_cleanup_push(cleanup, 0); cancel_spin(); pthread_cleanup_pop(0); return arg; }
NI static int t_pthread_exit(void)
{
	HIT();
	for (int i = 0; i < 50; i++) {
		pthread_t t;

		pthread_create(&t, 0, exit_thread, 0);
		pthread_join(t, 0);
	}
	return cleaned == 50;
}
NI static int t_cancel(void)
{
	HIT();
	for (int i = 0; i < 20; i++) {
		pthread_t t;

		pthread_create(&t, 0, cancel_thread, 0);
		usleep(1000);
		pthread_cancel(t);
		pthread_join(t, 0);
	}
	return cleaned == 20;
}
NI static void *work_thread(void *arg) { HIT(); for (int i = 0; i < 20; i++) work(); return arg; }
NI static int t_threads(void)	/* thread pointers are reused all the time */
{
	HIT();
	for (int r = 0; r < 100; r++) {
		pthread_t t[8];

		for (int i = 0; i < 8; i++)
			pthread_create(&t[i], 0, work_thread, 0);
		for (int i = 0; i < 8; i++)
			pthread_join(t[i], 0);
	}
	return 1;
}
static pthread_mutex_t many_lock = PTHREAD_MUTEX_INITIALIZER;
NI static void *many_thread(void *arg) {
	HIT(); middle(1); pthread_mutex_lock(&many_lock); pthread_mutex_unlock(&many_lock); middle(2); return arg; }
NI static int t_manythreads(void)	/* 10,000 alive at once */
{
	HIT();
	static pthread_t t[10000];
	pthread_attr_t at;
	int n = 0;

	pthread_attr_init(&at);
	pthread_attr_setstacksize(&at, 65536);
	pthread_mutex_lock(&many_lock);
	for (; n < 10000 && !pthread_create(&t[n], &at, many_thread, 0); n++)
		;
	pthread_mutex_unlock(&many_lock);
	for (int i = 0; i < n; i++)
		pthread_join(t[i], 0);
	return n == 10000;
}
NI static void *late_thread(void *arg) { HIT(); usleep(20000); work(); _exit(0); return arg; }
NI static int t_mainexit(void)	/* the main thread leaves first */
{
	HIT();
	pid_t p = fork();
	int st;

	if (!p) {
		pthread_t t;

		pthread_create(&t, 0, late_thread, 0);
		pthread_exit(0);
	}
	waitpid(p, &st, 0);
	return WIFEXITED(st) && WEXITSTATUS(st) == 0;
}
NI static int t_sysexit(void)	/* SYS_exit of the only thread ends the process */
{
	HIT();
	pid_t p = fork();
	int st;

	if (!p) {
		work();
		syscall(SYS_exit, 5);
	}
	waitpid(p, &st, 0);
	return WIFEXITED(st) && WEXITSTATUS(st) == 5;
}

/* -- processes --------------------------------------------------------------------------------------- */
NI static pid_t fork_here(void) { HIT(); return fork(); }
NI static int fork_child(int i) { HIT(); pid_t p = fork_here(); if (!p) { work(); _exit(i); } int s; waitpid(p, &s,
	0); return WEXITSTATUS(s) == i; }
NI static int t_fork(void) { HIT(); int ok = 1; for (int i = 0; i < 20; i++) ok &= fork_child(i); return ok; }
NI static int t_forktree(void)
{
	HIT();
	int st, ok = 1;

	for (int i = 0; i < 3; i++) {
		pid_t p = fork_here();

		if (!p) {
			work();
			p = fork_here();
			if (!p) {
				work();
				_exit(3);
			}
			waitpid(p, &st, 0);
			_exit(WEXITSTATUS(st) + 1);
		}
		waitpid(p, &st, 0);
		ok &= WEXITSTATUS(st) == 4;
	}
	return ok;
}
NI static int vfork_child(void)
{
	HIT();
	int st;
	pid_t p = vfork();

	if (!p) {
		leaf(3);
		execl("/bin/true", "true", (char *)0);
		_exit(9);
	}
	waitpid(p, &st, 0);
	return WIFEXITED(st) && WEXITSTATUS(st) == 0;
}
NI static int t_vfork(void) {
	HIT(); int ok = 1; for (int i = 0; i < 20; i++) { ok &= vfork_child(); work(); } return ok; }
NI static void *vfork_thread(void *arg) {
	HIT(); for (int i = 0; i < 10; i++) { if (!vfork_child()) *(int *)arg = 0; work(); } return arg; }
NI static int t_vforkthreads(void)	/* the child runs while other threads of the parent trace on */
{
	HIT();
	int ok = 1;
	pthread_t t[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], 0, i & 1 ? vfork_thread : work_thread, &ok);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], 0);
	return ok;
}
NI static int t_spawn(void)
{
	HIT();
	int st, ok = 1;
	char *argv[] = { "hazards", "--child", 0 };

	for (int i = 0; i < 10; i++) {
		pid_t p;

		ok &= !posix_spawn(&p, "/proc/self/exe", 0, 0, argv, environ);
		waitpid(p, &st, 0);
		ok &= st == 42 << 8 && system("exit 3") == 3 << 8;
		work();
	}
	return ok;
}
NI static int clone_child(void *arg) { HIT(); work(); return *(int *)arg; }
NI static int t_clone(void)	/* a child that shares memory, without a thread pointer of its own */
{
	HIT();
	static char stack[262144] __attribute__((aligned(64)));
	int st, v = 5, ok = 1;

	for (int i = 0; i < 10; i++) {
		pid_t p = clone(clone_child, stack + sizeof(stack), CLONE_VM | SIGCHLD, &v);

		waitpid(p, &st, 0);
		ok &= WIFEXITED(st) && WEXITSTATUS(st) == 5;
		work();
	}
	return ok;
}
NI static int t_exec(void)
{
	HIT();
	int st, ok = 1;

	for (int i = 0; i < 3; i++) {
		pid_t p = fork();

		if (!p) {
			execl("/proc/self/exe", "hazards", "--child", (char *)0);
			_exit(99);
		}
		waitpid(p, &st, 0);
		ok &= WIFEXITED(st) && WEXITSTATUS(st) == 42;
	}
	return ok;
}
NI static int t_execraw(void)	/* past libc's function */
{
	HIT();
	char *argv[] = { "hazards", "--child", 0 }, *nothing[] = { "x", 0 };
	int st, ok = 1;

	for (int i = 0; i < 6; i++) {
#ifdef SYS_fork
		pid_t p = i < 3 ? syscall(SYS_fork) : syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
#else
		pid_t p = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
#endif

		if (!p) {
			work();
			if (syscall(SYS_execve, "/nonexistent/x", nothing, environ) != -1 || errno != ENOENT)
				_exit(98);
			work();
			if (i & 1)
				syscall(SYS_execve, "/proc/self/exe", argv, environ);
			else
				syscall(SYS_execveat, AT_FDCWD, "/proc/self/exe", argv, environ, 0);
			_exit(99);
		}
		waitpid(p, &st, 0);
		ok &= WIFEXITED(st) && WEXITSTATUS(st) == 42;
	}
	return ok;
}
NI static int t_execfail(void)
{
	HIT();
	char *argv[] = { "x", 0 };
	int ok = 1;

	for (int i = 0; i < 10; i++) {
		ok &= execv("/nonexistent/x", argv) == -1 && errno == ENOENT;
		work();
	}
	return ok;
}
NI static int has_no_child(void)
{
	HIT();
	return waitpid(-1, 0, 0) == -1 && errno == ECHILD && waitpid(-1, 0, WNOHANG) == -1 && errno == ECHILD;
}
/* our helper task must not show up as a child, nor as one of an init, which gets all that have no parent */
NI static int t_waitany(void)
{
	HIT();
	int st = 42 << 8;
	pid_t p;

	work();
	p = (pid_t)syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, 0, 0, 0, 0);
	if (!p) {
		work();
		_exit(has_no_child() ? 42 : 1);
	}
	if (p > 0)		/* else we may not make a namespace */
		waitpid(p, &st, 0);
	return WIFEXITED(st) && WEXITSTATUS(st) == 42 && has_no_child();
}
NI static int t_daemon(void)
{
	HIT();
	int fd[2], st;
	char c = 0;

	if (pipe(fd))
		return 0;
	pid_t p = fork();

	if (!p) {
		close(fd[0]);
		setsid();
		if (fork())
			_exit(0);
		for (int i = 0; i < 3; i++)
			close(i);
		work();
		if (write(fd[1], "d", 1) != 1)
			_exit(1);
		_exit(0);
	}
	close(fd[1]);
	waitpid(p, &st, 0);
	return read(fd[0], &c, 1) == 1 && c == 'd' && read(fd[0], &c, 1) == 0;
}

#include "rights.h"

/* -- waiting: no spurious EINTR ---------------------------------------------------------------------- */
static int wait_errs;
NI static void *wait_epoll(void *arg) {
	HIT(); int e = epoll_create1(0); struct epoll_event ev; for (int i = 0; i < 10; i++) {
		leaf(i); if (epoll_wait(e, &ev, 1, 30) != 0) wait_errs++; } return arg; }
NI static void *wait_poll(void *arg) {
	HIT(); for (int i = 0; i < 10; i++) { leaf(i); if (poll(0, 0, 30) != 0) wait_errs++; } return arg; }
NI static void *wait_sem(void *arg)
{
	HIT();
	sem_t s;

	sem_init(&s, 0, 0);
	for (int i = 0; i < 10; i++) {
		struct timespec ts;

		leaf(i);
		clock_gettime(CLOCK_REALTIME, &ts);
		ts.tv_nsec += 30000000;
		if (ts.tv_nsec >= 1000000000)
			ts.tv_nsec -= 1000000000, ts.tv_sec++;
		if (sem_timedwait(&s, &ts) != -1 || errno != ETIMEDOUT)
			wait_errs++;
	}
	return arg;
}
NI static int t_waiting(void)
{
	HIT();
	void *(*f[])(void *) = { wait_epoll, wait_poll, wait_sem };
	pthread_t t[3];

	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], 0, f[i], 0);
	for (int i = 0; i < 300; i++) {
		work();
		usleep(500);
	}
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], 0);
	return wait_errs == 0;
}

/* -- the end ------------------------------------------------------------------------------------------- */
NI static void die_now(int how) { HIT(); if (how == 0) abort(); if (how == 1) raise(SIGKILL); *(volatile int *)0 = 1; }
NI static int t_crash(void)
{
	HIT();
	static const int want[] = { SIGABRT, SIGKILL, SIGSEGV };
	int ok = 1, st;
	struct rlimit none = { 0, 0 };

	setrlimit(RLIMIT_CORE, &none);
	for (int i = 0; i < 3; i++) {
		pid_t p = fork();

		if (!p) {
			work();
			die_now(i);
		}
		waitpid(p, &st, 0);
		ok &= WIFSIGNALED(st) && WTERMSIG(st) == want[i];
	}
	return ok;
}

__attribute__((constructor)) NI static void ctor(void) { HIT(); sink++; }
__attribute__((destructor)) NI static void dtor(void) { sink++; }

struct hazard { const char *name; int (*run)(void); };
static const struct hazard cases[] = {
	{ "longjmp", t_longjmp }, { "deep", t_deep }, { "deepjump", t_deepjump }, { "tail", t_tail },
	{ "noreturn", t_noreturn }, { "abi", t_abi }, { "nested", t_nested }, { "vector", t_vector },
	{ "signal", t_signal }, { "sigjump", t_sigjump }, { "sigtrap", t_sigtrap }, { "coroutine", t_coroutine },
	{ "migrate", t_migrate }, { "pthread_exit", t_pthread_exit }, { "cancel", t_cancel },
	{ "threads", t_threads }, { "manythreads", t_manythreads }, { "mainexit", t_mainexit },
	{ "sysexit", t_sysexit }, { "fork", t_fork }, { "forktree", t_forktree }, { "vfork", t_vfork },
	{ "vforkthreads", t_vforkthreads }, { "spawn", t_spawn }, { "clone", t_clone }, { "exec", t_exec },
	{ "execfail", t_execfail }, { "execraw", t_execraw }, { "waitany", t_waitany }, { "daemon", t_daemon },
	{ "userns", t_userns },
	{ "setuid", t_setuid }, { "closerange", t_closerange }, { "fds", t_fds }, { "pipe_eof", t_pipe_eof },
	{ "seccomp", t_seccomp }, { "chroot", t_chroot }, { "limits", t_limits }, { "dumpable", t_dumpable },
	{ "mlockall", t_mlockall }, { "mlockraw", t_mlockraw }, { "mlocklimit", t_mlocklimit },
	{ "mlocklimitraw", t_mlocklimitraw }, { "waiting", t_waiting }, { "crash", t_crash },
};

OFF int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "--list")) {
		for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
			puts(cases[i].name);
		return 0;
	}
	if (argc > 1 && !strcmp(argv[1], "--child"))
		return 42;
	if (argc > 1 && !strcmp(argv[1], "--trap"))
		return trap_is_as_it_was() ? 42 : 43;
	for (size_t i = 0; argc > 1 && i < sizeof(cases) / sizeof(*cases); i++) {
		if (strcmp(cases[i].name, argv[1]))
			continue;
		int ok = cases[i].run();

		count_dump();
		printf("%s %s\n", argv[1], ok ? "ok" : "BAD");
		return !ok;
	}
	fprintf(stderr, "hazards: unknown case\n");
	return 2;
}
