/* SPDX-License-Identifier: MIT */
/*
 * words.c - sites change while threads run through them and processes are forked, where instructions are aligned words
 *
 *	words [rounds]
 *
 * The runtime whole: its patcher, its handlers, its rings (tests/unit/ring/lab.h). Per round so many batches of runs of sites go
 * from state to state while callers check each result, and:
 *   - a prober, which runs all the time and makes no system call, so that nothing but the patcher's own synchronisation lets its CPU
 *     see new code, calls a site after it was switched, and has an event if it is armed and none if it is not;
 *   - at its end entries and exits of each thread pair up;
 *   - a fork child, born at any moment, finds working code, switches all sites, and gets back to the words as found.
 */
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/arch/arch.h"
#include "runtime/ring/ring.h"
#include "tests/unit/ring/lab.h"

#define NSITES	240u
#define WORDS	5u		/* a function: so sites begin at each word of a cache line */
#define OBJECT	3u
#define FIRST_TEXT 1000u	/* ids that lab.c decodes like any */
#define FIRST_STUB 4096u
#define NCALLERS 2
#define BATCHES	30		/* before a fork, and behind it */
#define CALLS	1000		/* of a caller, a batch: what it is ahead it sleeps */

static uint32_t *text, copy[NSITES * WORDS];
static size_t text_bytes;
static struct uft_patch sites[NSITES];
static sem_t is_there;
static pthread_barrier_t start_line, finish_line;
static volatile int over;
static uint32_t tids[NCALLERS + 1];
static uint64_t calls, probes, seen, batches;
/* For the prober: the site that it is to call, then what came of it. */
static struct { uint32_t site, order, done, events; } probe;

static unsigned rnd(unsigned *x)
{
	*x = *x * 1664525u + 1013904223u;
	return *x >> 8;
}

static long call(uint32_t i, long arg)
{
	long (*fn)(long) = (long (*)(long))(text + i * WORDS);
	long ret = fn(arg);

	__asm__ volatile("" : "+r"(ret));
	return ret;
}

/* Records that the calling thread has written so far; it has a ring to itself. */
static uint64_t written(uint32_t tid)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < uft_rt.arena->ncpus + uft_rt.arena->nexch; i++)
		if (lab_ring(0, i)->owner == tid)
			n += lab_ring(0, i)->commit;
	return n;
}

/*
 * Threads whose numbers are the same there would share a line of the table of owners (ring/thread_rings.c),
 * and one would have no ring.
 */
static int is_alone(uint32_t tid)
{
	for (int i = 0; i <= NCALLERS; i++)
		if ((tids[i] ^ tid) % (1u << RO_BITS) == 0)
			return 0;
	return 1;
}

static void *caller(void *arg)
{
	unsigned id = (unsigned)(long)arg, x = id * 7919 + 1;
	uint64_t n;

	for (;;) {
		pthread_barrier_wait(&start_line);
		for (n = 0; !__atomic_load_n(&over, __ATOMIC_ACQUIRE); n++) {
			CHECK_EQ(call(rnd(&x) % NSITES, (long)n), n + 1);
			while (n > (__atomic_load_n(&batches, __ATOMIC_RELAXED) + 1) * CALLS && !over)
				usleep(500);
		}
		__atomic_fetch_add(&calls, n, __ATOMIC_RELAXED);
		pthread_barrier_wait(&finish_line);
		if (over > 1)
			return NULL;
	}
}

static void *prober(void *arg)
{
	uint32_t tid = tids[NCALLERS], order;

	for (;;) {
		pthread_barrier_wait(&start_line);
		while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE)) {
			uint64_t before;

			order = __atomic_load_n(&probe.order, __ATOMIC_ACQUIRE);
			if (order == probe.done)
				continue;
			before = written(tid);
			CHECK_EQ(call(probe.site, 1), 2);
			probe.events = written(tid) != before;
			__atomic_store_n(&probe.done, order, __ATOMIC_RELEASE);
		}
		pthread_barrier_wait(&finish_line);
		if (over > 1)
			return arg;
	}
}

static void *start(void *arg)
{
	long id = (long)arg;
	uint32_t tid = (uint32_t)gettid();

	if (!is_alone(tid))
		return NULL;
	tids[id] = tid;
	sem_post(&is_there);
	return id < NCALLERS ? caller(arg) : prober(arg);
}

static pthread_t start_thread(long id)
{
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, start, (void *)id));
	while (sem_trywait(&is_there)) {
		if (!pthread_tryjoin_np(thread, NULL))
			CHECK(!pthread_create(&thread, NULL, start, (void *)id));
		sched_yield();
	}
	return thread;
}

static void change(uint32_t from, uint32_t n, unsigned flags)
{
	CHECK(patch_change(OBJECT, sites + from, n, flags, NULL) >= 0);
	for (uint32_t i = from; i < from + n; i++)
		CHECK_EQ(sites[i].status, UFT_ST_OK);
}

static void all_to(unsigned state, unsigned flags)
{
	for (uint32_t i = 0; i < NSITES; i++)
		sites[i].state = (uint8_t)state;
	change(0, NSITES, flags);
}

static void child(void)
{
	alarm(120);
	for (unsigned state = UFT_IDLE; state <= UFT_GRAPH; state++) {
		for (uint32_t i = 0; i < NSITES; i++)
			CHECK_EQ(call(i, 7), 8);
		patch_after_fork();
		all_to(state, 0);
	}
	patch_vouch(1);
	patch_disarm();
	CHECK(!memcmp(text, copy, sizeof(copy)));
	_exit(0);
}

