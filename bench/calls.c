/* SPDX-License-Identifier: MIT */
/*
 * calls.c - what one traced call costs: the same program for every tracer of the comparison
 *
 * Prints `leaf NS`, `chain NS` and `fib NS`: nanoseconds of thread CPU time per call, the plain call
 * included; leaf is throughput (independent calls), chain is a dependent chain of 12 nested calls, fib a
 * recursion. Every round makes exactly the calls that `calls N` states, so that the recording can be checked
 * to the call. `quiet NS` is a leaf call in the fastest twentieth of all pieces of bursts: what others on the
 * core touch least, if they ever leave it alone. `best NS` is a call in the fastest of those recursions that
 * all threads made at the same time and nobody interrupted, the mean of the threads; 0: there was none.
 *
 * With a pause it measures a tracer's warm buffers: the thread stays on one CPU, makes WARM calls first, and
 * rests after every hundred thousand, so that whatever reads the buffers keeps up. No rest and no warming
 * counts in any figure.
 *
 *	calls [rounds [threads [pause in ms]]]	default 1 round of about 0.97 million calls, 1 thread, no pause
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef __clang__
#define NI __attribute__((noinline))
#else
#define NI __attribute__((noinline, noclone, noipa))
#endif
#ifdef XRAY
#define FN NI __attribute__((xray_always_instrument))
#define OFF NI __attribute__((xray_never_instrument))
#else
#define FN NI
#define OFF NI __attribute__((patchable_function_entry(0), no_instrument_function))
#endif

#define LEAVES	400000
#define CHAINS	40000
#define FIB	23
#define BURST	100000		/* 1.6 MB of uft's records */
#define PIECE	5000		/* of a burst: long beside reading the time, short beside how long a neighbour stays */
#define WARM	2000000

FN long leaf(long x) { __asm__ volatile(""); return x + 1; }
FN long fib(long n)
{
	long a, b;

	if (n < 2)
		return n;
	a = fib(n - 1);
	__asm__ volatile("" : "+r"(a));		/* keeps the compiler from turning a call into a loop */
	b = fib(n - 2);
	__asm__ volatile("" : "+r"(b));
	return a + b;
}
#define LINK(a, b) FN long a(long x) { long r = b(x + 1); __asm__ volatile("" : "+r"(r)); return r + 1; }
LINK(c1, leaf) LINK(c2, c1) LINK(c3, c2) LINK(c4, c3) LINK(c5, c4) LINK(c6, c5)
LINK(c7, c6) LINK(c8, c7) LINK(c9, c8) LINK(c10, c9) LINK(c11, c10)

OFF static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

OFF static long fib_calls(long n)
{
	long a = 1, b = 1;

	for (long i = 2; i <= n; i++) {
		long c = a + b + 1;

		a = b;
		b = c;
	}
	return b;
}

struct result { double leaf, chain, fib, from, to, piece[LEAVES / PIECE]; };

static int rounds = 1, pause_ms, threads = 1, arrived;

OFF static void rest(void)
{
	struct timespec t = { pause_ms / 1000, pause_ms % 1000 * 1000000l };

	if (pause_ms)
		nanosleep(&t, 0);
}

/* Nanoseconds of n calls, in bursts; a call's in each piece of one to @piece, if somebody wants to know. */
OFF static double leaves(long n, double *piece)
{
	double sum = 0, before, t;
	long s = 0;

	for (long done = 0; done < n;) {
		before = now();
		for (long i = 0; i < PIECE; i++)
			s += leaf(i);
		t = now() - before;
		if (piece)
			piece[done / PIECE] = t / PIECE;
		sum += t;
		done += PIECE;
		if (done % BURST == 0)
			rest();
	}
	__asm__ volatile("" : : "r"(s));
	return sum;
}

OFF static double chains(long n)
{
	const long burst = BURST / 12;
	double sum = 0, t;
	long s = 0;

	for (long left = n; left > 0; left -= burst) {
		t = now();
		for (long i = 0; i < (left < burst ? left : burst); i++)
			s = c11(s);
		sum += now() - t;
		rest();
	}
	__asm__ volatile("" : : "r"(s));
	return sum;
}

