// SPDX-License-Identifier: MIT
/*
 * storm.c - threads on all CPUs under a signal storm: exact counts, nothing lost
 *
 *	storm [function|graph|exchange|sections|mixed|births] [seconds [pause]]
 *
 * Four threads call as fast as they can while a timer per thread sends a signal about 10,000 times a second, or each time so
 * many microseconds after its handler has done (then rounds are shorter, too); the handler is traced and runs on a signal stack, below or above the thread's
 * own. Of births each thread calls a few times and gets its one signal about its first event, which makes its state. Where fast paths write rings of threads, sections are the rings of CPUs alone, and mixed both: half of the threads have one of their own. Between rounds of 20 ms the rings are decoded and compared with what the bodies counted.
 */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "runtime/arch/arch.h"
#include "tests/unit/ring/lab.h"

enum { LEAF, MID, DEEP, HANDLER, NSITES };
#define NTHREADS 4
#define SIGNAL_HZ 10000
#define CALLS_A_ROUND 20000
#define MIN_HANDLED 100		/* however long that takes */

static __thread uint64_t bodies[NSITES];
static __thread timer_t my_timer;
static long pause_us;		/* 0: the timers run by themselves. A slow machine would do nothing but handle them */

LAB_SITE long leaf(long x);
LAB_SITE long leaf(long x)
{
	bodies[LEAF]++;
	return x + 1;
}

LAB_SITE long mid(long x);
LAB_SITE long mid(long x)
{
	bodies[MID]++;
	return leaf(x) + leaf(x);
}

LAB_SITE long deep(long n);
LAB_SITE long deep(long n)
{
	long r;

	bodies[DEEP]++;
	r = n ? deep(n - 1) : mid(1);
	__asm__ volatile("" : "+r"(r));
	return r;
}

LAB_SITE void handler(int sig);
LAB_SITE void handler(int sig)
{
	bodies[HANDLER]++;
	mid(sig);
	if (pause_us)
		timer_settime(my_timer, 0, &(struct itimerspec){ .it_value.tv_nsec = pause_us * 1000 }, NULL);
	__asm__ volatile("");
}

static struct worker {
	pthread_t thread;
	uint32_t tid;
	int above;		/* its signal stack lies above its stack */
	uint64_t bodies[NSITES];
	char stack[1 << 20];
	char signal_stack[65536];
} *workers;
static pthread_barrier_t start_line, finish_line;
static volatile int stop;
/* where threads have some: rings of threads whose last record a fast path wrote, over all rounds */
static uint64_t own_fast;

static void start_storm(struct worker *w)
{
	struct sigevent se = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1 };
	struct itimerspec its = { .it_interval.tv_nsec = pause_us ? 0 : 1000000000 / SIGNAL_HZ,
		.it_value.tv_nsec = 100000 };
	stack_t ss = { .ss_sp = w->above ? w->signal_stack : workers[0].stack, .ss_size = 65536 };

	CHECK(!sigaltstack(&ss, NULL));
	se._sigev_un._tid = (int)w->tid;
	CHECK(!timer_create(CLOCK_MONOTONIC, &se, &my_timer));
	CHECK(!timer_settime(my_timer, 0, &its, NULL));
}

static void *work(void *arg)
{
	struct worker *w = arg;
	sigset_t usr1;

	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &usr1, NULL);
	w->tid = (uint32_t)syscall(SYS_gettid);
	start_storm(w);
	for (;;) {
		pthread_barrier_wait(&start_line);
		if (stop)
			break;
		memset(bodies, 0, sizeof(bodies));
		pthread_sigmask(SIG_UNBLOCK, &usr1, NULL);
		for (long i = 0; i < CALLS_A_ROUND / (pause_us ? 40 : 4); i++) {
			leaf(i);
			mid(i);
			if (i % 100 == 0)
				deep(50);
		}
		pthread_sigmask(SIG_BLOCK, &usr1, NULL);
		memcpy(w->bodies, bodies, sizeof(bodies));
		pthread_barrier_wait(&finish_line);
	}
	return NULL;
}

/* The clock of a ring's last record. */
static uint64_t last_in(const struct lab_events *ev, uint32_t ring)
{
	uint64_t clock = 0;

	for (size_t i = 0; i < ev->n; i++)
		if (ev->e[i].ring == ring)
			clock = ev->e[i].clock;
	return clock;
}

static uint64_t by_sections;	/* bytes in rings of CPUs, over all rounds */

static void check_round(enum lab_state state, int exchange, int sections)
{
	struct lab_events *ev = lab_decode();

	CHECK_EQ(ev->damaged, 0);
	CHECK_EQ(ev->backwards, 0);
	CHECK_EQ(ev->lost_counted, 0);
	for (int i = 0; i < NTHREADS; i++) {
		struct lab_replay r;

		for (uint32_t k = 0; k < NSITES && state == LAB_FUNCTION; k++)
			CHECK_EQ(lab_count(ev, workers[i].tid, UFT_REC_FUNC, lab_text_id(k)), workers[i].bodies[k]);
		if (state == LAB_FUNCTION)
			continue;
		CHECK_REPLAY(ev, workers[i].tid, &r);
		CHECK_EQ(r.open, 0);
		for (int k = 0; k < NSITES; k++) {
			CHECK_EQ(r.entered[k], workers[i].bodies[k]);
			CHECK_EQ(r.calls[k], workers[i].bodies[k]);
		}
	}
	for (int i = 0; i < UFT_NCOUNTERS; i++)
		CHECK_EQ(lab_counter(i), 0);
	/* Each kind of ring by its kind of writer only. */
	for (uint32_t i = 0; i < uft_rt.arena->ncpus + uft_rt.arena->nexch; i++) {
		const struct uft_ring *r = lab_ring(0, i);

		if (i < uft_rt.arena->ncpus)
			by_sections += r->commit;
		if (!sections && (exchange || ARCH_HAS_OWN) == (i < uft_rt.arena->ncpus))
			CHECK_EQ(r->commit, 0);
		if (ARCH_HAS_OWN && exchange)
			CHECK_EQ(r->owner, 0);
		own_fast += r->owner && ev->n && r->last < last_in(ev, i);
	}
	lab_free(ev);
}

