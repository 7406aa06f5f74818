/* SPDX-License-Identifier: MIT */
/*
 * event_filter_test.c - filters of events: what a kernel 6.12 said to each text, with its errno and the place of its
 * caret; and what programs that are made of filters accept
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "program/quick.h"
#include "symbol/event_filter.h"

#define COMMON								\
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"	\
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"	\
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

enum which { SWITCH, IPI, EXEC, ALL, NTYPES };
static const char *const fields[NTYPES] = {
	[SWITCH] =
		"\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
		   "\tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;\n\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n",
	[IPI] = "\tfield:__data_loc cpumask_t cpumask;\toffset:8;\tsize:4;\tsigned:0;\n\tfield:void * callsite;\toffset:16;\tsize:8;\tsigned:0;\n"
		"\tfield:void * callback;\toffset:24;\tsize:8;\tsigned:0;\n",
	[EXEC] = "\tfield:__data_loc char[] filename;\toffset:8;\tsize:4;\tsigned:0;\n\tfield:pid_t pid;\toffset:12;\tsize:4;\tsigned:1;\n",
	[ALL] = "\tfield:u8 a;\toffset:8;\tsize:1;\tsigned:0;\n\tfield:s8 b;\toffset:9;\tsize:1;\tsigned:1;\n"
		"\tfield:u16 c;\toffset:10;\tsize:2;\tsigned:0;\n\tfield:s16 d;\toffset:12;\tsize:2;\tsigned:1;\n"
		"\tfield:u32 e;\toffset:14;\tsize:4;\tsigned:0;\n\tfield:s32 f;\toffset:18;\tsize:4;\tsigned:1;\n"
		"\tfield:u64 g;\toffset:22;\tsize:8;\tsigned:0;\n\tfield:s64 h;\toffset:30;\tsize:8;\tsigned:1;\n"
		"\tfield:char name[8];\toffset:38;\tsize:8;\tsigned:0;\n\tfield:__data_loc char[] text;\toffset:46;\tsize:4;\tsigned:0;\n"
		"\tfield:__rel_loc char[] near;\toffset:50;\tsize:4;\tsigned:0;\n\tfield:__data_loc cpumask_t mask;\toffset:54;\tsize:4;\tsigned:0;\n"
		"\tfield:cpumask_t fixed;\toffset:58;\tsize:8;\tsigned:0;\n\tfield:int v[3];\toffset:66;\tsize:12;\tsigned:1;\n",
};
static const struct uft_event_type *types[NTYPES];

/*
 * What the kernel returned, said, and where its caret stood. Left out: functions that a kernel does not know,
 * where any name is taken.
 */
