#!/bin/sh
# SPDX-License-Identifier: MIT
# formats.sh - the formats that are not text: each read by a reader that is not ours, with the totals of uft report to the nanosecond
. "$(dirname "$0")/../../lib/common.sh"
need python3
readers=$top/tests/func/report/readers

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

# check.py FORMAT REC <what the reader printed: the sums and the nesting are those of the report.
PYTHONPATH=$top/tests/func/report/readers PYTHONDONTWRITEBYTECODE=1
export PYTHONPATH PYTHONDONTWRITEBYTECODE
cat >check.py <<'END2'
import csv, json, re, sys
from collections import Counter, defaultdict
from decimal import Decimal
from protoc_text import one, proto
form, rec = sys.argv[1:3]
lines = sys.stdin.buffer.read().decode('utf-8', 'strict').split('\n')
want_calls, want_self = Counter(), Counter()
for r in csv.DictReader(open(rec + '.csv', newline='')):
    want_calls[r['function']] += int(r['calls'])
    want_self[r['function']] += int(r['self_ns'])
n_open = {'whole': 0, 'killed': 1}.get(rec)     # others: nesting and structure only

def same(calls, self_ns, how=None):
    if n_open is None:
        return
    assert calls == want_calls, (form, calls, want_calls)
    assert +Counter(self_ns) == +want_self, (form, self_ns, want_self)
    if how is not None:
        assert how['left'] == 100 and how['open'] == n_open, (form, how)

def walk(events):
    """events: (task, is_begin, function, ns, how)"""
    stack, self_ns, n, last, hows = defaultdict(list), Counter(), Counter(), {}, Counter()
    for task, is_begin, function, at, how in events:
        assert at >= last.get(task, 0), (form, 'time runs backwards', task, at)
        if stack[task]:
            self_ns[stack[task][-1]] += at - last[task]
        last[task] = at
        if is_begin:
            stack[task].append(function)
            n[function] += 1
        else:
            top = stack[task].pop()
            assert function in (None, top), (form, 'not nested', function, top)
            hows[how] += 1
    assert not any(stack.values()), (form, 'not closed', stack)
    assert len(stack) == 2 or n_open is None, (form, 'tasks', len(stack))
    same(n, self_ns, hows)

def rows(rs):
    """rs: dicts with id, parent, function, begin_ns, duration_ns, self_ns, how: children within their parents, and alone"""
    rs = list(rs)
    by_id = {r['id']: r for r in rs}
    child = Counter()
    assert len(by_id) == len(rs), (form, 'ids')
    for r in rs:
        if r['parent']:
            p = by_id[r['parent']]
            assert p['begin_ns'] <= r['begin_ns'] and r['begin_ns'] + r['duration_ns'] <= p['begin_ns'] + p['duration_ns'], (form, r, p)
            assert p['id'] < r['id'], (form, 'parents first')
            child[p['id']] += r['duration_ns']
    calls, self_ns = Counter(), Counter()
    for r in rs:
        assert r.get('self_ns', r['duration_ns'] - child[r['id']]) == r['duration_ns'] - child[r['id']], (form, r)
        calls[r['function']] += 1
        self_ns[r['function']] += r['duration_ns'] - child[r['id']]
    same(calls, self_ns, Counter(r['how'] for r in rs))

from protoc_text import one, proto

