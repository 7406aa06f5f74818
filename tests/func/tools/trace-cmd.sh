#!/bin/sh
# SPDX-License-Identifier: MIT
# trace-cmd.sh PROGRAM - Debian's trace-cmd inside uft shell: every command and its output
. "$(dirname "$0")/inside.sh"
need trace-cmd
[ "$(id -u)" -eq 0 ] || skip "trace-cmd wants to be root"

export T="$1"
M=$(basename "$T")
export M
one="work helper leaf helper leaf "		# one call of work()

inside 'trace-cmd record -p function -l work:mod:$M -l leaf:mod:$M -F sh recorded $T 2 && trace-cmd report'
expect_status 0
expect_equal "record -p function -l" "$(names out)" "work leaf leaf work leaf leaf "

inside 'trace-cmd record -p function -l :mod:$M -F sh recorded $T 2 && trace-cmd report'
expect_equal "record of a whole program" "$(names out)" "main $one$one"

# The clock is the file's, whoever writes it; what is no time is told as a plain number. (3.1.6 takes uptime for ns, and boot for none.)
clocks="uptime mono_raw boot counter"
[ "$(uname -m)" != x86_64 ] || clocks="$clocks x86-tsc"
for c in $clocks; do
	export CLOCK="$c"
	inside 'trace-cmd record -C $CLOCK -p function -l :mod:$M -F sh recorded $T 2 >/dev/null; trace-cmd report >theirs; trace-cmd start -C $CLOCK -p function -l :mod:$M; $T 2
		grep -o "\[.*\]" $D/trace_clock; "$UFT" stop >/dev/null; "$UFT" extract -o own.dat >/dev/null; trace-cmd report -i own.dat >own; trace-cmd reset'
	expect_equal "-C $c" "$(cat out)" "[$c]"
	for f in theirs own; do
		expect_equal "record -C $c: $f" "$(names $f)" "main $one$one"
		sed -n 's/.*\] *\([0-9.]*\): .*/\1/p' $f >stamps
		case $c in boot|counter|x86-tsc) is_plain=1;; *) is_plain=0;; esac
		[ $is_plain = 1 ] && form='^[0-9]\{6,\}$' || form='^[0-9]*\.[0-9]\{6\}$'
		expect_equal "stamps of $c: $f" "$(grep -c "$form" stamps)" "$(($(wc -w <stamps) + 0))"
		sort -c -n stamps || fail "times of $c in $f: $(cat stamps)"
	done
done

# What trace-cmd wrote is a recording, too: the same functions, events and stamps.
inside 'trace-cmd record -C mono -p function -e sched -l :mod:$M -F sh recorded $T 2 >/dev/null; trace-cmd report >theirs; "$UFT" report trace.dat >ours; "$UFT" stat trace.dat'
expect_status 0
expect_equal "functions that uft report reads" "$(sed -n 's/.*\] [^:]*: \([a-z]*\) <-.*/\1/p' ours | tr '\n' ' ')" "$(sed -n 's/.*function: *//p' theirs | awk '{print $1}' | tr '\n' ' ')"
expect_equal "its events" "$(grep -o 'sched_process_[a-z]*:' ours | tr '\n' ' ')" "$(grep -o 'sched_process_[a-z]*:' theirs | tr '\n' ' ')"
expect_equal "its stamps" "$(grep -v '^#' ours | grep -o '[0-9]*\.[0-9]\{6\}:' | tr '\n' ' ')" "$(grep -o '[0-9]*\.[0-9]\{6\}:' theirs | tr '\n' ' ')"
check
[ "$(grep -c 'leaf <-' ours)" -ge 1 ] && [ "$(grep -c sched_process_ ours)" -ge 1 ] || fail "no call or no event was recorded: $(cat theirs)"

# Functions of programs that ran are known by their names alone, globs included.
inside '$T 1; trace-cmd record -p function -l "wor*" -l leaf -n helper -F sh recorded $T 1 && trace-cmd report; trace-cmd list -f "^work"'
expect_equal "record -l -n" "$(names out)" "work leaf leaf "
expect_equal "list -f" "$(tail -n 1 out)" work

inside 'trace-cmd record -p function_graph -l :mod:$M -g work:mod:$M --max-graph-depth 2 -F sh recorded $T 1 && trace-cmd report'
expect_status 0
expect_equal "record -p function_graph -g" "$(sed -n 's/.*funcgraph_\(entry\|exit\): .*|  *\(.*\)/\1 \2/p' out | tr '\n' '/')" \
	"entry work() {/entry helper();/entry helper();/exit }/"

