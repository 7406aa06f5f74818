#!/bin/sh
# SPDX-License-Identifier: MIT
# event_lines.sh SOURCE CC... - lines in the text of an event stay lines in report and trace, as in the kernel and in trace-cmd; escape bytes are
# masked
. "$(dirname "$0")/../../lib/common.sh"
[ "$(uname -m)" = x86_64 ] || skip "tracepoints are recorded on x86_64 only"
source=$1
shift
cat >said.h <<'end'
#undef TRACE_SYSTEM
#define TRACE_SYSTEM lines
#if !defined(SAID_H) || defined(TRACE_HEADER_MULTI_READ)
#define SAID_H
#include <linux/tracepoint.h>
TRACE_EVENT(said, TP_PROTO(const char *text), TP_ARGS(text), TP_STRUCT__entry(__string(text, text)), TP_fast_assign(__assign_str(text);),
	TP_printk("text=%s.", __get_str(text)));
#endif
#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE said
#include <trace/define_trace.h>
end
cat >said.c <<'end'
#define CREATE_TRACE_POINTS
#include "said.h"
int main(void) { trace_said("one\ntwo\033[31m\nthree"); return 0; }
end
"$@" -O1 -I"$source/include" -I"$source/include/uft/kernel" -I. -o said said.c 2>compiled || { cat compiled; fail "cannot build said"; }
want='said: text=one
two?[31m
three.'
run "$uft" record -q -e lines:said -o s.uft ./said
expect_status 0
expect_equal "report" "$("$uft" report --no-pager s.uft | sed -n 's/.*\(said: text=\)/\1/; /^said: /,$p')" "$want"
run "$uft" shell --no-mount sh -c '"$1" write set_event lines:said:mod:said; ./said; "$1" show' sh "$uft"
expect_equal "trace" "$(sed -n 's/.*\(said: text=\)/\1/; /^said: /,$p' out)" "$want"
run "$uft" export -o s.json s.uft
expect_equal "an export has one line of it" "$(grep -c '"one.u000atwo.u001b.31m.u000athree"' s.json)" 1
has trace-cmd || exit 0
run "$uft" export -o s.dat s.uft
expect_equal "trace-cmd" "$(trace-cmd report s.dat 2>/dev/null | sed -n 's/.*said: *text=/said: text=/; /^said: /,$p' | tr '\033' '?')" "$want"