static const struct { enum which of; const char *text; int ret; const char *what; size_t at; } said[] = {
	{ SWITCH, "prev_pid", -EINVAL, "Invalid operator", 8 },
	{ SWITCH, "prev_pid in 3", -EINVAL, "Invalid operator", 10 },
	{ SWITCH, "prev_pid = 1", -EINVAL, "Invalid operator", 10 },
	{ SWITCH, "(prev_pid == 1", -ENOENT, "Too many '('", 0 },
	{ SWITCH, "prev_pid == 1)", -EPERM, "Too few '('", 13 },
	{ SWITCH, "prev_comm == \"abc", -ESRCH, "Missing matching quote", 13 },
	{ SWITCH, "prev_pid & CPUS{1", -EINVAL, "Missing '}'", 17 },
	{ SWITCH, "prev_pid & CPUS1}", -EINVAL, "Missing '{'", 17 },
	{ SWITCH, "prev_pid & CPUS{}", -EINVAL, "Invalid cpulist", 17 },
	{ SWITCH, "prev_pid & CPUS{x}", -EINVAL, "Invalid cpulist", 18 },
	{ SWITCH, "prev_pid & CPUS{0-1}", 0, NULL, 0 },
	{ SWITCH, "prev_pid == CPUS{1}", 0, NULL, 0 },
	{ SWITCH, "prev_pid < CPUS{1}", -EINVAL, "Illegal operation for field type", 12 },
	{ SWITCH, "prev_comm & CPUS{1}", -EINVAL, "Illegal operation for field type", 13 },
	{ SWITCH, "CPU & CPUS{0}", 0, NULL, 0 },
	{ SWITCH, "CPU == CPUS{0-1}", 0, NULL, 0 },
	{ SWITCH, "prev_pid == 111111111111111111111111111", -EINVAL, "Operand too long", 39 },
	{ SWITCH, "prev_comm == 3", -EINVAL, "Expecting string field", 14 },
	{ SWITCH, "prev_pid == \"x\"", -EINVAL, "Expecting numeric field", 13 },
	{ SWITCH, "prev_comm < \"x\"", -EINVAL, "Illegal operation for field type", 13 },
	{ SWITCH, "prev_pid ~ 3", -EINVAL, "Illegal operation for field type", 12 },
	{ SWITCH, "nosuch == 1", -EINVAL, "Field not found", 7 },
	{ SWITCH, "prev_pid == 12x", -EINVAL, "Illegal integer value", 13 },
	{ SWITCH, "prev_pid == -", -EINVAL, "Illegal integer value", 13 },
	{ SWITCH, "prev_pid == 1 prev_pid == 2", -EPERM, "Too many terms in predicate expression", 14 },
	{ SWITCH, "prev_pid == 1 &&", -EINVAL, "Meaningless filter expression", 16 },
	{ SWITCH, "!", -EINVAL, "No filter found", 1 },
	{ SWITCH, " ", -EINVAL, "Error", 0 },
	{ SWITCH, "prev_pid == bash", -EINVAL, "Invalid value (did you forget quotes)?", 13 },
	{ SWITCH, "prev_pid ==", -EINVAL, "Invalid value (did you forget quotes)?", 11 },
	{ SWITCH, "prev_pid.function == vfs_open", -EINVAL, "Illegal operation for field type", 22 },
	{ SWITCH, "prev_pid.function", -EINVAL, "Invalid operator", 17 },
	{ SWITCH, "prev_state.function == vfs_open", 0, NULL, 0 },
	{ SWITCH, "prev_state.function < vfs_open", -EINVAL, "Invalid operator", 23 },
	{ SWITCH, "prev_state.function == 99999999999999999999999", -EINVAL, "Invalid value (did you forget quotes)?",
		46 },
	{ SWITCH, "prev_state.function ~ vfs_open", -EINVAL, "Invalid operator", 23 },
	{ SWITCH, "prev_state.function == \"vfs_open\"", -EINVAL, "Function not found", 33 },
	{ SWITCH, "prev_comm.function == vfs_open", -EINVAL, "Illegal operation for field type", 23 },
	{ SWITCH, "prev_pid.ustring == \"a\"", -EINVAL, "Expecting numeric field", 21 },
	{ SWITCH, "prev_comm.ustring == \"a\"", 0, NULL, 0 },
	{ SWITCH, "prev_comm.foo == \"a\"", -EINVAL, "Invalid operator", 10 },
	{ SWITCH, "stacktrace == 1", 0, NULL, 0 },
	{ SWITCH, "common_stacktrace == 1", -EINVAL, "Field not found", 18 },
	{ SWITCH, "common_stacktrace ~ \"a\"", -EINVAL, "Field not found", 18 },
	{ SWITCH, "comm == \"a\"", 0, NULL, 0 },
	{ SWITCH, "COMM ~ \"a*\"", 0, NULL, 0 },
	{ SWITCH, "common_comm == \"a\"", -EINVAL, "Field not found", 12 },
	{ SWITCH, "common_cpu == 1", 0, NULL, 0 },
	{ SWITCH, "cpu == 1", 0, NULL, 0 },
	{ SWITCH, "CPU == 1", 0, NULL, 0 },
	{ SWITCH, "CPU == -1", 0, NULL, 0 },
	{ SWITCH, "CPU == 5000", 0, NULL, 0 },
	{ SWITCH, "CPU & 3", 0, NULL, 0 },
	{ SWITCH, "common_pid == 1", 0, NULL, 0 },
	{ SWITCH, "common_type == 7", 0, NULL, 0 },
	{ SWITCH, "common_flags == 1", 0, NULL, 0 },
	{ SWITCH, "common_preempt_count == -1", -EINVAL, "Illegal integer value", 25 },
	{ SWITCH, "prev_pid == 0x7fffffffff", 0, NULL, 0 },
	{ SWITCH, "prev_pid == -0x1", 0, NULL, 0 },
	{ SWITCH, "prev_pid == 010", 0, NULL, 0 },
	{ SWITCH, "prev_pid == 08", -EINVAL, "Illegal integer value", 13 },
	{ SWITCH, "prev_pid == 1 || !(prev_pid == 2)", 0, NULL, 0 },
	{ SWITCH, "!prev_pid == 1", 0, NULL, 0 },
	{ SWITCH, "!!prev_pid == 1", 0, NULL, 0 },
	{ SWITCH, "prev_pid == 1 & prev_pid == 2", -EPERM, "Too many terms in predicate expression", 14 },
	{ SWITCH, "prev_pid == 1 && || prev_pid == 2", -EPERM, "Error", 0 },
	{ SWITCH, "()", -EINVAL, "Error", 0 },
	{ SWITCH, "(())", -EINVAL, "Error", 0 },
	{ SWITCH, "prev_pid == 1 ()", -EPERM, "Too many terms in predicate expression", 14 },
	{ SWITCH, "prev_pid()", -EINVAL, "Invalid operator", 9 },
	{ SWITCH, "(prev_pid == 1)(prev_pid == 2)", -EPERM, "Too many terms in predicate expression", 15 },
	{ SWITCH, "prev_pid == 1 && (prev_pid == 2", -ENOENT, "Too many '('", 17 },
	{ SWITCH, "))", -EPERM, "Too few '('", 0 },
	{ SWITCH, "((", -ENOENT, "Too many '('", 1 },
	{ SWITCH, "\"", -ESRCH, "Missing matching quote", 0 },
	{ SWITCH, "'", -ESRCH, "Missing matching quote", 0 },
	{ SWITCH, "prev_comm == \"a\" \"b\"", -EPERM, "Too many terms in predicate expression", 17 },
	{ SWITCH, "prev_comm ~ \"[a\"", 0, NULL, 0 },
	{ SWITCH, "prev_comm ~ \"\"", 0, NULL, 0 },
	{ SWITCH, "prev_comm == \"\"", 0, NULL, 0 },
	{ SWITCH, "prev_state & 3", 0, NULL, 0 },
	{ SWITCH, "prev_state & CPUS{1}", 0, NULL, 0 },
	{ SWITCH, "prev_pid==1&&prev_pid==2", 0, NULL, 0 },
	{ SWITCH, "prev_pid==1|prev_pid==2", -EPERM, "Too many terms in predicate expression", 11 },
	{ SWITCH, "prev_pid <= 3", 0, NULL, 0 },
	{ SWITCH, "prev_pid =< 3", -EINVAL, "Invalid operator", 10 },
	{ SWITCH, "prev_pid <> 3", -EINVAL, "Invalid value (did you forget quotes)?", 11 },
	{ SWITCH, "prev_pid != 3", 0, NULL, 0 },
	{ IPI, "cpumask & CPUS{1}", 0, NULL, 0 },
	{ IPI, "cpumask == CPUS{0-1}", 0, NULL, 0 },
	{ IPI, "cpumask != CPUS{0-1}", 0, NULL, 0 },
	{ IPI, "cpumask == 3", 0, NULL, 0 },
	{ IPI, "cpumask & 1", 0, NULL, 0 },
	{ IPI, "cpumask ~ \"x\"", -EINVAL, "Expecting numeric field", 11 },
	{ IPI, "cpumask == \"x\"", -EINVAL, "Expecting numeric field", 12 },
	{ IPI, "cpumask < CPUS{1}", -EINVAL, "Illegal operation for field type", 11 },
	{ IPI, "callsite.function == vfs_open", 0, NULL, 0 },
	{ IPI, "callback.function != vfs_open", 0, NULL, 0 },
	{ IPI, "callsite == 0xffffffff81000000", 0, NULL, 0 },
	{ IPI, "callsite == -1", -EINVAL, "Illegal integer value", 13 },
	{ EXEC, "filename == \"x\"", 0, NULL, 0 },
	{ EXEC, "filename ~ \"*x\"", 0, NULL, 0 },
	{ EXEC, "filename == 3", -EINVAL, "Expecting string field", 13 },
	{ EXEC, "filename & CPUS{1}", -EINVAL, "Illegal operation for field type", 12 },
	{ EXEC, "filename.ustring == \"x\"", 0, NULL, 0 },
	{ SWITCH,
		"((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((prev_pid == 1))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))",
		0, NULL, 0 },
	{ SWITCH,
		"!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!prev_pid == 1",
		0, NULL, 0 },
};

