/* SPDX-License-Identifier: MIT */
/* trace/define_trace.h - for event headers of the kernel, compiled into a program; see uft/define_trace.h */
#include <uft/define_trace.h>
