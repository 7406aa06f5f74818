/* SPDX-License-Identifier: MIT */
/* lua_events.h - what lua_events.patch makes an interpreter tell: chunks that are loaded, errors, coroutines, the collector */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM lua

#if !defined(LUA_EVENTS_H) || defined(TRACE_HEADER_MULTI_READ)
#define LUA_EVENTS_H
#include <uft/trace_event.h>

TRACE_EVENT(lua_load,
	TP_PROTO(const char *chunk),
	TP_ARGS(chunk),
	TP_STRUCT__entry(__string(chunk, chunk)),
	TP_fast_assign(__assign_str(chunk);),
	TP_printk("chunk=%s", __get_str(chunk))
);

TRACE_EVENT(lua_throw,
	TP_PROTO(int status),
	TP_ARGS(status),
	TP_STRUCT__entry(__field(int, status)),
	TP_fast_assign(__entry->status = status;),
	TP_printk("status=%s", __print_symbolic(__entry->status, { 1, "yield" }, { 2, "run" }, { 3, "syntax" },
		  { 4, "memory" }, { 5, "handler" }))
);

TRACE_EVENT(lua_resume,
	TP_PROTO(const void *co, int args),
	TP_ARGS(co, args),
	TP_STRUCT__entry(__field(const void *, co) __field(int, args)),
	TP_fast_assign(__entry->co = co; __entry->args = args;),
	TP_printk("co=%p args=%d", __entry->co, __entry->args)
);

TRACE_EVENT(lua_yield,
	TP_PROTO(const void *co, int status, int results),
	TP_ARGS(co, status, results),
	TP_STRUCT__entry(__field(const void *, co) __field(int, status) __field(int, results)),
	TP_fast_assign(__entry->co = co; __entry->status = status; __entry->results = results;),
	TP_printk("co=%p status=%d results=%d", __entry->co, __entry->status, __entry->results)
);

TRACE_EVENT(lua_gc_step,
	TP_PROTO(int state, unsigned long bytes),
	TP_ARGS(state, bytes),
	TP_STRUCT__entry(__field(unsigned char, state) __field(unsigned long, bytes)),
	TP_fast_assign(__entry->state = (unsigned char)state; __entry->bytes = bytes;),
	TP_printk("state=%s bytes=%lu", __print_symbolic(__entry->state, { 0, "propagate" }, { 1, "enter atomic" },
		  { 2, "atomic" }, { 3, "sweep" }, { 4, "sweep finalized" }, { 5, "sweep to finalize" },
		  { 6, "sweep end" }, { 7, "finalize" }, { 8, "pause" }), __entry->bytes)
);
#endif

#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE lua_events
#include <uft/define_trace.h>
