#!/bin/sh
# SPDX-License-Identifier: MIT
# session.sh TARGET - uft hist -S, -B, --once: the histograms of a session are the text of its files hist
. "$(dirname "$0")/../../lib/common.sh"
. "$(dirname "$0")/../../lib/shell.sh"
[ "$(uname -m)" = x86_64 ] || skip "tracepoints are recorded on x86_64 only"
export T="$1" U="$uft" TMP="$tmp"

in_shell 'cd /sys/kernel/tracing; $T fire; R=events/app/req D=events/app/done
	$U hist --once >$TMP/none 2>&1; echo $? >>$TMP/none
	echo hist:keys=name:vals=us >$R/trigger; echo hist:keys=id >>$R/trigger; echo traceoff:1 >>$D/trigger
	$T fire r1,100,alpha r2,200,beta; cat $R/hist >$TMP/want; $U hist --once >$TMP/one; $U hist --once --json >$TMP/json; $U hist -S - --csv >$TMP/csv
	$U hist -S - -e "app:r*" >$TMP/piped
	$U hist --once -e app:done >$TMP/other 2>&1; $U hist --once -k id -e app:req >$TMP/wrong 2>&1; echo $? >>$TMP/wrong
	mkdir instances/foo; echo hist:keys=id >instances/foo/$D/trigger; echo 1 >tracing_on; echo hist:keys=us >>$D/trigger
	$T fire d1,2,x d1,3,y; $U hist --once >$TMP/two; $U hist -B foo --once >$TMP/foo; $U hist -B foo --csv >$TMP/foo.csv; cat instances/foo/$D/hist >$TMP/foo.want'
expect_status 0
expect_equal "nothing to show" "$(grep -c "no such event of the session has a histogram" none) $(tail -n 1 none)" "1 1"
expect_equal "one event" "$(cat one)" "$(cat want)"
expect_equal "its tables" "$(grep -c '^# event histogram' one) $(grep -c 'Hits: 2$' one)" "2 2"
expect_equal "without a terminal" "$(cat piped)" "$(cat want)"
expect_equal "an event without one" "$(grep -c "no such event" other)" 1
expect_equal "usage" "$(tail -n 1 wrong)" 2
expect_equal "two events" "$(sed -n 's/^# event: //p' two | tr '\n' ' ')" "app:done app:req app:req "
expect_equal "an instance" "$(cat foo)" "$(cat foo.want)"
expect_equal "its table" "$(grep -c 'Hits: 2$' foo)" 1
"$uft" record -q -e app:req -o req.uft "$T" fire r1,100,alpha r2,200,beta
for form in json csv; do
	expect_equal "$form" "$(cat $form)" "$("$uft" hist --$form -e app:req -R hist:keys=name:vals=us -R hist:keys=id req.uft)"
done
expect_equal "CSV of an instance" "$(cat foo.csv)" "$(printf 'histogram,event,id,hitcount\n1,app:done,1,2')"
run "$uft" hist --once -S 999999999
expect_status 1