static void mistakes_as_the_kernel_says(void **state)
{
	int bad = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
		struct uft_filter_error err;
		struct uft_program *p;
		int ret = uft_event_filter_make(types[said[i].of], said[i].text, &p, &err);
		/* the file's caret, not error_log's */
		size_t len = strlen(said[i].text), at = ret && err.at < len ? err.at : len;

		if (ret != said[i].ret || (ret && (strcmp(err.what, said[i].what) || at != said[i].at))) {
			print_message("%s: %d %s at %zu, kernel: %d %s at %zu\n", said[i].text, ret,
				      ret ? err.what : "", ret ? err.at : 0, said[i].ret,
				      said[i].what ? said[i].what : "", said[i].at);
			bad = 1;
		}
		if (!ret)
			assert_true(uft_program_is_good(p, p->bytes));
		assert_true(!ret == (p != NULL));
		free(p);
	}
	assert_false(bad);
}

static int is_in_function(const struct uft_record *r, uint64_t address, const char *function)
{
	(void)r;
	return !strcmp(function, "at_seven") && address == 7;
}

#define DYNAMIC	70u	/* where the texts lie, behind the common fields */
struct room { uint8_t bytes[160]; };

static struct uft_record a_record(struct room *m)
{
	uint32_t where;
	uint8_t *p = m->bytes;

