// SPDX-License-Identifier: MIT
/*
 * test_graph.c - graph calls: pairing under everything that moves the stack pointer, modes
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "runtime/arch/arch.h"
#include "graph_sites.h"

/* ---- Plain -------------------------------------------------------------------------------- */

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

/* All registers that a caller may keep anywhere, through both handlers, both paths. */
static void registers(void)
{
	uint64_t in[15], out[15];

	for (int i = 0; i < 15; i++)
		in[i] = 0x0101010101010101ull * (unsigned)(i + 1);
	__asm__ volatile(
		"push %%rbp\n\tpush %%rbx\n\tpush %1\n\tpush %0\n\tmov %0,%%rbp\n\t"
		"mov (%%rbp),%%rax\n\tmov 8(%%rbp),%%rbx\n\tmov 16(%%rbp),%%rcx\n\tmov 24(%%rbp),%%rdx\n\t"
		"mov 32(%%rbp),%%rsi\n\tmov 40(%%rbp),%%rdi\n\tmov 48(%%rbp),%%r8\n\tmov 56(%%rbp),%%r9\n\t"
		"mov 64(%%rbp),%%r10\n\tmov 72(%%rbp),%%r11\n\tmov 80(%%rbp),%%r12\n\tmov 88(%%rbp),%%r13\n\t"
		"mov 96(%%rbp),%%r14\n\tmov 104(%%rbp),%%r15\n\tmov 112(%%rbp),%%rbp\n\t"
		"call bare\n\t"
		"push %%rbp\n\tmov 16(%%rsp),%%rbp\n\t"		/* out */
		"mov %%rax,(%%rbp)\n\tmov %%rbx,8(%%rbp)\n\tmov %%rcx,16(%%rbp)\n\tmov %%rdx,24(%%rbp)\n\t"
		"mov %%rsi,32(%%rbp)\n\tmov %%rdi,40(%%rbp)\n\tmov %%r8,48(%%rbp)\n\tmov %%r9,56(%%rbp)\n\t"
		"mov %%r10,64(%%rbp)\n\tmov %%r11,72(%%rbp)\n\tmov %%r12,80(%%rbp)\n\tmov %%r13,88(%%rbp)\n\t"
		"mov %%r14,96(%%rbp)\n\tmov %%r15,104(%%rbp)\n\tpop %%rax\n\tmov %%rax,112(%%rbp)\n\t"
		"add $16,%%rsp\n\tpop %%rbx\n\tpop %%rbp\n\t"
		: : "r"(in), "r"(out)
		: "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "memory", "cc");
	for (int i = 0; i < 15; i++)
		CHECK_EQ(out[i], in[i]);
}
void bare(void);
__asm__(".text\n.balign 16\n.globl bare\nbare:\n\t.rept 8\n\tnop\n\t.endr\n\tjmp *bare_target(%rip)\n"
	"bare_ret:\n\tret\n"
	"call_pre:\n\tlea -128(%rsp),%rsp\n\tcall uft_asm_hook_syscall_pre\n\tlea 128(%rsp),%rsp\n\tret\n"
	"call_post:\n\tcall uft_asm_hook_syscall_post\n\tret\n"
	"call_unwind:\n\tcall uft_asm_hook_unwind\n\tret\n"
	"call_rbrk:\n\tcall uft_asm_hook_rbrk\n\tret\n");
extern const char bare_ret[], call_pre[], call_post[], call_unwind[], call_rbrk[];
const void *bare_target = bare_ret;

static uint32_t requested[8];
int agent_request(uint32_t kind, const uint64_t *args, uint32_t nargs, int wait)
{
	(void)args, (void)nargs, (void)wait;
	requested[kind]++;
	return 0;
}

/* The hooks keep everything, whatever they are called for. */
static void test_hook_registers(void)
{
	start((struct lab_config){ 0 });
	mid(1);
	bare_target = call_pre;
	registers();
	bare_target = call_post;
	registers();
	bare_target = call_unwind;
	registers();
	bare_target = call_rbrk;
	registers();
	CHECK_EQ(requested[UFT_REQ_OBJECTS], 1);
	/* Whether a result is an error decides over a request; the registers here are 0x0101.. and so on. */
	CHECK_EQ(requested[UFT_REQ_EXEC_FAILED], 0);
	bare_target = bare_ret;
	lab_free(finish());
}

/* exec: a request before and, if it fails, one after; none if there is nothing to execute or children are not followed. */
static void test_hook_exec(void)
{
	uint64_t regs[6] = { (uint64_t)"/bin/true" }, at[6] = { 3, (uint64_t)"", 0, 0, 0x1000 };

	start((struct lab_config){ 0 });
	trace_hook_syscall_pre(SYS_execve, regs);
	trace_hook_syscall_pre(SYS_execveat, at);
	CHECK_EQ(requested[UFT_REQ_EXEC], 2);
	trace_hook_syscall_post(SYS_execve, -ENOEXEC);
	CHECK_EQ(requested[UFT_REQ_EXEC_FAILED], 1);
	/* Nor for what is not there, until it is. */
	regs[0] = (uint64_t)"/nonexistent/program";
	for (int i = 0; i < 2; i++) {
		trace_hook_syscall_pre(SYS_execve, regs);
		CHECK_EQ(requested[UFT_REQ_EXEC], 2);
		if (!i)
			trace_hook_syscall_post(SYS_execve, -ENOENT);
		CHECK_EQ(requested[UFT_REQ_EXEC_FAILED], 1);
	}
	regs[0] = (uint64_t)"/bin/true";
	trace_hook_syscall_pre(SYS_execve, regs);
	CHECK_EQ(requested[UFT_REQ_EXEC], 3);
	trace_hook_syscall_post(SYS_execve, -ENOENT);	/* its interpreter, say */
	CHECK_EQ(requested[UFT_REQ_EXEC_FAILED], 2);
	lab_arena()->children = 0;
	trace_hook_syscall_pre(SYS_execve, regs);
	CHECK_EQ(requested[UFT_REQ_EXEC], 3);
}

static void test_registers(void)
{
	struct uft_tracer_params p = { .tracer = UFT_TRACER_GRAPH };

	start((struct lab_config){ 0 });
	lab_arm(bare, PROBE, LAB_GRAPH, 0);
	registers();		/* slow enter: the thread is unknown */
	registers();		/* fast */
	p.max_depth = 5;
	lab_params_full(&p);
	registers();		/* slow handlers, accepted */
	p.tracer = UFT_TRACER_NOP;
	lab_params_full(&p);
	registers();		/* declined */
	lab_arm(bare, PROBE, LAB_FUNCTION, 0);
	registers();
	lab_params(UFT_TRACER_FUNCTION);
	registers();
	registers();
	lab_free(finish());
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

/* ---- longjmp and exceptions --------------------------------------------------------------- */

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
 * What is left by the second jump has older frames at its slots in the set-aside table. Were each of them looked for among all that
 * are left, this would take minutes.
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

/* ---- Coroutines --------------------------------------------------------------------------- */

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

/*
 * Frames of two coroutines above the stack that an exception is thrown on: one was set aside, one is on the array. Their stacks cannot be
 * written, as if another thread had unmapped them just then: the hook leaves them alone.
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

/* ---- Signals ------------------------------------------------------------------------------ */

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

/* How deep the slow paths go: what UFT_SLOW_STACK in trace.S promises. */
#define SLOW_STACK 2048
#define FAST_STACK 64
static char painted[65536] __attribute__((aligned(16)));
static uint64_t painted_used;

static void painted_body(void)
{
	char *base = __builtin_frame_address(0);

	for (volatile char *p = painted; p < base - 384; p++)
		*p = (char)0xa5;
	leaf(1);
	if (!sigsetjmp(env, 1))
		jumper(0);
	leaf(1);
	for (char *p = painted; p < base; p++)
		if ((unsigned char)*p != 0xa5) {
			painted_used = (uint64_t)(base - p);
			return;
		}
}

static uint64_t paint(void)
{
	ucontext_t here, there;

	CHECK(!getcontext(&there));
	there.uc_stack.ss_sp = painted;
	there.uc_stack.ss_size = sizeof(painted);
	there.uc_link = &here;
	makecontext(&there, painted_body, 0);
	CHECK(!swapcontext(&here, &there));
	return painted_used;
}

static void stack_use(struct lab_config c, uint32_t tracer)
{
	struct uft_tracer_params p = { .tracer = tracer, .max_depth = 100, .stacks = UFT_STACKS_FUNC };

	start_full(c, &p);
	for (uint32_t i = 0; tracer == UFT_TRACER_FUNCTION && i < 2; i++)
		lab_arm(i ? (void *)jumper : (void *)leaf, i ? JUMPER : LEAF, LAB_FUNCTION, 0);
	paint();		/* binds what it calls */
	paint();
	printf("     %lu bytes of stack at most\n", painted_used);
	CHECK(painted_used > 512 && painted_used <= 384 + FAST_STACK + SLOW_STACK);
}

static void test_stack_use(void)
{
	stack_use((struct lab_config){ 0 }, UFT_TRACER_GRAPH);
}

/* The walk of callers has a window of its own. */
static void test_stack_use_walk(void)
{
	stack_use((struct lab_config){ 0 }, UFT_TRACER_FUNCTION);
}

static void test_stack_use_walk_exchange(void)
{
	stack_use((struct lab_config){ .no_rseq = 1 }, UFT_TRACER_FUNCTION);
}

static void test_stack_use_exchange(void)
{
	stack_use((struct lab_config){ .no_rseq = 1 }, UFT_TRACER_GRAPH);
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

static void spin(void)
{
	uint64_t until = __builtin_ia32_rdtsc() + 200000;

	while (__builtin_ia32_rdtsc() < until)
		;
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

/* Sums over all CPUs. */
static struct uft_profile profile_of(uint32_t id)
{
	const struct uft_arena *a = uft_rt.arena;
	struct uft_profile sum = { 0 };

	for (uint32_t cpu = 0; cpu < a->ncpus; cpu++) {
		const struct uft_profile *p = (const void *)((const char *)uft_rt.slice + a->profile_offset);

		p += cpu * a->profile_ids + id;
		sum.hits += p->hits;
		sum.total += p->total;
		sum.self += p->self;
		sum.squares += p->squares;
		sum.min = p->min > sum.min ? p->min : sum.min;
		sum.max = p->max > sum.max ? p->max : sum.max;
	}
	return sum;
}

static void test_profile(void)
{
	struct uft_profile o, m, l;
	struct lab_events *ev;

	start((struct lab_config){ 0 });
	lab_params(UFT_TRACER_PROFILE);
	in_outer = spin;
	for (int i = 0; i < 10; i++)
		outer(1);
	o = profile_of(OUTER);
	m = profile_of(MID);
	l = profile_of(LEAF);
	CHECK_EQ(o.hits, 10);
	CHECK_EQ(m.hits, 10);
	CHECK_EQ(l.hits, 30);
	CHECK(o.total >= 10 * 200000 && o.self >= 10 * 200000);
	CHECK(o.self + m.total + 0 <= o.total);			/* and ten leaves of its own */
	CHECK(o.total - o.self - m.total <= l.total);
	CHECK(m.self + l.total >= m.total);
	CHECK(~o.min >= 200000 && o.max >= ~o.min && o.max <= o.total);
	CHECK(o.squares >= 10 * ((200000 >> UFT_PROFILE_SQ_SHIFT) * (uint64_t)(200000 >> UFT_PROFILE_SQ_SHIFT)));
	ev = finish();
	CHECK_EQ(ev->n, 0);
	lab_free(ev);
}

/* Beside the graph the profile counts what its depth leaves out; nothing more when it is off, also of calls that are open. */
static const struct uft_tracer_params beside_graph = { .tracer = UFT_TRACER_GRAPH, .max_depth = 2, .has_events = UFT_EVENTS_PROFILE };

static void profile_off(void)
{
	struct uft_tracer_params p = beside_graph;

	p.has_events = 0;
	lab_params_full(&p);
}

static void test_profile_beside(void)
{
	struct uft_profile o;
	struct lab_events *ev;
	struct lab_replay r;

	start_full((struct lab_config){ 0 }, &beside_graph);
	lab_arm(outer, OUTER, LAB_GRAPH, UFT_ACT_PROFILE);
	lab_arm(mid, MID, LAB_GRAPH, UFT_ACT_PROFILE | UFT_ACT_NOT_GRAPH);
	lab_arm(leaf, LEAF, LAB_GRAPH, UFT_ACT_PROFILE);
	lab_arm(rec, REC, LAB_GRAPH, UFT_ACT_PROFILE);
	for (int i = 0; i < 10; i++)
		outer(1);
	rec(100);
	in_outer = profile_off;
	o = profile_of(OUTER);
	outer(1);
	ev = finish();
	CHECK_REPLAY(ev, self(), &r);
	CHECK_EQ(r.calls[OUTER], 11);
	CHECK_EQ(r.calls[MID], 0);
	CHECK_EQ(r.calls[LEAF], 33);			/* mid() is no call of the graph's: those below it are not too deep */
	CHECK_EQ(r.calls[REC], 2);
	CHECK_EQ(r.depth_max, 2);
	CHECK_EQ(r.open, 0);
	CHECK_EQ(profile_of(OUTER).hits, 11);
	CHECK_EQ(profile_of(OUTER).total, o.total);
	CHECK_EQ(profile_of(MID).hits, 11);
	CHECK_EQ(profile_of(LEAF).hits, 32);		/* one call comes when it is off */
	CHECK_EQ(profile_of(REC).hits, 101);
	lab_free(ev);
}

/* Each has sites of its own: time goes to the next caller that the profile counts, below a root the graph has all that it would have. */
static void test_profile_sites(void)
{
	struct uft_tracer_params p = { .tracer = UFT_TRACER_GRAPH, .has_roots = UFT_ROOTS_ONLY, .has_events = UFT_EVENTS_PROFILE | UFT_EVENTS_SELF };
	struct uft_profile o, l;
	struct lab_events *ev;
	struct lab_replay r;

	start_full((struct lab_config){ 0 }, &p);
	lab_arm(outer, OUTER, LAB_GRAPH, UFT_ACT_PROFILE);
	lab_arm(mid, MID, LAB_GRAPH, UFT_ACT_ROOT);
	lab_arm(leaf, LEAF, LAB_GRAPH, UFT_ACT_PROFILE);
	in_outer = spin;
	for (int i = 0; i < 10; i++)
		outer(1);
	o = profile_of(OUTER);
	l = profile_of(LEAF);
	CHECK_EQ(o.hits, 10);
	CHECK_EQ(l.hits, 30);
	CHECK_EQ(profile_of(MID).hits, 0);
	CHECK(o.total >= 10 * 200000 && o.total == o.self);	/* UFT_EVENTS_SELF */
	p.has_events = UFT_EVENTS_PROFILE;
	lab_params_full(&p);
	lab_arm(leaf, LEAF, LAB_GRAPH, UFT_ACT_PROFILE | UFT_ACT_NOT_GRAPH);
	for (int i = 0; i < 10; i++)
		outer(1);
	ev = finish();
	CHECK_REPLAY(ev, self(), &r);
	CHECK_EQ(r.calls[OUTER], 0);
	CHECK_EQ(r.calls[MID], 20);
	CHECK_EQ(r.calls[LEAF], 20);
	CHECK_EQ(r.open, 0);
	CHECK_EQ(profile_of(OUTER).total - o.total, profile_of(OUTER).self - o.self + profile_of(LEAF).total - l.total);
	CHECK_EQ(profile_of(LEAF).hits, 60);
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
	{ "plain", test_plain }, { "plain_exchange", test_plain_exchange }, { "registers", test_registers },
	{ "stack_arguments", test_stack_arguments }, { "recursion", test_recursion },
	{ "shadow_full", test_shadow_full }, { "tail_call", test_tail_call },
	{ "tail_call_exchange", test_tail_call_exchange }, { "coroutine_tail", test_coroutine_tail },
	{ "longjmp", test_longjmp }, { "longjmp_exchange", test_longjmp_exchange },
	{ "longjmp_deep", test_longjmp_deep }, { "longjmp_exit", test_longjmp_exit }, { "exception", test_exception }, { "exception_stale", test_exception_stale }, { "coroutine", test_coroutine },
	{ "coroutine_exchange", test_coroutine_exchange }, { "coroutine_above", test_coroutine_above },
	{ "coroutine_moves", test_coroutine_moves }, { "coroutine_orphan", test_coroutine_orphan },
	{ "signal", test_signal }, { "signal_stack_below", test_signal_stack_below },
	{ "signal_stack_above", test_signal_stack_above }, { "signal_jump", test_signal_jump },
	{ "signal_jump_below", test_signal_jump_below }, { "signal_jump_above", test_signal_jump_above },
	{ "overflow", test_overflow }, { "overflow_exchange", test_overflow_exchange },
	{ "stack_use_walk", test_stack_use_walk }, { "stack_use_walk_exchange", test_stack_use_walk_exchange },
	{ "stack_use", test_stack_use }, { "stack_use_exchange", test_stack_use_exchange },
	{ "hook_registers", test_hook_registers }, { "hook_exec", test_hook_exec }, { "max_depth", test_max_depth },
	{ "roots", test_roots }, { "thresh", test_thresh }, { "profile", test_profile },
	{ "profile_beside", test_profile_beside }, { "profile_sites", test_profile_sites }, { "switch", test_switch },
	{ "mcount", test_mcount }, { NULL, NULL },
};

int main(int argc, char **argv)
{
	return lab_main(cases, argc > 1 ? argv[1] : NULL);
}
