// SPDX-License-Identifier: MIT
/*
 * grow.c - rings that grow, written by threads on all CPUs under signals and read by one that is late at random
 *
 *	grow [sections|exchange] [seconds]
 *
 * Four threads write numbered records while a timer of each sends signals, whose handler writes as well. The reader takes
 * rings apart by what abi.h says to readers (uft_ring_run()), and stops until a random part of the ring is unread or something was lost.
 * Each record must come exactly once or be counted as lost, each sub-buffer's header must say where it is, and a ring must have
 * grown, gone on behind what was unread, and come back.
 */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "runtime/platform/platform.h"
#include "runtime/ring/ring.h"
#include "tests/unit/ring/lab.h"

#define NTHREADS	4
#define RING		(256u << 10)
#define USUAL		(32u << 10)
#define SUB		4096u
#define NUMBERS		(1u << 24)	/* of records of a thread, at most */

static struct writer {
	pthread_t thread;
	uint32_t tid;
	uint64_t next, lost, none;
	uint8_t *seen;		/* by number; the reader's */
} writers[NTHREADS];
static __thread struct writer *me;
static volatile int stop;
static int use_rseq;
static uint64_t taken, skips, gaps, farthest;

static void put(void)
{
	/* the handler comes in between */
	uint64_t number = __atomic_fetch_add(&me->next, 1, __ATOMIC_RELAXED), mask = 0;
	struct ring_op op = { .word0 = UFT_REC_WORD(UFT_REC_FUNC, 1, 0), .word1 = number, .bytes = 16,
		.pid = (uint32_t)getpid(), .tid = me->tid };
	int ret;

	CHECK(number < NUMBERS);
	if (!use_rseq)
		plat_signals_block(&mask);
	ret = ring_write(&op, use_rseq);
	if (!use_rseq)
		plat_signals_restore(&mask);
	CHECK(ret == RING_WRITTEN || ret == RING_LOST || ret == RING_NONE);
	__atomic_fetch_add(&me->lost, ret == RING_LOST, __ATOMIC_RELAXED);
	__atomic_fetch_add(&me->none, ret == RING_NONE, __ATOMIC_RELAXED);
}

static void handler(int sig)
{
	(void)sig;
	for (int i = 0; i < 5; i++)
		put();
}

static void *work(void *arg)
{
	struct sigevent se = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1 };
	struct itimerspec its = { .it_interval.tv_nsec = 100000, .it_value.tv_nsec = 100000 };
	timer_t timer;

	me = arg;
	me->tid = (uint32_t)syscall(SYS_gettid);
	se._sigev_un._tid = (int)me->tid;
	CHECK(!timer_create(CLOCK_MONOTONIC, &se, &timer));
	CHECK(!timer_settime(timer, 0, &its, NULL));
	while (!stop && me->next < NUMBERS / 2)
		put();
	CHECK(!timer_delete(timer));
	return NULL;
}

/* ---- The reader --------------------------------------------------------------------------- */

static struct uft_ring_run run_of(const struct uft_ring *r, uint64_t at, uint64_t commit)
{
	const struct uft_ring_turn *t = uft_ring_turn(r, at, RING);
	struct uft_ring_turn turn = { .gap = uft_load(&t->gap), .gap_to = uft_load(&t->gap_to),
		.skip = uft_load(&t->skip) };

	return uft_ring_run(at, commit, turn, RING);
}

static void take_record(uint32_t tid, uint64_t number)
{
	for (int i = 0; i < NTHREADS; i++)
		if (writers[i].tid == tid) {
			CHECK(number < NUMBERS);
			CHECK_EQ(writers[i].seen[number], 0);
			writers[i].seen[number] = 1;
			taken++;
			return;
		}
	CHECK(!"a record of nobody");
}

/* One ring; returns how much was unread. @tid: its context so far. */
static uint64_t take(struct uft_ring *r, uint32_t *tid)
{
	uint64_t commit = uft_load_acquire(&r->commit), at = r->read, n = 0;

	while (at != commit) {
		struct uft_ring_run run = run_of(r, at, commit);

		for (; at < run.end;) {
			const uint64_t *w = (const uint64_t *)((const char *)r + UFT_PAGE + (at & (RING - 1)));
			uint64_t was = at;

			if (!(at & (SUB - 1))) {
				CHECK_EQ(w[0], at);
				*tid = (uint32_t)(w[3] >> 32);
				at += sizeof(struct uft_sub_header);
			} else if (UFT_REC_KIND(*w) == UFT_REC_CONTEXT) {
				*tid = (uint32_t)(w[2] >> 32);
				at += 24;
			} else if (UFT_REC_KIND(*w) == UFT_REC_FUNC) {
				take_record(*tid, w[1]);
				at += 16;
			} else if (UFT_REC_KIND(*w) == UFT_REC_LOST) {
				at += 16;
			} else {
				CHECK_EQ(*w, 0);
				at = (at | (SUB - 1)) + 1;
			}
			n += at - was;
		}
		farthest = (at - 1) % RING > farthest ? (at - 1) % RING : farthest;
		if (at != commit) {
			skips += run.next % RING == 0 && run.end != run.next;
			gaps += run.next % RING != 0;
			at = run.next;
		}
	}
	uft_store_release(&r->read, at);
	return n;
}