	memset(m, 0, sizeof(*m));
	p[0] = 200;
	p[1] = (uint8_t)-3;
	memcpy(p + 2, &(uint16_t){ 60000 }, 2);
	memcpy(p + 4, &(int16_t){ -300 }, 2);
	memcpy(p + 6, &(uint32_t){ 4000000000u }, 4);
	memcpy(p + 10, &(int32_t){ -70000 }, 4);
	memcpy(p + 14, &(uint64_t){ 0xffffffffffffff00ull }, 8);
	memcpy(p + 22, &(int64_t){ -5 }, 8);
	memcpy(p + 30, "8 bytes!", 8);
	where = 6u << 16 | (DYNAMIC + 8);
	memcpy(p + 38, &where, 4);
	memcpy(p + DYNAMIC, "hello", 6);
	where = 5u << 16 | (DYNAMIC + 8 - 46);
	memcpy(p + 42, &where, 4);
	memcpy(p + DYNAMIC + 8, "near", 5);
	where = 16u << 16 | (DYNAMIC + 16 + 8);
	memcpy(p + 46, &where, 4);
	p[DYNAMIC + 16] = 5;			/* CPUs 0, 2 and 64 */
	p[DYNAMIC + 24] = 1;
	p[50] = 8;
	return (struct uft_record){
		.payload = p, .bytes = sizeof(m->bytes), .known = UFT_FACT_TID | UFT_FACT_CPU | UFT_FACT_COMM |
			UFT_FACT_FUNCTION, .tid = 42, .cpu = 3,
		.comm = "shell", .is_in_function = is_in_function,
	};
}

/* Quick steps, where there are any for a program, have its answer. Counts them. */
static uint32_t nquick;
static void expect_quick(const struct uft_program *p, const struct uft_record *r, int answer, const char *text)
{
	struct uft_quick_step quick[UFT_QUICK_STEPS];
	uint32_t need = 0;

	if (!uft_quick_append(p, 1, quick, 0, &need, p) || r->bytes < (need & ~UFT_QUICK_DEEP) || p->facts & ~r->known)
		return;
	nquick++;
	if (!(need & UFT_QUICK_DEEP) && uft_quick_run(quick, r->payload) != answer)
		fail_msg("%s: quick steps say %d", text, !answer);
	if (uft_quick_run_deep(quick, 0, r, p) != answer ||
	    uft_quick_run_deep(quick, uft_quick_ask_thread(quick, r, p), r, p) != answer)
		fail_msg("%s: deep steps say %d", text, !answer);
}

static int accepts(const char *text, const struct uft_record *r)
{
	struct uft_filter_error err;
	struct uft_program *p;
	int ret;

	if (uft_event_filter_make(types[ALL], text, &p, &err))
		fail_msg("%s: %s at %zu", text, err.what, err.at);
	assert_true(uft_program_is_good(p, p->bytes));
	ret = uft_program_run(p, r);
	expect_quick(p, r, ret, text);
	free(p);
	return ret;
}

