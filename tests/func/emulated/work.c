/* SPDX-License-Identifier: MIT */
/*
 * work.c - a program with known counts, and what makes that hard: threads, their ends, children, jumps, signals
 *
 * Prints the counts it made: `name count` a line; traced with any tracer each must be seen exactly. work MODE
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#define PLAIN __attribute__((no_instrument_function, patchable_function_entry(0)))
#define KEEP() __asm__ volatile("" ::: "memory")

extern char **environ;
static jmp_buf back;
static volatile int sink, handled;

NOINLINE int leaf(int x)
{
	KEEP();
	return x + 1;
}

NOINLINE int middle(int x)
{
	int y = leaf(x) + leaf(x + 1);

	KEEP();
	return y;
}

NOINLINE int top(int x)
{
	int y = middle(x) * 2;

	KEEP();
	return y;
}

/* More arguments than registers, all vector registers live, and a result in two registers. */
struct pair { double a; long b; };
NOINLINE struct pair many(int a, double b, int c, double d, long e, float f, int g, int h, int i, int j, int k,
			  double l)
{
	struct pair p = { a + b + c + d + (double)e + f + l, g + h + i + j + k };

	KEEP();
	return p;
}

NOINLINE int tail(int x)
{
	return middle(x);
}

NOINLINE void jumper(int depth)
{
	if (!depth)
		longjmp(back, 1);
	jumper(depth - 1);
	KEEP();
}

NOINLINE void handler(int sig)
{
	sink += leaf(sig);
	handled++;
}

NOINLINE void *thread(void *arg)
{
	for (int i = 0; i < 50; i++)
		sink = top(i);
	return arg;
}

static PLAIN void threads(void)
{
	for (int round = 0; round < 10; round++) {	/* stacks and thread pointers are used again */
		pthread_t t[4];

		for (int i = 0; i < 4; i++)
			pthread_create(&t[i], NULL, thread, NULL);
		for (int i = 0; i < 4; i++)
			pthread_join(t[i], NULL);
	}
	puts("thread 40\ntop 2000\nmiddle 2000\nleaf 4000");
}

NOINLINE void leaver(int depth)
{
	if (!depth)
		pthread_exit(NULL);	/* unwinds */
	leaver(depth - 1);
	KEEP();
}

NOINLINE void *left(void *arg)
{
	leaver(3);
	return arg;
}

static PLAIN void exits(void)
{
	for (int i = 0; i < 20; i++) {
		pthread_t t;

		pthread_create(&t, NULL, left, NULL);
		pthread_join(t, NULL);
		sink = top(i);
	}
	puts("left 20\nleaver 80\ntop 20\nmiddle 20\nleaf 40");
}

