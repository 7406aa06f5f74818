#!/bin/sh
# SPDX-License-Identifier: MIT
#
# quick.sh BUILD [--keep] - the figures that decide, in under two minutes, beside those that bench/baseline.txt keeps
#
# Two sorts: instructions, bytes and such, the same on any machine; and ratios of two times of the same run, kept by kind of
# processor. Prints each with what was kept, and what moved: instructions at all, bytes by a hundredth, a ratio by a sixth. --keep writes
# them into the baseline; a person does that, and says why in the commit. Ends with 1 if something got worse. No test
# runs this but the handlers' instructions: tests/check/handlers.sh.
set -eu
build=$(cd "${1:-build}" && pwd)
top=$(cd "$(dirname "$0")/.." && pwd)
uft=$build/uft
rounds=5
calls="$rounds 1 20"
mkdir -p "$build/bench-quick"
cd "$build/bench-quick"
. "$top/bench/programs.sh"
began=$(date +%s)
kind=$(processor_kind)
: >found

# found KIND NAME VALUE BETTER: less or more
found() { printf '%s %s %s %s\n' "$@" >>found; }
# ratio3 A B
ratio3() { awk -v a="$1" -v b="$2" 'BEGIN { if (b > 0) printf "%.3f", a / b; else print "-" }'; }
# least NAME CMD...: the fastest of each figure of three runs
least() {
	run=$1
	shift
	for k in 1 2 3; do
		measure "$run" "$@"
		cp "$run.out" "$run.$k"
	done
	awk 'NR == FNR || !($1 in v) || $2 < v[$1] { v[$1] = $2 } END { for (k in v) print k, v[k] }' "$run.1" "$run.2" "$run.3" >"$run.out"
}

sh "$top/bench/handlers.sh" "$build" >handlers
sh "$top/bench/events-instructions.sh" "$build" >>handlers
while read -r name value; do found any "instructions.$name" "$value" less; done <handlers

build_calls
measure exact "$uft" record -q --no-pack -b 64M -p function -o function.uft -- ./calls-patchable 1
case $(recorded exact function.uft events) in *lost*) ;; *) found any bytes.function "$(stat_of function.uft bytes_per_event)" less ;; esac
measure exact "$uft" record -q --no-pack -b 64M -o graph.uft -- ./calls-patchable 1
case $(recorded exact graph.uft) in *lost*) ;; *) found any bytes.graph "$(stat_of graph.uft bytes_per_call)" less ;; esac

least floor ./calls-floor $calls
least plain ./calls-plain $calls
least function "$uft" record -q -b 16M -p function -o x.uft -- ./calls-patchable $calls
least graph "$uft" record -q -b 16M -o x.uft -- ./calls-patchable $calls
least graphpg "$uft" record -q -b 16M -o x.uft -- ./calls-pg $calls
least profile "$uft" record -q -p profile -o x.uft -- ./calls-patchable $calls
for k in leaf chain fib; do
	for t in function graph graphpg profile; do
		found "$kind" "$t/floor.$k" "$(ratio3 "$(get $t $k)" "$(get floor $k)")" less
	done
done
if command -v uftrace >/dev/null; then
	rm -rf uftrace.data
	measure uftrace uftrace record --no-libcall -d uftrace.data ./calls-pg $calls
	found "$kind" uftrace/graphpg.leaf "$(ratio3 "$(get uftrace leaf)" "$(get graphpg leaf)")" more
fi

[ -x one ] || { sh "$top/bench/genfuncs.sh" 1 onesrc && gcc -O1 $prepared onesrc/*.c -o one; }
./startup 15 ./one -- "$uft" record -q -p nop -o x.uft ./one -- "$uft" record -q -p function -o x.uft ./one >start.times
found "$kind" start.nop/bare "$(ratio3 "$(nth start.times 2 2)" "$(nth start.times 1 2)")" less
found "$kind" start.function/bare "$(ratio3 "$(nth start.times 3 2)" "$(nth start.times 1 2)")" less

measure forks-bare ./forks 200
measure forks-function "$uft" record -q -p function -o x.uft ./forks 200
for how in fork event exec; do
	found "$kind" "$how/bare" "$(ratio3 "$(awk -v k=$how '$1 == k { print $3 }' forks-function.out)" "$(awk -v k=$how '$1 == k { print $3 }' forks-bare.out)")" less
done

# Against the machine's own reading of the same file, so that a slow hour is in both.
measure big "$uft" record -q --no-pack -b 512M -o big.uft -- ./calls-patchable 20
./timeit 5 "$uft" report --flat --threads 1 big.uft -- "$uft" report --tree --threads 1 big.uft -- cksum big.uft >report.times
found "$kind" report.flat/cksum "$(ratio3 "$(nth report.times 1 1)" "$(nth report.times 3 1)")" less
found "$kind" report.tree/cksum "$(ratio3 "$(nth report.times 2 1)" "$(nth report.times 3 1)")" less
rm -f ./*.uft

grep -q "^$kind " "$top/bench/baseline.txt" || echo "bench/baseline.txt keeps no ratios of this kind of processor."
echo "$kind, load average $(cut -d' ' -f1-3 /proc/loadavg), $(($(date +%s) - began)) s"
status=0
awk -v kind="$kind" '
	/^#/ { next }
	NR == FNR { kept[$1 " " $2] = $3; next }
	{
		was = $1 " " $2 in kept ? kept[$1 " " $2] : "-"
		moved = ""
		if (was != "-" && $3 != "-" && was != $3) {
			by = $3 / was - 1
			limit = $2 ~ /^instructions/ ? 0 : $2 ~ /^bytes/ ? 0.01 : 1 / 6
			if (by > limit || -by > limit) {
				good = (by < 0) == ($4 == "less")
				moved = sprintf("  %+.1f %%, %s", by * 100, good ? "better" : "WORSE")
				worse += !good
			}
		}
		printf "%-26s %9s  kept %9s%s\n", $2, $3, was, moved
	}
	END { exit worse > 0 }' "$top/bench/baseline.txt" found || status=1
[ "${2:-}" = --keep ] || exit $status
awk -v kind="$kind" '
	NR == FNR { new[++n] = $1 " " $2 " " $3; now[$1 " " $2] = 1; next }
	/^#/ || !($1 " " $2 in now) { print }
	END { for (i = 1; i <= n; i++) print new[i] }' found "$top/bench/baseline.txt" >baseline.new
{ grep '^#' baseline.new; grep -v '^#' baseline.new | LC_ALL=C sort; } >"$top/bench/baseline.txt"