static void make_sites(void)
{
	struct uft_cmd_object o = {
		.object = OBJECT, .nstubs = NSITES, .first_text_id = FIRST_TEXT, .first_stub_id = FIRST_STUB
	};
	static const uint32_t body[WORDS] = {
		ARCH_INSN_NOP, ARCH_INSN_NOP,
		0x91000400,	/* add x0, x0, #1 */
		0xd65f03c0,	/* ret */
		0,		/* udf */
	};

	text_bytes = (sizeof(copy) + UFT_PAGE - 1) & -(size_t)UFT_PAGE;
	text = mmap(NULL, text_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(text != MAP_FAILED);
	for (uint32_t i = 0; i < NSITES; i++) {
		memcpy(text + i * WORDS, body, sizeof(body));
		sites[i] = (struct uft_patch){ .addr = (uint64_t)(text + i * WORDS), .stub = i,
			.kind_len = UFT_KIND_LEN(UFT_SITE_NOPS, ARCH_ENTRY_BYTES) };
	}
	memcpy(copy, text, sizeof(copy));
	CHECK(!mprotect(text, text_bytes, PROT_READ | PROT_EXEC));
	arch_text_flush(text, text_bytes);
	o.text_start = (uint64_t)text;
	o.text_end = (uint64_t)text + text_bytes;
	CHECK(!patch_init());
	CHECK(!patch_object(&o));
	all_to(UFT_IDLE, UFT_PATCH_FRESH);
}

/* Did a call by the prober write an event? */
static uint32_t ask(uint32_t site)
{
	probe.site = site;
	__atomic_add_fetch(&probe.order, 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(&probe.done, __ATOMIC_ACQUIRE) != probe.order)
		usleep(100);		/* an idle CPU lets the others go on where they take turns */
	return probe.events;
}

/* Switches a run of sites, and has one of them called. */
static void batch(unsigned *x, unsigned armed)
{
	unsigned from = rnd(x) % NSITES, n = 1 + rnd(x) % 64, state = rnd(x) % 3, is_armed, i;

	if (from + n > NSITES)
		n = NSITES - from;
	for (i = 0; i < n; i++)
		sites[from + i].state = (uint8_t)((state < 2 ? state : rnd(x) % 2) ? armed : UFT_IDLE);
	change(from, n, 0);
	i = from + rnd(x) % n;
	is_armed = sites[i].state == armed;
	if (ask(i) != is_armed) {
		fprintf(stderr,
			"site %u, armed %u: the CPU has executed another word than stands there, %08x; again: %u\n", i,
			is_armed,
			text[i * WORDS + 1], ask(i));
		exit(1);
	}
	probes++;
	seen += is_armed;
	__atomic_add_fetch(&batches, 1, __ATOMIC_RELAXED);
}

static void round_of(unsigned *x, int is_last, int is_graph)
{
	struct lab_events *ev;
	struct lab_replay r;
	int status;
	pid_t pid;

	lab_params(is_graph ? UFT_TRACER_GRAPH : UFT_TRACER_FUNCTION);
	patch_retarget();
	all_to(UFT_IDLE, 0);
	lab_clear();
	over = 0;
	batches = 0;
	pthread_barrier_wait(&start_line);
	for (int i = 0; i < BATCHES; i++)
		batch(x, is_graph ? UFT_GRAPH : UFT_FUNCTION);
	pid = fork();
	if (!pid)
		child();
	for (int i = 0; i < BATCHES; i++)
		batch(x, is_graph ? UFT_GRAPH : UFT_FUNCTION);
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK_EQ(status, 0);
	__atomic_store_n(&over, 1 + is_last, __ATOMIC_RELEASE);
	pthread_barrier_wait(&finish_line);
	ev = lab_decode();
	CHECK_EQ(ev->damaged, 0);
	CHECK_EQ(ev->backwards, 0);
	CHECK(ev->n > 0);
	CHECK_EQ(lab_counter(UFT_CNT_LOST_RETURN), 0);
	CHECK_EQ(lab_counter(UFT_CNT_SITE_REFUSED), 0);
	CHECK_EQ(ev->lost_counted, 0);
	for (int i = 0; i <= NCALLERS; i++) {
		CHECK_REPLAY(ev, tids[i], &r);
		CHECK_EQ(r.open, 0);
	}
	lab_free(ev);
}

int main(int argc, char **argv)
{
	struct lab_config c = { .ring_bytes = 32 << 20, .nexch = 16, .nslices = 3 };
	int rounds = argc > 1 ? atoi(argv[1]) : 2;
	pthread_t thread[NCALLERS + 1];
	unsigned x = 12345;

	lab_init(&c);
	make_sites();
	pthread_barrier_init(&start_line, NULL, NCALLERS + 2);
	pthread_barrier_init(&finish_line, NULL, NCALLERS + 2);
	for (long i = 0; i <= NCALLERS; i++)
		thread[i] = start_thread(i);
	for (int i = 0; i < rounds; i++)
		round_of(&x, i == rounds - 1, i & 1);
	for (int i = 0; i <= NCALLERS; i++)
		pthread_join(thread[i], NULL);
	patch_vouch(1);
	patch_disarm();
	CHECK(!memcmp(text, copy, sizeof(copy)));
	CHECK(calls && seen && seen < probes);
	printf("%d rounds, %lu flips, %lu calls, %lu probes of which %lu saw an armed site\n", rounds,
	       (unsigned long)lab_counter(UFT_CNT_PATCHED), (unsigned long)calls, (unsigned long)probes,
	       (unsigned long)seen);
	return 0;
}
