#!/bin/sh
# SPDX-License-Identifier: MIT
# top.sh - uft top: rates and times of a running process, as tables for scripts; the process runs on afterwards
. "$(dirname "$0")/../../lib/common.sh"

cat >prog.c <<'END2'
#include <stdio.h>
#include <time.h>
#define FN __attribute__((noinline, noclone))
FN void leaf(void) { __asm__ volatile("" ::: "memory"); }
FN void work(void) { leaf(); leaf(); leaf(); }
FN void idle(void) { leaf(); }
int main(void)
{
	puts("ready");
	fflush(stdout);
	for (unsigned i = 0; ; i++) {
		i ? work() : idle();
		nanosleep(&(struct timespec){ 0, 200000 }, NULL);
	}
}
END2
build_traced prog
./prog >prog.out &
pid=$!
ends_with_test $pid
eventually grep -q ready prog.out || fail "the program does not start"
run "$uft" top -n 2 -d 0.5 --json -l work -l leaf $pid
expect_status 0
expect_no_err
expect_equal "a table for each refresh" "$(grep -c '"report":"top"' out)" 2
if has "JSON" python3; then
	cat >look.py <<'END2'
import json, sys
text, tables = open('out').read(), []
while text.strip():
    table, end = json.JSONDecoder().raw_decode(text.lstrip())
    tables.append(table)
    text = text.lstrip()[end:]
for t in tables:
    rows = {r['function']: r for r in t['rows']}
    assert set(rows) == {'work', 'leaf'}, rows
    work, leaf = rows['work'], rows['leaf']
    assert work['calls'] > 0 and abs(leaf['calls'] - 3 * work['calls']) <= 3, (work, leaf)
    assert work['total_ns'] >= work['self_ns'] > 0 and leaf['max_ns'] >= leaf['avg_ns'], (work, leaf)
    assert work['total_ns'] + 1e6 >= leaf['total_ns'], (work, leaf)
END2
	run python3 look.py
	expect_no_err
fi
run "$uft" top -n 1 -d 0.3 --sort calls --limit 1 $pid
expect_status 0
expect_equal "one row below the heading" "$(grep -vc '^#' out)" 1
# Nothing is called: one line says so; tables for scripts are empty.
run "$uft" top -n 1 -d 0.3 -l idle $pid
expect_status 0
expect_equal "one line" "$(sed 's/ in .*//' out)" "# no traced function was called"
run "$uft" top -n 1 -d 0.3 -l idle --csv $pid
expect_equal "the heading of CSV" "$(cut -d, -f1 out)" calls_per_s
sleep 60 &
sleeper=$!
ends_with_test $sleeper
run "$uft" top -n 1 -d 0.3 $sleeper
expect_status 0
expect_equal "of a whole program" "$(grep -c "^# no traced function was called in .*; -l '\*:mod:\*' shows the functions of libraries, too$" out)" 1
run "$uft" top
expect_status 2
expect_err "no process is named"
run "$uft" top -n 1 999999999
[ "$status" -ne 0 ] || fail "no such process"
# A table of a recording that grows, until its recorder has completed it.
"$uft" attach -q -l work -l leaf -o grow.uft $pid 2>attach.err &
attach=$!
eventually test -s grow.uft || fail "nothing is recorded: $(cat attach.err)"
"$uft" report --follow --flat --csv grow.uft >follow.csv 2>follow.err &
follow=$!
# Two tables with different numbers of calls.
grows() { [ "$(grep ',leaf$' follow.csv | cut -d, -f1 | sort -u | wc -l)" -ge 2 ]; }
eventually grows || fail "it does not follow: $(cat follow.csv follow.err)"
kill -TERM $attach
wait $attach
wait $follow
expect_equal "it ends with the recording" $? 0
expect_equal "the last table is that of the whole" "$(grep ',leaf$' follow.csv | tail -n 1)" "$("$uft" report --flat --csv grow.uft | grep ',leaf$')"
# It goes on.
check
kill -0 $pid || fail "the process has gone"
# The last process ends: so does top.
"$uft" top -d 0.2 --csv $pid >csv 2>err &
top=$!
eventually grep -q leaf csv || fail "no table: $(cat err)"
kill $pid
wait $top
expect_equal "it ends with its process" $? 0
