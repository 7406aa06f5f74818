// SPDX-License-Identifier: MIT
/*
 * test_ring.c - function events and the ring writer: records, contexts, sub-buffers, loss, exchange rings
 *
 * Each case runs in a process of its own, since the runtime is set up once per process.
 */
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lab.h"
#include "runtime/arch/arch.h"
#include "runtime/ring/ring.h"
#include "runtime/runtime.h"

LAB_SITE long site0(long x);
LAB_SITE long site0(long x)
{
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

LAB_SITE long site1(long x);
LAB_SITE long site1(long x)
{
	__asm__ volatile("" : "+r"(x));
	return x * 2;
}

static uint32_t self(void)
{
	return (uint32_t)syscall(SYS_gettid);
}

static void start(struct lab_config c, uint32_t tracer)
{
	enum lab_state state = tracer == UFT_TRACER_FUNCTION ? LAB_FUNCTION : LAB_GRAPH;

	lab_init(&c);
	lab_arm(site0, 0, state, 0);
	lab_arm(site1, 1, state, 0);
	lab_params(tracer);
}

static void check_sound(const struct lab_events *ev)
{
	CHECK_EQ(ev->damaged, 0);
	CHECK_EQ(ev->backwards, 0);
	CHECK_EQ(ev->lost, 0);
	CHECK_EQ(ev->lost_counted, 0);
}

/* The threads to come, too; one CPU that we may run on is as good as another. */
static void stay(void)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	CHECK(!sched_setaffinity(0, sizeof(one), &one));
}

/*
 * The ring of who is alone and stays: its CPU's, else the one exchange ring, whether it is taken for each
 * event or kept.
 */
static uint32_t ring_of_one(int no_rseq)
{
	return no_rseq || ARCH_HAS_OWN ? uft_rt.arena->ncpus : (uint32_t)sched_getcpu();
}

/* What a record says: id, parent, task, time. */
static void test_record(void)
{
	struct lab_events *ev;
	uint64_t before, after;

	start((struct lab_config){ 0 }, UFT_TRACER_FUNCTION);
	before = arch_clock();
	CHECK_EQ(site0(41), 42);
	CHECK_EQ(site1(21), 42);
	after = arch_clock();
	ev = lab_decode();
	check_sound(ev);
	CHECK_EQ(ev->n, 2);
	for (size_t i = 0; i < 2; i++) {
		CHECK_EQ(ev->e[i].kind, UFT_REC_FUNC);
		CHECK_EQ(ev->e[i].value, lab_text_id((uint32_t)i));
		CHECK_EQ(ev->e[i].pid, getpid());
		CHECK_EQ(ev->e[i].tid, self());
		CHECK(ev->e[i].clock >= before && ev->e[i].clock <= after);
		/* The parent is an address in this function. */
		CHECK(ev->e[i].w1 - (uint64_t)test_record < 2000);
	}
	lab_free(ev);
}

/* 100,000 events: every sub-buffer but the last is full, none is missing, and 16 bytes are 16 bytes. */
static void test_turn_over(void)
{
	struct lab_events *ev;
	uint64_t bytes = 0;

	start((struct lab_config){ .ring_bytes = 8 << 20 }, UFT_TRACER_FUNCTION);
	for (long i = 0; i < 100000; i++)
		site0(i);
	ev = lab_decode();
	check_sound(ev);
	CHECK_EQ(ev->n, 100000);
	CHECK_EQ(lab_count(ev, self(), UFT_REC_FUNC, lab_text_id(0)), 100000);
	for (uint32_t i = 0; i < uft_rt.arena->ncpus + uft_rt.arena->nexch; i++)
		bytes += lab_ring(0, i)->commit;
	/* 254 records to a sub-buffer of 4096 bytes. */
	CHECK(bytes <= 100000 * 16 + (100000 / 254 + 64) * 32 + ev->contexts * 24);
	lab_free(ev);
}

static void *two_tasks(void *unused)
{
	(void)unused;
	for (long i = 0; i < 3000; i++) {
		site0(i);
		if (i % 10 == 0)
			sched_yield();
	}
	return (void *)(uintptr_t)self();
}

