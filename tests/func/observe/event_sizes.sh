#!/bin/sh
# SPDX-License-Identifier: MIT
# event_sizes.sh SOURCE CC... - an event that is too large, by any field, is refused and counted; others are recorded, and the program runs on
. "$(dirname "$0")/../../lib/common.sh"
[ "$(uname -m)" = x86_64 ] || skip "events of programs are recorded on x86_64 only"
source=$1
shift
cat >sizes.h <<'end'
#undef TRACE_SYSTEM
#define TRACE_SYSTEM sizes
#if !defined(SIZES_H) || defined(TRACE_HEADER_MULTI_READ)
#define SIZES_H
#include <linux/tracepoint.h>
TRACE_EVENT(array, TP_PROTO(int n, const char *data), TP_ARGS(n, data), TP_STRUCT__entry(__field(int, n) __dynamic_array(char, data, n)),
	TP_fast_assign(__entry->n = n; memcpy(__get_dynamic_array(data), data, n);), TP_printk("n=%d", __entry->n));
TRACE_EVENT(relative, TP_PROTO(int n, const char *data), TP_ARGS(n, data), TP_STRUCT__entry(__field(int, n) __rel_dynamic_array(char, data, n)),
	TP_fast_assign(__entry->n = n; memcpy(__get_rel_dynamic_array(data), data, n);), TP_printk("n=%d", __entry->n));
TRACE_EVENT(text, TP_PROTO(const char *text), TP_ARGS(text), TP_STRUCT__entry(__string(text, text)), TP_fast_assign(__assign_str(text);),
	TP_printk("text=%.5s", __get_str(text)));
#endif
#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE sizes
#include <trace/define_trace.h>
end
cat >sizes.c <<'end'
#include <stdio.h>
#include <string.h>
#define CREATE_TRACE_POINTS
#include "sizes.h"

int main(void)
{
	/* behind n and the field's place there is room for 2032 bytes; 65536 and more do not fit into that place */
	static const int sizes[] = { 0, 2032, 2033, 4096, 65527, 65528, 65536, 70000, 1 << 20 };
	static char data[1 << 20];

	memset(data, 'x', sizeof(data) - 1);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		trace_array(sizes[i], data);
		trace_relative(sizes[i], data);
	}
	trace_text(data);
	trace_text("short");
	return puts("end") < 0;
}
end
"$@" -O2 -Wall -I"$source/include" -I"$source/include/uft/kernel" -I. -o sizes sizes.c 2>compiled || { cat compiled; fail "cannot build sizes"; exit 1; }

seen() { sed -n 's/^.*: \(array\|relative\|text\): [a-z]*=\([^ ]*\)$/\1=\2/p' | tr '\n' ' '; }
for how in "" --preload; do
	# shellcheck disable=SC2086
	run "$uft" record $how -e 'sizes:*' -o sizes.uft ./sizes
	expect_status 0
	expect_out "end"
	expect_equal "recorded $how" "$("$uft" report --no-pager sizes.uft | seen)" "array=0 relative=0 array=2032 relative=2032 text=short "
	expect_equal "counted $how" "$("$uft" stat sizes.uft | sed -n 's/^counter_event_too_large: //p')" 15
	expect_err "15 events were not recorded: their fields have more than 2040 bytes"
done
run "$uft" record -q -e sizes:array -f 'n > 100' -o sizes.uft ./sizes
expect_equal "with a filter" "$("$uft" report --no-pager sizes.uft | seen)" "array=2032 "
run "$uft" shell --no-mount sh -c '"$1" write set_event "sizes:*:mod:sizes"; "$1" write events/sizes/array/trigger hist:keys=n; ./sizes; "$1" show' sh "$uft"
expect_equal "in a live buffer" "$(seen <out)" "array=0 relative=0 array=2032 relative=2032 text=short "
