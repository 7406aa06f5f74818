// SPDX-License-Identifier: MIT
/* test_unwind.c - calls that end without a return: longjmp, exceptions */
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "runtime/arch/arch.h"
#include "graph_sites.h"

static void longjmp_case(struct lab_config c)
{
	struct lab_events *ev;
	struct lab_replay r;

	start(c);
	for (int i = 0; i < 50; i++) {
		if (!sigsetjmp(env, 0))
			jumper(4);
		mid(1);		/* shallower than what was left, deeper on the array */
	}
	ev = finish();
	CHECK_REPLAY(ev, self(), &r);
	CHECK_EQ(r.entered[JUMPER], 250);
	CHECK_EQ(r.left[JUMPER], 250);
	CHECK_EQ(r.calls[MID], 50);
	CHECK_EQ(r.calls[LEAF], 100);
	CHECK_EQ(r.open, 0);
	CHECK_EQ(r.depth_max, 5);
	lab_free(ev);
}

static void test_longjmp(void)
{
	longjmp_case((struct lab_config){ 0 });
}

static void test_longjmp_exchange(void)
{
	longjmp_case((struct lab_config){ .no_rseq = 1 });
}

/*
 * Frames that the second jump leaves have older frames at their slots in the table of detached frames. If each of
 * them were looked for among all that are left, this would take minutes.
 */
static void test_longjmp_deep(void)
{
	struct uft_tracer_params p = { .tracer = UFT_TRACER_GRAPH, .thresh = ~0ull };

	start_full((struct lab_config){ 0 }, &p);
	for (int i = 0; i < 40; i++) {
		if (!sigsetjmp(env, 0))
			jumper(100000);
		mid(1);
	}
	CHECK_EQ(lab_counter(UFT_CNT_SHADOW_FULL), 0);
	lab_free(finish());
}

/* The frame that catches is traced itself: its exit shows what was left. */
LAB_SITE long catcher(void);
LAB_SITE long catcher(void)
{
	if (!sigsetjmp(env, 0))
		jumper(3);
	__asm__ volatile("");
	return 1;
}

static void test_longjmp_exit(void)
{
	struct lab_events *ev;
	struct lab_replay r;

	start((struct lab_config){ 0 });
	lab_arm(catcher, PROBE, LAB_GRAPH, 0);
	for (int i = 0; i < 20; i++)
		catcher();
	ev = finish();
	CHECK_REPLAY(ev, self(), &r);
	CHECK_EQ(r.calls[PROBE], 20);
	CHECK_EQ(r.left[JUMPER], 80);
	CHECK_EQ(r.open, 0);
	lab_free(ev);
}

/* What an unwinder does: the hook puts the true addresses back, frames vanish, the next event hooks the rest again. */
static uint64_t parent_seen;
LAB_SITE void thrower(void);
LAB_SITE void thrower(void)
{
	/* From here an unwinder would walk: each slot must hold the true address now. */
	trace_hook_unwind(__builtin_frame_address(0), NULL);
	parent_seen = (uint64_t)__builtin_return_address(0);
	siglongjmp(env, 1);
}

LAB_SITE long between(void);
LAB_SITE long between(void)
{
	thrower();
	__asm__ volatile("");
	return 2;
}

LAB_SITE long lander(void);
LAB_SITE long lander(void)
{
	if (!sigsetjmp(env, 0))
		between();
	mid(1);
	__asm__ volatile("");
	return 3;
}

static void test_exception(void)
{
	enum { THROWER = PROBE, BETWEEN, LANDER };
	struct lab_events *ev;
	struct lab_replay r;

	start((struct lab_config){ 0 });
	lab_arm(thrower, THROWER, LAB_GRAPH, 0);
	lab_arm(between, BETWEEN, LAB_GRAPH, 0);
	lab_arm(lander, LANDER, LAB_GRAPH, 0);
	for (int i = 0; i < 20; i++) {
		CHECK_EQ(lander(), 3);
		CHECK(parent_seen - (uint64_t)between < 200);
	}
	ev = finish();
	CHECK_REPLAY(ev, self(), &r);
	CHECK_EQ(r.calls[LANDER], 20);
	CHECK_EQ(r.left[THROWER], 20);
	CHECK_EQ(r.left[BETWEEN], 20);
	CHECK_EQ(r.calls[MID], 20);
	CHECK_EQ(r.open, 0);
	lab_free(ev);
}

/*
 * Frames of two coroutines above the stack that an exception is thrown on: one was set aside, one is on the array.
 * Their stacks cannot be written, as if another thread had unmapped them just then: the hook leaves them alone.
 */
static ucontext_t stale_main, stale_co[2];
static char *stale_stacks;
#define STALE_BYTES 65536

LAB_SITE void stale_body(long i);
LAB_SITE void stale_body(long i)
{
	swapcontext(&stale_co[i], &stale_main);
	__asm__ volatile("");
}

