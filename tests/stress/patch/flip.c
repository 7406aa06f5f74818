/* SPDX-License-Identifier: MIT */
/*
 * flip.c - sites change while four threads run through them and processes are forked
 *
 * Every kind of site at every offset of a cache line; the patcher picks runs of sites and a state at random, the
 * callers check each result, and a forker takes children at any moment: each must finish the batch it was born in,
 * switch everything on and off itself and get back to the bytes as found.
 *
 *	flip [st8|js|mem]	UFT_STRESS_FLIPS: how many (make soak: ten million)
 */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/patch/kit.h"

#define NTHREADS	4
#define NOFF		64u
#define OBJECT		3u

static struct kit_text text;
static struct uft_patch sites[2048];
static const struct kit_site *kind_of[2048];
static unsigned nsites;
static volatile int stop;
static uint64_t calls[NTHREADS], forks;

static unsigned rnd(unsigned *x)
{
	*x = *x * 1664525u + 1013904223u;
	return *x >> 8;
}

static void *caller(void *arg)
{
	unsigned id = (unsigned)(long)arg, x = id * 7919 + 1;
	uint64_t n = 0;

	kit_thread_init();
	while (!stop) {
		unsigned i = rnd(&x) % nsites;

		CHECK(kit_call(&text, i, kind_of[i], i % NOFF, (long)n) == (long)n + 1, "%s at %u", kind_of[i]->name,
		      i % NOFF);
		n++;
	}
	calls[id] = n;
	return NULL;
}

static void all_to(struct uft_patch *p, unsigned state)
{
	unsigned i;

	for (i = 0; i < nsites; i++)
		p[i].state = (uint8_t)state;
	CHECK(patch_change(OBJECT, p, nsites, 0, NULL) >= 0);
	for (i = 0; i < nsites; i++)
		CHECK(p[i].status == UFT_ST_OK || p[i].status == UFT_ST_LIVE, "child: %s at %u: status %u, state %u",
		      kind_of[i]->name, i % NOFF, p[i].status, state);
}

/* A child that was born at any point of a batch. Its copy of the arrays is its own. */
static void child(void)
{
	static struct uft_patch mine[2048];
	unsigned i;

	alarm(100);
	kit_thread_init();
	/* Before anything is put right, whatever is there must be code that works. */
	for (i = 0; i < nsites; i++)
		CHECK(kit_call(&text, i, kind_of[i], i % NOFF, 7) == 8, "child: %s at %u", kind_of[i]->name, i % NOFF);
	patch_after_fork();
	memcpy(mine, sites, sizeof(mine));
	all_to(mine, UFT_GRAPH);
	for (i = 0; i < nsites; i++)
		CHECK(kit_call(&text, i, kind_of[i], i % NOFF, 7) == 8, "child: %s at %u", kind_of[i]->name, i % NOFF);
	all_to(mine, UFT_IDLE);
	for (i = 0; i < nsites; i++)
		mine[i].state = UFT_FUNCTION;
	kit_bitmap(OBJECT, mine, nsites);
	for (i = 0; i < nsites; i++)
		CHECK(kit_call(&text, i, kind_of[i], i % NOFF, 7) == 8, "child: %s at %u", kind_of[i]->name, i % NOFF);
	patch_disarm();
	for (i = 0; i < text.bytes; i++)
		CHECK(text.base[i] == text.copy[i], "child: byte %u of slot %u (%s) is %02x, was %02x", i % KIT_SLOT,
		      i / KIT_SLOT, kind_of[i / KIT_SLOT]->name, text.base[i], text.copy[i]);
	_exit(0);
}

static void *forker(void *arg)
{
	struct timespec pause = { 0, 2000000 };
	int status;

	while (!stop) {
		pid_t pid = fork();

		CHECK(pid >= 0);
		if (!pid)
			child();
		CHECK(waitpid(pid, &status, 0) == pid && !status, "child's status %x", status);
		forks++;
		nanosleep(&pause, NULL);
	}
	return arg;
}

static void make_sites(void)
{
	const struct kit_site *k;
	unsigned i, nkinds = 0;

	while (kit_sites[nkinds].name)
		nkinds++;
	kit_text_make(&text, nkinds * NOFF);
	for (k = kit_sites; k->name; k++)
		for (i = 0; i < NOFF; i++, nsites++) {
			kind_of[nsites] = k;
			sites[nsites] = (struct uft_patch){ .addr = kit_emit(&text, nsites, k, i), .stub = nsites,
				.kind_len = UFT_KIND_LEN(k->kind, k->len), .action = k->action };
		}
	kit_text_seal(&text);
}

int main(int argc, char **argv)
{
	const char *env = getenv("UFT_STRESS_FLIPS"), *mode = argc > 1 ? argv[1] : "st8";
	uint64_t flips = env ? strtoull(env, NULL, 0) : !strcmp(mode, "mem") ? 40000 : 1500000, done = 0, ncalls = 0;
	struct uft_cmd_object o;
	pthread_t th[NTHREADS + 1];
	unsigned x = 12345, i, batches = 0;
	struct timespec a, b;

	uft_rt.st8_ok = !strcmp(mode, "st8");
	uft_rt.no_mprotect = !strcmp(mode, "mem");
	if (uft_rt.no_mprotect)
		uft_rt.st8_ok = 1;
	kit_thread_init();
	CHECK(!patch_init());
	make_sites();
	kit_object(&text, OBJECT, nsites, &o);
	for (i = 0; i < NTHREADS; i++)
		pthread_create(&th[i], NULL, caller, (void *)(long)i);
	pthread_create(&th[i], NULL, forker, NULL);
	clock_gettime(CLOCK_MONOTONIC, &a);
	while (done < flips) {
		/* One state for a run of sites, or a mixture of all. */
		unsigned from = rnd(&x) % nsites, n = 1 + rnd(&x) % 600, state = rnd(&x) % 5;
		long changed;

		if (from + n > nsites)
			n = nsites - from;
		for (i = 0; i < n; i++)
			sites[from + i].state = (uint8_t)(state < 4 ? state : rnd(&x) % 4);
		if (rnd(&x) % 2)
			changed = kit_bitmap(OBJECT, sites + from, n);
		else
			changed = patch_change(OBJECT, sites + from, n, 0, NULL);
		CHECK(changed >= 0);
		for (i = 0; i < n; i++)
			CHECK(sites[from + i].status == UFT_ST_OK || sites[from + i].status == UFT_ST_LIVE,
			      "%s at %u: status %u", kind_of[from + i]->name, (from + i) % NOFF,
			      sites[from + i].status);
		done += (uint64_t)changed;
		batches++;
	}
	clock_gettime(CLOCK_MONOTONIC, &b);
	patch_disarm();
	stop = 1;
	for (i = 0; i < NTHREADS + 1; i++)
		pthread_join(th[i], NULL);
	patch_disarm();		/* what had to wait until nobody runs */
	CHECK(!memcmp(text.base, text.copy, text.bytes), "not as found");
	for (i = 0; i < NTHREADS; i++)
		ncalls += calls[i];
	CHECK(ncalls && kit_funcs && kit_enters && kit_enters == kit_exits, "%lu enters, %lu exits",
	      (unsigned long)kit_enters, (unsigned long)kit_exits);
	CHECK(forks);
	printf("%s: %lu flips in %u batches, %.0f ns each; %lu calls, %lu traced, %lu forks\n", mode,
	       (unsigned long)done,
	       batches, ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) / (double)done,
	       (unsigned long)ncalls, (unsigned long)(kit_funcs + kit_enters), (unsigned long)forks);
	return 0;
}
