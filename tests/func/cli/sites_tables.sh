#!/bin/sh
# SPDX-License-Identifier: MIT
# sites_tables.sh - uft sites --json and --csv: the same sites as the text, for other parsers, with any names
. "$(dirname "$0")/../../lib/common.sh"
. "$top/tests/func/attach/lib.sh"
need python3

cat >prog.c <<'END'
#include <stdio.h>
__attribute__((noinline, patchable_function_entry(0, 0))) int unprepared(void) { __asm__ volatile(""); return 1; }
__attribute__((noinline)) int waits(void) { return getchar(); }
int main(void)
{
	puts("ready");
	fflush(stdout);
	return waits() + unprepared() > 5;
}
END
odd='a "b", <i>c&d'
# shellcheck disable=SC2059
bytes=$(printf 'e\t\377f')
${CC:-cc} -O1 -fpatchable-function-entry=5 -o prog prog.c || exit 1
${CC:-cc} -O1 -o plain prog.c || exit 1
cp prog "$odd"
cp prog "$bytes"

# compare.py TEXT JSON CSV ROWS_MORE: the lines of the text that are no #, the rows of both tables, and none is less than ROWS_MORE.
cat >compare.py <<'END'
import csv, json, sys
text = [line for line in open(sys.argv[1], errors="replace").read().split("\n") if line and not line.startswith("#")]
table = json.load(open(sys.argv[2], encoding="utf-8"))
assert table["report"] == "sites" and table["version"] == 1, table
rows = table["rows"]
lines = list(csv.DictReader(open(sys.argv[3], newline="", encoding="utf-8")))
assert len(rows) == len(text) == len(lines) >= int(sys.argv[4]), (len(rows), len(text), len(lines))
names = ["object", "address", "kind", "length", "found", "now", "function", "skipped", "note"]
for line, row, other in zip(text, rows, lines):
    assert list(row) == list(other) == names, (row, other)
    assert {k: "" if v is None else str(v) for k, v in row.items()} == other, (row, other)
    word = line.split()
    assert int(word[0], 16) == int(row["address"], 16), (line, row)
    assert [word[1], int(word[2]), word[3]] == [row["kind"], row["length"], row["found"]], (line, row)
    rest = line.split(None, 4)[4]
    if row["now"] is not None or rest.startswith("- "):
        now, rest = rest.split(None, 1)
        assert now == (row["now"] or "-"), (line, row)
    said = (row["function"] or "-") + "".join(f"  [{row[k]}]" for k in ("skipped", "note") if row[k])
    assert rest == said, (rest, said)
for path in sys.argv[5:]:
    assert any(row["object"] == path for row in rows), (path, {row["object"] for row in rows})
print("the same")
END
# tables WHAT ROWS OPERANDS...: text, JSON and CSV of the same have the same lines, with rows of $object.
tables() {
	what=$1 rows=$2
	shift 2
	"$uft" sites "$@" >text && "$uft" sites --json "$@" >json && "$uft" sites --csv "$@" >csv
	expect_equal "status of $what" $? 0
	expect_equal "$what" "$(python3 compare.py text json csv "$rows" ${object:+"$object"} 2>&1 | tail -n 1)" "the same"
}
tables "the sites of a program" 2 ./prog
tables "with what has none" 3 -S ./prog
tables "an unprepared program" 2 -S ./plain
tables "all entries of two" 5 -a -S ./prog ./plain
tables "a filter" 1 -l waits ./prog
tables "a filter that nothing matches" 0 -l none_such ./prog
object=./$odd
tables "a name with quotes, commas and markup" 2 "./$odd"
object=./$(printf 'e\t\357\277\275f')
tables "a name with a tab and a byte that is no UTF-8" 2 "./$bytes"
object=
hold_up ./prog
tables "a process" 2 "$held"
expect_equal "what is there now is told" "$(python3 -c 'import json; print(sum(r["now"] == "original" for r in json.load(open("json"))["rows"]) >= 2)')" True
let_go

run "$uft" sites --json --csv ./prog
expect_status 2
expect_err "exclude each other"
run "$uft" sites --summary --json ./prog
expect_status 2

# What cannot be read is told of, and the rest is a table still.
head -c 100 prog >cut
for form in json csv; do
	run "$uft" sites --$form ./cut ./prog
	expect_status 1
	expect_err "cut"
	cp out $form
done
"$uft" sites ./prog >text
expect_equal "the others" "$(python3 compare.py text json csv 2 2>&1 | tail -n 1)" "the same"
run "$uft" sites --json ./cut
expect_status 1
expect_equal "no row at all" "$(python3 -c 'import json; print(json.load(open("out"))["rows"])')" "[]"
if [ -w /dev/full ]; then
	run sh -c '"$1" sites --json ./prog >/dev/full' sh "$uft"
	expect_status 1
	expect_err "cannot write to standard output"
fi
true