/*
 * The stacks lie in one array, each thread's signal stack above its stack. Thread 0 runs on a stack of libc's: its place
 * in the array is the signal stack, below its own, of thread 2.
 */
static void start_workers(void)
{
	workers = mmap(NULL, NTHREADS * sizeof(*workers), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(workers != MAP_FAILED);
	pthread_barrier_init(&start_line, NULL, NTHREADS + 1);
	pthread_barrier_init(&finish_line, NULL, NTHREADS + 1);
	for (int i = 0; i < NTHREADS; i++) {
		pthread_attr_t a;

		workers[i].above = i != 2;
		pthread_attr_init(&a);
		if (i)
			pthread_attr_setstack(&a, workers[i].stack, sizeof(workers[i].stack));
		CHECK(!pthread_create(&workers[i].thread, &a, work, &workers[i]));
	}
}

static void *be_born(void *arg)
{
	struct worker *w = arg;
	sigset_t usr1;

	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	w->tid = (uint32_t)syscall(SYS_gettid);
	CHECK(!timer_create(CLOCK_MONOTONIC,
		&(struct sigevent){ .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1,
		._sigev_un._tid = (int)w->tid },
			    &my_timer));
	CHECK(!timer_settime(my_timer, 0, &(struct itimerspec){ .it_value.tv_nsec = 2000 + random() % 8000 }, NULL));
	for (volatile long wait = random() % 8000; wait > 0; wait--)
		;
	for (int i = 0; i < 600; i++)	/* the later ones in a sub-buffer of their own */
		mid(i);
	pthread_sigmask(SIG_BLOCK, &usr1, NULL);
	timer_delete(my_timer);
	return NULL;
}

#define BIRTHS_MAX 20000
#define BIRTH_STACK (64ul << 10)

/* Each has a stack, and so a thread pointer, that no thread had before. */
static int births(int seconds)
{
	time_t end = time(NULL) + seconds;
	char *stacks = mmap(NULL, BIRTHS_MAX * BIRTH_STACK, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	pthread_attr_t a;
	struct worker w;
	int n = 0;

	CHECK(stacks != MAP_FAILED && !pthread_attr_init(&a));
	for (; n < BIRTHS_MAX && (time(NULL) < end || n < 100); n++) {
		struct lab_events *ev;
		struct lab_replay r;

		lab_clear();
		CHECK(!pthread_attr_setstack(&a, stacks + n * BIRTH_STACK, BIRTH_STACK));
		CHECK(!pthread_create(&w.thread, &a, be_born, &w));
		pthread_join(w.thread, NULL);
		madvise(stacks + n * BIRTH_STACK, BIRTH_STACK, MADV_DONTNEED);
		ev = lab_decode();
		CHECK_REPLAY(ev, w.tid, &r);
		CHECK_EQ(r.open, 0);
		CHECK_EQ(r.back[LEAF] + r.back[MID], 0);
		lab_free(ev);
	}
	printf("%d births, all of one state\n", n);
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "graph";
	int exchange = !strcmp(what, "exchange"), alone = !strcmp(what, "sections"), mixed = !strcmp(what, "mixed"),
	    seconds = argc > 2 ? atoi(argv[2]) : 3;
	enum lab_state state = strcmp(what, "function") ? LAB_GRAPH : LAB_FUNCTION;
	struct lab_config c = { .ring_bytes = 16 << 20, .no_rseq = exchange, .no_own = alone, .nexch = mixed ? 4 : 8 };
	struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_ONSTACK | SA_RESTART };
	uint64_t handled = 0, calls = 0;
	int rounds = 0;
	time_t end = time(NULL) + seconds;

	pause_us = argc > 3 ? atol(argv[3]) : 0;
	lab_init(&c);
	lab_arm(leaf, LEAF, state, 0);
	lab_arm(mid, MID, state, 0);
	lab_arm(deep, DEEP, state, 0);
	lab_arm(handler, HANDLER, state, 0);
	lab_params(state == LAB_FUNCTION ? UFT_TRACER_FUNCTION : UFT_TRACER_GRAPH);
	CHECK(!sigaction(SIGUSR1, &sa, NULL));
	if (!strcmp(what, "births"))
		return births(seconds);
	start_workers();
	for (; time(NULL) < end || handled <= MIN_HANDLED; rounds++) {
		lab_clear();
		pthread_barrier_wait(&start_line);
		pthread_barrier_wait(&finish_line);
		check_round(state, exchange, alone || mixed);
		for (int i = 0; i < NTHREADS; i++) {
			handled += workers[i].bodies[HANDLER];
			for (int k = 0; k < NSITES; k++)
				calls += workers[i].bodies[k];
		}
	}
	stop = 1;
	pthread_barrier_wait(&start_line);
	for (int i = 0; i < NTHREADS; i++)
		pthread_join(workers[i].thread, NULL);
	printf("%s: %d rounds, %lu calls, %lu signals handled, all recorded\n", what, rounds, calls, handled);
	CHECK(!ARCH_HAS_OWN || exchange || alone || own_fast);
	CHECK(!(alone || mixed) || by_sections);
	return 0;
}
