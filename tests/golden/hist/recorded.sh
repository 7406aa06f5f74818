#!/bin/sh
# SPDX-License-Identifier: MIT
# recorded.sh TARGET - uft hist: of a recording, and of a command, the tables that a kernel 6.12 had of the same events (kernel/), and what is refused
. "$(dirname "$0")/../../lib/common.sh"
[ "$(uname -m)" = x86_64 ] || skip "tracepoints are recorded on x86_64 only"
target=$1
here=$top/tests/golden/hist
traffic='r1,100,alpha r2,200,beta d1,150,alpha r3,300,gamma d3,1300,gamma r1,5000,alpha d2,1024,beta d1,5007,alpha'	# as lib.sh has it

run "$uft" record -q -e 'app:*' -o all.uft "$target" fire $traffic
expect_status 0

# The cases of golden.sh: of each histogram they make, the table alone.
mask() { sed 's/\[ *[0-9]*\] }/[N] }/; s/common_pid: *[0-9]*/common_pid: N/; s/\(cpu\|CPU\): *[0-9]*/\1: N/g; /^$/d'; }
one() { echo "> $1"; "$uft" hist --no-pager -e app:req -R "$1" all.uft 2>>refused | mask; }
sed -n '/^one /p' "$here/cases/tables" >cases
. ./cases >got
awk -v quote="'" '/^> events\/app\/req\/trigger / { is_table = 0; sub(/^[^ ]* [^ ]* ./, ""); sub(/.$/, ""); if (!/^!/) print "> " $0; next }
	/^==/ { exit } /^[<>]/ { is_table = 0 } /^# event histogram/ { is_table = 1 } is_table && NF' "$here/kernel/tables" >want
check
diff want got >differ || { fail "tables (< kernel, > here)"; head -n 40 differ; cat refused; }
expect_equal "there are tables" "$(($(grep -c 'Totals' got) > 20))" 1

# The short options are the same histogram, and so is that of a command.
"$uft" hist -e app:req -R 'hist:keys=name:vals=us:sort=us.descending:size=512 if id < 3' all.uft >long
run "$uft" hist -e app:req -k name -v us -s us.descending -n 512 -f 'id < 3' -i all.uft
expect_status 0
expect_equal "short options" "$(cat out)" "$(cat long)"
run "$uft" hist -e app:req -k name -v us -s us.descending -n 512 -f 'id < 3' -- "$target" fire $traffic
expect_status 0
expect_equal "of a command" "$(cat out)" "$(cat long)"
"$uft" record -q -e 'app:*' -o all.dat "$target" fire $traffic
run "$uft" hist -e app:req -k name -v us -s us.descending -n 512 -f 'id < 3' all.dat
expect_equal "of a trace.dat" "$(cat out)" "$(cat long)"
expect_equal "its entries" "$(grep -c '^{ name: \(alpha\|beta\) ' out) $(sed -n 's/ *Hits: //p' out)" "2 3"
run "$uft" hist -e app:req -- "$target"
expect_status 2
expect_equal "temporary files" "$(ls -d "${TMPDIR:-/tmp}"/uft-hist.* 2>/dev/null | wc -l)" 0
run "$uft" hist -e app:done all.uft
expect_equal "default keys" "$(grep -c '^{ common_pid: golden  *\[ *[0-9]*\] } hitcount: *4$' out)" 1

# Variables go from one event to another, in the order of time.
run "$uft" hist -e app:req -R 'hist:keys=id:t=us' -e app:done -R 'hist:keys=id:d=us-$t:onmax($d).save(name)' all.uft
expect_status 0
expect_equal "of two events" "$(grep '^# event: ' out | tr '\n' ' ')" "# event: app:req # event: app:done "
expect_equal "largest difference" "$(sed -n 's/^\tmax: *\([0-9]*\) *name: *\([a-z]*\) *$/\1 \2/p' out | sort -n | tr '\n' ' ')" "50 alpha 824 beta 1000 gamma "

# Stacks
run "$uft" record -q -T -e app:req -o stacks.uft "$target" fire $traffic
expect_status 0
run "$uft" hist -e app:req -k common_stacktrace stacks.uft
expect_status 0
expect_equal "stacks" "$(grep -c '^         req+0x' out) $(sed -n 's/ *Hits: //p' out)" "1 4"
run "$uft" hist -e app:req -k common_stacktrace -- "$target" fire $traffic
expect_equal "stacks of a command" "$(grep -c '^         req+0x' out) $(sed -n 's/ *Hits: //p' out)" "1 4"

