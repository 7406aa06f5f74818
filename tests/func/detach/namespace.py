#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""namespace.py UFT TARGET - attach to a process that is init of its own pid namespace and has its own mounts, and detach

TARGET busy checks its own results. Its number and its agent's are other processes' outside. Exit status 0, 1, or 77 without the
right to make namespaces."""
import os, subprocess, sys, tempfile, time

import left
from left import compare, fail, is_attached, text, wait_for

uft, target = sys.argv[1:3]
IN_NS = ['unshare', '--pid', '--mount', '--fork', '--mount-proc']


def state(pid):
    """The agent of an init is its child, and no init waits for one of that kind."""
    s = left.state(pid)
    del s['children']
    return s


if subprocess.run(IN_NS + ['true'], stderr=subprocess.DEVNULL).returncode:
    print('SKIP: no right to make namespaces')
    sys.exit(77)
with tempfile.TemporaryDirectory() as scratch, tempfile.TemporaryFile() as out:
    p = subprocess.Popen(IN_NS + [target, 'busy'], stdin=subprocess.PIPE, stdout=out)
    wait_for(lambda: os.pread(out.fileno(), 6, 0) == b'ready\n', 'busy: ready')
    pid = int(left.read('/proc/%d/task/%d/children' % (p.pid, p.pid)).split()[0])
    before, code = state(pid), text(pid)
    for how in ('SIGTERM', 'uft detach', 'SIGKILL'):
        name = 'left by ' + how
        with tempfile.TemporaryFile('w+') as err:
            r = subprocess.Popen([uft, 'attach', '-q', '-b', '256K', '-o', os.path.join(scratch, 'x.uft'), str(pid)],
                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=err)
            wait_for(lambda: is_attached(pid) or r.poll() is not None, name + ': attached')
            time.sleep(1)
            if how == 'uft detach':
                subprocess.run([uft, 'detach', str(pid)], stderr=err)
            elif how == 'SIGKILL':
                r.kill()
            r.terminate()
            r.wait(60)
            err.seek(0)
            said = err.read()
        wait_for(lambda: not is_attached(pid) and state(pid)['tracer'] == '0', name + ': ' + said)
        compare(name, before, state(pid), 0)
        if text(pid) != code:
            fail(name + ': text has changed')
        if left.failures:
            break
    p.communicate(b'x')
    got = os.pread(out.fileno(), 100, 0)
    if p.returncode or got != b'ready\n1\nend\n':
        fail('busy: status %d, output %r' % (p.returncode, got))
sys.exit(left.failures != 0)
