#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""recorder_killed.py UFT PROGRAM PRELOAD [detach] [rejoin] - uft is killed with -9 at each of its ptrace calls of a detach; rejoin: the agent was ended before

PROGRAM (../attach/recorder_killed.c) ends when a register, its signal mask or a system call is not as it was. PRELOAD (kill_at_ptrace.c) kills
before the first call, after the second, and so on, until all is done; then the guard has left nothing. UFT_STEP: only each
so many-th call (default 19; 1 is the long form)."""
import os, signal, subprocess, sys, tempfile, time

import left
from left import fail, goes_on, wait_for

uft, program, preload = sys.argv[1:4]
STEP = int(os.environ.get('UFT_STEP', '19'))
LAST = 2000


def agent_of(pid):
    return next(left.agents(pid), 0)


def is_killed(how, pid, at, scratch):
    """False: it never came to that call."""
    trigger = os.path.join(scratch, 'now')
    env = dict(os.environ, LD_PRELOAD=preload, UFT_KILL_AT=str(at), UFT_KILL_WHILE=trigger)
    if at % 2:
        env['UFT_KILL_AFTER'] = '1'
    r = subprocess.Popen([uft, 'attach', '-p', 'function_graph', '-o', os.path.join(scratch, 'x.uft'), str(pid)], env=env,
                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for(lambda: left.is_attached(pid) and agent_of(pid), 'attached')
    time.sleep(0.5)
    agent = agent_of(pid) if how == 'rejoin' else 0
    if agent:
        os.kill(agent, signal.SIGKILL)
    with open(trigger, 'w'):
        pass
    r.terminate()
    status = r.wait(60)
    os.unlink(trigger)
    return status == -9


def state(pid):
    s = left.state(pid)
    s['mask'] = [l for l in left.read('/proc/%d/status' % pid).splitlines() if l.startswith('SigBlk')]
    return s


def run(how, mode, first, scratch):
    f = tempfile.TemporaryFile()
    p = subprocess.Popen([program, mode], stdout=f)
    wait_for(lambda: left.turns(f), 'ready')
    before, text, at, n = state(p.pid), left.text(p.pid), first, 0
    while at < LAST and not left.failures:
        killed = is_killed(how, p.pid, at, scratch)
        name = '%s, %s, killed at call %d' % (how, mode, at)
        if not left.guard_ends(name, scratch, p.pid) or not goes_on(p, f):
            fail('%s: status %s' % (name, p.poll()))
            break
        left.compare(name, before, state(p.pid), 0)
        if left.text(p.pid) != text:
            fail(name + ': text has changed')
        if not killed:
            break
        at, n = at + STEP, n + 1
    print('%s, %s: killed %d times, up to call %d' % (how, mode, n, at), flush=True)
    if not n:
        fail('%s, %s: no call of ptrace was seen' % (how, mode))
    p.kill()
    p.wait()


with tempfile.TemporaryDirectory() as scratch:
    for i, (how, mode) in enumerate((h, m) for h in sys.argv[4:] or ('detach', 'rejoin') for m in ('spin', 'sleep')):
        run(how, mode, 1 + i % STEP, scratch)
sys.exit(left.failures != 0)
