#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""starved_threads.py UFT TARGET - detach from threads that hardly ever get the CPU

TARGET busy spins in traced functions, on one CPU and at the lowest priority, among others that spin there at a better one. A
thread that is inside of us waits long for the turn in which it comes out: a look that stops it must not take that from it.
UFT_CYCLES times (default 5): uft attach, SIGTERM, and nothing stayed. Exit status 0, 1."""
import ctypes, os, signal, subprocess, sys, tempfile, time

import left
from left import fail, is_attached, wait_for

uft, target = sys.argv[1:3]
CYCLES = int(os.environ.get('UFT_CYCLES', '5'))
OTHERS = 4
PR_SET_PDEATHSIG = 1
prctl = ctypes.CDLL(None).prctl


def other():
    """In a child, before it executes."""
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def starved():
    other()
    os.nice(19)


def cycle(i, pid, scratch):
    with open(os.path.join(scratch, 'err'), 'w+') as err:
        r = subprocess.Popen([uft, 'attach', '-q', '-b', '256K', '-p', 'function_graph', '-o', os.path.join(scratch, 'x.uft'), str(pid)],
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=err)
        wait_for(lambda: is_attached(pid) or r.poll() is not None, 'cycle %d: attached' % i)
        time.sleep(0.5)			# SIGTERM may come before all is armed, or after
        r.terminate()
        try:
            r.wait(100)
        except subprocess.TimeoutExpired:
            fail('cycle %d: the recorder does not end' % i)
            r.kill()
            r.wait()
        err.seek(0)
        bad = left.complaint(err.read())
    if bad:
        fail('cycle %d: %s' % (i, bad))
    elif is_attached(pid):
        fail('cycle %d: it is attached still' % i)


with tempfile.TemporaryDirectory() as scratch, tempfile.TemporaryFile() as out:
    others = [subprocess.Popen(['sh', '-c', 'while :; do :; done'], preexec_fn=other) for _ in range(OTHERS)]
    p = subprocess.Popen([target, 'busy'], stdin=subprocess.PIPE, stdout=out, preexec_fn=starved)
    try:
        wait_for(lambda: os.pread(out.fileno(), 6, 0) == b'ready\n', 'ready', 60)
        for i in range(CYCLES):
            if not left.failures:
                cycle(i, p.pid, scratch)
        nices = {os.getpriority(os.PRIO_PROCESS, int(t)) for t in os.listdir('/proc/%d/task' % p.pid)}
        if nices != {19}:
            fail('its threads have priorities %s instead of 19' % nices)
    finally:
        for o in others:
            o.kill()
            o.wait()
        p.communicate(b'x')
    got = os.pread(out.fileno(), 100, 0)
    if p.returncode or got != b'ready\n1\nend\n':
        fail('status %d, output %r' % (p.returncode, got))
sys.exit(left.failures != 0)
