#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""io_uring_wait.py UFT PROGRAM - a thread that attach and detach stop in io_uring_enter() does not see that its wait was interrupted"""
import os, subprocess, sys, tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'detach'))
import left
from left import fail

uft, program = sys.argv[1:3]
IO_URING_ENTER = '426'
TIMES = 3


def waits():
    return left.read('/proc/%d/syscall' % p.pid).split()[0] == IO_URING_ENTER


p = subprocess.Popen([program], stdout=subprocess.PIPE, text=True)
if p.stdout.readline() != 'waits\n':
    sys.exit(p.wait())
with tempfile.TemporaryDirectory() as scratch:
    for i in range(TIMES):
        left.wait_for(waits, 'the program waits')
        r = subprocess.Popen([uft, 'attach', '-q', '-o', os.path.join(scratch, 'x.uft'), str(p.pid)], stderr=subprocess.PIPE, text=True)
        left.wait_for(lambda: left.is_attached(p.pid) or r.poll() is not None, 'attached')
        r.terminate()
        said = left.complaint(r.communicate()[1])
        if said:
            fail(said)
p.terminate()
said = p.communicate()[0]
if said != 'interrupted 0\n' or p.returncode:
    fail('the program, attached to %d times: %r, status %d' % (TIMES, said, p.returncode))
sys.exit(left.failures != 0)
