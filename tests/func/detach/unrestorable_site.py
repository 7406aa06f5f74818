#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""unrestorable_site.py UFT PROGRAM... - a site that cannot be restored: the memory that it leads to stays, and no other

Each PROGRAM (../attach/stack_walk.c, prepared or not) is attached to; then somebody changes the first byte of an entry, as a debugger's
breakpoint does, and the recording ends. The recorder says so, all other code is as it was, no agent, file or descriptor remains, and a
little memory. Then the byte comes back, as when the breakpoint is removed: what stands there is our jump, and the function is
called, twice. Exit status 0, 1."""
import os, subprocess, sys, tempfile

import left
from left import fail

uft = sys.argv[1]
INT3 = b'\xcc'
KEPT_MAX = 256 << 10		# bytes


def entry_of(program, pid, name):
    """Where it is in the process, and in the file's mapping of code."""
    at = next(int(l.split()[0], 16) for l in subprocess.run(['nm', program], stdout=subprocess.PIPE, text=True).stdout.splitlines()
              if l.endswith(' t ' + name))
    base = next(lo - offset for lo, _, _, offset, path in left.lines(pid) if path == os.path.realpath(program))
    return base + at


def peek(pid, at, n):
    with open('/proc/%d/mem' % pid, 'rb', 0) as mem:
        mem.seek(at)
        return mem.read(n)


def poke(pid, at, byte):
    with open('/proc/%d/mem' % pid, 'r+b', 0) as mem:
        mem.seek(at)
        mem.write(byte)


def ask(p, out, byte, last):
    at = os.fstat(out.fileno()).st_size
    p.stdin.write(byte)
    p.stdin.flush()
    left.wait_for(lambda: os.pread(out.fileno(), 4096, at).endswith(last) or p.poll() is not None, 'it says %r' % last, 60)
    return p.poll() is None


def run(program, tracer, scratch):
    what = '%s, %s' % (os.path.basename(program), tracer)
    out = tempfile.TemporaryFile()
    p = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=out)
    left.wait_for(lambda: os.pread(out.fileno(), 99, 0), what + ': ready')
    before, text = left.state(p.pid), left.text(p.pid)
    r = subprocess.Popen([uft, 'attach', '-q', '-p', tracer, '-l', '*', '-o', os.path.join(scratch, 'x.uft'), str(p.pid)],
                         stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    left.wait_for(lambda: left.is_armed(p.pid, text, r) or r.poll() is not None, what + ': attached', 60)
    at = entry_of(program, p.pid, 'middle')
    ours = peek(p.pid, at, 1)
    poke(p.pid, at, INT3)
    r.terminate()
    said = r.communicate(timeout=90)[1]
    lines = [l for l in said.splitlines() if ' left alone' not in l]
    if len(lines) != 1 or '1 place of its code could not be put back, as another program has changed it ' not in lines[0]:
        fail('%s: it says %r' % (what, said))
    after, now = left.state(p.pid), left.text(p.pid)
    more = sum(after['anonymous'].values()) - sum(before['anonymous'].values())
    if not 0 < more <= KEPT_MAX:
        fail('%s: %d bytes more of memory' % (what, more))
    for key in before:
        if key != 'anonymous' and before[key] != after[key]:
            fail('%s: %s: %s instead of %s' % (what, key, after[key], before[key]))
    for name in text:
        differ = [i for i in range(len(text[name])) if text[name][i] != now[name][i]] if text[name] != now[name] else []
        if len(differ) > 5 or (differ and differ[-1] - differ[0] > 4):
            fail('%s: %d bytes of %s have changed' % (what, len(differ), name))
    if peek(p.pid, at, 1) != INT3:
        fail('%s: the other one\'s byte is gone' % what)
    poke(p.pid, at, ours)
    for _ in range(2):
        if not ask(p, out, b'g', b'here\n') or not ask(p, out, b'x', b'done\n'):
            fail('%s: it ended with %s' % (what, p.poll()))
            return
    p.stdin.close()
    if p.wait(60):
        fail('%s: it ends with status %d' % (what, p.returncode))


# A run directory of its own: a dead session's file would be taken over by other tests.
with tempfile.TemporaryDirectory() as scratch, tempfile.TemporaryDirectory(dir='/dev/shm') as run_dir:
    os.environ['XDG_RUNTIME_DIR'] = run_dir
    for program in sys.argv[2:]:
        for tracer in ('function', 'function_graph'):
            run(program, tracer, scratch)
sys.exit(left.failures != 0)
