/* SPDX-License-Identifier: MIT */
/* kinds.h - events with each kind of field and each helper of print formats, as headers of kernels have them */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM uft_kinds

#if !defined(KINDS_H) || defined(TRACE_HEADER_MULTI_READ)
#define KINDS_H

#include <linux/tracepoint.h>

#ifndef KINDS_ONCE
#define KINDS_ONCE
#include <netinet/in.h>
#include <sys/socket.h>
#define KINDS_STATES	{ 1, "one" }, { 2, "two" }, { 1ull << 40, "large" }
#define show_state(value)	__print_symbolic_u64(value, KINDS_STATES)
struct kinds_point { short x, y; };
static inline int kinds_begin(void) { return 0; }
static inline void kinds_end(void) { }
#endif

TRACE_DEFINE_SIZEOF(u16);

TRACE_EVENT(kinds_numbers,
	TP_PROTO(int n),
	TP_ARGS(n),
	TP_STRUCT__entry(
		__field(	signed char,		s8		)
		__field(	unsigned char,		byte		)
		__field(	short,			s16		)
		__field(	u64,			big		)
		__field(	bool,			is_odd		)
		__field(	const void *,		at		)
		__field_ext(	int,			ext,	0	)
		__field_struct(	struct kinds_point,	point		)
		__field_struct_ext(struct kinds_point,	point_ext, 0	)
		__array(	int,			pair,	2	)
		__array(	char,			name,	TASK_COMM_LEN	)
	),
	TP_fast_assign(
		__entry->s8 = -n;
		__entry->byte = 255;
		__entry->s16 = -300;
		__entry->big = ~0ull;
		__entry->is_odd = n & 1;
		__entry->at = (void *)0x1234;
		__entry->ext = n;
		__entry->point.x = n;
		__entry->point_ext.y = n;
		__entry->pair[0] = n;
		__entry->pair[1] = -n;
		strcpy(__entry->name, "kinds");
	),
	TP_printk("%d %u %hd %llu %d %d name=%s ext=%d pair=%s secs=%llu.%09llu context=%d%d%d", __entry->s8,
		  __entry->byte, __entry->s16,
		__entry->big, __entry->is_odd, !__entry->at, __entry->name, __entry->ext,
		__print_array(__entry->pair, 2, 4),
		__print_ns_to_secs(__entry->big), __print_ns_without_secs(__entry->big), __event_in_hardirq(),
		__event_in_softirq(), __event_in_irq())
);

TRACE_EVENT(kinds_dynamic,
	TP_PROTO(const char *text, const u16 *list, int n, const struct cpumask *mask, const struct sockaddr_in *peer,
		 const char *fmt, va_list *va),
	TP_ARGS(text, list, n, mask, peer, fmt, va),
	TP_STRUCT__entry(
		__string(	text,		text				)
		__string_len(	part,		text,	2			)
		__vstring(	made,		fmt,	va			)
		__dynamic_array(u16,		list,	n			)
		__bitmask(	bits,		70				)
		__cpumask(	cpus						)
		__sockaddr(	peer,		sizeof(struct sockaddr_in)	)
	),
	TP_fast_assign(
		__assign_str(text);
		__assign_str(part);
		__assign_vstr(made, fmt, va);
		memcpy(__get_dynamic_array(list), list, n * sizeof(u16));
		__assign_bitmask(bits, cpumask_bits(mask), 70);
		__assign_cpumask(cpus, cpumask_bits(mask));
		__assign_sockaddr(peer, peer, sizeof(*peer));
	),
	TP_printk("text=%s part=%s made=%s list=%s hex=%s str=%s bits=%s cpus=%s peer=%pISpc", __get_str(text),
		  __get_str(part), __get_str(made),
		__print_array(__get_dynamic_array(list), __get_dynamic_array_len(list) / sizeof(u16), sizeof(u16)),
		__print_hex(__get_dynamic_array(list), __get_dynamic_array_len(list)),
		__print_hex_str(__get_dynamic_array(list), __get_dynamic_array_len(list)),
		__get_bitmask(bits), __get_cpumask(cpus), __get_sockaddr(peer))
);

