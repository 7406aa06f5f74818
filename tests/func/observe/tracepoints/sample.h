/* SPDX-License-Identifier: MIT */
/* sample.h - a header of events as kernels have them: nothing in it is for programs alone */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM uft_sample

#if !defined(SAMPLE_H) || defined(TRACE_HEADER_MULTI_READ)
#define SAMPLE_H

#include <linux/tracepoint.h>

#ifndef SAMPLE_ONCE
#define SAMPLE_ONCE
enum sample_state { SAMPLE_IDLE = 3, SAMPLE_BUSY };
struct sample_point { int x, y; };
#endif

TRACE_DEFINE_ENUM(SAMPLE_IDLE);
TRACE_DEFINE_ENUM(SAMPLE_BUSY);

TRACE_EVENT(sample_request,
	TP_PROTO(int id, const char *what, unsigned long len, const int *list, int n, enum sample_state state,
		 unsigned int flags),
	TP_ARGS(id, what, len, list, n, state, flags),
	TP_STRUCT__entry(
		__field(	int,		id			)
		__array(	char,		tag,	TASK_COMM_LEN	)
		__string(	what,		what			)
		__field(	unsigned long,	len			)
		__dynamic_array(int,		list,	n		)
		__field(	int,		state			)
		__field(	unsigned int,	flags			)
		__field(	u8,		small			)
	),
	TP_fast_assign(
		__entry->id = id;
		strcpy(__entry->tag, "tag");
		__assign_str(what, what);
		__entry->len = len;
		memcpy(__get_dynamic_array(list), list, n * sizeof(int));
		__entry->state = state;
		__entry->flags = flags;
		__entry->small = 255;
	),
	TP_printk("id=%d tag=%s what=%s len=%lu list=%s state=%s flags=%s small=%u", __entry->id, __entry->tag,
		  __get_str(what),
		__entry->len, __print_array(__get_dynamic_array(list), __get_dynamic_array_len(list) / sizeof(int),
					    sizeof(int)),
		__print_symbolic(__entry->state, { SAMPLE_IDLE, "idle" }, { SAMPLE_BUSY, "busy" }),
		__print_flags(__entry->flags, "|", { 1, "one" }, { 2, "two" }), __entry->small)
);

DECLARE_EVENT_CLASS(sample_number,
	TP_PROTO(int a),
	TP_ARGS(a),
	TP_STRUCT__entry(__field(int, a) __field_struct(struct sample_point, at)),
	TP_fast_assign(__entry->a = a; __entry->at = (struct sample_point){ a, -a };),
	TP_printk("a=%d", __entry->a)
);
DEFINE_EVENT(sample_number, sample_one, TP_PROTO(int a), TP_ARGS(a));
DEFINE_EVENT_PRINT(sample_number, sample_two, TP_PROTO(int a), TP_ARGS(a), TP_printk("two=0x%02x", __entry->a));
DEFINE_EVENT_CONDITION(sample_number, sample_odd, TP_PROTO(int a), TP_ARGS(a), TP_CONDITION(a & 1));

TRACE_EVENT(sample_text,
	TP_PROTO(const char *text),
	TP_ARGS(text),
	TP_STRUCT__entry(__string(text, text) __field(int, c)),
	TP_fast_assign(__assign_str(text); __entry->c = 1;),
	TP_printk("%s", __get_str(text))
);

#endif

#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE sample
#include <trace/define_trace.h>
