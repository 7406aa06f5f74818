# SPDX-License-Identifier: MIT
"""frames.py REC calls|times <a line of JSON a thread, as a viewer has imported it

The times of each function are those of REC.flat.csv, which `uft report --flat --csv` made. Its calls are, too, but for those that took no
time by the clock of this processor, which speedscope leaves out.
"""
import csv, json, sys
from collections import defaultdict
rec, has_calls = sys.argv[1], sys.argv[2] == 'calls'
want, got = defaultdict(lambda: [0, 0, 0]), defaultdict(lambda: [0, 0, 0])
for r in csv.DictReader(open(rec + '.flat.csv', newline='')):
    for i, key in enumerate(('self_ns', 'total_ns', 'calls')):
        want[r['function']][i] += int(r[key])               # overloads share a name
for line in sys.stdin:
    thread = json.loads(line)
    for f in thread['frames']:
        for i, key in enumerate(('self', 'total', 'calls')):
            got[f['name']][i] += f.get(key, 0)
instant, stack = defaultdict(int), []
if has_calls:
    file = json.load(open(rec + '.speedscope'))
    for e in (e for p in file['profiles'] for e in p['events']):
        if e['type'] == 'O':
            stack.append(e['at'])
        elif stack.pop() == e['at']:
            instant[file['shared']['frames'][e['frame']]['name']] += 1
for f, (self_ns, total_ns, calls) in want.items():
    calls -= instant[f]
    if not has_calls:
        calls = 0
    # Sums of binary fractions of a millisecond: off by less than a millionth of a ns.
    assert all(abs(a - b) < 1e-3 for a, b in zip(got[f], (self_ns, total_ns, calls))), (rec, f, got[f], self_ns, total_ns, calls)
assert set(got) <= set(want), (rec, set(got) - set(want))
