#!/bin/sh
# SPDX-License-Identifier: MIT
#
# counts.sh MACHINE CC EMULATOR - programs into which the loader brings the runtime: exact counts, in every build mode
#
# EMULATOR may be empty: this machine, with --preload. What a machine lacks is said and skipped.
. "$(dirname "$0")/../../lib/common.sh"
machine=$1 cc=$2 emulator=$3
# shellcheck disable=SC2086
need $cc ${emulator%% *}
src=$top/tests/func/emulated
# shellcheck disable=SC2086
need_libc $cc
if [ -n "$emulator" ]; then
	$emulator ./need_libc || skip "the emulator does not run a program"
	how="--emulator=$emulator"
else
	how=--preload
fi

# check_counts NAME: what the program says it did is what was recorded, function by function.
check_counts() {
	"$uft" report "$2" >report 2>&1 || fail "$1: report: $(cat report)"
	case $3 in
	function) grep -v '^#' report | sed 's/.*: \([a-z]*\) <-.*/\1/' ;;
	*) grep -v '^#' report | grep -E '\(\);|\(\) \{' | sed 's/.*| *\([a-z]*\)().*/\1/' ;;
	esac | sort | uniq -c | awk '{ print $2, $1 }' >seen
	sort said >want
	if cmp -s want seen; then pass; else
		fail "$1: counts differ: $(diff want seen | head -n 12 | tr '\n' ' ')"
	fi
}

# check_export NAME TRACER: the same counts by what reads the kernel's files, of a recording of another machine's program.
check_export() {
	command -v trace-cmd >/dev/null || { echo "SKIP: trace-cmd is not installed"; return; }
	"$uft" export -o rec.dat rec.uft >other 2>&1 || fail "$1: export: $(cat other)"
	trace-cmd report -i rec.dat >report 2>other || fail "$1: trace-cmd: $(cat other)"
	case $2 in
	function) sed -n 's/.* function: *\([a-z]*\).*/\1/p' report ;;
	*) sed -n 's/.*funcgraph_entry:[^|]*| *\([a-z]*\)().*/\1/p' report ;;
	esac | sort | uniq -c | awk '{ print $2, $1 }' >seen
	sort said >want
	if cmp -s want seen; then pass; else
		fail "$1: trace-cmd counts differ: $(diff want seen | head -n 12 | tr '\n' ' '), $(head -n 8 report)"
	fi
}

pass() { checks_done=$((checks_done + 1)); }

# record NAME TRACER MODE
record() {
	mode=$3
	[ "$mode" = spawned ] && set -- "$1" "$2" --no-children || set -- "$1" "$2" -q
	run timeout 120 "$uft" record -q "$3" "$how" -p "$2" -o rec.uft ./work "$mode"
	if [ "$status" -ne 0 ]; then
		fail "$1: status $status"
		show
		return
	fi
	cp out said
	grep -v 'is linked for gprof' err >other && fail "$1: $(cat other)"
	check_counts "$1" rec.uft "$2"
}

build() {
	# shellcheck disable=SC2086
	$cc -pthread $1 "$src/work.c" -o work || fail "build with $1"
}

build_object() {
	$cc -pthread "$1" -o work || fail "link of $1"
}

case $machine in
aarch64) pads="=2 =3,1 =4,2" guard=-mbranch-protection=standard ;;
riscv64) pads="=8 =5 =9,4" guard=-march=rv64g ;;	# 2-aligned; 8 and 5 words, no compressed ones
*) pads="=5 =7,2" guard=-fcf-protection=full ;;
esac
for pad in $pads; do
	for more in -O0 "-O2 $guard" "-O2 -no-pie"; do
		build "-fpatchable-function-entry$pad $more"
		for tracer in function function_graph; do
			record "$pad $more $tracer" $tracer values
		done
	done
