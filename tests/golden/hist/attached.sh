#!/bin/sh
# SPDX-License-Identifier: MIT
# attached.sh PROGRAM LIBRARY - events of a program that is started or attached to: its own, those of children, of what they execute, of a
# library that is opened twice, of threads and signal handlers, with filters and triggers
. "$(dirname "$0")/../../lib/common.sh"
. "$top/tests/func/attach/lib.sh"
[ "$(uname -m)" = x86_64 ] || skip "uft attaches on x86_64 only"
program=$1 library=$2

ids() { "$uft" report --no-pager "$1" 2>/dev/null | sed -n 's/^.*: req: id=\([0-9]*\) .*/\1/p' | tr '\n' ' '; }
counted() { sed -n 's/^{ id: *\([0-9]*\) } hitcount: *\([0-9]*\)$/\1=\2/p' | tr '\n' ' '; }
# fires FACT: the program goes on once that is so, and has fired all
fires() {
	if [ "$is_sent" ]; then grep -q fired held; elif grep -q enabled held && "$@"; then is_sent=1; echo >&9; false; else false; fi
}
# attached NAME ARGS...: all is fired while the recorder is there; NAME.uft is the recording, said what the recorder says
attached() {
	name=$1
	shift
	rm -f "$name.uft"
	is_sent=
	hold_up "$program" "$library"
	attach_until "fires has_armed" -e app:req "$@" -o "$name.uft" $held
	expect_equal "$name: the recorder" "$?" 0
	let_go
	expect_equal "$name: the program" "$status $(cat held | tr '\n' ' ')" "0 ready enabled fired "
}

run "$uft" record -q -e app:req -o started.uft "$program" "$library" </dev/null
expect_status 0
expect_equal "started" "$(ids started.uft)" "1 2 3 4 5 6 7 8 "

attached plain
expect_equal "attached" "$(ids plain.uft)" "1 2 3 4 5 6 7 8 "
expect_equal "one event for all that declare it" "$("$uft" stat plain.uft | grep -c 'app:req')" 1
attached filter -f 'id != 3 && id != 5 && id != 2'
expect_equal "with a filter" "$(ids filter.uft)" "1 4 6 7 8 "


# ---- Triggers: of a program that is started, and the histograms of one that runs
run "$uft" record -q -e app:req -R 'traceoff if id == 5' -o traceoff.uft "$program" "$library" </dev/null
expect_status 0
expect_equal "traceoff by a library's event" "$(ids traceoff.uft)" "1 2 3 4 5 "
run "$uft" record -q -e app:req -f 'id > 1' -R 'traceoff if id == 3' -R 'hist:keys=id:sort=id' -o both.uft "$program" "$library" </dev/null
expect_equal "a filter and two triggers" "$(ids both.uft)" "2 3 "
expect_equal "the histogram" "$(counted <err)" "1=1 2=1 3=1 4=1 5=1 6=1 7=1 8=1 "
# waits_for_ends: the recorder has set all, and waits for the ends of the processes: poll() or ppoll()
waits_for_ends() { read -r has_call _ <"/proc/$attacher/syscall" && { [ "$has_call" = 7 ] || [ "$has_call" = 271 ]; }; }
# with_triggers NAME ARGS...: as attached
with_triggers() {
	name=$1
	shift
	rm -f "$name.uft"
	is_sent=
	hold_up "$program" "$library"
	attach_until "fires waits_for_ends" -e app:req "$@" -o "$name.uft" $held
	expect_equal "attach -R, $name: the recorder" "$?" 0
	expect_left "attach -R, $name" $held
	let_go
	expect_equal "attach -R, $name: the program" "$status $(cat held | tr '\n' ' ')" "0 ready enabled fired "
}
with_triggers stops -R 'traceoff if id == 5'
expect_equal "attach -R: traceoff by a library's event" "$(ids stops.uft)" "1 2 3 4 5 "
with_triggers sums -f 'id > 1' -R 'traceoff if id == 7' -R 'hist:keys=id:sort=id if id != 3' -R 'snapshot:1 if id == 4'
expect_equal "attach -R: a filter and triggers" "$(ids sums.uft)" "5 6 7 "
expect_equal "attach -R: the histogram" "$(counted <said)" "1=1 2=1 4=1 5=1 6=1 7=1 8=1 "
expect_equal "attach -R: the snapshot" "$(grep -c 'req: id=' sums.uft.snapshot)" 3
# All take effect at once at a program that fires meanwhile: its histograms have the same events
hold_up "$program" flow
"$uft" attach -v -e app:req -R 'hist:keys=common_pid' -R 'hist:keys=id' -R 'hist:keys=id.log2:sort=id' -o flow.uft $held >table 2>said 9>&- &
attacher=$!
wait_until "waits_for_ends" $attacher
let_go
wait $attacher
expect_equal "attach -R, flow: the recorder" "$?" 0
expect_equal "attach -R, flow: the program" "$status $(cat held)" "0 ready"
expect_equal "attach -R: three histograms from one moment on" "$(sed -n 's/^ *Hits: //p' table said | grep -c '^[1-9]') $(sed -n 's/^ *Hits: //p' table said | sort -u | wc -l)" "3 1"
run "$uft" attach -e app:req -R traceoff --duration 1 $$
expect_status 2
expect_err "--trigger: not with --duration"
run "$uft" attach -e app:req -R traceoff 999999999
expect_status 1
expect_err "999999999"

# hist_attached ARG COUNTED: the histogram of a program that runs, which is left as it was
hist_attached() {
	name="attached histogram $1" is_sent=
	hold_up "$program" "$library" $1
	"$uft" hist -p $held -e app:req -k id -s id -f 'id != 3' >table 2>said &
	recorder=$!
	wait_until "fires grep -q counts said" $recorder
	kill -TERM $recorder
	wait $recorder
	expect_equal "$name: the recorder" "$?" 0
	expect_equal "$name: what is said" "$(grep -v 'counts events of 1 process' said)" ""
	expect_left "$name" $held
	let_go
	expect_equal "$name: the program" "$status $(cat held | tr '\n' ' ')" "0 ready enabled fired "
	expect_equal "$name" "$(counted <table)" "$2"
}
hist_attached "" "1=1 2=1 4=1 5=1 6=1 7=1 8=1 "
hist_attached unmap "1=1 4=1 "