static void answers(void **state)
{
	static const char *const yes[] = {
		"a == 200", "a != 199", "a > 199", "a >= 200", "a <= 200", "a < 201", "a & 8", "b == -3", "b < 0",
		"b > -4", "c == 60000", "c > 59999", "d == -300",
		"d < -299", "e == 4000000000", "e > 0", "f == -70000", "f < -1", "g == 0xffffffffffffff00", "g > 1",
		"h == -5", "h < 4", "h >= -5", "h & 8",
		"name == \"8 bytes!\"", "name ~ \"8*!\"", "name != \"8 bytes\"", "text == \"hello\"", "text ~ \"h?l*\"",
		"text ~ \"[a-h]*\"", "text != \"hell\"",
		"near == 'near'", "near ~ \"*ear\"", "mask & CPUS{2}", "mask & CPUS{64,70}", "mask == CPUS{0,2,64}",
		"mask != CPUS{0,2}", "fixed == CPUS{3}",
		"fixed & CPUS{0-7}", "common_pid == 42", "cpu == 3", "CPU & CPUS{1-3}", "common_cpu == CPUS{3}",
		"cpu != CPUS{3,4}", "comm == \"shell\"", "COMM ~ \"sh*\"",
		"common_flags == 0", "common_preempt_count < 1", "h.function == at_seven || a == 200",
		"!(h.function == at_seven)", "h.function != at_seven",
		"a == 1 || b == 2 || c == 60000", "a == 200 && b == -3 && c == 60000",
		"!(a == 1) && !(b == 1 || c == 1)", "!(a == 200 && b == 1)", "!!(a == 200)",
		"a == 1 && b == 1 || c == 60000", "(a == 200 || b == 1) && c == 60000",
		"a == 200 || (b == 1 && c == 1)", "!a == 1", "a==200&&b==-3", "a & CPUS{200}",
		"a == 456", "stacktrace == 0", "text == \"hello\" && !(near == \"far\")",
	};
	struct room room;
	struct uft_record r = a_record(&room);
	char *not;

	(void)state;
	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++) {
		if (!accepts(yes[i], &r))
			fail_msg("%s: rejected", yes[i]);
		assert_true(asprintf(&not, "!(%s)", yes[i]) > 0);
		if (accepts(not, &r))
			fail_msg("%s: accepted", not);
		free(not);
	}
}

static struct uft_program *program_of(unsigned op, unsigned load, uint16_t at, uint64_t value)
{
	struct uft_program *p = calloc(1, sizeof(*p) + sizeof(p->step[0]));

	p->bytes = (uint32_t)(sizeof(*p) + sizeof(p->step[0]));
	p->nsteps = 1;
	p->step[0] = (struct uft_step){ (uint8_t)op, (uint8_t)load, at, UFT_STEP_ACCEPT, UFT_STEP_REJECT, value };
	assert_true(uft_program_is_good(p, p->bytes));
	return p;
}

/* Every question about every kind of number at every place of a word, next to the ends of its range. */
static void quick_numbers(void **state)
{
	static const uint64_t edge[] = { 0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000,
		0xffffffff, INT64_MAX, 1ull << 63, UINT64_MAX - 1, UINT64_MAX };
	uint64_t record[3];

	(void)state;
	nquick = 0;
	for (unsigned i = 0; i < sizeof(edge) / sizeof(edge[0]) * sizeof(edge) / sizeof(edge[0]); i++) {
		uint64_t is = edge[i % (sizeof(edge) / sizeof(edge[0]))],
			 value = edge[i / (sizeof(edge) / sizeof(edge[0]))];

		for (unsigned k = 0; k < 6 * 8 * 8; k++) {
			unsigned op = k % 6, load = k / 6 % 8, at = k / 48;
			struct uft_record r = { .payload = (const uint8_t *)record, .bytes = sizeof(record) };
			struct uft_program *p = program_of(op, load, (uint16_t)(8 + at), value);

			memset(record, 0xa5, sizeof(record));
			memcpy((uint8_t *)record + 8 + at, &is, 1u << (load & 3));
			expect_quick(p, &r, uft_program_run(p, &r), "a number");
			free(p);
		}
	}
	assert_int_equal(nquick, 15 * 15 * 6 * 8 * 8);
}

/* A text in a field without bytes: its step reads one that the record has to have. */
static void quick_no_field(void **state)
{
	struct uft_quick_step quick[UFT_QUICK_STEPS];
	struct uft_program *p = calloc(1, sizeof(*p) + sizeof(p->step[0]) + 8);

	(void)state;
	p->bytes = (uint32_t)(sizeof(*p) + sizeof(p->step[0]) + 8);
	p->nsteps = 1;
	memcpy(&p->step[1], "a", 2);
	for (uint32_t at = 0; at < 1024; at = 2 * at + 1) {
		uint32_t need = 0;

		p->step[0] = (struct uft_step){ UFT_STEP_TEXT, UFT_LOAD_BYTES, (uint16_t)at, UFT_STEP_ACCEPT,
			UFT_STEP_REJECT,
			UFT_STEP_VALUE(0, 1, 0) };
		assert_true(uft_program_is_good(p, p->bytes));
		assert_true(uft_quick_append(p, 1, quick, 0, &need, p));
		assert_true(need > quick[0].at && need <= at + 1);
	}
	free(p);
}

