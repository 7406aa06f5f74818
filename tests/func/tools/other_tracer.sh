#!/bin/sh
# SPDX-License-Identifier: MIT
# other_tracer.sh PROGRAM LATE LIBRARY - a program that has another ptracer is followed, in uft shell and by uft record, with its given environment;
# if it cannot be followed, one line tells why
. "$(dirname "$0")/../../lib/common.sh"
. "$(dirname "$0")/../../lib/shell.sh"

program=$1
late=$2
library=$3
cp "$program" ./prog
cat >env.sh <<'end'
env | grep -c 'LD_PRELOAD=\|UFT_ARENA='
end
# traced NAME: does the file "traced" have main() of that program?
traced() {
	grep -q "$1-.*: main <-" traced || { fail "$2"; tail -n 5 traced; show; }
}

if has "a program of strace" strace; then
	# ---- strace has the shell that it starts, and what that executes, too
	in_shell 'cd /sys/kernel/tracing; echo function > current_tracer; echo ":mod:prog" > set_ftrace_filter
		strace -f -o '"$tmp"'/calls sh -c "'"$tmp"'/prog; exec sh '"$tmp"'/env.sh"; cat trace > '"$tmp"'/traced'
	traced prog "the program of strace is not followed"
	expect_equal "its environment" "$(cat out)" 0
	grep -q 'execve(.*/prog' calls || fail "strace does not show the exec"

	# ---- A library of the user's own stays in it, and an empty environment stays empty
	in_shell 'export LD_PRELOAD=libm.so.6; strace -o /dev/null sh -c "echo \$LD_PRELOAD"; strace -o /dev/null env -i /usr/bin/env; echo $?'
	expect_equal "the user's LD_PRELOAD, and none" "$(tr '\n' ' ' <out)" "libm.so.6 0 "

	# ---- An exec that fails, and the next one
	cp prog none
	chmod -x none
	in_shell 'cd /sys/kernel/tracing; echo function > current_tracer; echo ":mod:prog" > set_ftrace_filter; cd '"$tmp"'
		strace -f -o /dev/null bash -c "./none; shopt -s execfail; exec ./none; exec ./prog"; cat /sys/kernel/tracing/trace > traced'
	traced prog "not followed after an exec that failed"

	# ---- uft record follows it as uft shell does
	for how in "./prog" "-f sh -c ./prog"; do
		# shellcheck disable=SC2086
		run "$uft" record -q -p function_graph -l :mod:prog -o rec.uft strace -o /dev/null $how
		expect_equal "uft record strace $how: what is said" "$(cat err)" ""
		expect_equal "uft record strace $how: main" "$("$uft" report rec.uft | grep -c '|  main() {')" 1
	done

	# ---- What cannot be followed runs, and one line says so
	printf '%s\n' 'int main(void) { return 3; }' >small.c
	cc -static small.c -o static 2>/dev/null || { echo "SKIPPED: a static program: cannot be linked here"; rm -f static; }
	cc small.c -Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1 -o other || fail "cannot link a program for another loader"
	if [ -x static ]; then
		in_shell 'strace -o /dev/null ./static; echo $?'
		expect_equal "a static program's status" "$(cat out)" 3
		expect_equal "a static program is said" "$(grep -c 'static: strace (process [0-9]*) traces it, .*: it is linked statically' err)" 1
	fi
	in_shell 'strace -o /dev/null ./other; true'
	expect_equal "another loader is said" "$(grep -c 'other: strace .* traces it, .*: its loader /lib/ld-musl-x86_64.so.1 is not glibc' err)" 1

	# ---- The session ends, or is killed: the program goes on and ends as ever
	cat >left.sh <<end
cd /sys/kernel/tracing
echo function_graph > current_tracer
{ strace -o /dev/null $late $library $tmp/stop >$tmp/late.out; echo \$? >$tmp/status.new; mv $tmp/status.new $tmp/status; } &
for i in \$(seq 600); do grep -q late_work trace && break; sleep 0.1; done
[ \$1 = ends ] || kill -9 \$PPID
end
	for how in ends killed; do
		rm -f stop status
		run timeout 250 "$uft" shell -c "exec bash $tmp/left.sh $how"
		touch stop
		eventually [ -e status ] || fail "session $how: the program does not end"
		expect_equal "session $how: the program's status and last line" "$(cat status) $(tail -n 1 late.out)" "0 end"
	done
fi

if has "a program of gdb" gdb; then
	# ---- gdb has a breakpoint in the loader: libraries that come later are found all the same
	rm -f stop
	in_shell 'cd /sys/kernel/tracing; echo function > current_tracer; cd '"$tmp"'
		echo ":mod:$(basename '"$library"')" > /sys/kernel/tracing/set_ftrace_filter
		gdb -q -nx -batch -ex run --args '"$late $library $tmp"'/stop >gdb.out 2>&1 &
		for i in $(seq 600); do grep -q "late_work <-" /sys/kernel/tracing/trace && break; sleep 0.1; done
		cat /sys/kernel/tracing/trace >traced; touch stop; wait'
	grep -q 'late_work <-main' traced || { fail "a library that is loaded under gdb is not traced"; tail -n 5 traced gdb.out; show; }
	grep -q 'exited normally' gdb.out || { fail "the program does not end as ever"; cat gdb.out; }
	expect_equal "warnings" "$(cat err)" ""
fi

# ---- trace-cmd has the program for its map
if has "trace-cmd record --proc-map" trace-cmd; then
	in_shell "cd $tmp; trace-cmd record -q --proc-map -p function -l :mod:prog -o map.dat -F sh recorded ./prog >/dev/null"
	expect_status 0
	trace-cmd report -i map.dat >report 2>/dev/null
	grep -q 'prog-.*function: *main' report || { fail "trace-cmd --proc-map: the program is not followed"; tail -n 5 report; show; }
fi
check
