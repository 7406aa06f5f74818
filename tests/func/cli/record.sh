#!/bin/sh
# SPDX-License-Identifier: MIT
# record.sh - uft record: exact counts, an undisturbed program, a readable file after every kind of end
. "$(dirname "$0")/../../lib/common.sh"

cp "$top/tests/func/cli/prog.c" .
build_traced prog

# ---- counts, tracers, filters ----
run "$uft" record ./prog calls 1000
expect_status 0
expect_no_out
expect_err_lines 1
expect_err "events in trace.uft"
expect_err "0 lost"
# main, calls, and 1000 times outer and work.
expect_equal calls "$(stat_value trace.uft calls)" 2002
expect_equal lost "$(stat_value trace.uft lost)" 0
expect_equal complete "$(stat_value trace.uft complete)" yes
# The command line is kept as a shell takes it.
run "$uft" record -o quoted.uft ./prog calls 1 '' 'a b' "it's"
expect_equal "the command line" "$(stat_value quoted.uft cmdline)" "./prog calls 1 '' 'a b' 'it'\\''s'"
run "$uft" report
expect_status 0
expect_no_err
expect_out "# tracer: function_graph"
expect_equal "calls of work in the text" "$(grep -c 'work();' out)" 1000
run "$uft" report --profile
expect_status 0
expect_out work

run "$uft" record -q -p function -l 'wor?' ./prog calls 500
expect_status 0
expect_no_err
expect_equal "events of one function" "$(stat_value trace.uft calls)" 500
run "$uft" report
expect_out "# tracer: function"
expect_equal "work and its caller" "$(grep -c 'work <-outer' out)" 500

run "$uft" record -q -n work -l '*:mod:prog' ./prog calls 500
expect_equal "all but work" "$(stat_value trace.uft calls)" 502
run "$uft" record -q -g outer ./prog calls 500
expect_equal "only below outer" "$(stat_value trace.uft calls)" 1000
run "$uft" record -q -D 2 ./prog calls 500
expect_equal "two levels" "$(stat_value trace.uft calls)" 2
run "$uft" record -p profile ./prog calls 500
expect_status 0
expect_err " calls summed up in trace.uft"
run "$uft" report
check
grep -Eq '(^|[^0-9])500([^0-9].*)?work' out || { fail "the profile lacks 500 calls of work"; show; }
# A call that never returns is one nevertheless, as in the kernel's profile.
run "$uft" record -q -p profile ./prog signal 15
run "$uft" report
check
grep -Eq '^ +1 .* main$' out || { fail "the profile lacks main, which was killed"; show; }
run "$uft" record -q -p nop ./prog calls 500
expect_equal "nop records nothing" "$(stat_value trace.uft calls)" 0
run "$uft" record -q ./prog children 3
expect_equal "children are followed" "$(stat_value trace.uft calls)" 8
# Two recorders at once, and programs that make starts beside each other.
"$uft" record -q -o other.uft ./prog calls 5000 &
other=$!
run "$uft" record -q ./prog calls 5000
expect_status 0
wait $other
expect_equal "one of two recorders" "$(stat_value trace.uft calls)" 10002
expect_equal "the other one" "$(stat_value other.uft calls)" 10002
printf 'all: a b c d\na b c d:\n\t./prog calls 250\n' >Makefile
run "$uft" record -q -l 'work:mod:prog' make -s -j2
expect_status 0
expect_equal "below make -j2" "$(stat_value trace.uft calls) $(stat_value trace.uft lost)" "1000 0"
# In a pid namespace of its own: a program that is executed there, and a child.
if unshare -pf true 2>/dev/null; then
	run "$uft" record -q -l "*:mod:prog" unshare -pf ./prog calls 500
	expect_status 0
	expect_equal "in another pid namespace" "$(stat_value trace.uft calls)" 1002
	run "$uft" record -q -l "*:mod:prog" unshare -pf sh -c './prog children 3 & ./prog children 3; wait'
	expect_equal "children in another pid namespace" "$(stat_value trace.uft calls)" 16
	expect_no_err
fi
# Each ends before anybody can have looked at it.
for round in 1 2 3 4 5; do
	run "$uft" record -q ./prog children 20
	expect_equal "short children, round $round" "$(stat_value trace.uft calls)" 42
done
run "$uft" record -q --no-children ./prog children 3
expect_equal "children are left alone" "$(stat_value trace.uft calls)" 2

# A program that leaves a daemon: it is not waited for, or the wait is said.
daemon='sleep 300 >daemon.out 2>&1 & echo $!; exit 3'
for tracer in function function_graph; do
	run "$uft" record --no-wait -p $tracer -o daemon.uft sh -c "$daemon"
	expect_status 3
	pid=$(cat out)
	expect_equal "what is in the daemon that was left" "$(grep -c '/uft-[0-9]*/session' "/proc/$pid/maps")" 0
	check
	kill "$pid" || fail "the daemon did not go on"
done
"$uft" record -o daemon.uft sh -c "$daemon" >out 2>err &
record=$!
eventually grep -q 'the program has ended; waiting for process .* (sleep), which it started: --no-wait ends' err
check
kill "$(cat out)" || fail "the daemon has ended"
status=0
wait $record || status=$?
expect_status 3
expect_equal "what was said of the wait" "$(grep -c "waiting for process $(cat out) " err)" 1

