#!/bin/sh
# SPDX-License-Identifier: MIT
# run.sh BUILD [ROUNDS] - measures uft side by side with its peers and writes doc/performance.md
#
# Every figure is a ratio to the hardware's floor or to a peer of the same run; medians of ROUNDS (9) rounds. A figure
# of ours is printed only if exactly the calls that the program made were recorded and none was lost; otherwise the
# row says so. Nothing here decides a test: these machines are noisy.
set -eu
build=$(cd "${1:-build}" && pwd)
rounds=${2:-9}
top=$(cd "$(dirname "$0")/.." && pwd)
uft=$build/uft
work=$build/bench
mkdir -p "$work"
cd "$work"
page=$work/performance.md
: >"$page"

say() { printf '%s\n' "$*" | tee -a "$page"; }
stat_of() { "$uft" stat "$1" | awk -F': ' -v k="$2" '$1 == k { print $2 }'; }
# ratio A B: A / B with two decimals
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { if (b > 0) printf "%.2f", a / b; else print "-" }'; }

build_calls() {
	src=$top/bench/calls.c
	gcc -O2 -w "$src" -pthread -o calls-plain
	gcc -O2 -w -fpatchable-function-entry=5 "$src" -pthread -o calls-patchable
	gcc -O2 -w -pg -mfentry "$src" "$top/bench/floor.S" -pthread -o calls-floor
	gcc -O2 -w -pg -mfentry "$src" "$top/bench/ret.S" -pthread -o calls-ret
	gcc -O2 -w -pg "$src" -pthread -o calls-pg
	clang -O2 -w -DXRAY -fxray-instrument "$src" -pthread -o calls-xray
	gcc -O2 -w "$top/bench/timeit.c" -o timeit
}

# measure NAME CMD...: runs it, keeps leaf/chain/fib in $NAME.out
measure() {
	name=$1
	shift
	"$@" >"$name.out" 2>"$name.err" || { echo "bench: $name failed" >&2; cat "$name.err" >&2; return 1; }
}
get() { awk -v k="$2" '$1 == k { print $2 }' "$1.out"; }

# recorded NAME FILE EVENTS-A-CALL: empty if exact, else what is wrong
recorded() {
	made=$(get "$1" calls)
	lost=$(stat_of "$2" lost)
	seen=$(stat_of "$2" calls)
	[ "$seen" = "$made" ] && [ "$lost" = 0 ] || echo " (**recorded $seen of $made calls, lost $lost**)"
}

row() {
	name=$1 label=$2 note=$3
	f=$(get floor leaf) fc=$(get floor chain) ff=$(get floor fib)
	l=$(get "$name" leaf) c=$(get "$name" chain) b=$(get "$name" fib)
	say "| $label | $l | $c | $b | $(ratio "$l" "$f") | $(ratio "$c" "$fc") | $(ratio "$b" "$ff") | $note |"
}

cost_table() {
	build_calls
	measure plain ./calls-plain "$rounds"
	measure idle ./calls-patchable "$rounds"
	measure ret ./calls-ret "$rounds"
	measure floor ./calls-floor "$rounds"
	big=524288
	measure function "$uft" record -q -b $big -p function -o function.uft -- ./calls-patchable "$rounds"
	measure graph "$uft" record -q -b $big -p function_graph -o graph.uft -- ./calls-patchable "$rounds"
	measure graphpg "$uft" record -q -b $big -p function_graph -o graphpg.uft -- ./calls-pg "$rounds"
	measure flight "$uft" record -q --flight -b 16384 -p function_graph -o flight.uft -- ./calls-patchable "$rounds"
	measure profile "$uft" record -q -p profile -o profile.uft -- ./calls-patchable "$rounds"
	if command -v uftrace >/dev/null; then
		rm -rf uftrace.data
		measure uftrace uftrace record --no-libcall -d uftrace.data ./calls-pg "$rounds"
	fi
	measure xray env XRAY_MODE=xray-fdr ./calls-xray "$rounds"
	rm -f xray-log.* gmon.out
	say "## Cost of a call"
	say
	say "Nanoseconds of thread CPU time a call, the call itself included: leaf (throughput), chain (dependent chain of 12),"
	say "fib (recursion); then the ratio to the floor: exactly \`call; rdtsc; shl; or; ret\` (bench/floor.S), same program."
	say
	say "| tracer | leaf | chain | fib | leaf/floor | chain/floor | fib/floor | |"
	say "|---|---|---|---|---|---|---|---|"
	row plain "none" ""
	row idle "idle nop sites" ""
	row ret "ret-only \`__fentry__\`" ""
	row floor "floor" ""
	row function "**uft function**" "$(stat_of function.uft bytes_per_event) bytes an event$(recorded function function.uft)"
	row graph "**uft function_graph**" "$(stat_of graph.uft bytes_per_call) bytes a call$(recorded graph graph.uft)"
	row graphpg "uft function_graph, -pg" "$(recorded graphpg graphpg.uft)"
	row flight "uft function_graph, flight recorder" "overwrites by design"
	row profile "uft profile" "no records"
	[ -f uftrace.out ] && row uftrace "uftrace record (-pg)" ""
	row xray "XRay FDR" ""
	say
	if [ -f uftrace.out ]; then
		say "uft function_graph against uftrace: leaf $(ratio "$(get uftrace leaf)" "$(get graph leaf)") x cheaper, chain $(ratio "$(get uftrace chain)" "$(get graph chain)") x, fib $(ratio "$(get uftrace fib)" "$(get graph fib)") x; against XRay FDR: leaf $(ratio "$(get xray leaf)" "$(get graph leaf)") x, chain $(ratio "$(get xray chain)" "$(get graph chain)") x."
		say
	fi
}

