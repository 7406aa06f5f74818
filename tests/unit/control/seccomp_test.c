/* SPDX-License-Identifier: MIT */
/* seccomp_test.c - seccomp filters, run as the kernel would: the forms that libseccomp, systemd and sandboxes write */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include <sys/syscall.h>

#include "control/proc/seccomp.h"
#include "uft/abi.h"

#define N(code)		(sizeof(code) / sizeof((code)[0]))
#define RET(k)		BPF_STMT(BPF_RET | BPF_K, k)
#define LOAD(field)	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define IF(op, k, t, f)	BPF_JUMP(BPF_JMP | op | BPF_K, k, t, f)

static uint32_t run(const struct sock_filter *code, unsigned n, int nr, uint64_t arg0)
{
	struct seccomp_data data = { .nr = nr, .arch = AUDIT_ARCH_X86_64, .args = { arg0 } };

	return seccomp_run(code, n, &data);
}

/* A tree of numbers behind a look at the architecture, as libseccomp has it. */
static void test_tree(void **state)
{
	static const struct sock_filter code[] = {
		LOAD(arch), IF(BPF_JEQ, AUDIT_ARCH_X86_64, 0, 6), LOAD(nr), IF(BPF_JGE, 0x40000000, 4, 0),
			IF(BPF_JGT, 100, 1, 0),
		IF(BPF_JEQ, 7, 1, 2), IF(BPF_JEQ, 312, 0, 1), RET(SECCOMP_RET_ALLOW), RET(SECCOMP_RET_ERRNO | 1),
	};

	(void)state;
	assert_int_equal(run(code, N(code), 7, 0), SECCOMP_RET_ALLOW);
	assert_int_equal(run(code, N(code), 312, 0), SECCOMP_RET_ALLOW);
	assert_int_equal(run(code, N(code), 8, 0), SECCOMP_RET_ERRNO | 1);
	assert_int_equal(run(code, N(code), 101, 0), SECCOMP_RET_ERRNO | 1);
	assert_int_equal(run(code, N(code), 0x40000007, 0), SECCOMP_RET_ERRNO | 1);
}

/* An argument under a mask, kept in memory meanwhile; both halves. */
static void test_argument(void **state)
{
	static const struct sock_filter code[] = {
		LOAD(args[0]), BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xf0), BPF_STMT(BPF_ST, 3),
			BPF_STMT(BPF_LD | BPF_IMM, 5),
		BPF_STMT(BPF_LDX | BPF_MEM, 3), BPF_STMT(BPF_MISC | BPF_TXA, 0), IF(BPF_JEQ, 0x20, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args) + 4), IF(BPF_JSET, 2, 1, 0),
		RET(1), RET(2),
	};

	(void)state;
	assert_int_equal(run(code, N(code), 0, 0x12f), 1);
	assert_int_equal(run(code, N(code), 0, 0x13f), 2);
	assert_int_equal(run(code, N(code), 0, 0x20000012full), 2);
	assert_int_equal(run(code, N(code), 0, 0x10000012full), 1);
}

static void test_arithmetic(void **state)
{
	static const struct { uint16_t op; uint32_t k, want; } with_100[] = {
		{ BPF_ADD, 5, 105 }, { BPF_SUB, 101, UINT32_MAX }, { BPF_MUL, 3, 300 }, { BPF_DIV, 7, 14 },
		{ BPF_OR, 3, 103 },
		{ BPF_XOR, 4, 96 }, { BPF_LSH, 4, 1600 }, { BPF_RSH, 2, 25 }, { BPF_NEG, 0, (uint32_t)-100 },
	};

	(void)state;
	for (unsigned i = 0; i < N(with_100); i++) {
		struct sock_filter code[] = {
			BPF_STMT(BPF_LD | BPF_IMM, with_100[i].k), BPF_STMT(BPF_MISC | BPF_TAX, 0), LOAD(nr),
			BPF_STMT(BPF_ALU | with_100[i].op | BPF_X, 0), BPF_STMT(BPF_RET | BPF_A, 0),
		};

		assert_int_equal(run(code, N(code), 100, 0), with_100[i].want);
	}
}

