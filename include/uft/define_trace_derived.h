/* SPDX-License-Identifier: MIT */
/*
 * define_trace_derived.h - part of define_trace.h: fields that are dynamic arrays of one kind
 *
 * In the reading that describes fields, __uft_dynamic() and __uft_rel_dynamic() take the name that the kernel writes
 * into `format`, which need not be a type of the program.
 */
#pragma GCC system_header	/* macros as the kernel's: no -pedantic */
#ifndef __uft_dynamic
#define __uft_dynamic(name, type, item)		__dynamic_array(type, item, -1)
#define __uft_rel_dynamic(name, type, item)	__rel_dynamic_array(type, item, -1)
#endif
#define __string(item, src)			__dynamic_array(char, item, -1)
#define __string_len(item, src, len)		__dynamic_array(char, item, -1)
#define __vstring(item, fmt, ap)		__dynamic_array(char, item, -1)
#define __bitmask(item, bits)			__dynamic_array(unsigned long, item, -1)
#define __cpumask(item)				__uft_dynamic("cpumask_t", unsigned long, item)
#define __sockaddr(item, len)			__uft_dynamic("u8", uint8_t, item)
#define __rel_string(item, src)			__rel_dynamic_array(char, item, -1)
#define __rel_string_len(item, src, len)	__rel_dynamic_array(char, item, -1)
#define __rel_bitmask(item, bits)		__rel_dynamic_array(unsigned long, item, -1)
#define __rel_cpumask(item)			__uft_rel_dynamic("cpumask_t", unsigned long, item)
#define __rel_sockaddr(item, len)		__uft_rel_dynamic("u8", uint8_t, item)
