#!/bin/sh
# SPDX-License-Identifier: MIT
# tree.sh - uft report --tree and the other views by path: exact calls, sums that add up, the same in text, CSV and JSON
. "$(dirname "$0")/../../lib/common.sh"

cat >prog.c <<'END'
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
#define FN __attribute__((noinline, noclone))
static jmp_buf env;
FN void leaf(void) { __asm__ volatile("" ::: "memory"); }
FN void jumps(void) { leaf(); longjmp(env, 1); }
FN void middle(void) { leaf(); leaf(); }
FN int down(int n) { leaf(); return n ? down(n - 1) + 1 : 0; }
int main(int argc, char **argv)
{
	(void)argv;
	for (int i = 0; i < 100; i++) {
		middle();
		if (!setjmp(env))
			jumps();
	}
	down(9);
	if (argc > 1)
		raise(SIGKILL);
	return 0;
}
END
build_traced prog
run "$uft" record -q -o rec.uft ./prog
run "$uft" report --tree --csv rec.uft
expect_status 0
expect_no_err
cp out tree.csv
calls() { awk -F, -v p="$1" '$12 == p { print $4 }' "$2"; }
expect_equal "main;middle;leaf" "$(calls 'main;middle;leaf' tree.csv)" 200
expect_equal "after a longjmp" "$(calls 'main;middle' tree.csv) $(calls 'main;jumps' tree.csv) $(calls 'main;jumps;leaf' tree.csv)" "100 100 100"
expect_equal "recursion" "$(calls 'main;down;down;down;leaf' tree.csv)" 1
expect_equal "calls" "$(awk -F, 'NR > 1 { n += $4 } END { print n }' tree.csv)" "$(stat_value rec.uft calls)"
expect_equal "self adds up to the whole" "$(awk -F, 'NR > 1 { n += $3 } END { printf "%.0f", n }' tree.csv)" "$(awk -F, '$11 == "0" { n += $1 } END { printf "%.0f", n }' tree.csv)"
run "$uft" report --profile --csv rec.uft
expect_equal "as the profile" "$(awk -F, '$11 == "leaf" { print $1, $3 }' out)" "$(awk -F, '$13 == "leaf" { n += $4; t += $3 } END { printf "%d %.0f\n", n, t }' tree.csv)"
expect_equal "recursion in the profile" "$(awk -F, '$11 == "down" { print $1, $2 }' out)" "10 $(awk -F, '$12 == "main;down" { print $1 }' tree.csv)"
if command -v python3 >/dev/null; then
	run "$uft" report --tree --json rec.uft
	python3 -c 'import csv, json, sys
rows = json.load(open("out"))
want = list(csv.DictReader(open("tree.csv")))
assert rows["report"] == "tree" and rows["version"] == 1
assert [{k: str(v) for k, v in r.items() if "share" not in k} for r in rows["rows"]] == [{k: v for k, v in r.items() if "share" not in k} for r in want]' ||
		fail "JSON is not as CSV"
