#!/bin/sh
# SPDX-License-Identifier: MIT
# silent.sh - connections that send nothing, or slowly, do not keep other users out of uft view, and end
. "$(dirname "$0")/common.sh"
need python3
here=$(cd "$(dirname "$0")" && pwd)

"$SYNTH" a.uft 1000 1
serve a.uft
port=${url#http://127.0.0.1:} port=${port%%/*}

# with MODE COMMAND...: the command while 200 connections are there
with() {
	mode=$1
	shift
	rm -f "$mode.end"
	mkfifo "$mode.end"
	: >"$mode.said"
	python3 "$here/silent.py" "$port" "$mode" <"$mode.end" >"$mode.said" 2>"$mode.err" &
	others=$!
	exec 9>"$mode.end"
	for _ in $(seq 600); do
		grep -q ready "$mode.said" && break
		kill -0 "$others" 2>/dev/null || break
		sleep 0.1
	done
	check
	grep -q ready "$mode.said" || fail "$mode: no connections: $(cat "$mode.err")"
	"$@"
	exec 9>&-
	wait "$others"
}

# Before the minute is over after which the server once took the next one.
ask_beside() {
	for _ in 1 2 3; do
		expect_equal "$mode: the owner's request" "$(curl -s -m 30 -o body -w '%{http_code}' "${url}api/info")" 200
	done
}
with silent ask_beside
with slow ask_beside
if [ "$(id -u)" = 0 ]; then
	with stranger ask_beside
else
	echo "connections of another user are left out: only root can make them"
fi

# All that are silent are ended, also those that need not give way.
wait_for_ends() {
	for _ in $(seq 600); do
		[ -z "$(ls -l "/proc/$server/fd" | grep socket: | sed 4q | sed -n 4p)" ] && break
		sleep 0.1
	done
}
with silent wait_for_ends
expect_equal "connections that were ended" "$(tail -n 1 silent.said)" "ended 200"
end_server
