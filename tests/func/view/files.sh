#!/bin/sh
# SPDX-License-Identifier: MIT
# files.sh - damaged, empty, growing and removed recordings, and files that are none
. "$(dirname "$0")/common.sh"

"$SYNTH" a.uft 50000
"$SYNTH" none.uft 0
"$SYNTH" many.uft 60000 1 3000 4
{ head -c 300000 a.uft; head -c 3000 /dev/urandom; tail -c +304000 a.uft; } >damaged.uft
head -c 200001 a.uft >cut.uft
cp a.uft gone.uft
cp cut.uft grows.uft

run "$uft" view --no-browser nothing.uft
expect_status 1
expect_err "nothing.uft"
printf 'no recording' >text
run "$uft" view --no-browser text
expect_status 1
expect_err "text"
run "$uft" view --port 99999
expect_status 2

serve a.uft none.uft many.uft damaged.uft cut.uft gone.uft grows.uft
ask files
expect_equal "recordings" "$(grep -o '[a-z]*\.uft' answer | wc -l)" 7
rm gone.uft
for file in 0 1 2 3 4 5 6; do
	ask info
	check
	grep -q '"state":"done"' answer || fail "file $file: $(head -c 300 answer)"
done
file=1
ask info
expect_equal "events of an empty recording" "$(field events)" 0
ask list first=0 count=10
expect_equal "rows of it" "$(field total)" 0
ask tiles from=0 to=10 width=10 rows=0,c0
check
grep -q '"state":"done"' answer || fail "a picture of nothing: $(cat answer)"
file=2
ask info
check
[ "$(grep -o '"tid"' answer | wc -l)" -gt 400 ] || fail "not all tasks are there"
duration=$(field duration)
ask tiles from=0 to="$duration" width=1000 rows="$(seq -s, 0 999)"
expect_equal "rows of one picture" "$(grep -o '"row":' answer | wc -l)" 1000
file=3
ask info
check
[ "$(field damaged_bytes)" -gt 0 ] || fail "damage is not told of"
file=5
ask info
expect_equal "a removed file has changed" "$(field changed)" 1
ask list first=49990 count=20
expect_equal "a removed file is read on" "$(grep -o '"n":' answer | wc -l)" 20
file=6
ask info
was=$(field events)
cat a.uft >grows.uft
ask info
expect_equal "a file that grew has changed" "$(field changed)" 1
expect_equal "what is shown is what it was" "$(field events)" "$was"
curl -s -X POST "${url}api/reload?file=6" >answer
ask info
expect_equal "read again" "$(field events)" 100000
end_server
expect_equal "its end" "$status" 0

# One that gets shorter while it is looked at: what is gone is not there, what is left answers, and nothing goes on for ever.
cp a.uft shrinks.uft
serve shrinks.uft
file=0
ask list first=50000 count=5
expect_equal "rows before it shrinks" "$(grep -o '"n":' answer | wc -l)" 5
for left in 100000 0; do
	head -c $left a.uft >shrinks.uft
	ask info
	expect_equal "a file that shrank to $left has changed" "$(field changed)" 1
	for question in "search text=no_such_name from=100" "search text=no_such_name from=100 back=1" "search text=no_such_name from=90000" \
		"search text=no_such_name from=90000 back=1" "list first=99000 count=5"; do
		# shellcheck disable=SC2086
		ask $question
		check
		grep -q '"state":"failed".*cut off or overwritten' answer || fail "$question of what is left of $left bytes: $(head -c 300 answer)"
	done
	ask tiles from=0 to=100000 width=100 rows=0,c0
	check
	grep -q '"state":"done"' answer || fail "a picture of what is gone: $(head -c 300 answer)"
done
curl -s -X POST "${url}api/reload" >answer
ask info
check
grep -q '"state":"failed".*"error":"it is no recording' answer || fail "read again when it is empty: $(cat answer)"
cp a.uft shrinks.uft
curl -s -X POST "${url}api/reload" >answer
ask info
expect_equal "and when it is back" "$(field events)" 100000
end_server
expect_equal "its end after that" "$status" 0

