/* SPDX-License-Identifier: MIT */
/* doctor_test.c - each check of doctor with the facts that make it speak, and that every check has such facts here */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "control/doctor/doctor.h"

static struct doctor_facts f;

/* A machine on which everything works, and a prepared program on it. */
static void make_well(void)
{
	f = (struct doctor_facts){
		.machine = "x86_64", .kernel = "6.1.0", .cpu_vendor = "AuthenticAMD", .clocksource = "tsc",
		.is_cpu_known = 1,
		.has_constant_tsc = 1, .has_nonstop_tsc = 1, .yama = DOCTOR_UNKNOWN, .selinux = DOCTOR_UNKNOWN,
		.memlock = 8 << 20,
		.has_fusermount = 1, .arena_text = "/run/user/1/uft", .arena_ring_bytes = 16 << 20, .arena_slices = 64,
		.program = "/bin/well", .nsites = 7, .nunwind = 8, .nskipped = 1, .has_interp = 1,
		.interp = "/lib/ld.so",
		.has_rseq_symbol = 1, .has_symbols = 2, .symbols_from = "its own symbol table",
	};
}

static void make_process(void)
{
	make_well();
	f.pid = 77;
	snprintf(f.comm, sizeof(f.comm), "well");
	f.state = 'S';
	f.threads = 1;
	f.its_rseq = 1;
	f.its_memlock = UINT64_MAX;
}

static const struct doctor_check *check_named(const char *subject)
{
	const struct doctor_check *c;

	for (c = doctor_checks; c->subject; c++)
		if (!strcmp(c->subject, subject))
			return c;
	fail_msg("no check '%s'", subject);
	return NULL;
}

#define NCHECKS 64
static int seen[NCHECKS];	/* by index in doctor_checks: it warned or failed */

/* The check @subject finds @level, and its sentence and remedy contain @text. */
static void expect(const char *subject, enum doctor_level level, const char *text)
{
	const struct doctor_check *c = check_named(subject);
	struct doctor_finding out = { .level = DOCTOR_OK };
	char all[2048];

	assert_true(c->judge(&f, &out));
	snprintf(all, sizeof(all), "%s (%s)", out.text, out.remedy);
	if (out.level != level || !strstr(all, text))
		fail_msg("%s: level %d, '%s'; expected %d, '%s'", subject, out.level, all, level, text);
	seen[c - doctor_checks] |= level != DOCTOR_OK;
}

static void all_checks_pass(void **state)
{
	(void)state;
	for (int process = 0; process < 2; process++) {
		process ? make_process() : make_well();
		for (const struct doctor_check *c = doctor_checks; c->subject; c++) {
			struct doctor_finding out = { .level = DOCTOR_OK };

			if (c->scope & (process ? DOCTOR_PROCESS : DOCTOR_PROGRAM | DOCTOR_MACHINE) &&
			    c->judge(&f, &out)) {
				assert_string_not_equal(out.text, "");
				if (out.level != DOCTOR_OK)
					fail_msg("%s: %s", c->subject, out.text);
			}
		}
	}
}

static void machine(void **state)
{
	(void)state;
	make_well();
	snprintf(f.machine, sizeof(f.machine), "ppc64le");
	expect("cpu", DOCTOR_FAIL, "ppc64le");
	snprintf(f.machine, sizeof(f.machine), "aarch64");
	f.has_constant_tsc = 0;
	expect("cpu", DOCTOR_WARN, "uft record starts");
	expect("clock", DOCTOR_OK, "one rate");
	expect("program", DOCTOR_OK, "dynamic");
	f.is_static = 1;
	expect("program", DOCTOR_FAIL, "no loader puts the runtime into it");
	make_well();
	f.is_cpu_known = 0;
	expect("cpu", DOCTOR_WARN, "cpuinfo");
	snprintf(f.cpu_vendor, sizeof(f.cpu_vendor), "GenuineIntel");
	f.is_cpu_known = 1;
	expect("cpu", DOCTOR_OK, "two-byte jump");
	f.membarrier_error = EINVAL;
	expect("kernel", DOCTOR_WARN, "membarrier");
	f.pidfd_error = ENOSYS;
	expect("kernel", DOCTOR_FAIL, "pidfd_open (Function not implemented)");
	f.pidfd_error = 0;
	f.peek_error = EPERM;
	expect("kernel", DOCTOR_FAIL, "process_vm_readv");
	f.has_nonstop_tsc = 0;
	expect("clock", DOCTOR_WARN, "nonstop_tsc");
	f.has_constant_tsc = 0;
	expect("clock", DOCTOR_WARN, "constant_tsc");
	make_well();
	snprintf(f.clocksource, sizeof(f.clocksource), "hpet");
	expect("clock", DOCTOR_WARN, "hpet");
	snprintf(f.clocksource, sizeof(f.clocksource), "kvm-clock");
	expect("clock", DOCTOR_OK, "kvm-clock");
}