/* Two threads on one CPU: every change of task has its CONTEXT, or a new sub-buffer, where they share a ring. */
static void test_context(void)
{
	struct lab_events *ev;
	pthread_t a, b;
	void *tid_a, *tid_b;

	start((struct lab_config){ 0 }, UFT_TRACER_FUNCTION);
	stay();
	CHECK(!pthread_create(&a, NULL, two_tasks, NULL));
	CHECK(!pthread_create(&b, NULL, two_tasks, NULL));
	pthread_join(a, &tid_a);
	pthread_join(b, &tid_b);
	ev = lab_decode();
	check_sound(ev);
	CHECK_EQ(lab_count(ev, (uint32_t)(uintptr_t)tid_a, UFT_REC_FUNC, -1), 3000);
	CHECK_EQ(lab_count(ev, (uint32_t)(uintptr_t)tid_b, UFT_REC_FUNC, -1), 3000);
	CHECK_EQ(ev->n, 6000);
	if (!ARCH_HAS_OWN)
		CHECK(ev->contexts > 10);
	lab_free(ev);
}

/*
 * A clock half that changed without a record in between gets a CONTEXT: 1.7 s without an event. Slower clocks
 * take a minute.
 */
static void test_clock_half(void)
{
#ifdef __x86_64__
	struct lab_events *ev;
	uint64_t hi;

	stay();
	start((struct lab_config){ 0 }, UFT_TRACER_FUNCTION);
	site0(1);
	site0(1);
	hi = arch_clock() >> 32;
	while (arch_clock() >> 32 == hi)
		usleep(1000);
	site0(1);
	site0(1);
	ev = lab_decode();
	check_sound(ev);
	CHECK_EQ(ev->n, 4);
	CHECK_EQ(ev->contexts, 1);
	CHECK_EQ(ev->e[1].clock >> 32, hi);
	CHECK_EQ(ev->e[2].clock >> 32, hi + 1);
	lab_free(ev);
#endif
}

/* Discard mode: a full ring keeps what it has; what is lost is counted and shown where it was lost. */
static void discard(int no_rseq)
{
	struct lab_events *ev;
	uint64_t kept, lost;
	uint32_t ring;

	stay();
	start((struct lab_config){ .ring_bytes = 16384, .no_rseq = no_rseq, .nexch = 1 }, UFT_TRACER_FUNCTION);
	ring = ring_of_one(no_rseq);
	for (long i = 0; i < 5000; i++)
		site0(i);
	ev = lab_decode();
	kept = ev->n;
	CHECK_EQ(kept, 4 * 254);
	CHECK_EQ(ev->lost_counted, 5000 - kept);
	CHECK_EQ(ev->lost, 0);
	CHECK_EQ(lab_ring(0, ring)->lost_pending, 1);
	lost = 5000 - kept;
	lab_free(ev);
	/* The reader takes everything; the next record has LOST before it. */
	lab_consume(ring);
	for (long i = 0; i < 100; i++)
		site0(i);
	ev = lab_decode();
	CHECK_EQ(lab_count(ev, 0, UFT_REC_LOST, -1), 1);
	CHECK_EQ(ev->lost, lost);
	CHECK_EQ(lab_ring(0, ring)->lost_pending, 0);
	/* And losing again later says only what was lost since. */
	for (long i = 0; i < 5000; i++)
		site0(i);
	lost = lab_ring(0, ring)->lost - lost;
	lab_free(ev);
	lab_consume(ring);
	site0(1);
	ev = lab_decode();
	CHECK_EQ(lab_count(ev, 0, UFT_REC_LOST, -1), 1);
	CHECK_EQ(ev->lost, lost);
	CHECK_EQ(ev->damaged, 0);
	CHECK_EQ(ev->backwards, 0);
	lab_free(ev);
}

static void test_discard(void)
{
	discard(0);
}

static void test_discard_exchange(void)
{
	discard(1);
}

#define A_SUB	254	/* function events in a sub-buffer of 4096 bytes */

static void call_subs(unsigned n)
{
	for (unsigned i = 0; i < n * A_SUB; i++)
		site0(i);
}

static void check_kept(uint64_t events, uint64_t lost)
{
	struct lab_events *ev = lab_decode();

	CHECK_EQ(ev->n, events);
	CHECK_EQ(ev->lost_counted, lost);
	CHECK_EQ(ev->damaged, 0);
	CHECK_EQ(ev->backwards, 0);
	lab_free(ev);
}

