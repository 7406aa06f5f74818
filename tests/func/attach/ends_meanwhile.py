#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ends_meanwhile.py UFT PROGRAM PRELOAD - a process ends while uft attach, or uft top, attaches to it: uft says that it ended, and nothing else of it

PRELOAD (kill_at_ptrace.c) ends PROGRAM (recorder_killed.c) before the first call of ptrace that uft makes, after the second, and so on
until all sites are armed."""
import os, re, subprocess, sys, tempfile

uft, program, preload = sys.argv[1:4]
ARMED = 10			# calls in a row behind which something was recorded: no more is to be armed
# Before the agent serves, and while functions are armed.
EARLY = re.compile(r'^uft attach: process (\d+)( \(\S+\) is a zombie: .*| ended)$', re.M)
LATE = re.compile(r'^uft attach: warning: nothing was recorded: process (\d+) ended before it could be traced$', re.M)
UNTRUE = 'could be traced by this tracer', 'no function of the program', 'left alone', 'no traced function was called'
failed = 0
seen = {'early': [], 'late': [], 'recorded': []}		# by which calls


def fail(*what):
    global failed
    failed += 1
    print('FAIL:', *what, flush=True)


def run(at, *command):
    """(its pid, what uft said, its status); None: uft did not come to that call."""
    p = subprocess.Popen([program, 'sleep'], stdout=subprocess.PIPE)
    p.stdout.read(1)		# it is in main
    env = dict(os.environ, LD_PRELOAD=preload, UFT_KILL_AT=str(at), UFT_KILL_PID=str(p.pid))
    if at % 2 == 0:
        env['UFT_KILL_AFTER'] = '1'
    r = subprocess.run([uft, *command, str(p.pid)], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                       text=True, timeout=60)
    was_ended = os.waitid(os.P_PID, p.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    p.kill()
    p.wait()
    return (p.pid, r.stderr, r.returncode) if was_ended else None


def attach(at, scratch):
    """What came of it: early, late, recorded; None: uft does not come to that call."""
    r = run(at, 'attach', '-o', os.path.join(scratch, 'x.uft'), '--duration', '0.2')
    if not r:
        return None
    pid, said, status = r
    kind = 'early' if EARLY.search(said) else 'late' if LATE.search(said) else 'recorded'
    seen[kind].append(at)
    if kind != 'recorded':
        if status != 1:
            fail('call', at, 'status', status, said)
        if any(u in said for u in UNTRUE):
            fail('call', at, said)
        if str(pid) not in str(EARLY.findall(said) + LATE.findall(said)):
            fail('call', at, 'another process is named:', said)
    elif status or 'no function of the program' in said:
        fail('call', at, 'status', status, said)
    return kind


def top(at):
    pid, said, status = run(at, 'top', '-n', '1', '-d', '0.1') or (0, 'it goes on', 0)
    if status != 1 or not said.startswith('uft top: process %d ended' % pid):
        fail('top, call', at, 'status', status, said)


with tempfile.TemporaryDirectory() as scratch:
    at = row = 0
    while row < ARMED or not seen['late']:
        at += 1
        kind = attach(at, scratch)
        if not kind:
            break
        row = row + 1 if kind == 'recorded' else 0
print('ended at calls up to', at, {kind: len(calls) for kind, calls in seen.items()})
for at in seen['early'][:1] + seen['late'][:1]:
    top(at)
if not seen['early'] or not seen['late']:
    fail('a process did not end both before its agent served and while it was armed')
sys.exit(failed != 0)
