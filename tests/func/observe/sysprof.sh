#!/bin/sh
# SPDX-License-Identifier: MIT
# sysprof.sh TARGET - samples: functions and tasks, in threads, children and other programs; as a user without rights; refusals
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/../../lib/shell.sh"

# of NAME FUNCTION [FILE]: the samples of threads called NAME in FUNCTION
of() { lines "${3:-out}" | grep -c "^ *$1-[0-9]* .*: $2\( \|\$\)"; }
# more WHAT A B: A is more than B
more() { check; [ "$2" -gt "$3" ] || { fail "$1: $2, not more than $3"; lines out | sed 's/\[.*: / /' | sort | uniq -c; }; }

# ---- A recording
run "$uft" record -q -p sysprof -o rec.uft "$T" spin
expect_status 0
expect_no_err
run "$uft" report --no-pager rec.uft
expect_equal "the tracer's name" "$(sed -n 1p out)" "# tracer: sysprof"
expect_equal "lines of another form" "$(lines out | grep -v '^ *[a-z.<>]*-[0-9]* *\[[0-9]\{3\}\] \.\{5\} *[0-9]*\.[0-9]\{6\}: [^ ]*\( <-.*\)\{0,1\}$')" ""
more "the main thread in hot" "$(of observed hot)" 50
more "the thread in warm" "$(of worker warm)" 10
more "the child in hot" "$(of child hot)" 10
more "the program it became in warm" "$(of late warm)" 10
more "hot has the most" "$(of observed hot)" "$(of worker warm)"
expect_equal "samples where nobody was" "$(of observed warm) $(of worker hot) $(of child warm) $(of late hot)" "0 0 0 0"
expect_equal "in order of time" "$(lines out | sed 's/.*\] \.* *\([0-9.]*\): .*/\1/' | sort -nc 2>&1)" ""
expect_equal "as the header says" "$(sed -n 's/^# entries-in-buffer.*: \([0-9]*\)\/.*/\1/p' out)" "$(lines out | grep -c .)"
expect_equal "who called hot" "$(lines out | sed -n 's/.*: hot <-\(.*\)/\1/p' | grep -vx -e main -e child | sort -u)" ""
more "main did" "$(of observed 'hot <-main')" 50
hot=$(lines out | grep -c ': hot\( \|$\)')
run "$uft" report --no-pager --profile --sort calls rec.uft
expect_equal "by function" "$(awk '$NF == "hot" { print $1 }' out)" "$hot"

# ---- With all callers: of each sample of the child, through fork() and without a frame pointer in libc
run "$uft" record -q -p sysprof -T -o stacks.uft "$T" spin
run "$uft" report --no-pager stacks.uft
expect_equal "a stack each" "$(lines out | grep -c ': <stack trace>$')" "$(lines out | grep -c '\] \.\.\.\.\. .*: [^<]')"
awk '/: <stack trace>$/ { on = /child-/; if (on) print line; line = "" } /^ => / && on { line = line " " $2 } END { print line }' out >stacks
more "stacks of the child in hot" "$(grep -c '^ hot child run_child main __libc_start_call_main ' stacks)" 10

# ---- Ten times as seldom; not followed; only one of two
run "$uft" record -q -p sysprof --sample-period 10ms -o seldom.uft "$T" spin
run "$uft" report --no-pager seldom.uft
more "all 10 ms, some" "$(of observed hot)" 5
more "but fewer" "$hot" "$((2 * $(lines out | grep -c ': hot\( \|$\)')))"
run "$uft" record -q -p sysprof --no-children -o alone.uft "$T" spin
run "$uft" report --no-pager alone.uft
more "its threads" "$(of worker warm)" 10
expect_equal "no child" "$(of child hot) $(of late warm)" "0 0"
run "$uft" record -p sysprof -l main true
expect_status 2
expect_err "--filter is for tracers of functions, not for sysprof"
run "$uft" record -p function --sample-period 1ms true
expect_status 2
expect_err "--sample-period is for the tracer sysprof, not for function"

# ---- What the kernel had no room for while we could not take it is said, and counted. Some sixty samples with their stacks fill a
# ring, and a machine that gives its CPUs to others takes a third of the samples or less: so they are asked for often.
run "$uft" record -p sysprof --sample-period 100us -T -o lost.uft "$T" stopped
expect_status 0
expect_err "they are counted as lost; a longer sample period takes less"
run "$uft" report --no-pager lost.uft
more "lost" "$(sed -n 's/.*\[LOST \([0-9]*\) EVENTS\].*/\1/p' out | awk '{ n += $1 } END { print n + 0 }')" 50
more "and then some" "$(of observed hot)" 50

