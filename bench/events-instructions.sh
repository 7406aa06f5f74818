#!/bin/sh
# SPDX-License-Identifier: MIT
#
# events-instructions.sh BUILD - instructions of an event of three integers, by valgrind: of the fast paths, less what the loop takes
#
# One line each, `event.HOW.x86_64 N` (bench/micro/events.c has the HOWs), for bench/baseline.txt. They are the same on any
# machine, loaded or not, but depend on the compiler: gcc 12. Nothing is said without valgrind, or where bench_events was not built.
set -eu
build=$(cd "$1" && pwd)
top=$(cd "$(dirname "$0")/.." && pwd)
program=$build/tests/unit/ring/bench_events
[ -x "$program" ] && command -v valgrind >/dev/null || exit 0
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

# of_calls HOW COUNT: the instructions within fire*(); the first call, which is slow, is elsewhere
of_calls() {
	valgrind --tool=callgrind --toggle-collect=fire --toggle-collect=fire_dynamic --toggle-collect=fire_loop --toggle-collect=fire_function --callgrind-out-file=out \
		"$program" "$1" "$2" >log 2>&1 || { cat log >&2; exit 1; }
	sed -n 's/.*Collected : *\([0-9]*\).*/\1/p' log
}

# of_a_call HOW: what 1000 calls more take. All calls of a run have a slow one among them, which asks for the ring's memory.
of_a_call() {
	more=$(of_calls "$1" 2000)
	echo $(((more - $(of_calls "$1" 1000) + 500) / 1000))
}

loop=$(of_a_call loop)
for how in off on pass number three text dynamic tid task hist function; do
	echo "event.$how.x86_64 $(($(of_a_call $how) - loop))"
done
