#!/bin/sh
# SPDX-License-Identifier: MIT
# lost.sh TARGET - records that found no room before the session took them: the table of a histogram says how many, to the last one
. "$(dirname "$0")/../../lib/common.sh"
. "$(dirname "$0")/../../lib/shell.sh"
[ "$(uname -m)" = x86_64 ] || skip "tracepoints are recorded on x86_64 only"
export T="$1" TMP="$tmp" N=3000000

# The session is stopped while a program fires more than its rings hold. All that reads of it waits until it goes on.
in_shell 'cd /sys/kernel/tracing; $T fire; mkfifo $TMP/go $TMP/said; exec 5<>$TMP/go 6<>$TMP/said; H=events/app/req/hist G=events/app/req/trigger
	echo hist:keys=id >$G; echo hist:keys=us:pause >>$G; $T storm $N <&5 >&6 & until grep -q "id: *1 " $H; do sleep 0.1; done
	grep -c ost $H; kill -STOP $PPID; echo >&5; read -r word <&6; kill -CONT $PPID; echo >&5; wait
	cat $H >$TMP/table; echo hist:keys=id:clear >>$G; grep -c ost $H; $T fire r7,1,x; grep -c "Hits: 1\$" $H; grep -c ost $H'
check
expect_equal "before, and after clear" "$(tr '\n' ' ' <out)" "0 0 1 0 "
active=$(sed -n '/\[active\]/,/Lost:/p' table)
paused=$(sed -n '/\[paused\]/,/Dropped:/p' table)
hits=$(printf '%s\n' "$active" | sed -n 's/ *Hits: //p') lost=$(printf '%s\n' "$active" | sed -n 's/ *Lost: //p')
expect_equal "hits and lost ones" "$((hits + lost))" "$((N + 1))"
[ "${lost:-0}" -gt 0 ] || fail "nothing was lost"
expect_equal "the header" "$(grep -c "^# $lost records of any kind were lost before they were counted" table)" 1
expect_equal "a paused one misses nothing" "$(printf '%s\n' "$paused" | grep -c ost)" 0

# What the filters of all triggers reject the target does not write at all, whatever the event's own filter says: nothing can be lost. An
# enable_hist has the session count, and not the target.
in_shell 'cd /sys/kernel/tracing; $T fire; rm $TMP/go $TMP/said; mkfifo $TMP/go $TMP/said; exec 5<>$TMP/go 6<>$TMP/said; H=events/app/req/hist G=events/app/req/trigger
	echo "hist:keys=id if id == 1 && us == 1" >$G; echo "hist:keys=us if id > 2" >>$G; echo "id == 2" >events/app/req/filter
	echo enable_hist:app:req >events/app/done/trigger
	$T storm $N <&5 >&6 & until grep -q "id: *1 " $H; do sleep 0.1; done
	kill -STOP $PPID; echo >&5; read -r word <&6; kill -CONT $PPID; echo >&5; wait; cat $H'
check
expect_equal "with filters" "$(grep -E 'Hits|ost' out | tr -d ' ' | tr '\n' ' ')" "Hits:1 Hits:0 "

# Nor what set_event_pid and set_event_notrace_pid leave out, in one instance as in two
in_shell 'cd /sys/kernel/tracing; $T fire; H=events/app/req/hist G=events/app/req/trigger; mkdir instances/two
	echo enable_hist:app:req >events/app/done/trigger; echo hist:keys=id >$G; echo 1 >instances/two/events/app/req/enable
	for list in set_event_notrace_pid set_event_pid; do
		rm -f $TMP/go $TMP/said; mkfifo $TMP/go $TMP/said; exec 5<>$TMP/go 6<>$TMP/said
		$T storm $N <&5 >&6 & until grep -q "id: *1 " $H; do sleep 0.1; done; number=$!; [ $list = set_event_pid ] && number=1000000000
		echo $number >$list; echo $number >instances/two/$list
		kill -STOP $PPID; echo >&5; read -r word <&6; kill -CONT $PPID; echo >&5; wait; cat $H; echo hist:keys=id:clear >>$G; : >$list; : >instances/two/$list
	done'
check
expect_equal "of tasks that are left out" "$(grep -E 'Hits|ost' out | tr -d ' ' | tr '\n' ' ')" "Hits:1 Hits:1 "

# The first keys stay in a full table, as in the kernel's: records of those that the target's map had no room for are looked at before anybody
# reads the table, here for trace.
in_shell 'cd /sys/kernel/tracing; $T fire; rm $TMP/go $TMP/said; mkfifo $TMP/go $TMP/said; exec 5<>$TMP/go 6<>$TMP/said; H=events/app/req/hist
	echo hist:keys=id:size=128 >events/app/req/trigger; keys=; for i in $(seq 300); do keys="$keys r$i,1,x"; done
	$T told $keys <&5 >&6 & read -r word <&6; echo >&5; read -r word <&6; cat trace >/dev/null; cat $H; echo >&5; wait; $T fire r1,1,x r128,1,x r129,1,x; cat $H'
check
expect_equal "a full table" "$(sed -n 's/^ *\(Hits\|Dropped\): */\1:/p' out | tr '\n' ' ')" "Hits:128 Dropped:172 Hits:130 Dropped:173 "
