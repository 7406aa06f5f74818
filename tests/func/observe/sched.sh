#!/bin/sh
# SPDX-License-Identifier: MIT
# sched.sh TARGET - sched_switch: a thread that waits 20 times, its priority, its end; in order with markers; as trace.dat
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/../../lib/shell.sh"

head='^ *[a-z.<>]*-[0-9]* *\[[0-9]\{3\}\] \.\{5\} *[0-9]*\.[0-9]\{6\}: '
in="$head"'       ?:  ?:? ==> \[[0-9]\{3\}\] *[0-9]*: *[0-9]*:R [a-z]*$'
left="$head"' *[0-9]*: *[0-9]*:[RSX] ==> \[[0-9]\{3\}\]       ?:  ?:? <\.\.\.>$'

prio=$((120 + ($(nice) + 5 < 19 ? $(nice) + 5 : 19)))
run nice -n 5 "$uft" record -q -p sched_switch -o rec.uft "$T" sleep
expect_status 0
expect_no_err
run "$uft" report --no-pager rec.uft
expect_equal "the tracer's name" "$(sed -n 1p out)" "# tracer: sched_switch"
expect_equal "lines of another form" "$(lines out | grep -v -e "$in" -e "$left" | head -n 3)" ""
lines out | grep '^ *sleeper-' >sleeper
check
[ "$(grep -c ':S ==>' sleeper)" -ge 20 ] || { fail "$(grep -c ':S ==>' sleeper) waits, of 20"; cat sleeper; }
# A thread that has left a CPU gets one before it leaves one again.
sed 's/.*: .*?:? ==> .*/i/; s/.*==> .*/o/' sleeper | uniq -d >twice
expect_equal "twice the same" "$(cat twice)" ""
expect_equal "its end" "$(sed -n '$p' sleeper | grep -c ':X ==>') $(grep -c ':X ==>' sleeper)" "1 1"
expect_equal "priorities" "$(sed -n 's/.*:\( *[0-9]*\):[RSX] .*/\1/p' sleeper | sort -u)" "$prio"
check
[ "$(lines out | grep -c '^ *observed-')" -ge 2 ] || { fail "the main thread waits for the other"; cat out; }
expect_equal "as the header says" "$(sed -n 's/^# entries-in-buffer.*: \([0-9]*\)\/.*/\1/p' out)" "$(lines out | grep -c .)"
run "$uft" report --no-pager -O raw rec.uft
expect_equal "raw" "$(lines out | grep -c -e ": ? ? ? [0-9]* [0-9]* $prio R\$" -e ": [0-9]* $prio [RSX] [0-9]* ? ? ?\$")" "$(lines out | grep -c .)"
run "$uft" export -f trace.dat -o rec.dat rec.uft
expect_status 0
if command -v trace-cmd >/dev/null 2>&1; then
	run trace-cmd report rec.dat
	expect_equal "trace-cmd shows" "$(grep -cE "context_switch: *([?]:[?]:[?] ==> [0-9]+:$prio:R|[0-9]+:$prio:[RSX] ==> [?]:[?]:[?]) \\[" out)" "$("$uft" report --no-pager rec.uft | grep -vc '^#')"
fi

# ---- Children by the hundred, all alive at once
run "$uft" record -q -p sched_switch -o many.uft "$T" many
expect_status 0
expect_no_err
run "$uft" report --no-pager many.uft
expect_equal "each begins and ends" "$(lines out | grep -c ':X ==>') $(lines out | awk '{ print $1 }' | sort -u | grep -c .)" "201 201"

# ---- Beside calls, of one thread and in the order in which things happened: each nap begins, leaves its CPU, comes back, ends
in_order() {
	lines "$1" | awk '
		/ nap\(\) \{| nap <-/ { naps++; state = "in" }
		/ nap\(\);/ { print "a nap without a wait" }
		/:S ==>/ { if (state == "in") state = "gone" }
		/\?: *\?:\? ==>/ { if (state == "gone") { slept++; state = "back" } }
		/ \} *$/ { if (state != "back") print "ended in state " state; state = "" }
		END { print naps, slept }'
}
if [ "$(uname -m)" = x86_64 ]; then
	run "$uft" record -q -p function_graph --sched-switch -l nap -o beside.uft "$T" naps
	expect_status 0
	run "$uft" report --no-pager beside.uft
	expect_equal "in the graph" "$(in_order out)" "20 20"
	expect_equal "as comments" "$(grep '==>' out | grep -vc '/\* .* ==> .* \*/$')" 0
	# The runtime's own task in a child, which has a call, is none of the program's: at most what is told before it has its name.
	run "$uft" record -q -p function_graph --sched-switch -l hot -o beside.uft "$T" spin
	run "$uft" report --no-pager beside.uft
	expect_equal "of a child with an agent" "$(grep -c ' child \*/' out | sed 's/[1-9][0-9]*/some/') $(($(grep -c uft-agent out) > 2))" "some 0"
	run "$uft" record -q -p function --sched-switch -l nap -o beside.uft "$T" naps
	run "$uft" report --no-pager beside.uft
	expect_equal "among functions" "$(in_order out)" "20 20"
	run "$uft" record -q -p function -l nap -o beside.uft "$T" naps
	run "$uft" report --no-pager beside.uft
	expect_equal "not asked for" "$(grep -c '==>' out)" 0
else
	echo "SKIPPED: beside calls: the program has them on x86_64"
fi
run "$uft" record -p kmemtrace --sched-switch true
expect_status 2
expect_err "--sched-switch is for the tracers function and function_graph, not for kmemtrace"

# ---- In the tracing directory, beside what the thread itself says: it waits between its two marks, and nowhere else as long
in_shell 'cd /sys/kernel/tracing; echo sched_switch >current_tracer; for i in 1 2 3; do $T mark $PWD/trace_marker; done; cat trace >$TMP/trace
	timeout 60 head -n 10 trace_pipe >$TMP/pipe; echo nop >current_tracer'
expect_status 0
marked() {
	lines "$1" | awk '
		{ match($0, /[0-9]+\.[0-9]+: /); at = substr($0, RSTART, RLENGTH - 2) + 0; split($1, who, /-/); tid = who[2]; what = substr($0, RSTART + RLENGTH) }
		at < last { print "out of order: " $0 }
		{ last = at }
		what ~ /before/ { begin[tid] = at; most[tid] = 0 }
		what ~ /:S ==>/ { gone[tid] = at }
		what ~ /^ *\?.*==>/ && tid in gone && gone[tid] > begin[tid] && at - gone[tid] > most[tid] { most[tid] = at - gone[tid] }
		what ~ /after/ { print (most[tid] >= 0.0199 && most[tid] <= at - begin[tid] ? "slept" : "too short: " most[tid]) }'
}
expect_equal "between the marks" "$(marked trace)" "slept
slept
slept"
check
[ "$(grep -c '==>' pipe)" -ge 10 ] || { fail "trace_pipe"; cat pipe; }

# ---- A process from outside that is left and attached again: nothing of it meanwhile, nothing twice later; its child stays
"$T" family &
outside=$!
in_shell "cd /sys/kernel/tracing; echo sched_switch >current_tracer; F=set_ftrace_pid
	rest() { for i in \$(seq 400); do [ \$(grep -c \" *\$2-.*==>\" trace) -ge 20 ] && break; sleep 0.1; done; cat trace >\$TMP/\$1; }
	echo $outside >\$F; kill -USR1 $outside; rest both observed; echo >\$F; echo >trace; rest gone child
	echo $outside >\$F; echo >trace; rest again observed; echo >\$F; echo $outside >\$F; echo >trace; rest third observed"
kill $outside
wait $outside 2>/dev/null
twice() { lines "$1" | awk '{ now = / ==> *\[[0-9]*\] *[?]:/; n += $1 in was && was[$1] == now; was[$1] = now } END { print n + 0 }'; }
for when in both gone again third; do
	expect_equal "twice the same, $when" "$(twice $when)" 0
done
of() { lines "$1" | grep -c "^ *$2-"; }
check
[ "$(of both observed)" -ge 20 ] && [ "$(of again observed)" -ge 20 ] && [ "$(of third observed)" -ge 20 ] || fail "it waits: $(of both observed) $(of again observed) $(of third observed)"
expect_equal "while it is left" "$(of gone observed)" 0
check
[ "$(of gone child)" -ge 20 ] || fail "its child is there still: $(of gone child)"

# ---- Another thread than the first executes a program: its events are still known, so that they end, and do not come twice
"$T" second &
outside=$!
in_shell "cd /sys/kernel/tracing; echo sched_switch >current_tracer; F=set_ftrace_pid
	rest() { for i in \$(seq 400); do [ \$(grep -c \" *\$2-.*==>\" trace) -ge 20 ] && break; sleep 0.1; done; cat trace >\$TMP/\$1; }
	echo $outside >\$F; rest first observed; kill -USR1 $outside; rest executed napper; echo >\$F
	echo $outside >\$F; echo >trace; rest renewed napper"
kill $outside
wait $outside 2>/dev/null
check
[ "$(of executed napper)" -ge 20 ] && [ "$(of renewed napper)" -ge 20 ] || fail "a second thread's program: $(of executed napper) $(of renewed napper)"
expect_equal "twice the same, of a second thread's program" "$(twice renewed)" 0

# ---- A child that is made while recording is off is there afterwards, once; of the time itself there is nothing
in_shell 'cd /sys/kernel/tracing; echo sched_switch >current_tracer; $T family & C=$!
	rest() { for i in $(seq 400); do [ $(grep -c " *$2-.*==>" trace) -ge 20 ] && break; sleep 0.1; done; cat trace >$TMP/$1; }
	rest before observed; echo 0 >tracing_on; echo >trace; kill -USR1 $C
	for i in $(seq 400); do [ -n "$(cat /proc/$C/task/$C/children)" ] && break; sleep 0.1; done; grep -c "==>" trace; echo 1 >tracing_on; rest after child; kill $C'
expect_equal "while it is off" "$(cat out)" 0
check
[ "$(of after child)" -ge 20 ] || fail "a child that was made while recording was off: $(of after child)"
expect_equal "twice the same, after it was off" "$(twice after)" 0

# ---- Attached while its threads make others: each has its events, and has them once. Who is made between the events of two CPUs lacks one:
# how many do is a matter of how long the machine stands there, in one round or another. Recorded twice was somebody in every round.
least=
came() { lines "$1" | awk '{ print $1 }' | sort -u | grep -c .; }
for round in 1 2 3; do
	: >said
	"$T" spawn >said &
	outside=$!
	for try in $(seq 600); do [ -s said ] && break; sleep 0.05; done		# one of those eight that lacks one would miss it in all of the recording
	"$uft" record -q -p sched_switch -o spawn.uft -P $outside 2>err &
	recorder=$!
	for try in $(seq 300); do
		"$uft" report --no-pager spawn.uft >spawn 2>/dev/null
		[ "$(came spawn)" -ge 500 ] && break
		sleep 0.1
	done
	kill -TERM $recorder
	wait $recorder
	kill $outside
	wait $outside 2>/dev/null
	"$uft" report --no-pager spawn.uft >spawn
	two=$(twice spawn)
	[ "${least:-$two}" -lt "$two" ] || least=$two
	check
	[ "$(came spawn)" -ge 500 ] || { fail "threads that came: $(came spawn)"; cat err; }
	rm spawn.uft
done
check
[ "$least" -lt 10 ] || fail "twice the same, with threads that come: $least"