# Code that may not be made writable, here (no-one's mprotect) and there (the program's).
${CC:-cc} -o nowx "$top/tests/func/build/nowx.c"
${CC:-cc} -O2 -o plain prog.c
if ./nowx /bin/true; then
	for tracer in function function_graph profile; do
		for program in ./prog ./plain; do
			run "$uft" record -q -p $tracer -l "work:mod:${program#./}" -o nowx.uft ./nowx $program calls 500
			expect_status 0
			expect_equal "calls of $program under W^X, $tracer" "$(stat_value nowx.uft calls) $(stat_value nowx.uft lost)" "500 0"
			run ./nowx "$uft" record -q -p $tracer -l work -o nowx.uft $program calls 500
			expect_status 0
			expect_equal "calls of $program, all under W^X, $tracer" "$(stat_value nowx.uft calls) $(stat_value nowx.uft lost)" "500 0"
		done
	done
fi

# ---- the program is as without us ----
for code in 0 1 2 77 255; do
	run "$uft" record -q ./prog exit "$code"
	expect_status "$code"
	expect_no_err
done
for signal in 6 9 11 15; do
	run "$uft" record -q ./prog signal "$signal"
	expect_status $((128 + signal))
	expect_equal "complete after signal $signal" "$(stat_value trace.uft complete)" yes
done
head -c 100000 /dev/urandom >data
status=0
"$uft" record -q ./prog copy - <data >out 2>err || status=$?
ran="uft record -q ./prog copy - <data"
expect_status 0
check
cmp -s data out || fail "what went through the program changed"
expect_equal "its error output" "$(cat err)" copied
PATH=$tmp:$PATH run "$uft" record -q prog exit 5
expect_status 5

# ---- the file ----
run "$uft" record -q -o a.uft ./prog calls 1
run "$uft" record -q -o a.uft ./prog calls 2
expect_equal "the new file" "$(stat_value a.uft calls)" 6
expect_equal "the one before" "$(stat_value a.uft.old calls)" 4
run "$uft" record -q -z 3 -o z.uft ./prog calls 20000
expect_equal "calls in a compressed file" "$(stat_value z.uft calls)" 40002
run "$uft" record -q -b 64 --flight -o flight.uft ./prog calls 20000
expect_status 0
check
[ "$(stat_value flight.uft calls)" -gt 100 ] || fail "the flight recorder kept nothing"
if command -v trace-cmd >/dev/null; then
	run "$uft" record -q -o t.dat ./prog calls 100
	expect_status 0
	expect_no_file t.dat.uft
	run trace-cmd report -i t.dat
	expect_equal "work in trace-cmd's report" "$(grep -c 'work()' out)" 100
fi
# A buffer that the recorder cannot empty in time: what is lost is counted, to the call. A lost end is none: lost_parts.
for tracer in function function_graph; do
	run "$uft" record -q -b 16K -p $tracer -o small.uft ./prog calls 500000
	expect_status 0
	calls=$(stat_value small.uft calls) lost=$(stat_value small.uft lost)
	check
	[ "$lost" -gt 0 ] || fail "nothing was lost in 16 KB"
	expect_equal "calls there and lost, $tracer" $((calls + lost)) 1000002
done
run "$uft" record -o /dev/full ./prog calls 1
expect_status 1
expect_err "cannot write /dev/full: it is a device, and a recording needs a file"
mkfifo pipe		# without a reader
run "$uft" record -o pipe ./prog calls 1
expect_status 1
expect_err "cannot write pipe: it is a pipe, and a recording needs a file"
expect_equal "the program has not run" "$(cat out)" ""

# ---- ends ----
has_calls() { [ "$(stat_value trace.uft calls)" -gt 100 ]; }
# in_background ARGS...: $pid; the program waits for file `go`, and some of its calls are in the file.
in_background() {
	rm -f go go.done
	: >ready
	# Under nohup SIGHUP would be ignored, for good, and the wait for its end would be one for ever.
	env --default-signal=HUP "$uft" record "$@" ./prog wait "$tmp/go" >ready 2>err &
	pid=$!
	eventually grep -q ready ready && eventually has_calls || { fail "the program did not start, or nothing is recorded"; cat err; }
}

# The program, left alone, must still do what it was to do.
program_goes_on() {
	touch go
	eventually [ -e go.done ]
	expect_file go.done
}

for signal in TERM HUP; do
	in_background -q
	kill -s "$signal" "$pid"
	status=0
	wait "$pid" || status=$?
	ran="uft record, ended by SIG$signal"
	: >out
	expect_status "$([ "$signal" = TERM ] && echo 143 || echo 129)"
	expect_equal "complete after SIG$signal" "$(stat_value trace.uft complete)" yes
	check
	[ "$(stat_value trace.uft calls)" -gt 100 ] || fail "nothing recorded before SIG$signal"
	program_goes_on
done

# Killed outright: what was written is there, the program goes on.
in_background -q
kill -s KILL "$pid"
wait "$pid" 2>/dev/null
run "$uft" report
expect_status 0
expect_out "work();"
expect_equal "complete after SIGKILL" "$(stat_value trace.uft complete)" no
program_goes_on

# Only who has calls for gprof is warned that they will be missing: gdb has its start-up code for its own profile command.
cat >monitor.c <<'END'
extern void monstartup(unsigned long, unsigned long), _mcleanup(void);
int main(int argc, char **argv) { (void)argv; if (argc > 1) { monstartup(0, 0); _mcleanup(); } return 0; }
END
${CC:-cc} -O1 -o monitor monitor.c
run "$uft" record -q -o monitor.uft ./monitor
expect_status 0
check
[ ! -s err ] || { fail "a program without calls for gprof is warned of"; show; }
