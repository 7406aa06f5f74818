#!/bin/sh
# SPDX-License-Identifier: MIT
# reopened.sh PROGRAM LIBRARY - tracepoints of a library that a program closes and opens again: ids stay, all of its events are recorded,
# filtered and counted, in one histogram, and those of a library that is closed are switched without harm
. "$(dirname "$0")/../../lib/common.sh"
. "$(dirname "$0")/../../lib/shell.sh"
[ "$(uname -m)" = x86_64 ] || skip "tracepoints are recorded on x86_64 only"
export P="$1" L="$2" TMP="$tmp"

in_shell 'cd /sys/kernel/tracing; $P $L 1 0; E=events/app/req; cat $E/id >$TMP/id
	echo 1 >$E/enable; $P $L 5 80; grep -c req: trace >$TMP/recorded; echo >trace
	echo "id == 7" >$E/filter; $P $L 3 80; grep -c req: trace >$TMP/filtered; echo 0 >$E/filter; echo 0 >$E/enable; echo >trace
	echo hist:keys=id:vals=us >$E/trigger; $P $L 5 80000; cat $E/hist >$TMP/counted
	$P $L 3 80000; grep Hits: $E/hist >$TMP/more; echo "!hist:keys=id:vals=us" >$E/trigger
	mkfifo $TMP/go $TMP/said; exec 5<>$TMP/go 6<>$TMP/said; $P $L 2 80 wait <&5 >&6 & read -r word <&6
	echo 1 >$E/enable; echo hist:keys=id >$E/trigger; echo >&5; wait; grep -c req: trace >$TMP/while_closed; grep Hits: $E/hist >>$TMP/while_closed
	cat $E/id >>$TMP/id'
expect_status 0
expect_equal "ids" "$(uniq id | wc -l | tr -d ' ')" 1
expect_equal "recorded" "$(cat recorded)" 400
expect_equal "filtered" "$(cat filtered)" 30
expect_equal "counted" "$(awk '/^[{]/{ hits += $6; sum += $8; keys++; if ($6 != 50000) odd++ } /Hits:|Lost:|Dropped:/{ total = total " " $2 }
	END { printf "%d %d %.0f %d%s", keys, hits, sum, odd, total }' counted)" "8 400000 15999800000 0 400000 0"
expect_equal "counted on" "$(awk '{ print $2 }' more)" 640000
expect_equal "switched while it was closed" "$(awk '{ printf "%s ", $NF }' while_closed)" "80 80 "