fi
run "$uft" report --tree rec.uft
expect_equal "lines of 100" "$(awk 'length($0) > 100 && !/^#/' out | wc -l)" 0
run "$uft" report --tree --depth 1 rec.uft
expect_equal "one level" "$(awk '!/^#/ { print $NF }' out)" main
expect_out "are not shown (--min 0 shows all)"
run "$uft" report --tree --limit 1 rec.uft
expect_out "rows beyond --limit or with less than 0.5 % of the time are not shown (--min 0 without --limit shows all)"
run "$uft" report --callers leaf --csv rec.uft
expect_equal "callers" "$(calls leaf out) $(calls 'leaf;middle' out) $(calls 'leaf;jumps;main' out)" "310 200 100"
run "$uft" report --callees 'mid*' --csv rec.uft
expect_equal "callees" "$(awk -F, 'NR > 1 { print $12, $4 }' out | tr '\n' ' ')" "middle 100 middle;leaf 200 "
# What matches may have a small share of the whole time: its callers and callees are shown all the same.
cat >waits.c <<'END'
#include <time.h>
#define FN __attribute__((noinline, noclone))
FN void small(void) { __asm__ volatile("" ::: "memory"); }
FN void calls(void) { small(); }
int main(void)
{
	calls();
	nanosleep(&(struct timespec){ .tv_sec = 1 }, 0);
	return 0;
}
END
build_traced waits
run "$uft" record -q -o waits.uft ./waits
run "$uft" report --callers small waits.uft
expect_equal "callers of a small share" "$(awk '!/^#/ { print $NF }' out | tr '\n' ' ')" "small calls main "
run "$uft" report --callees calls waits.uft
expect_equal "callees of a small share" "$(awk '!/^#/ { print $NF }' out | head -n 1)" calls
run "$uft" report --tree waits.uft
expect_equal "and left out of the tree" "$(awk '!/^#/ { print $NF }' out)" main
run "$uft" report --histogram leaf --csv rec.uft
expect_equal "histogram" "$(awk -F, 'NR > 1 { n += $3 } END { print n }' out)" 310
run "$uft" report --timeline --csv rec.uft
expect_equal "timeline" "$(awk -F, 'NR > 1 { n += $2 } END { print n }' out)" "$(stat_value rec.uft calls)"
expect_equal "its slots" "$(awk -F, 'NR > 1 { n++; if ($1 <= last && NR > 2) bad = 1; last = $1 } END { print bad + 0, (n <= 51) }' out)" "0 1"
run "$uft" report --timeline rec.uft
expect_equal "the busiest has the longest bar" "$(awk '!/^#/ && $2 + 0 > calls { calls = $2; bar = $NF } END { print bar }' out)" "************************************"
# A program is called as it was started, and by its file's name where the kernel keeps only the first 15 bytes of that
ln -s prog called
cp prog a-program-of-a-long-name
for name in called a-program-of-a-long-name; do
	run "$uft" record -q -o name.uft ./$name
	run "$uft" report --flat --by program --depth 1 --csv name.uft
	expect_equal "program $name" "$(sed -n 's/.*,\(program .*\)/\1/p' out | sort -u)" "program $name"
	run "$uft" report --flat --by process --depth 1 --csv name.uft
	expect_equal "process of $name" "$(sed -n 's/.*,process [0-9]* (\(.*\))$/\1/p' out | sort -u)" "$name"
	run "$uft" export -f chrome -o name.json name.uft
	expect_equal "process of $name in an export" "$(grep -o '"process_name","args":{"name":"[^"]*"' name.json | sort -u)" "\"process_name\",\"args\":{\"name\":\"$name\""
done
run "$uft" report --flat --by process --csv rec.uft
expect_equal "by process" "$(awk -F, '$13 == "leaf" { print $4 }' out)" 310

# Calls that never end count up to the end, and are marked.
run "$uft" record -q -o killed.uft ./prog killed
run "$uft" report --tree killed.uft
expect_out "main (1 open)"
expect_out "# 1 call had not returned when its process or the recording ended"
run "$uft" report --histogram main rec.uft
expect_out "# main: 1 call, min"

# Processes that end, are killed or become another program in the middle of a call, long before the recording ends.
cat >ends.c <<'END'
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#define FN __attribute__((noinline, noclone))
FN void leaf(void) { __asm__ volatile("" ::: "memory"); }
FN void exits(void) { leaf(); exit(0); }
FN void killed(void) { leaf(); raise(SIGKILL); }
FN void execs(char **argv) { leaf(); execl(argv[0], argv[0], "again", NULL); }
FN void again(void) { leaf(); usleep(300000); leaf(); }
int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "again"))
		again();
	else if (argc > 1)
		killed();
	else if (!fork())
		exits();
	else if (!fork())
		killed();
	else if (!fork())
		execs(argv);
	while (wait(NULL) > 0)
		;
	return 0;
}
END
build_traced ends
run "$uft" record -q -o ends.uft ./ends
run "$uft" report --tree --csv ends.uft
expect_equal "open calls" "$(awk -F, '$10 == 1 { print $13 }' out | sort | paste -sd ' ')" "execs exits killed"
expect_equal "none lasts as long as the program that came after them" "$(awk -F, '$10 == 1 && $1 < 200000000 { n++ } $13 == "again" && $1 >= 300000000 { n++ } END { print n }' out)" 4
whole=$(awk -F, '$11 == 0 { n += $1 } END { printf "%.0f", n }' out)
run "$uft" report --flat --csv ends.uft
expect_equal "the profile has the same time" "$(awk -F, 'NR > 1 { n += $3 } END { printf "%.0f", n }' out)" "$whole"
run "$uft" export -f folded -o ends.folded ends.uft
expect_equal "folded" "$(awk '{ n += $NF } END { printf "%.0f", n }' ends.folded)" "$whole"
if command -v python3 >/dev/null; then
	run "$uft" export -f chrome -o ends.json ends.uft
	# In the order of time in each thread, nested, each open call marked, and in all as long as in the tree.
	run python3 -c 'import json, sys
