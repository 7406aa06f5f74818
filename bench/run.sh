#!/bin/sh
# SPDX-License-Identifier: MIT
# run.sh BUILD [ROUNDS] - measures uft side by side with its peers and writes doc/performance/KIND.md, KIND the processor's
#
# Every figure is a ratio to the hardware's floor or to a peer of the same run; medians of ROUNDS (9) rounds, of thread
# CPU time wherever the question allows it, since other work on the machine does not count then. A figure of ours is
# printed only with the number of calls beside it: exactly those that the program made, and none lost; otherwise the row
# says so. The last column is the budget and whether this run met it. Nothing here decides a test. About five minutes.
set -eu
build=$(cd "${1:-build}" && pwd)
rounds=${2:-9}
calls="$rounds 1 20"	# for the cost of a call: one thread, warm buffers, 20 ms after each burst
top=$(cd "$(dirname "$0")/.." && pwd)
uft=$build/uft
work=$build/bench
mkdir -p "$work"
cd "$work"
page=$work/performance.md
: >"$page"

say() { printf '%s\n' "$*" | tee -a "$page"; }
# verdict VALUE OP BUDGET: "met" or "**missed**"; OP is <= or >=
verdict() { awk -v a="$1" -v op="$2" -v b="$3" 'BEGIN { print (op == "<=" ? a <= b : a >= b) ? "met" : "**missed**" }'; }
plus() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f", a + b }'; }

. "$top/bench/programs.sh"
. "$top/bench/unprepared.sh"
. "$top/bench/attach.sh"
. "$top/bench/tree.sh"
. "$top/bench/reports.sh"

row() {
	name=$1 label=$2 note=$3
	f=$(get floor leaf) fc=$(get floor chain) ff=$(get floor fib)
	l=$(get "$name" leaf) c=$(get "$name" chain) b=$(get "$name" fib)
	say "| $label | $l | $c | $b | $(ratio "$l" "$f") | $(ratio "$c" "$fc") | $(ratio "$b" "$ff") | $note |"
}

