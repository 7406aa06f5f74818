#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""other_tracer.py UFT TARGET - one thread of the target has another tracer: before the attach, from the attach on, at the detach, at the end

TARGET busy runs in four threads, which rest now and then. A thread that somebody has seized cannot be stopped by us. Before: the attach is refused in
one line that names the thread and who has it. Later: what cannot be done is said in one line that names both, the program goes
on, and when the thread is free again everything can be done. Exit status 0, 1."""
import ctypes, os, signal, subprocess, sys, tempfile, time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'detach'))
import left
from left import fail

uft, target = sys.argv[1:3]
CLOCK_NANOSLEEP = '230 '		# of x86-64, as in /proc/PID/syscall
PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_DETACH, WALL = 0x4206, 0x4207, 17, 0x40000000
ptrace = ctypes.CDLL(None, use_errno=True).ptrace
ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


class Program:
    """Spins until it is told to end."""
    def __init__(self):
        self.out = tempfile.TemporaryFile()
        self.p = subprocess.Popen([target, 'busy', '500'], stdin=subprocess.PIPE, stdout=self.out)
        self.pid = self.p.pid
        left.wait_for(lambda: os.pread(self.out.fileno(), 6, 0) == b'ready\n', 'ready', 60)
        self.threads = sorted(int(t) for t in os.listdir('/proc/%d/task' % self.pid))
        self.before, self.text = left.state(self.pid), left.text(self.pid)

    def is_as_before(self, what):
        left.compare(what, self.before, left.state(self.pid), 0)
        if left.text(self.pid) != self.text:
            fail(what + ': text has changed')

    def end(self, what):
        if self.p.poll() is None:
            self.p.communicate(b'x', 60)
        got = os.pread(self.out.fileno(), 100, 0)
        if self.p.returncode or got != b'ready\n1\nend\n':
            fail('%s: status %s, output %r' % (what, self.p.returncode, got))


def seize(tid):
    end = time.time() + 60
    while ptrace(PTRACE_SEIZE, tid, None, None):
        if time.time() > end:		# uft holds it now and then for a moment
            return fail('thread %d cannot be seized' % tid)


def release(tid):
    ptrace(PTRACE_INTERRUPT, tid, None, None)
    os.waitpid(tid, WALL)
    ptrace(PTRACE_DETACH, tid, None, None)


def attach(program, scratch, *args):
    return subprocess.Popen([uft, 'attach', '-q', '-p', 'function_graph', '-l', '*', '-l', '*:mod:libc*', *args, '-o',
                             os.path.join(scratch, 'x.uft'), str(program.pid)], stderr=subprocess.PIPE, text=True)


def finish(r, what):
    try:
        return r.communicate(timeout=90)[1]
    except subprocess.TimeoutExpired:
        fail(what + ': the recorder does not end')
        r.kill()
        return r.communicate()[1]


def one_line(said, what, tid, words):
    us = 'thread %d is being traced by %s (process %d)' % (tid, left.read('/proc/self/comm').strip(), os.getpid())
    if said.count('\n') != 1 or us not in said or words not in said:
        fail('%s: it says %r' % (what, said))


def before(scratch, which):
    what = 'thread %d taken before the attach' % which
    p = Program()
    tid = p.threads[which]
    seize(tid)
    r = attach(p, scratch)
    said = finish(r, what)
    if which:
        one_line(said, what, tid, 'cannot be traced')
    elif 'process %d ' % p.pid not in said or 'is being traced by' not in said or said.count('\n') != 1:
        fail('%s: it says %r' % (what, said))
    if r.returncode != 1:
        fail('%s: status %d' % (what, r.returncode))
    release(tid)
    p.is_as_before(what)
    p.end(what)


def guarded(scratch):
    """Who has the name of a recorder's guard is waited for."""
    what, p = 'a guard that has not finished', Program()
    guard = os.fork()
    if not guard:
        with open('/proc/self/comm', 'w') as comm:
            comm.write('uft-guard')
        seize(p.threads[2])
        time.sleep(0.5)
        os._exit(0)
    left.wait_for(lambda: 'uft-guard' in left.read('/proc/%d/comm' % guard) and
                  'TracerPid:\t%d\n' % guard in left.read('/proc/%d/task/%d/status' % (p.pid, p.threads[2])), what, 60)
    r = attach(p, scratch)
    left.wait_for(lambda: r.poll() is not None or left.is_armed(p.pid, p.text, r), what + ': attached', 60)
    r.send_signal(signal.SIGINT)
    said = finish(r, what)
    if r.returncode or said:
        fail('%s: status %d, it says %r' % (what, r.returncode, said))
    os.waitpid(guard, 0)
    p.is_as_before(what)
    p.end(what)


def attached(scratch, what, is_complete=True):
    """A program, a thread of it that is not the first, and its recorder: all is armed, or there is just something of ours."""
    p = Program()
    r = attach(p, scratch)
    left.wait_for(lambda: r.poll() is not None or (left.is_armed(p.pid, p.text, r) if is_complete else left.is_attached(p.pid)),
                  what + ': attached', 60)
    return p, p.threads[2], r