from decimal import Decimal
stack, last, spent, marked = {}, {}, 0, []
for e in json.load(open("ends.json"), parse_float=Decimal)["traceEvents"]:
    if e["ph"] not in "BE":
        continue
    at, calls = int(Decimal(e["ts"]) * 1000), stack.setdefault(e["tid"], [])
    assert at >= last.get(e["tid"], 0), e
    last[e["tid"]] = at
    if e["ph"] == "B":
        calls.append((e["name"], at))
    else:
        name, begin = calls.pop()
        spent += 0 if calls else at - begin
        marked += [name] if e.get("args", {}).get("open") else []
assert sorted(marked) == ["execs", "exits", "killed"], marked
assert spent == int(sys.argv[1]), (spent, sys.argv[1])' "$whole"
	expect_status 0
	expect_no_err
fi

# No path without returns; views and tables that do not go together.
run "$uft" record -q -p function -o hits.uft ./prog
run "$uft" report --timeline --csv hits.uft
expect_equal "timeline of hits" "$(awk -F, 'NR > 1 { n += $2 } END { print n }' out)" "$(stat_value hits.uft calls)"
run "$uft" report --tree hits.uft
expect_status 1
expect_err "the recording has no returns, so no durations and no paths: record it with -p function_graph"
run "$uft" report --callers nosuch rec.uft
expect_status 1
expect_err "no function of the recording matches 'nosuch'"
for wrong in "--tree --profile" "--tree --json --csv" "--by task" "--depth 3" "--json" "--timeline --flat"; do
	# shellcheck disable=SC2086
	run "$uft" report $wrong rec.uft
	expect_status 2
done
# A recording that is cut off, and one without events.
head -c "$(($(wc -c <rec.uft) * 2 / 3))" rec.uft >cut.uft
run "$uft" report --tree --csv cut.uft
expect_status 0
run "$uft" record -q -l nosuch_function -o none.uft ./prog
run "$uft" report --tree none.uft
if [ -e none.uft ]; then expect_status 0; fi

# What a recording is: the same as lines, JSON and CSV; what is missing in it is said in each.
if command -v python3 >/dev/null; then
	for rec in rec cut; do
		"$uft" stat $rec.uft >stat.text
		"$uft" stat --json $rec.uft >stat.json
		"$uft" stat --csv $rec.uft >stat.csv
		run python3 -c 'import csv, json
lines = [l.rstrip("\n").split(": ", 1) for l in open("stat.text")]
rows = [[r["key"], r["value"]] for r in csv.DictReader(open("stat.csv", newline=""))]
assert rows == lines, (rows, lines)
j = json.load(open("stat.json"))
assert (j.pop("report"), j.pop("version")) == ("stat", 1)
assert j.pop("missing") == [v for k, v in lines if k == "missing"]
assert j["calls"] > 0 and j["complete"] in (True, False)
text = {k: v for k, v in lines if k != "missing"}
text["complete"] = text["complete"] == "yes"
assert {k: v if isinstance(v, (bool, str)) else float(v) for k, v in j.items()} == {
    k: v if isinstance(j[k], (bool, str)) else float(v) for k, v in text.items()}'
		expect_status 0
		expect_no_err
	done
	run "$uft" stat --json --csv rec.uft
	expect_status 2
fi
