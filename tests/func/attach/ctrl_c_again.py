#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ctrl_c_again.py UFT PROGRAM - Ctrl-C again and again during a detach: the program is detached all the same"""
import os, subprocess, sys, tempfile, time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'detach'))
import left
from left import fail

uft, program = sys.argv[1:3]
p = subprocess.Popen([program])
with tempfile.TemporaryDirectory() as scratch:
    left.wait_for(lambda: left.read('/proc/%d/syscall' % p.pid).split()[0] == '230', 'it naps: all is loaded')	# clock_nanosleep
    before, text = left.state(p.pid), left.text(p.pid)
    for i in range(8):
        r = subprocess.Popen([uft, 'attach', '-q', '-o', os.path.join(scratch, 'x.uft'), str(p.pid)], stderr=subprocess.PIPE, text=True)
        left.wait_for(lambda: left.is_attached(p.pid) or r.poll() is not None, 'attached')
        time.sleep(0.1)
        while r.poll() is None:
            r.terminate()
            time.sleep(0.0003)
        said = left.complaint(r.stderr.read())
        if said:
            fail(said)
            break
        left.compare('time %d' % i, before, left.state(p.pid), 0)
        if left.text(p.pid) != text:
            fail('time %d: text has changed' % i)
p.kill()
p.wait()
sys.exit(left.failures != 0)
