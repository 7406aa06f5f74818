/* SPDX-License-Identifier: MIT */
/*
 * idle_cpu.h - tells whether this machine has idle CPU time for work that can wait
 *
 * Counts the CPUs that the calling thread may use, by /proc/stat, which it reads ten times a second at most. The answer
 * is yes in the first window, before a second sample, and no where /proc/stat cannot be read. Context: control, one
 * thread.
 */
#ifndef UFT_STREAM_IDLE_CPU_H
#define UFT_STREAM_IDLE_CPU_H

#include <stdint.h>

struct idle_cpu {
	uint64_t looked_ns;		/* of the last sample; 0: none yet */
	uint64_t idle_ns;		/* of all those CPUs, then */
	int is_busy;
};

/* Returns 1 if at least a quarter of a CPU is idle. @now: by now_ns(). */
int idle_cpu_is_there(struct idle_cpu *c, uint64_t now);

/* Returns the idle ticks of the CPUs in @stat, a text like /proc/stat, for which @has returns 1; -1: of none. */
int64_t idle_cpu_ticks(const char *stat, int (*has)(const void *arg, unsigned cpu), const void *arg);

#endif
