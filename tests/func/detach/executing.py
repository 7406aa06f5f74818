#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""executing.py UFT PROGRAM SHIM [ends] - a program executes another one (or ends) during a detach, before each open() and ptrace() of the
detach in turn

Nothing of uft is in the new image, and there is no complaint, of uft attach or of uft detach. The new image ends as it would. The detach
does not try to stop tasks of a program that has ended, which took 5 s and 240 tries: it tries FEW times at most."""
import os, signal, subprocess, sys, tempfile, threading

import left
from left import fail, wait_for

uft, program, shim = sys.argv[1:4]
ends = sys.argv[4:] == ['ends']
MOST = 4 if ends else 400	# calls that follow the agent's answer: with the first one the process has gone before a task has stopped
FEW = 3
most_naps = 0


def image(out):
    return os.pread(out.fileno(), 99, 0)


def look_at_tries(at, naps):
    global most_naps
    n = os.path.getsize(naps) if os.path.exists(naps) else 0
    most_naps = max(most_naps, n)
    if ends and n > FEW:
        fail('call %d: %d more tries to stop tasks of a program that is gone' % (at, n))
    if n:
        os.unlink(naps)


def look_at_image(at, p, out):
    wait_for(lambda: image(out) == b'first\nsecond\n', 'call %d: it executes' % at)
    if left.is_attached(p.pid):
        fail('call %d: memory of uft is in the new image' % at)
    for file in left.differs_from_file(p.pid):
        fail('call %d: text of %s is not that of the file' % (at, file))
    p.terminate()
    if p.wait(60) != 7:
        fail('call %d: it ended with %d' % (at, p.returncode))


def cycle(at, scratch):
    """Was there an at-th call?"""
    gate, said = scratch + '/gate', scratch + '/said'
    with tempfile.TemporaryFile() as out, open(said, 'w') as err, subprocess.Popen([program, 'first'], stdout=out) as p:
        wait_for(lambda: image(out) == b'first\n', 'ready')
        before = left.text(p.pid)
        env = dict(os.environ, LD_PRELOAD=shim, UFT_EXEC_AT=str(at), UFT_EXEC_WHILE=gate, UFT_EXEC_PID=str(p.pid))
        if ends:
            env['UFT_EXEC_ENDS'] = '1'
            threading.Thread(target=p.wait).start()		# nothing of it remains, no zombie either
        with subprocess.Popen([uft, 'attach', '-q', '-o', scratch + '/x.uft', str(p.pid)], stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=err, env=env) as r:
            wait_for(lambda: left.is_armed(p.pid, before, r), 'attached')
            open(gate, 'w').close()
            d = subprocess.run([uft, 'detach', str(p.pid)], stderr=subprocess.PIPE, text=True, timeout=120)
            r.terminate()
        if os.path.exists(gate):
            os.kill(p.pid, signal.SIGKILL)
            return False
        look_at_tries(at, gate + '.naps')
        if ends:
            p.wait(60)
        else:
            look_at_image(at, p, out)
    for text in d.stderr, left.read(said):
        if left.complaint(text) or 'warning' in text:
            fail('call %d: %s' % (at, text))
    return True


with tempfile.TemporaryDirectory() as scratch:
    at = 1
    while at < MOST and cycle(at, scratch):
        at += 1
print('%d calls, at most %d more tries' % (at - 1, most_naps))
sys.exit(1 if left.failures or at < min(MOST, 10) else 0)
