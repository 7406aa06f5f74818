#!/bin/sh
# SPDX-License-Identifier: MIT
# events.sh TARGET - events/sched in the tracing directory: all switches, filters, instances, tasks; trace-cmd records and lists them
. "$(dirname "$0")/../../lib/common.sh"
. "$(dirname "$0")/../../lib/shell.sh"
export TMP="$tmp"
"$uft" record -q -e sched -o may.uft true 2>may || skip "$(cat may)"

# Each act is a process of its own that ends before its trace is read: its events are there then.
in_shell 'cd /sys/kernel/tracing; E=events/sched
	look() { cat set_event; cat events/enable $E/enable $E/sched_process_exit/enable; }
	look; echo sched:sched_process_exit >set_event; look; echo "sched_process_fork :*_exec" >>set_event; look
	echo "!sched_process_exit" >>set_event; look; echo 1 >$E/enable; look; echo 0 >$E/sched_process_fork/enable; look; >set_event; look
	echo "sched:sched_process_exit nosuch" >set_event; echo $?; look'
expect_equal "switched" "$(tr '\n' ' ' <out)" "0 0 0 sched:sched_process_exit X X 1 sched:sched_process_exec sched:sched_process_exit sched:sched_process_fork 1 1 1 \
sched:sched_process_exec sched:sched_process_fork X X 0 sched:sched_process_exec sched:sched_process_exit sched:sched_process_fork 1 1 1 \
sched:sched_process_exec sched:sched_process_exit X X 1 0 0 0 1 sched:sched_process_exit X X 1 "

# exits FILE: the names of those that ended there
cat >lib <<'end'
exits() { sed -n "s/.*sched_process_exit: comm=\([^ ]*\) .*/\1/p" $1 | tr "\n" " "; }
kinds() { grep -o "sched_process_[a-z]*" $1 | sort -u | tr "\n" " "; }
end
in_shell '. $TMP/lib; cd /sys/kernel/tracing; X=events/sched/sched_process_exit; cp /bin/true $TMP/one; cp /bin/true $TMP/two
	echo 1 >$X/enable; echo "comm == \"one\"" >$X/filter; $TMP/one; $TMP/two; exits trace; echo
	echo >trace; echo "comm ~ \"t*o\"" >$X/filter; $TMP/one; $TMP/two; exits trace; echo
	echo >trace; echo "comm == \"one\" || comm == \"two\" && prio < 0" >$X/filter; $TMP/one; $TMP/two; exits trace; echo
	echo >trace; echo "!(comm != \"two\")" >$X/filter; $TMP/one; $TMP/two; exits trace; echo
	echo >trace; echo "comm == \"one\" && common_flags == 256" >$X/filter; $TMP/one; $TMP/two; exits trace; echo "comm != \"one\" && common_flags != 256 || comm == \"two\"" >$X/filter
	mkdir instances/a; echo "comm == \"one\"" >instances/a/$X/filter; echo 1 >instances/a/events/sched/sched_process_exit/enable
	echo >trace; $TMP/one; $TMP/two; exits trace; exits instances/a/trace; echo
	echo 0 >$X/enable; echo >trace; echo >instances/a/trace; $TMP/one; $TMP/two; exits trace; exits instances/a/trace; echo
	echo 0 >instances/a/tracing_on; echo >instances/a/trace; $TMP/one; exits instances/a/trace; echo 1 >instances/a/tracing_on; $TMP/one; exits instances/a/trace; echo
	rmdir instances/a; echo 1 >$X/enable; echo function >current_tracer; echo >trace; $TMP/one; $TMP/two; kinds trace; exits trace; echo'
expect_no_err
expect_equal "filters" "$(cat out)" "one 
two 
one 
two 
one two one 
one 
one 
sched_process_exit two "

# ---- An instance that has events alone asks nothing of what is on in another, and shows nothing of it
in_shell '. $TMP/lib; cd /sys/kernel/tracing; mkdir instances/a; echo 1 >instances/a/events/sched/enable
	lines() { grep -v "^#" $1/trace; }
	echo kmemtrace >current_tracer; echo >trace; /bin/ls / >/dev/null; lines . | grep -q malloc && echo its calls; lines . | grep -c sched_process
	lines instances/a | grep -vc sched_process; kinds instances/a/trace; echo
	echo function >current_tracer; echo 0 >tracing_on; echo >instances/a/trace; /bin/true; lines instances/a | grep -vc sched_process; kinds instances/a/trace; echo; echo 1 >tracing_on
	echo 1 >options/function-fork; echo $$ >set_ftrace_pid; echo >trace; ( : ); wait
	lines . | sed -n "s/^ *[^ ]*-\([0-9]*\) .*/\1/p" | grep -qvx $$ && echo children'
expect_no_err
expect_equal "an instance with events alone" "$(cat out)" "its calls
0
0
sched_process_exec sched_process_exit sched_process_fork 
0
sched_process_exec sched_process_exit sched_process_fork 
children"

# ---- Of some tasks: the shell makes others; those are none of them, but its children are if they are listed
in_shell '. $TMP/lib; cd /sys/kernel/tracing; echo 1 >events/sched/enable; cat set_event_pid set_event_notrace_pid; echo $$ >set_event_pid; cat set_event_pid
	echo >trace; /bin/true; kinds trace; echo; echo >set_event_pid; cat set_event_pid; echo $$ >set_event_notrace_pid; echo >trace; /bin/true; kinds trace; echo'
expect_equal "of one task, of all others" "$(sed 1d out)" "sched_process_fork 
sched_process_exec sched_process_exit "

# ---- Tools
if has "trace-cmd" trace-cmd; then
	in_shell 'cd $TMP; trace-cmd list -e; trace-cmd record -e sched -F sh recorded /bin/sh -c "/bin/true; exit 3" >/dev/null 2>&1; trace-cmd report 2>/dev/null >theirs'
	expect_equal "trace-cmd list -e" "$(cat out)" "sched:sched_process_exec
sched:sched_process_exit
sched:sched_process_fork"
	expect_equal "trace-cmd record -e sched" "$(grep -c -e 'sched_process_exec: *filename=/bin/sh pid=' -e 'sched_process_exit: *comm=sh pid=[0-9]* prio=[0-9]*$' theirs)" 2
fi
