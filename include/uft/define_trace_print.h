/* SPDX-License-Identifier: MIT */
/*
 * define_trace_print.h - part of define_trace.h: print formats as the kernel writes them for readers of `format`
 *
 * Helpers that such readers know stay as they are. The kernel replaces the others by text that readers know.
 */
#pragma GCC system_header	/* macros as the kernel's: no -pedantic */
#define __entry REC
#define TP_printk(fmt, args...)			"\"" fmt "\", " __stringify(args)
#define __print_flags_u64(args...)		__print_flags(args)
#define __print_symbolic_u64(args...)		__print_symbolic(args)
#define __print_ns_to_secs(value)		(value) / 1000000000UL
#define __print_ns_without_secs(value)		(value) % 1000000000UL
#define __event_in_hardirq()			(REC->common_flags & 0x8)
#define __event_in_softirq()			(REC->common_flags & 0x10)
#define __event_in_irq()			(REC->common_flags & 0x18)
