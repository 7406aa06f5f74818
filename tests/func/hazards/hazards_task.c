/* SPDX-License-Identifier: MIT */
/*
 * hazards_task.c - what the tasks of a program do to each other and to themselves: one case an argument
 *
 * As hazards.c: each case returns 1 when the program saw what an untraced program sees.
 */
#define _GNU_SOURCE
#define COUNT_MAIN
#include "count.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile long sink;
NI static int leaf(int x) { HIT(); sink += x; return x + 1; }
NI static int middle(int x) { HIT(); int r = leaf(x) + leaf(x + 1); sink += r; return r; }
NI static void work(void) { HIT(); for (int i = 0; i < 10; i++) sink += middle(i); }
NI static void *work_thread(void *arg) { HIT(); work(); return arg; }

/* Runs @run in a fork child; 1 if it said so. */
NI static int in_child(int (*run)(void))
{
	HIT();
	pid_t p = fork();
	int st;

	if (!p)
		_exit(run() ? 6 : 7);
	while (waitpid(p, &st, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(st) && WEXITSTATUS(st) == 6;
}
NI static int simple_child(void) { HIT(); work(); return 1; }

/* -- limits and rights before children are made ------------------------------------------------------ */
/* Room for what the program itself needs, and no more: our mappings are there already and count. */
NI static int aslimit(void)
{
	HIT();
	char line[256];
	struct rlimit as = { 0, 0 };
	pthread_attr_t at;
	pthread_t t[4];
	FILE *f = fopen("/proc/self/statm", "r");
	unsigned long pages = 0;
	int ok = 1;

	if (!f || !fgets(line, sizeof(line), f))
		return 0;
	fclose(f);
	pages = strtoul(line, 0, 10);
	as.rlim_cur = as.rlim_max = pages * 4096 + (1 << 20);
	setrlimit(RLIMIT_AS, &as);
	pthread_attr_init(&at);
	pthread_attr_setstacksize(&at, 65536);
	for (int i = 0; i < 4; i++)
		ok &= !pthread_create(&t[i], &at, work_thread, 0);
	for (int i = 0; ok && i < 4; i++)
		pthread_join(t[i], 0);
	for (int i = 0; i < 5; i++)
		ok &= in_child(simple_child);
	return ok;
}
NI static int t_aslimit(void) { HIT(); return in_child(aslimit); }

/* It lives on in the new namespace: the session must know it by its number there, and follow it to its end. */
NI static int late_child(void)
{
	HIT();
	usleep(300000);
	return simple_child();
}

NI static int pidns(void)
{
	HIT();
	work();
	if (unshare(CLONE_NEWPID | CLONE_NEWNS))
		return errno == EPERM;
	work();
	for (int i = 0; i < 1; i++)
		if (!in_child(late_child))
			return 0;
	return 1;
}
NI static int t_pidns(void) { HIT(); return in_child(pidns); }

NI static int nodump(void) { HIT(); prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); work(); return in_child(simple_child) &&
	in_child(simple_child); }
NI static int t_nodump(void) { HIT(); return in_child(nodump); }

NI static int nofds(void)
{
	HIT();
	for (int i = 0; i < 3; i++)
		close(i);
	work();
	if (!in_child(simple_child))
		return 0;
	return open("/dev/null", O_RDWR) == 0 && open("/dev/null", O_RDWR) == 1 && open("/dev/null", O_RDWR) == 2;
}
NI static int t_nofds(void) { HIT(); return in_child(nofds); }

/* -- job control and debuggers ----------------------------------------------------------------------- */
NI static int t_stopcont(void)
{
	HIT();
	int st, ok = 1;
	pid_t p = fork();

	if (!p) {
		for (int i = 0; i < 5; i++) {
			work();
			raise(SIGSTOP);
		}
		_exit(3);
	}
	for (int i = 0; i < 5; i++) {
		ok &= waitpid(p, &st, WUNTRACED) == p && WIFSTOPPED(st) && WSTOPSIG(st) == SIGSTOP;
		usleep(20000);
		kill(p, SIGCONT);
	}
	ok &= waitpid(p, &st, 0) == p && WIFEXITED(st) && WEXITSTATUS(st) == 3;
	work();
	return ok;
}

/* The program is a debugger: it steps through its child, then through the start of what that executes. */
NI static int debugger(int with_exec)
{
	HIT();
	int st, steps = 0, ok = 1;
	pid_t p = fork();

	if (!p) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		if (with_exec)
			execl("/bin/true", "true", (char *)0);
		leaf(1);
		_exit(5);
	}
	ok &= waitpid(p, &st, 0) == p && WIFSTOPPED(st) && WSTOPSIG(st) == SIGSTOP;
	if (with_exec) {
		ptrace(PTRACE_CONT, p, 0, 0);
		ok &= waitpid(p, &st, 0) == p && WIFSTOPPED(st) && WSTOPSIG(st) == SIGTRAP;
	}
	while (ok && steps < 300) {
		if (ptrace(PTRACE_SINGLESTEP, p, 0, 0))
			break;
		ok &= waitpid(p, &st, 0) == p;
		if (!WIFSTOPPED(st))
			break;
		ok &= WSTOPSIG(st) == SIGTRAP;
		steps++;
	}
	if (WIFSTOPPED(st)) {
		ptrace(PTRACE_CONT, p, 0, 0);
		ok &= waitpid(p, &st, 0) == p;
	}
	return ok && WIFEXITED(st) && WEXITSTATUS(st) == (with_exec ? 0 : 5);
}
NI static int t_debugger(void) { HIT(); return debugger(0) && debugger(1); }

