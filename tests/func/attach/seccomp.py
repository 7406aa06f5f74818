#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""seccomp.py UFT TARGET [ACTION:CALL...] - attaching to a program whose seccomp filter denies one system call

For each of the calls that an attach makes in a thread of the program, killed, refused and trapped: whether it is traced or not, the
program goes on and ends as if nobody had come. Where the filter kills, uft names the call and does nothing. Needs the right to
read and suspend a filter (CAP_SYS_ADMIN)."""
import os, signal, subprocess, sys, tempfile, time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'detach'))
import left

uft, target = sys.argv[1:3]
CALLS = {'close': 3, 'access': 21, 'mmap': 9, 'mprotect': 10, 'munmap': 11, 'socketpair': 53, 'clone': 56, 'wait4': 61, 'prctl': 157, 'futex': 202, 'kcmp': 312,
         'pread64': 17, 'tkill': 200, 'process_vm_readv': 310, 'pidfd_open': 434, 'sigaltstack': 131}
OTHERS = {'ptrace': 101, 'execve': 59}
failures = 0


def once(action, names, scratch, *before):
    denied = [arg for name, how in zip(names.split('+'), action.split('+')) for arg in (str({**CALLS, **OTHERS}[name]), how)]
    p = subprocess.Popen([target, *denied], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    if p.stdout.readline() != b'ready\n':
        sys.exit(77)
    while p.poll() is None and 'Seccomp:\t2' not in open('/proc/%d/status' % p.pid).read():
        time.sleep(0.002)
    code = left.text(p.pid)
    r = subprocess.Popen([*before, uft, 'attach', '-q', '--flight', '-b', '64K', '-p', 'function', '-o', scratch + '/x.uft', str(p.pid)],
                         stderr=subprocess.PIPE, text=True)
    # It has ended, its code has changed, or nothing can be, where a call is refused: then it is not known when that is.
    end = time.time() + (5 if action == 'errno' else 60)
    while r.poll() is None and left.text(p.pid) == code and time.time() < end:
        time.sleep(0.05)
    if r.poll() is None:
        r.send_signal(signal.SIGINT)
    said = r.communicate(timeout=60)[1].strip()
    p.stdin.close()
    return p.wait(60), said


if os.geteuid():
    print('skip: not root')
    sys.exit(77)
cases = [c.split(':') for c in sys.argv[3:]] or [(a, n) for a in ('kill', 'errno', 'trap') for n in CALLS]
with tempfile.TemporaryDirectory() as scratch:
    for action, name in cases:
        status, said = once(action, name, scratch)
        if action != 'errno' and not said.endswith('system calls of the tracing: ' + name):
            failures += 1
            print('FAIL %s of %s: uft said: %s' % (action, name, said))
        if status:
            failures += 1
            print('FAIL %s of %s: the program ended with %d; uft said: %s' % (action, name, status, said))
    # A filter that is none of our business, for who may read it and who may not.
    for before, want in ((), None), (('setpriv', '--bounding-set=-sys_admin', '--inh-caps=-sys_admin'), 'cannot read its seccomp filter'):
        status, said = once('kill', 'ptrace', scratch, *before)
        if status or (want and want not in said) or (not want and said):
            failures += 1
            print('FAIL %s kill of ptrace: status %d, uft said: %s' % (' '.join(before), status, said))
    # We look with access() before execve(): of no consequence where that ends who calls it, too.
    for action in 'kill+kill', 'trap+kill', 'trap+trap', 'kill+errno', 'kill+log', 'trap+errno', 'kill+trap':
        status, said = once(action, 'access+execve', scratch)
        is_named = said.endswith('system calls of the tracing: access')
        if status or (not is_named if action in ('kill+errno', 'kill+log', 'trap+errno', 'kill+trap') else said):
            failures += 1
            print('FAIL %s of access and execve: status %d, uft said: %s' % (action, status, said))
print('%d filters, %d failures' % (len(cases), failures))
sys.exit(failures != 0)