done
if [ "$machine" = riscv64 ]; then
	for more in -falign-functions=8 -march=rv64g -Wl,--no-relax\ -falign-functions=4; do
		build "-O2 -fpatchable-function-entry=4 $more"
		record "=4 $more function" function values
		record "=4 $more graph" function_graph values
	done
	# Stubs that reach only the thunks behind them; one function in a thousand is called.
	many() {
		awk -v n="$1" 'BEGIN { print ".text"
		for (i = 0; i < n; i++)
			printf ".type f%d,%%function\nf%d: .rept 8\nc.nop\n.endr\nret\n.size f%d, . - f%d\n", i, i, i, i
		print ".globl many\nmany: addi sp, sp, -16\nsd ra, 8(sp)"
		for (i = 0; i < n; i += 1000) print "call f" i
		print "ld ra, 8(sp)\naddi sp, sp, 16\nret\n.section __patchable_function_entries,\"aw\""
		for (i = 0; i < n; i++) print ".8byte f" i }' >many.s
		printf 'void many(void); int main(void) { many(); return 0; }\n' >main.c
		$cc main.c many.s -o many 2>other || fail "many: $(cat other)"
		run timeout 120 "$uft" record -q "$how" -p function_graph -o rec.uft ./many
	}
	many 70000
	[ "$status" -eq 0 ] && "$uft" stat rec.uft | grep -q '^calls: 70$' || fail "70,000 functions: $(cat err; "$uft" stat rec.uft)"
	pass
	many 140000	# jal does not lead from those in the middle to a thunk
	grep -q 'left alone: too far' err && [ "$("$uft" stat rec.uft | sed -n 's/^counter_site_reach: //p')" -gt 10000 ] ||
		fail "140,000 functions: $(cat err; "$uft" stat rec.uft)"
	pass
	build "-O2 -fpatchable-function-entry=4"	# whether a word begins at a function is luck
	run timeout 120 "$uft" record -q "$how" -p function -o rec.uft ./work
	[ "$status" -eq 0 ] || fail "=4 without alignment: status $status: $(cat err)"
	"$uft" sites ./work >sites
	grep -q 'pad too small' sites || fail "=4 without alignment: no site between two words: $(cat sites)"
fi
if [ -n "$emulator" ] && command -v clang >/dev/null; then	# compiles only: it is not told where libraries are
	for pad in $pads; do
		clang "--target=$machine-linux-gnu" -isystem "/usr/$machine-linux-gnu/include" -O2 -pthread \
			"-fpatchable-function-entry$pad" -c "$src/work.c" -o work.o 2>other || fail "clang $pad: $(head -n 5 other)"
		build_object work.o
		for tracer in function function_graph; do
			record "clang $pad $tracer" $tracer values
		done
	done
fi
build "-O2 $guard -fpatchable-function-entry${pads%% *}"
for tracer in function function_graph; do
	record "$tracer for trace-cmd" $tracer values
	check_export "$tracer" $tracer
done
for mode in threads children spawned jumps signals exits; do
	record "function $mode" function $mode
	record "graph $mode" function_graph $mode