/* -- rseq and membarrier ------------------------------------------------------------------------------ */
/* A per-CPU counter by critical sections of the program's own; the sum must be right. */
static struct { long n; char pad[56]; } percpu[1024];
NI static void rseq_add(void)
{
	HIT();
	struct rseq *rs = (struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset);

	for (;;) {
		unsigned cpu = *(volatile unsigned *)&rs->cpu_id_start;
		long *at = &percpu[cpu % 1024].n;

		__asm__ volatile goto(
			".pushsection __rseq_cs, \"aw\"\n"
			".balign 32\n"
			"3:	.long 0, 0\n"
			"	.quad 1f, 2f - 1f, 4f\n"
			".popsection\n"
			"	lea 3b(%%rip), %%rax\n"
			"	mov %%rax, %[cs]\n"
			"1:	cmp %[id], %[cpu]\n"
			"	jne %l[again]\n"
			"	addq $1, %[n]\n"
			"2:\n"
			".pushsection __rseq_abort, \"ax\"\n"
			"	.byte 0x0f, 0xb9, 0x3d\n"
			"	.long 0x53053053\n"
			"4:	jmp %l[again]\n"
			".popsection\n"
			: : [cs] "m" (rs->rseq_cs), [id] "m" (rs->cpu_id), [cpu] "r" (cpu), [n] "m" (*at)
			: "rax", "memory", "cc" : again);
		return;
again:		;
	}
}
NI static void *rseq_thread(void *arg) {
	HIT(); for (int i = 0; i < 20000; i++) { rseq_add(); if (!(i % 100)) leaf(i); } return arg; }
NI static int t_rseq(void)
{
	HIT();
	pthread_t t[4];
	long sum = 0;

	if (!__rseq_size)
		return 1;
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], 0, rseq_thread, 0);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], 0);
	for (int i = 0; i < 1024; i++)
		sum += percpu[i].n;
	return sum == 80000;
}
NI static int t_membarrier(void)
{
	HIT();
	pthread_t t[2];
	int ok = 1;

	/* Not registered by the program: what we registered shows in this one command only. */
	ok &= syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ, 0, 0) == -1 && errno == EPERM;
	ok &= !syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
	ok &= !syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ, 0, 0);
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], 0, rseq_thread, 0);
	for (int i = 0; i < 200; i++) {
		ok &= !syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
		ok &= !syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ, 0, 0);
		leaf(i);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
	return ok;
}

/* -- signals ---------------------------------------------------------------------------------------------- */
static volatile int nest_depth, nest_seen;
NI static void on_nested(int sig)
{
	HIT();
	int d = ++nest_depth;

	work();
	nest_seen += d == 3;
	if (d < 3)
		raise(sig);		/* SA_NODEFER: runs at once, on the same stack */
	work();
	nest_depth--;
}
NI static int t_nested_signals(void)
{
	HIT();
	stack_t ss = { .ss_sp = malloc(262144), .ss_size = 262144 };
	struct sigaction sa = { .sa_handler = on_nested, .sa_flags = SA_ONSTACK | SA_NODEFER };

	sigaltstack(&ss, 0);
	sigaction(SIGUSR1, &sa, 0);
	for (int i = 0; i < 100; i++) {
		work();
		raise(SIGUSR1);
	}
	return nest_seen == 100 && nest_depth == 0;
}

