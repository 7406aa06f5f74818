#!/bin/sh
# SPDX-License-Identifier: MIT
# rundir.sh - a session that is ended leaves no socket; a stranger who has the name of a user's run directory stops nobody
. "$(dirname "$0")/../../lib/common.sh"

# ---- uft shell, ended ----
for signal in TERM HUP; do
	mkdir run-$signal
	XDG_RUNTIME_DIR=$tmp/run-$signal "$uft" shell --no-mount sleep 1000 &
	pid=$!
	check
	eventually test -S run-$signal/uft/$pid.sock || fail "no socket"
	inside=
	has_child() { inside=$(cat /proc/$pid/task/*/children 2>/dev/null) && [ -n "$inside" ]; }
	eventually has_child
	kill -$signal $pid
	status=0
	wait $pid || status=$?
	check
	[ $status -gt 128 ] || fail "it ended with $status"
	expect_no_file run-$signal/uft/$pid.sock
	for child in $inside; do kill "$child" 2>/dev/null; done
done

# ---- the names in /dev/shm and /tmp are another user's ----
[ "$(id -u)" -eq 0 ] && has "the names of a stranger" setpriv || exit 0
uid=$((2000000 + $$))
setpriv --reuid $uid --regid $uid --clear-groups true 2>/dev/null || { echo "SKIPPED: the names of a stranger: no other users here"; exit 0; }
mkdir /dev/shm/uft-$uid /tmp/uft-$uid
chmod 777 "$tmp"
as() { env -u XDG_RUNTIME_DIR -u UFT_SESSION HOME="$tmp" setpriv --reuid $uid --regid $uid --clear-groups "$@"; }
cp "$uft" uft
run as ./uft record -q -o "$tmp/x.uft" /bin/true
expect_status 0
expect_file x.uft
run as ./uft shell --no-mount -c './uft read current_tracer && ./uft list'
expect_status 0
expect_out nop
for dir in /dev/shm /tmp; do
	found=$(find $dir -maxdepth 1 -name "uft-$uid.*" -printf '%m %U\n')
	expect_equal "the folder in $dir" "$found" "700 $uid"
	rm -rf $dir/uft-$uid $dir/uft-$uid.??????
done
