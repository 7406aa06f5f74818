#!/bin/sh
# SPDX-License-Identifier: MIT
# reset_events.sh SOURCE CC... - uft reset and events: triggers that refer to each other, filters, synthetic events, tasks, the clock; instances
. "$(dirname "$0")/../../lib/common.sh"
. "$top/tests/lib/sample.sh"
build_sample "$@"
cat >lib <<'end'
E=events/uft_sample
w() { echo "$2" | "$U" write "$1" || echo "refused: $1"; }
r() { "$U" read "$1" | head -n 1; }
begin() {
	./prog 1 >/dev/null
	w trace_clock global; w buffer_size_kb 512; "$U" mkdir instances/a; "$U" mkdir instances/b; w synthetic_events 'lat int a'
	w $E/sample_one/trigger 'hist:keys=a:t=common_timestamp'
	w $E/sample_request/trigger 'hist:keys=id:l=common_timestamp-$t:onmatch(uft_sample.sample_one).lat(id) if id > 1'
	r $E/sample_request/trigger | cut -c 1-16
	w $E/sample_two/trigger 'traceoff:3 if a > 100'
	w $E/sample_two/trigger 'enable_event:uft_sample:sample_one'
	w $E/filter 'a == 3'; w set_event 'uft_sample:*'; w set_event_pid $$
	w instances/a/set_event uft_sample:sample_two; w instances/a/$E/sample_two/trigger traceoff
}
look() { for f in $E/sample_one/trigger $E/sample_request/trigger $E/sample_two/trigger $E/sample_two/filter set_event set_event_pid synthetic_events tracing_on buffer_size_kb; do r $f; done
	r trace_clock | cut -d ' ' -f 1; }
end
export U="$uft"
run "$uft" shell --no-mount sh -c '. ./lib; begin; "$U" reset; echo "status $?"; look; r instances/a/set_event; r instances/a/$E/sample_two/trigger
	"$U" reset -a; r instances/a/set_event; r instances/a/$E/sample_two/trigger; "$U" reset -B a -d; "$U" ls instances; "$U" reset -a -d -b 128; "$U" ls instances; r buffer_size_kb'
expect_equal "all of it" "$(cat out)" "hist:keys=id:val
status 0
# Available triggers:
# Available triggers:
# Available triggers:
none
1
512
[local]
uft_sample:sample_two
traceoff:unlimited
# Available triggers:
$(sed -n '13p' out)
128"
check
grep -q '^b' out || fail "instance b is not there, or a is"
run "$uft" reset -d
expect_status 2
run "$uft" reset -a -B x
expect_status 2
