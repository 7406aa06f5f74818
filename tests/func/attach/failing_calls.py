#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""failing_calls.py UFT TARGET SHIM [detach|record] - one allocation, mmap or ptrace of an attach fails: the target is as before; or the target dies

TARGET busy checks its own results. The calls of each kind are counted in an attach where all of them work; then
UFT_FAILURES (default 3) of each kind fail, one in each attach, spread over all of them. So do the first calls of UFT_SITES (default 24; all)
of the places in uft that make such calls, spread over all of those. uft may refuse, or go on without
something; it is not killed by a signal, and it leaves nothing behind. So they do in each system call that the attach makes
in the target, and on the way back from it. Where the target is killed before a ptrace, uft ends, and says that.

detach: the same from the moment on when the target is armed. Its text is as before in any case, and it runs on; where memory
of ours remains in it, uft says so. Without the memory that NEEDLESS ask for nothing remains when it has ended.

record: the same while uft starts a program and until it has ended. Either uft says why not and the program does not run, or
it runs as it does alone: output and exit status."""
import os, struct, subprocess, sys, tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'detach'))
import left
from failing_sites import environment, sites_in, some_of, within
from left import compare, complaint, fail, is_armed, is_attached, state, text, wait_for

uft, target, shim = sys.argv[1:4]
phase = (sys.argv + ['attach'])[4]
each = int(os.environ.get('UFT_FAILURES', '3'))
IN_TARGET = 42, 66		# ptraces of an attach, about: the last call that the stopped thread makes for uft, that it goes on, and the stops of its end
NEEDLESS = 'read_mappings', 'detach_targets', 'leave'	# functions of a detach that go on without memory
END_S = 60			# for a recorder that may end at once, on a loaded machine


def calls_in(to):
    with open(to, 'rb') as f:
        return struct.unpack('q', f.read(8))[0]


def name_of(kind, at, site):
    return kind + (' at %#x' % (site - 1) if site else ' %d' % at)


sites_of = {}		# by kind, of the last attach: those that call in this phase


def attach(pid, code, scratch, kind, at, site=0, is_needless=False):
    """How many calls there were until uft had armed the target, or refused it; detach: from then until its end. And is all of it out?"""
    to = os.path.join(scratch, 'count')
    env = environment(uft, shim, kind, at if phase == 'attach' else 0, site, to)
    name = name_of(kind, at, site)
    if os.path.exists(to):
        os.unlink(to)
    with tempfile.TemporaryFile() as err:
        r = subprocess.Popen([uft, 'attach', '-b', '256K', '-o', os.path.join(scratch, 'x.uft'), str(pid)], env=env,
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=err)
        wait_for(lambda: r.poll() is not None or is_armed(pid, code, r), name + ': attached, or refused')
        calls, sites_of[kind] = calls_in(to), sites_in(to)
        if phase == 'detach' and at:
            with open(to, 'r+b') as f:
                f.seek(8)
                f.write(struct.pack('q', calls + at))
        r.terminate()
        try:
            r.wait(END_S)
        except subprocess.TimeoutExpired:
            fail(name + ': uft did not end')
            r.kill()
            r.wait()
        if is_needless and is_attached(pid):
            fail(name + ': something remains where uft has ended')
        said = os.pread(err.fileno(), 1 << 16, 0).decode()
        if phase == 'detach':
            calls, sites_of[kind] = calls_in(to) - calls, sites_in(to) - sites_of[kind]
        if r.returncode < 0 and r.returncode != -15:
            fail('%s: uft ended by signal %d: %s' % (name, -r.returncode, said))
        if r.returncode and not said:
            fail(name + ': uft failed without a word')
    if phase == 'detach' and complaint(said):
        wait_for(lambda: state(pid)['tracer'] == '0', name + ': let go')
        return calls, False
    wait_for(lambda: not is_attached(pid) and state(pid)['tracer'] == '0', name + ': left')
    return calls, True


class Target:
    """busy, as it was before uft came."""
    def __init__(self):
        self.out = tempfile.TemporaryFile()
        self.p = subprocess.Popen([target, 'busy'], stdin=subprocess.PIPE, stdout=self.out)
        self.pid = self.p.pid
        wait_for(lambda: os.pread(self.out.fileno(), 6, 0) == b'ready\n', 'busy: ready')
        self.before, self.code = state(self.pid), text(self.pid)

    def look(self, name, is_left):
        if is_left:
            compare(name, self.before, state(self.pid), 0)
        if text(self.pid) != self.code:
            fail(name + ': text has changed')

    def end(self):
        self.p.communicate(b'x')
        got = os.pread(self.out.fileno(), 100, 0)
        if self.p.returncode or got != b'ready\n1\nend\n':
            fail('busy: status %d, output %r' % (self.p.returncode, got))


def record(scratch, kind, at, site=0):
    """How many calls there were in all while uft ran the target, which is as it is alone, or was not started."""
    to = os.path.join(scratch, 'count')
    env = environment(uft, shim, kind, at, site, to)
    name = 'record: ' + name_of(kind, at, site)
    if os.path.exists(to):
        os.unlink(to)
    r = subprocess.Popen([uft, 'record', '-b', '256K', '-o', os.path.join(scratch, 'z.uft'), target, 'busy'], env=env,
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        out, said = r.communicate(b'x', timeout=END_S)
    except subprocess.TimeoutExpired:
        fail(name + ': uft did not end')
        for pid in list(left.recorders(scratch)):
            os.kill(pid, 9)
        out, said = r.communicate()
    if out == b'' and r.returncode > 0 and said:
        pass
    elif out != b'ready\n1\nend\n' or r.returncode < 0:
        fail('%s: status %d, output %r: %s' % (name, r.returncode, out, said.decode()))
    elif r.returncode and not said:
        fail(name + ': uft failed without a word')
    sites_of[kind] = sites_in(to)
    return calls_in(to)


def dies(scratch, at):
    """A new target, killed just before that ptrace. uft has nothing left to do then."""
    to = os.path.join(scratch, 'count')
    env = environment(uft, shim, 'death', at, 0, to)
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


def spread(total):
    """`each` of the calls, in the middle of parts of the same size."""
    return {1 + total * (2 * i + 1) // (2 * each) for i in range(each)}


if phase == 'record':
    with tempfile.TemporaryDirectory() as scratch:
        for kind in ('memory', 'mmap', 'ptrace'):
            total = record(scratch, kind, 0)
            for site in some_of(sites_of[kind], 24):
                record(scratch, kind, 0, site)
            failed = 0
            for at in sorted(spread(total)):
                calls = record(scratch, kind, at)
                while calls < at and at > 1:		# than when they were counted, while the machine was slow
                    at //= 2
                    calls = record(scratch, kind, at)
                failed += calls >= at
            if not failed:
                fail(kind + ': none failed')
    sys.exit(left.failures != 0)

with tempfile.TemporaryDirectory() as scratch:
    t = Target()
    for kind in ('memory', 'mmap', 'ptrace'):
        total, failed = attach(t.pid, t.code, scratch, kind, 0)[0], 0
        needless = within(uft, sites_of[kind], *NEEDLESS) if phase == 'detach' else set()
        for site in sorted({*some_of(sites_of[kind], 24), *needless}):
            before = left.failures
            is_left = attach(t.pid, t.code, scratch, kind, 0, site, site in needless)[1]
            t.look(name_of(kind, 0, site), is_left)
            if not is_left or left.failures > before:
                t.end()
                t = Target()
        if total < each and (kind, phase) != ('mmap', 'detach'):
            fail('%s: %d calls alone were counted' % (kind, total))
        for at in sorted(spread(total) | set(range(*IN_TARGET) if kind == 'ptrace' and phase == 'attach' else ())):
            calls, is_left = attach(t.pid, t.code, scratch, kind, at)
            while is_left and calls < at and at > 1:		# than when they were counted, while the machine was slow
                at //= 2
                calls, is_left = attach(t.pid, t.code, scratch, kind, at)
            failed += calls >= at
            t.look('%s %d of %d' % (kind, at, total), is_left)
            if not is_left:
                t.end()
                t = Target()
        if not failed and total >= each:
            fail(kind + ': none failed')
    t.end()
    for at in range(1, IN_TARGET[1], max(1, IN_TARGET[1] // each)) if phase == 'attach' else ():
        dies(scratch, at)
sys.exit(left.failures != 0)
