// SPDX-License-Identifier: MIT
/*
 * events.c - bench_events HOW COUNT: an event of three integers COUNT times, for bench/events-instructions.sh to count
 *
 * HOW: loop (nothing), off, on; pass: with a filter that accepts; number, three (of them), text (in an array), dynamic
 * (text), tid, task (in a list of two): with one that rejects by these; hist: counted by a histogram with one key;
 * function: what is beside it.
 * Each record is looked for. The runtime is the real one, and so is the event's own code; the session is the lab's.
 *
 * valgrind has no rseq: the area that the fast path asks is a variable of this program, which says CPU 0. No other
 * thread is here and no signal comes, so nothing needs the kernel to look at it.
 */
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/unit/ring/lab.h"
#include "program/hist_row.h"
#include "program/program.h"

#define CREATE_TRACE_POINTS
#include "bench/events/bench_events.h"

#define ID	(UFT_EVENT_FREE + 7)

static __thread struct { uint32_t cpu_start, cpu; uint64_t section; uint32_t flags,
	rest[3]; } area __attribute__((aligned(32)));

LAB_SITE void traced(int i);
LAB_SITE void traced(int i)
{
	__asm__ volatile("" : : "r"(i));
}

__attribute__((noinline)) void fire(long n);
__attribute__((noinline)) void fire(long n)
{
	for (long i = 0; i < n; i++) {
		__asm__ volatile("" : : "r"(i));
		trace_three((int)i, 2, 3);
	}
}

/* The third is the word of a text in the first two: 8 bytes. */
__attribute__((noinline)) void fire_dynamic(long n);
__attribute__((noinline)) void fire_dynamic(long n)
{
	for (long i = 0; i < n; i++) {
		__asm__ volatile("" : : "r"(i));
		trace_three((int)i, 2, 8 << 16 | 8);
	}
}

__attribute__((noinline)) void fire_loop(long n);
__attribute__((noinline)) void fire_loop(long n)
{
	for (long i = 0; i < n; i++)
		__asm__ volatile("" : : "r"(i));
}

__attribute__((noinline)) void fire_function(long n);
__attribute__((noinline)) void fire_function(long n)
{
	for (long i = 0; i < n; i++)
		traced((int)i);
}

/* The calls of the tracepoint lead to the event's code: what patch/tracepoint.c does in a target. */
static void switch_on(void)
{
	extern const struct uft_tracepoint_site __start___uft_sites[], __stop___uft_sites[];
	struct uft_event_switch e = { .addr = (uint64_t)&__uft_tracepoint_three, .id = ID };

	CHECK(!trace_events(0, &e, 1) && !e.status);
	for (const struct uft_tracepoint_site *s = __start___uft_sites; s < __stop___uft_sites; s++) {
		uint8_t *nop = (uint8_t *)(uintptr_t)&s->site + s->site, *on = (uint8_t *)(uintptr_t)&s->on + s->on;
		int32_t rel = (int32_t)(on - (nop + 5));

		CHECK(!mprotect((void *)((uintptr_t)nop & -4096ul), 8192, PROT_READ | PROT_WRITE | PROT_EXEC));
		memcpy(nop + 1, &rel, 4);
		*nop = 0xe9;
	}
}

struct filter {
	struct uft_event_rules rules;
	struct uft_event_rule rule;
	struct { uint32_t bytes; uint16_t nsteps, facts; } program;	/* struct uft_program */
	struct uft_step step[3];
	char text[8];
};
_Static_assert(offsetof(struct filter, step) - offsetof(struct filter, program) == sizeof(struct uft_program),
	       "a program");

