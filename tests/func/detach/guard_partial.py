#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""guard_partial.py UFT TARGET - the recorder of two programs is killed, and its guard can detach from only one of them

TARGET busy makes calls all the time. The agent of the second stands still, as all of a frozen program would. The first is left, and
nobody says otherwise because of the second; the session's file stays for that one, without the records; the next recording tries
once, says so, and later ones do not; uft detach takes all out, and the file is gone."""
import os, signal, subprocess, sys, tempfile

import left
from left import compare, fail, wait_for

uft, target = sys.argv[1:3]
SMALL = 1 << 20		# bytes; the rings had more


class Program:
    def __init__(self):
        self.out = tempfile.TemporaryFile()
        self.p = subprocess.Popen([target, 'busy'], stdin=subprocess.PIPE, stdout=self.out)
        self.pid = self.p.pid
        wait_for(lambda: os.pread(self.out.fileno(), 6, 0) == b'ready\n', 'ready', 60)
        self.before, self.text = left.state(self.pid), left.text(self.pid)

    def is_as_before(self, what):
        compare(what, self.before, left.state(self.pid), 0)
        if left.text(self.pid) != self.text:
            fail(what + ': text has changed')


def files(run_dir):
    return [os.path.join(run_dir, 'uft', f) for f in os.listdir(os.path.join(run_dir, 'uft'))]


def bytes_of(run_dir):
    return sum(os.stat(f).st_blocks * 512 for f in files(run_dir))


def detach(p):
    return subprocess.run([uft, 'detach', str(p.pid)], stderr=subprocess.PIPE, text=True, timeout=120)


def record(scratch):
    r = subprocess.run([uft, 'record', '-q', '-o', os.path.join(scratch, 'y.uft'), 'true'], stdin=subprocess.DEVNULL,
                       stderr=subprocess.PIPE, text=True, timeout=120)
    return r.stderr.count('cannot detach from all programs')


def killed(a, b, scratch, run_dir):
    """The agent of @b stands from now on."""
    r = subprocess.Popen([uft, 'attach', '-q', '-p', 'function', '-o', os.path.join(scratch, 'x.uft'), str(a.pid), str(b.pid)])
    wait_for(lambda: left.is_armed(a.pid, a.text, r) and left.is_armed(b.pid, b.text, r) and bytes_of(run_dir) > 2 * SMALL, 'attached', 60)
    agent = next(left.agents(b.pid))
    os.kill(agent, signal.SIGSTOP)
    r.kill()
    r.wait()
    wait_for(lambda: not list(left.recorders(scratch)), 'the guard ends', 120)
    return agent


def run(scratch, run_dir):
    a, b = Program(), Program()
    agent = killed(a, b, scratch, run_dir)
    a.is_as_before('left by the guard')
    if not left.is_attached(b.pid):
        fail('its agent stands, and it was left')
    if len(files(run_dir)) != 3 or bytes_of(run_dir) > SMALL:
        fail('what was kept: %s, %d bytes' % (files(run_dir), bytes_of(run_dir)))
    d = detach(a)
    if d.returncode != 1 or 'traces a process' not in d.stderr:
        fail('uft detach of who was left: status %d, %r' % (d.returncode, d.stderr))
    tries = [record(scratch)]
    os.kill(agent, signal.SIGCONT)
    tries.append(record(scratch))
    if tries != [1, 0] or not left.is_attached(b.pid):
        fail('tried by two recordings: %s' % tries)
    d = detach(b)
    if d.returncode or d.stderr:
        fail('uft detach: status %d, %r' % (d.returncode, d.stderr))
    b.is_as_before('left by uft detach')
    if files(run_dir):
        fail('left: %s' % files(run_dir))
    for p in a, b:
        p.p.communicate(b'x', 60)
        if p.p.returncode or os.pread(p.out.fileno(), 100, 0) != b'ready\n1\nend\n':
            fail('busy: status %s' % p.p.returncode)


# A run directory of its own, as in other_tracer.py.
with tempfile.TemporaryDirectory() as scratch, tempfile.TemporaryDirectory(dir='/dev/shm') as run_dir:
    os.environ['XDG_RUNTIME_DIR'] = run_dir
    run(scratch, run_dir)
sys.exit(left.failures != 0)
