#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""failing_calls.py UFT TARGET SHIM - one allocation, mmap or ptrace of an attach fails: the target is as before; or the target dies

TARGET busy checks its own results. The calls of each kind are counted in an attach where all of them work; then
UFT_FAILURES (default 3) of each kind fail, one in each attach, spread over all of them. uft may refuse, or go on without
something; it is not killed by a signal, and it leaves nothing behind. So they do in each system call that the attach makes
in the target, and on the way back from it. Where the target is killed before a ptrace, uft ends, and says that."""
import os, struct, subprocess, sys, tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'detach'))
import left
from left import compare, fail, is_armed, is_attached, state, text, wait_for

uft, target, shim = sys.argv[1:4]
each = int(os.environ.get('UFT_FAILURES', '3'))
IN_TARGET = 42, 54		# ptraces of an attach, about: the last call that the stopped thread makes for uft, and that it goes on
END_S = 60			# for a recorder that may end at once, on a loaded machine


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
        try:
            r.wait(END_S)
        except subprocess.TimeoutExpired:
            fail(name + ': uft did not end')
            r.kill()
            r.wait()
        said = os.pread(err.fileno(), 1 << 16, 0).decode()
        if r.returncode < 0 and r.returncode != -15:
            fail('%s: uft ended by signal %d: %s' % (name, -r.returncode, said))
        if r.returncode and not said:
            fail(name + ': uft failed without a word')
    wait_for(lambda: not is_attached(pid) and state(pid)['tracer'] == '0', name + ': left')
    return calls


def dies(scratch, at):
    """A new target, killed just before that ptrace. uft has nothing left to do then."""
    to = os.path.join(scratch, 'count')
    env = dict(os.environ, LD_PRELOAD=shim, FAIL_KIND='death', FAIL_AT=str(at), FAIL_TO=to)
    os.unlink(to)
    with tempfile.TemporaryFile() as out:
        p = subprocess.Popen([target, 'busy'], stdin=subprocess.PIPE, stdout=out)
        wait_for(lambda: os.pread(out.fileno(), 6, 0) == b'ready\n', 'busy: ready')
        r = subprocess.Popen([uft, 'attach', '-b', '256K', '-o', os.path.join(scratch, 'y.uft'), str(p.pid)], env=env,
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            said = r.communicate(timeout=END_S)[1].decode()
            if r.returncode < 0 or not said:
                fail('death %d: uft: status %d, "%s"' % (at, r.returncode, said))
        except subprocess.TimeoutExpired:
            fail('death %d: uft did not end' % at)
            r.kill()
            r.communicate()
        p.kill()
        p.communicate()


with tempfile.TemporaryDirectory() as scratch, tempfile.TemporaryFile() as out:
    p = subprocess.Popen([target, 'busy'], stdin=subprocess.PIPE, stdout=out)
    wait_for(lambda: os.pread(out.fileno(), 6, 0) == b'ready\n', 'busy: ready')
    before, code = state(p.pid), text(p.pid)
    for kind in ('memory', 'mmap', 'ptrace'):
        total, failed = attach(p.pid, code, scratch, kind, 0), 0
        if total < each:
            fail('%s: %d calls alone were counted' % (kind, total))
        for at in sorted({1 + total * (2 * i + 1) // (2 * each) for i in range(each)} | set(range(*IN_TARGET) if kind == 'ptrace' else ())):
            calls = attach(p.pid, code, scratch, kind, at)
            while calls < at and at > 1:		# than when they were counted, while the machine was slow
                at //= 2
                calls = attach(p.pid, code, scratch, kind, at)
            failed += calls >= at
            compare('%s %d of %d' % (kind, at, total), before, state(p.pid), 0)
            if text(p.pid) != code:
                fail('%s %d of %d: text has changed' % (kind, at, total))
        if not failed:
            fail(kind + ': none failed')
    p.communicate(b'x')
    got = os.pread(out.fileno(), 100, 0)
    if p.returncode or got != b'ready\n1\nend\n':
        fail('busy: status %d, output %r' % (p.returncode, got))
    for at in range(1, IN_TARGET[1], max(1, IN_TARGET[1] // each)):
        dies(scratch, at)
sys.exit(left.failures != 0)
