/* SPDX-License-Identifier: MIT */
/*
 * doctor.h - check what works with this machine, program or process, without changing it
 *
 * machine.c and subject.c gather facts: they only read, and never stop or change a process. Then each check judges the
 * facts alone (checks.c). So every verdict can be tested with facts that no test machine has.
 * Context: control.
 */
#ifndef UFT_CONTROL_DOCTOR_H
#define UFT_CONTROL_DOCTOR_H

#include <stdint.h>
#include <sys/types.h>

#include "symbol/error.h"

#define DOCTOR_UNKNOWN	(-1)

struct doctor_facts {
	/* this machine and this user; *_error: 0 or the errno of a try */
	char machine[65], kernel[65], cpu_vendor[16], clocksource[32];
	int kernel_major, kernel_minor;
	int is_cpu_known;		/* /proc/cpuinfo has flags */
	int has_constant_tsc, has_nonstop_tsc, has_user_shstk;
	int membarrier_error, rseq_error, pidfd_error, clone3_error, peek_error;
	int yama;			/* kernel.yama.ptrace_scope, DOCTOR_UNKNOWN: no yama */
	int selinux;			/* 1 enforcing, 0 permissive, DOCTOR_UNKNOWN: none */
	int seize_error;		/* PTRACE_SEIZE of a child of our own */
	int own_seccomp, own_mdwe;	/* programs that we start inherit both */
	int is_root, has_cap_ptrace, has_cap_lock;
	uint64_t memlock;		/* RLIMIT_MEMLOCK, UINT64_MAX: none */
	int fuse_error, has_fusermount;
	int arena_error;		/* of creating a session's file */
	char arena_text[600];		/* its folder, or the error's text */
	uint32_t arena_ring_bytes, arena_slices;
	const char *rseq_tunable;	/* GLIBC_TUNABLES of this environment, NULL */

	/* the program, of the process or to be started; "": none */
	char program[4096], script[4096];	/* script: names the program in its first line */
	int program_error;
	char program_text[600];
	const char *secure;		/* how it gains rights at exec; NULL: it gains none */
	size_t nsites, nunwind, nframed;	/* usable prepared entries; functions; entries behind a prologue */
	size_t nskipped;
	size_t nplain_trap;	/* functions that can be traced only by int3 */
	size_t nplain, nplain_ok;	/* unprepared functions, and those of them that can be rewritten */
	size_t nplain_graph;		/* those of nplain_ok that the graph tracer does not trace */
	const char *walker;		/* the reason of most of these; NULL: the code of each */
	size_t nbefore;			/* functions prepared by a pad before the entry */
	const char *unprepared_why;		/* why most of the others cannot be rewritten */
	int runs_guests;		/* runs other programs in its own address space */
	int is_static, is_shstk, has_rseq_symbol, has_interp;
	char interp[512], symbols_from[512];
	int has_symbols;		/* 2 all, 1 exported ones only, 0 none */

	/* the process; pid 0: none */
	pid_t pid;
	char comm[64], state;
	int uid, threads;
	int is_kernel_thread, is_gone, is_undumpable, is_other_user;
	int access_error;		/* 0, or the errno by which the kernel would refuse an attach */
	pid_t tracer, tracer_of;	/* another tracer and the task that it traces; 0: none */
	char tracer_comm[64];
	int seccomp;			/* of the strictest thread */
	int has_shstk_on, is_secure, is_ours;	/* is_ours: a session of uft traces it */
	int has_other_mnt, has_other_pid, has_other_user, has_other_root;
	uint64_t locked, its_memlock;
	int its_rseq;			/* 1: libc has registered it; 0: not; DOCTOR_UNKNOWN */
};

enum doctor_level { DOCTOR_OK, DOCTOR_WARN, DOCTOR_FAIL };

struct doctor_finding {
	enum doctor_level level;
	char text[1024], remedy[512];	/* "": no remedy */
};

/* The operands that a check applies to. */
enum doctor_scope { DOCTOR_MACHINE = 1, DOCTOR_PROGRAM = 2, DOCTOR_PROCESS = 4 };

struct doctor_check {
	const char *subject;
	unsigned scope;
	/* Fills @out, whose level is OK at first. Returns 0 if there is no finding. */
	int (*judge)(const struct doctor_facts *f, struct doctor_finding *out);
};

extern const struct doctor_check doctor_checks[];	/* ends with a NULL subject */

void doctor_look_at_machine(struct doctor_facts *f);
void doctor_look_at_program(struct doctor_facts *f, const char *name);
void doctor_look_at_process(struct doctor_facts *f, pid_t pid);

#endif
