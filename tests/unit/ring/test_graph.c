// SPDX-License-Identifier: MIT
/* test_graph.c - graph calls: pairing, depth, tail calls, modes */
#include <pthread.h>

#include "runtime/arch/arch.h"
#include "graph_sites.h"

static void plain(struct lab_config c)
{
	struct lab_events *ev;
	struct lab_replay r;

	start(c);
	for (int i = 0; i < 1000; i++)
		CHECK_EQ(outer(5), 6 * 3);
	ev = finish();
	CHECK_REPLAY(ev, self(), &r);
	CHECK_EQ(r.calls[OUTER], 1000);
	CHECK_EQ(r.calls[MID], 1000);
	CHECK_EQ(r.calls[LEAF], 3000);
	CHECK_EQ(r.open, 0);
	CHECK_EQ(r.depth_max, 3);
	CHECK_EQ(ev->n, 10000);
	lab_free(ev);
}

static void test_plain(void)
{
	plain((struct lab_config){ 0 });
}

static void test_plain_exchange(void)
{
	plain((struct lab_config){ .no_rseq = 1 });
}

/* Arguments on the stack and a structure returned through memory do not move. */
struct big { long v[6]; };
LAB_SITE struct big many(long a, long b, long c, long d, long e, long f, long g, double x, struct big h);
LAB_SITE struct big many(long a, long b, long c, long d, long e, long f, long g, double x, struct big h)
{
	h.v[0] += a + b + c + d + e + f + g + (long)x;
	__asm__ volatile("" ::: "memory");
	return h;
}

static void test_stack_arguments(void)
{
	struct big b = { { 1, 2, 3, 4, 5, 6 } };

	start((struct lab_config){ 0 });
	lab_arm(many, PROBE, LAB_GRAPH, 0);
	for (int i = 0; i < 3; i++) {
		struct big r = many(1, 2, 3, 4, 5, 6, 7, 8.0, b);

		CHECK_EQ(r.v[0], 37);
		CHECK_EQ(r.v[5], 6);
	}
	lab_params(UFT_TRACER_NOP);
	CHECK_EQ(many(1, 2, 3, 4, 5, 6, 7, 8.0, b).v[0], 37);
}

static void test_recursion(void)
{
	struct lab_events *ev;
	struct lab_replay r;

	start((struct lab_config){ .ring_bytes = 8 << 20 });
	CHECK_EQ(rec(30000), 30001);
	CHECK_EQ(rec(10), 11);
	ev = finish();
	CHECK_REPLAY(ev, self(), &r);
	CHECK_EQ(r.calls[REC], 30001 + 11);
	CHECK_EQ(r.depth_max, 30001);
	CHECK_EQ(r.open, 0);
	CHECK_EQ(lab_counter(UFT_CNT_SHADOW_FULL), 0);
	lab_free(ev);
}

/* Deeper than the shadow stack: what does not fit is passed through and counted, the program does not notice. */
static void *deep_task(void *unused)
{
	(void)unused;
	CHECK_EQ(rec(200000), 200001);
	return NULL;
}

static void test_shadow_full(void)
{
	struct lab_events *ev;
	pthread_attr_t a;
	pthread_t th;

	start((struct lab_config){ .ring_bytes = 32 << 20 });
	pthread_attr_init(&a);
	pthread_attr_setstacksize(&a, 64 << 20);
	CHECK(!pthread_create(&th, &a, deep_task, NULL));
	pthread_join(th, NULL);
	ev = lab_decode();
	CHECK_EQ(lab_counter(UFT_CNT_SHADOW_FULL) + lab_count(ev, 0, UFT_REC_ENTRY, REC), 200001);
	CHECK_EQ(lab_count(ev, 0, UFT_REC_ENTRY, REC), lab_count(ev, 0, UFT_REC_EXIT, REC));
	CHECK_EQ(lab_counter(UFT_CNT_LOST_RETURN), 0);
	for (size_t i = 0; i < ev->n; i++)	/* the innermost that was recorded says how many were not, once */
		if (ev->e[i].kind == UFT_REC_EVENT) {
			CHECK_EQ(ev->e[i].value, UFT_EVENT_VALUE(UFT_EVENT_OVERRUN, 1));
			CHECK_EQ(ev->e[i].w1, lab_counter(UFT_CNT_SHADOW_FULL));
			CHECK_EQ(ev->e[i + 1].kind, UFT_REC_EXIT);
		}
	CHECK_EQ(lab_count(ev, 0, UFT_REC_EVENT, -1), 1);
	lab_free(ev);
}

static void tail_call(struct lab_config c)
{
	struct lab_events *ev;
	struct lab_replay r;

	start(c);
	for (int i = 0; i < 100; i++)
		CHECK_EQ(tail(1), 3);
	ev = finish();
	CHECK_REPLAY(ev, self(), &r);
	CHECK_EQ(r.calls[TAIL], 100);
	CHECK_EQ(r.calls[LEAF], 100);
	CHECK_EQ(r.depth_max, 2);
	CHECK_EQ(ev->n, 400);
	lab_free(ev);
}

static void test_tail_call(void)
{
	tail_call((struct lab_config){ 0 });
}

static void test_tail_call_exchange(void)
{
	tail_call((struct lab_config){ .no_rseq = 1 });
}

/* ---- Modes -------------------------------------------------------------------------------- */