static void test_nothing_said(void **state)
{
	static const struct sock_filter code[] = { BPF_STMT(BPF_JMP | BPF_JA, 7), RET(SECCOMP_RET_ALLOW) };

	(void)state;
	assert_int_equal(run(code, N(code), 0, 0), SECCOMP_RET_KILL_PROCESS);
}

#define ENDS(nr)	IF(BPF_JEQ, nr, 0, 1), RET(SECCOMP_RET_KILL_PROCESS)

/* What a filter ends us for tells what the runtime does without; what it cannot do without, that it has to be out. */
static void test_judge(void **state)
{
	static const struct sock_filter some[] = { LOAD(nr), ENDS(SYS_sigaltstack), ENDS(SYS_tkill),
		RET(SECCOMP_RET_ALLOW) };
	static const struct sock_filter ask[] = { LOAD(nr), ENDS(SYS_gettid), RET(SECCOMP_RET_ERRNO | 1) };
	static const struct sock_filter agent[] = { LOAD(nr), ENDS(SYS_setsid), ENDS(SYS_clone),
		RET(SECCOMP_RET_ALLOW) };
	static const struct sock_filter vital[] = { LOAD(nr), ENDS(SYS_setsid), ENDS(SYS_futex),
		RET(SECCOMP_RET_ALLOW) };
	static const struct sock_filter lost[] = { LOAD(nr), ENDS(SYS_kcmp), ENDS(SYS_recvmsg),
		RET(SECCOMP_RET_ALLOW) };
	static const struct sock_filter alone[] = { LOAD(nr), IF(BPF_JEQ, SYS_futex, 1, 0),
		IF(BPF_JEQ, SYS_rt_sigprocmask, 0, 1),
						    RET(SECCOMP_RET_ALLOW), RET(SECCOMP_RET_TRAP) };
	uint32_t denied;
	char names[400];

	(void)state;
	assert_int_equal(seccomp_judge(some, N(some), &denied, names, sizeof(names)), 0);
	assert_int_equal(denied, UFT_DENIED_STACK | UFT_DENIED_GONE);
	assert_string_equal(names, "");
	assert_true(seccomp_permits_children(some, N(some)));
	assert_int_equal(seccomp_judge(ask, N(ask), &denied, names, sizeof(names)), 0);
	assert_int_equal(denied, UFT_DENIED_ASK | UFT_DENIED_PEEK);
	assert_false(seccomp_permits_children(ask, N(ask)));
	assert_int_equal(seccomp_judge(agent, N(agent), &denied, names, sizeof(names)), 0);
	assert_int_equal(denied, UFT_DENIED_CHILDREN);
	assert_string_equal(names, "clone, setsid");
	assert_int_equal(seccomp_judge(vital, N(vital), &denied, names, sizeof(names)), -EPERM);
	assert_string_equal(names, "futex");
	assert_int_equal(seccomp_judge(lost, N(lost), &denied, names, sizeof(names)), 0);
	assert_int_equal(denied, 0);
	assert_int_equal(seccomp_judge(alone, N(alone), &denied, names, sizeof(names)), 0);
	assert_int_equal(denied, UFT_DENIED_STACK | UFT_DENIED_PEEK | UFT_DENIED_GONE | UFT_DENIED_MEMORY |
			 UFT_DENIED_ASK | UFT_DENIED_CPU |
				 UFT_DENIED_CHILDREN | UFT_DENIED_LIMIT);
	assert_false(seccomp_permits_children(alone, N(alone)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tree), cmocka_unit_test(test_argument), cmocka_unit_test(test_arithmetic),
		cmocka_unit_test(test_nothing_said), cmocka_unit_test(test_judge),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
