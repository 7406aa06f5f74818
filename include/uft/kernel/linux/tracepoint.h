/* SPDX-License-Identifier: MIT */
/* linux/tracepoint.h - for event headers of the kernel, compiled into a program; see uft/tracepoint.h */
#ifndef UFT_KERNEL_LINUX_TRACEPOINT_H
#define UFT_KERNEL_LINUX_TRACEPOINT_H

#include <linux/types.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <sys/types.h>

typedef __u8 u8;
typedef __s8 s8;
typedef __u16 u16;
typedef __s16 s16;
typedef __u32 u32;
typedef __s32 s32;
typedef __u64 u64;
typedef __s64 s64;

/* Masks of processors, in the layout of the C library's cpu_set_t. */
typedef struct cpumask { unsigned long bits[1024 / (8 * sizeof(unsigned long))]; } cpumask_t;
#define cpumask_bits(mask)	((mask)->bits)

#ifndef TASK_COMM_LEN
#define TASK_COMM_LEN	16
#endif

#endif

#include <uft/trace_event.h>