done
record "function number" function number
check
for name in earlier later; do sed -n "s/^ *\(.*\) \[.*: $name <-.*/\1/p" report | sort -u; done >tasks
[ "$(sort -u tasks | wc -l)" -eq 2 ] || fail "a thread with the number of one that ended is recorded as that: $(cat tasks)"
# Signals at every instruction of the fast paths: translated one by one. A record lost or written twice shows in the counts, an
# entry left behind in the depth. Not where programs run by themselves: there it is millions of calls between two signals.
storms() {
	how="--emulator=${emulator%% *} -singlestep ${emulator#* }"
	for tracer in function function_graph; do
		record "$tracer storm" $tracer storm
		check
		! grep -E '\| {3,}top\(\)' report >deep || fail "$tracer storm: calls were left open: $(head -n 3 deep)"
	done
	record "graph storm on a stack above" function_graph above
	record "graph storm with switches" function_graph switched
	# The handler forks there. No counts: of whom it interrupted both processes may leave the record in the parent's ring (ring/own.c).
	# Once in some 30 runs, more on a loaded machine, a record that both leave lies in the other's: a second run has to be whole.
	for how_forked in "function --no-children" "function_graph --no-children" "function_graph -q"; do
		for try in 1 2; do
			run timeout 120 "$uft" record -q "${how_forked#* }" "$how" -p "${how_forked% *}" -o rec.uft ./work forked
			"$uft" stat rec.uft >other 2>&1 || status="$status, of stat $?"
			for figure in damaged_bytes counter_lost_return; do
				grep -qx "$figure: 0" other || status="$status, $(grep "^$figure:" other || echo "no $figure")"
			done
			[ "$status" != 0 ] || break
		done
		check
		[ "$status" = 0 ] || fail "$how_forked storm with forks: status $status in try $try: $(cat err other)"
	done
	run timeout 120 "$uft" record -q "$how" -p function_graph -o rec.uft ./work away
	"$uft" report rec.uft >report
	check
	[ "$status" -eq 0 ] && [ "$(grep -cE '\|  after\(\);' report)" -eq 300 ] ||
		fail "jumps away: status $status, calls were left open: $(grep -E 'after\(\)' report | sort | uniq -c | head -n 3)"
	how="--emulator=$emulator"
}
[ -z "$emulator" ] || storms
for more in -O0 -O1 "-O2 $guard" -Wl,--no-relax; do
	build "-pg $more"
	record "-pg $more" function values
	case $machine$more in
	aarch64*branch-protection*)
		# The prologue signs the return address: such calls are left alone, and that is said.
		run timeout 120 "$uft" record -q "$how" -p function_graph -o rec.uft ./work values
		check
		grep -q 'left alone' err && cmp -s out said || fail "-pg $more graph: $(cat out err)"
		continue ;;
	esac
	modes="values jumps"
	[ "$more" != -O1 ] || modes="values threads jumps signals exits${emulator:+ storm}"
	for mode in $modes; do
		record "-pg $more graph $mode" function_graph $mode
	done
done
# Calls listed before linking; then made nops, which leave the program nothing to call.
for more in -O0 "-O2 $guard"; do
	# shellcheck disable=SC2086
	$cc -pthread -pg $more -c "$src/work.c" -o work.o || fail "compile with -pg $more"
	"$uft" sites work.o | grep -c 'mcount-call' >calls
	for nop in "" --nop; do
		"$uft" recordmcount $nop work.o >other 2>&1 || fail "recordmcount $nop: $(cat other)"
		cp work.o before.o
		"$uft" recordmcount $nop work.o >other 2>&1 && cmp -s work.o before.o || fail "recordmcount $nop again: $(cat other)"
		build_object work.o
		kind=mcount-call
		[ -z "$nop" ] || kind=mcount-nop
		"$uft" sites work >sites
		pass
		[ "$(cat calls)" -gt 10 ] && [ "$(grep -c " $kind " sites)" = "$(cat calls)" ] || fail "$nop: $(cat calls) calls: $(cat sites)"
		record "-pg $more recordmcount $nop" function values
	done
done

# A script comes up as its interpreter: one that the loader has no part in is refused before anything runs.
if [ -z "$emulator" ] && printf 'int main(void){return 0;}' | $cc -static -x c - -o static 2>/dev/null; then
	printf '#!%s\n' "$tmp/static" >script && printf '#! %s -x\n' "$tmp/script" >second && chmod +x script second
	for name in script second; do
		run timeout 120 "$uft" record -q --preload -o rec.uft "./$name"
		expect_status 1
		expect_err "$tmp/static is linked statically: no loader puts the runtime into it"
	done
fi

# ---- All libraries: the one that the loader brought for us is none of them, and what runs in libc goes on as before
build "-O2"
for mode in threads children jumps exits; do
	# shellcheck disable=SC2086
	$emulator ./work $mode >untraced
	for tracer in function function_graph; do
		run timeout 120 "$uft" record -q "$how" -p $tracer -l '*:mod:*' -o rec.uft ./work $mode
		expect_status 0
		expect_equal "all libraries, $tracer, $mode" "$(cat out)" "$(cat untraced)"
	done
done