static void test_max_depth(void)
{
	struct uft_tracer_params p = { .tracer = UFT_TRACER_GRAPH, .max_depth = 2 };
	struct lab_events *ev;
	struct lab_replay r;

	start_full((struct lab_config){ 0 }, &p);
	for (int i = 0; i < 10; i++)
		outer(1);
	rec(100);
	ev = finish();
	CHECK_REPLAY(ev, self(), &r);
	CHECK_EQ(r.calls[OUTER], 10);
	CHECK_EQ(r.calls[MID], 10);
	CHECK_EQ(r.calls[LEAF], 10);		/* called by outer; those of mid are deeper */
	CHECK_EQ(r.calls[REC], 2);
	CHECK_EQ(r.depth_max, 2);
	CHECK_EQ(r.open, 0);
	lab_free(ev);
}

static void test_roots(void)
{
	struct uft_tracer_params p = { .tracer = UFT_TRACER_GRAPH, .has_roots = 1 };
	struct lab_events *ev;
	struct lab_replay r;

	start_full((struct lab_config){ 0 }, &p);
	lab_arm(mid, MID, LAB_GRAPH, 1);
	for (int i = 0; i < 10; i++)
		outer(1);
	leaf(1);
	ev = finish();
	CHECK_REPLAY(ev, self(), &r);
	CHECK_EQ(r.calls[OUTER], 0);
	CHECK_EQ(r.calls[MID], 10);
	CHECK_EQ(r.calls[LEAF], 20);
	CHECK_EQ(r.open, 0);
	lab_free(ev);
}

static void test_thresh(void)
{
	struct uft_tracer_params p = { .tracer = UFT_TRACER_GRAPH, .thresh = 200000 };
	struct lab_events *ev;

	start_full((struct lab_config){ 0 }, &p);
	mid(1);
	in_outer = spin;
	for (int i = 0; i < 10; i++)
		outer(1);
	ev = finish();
	CHECK_EQ(lab_count(ev, self(), UFT_REC_CALL, OUTER), 10);
	CHECK_EQ(lab_count(ev, self(), UFT_REC_ENTRY, -1) + lab_count(ev, self(), UFT_REC_EXIT, -1), 0);
	for (size_t i = 0; i < ev->n; i++)
		CHECK(ev->e[i].w1 >= 200000);
	lab_free(ev);
}

/* Exits work whatever the tracer is by then; what has an ENTRY gets its EXIT, what has none does not. */
static void tracer_off(void)
{
	lab_params(UFT_TRACER_NOP);
}

static void tracer_on(void)
{
	lab_params(UFT_TRACER_GRAPH);
}

static void test_switch(void)
{
	struct lab_events *ev;
	struct lab_replay r;

	start((struct lab_config){ 0 });
	for (int i = 0; i < 20; i++) {
		in_outer = i % 2 ? tracer_on : tracer_off;
		outer(1);
	}
	ev = finish();
	CHECK_REPLAY(ev, self(), &r);
	CHECK_EQ(r.calls[OUTER], 10);
	CHECK_EQ(r.calls[MID], 10);
	CHECK_EQ(r.calls[LEAF], 20 + 10);
	CHECK_EQ(r.open, 0);
	lab_free(ev);
}

/* mcount sites: after the prologue, the return address at 8(rbp) is replaced. */
LAB_SITE long mcount_site(long x);
__asm__(".text\n.balign 16\n.globl mcount_fn\n.type mcount_fn,@function\nmcount_fn:\n\tpush %rbp\n\tmov %rsp,%rbp\n"
	"\tsub $16,%rsp\n\tmov %rdi,-8(%rbp)\n.globl mcount_site\nmcount_site:\n\t.rept 8\n\tnop\n\t.endr\n"
	"\tmov -8(%rbp),%rdi\n\tcall leaf\n\tadd $5,%rax\n\tleave\n\tret\n");
long mcount_fn(long x);

static void test_mcount(void)
{
	struct lab_events *ev;
	struct lab_replay r;

	start((struct lab_config){ 0 });
	lab_arm(mcount_site, PROBE, LAB_MGRAPH, 0);
	for (int i = 0; i < 100; i++)
		CHECK_EQ(mcount_fn(1), 7);
	ev = finish();
	CHECK_REPLAY(ev, self(), &r);
	CHECK_EQ(r.calls[PROBE], 100);
	CHECK_EQ(r.calls[LEAF], 100);
	CHECK_EQ(r.depth_max, 2);
	lab_free(ev);
	lab_params(UFT_TRACER_NOP);
	CHECK_EQ(mcount_fn(1), 7);
	lab_clear();
	lab_arm(mcount_site, PROBE, LAB_MFUNCTION, 0);
	lab_arm(leaf, LEAF, LAB_IDLE, 0);
	lab_params(UFT_TRACER_FUNCTION);
	for (int i = 0; i < 10; i++)
		CHECK_EQ(mcount_fn(1), 7);
	ev = finish();
	CHECK_EQ(lab_count(ev, self(), UFT_REC_FUNC, lab_text_id(PROBE)), 10);
	for (size_t i = 0; i < ev->n; i++)
		CHECK(ev->e[i].w1 - (uint64_t)test_mcount < 4000);
	lab_free(ev);
}

static const struct lab_case cases[] = {
	{ "plain", test_plain }, { "plain_exchange", test_plain_exchange },
	{ "stack_arguments", test_stack_arguments }, { "recursion", test_recursion },
	{ "shadow_full", test_shadow_full }, { "tail_call", test_tail_call },
	{ "tail_call_exchange", test_tail_call_exchange }, { "max_depth", test_max_depth },
	{ "roots", test_roots }, { "thresh", test_thresh }, { "switch", test_switch },
	{ "mcount", test_mcount }, { NULL, NULL },
};

int main(int argc, char **argv)
{
	return lab_main(cases, argc > 1 ? argv[1] : NULL);
}
