#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""recorder_killed.py UFT PROGRAM PRELOAD - uft attach is killed with SIGKILL at each of its ptrace calls, and the program runs on unchanged

PROGRAM (recorder_killed.c) ends when a register, its signal mask or a system call is not as it was, or when instructions are lost that
it was in the middle of. PRELOAD (kill_at_ptrace.c) kills before the
first call, after the second, and so on, until all is armed. Most of that is waiting, so SHARES programs of each mode have a part of the calls.
In mode sleep, before anything is armed, the guard cannot seize the thread at first: two calls fail."""
import concurrent.futures, os, subprocess, sys, tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'detach'))
import left
from left import fail, goes_on, wait_for

uft, program, preload = sys.argv[1:4]
SHARES = 3
ARMING = 44			# from that call on the places of functions are changed
LAST = 2000


def is_killed(pid, mode, at, scratch, text):
    """False: it never came to that call, all is armed."""
    env = dict(os.environ, LD_PRELOAD=preload, UFT_KILL_AT=str(at), UFT_GUARD_FAILS='2' if mode == 'sleep' and at < ARMING else '0')
    if at % 2:
        env['UFT_KILL_AFTER'] = '1'
    r = subprocess.Popen([uft, 'attach', '-o', os.path.join(scratch, 'x.uft'), str(pid)], env=env, stdin=subprocess.DEVNULL,
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for(lambda: r.poll() is not None or left.is_armed(pid, text, r), 'killed, or armed', 60)
    if r.poll() is None:
        r.kill()
        r.wait()
        return False
    return r.returncode == -9


def state(pid):
    s = left.state(pid)
    # Between the first mmap() and its answer nobody knows where it is: address space without access may stay.
    s['anonymous'].pop('---p', None)
    s['mask'] = [l for l in left.read('/proc/%d/status' % pid).splitlines() if l.startswith('SigBlk')]
    s['priority'] = os.getpriority(os.PRIO_PROCESS, pid)
    return s


def run_share(mode, first, scratch):
    """How often its recorder was killed."""
    f = tempfile.TemporaryFile()
    p = subprocess.Popen([program, mode], stdout=f)
    wait_for(lambda: left.turns(f), 'ready')
    before, text, at, n = state(p.pid), left.text(p.pid), first, 0
    while at < LAST and not left.failures:
        killed = is_killed(p.pid, mode, at, scratch, text)
        name = '%s, killed at call %d' % (mode, at)
        if not left.guard_ends(name, scratch, p.pid) or not goes_on(p, f):
            fail('%s: status %s' % (name, p.poll()))
            break
        left.compare(name, before, state(p.pid), 0)
        if left.text(p.pid) != text:
            fail(name + ': text has changed')
        if not killed:
            break
        at, n = at + SHARES, n + 1
    p.kill()
    p.wait()
    return n


def run_all(modes):
    with concurrent.futures.ThreadPoolExecutor(SHARES * len(modes)) as pool, tempfile.TemporaryDirectory() as scratch:
        share = {}
        for mode, first in modes.items():
            for i in range(SHARES):
                mine = os.path.join(scratch, '%s-%d' % (mode, i))
                os.mkdir(mine)
                share.setdefault(mode, []).append(pool.submit(run_share, mode, first + i, mine))
        for mode, shares in share.items():
            n = [s.result() for s in shares]
            print('%s: killed %d times' % (mode, sum(n)), flush=True)
            if not all(n):
                fail(mode + ': no call of ptrace was seen')


run_all({'spin': 1, 'sleep': 1, 'hot': ARMING})
sys.exit(left.failures != 0)