static PLAIN void children(void)
{
	for (int i = 0; i < 5; i++) {
		pid_t pid = fork();

		sink = top(i);
		if (!pid) {
			for (int k = 0; k < 20; k++)
				sink = top(k);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
	puts("top 110\nmiddle 110\nleaf 220");
}

static PLAIN void spawned(void)
{
	char *argv[] = { "true", NULL };

	for (int i = 0; i < 5; i++) {
		pid_t pid;

		sink = top(i);
		if (!posix_spawn(&pid, "/bin/true", NULL, NULL, argv, environ))
			waitpid(pid, NULL, 0);
	}
	puts("top 5\nmiddle 5\nleaf 10");
}

static PLAIN void jumps(void)
{
	for (volatile int i = 0; i < 20; i++)
		if (!setjmp(back))
			jumper(4);
		else
			sink = top(i);
	puts("jumper 100\ntop 20\nmiddle 20\nleaf 40");
}

static PLAIN void signals(void)
{
	static char stack[65536];
	stack_t ss = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_ONSTACK };

	sigaltstack(&ss, NULL);
	sigaction(SIGUSR1, &sa, NULL);
	for (int i = 0; i < 50; i++)
		raise(SIGUSR1);
	puts("handler 50\nleaf 50");
}

static PLAIN int top_is(int x)
{
	return 4 * x + 6;
}

/* A handler wherever it may come: inside the tracer's own code most of the time. @until so many came, or @is_over. */
static volatile int is_over, wrong, progress;

static PLAIN int stormed(void (*handle)(int), int flags, int until)
{
	const struct itimerval often = { { 0, 300 }, { 0, 300 } }, never = { { 0, 0 }, { 0, 0 } };
	struct sigaction sa = { .sa_handler = handle, .sa_flags = flags };
	sigset_t set;
	int n = 0;

	sigaction(SIGALRM, &sa, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	for (; handled < until && !is_over; progress = n++)
		wrong += top(n) != top_is(n);
	setitimer(ITIMER_REAL, &never, NULL);
	return n;
}

static PLAIN void *storm(void *stack)
{
	int n;

	if (stack)
		sigaltstack(stack, NULL);
	n = stormed(handler, stack ? SA_ONSTACK : 0, 1500);
	printf("top %d\nmiddle %d\nhandler %d\nleaf %d\n", n, n, handled, 2 * n + handled);
	return NULL;
}

/* It forks there, and the child goes on where the handler came, with a call before: by then it is known as a child. */
static PLAIN void forker(int sig)
{
	int status = 0;
	pid_t pid;

	(void)sig;
	if (is_over || ++handled % 4)
		return;
	pid = fork();
	is_over = !pid;
	if (!pid)
		sink = leaf(handled);
	else if ( (waitpid(pid, &status, 0) != pid || status)) {
		dprintf(2, "the child of %d: status %x\n", handled, (unsigned)status);
		wrong++;
	}
}

static PLAIN int storm_forked(void)
{
	stormed(forker, 0, 480);
	if (is_over) {
		for (int i = 0; i < 20; i++)
			wrong += top(i) != top_is(i);
		_exit(wrong);
	}
	return wrong;
}

/* It switches to another context, which switches back in the middle of a call. */
#define SWITCHES 10000
static ucontext_t here, elsewhere;

static PLAIN void come_back(void)
{
	swapcontext(&elsewhere, &here);
}

NOINLINE int hold(int x)
{
	come_back();
	return x + 1;
}

static PLAIN void holder(void)
{
	for (int x = 0;; x++)
		wrong += hold(x) != x + 1;
}

/*
 * The next signal comes when whom this one interrupted is some instructions further, or not at all: the delay goes to where half of them see
 * a call more, however fast the machine is.
 */
static PLAIN void switcher(int sig)
{
	static int delay, seen;
	struct itimerval soon = { { 0, 0 }, { 0, 0 } };

	(void)sig;
	handled++;
	swapcontext(&here, &elsewhere);
	delay += progress == seen ? 1 : delay > 0 ? -1 : 0;
	seen = progress;
	soon.it_value.tv_usec = delay + 1 + handled % 24;
	if (handled < SWITCHES)
		setitimer(ITIMER_REAL, &soon, NULL);
}

static PLAIN int storm_switched(void)
{
	static char stack[1 << 16];
	int n;

	getcontext(&elsewhere);
	elsewhere.uc_stack.ss_sp = stack;
	elsewhere.uc_stack.ss_size = sizeof(stack);
	sigaddset(&elsewhere.uc_sigmask, SIGALRM);
	makecontext(&elsewhere, holder, 0);
	n = stormed(switcher, 0, SWITCHES);
	printf("top %d\nmiddle %d\nleaf %d\nhold %d\n", n, n, 2 * n, handled);
	return wrong;
}

/* The same in a thread, with the handler on a stack that lies above its own. */
static PLAIN void storm_above(void)
{
	static char stack[2][1 << 18] __attribute__((aligned(65536)));
	stack_t ss = { .ss_sp = stack[1], .ss_size = sizeof(stack[1]) };
	pthread_attr_t attr;
	sigset_t set;
	pthread_t t;

	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	pthread_attr_init(&attr);
	pthread_attr_setstack(&attr, stack[0], sizeof(stack[0]));
	pthread_create(&t, &attr, storm, &ss);
	pthread_join(t, NULL);
}

NOINLINE void earlier(void)
{
	KEEP();
}

NOINLINE void later(void)
{
	KEEP();
}

static PLAIN void *first(void *number)
{
	*(pid_t *)number = gettid();
	for (int i = 0; i < 10; i++)
		earlier();
	return NULL;
}

/* A thread whose number was another's: as numbers take long to come again, it is written where libc notes it. */
static PLAIN void *second(void *number)
{
	pid_t *note = (pid_t *)pthread_self(), self = gettid(), old = *(pid_t *)number;

	while (*note != self)
		note++;
	*note = old;
	for (int i = 0; i < 10; i++)
		later();
	*note = self;
	return NULL;
}

static PLAIN void same_number(void)
{
	static char stack[2][1 << 18] __attribute__((aligned(65536)));	/* two thread pointers */
	static pid_t number;

	for (int i = 0; i < 2; i++) {
		pthread_attr_t attr;
		pthread_t t;

		pthread_attr_init(&attr);
		pthread_attr_setstack(&attr, stack[i], sizeof(stack[i]));
		pthread_create(&t, &attr, i ? second : first, &number);
		pthread_join(t, NULL);
	}
	puts("earlier 10\nlater 10");
}

/* The handler jumps away, from inside the tracer's own code most of the time. Whatever was open then is left. */
static sigjmp_buf away;

static PLAIN void jump(int sig)
{
	(void)sig;
	siglongjmp(away, 1);
}

NOINLINE void after(void)
{
	KEEP();
}

static PLAIN void *until_jump(void *arg)
{
	const struct itimerval once = { { 0, 0 }, { 0, 300 } };

	if (!sigsetjmp(away, 1)) {
		pthread_sigmask(SIG_UNBLOCK, arg, NULL);
		setitimer(ITIMER_REAL, &once, NULL);
		for (int n = 0;; n++)
			sink = top(n);
	}
	after();
	return NULL;
}

static PLAIN void jumps_away(void)
{
	struct sigaction sa = { .sa_handler = jump };
	sigset_t set;
	pthread_t t;

	sigaction(SIGALRM, &sa, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	for (int i = 0; i < 300; i++) {
		pthread_create(&t, NULL, until_jump, &set);
		pthread_join(t, NULL);
	}
	puts("after 300");
}

static PLAIN int values(void)
{
	for (int i = 0; i < 100; i++) {
		struct pair p = many(i, 0.5, 2, 0.25, 3, 0.125f, 1, 2, 3, 4, 5, 1.0);

		if (p.a != i + 0.5 + 2 + 0.25 + 3 + 0.125 + 1.0 || p.b != 15) {
			printf("wrong %g %ld\n", p.a, p.b);
			return 1;
		}
		if (tail(i) != 2 * i + 3)
			return 1;
	}
	puts("many 100\ntail 100\nmiddle 100\nleaf 200");
	return 0;
}

int PLAIN main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "values";

	if (!strcmp(mode, "threads"))
		threads();
	else if (!strcmp(mode, "children"))
		children();
	else if (!strcmp(mode, "spawned"))
		spawned();
	else if (!strcmp(mode, "jumps"))
		jumps();
	else if (!strcmp(mode, "signals"))
		signals();
	else if (!strcmp(mode, "storm"))
		storm(NULL);
	else if (!strcmp(mode, "forked"))
		return storm_forked();
	else if (!strcmp(mode, "switched"))
		return storm_switched();
	else if (!strcmp(mode, "above"))
		storm_above();
	else if (!strcmp(mode, "number"))
		same_number();
	else if (!strcmp(mode, "away"))
		jumps_away();
	else if (!strcmp(mode, "exits"))
		exits();
	else
		return values();
	return 0;
}