/* Several programs, all in a list: one accepts, or none. More steps than there is room for, and CPUs, are none. */
static void quick_several(void **state)
{
	static const char *const text[] = { "a == 1 && b == 1", "a == 2 || c < 7", "!(a == 200 && b == 1)",
		"b < -5 && (c == 60000 || d == 1)",
					   "common_pid == 43 || near == \"nearer\" && a == 200",
					   "text == \"hello\" && common_pid < 42",
					   "a == 200 && (name == \"8 bytes?\" || name == \"8 bytes! or more\")" };
	struct uft_quick_step quick[UFT_QUICK_STEPS];
	struct uft_filter_error err;
	struct uft_program *p, *made[7];
	struct room room;
	struct uft_record r = a_record(&room);
	uint8_t *base = calloc(7, 1024);

	(void)state;
	for (unsigned i = 0; i < 7; i++) {
		assert_false(uft_event_filter_make(types[ALL], text[i], &p, &err));
		assert_true(p->bytes <= 1024);
		made[i] = memcpy(base + (size_t)i * 1024, p, p->bytes);
		free(p);
	}
	for (unsigned set = 1; set < 128; set++) {
		uint32_t n = 0, need = 0;
		int answer = 0;

		for (unsigned i = 0; i < 7; i++) {
			if (!(set >> i & 1))
				continue;
			p = made[i];
			n = uft_quick_append(p, !(set >> i >> 1), quick, n, &need, base);
			assert_true(n);
			answer |= uft_program_run(p, &r);
		}
		assert_int_equal(!!(need & UFT_QUICK_DEEP), !!(set & 0x30));
		assert_int_equal(uft_quick_run_deep(quick, 0, &r, base), answer);
		if (!(need & UFT_QUICK_DEEP))
			assert_int_equal(uft_quick_run(quick, r.payload), answer);
	}
	free(base);
	p = program_of(UFT_STEP_EQ, UFT_LOAD_U8, 0, 1);
	assert_int_equal(uft_quick_append(p, 1, quick, UFT_QUICK_STEPS - 1, &(uint32_t){ 0 }, p), UFT_QUICK_STEPS);
	assert_int_equal(uft_quick_append(p, 1, quick, UFT_QUICK_STEPS, &(uint32_t){ 0 }, p), 0);
	p->step[0].op = UFT_STEP_IN_FUNCTION;
	assert_int_equal(uft_quick_append(p, 1, quick, 0, &(uint32_t){ 0 }, p), 0);
	free(p);
}

/* A text of each length in a field of each, where it differs at each place, behind a number's step that leads to it. */
static void quick_texts(void **state)
{
	enum { LONGEST = 19 };
	struct { struct uft_program p; struct uft_step step[2]; char constant[24]; } all =
		{ .p = { .bytes = sizeof(all), .nsteps = 2 } };
	struct uft_program *p = malloc(sizeof(all));
	uint8_t record[LONGEST + 16];

	(void)state;
	nquick = 0;
	for (unsigned k = 0; k < 3u * (LONGEST + 1) * (LONGEST + 1); k++) {
		static const uint8_t loads[] = { UFT_LOAD_BYTES, UFT_LOAD_DATA_LOC, UFT_LOAD_REL_LOC };
		unsigned load = loads[k % 3], length = k / 3 % (LONGEST + 1), field = k / 3 / (LONGEST + 1);
		uint32_t where = field << 16 | (load == UFT_LOAD_DATA_LOC ? 5 + 8 : 0);

		memset(all.constant, 0, sizeof(all.constant));
		memcpy(all.constant, "abcdefghijklmnopqrstuvwx", length);
		all.step[0] = (struct uft_step){ UFT_STEP_EQ, UFT_LOAD_U8, 0, 1, UFT_STEP_REJECT, 7 };
		all.step[1] = (struct uft_step){ UFT_STEP_TEXT, (uint8_t)load, load == UFT_LOAD_BYTES ? 5 : 1,
			UFT_STEP_ACCEPT,
						 UFT_STEP_REJECT,
						 UFT_STEP_VALUE(0, length, load == UFT_LOAD_BYTES ? field : 0) };
		memcpy(p, &all, sizeof(all));
		assert_true(uft_program_is_good(p, sizeof(all)));
		for (unsigned other = 0; other < LONGEST + 3u; other++) {
			struct uft_record r = { .payload = record, .bytes = 5 + field };

			memset(record, 'z', sizeof(record));
			record[0] = other == LONGEST + 2 ? 8 : 7;
			memcpy(record + 1, &where, 4);
			memcpy(record + 5, all.constant, field < length + 1 ? field : length + 1);
			record[5 + other % LONGEST] ^= other < LONGEST ? 0x80 : 0;
			if (other == LONGEST)
				record[5 + field] = 0;
			if (other == LONGEST + 1 && field)
				record[5 + field - 1] = 0;
			expect_quick(p, &r, uft_program_run(p, &r), "a text");
			if (other == LONGEST)
				assert_int_equal(uft_program_run(p, &r), length <= field);
		}
	}
	/* all but "" in an array of nothing */
	assert_int_equal(nquick, (3u * (LONGEST + 1) * (LONGEST + 1) - 1) * (LONGEST + 3));
	free(p);
}

