#!/bin/bash
# SPDX-License-Identifier: MIT
# watchdog.sh - a program with damaged stubs and sites goes on untraced, and its own faults stay its own
. "$(dirname "$0")/../../lib/common.sh"
need gcc python3

build() {
	# shellcheck disable=SC2086
	gcc -D_GNU_SOURCE -O2 -w -pthread $1 -o victim "$top/tests/func/debug/victim.c" || exit 1
}

# same CASE TRACER: under the watchdog it says and returns what it does untraced.
same() {
	rm -f x.uft x.uft.fault
	want=$(./victim "$1" 2>/dev/null)
	want_status=$?
	run timeout 60 "$uft" record -q --watchdog -p "${2:-function_graph}" -o x.uft ./victim "$1"
	expect_status "$want_status"
	expect_equal "output of $1" "$(cat out)" "$want"
}

# reports CASE TEXT: the same, and there is a report that says TEXT and that all is well again.
reports() {
	same "$1"
	expect_file x.uft.fault
	for text in "$2" "  put back: all " "function                     $3" "as found"; do
		check
		grep -qF -e "$text" x.uft.fault || { fail "$1: the report lacks '$text'"; cat x.uft.fault; }
	done
	expect_err "was put back as it was"
	check
	"$uft" report --no-pager x.uft | grep -q "|.*()" || fail "$1: nothing of what came before was recorded"
}

silent() {
	same "$1" "${2:-function_graph}"
	expect_no_file x.uft.fault
}

for mode in -fpatchable-function-entry=5 "-pg -mfentry -no-pie" "-fpatchable-function-entry=5 -static"; do
	build "$mode"
	reports stub10 "SIGILL in a stub of uft" leaf
	case $mode in *static) continue ;; esac
	reports stub0 "SIGILL in a stub of uft" leaf
	reports stub5 "SIGILL in a stub of uft" leaf
	reports return "SIGILL in a stub of uft" outer
	reports site-ud2 "SIGILL at a function entry that uft changed" leaf
done
build -fpatchable-function-entry=5
reports site-int3 "SIGTRAP at a function entry" leaf
reports thread "SIGILL in a stub" leaf
reports child "SIGILL in a stub" leaf
reports exec "SIGILL in a stub" leaf
silent own
silent own function
silent crash
silent eintr
silent stop

# The process that became the recorder had a child, which has ended and is not reaped.
bereaved='import os, sys
if not os.fork():
    os._exit(0)
os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
os.execv(sys.argv[1], sys.argv[1:])'
want=$(./victim own)
want_status=$?
run timeout 60 python3 -c "$bereaved" "$uft" record -q --watchdog -p function_graph -o x.uft ./victim own
expect_status $want_status
expect_equal "output of own, below a recorder with a child" "$(cat out)" "$want"
# Nor does it keep the recorder from sleeping. A few hundred times a second it is awake for itself, when it was woken by this ten thousands.
cat >awake.py <<'END'
import os, sys, time
start, pid = time.monotonic(), os.fork()
if not pid:
    os.execvp('python3', ['python3', '-c'] + sys.argv[1:])
_, status, used = os.wait4(pid, 0)
rate = used.ru_nvcsw / (time.monotonic() - start)
print(status, rate < 4000 or 'woken %d times a second' % rate)
END
run timeout 60 python3 awake.py "$bereaved" "$uft" record -q --watchdog -p function_graph -o x.uft sleep 1.5
expect_equal "below a recorder with a child that sleeps" "$(cat out)" "0 True"

# Unprepared code: slots and moved instructions instead of stubs at the entries.
build ""
reports moved "SIGILL in instructions that uft moved" leaf
reports stub0 "SIGILL in instructions that uft moved" leaf
reports site-ud2 "SIGILL at a function entry that uft changed" leaf
for fault in null:SIGSEGV bus:SIGBUS; do
	reports ${fault%:*} "${fault#*:} in instructions that uft moved" look_at
	check
	grep -qF "the signal is the program's" x.uft.fault || fail "$fault: $(tail -n 2 x.uft.fault)"
done
silent own
silent crash

build -fpatchable-function-entry=5
# There is nowhere to go on: the program ends as it would, after a report.
run timeout 60 "$uft" record -q --watchdog -o x.uft ./victim stray
expect_status 139
expect_out jumping
expect_file x.uft.fault
check
grep -qF "SIGSEGV in or behind memory of uft" x.uft.fault || fail "stray: $(head -n 1 x.uft.fault)"
check
grep -qF "the signal is the program's" x.uft.fault || fail "stray: $(tail -n 3 x.uft.fault)"

# Without the watchdog the damage is deadly, or reaches the program's handler: else this tests nothing.
run timeout 60 "$uft" record -q -o y.uft ./victim site-ud2
expect_status 132
expect_no_file y.uft.fault
