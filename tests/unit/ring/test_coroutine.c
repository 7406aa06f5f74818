// SPDX-License-Identifier: MIT
/* test_coroutine.c - coroutines: calls whose frames lie on several stacks, in any order and of any thread */
#include <pthread.h>
#include <ucontext.h>

#include "runtime/arch/arch.h"
#include "graph_sites.h"

static ucontext_t co_main, co_self;
static char *co_stack;
static char static_stack[65536];

static void yield(void)
{
	swapcontext(&co_self, &co_main);
}

LAB_SITE void co_body(long rounds);
LAB_SITE void co_body(long rounds)
{
	in_outer = yield;
	for (long i = 0; i < rounds; i++)
		outer(1);
	in_outer = NULL;
	__asm__ volatile("");
}

static void co_entry(void)
{
	co_body(10);
}

static void co_make(char *stack, size_t size)
{
	co_stack = stack;
	CHECK(!getcontext(&co_self));
	co_self.uc_stack.ss_sp = stack;
	co_self.uc_stack.ss_size = size;
	co_self.uc_link = &co_main;
	makecontext(&co_self, co_entry, 0);
}

/* Every call of the coroutine has exactly one end: EXIT, or UNWIND and then EXIT_LEFT. */
static void check_coroutine(struct lab_events *ev, uint64_t mids)
{
	uint64_t left = 0;

	for (size_t i = 0; i < ev->n; i++)
		left += ev->e[i].kind == UFT_REC_UNWIND ? ev->e[i].value : 0;
	CHECK_EQ(left, lab_count(ev, 0, UFT_REC_EXIT_LEFT, -1));
	for (int id = LEAF; id < NSITES; id++)
		CHECK_EQ(lab_count(ev, 0, UFT_REC_ENTRY, id),
			 lab_count(ev, 0, UFT_REC_EXIT, id) + lab_count(ev, 0, UFT_REC_EXIT_LEFT, id));
	CHECK_EQ(lab_count(ev, 0, UFT_REC_ENTRY, CO), 1);
	CHECK_EQ(lab_count(ev, 0, UFT_REC_ENTRY, OUTER), 10);
	CHECK_EQ(lab_count(ev, 0, UFT_REC_ENTRY, MID), 10 + mids);
	/* EXIT_LEFT names the entry's clock. */
	for (size_t i = 0; i < ev->n; i++) {
		int found = 0;

		if (ev->e[i].kind != UFT_REC_EXIT_LEFT)
			continue;
		for (size_t k = 0; k < i; k++)
			found += ev->e[k].kind == UFT_REC_ENTRY && ev->e[k].clock == ev->e[i].w1 &&
				 ev->e[k].value == ev->e[i].value;
		CHECK_EQ(found, 1);
	}
}

static void coroutine(struct lab_config c, char *stack)
{
	struct lab_events *ev;
	struct lab_replay r;

	start(c);
	lab_arm(co_body, CO, LAB_GRAPH, 0);
	co_make(stack, 65536);
	for (int i = 0; i < 11; i++) {
		CHECK(!swapcontext(&co_main, &co_self));
		mid(1);
	}
	ev = finish();
	CHECK_REPLAY(ev, self(), &r);
	CHECK_EQ(r.open, 0);
	check_coroutine(ev, 11);
	lab_free(ev);
}

static void test_coroutine(void)
{
	coroutine((struct lab_config){ 0 }, static_stack);
}

static void test_coroutine_exchange(void)
{
	coroutine((struct lab_config){ .no_rseq = 1 }, static_stack);
}

/* Two entries for one slot are set aside: a tail call in a coroutine. They return in order. */
LAB_SITE long co_tail(long x);
LAB_SITE long co_tail_target(long x);
LAB_SITE long co_tail_target(long x)
{
	yield();
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}
__asm__(".text\n.balign 16\n.globl co_tail\n.type co_tail,@function\nco_tail:\n\t.rept 8\n\tnop\n\t.endr\n"
	"\tjmp co_tail_target\n");

static long co_tail_result;
static void co_tail_entry(void)
{
	co_tail_result = co_tail(41);
}