/* Only the last step rejects, or accepts. */
static void filter(const char *how)
{
	struct filter f = {
		.rules = { .id = ID, .bytes = sizeof(f), .nrules = 1 },
		.rule = { .action = UFT_RULE_RECORD, .program_bytes = sizeof(f) - offsetof(struct filter, program) },
		.program = { .bytes = sizeof(f) - offsetof(struct filter, program), .nsteps = 3 },
		.text = "two",
	};

	for (unsigned i = 0; i < 3; i++)
		f.step[i] = (struct uft_step){ UFT_STEP_EQ, UFT_LOAD_S32, (uint16_t)(8 - 4 * i), UFT_STEP_ACCEPT,
			UFT_STEP_REJECT, 77 };
	if (!strcmp(how, "pass")) {
		f.step[0].value = 3;
	} else if (!strcmp(how, "three")) {
		f.step[0] = (struct uft_step){ UFT_STEP_EQ, UFT_LOAD_S32, 8, 1, UFT_STEP_REJECT, 3 };
		f.step[1] = (struct uft_step){ UFT_STEP_EQ, UFT_LOAD_S32, 4, 2, UFT_STEP_REJECT, 2 };
		f.step[2] = (struct uft_step){ UFT_STEP_LT, UFT_LOAD_S32, 0, UFT_STEP_ACCEPT, UFT_STEP_REJECT, 0 };
	} else if (!strcmp(how, "text")) {
		f.step[0] = (struct uft_step){ UFT_STEP_TEXT, UFT_LOAD_BYTES, 0, UFT_STEP_ACCEPT, UFT_STEP_REJECT,
			UFT_STEP_VALUE(0, 3, 8) };
	} else if (!strcmp(how, "dynamic")) {
		f.step[0] = (struct uft_step){ UFT_STEP_TEXT, UFT_LOAD_DATA_LOC, 8, UFT_STEP_ACCEPT, UFT_STEP_REJECT,
			UFT_STEP_VALUE(0, 3, 0) };
	} else if (!strcmp(how, "tid")) {
		f.step[0] = (struct uft_step){
			UFT_STEP_EQ, UFT_LOAD_TID | UFT_STEP_MAYBE_NO, 0, UFT_STEP_REJECT, UFT_STEP_REJECT, 1
		};
		f.program.facts = UFT_FACT_TID;
	}
	if (!strcmp(how, "task")) {
		memcpy(f.text, (const uint32_t[]){ 1, 2 }, 8);
		f.step[0] = (struct uft_step){ UFT_STEP_IN_TASKS, UFT_LOAD_TID, 0, UFT_STEP_ACCEPT, UFT_STEP_REJECT,
			UFT_STEP_VALUE(0, 8, 0) };
		f.program.facts = UFT_FACT_TID;
	}
	CHECK(!trace_rules(&f, 1, sizeof(f)));
}

static struct uft_hist_row row = { .bits = 11, .nkeys = 1, .key_words = 1,
	.key = { { .load = UFT_LOAD_S32, .at = 4 } } };

static void count(void)
{
	struct { struct uft_event_rules rules; struct uft_event_rule rule; struct uft_hist_row row; } r = {
		.rules = { .id = ID, .bytes = sizeof(r), .nrules = 1 },
		.rule = { .action = UFT_RULE_HIST, .count = sizeof(row) }, .row = row,
	};

	CHECK(!trace_rules(&r, 1, sizeof(r)));
}

static unsigned long counted(void)
{
	const struct uft_hist_map map = uft_hist_row_map(&row, (char *)uft_rt.slice + uft_rt.arena->hist_offset);
	const uint64_t two = 2, *element = uft_hist_map_find(&map, &two);

	return element ? (unsigned long)element[1] : 0;
}

int main(int argc, char **argv)
{
	struct lab_config config = { .ring_bytes = 64 << 20, .sub_bytes = 1 << 16, .no_rseq = 1 };
	const char *how = argc > 1 ? argv[1] : "on";
	long n = argc > 2 ? atol(argv[2]) : 1000;
	int is_function = !strcmp(how, "function"), is_loop = !strcmp(how, "loop"), is_off = !strcmp(how, "off"),
	    is_hist = !strcmp(how, "hist");
	int is_recorded = is_function || !strcmp(how, "on") || !strcmp(how, "pass");
	struct lab_events *ev;

	lab_init(&config);
	uft_rt.rseq_offset = (int64_t)((uint64_t)&area - (uint64_t)__builtin_thread_pointer());
	trace_rseq_changed();
	lab_params(UFT_TRACER_FUNCTION);
	lab_arm(traced, 0, LAB_FUNCTION, 0);
	if (!is_off && !is_loop)
		switch_on();
	if (is_hist)
		count();
	else if (!is_off && !is_loop && !is_function && strcmp(how, "on"))
		filter(how);
	if (is_function)
		traced(0);
	else if (!is_loop)
		trace_three(0, 2, 3);
	/* Behind the first one, which is slow. */
	if (is_function)
		fire_function(n);
	else if (is_loop)
		fire_loop(n);
	else if (!strcmp(how, "dynamic"))
		fire_dynamic(n);
	else
		fire(n);
	ev = lab_decode();
	CHECK_EQ(lab_count(ev, 0, is_function ? UFT_REC_FUNC : UFT_REC_EVENT, -1),
		 is_recorded ? (unsigned long)n + 1 : 0);
	CHECK_EQ(counted(), is_hist ? (unsigned long)n + 1 : 0);
	lab_free(ev);
	return 0;
}
