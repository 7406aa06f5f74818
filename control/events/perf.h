/* SPDX-License-Identifier: MIT */
/*
 * perf.h - perf events of tasks: their samples, switches, children, names and ends
 *
 * One ring for each CPU, into which the events of all tasks go. Theory: perf.c.
 */
#ifndef UFT_CONTROL_PERF_H
#define UFT_CONTROL_PERF_H

#include <stdint.h>
#include <sys/types.h>

#define PERF_CALLS_MAX	6u

struct perf_want {
	uint64_t sample_ns;		/* of CPU time between two samples; 0: none */
	uint32_t stack_bytes;		/* of the stack with each sample */
	int has_switches;
	int has_points;			/* samples are accesses, of perf_watch(), and no other samples come */
	int is_process_only;		/* includes new threads, but no child processes */
	/*
	 * system calls that are reported at their begin, with so much of the stack: each by the number of its
	 * tracepoint in the kernel, and its meaning for the caller
	 */
	struct perf_call { uint32_t tracepoint, meaning; } call[PERF_CALLS_MAX];
	uint32_t ncalls, call_bytes;
};

/* Registers of an access. */
enum perf_reg { PERF_AX, PERF_BX, PERF_CX, PERF_DX, PERF_SI, PERF_DI, PERF_BP, PERF_SP, PERF_IP, PERF_FLAGS, PERF_R8,
	PERF_NREGS = PERF_R8 + 8 };

enum perf_kind { PERF_SAMPLE, PERF_CALL, PERF_SWITCH, PERF_FORK, PERF_COMM, PERF_EXIT, PERF_LOST };

/* In the order of time. Pointers are valid until the next call. */
struct perf_record {
	enum perf_kind kind;
	uint64_t ns;			/* CLOCK_MONOTONIC */
	uint32_t cpu;
	pid_t pid, tid;			/* the task; FORK: the new one */
	pid_t ptid;			/* FORK: the task that made it */
	int is_in, is_preempted;	/* SWITCH */
	int is_exec;			/* COMM */
	char comm[16];			/* COMM */
	uint64_t lost;			/* LOST */
	/* CALL: its meaning, and the register in which vfork() keeps its return address */
	uint32_t call;
	uint64_t kept;
	/* SAMPLE, CALL: the place in the program; for a sample in the kernel, where the program entered it. */
	uint64_t pc, sp, fp;
	const uint8_t *stack;		/* from sp on */
	uint32_t stack_bytes;
	/* For an access: the watched address, and all registers behind the instruction, PERF_NREGS. */
	uint64_t addr;
	const uint64_t *regs;
};

/* Can these calls of the user's own tasks be reported here? 0 or -errno. */
int perf_check_calls(const struct perf_want *want);

struct perf;
/*
 * 0, or -errno: not permitted (-EACCES, -EPERM), no more memory may be locked for it (-EDQUOT), not known to this
 * kernel (-ENOENT, -ENOSYS, -EINVAL), no memory.
 */
int perf_open(const struct perf_want *want, struct perf **out);
/*
 * Adds events to @tid, which has none, and to all tasks that it makes from now on. Returns a number for the events of
 * them all, or -errno.
 */
int perf_add(struct perf *p, pid_t tid);
/*
 * The same for accesses to @bytes (1, 2, 4, 8) at @addr, a multiple of that, until the task executes another program.
 * -ENOSPC: the CPU has no free register for it.
 */
int perf_watch(struct perf *p, pid_t tid, uint64_t addr, uint32_t bytes, int is_write_only);
/* Ends these events; any number may be given. Records that they have made already still come. */
void perf_remove(struct perf *p, int group);
int perf_has(const struct perf *p, int group);		/* they have not ended */
/* Does the task get this name in a record that has come so far, taken or not? */
int perf_is_named(const struct perf *p, pid_t tid, const char *name);
int perf_has_kernel(const struct perf *p);	/* 0: samples are only of time outside the kernel */
/* -errno: the calls that were wanted are not reported, or not for all tasks */
int perf_calls_error(const struct perf *p);
/*
 * Begins a taking of all records up to now; later ones wait for the next call. Returns a time in ns before which no
 * more records will come.
 */
uint64_t perf_begin(struct perf *p);
/* 1: *r is the next record; 0: none. After an early end, the last record comes again after the next perf_begin(). */
int perf_next(struct perf *p, struct perf_record *r);
/* A descriptor for epoll, readable when a ring is a quarter full; -1: there are no more. */
int perf_descriptor(const struct perf *p, uint32_t i);
void perf_close(struct perf *p);

#endif
