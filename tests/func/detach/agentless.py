#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""agentless.py UFT TARGET - the agent of a traced process is killed: the detach leaves nothing all the same

TARGET busy checks its own results; left by uft detach, and by the recorder's end."""
import os, signal, subprocess, sys, tempfile

import left
from left import agents, compare, complaint, fail, is_armed, is_attached, state, text, wait_for

uft, target = sys.argv[1:3]


def said_by(err):
    return os.pread(err.fileno(), 1 << 16, 0).decode()


def once(pid, tracer, how, scratch, code):
    name = '%s, left by %s' % (tracer, how)
    with tempfile.TemporaryFile() as err:
        r = subprocess.Popen([uft, 'attach', '-b', '256K', '-p', tracer, '-o', os.path.join(scratch, 'x.uft'),
		str(pid)],
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=err)
        wait_for(lambda: is_armed(pid, code, r) and list(agents(pid)), name + ': attached')
        if how == 'SIGTERM at once':	# before the recorder can see it
            r.send_signal(signal.SIGSTOP)
            r.terminate()
        for agent in agents(pid):
            os.kill(agent, signal.SIGKILL)
        wait_for(lambda: not list(agents(pid)), name + ': no agent')
        if how in ('uft detach', 'SIGTERM'):
            wait_for(lambda: 'the agent of process %d ended: its code stays armed' % pid in said_by(err), name +
		     ': it is told')
        if how == 'SIGTERM at once':
            r.send_signal(signal.SIGCONT)
        elif how == 'SIGKILL':
            r.kill()
        elif how == 'uft detach':
            subprocess.run([uft, 'detach', str(pid)], stderr=subprocess.DEVNULL)
        else:
            r.terminate()
        r.wait(60)
        if how != 'SIGKILL' and complaint(said_by(err)):
            fail(name + ': ' + complaint(said_by(err)))
    wait_for(lambda: not is_attached(pid) and state(pid)['tracer'] == '0', name + ': left')


with tempfile.TemporaryDirectory() as scratch, tempfile.TemporaryFile() as out:
    p = subprocess.Popen([target, 'busy'], stdin=subprocess.PIPE, stdout=out)
    wait_for(lambda: os.pread(out.fileno(), 6, 0) == b'ready\n', 'busy: ready')
    before, code = state(p.pid), text(p.pid)
    for how in ('uft detach', 'SIGTERM', 'SIGTERM at once', 'SIGKILL'):
        for tracer in ('function', 'function_graph'):
            once(p.pid, tracer, how, scratch, code)
            compare(tracer + ', ' + how, before, state(p.pid), 0)
            if text(p.pid) != code:
                fail(tracer + ', ' + how + ': text has changed')
    p.communicate(b'x')
    got = os.pread(out.fileno(), 100, 0)
    if p.returncode or got != b'ready\n1\nend\n':
        fail('busy: status %d, output %r' % (p.returncode, got))
sys.exit(left.failures != 0)
