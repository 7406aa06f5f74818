#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""refused_start.py UFT TARGET - an attach that fails while the runtime starts leaves nothing mapped in the process

TARGET busy checks its own results. RLIMIT_DATA makes the start fail: before the runtime maps anything, and later and later."""
import os, resource, subprocess, sys, tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'detach'))
import left
from left import compare, fail, read, wait_for

uft, target = sys.argv[1:3]
MORE_KB = (200, 1000, 2700, 4000, 6000, 10000)


def data_kb(pid):
    return next(int(l.split()[1]) for l in read('/proc/%d/status' % pid).splitlines() if l.startswith('VmData'))


with tempfile.TemporaryDirectory() as scratch, tempfile.TemporaryFile() as out:
    p = subprocess.Popen([target, 'busy'], stdin=subprocess.PIPE, stdout=out)
    wait_for(lambda: os.pread(out.fileno(), 6, 0) == b'ready\n', 'busy: ready')
    before, kb = left.state(p.pid), data_kb(p.pid)
    for more in MORE_KB:
        resource.prlimit(p.pid, resource.RLIMIT_DATA, ((kb + more) << 10, resource.RLIM_INFINITY))
        r = subprocess.run([uft, 'attach', '-q', '-b', '256K', '-p', 'function_graph', '-o', os.path.join(scratch, 'x.uft'), str(p.pid)],
                           stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100)
        if r.returncode != 1 or 'RLIMIT_DATA' not in r.stderr:
            fail('%d KB more: status %d, said %r' % (more, r.returncode, r.stderr))
        compare('%d KB more' % more, before, left.state(p.pid), 0)
    p.communicate(b'x')
    got = os.pread(out.fileno(), 100, 0)
    if p.returncode or got != b'ready\n1\nend\n':
        fail('busy: status %d, output %r' % (p.returncode, got))
sys.exit(left.failures != 0)
