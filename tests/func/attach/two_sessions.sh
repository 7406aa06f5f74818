#!/bin/sh
# SPDX-License-Identifier: MIT
# two_sessions.sh PREPARED PLAIN - two recorders attach to one process at the same moment: at most one gets it, and the process ends as without them.
# Each looks for the other's memory when its own is mapped; the look before that finds nothing yet.
prepared=$(realpath "$1")
plain=$(realpath "$2")
. "$(dirname "$0")/../../lib/common.sh"
. "$top/tests/func/attach/lib.sh"

# settled NAME: the recorder $attacher has calls, or gave up, as the other one does then, too, or does not
settled() {
	wait_until "has_calls 10 $1.uft work" $attacher
	ends $attacher || n=$((n + 1))
}

for program in "$prepared" "$plain"; do
	for round in 1 2 3 4; do
		hold_up "$program" plain
		rm -f one.uft two.uft
		"$uft" attach -q -o one.uft "$held" 2>one &
		one=$!
		"$uft" attach -q -o two.uft "$held" 2>two &
		two=$!
		n=0
		attacher=$one && settled one
		attacher=$two && settled two
		check
		[ $n -le 1 ] || { fail "round $round: both have the process"; cat one two; }
		check
		! grep -q 'multibyte\|not what was expected' one two || { fail "round $round: another one's code was met"; cat one two; }
		kill -TERM $one $two 2>/dev/null
		wait $one
		wait $two
		check
		! grep -q '/session' "/proc/$held/maps" || { fail "round $round: something remains"; grep /session "/proc/$held/maps"; cat one two; }
		let_go
		expect_equal "round $round: status" "$status" 0
		expect_equal "round $round: its last word" "$(tail -n 1 held)" done
	done
done