/*
 * A fact that is not known leads to "accept", however many `!` are around it, and decides nothing that others
 * decide.
 */
static void unknown_facts_decide_nothing(void **state)
{
	static const char *const yes[] = {
		"comm == \"x\"", "comm != \"x\"", "!(comm == \"x\")", "!(comm != \"x\")", "comm ~ \"x\" && a == 200",
		"!(comm ~ \"x\" || a == 1)", "common_pid == 1",
		"!(common_pid == 1)", "cpu & CPUS{900}", "cpu == CPUS{1,2} || cpu == 5", "h.function == nosuch",
		"h.function != nosuch", "!(h.function != nosuch)",
		"!(comm == \"x\" && a == 200)",
	};
	static const char *const no[] = { "comm == \"x\" && a == 1", "!(comm == \"x\" || a == 200)",
		"common_pid == 1 && b == 0", "a == 1 && h.function == nosuch" };
	struct room room;
	struct uft_record r = a_record(&room);

	(void)state;
	r.known = 0;
	r.comm = NULL;
	r.is_in_function = NULL;
	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++)
		if (!accepts(yes[i], &r))
			fail_msg("%s: rejected", yes[i]);
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		if (accepts(no[i], &r))
			fail_msg("%s: accepted", no[i]);
}

/* Lists of tasks before a filter, and alone; where the task is not known, of all. */
static void lists_of_tasks(void **state)
{
	static const uint32_t own[] = { 1, 42 }, its[] = { 40, 41 }, other[] = { 1, 2 };
	static const struct { struct uft_event_tasks tasks; int is_wanted; } cases[] = {
		{ { own, NULL, 2, 0 }, 1 }, { { its, NULL, 1, 0 }, 1 }, { { other, NULL, 2, 0 }, 0 },
		{ { NULL, own, 0, 2 }, 0 }, { { NULL, its, 0, 1 }, 0 }, { { NULL, other, 0, 2 }, 1 },
		{ { its, own, 2, 2 }, 0 }, { { own, other, 2, 1 }, 1 }, { { other, other, 1, 2 }, 0 },
	};
	static const char *const filters[] = { NULL, "a == 200", "a == 1", "comm == \"shell\" || b == 7",
		"name == \"nosuch\"", "text == \"nosuch\"" };
	struct room room;
	struct uft_record r = a_record(&room);

	(void)state;
	r.pid = 40;
	for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++)
		for (size_t k = 0; k < sizeof(filters) / sizeof(filters[0]); k++) {
			int is_known = i % 2 == 0, answer, is_accepted = 1;
			struct uft_program *filter = NULL, *p;
			struct uft_filter_error err;

			r.known = is_known ? UFT_FACT_TID | UFT_FACT_COMM : UFT_FACT_COMM;
			if (filters[k]) {
				assert_int_equal(uft_event_filter_make(types[ALL], filters[k], &filter, &err), 0);
				is_accepted = uft_program_run(filter, &r);
			}
			assert_int_equal(uft_event_tasks_make(&cases[i / 2].tasks, filter, &p), 0);
			assert_true(uft_program_is_good(p, p->bytes));
			answer = uft_program_run(p, &r);
			if (answer != (is_accepted && (!is_known || cases[i / 2].is_wanted)))
				fail_msg("case %zu, %s: %d", i, filters[k] ? filters[k] : "no filter", answer);
			expect_quick(p, &r, answer, "tasks");
			free(p);
			free(filter);
		}
}