cost_table() {
	build_calls
	measure plain ./calls-plain $calls
	measure idle ./calls-patchable $calls
	measure ret ./calls-ret $calls
	measure floor ./calls-floor $calls
	exactly function function events ./calls-patchable
	exactly graph function_graph calls ./calls-patchable
	exactly graphpg function_graph calls ./calls-pg
	measure flight "$uft" record -q --flight -b 16384 -p function_graph -o flight.uft -- ./calls-patchable $calls
	measure profile "$uft" record -q -p profile -o profile.uft -- ./calls-patchable $calls
	if command -v uftrace >/dev/null; then
		rm -rf uftrace.data
		measure uftrace uftrace record --no-libcall -d uftrace.data ./calls-pg $calls
	fi
	# A neighbour may slow one row alone. A slow floor would flatter us: the faster of two counts, before ours and after.
	mv floor.out floor.before
	measure floor ./calls-floor $calls
	paste floor.before floor.out | awk '{ print $1, ($2 < $4 ? $2 : $4) }' >floor.min
	mv floor.min floor.out
	measure xray env XRAY_MODE=xray-fdr ./calls-xray $calls
	rm -f xray-log.* gmon.out
	say "## Cost of a call"
	say
	say "Nanoseconds of thread CPU time a call, the call itself included: leaf (throughput), chain (dependent chain of 12),"
	say "fib (recursion); then the ratio to the floor: exactly \`call; rdtsc; shl; or; ret\` (bench/floor.S), same program."
	say "Each warms its tracer's buffers by two million calls first and rests 20 ms after every hundred thousand: what is measured"
	say "is neither the first touch of memory nor a recorder that cannot keep up, for any of them. All calls are counted."
	say
	say "| tracer | leaf | chain | fib | leaf/floor | chain/floor | fib/floor | |"
	say "|---|---|---|---|---|---|---|---|"
	row plain "none" ""
	row idle "idle nop sites" ""
	row ret "ret-only \`__fentry__\`" ""
	row floor "floor" ""
	row function "**uft function**" "$(stat_of function.uft bytes_per_event) bytes an event$(recorded function function.uft events)"
	row graph "**uft function_graph**" "$(stat_of graph.uft bytes_per_call) bytes a call$(recorded graph graph.uft)"
	row graphpg "uft function_graph, -pg" "$(stat_of graphpg.uft bytes_per_call) bytes a call$(recorded graphpg graphpg.uft)"
	row flight "uft function_graph, flight recorder" "overwrites by design"
	row profile "uft profile" "no records"
	[ -f uftrace.out ] && row uftrace "uftrace record (-pg)" ""
	row xray "XRay FDR" ""
	say
	f=$(ratio "$(get function leaf)" "$(get floor leaf)") g=$(ratio "$(get graph leaf)" "$(get floor leaf)")
	say "Rings: function $(cat function.ring), graph $(cat graph.ring) (warm up to 16M: above, pages are touched first)."
	say
	say "- function event over the floor: $f (budget 1.3: $(verdict "$f" "<=" 1.3)); graph call: $g (budget 2.5: $(verdict "$g" "<=" 2.5))"
	q=$(get floor quiet)
	say "- the same in the fastest twentieth of bursts of 5,000 calls, which others on the core touch least (the floor waits for"
	say "  the clock and hardly feels them): floor $q ns, function event $(ratio "$(get function quiet)" "$q"), graph call $(ratio "$(get graph quiet)" "$q")"
	for e in bytes_per_event:function bytes_per_call:graph; do
		b=$(stat_of "${e#*:}.uft" "${e%%:*}")
		say "- ${e#*:}: $b bytes each, contexts included, in the rings and uncompressed on disk (budget 16.5: $(verdict "$b" "<=" 16.5))"
	done
	if [ -f uftrace.out ]; then
		u=$(ratio "$(get uftrace leaf)" "$(get graph leaf)")
		say "- uftrace over uft function_graph: leaf $u, chain $(ratio "$(get uftrace chain)" "$(get graph chain)"), fib $(ratio "$(get uftrace fib)" "$(get graph fib)") (budget 3: $(verdict "$u" ">=" 3))"
	fi
	x=$(ratio "$(get xray leaf)" "$(get graph leaf)")
	say "- XRay FDR over uft function_graph: leaf $x, chain $(ratio "$(get xray chain)" "$(get graph chain)"), fib $(ratio "$(get xray fib)" "$(get graph fib)") (budget 4: $(verdict "$x" ">=" 4))"
	say
}

# best_of THREADS COMMAND...: a call in the fastest of 25 recursions, of those that all threads made at the same time; 0: they never did.
best_of() {
	t=$1
	shift
	"$@" ./calls-patchable 25 "$t" | awk '$1 == "best" { print $2 }'
}

# CPU time of a call, one thread over two at once: what threads cost each other, whoever else uses the machine. The four of a round run one
# after the other, in turn in this order and in the other, and it is the rounds' ratios of which a median is taken: a slow hour
# of the machine is in all four.
scaling_table() {
	traced="$uft record -q --flight -b 16384 -p function_graph -o scale.uft --"
	for r in $(seq "$rounds"); do
		for k in $([ $((r % 2)) = 0 ] && echo "plain.1 plain.2 traced.1 traced.2" || echo "traced.2 traced.1 plain.2 plain.1"); do
			case $k in
			plain.*) best_of "${k#*.}" env >scale.$k ;;
			*) best_of "${k#*.}" $traced >scale.$k ;;
			esac
		done
		cat scale.plain.1 scale.plain.2 scale.traced.1 scale.traced.2 | xargs
	done | awk '$1 * $2 * $3 * $4 > 0 { print $1 / $2, $3 / $4, $3 / $4 / ($1 / $2) }' >scale.ratios
	n=$(wc -l <scale.ratios)
	mid=$(((n + 1) / 2)) low=$(((n + 3) / 4)) high=$(((3 * n + 3) / 4))
	for k in 1 2 3; do
		awk -v k=$k '{ printf "%.2f\n", $k }' scale.ratios | sort -n >scale.$k
	done
	say "## Two threads"
	say
	[ "$n" -gt 0 ] || { say "Two threads never ran at once: no figure."; say; return; }
	say "CPU time of a call (fib) in one thread over that in two that run at once (1: they do not disturb each other), fastest of 25"
	say "recursions each: untraced $(nth scale.1 $mid 1), graph in flight-recorder mode $(nth scale.2 $mid 1), medians of $n rounds; traced over untraced, by round:"
	say "$(nth scale.3 $mid 1) (quarters: $(nth scale.3 $low 1) to $(nth scale.3 $high 1); budget 0.95: $(verdict "$(nth scale.3 $mid 1)" ">=" 0.95))."
	say
}

