#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""recorder_killed_attaching.py UFT TARGET - the recorder is killed with SIGKILL at any moment of an attach, and the guard leaves nothing

TARGET busy checks its own results. UFT_CYCLES moments (default 12) from the recorder's start to well after all is armed, the
same ones each time. When the guard has ended: mappings, descriptors, tasks, signal lines, priorities and text as before."""
import os, subprocess, sys, tempfile, time

import left
from left import compare, fail, is_attached, text, wait_for

uft, target = sys.argv[1:3]
CYCLES = int(os.environ.get('UFT_CYCLES', '12'))


def attach(pid, scratch):
    return subprocess.Popen([uft, 'attach', '-q', '-b', '256K', '-p', 'function_graph', '-o', os.path.join(scratch, 'x.uft'), str(pid)],
                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def time_to_attach(pid, scratch):
    start = time.time()
    r = attach(pid, scratch)
    wait_for(lambda: is_attached(pid) or r.poll() is not None, 'attached')
    took = time.time() - start
    r.terminate()
    r.wait(60)
    return took


def priorities(pid):
    return [os.getpriority(os.PRIO_PROCESS, int(t)) for t in os.listdir('/proc/%d/task' % pid)]


def state(pid):
    """Between the first mmap() and its answer nobody knows where it is: address space without access may stay."""
    s = left.state(pid)
    s['anonymous'].pop('---p', None)
    return s


def once(i, pid, delay, scratch):
    r = attach(pid, scratch)
    time.sleep(delay)
    r.kill()
    r.wait()
    name = 'killed after %.1f ms' % (delay * 1000)
    return left.guard_ends(name, scratch, pid), name


with tempfile.TemporaryDirectory() as scratch, tempfile.TemporaryFile() as out:
    p = subprocess.Popen([target, 'busy'], stdin=subprocess.PIPE, stdout=out)
    wait_for(lambda: os.pread(out.fileno(), 6, 0) == b'ready\n', 'busy: ready')
    span = min(time_to_attach(p.pid, scratch) for _ in range(3))
    before, code, nice = state(p.pid), text(p.pid), priorities(p.pid)
    for i in range(CYCLES):
        ok, name = once(i, p.pid, span * (0.3 + 1.2 * i / CYCLES), scratch)
        if p.poll() is not None:
            break
        compare(name, before, state(p.pid), 0)
        if text(p.pid) != code:
            fail(name + ': text has changed')
        if priorities(p.pid) != nice:
            fail('%s: priorities %s instead of %s' % (name, priorities(p.pid), nice))
        if left.failures:
            break
    p.communicate(b'x')
    got = os.pread(out.fileno(), 100, 0)
    if p.returncode or got != b'ready\n1\nend\n':
        fail('busy: status %d, output %r' % (p.returncode, got))
    print('%d times, attached after %.0f ms' % (i + 1, span * 1000))
sys.exit(left.failures != 0)
