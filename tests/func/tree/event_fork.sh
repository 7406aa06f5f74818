#!/bin/sh
# SPDX-License-Identifier: MIT
# event_fork.sh TARGET - options/event-fork: children of listed tasks are in set_event_pid and set_event_notrace_pid until they end; trace-cmd record
# -c
. "$(dirname "$0")/inside.sh"
"$uft" record -q -e sched -o may.uft true 2>may || skip "$(cat may)"

cat >lib <<'end'
E=events/sched X=$E/sched_process_exit/enable F=set_ftrace_filter
exits() { sed -n "s/.*sched_process_exit: comm=\(sh\|one\|two\|three\) .*/\1/p" $1 | tr "\n" " "; echo; }
listed() { n=0; while read p; do n=$((n + 1)); done <set_event_pid; echo $n; }
for n in one two three; do cp /bin/true $TMP/$n; done
end
mkfifo gate

# ---- Children, and theirs; with the option off nobody joins, and who is in it stays. As on a 6.12 kernel, which was asked the same.
inside '. $TMP/lib; cat options/event-fork; echo 1 >options/event-fork; echo 1 >$X
	sh -c "echo \$\$ >set_event_pid; $TMP/one; sh -c \"$TMP/two; true\"; echo 0 >options/event-fork; $TMP/three; true"; $TMP/three; exits trace
	grep -c . set_event_pid; echo >trace; $TMP/one; exits trace; echo >set_event_pid; $TMP/two; exits trace
	echo 1 >options/event-fork; echo >trace; sh -c "echo \$\$ >set_event_notrace_pid; $TMP/one; sh -c \"$TMP/two; true\""; $TMP/three; exits trace; cat set_event_notrace_pid'
expect_no_err
expect_equal "children" "$(cat out)" "0
one two sh sh 
1

two 
three "

# ---- What the list shows; who is made while no event is on; many at once, and more than there is room for by then; the list written anew is that, and more of it is more
inside '. $TMP/lib; echo 1 >options/event-fork; export TMP
	cat >$TMP/in <<"end"
	. $TMP/lib 2>/dev/null; echo $$ >set_event_pid; sh -c "read go <$TMP/gate; exec $TMP/one" & listed; echo 1 >$X; echo >$TMP/gate; wait; listed
	for i in $(seq 40); do $TMP/two & done; wait; for i in $(seq 200); do $TMP/two; done; sleep 100 & listed; echo 999999 >>set_event_pid; listed; echo $$ >set_event_pid; listed; kill $!
end
	sh $TMP/in; for n in one two sh; do grep -c "sched_process_exit: comm=$n " trace; done'
expect_equal "listed" "$(tr '\n' ' ' <out)" "2 1 2 3 1 1 240 1 "

# ---- Beside functions that switch the event; in an instance alone
inside '. $TMP/lib; export T; $T 1; echo 1 >options/event-fork; echo lonely:enable_event:sched:sched_process_fork >>$F
	sh -c "echo \$\$ >set_event_pid; $T 5 forks; true"; $T 5 forks; grep -c "sched_process_fork: comm=tree-target" trace; echo >$F; echo "!*:enable_event:sched:sched_process_fork" >>$F; echo 0 >options/event-fork
	echo >set_event_pid; mkdir instances/a; echo 1 >instances/a/options/event-fork; echo 1 >$X; echo 1 >instances/a/$X; echo >trace
	sh -c "echo \$\$ >instances/a/set_event_pid; $TMP/one; true"; $TMP/two; exits trace; exits instances/a/trace; rmdir instances/a'
expect_no_err
expect_equal "beside others" "$(cat out)" "10
one sh two 
one sh "

if has "trace-cmd" trace-cmd; then
	inside '. $TMP/lib; cd $TMP; trace-cmd record -e sched -c -F sh -c "$TMP/one; sh -c \"$TMP/two; true\"; true" >/dev/null 2>&1; $TMP/three; trace-cmd report 2>/dev/null | sed "s/exit:  */exit: /" >said; exits said'
	expect_equal "trace-cmd record -c -F" "$(cat out)" "one two sh sh "
fi
