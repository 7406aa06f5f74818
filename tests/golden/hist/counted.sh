#!/bin/sh
# SPDX-License-Identifier: MIT
# counted.sh TARGET - histograms that targets count themselves: exact, whatever becomes of threads and processes, and no record is lost or written
. "$(dirname "$0")/../../lib/common.sh"
. "$(dirname "$0")/../../lib/shell.sh"
[ "$(uname -m)" = x86_64 ] || skip "tracepoints are recorded on x86_64 only"
export T="$1" U="$uft" TMP="$tmp" N=400000

# expect_table WHAT EVENTS: the table $tmp/WHAT has so many, in eight keys alike, and the sums of as many rounds
expect_table() {
	expect_equal "$1" "$(awk -v each=$(($2 / 8)) '/^[{]/{ hits += $6; sum += $8; keys++; if ($6 != each) odd++ }
		/Hits:/{ total = $2 } /Lost|Dropped: *[1-9]/{ odd++ } END { printf "%d %d %d %.0f %d", keys, hits, total, sum, odd }' "$1")" \
		"8 $2 $2 $(($2 / N * (N / 2 * (N - 1)))) 0"
}

in_shell 'cd /sys/kernel/tracing; $T fire 0; H=events/app/req/hist G=events/app/req/trigger; mkfifo $TMP/go; exec 5<>$TMP/go
	echo hist:keys=id:vals=us >$G; clear() { echo hist:keys=id:vals=us:clear >>$G; }
	$T threads 4 $N; cat $H >$TMP/threads; clear
	$T children $N; cat $H >$TMP/children; clear
	$T exec $N; cat $H >$TMP/exec; clear
	$T die $N; cat $H >$TMP/die; clear
	$T handler $N >$TMP/handled; cat $H >$TMP/handler; clear
	mkfifo $TMP/said; exec 6<>$TMP/said; $T wait $N <&5 >&6 & read -r word <&6; kill -9 $!; wait; cat $H >$TMP/killed; clear
	$T wait $N <&5 >&6 & read -r word <&6; $U detach -p $! >/dev/null 2>&1; cat $H >$TMP/detached; echo >&5; wait; clear
	$T fire $N; echo hist:keys=id:vals=us:pause >>$G; $T fire $N; cat $H >$TMP/paused
	echo hist:keys=id:vals=us:cont >>$G; $T fire $N; cat $H >$TMP/continued; clear; cat $H >$TMP/cleared
	sh -c "echo \$\$ >set_event_notrace_pid; exec \$T after $N"; cat $H >$TMP/left_out; clear
	sh -c "echo \$\$ >set_event_pid; echo >set_event_notrace_pid; exec \$T after $N"; cat $H >$TMP/let_in; : >set_event_pid; clear
	cat per_cpu/cpu*/stats | sed -n "s/^entries: //p" >$TMP/entries
	$T fire $N; echo 1 >events/app/req/enable; $T fire 2000; echo 0 >events/app/req/enable; $T fire $N; grep Hits: $H >$TMP/on_too
	echo hist:keys=us.log2 >>$G; $T fire 2000; echo "!hist:keys=us.log2" >>$G; $T fire $N; grep Hits: $H >$TMP/two; clear
	echo "!hist:keys=id:vals=us" >$G; echo "hist:keys=id if id > 5 && common_pid > 0" >$G; $T fire $N; cat $H >$TMP/filtered; echo "!hist:keys=id if id > 5 && common_pid > 0" >$G
	echo hist:keys=id:size=128 >$G; $T keys 1000; cat $H >$TMP/full; $T keys 1000; cat $H >$TMP/fuller; echo "!hist:keys=id:size=128" >$G'
expect_status 0
expect_table threads $((4 * N))
expect_table children $((5 * N))
expect_table exec $((2 * N))
expect_table die $N
expect_table killed $N
expect_table detached $N
expect_table paused $N
# Children of a process that a list names are in it only if it names them, whatever the process was told before
expect_table left_out $((4 * N))
expect_table let_in $((2 * N))
expect_table continued $((2 * N))
expect_equal "a handler" "$(awk '/^[{]/{ print $3 + 0, $6, $8 }' handler | sort)" "$(cat handled)"
expect_equal "cleared" "$(grep -c '^{' cleared) $(grep -c 'Hits: 0$' cleared)" "0 1"
expect_equal "no event is shown" "$(awk '{ n += $1 } END { print n + 0 }' entries)" 0
expect_equal "recorded as well for a while" "$(awk '{ print $2 }' on_too)" $((2 * N + 2000))
expect_equal "two histograms for a while" "$(awk '{ print $2 }' two)" $((3 * N + 4000))
expect_equal "a filter" "$(awk '/^[{]/{ print $3 + 0, $6 }' filtered | sort | tr '\n' ' ')" "6 $((N / 8)) 7 $((N / 8)) "
expect_equal "a full map" "$(awk '/^[{]/{ n++ } /Hits:|Entries:|Dropped:/{ printf "%s ", $2 } END { print n }' full)" "128 128 872 128"
expect_equal "again" "$(awk '/^[{]/{ n += $6 } /Hits:|Entries:|Dropped:/{ printf "%s ", $2 } END { print n }' fuller)" "256 128 1744 256"

# Texts of up to 64 bytes are keys of the map; the session counts longer ones, from records.
in_shell 'cd /sys/kernel/tracing; $T fire 0; H=events/app/req/hist G=events/app/req/trigger
	echo hist:keys=name,id:vals=us >$G; $T texts $N; cat $H >$TMP/texts; $T long 60; cat $H >$TMP/long'
expect_status 0
expect_equal "texts" "$(awk -v n=$N '/^[{]/{ name = $3; sub(/,$/, "", name); hits[length(name)] += $(NF - 2); sum += $NF; keys++ } /Hits:|Lost:|Dropped: *[1-9]/{ total = total $2 }
	END { for (i in hits) { lengths++; if (hits[i] != n / 5) odd++ } printf "%d %d %d %s %d", keys, lengths, sum, total, odd }' texts)" "26 5 $N $N 0"
expect_equal "long texts" "$(awk '/Hits:|Lost:/{ printf "%s ", $2 }' long)$(grep -c 'name: a\{65\},\|name: b\{255\},' long)" "$((N + 60)) 2"

# What a target writes into its maps is not believed: it can spoil its own table, and no more. Its first map is that of the session's first histogram.
in_shell 'cd /sys/kernel/tracing; $T fire 0; H=events/app/req/hist G=events/app/req/trigger; mkfifo $TMP/tell $TMP/says; exec 5<>$TMP/tell 6<>$TMP/says
	echo hist:keys=id >$G; $T lie $N <&5 >&6 & read -r word <&6; cat $H >$TMP/before; echo >&5; read -r word <&6; cat $H >$TMP/fell
	for i in 1 2 3 4 5 6 7 8; do echo >&5; read -r word <&6; cat $H >$TMP/spoiled; done; echo e >&5; wait; echo $?
	echo "!hist:keys=id" >$G; echo hist:keys=us.log2 >$G; $T fire $N; cat $H >$TMP/after'
expect_status 0
expect_equal "the liar ends as it likes" "$(cat out)" 0
expect_equal "before it lies" "$(awk '/Hits:|Lost:/{ print $2 }' before)" "$N"
expect_equal "counts that fell" "$(awk '/Hits:|Lost:/{ printf "%s ", $2 }' fell)" "$N 8 "
expect_equal "a histogram behind it" "$(awk '/Hits:|Lost:/{ print $2 }' after)" "$N"
