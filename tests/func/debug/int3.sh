#!/bin/bash
# SPDX-License-Identifier: MIT
# int3.sh - functions at whose entry no jump fits are recorded with --int3, every call once, from where a trap that nobody takes is deadly
. "$(dirname "$0")/../../lib/common.sh"

need gcc python3

here=$top/tests/func/debug
gcc -D_GNU_SOURCE -O2 -pthread -o tight "$here/tight.c" "$here/tight.S" || exit 1
./tight >want || exit 1

# hits FUNCTION: its calls in the text of the recording.
hits() {
	grep -cE "[ :]$1(\(\)| <-)" text
}

# They are what this is about: no jump fits, an int3 does.
run "$uft" sites -S tight
expect_equal "usable by int3" "$(grep -c 'usable by int3, with --int3\]' out)" 5
run "$uft" record -q -p function -o x.uft ./tight threads
"$uft" report --no-pager x.uft >text
expect_equal "next without --int3" "$(hits next)" 0

# 4 threads, all signals blocked, a child with our memory and all blocked, a fork child, an orphan: 8 times 20 rounds.
for tracer in function function_graph; do
	run timeout 120 "$uft" record -q --int3 -p $tracer -b 4M -o x.uft ./tight
	expect_status 0
	expect_err "warning: --int3:"
	expect_equal "$tracer: output" "$(cat out)" "$(cat want)"
	expect_no_file x.uft.fault
	"$uft" report --no-pager x.uft >text
	for f in same count onward forward nothing; do
		expect_equal "$tracer: calls of $f" "$(hits $f)" 160
	done
	expect_equal "$tracer: calls of next" "$(hits next)" 480
done

# Children that are not followed have the bytes too, and live.
run timeout 120 "$uft" record -q --int3 --no-children -p function -b 4M -o x.uft ./tight
expect_status 0
expect_equal "not followed: output" "$(cat out)" "$(cat want)"

# A SIGTRAP of the program's own is left alone.
run timeout 60 bash -c "trap '' TRAP; exec '$uft' record -q --int3 -p function -o x.uft ./tight threads"
expect_status 0
expect_err "handles or ignores SIGTRAP"
"$uft" report --no-pager x.uft >text
expect_equal "SIGTRAP ignored: next" "$(hits next)" 0
expect_equal "SIGTRAP ignored: forward" "$(hits forward)" 80

run "$uft" record --int3 --preload ./tight threads
expect_status 2
expect_err "--int3 needs ptrace"

# now FUNCTION PID: what stands at its entry in the process.
now() {
	"$uft" sites -S -l "$1" "$2" 2>/dev/null | awk '$1 ~ /^0x/ { print $5 }'
}

# wait_for WHAT COMMAND...: until it succeeds; the bound is for a machine that is stuck
wait_for() {
	what=$1
	shift
	for _ in $(seq 600); do
		"$@" && return
		sleep 0.1
	done
	fail "$what: waited in vain"
}

is_armed() { [ "$(now next "$1")" = armed:int3 ]; }
has_grown() { [ "$(stat -c %s hot.uft)" -gt "$1" ]; }
is_ready() { grep -q ready hot.out; }
# Both kinds are there, and then some more has come: each round of calls has all of them.
is_recorded() {
	[ "$(now forward "$1")" = armed:jmp ] && [ "$(stat -c %s hot.uft)" -gt "$2" ]
}

# Threads and young children that call all the while live on when their recorder goes, however that is told.
for how in end detach; do
	rm -f hot.uft hot.out
	./tight hot >hot.out &
	program=$!
	wait_for "the program" is_ready
	"$uft" attach -q --int3 -p function -b 4M -o hot.uft $program 2>attach.err &
	recorder=$!
	wait_for "$how: an int3" is_armed $program
	wait_for "$how: a jump" is_recorded $program 0
	wait_for "$how: calls" is_recorded $program $(($(stat -c %s hot.uft) + 30000))
	run "$uft" disas next $program
	expect_out "cc"
	if [ $how = end ]; then
		kill -TERM $recorder
	else
		run "$uft" detach $program
		expect_status 0
	fi
	wait $recorder
	expect_equal "$how: recorder" $? 0
	expect_equal "$how: the entry" "$(now next $program)" original
	expect_equal "$how: tracers" "$(grep -h TracerPid /proc/$program/task/*/status | grep -vc '	0$')" 0
	expect_left "$how" $program
	kill -TERM $program
	wait $program
	expect_equal "$how: the program" "$? $(tail -n 1 hot.out)" "0 hot 4"
	"$uft" report --no-pager hot.uft >text
	check
	[ "$(hits next)" -gt 0 ] || fail "$how: no call of next was recorded"
done

