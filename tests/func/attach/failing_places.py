#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""failing_places.py UFT REACHED [FOLDER] - the places of FOLDER (default control) that allocate, map or trace, and that no failing- test reached

REACHED is the file that UFT_PLACES named while the tests ran (failing_sites.py), with UFT_SITES=all for what only
a failure leads to. A place is a line of FOLDER's sources and the function that it calls; the compiler may have copied it."""
import re, subprocess, sys

uft, reached = sys.argv[1:3]
folder = (sys.argv + ['control'])[3]
CALL = re.compile(r'^\s*([0-9a-f]+):\s+(call|jmp)\s.*<(?:__)?(malloc|calloc|realloc|reallocarray|strdup|strndup|asprintf|open_memstream|mmap|mmap64|ptrace)'
                  r'(?:_chk)?@plt')


def run(*words, given=None):
    return subprocess.run(words, input=given, stdout=subprocess.PIPE, text=True, check=True).stdout


def returns():
    """(address of a call, what it calls, the addresses it returns to): the callers', if it is a jump."""
    lines = run('objdump', '-d', '--no-show-raw-insn', uft).splitlines()
    behind = [line.split(':')[0].strip() for line in lines]
    found, callers, function = [], {}, None
    for i, line in enumerate(lines):
        if line.endswith('>:'):
            function = line[line.index('<') + 1:-2]
        called = re.search(r'call\s+[0-9a-f]+ <([^>+]+)>', line)
        if called:
            callers.setdefault(called[1], set()).add(int(behind[i + 1] or '0', 16) if re.match('[0-9a-f]+$', behind[i + 1]) else 0)
        m = CALL.match(line)
        if m:
            found.append((int(m[1], 16), m[3], function if m[2] == 'jmp' else int(behind[i + 1], 16)))
    return [(at, what, callers.get(to, set()) if isinstance(to, str) else {to}) for at, what, to in found]


with open(reached) as f:
    seen = {int(line, 16) for line in f}
calls = returns()
blocks = re.split(r'^0x[0-9a-f]+\n', run('addr2line', '-f', '-i', '-a', '-e', uft, given=''.join('%x\n' % at for at, _, _ in calls)), flags=re.M)[1:]
places = {}
for (at, what, to), block in zip(calls, blocks):
    words = block.splitlines()
    chain = [(function, re.sub(r'^(.*/)?(?=%s/)' % folder, '', where).split(' ')[0]) for function, where in zip(words[::2], words[1::2])]
    own = [(function, where) for function, where in chain if where.startswith(folder + '/')]
    if own:
        places[(own[0][1], own[0][0], what)] = places.get((own[0][1], own[0][0], what), False) or bool(to & seen)
for (where, function, what), is_reached in sorted(places.items()):
    if not is_reached:
        print('%s: %s in %s()' % (where, what, function))
print('%d of %d places in %s/ were not reached' % (sum(not r for r in places.values()), len(places), folder))
