#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""late_exception.py UFT PROGRAM - an exception leaves functions that were entered while they were traced, when the unwinder is not hooked any more

PROGRAM (late_exception.cc) is attached to with function_graph and enters its functions. Then recorder and guard are killed: the agent
restores all code and ends, and no session restores the return addresses. The program throws through them."""
import os, signal, subprocess, sys, tempfile, time

import left
from left import fail, wait_for

uft, program = sys.argv[1:3]


def expect(f, said):
    wait_for(lambda: left.read(f.name).splitlines()[-1:] == [said] or p.poll() is not None, said)
    if p.poll() is not None:
        fail('not %r: status %s, output %r' % (said, p.poll(), left.read(f.name)))
        sys.exit(1)


with tempfile.TemporaryDirectory() as scratch, tempfile.NamedTemporaryFile() as f:
    p = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=f, bufsize=0)
    expect(f, 'ready')
    r = subprocess.Popen([uft, 'attach', '-q', '-l', '*', '-o', os.path.join(scratch, 'x.uft'), str(p.pid)], stdin=subprocess.DEVNULL,
                         start_new_session=True)
    try:
        # A call is in the recording: then all functions are armed.
        def has_call():
            p.stdin.write(b'e')
            expect(f, 'inside')
            s = subprocess.run([uft, 'stat', os.path.join(scratch, 'x.uft')], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            if any(l.startswith('calls: ') and int(l.split()[1]) > 2 for l in s.stdout.splitlines()):
                return True
            p.stdin.write(b't')
            expect(f, 'caught')
            time.sleep(0.1)
            return False
        wait_for(has_call, 'recorded')
        for pid in list(left.recorders(scratch)):
            os.kill(pid, signal.SIGKILL)
        r.wait()
        wait_for(lambda: not list(left.agents(p.pid)), 'the agent has ended')
        p.stdin.write(b't')
        expect(f, 'caught')
        p.stdin.close()
        if p.wait():
            fail('status %d' % p.returncode)
    finally:
        r.kill()
        p.kill()
        p.wait()
sys.exit(left.failures != 0)
