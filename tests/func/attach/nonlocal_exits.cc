/* SPDX-License-Identifier: MIT */
/*
 * nonlocal_exits.cc - for nonlocal_exits.py: what leaves a function by other ways than its return, a turn of all of it for each byte of input
 *
 * Coroutines that any thread resumes, threads that are cancelled and that exit in the middle, longjmp, exceptions through
 * frames that are traced and others that are not (bare_*), a walk of the stack. Some coroutines outlive a turn: each is
 * resumed in the next one, inside frames that were entered before tracing began or ended, by a thread that did not enter
 * them; so is one that was switched away from inside a signal handler on a stack of its own. Each turn prints what came out
 * and the calls of each function that it counted, all of which are the same every time.
 */
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <execinfo.h>
#include <pthread.h>
#include <stdexcept>
#include <ucontext.h>
#include <unistd.h>

#define NI extern "C" __attribute__((noinline, noclone, noipa))
#define NFIBRES	8
#define STACK	(64 << 10)
#define COUNTED(X) X(leaf) X(work) X(fibre_step) X(fibre_outer) X(on_signal) X(signalled) X(thrower) X(bare_middle) X(catcher) \
	X(rethrower) X(jumper) X(exit_inner) X(exit_outer) X(endless) X(cancel_outer) X(walker) X(mixed)

enum {
#define X(name) N_##name,
	COUNTED(X)
#undef X
	N_ALL
};
static const char *const names[] = {
#define X(name) #name,
	COUNTED(X)
#undef X
};
static unsigned long calls[N_ALL];
static volatile long sink;
#define HIT(name) __atomic_fetch_add(&calls[N_##name], 1, __ATOMIC_RELAXED)

NI long leaf(long n) { HIT(leaf); sink += n; return n + 1; }
NI long work(long n) { HIT(work); long r = leaf(n); sink++; return leaf(r) + 1; }

static void in_thread(void *(*fn)(void *), void *arg)
{
	pthread_t t;

	pthread_create(&t, nullptr, fn, arg);
	pthread_join(t, nullptr);
}

/* ---- Coroutines ------------------------------------------------------------------------------------- */

struct fibre {
	ucontext_t self, back;
	char *stack;
	long sum;
};
static fibre fibres[NFIBRES + 1];

NI void fibre_switch(fibre *f) { swapcontext(&f->self, &f->back); sink++; }
NI long fibre_step(fibre *f, long n)
{
	HIT(fibre_step);
	long r = n ? fibre_step(f, n - 1) : (fibre_switch(f), 1);
	sink++;
	return r + 1;
}
/* setcontext() in place of returning, every third time. */
NI long fibre_outer(fibre *f, long n)
{
	static thread_local ucontext_t again;
	volatile int round = 0;

	HIT(fibre_outer);
	getcontext(&again);
	if (n % 3 == 0 && round++ == 0)
		setcontext(&again);
	return fibre_step(f, n) + work(n);
}
static void fibre_body(int i)
{
	for (long n = 0;; n = (n + 1) % 6)
		fibres[i].sum += fibre_outer(&fibres[i], n);
}
static void *resume(void *arg)
{
	fibre *f = (fibre *)arg;

	swapcontext(&f->back, &f->self);
	return nullptr;
}

/* ---- One that waits in a signal handler, on the alternate stack -------------------------------------- */

static char handler_stack[STACK];

NI void on_signal(int)
{
	HIT(on_signal);
	fibre *f = &fibres[NFIBRES];
	f->sum += work(1);
	fibre_switch(f);
	f->sum += work(2);
}
NI long signalled(long n) { HIT(signalled); raise(SIGUSR1); sink++; return leaf(n); }
static void signal_body()
{
	stack_t on = {}, old;

	for (;;) {
		on.ss_sp = handler_stack;
		on.ss_size = sizeof(handler_stack);
		sigaltstack(&on, &old);
		fibres[NFIBRES].sum += signalled(3);
		fibre_switch(&fibres[NFIBRES]);
	}
}

static void begin(fibre *f, void (*fn)(), int i)
{
	f->stack = (char *)malloc(STACK);
	getcontext(&f->self);
	f->self.uc_stack.ss_sp = f->stack;
	f->self.uc_stack.ss_size = STACK;
	makecontext(&f->self, fn, 1, i);
	resume(f);
	f->sum = 0;
}

/* ---- Exceptions, jumps, ends of threads --------------------------------------------------------------- */

