// SPDX-License-Identifier: MIT
/* test_signal.c - signals: handlers on any stack, that return or jump away; stack overflow */
#include <pthread.h>

#include "runtime/arch/arch.h"
#include "graph_sites.h"

static char static_stack[65536];

static void raise_usr1(void)
{
	raise(SIGUSR1);
}

static void signals(char *stack, size_t size)
{
	struct lab_events *ev;
	struct lab_replay r;

	start((struct lab_config){ 0 });
	on_signal_stack(stack, size);
	in_outer = raise_usr1;
	for (int i = 0; i < 100; i++)
		outer(1);
	ev = finish();
	CHECK_REPLAY(ev, self(), &r);
	CHECK_EQ(r.calls[OUTER], 100);
	CHECK_EQ(r.calls[HANDLER], 100);
	CHECK_EQ(r.calls[MID], 200);
	CHECK_EQ(r.calls[LEAF], 500);
	CHECK_EQ(r.open, 0);
	CHECK_EQ(r.depth_max, 4);
	CHECK_EQ(lab_count(ev, 0, UFT_REC_UNWIND, -1), 0);
	lab_free(ev);
}

static void test_signal(void)
{
	signals(NULL, 0);
}

static void test_signal_stack_below(void)
{
	signals(static_stack, sizeof(static_stack));
}

/* On a thread whose stack lies below the signal stack: nothing may count as left. */
static void *signal_thread(void *stack)
{
	signals(stack, 65536);
	return NULL;
}

static char low_stack[1 << 20];
static void below(void *(*run_)(void *), void *arg)
{
	pthread_attr_t a;
	pthread_t th;

	pthread_attr_init(&a);
	pthread_attr_setstack(&a, low_stack, sizeof(low_stack));
	CHECK(!pthread_create(&th, &a, run_, arg));
	pthread_join(th, NULL);
}

static void test_signal_stack_above(void)
{
	char stack[65536];

	below(signal_thread, stack);
}

static void jump_out(void)
{
	siglongjmp(env, 1);
}

/* Handlers that jump away, from wherever their stack is. */
static void signal_jumps(char *stack, size_t size)
{
	struct lab_events *ev;
	struct lab_replay r;

	start((struct lab_config){ 0 });
	on_signal_stack(stack, size);
	in_outer = raise_usr1;
	in_handler = jump_out;
	for (int i = 0; i < 50; i++) {
		if (!sigsetjmp(env, 1))
			outer(1);
		mid(1);
	}
	ev = finish();
	CHECK_REPLAY(ev, self(), &r);
	CHECK_EQ(r.left[OUTER], 50);
	CHECK_EQ(r.left[HANDLER], 50);
	CHECK_EQ(r.calls[MID], 150);
	CHECK_EQ(r.open, 0);
	CHECK_EQ(r.depth_max, 4);
	lab_free(ev);
}

static void test_signal_jump(void)
{
	signal_jumps(NULL, 0);
}

static void test_signal_jump_below(void)
{
	signal_jumps(static_stack, sizeof(static_stack));
}

static void *signal_jump_thread(void *stack)
{
	signal_jumps(stack, 65536);
	return NULL;
}

static void test_signal_jump_above(void)
{
	char stack[65536];

	below(signal_jump_thread, stack);
}

/* A stack overflow, caught on a signal stack: wherever in a handler it strikes, nothing has changed yet. */
static void on_overflow(int sig)
{
	(void)sig;
	siglongjmp(env, 1);
}

/* At each level a call is left, so that the next one's handler is at its deepest with signals blocked. */
static void *env_level[5];
LAB_SITE void leaver(void);
LAB_SITE void leaver(void)
{
	__builtin_longjmp(env_level, 1);
}

LAB_SITE long rec_leaving(long n);
LAB_SITE long rec_leaving(long n)
{
	long r;

	if (!__builtin_setjmp(env_level))
		leaver();
	r = n < 0 ? 0 : rec_leaving(n + 1);
	__asm__ volatile("" : "+r"(r));
	return r + 1;
}

static void *overflow_thread(void *arg)
{
	struct sigaction sa = { .sa_handler = on_overflow, .sa_flags = SA_ONSTACK };
	stack_t ss = { .ss_sp = static_stack, .ss_size = sizeof(static_stack) };
	struct lab_events *ev;
	struct lab_replay r;

	start(*(struct lab_config *)arg);
	lab_arm(rec_leaving, PROBE, LAB_GRAPH, 0);
	lab_arm(leaver, CO, LAB_GRAPH, 0);
	CHECK(!sigaltstack(&ss, NULL) && !sigaction(SIGSEGV, &sa, NULL));
	for (int i = 0; i < 40; i++) {
		/* Another few bytes each time: the guard page is met somewhere else. */
		volatile char *shift = __builtin_alloca(16 * (size_t)i + 16);

		shift[0] = 0;
		if (!sigsetjmp(env, 1))
			i % 2 ? rec(1000000) : rec_leaving(0);
		mid(1);
	}
	ev = finish();
	CHECK_REPLAY(ev, self(), &r);
	CHECK_EQ(r.calls[MID], 40);
	CHECK_EQ(r.calls[REC], 0);
	CHECK_EQ(r.left[REC], r.entered[REC]);
	CHECK_EQ(r.left[PROBE], r.entered[PROBE]);
	CHECK_EQ(r.left[CO], r.entered[CO]);
	CHECK(r.entered[REC] > 20 * 500 && r.entered[PROBE] > 20 * 200 && r.entered[CO] > 20 * 200);
	CHECK_EQ(r.open, 0);
	lab_free(ev);
	return NULL;
}

static void overflow(struct lab_config c)
{
	pthread_attr_t a;
	pthread_t th;

	pthread_attr_init(&a);
	pthread_attr_setstacksize(&a, 128 << 10);
	CHECK(!pthread_create(&th, &a, overflow_thread, &c));
	pthread_join(th, NULL);
}

static void test_overflow(void)
{
	overflow((struct lab_config){ .ring_bytes = 8 << 20 });
}

static void test_overflow_exchange(void)
{
	overflow((struct lab_config){ .ring_bytes = 8 << 20, .no_rseq = 1 });
}

static const struct lab_case cases[] = {
	{ "signal", test_signal }, { "signal_stack_below", test_signal_stack_below },
	{ "signal_stack_above", test_signal_stack_above }, { "signal_jump", test_signal_jump },
	{ "signal_jump_below", test_signal_jump_below }, { "signal_jump_above", test_signal_jump_above },
	{ "overflow", test_overflow }, { "overflow_exchange", test_overflow_exchange }, { NULL, NULL },
};

int main(int argc, char **argv)
{
	return lab_main(cases, argc > 1 ? argv[1] : NULL);
}
