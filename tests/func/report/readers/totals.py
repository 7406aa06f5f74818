# SPDX-License-Identifier: MIT
"""totals.py FORMAT REC KIND <what a reader printed of the export REC.FORMAT

Calls are nested, and the calls and self times of each function are those of REC.csv, which `uft report --tree --csv` made, to the
nanosecond. KIND: whole or killed, a recording of exported.c; real, of any program; spoilt, whose totals nobody knows.
"""
import csv, json, re, sqlite3, sys
from collections import Counter, defaultdict
from decimal import Decimal
from protoc_text import one, proto
form, rec, kind = sys.argv[1:4]
lines = sys.stdin.buffer.read().decode('utf-8', 'strict').split('\n')
want_calls, want_self = Counter(), Counter()
for r in csv.DictReader(open(rec + '.csv', newline='')):
    want_calls[r['function']] += int(r['calls'])
    want_self[r['function']] += int(r['self_ns'])
n_open = {'whole': 0, 'killed': 1}.get(kind)        # of exported.c, with its tasks; None: of anything
has_totals = kind != 'spoilt'

def same(calls, self_ns, how=None):
    if not has_totals:
        return
    assert calls == want_calls, (form, calls, want_calls)
    assert +Counter(self_ns) == +want_self, (form, self_ns, want_self)
    if how is not None and n_open is not None:
        assert how['left'] == 100 and how['open'] == n_open, (form, how)

def walk(events, has_how=True):
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
    same(n, self_ns, hows if has_how else None)

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

def of_chrome():
    chrome = json.loads('\n'.join(lines), parse_float=Decimal)
    calls = [e for e in chrome['traceEvents'] if e['ph'] in 'BE']
    walk([(e['tid'], e['ph'] == 'B', e.get('name'), int(e['ts'] * 1000), next(iter(e.get('args', {})), 'returned')) for e in calls])
    is_open = sum('open' in e.get('args', {}) for e in calls)
    assert is_open == chrome['otherData']['open'] and n_open in (None, is_open), (form, is_open, chrome['otherData'])

def of_speedscope():
    s = json.loads('\n'.join(lines))
    frames = [f['name'] for f in s['shared']['frames']]
    assert all(p['events'][-1]['at'] <= p['endValue'] for p in s['profiles']), form
    walk([(i, e['type'] == 'O', frames[e['frame']], e['at'], None) for i, p in enumerate(s['profiles']) for e in p['events']], has_how=False)

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
        assert one(process, 'pid') == one(thread, 'pid'), (thread, process)
        assert n_open is None or one(process, 'name') == b'prog', process
    walk(events)

def of_otlp():
    out, roots = [], set()
    for _, r in proto(lines):
        attributes = {one(a, 'key'): one(a, 'value') for k, a in one(r, 'resource') if k == 'attribute'}
        assert n_open is None or one(attributes[b'service.name'], 'text') == b'prog', attributes
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
    assert int(meta['calls']) == len(records) and int(meta['open']) == (sum(r['how'] == 'open' for r in records) if n_open is None else n_open), meta
    assert kind == 'real' or meta['lost'] == '0', meta
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
        assert all(len(c) == stacks['length'] for c in (stacks['prefix'], stacks['frame']))
        assert n_open is None or len(names) == len(set(names))      # C++: overloads share a name
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
    assert n_open is None or opened == n_open, (form, opened)
    assert not has_totals or +self_ns == +want_self, (form, self_ns, want_self)

def of_trace_dat():
    """trace-cmd report -R: calls that had not returned have no funcgraph_exit; a name has _ where C++ has a blank."""
    for c in (want_calls, want_self):
        for k in [k for k in c if ' ' in k]:
            c[k.replace(' ', '_')] += c.pop(k)
    calls, ns, want_ns = Counter(), Counter(), Counter()
    for l in lines:
        m = re.search(r': (funcgraph_entry|funcgraph_exit): +func=(.*) depth=\d+(?: overrun=\d+ calltime=([0-9a-f]+) rettime=([0-9a-f]+))?$', l)
        assert m or ' [' not in l, l
        if m and m[1] == 'funcgraph_entry':
            calls[m[2]] += 1
        elif m:
            ns[m[2]] += int(m[4], 16) - int(m[3], 16)
    assert calls == want_calls, (form, {f: (calls[f], want_calls[f]) for f in calls | want_calls if calls[f] != want_calls[f]})
    for f, duration in sqlite3.connect(rec + '.sqlite').execute("select function, sum(duration_ns) from calls where how <> 'open' group by function"):
        want_ns[f.replace(' ', '_')] += duration
    assert +ns == +want_ns, (form, {f: (ns[f], want_ns[f]) for f in ns | want_ns if ns[f] != want_ns[f]})

{'trace.dat': of_trace_dat, 'chrome': of_chrome, 'speedscope': of_speedscope, 'firefox': of_firefox, 'perfetto': of_perfetto, 'otlp': of_otlp, 'sqlite': of_sqlite, 'parquet': of_parquet, 'ctf': of_ctf, 'pprof': of_pprof}[form]()
