# SPDX-License-Identifier: MIT
# lib.sh - for the tests of attaching; after common.sh

# hold_up PROGRAM ARGS...: runs it, its input a pipe that stays open until let_go; $held is its number, output in ./held
hold_up() {
	rm -f gate
	mkfifo gate
	"$@" <gate >held 2>&1 &
	held=$!
	exec 9>gate
	until grep -q ready held 2>/dev/null || ! kill -0 $held 2>/dev/null; do sleep 0.05; done
}

# Its input ends; $status is its exit status.
let_go() {
	status=0
	exec 9>&-
	wait $held || status=$?
}

# attach_for SECONDS ARGS...: a recording that a SIGTERM ends after it has begun and so many seconds; its exit status.
attach_for() {
	attach_time=$1
	shift
	rm -f said
	"$uft" attach "$@" 2>said &
	attacher=$!
	sleep "$attach_time"
	kill -TERM $attacher 2>/dev/null
	wait $attacher
}