scaling_table() {
	for t in 1 2; do
		for r in 1 2 3 4 5 6 7 8 9; do
			./calls-patchable 3 $t | awk '$1 == "wall_ns" { print $2 }'
		done | sort -n | sed -n 5p >plain.$t
		for r in 1 2 3 4 5 6 7 8 9; do
			"$uft" record -q --flight -b 16384 -p function_graph -o scale.uft -- ./calls-patchable 3 $t | awk '$1 == "wall_ns" { print $2 }'
		done | sort -n | sed -n 5p >traced.$t
	done
	say "## Two threads"
	say
	p=$(ratio "$(cat plain.1)" "$(cat plain.2)")
	q=$(ratio "$(cat traced.1)" "$(cat traced.2)")
	say "Wall time of one thread over wall time of two that each do the same work (1 is perfect): untraced $p, graph in"
	say "flight-recorder mode $q; traced/untraced $(ratio "$q" "$p")."
	say
}

real_programs() {
	"$top/tests/lib/fetch-sources.sh" -d "$build/sources" lua5.4 sqlite3 >/dev/null || { say "(no source packages here: Lua and SQLite left out)"; return; }
	lua=$build/sources/lua5.4/src sql=$build/sources/sqlite3/amalgamation
	for mode in plain patchable; do
		flags=
		[ $mode = patchable ] && flags=-fpatchable-function-entry=5
		[ -x lua-$mode ] || gcc -O2 -w $flags -DLUA_USE_POSIX -o lua-$mode $(ls "$lua"/*.c | grep -v '/luac\.c$') -lm
		[ -x sql-$mode ] || gcc -O2 -w $flags -DSQLITE_THREADSAFE=0 -DSQLITE_OMIT_LOAD_EXTENSION -I"$sql" -o sql-$mode "$sql/shell.c" "$sql/sqlite3.c" -lm
	done
	cat >trees.lua <<-'END'
	local function tree(d) if d == 0 then return {} end return { tree(d - 1), tree(d - 1) } end
	local function count(t) if not t[1] then return 1 end return 1 + count(t[1]) + count(t[2]) end
	local s = 0
	for i = 1, 6 do s = s + count(tree(14)) end
	local t = {}
	for i = 1, 200000 do t[#t + 1] = (i * 7919) % 100003 end
	table.sort(t)
	print(s, t[1], t[#t])
	END
	cat >inserts.sql <<-'END'
	CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT, c REAL);
	WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000) INSERT INTO t SELECT i, 'row ' || i, i * 0.5 FROM n;
	SELECT count(*), sum(length(b)), max(c) FROM t WHERE b LIKE '%9%';
	END
	./timeit "$rounds" ./lua-plain trees.lua -- ./lua-patchable trees.lua -- ./lua-plain trees.lua >lua.times
	./timeit "$rounds" ./sql-plain :memory: ".read inserts.sql" -- ./sql-patchable :memory: ".read inserts.sql" -- ./sql-plain :memory: ".read inserts.sql" >sql.times
	say "## Idle sites on real programs"
	say
	say "User CPU time, built with \`-fpatchable-function-entry=5\`, not traced, over the plain build; alternating runs. The second"
	say "figure is the plain build over itself: the noise of this run."
	say
	say "| program | idle/plain | plain/plain |"
	say "|---|---|---|"
	say "| Lua 5.4, trees and sort | $(sed -n '2s/.* //p' lua.times) | $(sed -n '3s/.* //p' lua.times) |"
	say "| SQLite, in-memory inserts | $(sed -n '2s/.* //p' sql.times) | $(sed -n '3s/.* //p' sql.times) |"
	say
	say "## Real programs under the graph tracer"
	say
	say "| program | calls | bytes a call in the rings | lost | wall time over untraced |"
	say "|---|---|---|---|---|"
	for p in lua sql; do
		case $p in
		lua) set -- ./lua-patchable trees.lua ;;
		*) set -- ./sql-patchable :memory: ".read inserts.sql" ;;
		esac
		./timeit -w 1 "$@" >one.plain
		"$uft" record -q -b 524288 -o $p.uft -- "$@" >traced.out 2>traced.err
		"$@" >plain.out 2>plain.err
		cmp -s traced.out plain.out || say "**$p: output differs under tracing**"
		./timeit -w 1 "$uft" record -q -b 524288 -o again.uft -- "$@" >one.traced
		say "| $p | $(stat_of $p.uft calls) | $(stat_of $p.uft bytes_per_call) | $(stat_of $p.uft lost) | $(ratio "$(sed 's/ .*//' one.traced)" "$(sed 's/ .*//' one.plain)") |"
	done
	say
}

start_table() {
	n=100000
	if [ ! -x gen ]; then
		sh "$top/bench/genfuncs.sh" $n gensrc
		(cd gensrc && ls ./*.c | xargs -P2 -n 20 gcc -O1 -fpatchable-function-entry=5 -c && gcc ./*.o -o ../gen)
	fi
	./timeit -w "$rounds" ./gen -- "$uft" record -q -p function -o gen.uft -- ./gen -- "$uft" record -q -p function -l f7 -o gen.uft -- ./gen >gen.times
	say "## Start of a program with $n functions"
	say
	bare=$(sed -n '1s/ .*//p' gen.times) all=$(sed -n '2s/ .*//p' gen.times) one=$(sed -n '3s/ .*//p' gen.times)
	say "Bare $(awk -v t="$bare" 'BEGIN{printf "%.1f", t*1e3}') ms; \`uft record\` from start to end with one function selected $(awk -v t="$one" 'BEGIN{printf "%.1f", t*1e3}') ms, with all armed"
	say "$(awk -v t="$all" 'BEGIN{printf "%.1f", t*1e3}') ms: $(awk -v a="$all" -v o="$one" -v n=$n 'BEGIN{printf "%.0f", (a-o)*1e9/n}') ns a site more (saving the recording and its symbols included)."
	say
}

report_table() {
	"$uft" record -q -b 524288 -o big.uft -- ./calls-patchable 20 >/dev/null
	calls=$(stat_of big.uft calls)
	./timeit -w 3 "$uft" report --profile big.uft -- "$uft" report big.uft >report.times
	say "## Reading $calls graph calls"
	say
	say "\`report --profile\` $(awk -v t="$(sed -n '1s/ .*//p' report.times)" -v c="$calls" 'BEGIN{printf "%.1f", c/t/1e6}') M calls/s; text report $(awk -v t="$(sed -n '2s/ .*//p' report.times)" -v l="$("$uft" report big.uft | wc -l)" 'BEGIN{printf "%.1f", l/t/1e6}') M lines/s to /dev/null, one core."
	say
}

say "# Performance"
say
say "Measured by \`make bench\` on $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) CPUs, Linux $(uname -r), $(gcc -dumpfullversion | sed 's/^/gcc /'), $(date +%Y-%m-%d)."
say "The machine is shared and noisy: read ratios."
say
cost_table
scaling_table
real_programs
start_table
report_table
for m in "$build"/bench/micro/*; do
	[ -f "$m" ] && [ -x "$m" ] || continue
	say "## $(basename "$m")"
	say
	say '```'
	"$m" 2>&1 | tee -a "$page"
	say '```'
	say
done
# Only what is measured by hand stays: everything after this line of the page is kept.
if grep -q '^<!-- measured by hand -->' "$top/doc/performance.md" 2>/dev/null; then
	sed -n '/^<!-- measured by hand -->/,$p' "$top/doc/performance.md" >>"$page"
fi
cp "$page" "$top/doc/performance.md"