static void test_coroutine_tail(void)
{
	struct lab_events *ev;
	struct lab_replay r;

	start((struct lab_config){ 0 });
	lab_arm(co_tail, PROBE, LAB_GRAPH, 0);
	lab_arm(co_tail_target, CO, LAB_GRAPH, 0);
	co_make(static_stack, sizeof(static_stack));
	makecontext(&co_self, co_tail_entry, 0);
	CHECK(!swapcontext(&co_main, &co_self));
	mid(1);
	CHECK(!swapcontext(&co_main, &co_self));
	CHECK_EQ(co_tail_result, 42);
	ev = finish();
	CHECK_REPLAY(ev, self(), &r);
	CHECK_EQ(r.back[PROBE], 1);
	CHECK_EQ(r.back[CO], 1);
	CHECK_EQ(r.open, 0);
	lab_free(ev);
}

/* The coroutine's stack above the main one. */
static void test_coroutine_above(void)
{
	char here[65536 * 4];
	pthread_t th;
	pthread_attr_t a;
	static char *high;
	static char low_stack[1 << 20];

	(void)here;
	high = here;
	pthread_attr_init(&a);
	pthread_attr_setstack(&a, low_stack, sizeof(low_stack));
	void *run(void *p);
	CHECK(!pthread_create(&th, &a, run, high));
	pthread_join(th, NULL);
}
void *run(void *p);
void *run(void *p)
{
	coroutine((struct lab_config){ 0 }, p);
	return NULL;
}

/* Resumed by another thread, which has never seen its frames; the first has no event after switching away. */
static void *resume_elsewhere(void *unused)
{
	(void)unused;
	CHECK(!swapcontext(&co_main, &co_self));
	mid(1);
	return NULL;
}

static void test_coroutine_moves(void)
{
	struct lab_events *ev;

	start((struct lab_config){ 0 });
	lab_arm(co_body, CO, LAB_GRAPH, 0);
	co_make(static_stack, sizeof(static_stack));
	for (int i = 0; i < 11; i++) {
		if (i % 2) {
			pthread_t th;

			CHECK(!pthread_create(&th, NULL, resume_elsewhere, NULL));
			pthread_join(th, NULL);
		} else {
			CHECK(!swapcontext(&co_main, &co_self));
		}
	}
	mid(1);
	ev = finish();
	check_coroutine(ev, 6);
	lab_free(ev);
}

/* The thread that entered the frames is gone, and its thread pointer belongs to the next one. */
static void *resume_and_end(void *unused)
{
	(void)unused;
	CHECK(!swapcontext(&co_main, &co_self));
	return (void *)pthread_self();
}

static void test_coroutine_orphan(void)
{
	struct lab_events *ev;
	void *tp_before = NULL;
	int reused = 0;

	start((struct lab_config){ 0 });
	lab_arm(co_body, CO, LAB_GRAPH, 0);
	co_make(static_stack, sizeof(static_stack));
	for (int i = 0; i < 11; i++) {
		uint64_t regs[6] = { 0x3d0f00 /* CLONE_VM | CLONE_SETTLS and the rest */, 0, 0, 0, 0, 0 };
		pthread_t th;
		void *tp;

		/* What the clone hook would do: libc gives the same memory again. */
		regs[4] = (uint64_t)tp_before;
		trace_hook_syscall_pre(SYS_clone, regs);
		CHECK(!pthread_create(&th, NULL, resume_and_end, NULL));
		pthread_join(th, &tp);
		reused += tp == tp_before;
		tp_before = tp;
	}
	CHECK(reused > 5);
	mid(1);
	ev = finish();
	CHECK_EQ(lab_count(ev, 0, UFT_REC_ENTRY, OUTER), 10);
	for (int id = LEAF; id < NSITES; id++)
		CHECK_EQ(lab_count(ev, 0, UFT_REC_ENTRY, id),
			 lab_count(ev, 0, UFT_REC_EXIT, id) + lab_count(ev, 0, UFT_REC_EXIT_LEFT, id));
	lab_free(ev);
}

static const struct lab_case cases[] = {
	{ "coroutine_tail", test_coroutine_tail }, { "coroutine", test_coroutine },
	{ "coroutine_exchange", test_coroutine_exchange }, { "coroutine_above", test_coroutine_above },
	{ "coroutine_moves", test_coroutine_moves }, { "coroutine_orphan", test_coroutine_orphan },
	{ NULL, NULL },
};

int main(int argc, char **argv)
{
	return lab_main(cases, argc > 1 ? argv[1] : NULL);
}
