#!/bin/sh
# SPDX-License-Identifier: MIT
# server.sh - the answers of uft view agree with uft report, and are for those who have the token
. "$(dirname "$0")/common.sh"

"$SYNTH" a.uft 100000 3
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
	ss -ltn 2>/dev/null | awk -v p=":$port" 'index($4, p) { print $4 }' >listens
	[ -z "$(grep -v '^127\.0\.0\.1:' listens)" ] || fail "it listens elsewhere: $(cat listens)"
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
ask list filter='func ==' first=0 count=1
check
grep -q '"state":"failed"' answer || fail "a filter that is none: $(cat answer)"
ask list filter='duration > 3000 && func ~ "func_1*"' first=0 count=2000
check
[ "$(grep -o '"duration":[0-9]*' answer | cut -d: -f2 | awk '$1 <= 3000' | wc -l)" -eq 0 ] || fail "the filter lets shorter calls through"

# ---- Tiles: never more than pixels allow, and a rare call is seen at any zoom ----
ask tiles from=0 to="$duration" width=500 rows=0,1,2,3,c0,c1
check
awk -v RS='],\\[|\\[\\[' '/^[0-9]+,\[/ { n = gsub(/,/, ",") / 5; if (n > 1002) bad = bad " " n } END { if (bad) { print bad; exit 1 } }' answer >more ||
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
ask tiles from=0 to=1000 width=10 rows=0,x
check
grep -q '"state":"failed"' answer || fail "rows that are none: $(cat answer)"

# ---- Reports ----
ask tree from=0 to=$((duration + 1))
expect_equal "the time of all is that of the tree" "$(field total)" \
	"$("$uft" report --tree --csv a.uft 2>/dev/null | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next } $at["depth"] == 0 { n += $at["total_ns"] } END { printf "%d", n }')"
ask histogram func=func_7 from=0 to=$((duration + 1))
expect_equal "calls of a histogram" "$(field calls)" "$calls"
ask search text=func_77 from=0
hit=$(field row)
ask list first="$hit" count=1
check
grep -q '"name":"func_77' answer || fail "the row that was found is another one: $(cat answer)"
ask search text=no_such_name from=0
check
grep -q '"row"' answer && fail "a name that is not there is found"

# ---- Two at once; one that goes away in the middle ----
curl -s "${url}api/list?first=0&count=2000" >one &
one=$!
curl -s "${url}api/list?first=0&count=2000" >two
wait "$one"
expect_equal "two viewers" "$(cmp one two 2>&1)" ""
curl -s --max-time 0.001 "${url}api/list?first=0&count=2000" >/dev/null 2>&1
expect_equal "after one that went away" "$(code "${url}api/info")" 200
end_server
expect_equal "its end" "$status" 0
