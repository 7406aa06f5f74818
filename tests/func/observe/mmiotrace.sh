#!/bin/sh
# SPDX-License-Identifier: MIT
# mmiotrace.sh PROGRAM - watched memory: each access, its thread and value; unknown accesses; refusals
. "$(dirname "$0")/watch_lib.sh"

# lines OP: of the report
lines() { grep "^$1 " out; }
# refuse TEXT WATCH...
refuse() {
	text=$1
	shift
	run "$uft" record -q -p mmiotrace "$@" -o none.uft "$T" other
	check
	[ "$status" -ne 0 ] || { fail "not refused: $*"; show; }
	expect_err "$text"
}

# ---- Each access of threads, of a child, and of the program that this becomes
run "$uft" record -q -p mmiotrace --watch watched -o count.uft "$T" count
expect_status 0
expect_no_err
read -r reads writes <out
run "$uft" report --no-pager count.uft
expect_equal "head" "$(head -n 3 out | tr '\n' ' ')" "# tracer: mmiotrace # VERSION 20070824 "
expect_equal "reads and writes" "$(lines R | grep -c .) $(lines W | grep -c .)" "$reads $writes"
expect_equal "of other forms" "$(lines '[RW]' | grep -vc '^[RW] 8 [0-9]*\.[0-9]\{6\} 1 0x[0-9a-f]* 0x[0-9a-f]* 0x[0-9a-f]* [0-9]*$')" 0
expect_equal "values read" "$(lines R | cut -d ' ' -f 6 | sort -u)" "0x31"
# values FROM N: of the writes of the thread whose first is FROM, in order
values() {
	tid=$(lines W | awk -v v="$(printf '0x%x' "$1")" '$6 == v { print $8; exit }')
	lines W | awk -v t="$tid" '$8 == t { print $6 }' | grep -A "$(($2 - 1))" "^$(printf '0x%x' "$1")\$" | head -n "$2"
}
for part in '0 50' '1000 100' '2000 100' '5000 20' '6000 10'; do
	set -- $part
	expect_equal "writes from $1 on" "$(values "$1" "$2" | tr '\n' ' ')" "$(seq "$1" $(($1 + $2 - 1)) | xargs printf '0x%x ')"
done
expect_equal "threads" "$(lines W | cut -d ' ' -f 8 | sort -u | wc -l)" 4
# The program, the child, and what the child becomes.
expect_equal "begins and ends" "$(grep -c '^MAP [0-9.]* 1 0x[0-9a-f]* 0x[0-9a-f]* 0x8 0x0 [0-9]*$' out) $(grep -c '^UNMAP [0-9.]* 1 0x0 [0-9]*$' out)" "3 3"
expect_equal "in order of time" "$(awk '/^[RW]/ { print $3 } /MAP/ { print $2 }' out | sort -nc 2>&1)" ""
run "$uft" stat count.uft
expect_out "lost: 0"

run "$uft" record -q -p mmiotrace --no-children --watch watched:w -o writes.uft "$T" count
run "$uft" report --no-pager writes.uft
expect_equal "writes only, and no children" "$(lines R | grep -c .) $(lines W | grep -c .)" "0 250"

# ---- Programs that one task executes one after another: each gets the registers of the one before, also if there are no others
run "$uft" record -q -p mmiotrace --watch watched --watch bytes --watch way -o chain.uft "$T" chain 5
expect_status 0
expect_no_err
run "$uft" report --no-pager chain.uft
expect_equal "of each program" "$(lines W | awk '$4 == 1 { print $6 }' | tr '\n' ' ')" "$(for i in 5 4 3 2 1 0; do printf '0x%x ' $((7000 + i)); done)"
expect_equal "of all four registers" "$(lines W | cut -d ' ' -f 4 | sort | uniq -c | tr -s ' \n' ' ')" " 6 1 12 2 6 3 "

# ---- Instructions: what, how wide, which value; two lines for a read and write; what cannot be known
run "$uft" record -q -p mmiotrace --watch watched --watch bytes --watch way -o kinds.uft "$T" kinds
run "$uft" report --no-pager kinds.uft
base=$(awk '/^MAP/ && $3 == 2 { print $4 }' out)
expect_equal "the place of an access" "$(lines W | awk '$4 == 2 && $2 == 8 { print $5 }')" "$(printf '0x%x' $((base + 4)))"
awk '/^[RW] / { print $1, $2, $4, $6 } /^UNKNOWN/ { print $1, $3, $5 }' out >seen
cat >expected <<'END'
W 1 2 0x1
W 8 1 0x1122334455667788
W 4 1 0x1234
W 1 1 0xab
W 2 1 0xbeef
R 1 1 0xab
R 1 1 0xab
R 8 1 0x11223344beef12ab
R 8 1 0x11223344beef12ab
W 8 1 ?
R 8 1 ?
W 8 1 ?
R 8 1 0x8
W 8 1 ?
R 8 1 ?
R 8 1 0xa
W 8 1 ?
R 16 1 ?
W 8 2 0x1122334455667788
UNKNOWN 1 ?
END
way=$(lines W | awk '$4 == 3 { print $6 }')
printf 'W 8 3 %s\nUNKNOWN 3 ?\n' "$way" >>expected
check
cmp -s seen expected || { fail "kinds of instructions"; diff expected seen; cat out; }
expect_equal "where the jump led" "$(awk '/^UNKNOWN/ && $3 == 3 { print $6 }' out)" "$way"