/* What site0() writes the compiler does not see. */
static volatile struct uft_ring *start_growing(int no_rseq)
{
	stay();
	start((struct lab_config){ .ring_bytes = 65536, .ring_usual = 16384, .no_rseq = no_rseq, .nexch = 1 },
	      UFT_TRACER_FUNCTION);
	return lab_ring(0, ring_of_one(no_rseq));
}

/*
 * A ring that is read in time stays in its usual part; one that is not read takes all of its area, and counts
 * what comes then.
 */
static void grow(int no_rseq)
{
	volatile struct uft_ring *r = start_growing(no_rseq);

	for (int turn = 0; turn < 50; turn++) {
		for (int sub = 0; sub < 4; sub++) {
			call_subs(1);
			r->read = r->commit;
		}
		CHECK_EQ(r->commit, turn * 65536ull + 16384);
		CHECK_EQ(r->made, 16384);
	}
	call_subs(16);
	check_kept(16 * A_SUB, 0);
	CHECK_EQ(r->made, 65536);
	call_subs(1);
	check_kept(16 * A_SUB, A_SUB);
	/* Half of it is read: the next turn begins, and has as much room. */
	r->read = 50 * 65536 + 32768;
	call_subs(9);
	check_kept(16 * A_SUB, 2 * A_SUB + 1);	/* one of them is the record of the loss */
	/* Then all of it: what comes next is in the usual part again. */
	r->read = r->commit;
	call_subs(40);
	CHECK_EQ(r->lost, 2 * A_SUB + 1 + 24 * A_SUB + 1);
	r->read = r->commit;
	call_subs(1);
	CHECK(r->commit % 65536 < 2 * 4096);
}

static void test_grow(void)
{
	grow(0);
}

static void test_grow_exchange(void)
{
	grow(1);
}

/* The reader stops when the writer has begun the next turn: it goes on behind all that is not read. */
static void gap(int no_rseq)
{
	volatile struct uft_ring *r = start_growing(no_rseq);

	call_subs(4);
	r->read = 4096;
	call_subs(1);
	CHECK_EQ(r->commit, 65536 + 4096);
	call_subs(12);
	CHECK_EQ(r->commit, 2 * 65536);
	check_kept(16 * A_SUB, 0);
	call_subs(1);
	check_kept(16 * A_SUB, A_SUB);
	/* What the two turns left out is where they say. */
	CHECK_EQ(r->turn[0].skip, 16384);
	CHECK_EQ(r->turn[1].gap, 65536 + 4096);
	CHECK_EQ(r->turn[1].gap_to, 65536 + 16384);
	/* The first turn is read, and of the second one what stands before its gap. */
	r->read = 65536 + 4096;
	call_subs(1);
	CHECK_EQ(r->commit, 2 * 65536 + 4096);
	check_kept(13 * A_SUB, A_SUB + 1);	/* the record of the loss takes a place */
	call_subs(1);
	check_kept(13 * A_SUB, 2 * A_SUB + 1);
}

static void test_gap(void)
{
	gap(0);
}

static void test_gap_exchange(void)
{
	gap(1);
}

/* A thread that has found a gap in one ring goes on in another one, which ends at the same position, and is full. */
static void test_gap_elsewhere(void)
{
	const struct ring_op call = {
		.word0 = UFT_REC_WORD(UFT_REC_FUNC, 1, 0), .word1 = 1, .bytes = 16, .pid = 1, .tid = 1
	};
	volatile struct uft_ring *r;
	struct ring_op op = call;

	start_growing(0);
	for (unsigned i = 0; i < 16 * A_SUB; i++, op = call)
		CHECK_EQ(ring_write(&op, 1), RING_WRITTEN);
	r = lab_ring(0, (uint32_t)sched_getcpu());
	CHECK_EQ(r->commit, 65536);
	op.gap = 65536;
	op.gap_to = 65536 + 16384;
	op.gap_ring = lab_ring(0, uft_rt.arena->ncpus);
	CHECK_EQ(ring_write(&op, 1), RING_LOST);
	CHECK_EQ(r->commit, 65536);
	CHECK_EQ(r->turn[1].gap, 0);
}

