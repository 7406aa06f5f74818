#!/bin/sh
# SPDX-License-Identifier: MIT
# formats.sh - binary formats: another reader reads each, with the totals of uft report to the nanosecond
. "$(dirname "$0")/../../lib/common.sh"
need python3
. "$top/tests/func/report/readers/look.sh"

cp "$top/tests/func/report/exported.c" prog.c
build_traced prog -pthread
# Names that mean something in each format: markup, quotes, a comma; a newline, a control byte and no UTF-8.
objcopy --redefine-sym 'odd=odd;<&"name\,' --redefine-sym "worse=$(printf 'w\nx\001y\377z')" prog || skip "no objcopy"
run "$uft" record -q -o whole.uft ./prog
run "$uft" record -q -o killed.uft ./prog killed
formats='perfetto pprof ctf sqlite parquet otlp firefox'
for rec in whole killed; do
	for format in $formats; do
		run "$uft" export -f $format -o $rec.$format $rec.uft
		expect_status 0
		expect_no_err
	done

	"$uft" report --tree --csv $rec.uft >$rec.csv
done
expect_equal "nothing else" "$(ls | grep -c part-)" 0

for rec in whole killed; do look_all $rec $rec; done
if has "SQLite: its own check" sqlite3; then
	expect_equal "the database is whole" "$(sqlite3 whole.sqlite 'pragma integrity_check')" ok
	expect_equal "meta" "$(sqlite3 killed.sqlite "select value from meta where key = 'open'")" 1
fi

# Cut off, damaged, or with nothing in it: what is there, a file of the format. Never a crash, never half a file under the final name.
cat >spoil.py <<'END2'
import random
whole = open('whole.uft', 'rb').read()
random.seed(1)
open('cut.uft', 'wb').write(whole[:len(whole) * 2 // 3])
spoilt = bytearray(whole)
for _ in range(3):
    spoilt[random.randrange(4096, len(spoilt))] ^= 0x55
open('damaged.uft', 'wb').write(spoilt)
END2
python3 spoil.py
"$uft" report --csv --flat cut.uft >cut.csv 2>/dev/null
cp cut.csv damaged.csv
for rec in cut damaged; do
	for format in $formats; do
		run "$uft" export -f $format -o $rec.$format $rec.uft
		expect_status 0
	done
	look_all $rec spoilt
done
for format in $formats; do
	run "$uft" export -f $format -o none.$format --range 100s~ whole.uft
	expect_status 0
done
cp cut.csv none.csv
look_all none spoilt
# A part, by --range, --pid and --tid.
check
main=$(sqlite3 whole.sqlite 'select pid from task limit 1' 2>/dev/null)
if [ -n "$main" ]; then
	run "$uft" export -f sqlite -o part.sqlite --pid "$main" whole.uft
	expect_status 0
	expect_equal "all its threads are a process" "$(sqlite3 part.sqlite 'select count(*) from call')" "$(sqlite3 whole.sqlite 'select count(*) from call')"
	run "$uft" export -f sqlite -o part.sqlite --range 0s~10us whole.uft
	expect_equal "up to 10 us" "$(sqlite3 part.sqlite 'select max(end_ns) <= 10000 from call')" 1
fi
for format in $formats; do
	rm -rf older
	(
		ulimit -f 1 || exit 0
		trap '' XFSZ
		"$uft" export -f $format -o older whole.uft 2>older.err
	) && [ "$format" != pprof ] && fail "$format: 512 bytes are enough"
	[ "$format" = pprof ] || expect_no_file older
done
expect_equal "no half file is left" "$(ls | grep -c part-)" 0
# A directory that is there stays; a database cannot go into a pipe.
run "$uft" export -f ctf -o whole.ctf whole.uft
expect_status 1
expect_err "whole.ctf: it is there already, and this format is a directory: remove it, or name another"
run "$uft" export -f ctf -o whole.csv whole.uft
expect_status 1
expect_err "this format is a directory, and that is a file"
expect_status 1
check
"$uft" export -f sqlite -o /dev/stdout whole.uft 2>err | cat >out
grep -q "a database is a file that is read and written, not a pipe" err || fail "a pipe: $(cat err)"
check
"$uft" export -f perfetto -o /dev/stdout whole.uft | cmp -s - whole.perfetto || fail "through a pipe"
