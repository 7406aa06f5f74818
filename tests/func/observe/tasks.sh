#!/bin/sh
# SPDX-License-Identifier: MIT
# tasks.sh TARGET - the events sched_process_fork, _exec, _exit: each task once, also killed ones and untraced children, but none of the runtime; in
# time order with calls; as trace.dat
. "$(dirname "$0")/lib.sh"

head='^ *[a-z.<>]*-[0-9]* *\[[0-9]\{3\}\] \.\{5\} *[0-9]*\.[0-9]\{6\}: '
# What happened, a line each, without times: `exec PATH`, `fork`, `exit COMM`.
story() { lines "$1" | sed -n 's/.*sched_process_exec: filename=\([^ ]*\) .*/exec \1/p; s/.*sched_process_fork: .*/fork/p; s/.*sched_process_exit: comm=\([^ ]*\) .*/exit \1/p'; }
# Every task that was forked, and the first, ends once; and nobody else does.
paired() {
	grep -o 'child_pid=[0-9]*' "$1" | cut -d= -f2 | sort >forked
	sed -n 's/.*sched_process_exit: .* pid=\([0-9]*\) .*/\1/p' "$1" | sort >ended
	echo "$(uniq -d forked | grep -c .) $(uniq -d ended | grep -c .) $(comm -23 forked ended | grep -c .) $(comm -13 forked ended | grep -c .)"
}

# ---- A shell: a program, a subshell, one that is killed when it runs: it has opened the pipe
mkfifo pipe
run "$uft" record -q -e sched -o rec.uft /bin/sh -c '/bin/true; (exit 3); /bin/cat pipe & exec 9>pipe; kill -9 $!; wait; exit 5'
expect_status 5
expect_no_err
run "$uft" report --no-pager rec.uft
expect_equal "the tracer's name" "$(sed -n 1p out)" "# tracer: nop"
expect_equal "lines of another form" "$(lines out | grep -v \
	-e "$head"'sched_process_exec: filename=[a-z/]* pid=\([0-9]*\) old_pid=\1$' \
	-e "$head"'sched_process_fork: comm=\([a-z]*\) pid=[0-9]* child_comm=\1 child_pid=[0-9]*$' \
	-e "$head"'sched_process_exit: comm=[a-z]* pid=[0-9]* prio=[0-9]*$')" ""
expect_equal "the first" "$(story out | sed -n 1p)" "exec /bin/sh"
expect_equal "the last" "$(story out | sed -n '$p')" "exit sh"
expect_equal "programs" "$(story out | grep -c -e '^exec /bin/true$' -e '^exec /bin/cat$')" 2
expect_equal "a killed one ends" "$(story out | grep -c '^exit cat$')" 1
expect_equal "forked twice, ended twice, not ended, nobody's" "$(paired out)" "0 0 0 1"
expect_equal "its name is the new program's" "$(lines out | grep -c '^ *true-.* sched_process_exec: filename=/bin/true ')" 1
expect_equal "the runtime's" "$(grep -c uft-agent out)" 0
expect_equal "out of order" "$(lines out | sed 's/.*\] \.\{5\} *\([0-9.]*\): .*/\1/' | sort -cn 2>&1)" ""
expect_equal "counted" "$(sed -n 's/^# entries-in-buffer.*: \([0-9]*\)\/.*/\1/p' out)" "$(lines out | grep -c .)"
run "$uft" report --no-pager -O fields rec.uft
expect_equal "fields" "$(lines out | grep -c 'sched_process_exit: comm=sh pid=0x[0-9a-f]* ([0-9]*) prio=0x[0-9a-f]* ([0-9]*)$')" 2
run "$uft" report --no-pager -O raw rec.uft
expect_equal "raw" "$(lines out | grep -c '^[0-9]* [0-9]* [0-9]* type: 30[347]$')" "$(lines out | grep -c .)"
run "$uft" export -f trace.dat -o rec.dat rec.uft
expect_status 0
if command -v trace-cmd >/dev/null 2>&1; then
	trace-cmd report rec.dat 2>err | sed -n 's/^ *\([^ ]*\) *\[[0-9]*\] *[0-9.]*: \(sched_process_[a-z]*\): */\1 \2 /p' >theirs
	"$uft" report --no-pager rec.uft | lines | sed 's/^ *\([^ ]*\) *\[[0-9]*\] \.\{5\} *[0-9.]*: \(sched_process_[a-z]*\): */\1 \2 /' >ours
	expect_equal "trace-cmd shows the same" "$(cut -d' ' -f2- ours | diff - theirs >/dev/null || cut -d' ' -f2- theirs | diff ours theirs | head -n 4)" ""