/* Overwrite mode: the newest records, oldest sub-buffers recycled, position and time monotonic. */
static void overwrite(int no_rseq)
{
	struct lab_events *ev;
	uint32_t ring;

	stay();
	start((struct lab_config){ .ring_bytes = 16384, .flags = UFT_RING_OVERWRITE, .no_rseq = no_rseq, .nexch = 1 },
	      UFT_TRACER_FUNCTION);
	ring = ring_of_one(no_rseq);
	for (long i = 0; i < 50000; i++)
		site0(i);
	site1(1);
	ev = lab_decode();
	check_sound(ev);
	CHECK(ev->n > 3 * 254 && ev->n <= 4 * 254);
	CHECK_EQ(ev->e[ev->n - 1].value, lab_text_id(1));
	CHECK(lab_ring(0, ring)->commit - lab_ring(0, ring)->oldest <= 16384);
	CHECK(lab_ring(0, ring)->oldest > 0);
	lab_free(ev);
}

static void test_overwrite(void)
{
	overwrite(0);
}

static void test_overwrite_exchange(void)
{
	overwrite(1);
}

/* Recording off: nothing is written, nothing is counted; on again: at once. */
static void test_off(void)
{
	struct lab_events *ev;

	start((struct lab_config){ 0 }, UFT_TRACER_FUNCTION);
	site0(1);
	__atomic_store_n(&uft_rt.slice->ring_flags, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&uft_rt.slice->on_cpus, 0, __ATOMIC_RELAXED);
	__atomic_store_n(uft_on_cpus(lab_arena(), 0), 0, __ATOMIC_RELAXED);
	for (int i = 0; i < 1000; i++)
		site0(i);
	__atomic_store_n(&uft_rt.slice->ring_flags, UFT_RING_ON, __ATOMIC_RELAXED);
	__atomic_store_n(&uft_rt.slice->on_cpus, uft_rt.arena->ncpus, __ATOMIC_RELAXED);
	__atomic_store_n(uft_on_cpus(lab_arena(), 0), uft_rt.arena->ncpus << UFT_ON_CPUS_SHIFT, __ATOMIC_RELAXED);
	site0(1);
	ev = lab_decode();
	check_sound(ev);
	CHECK_EQ(ev->n, 2);
	for (int i = 0; i < UFT_NCOUNTERS; i++)
		CHECK_EQ(lab_counter(i), 0);
	lab_free(ev);
}

/* Tasks that are not in pids[] write nothing, those that are write all; both change their minds with the params. */
static void test_pids(void)
{
	struct uft_tracer_params p = { .tracer = UFT_TRACER_FUNCTION, .has_pids = 1, .npids = 1, .pids = { 1 } };
	struct lab_events *ev;

	start((struct lab_config){ 0 }, UFT_TRACER_FUNCTION);
	site0(1);
	lab_params_full(&p);
	site0(1);
	site0(1);
	p.pids[0] = self();
	lab_params_full(&p);
	for (int i = 0; i < 10; i++)
		site1(1);
	p.pids[0] = 1;
	lab_params_full(&p);
	site0(1);
	p.has_pids = 0;
	lab_params_full(&p);
	site0(1);
	ev = lab_decode();
	check_sound(ev);
	CHECK_EQ(lab_count(ev, 0, UFT_REC_FUNC, lab_text_id(0)), 2);
	CHECK_EQ(lab_count(ev, 0, UFT_REC_FUNC, lab_text_id(1)), 10);
	lab_free(ev);
}

static void *exchange_task(void *unused)
{
	(void)unused;
	for (long i = 0; i < 20000; i++)
		site0(i);
	return NULL;
}

/* No rseq: four threads share two exchange rings; what finds none free is counted, never written elsewhere. */
static void test_exchange(void)
{
	struct lab_events *ev;
	pthread_t th[4];

	start((struct lab_config){ .no_rseq = 1, .nexch = 2, .ring_bytes = 4 << 20 }, UFT_TRACER_FUNCTION);
	for (int i = 0; i < 4; i++)
		CHECK(!pthread_create(&th[i], NULL, exchange_task, NULL));
	for (int i = 0; i < 4; i++)
		pthread_join(th[i], NULL);
	ev = lab_decode();
	check_sound(ev);
	CHECK_EQ(ev->n + lab_counter(UFT_CNT_NO_RING), 80000);
	CHECK(ev->n > 40000);
	for (uint32_t i = 0; i < uft_rt.arena->ncpus; i++)
		CHECK_EQ(lab_ring(0, i)->commit, 0);
	lab_free(ev);
}

