#!/bin/sh
# SPDX-License-Identifier: MIT
# enable_event.sh TARGET - func:enable_event, disable_event: exactly the events between two calls are shown; counts, user writes in between, removal
. "$(dirname "$0")/inside.sh"
"$uft" record -q -e sched -o may.uft true 2>may || skip "$(cat may)"

# forks FILE: how many were made by the program. Each time around it calls lonely(), makes a child, calls outer(), makes another.
cat >lib <<'end'
E=events/sched X=$E/sched_process_exit/enable K=$E/sched_process_fork/enable F=set_ftrace_filter
forks() { grep -c "sched_process_fork: comm=tree-target " $1; }
exits() { sed -n "s/.*sched_process_exit: comm=\(tree-target\|one\|two\|three\) .*/\1/p" $1 | tr "\n" " "; echo; }
left() { sed -n "s/.*count=//p" $F | tr "\n" " "; echo; }
cp /bin/true $TMP/one; cp /bin/true $TMP/two; cp /bin/true $TMP/three
end

# ---- Whose process it is does not matter; `1*` is what it is now, and stays when nobody switches it any more
inside '. $TMP/lib; $T 1; echo lonely:enable_event:sched:sched_process_exit >>$F; echo >trace; cat $X; $TMP/one; $T 0; cat $X; $TMP/two; exits trace
	echo outer:disable_event:sched:sched_process_exit >>$F; $TMP/one; $T 1; cat $X; $TMP/two; $T 0; $TMP/three; exits trace; cat $F; grep -c "<-" trace
	echo "!outer:disable_event:sched:sched_process_exit" >>$F; cat $X; echo "!lonely:enable_event:sched:sched_process_exit" >>$F; cat $X set_event; $TMP/one; exits trace
	echo 0 >$X; $TMP/two; exits trace'
expect_no_err
expect_equal "switched" "$(cat out)" "0*
1*
tree-target two 
0*
tree-target two one tree-target three 
#### all functions enabled ####
outer:disable_event:sched:sched_process_exit:unlimited
lonely:enable_event:sched:sched_process_exit:unlimited
0
1*
1
sched:sched_process_exit
tree-target two one tree-target three one 
tree-target two one tree-target three one "

# ---- Exactly those between two calls, beside each tracer, in an instance, and while tracing_on is 0 what it does is done
inside '. $TMP/lib; $T 1; echo lonely:enable_event:sched:sched_process_fork >>$F; echo outer:disable_event:sched:sched_process_fork >>$F
	for t in nop function function_graph; do echo :mod:$(basename $T) >$F; echo $t >current_tracer; echo >trace; $T 50 forks; forks trace; done
	echo nop >current_tracer; echo >trace; timeout 60 awk "/fork: comm=tree-target/ && ++n == 60 { print n; exit }" trace_pipe >$TMP/pipe & $T 50 forks; $T 50 forks; wait; cat $TMP/pipe
	mkdir instances/a; cd instances/a; echo outer:enable_event:sched:sched_process_fork >>$F; echo lonely:disable_event:sched:sched_process_fork >>$F; echo >../../trace
	$T 50 forks; forks trace; forks ../../trace; grep -c "<-" trace; cd ../..; echo 1 >instances/a/$K; rmdir instances/a
	echo 0 >tracing_on; echo >trace; $T 5 forks; cat $K; forks trace; echo outer:enable_event:sched:sched_process_exec >>$F; $T 1; cat $E/sched_process_exec/enable; echo 1 >tracing_on; $T 5 forks; forks trace'
expect_no_err
expect_equal "exactly" "$(tr '\n' ' ' <out)" "50 50 50 60 50 50 0 1* 0 1* 5 "

# ---- A filter holds, too; counts: only what changes something counts, and what one write named has one count for all
inside '. $TMP/lib; $T 1; echo lonely:enable_event:sched:sched_process_fork:3 >>$F; echo outer:disable_event:sched:sched_process_fork >>$F; $T 0; $T 0; left; $T 5 forks; left; forks trace
	echo 1 >$K; cat $K; echo >trace; $T 1 forks; forks trace; echo "!lonely:enable_event:sched:sched_process_fork:0" >>$F; echo "!outer:disable_event:sched:sched_process_fork" >>$F; cat $K
	echo "[io]??er:enable_event:sched:sched_process_fork:3" >>$F; echo lonely:disable_event:sched:sched_process_fork >>$F; $T 2 forks; grep "er:.*count" $F
	echo "child_pid == 1" >$E/sched_process_fork/filter; echo >trace; echo "[io]??er:enable_event:sched:sched_process_fork" >>$F; $T 3 forks; forks trace'
expect_no_err
expect_equal "counted" "$(sort out | tr '\n' ' ')" "$(printf '%s\n' "2 " "0 " 3 '1*' 1 0 inner:enable_event:sched:sched_process_fork:count=1 outer:enable_event:sched:sched_process_fork:count=1 0 | sort | tr '\n' ' ')"

# ---- Taken out while it goes on: what was shown stays, what comes behind is by what it was then
inside '. $TMP/lib; $T 1; echo lonely:enable_event:sched:sched_process_fork >>$F; $T 0; echo >trace; mkfifo $TMP/gate; $T 20 each <$TMP/gate >/dev/null & exec 3>$TMP/gate; $T 20 forks
	echo "!lonely:enable_event:sched:sched_process_fork" >>$F; $T 20 forks; forks trace; exec 3>&-; wait; echo 0 >$K; $T 5 forks; forks trace'
expect_no_err
expect_equal "taken out" "$(tr '\n' ' ' <out)" "80 80 "