static void rights(void **state)
{
	(void)state;
	make_well();
	f.yama = 1;
	expect("ptrace", DOCTOR_WARN, "children of uft");
	f.yama = 2;
	expect("ptrace", DOCTOR_WARN, "only by root");
	f.has_cap_ptrace = 1;
	expect("ptrace", DOCTOR_OK, "CAP_SYS_PTRACE");
	f.seize_error = EPERM;
	expect("ptrace", DOCTOR_FAIL, "seccomp profile");
	f.yama = 3;
	expect("ptrace", DOCTOR_FAIL, "until the next boot");
	f.selinux = 1;
	expect("code-writes", DOCTOR_WARN, "SELinux");
	f.selinux = 0;
	expect("code-writes", DOCTOR_OK, "permissive");
	f.own_mdwe = 1;
	expect("code-writes", DOCTOR_OK, "/proc/self/mem");
	f.arena_slices = 8;
	expect("rings", DOCTOR_WARN, "little room");
	f.arena_error = EPERM;
	snprintf(f.arena_text, sizeof(f.arena_text), "not ours alone");
	expect("rings", DOCTOR_FAIL, "not ours alone");
	f.arena_error = ENOSPC;
	expect("rings", DOCTOR_FAIL, "enlarge");
	f.has_fusermount = 0;
	expect("fuse", DOCTOR_WARN, "fusermount3");
	f.is_root = 1;
	expect("fuse", DOCTOR_OK, "mounted");
	f.fuse_error = ENOENT;
	expect("fuse", DOCTOR_WARN, "modprobe");
}

static void program_checks(void **state)
{
	(void)state;
	make_well();
	f.nsites = 0;
	expect("functions", DOCTOR_WARN, "uft cflags");
	f.nplain = 10;
	f.nplain_ok = 4;
	f.unprepared_why = "too short";
	expect("functions", DOCTOR_WARN, "of 10 functions 4 can be rewritten, most others not: too short");
	f.nplain_ok = 9;
	expect("functions", DOCTOR_OK, "no function is prepared");
	f.nplain_graph = 7;
	f.walker = "it has a table of frames";
	expect("graph", DOCTOR_WARN, "leave 7 of its 9 functions alone: it has a table of frames");
	f.walker = NULL;
	f.has_symbols = 1;
	expect("symbols", DOCTOR_WARN, "exported");
	f.has_symbols = 0;
	expect("symbols", DOCTOR_WARN, "stripped");
	f.secure = "setuid";
	expect("privilege", DOCTOR_FAIL, "setuid");
	f.is_shstk = 1;
	expect("shadow-stack", DOCTOR_OK, "this machine has none");
	f.has_user_shstk = 1;
	expect("shadow-stack", DOCTOR_WARN, "may be on");
	f.nframed = 3;
	expect("shadow-stack", DOCTOR_WARN, "3 entries");
	f.rseq_tunable = "glibc.pthread.rseq=0";
	expect("rseq", DOCTOR_WARN, "unset GLIBC_TUNABLES");
	f.rseq_tunable = NULL;
	f.has_rseq_symbol = 0;
	expect("rseq", DOCTOR_WARN, "/lib/ld.so does not say");
	f.rseq_error = ENOSYS;
	expect("rseq", DOCTOR_WARN, "kernel has no rseq");
	f.own_seccomp = 2;
	expect("seccomp", DOCTOR_WARN, "membarrier");
	snprintf(f.script, sizeof(f.script), "x.sh");
	expect("program", DOCTOR_OK, "script");
	f.program_error = ENOEXEC;
	snprintf(f.program_text, sizeof(f.program_text), "neither");
	expect("program", DOCTOR_FAIL, "neither");
}

static void process_checks(void **state)
{
	(void)state;
	make_process();
	f.is_ours = 1;
	expect("process", DOCTOR_FAIL, "another session");
	f.state = 'Z';
	expect("process", DOCTOR_FAIL, "has ended");
	f.is_gone = 1;
	expect("process", DOCTOR_FAIL, "no process 77");
	make_process();
	f.is_kernel_thread = 1;
	expect("program", DOCTOR_FAIL, "kernel thread");
	make_process();
	f.access_error = EPERM;
	expect("access", DOCTOR_FAIL, "container");
	f.yama = 1;
	expect("access", DOCTOR_FAIL, "ptrace_scope=0");
	f.is_undumpable = 1;
	expect("access", DOCTOR_FAIL, "undumpable");
	f.is_other_user = 1;
	expect("access", DOCTOR_FAIL, "another user");
	f.tracer = 5;
	f.tracer_of = 78;
	snprintf(f.tracer_comm, sizeof(f.tracer_comm), "gdb");
	expect("tracer", DOCTOR_FAIL, "thread 78 is traced by process 5 (gdb)");
	f.has_other_pid = 1;
	expect("namespaces", DOCTOR_WARN, "another pid namespace:");
	f.has_other_mnt = f.has_other_user = 1;
	expect("namespaces", DOCTOR_WARN, "another mount namespace, pid namespace, user namespace:");
	f.seccomp = 2;
	expect("seccomp", DOCTOR_WARN, "in force");
	f.seccomp = 1;
	expect("seccomp", DOCTOR_FAIL, "strict");
	f.has_shstk_on = 1;
	expect("shadow-stack", DOCTOR_FAIL, "could not detach from it");
	f.its_rseq = 0;
	expect("rseq", DOCTOR_WARN, "no C library");
	f.its_memlock = 64 << 10;
	f.locked = 4096;
	expect("memlock", DOCTOR_WARN, "4 KB are locked and the limit is 64 KB");
	f.is_secure = 1;
	expect("privilege", DOCTOR_WARN, "AT_SECURE");
}

static void every_check_can_complain(void **state)
{
	(void)state;
	for (const struct doctor_check *c = doctor_checks; c->subject; c++)
		if (!seen[c - doctor_checks])
			fail_msg("no facts here make '%s' warn or fail", c->subject);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_checks_pass), cmocka_unit_test(machine), cmocka_unit_test(rights), cmocka_unit_test(program_checks),
		cmocka_unit_test(process_checks), cmocka_unit_test(every_check_can_complain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
