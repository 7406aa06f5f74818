#!/bin/sh
# SPDX-License-Identifier: MIT
# counters.sh SOURCE CC... - counters of a program and durations of a function have rows in the graph of uft view
. "$(dirname "$0")/common.sh"
need python3
here=$(dirname "$0") source=$1
shift
[ "$(uname -m)" = x86_64 ] || skip "events of a program are recorded on x86_64 only"
"$@" -O1 -fpatchable-function-entry=16,14 -I"$source/include" -o prog "$here/counters.c"
run "$uft" record -q -p function_graph -e 'uft:marker_counter' -o rec.uft ./prog
expect_status 0

serve rec.uft
ask info
duration=$(field duration)
ask counters
counters() { python3 -c 'import json; print(*("%s %s %d" % (c["field"], c["track"], c["count"]) for c in sorted(json.load(open("answer"))["counters"], key=lambda c: c["track"])), sep="; ")'; }
expect_equal "what is counted" "$(counters)" "marker_counter.counter_value heap 2; marker_counter.counter_value queue 11"
values() { python3 -c 'import json; a = json.load(open("answer")); print(sum(a["count"]), min(v for v in a["low"] if v is not None), max(v for v in a["high"] if v is not None))'; }
ask plot from=0 to=$((duration + 1)) width=4096 field=marker_counter.counter_value track=queue
expect_equal "one of two counters of an event" "$(values)" "11 0 9"
ask plot from=0 to=$((duration + 1)) width=4096 field=marker_counter.counter_value
expect_equal "both" "$(values)" "13 0 1000"
ask plot from=0 to=$((duration + 1)) width=10 field=marker_counter.counter_value track=nothing
expect_equal "one that is not there" "$(grep -o '"count":\[[^]]*\]' answer)" '"count":[0,0,0,0,0,0,0,0,0,0]'

in_page counters.mjs
end_server