static uint64_t unread(const struct uft_ring *r)
{
	uint64_t commit = uft_load_acquire(&r->commit), n = 0;

	for (uint64_t at = r->read; at != commit;) {
		struct uft_ring_run run = run_of(r, at, commit);

		n += run.end - at;
		at = run.end == commit ? commit : run.next;
	}
	return n;
}

/* Until one of the rings has so much, or loses. */
static void be_late(uint32_t nrings, uint64_t bytes)
{
	uint64_t lost = 0, now;

	for (uint32_t i = 0; i < nrings; i++)
		lost += uft_load(&lab_ring(0, i)->lost);
	for (;;) {
		now = 0;
		for (uint32_t i = 0; i < nrings; i++) {
			if (uft_ring_is_used(uft_rt.slice, i) && unread(lab_ring(0, i)) >= bytes)
				return;
			now += uft_load(&lab_ring(0, i)->lost);
		}
		if (now != lost)
			return;
		usleep(100);
	}
}

static void take_all(uint32_t nrings, uint32_t *tid)
{
	for (uint32_t i = 0; i < nrings; i++)
		if (uft_ring_is_used(uft_rt.slice, i))
			take(lab_ring(0, i), &tid[i]);
}

static void run(int seconds)
{
	struct lab_config c = {
		.ring_bytes = RING, .ring_usual = USUAL, .sub_bytes = SUB, .no_rseq = !use_rseq, .no_own = 1, .nexch = 4
	};
	uint64_t sum = 0, lost = 0, none = 0, counted = 0;
	uint32_t nrings, *tid;
	struct timespec begin, now;

	lab_init(&c);
	nrings = uft_rt.arena->ncpus + uft_rt.arena->nexch;
	tid = calloc(nrings, sizeof(*tid));
	CHECK(tid != NULL);
	CHECK(signal(SIGUSR1, handler) != SIG_ERR);
	for (int i = 0; i < NTHREADS; i++) {
		writers[i].seen = calloc(NUMBERS, 1);
		CHECK(writers[i].seen != NULL);
		CHECK(!pthread_create(&writers[i].thread, NULL, work, &writers[i]));
	}
	clock_gettime(CLOCK_MONOTONIC, &begin);
	srand(1);
	do {
		uint64_t sum_next = 0;

		for (int i = 0; i < NTHREADS; i++)
			sum_next += uft_load(&writers[i].next) >= NUMBERS / 2;
		if (sum_next)
			break;
		be_late(nrings, (uint64_t)rand() % (RING + RING / 4));
		for (int i = rand() % 4; i >= 0; i--)
			take_all(nrings, tid);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec - begin.tv_sec < seconds || !gaps || !skips);
	stop = 1;
	for (int i = 0; i < NTHREADS; i++) {
		CHECK(!pthread_join(writers[i].thread, NULL));
		sum += writers[i].next;
		lost += writers[i].lost;
		none += writers[i].none;
	}
	take_all(nrings, tid);
	for (uint32_t i = 0; i < nrings; i++)
		counted += lab_ring(0, i)->lost;
	printf("grow: %llu records, %llu lost, %llu without a ring, %llu skips, %llu gaps, up to offset %llu\n",
	       (unsigned long long)taken,
	       (unsigned long long)lost, (unsigned long long)none, (unsigned long long)skips, (unsigned long long)gaps,
	       (unsigned long long)farthest);
	CHECK_EQ(lost, counted);
	CHECK_EQ(taken + lost + none, sum);
	CHECK(skips && gaps && farthest > USUAL);
	free(tid);
}

static int seconds;

static void run_case(void)
{
	run(seconds);
}

int main(int argc, char **argv)
{
	const struct lab_case cases[] = { { "grow", run_case }, { NULL, NULL } };

	use_rseq = argc < 2 || !strcmp(argv[1], "sections");
	seconds = argc > 2 ? atoi(argv[2]) : 2;
	return lab_main(cases, NULL);
}