def during(scratch):
    """As soon as there is something of ours: in the first hold, or between two. Whatever was switched is left again."""
    what = 'taken in the middle of the attach'
    p, tid, r = attached(scratch, what, False)
    seize(tid)
    time.sleep(2)
    release(tid)
    r.terminate()
    said = finish(r, what)
    if 'left as they were' in said and said.count('thread %d is being traced by' % tid) != 1:
        fail('%s: it says %r' % (what, said))
    if r.returncode:
        fail('%s: status %d' % (what, r.returncode))
    p.is_as_before(what)
    p.end(what)


def at_detach(scratch):
    """It is not left, which is said; it goes on; and when the thread is free it is left as if nothing had been."""
    what = 'taken at uft detach'
    p, tid, r = attached(scratch, what)
    seize(tid)
    for again in (0, 1):
        d = detach(p)
        if again:
            if d.returncode or d.stderr:
                fail('%s, when it is free: status %d, %r' % (what, d.returncode, d.stderr))
        else:
            one_line(d.stderr, what, tid, 'cannot detach from')
            if d.returncode != 1:
                fail('%s: status %d' % (what, d.returncode))
            release(tid)
    one_line(finish(r, what), what + ', recorder', tid, 'could not be put back')
    p.is_as_before(what)
    p.end(what)


def detach(p):
    return subprocess.run([uft, 'detach', str(p.pid)], stderr=subprocess.PIPE, text=True, timeout=90)


def is_done_later(p, what):
    """By uft detach, or by the next who records."""
    d = detach(p)
    if d.returncode or d.stderr:
        fail('%s, uft detach when it is free: status %d, %r' % (what, d.returncode, d.stderr))
    p.is_as_before(what)
    d = detach(p)
    if d.returncode != 1 or 'traces a process' not in d.stderr:
        fail('%s, uft detach again: status %d, %r' % (what, d.returncode, d.stderr))


def at_end(scratch, how):
    """The recorder cannot wait for ever: our code stays, and the program runs on in it, whole. Later all can be taken out."""
    what = 'taken at the end, %s' % how
    p, tid, r = attached(scratch, what)
    seize(tid)
    if how == 'killed':
        r.kill()
        r.communicate(timeout=90)
        left.wait_for(lambda: not list(left.recorders(scratch)), what + ': the guard ends', 60)
    else:
        r.terminate()
        one_line(finish(r, what), what, tid, 'could not be put back')
    d = detach(p)
    one_line(d.stderr, what + ', uft detach', tid, 'cannot detach from')
    if d.returncode != 1:
        fail('%s, uft detach: status %d' % (what, d.returncode))
    release(tid)
    if how == 'next':
        subprocess.run([uft, 'record', '-q', '-o', os.path.join(scratch, 'y.uft'), target, 'longjmp'], stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL)
        p.is_as_before(what)
    else:
        is_done_later(p, what)
    p.end(what)


def all_killed(scratch):
    """Recorder and guard, and nobody has a thread: whoever comes later finds that they are dead."""
    what = 'when all are killed'
    p, tid, r = attached(scratch, what)
    for pid in list(left.recorders(scratch)):
        os.kill(pid, 9)
    r.communicate(timeout=90)
    is_done_later(p, what)
    p.end(what)


def guard_killed(scratch):
    """While uft detach waits for it: the process is left all the same."""
    what = 'when the guard is killed during uft detach'
    p, _, r = attached(scratch, what)
    guard, = (pid for pid in left.recorders(scratch) if pid != r.pid)
    os.kill(guard, signal.SIGSTOP)
    r.kill()
    r.communicate(timeout=90)
    d = subprocess.Popen([uft, 'detach', str(p.pid)], stderr=subprocess.PIPE, text=True)
    left.wait_for(lambda: d.poll() is not None or left.read('/proc/%d/syscall' % d.pid).startswith(CLOCK_NANOSLEEP), what + ': uft detach waits', 60)
    os.kill(guard, 9)
    said = finish(d, what)
    if d.returncode or said:
        fail('%s: status %d, it says %r' % (what, d.returncode, said))
    p.is_as_before(what)
    p.end(what)


# A run directory of its own: what a dead session left is taken over by whoever records next, be it another test of another build.
with tempfile.TemporaryDirectory() as scratch, tempfile.TemporaryDirectory(dir='/dev/shm') as run_dir:
    os.environ['XDG_RUNTIME_DIR'] = run_dir
    for which in (0, 2):
        before(scratch, which)
    guarded(scratch)
    during(scratch)
    at_detach(scratch)
    for how in ('detach', 'killed', 'next'):
        at_end(scratch, how)
    all_killed(scratch)
    guard_killed(scratch)
sys.exit(left.failures != 0)