/* Fields that the record does not have are 0 or "", and words that lead out of it to nothing. */
static void shorter(void **state)
{
	struct room room;
	struct uft_record r = a_record(&room);

	(void)state;
	memset(room.bytes + 38, 0xff, 12);
	assert_true(accepts("text == \"\" && near == \"\" && mask == CPUS{0} || text == \"\"", &r));
	r.bytes = 9;
	assert_true(accepts("a == 200 && e == 0 && h == 0 && name == \"\"", &r));
	r.bytes = 0;
	assert_true(accepts("a == 0 && text == \"\" && !(mask & CPUS{0-100})", &r));
}

/* A filter of many terms is still one program, with an answer; one of more than that is refused. */
static void sizes(void **state)
{
	struct room room;
	struct uft_record r = a_record(&room);
	char text[UFT_FILTER_BYTES] = "a==1", *end = text + 4;
	struct uft_filter_error err;
	struct uft_program *p;

	(void)state;
	for (int i = 0; i < 500; i++)
		end += sprintf(end, "||a==1");
	sprintf(end, "||b==-3");
	assert_true(accepts(text, &r));
	end += sprintf(end, "||a==2");
	memset(end, ' ', sizeof(text) - 1 - (size_t)(end - text));
	assert_int_equal(uft_event_filter_make(types[ALL], text, &p, &err), 0);
	free(p);
	strcpy(text, "comm == \"");
	memset(text + 9, 'a', 256);
	strcpy(text + 9 + 256, "\"");
	assert_int_equal(uft_event_filter_make(types[ALL], text, &p, &err), -EINVAL);
	assert_string_equal(err.what, "Operand too long");
}

/* The text of a mark goes on to the end of the record: what a kernel 6.12 said to marks. */
static void to_the_end(void **state)
{
	static const struct { const char *text; int of[4]; } said[] = {	/* of the marks below */
		{ "buf ~ \"h*\"", { 1, 1, 1, 0 } }, { "buf == \"hi\"", { 1, 0, 1, 0 } },
		{ "buf != \"hi\"", { 0, 1, 0, 1 } }, { "buf ~ \"*i*\"", { 1, 1, 1, 1 } },
		{ "buf ~ \"*more\"", { 0, 0, 0, 0 } }, { "buf ~ \"h*\" && ip == 0", { 1, 1, 1, 0 } },
	};
	static const struct { const char *text; uint32_t bytes; } marks[4] = {
		{ "hi", 3 }, { "hi\n", 4 }, { "hi\0more", 8 }, { "xhi\n", 5 } };
	const struct uft_event_type *print = uft_event_table_at(*state, UFT_EVENT_PRINT);

	for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
		struct uft_filter_error err = { "", 0 };
		struct uft_program *p;

		assert_int_equal(uft_event_filter_make(print, said[i].text, &p, &err), 0);
		assert_true(uft_program_is_good(p, p->bytes));
		for (size_t k = 0; k < 4; k++) {
			uint8_t payload[16] = { 0 };
			const struct uft_record r = { .payload = payload, .bytes = 8 + marks[k].bytes, .comm = "" };

			memcpy(payload + 8, marks[k].text, marks[k].bytes);
			assert_int_equal(uft_program_run(p, &r), said[i].of[k]);
		}
		free(p);
	}
}

static int set_up(void **state)
{
	static const char *const names[NTYPES] = { "sched_switch", "ipi_send_cpumask", "sched_process_exec", "all" };
	struct uft_event_table *t = uft_event_table_new();
	struct uft_error err = { "" };

	for (int i = 0; i < NTYPES; i++) {
		char *text;

		assert_true(asprintf(&text, "name: %s\nID: 0\nformat:\n" COMMON "%s\nprint fmt: \"\"\n", names[i],
				     fields[i]) > 0);
		if (uft_event_table_add(t, UFT_OWNER_OURS, "test", text, &types[i], &err))
			fail_msg("%s", err.text);
		free(text);
	}
	*state = t;
	return 0;
}

static int tear_down(void **state)
{
	uft_event_table_put(*state);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mistakes_as_the_kernel_says),	 cmocka_unit_test(answers), cmocka_unit_test(quick_numbers),
		cmocka_unit_test(quick_no_field),
		cmocka_unit_test(quick_several), cmocka_unit_test(quick_texts), cmocka_unit_test(unknown_facts_decide_nothing),
		cmocka_unit_test(lists_of_tasks),
		cmocka_unit_test(shorter),
		cmocka_unit_test(sizes), cmocka_unit_test(to_the_end),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
