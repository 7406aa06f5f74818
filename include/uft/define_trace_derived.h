/* SPDX-License-Identifier: MIT */
/* define_trace_derived.h - part of define_trace.h: fields that are dynamic arrays of one kind */
#define __string(item, src)			__dynamic_array(char, item, -1)
#define __string_len(item, src, len)		__dynamic_array(char, item, -1)
#define __vstring(item, fmt, ap)		__dynamic_array(char, item, -1)
#define __bitmask(item, bits)			__dynamic_array(unsigned long, item, -1)
#define __sockaddr(item, len)			__dynamic_array(__u8, item, -1)
#define __rel_string(item, src)			__rel_dynamic_array(char, item, -1)
#define __rel_string_len(item, src, len)	__rel_dynamic_array(char, item, -1)
#define __rel_bitmask(item, bits)		__rel_dynamic_array(unsigned long, item, -1)
#define __rel_sockaddr(item, len)		__rel_dynamic_array(__u8, item, -1)
