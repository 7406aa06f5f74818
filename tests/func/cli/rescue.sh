#!/bin/sh
# SPDX-License-Identifier: MIT
# rescue.sh - the recorder is killed with SIGKILL: a moment later the file has every call that was in the rings
. "$(dirname "$0")/../../lib/common.sh"

cp "$top/tests/func/cli/rescue.c" .
build_traced rescue

await() {
	eventually "$@" || fail "not in two minutes: $*"
}

is_rescued() {
	"$uft" stat r.uft | grep -q '^rescued_bytes'
}

# They are written behind what names the program's functions.
has_counters() {
	[ "$(stat_value r.uft counter_patched)" -gt 0 ]
}

# begin N MODE OPTIONS...: the program makes its calls below a recorder, and waits.
begin() {
	rm -f ready go go.here go.fork r.uft r.uft.old
	n=$1
	mode=$2
	shift 2
	${pin:-} "$uft" record -q -o r.uft "$@" ./rescue "$n" ready go $mode 2>err &
	pid=$!
	[ -z "$mode" ] || { await test -e go.here; await has_counters; stop $pid; touch go.fork; }
	await test -e ready
}

# end WHAT: kill -9, and wait for the guard.
end() {
	kill -KILL $pid
	wait $pid 2>/dev/null
	await is_rescued
	touch go
	run "$uft" report r.uft
	expect_status 0
	expect_out "# rescued: the recorder was killed"
	expect_equal "$1: complete" "$(stat_value r.uft complete)" no
	expect_equal "$1: damaged" "$(stat_value r.uft damaged_bytes)" 0
	expect_equal "$1: lost" "$(stat_value r.uft lost)" 0
}

# In the order of time: how many of the calls do not follow the one before, and which is the last.
order() {
	"$uft" report r.uft | awk 'match($0, /step[0-4]/) { now = substr($0, RSTART + 4, 1); if (n++ && now != (last + 1) % 5) bad++;
		last = now } END { print bad + 0, last, n }'
}

# The recorder writes what is less than a sub-buffer only after 50 ms.
for tracer in function function_graph; do
	begin 100 "" -p $tracer
	end "the last of a recording, $tracer"
	expect_equal "calls, $tracer" "$(stat_value r.uft calls)" 500
done
begin 200000 "" -p function
end "a long one"
expect_equal "calls of a long one" "$(stat_value r.uft calls)" 1000000

# The recorder stands still before the calls, so all of them are rescued; also of a child that it never met. And a block of which
# only a part was written is written again.
begin 20000 child -p function
truncate -s -7 r.uft
end "a child"
expect_equal "calls of both" "$(stat_value r.uft calls)" 200000
expect_equal "their order" "$("$uft" report -F 'step*' r.uft | grep -c 'step[0-4] <-steps')" 200000
expect_equal "processes" "$(stat_value r.uft rescued_processes) $(stat_value r.uft rescued_unknown)" "2 0"

# Nothing was in the file but what the program is.
begin 100 "" -p function --flight
end "a short flight"
expect_equal "calls of a short flight" "$(stat_value r.uft calls)" 500
# All on one CPU, so that one ring has all of the newest.
pin=$(command -v taskset) && pin="taskset -c $(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')"
begin 100000 "" -p function --flight -b 64
end "a long flight"
set -- $(order)
check
[ "$3" -gt 1000 ] || fail "only $3 calls of a long flight were rescued"
expect_equal "the newest of a long flight" "$2" 4
[ -z "$pin" ] || expect_equal "calls that are missing among them" "$1" 0
pin=
begin 1000 "" -p profile
end "a profile"
expect_equal "calls in a profile" "$(stat_value r.uft calls)" 5000

# The session could tell the program nothing, because the agent had been killed.
begin 100 "" -p function --flight
stop $pid
child=$(cat /proc/$pid/task/$pid/children)
arena=$(sed -n 's/.* \([^ ]*session[^ ]*\).*/\1/p' /proc/${child% }/maps | sed 1q)
agents() {
	for p in $(grep -slx uft-agent /proc/[0-9]*/comm); do
		p=${p%/comm}
		grep -sqF " $arena" "$p/maps" && echo ${p#/proc/}
	done
}
expect_equal "it has an agent" "$(agents | wc -l)" 1
kill -KILL $(agents)
end "without an agent"
expect_equal "calls without an agent" "$(stat_value r.uft calls)" 500

# A target that is left while the flight goes on: its events are kept as well.
begin 100 "" -p function --flight
child=$(cat /proc/$pid/task/$pid/children)
run "$uft" detach ${child% }
expect_status 0
touch go
wait $pid
expect_equal "a flight that was left" "$(stat_value r.uft calls) $(stat_value r.uft lost)" "500 0"
