#!/bin/sh
# SPDX-License-Identifier: MIT
# long.sh BUILD [MINUTES [ROW...]] - does an hour (MINUTES: 60) in flight-recorder mode change what a call costs, or the memory of uft?
#
# ROWs, all of them where none is given: hour, threads, processes, functions. They run at once, each below a recorder of its own:
# one thread, 10,000 threads, 1,000 processes, and a million functions that are armed (bench/long.c). Ten times each: nanoseconds a
# call, and megabytes of the recorder and of what its session has in shared memory. Prints a table in markdown: the first, the
# fifth and the last.
set -eu
build=$(cd "$1" && pwd) minutes=${2:-60}
shift $(($# < 2 ? $# : 2))
rows=${*:-hour threads processes functions}
top=$(cd "$(dirname "$0")/.." && pwd)
uft=$build/uft
work=$(mktemp -d) run=$(mktemp -d /dev/shm/uft-long.XXXXXX)
trap 'rm -rf "$work" "$run"' EXIT
trap 'exit 1' INT TERM
cd "$work"
seconds=$((minutes * 60))

gcc -O2 -w -fpatchable-function-entry=5 "$top/bench/long.c" -pthread -o long

# watch NAME PID: a line in the middle of each tenth: KB of the recorder's own memory, KB of its session's files
watch() {
	sleep $((seconds / 20))
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		own=$(awk '/^RssAnon/ { print $2 }' "/proc/$2/status" 2>/dev/null) || break
		echo "${own:-0} $(du -sk "$run/$1" | cut -f1)"
		sleep $((seconds / 10))
	done >"$1.memory"
}

# start NAME COMMAND...
start() {
	name=$1
	shift
	mkdir -m 700 "$run/$name"
	XDG_RUNTIME_DIR=$run/$name "$uft" record -q --flight -p function -o "$name.uft" -- "$@" >"$name.out" 2>"$name.err" &
	recorder=$!
	watch "$name" $recorder &
	pids="$pids $recorder"
}

# A million functions as gcc makes them with that option; assembled, because compiling them takes an hour.
make_many() {
	awk 'BEGIN {
		print "\t.text"
		for (i = 0; i < 1000000; i++) {
			printf "\t.globl f%d\n\t.type f%d, @function\nf%d:\n\tnop\n\tnop\n\tnop\n\tnop\n\tnop\n\tret\n\t.size f%d, . - f%d\n", i, i, i, i, i
		}
		print "\t.section __patchable_function_entries, \"awo\", @progbits, .text"
		for (i = 0; i < 1000000; i++)
			printf "\t.quad f%d\n", i
		print "\t.section .note.GNU-stack, \"\", @progbits"
	}' >many.s
	as -o many.o many.s
	gcc -O2 -w -fpatchable-function-entry=5 "$top/bench/long.c" many.o -pthread -o long-many
	rm many.s many.o
}

pids=
for row in $rows; do
	case $row in
	hour) start hour ./long $seconds ;;
	threads) start threads ./long $seconds 10000 ;;
	processes) start processes ./long $seconds 1 1000 ;;
	functions) make_many && start functions ./long-many $seconds ;;
	*) echo "long.sh: no row is named $row" >&2 && exit 1 ;;
	esac
done
for p in $pids; do
	wait "$p" || echo "recorder $p ended with $?"
done
wait

# print_row NAME LABEL: lines 1, 5 and 10 of what it cost and took
print_row() {
	for k in 1 5 10; do
		sed -n "${k}p" "$1.out" | awk '{ printf "%s ", $2 }'
		sed -n "${k}p" "$1.memory" | awk '{ printf "%.0f %.0f ", $1 / 1024, $2 / 1024 }'
	done | awk -v l="$2" '{ printf "| %s | %s, %s, %s | %s, %s, %s | %s, %s, %s |\n", l, $1, $4, $7, $2, $5, $8, $3, $6, $9 }'
	sed 's/^/    /' "$1.err"
}

echo "| $minutes minutes of | ns a call: first tenth, middle, last | MB of the recorder | MB in shared memory |"
echo "|---|---|---|---|"
for row in $rows; do
	case $row in
	hour) print_row hour "one thread" ;;
	threads) print_row threads "10,000 threads" ;;
	processes) print_row processes "1,000 processes" ;;
	functions) print_row functions "1,000,000 functions, all armed" ;;
	esac
done
