#!/bin/sh
# SPDX-License-Identifier: MIT
# reader_memory.sh - a reader needs no more memory for a long recording than for a short one
. "$(dirname "$0")/../../lib/common.sh"
need python3

cp "$top/tests/func/cli/prog.c" .
build_traced prog

# peak COMMAND...: its greatest resident size in KB, in $peak.
peak() {
	rm -rf x.*
	peak=$(python3 -c 'import resource, subprocess, sys
status = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss if status == 0 else "failed")' "$@")
}

for tracer in function function_graph; do
	for n in 20000 2000000; do
		run "$uft" record -q --no-pack -b 128M -p $tracer -o $n.uft ./prog calls $n
		expect_equal "calls, lost" "$(stat_value $n.uft calls) $(stat_value $n.uft lost)" "$((2 * n + 2)) 0"
	done
	check
	[ "$(stat_value 2000000.uft bytes)" -gt 30000000 ] || fail "the long one is too short to show anything"
	set -- "report --no-pager" "report --profile" "report --no-pager -F work" "export -o x.dat" "export -f trace.dat-v6 -o x.dat" stat
	if [ $tracer = function_graph ]; then
		set -- "$@" "report --tree" "report --tree --json" "report --flat --by task" "report --callers work" "report --histogram work" "report --timeline"
		for format in trace.dat-v7 folded svg pprof perfetto ctf otlp parquet parquet-events chrome speedscope firefox sqlite; do
			set -- "$@" "export -f $format -o x.$format"
		done
	fi
	for how; do
		# shellcheck disable=SC2086
		peak "$uft" $how 20000.uft
		most=$((peak + 10240))
		# A call that may still end as a leaf holds the text behind it back: GRAPH_HOLD, if its thread changed CPUs meanwhile.
		case $tracer,$how in function_graph,report*pager*) most=$((most + 32768)) ;; *sqlite*) most=$((most + 32768)) ;; esac	# and a database has a cache of 32 MB
		# shellcheck disable=SC2086
		peak "$uft" $how 2000000.uft
		check
		[ "$peak" -lt $most ] || fail "$tracer, $how: $peak KB of $most, which is what a hundredth of it needs and a margin"
	done
done

# Events of a program: their payloads are copied.
include="-I$top/include -I$top/include/uft/kernel -I$top/tests/func/observe/tracepoints"
if [ "$(uname -m)" = x86_64 ]; then
	# shellcheck disable=SC2086
	cc -O1 $include -o fires "$top/tests/func/observe/tracepoints/program.c" || fail "build of program.c"
	for n in 10000 1000000; do
		run "$uft" record -q --no-pack -b 128M -p nop -e uft_sample:sample_one -o $n.uft ./fires $n
		expect_equal "events, lost" "$(stat_value $n.uft events) $(stat_value $n.uft lost)" "$n 0"
	done
	for how in "report --no-pager" "export -o x.dat" "hist -e uft_sample:sample_one -k common_pid" stat; do
		# shellcheck disable=SC2086
		peak "$uft" $how 10000.uft
		most=$((peak + 4096))
		# shellcheck disable=SC2086
		peak "$uft" $how 1000000.uft
		check
		[ "$peak" -lt $most ] || fail "events, $how: $peak KB of $most, which is what a hundredth of it needs and a margin"
	done
fi
