#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""nonlocal_exits.py UFT PROGRAM - functions that are left without a return, in a running, unprepared program

PROGRAM (nonlocal_exits.cc) makes a turn of coroutines, cancelled threads, longjmp and exceptions for each byte, and says what came out
and what it called. It runs untraced for a turn; then it is attached to, every function of it and of its libraries, makes two
turns and is left, in the middle of its coroutines; and so on, with both tracers, all of it and with some functions left out. Each
turn says the same; as many calls are recorded as it counted; and left it is as it was before. Exit status 0, 1."""
import os, subprocess, sys, tempfile, time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'detach'))
import left
from left import fail

uft, program = sys.argv[1:3]
TURNS = 2			# while it is traced
END = b'end of turn\n'
EVERYTHING = ['-l', '*', '-l', '*:mod:*']
BARE = 'bare_middle'


class Program:
    def __init__(self):
        self.out = tempfile.TemporaryFile()
        self.p = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=self.out, stderr=subprocess.STDOUT)
        self.pid, self.at = self.p.pid, 0
        self.expect(b'ready\n', 'ready')

    def expect(self, last, what):
        """What it says next, up to @last."""
        def has_come():
            return os.pread(self.out.fileno(), 1 << 16, self.at).endswith(last) or self.p.poll() is not None
        left.wait_for(has_come, what, 60)
        said = os.pread(self.out.fileno(), 1 << 16, self.at)
        self.at += len(said)
        return said

    def turn(self, what):
        try:
            self.p.stdin.write(b'x')
            self.p.stdin.flush()
        except BrokenPipeError:
            pass
        return self.expect(END, what)


def counted(turn):
    return {l.split()[1]: int(l.split()[2]) for l in turn.decode().splitlines() if l.startswith('calls ')}


def recorded(file):
    """By function; names have no parameters here."""
    text = subprocess.run([uft, 'report', '--profile', file], stdout=subprocess.PIPE, text=True).stdout
    return {l.split()[-1]: int(l.split()[0]) for l in text.splitlines() if l and l.split()[0].isdigit()}


def traced(p, text, want, tracer, options, file):
    what = '%s %s' % (tracer, ' '.join(options))
    with tempfile.TemporaryFile() as err:
        r = subprocess.Popen([uft, 'attach', '-p', tracer, *EVERYTHING, *options, '-o', file, str(p.pid)], stdin=subprocess.DEVNULL,
                             stderr=err)

        def said():
            return os.pread(err.fileno(), 1 << 16, 0).decode()
        left.wait_for(lambda: left.is_armed(p.pid, text, r) or r.poll() is not None, what + ': attached', 60)
        for i in range(TURNS):
            got = p.turn(what)
            if got != want:
                fail('%s, turn %d: %r instead of %r' % (what, i, got, want))
        r.terminate()
        if r.wait(60):
            fail('%s: the recorder ends with %d: %s' % (what, r.returncode, said()))
        if left.complaint(said()):
            fail('%s: %s' % (what, left.complaint(said())))
    calls = recorded(file)
    for name, n in counted(want).items():
        n *= TURNS if not (options and name == BARE) else 0
        if calls.get(name, 0) != n:
            fail('%s: %d calls of %s recorded, %d counted' % (what, calls.get(name, 0), name, n))


p = Program()
want = p.turn('untraced')
if not want.endswith(END) or p.turn('untraced') != want:
    fail('untraced: %r' % want)
before, text = left.state(p.pid), left.text(p.pid)
with tempfile.TemporaryDirectory() as scratch:
    for tracer in ('function', 'function_graph'):
        for options in ([], ['-n', BARE]):
            if left.failures:
                break
            what = 'after %s %s' % (tracer, ' '.join(options))
            traced(p, text, want, tracer, options, os.path.join(scratch, 'x.uft'))
            if left.text(p.pid) != text:
                fail(what + ': text has changed')
            left.compare(what, before, left.state(p.pid), left.GROWTH)
            got = p.turn(what)
            if got != want:
                fail('%s: %r instead of %r' % (what, got, want))
p.p.stdin.close()
if p.p.wait(60) or p.expect(b'done\n', 'done') != b'done\n':
    fail('it ends with status %d' % p.p.returncode)
sys.exit(left.failures != 0)
