#!/bin/sh
# SPDX-License-Identifier: MIT
#
# watched.sh WATCHED - a target in which no munmap() ends: its recorder ends in time and reports it, the process runs on, and its agent ends with it
watched=$(realpath "$1")
. "$(dirname "$0")/../../lib/common.sh"
need timeout
cp "$watched" watched		# this run's processes are told by it
watched=$tmp/watched
"$watched" end >said &
target=$!
ends_with_test $target
eventually grep -q ready said || skip "no userfaultfd here that tells of munmap()"
timeout -s KILL 100 "$uft" attach -o t.uft "$target" >out 2>err &
recorder=$!
ran="uft attach"
eventually grep -q watched said || skip "the program was not attached to"
check
! grep -qx 'watched 0' said || fail "nothing of the recorder's can be watched"
kill -INT $(cat /proc/$recorder/task/$recorder/children)
status=0
wait $recorder || status=$?
expect_status 0
expect_err "did not unmap them in time"
: >end
status=0
wait $target || status=$?
ran="the target"
expect_status 3
# Its agent waits in munmap() until the process ends, and no longer.
is_alone() {
	for process in /proc/[0-9]*; do
		[ "$(readlink "$process/exe" 2>/dev/null)" != "$watched" ] ||
			grep -q '^State:.[ZX]' "$process/status" 2>/dev/null || return 1
	done
}
check
eventually is_alone || { fail "an agent outlives its process and its recorder"; kill -KILL "${process#/proc/}"; }