if has "trace.dat" trace-cmd; then
	run "$uft" export -o kinds.dat kinds.uft
	run trace-cmd report kinds.dat
	expect_equal "records of trace.dat" "$(grep -c 'mmiotrace_rw:' out) $(grep -c 'mmiotrace_map:' out)" "22 6"
	check
	grep -q 'mmiotrace_rw: .*1122334455667788' out || { fail "a value in trace.dat"; show; }
fi

# ---- A running program: an address, and a library's variable
mkfifo go
"$T" wait <go >where 2>told & pid=$!
exec 3>go
until [ -s where ]; do sleep 0.05; done
"$uft" record -q -p mmiotrace --watch "$(cat where),8:w" --watch error_message_count -o live.uft -P $pid 2>err & recorder=$!
# until_watched N: the recorder has its events: of each CPU a ring, one for news, one for each of N places.
events() { ls -l "/proc/$recorder/fd" 2>/dev/null | grep -c perf_event; }
until_watched() {
	for _ in $(seq 2000); do
		[ "$(events)" -lt $((($1 + 2) * $(getconf _NPROCESSORS_ONLN))) ] && kill -0 $recorder 2>/dev/null || return 0
		sleep 0.05
	done
	fail "the recorder has $(events) events, of $1 places"
}
until_watched 2
echo go >&3
exec 3>&-
wait $pid
wait $recorder
run "$uft" report --no-pager live.uft
expect_equal "by address" "$(lines W | awk '$4 == 1 { print $6 }' | tr '\n' ' ')" "0x15 0x16 "
expect_equal "a library's" "$(lines W | awk '$4 == 2' | wc -l)" 3
expect_equal "told" "$(wc -l <told)" 3

# ---- Left, it goes on and nothing of ours is in its registers: they are free
"$T" spin & pid=$!
until [ "$(readlink "/proc/$pid/exe")" = "$(readlink -f "$T")" ]; do sleep 0.05; done
rounds() { sed -n 's/^voluntary_ctxt_switches:.//p' "/proc/$pid/status"; }	# it sleeps after each
for i in 1 2; do
	"$uft" record -q -p mmiotrace --watch watched --watch bytes --watch way -o spin.uft -P $pid 2>err & recorder=$!
	until_watched 3
	n=$(rounds)
	until [ "$(rounds)" -gt $((n + 5)) ] || ! kill -0 $pid; do sleep 0.05; done
	kill -TERM $recorder
	wait $recorder
	"$uft" report --no-pager spin.uft >out
	check
	[ "$(lines W | grep -c .)" -gt 0 ] && [ ! -s err ] || { fail "attached, time $i"; cat err; }
	expect_equal "ends" "$(grep -c ^UNMAP out)" 3
done
check
kill -0 $pid || fail "the program that was left does not live"
kill $pid

# ---- Refused, or said
run "$uft" record -p mmiotrace "$T" other
expect_status 2
expect_err "mmiotrace needs memory to watch: --watch NAME"
run "$uft" record -p function --watch watched "$T" other
expect_status 2
expect_err "--watch is for the tracer mmiotrace, not for function"
for wrong in 12x watched, watched,0 ,8 0x1000,8x 0xffffffffffffffff,8; do
	refuse "cannot watch '$wrong'" --watch "$wrong"
done
refuse "too much memory to watch" --watch 0x1000,33
refuse "too much memory to watch" --watch a --watch b --watch c --watch d --watch e
run "$uft" record -q -p mmiotrace --watch large --watch watched -o large.uft "$T" other
expect_status 0
expect_err "large is not watched: it takes more than is left of the CPU's 4 debug registers"
run "$uft" report --no-pager large.uft
expect_equal "the other is" "$(lines W | grep -c .)" 10
for none in nothing own; do
	run "$uft" record -q -p mmiotrace --watch $none -o none.uft "$T" count
	expect_status 0
	expect_err "has no variable '$none'"
done
# Said also of programs that end before anything is looked at a second time, one that executes another among them.
for i in 1 2 3; do
	run "$uft" record -q -p mmiotrace --watch nothing -o none.uft sh -c 'exec true'
	expect_status 0
	expect_err "variable 'nothing'"
	expect_err_lines 1
done
