// SPDX-License-Identifier: MIT
/* plan.c - bytes in, length out: what plan_prologue() lets be moved. Disassembly beside each case. */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "control/relocate/plan.h"

static const struct { const char *name; const char *code; size_t size; int want; } cases[] = {
	{ "push; mov; push", "\x55\x48\x89\xe5\x41\x57\x41\x56\xc3", 9, 6 },	/* push rbp; mov rbp,rsp; push r15 */
	{ "sub rsp", "\x48\x81\xec\x00\x01\x00\x00\xc3", 8, 7 },		/* sub rsp,0x100 */
	{ "rip-relative load", "\x48\x8b\x05\x10\x00\x00\x00\xc3", 8, -ENOTSUP },	/* mov rax,[rip+0x10] */
	{ "call first", "\xe8\x00\x00\x00\x00\xc3", 6, -ENOTSUP },
	{ "short jump", "\x55\xeb\x05\x90\x90\x90\x90", 7, -ENOTSUP },
	{ "ret too early", "\x55\xc3\x90\x90\x90\x90", 6, -ENOTSUP },
	/* mov eax,0x050f0027: bytes, not insn */
	{ "syscall", "\xb8\x27\x00\x0f\x05\x0f\x05\xc3", 8, 5 },
	{ "syscall in it", "\x31\xc0\x0f\x05\xc3\x90", 6, -ENOTSUP },		/* xor eax,eax; syscall */
	{ "loop back inside", "\x31\xc0\xff\xc0\xff\xc1\x75\xfa\xc3", 9, -ENOTSUP },	/* 0: ... jne 2 */
	{ "loop to the start of what stays", "\x55\x48\x89\xe5\x50\x90\x90\xeb\xfc", 9, 5 },
	{ "does not decode", "\x06\x06\x06\x06\x06\x06", 6, -EINVAL },
	{ "cut off", "\x55\x48\x89", 3, -EINVAL },
};

/* What plan_words() says, and how much it leaves before them. */
static const struct { const char *name; int machine; const char *code; size_t size; int want; size_t skip; } words[] = {
	{ "sub sp", EM_AARCH64, "\xff\x03\x3b\xd1\xfd\x7b\x00\xa9", 8, 4, 0 },
	{ "bti c; stp", EM_AARCH64, "\x5f\x24\x03\xd5\xfd\x7b\xb1\xa9", 8, 4, 4 },
	{ "paciasp; sub sp", EM_AARCH64, "\x3f\x23\x03\xd5\xff\x03\x3b\xd1", 8, 4, 4 },
	{ "adr", EM_AARCH64, "\x01\x00\x00\x10\xc0\x03\x5f\xd6", 8, -ENOTSUP, 0 },
	{ "adrp", EM_AARCH64, "\x19\x01\x00\x90\xc0\x03\x5f\xd6", 8, -ENOTSUP, 0 },
	{ "b", EM_AARCH64, "\x04\x00\x00\x14\xc0\x03\x5f\xd6", 8, -ENOTSUP, 0 },
	{ "bl", EM_AARCH64, "\x04\x00\x00\x94\xc0\x03\x5f\xd6", 8, -ENOTSUP, 0 },
	{ "ret", EM_AARCH64, "\xc0\x03\x5f\xd6\xc0\x03\x5f\xd6", 8, -ENOTSUP, 0 },
	{ "udf", EM_AARCH64, "\x00\x00\x00\x00\xc0\x03\x5f\xd6", 8, -EINVAL, 0 },
	{ "nothing", EM_AARCH64, "", 0, -EINVAL, 0 },
	{ "add sp; sd", EM_RISCV, "\x13\x01\x01\x81\x23\x30\x81\x7e\x23\x3c\x91\x7c", 12, 8, 0 },
	{ "ld; c.addi; sd", EM_RISCV, "\x83\x37\x05\x01\x01\x11\x23\x30\x81\x00\x82\x80", 12, 10, 0 },
	{ "four compressed ones", EM_RISCV, "\x01\x11\x26\xe4\x4a\xe0\x01\x00\x82\x80", 10, 8, 0 },
	{ "auipc", EM_RISCV, "\x97\x05\x00\x00\x01\x11\x01\x11\x82\x80", 10, -ENOTSUP, 0 },
	{ "c.jr ra behind four", EM_RISCV, "\x01\x11\x01\x11\x82\x80\x01\x11", 8, -ENOTSUP, 0 },
	{ "c.beqz", EM_RISCV, "\x01\x11\x11\xc1\x01\x11\x01\x11", 8, -ENOTSUP, 0 },
	{ "li t6", EM_RISCV, "\x93\x0f\x10\x00\x13\x01\x01\x81\x82\x80", 10, -ENOTSUP, 0 },
	{ "c.mv t6", EM_RISCV, "\xaa\x8f\x13\x01\x01\x81\x01\x11\x82\x80", 10, -ENOTSUP, 0 },
	/* c.j 4 */
	{ "a branch back between them", EM_RISCV, "\x13\x01\x01\x81\x13\x01\x01\x81\xf5\xbf\x01\x00", 12, -ENOTSUP, 0 },
	/* c.j 0 */
	{ "a branch back to the start", EM_RISCV, "\x13\x01\x01\x81\x13\x01\x01\x81\xe5\xbf\x01\x00", 12, 8, 0 },
	{ "cut off", EM_RISCV, "\x13\x01\x01\x81\x13\x01", 6, -EINVAL, 0 },
	{ "another machine", EM_ARM, "\x13\x01\x01\x81\x13\x01\x01\x81", 8, -ENOTSUP, 0 },
};

static int check_words(void)
{
	int failed = 0;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t skip = 99;
		int got = plan_words((uint16_t)words[i].machine, (const unsigned char *)words[i].code, words[i].size,
				     &skip);

		if (got != words[i].want || (got > 0 && skip != words[i].skip)) {
			printf("FAIL words: %s: %d behind %zu instead of %d behind %zu\n", words[i].name, got, skip,
			       words[i].want, words[i].skip);
			failed = 1;
		}
	}
	return failed;
}

int main(void)
{
	int failed = check_words();

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int got = plan_prologue((const unsigned char *)cases[i].code, cases[i].size, 5);

		if (got != cases[i].want) {
			printf("FAIL %s: %d instead of %d\n", cases[i].name, got, cases[i].want);
			failed = 1;
		}
	}
	/* mov r8d,57; syscall: decoded from the start, no instruction begins at the inner b8 */
	if (plan_is_boundary((const unsigned char *)"\x41\xb8\x39\x00\x00\x00\x0f\x05", 8, 1) ||
	    !plan_is_boundary((const unsigned char *)"\x41\xb8\x39\x00\x00\x00\x0f\x05", 8, 6)) {
		printf("FAIL boundary\n");
		failed = 1;
	}
	return failed;
}
