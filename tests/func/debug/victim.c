/* SPDX-License-Identifier: MIT */
/*
 * victim.c - for watchdog.sh: damages what uft has put into it, or faults by itself; `victim CASE`
 *
 * Untraced there is nothing to damage and each case prints the same. A site that is armed for function_graph begins
 * with a jump to its stub: that is how a stub is found.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

static volatile long sink, handled;
static sigjmp_buf back;

__attribute__((noinline)) static long leaf(long n)
{
	sink++;
	return n + 1;
}

static const uint8_t ud2[] = { 0x0f, 0x0b }, int3[] = { 0xcc };

static void write_code(uint8_t *at, const void *bytes, size_t n)
{
	int fd = open("/proc/self/mem", O_RDWR);

	if (pwrite(fd, bytes, n, (off_t)(uintptr_t)at) != (ssize_t)n)
		abort();
	close(fd);
}

static uint8_t *entry_of(long (*fn)(long))
{
	uint8_t *p = (uint8_t *)fn;

	return memcmp(p, "\xf3\x0f\x1e\xfa", 4) ? p : p + 4;
}

/* NULL: not traced. */
static uint8_t *stub_of(long (*fn)(long))
{
	uint8_t *p = entry_of(fn);
	int32_t rel;

	if (*p != 0xe9)
		return NULL;
	memcpy(&rel, p + 1, 4);
	return p + 5 + rel;
}

static void damage_stub(long (*fn)(long), int offset)
{
	uint8_t *stub = stub_of(fn);

	if (stub)
		write_code(stub + offset, ud2, sizeof(ud2));
}

static void say_result(long n)
{
	printf("%ld, %ld calls, %ld signals\n", n, sink, handled);
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	(void)sig, (void)info;
	__atomic_fetch_add(&handled, 1, __ATOMIC_RELAXED);
	uc->uc_mcontext.gregs[REG_RIP] += 2;	/* over the ud2, or what stands for it */
}

static void on_jump(int sig)
{
	(void)sig;
	handled++;
	siglongjmp(back, 1);
}

static void catch(int sig)
{
	struct sigaction sa = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };

	sigaction(sig, &sa, NULL);
}

static void t_stub(int offset)
{
	long n = 0;

	catch(SIGILL);
	for (int i = 0; i < 5; i++)
		n = leaf(n);
	damage_stub(leaf, offset);
	for (int i = 0; i < 5; i++)
		n = leaf(n);
	say_result(n);
}

__attribute__((noinline)) static long outer(long n)
{
	n = leaf(n);
	damage_stub(outer, 10);		/* while we are to return through it */
	return leaf(n);
}

static void t_return(void)
{
	catch(SIGILL);
	say_result(outer(0));
	say_result(outer(0));
}

static void t_site(const uint8_t *bytes, size_t len)
{
	long n = leaf(0);

	if (stub_of(leaf))
		write_code(entry_of(leaf), bytes, len);
	n = leaf(n);
	say_result(leaf(n));
}

/* In unprepared code the jump leads to a slot behind the moved instructions. */
static void t_moved(void)
{
	long n;

	catch(SIGILL);
	n = leaf(0);
	damage_stub(leaf, -88);
	say_result(leaf(leaf(n)));
}

__attribute__((noinline)) static long look_at(long *p)
{
	long n = *p;	/* moved, if the function is traced */

	sink += n;
	return n;
}

static volatile long where;

static void on_null(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	(void)sig, (void)info;
	handled++;
	where = uc->uc_mcontext.gregs[REG_RIP] - (long)look_at;
	siglongjmp(back, 1);
}

/* Programs like Go's and Java's look at the address of a fault. */
static void look_at_bad(int sig, long *bad)
{
	struct sigaction sa = { .sa_sigaction = on_null, .sa_flags = SA_SIGINFO };
	long one = 1;

	sigaction(sig, &sa, NULL);
	for (int i = 0; i < 3; i++)
		if (!sigsetjmp(back, 1))
			look_at(i == 1 ? &one : bad);
	say_result(where);
}

static void t_null(void)
{
	look_at_bad(SIGSEGV, NULL);
}

/* A page of a file that ends before it. */
static void t_bus(void)
{
	FILE *f = tmpfile();
	void *p = f ? mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(f), 0) : MAP_FAILED;

	if (p != MAP_FAILED)
		look_at_bad(SIGBUS, p);
}

