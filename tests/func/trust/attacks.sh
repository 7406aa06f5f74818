#!/bin/sh
# SPDX-License-Identifier: MIT
#
# attacks.sh ATTACKS - a target that resists attach, recording and detach: its recorder neither crashes nor hangs, nor complains of memory errors (if
# it was built with sanitizers), and ends on request while the target runs on
attacks=$(realpath "$1")
. "$(dirname "$0")/../../lib/common.sh"
need timeout
chmod 711 .

is_over() {
	! kill -0 "$1"
}

is_ready() {
	grep -q ready said || is_over "$pid"
}

# MODE is attached to, or the recorder has given up. One with leases says it: we would wait for them.
is_attached() {
	case $1 in
	leased|leases) grep -q attached said ;;
	*) grep -q '/session\.[^ ]*\.b$' "/proc/$pid/maps" ;;
	esac || is_over "$recorder"
}

is_sent() {
	[ "$(grep -c sent said)" -ge 10 ] || is_over "$recorder"
}

# Notes in the file "waited" if process $1, the recorder, waits for a lease, for which the kernel gives it 45 s.
watch_leases() {
	while ! is_over "$1"; do
		! grep 'LEASE  *BREAKER' /proc/locks | grep -q " $1 " || : >waited
		sleep 0.1
	done 2>/dev/null
}

# withstand MODE: in a directory of its own
withstand() {
	mkdir -m 711 "$1"
	cd "$1" || exit 1
	mkdir -m 777 uft
	cp "$attacks" uft/session.1
	chmod 777 uft/session.1
	[ "$(id -u)" -ne 0 ] || chown 65534 uft/session.1
	"$attacks" "$1" "$PWD/uft/session.1" >said &
	pid=$!
	eventually is_ready
	grep -q ready said || { echo "SKIPPED: $1: it cannot be done here"; wait "$pid"; return; }
	timeout -s KILL 150 "$uft" attach -o t.uft "$pid" >out 2>err &
	recorder=$! ran="uft attach, $1" uft_pid=
	until [ "$uft_pid" ] || is_over "$recorder"; do
		read -r uft_pid _ <"/proc/$recorder/task/$recorder/children"
	done 2>/dev/null
	rm -f waited
	[ -z "$uft_pid" ] || watch_leases "$uft_pid" &
	watcher=$!
	eventually is_attached "$1"
	for _ in $(seq 100); do
		[ "$1" = lingers ] && ! is_sent || break
		sleep 0.1
	done
	sleep 0.5
	[ -z "$uft_pid" ] || kill -INT "$uft_pid" 2>/dev/null
	status=0
	wait "$recorder" || status=$?
	wait "$watcher"
	check
	case $status in
	137) fail "$1: the recorder hung"; show ;;
	134|135|139) fail "$1: the recorder crashed"; show ;;
	esac
	! grep -q 'Sanitizer\|runtime error' err || { fail "$1: a memory error"; show; }
	[ ! -e waited ] || { fail "$1: the recorder waited for the target's lease"; show; }
	its=0
	is_over "$pid" 2>/dev/null || kill -KILL "$pid" 2>/dev/null
	wait "$pid" 2>/dev/null || its=$?
	[ "$its" -ne 7 ] || { fail "$1: the recorder waited for the target's lease"; show; }
}

# withstand_each MODE...: one after the other; how many checks were made, and failed, goes to a file
withstand_each() {
	checks_done=0 checks_failed=0
	for mode; do
		withstand "$mode" >"$tmp/$mode.text" 2>&1
		cat "$tmp/$mode.text"
		cd "$tmp" || exit 1
	done
	echo "$checks_done $checks_failed" >"$tmp/result.$1"
}

# A mode waits most of its time, and what it looks at is its own recorder's: so four rows of them go on at once.
rows="forks.clones.vforks.signals kills.seizes.stops.lingers seals.memory.maps.links.lease leased.leases.stacks.dispatches.notifies"
pids=
for row in $rows; do
	# shellcheck disable=SC2046
	(withstand_each $(echo "$row" | tr . ' ')) &
	pids="$pids $!"
done
for pid in $pids; do
	wait "$pid" || { its=$?; fail "a row of modes ended with $its"; }
done
for row in $rows; do
	[ -s "result.${row%%.*}" ] || { fail "$row: there is no result"; continue; }
	read -r its_checks its_failed <"result.${row%%.*}"
	checks_done=$((checks_done + its_checks)) checks_failed=$((checks_failed + its_failed))
done
