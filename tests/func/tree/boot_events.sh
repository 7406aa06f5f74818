#!/bin/sh
# SPDX-License-Identifier: MIT
# boot_events.sh SOURCE CC... - trace_event= and trace_trigger= of UFT_TRACE: events of the program, of later programs, of the kernel
. "$(dirname "$0")/../../lib/common.sh"
. "$top/tests/lib/sample.sh"
build_sample "$@"
source=$1
shift
S=uft_sample
boot() { line=$1; shift; run env UFT_TRACE="$line" "$uft" shell --no-mount "$@"; }
bodies() { sed -n 's/^.*: sample_one: a=\([0-9]*\)$/one=\1/p; s/^.*: sample_two: two=0x0*\([0-9a-f]\)$/two=\1/p' out | tr '\n' ' '; }
after='"$0" 4 >/dev/null; "$1" show'

# ---- Of programs that start later: an event is on as soon as one declares it
boot "trace_event=$S:sample_one,sched:sched_process_exec" sh -c "$after; \"\$1\" read set_event" "$tmp/prog" "$uft"
expect_status 0
expect_equal "on from the first record" "$(bodies)" "one=0 one=1 one=2 one=3 "
expect_out "sched_process_exec: "
expect_out "$S:sample_one"
boot "trace_event=$S:*,!$S:sample_two trace_event=$S:sample_two" sh -c "$after" "$tmp/prog" "$uft"
expect_equal "the last of a key counts" "$(bodies)" "two=0 two=1 two=2 two=3 "
boot "trace_trigger=sample_one.traceoff" sh -c "$after" "$tmp/prog" "$uft"
expect_status 1
expect_err "UFT_TRACE: trace_trigger=sample_one.traceoff: no event 'sample_one' is known yet"

# ---- Of the program that is started: it makes its events, then runs another one
cat >then.c <<'end'
#include <unistd.h>
void run(int n);
int main(int argc, char **argv) { (void)argc; run(4); execvp(argv[1], argv + 1); return 3; }
end
"$@" -O2 -DIS_LIBRARY -I"$source/include" -I"$source/include/uft/kernel" -I"$source/tests/func/observe/tracepoints" -o then then.c \
	"$source/tests/func/observe/tracepoints/program.c" 2>compiled || { cat compiled; fail "cannot build then"; }
boot "trace_event=$S:sample_one,$S:sample_two trace_trigger=\"sample_one.traceoff if a == 1,sample_two.traceon if two == 3\"" ./then "$uft" show
expect_status 1
expect_err "trace_trigger=sample_one.traceoff if a == 1,sample_two.traceon if two == 3: "
boot "trace_event=$S:sample_one,$S:sample_two trace_trigger=\"sample_one.traceoff if a == 1,sample_two.traceon if a == 3\"" ./then "$uft" show
expect_status 0
expect_equal "triggers with filters" "$(bodies)" "one=0 two=0 one=1 two=3 "
boot "trace_event=$S:sample_one \"trace_trigger=$S:sample_one.traceoff:1\"" ./then "$uft" read "events/$S/sample_one/trigger"
expect_out "traceoff:count=0"
boot "\"trace_trigger=sample_one.traceoff if b == 1\"" ./then true
expect_status 1
expect_err "trace_trigger=sample_one.traceoff if b == 1: "

# ---- Refused
boot "trace_event=sched:nosuch" true
expect_status 1
expect_err "UFT_TRACE: trace_event=sched:nosuch: "
boot "trace_event=" true
expect_status 1
expect_err "a value is missing"
boot "trace_trigger=sched_process_exec" true
expect_status 1
expect_err "'sched_process_exec' is not EVENT.TRIGGER"
boot "trace_trigger=sched_process_exec.nosuch" true
expect_status 1