static volatile int storm_got;
static pthread_t storm[8];
static pthread_barrier_t storm_bar;
NI static void on_storm(int sig) { HIT(); (void)sig; middle(1); __atomic_fetch_add(&storm_got, 1, __ATOMIC_RELAXED); }
NI static void *storm_thread(void *arg)
{
	HIT();
	int me = (int)(intptr_t)arg;

	pthread_barrier_wait(&storm_bar);
	for (int i = 0; i < 500; i++) {
		pthread_kill(storm[(me + i) % 8], SIGUSR2);
		middle(i);
	}
	pthread_barrier_wait(&storm_bar);
	return arg;
}
NI static int t_storm(void)
{
	HIT();
	struct sigaction sa = { .sa_handler = on_storm, .sa_flags = SA_RESTART };

	sigaction(SIGUSR2, &sa, 0);
	pthread_barrier_init(&storm_bar, 0, 8);
	for (int i = 0; i < 8; i++)
		pthread_create(&storm[i], 0, storm_thread, (void *)(intptr_t)i);
	for (int i = 0; i < 8; i++)
		pthread_join(storm[i], 0);
	return storm_got > 0;
}

/* -- ends ---------------------------------------------------------------------------------------------------- */
/* Bounded: who ends it may wait long for a CPU, and what is recorded must fit the buffer if the recorder does, too. */
NI static void *busy_thread(void *arg)
{
	HIT();
	for (int i = 0; i < 3000; i++)
		work();
	for (;;)
		__asm__ volatile("" ::: "memory");
	return arg;
}
NI static int exitgroup(void)
{
	HIT();
	pthread_t t;

	for (int i = 0; i < 3; i++)
		pthread_create(&t, 0, busy_thread, 0);
	usleep(3000);
	return 1;	/* _exit() while they are inside */
}
NI static int t_exitgroup(void) {
	HIT(); int ok = 1; for (int i = 0; i < 10; i++) ok &= in_child(exitgroup); return ok; }

NI static void *exec_thread(void *arg) { HIT(); work(); execl("/bin/true", "true", (char *)0); _exit(9); return arg; }
NI static int t_execthread(void)
{
	HIT();
	int st, ok = 1;

	for (int i = 0; i < 5; i++) {
		pid_t p = fork();

		if (!p) {
			pthread_t t;

			for (int k = 0; k < 2; k++)
				pthread_create(&t, 0, busy_thread, 0);
			pthread_create(&t, 0, exec_thread, 0);
			pthread_join(t, 0);
			_exit(8);
		}
		waitpid(p, &st, 0);
		ok &= WIFEXITED(st) && WEXITSTATUS(st) == 0;
	}
	return ok;
}

NI static int t_manyforks(void)	/* slices are used again */
{
	HIT();
	int st, ok = 1;

	for (int i = 0; i < 2000; i++) {
		pid_t p = fork();

		if (!p) {
			leaf(i);
			_exit(i & 63);
		}
		waitpid(p, &st, 0);
		ok &= WIFEXITED(st) && WEXITSTATUS(st) == (i & 63);
	}
	return ok;
}

NI static int t_killexec(void)	/* a child that is killed while its new program is prepared is reaped by its parent */
{
	HIT();
	int st, ok = 1;

	for (int i = 0; i < 60; i++) {
		pid_t p = fork(), got = 0;

		if (!p) {
			execl("/bin/true", "true", (char *)NULL);
			_exit(99);
		}
		usleep((unsigned)i * 200);
		kill(p, SIGKILL);
		for (int ms = 0; ms < 60000 && !(got = waitpid(p, &st, WNOHANG)); ms++)
			usleep(1000);
		ok &= got == p;
	}
	return ok;
}

static const struct { const char *name; int (*run)(void); } cases[] = {
	{ "aslimit", t_aslimit }, { "pidns", t_pidns }, { "nodump", t_nodump }, { "nofds", t_nofds },
	{ "stopcont", t_stopcont }, { "debugger", t_debugger }, { "rseq", t_rseq }, { "membarrier", t_membarrier },
	{ "nested_signals", t_nested_signals }, { "storm", t_storm }, { "exitgroup", t_exitgroup },
	{ "execthread", t_execthread }, { "manyforks", t_manyforks }, { "killexec", t_killexec },
};

OFF int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(cases) / sizeof(*cases); i++) {
		if (!strcmp(argv[1], "--list")) {
			puts(cases[i].name);
			continue;
		}
		if (strcmp(cases[i].name, argv[1]))
			continue;
		int ok = cases[i].run();

		count_dump();
		printf("%s %s\n", argv[1], ok ? "ok" : "BAD");
		return !ok;
	}
	return argc > 1 && !strcmp(argv[1], "--list") ? 0 : 2;
}