def of_perfetto():
    names, track_of, tracks, events = {}, {}, {}, []
    for _, p in proto(lines):
        seq = int(one(p, 'sequence'))
        for _, n in [kv for kv in one(p, 'interned', []) if kv[0] == 'name']:
            names[seq, one(n, 'id')] = one(n, 'text').decode()
        if one(p, 'defaults'):
            track_of[seq] = one(one(one(p, 'defaults'), 'event'), 'track')
        if one(p, 'track'):
            tracks[one(one(p, 'track'), 'uuid')] = one(p, 'track')
        e = one(p, 'event')
        if e is not None:
            how = one(one(e, 'annotation', []), 'name', b'returned').decode()
            assert one(e, 'type') in ('BEGIN', 'END'), e
            events.append((track_of[seq], one(e, 'type') == 'BEGIN', names.get((seq, one(e, 'name_id'))), int(one(p, 'timestamp')), how))
    for t in {e[0] for e in events}:
        thread = one(tracks[t], 'thread')
        process = one(tracks[one(tracks[t], 'parent')], 'process')
        assert one(process, 'pid') == one(thread, 'pid') and one(process, 'name') == b'prog', (thread, process)
    walk(events)

def of_otlp():
    out, roots = [], set()
    for _, r in proto(lines):
        attributes = {one(a, 'key'): one(a, 'value') for k, a in one(r, 'resource') if k == 'attribute'}
        assert one(attributes[b'service.name'], 'text') == b'prog', attributes
        for k, scope in r:
            for _, s in [kv for kv in scope if k == 'scope_spans' and kv[0] == 'span']:
                begin, end = int(one(s, 'begin')), int(one(s, 'end'))
                how = [one(a, 'key').decode()[4:] for k2, a in s if k2 == 'attribute'] or ['returned']
                out.append({'id': int.from_bytes(one(s, 'id'), 'big'), 'parent': int.from_bytes(one(s, 'parent', b''), 'big'),
                            'function': one(s, 'name').decode(), 'begin_ns': begin, 'duration_ns': end - begin, 'how': how[0]})
                if one(s, 'parent') is None:
                    roots.add(one(s, 'trace'))
                assert len(one(s, 'trace')) == 16
    assert len(roots) == 2 or n_open is None, roots
    rows(out)

def of_sqlite():
    rows({'id': int(r['id']), 'parent': int(r['parent']), 'function': r['function'], 'begin_ns': int(r['begin_ns']),
          'duration_ns': int(r['duration_ns']), 'self_ns': int(r['self_ns']), 'how': r['how']} for r in json.loads('\n'.join(lines) or '[]'))

def of_parquet():
    records = [json.loads(l) for l in lines if l]
    meta = records.pop()
    assert int(meta['calls']) == len(records) and int(meta['open']) == (sum(r['how'] == 'open' for r in records) if n_open is None else n_open) and meta['lost'] == '0', meta
    assert n_open is None or {r['object'] for r in records} == {'prog'} and {r['task'] for r in records if r['pid'] == r['tid']} == {'prog'}, records[0]
    rows({k: int(v) if k in ('id', 'parent', 'begin_ns', 'duration_ns', 'self_ns') else v for k, v in r.items()} for r in records)

def of_ctf():
    events = []
    for l in lines:
        m = re.match(r'\[(\d+):(\d+):(\d+)\.(\d{9})\] .* (func_entry|func_exit|task|lost): \{ vpid = (\d+), vtid = (\d+) \}, \{ (.*) \}$', l)
        assert m or not l, l
        if not m or m[5] in ('task', 'lost'):
            continue
        at = ((int(m[1]) * 60 + int(m[2])) * 60 + int(m[3])) * 10**9 + int(m[4])
        f = re.match(r'func = \( "(.*?)" : container = \d+ \)(?:, how = \( "(.*)" : container = \d+ \))?$', m[8])
        events.append((m[7], m[5] == 'func_entry', re.sub(r'\\(.)', r'\1', f[1]), at, f[2]))
    for c in (want_calls, want_self):       # control bytes are ? there
        for k in [k for k in c if re.search('[\x00-\x1f]', k)]:
            c[re.sub('[\x00-\x1f]', '?', k)] = c.pop(k)
    walk(events)

