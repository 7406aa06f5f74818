#!/bin/sh
# SPDX-License-Identifier: MIT
# events.sh - events, marks and losses in each export that can hold them, as other readers find them
. "$(dirname "$0")/../../lib/common.sh"
need python3
: "${MKDAT:?the program mkdat}"
[ "$(uname -m)" = x86_64 ] || skip "the pads of its program are those of x86_64"
. "$top/tests/func/report/readers/look.sh"
checker=check.py

build() {
	${CC:-cc} -O1 -g -fpatchable-function-entry=16,14 -I"$top/include" -I"$top/include/uft/kernel" -I"$top/tests/func/observe/tracepoints" -o prog \
		"$top/tests/func/observe/tracepoints/program.c" >compiled 2>&1 || { cat compiled; fail "cannot build"; exit; }
}
build || exit
run "$uft" record -q -p function_graph -e 'uft_sample:*' -o real.uft ./prog 150
expect_status 0
run "$uft" report --no-pager real.uft
expect_status 0
cp out real.text
formats='chrome perfetto ctf otlp sqlite parquet-events firefox'
for format in $formats; do
	run "$uft" export -f $format -o real.$format real.uft
	expect_status 0
	expect_equal "$format: what is said" "$(cat err)" \
		"# missing: 1 event was not recorded: its fields have more than 2040 bytes (give the event shorter fields)"
	run "$MKDAT" marks $format marks.$format
	expect_status 0
done
"$uft" export -f speedscope -o real.speedscope real.uft
expect_equal "speedscope counts them" "$(grep -c ' [1-9][0-9]* events not shown' real.speedscope)" 1

cat >check.py <<'END'
import json, re, sys
from collections import Counter
from protoc_text import one, proto
form, rec = sys.argv[1:3]
text = sys.stdin.buffer.read().decode('utf-8', 'strict')
MARK = 'in <f> "q", \\ \x01\ufffd;'
if rec == 'real':
    want = Counter(m[1] for m in re.finditer(r'(sample_\w+): ', open('real.text', errors='replace').read()))
    assert want['sample_one'] == 150 and want['sample_odd'] == 75 and want['sample_text'] == 150, want
else:
    want = Counter({'mark': 200, 'raw': 1, 'switch': 300, 'lost': 1})

def kind(name):
    return 'mark' if name == MARK else 'raw' if name == '2a buf: 01 ff' else name

got, fields = Counter(), []
if form == 'chrome':
    for e in json.loads(text)['traceEvents']:
        if e['ph'] == 'i':
            got['lost' if 'lost' in e['args'] else kind(e['name'])] += 1
            assert 'lost' not in e['args'] or e['args']['lost'] == 33, e
            fields.append((e['name'], e['args']))
elif form == 'perfetto':
    generic = Counter()
    for _, p in proto(text.split('\n'), 'utf-8'):
        for _, ev in [kv for kv in one(p, 'ftrace', []) if kv[0] == 'event']:
            g = one(ev, 'generic')
            generic[one(g, 'name')] += 1
            fields.append((one(g, 'name'), {one(f, 'name'): one(f, 'text', one(f, 'integer', one(f, 'number'))) for k, f in g if k == 'field'}))
        e = one(p, 'event')
        if e is not None and one(e, 'type') == 'INSTANT':
            lost = [a for k, a in e if k == 'annotation' and one(a, 'name') == 'lost']
            got['lost' if lost else kind(one(e, 'name'))] += 1
            assert not lost or (one(lost[0], 'number') == '33' and one(p, 'dropped') == 'true'), p
            assert lost or one(e, 'category') in ('uft_sample', 'ftrace', 'uft'), e
    assert rec != 'real' or generic == want, generic