# Threads of two recordings that have the same numbers are others: each has its own name and its own row, whichever is read last.
"$SYNTH" other.uft 3000 1 2 4 "<b>f"
file=0
for order in "a.uft other.uft" "other.uft a.uft"; do
	# shellcheck disable=SC2086
	serve $order
	for file in 0 1; do
		ask info
		cp answer "threads.$file"
	done
	comms() { grep -o '"comm":"[^"]*"' "threads.$1" | sort | cut -d'"' -f4 | tr '\n' ' '; }
	rows() { grep -o '"row":[0-9]*' "threads.$1" | cut -d: -f2 | sort -n | tr '\n' ' '; }
	plain='thread-0 thread-1 thread-2 thread-3 ' marked='\u003cb\u003ethread-0 \u003cb\u003ethread-1 '
	[ "$order" = "a.uft other.uft" ] && set -- "$plain" "$marked" || set -- "$marked" "$plain"
	expect_equal "threads of the first of $order" "$(comms 0)" "$1"
	expect_equal "threads of the second of $order" "$(comms 1)" "$2"
	expect_equal "rows of the first of $order" "$(rows 0)" "$([ "$1" = "$plain" ] && echo '0 1 2 3 ' || echo '0 1 ')"
	expect_equal "rows of the second of $order" "$(rows 1)" "$([ "$2" = "$plain" ] && echo '0 1 2 3 ' || echo '0 1 ')"
	end_server
done
file=0

# Two viewers that both make the index of one file.
cp a.uft both.uft
serve both.uft
one=$url first=$server
serve both.uft
for url in "$one" "$url"; do
	file=0
	ask list first=77777 count=50
	cp answer "list.$((n = ${n:-0} + 1))"
done
expect_equal "two viewers of one file" "$(cmp list.1 list.2 2>&1)" ""
expect_equal "rows of them" "$(grep -o '"n":' list.2 | wc -l)" 50
end_server
server=$first
end_server
serve both.uft
ask list first=77777 count=50
expect_equal "and one later, with what they left" "$(cmp list.1 answer 2>&1)" ""
end_server

# The second time the index is there, and nothing else changes.
check
[ -s a.uft.index ] || fail "no index is beside the recording"
file=0
mkdir closed
cp a.uft closed/
chmod 500 closed
serve a.uft closed/a.uft
ask list first=77777 count=50
cp answer with
file=1
ask list first=77777 count=50
expect_equal "with and without an index" "$(cmp with answer 2>&1)" ""
end_server
chmod 700 closed

# So many calls that not each can be kept: a part is drawn at once, and exactly as soon as its own index is there.
"$SYNTH" large.uft 1800000
file=0
serve large.uft
ask info
check
[ "$(field resolution)" -gt 1 ] || fail "all calls of a large recording are kept: $(field resolution)"
duration=$(field duration)
from=$((duration / 3)) to=$((duration / 3 + duration / 8))
for _ in $(seq 600); do
	ask tiles from="$from" to="$to" width=16384 rows=0
	[ "$(field coarse)" = 0 ] && break
	sleep 0.05
done
expect_equal "a finer index is made" "$(field coarse)" 0
deep=$(grep -o '\[[0-9]*,\[[^]]*\]\]' answer | sed 's/^\[[0-9]*,\[//; s/\]\]$//' | tr ',' '\n' | awk 'NR % 5 == 4 { n += $1 } END { print n }')
ask list filter="common_pid == 1000 && duration > 0" first=0 count=1
a=$(ask row_at filter="common_pid == 1000 && duration > 0" t="$from"; field row) b=$(ask row_at filter="common_pid == 1000 && duration > 0" t="$to"; field row)
check
[ "$deep" -ge $((b - a)) ] && [ "$deep" -le $((b - a + 60)) ] || fail "calls in the picture: $deep, that end there: $((b - a))"
end_server