/* A ring whose writer was killed inside is taken from it. */
static void test_dead_owner(void)
{
	struct lab_events *ev;
	pid_t child = fork();

	if (!child)
		_exit(0);
	waitpid(child, NULL, 0);
	start((struct lab_config){ .no_rseq = 1, .nexch = 1 }, UFT_TRACER_FUNCTION);
	lab_ring(0, uft_rt.arena->ncpus)->owner = (uint32_t)child;
	site0(1);
	ev = lab_decode();
	CHECK_EQ(ev->n, 1);
	CHECK_EQ(lab_counter(UFT_CNT_NO_RING), 0);
	CHECK_EQ(lab_ring(0, uft_rt.arena->ncpus)->owner, 0);
	lab_free(ev);
}

/* It was killed after it had noted a context and before it committed: the context in the ring is another's. */
static void test_killed_inside(void)
{
	struct lab_events *ev;
	struct uft_ring *r;
	pid_t child = fork();

	if (!child)
		_exit(0);
	waitpid(child, NULL, 0);
	start((struct lab_config){ .no_rseq = 1, .nexch = 1 }, UFT_TRACER_FUNCTION);
	site0(1);
	lab_other_context();
	r = lab_ring(0, uft_rt.arena->ncpus);
	r->owner = (uint32_t)child;
	r->ctx_tid = self();
	r->ctx_pos = r->commit;
	site0(1);
	ev = lab_decode();
	CHECK_EQ(lab_count(ev, self(), UFT_REC_FUNC, -1), 2);
	lab_free(ev);
}

/* rseq becomes known while threads run. */
static void test_rseq_late(void)
{
	struct lab_events *ev;
	int64_t offset;

	start((struct lab_config){ 0 }, UFT_TRACER_FUNCTION);
	offset = uft_rt.rseq_offset;
	uft_rt.rseq_offset = 0;
	trace_rseq_changed();
	lab_params(UFT_TRACER_FUNCTION);
	for (int i = 0; i < 10; i++)
		site0(1);
	CHECK_EQ(lab_ring(0, 0)->commit + lab_ring(0, uft_rt.arena->ncpus > 1)->commit, 0);
	uft_rt.rseq_offset = offset;
	trace_rseq_changed();
	lab_retarget();
	for (int i = 0; i < 10; i++)
		site0(1);
	ev = lab_decode();
	check_sound(ev);
	CHECK_EQ(ev->n, 20);
	if (!ARCH_HAS_OWN && offset)
		CHECK(lab_ring(0, 0)->commit + lab_ring(0, uft_rt.arena->ncpus > 1)->commit > 0);
	lab_free(ev);
}

/* What a thread of test_counts() did, and on how many CPUs at most it can be. */
#define COUNTED	3000
static cpu_set_t all_cpus;

static void move(long i)
{
	cpu_set_t one;
	int n = CPU_COUNT(&all_cpus), k = (int)(i % n), cpu = 0;

	for (;; cpu++)
		if (CPU_ISSET(cpu, &all_cpus) && !k--)
			break;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	CHECK(!sched_setaffinity(0, sizeof(one), &one));
}

static void *counted(void *unused)
{
	(void)unused;
	for (long i = 0; i < COUNTED; i++) {
		if (i % 7 == 0)
			move(i / 7);
		i % 3 ? site0(i) : site1(i);
	}
	return (void *)(uintptr_t)self();
}

static void check_counted(const struct lab_events *ev, uint32_t tid, int *has_counted)
{
	uint64_t last = 0;
	long n = 0;

	for (size_t i = 0; i < ev->n; i++) {
		const struct lab_event *e = &ev->e[i];

		if (e->tid != tid || e->kind != UFT_REC_FUNC)
			continue;
		CHECK_EQ(e->value, lab_text_id(n % 3 ? 0 : 1));
		CHECK(ARCH_HAS_COUNTS ? e->clock > last : e->clock >= last);
		*has_counted |= e->clock == last + 1;
		last = e->clock;
		n++;
	}
	CHECK_EQ(n, COUNTED);
}

