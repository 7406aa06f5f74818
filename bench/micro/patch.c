/* SPDX-License-Identifier: MIT */
/*
 * patch.c - what switching a site costs, beside the bare stores
 *
 *	patch [sites]		100,000 functions of 32 bytes, warm, one batch a switch; ns per site, medians of 9
 *
 * Rows: nobody runs, four idle threads, four running ones. Columns: bare stores of eight bytes into writable text with
 * a membarrier behind them; the same with the two mprotects; the same that takes each address from its request
 * (16 bytes) and notes what it did there and in a record (32 bytes), deciding nothing: the least that lists
 * cost; then the patcher by orders of a bit a site, as the session switches: off -> function, function -> off
 * and function <-> graph. First lines: the first switch of all (pages copied, stubs written), a later one by a
 * list, and the first by bits (records are read).
 *
 * All columns take turns, each after a rest in which the others run. Nine bare rounds in a row take one
 * millisecond: they would find the text where the one before has left it, and a switch, which comes once in a
 * while, never does.
 *
 * Beside running threads the figures are those of memory, not of instructions: the loops wait for lines that
 * the others have driven out of the cache or execute from. What a request and a record cost is seen in the
 * third column.
 */
#include <linux/membarrier.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench/median.h"
#include "tests/unit/patch/kit.h"

#define STRIDE	32u
#define NTHREADS 4
#define ROUNDS	9
#define OBJECT	9u
#define REST	3000	/* us before each: what a switch finds when it comes to a program that runs */

static uint8_t *text;
static size_t bytes;
static uint32_t nsites = 100000;
static struct uft_patch *sites;
static uint64_t *words;
static uint32_t nwords;
static volatile int stop, is_spinning;
static sem_t never;

static void *worker(void *arg)
{
	unsigned x = (unsigned)(long)arg * 7919 + 1;

	kit_thread_init();
	if (!is_spinning) {
		sem_wait(&never);
		return NULL;
	}
	while (!stop) {
		x = x * 1664525u + 1013904223u;
		CHECK(((long (*)(long))(text + (x >> 8) % nsites * STRIDE))(1) == 2);
	}
	return NULL;
}

static void make_text(void)
{
	uint32_t i;

	bytes = ((size_t)nsites * STRIDE + 4095) & ~4095ul;
	text = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sites = calloc(nsites, sizeof(*sites));
	nwords = (nsites + 63) / 64;
	words = calloc(nwords, sizeof(*words));
	CHECK(text != MAP_FAILED && sites && words);
	for (i = 0; i < nsites; i++) {
		memcpy(text + i * STRIDE, "\x0f\x1f\x44\0\0\x48\x8d\x47\x01\xc3", 10);
		sites[i] = (struct uft_patch){ .addr = (uint64_t)text + i * STRIDE, .stub = i,
					       .kind_len = UFT_KIND_LEN(UFT_SITE_NOP, 5) };
	}
	CHECK(!mprotect(text, bytes, PROT_READ | PROT_EXEC));
}

static double ns_per_site(double *v)
{
	return median(v, ROUNDS) / nsites;
}

/* The same through requests, and noted in records. */
static void store_and_note(void)
{
	static struct { uint64_t addr; uint8_t form; uint8_t rest[23]; } *record;
	uint32_t i;

	if (!record) {
		record = calloc(nsites, sizeof(*record));
		CHECK(record && sizeof(*record) == 32);
		for (i = 0; i < nsites; i++)
			record[i].addr = sites[i].addr;
	}
	for (i = 0; i < nsites; i++) {
		uint64_t *w = (uint64_t *)sites[i].addr;

		CHECK(record[i].addr == sites[i].addr);
		__atomic_store_n(w, *w ^ 8ull << 32, __ATOMIC_RELAXED);
		record[i].form ^= 1;
		sites[i].status = UFT_ST_OK;
	}
}

static void store_bare(void)
{
	uint32_t i;

	for (i = 0; i < nsites; i++) {
		uint64_t *w = (uint64_t *)(text + i * STRIDE);

		__atomic_store_n(w, *w ^ 8ull << 32, __ATOMIC_RELAXED);
	}
}