real_programs() {
	"$top/tests/lib/fetch-sources.sh" -d "$build/sources" lua5.4 sqlite3 >/dev/null || { say "(no source packages here: Lua and SQLite left out)"; return; }
	lua=$build/sources/lua5.4/src sql=$build/sources/sqlite3/amalgamation
	for mode in plain patchable nops before; do
		case $mode in
		plain) flags= ;;
		patchable) flags=$prepared ;;
		nops) flags=-fpatchable-function-entry=5 ;;
		before) flags=$before ;;
		esac
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
	./timeit "$rounds" ./lua-plain trees.lua -- ./lua-patchable trees.lua -- ./lua-plain trees.lua -- ./lua-nops trees.lua -- ./lua-before trees.lua >lua.times
	./timeit "$rounds" ./sql-plain :memory: ".read inserts.sql" -- ./sql-patchable :memory: ".read inserts.sql" -- ./sql-plain :memory: ".read inserts.sql" -- ./sql-nops :memory: ".read inserts.sql" -- ./sql-before :memory: ".read inserts.sql" >sql.times
	say "## Idle sites on real programs"
	say
	say "User CPU time over the plain build's, not traced; alternating runs. *Idle* is built by gcc with what \`uft cflags\` prints:"
	say "\`-fpatchable-function-entry=5\` and a -B that makes each pad one nop while assembling. *Plain* again is the noise of this run,"
	say "*raw nops* the same without -B: gcc's five nops of one byte. *Before* has \`$before\`: 16 bytes"
	say "of nops before each entry, which no thread executes; what differs is where code lies."
	say
	say "| program | idle/plain | plain/plain | raw nops/plain | before/plain |"
	say "|---|---|---|---|---|"
	say "| Lua 5.4, trees and sort | $(sed -n '2s/.* //p' lua.times) | $(sed -n '3s/.* //p' lua.times) | $(sed -n '4s/.* //p' lua.times) | $(sed -n '5s/.* //p' lua.times) |"
	say "| SQLite, in-memory inserts | $(sed -n '2s/.* //p' sql.times) | $(sed -n '3s/.* //p' sql.times) | $(sed -n '4s/.* //p' sql.times) | $(sed -n '5s/.* //p' sql.times) |"
	say
	say "Budget 1.01, or what the plain build over itself differs from 1."
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
		"$uft" record -q --no-pack -b 512M -o $p.uft -- "$@" >traced.out 2>traced.err
		"$@" >plain.out 2>plain.err
		cmp -s traced.out plain.out || say "**$p: output differs under tracing**"
		./timeit -w 1 "$uft" record -q --no-pack -b 512M -o again.uft "$@" >one.traced
		say "| $p | $(stat_of $p.uft calls) | $(stat_of $p.uft bytes_per_call) | $(stat_of $p.uft lost) | $(ratio "$(sed 's/ .*//' one.traced)" "$(sed 's/ .*//' one.plain)") |"
	done
	say
}