fi

# ---- Threads; only what was asked for
run "$uft" record -q -e sched_process_exit -e '*:*_fork' -o threads.uft "$T" sleep
expect_status 0
run "$uft" report --no-pager threads.uft
expect_equal "a thread" "$(story out | tr '\n' ' ')" "fork exit sleeper exit observed "

# ---- Children by the hundred, all alive at once
run "$uft" record -q -e sched -o many.uft "$T" many
expect_status 0
expect_no_err
run "$uft" report --no-pager many.uft
expect_equal "children by the hundred" "$(story out | grep -c '^fork$') $(paired out)" "200 0 0 0 1"

# ---- Several execute at once, and leave their CPU in that: each program once, whichever becomes a target first
run "$uft" record -q -p sched_switch -e sched_process_exec -o at-once.uft /bin/sh -c 'for i in 1 2 3 4 5; do /bin/true & /bin/true | /bin/cat | /bin/cat & env true & (exec env true) & wait; done'
expect_status 0
run "$uft" report --no-pager at-once.uft
expect_equal "programs that begin at once" "$(grep -c ' sched_process_exec: ' out)" 41

# ---- Not followed: none of theirs
run "$uft" record -q --no-children -e sched -o alone.uft /bin/sh -c '/bin/true; exit 0'
expect_status 0
run "$uft" report --no-pager alone.uft
expect_equal "without children" "$(story out | tr '\n' ' ')" "exec /bin/sh exit sh "

# ---- Beside calls: between them, and what the runtime makes in a child that has calls is none of the program's
if [ "$(uname -m)" = x86_64 ]; then
	run "$uft" record -q -p function_graph -l main -l worker -l hot -l warm -e all -o beside.uft "$T" spin
	expect_status 0
	run "$uft" report --no-pager beside.uft
	expect_equal "beside calls" "$(sed -n 's,.*/\* sched_process_\([a-z]*\): \(filename=.*/\|comm=\)\([a-z]*\) .*,\1 \3,p' out | tr '\n' ' ')" \
		"exec observed fork observed exit worker fork observed exit child fork observed exec observed exit late exit observed "
	expect_equal "as comments" "$(grep sched_process out | grep -vc '/\* sched_process_[a-z]*: .* \*/$')" 0
	expect_equal "all of it" "$(paired out)" "0 0 0 1"
	# Forty agents that begin at once: each subshell has calls
	if has "many agents" bash; then
		run "$uft" record -q -p function -e sched -o agents.uft bash -c 'for i in {1..40}; do (x=$i; : $x; exit 0) & done; wait'
		expect_status 0
		run "$uft" report --no-pager agents.uft
		expect_equal "beside the calls of many children" "$(story out | grep -c '^fork$') $(paired out)" "40 0 0 0 1"
		expect_equal "tasks with calls" "$(lines out | grep -v sched_process_ | sed 's/ *\[.*//' | sort -u | grep -c .)" 41
	fi
	run "$uft" report --no-pager beside.uft
	expect_equal "main() is between its program's exec and end" "$(grep -e ' main() {' -e 'exec:' -e 'exit: comm=observed' out | sed -n '1s/.*_exec:.*/exec/p; 2s/.*main().*/main/p; $s/.*_exit:.*/exit/p' | tr '\n' ' ')" "exec main exit "
else
	echo "SKIPPED: beside calls: the program has them on x86_64"
fi

# ---- What cannot be
run "$uft" record -e nosuch true
expect_status 2
expect_err "--event: there is no event 'nosuch': uft list -e shows all; for a library that the program loads later, write SYSTEM:EVENT or 'SYSTEM:*'"
run "$uft" list -e
expect_equal "listed" "$(cat out)" "sched:sched_process_exec
sched:sched_process_exit
sched:sched_process_fork"
run "$T" deny "$uft" record -e sched true
expect_status 1
expect_err "the kernel does not report what threads do"