elif form == 'otlp':
    alone, in_spans, timed = 0, 0, []       # a span holds its first 128, whatever is behind them comes before its end
    for _, r in proto(text.split('\n'), 'utf-8'):
        for k, scope in r:
            for _, s in [kv for kv in scope if k == 'scope_spans' and kv[0] == 'span']:
                keys = {one(a, 'key'): one(a, 'value') for k2, a in s if k2 == 'attribute'}
                if 'uft.event' in keys or 'uft.lost' in keys:
                    got['lost' if 'uft.lost' in keys else kind(one(s, 'name'))] += 1
                    assert one(s, 'begin') == one(s, 'end')
                    alone += 1
                    if 'uft.event' in keys:
                        timed.append((int(one(s, 'begin')), 1, one(s, 'name'), {k: list(dict(v).values())[0] for k, v in keys.items() if k != 'uft.event'}))
                for _, e in [kv for kv in s if kv[0] == 'event']:
                    assert int(one(s, 'begin', 0)) <= int(one(e, 'time')) <= int(one(s, 'end')), s
                    got[kind(one(e, 'name'))] += 1
                    in_spans += 1
                    timed.append((int(one(e, 'time')), 0, one(e, 'name'), {one(a, 'key'): list(dict(one(a, 'value')).values())[0] for k2, a in e if k2 == 'attribute'}))
    fields = [(name, its) for _, _, name, its in sorted(timed, key=lambda t: t[:2])]
    assert in_spans > 127 and (rec == 'real' or alone == 300 - 128 + 2), (alone, in_spans)
elif form == 'sqlite':
    for e in json.loads(text):
        got['lost' if e['name'] == 'lost' else 'mark' if e['name'] == 'print' else 'raw' if e['name'] == 'raw_data' else e['name']] += 1
        assert e['name'] != 'print' or (e['text'] == MARK and e['call']), e
        fields.append((e['name'], json.loads(e['fields'])))
elif form == 'parquet-events':
    records = [json.loads(l) for l in text.split('\n') if l]
    meta = records.pop()
    assert int(meta['events']) == len(records) - (rec == 'marks'), meta
    for e in records:
        got['lost' if e['name'] == 'lost' else 'mark' if e['name'] == 'print' else 'raw' if e['name'] == 'raw_data' else e['name']] += 1
        assert e['name'] != 'print' or e['text'] == MARK, e
        assert e['name'] != 'lost' or int(e['records']) == 33, e
        fields.append((e['name'], json.loads(e['fields'])))
elif form == 'firefox':
    for t in json.loads(text)['threads']:
        m = t['markers']
        assert all(len(m[k]) == m['length'] for k in ('name', 'startTime', 'endTime', 'phase', 'category', 'data')), m['length']
        for name, data in zip(m['name'], m['data']):
            name = t['stringArray'][name]
            got[kind(data['text']) if name == 'mark' else name] += 1
    want.pop('lost', None)          # of no thread
elif form == 'ctf':
    for l in text.split('\n'):
        m = re.match(r'\[.{18}\] \S* ?(\S+): \{ vpid = \d+, vtid = \d+ \}, \{ (.*) \}$', l)
        assert m or not l, l
        if not m or m[1] in ('func_entry', 'func_exit', 'task'):
            continue
        if m[1] == 'mark':
            got['raw' if '2a buf: 01 ff' in m[2] else 'mark'] += 1
        elif m[1] == 'event':
            got[re.search(r'name = "(.*?)"', m[2])[1]] += 1
        elif m[1] == 'lost':
            got['lost'] += 1
            assert m[2] == 'records = 33', l
        else:
            got[m[1].split(':')[1]] += 1
            fields.append((m[1].split(':')[1], {k: v.strip('"') for k, v in re.findall(r'(\w+) = ("(?:[^"\\]|\\.)*"|[^,]+)', m[2])}))
assert got == want, (form, rec, got, want)
if rec == 'real' and form != 'firefox':
    of = [f for n, f in fields if n == 'sample_request']
    assert sorted(int(f['id']) for f in of) == list(range(150)), (form, of[:3])
    assert all(f['what'] == 'hello' and f['tag'] == 'tag' and int(f['small']) == 255 and int(f['len']) == 42 + int(f['id']) for f in of), (form, of[0])
    assert all(int(f['a']) == i for i, f in enumerate(f for n, f in fields if n == 'sample_one')), form
END
for rec in real marks; do
	look chrome $rec $rec cat $rec.chrome
	look firefox $rec $rec cat $rec.firefox
	if has "Perfetto and OpenTelemetry" protoc; then
		look perfetto $rec $rec decode Trace perfetto.proto $rec.perfetto
		look otlp $rec $rec decode Traces otlp.proto $rec.otlp
	fi
	has "CTF" babeltrace2 && look ctf $rec $rec babeltrace2 --no-delta $rec.ctf
	has "SQLite" sqlite3 && look sqlite $rec $rec sqlite3 -json $rec.sqlite \
		"select name, text, call, fields from events union all select 'lost', records, 0, '{}' from loss"
	[ -z "$has_hyparquet" ] || look parquet-events $rec $rec node "$readers/parquet.js" $rec.parquet-events
done
