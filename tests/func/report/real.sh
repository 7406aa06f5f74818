#!/bin/sh
# SPDX-License-Identifier: MIT
# real.sh - recordings of Debian's programs, as they are: each view, each format, and the same time in all of them
. "$(dirname "$0")/../../lib/common.sh"
need git python3

mkdir repo
(
	cd repo || exit
	git init -q .
	for i in 1 2 3; do
		seq $i 800 >file$i
		git add .
		git -c user.name=a -c user.email=a@b -c commit.gpgsign=false commit -q -m "commit $i"
	done
) || skip "git makes no repository"
python=/usr/bin/python3
[ -x $python ] || python=python3
HOME=$tmp
export HOME

record() {
	rec=$1
	shift
	"$@" >$rec.want 2>&1 </dev/null
	run sh -c '"$@" </dev/null' sh "$uft" record -q -o $rec.uft "$@"
	expect_status 0
	check
	cmp -s out $rec.want || fail "$rec prints something else when it is recorded"
	check
	[ "$("$uft" stat $rec.uft | awk -F': ' '$1 == "calls" { print $2 }')" -gt 1000 ] || fail "$rec: hardly a call"
}
record git git -C repo --no-pager log -p
record python $python -c 'import json; print(json.dumps({str(i): i * i for i in range(30)}))'

column() { awk -F, -v key="$1" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next } { n += $at[key] } END { printf "%.0f", n }'; }
for file in *.uft; do
	rec=${file%.uft}
	for view in --tree --flat --timeline '--flat --by object' '--tree --by process --depth 3' '--tree --lines --inlines'; do
		run "$uft" report $view $rec.uft
		expect_status 0
		expect_no_err
		check
		[ "$(wc -l <out)" -gt 2 ] || fail "$rec: report $view: nothing"
	done
	self=$("$uft" report --tree --csv $rec.uft | column self_ns)
	for format in folded svg speedscope firefox chrome perfetto pprof ctf sqlite parquet parquet-events otlp trace.dat; do
		[ $format != sqlite ] || has "SQLite" sqlite3 || continue
		run "$uft" export -f $format -o $rec.$format $rec.uft
		expect_status 0
		expect_no_err
	done
	expect_equal "$rec: folded" "$(awk '{ n += $NF } END { printf "%.0f", n }' $rec.folded)" "$self"
	cat >sums.py <<'END'
import json, sys
from collections import defaultdict
rec, want = sys.argv[1], int(sys.argv[2])
stack, self_ns, last = defaultdict(int), 0, {}
chrome = json.load(open(rec + '.chrome'), parse_float=lambda s: int(s.replace('.', '')))
for e in chrome['traceEvents']:
    if e['ph'] in 'BE':
        key = e['pid'], e['tid']
        self_ns += e['ts'] - last[key] if stack[key] else 0
        last[key] = e['ts']
        stack[key] += 1 if e['ph'] == 'B' else -1
        assert stack[key] >= 0, e
assert not any(stack.values())
assert self_ns == want, ('chrome', self_ns, want)
firefox = json.load(open(rec + '.firefox'), parse_float=lambda s: int(s.replace('.', '')))
assert sum(sum(t['samples']['weight']) for t in firefox['threads']) == want, 'firefox'
END
	run python3 sums.py $rec "$self"
	expect_status 0
	expect_no_err
	[ ! -e $rec.sqlite ] || expect_equal "$rec: sqlite" "$(sqlite3 $rec.sqlite 'select sum(self_ns) from call')" "$self"
	run "$uft" diff $rec.uft $rec.uft
	expect_status 0
	rm -rf $rec.[a-tv-z]*
done