# ---- Attached: the threads there are, children from then on; left, it goes on
"$T" forever & pid=$!
"$uft" record -q -p sysprof -o live.uft -P $pid & recorder=$!
sampled() { "$uft" report --no-pager live.uft >so_far && [ "$(of observed hot so_far)" -gt 10 ] && [ "$(of child hot so_far)" -gt 10 ]; }
eventually sampled
kill $recorder
wait $recorder
check
kill -0 $pid 2>/dev/null || fail "the program that was left does not live"
kill $pid
run "$uft" report --no-pager live.uft
more "attached: its main thread" "$(of observed hot)" 10
more "attached: its children" "$(of child hot)" 10

# ---- The tracing directory
in_shell 'cd /sys/kernel/tracing; cat sysprof_sample_period; echo sysprof >current_tracer; cat current_tracer; $T spin; cat trace >$TMP/trace
	echo 10 >sysprof_sample_period; cat sysprof_sample_period; echo x >sysprof_sample_period; echo status $?; echo 500 >sysprof_sample_period
	echo 0 >tracing_on; echo >trace; $T late; lines() { grep -vc "^#" trace; }; lines; echo 1 >tracing_on; $T late; cat trace >$TMP/on
	timeout 60 head -n 20 trace_pipe >$TMP/pipe; echo nop >current_tracer; $T late; lines; true'
expect_status 0
expect_equal "files" "$(tr '\n' ' ' <out)" "1000 sysprof 100 status 1 0 0 "
more "hot" "$(of observed hot trace)" 50
more "late" "$(of late warm on)" 10
expect_equal "nothing of before" "$(of observed hot on)" 0
more "trace_pipe" "$(lines pipe | grep -c ': [^ ]*\( <-.*\)\{0,1\}$')" 10

# ---- Another period, while a child runs that was forked and is no target: it is sampled on
in_shell 'cd /sys/kernel/tracing; echo sysprof >current_tracer; (while :; do :; done) & C=$!
	of() { for i in $(seq 400); do grep -q "bash-$C " trace && break; sleep 0.1; done; grep -c "bash-$C " trace; }
	[ $(of) -gt 0 ] && echo before; echo 2000 >sysprof_sample_period; echo >trace; [ $(of) -gt 0 ] && echo after; kill $C; true'
expect_equal "a child, with one period and another" "$(tr '\n' ' ' <out)" "before after "

# ---- function-fork: so is one that no list names, and which executes nothing
in_shell 'cd /sys/kernel/tracing; echo 1 >options/function-fork; echo $$ >set_ftrace_pid; echo sysprof >current_tracer; (while :; do :; done) & C=$!
	for i in $(seq 100); do grep -q "bash-$C " trace && break; sleep 0.1; done; grep -q "bash-$C " trace && echo kin; kill $C; true'
expect_equal "a child of who is listed" "$(tr '\n' ' ' <out)" "kin "

# ---- Where the kernel refuses
run "$T" deny "$uft" record -p sysprof -o no.uft "$T" late
[ "$status" -eq 77 ] || {
	expect_status 1
	expect_err "kernel.perf_event_paranoid is $(cat /proc/sys/kernel/perf_event_paranoid)"
	expect_err "CAP_PERFMON"
	expect_no_file no.uft
}

# ---- A user without rights: outside of the kernel only
if [ "$(id -u)" -eq 0 ] && [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -eq 2 ] && command -v setpriv >/dev/null; then
	mkdir -m 777 free && cp "$T" "$uft" free && chmod 755 "$tmp"
	run env -u XDG_RUNTIME_DIR setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all free/uft record -p sysprof -o free/rec.uft "free/$(basename "$T")" spin
	expect_status 0
	expect_err "time in the kernel is not sampled"
	run "$uft" report --no-pager free/rec.uft
	more "without rights, hot" "$(of observed hot)" 50

	# What may be locked for a user is taken by one recording: another is refused for that
	run_free() { env -u XDG_RUNTIME_DIR setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all sh -c 'ulimit -l 0; exec "$@"' sh free/uft record -p sysprof "$@"; }
	mkfifo go && chmod 666 go
	run_free -o free/first.uft sh -c 'echo >go; read -r x <go' 2>first &
	read -r x <go
	run run_free -o free/second.uft true
	expect_status 1
	expect_err "kernel.perf_event_mlock_kb"
	echo >go
	wait $!
fi