def of_pprof():
    text = '\n'.join(lines)
    samples, _, rest = text.partition('Samples:\n')[2].partition('Locations')
    locations = rest.partition('Mappings')[0]
    # A function's name may have a newline; it is the last but for the line.
    name = {m[1]: m[2] for m in re.finditer(r'^ +(\d+): 0x0 M=\d+ (.*?) [^ ]*:0 s=0(?:\(.*?\))?$', locations, re.M | re.S)}
    calls, self_ns = Counter(), Counter()
    for l in samples.split('\n'):
        m = re.match(r' +(\d+) +(\d+): (\d+)', l)
        if m:
            calls[name[m[3]]] += int(m[1])
            self_ns[name[m[3]]] += int(m[2])
    assert 'calls/count time/nanoseconds[dflt]' in text, text[:200]
    same(calls, self_ns)

def of_firefox():
    profile = json.loads('\n'.join(lines), parse_float=Decimal)
    self_ns, opened = Counter(), 0
    for t in profile['threads']:
        names, frames, stacks, samples = t['stringArray'], t['frameTable'], t['stackTable'], t['samples']
        assert len(names) == len(set(names)) and all(len(c) == stacks['length'] for c in (stacks['prefix'], stacks['frame']))
        assert all(p is None or p < i for i, p in enumerate(stacks['prefix']))
        assert samples['weightType'] == 'tracing-ms'
        end = 0
        for stack, time, weight in zip(samples["stack"], samples["time"], samples["weight"]):
            assert time >= end, (form, 'overlap')
            end = time + weight
            if stack is None:           # no call is open
                assert not weight, (form, 'time without a stack', weight)
                continue
            self_ns[names[t['funcTable']['name'][frames['func'][stacks['frame'][stack]]]]] += int(weight * 10**6)
        opened += sum(d['type'] == 'uft_open' for d in t['markers']['data'])
    assert n_open is None or (opened == n_open and +self_ns == +want_self), (form, opened, self_ns, want_self)

{'firefox': of_firefox, 'perfetto': of_perfetto, 'otlp': of_otlp, 'sqlite': of_sqlite, 'parquet': of_parquet, 'ctf': of_ctf, 'pprof': of_pprof}[form]()
END2
# look FORMAT REC READER...: what the reader prints, through check.py
look() {
	form=$1 rec=$2
	shift 2
	if ! "$@" >$rec.$form.text 2>$rec.$form.err; then
		fail "$form: $* failed: $(head -n 3 $rec.$form.err)"
		return
	fi
	run sh -c "python3 check.py $form $rec <$rec.$form.text"
	expect_status 0
	expect_no_err
}
has_hyparquet=
if has "Parquet" node; then
	[ -d "$readers/node_modules/hyparquet" ] && has_hyparquet=1 || echo "SKIPPED: Parquet: hyparquet is not installed (make setup, with npm)"
fi
decode() { protoc --proto_path="$readers" --decode="$1" "$2" <"$3"; }
look_all() {
	if has "Perfetto and OpenTelemetry" protoc; then
		look perfetto $rec decode Trace perfetto.proto $rec.perfetto
		look otlp $rec decode Traces otlp.proto $rec.otlp
	fi
	look firefox $rec cat $rec.firefox
	has "pprof" go && look pprof $rec go tool pprof -raw $rec.pprof
	has "CTF" babeltrace2 && look ctf $rec babeltrace2 --no-delta $rec.ctf
	has "SQLite" sqlite3 && look sqlite $rec sqlite3 -json $rec.sqlite 'select * from calls'
	[ -z "$has_hyparquet" ] || look parquet $rec node "$readers/parquet.js" $rec.parquet
}
for rec in whole killed; do look_all; done
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
for rec in cut damaged; do
	cp cut.csv $rec.csv 2>/dev/null
	for format in $formats; do
		run "$uft" export -f $format -o $rec.$format $rec.uft
		expect_status 0
	done
	look_all
done
for format in $formats; do
	run "$uft" export -f $format -o none.$format --range 100s~ whole.uft
	expect_status 0
done
rec=none
cp cut.csv none.csv
look_all
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
