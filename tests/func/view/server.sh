#!/bin/sh
# SPDX-License-Identifier: MIT
# server.sh - the answers of uft view agree with uft report, and need the token
. "$(dirname "$0")/common.sh"

"$SYNTH" a.uft 100000 3
mkdir temporary		# not the one of tests beside this one, which leave files there for a while
export TMPDIR="$PWD/temporary"
serve a.uft
port=${url#http://127.0.0.1:} port=${port%%/*}

# ---- Who may ask ----
code() { curl -s -o body -w '%{http_code}' "$@"; }
expect_equal "without a token" "$(code "http://127.0.0.1:$port/")" 403
expect_equal "with another token" "$(code "http://127.0.0.1:$port/00000000000000000000000000000000/api/info")" 403
expect_equal "the token alone, without its end" "$(code "${url%/}")" 403
expect_equal "nothing is said to those" "$(cat body)" forbidden
expect_equal "of another host" "$(code -H "Host: example.org:$port" "${url}api/info")" 403
expect_equal "a host by its name" "$(code -H "Host: localhost:$port" "${url}api/info")" 200
expect_equal "no such question" "$(code "${url}api/nothing")" 404
expect_equal "no such recording" "$(code "${url}api/info?file=1")" 404
expect_equal "reload is no question for links" "$(code "${url}api/reload")" 405
curl -s -D head -o body "${url}api/info"
for line in "Content-Security-Policy: default-src 'none'" "Referrer-Policy: no-referrer" "Cache-Control: no-store"; do
	check
	grep -q "^$line" head || fail "the answer lacks $line"
done
run "$uft" view --no-browser --port "$port" a.uft
expect_status 1
expect_err "cannot listen on port $port"
check
if command -v ss >/dev/null 2>&1; then
	ss -ltn 2>/dev/null | awk -v p=":$port" '{ at = index($4, p) } at && at == length($4) - length(p) + 1 { print $4 }' >listens
	[ -z "$(grep -v '^127\.0\.0\.1:' listens)" ] || fail "it listens elsewhere: $(cat listens)"
fi

# ---- The page holds the licence of each package that is in it, and asks nobody else for anything ----
if [ "$(code "$url")" = 200 ]; then
	curl -s "${url}licence.txt" | grep . >licence
	packages=$(cat "$top"/view/web/src/*.ts | sed -n 's/^import .*"\([^."][^"]*\)";$/\1/p' | sort -u)
	expect_equal "packages in the page" "$packages" uplot
	for text in LICENSE view/web/node_modules/uplot/LICENSE; do
		expect_equal "lines of $text that the page's licence.txt lacks" "$(grep . "$top/$text" | grep -Fxv -f licence)" ""
	done
	for part in "" app.js style.css; do
		curl -s "$url$part" >part
		expect_equal "addresses in the page's '$part'" "$(grep -o 'https*://[^"'"'"'`) ]*' part | grep -v '^http://www.w3.org/')" ""
	done
else
	echo "SKIPPED: the page: this uft was built without it"
fi

# ---- What the recording is ----
ask info
events=$(field events) duration=$(field duration)
expect_equal "events" "$events" 200000
expect_equal "calls" "$("$uft" stat a.uft | sed -n 's/^calls: *//p')" 100000
expect_equal "tasks" "$(grep -o '"tid":[0-9]*' answer | sort | tr '\n' ' ')" '"tid":1000 "tid":1001 "tid":1002 "tid":1003 '

# ---- The list: as many as there are, in order, the same as the report's ----
ask list first=0 count=2000
expect_equal "rows of a list" "$(grep -o '"n":' answer | wc -l)" 2000
ask list first=$((events - 3)) count=100
expect_equal "the last rows" "$(grep -o '"n":[0-9]*' answer | tr '\n' ' ')" "\"n\":$((events - 3)) \"n\":$((events - 2)) \"n\":$((events - 1)) "
ask list first=$((events + 5)) count=100
expect_equal "behind the last" "$(grep -o '"rows":.*' answer)" '"rows":[]}'
ask row_at t=$((duration / 2))
row=$(field row)
ask list first=$((row - 1)) count=2
before=$(grep -o '"t":[0-9]*' answer | head -n 1 | cut -d: -f2) after=$(grep -o '"t":[0-9]*' answer | tail -n 1 | cut -d: -f2)
check
[ "$before" -lt $((duration / 2)) ] && [ "$after" -ge $((duration / 2)) ] || fail "row_at: $before and $after are not around $((duration / 2))"

# ---- Filters: counts as the report's, errors that say what is wrong ----
ask list filter='func == "func_7"' first=0 count=1
calls=$("$uft" report --flat --csv a.uft 2>/dev/null | awk -F, '/"?func_7"?$/ { print $1 }')
expect_equal "events of func_7" "$(field total)" "$((2 * calls))"
ask list filter='duration >= 0' first=0 count=2
expect_equal "the first event, if it matches" "$(grep -o '"n":[0-9]*' answer | tr '\n' ' ')" '"n":0 "n":1 '
ask list filter='func ==' first=0 count=1
check
grep -q '"state":"failed"' answer || fail "a filter that is none: $(cat answer)"
ask list filter='duration > 3000 && func ~ "func_1*"' first=0 count=2000
check
[ "$(grep -o '"duration":[0-9]*' answer | cut -d: -f2 | awk '$1 <= 3000' | wc -l)" -eq 0 ] || fail "the filter lets shorter calls through"

# ---- Tiles: never more than pixels allow, and a rare call is seen at any zoom ----
ask tiles from=0 to="$duration" width=500 rows=0,1,2,3,c0,c1
check
awk -v RS='],\\[|\\[\\[' '/^[0-9]+,\[/ { n = gsub(/,/, ",") / 5; if (n > 1003) bad = bad " " n } END { if (bad) { print bad; exit 1 } }' answer >more ||
	fail "a lane has more spans than two a pixel: $(cat more)"
expect_equal "calls in the whole of lane 0" "$("$uft" report --tree --csv --tid 1001 a.uft 2>/dev/null | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next } $at["depth"] == 0 { n += $at["calls"] } END { print n }')" \
	"$(sed 's/.*{"row":1,"lanes":\[\[0,\[\([^]]*\)\].*/\1/' answer | tr ',' '\n' | awk 'NR % 5 == 4 { n += $1 } END { print n }')"
ask tiles filter='func == "func_7" && duration > 100' from=0 to="$duration" width=200 rows=0,1,2,3
wide=$(field matches)
check
[ "$wide" -gt 0 ] && [ "$(tr '[' '\n' <answer | grep -c '^[0-9]*,[0-9]*,[0-9]*,[0-9]*,[0-9]')" -gt 0 ] || fail "matching calls are not in the picture of all"
expect_equal "no filter beside it" "$(ask tiles filter='' from=0 to=1000 width=10 rows=0; field matches)" "$events"
ask tiles from=5 to=5 width=10 rows=0
check
grep -q '"state":"failed"' answer || fail "an empty part: $(cat answer)"
# The same in bytes, as the page asks for it; and of some depths only.
cat >unpack.py <<'END'
import json, sys
packed, plain = open(sys.argv[1], "rb").read(), json.load(open(sys.argv[2]))
size = int.from_bytes(packed[:4], "little")
spans, tiles, at = packed[4:4 + size], json.loads(packed[4 + size:]), 0
def take():
    global at
    v = shift = 0
    while True:
        byte, at = spans[at], at + 1
        v |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return v
for row in tiles["rows"]:
    for lane in row["lanes"]:
        n, lane[1], end = lane[1], [], 0
        for _ in range(n):
            gap = take()
            start, length = end + (gap >> 1 ^ -(gap & 1)), take()
            lane[1] += [start, length, take(), take(), take()]
            end = start + length
print("the same" if at == size and tiles == plain else "others")
END
for part in "0 $duration 500" "$((duration / 3)) $((duration / 3 + 5000)) 900"; do
	# shellcheck disable=SC2086
	set -- $part
	ask tiles from="$1" to="$2" width="$3" rows=0,1,2:3-5,3,c0,c1
	cp answer plain
	ask tiles from="$1" to="$2" width="$3" rows=0,1,2:3-5,3,c0,c1 packed=1
	expect_equal "the spans of $part in bytes" "$(python3 unpack.py answer plain)" "the same"
	check
	[ "$(wc -c <answer)" -lt "$(wc -c <plain)" ] || fail "$(wc -c answer plain)"
done
ask tiles from=0 to="$duration" width=50 rows=2:3-5
expect_equal "depths that are asked for" "$(grep -o '\[[0-9]*,\[' answer | tr -d '[,' | tr '\n' ' ')" "3 4 5 "
for rows in 2:3 2:3- 2:-5 2:3-5x 0-3; do
	ask tiles from=0 to=1000 width=10 rows="$rows"
	check
	grep -q '"state":"failed"' answer || fail "rows $rows: $(cat answer)"
done
ask tiles filter='func ==' from=0 to=10 width=10 rows=0 packed=1
check
grep -q '^{"state":"failed"' answer || fail "what is wrong is said in text: $(cat answer)"
ask tiles from=0 to=1000 width=10 rows=0,x
check
grep -q '"state":"failed"' answer || fail "rows that are none: $(cat answer)"

# ---- Reports ----
ask tree from=0 to=$((duration + 1))
expect_equal "the time of all is that of the tree" "$(field total)" \
	"$("$uft" report --tree --csv a.uft 2>/dev/null | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next } $at["depth"] == 0 { n += $at["total_ns"] } END { printf "%d", n }')"
ask histogram func=func_7 from=0 to=$((duration + 1))
expect_equal "calls of a histogram" "$(field calls)" "$calls"
most=$(field max)
ask list first=0 count=1 filter="func == \"func_7\" && duration == $most && common_pid == $(field longest_tid)"
check
grep -q '"name":"func_7"' answer || fail "the longest call is not where the histogram says: $(cat answer)"
# With a filter the tree is of the calls that it shows; their callers have none of their own.
ask histogram func=func_7 filter='duration > 2000' from=0 to=$((duration + 1))
shown=$(field calls)
ask tree filter='func == "func_7" && duration > 2000' from=0 to=$((duration + 1))
cat >tree.py <<'END'
import json, sys
nodes = json.load(open(sys.argv[1]))["nodes"]
below = [0] * len(nodes)
for i in reversed(range(len(nodes))):
    below[i] += nodes[i][2]
    up = next((k for k in range(i, -1, -1) if nodes[k][0] < nodes[i][0]), None)
    if up is not None:
        below[up] += below[i]
print(sum(n[2] for n in nodes), len({n[1] for n in nodes if n[2]}), any(n[0] for n in nodes), all(below),
      max(n[4] for n in nodes if not n[2]))
END
expect_equal "the tree of what a filter shows" "$(python3 tree.py answer)" "$shown 1 True True 0"
check
[ "$shown" -gt 0 ] && [ "$shown" -lt "$calls" ] || fail "the filter shows $shown of $calls calls"
ask tree filter='func ==' from=0 to=10
check
grep -q '"state":"failed"' answer || fail "a tree of a filter that is none: $(cat answer)"
ask search text=func_77 from=0
hit=$(field row)
ask list first="$hit" count=1
check
grep -q '"name":"func_77' answer || fail "the row that was found is another one: $(cat answer)"
for from in $((events - 1)) $((events + 5)); do
	ask search text=func from="$from"
	expect_equal "behind the last row, $from, there is none" "$(cat answer)" '{"state":"done"}'
done
# The next end of a call of a function, the next event of a thread, or both; forward and back, and of what a filter shows.
for first in 0 2000 4000 6000; do
	ask list first=$first count=2000
	cp answer rows.$first
done
cat >beside.py <<'END'
import json, sys
rows = [r for first in (0, 2000, 4000, 6000) for r in json.load(open(f"rows.{first}"))["rows"]]
call, tid, first = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
wanted = [r["n"] for r in rows if (not call or (r["name"] == call and r["event"] == "funcgraph_exit")) and (not tid or r["tid"] == tid)]
print(min(n for n in wanted if n > first), max((n for n in wanted if n < first), default=""))
END
for of in func_7:0 :1002 func_9:1003; do
	call=${of%:*} tid=${of#*:}
	ask search call="$call" tid="$tid" from=4000
	hit=$(field row)
	ask search call="$call" tid="$tid" from=4000 back=1
	expect_equal "what is beside row 4000, of $of" "$hit $(field row)" "$(python3 beside.py "$call" "$tid" 4000)"
done
ask search call=func_ from=0
expect_equal "a part of a function's name is no call of it" "$(cat answer)" '{"state":"done"}'
ask search call=func_7 from=0 filter='duration > 3000'
hit=$(field row)
ask list first="$hit" count=1 filter='duration > 3000'
check
grep -q '"name":"func_7"' answer && [ "$(field duration)" -gt 3000 ] || fail "a call of what the filter shows: $(cat answer)"
ask search from=0
check
grep -q '"state":"failed"' answer || fail "a search for nothing: $(cat answer)"
ask search text=no_such_name from=0
check
grep -q '"row"' answer && fail "a name that is not there is found"

# ---- Plots: all calls are in them, and the longest is that of the histogram ----
sum() { grep -o "\"$1\":\[[^]]*\]" answer | tr -dc '0-9.,\n' | tr ',' '\n' | awk '{ n += $1 } END { printf "%d", n }'; }
largest() { grep -o "\"$1\":\[[^]]*\]" answer | tr -dc '0-9.,\n' | tr ',' '\n' | sort -n | tail -n 1; }
ask histogram func=func_7 from=0 to=$((duration + 1))
longest=$(field max)
ask plot func=func_7 from=0 to=$((duration + 1)) width=50
expect_equal "calls of a plot" "$(sum count)" "$calls"
expect_equal "the longest of a plot" "$(largest high)" "$longest"
expect_equal "its parts" "$(grep -o '"count":\[[^]]*' answer | tr ',' '\n' | wc -l)" 50
ask plot from=0 to=$((duration + 1)) width=7
expect_equal "all calls of a plot" "$(sum count)" 100000
ask plot field=nodot from=0 to=10
check
grep -q '"state":"failed"' answer || fail "a field without an event: $(cat answer)"

# ---- Exports of a part: what uft export writes of it ----
from=$((duration / 4)) to=$((duration / 2))
ask export format=folded from="$from" to="$to"
curl -s "${url}exported?number=$(field export)" >part.folded
"$uft" export -f folded -o whole.folded --range "${from}ns~${to}ns" a.uft 2>/dev/null
check
[ -s part.folded ] || fail "the export is empty: $(cat answer)"
expect_equal "an exported part" "$(cmp part.folded whole.folded 2>&1)" ""
expect_equal "its bytes" "$(field bytes)" "$(wc -c <part.folded | tr -d ' ')"
expect_equal "no such export" "$(code "${url}exported?number=99999")" 404
for format in $(curl -s "${url}api/files" | sed 's/.*"formats":\[//' | tr -d '"]}' | tr ',' ' '); do
	ask export format="$format" from="$from" to="$to"
	curl -s "${url}exported?number=$(field export)" >part
	check
	[ "$(field bytes)" = "$(wc -c <part | tr -d ' ')" ] && [ -s part ] || fail "an export as $format: $(cat answer)"
done
ask export format=trace.dat-v7 from="$from" to="$to"
expect_equal "its suffix" "$(grep -o '"suffix":"[^"]*"' answer)" '"suffix":".dat"'
ask export format=ctf from="$from" to="$to"
check
grep -q 'a directory of files: use uft export' answer || fail "a format that is a directory: $(cat answer)"
ask export format=nothing from=0 to=10
check
grep -q 'there is no such format' answer || fail "a format that is none: $(cat answer)"
check
find "$TMPDIR" -name 'uft-view-*' | grep . && fail "exports leave files"

# ---- Two at once; one that goes away in the middle ----
curl -s "${url}api/list?first=0&count=2000" >one &
one=$!
curl -s "${url}api/list?first=0&count=2000" >two
wait "$one"
expect_equal "two viewers" "$(cmp one two 2>&1)" ""
curl -s --max-time 0.001 "${url}api/list?first=0&count=2000" >/dev/null 2>&1
expect_equal "after one that went away" "$(code "${url}api/info")" 200
curl -s --limit-rate 1000 -o slow "${url}api/list?first=0&count=2000" &
slow=$!
for _ in $(seq 600); do [ -s slow ] && break; sleep 0.1; done
kill "$slow"
wait "$slow" 2>/dev/null || :
check
[ -s slow ] && [ "$(wc -c <slow)" -lt "$(wc -c <two)" ] || fail "it did not go away in the middle: $(wc -c slow two)"
expect_equal "after one that went away in the middle of an answer" "$(code "${url}api/info")" 200
end_server
expect_equal "its end" "$status" 0

# ---- Several recordings: on one clock, and their difference ----
"$SYNTH" b.uft 30000 9
serve a.uft b.uft
file=1
ask info
events_b=$(field events)
file=all
ask info
expect_equal "events of both" "$(field events)" "$((events + events_b))"
expect_equal "tasks of both" "$(grep -o '"tid":' answer | wc -l)" 8
duration=$(field duration)
late=$(grep -o '"offset":[0-9]*' answer | tail -n 1 | cut -d: -f2)
check
grep -q '"offset":0,' answer || fail "no recording is at the start: $(head -c 700 answer)"
ask tiles from=0 to="$duration" width=100 rows=0,1048576,c1048576
expect_equal "rows of both" "$(grep -o '"row":[0-9]*' answer | tr '\n' ' ')" '"row":0 "row":1048576 "row":2148532224 '
check
[ "$(grep -o '"row":1048576,"lanes":\[\[' answer | wc -l)" = 1 ] || fail "a row of the second recording is empty: $(head -c 500 answer)"
first=0
: >times
while [ "$first" -lt $((events + events_b)) ]; do
	ask list first="$first" count=2000
	grep -o '"n":[0-9]*,"t":[0-9]*,"ts":[0-9]*,"file":[0-9]*' answer | tr -c '0-9\n' ' ' >>times
	first=$((first + 52000))
done
check
awk '$2 < t { bad = $0 } { t = $2; n[$4]++ } END { exit bad || !n[0] || !n[1] }' times || fail "rows of both are not in order: $(head -n 3 times)"
half=$((late + 3000))
ask row_at t="$half"
row=$(field row)
file=0
ask row_at t="$half"
a=$(field row)
file=1
ask row_at t=3000
expect_equal "rows before a time, of both" "$row" "$((a + $(field row)))"
file=all
for source in 0 1; do
	ask search tid=1001 source=$source from="$row"
	ask list first="$(field row)" count=1
	expect_equal "an event of a thread of recording $source" "$(field file)" $source
done
ask list first="$row" count=1
check
[ "$(field t)" -ge "$half" ] || fail "the row at a time is before it"
ask search text=func_77 from="$row"
hit=$(field row)
ask search text=func_77 from=$((hit + 1)) back=1
expect_equal "back to what was found" "$(field row)" "$hit"
ask tree from=0 to=$((duration + 1))
both=$(field total)
file=0
ask tree from=0 to=$((duration + 1))
a=$(field total)
file=1
ask tree from=0 to=$((duration + 1))
expect_equal "the tree of both" "$both" "$((a + $(field total)))"
ask diff with=0
expect_equal "A of a difference" "$(field total_a)" "$a"
expect_equal "B of a difference" "$(field total_a) and $(field total_b)" "$a and $((both - a))"
ask diff with=1
check
grep -q '"state":"failed"' answer || fail "a difference from itself: $(head -c 200 answer)"
# An offset by hand moves one recording, and all answers about it. They begin together if they were made at about the same time, else $late apart.
file=all
ask plot from=0 to=10000000 width=10 shift=0,-"$late"
before=$(sum count)
ask row_at t=4000 shift=0,-"$late"
low=$(field row)
ask info shift=0,-"$late"
expect_equal "offsets that let them begin together" "$(grep -o '"offset":[0-9]*' answer | tr -dc '0-9\n' | tr '\n' ' ')" "0 0 "
together=$(field duration)
for shift in 0,$((7000 - late)) -7000,-"$late"; do
	ask info shift="$shift"
	expect_equal "offsets with $shift" "$(grep -o '"offset":[0-9]*' answer | tr -dc '0-9\n' | tr '\n' ' ')" "0 7000 "
done
expect_equal "what was added is told" "$(grep -o '"shift":[-0-9]*' answer | head -n 1)" '"shift":-7000'
ask info shift=7000,-"$late"
expect_equal "the whole is longer, by what the longer one was moved" "$(field duration)" $((together + 7000))
ask row_at t=4000 shift=0,$((7000 - late))
both=$(field row)
file=0
ask row_at t=4000
expect_equal "rows before a time, of one that was moved" "$both" "$(field row)"
check
[ "$both" -lt "$low" ] || fail "the other is not moved: $both rows, $low before"
file=all
ask list first=0 count=2000 shift=0,$((7000 - late))
check
grep -o '"t":[0-9]*,"ts":[0-9]*,"file":[0-9]*' answer | tr -c '0-9\n' ' ' |
	awk '$1 < t || ($3 == 1 && $1 < 7000) { exit 1 } { t = $1; n[$3]++ } END { exit !n[0] || !n[1] }' || fail "rows with an offset: $(head -c 400 answer)"
ask tiles from=0 to=7000 width=100 rows=0,1048576 shift=0,$((7000 - late))
check
grep -q '"row":0,"lanes":\[\[' answer && grep -q '"row":1048576,"lanes":\[\]' answer || fail "a picture before one that was moved: $(head -c 400 answer)"
ask plot from=0 to=10000000 width=10 shift=0,$((9000000 - late))
check
[ "$(sum count)" -lt "$before" ] || fail "a plot has not moved: $(sum count) of $before"
for shift in x 1,2,3 1, ,1 1.5 -- 0,9999999999999999999; do
	ask info shift="$shift"
	check
	grep -q '"state":"failed"' answer || fail "an offset of '$shift': $(head -c 200 answer)"
done
ask info shift=999999999999999999,-999999999999999999
expect_equal "the longest offsets" "$(grep -o '"offset":[0-9]*' answer | tr -dc '0-9\n' | tr '\n' ' ')" "$((1999999999999999998 - late)) 0 "
file=all
ask export format=folded from=0 to=10
check
grep -q 'one recording' answer || fail "an export of both: $(cat answer)"
end_server
file=0

# ---- Functions that were dropped, threads without a CPU ----
cat >prog.c <<'END'
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
__attribute__((noinline)) unsigned tiny(unsigned x) { __asm__ volatile(""); return x * 2654435761u + 1; }
__attribute__((noinline)) unsigned rest(unsigned x) { nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, 0); return x; }
__attribute__((noinline)) void leave(void) { rest(1); _exit(0); }
int main(void)
{
	unsigned x = 1;

	if (!fork())
		leave();
	wait(0);
	for (rest(1); clock() < 0.8 * CLOCKS_PER_SEC; )
		x = tiny(x);
	return x == 7;
}
END
build_traced prog
run "$uft" record -q -o drops.uft -p function_graph --sched-switch --max-rate 100000 ./prog
serve drops.uft
ask info
duration=$(field duration)
check
grep -q '"drops":\[{"t":[0-9]*,"name":"tiny","pid":[0-9]*' answer || fail "dropped functions are not told of: $(head -c 600 answer)"
ask tiles from=0 to=$((duration + 1)) width=400 rows=0
check
grep -q '\[65533,\[' answer && grep -q '"blocked"' answer || fail "a thread's wait is not drawn: $(head -c 600 answer)"
ask tree from=0 to=$((duration + 1))
check
grep -q '"rest",[0-9]*,[0-9]*,[0-9]*,[0-9]*,[0-9]*,[1-9][0-9]*,' answer || fail "blocked time is not in the tree: $(head -c 600 answer)"
# One call lasts the whole recording: it is seen at any zoom, and in the middle, where it neither begins nor ends.
longest() { grep -o '\[0,\[[^]]*' answer | sed 's/^\[0,\[//' | tr ',' '\n' | awk 'NR % 5 == 2 && $1 > n { n = $1 } END { printf "%.0f", n }'; }
for width in 1 20 400; do
	ask tiles from=0 to=$((duration + 1)) width=$width rows=0
	check
	[ "$(longest)" -gt $((duration * 9 / 10)) ] || fail "main is not as long as all at $width pixels: $(longest) of $duration"
done
ask tiles from=$((duration / 2)) to=$((duration / 2 + 100)) width=100 rows=0
check
[ "$(longest)" -gt $((duration * 9 / 10)) ] || fail "main is not seen in its middle: $(longest) of $duration"
ask list filter='func == "leave"' first=0 count=1
pid=$(field pid)
ask info
child=$(grep -o "\"row\":[0-9]*,\"file\":0,\"pid\":$pid," answer | grep -o '[0-9]*' | head -n 1)
ask tiles from=0 to=$((duration + 1)) width=400 rows="$child"
ends=$(grep -o '\[[0-9]*,\[[0-9-]*,[0-9]*,' answer | sed 's/^.*\[//' | awk -F, '{ if ($1 + $2 > n) n = $1 + $2 } END { printf "%d", n }')
check
[ "$ends" -gt 0 ] && [ "$ends" -lt $((duration / 2)) ] || fail "a call of a child that ended goes on to $ends of $duration"
# It was blocked within that call, which does not end it.
check
[ "$(longest)" -ge 20000000 ] || fail "a call that slept 20 ms and never returned lasts $(longest) ns"
ask list first=0 count=500
check
grep -q '"event":"switch"' answer || fail "switches are not called so in the list: $(grep -o '"event":"[^"]*"' answer | sort | uniq -c)"
end_server
