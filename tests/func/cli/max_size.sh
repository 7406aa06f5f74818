#!/bin/sh
# SPDX-License-Identifier: MIT
# max_size.sh - a recording ends at --max-size, after --duration, and before a disk is full; the file is complete, the program runs on
. "$(dirname "$0")/../../lib/common.sh"

cp "$top/tests/func/cli/prog.c" .
build_traced prog

# whole WHAT FILE: the recording says that it is complete, and that nothing was lost
whole() {
	expect_equal "$1: complete" "$(stat_value "$2" complete)" yes
	expect_equal "$1: lost" "$(stat_value "$2" lost)" 0
	run "$uft" report -i "$2"
	expect_status 0
	expect_out "work();"
}

# no_larger FILE BYTES
no_larger() {
	size=$(stat -c %s "$1")
	check
	[ "$size" -le "$2" ] || fail "$1 has $size bytes, more than $2"
	check
	[ "$size" -gt $(($2 / 4)) ] || fail "$1 has only $size bytes of $2"
}

# ---- size: the program works on until it finds the file `go`, after the recording has ended ----
"$uft" record --max-size 3M -b 16M ./prog wait go >out 2>err &
recorder=$!
eventually grep -q 'runs on; uft ends with it' err || fail "no limit is reached: $(cat err)"
expect_err "recording stopped when the file reached its limit, 3.1 MB (--max-size)"
no_larger trace.uft 3145728
whole "size" trace.uft
expect_out "# missing: recording stopped when the file reached its limit"
check
[ ! -e go.done ] || fail "the program has ended"
: >go
wait "$recorder"
expect_equal "the program's status" $? 0
expect_file go.done
rm -f go go.done

# The program's own status, also of one that ends with what is left of the limit.
run "$uft" record -q --max-size 2M sh -c './prog calls 300000; exit 7'
expect_status 7
run "$uft" record -q --max-size 2M -l '*:mod:prog' -z 3 sh -c './prog calls 300000; exit 7'
expect_status 7
no_larger trace.uft 2097152
# A limit that is not reached says nothing.
run "$uft" record --max-size 1G --duration 10min ./prog calls 1000
expect_status 0
expect_err_lines 1
expect_equal "calls below the limit" "$(stat_value trace.uft calls)" 2002
# An export has what was recorded.
run "$uft" record --max-size 2M -o x.json ./prog calls 300000
expect_status 0
expect_file x.json
expect_no_file x.json.uft

# ---- time ----
rm -f err
"$uft" record --duration 500ms ./prog wait go >out 2>err &
recorder=$!
eventually grep -q 'runs on; uft ends with it' err || fail "no time is over: $(cat err)"
expect_err "recording stopped after 0.5 s (--duration)"
whole "duration" trace.uft
check
! grep -q '# missing' out || fail "time that was asked for is said to be missing"
kill -TERM "$recorder"
wait "$recorder"
expect_equal "status of one that was asked to end" $? 143
: >go
eventually test -e go.done || fail "the program did not go on"
rm -f go go.done

# ---- attached: the recorder ends, the program does not ----
if [ "$(uname -m)" = x86_64 ]; then
	./prog wait go >ready &
	program=$!
	eventually grep -q ready ready
	run "$uft" attach --duration 1 "$program"
	expect_status 0
	expect_err "recording stopped after 1 s (--duration)"
	whole "attached, duration" trace.uft
	run "$uft" attach --max-size 2M "$program"
	expect_status 0
	expect_err "reached its limit, 2.1 MB (--max-size)"
	whole "attached, size" trace.uft
	# As long as a command runs, which is not traced; a PID by -P alone is meant, too.
	run "$uft" record -P "$program" -- sh -c 'sleep 1; exit 9'
	expect_status 9
	whole "while a command runs" trace.uft
	expect_equal "tasks" "$(stat_value trace.uft tasks)" 1
	expect_equal "the command in the recording" "$(grep -c 'sh-\|sleep-' out)" 0
	run "$uft" attach --duration 1 -P "$program"
	expect_status 0
	# In the background of a script SIGINT is ignored; it ends what is attached.
	sh -c '"$0" attach -o back.uft "$1" 2>back & echo $! >pid; wait $!; echo $? >status' "$uft" "$program" &
	shell=$!
	eventually sh -c '"$0" report -i back.uft | grep -q "work();"' "$uft" || fail "nothing is recorded in the background"
	kill -INT "$(cat pid)"
	wait $shell
	expect_equal "status after SIGINT" "$(cat status)" 0
	whole "background" back.uft
	: >go
	wait "$program"
	expect_equal "the attached program's status" $? 0
fi

# ---- wrong values ----
for bad in '--max-size 1M' '--max-size 0' '--duration 0' '--duration soon'; do
	# shellcheck disable=SC2086
	run "$uft" record $bad ./prog calls 1
	expect_status 2
done

# ---- a disk: 5 % of it stay free ----
if unshare -m mount -t tmpfs tmpfs "$tmp" 2>/dev/null; then
	mkdir disk
	run unshare -m sh -c "mount -t tmpfs -o size=80m tmpfs disk &&
		'$uft' record --no-pack -b 16M -o disk/full.uft ./prog calls 8000000 && df -B1 disk | tail -n 1 >df && '$uft' stat disk/full.uft"
	expect_status 0
	expect_err "recording stopped because less than 4.2 MB of the file system was free"
	expect_out "complete: yes"
	expect_out "missing: recording stopped because less than 4.2 MB"
	free=$(awk '{ print $4 }' df)
	check
	[ "$free" -ge 2000000 ] || fail "only $free bytes are free"
fi
