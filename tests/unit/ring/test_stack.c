// SPDX-License-Identifier: MIT
/*
 * test_stack.c - walks of callers over stacks that are made by hand, by frame pointers: no object's table is known here
 */
#include <string.h>

#include "runtime/arch/arch.h"
#include "runtime/trace/tracers/tracers.h"
#include "graph_sites.h"

#define FRAME	8u		/* words of each frame */
#define FRAMES	32u
#define WORDS	(FRAME * FRAMES)

int agent_request(uint32_t kind, const uint64_t *args, uint32_t nargs, int wait)
{
	(void)kind, (void)args, (void)nargs, (void)wait;
	return 0;
}

/* What CALL_C of trace.S makes around the handler: @fp is what the program had in rbp; the slot holds the way back. */
void call_func_slow(uint64_t word0, uint64_t parent, uint64_t fp);
__asm__(".text\n.globl call_func_slow\n.type call_func_slow,@function\ncall_func_slow:\n"
	"\tsub $80,%rsp\n\tpush %rdx\n\tmov %rbp,8(%rsp)\n\tmov %rsp,%rbp\n\tand $-16,%rsp\n\tcall uft_func_slow\n"
	"\tmov %rbp,%rsp\n\tmov 8(%rsp),%rbp\n\tadd $88,%rsp\n\tret\n");

/* The slot was changed since the handler read it, and rbp is the program's own. */
static void test_changed_slot(void)
{
	struct uft_tracer_params p = { .tracer = UFT_TRACER_FUNCTION, .stacks = UFT_STACKS_FUNC };
	static const uint64_t wild[] = { 0, 1, 0xfff, 0x7ffffffffff8, 0x8000000000000000, ~0ull };
	uint64_t none[2] = { 0, 1 };
	struct lab_events *ev;
	size_t n = sizeof(wild) / sizeof(wild[0]);

	start_full((struct lab_config){ 0 }, &p);
	for (size_t i = 0; i < n; i++)
		call_func_slow(UFT_REC_WORD(UFT_REC_FUNC, LEAF, 0), 0x1234, wild[i]);
	call_func_slow(UFT_REC_WORD(UFT_REC_FUNC, LEAF, 0), 0x1234, (uint64_t)none);
	ev = finish();
	CHECK_EQ(lab_count(ev, self(), UFT_REC_FUNC, LEAF), n + 1);
	CHECK_EQ(lab_count(ev, self(), UFT_REC_EVENT, -1), n + 1);
	lab_free(ev);
}

/* Frames up to the end of @at's stack; the outermost was called by nobody. Returns the slot of the innermost of @n. */
static uint64_t make_stack(uint64_t *at, unsigned n)
{
	uint64_t *top = at + WORDS;

	memset(at, 0, WORDS * sizeof(*at));
	for (unsigned i = 1; i < FRAMES; i++) {
		top[-(long)(i * FRAME)] = i == 1 ? 0 : 0x10000 + i;
		top[-(long)(i * FRAME) - 1] = i == 1 ? 0 : (uint64_t)&top[-(long)((i - 1) * FRAME) - 1];
	}
	return (uint64_t)&top[-(long)(n * FRAME)];
}

static uint64_t measure(uint64_t slot)
{
	struct trace_task t;

	task_begin(&t);
	CHECK(t.th != NULL);
	stack_measure(&t, LEAF, slot, *(const uint64_t *)(slot - 8));
	task_end(&t);
	return uft_rt.slice->stack.depth;
}

static void begin(void)
{
	struct uft_tracer_params p = { .tracer = UFT_TRACER_FUNCTION, .stacks = UFT_STACKS_MAX };

	start_full((struct lab_config){ 0 }, &p);
}

static void test_deeper(void)
{
	static uint64_t stack[WORDS];
	uint64_t first;

	begin();
	first = measure(make_stack(stack, 5));
	CHECK(first > 0);
	CHECK_EQ(measure(make_stack(stack, 3)), first);
	for (unsigned n = 6; n < FRAMES; n++)
		CHECK_EQ(measure(make_stack(stack, n)), first + (n - 5) * FRAME * 8);
}

/* Two stacks side by side are two, whichever comes first. */
static void side_by_side(unsigned upper_first)
{
	static uint64_t stacks[2 * WORDS];
	uint64_t upper, lower, depth;

	begin();
	upper = make_stack(stacks + WORDS, 20);
	lower = make_stack(stacks, 10);
	depth = measure(upper);
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(measure(upper_first ? lower : upper), depth);
		CHECK_EQ(measure(upper_first ? upper : lower), depth);
	}
	/* The lower one counts by itself. */
	CHECK_EQ(measure(make_stack(stacks, 25)), depth + 5 * FRAME * 8);
}

static void test_side_by_side(void)
{
	side_by_side(1);
}

static void test_side_by_side_twice(void)
{
	side_by_side(0);
}

/* Where nothing is known of a frame's caller, a little deeper is the same stack. */
static void test_unknown_frame(void)
{
	static uint64_t stack[WORDS];
	uint64_t slot, depth;

	begin();
	depth = measure(make_stack(stack, 5));
	slot = make_stack(stack, 8);
	*(uint64_t *)(slot - 8) = 8;		/* no frame pointer */
	CHECK_EQ(measure(slot), depth + 3 * FRAME * 8);
}

static const struct lab_case cases[] = {
	{ "changed_slot", test_changed_slot }, { "deeper", test_deeper }, { "side_by_side", test_side_by_side },
	{ "side_by_side_twice", test_side_by_side_twice }, { "unknown_frame", test_unknown_frame }, { NULL, NULL },
};

int main(int argc, char **argv)
{
	return lab_main(cases, argc > 1 ? argv[1] : NULL);
}
