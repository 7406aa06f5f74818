#!/bin/sh
# SPDX-License-Identifier: MIT
# usage.sh - wrong usage: one line on stderr with the nearest name, nothing on stdout, exit status 2
. "$(dirname "$0")/../../lib/common.sh"

# refused TEXT ARGS...
refused() {
	text=$1
	shift
	run "$uft" "$@"
	expect_status 2
	expect_no_out
	expect_err "$text"
	expect_err_lines 1
}

refused "no command 'recrod'; did you mean 'record'" recrod
refused "no command 'repot'; did you mean 'report'" repot
refused "no command 'replay': here it is uft report (uft help" replay
refused "no command 'live': here it is uft top PID" help live
refused "no option '--versoin'" --versoin
refused "no command 'nonsense'" help nonsense

refused "unknown option '--tracr'; did you mean '--tracer'" record --tracr function ./prog
refused "uft export -o OUT FILE" record -o - true
[ ! -e ./- ] || fail "uft record -o - left a file named -"
refused "no TRACER 'function_grph'; did you mean 'function_graph'" record -p function_grph ./prog
refused "no TRACER 'timerlat' (see uft record --help)" record -p timerlat ./prog
refused "a process is named by \`uft attach 1200,1204\` or \`uft record -P 1200,1204\`" record -p 1200,1204
refused "a process is named by \`uft attach 1200\`" attach -p 1200
refused "no program given: name it last; an option may have taken it" record
refused "no program given: name it last; an option may have taken it" record -g ls
refused "no program given: name it last; an option may have taken it" record -p function
refused "no process is named" attach
refused "no process is named" detach
refused "'--help' takes no value" record --help=x
refused "-p needs TRACER" record -p
refused "--max-depth: 'deep' is not a number" record --max-depth deep ./prog
refused "--thresh: 'x' is not a time" record --thresh x ./prog
refused "--buffer: '1Q' is not a size" record -b 1Q ./prog
refused "--buffer: '0' is a size of zero" record -b 0 ./prog
refused "--buffer-max: 1024 KB is less than --buffer" record -b 4M --buffer-max 1M ./prog
refused "--buffer-max: with --flight rings keep their size" record --flight --buffer-max 64M ./prog
refused "--option: there is no option 'funcgraph-prc'; did you mean 'funcgraph-proc'" record -O funcgraph-prc ./prog
refused "--option: there is no option 'nofuncgraph-tial'; did you mean 'funcgraph-tail'" report -O nofuncgraph-tial
refused "--max-depth is for the tracer function_graph" record -p function --max-depth 3 ./prog
refused "--thresh is for the tracer function_graph" record -p profile --thresh 3 ./prog
refused "--graph is for the tracer function_graph" record -p function -g main ./prog
refused "--stacktrace is for kmemtrace, blk, sysprof, the tracers of latencies and events (-e), not for initcall" record -p initcall --stacktrace ./prog
refused "not a level from 1 to 19" record -z 20 ./prog
refused "--func-stack: uft records stacks on x86-64 only" record -p function --func-stack --emulator qemu-aarch64 ./prog

refused "unknown option '--profil'; did you mean '--profile'" report --profil
refused "no KEY 'totl'; did you mean 'total'" report --sort totl
refused "is not a range" report -r 5
refused "ends before it begins" report --from 2 --to 1
refused "one file at a time, not also 'b'" report a b
refused "--cpu: 'x' is not a list of numbers" report --cpu x
refused "one file at a time" stat a b
refused "one file at a time, not also 'b'" report -i a b
refused "one file at a time, not also 'b'" stat -i a b
refused "one recording at a time, not also 'b'" export -o x.dat -i a b
refused "no output file given: -o FILE" export
refused "does not say which format" export -o x.unknown
refused "no FORMAT 'nonsense'" export -f nonsense -o x
echo recording >r.uft
refused "'r.uft' is the recording itself" export -f "$("$uft" export --list-options | sed -n 's/^--format.*	\([^ ]*\).*/\1/p')" -o r.uft r.uft
refused "one recording at a time" export -o x.dat a b

# No command at all: the table, on stderr.
run "$uft"
expect_status 2
expect_no_out
expect_err "usage: uft COMMAND"

run "$uft" help
expect_status 0
expect_no_err
for command in $("$uft" --list-commands); do
	expect_out "  $command "
done
run "$uft" --version
expect_status 0
check
grep -qx 'uft [0-9]*\.[0-9]*\.[0-9]*' out || fail "--version printed $(cat out)"

# An answer that cannot be written is a failure.
if [ -w /dev/full ]; then
	status=0
	"$uft" help >/dev/full 2>err || status=$?
	ran="uft help >/dev/full"
	: >out
	expect_status 1
	expect_err "cannot write to standard output"
fi

# ---- A name that is not found, and where the user may have meant another
echo text >text.txt
run "$uft" record text.txt
expect_status 127
expect_err "the file here is ./text.txt"
run "$uft" report -
expect_err "a recording is not read from standard input"
run "$uft" set
expect_status 2
expect_err "nothing to set: give at least one option"
run "$uft" record -e sched:nosuch true
expect_status 2
expect_err "there is no event 'sched:nosuch'"
run "$uft" record -e shop:nosuch -o events.uft true
expect_status 0
expect_err "no traced program or library declares an event 'shop:nosuch'"
run "$uft" report -F 'nosuch*' events.uft
expect_err "the recording has no events: nothing can be selected"
run "$uft" record -e sched:sched_process_exit -f 'prio >' true
expect_status 2
expect_equal "a filter's caret is below it" "$(sed -n '2p; 3s/\^.*/^/p' err)" "    prio >
           ^"
