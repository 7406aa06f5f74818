// SPDX-License-Identifier: MIT
/* plan.c - bytes in, length out: what plan_prologue() lets be moved. Disassembly beside each case. */
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
	{ "syscall", "\xb8\x27\x00\x0f\x05\x0f\x05\xc3", 8, 5 },		/* mov eax,0x050f0027: bytes, not insn */
	{ "syscall in it", "\x31\xc0\x0f\x05\xc3\x90", 6, -ENOTSUP },		/* xor eax,eax; syscall */
	{ "loop back inside", "\x31\xc0\xff\xc0\xff\xc1\x75\xfa\xc3", 9, -ENOTSUP },	/* 0: ... jne 2 */
	{ "loop to the start of what stays", "\x55\x48\x89\xe5\x50\x90\x90\xeb\xfc", 9, 5 },
	{ "does not decode", "\x06\x06\x06\x06\x06\x06", 6, -EINVAL },
	{ "cut off", "\x55\x48\x89", 3, -EINVAL },
};

int main(void)
{
	int failed = 0;

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
