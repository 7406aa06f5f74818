#!/bin/sh
# SPDX-License-Identifier: MIT
# bad_input.sh - growing, truncated, damaged or empty recordings and full disks: each view and each format
. "$(dirname "$0")/../../lib/common.sh"
: "${SYNTH:?the program synth_make}"
need python3

cat >prog.c <<'END'
#include <unistd.h>
#define FN __attribute__((noinline, noclone))
FN void leaf(void) { __asm__ volatile("" ::: "memory"); }
FN void work(void) { leaf(); leaf(); }
FN void waits(void) { char c; if (read(0, &c, 1) < 0) leaf(); }
int main(void)
{
	for (int i = 0; i < 20000; i++)
		work();
	waits();
	for (int i = 0; i < 100; i++)
		work();
	return 0;
}
END
build_traced prog
formats='trace.dat trace.dat-v7 trace.dat-v6 folded svg speedscope firefox chrome perfetto pprof ctf sqlite parquet-events parquet otlp'
known=$("$uft" export -o x.nothing 2>&1 | sed 's/.*with -f: //; s/([^)]*)//g; s/,/ /g; s/(see.*//')
expect_equal "formats" "$(echo $known)" "$(echo $(for f in $formats; do echo $f; done))"

mkfifo go
"$uft" record -q -o growing.uft ./prog <go &
recorder=$!
exec 3>go
calls() { "$uft" report --flat --csv growing.uft 2>/dev/null | awk -F, 'NR > 1 { n += $1 } END { print n + 0 }'; }
eventually sh -c '[ "$("$1" report --flat --csv growing.uft 2>/dev/null | grep -c ",waits$")" = 1 ]' sh "$uft"
"$uft" report --no-pager --follow growing.uft >follow.text 2>follow.err &
follow=$!
grown=$(calls)
expect_equal "calls until it waits" "$grown" 60002
for format in $formats; do
	run "$uft" export -f $format -o growing.$format growing.uft
	expect_status 0
	check
	[ -s growing.$format ] || fail "$format: nothing of a growing recording"
done
# Of one state of the file: what it tells of the clock meanwhile moves durations by a nanosecond.
cp growing.uft state.uft
tree=$("$uft" report --tree --csv state.uft | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next } $at["depth"] == 0 { n += $at["total_ns"] } END { printf "%.0f", n }')
run "$uft" export -f folded -o state.folded state.uft
expect_status 0
expect_equal "folded is the tree" "$(awk '{ n += $NF } END { printf "%.0f", n }' state.folded)" "$tree"
run python3 -c 'import json
c = json.load(open("growing.chrome"))
assert c["otherData"]["calls"] == 60002 and c["otherData"]["open"] == 2, c["otherData"]
s = json.load(open("growing.speedscope"))
assert sum(len(p["events"]) for p in s["profiles"]) == 2 * 60002
f = json.load(open("growing.firefox"))
assert sum(d["type"] == "uft_open" for t in f["threads"] for d in t["markers"]["data"]) == 2'
expect_status 0
expect_no_err
if has "SQLite" sqlite3; then
	expect_equal "sqlite: open calls" "$(sqlite3 growing.sqlite "select count(*), sum(how = 'open') from call")" "60002|2"
fi
for view in --tree --flat --profile --timeline '--callers leaf' '--callees main' '--histogram leaf' '--flat --by cpu' ''; do
	run "$uft" report $view growing.uft
	expect_status 0
	check
	[ -s out ] || fail "$view: nothing of a growing recording"
done
run "$uft" diff growing.uft growing.uft
expect_status 0
# Events as they come: those before the program waits are there while it does, and in the end all, once.
eventually grep -q 'waits() {' follow.text || fail "nothing follows: $(tail -n 3 follow.text follow.err)"
expect_equal "followed so far" "$(grep -c 'leaf();' follow.text)" 40000
run "$uft" report --follow --range 1ms~ growing.uft
expect_status 2
expect_err "leave out --range"
echo >&3
exec 3>&-
wait $recorder
wait $follow
expect_equal "it ends with the recording" $? 0
"$uft" report --no-pager growing.uft >whole.text
# The call that was open in between has two lines instead of one.
text_of() { sed 's/^.*| *//; s/ *\/\*.*//' "$1" | sort | uniq -c | grep -e 'leaf();' -e 'work() {' -e 'main() {'; }
expect_equal "all calls, once" "$(text_of follow.text)" "$(text_of whole.text)"
expect_equal "those are" "$(text_of whole.text | awk '{ print $1 }' | paste -sd ' ')" "40200 1 20100"
expect_equal "one header" "$(grep -c '^# tracer' follow.text)" 1
expect_equal "calls in the end" "$(calls)" 60302

# Cut at every tenth, damaged in many places, only a header, nothing: a file of the format, or none and a sentence.
cat >spoil.py <<'END'
import random
whole = open('growing.uft', 'rb').read()
random.seed(3)
open('empty.uft', 'wb').close()
open('head.uft', 'wb').write(whole[:4096])
open('text.uft', 'wb').write(b'no recording\n' * 1000)
open('cut.uft', 'wb').write(whole[:len(whole) // 3 + 7])
spoilt = bytearray(whole)
for _ in range(12):
    spoilt[random.randrange(64, len(spoilt))] ^= 0xff
open('damaged.uft', 'wb').write(spoilt)
END
python3 spoil.py
for rec in empty head text cut damaged; do
	for format in $formats; do
		run "$uft" export -f $format -o bad.$format $rec.uft
		check
		case $status in
		0) [ -e bad.$format ] || fail "$rec: $format: done, and there is no file" ;;
		1) [ -s err ] && [ ! -e bad.$format ] || fail "$rec: $format: half a file, or no reason" ;;
		*) fail "$rec: $format: exit status $status: $(head -n 3 err)" ;;
		esac
		rm -rf bad.$format
	done
	for view in --tree --flat --timeline '--histogram leaf' ''; do
		run "$uft" report $view $rec.uft
		check
		[ $status -eq 0 ] || { [ $status -eq 1 ] && [ -s err ]; } || fail "$rec: report $view: exit status $status: $(head -n 3 err)"
	done
done

# A disk that is full half-way: no file under the name, the older one stays, and the reason is said.
for format in $formats; do
	[ $format != ctf ] || continue		# two files in a directory: formats.sh
	bytes=$(wc -c <growing.$format)
	[ "$bytes" -ge 4096 ] || continue
	echo old >full.$format
	(
		trap '' XFSZ
		ulimit -f $((bytes / 1024)) || exit 0
		exec "$uft" export -f $format -o full.$format growing.uft
	) 2>err && fail "$format: half of its size is enough"
	check
	case $format in trace.dat*) ;; *) [ "$(cat full.$format)" = old ] || fail "$format: the older file is gone" ;; esac
	check
	grep -q "cannot write .*: \(File too large\|disk I/O error\)\|File too large" err || fail "$format: $(cat err)"
done
expect_equal "no half file is left" "$(ls | grep -c 'part-')" 0
# A small report fails, too, on a device that is always full.
if [ -c /dev/full ]; then
	for format in $formats; do
		case $format in ctf|sqlite) continue ;; esac		# a directory; a library opens its file
		run "$uft" export -f $format -o /dev/full growing.uft
		expect_status 1
		expect_err "No space left on device"
	done
fi

# More than a reader can take: the remedy is said.
"$SYNTH" large.uft 1400000 1 4 24
run "$uft" export -f firefox -o large.firefox large.uft
expect_status 1
expect_err "more than a profile of Firefox can show: export a part (--range A~B), or use -f perfetto"
expect_no_file large.firefox