# Processes that share the memory, and threads that make each other, are seized before the first int3, and run on in the end.
# taken_by.py TASK: has it until its input ends.
cat >taken_by.py <<'END'
import ctypes, sys
ptrace = ctypes.CDLL(None, use_errno=True).ptrace
ptrace.argtypes = [ctypes.c_long] * 4
if ptrace(0x4206, int(sys.argv[1]), 0, 0):
    sys.exit("cannot seize: %d" % ctypes.get_errno())
print("taken", flush=True)
sys.stdin.read()
END

for free in yes no; do
	rm -f hot.uft hot.out taken.out gate
	./tight shared >hot.out &
	program=$!
	wait_for "the program" is_ready
	sharer=$(head -n 1 hot.out)
	if [ $free = no ]; then
		mkfifo gate
		python3 taken_by.py "$sharer" <gate >taken.out &
		exec 8>gate
		wait_for "another tracer" grep -q taken taken.out
	fi
	"$uft" attach -q --int3 -p function -b 4M -l next -o hot.uft $program 2>attach.err 8>&- &
	recorder=$!
	if [ $free = no ]; then
		wait_for "who cannot be had" grep -qF "its task $sharer is being traced by python3" attach.err
		expect_equal "not all are had: the entry" "$(now next $program)" original
		exec 8>&-
	fi
	wait_for "$free: an int3" is_armed $program
	wait_for "$free: calls" has_grown $(($(stat -c %s hot.uft) + 30000))
	expect_equal "the sharer's tracer" "$(awk '$1 == "TracerPid:" { print $2 }' "/proc/$sharer/status")" $recorder
	if [ $free = yes ]; then
		run "$uft" detach $program
		expect_status 0
	else
		kill -TERM $recorder
	fi
	wait $recorder
	expect_equal "$free: recorder" $? 0
	expect_equal "$free: the entry" "$(now next $program)" original
	expect_equal "$free: tracers" "$(grep -hs TracerPid "/proc/$sharer/status" /proc/$program/task/*/status | grep -vc '	0$')" 0
	kill -TERM $program
	wait $program
	expect_equal "$free: the program" "$? $(tail -n 1 hot.out)" "0 shared 0"
done

# A running session: what needs all tasks to stand is switched in programs whose tasks are the watchdog's.
cat >inside.sh <<'END'
./tight hot >hot.out &
program=$!
seen() { "$uft" sites -S -l "$1" $program 2>/dev/null | awk '$1 ~ /^0x/ { print $5 }'; }
until_so() { for _ in $(seq 600); do [ "$(eval "$1")" = "$2" ] && return; sleep 0.1; done; echo "waited in vain: $1 is $(eval "$1"), not $2"; }
until_so 'tail -n 1 hot.out' ready
"$uft" write set_ftrace_filter forward || echo "filter: $?"
"$uft" write current_tracer function || echo "tracer: $?"
until_so 'seen forward' armed:jmp
"$uft" write -a set_ftrace_filter next || echo "more: $?"
until_so 'seen next' armed:int3
until_so '"$uft" read trace | grep -c -m 1 "next <-forward"' 1
"$uft" write current_tracer nop
kill -TERM $program
wait $program
echo "$? $(tail -n 1 hot.out)"
END
export uft
run timeout 120 "$uft" shell --no-mount --int3 bash inside.sh
expect_status 0
expect_equal "in a session with --int3" "$(cat out)" "0 hot 4"
expect_err "--int3: if uft is killed"

# Installed programs: children made by fork and posix_spawn() with a file action, threads, shells.
cat >work.py <<'END'
import json, os, subprocess, threading
out = [subprocess.run(["/bin/echo", str(i)], capture_output=True, text=True).stdout for i in range(2)]
out.append(subprocess.run("exit 3", shell=True).returncode)
out.append(os.waitpid(os.posix_spawn("/bin/true", ["true"], {}, file_actions=[(os.POSIX_SPAWN_DUP2, 1, 5)]), 0)[1])
pid = os.fork()
if not pid:
    os._exit(len(json.dumps({"a": [1, 2]})))
out.append(os.waitpid(pid, 0)[1])
sums = []
threads = [threading.Thread(target=lambda k=k: sums.append(sum(x * x for x in range(100 * k)))) for k in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
print(out, sorted(sums))
END
python3 work.py >want
for objects in python3 '*:mod:libc.so.6'; do
	filter=()
	[ "$objects" = python3 ] || filter=(-l "$objects")
	run timeout 120 "$uft" record -q --int3 -p function "${filter[@]}" -o x.uft python3 work.py
	expect_status 0
	expect_equal "$objects: output" "$(cat out)" "$(cat want)"
	expect_no_file x.uft.fault
done
