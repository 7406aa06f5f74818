#!/bin/sh
# SPDX-License-Identifier: MIT
#
# hidden.sh HIDDEN - a process of another user with a capability of its own, in a mount namespace whose /proc hides it from its agent
program=$(realpath "$1")
. "$(dirname "$0")/../../lib/common.sh"
. "$(dirname "$0")/../attach/lib.sh"
[ "$(id -u)" -eq 0 ] || skip "only root can be another user"
need unshare mount
unshare -m mount -t proc -o hidepid=2 proc /proc 2>/dev/null || skip "no /proc with hidepid can be mounted here"
chmod 755 "$tmp"
cp "$program" hidden		# this run's processes are told by it
hidden=$tmp/hidden

found=

# begin HIDEPID CAPS: $target runs
begin() {
	rm -f t.uft
	hold_up unshare -m sh -c "mount -t proc -o hidepid=$1 proc /proc && exec \"$hidden\" $2"
	target=$held
	grep -q ready held || skip "no such process can be made here: $(cat held)"
}
# agents: the processes that work for it
agents() {
	found=
	for process in /proc/[0-9]*; do
		[ "$(readlink "$process/exe" 2>/dev/null)" = "$hidden" ] && [ "${process#/proc/}" -ne "$target" ] || continue
		found="$found ${process#/proc/}"
	done
}
has_none() { agents && [ -z "$found" ]; }
has_one() { agents && [ -n "$found" ]; }
# What all processes that work for it may do.
rights() {
	agents
	for process in $found; do sed -n 's/^CapPrm:[[:space:]]*//p' "/proc/$process/status"; done
}
has_none_left() { [ "$(rights)" = 0000000000000000 ]; }
begin_recording() {
	"$uft" attach -p function -l work -b 1M -o t.uft "$target" >out 2>err 9>&- &
	recorder=$!
	ends_with_test $recorder
	ran="uft attach, $1"
	status=0
}
# The process went on unharmed, and nobody works for it any more.
end() {
	kill -TERM $recorder 2>/dev/null
	wait $recorder || status=$?
	expect_status 0
	let_go
	ran="the target, $1"
	expect_status 0
	expect_equal "$1: what the target says" "$(cat held | tr '\n' ' ')" "ready dropped ok "
	check
	eventually has_none || fail "$1: these work for a process that has ended:$found"
}
drop() {
	printf d >&9
	eventually grep -q dropped held
}

# It cannot see what the process has given up: it ends, and first puts the code back.
begin 2 one
begin_recording "hidden, with a capability"
is_left() { grep -q 'the agent of process .* ended, .*: it put the code back' err && has_none; }
check
eventually is_left || { fail "an agent with a capability goes on, but it cannot see its process:$found"; show; }
drop
end "hidden, with a capability"
expect_equal "functions that stay armed" "$("$uft" stat t.uft | sed -n 's/^counter_site_live: //p')" 0

# It has nothing that the process could give up.
begin 2 none
begin_recording "hidden, without rights"
check
eventually has_calls 100 t.uft work || { fail "no calls of a process without rights"; show; }
check
has_one || fail "its agent has ended"
drop
end "hidden, without rights"

# It sees the process, and gives up what that one does.
begin 0 one
begin_recording "to be seen"
check
eventually has_calls 100 t.uft work || { fail "no calls of a process that can be seen"; show; }
expect_equal "what the agent may" "$(rights)" 0000000000000400
drop
check
eventually has_none_left || fail "the agent may still $(rights)"
check
has_one || fail "its agent has ended"
end "to be seen"