/* Into our data, which nobody may execute. */
static void t_stray(void)
{
	uint8_t *stub = stub_of(leaf);
	void (*stray)(void) = (void (*)(void))(stub ? (uint8_t *)((uintptr_t)stub & ~4095ul) - 2 * 4096 : NULL);

	leaf(0);
	puts("jumping");
	fflush(stdout);
	stray();
}

static void *many_faults(void *arg)
{
	for (int i = 0; i < 300; i++)
		__asm__ volatile("ud2");
	return arg;
}

/* Faults of its own, in the program's ways. */
static void t_own(void)
{
	pthread_t t[3];

	catch(SIGILL);
	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, many_faults, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	say_result(handled == 900 ? leaf(0) : -1);
	signal(SIGSEGV, on_jump);
	for (int i = 0; i < 100; i++)
		if (!sigsetjmp(back, 1))
			*(volatile int *)(long)i = leaf(i);
	signal(SIGTRAP, on_jump);
	for (int i = 0; i < 100; i++)
		if (!sigsetjmp(back, 1))
			__asm__ volatile("int3");
	if (!sigsetjmp(back, 1))
		raise(SIGTRAP);
	say_result(0);
}

static void t_crash(void)
{
	leaf(0);
	puts("crashing");
	fflush(stdout);
	*(volatile int *)8 = 1;
}

static void *hurt_thread(void *arg)
{
	damage_stub(leaf, 0);
	*(long *)arg = leaf(leaf(0));
	return NULL;
}

static void t_thread(void)
{
	pthread_t t;
	long n;

	for (int i = 0; i < 20; i++) {
		pthread_create(&t, NULL, hurt_thread, &n);
		pthread_join(t, NULL);
	}
	say_result(n);
}

static void t_child(void)
{
	int status;

	if (fork() == 0) {
		leaf(0);
		usleep(400000);		/* until the session knows it */
		damage_stub(leaf, 10);
		_exit((int)leaf(leaf(0)));
	}
	wait(&status);
	say_result(leaf(WEXITSTATUS(status)));
}

static void t_exec(void)
{
	char path[] = "/proc/self/exe", name[] = "stub0";
	char *argv[] = { path, name, NULL };

	leaf(0);
	execv(path, argv);
}

/* Signals that the program ignores must not show: epoll_wait() is not restarted by the kernel. */
static void t_eintr(void)
{
	struct epoll_event ev;
	int fd = epoll_create1(0), n = 0;

	signal(SIGUSR1, SIG_IGN);
	if (fork() == 0) {
		for (int i = 0; i < 200; i++) {
			kill(getppid(), i & 1 ? SIGUSR1 : SIGWINCH);
			usleep(1000);
		}
		_exit(0);
	}
	for (int i = 0; i < 6; i++)
		n += epoll_wait(fd, &ev, 1, 50) < 0;
	while (waitpid(-1, NULL, WNOHANG) == 0)
		n += epoll_wait(fd, &ev, 1, 50) < 0;
	say_result(leaf(n));
}

static void t_stop(void)
{
	pid_t pid = fork();
	int status, seen = 0;

	if (!pid)
		for (;;)
			leaf(0), usleep(1000);
	usleep(400000);
	kill(pid, SIGSTOP);
	seen += waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status);
	kill(pid, SIGCONT);
	seen += waitpid(pid, &status, WCONTINUED) == pid && WIFCONTINUED(status);
	kill(pid, SIGTERM);
	seen += waitpid(pid, &status, 0) == pid && WIFSIGNALED(status);
	say_result(leaf(seen));
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";

	usleep(argc > 2 ? 0 : 100000);
	if (!strncmp(name, "stub", 4))
		t_stub(atoi(name + 4));
	else if (!strcmp(name, "return"))
		t_return();
	else if (!strcmp(name, "site-ud2"))
		t_site(ud2, sizeof(ud2));
	else if (!strcmp(name, "site-int3"))
		t_site(int3, sizeof(int3));
	else if (!strcmp(name, "moved"))
		t_moved();
	else if (!strcmp(name, "null"))
		t_null();
	else if (!strcmp(name, "bus"))
		t_bus();
	else if (!strcmp(name, "stray"))
		t_stray();
	else if (!strcmp(name, "own"))
		t_own();
	else if (!strcmp(name, "crash"))
		t_crash();
	else if (!strcmp(name, "thread"))
		t_thread();
	else if (!strcmp(name, "child"))
		t_child();
	else if (!strcmp(name, "exec"))
		t_exec();
	else if (!strcmp(name, "eintr"))
		t_eintr();
	else if (!strcmp(name, "stop"))
		t_stop();
	else
		return 2;
	return 5;
}
