/* SPDX-License-Identifier: MIT */
/*
 * idle_cpu.h - tells whether this machine has idle CPU time for work that can wait
 *
 * Of the CPUs that the calling thread may use, by /proc/stat, looked at ten times a second at most. Nothing is known in
 * the first window: the answer is yes then. Where there is no such file it is no. Context: control, one thread.
 */
#ifndef UFT_STREAM_IDLE_CPU_H
#define UFT_STREAM_IDLE_CPU_H

#include <stddef.h>
#include <stdint.h>

struct idle_cpu {
	uint64_t looked_ns;		/* 0: not yet */
	uint64_t idle_ns;		/* of all those CPUs, at that time */
	int is_busy;
};

/* At least a quarter of a CPU, @now by now_ns(). */
int idle_cpu_is_there(struct idle_cpu *c, uint64_t now);

/* The idle ticks of those CPUs of @stat, a text like /proc/stat, that @has; -1: of none. */
int64_t idle_cpu_ticks(const char *stat, int (*has)(const void *arg, unsigned cpu), const void *arg);

#endif
