/* SPDX-License-Identifier: MIT */
/* graph_sites.h - the traced functions of the graph tests, and how each test begins and ends */
#ifndef GRAPH_SITES_H
#define GRAPH_SITES_H

#include <setjmp.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lab.h"

enum { LEAF, MID, OUTER, REC, JUMPER, TAIL, HANDLER, CO, PROBE, NSITES };

static inline uint32_t self(void)
{
	return (uint32_t)syscall(SYS_gettid);
}

/* ---- Traced functions --------------------------------------------------------------------- */

LAB_SITE long leaf(long x);
LAB_SITE long leaf(long x)
{
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

LAB_SITE long mid(long x);
LAB_SITE long mid(long x)
{
	long r = leaf(x) + leaf(x);

	__asm__ volatile("" : "+r"(r));
	return r;
}

static void (*in_outer)(void);
LAB_SITE long outer(long x);
LAB_SITE long outer(long x)
{
	long r = mid(x);

	if (in_outer)
		in_outer();
	r += leaf(x);
	__asm__ volatile("" : "+r"(r));
	return r;
}

LAB_SITE long rec(long n);
LAB_SITE long rec(long n)
{
	long r = n ? rec(n - 1) : 0;

	__asm__ volatile("" : "+r"(r));
	return r + 1;
}

static sigjmp_buf env;
LAB_SITE void jumper(long depth);
LAB_SITE void jumper(long depth)
{
	if (!depth)
		siglongjmp(env, 1);
	jumper(depth - 1);
	__asm__ volatile("");
}

/* A tail call of leaf, whatever the optimiser thinks. Three nops more make room for the jump behind the pad. */
LAB_SITE long tail(long x);
__asm__(".text\n.balign 16\n.globl tail\n.type tail,@function\ntail:\n\t.rept 8\n\tnop\n\t.endr\n"
	"\tadd $1,%rdi\n\tjmp leaf\n");

LAB_SITE long probe(long x);
LAB_SITE long probe(long x)
{
	__asm__ volatile("" : "+r"(x));
	return x;
}

static void (*in_handler)(void);
LAB_SITE void handler(int sig);
LAB_SITE void handler(int sig)
{
	mid(sig);
	if (in_handler)
		in_handler();
	__asm__ volatile("");
}

static void start_full(struct lab_config c, const struct uft_tracer_params *p)
{
	lab_init(&c);
	lab_arm(leaf, LEAF, LAB_GRAPH, 0);
	lab_arm(mid, MID, LAB_GRAPH, 0);
	lab_arm(outer, OUTER, LAB_GRAPH, 0);
	lab_arm(rec, REC, LAB_GRAPH, 0);
	lab_arm(jumper, JUMPER, LAB_GRAPH, 0);
	lab_arm(tail, TAIL, LAB_GRAPH, 0);
	lab_arm(handler, HANDLER, LAB_GRAPH, 0);
	lab_params_full(p);
}

static inline void start(struct lab_config c)
{
	struct uft_tracer_params p = { .tracer = UFT_TRACER_GRAPH };

	start_full(c, &p);
}

static struct lab_events *finish(void)
{
	struct lab_events *ev = lab_decode();

	CHECK_EQ(ev->damaged, 0);
	CHECK_EQ(ev->backwards, 0);
	CHECK_EQ(ev->lost_counted, 0);
	CHECK_EQ(lab_counter(UFT_CNT_LOST_RETURN), 0);
	CHECK_EQ(lab_counter(UFT_CNT_NO_RING), 0);
	CHECK_EQ(lab_counter(UFT_CNT_NO_THREAD), 0);
	return ev;
}

/* Takes 200,000 cycles. */
static inline void spin(void)
{
	uint64_t until = __builtin_ia32_rdtsc() + 200000;

	while (__builtin_ia32_rdtsc() < until)
		;
}

static inline void on_signal_stack(char *stack, size_t size)
{
	struct sigaction sa = { .sa_handler = handler, .sa_flags = stack ? SA_ONSTACK : 0 };
	stack_t ss = { .ss_sp = stack, .ss_size = size };

	if (stack)
		CHECK(!sigaltstack(&ss, NULL));
	CHECK(!sigaction(SIGUSR1, &sa, NULL));
}

#endif
