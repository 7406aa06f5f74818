/* SPDX-License-Identifier: MIT */
/*
 * define_custom_trace.h - events of a program's own at tracepoints of events that exist already
 *
 * A header with TRACE_CUSTOM_EVENT(NAME, ...) includes this at its end; one file of the object defines
 * CREATE_CUSTOM_TRACE_EVENTS before it includes that header, behind the header that declares the event NAME. A probe
 * records the event custom:NAME, so UFT_TRACE_PROBES is defined in all files (uft/tracepoint_probes.h). While the event
 * is off each call of trace_NAME() calls that probe, which is a nop.
 */
#pragma GCC system_header	/* macros as the kernel's: no -pedantic */
#ifdef CREATE_CUSTOM_TRACE_EVENTS
#undef CREATE_CUSTOM_TRACE_EVENTS
#ifndef UFT_TRACE_PROBES
#error "TRACE_CUSTOM_EVENT() needs -DUFT_TRACE_PROBES in all files of the program or library"
#endif
#ifdef CREATE_TRACE_POINTS
#define __UFT_CREATES_TRACE_POINTS
#endif

#undef TRACE_SYSTEM
#define TRACE_SYSTEM custom
#define __UFT_CUSTOM
#define CREATE_TRACE_POINTS
#include <uft/define_trace.h>
#undef __UFT_CUSTOM
#ifndef __UFT_CREATES_TRACE_POINTS
#undef CREATE_TRACE_POINTS
#endif
#undef __UFT_CREATES_TRACE_POINTS
#define CREATE_CUSTOM_TRACE_EVENTS
#endif
