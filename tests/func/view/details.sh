#!/bin/sh
# SPDX-License-Identifier: MIT
# details.sh - details of a call or event: the answer agrees with the list and the source, and the page shows it; the call tree folds
. "$(dirname "$0")/common.sh"
need python3
cat >prog.c <<'END'
#include <time.h>
#define FN __attribute__((noinline, noclone))
FN int leaf(int a) { __asm__ volatile(""); return a + 7; }
FN void rest(int ms) { nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000L }, 0); __asm__ volatile(""); }
FN int work(int n)
{
	int sum = 0;
	for (int i = 0; i < n; i++)
		sum += leaf(i);
	rest(2);
	return sum;
}
int main(void)
{
	int sum = 0;
	for (int i = 0; i < 6; i++)
		sum += work(i);
	return sum == 0;
}
END
build_traced prog
run "$uft" record -q -o prog.uft -p function_graph --sched-switch -O funcgraph-args -O funcgraph-retval ./prog
expect_status 0
serve prog.uft

ask list first=0 count=2000
cp answer rows
cat >expect.py <<'END'
# Of each call, as the rows of the list tell it: what to ask, and what the answer is to have.
import json
rows, calls, open_calls = json.load(open("rows"))["rows"], [], []
for r in rows:
    if r["event"] == "funcgraph_entry":
        for c in open_calls:
            c["below"] += 1
        if open_calls:
            open_calls[-1]["direct"] += 1
        open_calls.append(dict(name=r["name"], t=r["t"], tid=r["tid"], depth=r["depth"], cpu=r["cpu"], ts=r["ts"], direct=0, below=0, texts=[]))
    elif r.get("of_call"):
        open_calls[-1]["texts"].append(r["event"] + ": " + r["name"])
    elif r["event"] == "funcgraph_exit":
        c = open_calls.pop()
        c.update(end_cpu=r["cpu"], duration=r["duration"], self=r["self"])
        calls.append(c)
END
cat >questions.py <<'END'
from expect import *
for c in calls:
    print(c["t"], c["t"] + c["duration"] + 1, c["tid"], c["depth"])
END
cat >compare.py <<'END'
import sys
from expect import *
c, d = calls[int(sys.argv[1])], json.load(open("answer"))
wrong = [k for k in ("name", "tid", "cpu", "ts", "direct", "below", "texts", "end_cpu", "duration", "self") if d.get(k, []) != c[k]]
print("the same" if d["found"] and not wrong else f"{wrong}: {d} {c}")
END
python3 questions.py >questions
expect_equal "calls that are asked about" "$(grep -c . questions)" 28
n=0
while read -r from to tid depth; do
	ask details from="$from" to="$to" tid="$tid" depth="$depth"
	expect_equal "details of call $n" "$(python3 compare.py $n)" "the same"
	n=$((n + 1))
done <questions
# shellcheck disable=SC2046
set -- $(python3 -c 'from expect import *
c = [c for c in calls if c["name"] == "work"][3]; print(c["t"], c["t"] + c["duration"] + 1, c["tid"], c["depth"])')
work="from=$1 to=$2 tid=$3 depth=$4"
# shellcheck disable=SC2086
ask details $work
expect_equal "the argument and the result of work(3)" "$(python3 -c 'import json
t = dict(x.split(": ") for x in json.load(open("answer"))["texts"]); print(t["arguments"].split(", ")[0], t["result"])')" "0x3 0x18"
if ldconfig -p 2>/dev/null | grep -q 'libdw\.so\.1'; then
	# shellcheck disable=SC2086
	ask source $work
	expect_equal "where work() stands" "$(grep -o 'prog.c","line":[0-9]*' answer)" 'prog.c","line":5'
else
	echo "SKIPPED: the source: libdw is not installed"
fi
# A call of which the end is not in the range is open; what is not there is not found; what is no question is refused.
ask details from="$1" to=$(($1 + 1)) tid="$3" depth="$4"
check
grep -q '"found":1' answer && ! grep -q '"duration"' answer || fail "an open call: $(cat answer)"
ask details from=$(($1 + 1)) to="$2" tid="$3" depth="$4"
expect_equal "no call begins there" "$(field found)" 0
ask details from="$1" to="$2" tid=$(($3 + 1)) depth="$4"
expect_equal "none of that thread" "$(field found)" 0
for wrong in "tid=$3" "depth=$4" "tid=$3 depth=x" "tid=$3 depth=-1"; do
	# shellcheck disable=SC2086
	ask details from="$1" to="$2" $wrong
	check
	grep -q '"state":"failed"' answer || fail "$wrong: $(cat answer)"
done
# An event: its fields.
# shellcheck disable=SC2046
set -- $(python3 -c 'from expect import *
r = [r for r in rows if r["event"] == "switch" and r["name"].startswith("state=waits")][0]; print(r["t"], r["tid"], "switch: " + r["name"])')
t=$1 tid=$2
shift 2
ask details from="$t" to=$((t + 1)) tid="$tid" name="$*"
expect_equal "the fields of an event" "$(grep -o '"state":"waits"' answer)" '"state":"waits"'

# ---- Latencies and plots are of what the filter shows ----
end=$(python3 -c 'from expect import *; print(max(r["t"] for r in rows) + 1)')
ask histogram func=leaf from=0 to="$end"
expect_equal "all calls of leaf()" "$(field calls)" 15
slow=$(python3 -c 'from expect import *; print(sorted(c["duration"] for c in calls if c["name"] == "leaf")[7])')
least="duration >= $slow"
ask histogram func=leaf from=0 to="$end" filter="$least"
expect_equal "those that the filter shows" "$(field calls)" "$(python3 -c 'import sys
from expect import *; print(sum(c["name"] == "leaf" and c["duration"] >= int(sys.argv[1]) for c in calls))' "$slow")"
expect_equal "the shortest of them" "$(field min)" "$slow"
filtered=$(field calls)
ask plot func=leaf from=0 to="$end" width=1 filter="$least"
expect_equal "of a plot as well" "$(grep -o '"count":\[[0-9]*' answer)" "\"count\":[$filtered"
ask histogram func=leaf from=0 to="$end" filter='func =='
check
grep -q '"state":"failed"' answer || fail "a filter that is none: $(cat answer)"

in_page details.mjs
