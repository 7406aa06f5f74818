#!/bin/sh
# SPDX-License-Identifier: MIT
# task_stacks.sh TARGET - stacks behind sched_process_fork and sched_process_exit: each way to make a task and to end one; with a tracer
# beside; as trace.dat; in the tracing directory by the option, a trigger, a key; where the kernel does not let us
. "$(dirname "$0")/lib.sh"
[ "$(uname -m)" = x86_64 ] || skip "stacks are recorded on x86-64 only"
"$uft" record -q -e sched -T -o may.uft true 2>may
! grep -q 'have no stacks here' may || skip "$(cat may)"

# A line for each event of the file: its name, then the functions of its stack, `-` where it has none.
stacks() {
	lines "$1" | awk '
		function out() { if (event) print event, stack; event = "" }
		/: sched_process_/ { out(); event = $0; sub(/.*: sched_process_/, "", event); sub(/: .*/, "", event); stack = "-"; next }
		/: <stack trace>$/ { if (stack != "-") out(); stack = "+"; next }	# or that of a sample
		/^ => / { sub(/@.*/, "", $2); stack = stack " " $2; next }	# main@task_stacks, as the shell has one too
		{ out() }
		END { out() }'
}
# has EVENT CALLERS [N]: N of the events have these functions one behind the other
has() { expect_equal "$1 of $2" "$(grep -c "^$1 + \(.* \)\{0,1\}$2\( \|\$\)" stacks)" "${3:-1}"; }
all() {
	has fork "born_child main"
	has fork "born_killed main"
	has fork "born_by_vfork main"
	has fork "born_by_number main"
	has fork "born_thread main"
	has fork "born_program main"
}

# ---- A recording
run "$uft" record -q -e sched -T -o rec.uft "$T"
expect_status 0
expect_equal "without a word" "$(grep -c "of sched have" err)" 0
run "$uft" report --no-pager rec.uft
stacks out >stacks
all
has exit "last_words born_child main"
has exit "born_by_vfork main"
has exit "born_by_number main"
has exit "leave main"
expect_equal "the thread's end, which has a stack of its own" "$(lines out | awk '/sched_process_exit: comm=worker/ { on = 1; next } on && /^ => / { print "frames"; exit } on && /sched_/ { exit }')" frames
expect_equal "no more than was called: the killed one" "$(grep -cx 'exit +' stacks)" 1
expect_equal "execs have none" "$(grep -c '^exec' stacks) $(grep -c '^exec -$' stacks)" "2 2"
expect_equal "the others all have one" "$(grep -c -- '^\(fork\|exit\) -$' stacks)" 0
stacks=$(grep -c ': <stack trace>$' out)
expect_equal "forks and ends" "$stacks" "$(grep -c -e ': sched_process_fork:' -e ': sched_process_exit:' out)"

# ---- Only what is asked for
run "$uft" record -q -e sched -o plain.uft "$T"
run "$uft" report --no-pager plain.uft
expect_equal "without -T" "$(grep -c 'stack trace' out)" 0
run "$uft" record -q -e sched_process_exit -T -o ends.uft "$T"
run "$uft" report --no-pager ends.uft
stacks out >stacks
expect_equal "of ends alone" "$(grep -c '^fork' stacks) $(grep -c '^exit + .*leave main' stacks)" "0 1"

# ---- As trace.dat
run "$uft" export -f trace.dat -o rec.dat rec.uft
expect_status 0
if command -v trace-cmd >/dev/null 2>&1; then
	trace-cmd report rec.dat >theirs 2>err
	expect_equal "trace-cmd shows as many" "$(grep -c 'kernel_stack' theirs)" "$stacks"
	expect_equal "by name" "$(grep -c '^=> born_by_vfork ' theirs)" 2
fi

# ---- Beside tracers: other samples are other samples
run "$uft" record -q -p sysprof -T -e sched -o both.uft "$T"
run "$uft" report --no-pager both.uft
stacks out >stacks
all
run "$uft" record -q -p function -l 'born_*' -e sched -T -o calls.uft "$T"
run "$uft" report --no-pager calls.uft
stacks out >stacks
all

# ---- Attached
cat >waits <<'end'
until [ -e go ]; do
	(:)
	sleep 0.1
done
exec "$1"
end
sh waits "$T" & pid=$!
"$uft" record -q -e sched -T -o live.uft -P $pid & recorder=$!
attached() { "$uft" report --no-pager live.uft | grep -q ': sched_process_fork: '; }
eventually attached
: >go
wait $pid
wait $recorder
run "$uft" report --no-pager live.uft
stacks out >stacks
all

# ---- A user without rights: the events, and one line that says why not more
if [ "$(id -u)" -eq 0 ] && [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 2 ] && command -v setpriv >/dev/null; then
	mkdir -m 777 free && cp "$T" "$uft" free && chmod 755 "$tmp"
	run env -u XDG_RUNTIME_DIR setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all free/uft record -e sched -T -o free/rec.uft "free/$(basename "$T")"
	expect_status 0
	expect_equal "said once" "$(grep -c 'events of sched have no stacks here: ' err)" 1
	run "$uft" report --no-pager free/rec.uft
	stacks out >stacks
	expect_equal "events without stacks" "$(grep -c . stacks) $(grep -c -- ' -$' stacks)" "15 15"
fi

# ---- The tracing directory
. "$(dirname "$0")/../../lib/shell.sh"
in_shell 'cd /sys/kernel/tracing; echo 1 >events/sched/enable; echo 1 >options/stacktrace; $T; echo 0 >events/sched/enable; cat trace >$TMP/option
	echo 0 >options/stacktrace; echo >trace; echo 1 >events/sched/enable; $T; echo 0 >events/sched/enable; cat trace >$TMP/plain; echo >trace
	echo stacktrace:2 >events/sched/sched_process_fork/trigger; echo 1 >events/sched/sched_process_fork/enable; $T; echo 0 >events/sched/sched_process_fork/enable
	cat trace >$TMP/trigger; echo "!stacktrace:2" >events/sched/sched_process_fork/trigger
	echo hist:keys=common_stacktrace >events/sched/sched_process_exit/trigger; $T; cat events/sched/sched_process_exit/hist >$TMP/hist
	echo stacktrace >events/sched/sched_process_exec/trigger; cat error_log; true'
expect_status 0
stacks option >stacks
all
expect_equal "without the option" "$(grep -c 'stack trace' plain)" 0
expect_equal "a trigger twice" "$(grep -c '<stack trace>$' trigger)" 2
expect_equal "a key" "$(grep -c '^ *born_child+0x[0-9a-f]\{1,3\}/0x[0-9a-f]\{1,3\}$' hist)" 1
expect_equal "an exec" "$(grep -c 'An exec has no stack' out)" 1