inside 'trace-cmd start -p function -l :mod:$M; trace-cmd stat; $T 1; trace-cmd stop; $T 1; cat $D/tracing_on
	trace-cmd show >show; trace-cmd restart; $T 1; trace-cmd show >more; trace-cmd extract -o x.dat; trace-cmd report -i x.dat >report
	trace-cmd show | grep -v ^# >after; trace-cmd clear; trace-cmd reset; cat $D/current_tracer $D/tracing_on $D/set_ftrace_filter'
expect_status 0
expect_out "Tracer: function"
expect_equal "show" "$(names show)" "main $one"
expect_equal "show, going on" "$(names more)" "main ${one}main $one"
expect_equal "extract" "$(names report)" "main ${one}main $one"
expect_equal "extract consumes" "$(cat after)" ""
expect_equal "reset" "$(tail -n 3 out | tr '\n' ' ')" "nop 1 #### all functions enabled #### "

inside 'trace-cmd list -t; trace-cmd list -o >options; trace-cmd list -e >events'
expect_status 0
expect_equal "list -t" "$(cat out)" "$("$uft" shell -c 'cat /sys/kernel/tracing/available_tracers')"
check
grep -qx "irq-info" options || fail "list -o lacks irq-info"
expect_equal "list -e" "$(sort events | tr "\n" " ")" "$("$uft" shell -c "cat /sys/kernel/tracing/available_events" | sort | tr "\n" " ")"
grep -qx sched:sched_process_fork events || fail "list -e lacks what the tree has"

inside 'trace-cmd snapshot; trace-cmd start -p function -l :mod:$M; $T 1; trace-cmd snapshot -s; $T 1; trace-cmd snapshot >snap
	trace-cmd show >now; trace-cmd snapshot -r; trace-cmd snapshot >clear; trace-cmd snapshot -f; trace-cmd snapshot >freed; trace-cmd reset'
expect_status 0
expect_out "# * Snapshot is freed *"
expect_equal "snapshot" "$(names snap)" "main $one"
expect_equal "what comes after it" "$(names now)" "main $one"
expect_equal "cleared, freed" "$(grep -h 'Snapshot is' clear freed | tr '\n' ' ')" "# * Snapshot is allocated * # * Snapshot is freed * "

# The snapshot as pages, with its names; the next one has others; the buffer keeps what it has. (extract -s of 3.1.6 reads trace_pipe_raw instead:
# what reads snapshot_raw is stood in for by cat and restore.)
inside 'out() { for dir in $D/per_cpu/cpu*; do cat $dir/snapshot_raw >${dir##*/} 2>/dev/null; done; trace-cmd restore -c -o head >/dev/null; trace-cmd restore -i head -o $1.dat cpu*; trace-cmd report -i $1.dat >$1; }
	trace-cmd start -p function -l :mod:$M; $T 1; trace-cmd snapshot -s; $T 2; out one; trace-cmd snapshot >empty
	trace-cmd show >now; trace-cmd snapshot -s; out two; out three; trace-cmd snapshot -f; out four; trace-cmd reset; echo preemptoff >$D/current_tracer; cat $D/per_cpu/cpu0/snapshot_raw'
expect_err "snapshot_raw: Device or resource busy"
expect_equal "snapshot_raw" "$(names one)" "main $one"
expect_equal "snapshot_raw consumes" "$(names empty)" ""
expect_equal "what comes after it" "$(names now)" "main $one$one"
expect_equal "snapshot_raw again" "$(names two)" "main $one$one"
expect_equal "snapshot_raw of nothing" "$(names three)$(names four)" ""

# buffer_percent makes it wait, and it does not show what comes with its end: as on the kernel.
inside 'echo 0 >$D/buffer_percent; trace-cmd stream -p function -l :mod:$M $T 300 2000'
expect_status 0
check
[ "$(grep -c 'function: ' out)" -gt 500 ] || { fail "stream shows little"; show; }

# From outside: attached while the recording lasts.
"$T" 100000 1000 &
outside=$!
export outside
sleep 0.3
inside 'trace-cmd record -p function -l :mod:$M -P $outside sh recorded sleep 1 && trace-cmd report; cat $D/set_ftrace_pid >pids'
expect_status 0
check
grep -q -e "-$outside .*function: *leaf" out || { fail "record -P shows nothing of the process"; show; }
expect_equal "pids in the end" "$(cat pids)" "no pid"
expect_left "after trace-cmd reset" $outside
check
kill -0 "$outside" || fail "the process does not go on"
kill "$outside"
