#!/bin/sh
# SPDX-License-Identifier: MIT
# sqlhist.sh SOURCE CC... - uft sqlhist: the commands of a query, executed in a session and for a program, actions, and refusals
. "$(dirname "$0")/../../lib/common.sh"
. "$top/tests/lib/sample.sh"
build_sample "$@"
S=uft_sample
run "$uft" sqlhist "SELECT a FROM sample_one" -- ./prog
case $status-$(cat err) in 1-*"install it"*) skip "$(cat err)" ;; esac
expect_status 0
expect_equal "commands" "$(cat out)" "echo 'hist:keys=a' > /sys/kernel/tracing/events/$S/sample_one/trigger"

join="SELECT start.a, (end.TIMESTAMP_USECS - start.TIMESTAMP_USECS) AS us FROM sample_one AS start JOIN sample_two AS end ON start.a = end.a"
run "$uft" sqlhist -n lat "$join WHERE end.a > 1" -- ./prog
grep -q "only where tracefs is mounted" err && skip "$(tail -n 1 err)"
expect_status 0
expect_equal "a join" "$(sed 's/_[0-9][0-9]*_[0-9][0-9]*/_N/g' out)" "echo 's:lat s32 a; u64 us;' >> /sys/kernel/tracing/dynamic_events
echo 'hist:keys=a:__arg_N=a,__arg_N=common_timestamp.usecs' >> /sys/kernel/tracing/events/$S/sample_one/trigger
echo 'hist:keys=a:__a_N=\$__arg_N,__us_N=common_timestamp.usecs-\$__arg_N:onmatch($S.sample_one).lat(\$__a_N,\$__us_N) if a > 1' >> /sys/kernel/tracing/events/$S/sample_two/trigger"
cp out plain
echo "$join WHERE end.a > 1" >query
run "$uft" sqlhist -n lat -f query -- ./prog
expect_equal "of a file" "$(sed 's/_[0-9][0-9]*_[0-9][0-9]*/_N/g' out)" "$(sed 's/_[0-9][0-9]*_[0-9][0-9]*/_N/g' plain)"

# ---- For a program
run "$uft" sqlhist -e "SELECT a, CAST(common_pid AS _COUNTER_) FROM sample_one WHERE a >= 2" -- ./prog 5
expect_status 0
expect_equal "histogram" "$(sed -n 's/^{ a: *\([0-9]\) } hitcount: *1  common_pid: *[1-9].*/\1/p' out | sort | tr '\n' ' ')" "2 3 4 "
run "$uft" sqlhist -e -n lat "$join WHERE end.a > 1" -- ./prog 5
expect_status 0
expect_equal "synthetic events" "$(sed -n 's/^.*: lat: a=\([0-9]\) us=[0-9]*$/\1/p' out | tr '\n' ' ')" "2 3 4 "
run "$uft" sqlhist -e -n lat -k a.buckets=2 "$join" -- ./prog 5
expect_equal "histogram of them" "$(sed -n 's/^{ a: ~ \([0-9]\)-[0-9] } hitcount: *\([0-9]\)$/\1=\2/p' out | sort | tr '\n' ' ')" "0=2 2=2 4=1 "
run "$uft" sqlhist -e -n lat -k a.buckets=2 --csv "$join" -- ./prog 5
expect_equal "histogram as CSV" "$(grep , out | sort | tr '\n' ' ')" "1,synthetic:lat,0,1,2 1,synthetic:lat,2,3,2 1,synthetic:lat,4,5,1 histogram,event,a_from,a_to,hitcount "
run "$uft" sqlhist -e --json "SELECT a FROM sample_one WHERE a >= 4" -- ./prog 5
expect_status 0
expect_equal "histogram as JSON" "$(grep -c '^{"a":4,"hitcount":1}' out)" 1
run "$uft" sqlhist -e -n lat --json "$join" -- ./prog 5
expect_status 1
expect_err "add --keys"
run "$uft" sqlhist --csv "SELECT a FROM sample_one" -- ./prog
expect_status 2
run "$uft" sqlhist -e "SELECT a FROM sample_one" -- sh -c 'exit 3'
expect_status 1
expect_err "event not found"
run "$uft" sqlhist -e "SELECT comm FROM sched_process_exit" -- sh -c 'exit 3'
expect_status 3
expect_out "hitcount:"

# ---- Actions
run "$uft" sqlhist -n lat -m us -t --save a "$join" -- ./prog
expect_equal "onmax" "$(sed -n '3s/_[0-9][0-9]*_[0-9][0-9]*/_N/g; 3s/^.*\(:onmax.*\)$/\1/p' out)" \
	":onmax(\$__us_N).save(a)' >> /sys/kernel/tracing/events/$S/sample_two/trigger"
expect_out ".trace(lat,\$__a_"
run "$uft" sqlhist -n lat -c us "$join" -- ./prog
expect_out ":onchange(\$__us_"
run "$uft" sqlhist -n lat -s "$join" -- ./prog
expect_out ":onmatch($S.sample_one).snapshot()'"
run "$uft" sqlhist -e -n lat -m us --save common_pid "$join" -- ./prog 3
expect_out "max: "

# ---- In a session
run "$uft" shell --no-mount sh -c "./prog 1 >/dev/null; '$uft' sqlhist -e -n lat '$join' && ./prog 3 >/dev/null; '$uft' show; '$uft' read synthetic_events"
expect_status 0
expect_equal "on at once" "$(sed -n 's/^.*: lat: a=\([0-9]\) us=[0-9]*$/\1/p' out | tr '\n' ' ')" "0 1 2 "
expect_out "lat	s32 a; u64 us"

# ---- Refused
refused() { status_of=$1; text=$2; shift 2; run "$uft" sqlhist "$@"; expect_status "$status_of"; expect_err "$text"; }
refused 2 "no query given"
refused 2 "one query" SELECT a
refused 2 "a program follows" "SELECT a FROM sample_one" --
refused 1 "syntax error" "SELECT a FRO sample_one" -- ./prog
expect_equal "the place" "$(sed -n '3p' err)" "                 ^"
refused 1 "is not known" "SELECT nosuch FROM sample_one" -- ./prog
refused 1 "joins two events" -m a "SELECT a FROM sample_one" -- ./prog
refused 1 "computes nothing of this name" -m nosuch "$join" -- ./prog
refused 2 "exclude each other" -m us -c us "$join" -- ./prog
refused 1 "the query ends too early" "SELECT" -- ./prog
refused 1 "cannot find the program" "SELECT a FROM sample_one" -- ./nosuch
refused 1 "nosuch: cannot read a query: No such file or directory" -f nosuch
expect_equal "a crash of the library is a refusal" "$("$uft" sqlhist "SELECT CAST(a AS _COUNTER_), a FROM sample_one" -- ./prog 2>&1 | grep -c -e 'ended by signal' -e "^echo 'hist")" 1