struct guard {
	long *n;
	~guard() { ++*n; leaf(0); }
};
NI long thrower(long n, long *cleaned) { HIT(thrower); guard g{ cleaned }; if (!n) throw std::runtime_error("x"); return leaf(n); }
NI long bare_middle(long n, long *cleaned)
{
	HIT(bare_middle);
	guard g{ cleaned };
	long r = n > 3 ? bare_middle(n - 1, cleaned) : thrower(0, cleaned);
	sink++;
	return r;
}
NI long mixed(long n, long *cleaned) { HIT(mixed); guard g{ cleaned }; long r = bare_middle(n, cleaned); sink++; return r; }
NI long rethrower(long n, long *cleaned)
{
	HIT(rethrower);
	try { return mixed(n, cleaned) + 1; } catch (...) { work(1); throw; }
}
NI long catcher(long n)
{
	long cleaned = 0;

	HIT(catcher);
	try { rethrower(n, &cleaned); } catch (const std::exception &) { return cleaned + work(2); }
	return -1;
}

static thread_local jmp_buf target;
NI long jumper(long n) { HIT(jumper); if (!n) longjmp(target, 7); long r = jumper(n - 1); sink++; return r; }
static long jump(long n)
{
	int got = setjmp(target);

	return got ? got : jumper(n);
}

static long ended;
NI void exit_inner() { HIT(exit_inner); leaf(1); pthread_exit(nullptr); }
NI void exit_outer() { HIT(exit_outer); guard g{ &ended }; exit_inner(); sink++; }
static void *exit_thread(void *) { exit_outer(); return nullptr; }

static volatile int is_there;
NI void endless() { HIT(endless); is_there = 1; for (;;) pause(); }
NI void cancel_outer() { HIT(cancel_outer); guard g{ &ended }; endless(); sink++; }
static void *cancel_thread(void *) { cancel_outer(); return nullptr; }
static void cancel()
{
	pthread_t t;

	is_there = 0;
	pthread_create(&t, nullptr, cancel_thread, nullptr);
	while (!is_there)
		usleep(100);
	pthread_cancel(t);
	pthread_join(t, nullptr);
}

NI int walker(long n, void **at) { HIT(walker); int r = n ? walker(n - 1, at) : backtrace(at, 60); sink++; return r; }
static int walk()
{
	void *at[60];
	int n = walker(9, at), own = 0;

	for (int i = 0; i < n; i++)
		own += (char *)at[i] > (char *)walker && (char *)at[i] < (char *)walker + 150;
	return n * 100 + own;
}

/* All of it once, in a thread of its own. */
static void *all(void *)
{
	long sum = 0;

	for (int i = 0; i < 20; i++)
		sum += catcher(3 + i % 5) + jump(i);
	for (int i = 0; i < 5; i++) {
		in_thread(exit_thread, nullptr);
		cancel();
	}
	printf("sum %ld, ended %ld, frames %d\n", sum, ended, walk());
	return nullptr;
}

static void turn()
{
	memset(calls, 0, sizeof(calls));
	ended = 0;
	/* As often as each has different depths, so that a turn ends where it began: in the middle. */
	for (int k = 0; k < 6 * NFIBRES; k++)
		in_thread(resume, &fibres[k % NFIBRES]);
	/* Once out of the handler, once into it again, in one thread: it is the one whose alternate stack it is. */
	for (int k = 0; k < 2; k++)
		in_thread(resume, &fibres[NFIBRES]);
	in_thread(all, nullptr);
	for (fibre &f : fibres) {
		printf("%ld ", f.sum);
		f.sum = 0;
	}
	printf("\n");
	for (int i = 0; i < N_ALL; i++)
		printf("calls %s %lu\n", names[i], calls[i]);
	printf("end of turn\n");
	fflush(stdout);
}

int main()
{
	struct sigaction sa = {};
	void *one[1];
	char c;

	backtrace(one, 1);
	sa.sa_handler = on_signal;
	sa.sa_flags = SA_ONSTACK | SA_NODEFER;
	sigaction(SIGUSR1, &sa, nullptr);
	for (int i = 0; i < NFIBRES; i++)
		begin(&fibres[i], (void (*)())fibre_body, i);
	begin(&fibres[NFIBRES], signal_body, 0);
	printf("ready\n");
	fflush(stdout);
	while (read(0, &c, 1) == 1)
		turn();
	printf("done\n");
}
