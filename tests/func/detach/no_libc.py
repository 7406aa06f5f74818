#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""no_libc.py UFT PROGRAM - detach from a program that never sets its thread pointer and was started by a recorder

So stands every program for the first milliseconds after its exec. The runtime gave it a thread pointer; afterwards it
has none again, and no memory of uft remains. It is compared with the same program untraced."""
import os, signal, subprocess, sys, tempfile

import left
from left import fail, wait_for

uft, program = sys.argv[1:3]
KEYS = ('files', 'anonymous', 'tasks', 'sharers', 'tracer', 'signals')


def state(pid):
    """Tasks by their number only, since it is another process."""
    s = {k: v for k, v in left.state(pid).items() if k in KEYS}
    s['tasks'] = len(s['tasks'])
    return s


def waits(out, text, what):
    return wait_for(lambda: left.turns(out) >= len(text), what, 30) and os.pread(out.fileno(), 99, 0) == text


def untraced():
    with tempfile.TemporaryFile() as out, subprocess.Popen([program], stdout=out) as p:
        if not waits(out, b'none\n', 'untraced'):
            fail('untraced it has a thread pointer')
        s = state(p.pid)
        p.kill()
    return s


def detached(r, out):
    if not waits(out, b'set\n', 'recorded'):
        fail('the runtime gave it no thread pointer')
    pid = int(left.read('/proc/%d/task/%d/children' % (r.pid, r.pid)).split()[-1])
    wait_for(lambda: left.is_attached(pid), 'attached')
    d = subprocess.run([uft, 'detach', str(pid)], stderr=subprocess.PIPE, text=True, timeout=120)
    if d.returncode or d.stderr:
        fail('uft detach: %d %s' % (d.returncode, d.stderr))
    if not waits(out, b'set\nnone\n', 'detached'):
        fail('it has another thread pointer afterwards')
    s = state(pid)
    os.kill(pid, signal.SIGKILL)
    return s


with tempfile.TemporaryDirectory() as scratch, tempfile.TemporaryFile('w+') as err, tempfile.TemporaryFile() as out:
    with subprocess.Popen([uft, 'record', '-q', '-o', scratch + '/x.uft', program], stdout=out, stderr=err) as r:
        now, before = detached(r, out), untraced()
    for key in KEYS:
        if now[key] != before[key]:
            fail('%s: %s instead of %s' % (key, now[key], before[key]))
    err.seek(0)
    said = left.complaint(err.read())
    if said:
        fail(said)
sys.exit(1 if left.failures else 0)
