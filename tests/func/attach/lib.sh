# SPDX-License-Identifier: MIT
# lib.sh - for the tests of attaching; after common.sh

# hold_up PROGRAM ARGS...: runs it, its input a pipe that stays open until let_go; $held is its number, output in ./held
hold_up() {
	rm -f gate held		# what the last one said is not this one's
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

# has_calls N FILE FUNCTION...: each has more than N calls in FILE, as far as that is written.
has_calls() {
	calls_min=$1
	"$uft" report --profile "$2" >so_far 2>/dev/null
	shift 2
	for f; do
		[ "$(awk -v f="$f" '$NF == f { n = $1 } END { print n + 0 }' so_far)" -gt "$calls_min" ] || return 1
	done
}

# ends PID: it is a zombie, or gone.
ends() {
	! [ -e "/proc/$1/exe" ]
}

# wait_until FACT PID: FACT is a command; PID ends, or a minute is over, if it never comes to that.
wait_until() {
	so_tries=0
	until eval "$1" || ends "$2" || [ $so_tries -ge 1200 ]; do
		so_tries=$((so_tries + 1))
		sleep 0.05
	done
}

# has_armed: the recorder waits for what happens next (epoll_wait), which it does when nothing is left to be rewritten
has_armed() {
	read -r has_call _ <"/proc/$attacher/syscall" && [ "$has_call" = 232 ]
}

# attach_until FACT ARGS...: a recording that a SIGTERM ends once that is so; its exit status. What it says is in said.
attach_until() {
	attach_fact=$1
	shift
	rm -f said
	"$uft" attach "$@" 2>said &
	attacher=$!
	wait_until "$attach_fact" $attacher
	kill -TERM $attacher 2>/dev/null
	wait $attacher
}