static void *stale_thread(void *unused)
{
	for (int i = 0; i < 2; i++) {
		getcontext(&stale_co[i]);
		stale_co[i].uc_stack.ss_sp = stale_stacks + (i + 1) * STALE_BYTES;
		stale_co[i].uc_stack.ss_size = STALE_BYTES;
		stale_co[i].uc_link = &stale_main;
		makecontext(&stale_co[i], (void (*)(void))stale_body, 1, i);
		swapcontext(&stale_main, &stale_co[i]);
	}
	CHECK(!mprotect(stale_stacks + STALE_BYTES, 2 * STALE_BYTES, PROT_READ));
	CHECK_EQ(lander(), 3);
	CHECK(!mprotect(stale_stacks + STALE_BYTES, 2 * STALE_BYTES, PROT_READ | PROT_WRITE));
	for (int i = 0; i < 2; i++)
		swapcontext(&stale_main, &stale_co[i]);
	return unused;
}

static void test_exception_stale(void)
{
	pthread_attr_t attr;
	pthread_t th;

	start((struct lab_config){ 0 });
	lab_arm(thrower, PROBE, LAB_GRAPH, 0);
	lab_arm(stale_body, CO, LAB_GRAPH, 0);
	stale_stacks = mmap(NULL, 3 * STALE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(stale_stacks != MAP_FAILED);
	pthread_attr_init(&attr);
	CHECK(!pthread_attr_setstack(&attr, stale_stacks, STALE_BYTES));
	CHECK(!pthread_create(&th, &attr, stale_thread, NULL));
	pthread_join(th, NULL);
	CHECK_EQ(lab_counter(UFT_CNT_LOST_RETURN), 0);
	lab_free(finish());
}

/*
 * A thread throws below another one's stack, on which a hooked frame was set aside: that one goes on at any moment, and
 * what is there is its own. It stands still here, on a coroutine, so that each word of its stack can be compared.
 */
#define STACK_LOWER	stale_stacks
#define STACK_UPPER	(stale_stacks + STALE_BYTES)
#define STACK_CO	(stale_stacks + 2 * STALE_BYTES)
static sem_t upper_stands, upper_may_go;
static char *upper_end;	/* behind it libc links its threads */

static void upper_co(void)
{
	mid(1);		/* above the frame of upper_body(), which is set aside by it */
	CHECK(!sem_post(&upper_stands));
	CHECK(!sem_wait(&upper_may_go));
}

LAB_SITE void upper_body(void);
LAB_SITE void upper_body(void)
{
	getcontext(&stale_co[0]);
	stale_co[0].uc_stack.ss_sp = STACK_CO;
	stale_co[0].uc_stack.ss_size = STALE_BYTES;
	stale_co[0].uc_link = &stale_main;
	makecontext(&stale_co[0], upper_co, 0);
	swapcontext(&stale_main, &stale_co[0]);
	__asm__ volatile("");
}

static void *upper_thread(void *unused)
{
	upper_end = __builtin_frame_address(0);
	upper_body();
	return unused;
}

static void *lower_thread(void *unused)
{
	CHECK_EQ(lander(), 3);
	CHECK(parent_seen - (uint64_t)between < 200);	/* its own was restored */
	return unused;
}

static void start_on(pthread_t *th, char *stack, void *(*body)(void *))
{
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	CHECK(!pthread_attr_setstack(&attr, stack, STALE_BYTES));
	CHECK(!pthread_create(th, &attr, body, NULL));
	pthread_attr_destroy(&attr);
}

static void test_exception_other_stack(void)
{
	static char before[STALE_BYTES];
	struct lab_events *ev;
	pthread_t upper, lower;

	start((struct lab_config){ 0 });
	lab_arm(thrower, PROBE, LAB_GRAPH, 0);
	lab_arm(upper_body, CO, LAB_GRAPH, 0);
	stale_stacks = mmap(NULL, 3 * STALE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(stale_stacks != MAP_FAILED);
	CHECK(!sem_init(&upper_stands, 0, 0) && !sem_init(&upper_may_go, 0, 0));
	start_on(&upper, STACK_UPPER, upper_thread);
	CHECK(!sem_wait(&upper_stands));
	CHECK((size_t)(upper_end - STACK_UPPER) <= sizeof(before));
	memcpy(before, STACK_UPPER, (size_t)(upper_end - STACK_UPPER));
	start_on(&lower, STACK_LOWER, lower_thread);
	pthread_join(lower, NULL);
	CHECK(!memcmp(before, STACK_UPPER, (size_t)(upper_end - STACK_UPPER)));
	CHECK(!sem_post(&upper_may_go));
	pthread_join(upper, NULL);
	ev = finish();
	CHECK_EQ(lab_count(ev, 0, UFT_REC_EXIT_LEFT, CO), 1);	/* it was set aside, and returned by our hook */
	CHECK_EQ(lab_counter(UFT_CNT_LOST_RETURN), 0);
	lab_free(ev);
}

static const struct lab_case cases[] = {
	{ "longjmp", test_longjmp }, { "longjmp_exchange", test_longjmp_exchange },
	{ "longjmp_deep", test_longjmp_deep }, { "longjmp_exit", test_longjmp_exit },
	{ "exception", test_exception }, { "exception_stale", test_exception_stale },
	{ "exception_other_stack", test_exception_other_stack }, { NULL, NULL },
};

int main(int argc, char **argv)
{
	return lab_main(cases, argc > 1 ? argv[1] : NULL);
}