OFF static double wall(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Until all threads are there. */
OFF static void meet(int round)
{
	__atomic_add_fetch(&arrived, 1, __ATOMIC_ACQ_REL);
	while (__atomic_load_n(&arrived, __ATOMIC_ACQUIRE) < (round + 1) * threads)
		sched_yield();
}

OFF static void round_once(struct result *r, int round)
{
	double t;
	long s;

	r->leaf = leaves(LEAVES, r->piece) / LEAVES;
	r->chain = chains(CHAINS) / (CHAINS * 12);
	meet(round);
	r->from = wall();
	t = now();
	s = fib(FIB);
	t = now() - t;
	r->to = wall();
	r->fib = t / (double)fib_calls(FIB);
	__asm__ volatile("" : : "r"(s));
	rest();
}

OFF static void warm(void)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	leaves(WARM, 0);
}

OFF static void *run(void *arg)
{
	if (pause_ms)
		warm();
	for (int i = 0; i < rounds; i++)
		round_once((struct result *)arg + i, i);
	return 0;
}

OFF static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

OFF static double median(const struct result *r, int n, int which)
{
	double *v = malloc((size_t)n * sizeof(*v)), m;

	for (int i = 0; i < n; i++)
		v[i] = which == 0 ? r[i].leaf : which == 1 ? r[i].chain : r[i].fib;
	qsort(v, (size_t)n, sizeof(*v), by_value);
	m = v[n / 2];
	free(v);
	return m;
}

/* The fastest twentieth of all pieces. */
OFF static double quiet(const struct result *r, int n)
{
	const size_t each = LEAVES / PIECE, all = (size_t)n * each;
	double *v = malloc(all * sizeof(*v)), q;

	for (int i = 0; i < n; i++)
		memcpy(v + (size_t)i * each, r[i].piece, sizeof(r[i].piece));
	qsort(v, all, sizeof(*v), by_value);
	q = v[all / 20];
	free(v);
	return q;
}

/* A call in round @i of @r, which has all rounds of a thread in a row; 0: not all of them ran all the while. */
OFF static double together(const struct result *r, int i)
{
	double first = r[i].from, last = r[i].to, sum = 0;

	for (int t = 0; t < threads; t++) {
		const struct result *o = r + t * rounds + i;

		first = o->from < first ? o->from : first;
		last = o->to > last ? o->to : last;
		sum += o->fib;
	}
	return last - first < 1.25 * sum / threads * (double)fib_calls(FIB) ? sum / threads : 0;
}

OFF static double best(const struct result *r)
{
	double least = 0;

	for (int i = 0; i < rounds; i++) {
		double ns = together(r, i);

		if (ns > 0 && (!least || ns < least))
			least = ns;
	}
	return least;
}

#ifdef XRAY	/* XRay's flight data recorder writes nothing unless the program asks it to */
int __xray_log_select_mode(const char *mode), __xray_log_init_mode(const char *mode, const char *config);
int __xray_log_finalize(void), __xray_log_flushLog(void), __xray_patch(void), __xray_unpatch(void);
#endif

OFF int main(int argc, char **argv)
{
#ifdef XRAY
	const char *mode = getenv("XRAY_MODE");

	if (mode) {
		__xray_log_select_mode(mode);
		__xray_log_init_mode(mode, "buffer_size=16777216:buffer_max=64:no_file_flush=false");
		__xray_patch();
	}
#endif
	threads = argc > 2 ? atoi(argv[2]) : 1;
	rounds = argc > 1 ? atoi(argv[1]) : 1;
	pause_ms = argc > 3 ? atoi(argv[3]) : 0;
	if (pause_ms < 0 || rounds < 1 || threads < 1 || threads > 64)
		return 2;
	struct result *r = calloc((size_t)(rounds * threads), sizeof(*r));
	pthread_t t[64];
	struct timespec a, b;

	clock_gettime(CLOCK_MONOTONIC, &a);
	for (int i = 1; i < threads; i++)
		pthread_create(&t[i], 0, run, r + i * rounds);
	run(r);
	for (int i = 1; i < threads; i++)
		pthread_join(t[i], 0);
	clock_gettime(CLOCK_MONOTONIC, &b);
	printf("leaf %.2f\nchain %.2f\nfib %.2f\n", median(r, rounds * threads, 0), median(r, rounds * threads, 1),
	       median(r, rounds * threads, 2));
	printf("quiet %.2f\nbest %.3f\n", quiet(r, rounds * threads), best(r));
	printf("wall_ns %.0f\ncalls %ld\n", (double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec),
	       threads * (rounds * (LEAVES + CHAINS * 12 + fib_calls(FIB)) + (pause_ms ? WARM : 0)));
#ifdef XRAY
	if (mode) {
		__xray_unpatch();
		__xray_log_finalize();
		__xray_log_flushLog();
	}
#endif
	return 0;
}
