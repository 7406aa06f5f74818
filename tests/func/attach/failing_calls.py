#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""failing_calls.py UFT TARGET SHIM - one allocation, mmap or ptrace of an attach fails: the target is as before

TARGET busy checks its own results. The calls of each kind are counted in an attach where all of them work; then
UFT_FAILURES (default 3) of each kind fail, one in each attach, spread over all of them. uft may refuse, or go on without
something; it is not killed by a signal, and it leaves nothing behind."""
import os, struct, subprocess, sys, tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'detach'))
import left
from left import compare, fail, is_armed, is_attached, state, text, wait_for

uft, target, shim = sys.argv[1:4]
each = int(os.environ.get('UFT_FAILURES', '3'))


def attach(pid, code, scratch, kind, at):
    """How many calls there were until uft had armed the target, or refused it. Then it ends."""
    to = os.path.join(scratch, 'count')
    env = dict(os.environ, LD_PRELOAD=shim, FAIL_KIND=kind, FAIL_AT=str(at), FAIL_TO=to)
    name = '%s %d' % (kind, at)
    if os.path.exists(to):
        os.unlink(to)
    with tempfile.TemporaryFile() as err:
        r = subprocess.Popen([uft, 'attach', '-b', '256K', '-o', os.path.join(scratch, 'x.uft'), str(pid)], env=env,
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=err)
        wait_for(lambda: r.poll() is not None or is_armed(pid, code, r), name + ': attached, or refused')
        with open(to, 'rb') as f:
            calls = struct.unpack('q', f.read(8))[0]
        r.terminate()
        r.wait(100)
        said = os.pread(err.fileno(), 1 << 16, 0).decode()
        if r.returncode < 0 and r.returncode != -15:
            fail('%s: uft ended by signal %d: %s' % (name, -r.returncode, said))
        if r.returncode and not said:
            fail(name + ': uft failed without a word')
    wait_for(lambda: not is_attached(pid) and state(pid)['tracer'] == '0', name + ': left')
    return calls


with tempfile.TemporaryDirectory() as scratch, tempfile.TemporaryFile() as out:
    p = subprocess.Popen([target, 'busy'], stdin=subprocess.PIPE, stdout=out)
    wait_for(lambda: os.pread(out.fileno(), 6, 0) == b'ready\n', 'busy: ready')
    before, code = state(p.pid), text(p.pid)
    for kind in ('memory', 'mmap', 'ptrace'):
        total, failed = attach(p.pid, code, scratch, kind, 0), 0
        if total < each:
            fail('%s: %d calls alone were counted' % (kind, total))
        for i in range(each):
            at = 1 + total * (2 * i + 1) // (2 * each)
            failed += attach(p.pid, code, scratch, kind, at) >= at
            compare('%s %d of %d' % (kind, at, total), before, state(p.pid), 0)
            if text(p.pid) != code:
                fail('%s %d of %d: text has changed' % (kind, at, total))
        if not failed:
            fail(kind + ': none failed')
    p.communicate(b'x')
    got = os.pread(out.fileno(), 100, 0)
    if p.returncode or got != b'ready\n1\nend\n':
        fail('busy: status %d, output %r' % (p.returncode, got))
sys.exit(left.failures != 0)
