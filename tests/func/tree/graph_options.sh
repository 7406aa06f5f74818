#!/bin/sh
# SPDX-License-Identifier: MIT
# graph_options.sh TARGET - graph options that change the records of calls, each at 0 and at 1
. "$(dirname "$0")/inside.sh"
need taskset

graph='echo :mod:$(basename $T) >set_ftrace_filter; echo function_graph >current_tracer'
# Without numbers that nobody can know.
lines() { sed -n '/^#/d; /==/!s/^.*| *//; s/^.*[0-9]) *\([<=]\)/\1/; s/<-\([a-z]*\)+0x[0-9a-f]*\/0x[0-9a-f]*/<-\1+N/; p' "$@"; }

# ---- Arguments, results, return addresses: recorded while the option is on, shown while it is on
inside "$graph; "'$T calls; for o in args retval retaddr; do echo 1 >options/funcgraph-$o; done
	grep -cE "0x|= |<-" trace; echo >trace; $T calls; cat trace >$TMP/all
	for o in args retval retaddr; do echo 0 >options/funcgraph-$o; cat trace >$TMP/$o; done
	for o in args retval retaddr; do echo 1 >options/funcgraph-$o; done; echo 1 >options/funcgraph-retval-hex; cat trace >$TMP/retval-hex
	for o in args retval retaddr retval-hex; do cmp $TMP/all $TMP/$o >$TMP/null; echo $?; done'
check
expect_equal "nothing of calls that were recorded without; each option shows" "$(tr '\n' ' ' <out)" "0 1 1 1 1 "
expect_equal "what was recorded" "$(lines "$tmp/all" | sed -n 's/^\(answer\|failing\|outside\)(\([^)]*\))/\1(\2)/p' | sed 's/^failing([^)]*)/failing()/; s/outside(0x10, .*) {/outside(0x10) {/')" \
'outside(0x10) { /* <-main+N */
answer(0x10, 0x20, 0x30, 0x40); /* <-outside+N = 0x30 */
failing(); /* <-outside+N = -2 */'
grep -q '} /\* outside = 0x30 \*/$' "$tmp/all" || fail "the result at the closing brace"
grep -q 'failing(.*= 0xfffffffe \*/$' "$tmp/retval-hex" || fail "retval-hex: $(grep failing "$tmp/retval-hex")"
lines "$tmp/args" | grep -q '^answer(); /\* <-outside+N = 0x30 \*/$' || fail "without arguments: $(grep answer "$tmp/args")"
lines "$tmp/retaddr" | grep -q '^answer();$' || fail "without any: $(grep answer "$tmp/retaddr")"

# ---- Signal handlers: marked where calls are slow, left out with what they call; the same function called by the program stays
inside "$graph; "'echo 1 >options/funcgraph-retval; echo 0 >options/funcgraph-retval; echo main >set_graph_function; $T signal; cat trace >$TMP/marked
	echo 0 >options/funcgraph-irqs; echo >trace; $T signal; cat trace >$TMP/without; echo 1 >options/funcgraph-irqs; echo >set_graph_function; echo 1000 >max_graph_depth; echo >trace; $T signal
	cat trace >$TMP/fast; echo 0 >max_graph_depth; echo 1 >options/latency-format; echo 1 >options/funcgraph-args; echo >trace; $T signal; grep -c " \.\.h\.\. |" trace; grep -c " \.\.\.\.\. |" trace'
check
expect_equal "lines with h and without" "$(tr '\n' ' ' <out)" "5 7 "
expect_equal "marks" "$(lines "$tmp/marked" | grep -v '^$' | tr '\n' ' ')" \
	"main() { ==========> | on_signal() { in_handler(); } <========== | direct() { on_signal() { in_handler(); } } } "
expect_equal "the mark's columns" "$(grep '>' "$tmp/marked" | sed 's/ *[0-9]*)/ N)/')" " N)   ==========> |"
expect_equal "without handlers" "$(lines "$tmp/without" | grep -v '^$' | tr '\n' ' ')" "main() { direct() { on_signal() { in_handler(); } } } "
expect_equal "fast paths record them" "$(lines "$tmp/fast" | grep -v '^$' | tr '\n' ' ')" \
	"main() { on_signal() { in_handler(); } direct() { on_signal() { in_handler(); } } } "

