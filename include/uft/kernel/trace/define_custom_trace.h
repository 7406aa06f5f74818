/* SPDX-License-Identifier: MIT */
/* trace/define_custom_trace.h - for custom events of a kernel module, compiled into a program */
#include <uft/define_custom_trace.h>