# For programs: the same numbers as the text's, by every kind of column; --csv has the cells of --json.
if has "JSON and CSV of tables" python3; then
	cat >tables.py <<-'END'
		import csv, json, re, sys
		def cell(v):
		    return '' if v is None else ';'.join(v) if isinstance(v, list) else str(v)
		def tables():
		    data = json.load(open('json'))
		    assert data['report'] == 'hist' and data['version'] == 1, data
		    rows = list(csv.DictReader(open('csv'), strict=True))
		    want = [dict(r, histogram=i + 1, event=h['event']) for i, h in enumerate(data['histograms']) for r in h['rows']]
		    assert len(rows) == len(want), (rows, want)
		    for a, b in zip(rows, want):
		        assert set(b) <= set(a) and all(v == cell(b.get(k)) for k, v in a.items()), (a, b)
		    for h in data['histograms']:
		        assert sum(r.get('hitcount', 0) for r in h['rows']) == h['hits'] - h['dropped'], h
		        assert h['lost'] == 0 and h['paused'] is False, h
		    return data['histograms']
		h = tables()
		exec(re.sub(r'\n\s*', '\n', sys.argv[1]))
	END
	tables() {
		what=$1
		shift
		run "$uft" hist --json "$@"
		expect_status 0
		expect_no_err
		cp out json
		run "$uft" hist --csv "$@"
		expect_status 0
		expect_no_err
		cp out csv
		run python3 tables.py "$what"
		expect_status 0
		expect_no_err
	}
	tables "assert h[0]['rows'] == [{'id': 2, 'hitcount': 1, 'sum_us': 200}, {'id': 1, 'hitcount': 2, 'sum_us': 5100}], h
	assert h[0]['event'] == 'app:req' and re.fullmatch('hist:keys=id:vals=hitcount,us:sort=us:size=2048 if id < 3', h[0]['trigger']), h" \
		-e app:req -k id -v us -s us -f 'id < 3' all.uft
	tables "assert [(r['us_log2'], r['name'], r['sum_id']) for r in h[0]['rows']] == [(7, 'alpha', 1), (8, 'beta', 2), (9, 'gamma', 3), (13, 'alpha', 1)], h
	assert [(r['us_from'], r['us_to'], r['hitcount']) for r in h[1]['rows']] == [(0, 999, 3), (5000, 5999, 1)], h" \
		-e app:req -R 'hist:keys=us.log2,name:vals=id.percent:sort=us' -R 'hist:keys=us.buckets=1000:sort=us' all.uft
	tables "assert [(r['common_pid_name'], r['common_pid'] > 1, r['hitcount']) for r in h[0]['rows']] == [('golden', True, 4)], h
	assert h[0]['event'] == 'app:done' and all(sorted(r) == ['common_cpu', 'hitcount', 'id', 'id_2'] for r in h[1]['rows']), h" \
		-e app:done -k common_pid.execname -e app:req -R 'hist:keys=id,common_cpu,id.hex' all.uft
	tables "assert sorted((r['max_d'], r['saved_name']) for r in h[1]['rows']) == [(50, 'alpha'), (824, 'beta'), (1000, 'gamma')], h
	assert all('max_d' not in r for r in h[0]['rows'])" \
		-e app:req -R 'hist:keys=id:t=us' -e app:done -R 'hist:keys=id:d=us-$t:onmax($d).save(name)' all.uft
	tables "assert any(f.startswith('req+0x') for f in h[0]['rows'][0]['common_stacktrace']) and h[0]['hits'] == 4, h" -e app:req -k common_stacktrace stacks.uft
	tables "assert h[0]['rows'] == [] and h[0]['hits'] == 0" -e app:req -f 'id > 3' all.uft
	expect_equal "columns without entries" "$(cat csv)" "histogram,event,common_pid,common_pid_name,hitcount"
	seq 200 | sed 's/.*/r&,1,a/' >many
	"$uft" record -q -e app:req -o many.uft "$target" fire $(cat many)
	run "$uft" hist --csv -e app:req -k id -n 128 many.uft
	expect_equal "entries that fit" "$(wc -l <out)" 129
	expect_err "app:req: the table dropped 72 events that found no room"
fi
run "$uft" hist --json --csv -e app:req all.uft
expect_status 2

# Refused, with the kernel's words and place
run "$uft" hist -e app:req -k nothing all.uft
expect_status 1
expect_equal "field" "$(cat err)" "uft hist: app:req: Couldn't find field
    hist:keys=nothing
              ^"
run "$uft" report -F "req:id ==" all.uft
expect_equal "caret of report -F" "$(tail -n 2 err)" "    id ==
          ^"
run "$uft" hist -e app:req -f 'id ==' all.uft
expect_status 1
expect_err "app:req: "
run "$uft" hist -e app:req -R 'hist:keys=id if' all.uft
expect_status 1
run "$uft" hist -e app:req -R 'hist:keys=id:onmax($x).snapshot()' all.uft
expect_err "A recording has no snapshot"
run "$uft" hist -e app:req -R 'hist:keys=id:cont' all.uft
expect_err "nonexistent hist trigger"
run "$uft" hist -e app:nothing all.uft
expect_err "the recording has no event that 'app:nothing' names"
for wrong in "-k id" "-e app:req -R traceon" "-e app:req -i all.uft -- true" "-e app:req --" "-e app:req a b" ""; do
	run "$uft" hist $wrong
	expect_status 2
done