/* One store a site, flipping a byte of the nop that means nothing; with and without making the text writable. */
static double bare(int with_mprotect, void (*store)(void))
{
	double t;

	if (!with_mprotect)
		CHECK(!mprotect(text, bytes, PROT_READ | PROT_WRITE | PROT_EXEC));
	usleep(REST);
	t = thread_ns();
	if (with_mprotect)
		CHECK(!mprotect(text, bytes, PROT_READ | PROT_WRITE | PROT_EXEC));
	store();
	syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0);
	if (with_mprotect)
		CHECK(!mprotect(text, bytes, PROT_READ | PROT_EXEC));
	t = thread_ns() - t;
	CHECK(!mprotect(text, bytes, PROT_READ | PROT_WRITE | PROT_EXEC));
	store();		/* the nops as they were */
	CHECK(!mprotect(text, bytes, PROT_READ | PROT_EXEC));
	return t;
}

/* One by one, as the session does at first. */
static double patch_to(unsigned state)
{
	uint32_t i;
	double t;

	for (i = 0; i < nsites; i++)
		sites[i].state = (uint8_t)state;
	usleep(REST);
	t = thread_ns();
	CHECK(patch_change(OBJECT, sites, nsites, 0, NULL) == nsites);
	return thread_ns() - t;
}

/* Known sites, by a bit each. */
static double switch_to(unsigned state)
{
	const struct uft_site_order order = { .form = UFT_SITES_KNOWN, .state = (uint8_t)state };
	uint32_t i;
	double t;

	memset(words, 0, nwords * sizeof(*words));
	for (i = 0; i < nsites; i++)
		words[i / 64] |= 1ull << i % 64;
	usleep(REST);
	t = thread_ns();
	CHECK(patch_bits(OBJECT, &order, words, nsites, 0) == nsites);
	t = thread_ns() - t;
	for (i = 0; i < nwords; i++)
		CHECK(!words[i]);
	return t;
}

static void row(const char *name, int nthreads)
{
	pthread_t th[NTHREADS];
	double plain[ROUNDS], with[ROUNDS], noted[ROUNDS], on[ROUNDS], off[ROUNDS], graph[ROUNDS];
	int i, r;

	stop = 0;
	for (i = 0; i < nthreads; i++)
		pthread_create(&th[i], NULL, worker, (void *)(long)i);
	usleep(20000);
	for (r = 0; r < ROUNDS; r++) {
		plain[r] = bare(0, store_bare);
		with[r] = bare(1, store_bare);
		noted[r] = bare(1, store_and_note);
		on[r] = switch_to(UFT_FUNCTION);
		graph[r] = switch_to(UFT_GRAPH);
		switch_to(UFT_FUNCTION);
		off[r] = switch_to(UFT_IDLE);
	}
	stop = 1;
	for (i = 0; i < nthreads; i++)
		sem_post(&never);
	for (i = 0; i < nthreads; i++)
		pthread_join(th[i], NULL);
	printf("%-22s %10.1f %14.1f %10.1f %8.1f %8.1f %8.1f\n", name, ns_per_site(plain), ns_per_site(with),
	       ns_per_site(noted), ns_per_site(on), ns_per_site(off), ns_per_site(graph));
}

int main(int argc, char **argv)
{
	struct uft_cmd_object o;

	if (argc > 1)
		nsites = (uint32_t)atoi(argv[1]);
	kit_thread_init();
	sem_init(&never, 0, 0);
	CHECK(!patch_init());
	make_text();
	o = (struct uft_cmd_object){ .text_start = (uint64_t)text, .text_end = (uint64_t)text + bytes, .object = OBJECT,
				     .nstubs = nsites };
	CHECK(!patch_object(&o));
	printf("first function %.1f ns/site, ", patch_to(UFT_FUNCTION) / nsites);
	printf("first graph %.1f ns/site\n", patch_to(UFT_GRAPH) / nsites);
	printf("later %.1f ns/site, ", patch_to(UFT_IDLE) / nsites);
	printf("first sweep %.1f ns/site\n", switch_to(UFT_FUNCTION) / nsites);
	switch_to(UFT_IDLE);
	printf("%-22s %10s %14s %10s %8s %8s %8s\n", "ns per site", "bare store", "with mprotect", "and noted", "on",
	       "off", "graph");
	row("st8, no threads", 0);
	row("st8, 4 idle threads", NTHREADS);
	is_spinning = 1;
	row("st8, 4 running", NTHREADS);
	uft_rt.st8_ok = 0;
	is_spinning = 0;
	row("js, 4 idle threads", NTHREADS);
	is_spinning = 1;
	row("js, 4 running", NTHREADS);
	return 0;
}