# ---- Time off the CPU: 50 ms asleep
long='[0-9]{5,}(\.[0-9]+)? us'
inside "$graph; "'taskset -c $CPU $T sleep; cat trace >$TMP/asleep; echo 0 >options/sleep-time; echo >trace; taskset -c $CPU $T sleep; cat trace >$TMP/awake
	echo 2000 >tracing_thresh; echo >trace; taskset -c $CPU $T sleep; grep -cE "parent|asleep" trace; echo 1 >options/sleep-time; taskset -c $CPU $T sleep; grep -cE "parent|asleep" trace'
check
expect_equal "calls that sleep; with nosleep-time; above a threshold" "$(grep -cE "$long" "$tmp/asleep") $(grep -cE "$long" "$tmp/awake") $(tr '\n' ' ' <out)" "3 0 0 2 "
inside 'echo :mod:$(basename $T) >set_ftrace_filter; for tracer in nop function_graph; do echo $tracer >current_tracer; for s in 1 0; do for g in 1 0; do
	echo $s >options/sleep-time; echo $g >options/graph-time; echo 0 >function_profile_enabled; echo 1 >function_profile_enabled
	taskset -c $CPU $T sleep; cat trace_stat/* | grep -E "^  (parent|asleep) " | sort | awk "{ print (\$3 > 40000) }"; done; done; done'
check
expect_equal "asleep, parent in the profile: 50 ms or not, by sleep-time and graph-time, alone and beside the graph" "$(tr '\n' ' ' <out)" "1 1 1 0 0 0 0 0 1 1 1 0 0 0 0 0 "

# ---- Overruns: deeper than the shadow stack
inside "$graph; "'ulimit -s unlimited; $T deep 140000; echo 1 >options/funcgraph-overrun; grep -c "^ (Overruns: [1-9][0-9]*)$" trace | grep -cx 1310[0-9][0-9]
	echo >trace; $T calls; grep -A 1 "}" trace | grep -c "^ (Overruns: 0)$"; echo 0 >options/funcgraph-overrun; grep -c Overruns trace'
check
expect_equal "overruns: deep, not deep, not shown" "$(tr '\n' ' ' <out)" "1 2 0 "

# ---- The commands
check_run() { run "$uft" record -q -o "$tmp/a.uft" "$@"; }
check_run -O funcgraph-retval -O nosleep-time taskset -c "$CPU" "$target" sleep
check
run "$uft" report --no-pager "$tmp/a.uft"
check
grep -qE ' asleep\(\); /\* = 0x[0-9a-f]+ \*/$' out || fail "report shows what was recorded: $(grep asleep out)"
! grep asleep out | grep -qE "$long" || fail "nosleep-time: $(grep asleep out)"	# taskset's own were left by its exec
run "$uft" report --no-pager -O nofuncgraph-retval -O funcgraph-tail "$tmp/a.uft"
check
grep -q ' asleep();$' out && grep -q '} /\* parent \*/$' out || fail "report's options: $(cat out)"
check_run -O funcgraph-tail taskset -c "$CPU" "$target" sleep
expect_equal "an option of the text for a recording" "$status" 2
for option in overwrite stacktrace; do		# not there is the wrong answer for both
	check_run -O $option taskset -c "$CPU" "$target" sleep
	expect_equal "$option for a recording" "$status" 2
	! grep -q 'no option\|uft report' err || fail "$option: $(cat err)"
done
run "$uft" report -O nosleep-time "$tmp/a.uft"
expect_equal "an option of the recording for a text" "$status" 2
check_run -O sleep-tim taskset -c "$CPU" "$target" sleep
expect_equal "none" "$status" 2
check_run -O funcgraph-args --keep-slow 'main=1ms' taskset -c "$CPU" "$target" sleep
expect_equal "beside --keep-slow" "$status" 2
