#!/bin/sh
# SPDX-License-Identifier: MIT
# shell_ended.sh PRELOADED - a signal that ends uft shell leaves no socket behind, whenever it comes
. "$(dirname "$0")/../../lib/common.sh"
preloaded=$1

# left DIR: what is there of sockets
left() { find "$1" -name '*.sock*' | tr '\n' ' '; }

# ended NAME SIGNAL NUMBER ARGS...: while its program runs
ended() {
	dir=$tmp/$1 signal=$2 number=$3
	shift 3
	mkdir "$dir"
	XDG_RUNTIME_DIR=$dir "$uft" shell "$@" sh -c 'echo $$ >"$0"; exec sleep 1000' "$dir/program" &
	pid=$!
	check
	eventually test -s "$dir/program" || fail "$*: no program"
	check
	[ -S "$dir/uft/$pid.sock" ] || fail "$*: no socket"
	kill "-$signal" $pid
	status=0
	wait $pid || status=$?
	expect_equal "$* by $signal: the status" "$status" $((128 + number))
	expect_equal "$* by $signal: what is left" "$(left "$dir")" ""
	kill "$(cat "$dir/program")" 2>/dev/null
}
ended term TERM 15 --no-mount
ended hup HUP 1 --no-mount
if [ -c /dev/fuse ] && [ -w /dev/fuse ] && unshare -rm true 2>/dev/null; then
	ended term-mounted TERM 15
	ended hup-mounted HUP 1
else
	echo "SKIPPED: with its mounts: no FUSE, or no mount namespaces here"
fi

# In the moment in which the socket is there and nothing else yet.
for signal in 15 1; do
	mkdir "$tmp/young-$signal"
	status=0
	env XDG_RUNTIME_DIR="$tmp/young-$signal" LD_PRELOAD="$preloaded" END_BY=$signal "$uft" shell --no-mount true || status=$?
	expect_equal "by $signal at its begin: the status" "$status" $((128 + signal))
	expect_equal "by $signal at its begin: what is left" "$(left "$tmp/young-$signal")" ""
done

# One that cannot clean up leaves a name: the next command that meets it takes it away.
mkdir "$tmp/killed"
export XDG_RUNTIME_DIR="$tmp/killed"
"$uft" shell --no-mount sh -c 'echo $$ >"$0"; exec sleep 1000' "$tmp/killed/program" &
pid=$!
check
eventually test -s "$tmp/killed/program" || fail "no program"
kill -KILL $pid
wait $pid 2>/dev/null
run "$uft" read current_tracer
expect_status 1
expect_equal "what a killed one has left, after the next command" "$(left "$tmp/killed")" ""
kill "$(cat "$tmp/killed/program")" 2>/dev/null
exit 0
