#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""exit_while_detached.py UFT KILLER - a process that ends in the middle of a detach is no failure, and does not disturb the recorder

KILLER is preloaded into it and ends the process while its agent stands: exit status 0, nothing said."""
import os, subprocess, sys, tempfile

from left import is_armed, text, wait_for

uft, killer = sys.argv[1:3]
with tempfile.TemporaryDirectory() as scratch:
    p = subprocess.Popen(['sleep', '1000'])
    try:
        code = text(p.pid)
        r = subprocess.Popen([uft, 'attach', '-q', '-l', 'read:mod:libc*', '-o', os.path.join(scratch, 'x.uft'), str(p.pid)],
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                             env=dict(os.environ, LD_PRELOAD=os.path.realpath(killer), ENDING=str(p.pid)))
        wait_for(lambda: is_armed(p.pid, code, r) or r.poll() is not None, 'attached')
        r.terminate()
        said = r.communicate(timeout=100)[0]
        if r.returncode or said != 'killed\n':
            sys.exit('FAIL status %d: %s' % (r.returncode, said))
    finally:
        p.kill()
        p.wait()
