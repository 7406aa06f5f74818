/* SPDX-License-Identifier: MIT */
/* int3_test.c - a trap is served where the code stands that was made for it, and nowhere else */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "control/watchdog/int3.h"
#include "runtime/arch/x86_64/encode.h"

#define CHECK(c) do { if (!(c)) { fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #c); exit(1); } } while (0)

/* In a page of a target: a function of one byte, whose int3 it is, and three places. */
enum { SITE = 0, TRUE_CODE = 256, TABLE = 512, HALF = 768 };

static const struct uft_code *code_at(uint8_t *page)
{
	static struct uft_code c = { .nmoved = 1, .ncode = 1, .is_trap = 1, .orig = { UFT_OP_RET },
		.code = { UFT_OP_RET } };

	c.addr = (uint64_t)(uintptr_t)(page + SITE);
	return &c;
}

static uint8_t *make_page(void)
{
	uint8_t *page = mmap(NULL, UFT_PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t site = (uint64_t)(uintptr_t)(page + SITE);

	CHECK(page != MAP_FAILED);
	page[SITE] = UFT_OP_INT3;
	/* As runtime/patch/bytes/unprepared.c lays it out; the slot does what the function does. */
	memset(page + TRUE_CODE, UFT_OP_INT3, UFT_CODE_STRIDE);
	page[TRUE_CODE] = UFT_OP_RET;
	memcpy(page + TRUE_CODE + UFT_CODE_ADDR, &site, 8);
	uft_insn_jmp_indirect(page + TRUE_CODE + UFT_CODE_SLOT, 0, 0);
	/* The address alone, as in a table of the program's; and all but a way out of the slot. */
	memcpy(page + TABLE + UFT_CODE_ADDR, &site, 8);
	memcpy(page + HALF, page + TRUE_CODE, UFT_CODE_STRIDE);
	page[HALF + UFT_CODE_SLOT] = UFT_OP_NOP;
	return page;
}

/* A tracee that stands in the trap. */
static pid_t start(uint8_t *page)
{
	pid_t pid = fork();
	int status;

	CHECK(pid >= 0);
	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		((void (*)(void))(uintptr_t)(page + SITE))();
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
	return pid;
}

static uint64_t pc_of(pid_t pid)
{
	struct user_regs_struct regs;

	CHECK(!ptrace(PTRACE_GETREGS, pid, 0, &regs));
	return regs.rip;
}

/* @told: where targets say that the code stands, in their order. @served: where the task is to go on, or -1. */
static void test(uint8_t *page, const int *told, int served)
{
	struct uft_session *s = calloc(1, sizeof(*s));
	pid_t pid = start(page);
	uint8_t now;

	CHECK(s != NULL);
	for (; *told >= 0; told++)
		CHECK(!trap_ops.note(s, 0, code_at(page), (uint64_t)(uintptr_t)(page + *told)));
	CHECK(int3_serve(s, pid) == (served >= 0));
	CHECK(pc_of(pid) == (uint64_t)(uintptr_t)page + (served >= 0 ? (uint64_t)(served + UFT_CODE_SLOT) : SITE + 1));
	int3_take_out(s, pid);
	now = (uint8_t)ptrace(PTRACE_PEEKTEXT, pid, page + SITE, 0);
	CHECK(now == (served >= 0 ? UFT_OP_RET : UFT_OP_INT3));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	int3_free(s);
	free(s);
}

static int lacks_memory;

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size)
{
	return lacks_memory ? NULL : __real_calloc(n, size);
}

/* Without memory for a list of the processes any of them may still have a trap, so all are kept. */
static void tend_without_memory(struct uft_session *s)
{
	const unsigned before = int3_count(s);

	lacks_memory = 1;
	int3_tend(s);
	lacks_memory = 0;
	CHECK(int3_count(s) == before);
}

/* Programs that come and go, each with libraries at other places. */
static void test_table(uint8_t *page)
{
	struct uft_session *s = calloc(1, sizeof(*s));
	const uint64_t at = (uint64_t)(uintptr_t)page;
	struct target t = { .slice = 7 };
	struct uft_code c = *code_at(page);
	pid_t pid = start(page);

	CHECK(s != NULL);
	CHECK(!trap_ops.note(s, 0, code_at(page), at + TRUE_CODE));
	for (uint32_t run = 0; run < 100; run++) {
		for (uint32_t i = 0; i < 1000; i++) {
			c.addr = 0x10000000 + run * 0x100000 + i * 16;
			CHECK(!trap_ops.note(s, run & 1 ? 7 : 8, &c, 0x40000000 + i * UFT_CODE_STRIDE));
		}
		if (run & 1)
			int3_target_ends(s, &t);
		else
			trap_ops.gone(s, 0x10000000 + run * 0x100000, 0x10000000 + (run + 1) * 0x100000);
		tend_without_memory(s);
		int3_tend(s);
		CHECK(int3_count(s) <= 3001);
	}
	/* A fork child may be the last that has it. */
	trap_ops.gone(s, at, at + UFT_PAGE);
	int3_drop(s, &pid, 1);
	CHECK(int3_count(s) == 1 && int3_serve(s, pid));
	/* Another one was told the same meanwhile. */
	CHECK(!trap_ops.note(s, 9, code_at(page), at + TRUE_CODE));
	int3_drop(s, NULL, 0);
	CHECK(int3_count(s) == 1);
	trap_ops.gone(s, at, at + UFT_PAGE);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	int3_drop(s, &pid, 1);
	CHECK(int3_count(s) == 0);
	/* As many as there may be. */
	for (uint32_t i = 0; i < 1u << 20; i++) {
		c.addr = 0x10000000 + i * 16;
		CHECK(!trap_ops.note(s, 7, &c, 0x40000000));
	}
	c.addr = 0;
	CHECK(trap_ops.note(s, 7, &c, 0x40000000) < 0);
	int3_free(s);
	free(s);
}

int main(void)
{
	uint8_t *page = make_page();

	test(page, (const int[]){ TRUE_CODE, -1 }, TRUE_CODE);
	test(page, (const int[]){ TABLE, -1 }, -1);
	test(page, (const int[]){ HALF, -1 }, -1);
	test(page, (const int[]){ TABLE, HALF, TRUE_CODE, -1 }, TRUE_CODE);
	test_table(page);
	return 0;
}
