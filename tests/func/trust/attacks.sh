#!/bin/sh
# SPDX-License-Identifier: MIT
#
# attacks.sh ATTACKS - a target that is hard to attach to, to record and to leave: its recorder neither crashes nor hangs, nor complains of
# memory errors (if it was built with sanitizers), and ends when it is told to while the target goes on
attacks=$(realpath "$1")
. "$(dirname "$0")/../../lib/common.sh"
need timeout
chmod 711 .
mkdir -m 777 uft
cp "$attacks" uft/session.1
chmod 777 uft/session.1
[ "$(id -u)" -ne 0 ] || chown 65534 uft/session.1

is_over() {
	! kill -0 "$1"
}

# It is attached to, or the recorder has given up.
is_attached() {
	grep -q '/session\.[^ ]*\.b$' "/proc/$pid/maps" || is_over "$recorder"
}

is_sent() {
	[ "$(grep -c sent said)" -ge 10 ] || is_over "$recorder"
}

# withstand MODE
withstand() {
	"$attacks" "$1" "$tmp/uft/session.1" >said &
	pid=$!
	eventually grep -q ready said || { echo "SKIPPED: $1: it cannot be done here"; wait "$pid"; return; }
	timeout -s KILL 150 "$uft" attach -o t.uft "$pid" >out 2>err &
	recorder=$! ran="uft attach, $1"
	eventually is_attached
	for _ in $(seq 100); do
		[ "$1" = lingers ] && ! is_sent || break
		sleep 0.1
	done
	sleep 0.5
	kill -INT $(cat /proc/$recorder/task/$recorder/children 2>/dev/null) 2>/dev/null
	status=0
	wait "$recorder" || status=$?
	check
	case $status in
	137) fail "$1: the recorder hung"; show ;;
	134|135|139) fail "$1: the recorder crashed"; show ;;
	esac
	! grep -q 'Sanitizer\|runtime error' err || { fail "$1: a memory error"; show; }
	its=0
	is_over "$pid" 2>/dev/null || kill -KILL "$pid" 2>/dev/null
	wait "$pid" 2>/dev/null || its=$?
	[ "$its" -ne 7 ] || { fail "$1: the recorder waited for the target's lease"; show; }
}

for mode in forks clones vforks signals kills seizes stops lingers seals memory maps links lease stacks dispatches notifies; do
	withstand "$mode"
done