start_table() {
	n=100000
	if [ ! -x gen ]; then
		sh "$top/bench/genfuncs.sh" $n gensrc
		(cd gensrc && ls ./*.c | xargs -P2 -n 20 gcc -O1 $prepared -c && gcc ./*.o -o ../gen)
	fi
	if [ ! -x gen-before ]; then
		sh "$top/bench/genfuncs.sh" $n beforesrc
		(cd beforesrc && ls ./*.c | xargs -P2 -n 20 gcc -O1 $before -c && gcc ./*.o -o ../gen-before)
	fi
	if [ ! -x one ]; then
		sh "$top/bench/genfuncs.sh" 1 onesrc
		# shellcheck disable=SC2086
		gcc -O1 $prepared onesrc/*.c -o one
	fi
	./startup "$rounds" ./gen -- "$uft" record -q -p function -o gen.uft ./gen -- \
		"$uft" record -q -p function_graph -o gen.uft ./gen -- ./one -- \
		"$uft" record -q -p function -o gen.uft ./one -- \
		"$uft" record -q -p function -o gen.uft ./gen-before >gen.times
	pages=$(size -A gen | awk '$1 == ".text" { print int(($2 + 4095) / 4096) }')
	./pagecopy gen "$pages" >pages.times
	budget=$(awk -v b="$(nth gen.times 1 1)" -v n=$n 'BEGIN { printf "%.1f", b + n * 60e-6 + 5 }')
	say "## Start of a program with $n functions, all armed"
	say
	say "Milliseconds from before the fork until the program has written: median, best of $rounds, and the median CPU time that"
	say "the session had used by then."
	say
	say "| | median | best | session CPU |"
	say "|---|---|---|---|"
	say "| bare | $(nth gen.times 1 1) | $(nth gen.times 1 2) | |"
	say "| function | $(nth gen.times 2 1) | $(nth gen.times 2 2) | $(nth gen.times 2 3) |"
	say "| function_graph | $(nth gen.times 3 1) | $(nth gen.times 3 2) | $(nth gen.times 3 3) |"
	say "| function, pads before the entries | $(nth gen.times 6 1) | $(nth gen.times 6 2) | $(nth gen.times 6 3) |"
	say "| a program of one function, bare | $(nth gen.times 4 1) | $(nth gen.times 4 2) | |"
	say "| the same, function | $(nth gen.times 5 1) | $(nth gen.times 5 2) | $(nth gen.times 5 3) |"
	say
	say "- budget: bare + 60 ns a site + 5 ms = $budget: function $(verdict "$(nth gen.times 2 1)" "<=" "$budget")," \
		"function_graph $(verdict "$(nth gen.times 3 1)" "<=" "$budget")"
	say "- of that, copying the $pages pages of its text: $(nth pages.times 1 1) ms by a fault each, $(nth pages.times 1 2) by one call"
	say
}

fork_table() {
	measure forks-bare ./forks 500
	measure forks-function "$uft" record -q -p function -o forks.uft ./forks 500
	measure forks-nochildren "$uft" record -q --no-children -p function -o forks-none.uft ./forks 500
	say "## Fork children"
	say
	say "Microseconds from before the fork until the child was waited for: median, best of 500, and children a second, one after the other."
	say
	say "| | bare | | | function, followed | | | not followed | | |"
	say "|---|---|---|---|---|---|---|---|---|---|"
	for how in fork event exec; do
		case $how in fork) what='ends at once' ;; event) what='calls a traced function' ;; exec) what='executes /bin/true' ;; esac
		line="| $what |"
		for run in bare function nochildren; do
			line="$line $(awk -v k=$how '$1 == k { print $2 " | " $3 " | " $4 }' forks-$run.out) |"
		done
		say "$line"
	done
	say
	say "- children that were not followed: $(stat_of forks.uft counter_no_slice)"
	say
}

# peak NAME CMD...: output discarded; $NAME.cpu is CPU seconds, $NAME.kb the largest resident set
peak() {
	name=$1
	shift
	python3 - "$name" "$@" <<-'END'
	import os, sys, resource, subprocess
	subprocess.run(sys.argv[2:], stdout=subprocess.DEVNULL, check=True)
	u = resource.getrusage(resource.RUSAGE_CHILDREN)
	open(sys.argv[1] + ".cpu", "w").write("%.3f" % (u.ru_utime + u.ru_stime))
	open(sys.argv[1] + ".kb", "w").write("%d" % u.ru_maxrss)
	END
}

# in_all ROW: of what bench/instructions.sh said
in_all() {
	sed -n "s/^$1: .*call, \([0-9]*\) without.*/\1/p" instructions
}

# instructions_row MACHINE: of the files handlers and instructions
instructions_row() {
	function=$(awk -v k="function.$1" '$1 == k { print $2 }' handlers)
	[ -n "$function" ] || return 0
	graph=$(awk -v k="graph.$1" '$1 == k { print $2 }' handlers)
	say "| $1 | $function | $(in_all "$1 function") | $(in_all "$1:plain function") | $graph | $(in_all "$1 function_graph") | $(in_all "$1:plain function_graph") |"
}

instructions_table() {
	say "## Instructions of an event"
	say
	say "Handlers: counted in their code. In all: by an emulator that logs them, a call more or less, less what the same call takes in a"
	say "program without a pad and without uft; so site, stub and thunks are in it. Plain: the same of unprepared code."
	say
	say "| machine | function: handler | in all | plain | graph call: handlers | in all | plain |"
	say "|---|---|---|---|---|---|---|"
	sh "$top/bench/instructions.sh" "$uft" >instructions
	sh "$top/bench/handlers.sh" "$build" >handlers
	for machine in x86_64 aarch64 riscv64; do
		instructions_row $machine
	done
	say
	say "Budget: 40 and 90."
	say
}

# An event of three integers; the rows' names are those of bench/micro/events.c.
events_table() {
	ninja -C "$build" tests/unit/ring/bench_events >/dev/null 2>&1 || :
	say "## An event of three integers"
	say
	say '```'
	sh "$top/bench/events.sh" "$uft" 2>&1 | tee -a "$page"
	say '```'
	say
	say "In ns; \`scale\`: how much more two threads fire than one. Goals: recorded at most 1.5 x a function event and a quarter of LTTng-UST's;"
	say "rejected at most 5 ns; counted by a histogram at most 30 ns more than recorded; two threads 1.9 x."
	say
	say "Instructions of a call on x86_64, by valgrind, less the loop (off: the nop alone):"
	say
	say '```'
	sh "$top/bench/events-instructions.sh" "$build" | tee -a "$page"
	say '```'
	say
}

# Programs of ours that measure one part: the build directory has them.
micro() {
	ninja -C "$build" tests/unit/ring/bench_micro tests/stress/patch/bench_patch tests/unit/stream/stream_bench \
		tests/unit/relocate/bench_relocate >/dev/null
	for m in "tests/unit/ring/bench_micro|The probe side alone, sites armed by hand" \
		"tests/stress/patch/bench_patch|Switching 100,000 sites, one batch (budget 20 ns with idle threads, 2 x the bare stores with 4 running)" \
		"tests/unit/stream/stream_bench|The recorder and the reader alone (budget 30 M events/s written)" \
		"tests/unit/relocate/bench_relocate|Planning to rewrite unprepared code (budget 1 us a function, libcrypto 100 ms)"; do
		say "## ${m#*|}"
		say
		say '```'
		"$build/${m%%|*}" 2>&1 | tee -a "$page"
		say '```'
		say
	done
}

kind=$(processor_kind)
say "# Performance: $kind"
say
say "Measured by \`make bench\` on $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) CPUs, Linux $(uname -r), $(gcc -dumpfullversion | sed 's/^/gcc /'), $(date +%Y-%m-%d)."
say "The machine is shared and noisy (load average when it began: $(cut -d' ' -f1-3 /proc/loadavg)): read ratios."
began=$(date +%s)
say
cost_table
unprepared_table
scaling_table
real_programs
start_table
fork_table
armed_library_table
attach_table
tree_table
shared_table
report_table
instructions_table
events_table
micro
say "Load average when it ended: $(cut -d" " -f1-3 /proc/loadavg). Took $(($(date +%s) - began)) s."
say
cp "$page" "$top/doc/performance/$kind.md"