/*
 * Without a clock: the events of each thread stand in the order in which they came, whichever CPU it was on, however often
 * it comes back to one where its numbers were lower.
 */
static void test_counts(void)
{
	struct uft_tracer_params p = { .tracer = UFT_TRACER_FUNCTION, .counts = 1 };
	struct lab_events *ev;
	pthread_t thread[3];
	void *tid[3];
	int has_counted = 0;

	CHECK(!sched_getaffinity(0, sizeof(all_cpus), &all_cpus));
	start((struct lab_config){ 0 }, UFT_TRACER_FUNCTION);
	lab_params_full(&p);
	for (int i = 0; i < 3; i++)
		CHECK(!pthread_create(&thread[i], NULL, counted, NULL));
	for (int i = 0; i < 3; i++)
		CHECK(!pthread_join(thread[i], &tid[i]));
	ev = lab_decode();
	check_sound(ev);
	for (int i = 0; i < 3; i++)
		check_counted(ev, (uint32_t)(uintptr_t)tid[i], &has_counted);
	CHECK_EQ(has_counted, ARCH_HAS_COUNTS && uft_rt.rseq_offset != 0);
	lab_free(ev);
}

/* From counting to the clock and back, by which the order of one thread stays; records of C between. */
static void test_counts_change(void)
{
	struct uft_tracer_params p = { .tracer = UFT_TRACER_FUNCTION };
	struct lab_events *ev;
	uint64_t last = 0, before = arch_clock();

	start((struct lab_config){ 0 }, UFT_TRACER_FUNCTION);
	stay();
	for (int i = 0; i < 40; i++) {
		p.counts = i / 2 % 2;
		lab_params_full(&p);
		for (int k = 0; k < 5; k++)
			site0(1);
	}
	ev = lab_decode();
	check_sound(ev);
	CHECK_EQ(ev->n, 200);
	for (size_t i = 0; i < ev->n; i++) {
		CHECK(ev->e[i].clock >= before && ev->e[i].clock <= arch_clock());
		CHECK(ev->e[i].clock >= last);
		last = ev->e[i].clock;
	}
	lab_free(ev);
}

/* The end of the clock's low half: numbers have no carry into the other one, so there the clock is read. */
static void test_counts_half(void)
{
#ifdef __x86_64__
	struct uft_tracer_params p = { .tracer = UFT_TRACER_FUNCTION, .counts = 1 };
	struct lab_events *ev;
	uint64_t last = 0, n = 0;

	stay();
	start((struct lab_config){ .ring_bytes = 64 << 20 }, UFT_TRACER_FUNCTION);
	lab_params_full(&p);
	for (uint64_t hi = arch_clock() >> 32; arch_clock() >> 32 == hi && (uint32_t)arch_clock() < 0xfe000000;)
		usleep(1000);
	for (uint64_t end = arch_clock() + (1ull << 26); arch_clock() < end && n < 2000000; n++)
		site0(1);
	ev = lab_decode();
	check_sound(ev);
	CHECK_EQ(ev->n, n);
	for (size_t i = 0; i < ev->n; i++) {
		CHECK(ev->e[i].clock > last);
		last = ev->e[i].clock;
	}
	CHECK(last <= arch_clock());
	lab_free(ev);
#endif
}

static const struct lab_case cases[] = {
	{ "record", test_record }, { "turn_over", test_turn_over }, { "context", test_context },
	{ "clock_half", test_clock_half }, { "discard", test_discard }, { "discard_exchange", test_discard_exchange },
	{ "grow", test_grow }, { "grow_exchange", test_grow_exchange }, { "gap", test_gap },
	{ "gap_exchange", test_gap_exchange }, { "gap_elsewhere", test_gap_elsewhere },
	{ "overwrite", test_overwrite }, { "overwrite_exchange", test_overwrite_exchange }, { "off", test_off },
	{ "pids", test_pids }, { "exchange", test_exchange }, { "dead_owner", test_dead_owner },
	{ "killed_inside", test_killed_inside }, { "rseq_late", test_rseq_late }, { "counts", test_counts },
	{ "counts_change", test_counts_change }, { "counts_half", test_counts_half }, { NULL, NULL },
};

int main(int argc, char **argv)
{
	return lab_main(cases, argc > 1 ? argv[1] : NULL);
}