TRACE_EVENT(kinds_relative,
	TP_PROTO(const char *text, const u16 *list, int n, const struct cpumask *mask, const struct sockaddr_in *peer),
	TP_ARGS(text, list, n, mask, peer),
	TP_STRUCT__entry(
		__rel_string(	text,		text				)
		__field(	int,		n				)
		__rel_string_len(part,		text,	2			)
		__rel_dynamic_array(u16,	list,	n			)
		__rel_bitmask(	bits,		70				)
		__rel_cpumask(	cpus						)
		__rel_sockaddr(	peer,		sizeof(struct sockaddr_in)	)
	),
	TP_fast_assign(
		__assign_rel_str(text);
		__entry->n = n;
		__assign_rel_str(part);
		memcpy(__get_rel_dynamic_array(list), list, n * sizeof(u16));
		__assign_rel_bitmask(bits, cpumask_bits(mask), 70);
		__assign_rel_cpumask(cpus, cpumask_bits(mask));
		__assign_rel_sockaddr(peer, peer, sizeof(*peer));
	),
	TP_printk("text=%s n=%d part=%s list=%s bits=%s cpus=%s", __get_rel_str(text), __entry->n, __get_rel_str(part),
		__print_array(__get_rel_dynamic_array(list), __get_rel_dynamic_array_len(list) / sizeof(u16),
			      sizeof(u16)),
		__get_rel_bitmask(bits), __get_rel_cpumask(cpus))
);

TRACE_EVENT_FN(kinds_names,
	TP_PROTO(u64 state, u64 flags),
	TP_ARGS(state, flags),
	TP_STRUCT__entry(__field(u64, state) __field(u64, flags)),
	TP_fast_assign(__entry->state = state; __entry->flags = flags;),
	TP_printk("state=%s flags=%s", show_state(__entry->state),
		  __print_flags_u64(__entry->flags, "|", { 1, "a" }, { 2, "b" }, { 1ull << 40, "z" })),
	kinds_begin, kinds_end
);

TRACE_EVENT_CONDITION(kinds_condition,
	TP_PROTO(int n),
	TP_ARGS(n),
	TP_CONDITION(n > 1),
	TP_STRUCT__entry(__field(int, n)),
	TP_fast_assign(__entry->n = n;),
	TP_printk("n=%d", __entry->n)
);

TRACE_EVENT_FN_COND(kinds_both,
	TP_PROTO(int n),
	TP_ARGS(n),
	TP_CONDITION(n > 2),
	TP_STRUCT__entry(__field(int, n)),
	TP_fast_assign(__entry->n = n;),
	TP_printk("n=%d", __entry->n),
	kinds_begin, kinds_end
);

/* What older readers of `format` do not know. */
TRACE_EVENT(kinds_dump,
	TP_PROTO(const char *text, const struct sockaddr_in *peer, const u8 *mac),
	TP_ARGS(text, peer, mac),
	TP_STRUCT__entry(
		__string(	text,	text					)
		__rel_sockaddr(	peer,	sizeof(struct sockaddr_in)		)
		__array(	u8,	mac,	6				)
	),
	TP_fast_assign(
		__assign_str(text);
		__assign_rel_sockaddr(peer, peer, sizeof(*peer));
		memcpy(__entry->mac, mac, 6);
	),
	TP_printk("all=%s peer=%pISpc host=%pIS v4=%pI4 mac=%pM dump=%s", __print_dynamic_array(text, sizeof(char)),
		  __get_rel_sockaddr(peer), __get_rel_sockaddr(peer),
		__entry->mac, __entry->mac,
		__print_hex_dump("> ", 2, 16, 1, __get_str(text), __get_dynamic_array_len(text), true))
);
TRACE_EVENT_FLAGS(kinds_dump, 4)
TRACE_EVENT_PERF_PERM(kinds_dump, 0)

DECLARE_EVENT_CLASS(kinds_class,
	TP_PROTO(int n),
	TP_ARGS(n),
	TP_STRUCT__entry(__field(int, n)),
	TP_fast_assign(__entry->n = n;),
	TP_printk("n=%d", __entry->n)
);
DEFINE_EVENT(kinds_class, kinds_plain, TP_PROTO(int n), TP_ARGS(n));
DEFINE_EVENT_PRINT(kinds_class, kinds_print, TP_PROTO(int n), TP_ARGS(n),
		   TP_printk("print %s", show_state(__entry->n)));
DEFINE_EVENT_FN(kinds_class, kinds_fn, TP_PROTO(int n), TP_ARGS(n), kinds_begin, kinds_end);
DEFINE_EVENT_CONDITION(kinds_class, kinds_odd, TP_PROTO(int n), TP_ARGS(n), TP_CONDITION(n & 1));

#endif

#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE kinds
#include <trace/define_trace.h>
